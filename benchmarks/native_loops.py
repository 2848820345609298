"""Loops as native code against gradients in C++ by hand, with a `std::vector` as the tape: a part of `native.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import shiftreset_ad as sr

LENGTH = 1000  # of the data of a recurrence


class Kernel(NamedTuple):
    """A function of a number and a number of rounds, the point at which it is taken, and its gradient in C++."""

    f: Callable[[Any, Any], Any]
    x: float
    rounds: int
    in_c: str


def newton(x: Any, _: Any) -> Any:
    return sr.while_loop(lambda y: abs(y * y - x) > 1e-12, lambda y: (y + x / y) / 2, x)


def bisection(x: Any, rounds: Any) -> Any:
    """The sum of the middles, each of which moves one of the ends."""

    def body(state: Any) -> Any:
        i, low, high, total = state
        middle = (low + high) * 0.5
        low, high = sr.cond(middle * middle * middle < x, lambda: (middle, high), lambda: (low, middle))
        return i + 1, low, high, total + middle

    return sr.while_loop(lambda state: state[0] < rounds, body, (0, 0.0 * x, x + 1.0, 0.0 * x))[3]


def series(x: Any, rounds: Any) -> Any:
    return sr.while_loop(
        lambda state: state[0] < rounds, lambda state: (state[0] + 1, state[1] + x / (1.0 + state[1])), (0, x)
    )[1]


def oscillator(x: Any, rounds: Any) -> Any:
    """Steps of the midpoint rule."""
    h = 0.001

    def body(state: Any) -> Any:
        i, y, v = state
        b = -y - 0.1 * v * v * v
        c = v + h / 2 * b
        d = -(y + h / 2 * v) - 0.1 * c * c * c
        return i + 1, y + h * c, v + h * d

    _, y, v = sr.while_loop(lambda state: state[0] < rounds, body, (0, x, 0.5 * x))
    return y * y + v * v


def recurrence(x: Any, rounds: Any) -> Any:
    """Over data, which depend on the number."""
    data = x * np.linspace(0.1, 0.9, LENGTH)
    return sr.fori_loop(0, rounds, lambda i, y: y * 0.5 + data[i] * y, x)


def spinning(x: Any, rounds: Any) -> Any:
    """A vector of three, by steps of Euler's rule."""
    start = np.stack([x, 0.5 * x, 1.0])
    return np.sum(sr.fori_loop(0, rounds, lambda i, y: y + 0.001 * (y[1] * y - x * y * y), start))


def layers(x: Any, rounds: Any) -> Any:
    """A recurrent network of eight neurons."""
    weights = np.cos(np.arange(64.0)).reshape(8, 8) * 0.3
    start = x * np.linspace(0.1, 0.8, 8)
    return np.sum(sr.fori_loop(0, rounds, lambda i, y: np.tanh(weights @ y) + 0.5 * y, start))


