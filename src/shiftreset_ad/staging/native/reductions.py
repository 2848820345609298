"""Sums, products and extremes along axes, by NumPy's loops and in NumPy's order.

NumPy goes through an array in the order of its memory. So the axes of an array without gaps fall into three parts in
that order: those before the axes of the reduction, these, and those after.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.staging.native.layouts import Layout
from shiftreset_ad.staging.native.llvm import DOUBLE, Code, Value, double
from shiftreset_ad.staging.native.loops import Operand, Round
from shiftreset_ad.staging.native.mathematics import call_on_arrays

SHORT = 8  # elements, from which on NumPy adds them in several sums
FEW = 32  # rows, of which all are read for an element at once
ARITHMETIC: dict[Any, str] = {np.add: "fadd", np.multiply: "fmul"}


class Lengths(NamedTuple):
    """The numbers of elements before, along and after the axes of a reduction. Elements after follow one another.

    `across` and `step` are the bytes between two rows before, and between two elements along; `to` are those between
    two rows of the answer.
    """

    before: int
    along: int
    after: int
    across: int
    step: int
    to: int


def lengths_of(layout: Layout, axes: set[int], answer: Layout, whole: Layout | None = None) -> Lengths | None:
    """The lengths of the parts; None if the axes are not together in memory, or the answer lies in another order.

    NumPy's order is that of the `whole` array, of which the layout may be that of a strip.
    """
    order = whole or layout
    long = [axis for axis, length in enumerate(layout.shape) if length > 1]
    if whole is None and len(long) == 1 and set(long) <= axes:  # a vector may have gaps
        stride = layout.strides[long[0]]
        return Lengths(1, layout.size, 1, 0, stride, 0) if stride > 0 else None
    long.sort(key=lambda axis: -order.strides[axis])
    if not order.is_dense:
        return None
    along = [i for i, axis in enumerate(long) if axis in axes] or [len(long)]
    if along != list(range(along[0], along[-1] + 1)):
        return None
    before, after = long[: along[0]], long[along[-1] + 1 :]
    keeps_axes = len(answer.shape) == len(layout.shape)
    place = {axis: axis - (0 if keeps_axes else sum(of < axis for of in axes)) for axis in (*before, *after)}
    across, step, last = (_distance(layout, part) for part in (before, [axis for axis in long if axis in axes], after))
    to, to_last = (_distance(answer, [place[axis] for axis in part]) for part in (before, after))
    if across is None or step is None or to is None or (after and not last == to_last == 8):
        return None
    n = math.prod(layout.shape[axis] for axis in axes)
    many = math.prod(layout.shape[axis] for axis in after)
    return Lengths(layout.size // (n * many), n, many, across, step, to)


def _distance(layout: Layout, axes: list[int]) -> int | None:
    """The bytes between two elements along some axes, from the outermost to the innermost; None if they differ."""
    if not axes:
        return 0
    for axis, inner in pairwise(axes):
        if layout.strides[axis] != layout.strides[inner] * layout.shape[inner]:
            return None
    return layout.strides[axes[-1]]


def reduce(code: Code, ufunc: np.ufunc, identity: float | None, x: Operand, out: str, lengths: Lengths) -> None:
    """Write the loops of a reduction. Without an identity it begins with the first element."""
    before, n, after, across, step, to = lengths
    skipped = 1 if identity is None else 0
    if after == 1 and n < SHORT and ufunc in ARITHMETIC:
        _reduce_short(code, ufunc, identity, x, out, lengths)
        return
    if after == 1:  # NumPy's loop goes along what is reduced
        rows, answers = Layout((before,), (across,), 8), Layout((before,), (to,), 8)
        turn = Round(code, (before,), {"x": Operand(x.address, rows, DOUBLE)}, {"y": Operand(out, answers, DOUBLE)})
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
    row, answers = Layout((before, after), (across, 8), 8), Layout((before, after), (to, 8), 8)
    turn = Round(code, row.shape, {"x": Operand(x.address, row, DOUBLE)}, {"y": Operand(out, answers, DOUBLE)})
    turn.store("y", turn.element("x") if identity is None else Value(double(identity), DOUBLE))
    turn.write()
    if n > skipped:
        start = code.new(f"getelementptr i8, ptr {x.address}, i64 {step * skipped}")
        rows = Layout((before, n - skipped), (across, step), 8)
        answers = Layout(rows.shape, (to, 0), 8)
        turn = Round(code, rows.shape, {"x": Operand(start, rows, DOUBLE), "y": Operand(out, answers, DOUBLE)}, {})
        answer = turn.address("y")
        call_on_arrays(turn, ufunc, [answer, turn.address("x"), answer], (after,), (8, 8, 8))
        turn.write()


def _reduce_short(code: Code, ufunc: np.ufunc, identity: Any, x: Operand, out: str, lengths: Lengths) -> None:
    """Write a reduction of few elements each as arithmetic: NumPy adds so few one after another, and then the start."""
    before, n, _, across, step, to = lengths
    rows, answers = Layout((before,), (across,), 8), Layout((before,), (to,), 8)
    turn = Round(code, (before,), {"x": Operand(x.address, rows, DOUBLE)}, {"y": Operand(out, answers, DOUBLE)})
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
    before, n, after, across, step, to = lengths
    row, answers = Layout((before, after), (across, 8), 8), Layout((before, after), (to, 8), 8)
    turn = Round(code, row.shape, {"x": Operand(x.address, row, DOUBLE)}, {"y": Operand(out, answers, DOUBLE)})
    first, instruction = turn.address("x"), ARITHMETIC[ufunc]
    rows = [turn.loaded(turn.moved(first, step * i), DOUBLE).text for i in range(n)]
    total, *more = rows if identity is None else [double(identity), *rows]
    for element in more:
        total = turn.new(f"{instruction} double {total}, {element}")
    turn.store("y", Value(total, DOUBLE))
    turn.write()


def divide(code: Code, out: str, lengths: Lengths) -> None:
    """Write the division of sums by the number of their elements: they become means."""
    of = Operand(out, Layout((lengths.before, lengths.after), (lengths.to, 8), 8), DOUBLE)
    turn = Round(code, of.layout.shape, {"y": of}, {"y": of})
    turn.store("y", Value(turn.new(f"fdiv double {turn.element('y').text}, {double(float(lengths.along))}"), DOUBLE))
    turn.write()
