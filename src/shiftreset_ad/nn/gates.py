"""The sigmoid, relu, and the memory cell of an LSTM: functions with a rule of their own, so that each is one operation.

A memory cell of a network over a sequence has one cell before it, a leaf of a tree has none, and a node of a tree has
that of each child.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftreset_ad.nn import torch_kernels
from shiftreset_ad.nn.calling import as_array, fused, of_any_library
from shiftreset_ad.nn.torch_kernels import by_torch_on_memory
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.masked import where_chosen
from shiftreset_ad.rules.numpy.choosing import chosen_beside
from shiftreset_ad.rules.table import STRUCTURED, JointMap, LinearMap, Structured, structured

LARGE = 4096  # elements; of fewer, a call of PyTorch takes longer than its kernel spares


def _by_exponentials(x: Any) -> Any:
    kind = dtype_of(x).kind
    if kind == "c":
        raise TypeError("nn.sigmoid: complex numbers are not taken; give real ones")
    x = x if kind == "f" else x + 0.0
    small = np.exp(-np.abs(x))  # which cannot overflow
    return np.exp(np.minimum(x, 0.0)) / (small + 1.0)  # the numerator is the same where x is negative, and 1 elsewhere


@fused(1, _by_exponentials, torch_kernels.opened)
def sigmoid_of(x: Any) -> Any:
    """1 / (1 + exp(-x)) of an array."""
    if x.dtype.kind != "f":
        return _by_exponentials(x)
    small = np.copysign(x, -1.0)
    np.exp(small, out=small)
    y = np.minimum(x, 0.0)
    np.exp(y, out=y)
    small += 1.0
    return np.divide(y, small, out=y)


@structured(sigmoid_of)
def _sigmoid_of(x: Any) -> Any:
    y = sigmoid_of(x)

    def times_slope(direction: Any) -> Any:
        return y * (1.0 - y) * direction

    return y, (LinearMap(times_slope, times_slope),)


def _chosen(x: Any, library: str = "numpy") -> Any:
    return np.where(x <= 0, 0.0, x)


@fused(1, _chosen, torch_kernels.rectified)
def relu_of(x: Any, library: str = "numpy") -> Any:
    """max(x, 0) of an array. `library` has the kernel for a large one: PyTorch's takes a third of NumPy's time."""
    if library == "torch" and x.size > LARGE and x.flags.c_contiguous:
        y = by_torch_on_memory(torch_kernels.rectified, x)
        if y is not None:
            return y
    return np.maximum(x, 0.0) if x.dtype.kind == "f" else _chosen(x)


@structured(relu_of, linear=True)
def _relu_of(x: Any, library: str = "numpy") -> Any:
    y = relu_of(x, library)
    is_positive, shape = y != 0, shape_of(x)  # NaN is chosen, too

    maps = LinearMap(
        lambda x_dot: chosen_beside(is_positive, x_dot, shape),
        lambda y_bar: where_chosen(is_positive, y_bar),
        chooses=True,
    )
    return y, (maps,)


class Activated:
    """The gates of a memory cell after their activation, and what follows from them.

    `gates` are i, f, ... with u and o at the places `of_u` and `of_o`, each the part of an array at an index of
    `parts`; `cells` are those before; `t` is tanh of the cell `c`, and `h` is o t.
    """

    __slots__ = ("c", "cells", "gates", "h", "of_o", "of_u", "opened", "parts", "t")

    def __init__(self, gates: Any, cells: Sequence[Any], update_last: bool) -> None:
        count, size = len(cells) + 3, _size_of(gates, cells)
        self.cells = cells
        self.parts = [(..., slice(place * size, (place + 1) * size)) for place in range(count)]
        self.of_u, self.of_o = (count - 1, count - 2) if update_last else (count - 2, count - 1)
        self.opened = sigmoid_of(gates)
        self.gates = [self.opened[part] for part in self.parts]
        self.gates[self.of_u] = u = np.tanh(gates[self.parts[self.of_u]])
        c = self.gates[0] * u
        for f, cell in zip(self.gates[1:], cells, strict=False):
            c = c + f * cell
        self.c, self.t = c, np.tanh(c)
        self.h = self.gates[self.of_o] * self.t

    def slopes(self) -> Any:
        """The derivatives of the activations."""
        opened, of_u, u = self.opened, self.of_u, self.gates[self.of_u]
        slopes = 1.0 - opened
        if type(slopes) is np.ndarray:
            slopes *= opened
            slopes[self.parts[of_u]] = 1.0 - u * u
            return slopes
        slopes = slopes * opened
        parts = [slopes[part] for part in self.parts]
        parts[of_u] = 1.0 - u * u
        return np.concatenate(parts, axis=-1)

    def forward(self, c_dot: Any) -> tuple[Any, Any]:
        """The directions of h and c for one of c."""
        return self.gates[self.of_o] * (1.0 - self.t * self.t) * c_dot, c_dot

    def from_gates(self, gates_dot: Any) -> tuple[Any, Any]:
        """The directions of h and c for one of the gates before their activation."""
        all_dot = self.slopes() * gates_dot
        parts = [all_dot[part] for part in self.parts]
        c_dot = parts[0] * self.gates[self.of_u] + self.gates[0] * parts[self.of_u]
        for f_dot, cell in zip(parts[1:], self.cells, strict=False):
            c_dot = c_dot + f_dot * cell
        return self.forward(c_dot)[0] + parts[self.of_o] * self.t, c_dot

    def to_cell(self, bars: Any) -> Any:
        """The cotangent of c, of those of the answers h and c."""
        h_bar, c_bar = bars
        return c_bar + h_bar * self.gates[self.of_o] * (1.0 - self.t * self.t)

    def to_gates(self, bars: Any, c_bar: Any) -> Any:
        """The cotangent of the gates before their activation, of those of the answers, and that of c."""
        parts = [c_bar * self.gates[self.of_u], *[c_bar * cell for cell in self.cells], None, None]
        parts[self.of_u], parts[self.of_o] = c_bar * self.gates[0], bars[0] * self.t
        return np.concatenate(parts, axis=-1) * self.slopes()


def _composed(gates: Any, *cells: Any) -> tuple[Any, Any]:
    """`memory_cell` by other functions; the last of `cells` is `update_last`."""
    found = Activated(gates, cells[:-1], cells[-1])
    return found.h, found.c


class OfGates(JointMap):
    """The linear maps of a memory cell in its gates and in the cells before it."""

    __slots__ = ("found",)

    def __init__(self, found: Activated) -> None:
        self.found = found

    def pushforward(self, operand: int, x_dot: Any) -> Any:
        """The directions of h and c."""
        found = self.found
        return found.forward(found.gates[operand] * x_dot) if operand else found.from_gates(x_dot)

    def pullback(self, y_bar: Any, operands: Sequence[int]) -> list[Any]:
        """The cotangents of these operands, from those of h and c."""
        found = self.found
        c_bar = found.to_cell(y_bar)
        return [c_bar * found.gates[operand] if operand else found.to_gates(y_bar, c_bar) for operand in operands]


def _differentiated(gates: Any, *cells: Any) -> Any:
    found = Activated(gates, cells[:-1], cells[-1])
    return (found.h, found.c), OfGates(found)


def _with_cells(count: int) -> Callable[..., Any]:
    """The memory cell with so many cells before it."""

    @fused(count + 1, _composed)
    def memory_cell(gates: Any, *cells: Any) -> tuple[Any, Any]:
        return _composed(gates, *cells)

    operands = ("gates", *[f"cell{k}" for k in range(count)])
    STRUCTURED[memory_cell] = Structured(
        memory_cell, operands, _differentiated, (*operands, "update_last"), operands[1:]
    )
    return memory_cell


_CELLS = [_with_cells(count) for count in range(3)]


@of_any_library
def memory_cell(gates: Any, *cells: Any, update_last: bool = False) -> tuple[Any, Any]:
    """The hidden state h and the cell c of a unit with any number of `cells` before it: one in an LSTM, two in a tree.

    `gates: (..., (n + 3) hidden)` has, before their activation, the input gate i, a forget gate f for each of the n
    cells, the update u and the output gate o, or, with `update_last`, o and u. Each cell is of (..., hidden). Then
    c = sigmoid(i) tanh(u) + the sum of sigmoid(f) cell, and h = sigmoid(o) tanh(c). Raises ValueError if shapes do not
    fit.

    >>> import numpy as np
    >>> h, c = memory_cell(np.zeros(5), np.array([1.0]), np.array([3.0]))
    >>> c
    array([2.])
    """
    function = _CELLS[len(cells)] if len(cells) < len(_CELLS) else _composed
    h, c = function(as_array(gates), *map(as_array, cells), update_last)
    return h, c


def _size_of(gates: Any, cells: Sequence[Any]) -> int:
    """How many elements a cell has in its last axis. ValueError if shapes do not fit."""
    shape, count = gates.shape, len(cells) + 3
    size, rest = divmod(shape[-1], count) if shape else (0, 1)
    of_cells = (*shape[:-1], size)
    for cell in cells:
        rest = rest or cell.shape != of_cells
    if rest:
        raise ValueError(
            f"nn.memory_cell: gates has the shape {shape}, and the cells {[cell.shape for cell in cells]}; give gates "
            f"of (..., {count} hidden), and cells of (..., hidden)"
        )
    return int(size)
