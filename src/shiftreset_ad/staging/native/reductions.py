"""Sums, products and extremes along axes, by NumPy's loops and in NumPy's order.

NumPy goes through an array in the order of its memory. So the axes of an array without gaps fall into three parts in
that order: those before the axes of the reduction, these, and those after.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.layouts import Layout
from shiftreset_ad.staging.native.llvm import DOUBLE, Code, Value, double
from shiftreset_ad.staging.native.loops import Operand, Round
from shiftreset_ad.staging.native.mathematics import call_on_arrays

SHORT = 8  # elements, from which on NumPy adds them in several sums
FEW = 32  # rows, of which all are read for an element at once
ARITHMETIC: dict[Any, str] = {np.add: "fadd", np.multiply: "fmul"}


class Lengths(NamedTuple):
    """The numbers of elements before, along and after the axes of a reduction; the bytes between elements `along`."""

    before: int
    along: int
    after: int
    step: int


def lengths_of(layout: Layout, axes: set[int], answer: ndarray[Any, Any]) -> Lengths | None:
    """The lengths of the parts; None if the axes are not together in memory, or the answer lies in another order."""
    long = [axis for axis, length in enumerate(layout.shape) if length > 1]
    if len(long) == 1 and set(long) <= axes:  # a vector may have gaps
        stride = layout.strides[long[0]]
        return Lengths(1, layout.size, 1, stride) if stride > 0 else None
    long.sort(key=lambda axis: -layout.strides[axis])
    if not layout.is_dense or not _is_in_order(answer, layout, [axis for axis in long if axis not in axes]):
        return None
    along = [i for i, axis in enumerate(long) if axis in axes]
    if not along:
        return Lengths(layout.size, 1, 1, 8)
    if along != list(range(along[0], along[-1] + 1)):
        return None
    n = math.prod(layout.shape[axis] for axis in axes)
    after = math.prod(layout.shape[axis] for axis in long[along[-1] + 1 :])
    return Lengths(layout.size // (n * after), n, after, 8)


def _is_in_order(answer: ndarray[Any, Any], layout: Layout, axes: list[int]) -> bool:
    """Whether the elements of the answer lie one after another, in the order of these axes of the argument."""
    strides, step = {}, 8
    for axis in reversed(axes):
        strides[axis] = step
        step *= layout.shape[axis]
    expected = [(layout.shape[axis], strides[axis]) for axis in sorted(axes)]
    return expected == [of for of in zip(answer.shape, answer.strides, strict=True) if of[0] > 1]


def reduce(code: Code, ufunc: np.ufunc, identity: float | None, x: Operand, out: str, lengths: Lengths) -> None:
    """Write the loops of a reduction. Without an identity it begins with the first element."""
    before, n, after, step = lengths
    skipped = 1 if identity is None else 0
    if after == 1 and n < SHORT and ufunc in ARITHMETIC:
        _reduce_short(code, ufunc, identity, x, out, lengths)
        return
    if after == 1:  # NumPy's loop goes along what is reduced
        rows, to = Layout((before,), (n * step,), 8), Layout((before,), (8,), 8)
        turn = Round(code, (before,), {"x": Operand(x.address, rows, DOUBLE)}, {"y": Operand(out, to, DOUBLE)})
        turn.store("y", turn.element("x") if identity is None else Value(double(identity), DOUBLE))
        answer = turn.address(("stored", "y"))
        first = turn.new(f"getelementptr i8, ptr {turn.address('x')}, i64 {step * skipped}")
        if n > skipped:
            call_on_arrays(turn, ufunc, [answer, first, answer], (n - skipped,), (0, step, 0))
        turn.write()
        return
    if n <= FEW and ufunc in ARITHMETIC:
        _reduce_few_rows(code, ufunc, identity, x, out, lengths)
        return
    # It goes along the answer, row after row.
    row, to = Layout((before, after), (8 * n * after, 8), 8), Layout((before, after), (8 * after, 8), 8)
    turn = Round(code, row.shape, {"x": Operand(x.address, row, DOUBLE)}, {"y": Operand(out, to, DOUBLE)})
    turn.store("y", turn.element("x") if identity is None else Value(double(identity), DOUBLE))
    turn.write()
    if n > skipped:
        start = code.new(f"getelementptr i8, ptr {x.address}, i64 {8 * after * skipped}")
        rows = Layout((before, n - skipped), (8 * n * after, 8 * after), 8)
        to = Layout(rows.shape, (8 * after, 0), 8)
        turn = Round(code, rows.shape, {"x": Operand(start, rows, DOUBLE), "y": Operand(out, to, DOUBLE)}, {})
        answer = turn.address("y")
        call_on_arrays(turn, ufunc, [answer, turn.address("x"), answer], (after,), (8, 8, 8))
        turn.write()


def _reduce_short(code: Code, ufunc: np.ufunc, identity: Any, x: Operand, out: str, lengths: Lengths) -> None:
    """Write a reduction of few elements each as arithmetic: NumPy adds so few one after another, and then the start."""
    before, n, _, step = lengths
    rows, to = Layout((before,), (n * step,), 8), Layout((before,), (8,), 8)
    turn = Round(code, (before,), {"x": Operand(x.address, rows, DOUBLE)}, {"y": Operand(out, to, DOUBLE)})
    first = turn.address("x")
    elements = [turn.loaded(turn.new(f"getelementptr i8, ptr {first}, i64 {i * step}"), DOUBLE).text for i in range(n)]
    start, instruction = double(identity), ARITHMETIC[ufunc]
    elements = [*elements, start] if ufunc is np.add else [start, *elements]
    total = elements[0]
    for element in elements[1:]:
        total = turn.new(f"{instruction} double {total}, {element}")
    turn.store("y", Value(total, DOUBLE))
    turn.write()


def _reduce_few_rows(
    code: Code, ufunc: np.ufunc, identity: float | None, x: Operand, out: str, lengths: Lengths
) -> None:
    """Write a reduction that goes row after row as arithmetic: it is that for each element of the answer."""
    before, n, after, _ = lengths
    row, to = Layout((before, after), (8 * n * after, 8), 8), Layout((before, after), (8 * after, 8), 8)
    turn = Round(code, row.shape, {"x": Operand(x.address, row, DOUBLE)}, {"y": Operand(out, to, DOUBLE)})
    first, instruction = turn.address("x"), ARITHMETIC[ufunc]
    rows = [turn.loaded(turn.moved(first, 8 * after * i), DOUBLE).text for i in range(n)]
    total, *more = rows if identity is None else [double(identity), *rows]
    for element in more:
        total = turn.new(f"{instruction} double {total}, {element}")
    turn.store("y", Value(total, DOUBLE))
    turn.write()


def divide(code: Code, out: str, size: int, n: int) -> None:
    """Write the division of sums by a number of elements: they become means."""
    of = Operand(out, Layout((size,), (8,), 8), DOUBLE)
    turn = Round(code, of.layout.shape, {"y": of}, {"y": of})
    turn.store("y", Value(turn.new(f"fdiv double {turn.element('y').text}, {double(float(n))}"), DOUBLE))
    turn.write()
