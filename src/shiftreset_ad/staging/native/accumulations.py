"""Running sums and products along an axis, and whether any or all elements along axes are true."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.staging.native.layouts import Layout
from shiftreset_ad.staging.native.llvm import DOUBLE, TRUTH, Code, Value
from shiftreset_ad.staging.native.loops import Operand, Round
from shiftreset_ad.staging.native.reductions import ARITHMETIC


def accumulate(code: Code, ufunc: np.ufunc, x: Operand, axis: int, answer: Operand) -> None:
    """Write `ufunc.accumulate`: each element joins what has come before it, one after another."""
    turn = Round(code, _without(x, axis).shape, {"x": _first(x, axis)}, {"y": _first(answer, axis)})
    turn.store("y", turn.element("x"))
    turn.write()
    if x.layout.shape[axis] == 1:
        return
    before, now = _part(code, answer, axis, 0), _part(code, answer, axis, 1)
    turn = Round(code, now.layout.shape, {"before": before, "x": _part(code, x, axis, 1)}, {"y": now})
    joined = turn.new(f"{ARITHMETIC[ufunc]} double {turn.element('before').text}, {turn.element('x').text}")
    turn.store("y", Value(joined, DOUBLE))
    turn.write()


def _without(x: Operand, axis: int) -> Layout:
    shape, strides, itemsize = x.layout
    return Layout(shape[:axis] + shape[axis + 1 :], strides[:axis] + strides[axis + 1 :], itemsize)


def _first(x: Operand, axis: int) -> Operand:
    """The first elements along an axis."""
    return x._replace(layout=_without(x, axis))


def _part(code: Code, x: Operand, axis: int, start: int) -> Operand:
    """All elements along an axis but the last one, or but the first one."""
    shape, strides, itemsize = x.layout
    shape = (*shape[:axis], shape[axis] - 1, *shape[axis + 1 :])
    address = code.new(f"getelementptr i8, ptr {x.address}, i64 {start * strides[axis]}")
    return Operand(address, Layout(shape, strides, itemsize), x.form)


def decide(code: Code, is_all: bool, x: Operand, axes: set[int], answer: Operand) -> None:
    """Write `numpy.all` or `numpy.any`. As in Python, what is not zero is true, NaN as well."""
    turn = Round(code, answer.layout.shape, {}, {"y": answer})
    turn.store("y", Value("true" if is_all else "false", TRUTH))
    turn.write()
    whole = answer._replace(layout=_spread(answer.layout, x.layout.shape, axes))
    turn = Round(code, x.layout.shape, {"x": x, "y": whole}, {"y": whole})
    element = turn.element("x")
    truth = turn.new(f"fcmp une double {element.text}, 0.0") if element.form == DOUBLE else element.text
    joined = turn.new(f"{'and' if is_all else 'or'} i1 {turn.element('y').text}, {truth}")
    turn.store("y", Value(joined, TRUTH))
    turn.write()


def _spread(layout: Layout, shape: tuple[int, ...], axes: set[int]) -> Layout:
    """The layout of an answer in a loop over its argument: along `axes`, it stays where it is."""
    has_all = len(layout.shape) == len(shape)
    strides: Any = iter(layout.strides)
    found = []
    for axis in range(len(shape)):
        stride = next(strides) if has_all or axis not in axes else 0
        found.append(0 if axis in axes else stride)
    return Layout(shape, tuple(found), layout.itemsize)