KERNELS = {
    "Newton, 5 rounds": Kernel(
        newton,
        2.0,
        0,
        """
        double y = x; tape.clear();
        while (std::fabs(y * y - x) > 1e-12) { tape.push_back(y); y = (y + x / y) / 2; }
        double x_bar = 0, y_bar = 1;
        for (long i = tape.size() - 1; i >= 0; --i) {
            double y = tape[i], s = y_bar / 2; x_bar += s / y; y_bar = s - s * x / (y * y);
        }
        return x_bar + y_bar;""",
    ),
    "bisection, 50 rounds": Kernel(
        bisection,
        2.0,
        50,
        """
        double low = 0, high = x + 1, total = 0; tape.clear();
        for (long i = 0; i < rounds; ++i) {
            double middle = (low + high) * 0.5; bool is_low = middle * middle * middle < x;
            if (is_low) low = middle; else high = middle;
            tape.push_back(is_low); total = total + middle;
        }
        double low_bar = 0, high_bar = 0;
        for (long i = tape.size() - 1; i >= 0; --i) {
            double bar = 1;
            if (tape[i]) { bar += low_bar; low_bar = 0; } else { bar += high_bar; high_bar = 0; }
            low_bar += bar * 0.5; high_bar += bar * 0.5;
        }
        return high_bar;""",
    ),
    "sum, 100,000 rounds": Kernel(
        series,
        2.0,
        100_000,
        """
        double s = x; tape.clear();
        for (long i = 0; i < rounds; ++i) { tape.push_back(s); s = s + x / (1 + s); }
        double x_bar = 0, s_bar = 1;
        for (long i = rounds - 1; i >= 0; --i) {
            double r = 1 / (1 + tape[i]); x_bar += s_bar * r; s_bar -= s_bar * x * r * r;
        }
        return x_bar + s_bar;""",
    ),
    **{
        f"oscillator, {rounds:,} rounds": Kernel(
            oscillator,
            0.7,
            rounds,
            """
        double y = x, v = 0.5 * x, h = 0.001; tape.clear();
        for (long i = 0; i < rounds; ++i) {
            double b = -y - 0.1 * v * v * v, c = v + h / 2 * b, d = -(y + h / 2 * v) - 0.1 * c * c * c;
            tape.push_back(v); tape.push_back(c); y = y + h * c; v = v + h * d;
        }
        double y_bar = 2 * y, v_bar = 2 * v;
        for (long i = rounds - 1; i >= 0; --i) {
            double v = tape[2 * i], c = tape[2 * i + 1], d_bar = h * v_bar;
            double c_bar = h * y_bar - 0.3 * c * c * d_bar, b_bar = h / 2 * c_bar;
            y_bar += -d_bar - b_bar; v_bar += c_bar - h / 2 * d_bar - 0.3 * v * v * b_bar;
        }
        return y_bar + 0.5 * v_bar;""",
        )
        for rounds in (1_000, 100_000)
    },
    "recurrence over 1,000 elements": Kernel(
        recurrence,
        0.5,
        LENGTH,
        """
        static double w[1000], data[1000], bar[1000];
        for (int i = 0; i < 1000; ++i) { w[i] = 0.1 + i * (0.8 / 999); data[i] = x * w[i]; bar[i] = 0; }
        double y = x, y_bar = 1, x_bar = 0; tape.clear();
        for (long i = 0; i < rounds; ++i) { tape.push_back(y); y = y * 0.5 + data[i] * y; }
        for (long i = rounds - 1; i >= 0; --i) { bar[i] += tape[i] * y_bar; y_bar = data[i] * y_bar + 0.5 * y_bar; }
        for (int i = 0; i < 1000; ++i) x_bar += bar[i] * w[i];
        return x_bar + y_bar;""",
    ),
    "a vector of 3, 1,000 rounds": Kernel(
        spinning,
        0.5,
        1_000,
        """
        double y[3] = {x, 0.5 * x, 1}, bar[3] = {1, 1, 1}, x_bar = 0; tape.clear();
        for (long i = 0; i < rounds; ++i) {
            double s = y[1];
            for (int k = 0; k < 3; ++k) {
                tape.push_back(y[k]); y[k] = y[k] + 0.001 * (s * y[k] - x * y[k] * y[k]);
            }
        }
        for (long i = rounds - 1; i >= 0; --i) {
            double s_bar = 0, s = tape[3 * i + 1];
            for (int k = 0; k < 3; ++k) {
                double z = tape[3 * i + k], h = 0.001 * bar[k];
                s_bar += z * h; x_bar -= z * z * h; bar[k] = bar[k] + s * h - 2 * x * z * h;
            }
            bar[1] += s_bar;
        }
        return x_bar + bar[0] + 0.5 * bar[1];""",
    ),
    "a network of 8, 100 rounds": Kernel(
        layers,
        0.5,
        100,
        """
        static double w[64]; double y[8], bar[8], x_bar = 0; tape.clear();
        for (int k = 0; k < 64; ++k) w[k] = std::cos(double(k)) * 0.3;
        for (int k = 0; k < 8; ++k) { y[k] = x * (0.1 + 0.1 * k); bar[k] = 1; }
        for (long i = 0; i < rounds; ++i) {
            double z[8];
            for (int k = 0; k < 8; ++k) {
                double sum = 0; for (int l = 0; l < 8; ++l) sum += w[8 * k + l] * y[l];
                z[k] = std::tanh(sum); tape.push_back(z[k]);
            }
            for (int k = 0; k < 8; ++k) y[k] = z[k] + 0.5 * y[k];
        }
        for (long i = rounds - 1; i >= 0; --i) {
            double h[8];
            for (int k = 0; k < 8; ++k) { double z = tape[8 * i + k]; h[k] = (1 - z * z) * bar[k]; bar[k] *= 0.5; }
            for (int k = 0; k < 8; ++k) for (int l = 0; l < 8; ++l) bar[l] += w[8 * k + l] * h[k];
        }
        for (int k = 0; k < 8; ++k) x_bar += bar[k] * (0.1 + 0.1 * k);
        return x_bar;""",
    ),
}


def loop_in_c(kernel: Kernel) -> str:
    """The whole program in C++: the mean time of a run is that of many runs."""
    return f"""
#include <cmath>
#include <vector>
static std::vector<double> tape;
__attribute__((noinline)) static double gradient(double x, long rounds) {{ {kernel.in_c} }}
extern "C" double run(double x, long rounds, long n) {{
    double sum = 0; for (long i = 0; i < n; ++i) sum = gradient(x + 1e-300 * sum, rounds); return sum;
}}"""
