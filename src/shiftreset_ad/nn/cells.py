"""A linear map and the memory cell behind it, as one operation: a step of an LSTM, or a node of a tree."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from shiftreset_ad.nn.calling import Shared, as_array, fused, of_any_library
from shiftreset_ad.nn.gates import Activated, memory_cell
from shiftreset_ad.nn.layers import affine, has_factors, linear
from shiftreset_ad.rules.broadcasting import shape_of, unbroadcast
from shiftreset_ad.rules.table import STRUCTURED, LinearMap, Structured


@of_any_library
def tree_lstm_cell(
    inputs: Sequence[Any], w: Any, bias: Any, cells: Sequence[Any] = (), update_last: bool = False
) -> tuple[Any, Any]:
    """The hidden state h and the cell c of a node of a tree whose children have these `cells`; of a leaf without them.

    `inputs` are arrays of (..., features), such as the vector of a word and the hidden states of the children. Joined
    along the last axis, they are the x of `memory_cell(linear(x, w, bias), *cells, update_last=update_last)`, with
    `w: ((n + 3) hidden, all features)` and `bias: ((n + 3) hidden,)` for n cells. Raises ValueError if there are no
    inputs, or if shapes do not fit.

    >>> import numpy as np
    >>> h, c = tree_lstm_cell([np.ones(1)], np.zeros((5, 1)), np.zeros(5), [np.array([1.0]), np.array([3.0])])
    >>> c
    array([2.])
    """
    arrays = tuple(map(as_array, (*inputs, *cells)))
    h, c = _cell(len(inputs), len(cells))(as_array(w), as_array(bias), *arrays, update_last)
    return h, c


def lstm_step(h: Any, c: Any, w: Any, bias: Any) -> tuple[Any, Any]:
    """The next state of an LSTM whose gates are w h + bias."""
    h, c = _cell(1, 1)(w, bias, h, c, False)
    return h, c


@cache
def _cell(width: int, count: int) -> Callable[..., Any]:
    """The cell of so many inputs, with so many cells before it."""

    def composed(w: Any, bias: Any, *rest: Any) -> Any:
        *arrays, update_last = rest
        _, gates = gates_of(arrays[:width], w, bias)
        return memory_cell(gates, *arrays[width:], update_last=update_last)

    @fused(2 + width + count, composed)
    def cell(w: Any, bias: Any, *rest: Any) -> tuple[Any, Any]:
        _, gates = gates_of(rest[:width], w, bias)
        found = Activated(gates, rest[width:-1], rest[-1])
        return found.h, found.c

    def differentiated(w: Any, bias: Any, *rest: Any) -> Any:
        return _differentiated(w, bias, rest[:width], rest[width:-1], rest[-1])

    kept = ("w", *[f"input{k}" for k in range(width)], *[f"cell{k}" for k in range(count)])
    operands = ("w", "bias", *kept[1:])
    STRUCTURED[cell] = Structured(cell, operands, differentiated, (*operands, "update_last"), kept)
    return cell


def gates_of(inputs: Sequence[Any], w: Any, bias: Any) -> tuple[Any, Any]:
    """The inputs as one array, and the gates before their activation. ValueError if shapes do not fit."""
    of_w, before = w.shape, inputs[0].shape[:-1] if inputs else ()
    fits, features = bool(inputs) and len(of_w) == 2, 0
    for x in inputs:
        shape = x.shape
        fits = fits and shape[:-1] == before and shape != ()
        features += shape[-1] if shape else 0
    if fits and features == of_w[1]:
        x = inputs[0] if len(inputs) == 1 else np.concatenate(inputs, axis=-1)
        shape = (*before, of_w[0])
        if (of_bias := bias.shape) == of_w[:1] or of_bias == shape:
            return x, affine(x, w, bias)
    raise ValueError(
        f"nn.tree_lstm_cell: the inputs have the shapes {[x.shape for x in inputs]}, w has {of_w}, and bias "
        f"{bias.shape}; give inputs of (..., features), w of (gates, all features), and bias of (gates,)"
    )


def _differentiated(w: Any, bias: Any, inputs: Sequence[Any], cells: Sequence[Any], update_last: bool) -> Any:
    x, gates = gates_of(inputs, w, bias)
    found = Activated(gates, cells, update_last)
    shape, features = shape_of(gates), shape_of(x)[-1]
    edges = list(itertools.accumulate([shape_of(part)[-1] for part in inputs], initial=0))
    of_outer_products = has_factors(x, w)

    def both_back(bars: Any) -> tuple[Any, Any]:
        c_bar = found.to_cell(bars)
        return c_bar, found.to_gates(bars, c_bar)

    back = Shared(both_back)
    to_joined = Shared(lambda bars: np.matmul(back(bars)[1], w))

    def to_w(bars: Any) -> Any:
        rows = np.reshape(back(bars)[1], (-1, shape[-1]))
        return np.matmul(np.transpose(rows), np.reshape(x, (-1, features)))

    def of_input(place: int) -> LinearMap:
        start, end = edges[place : place + 2]
        to_joined.users += 1
        if to_joined.users > 1:
            back.users -= 1  # the product is computed once for all inputs
        return LinearMap(
            lambda x_dot: found.from_gates(linear(x_dot, w[:, start:end])),
            lambda bars: to_joined(bars)[..., start:end],
        )

    def map_of(operand: int) -> LinearMap:
        back.users += 1
        if operand == 0:
            factors = (lambda bars: (back(bars)[1], x)) if of_outer_products else None
            return LinearMap(lambda w_dot: found.from_gates(linear(x, w_dot)), to_w, factors=factors)
        if operand == 1:
            return LinearMap(
                lambda b_dot: found.from_gates(np.broadcast_to(b_dot, shape)),
                lambda bars: unbroadcast(back(bars)[1], shape_of(bias)),
            )
        if operand < 2 + len(inputs):
            return of_input(operand - 2)
        f = found.gates[operand - 1 - len(inputs)]
        return LinearMap(lambda cell_dot: found.forward(f * cell_dot), lambda bars: back(bars)[0] * f)

    return (found.h, found.c), map_of
