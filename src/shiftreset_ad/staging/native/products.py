"""Products of matrices, of stacks of them, and sums over axes that NumPy carries out as a product of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.layouts import Layout, is_view, place_in, untouched
from shiftreset_ad.staging.native.llvm import DOUBLE, Code, Value, refuse
from shiftreset_ad.staging.native.loops import Operand, Round
from shiftreset_ad.staging.native.mathematics import call_on_arrays

Aside = Callable[[ndarray[Any, Any]], str]  # the address of a block for an array that only this step needs


def multiply(code: Code, x: Operand, y: Operand, answer: Operand) -> None:
    """Write `x @ y`: NumPy's loop for each pair of matrices."""
    (m, k), of_x = _matrix(x.layout, is_row=True)
    (_, p), of_y = _matrix(y.layout, is_row=False)
    stack = np.broadcast_shapes(x.layout.shape[:-2], y.layout.shape[:-2])
    if not answer.layout.axes(slice(len(stack), None)).is_in_order:
        refuse("a product of matrices in another order has no native form")
    stacks = {key: of._replace(layout=of.layout.axes(slice(-2))) for key, of in (("x", x), ("y", y))}
    stacks["answer"] = answer._replace(layout=answer.layout.axes(slice(len(stack))))
    turn = Round(code, stack, stacks, {})
    strides = 0, 0, 0, *of_x, *of_y, 8 * p, 8
    call_on_arrays(turn, np.matmul, [turn.address(key) for key in stacks], (1, m, k, p), strides)
    turn.write()


def _matrix(layout: Layout, is_row: bool) -> Any:
    """The shape and strides of the last two axes, a matrix; a vector is a row or a column."""
    if len(layout.shape) >= 2:
        return layout.shape[-2:], layout.strides[-2:]
    (length,), (stride,) = layout.shape, layout.strides
    return ((1, length), (length * 8, stride)) if is_row else ((length, 1), (stride, 8))


def outer(code: Code, x: Operand, y: Operand, answer: Operand) -> None:
    """Write `numpy.outer`, of arrays whose elements come one after another in the order of C, or of vectors."""
    sides = {}
    for key, side in (("x", x), ("y", y)):
        if len(side.layout.shape) > 1 and not side.layout.is_in_order:
            refuse("numpy.outer of an array in another order has no native form")
        stride = side.layout.strides[0] if len(side.layout.shape) == 1 else 8
        length = side.layout.size
        layout = Layout((length, 1), (stride, 0), 8) if key == "x" else Layout((1, length), (0, stride), 8)
        sides[key] = side._replace(layout=layout)
    turn = Round(code, answer.layout.shape, sides, {"answer": answer})
    product = turn.new(f"fmul double {turn.element('x').text}, {turn.element('y').text}")
    turn.store("answer", Value(product, DOUBLE))
    turn.write()


def contract(code: Code, sides: list[Operand], axes: Any, answer: Operand, aside: Aside) -> None:
    """Write `numpy.tensordot`: the summed axes come last in the first array, and first in the second one.

    NumPy's product of two matrices is then that of `@`, and has its bits, where neither of them is a row or a column.
    """
    first, second = _summed(axes, [len(x.layout.shape) for x in sides])
    a = _as_matrix(code, sides[0], [*_others(first, sides[0]), *first], len(first), True, aside)
    b = _as_matrix(code, sides[1], [*second, *_others(second, sides[1])], len(second), False, aside)
    if min(*a.layout.shape, *b.layout.shape) < 2 or not answer.layout.is_in_order:
        refuse("numpy.tensordot of these shapes has no native form")
    shape = a.layout.shape[0], b.layout.shape[1]
    multiply(code, a, b, answer._replace(layout=Layout(shape, (8 * shape[1], 8), 8)))


def _summed(axes: Any, ndims: list[int]) -> tuple[list[int], list[int]]:
    """The axes over which is summed, of both arrays."""
    if isinstance(axes, int | np.integer):
        return list(range(ndims[0] - int(axes), ndims[0])), list(range(int(axes)))
    first, second = ([int(of)] if isinstance(of, int | np.integer) else [int(axis) for axis in of] for of in axes)
    return [axis % ndims[0] for axis in first], [axis % ndims[1] for axis in second]


def _others(axes: list[int], x: Operand) -> list[int]:
    return [axis for axis in range(len(x.layout.shape)) if axis not in axes]


def _as_matrix(code: Code, x: Operand, order: list[int], summed: int, is_last: bool, aside: Aside) -> Operand:
    """An array with its axes in this order, as a matrix. It is copied where NumPy copies it."""
    layout = Layout(tuple(x.layout.shape[i] for i in order), tuple(x.layout.strides[i] for i in order), 8)
    cut = len(order) - summed if is_last else summed
    shape = math.prod(layout.shape[:cut]), math.prod(layout.shape[cut:])
    whole = untouched(layout)
    view = whole.reshape(shape)
    if is_view(view, whole):
        _, found = place_in(whole, view)
        if found.strides in ((8 * shape[1], 8), (8, 8 * shape[0])):
            return Operand(x.address, found, DOUBLE)
    copy = np.empty(layout.shape)
    to = Operand(aside(copy), Layout(layout.shape, copy.strides, 8), DOUBLE)
    turn = Round(code, layout.shape, {"x": x._replace(layout=layout)}, {"y": to})
    turn.store("y", turn.element("x"))
    turn.write()
    return Operand(to.address, Layout(shape, (8 * shape[1], 8), 8), DOUBLE)
