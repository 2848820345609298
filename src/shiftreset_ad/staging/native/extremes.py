"""Loops that end with one number: where the least or the greatest element is, and whether two arrays are equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.staging.native.layouts import Layout
from shiftreset_ad.staging.native.llvm import DOUBLE, INTEGER, Code, Value
from shiftreset_ad.staging.native.loops import Operand, Round

SEARCHES: dict[Any, str] = {np.argmin: "ult", np.argmax: "ugt"}  # the comparison of an element with the best one so far


def search(code: Code, x: Operand, axis: int, answer: Operand, is_closer: str) -> None:
    """Write the search along an axis. Of equal elements the first one counts, and NaN is before all others."""
    axis %= len(x.layout.shape)
    shape, strides = list(x.layout.shape), list(x.layout.strides)
    length, stride = shape.pop(axis), strides.pop(axis)
    best, where = code.variable(DOUBLE), code.variable(INTEGER)
    outer = Round(code, tuple(shape), {"x": x._replace(layout=Layout(tuple(shape), tuple(strides), 8))}, {"y": answer})
    start = outer.address("x")
    outer.put(best, outer.loaded(start, DOUBLE))
    outer.put(where, Value("0", INTEGER))
    along = {"x": Operand(start, Layout((length,), (stride,), 8), DOUBLE)}
    turn = Round(outer, (length,), along, {})
    element, so_far = turn.element("x").text, turn.loaded(best, DOUBLE).text
    is_better = turn.new(f"fcmp {is_closer} double {element}, {so_far}")
    is_number = turn.new(f"fcmp ord double {so_far}, {so_far}")
    is_new = turn.new(f"and i1 {is_better}, {is_number}")
    index = turn.index()
    turn.put(best, Value(turn.new(f"select i1 {is_new}, double {element}, double {so_far}"), DOUBLE))
    before = turn.loaded(where, INTEGER).text
    turn.put(where, Value(turn.new(f"select i1 {is_new}, i64 {index}, i64 {before}"), INTEGER))
    turn.write()
    outer.store("y", outer.loaded(where, INTEGER))
    outer.write()


def are_equal(code: Code, x: Operand, y: Operand, is_nan_equal: bool) -> str:
    """Write the comparison of two arrays of floats of one shape."""
    differ = code.variable(INTEGER)
    code.lines.append(f"  store i64 0, ptr {differ}")
    turn = Round(code, x.layout.shape, {"x": x, "y": y}, {})
    a, b = turn.element("x").text, turn.element("y").text
    is_other = turn.new(f"fcmp une double {a}, {b}")
    if is_nan_equal:
        is_number = turn.new(f"or i1 {turn.new(f'fcmp ord double {a}, {a}')}, {turn.new(f'fcmp ord double {b}, {b}')}")
        is_other = turn.new(f"and i1 {is_other}, {is_number}")
    before = turn.loaded(differ, INTEGER).text
    turn.put(differ, Value(turn.new(f"or i64 {before}, {turn.new(f'zext i1 {is_other} to i64')}"), INTEGER))
    turn.write()
    return code.new(f"icmp eq i64 {code.new(f'load i64, ptr {differ}')}, 0")
