"""Random programs for hypothesis: a few statements of ordinary Python each, of smooth functions with moderate values.

A program is a function of a float and an array of three, to a float. Its statements append to a list of numbers and to
a list of arrays what they make of the entries there are. What `stop_gradient` sees of a run can be kept and put in
place of it in other runs, as differences would see through it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import shiftreset_ad as sr

SMOOTH: list[Callable[[Any], Any]] = [
    np.sin,
    np.tanh,
    lambda x: np.exp(np.sin(x)),
    lambda x: 1.0 / (1.0 + x * x),
    lambda x: np.sqrt(1.0 + x**2),
    lambda x: np.log(2.0 + np.cos(x)),
    np.arctan,
]

ROTATION = np.array([[0.6, -0.8, 0.1], [0.8, 0.6, -0.2], [0.1, 0.3, 0.9]])

# The derivative of a function of a number.
DERIVATIVES: list[Callable[[Any], Any]] = [
    sr.grad,
    lambda f: lambda y: sr.jvp(f, (y,), (1.0,))[1],
    lambda f: lambda y: sr.vjp(f, y)[1](1.0)[0],
    lambda f: lambda y: sr.linearize(f, y)[1](1.0),
    sr.jacfwd,
    sr.elementwise_grad,
]


class Run:
    """The variables of a running program; `kept` are the constants that `stop_gradient` made, or has made before."""

    def __init__(self, s: Any, a: Any, kept: list[Any], replays: bool) -> None:
        self.numbers = [s, a[0] * a[1], np.mean(a)]
        self.arrays = [a, a * s]
        self.kept, self.replays = kept, replays
        self.stops = 0

    def number(self, i: int) -> Any:
        return self.numbers[i % len(self.numbers)]

    def array(self, i: int) -> Any:
        return self.arrays[i % len(self.arrays)]

    def stopped(self, x: Any) -> Any:
        if self.replays:
            self.stops += 1
            return self.kept[self.stops - 1]
        self.kept.append(sr.stop_gradient(x))
        return self.kept[-1]


def unary(run, i, j, k):
    run.numbers.append(SMOOTH[k % len(SMOOTH)](run.number(i)) + 0.3 * run.number(j))


def binary(run, i, j, k):
    x, y = run.number(i), run.number(j)
    run.numbers.append(np.tanh([x * y, x - 2.0 * y, x / (1.0 + y * y), x + y**3][k % 4]))


def elementwise(run, i, j, k):
    run.arrays.append(SMOOTH[k % len(SMOOTH)](run.array(i) * run.number(j) + run.array(k)))


def matrix(run, i, j, k):
    run.arrays.append(np.tanh(ROTATION @ run.array(i) + run.array(j)))


def item(run, i, j, k):
    run.numbers.append(run.array(i)[k % 3] * run.number(j))


def slices(run, i, j, k):
    run.arrays.append(np.concatenate([run.array(i)[1:], run.array(j)[k % 3 : k % 3 + 1]]))


def indices(run, i, j, k):
    run.arrays.append(run.array(i)[np.array([k % 3, 2, k % 3])] * run.number(j))


def reduction(run, i, j, k):
    run.numbers.append(
        np.sum(run.array(i) * run.array(j)) / 3.0 if k % 2 else np.mean(np.outer(run.array(i), ROTATION))
    )


def loop(run, i, j, k):
    z = run.number(i)
    for step in range(k % 4):
        z = np.sin(z * run.number(j) + step)
    run.numbers.append(z)


def until(run, i, j, k):
    z = run.number(i)
    while abs(z) < 1.0 + 0.1 * k:
        z = 1.5 * z + 0.2 + 0.1 * np.cos(run.number(j)) if z > -0.01 else 1.5 * z - 0.2
    run.numbers.append(np.sin(z))


def branch(run, i, j, k):
    x, y = run.number(i), run.number(j)
    if x > 0.1 * k - 0.3:
        run.numbers.append(np.sin(x) * y)
    elif x < y:
        run.arrays.append(np.tanh(run.array(k) * x))
    else:
        run.numbers.append(0.5 * x * x)


def closure(run, i, j, k):
    x = run.number(i)
    functions = [lambda z, n=n: np.sin(x * z + n) for n in range(k % 3 + 1)]
    run.numbers.append(functools.reduce(lambda z, f: f(z), functions, run.number(j)))


def generator(run, i, j, k):
    def powers(z):
        for n in range(k % 3 + 2):
            yield z**n / (n + 1.0)

    run.numbers.append(np.tanh(sum(powers(run.number(i)))))


def in_place(run, i, j, k):
    total = run.array(i) * 1.0
    for _ in range(k % 2 + 1):
        total += run.array(j) * run.number(k)
        total *= 0.5
    run.arrays.append(np.tanh(total))


def stop(run, i, j, k):
    run.numbers.append(np.sin(run.number(i)) * run.stopped(run.number(j)))


def inner(run, i, j, k):
    """d/dy of a function over an outer variable, at a point that depends on the outer variables."""
    x = run.number(i)
    derivative = DERIVATIVES[k % len(DERIVATIVES)]
    run.numbers.append(np.tanh(x * derivative(lambda y: np.sin(x * y) + x * y)(run.number(j))))


def inner_twice(run, i, j, k):
    x, y = run.number(i), run.number(j)
    first, second = DERIVATIVES[k % len(DERIVATIVES)], DERIVATIVES[(k + i + 1) % len(DERIVATIVES)]
    run.numbers.append(np.tanh(first(lambda u: u * x * second(lambda w: np.sin(u * w) * y + w * w * x)(y))(x)))


def inner_direction(run, i, j, k):
    """A direction, and a cotangent, that depend on the outer variables."""
    x, a, v = run.number(k), run.array(i), run.array(j)
    _, a_dot = sr.jvp(lambda b: np.sin(b * x) + b @ b, (a,), (v,))
    _, pullback = sr.vjp(lambda b, c: np.tanh(b * c) * x, a, a_dot)
    b_bar, c_bar = pullback(v)
    run.arrays.append(np.tanh(b_bar - 0.5 * c_bar))


def inner_structure(run, i, j, k):
    def energy(state):
        return np.sum(state["p"] * state["q"][0] ** 2) * run.number(k) + np.sin(state["p"])

    slope = sr.grad(energy)({"p": run.number(i), "q": [run.array(j), 3, "name"]})
    run.numbers.append(np.tanh(slope["p"]))
    run.arrays.append(np.tanh(slope["q"][0]))


def inner_rows(run, i, j, k):
    """A Jacobian or a Hessian, all directions at once."""
    x, a = run.number(i), run.array(j)
    if k % 3 == 0:
        m = sr.hessian(lambda b: np.sum(np.sin(b * x)) * b[0])(a)
    else:
        m = (sr.jacfwd if k % 3 == 1 else sr.jacrev)(lambda b: np.tanh(ROTATION @ b * x))(a)
    run.arrays.append(np.tanh(m @ a))


STATEMENTS = [
    *(unary, binary, elementwise, matrix, item, slices, indices, reduction, loop, until, branch, closure, generator),
    *(in_place, stop, inner, inner_twice, inner_direction, inner_structure, inner_rows),
]


class Program:
    """A function made of statements, each with three integers that say what it works on."""

    def __init__(self, statements: list[tuple[Callable[..., None], int, int, int]]) -> None:
        self.statements = statements

    def __call__(self, s: Any, a: Any, kept: list[Any] | None = None) -> Any:
        run = Run(s, a, [] if kept is None else kept, replays=kept is not None)
        for statement, i, j, k in self.statements:
            statement(run, i, j, k)
        return sum(run.numbers[2:], np.sin(run.number(1))) + sum(np.sum(a) for a in run.arrays[2:]) + np.sum(a * s)

    def constants(self, s: Any, a: Any) -> list[Any]:
        """What `stop_gradient` makes constant at these arguments."""
        run = Run(s, a, [], replays=False)
        for statement, i, j, k in self.statements:
            statement(run, i, j, k)
        return run.kept

    def __repr__(self) -> str:
        return f"Program([{', '.join(f'({f.__name__}, {i}, {j}, {k})' for f, i, j, k in self.statements)}])"


small = st.integers(0, 11)
programs = st.lists(st.tuples(st.sampled_from(STATEMENTS), small, small, small), min_size=1, max_size=6).map(Program)
