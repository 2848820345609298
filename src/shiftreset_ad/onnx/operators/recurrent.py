"""Operators that are recurrent networks: RNN, LSTM and GRU, in the format's order of gates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.onnx.operators import activations
from shiftreset_ad.onnx.table import operator, refused
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of

_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "relu": activations.relu,
    "tanh": np.tanh,
    "sigmoid": activations.sigmoid,
    "softsign": activations.softsign,
    "softplus": activations.softplus,
}
_WITH_ALPHA = {
    "leakyrelu": (activations.leaky_relu, 0.01),
    "thresholdedrelu": (activations.thresholded_relu, 1.0),
    "elu": (activations.elu, 1.0),
}


class Options:
    """The attributes that all recurrent operators have; and the activations of each direction."""

    def __init__(self, name: str, given: dict[str, Any], default: list[str]) -> None:
        self.name = name
        self.hidden = int(given["hidden_size"])
        self.layout = int(given.get("layout", 0))
        direction = given.get("direction", "forward")
        self.reversed = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
        if given.get("clip") is not None:
            raise refused(name, "the attribute clip")
        count = len(default)
        words = list(given.get("activations") or default * len(self.reversed))
        alphas, betas = list(given.get("activation_alpha") or ()), list(given.get("activation_beta") or ())
        functions = [self._activation(word.lower(), alphas, betas) for word in words]
        self.activations = [functions[i * count : (i + 1) * count] for i in range(len(self.reversed))]

    def _activation(self, word: str, alphas: list[float], betas: list[float]) -> Callable[..., Any]:
        if word in _ACTIVATIONS:
            return _ACTIVATIONS[word]
        if word in _WITH_ALPHA:
            function, default = _WITH_ALPHA[word]
            alpha = alphas.pop(0) if alphas else default
            return lambda x: function(x, alpha=alpha)
        if word == "hardsigmoid":
            alpha, beta = (alphas.pop(0) if alphas else 0.2), (betas.pop(0) if betas else 0.5)
            return lambda x: activations.hard_sigmoid(x, alpha=alpha, beta=beta)
        raise refused(self.name, f"the activation {word}")


def _parts(x: Any, count: int) -> list[Any]:
    """Equal parts of the last axis."""
    size = shape_of(x)[-1] // count
    return [x[..., i * size : (i + 1) * size] for i in range(count)]


def _passes(o: Options, step: Any, x: Any, w: Any, r: Any, b: Any, lengths: Any, states: Any) -> Any:
    """All states of all directions, and the last: (time, directions, batch, hidden), and a list of last states."""
    if o.layout:
        x, states = np.swapaxes(x, 0, 1), [state if state is None else np.swapaxes(state, 0, 1) for state in states]
    time, batch, _ = shape_of(x)
    every, last = [], []
    for d, backwards in enumerate(o.reversed):
        b_x, b_h = (0.0, 0.0) if b is None else _parts(b[d], 2)
        from_x = np.matmul(x, np.transpose(w[d])) + b_x
        zero = np.zeros((batch, o.hidden), dtype_of(from_x))
        state = tuple([zero if first is None else first[d] for first in states])
        outputs = []
        for t in range(time - 1, -1, -1) if backwards else range(time):
            new = step(from_x[t], state, np.transpose(r[d]), b_h, o.activations[d], d)
            if lengths is None:
                state, out = new, new[0]
            else:
                inside = (t < lengths)[:, None]
                state = tuple([np.where(inside, after, before) for after, before in zip(new, state, strict=True)])
                out = np.where(inside, new[0], zero)
            outputs.append(out)
        every.append(np.stack(outputs[::-1] if backwards else outputs))
        last.append(state)
    found = np.stack(every, axis=1)
    finals = [np.stack(parts) for parts in zip(*last, strict=True)]
    if o.layout:
        return np.transpose(found, (2, 0, 1, 3)), *[np.swapaxes(final, 0, 1) for final in finals]
    return found, *finals


@operator("RNN", 7, constant=["sequence_lens"], outputs=2)
def _rnn(
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    sequence_lens: Any = None,
    initial_h: Any = None,
    *,
    hidden_size: int,
    direction: str = "forward",
    activations: Any = None,
    activation_alpha: Any = None,
    activation_beta: Any = None,
    clip: Any = None,
    layout: int = 0,
) -> Any:
    options = Options("RNN", locals(), ["Tanh"])

    def step(from_x: Any, state: Any, r: Any, b_h: Any, activations: Any, d: int) -> Any:
        return (activations[0](from_x + np.matmul(state[0], r) + b_h),)

    return _passes(options, step, x, w, r, b, sequence_lens, [initial_h])


@operator("GRU", 7, constant=["sequence_lens"], outputs=2)
def _gru(
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    sequence_lens: Any = None,
    initial_h: Any = None,
    *,
    hidden_size: int,
    direction: str = "forward",
    activations: Any = None,
    activation_alpha: Any = None,
    activation_beta: Any = None,
    clip: Any = None,
    layout: int = 0,
    linear_before_reset: int = 0,
) -> Any:
    options = Options("GRU", locals(), ["Sigmoid", "Tanh"])

    def step(from_x: Any, state: Any, r: Any, b_h: Any, activations: Any, d: int) -> Any:
        (h,), (f, g), hidden = state, activations, hidden_size
        z_x, r_x, n_x = _parts(from_x, 3)
        z_b, r_b, n_b = (0.0,) * 3 if b is None else _parts(b_h, 3)
        z_h, r_h = _parts(np.matmul(h, r[:, : 2 * hidden]), 2)
        update, reset = f(z_x + z_h + z_b), f(r_x + r_h + r_b)
        of_new = r[:, 2 * hidden :]
        if linear_before_reset:
            new = g(n_x + reset * (np.matmul(h, of_new) + n_b))
        else:
            new = g(n_x + np.matmul(reset * h, of_new) + n_b)
        return ((1.0 - update) * new + update * h,)

    return _passes(options, step, x, w, r, b, sequence_lens, [initial_h])


@operator("LSTM", 7, constant=["sequence_lens"], outputs=3)
def _lstm(
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    sequence_lens: Any = None,
    initial_h: Any = None,
    initial_c: Any = None,
    p: Any = None,
    *,
    hidden_size: int,
    direction: str = "forward",
    activations: Any = None,
    activation_alpha: Any = None,
    activation_beta: Any = None,
    clip: Any = None,
    layout: int = 0,
    input_forget: int = 0,
) -> Any:
    options = Options("LSTM", locals(), ["Sigmoid", "Tanh", "Tanh"])

    def step(from_x: Any, state: Any, r: Any, b_h: Any, activations: Any, d: int) -> Any:
        (h, c), (f, g, k) = state, activations
        i_in, o_in, f_in, c_in = _parts(from_x + np.matmul(h, r) + b_h, 4)
        p_i, p_o, p_f = (0.0,) * 3 if p is None else _parts(p[d], 3)
        i = f(i_in + p_i * c)
        forget = 1.0 - i if input_forget else f(f_in + p_f * c)
        c = forget * c + i * g(c_in)
        return f(o_in + p_o * c) * k(c), c

    return _passes(options, step, x, w, r, b, sequence_lens, [initial_h, initial_c])
