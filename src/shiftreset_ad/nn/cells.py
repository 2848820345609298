"""A linear map and the memory cell behind it, as one operation: a step of an LSTM, or a node of a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from shiftreset_ad.nn.calling import as_array, fused, of_any_library
from shiftreset_ad.nn.gates import Activated, memory_cell
from shiftreset_ad.nn.layers import affine, linear, to_matrix
from shiftreset_ad.rules.broadcasting import shape_of, unbroadcast
from shiftreset_ad.rules.table import STRUCTURED, JointMap, Structured


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
        maps = Cell(w, bias, rest[:width], rest[width:-1], rest[-1])
        return (maps.found.h, maps.found.c), maps

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


class Cell(JointMap):
    """The linear maps of a cell, at the place where it has these operands."""

    __slots__ = ("found", "of_bias", "sizes", "w", "x")

    def __init__(self, w: Any, bias: Any, inputs: Sequence[Any], cells: Sequence[Any], update_last: bool) -> None:
        self.x, gates = gates_of(inputs, w, bias)
        self.w, self.of_bias, self.sizes = w, shape_of(bias), [shape_of(x)[-1] for x in inputs]
        self.found = Activated(gates, cells, update_last)

    def pushforward(self, operand: int, x_dot: Any) -> Any:
        """The directions of h and c."""
        found, of_cells = self.found, 2 + len(self.sizes)
        if operand == 0:
            return found.from_gates(linear(self.x, x_dot))
        if operand == 1:
            return found.from_gates(np.broadcast_to(x_dot, shape_of(found.opened)))
        if operand < of_cells:
            return found.from_gates(linear(x_dot, self.w[:, self.part(operand)]))
        return found.forward(found.gates[1 + operand - of_cells] * x_dot)

    def pullback(self, y_bar: Any, operands: Sequence[int]) -> list[Any]:
        """The cotangents of these operands, from those of h and c."""
        found, of_cells = self.found, 2 + len(self.sizes)
        c_bar = found.to_cell(y_bar)
        gates_bar = found.to_gates(y_bar, c_bar)
        joined, x_bars = None, []
        for operand in operands:
            if operand >= of_cells:
                x_bar = c_bar * found.gates[1 + operand - of_cells]
            elif operand == 0:
                x_bar = to_matrix(gates_bar, self.x, self.w)
            elif operand == 1:
                x_bar = unbroadcast(gates_bar, self.of_bias)
            else:
                joined = np.matmul(gates_bar, self.w) if joined is None else joined  # for all inputs at once
                x_bar = joined[..., self.part(operand)]
            x_bars.append(x_bar)
        return x_bars

    def part(self, operand: int) -> slice:
        """Where an input lies among all inputs."""
        start = sum(self.sizes[: operand - 2])
        return slice(start, start + self.sizes[operand - 2])
