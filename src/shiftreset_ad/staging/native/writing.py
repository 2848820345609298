"""Writes in place: `x[i] = v` and `x += v`, to arrays that the program has made.

An array has one block of memory, and its views are addresses in it. So a write through a view is seen in the array, and
the way back undoes it there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.indexing import part_at
from shiftreset_ad.staging.native.layouts import distance, is_view, layout_of
from shiftreset_ad.staging.native.llvm import ARRAY, DOUBLE, INTEGER, TRUTH, Code, Value, described, form_of, refuse
from shiftreset_ad.staging.native.loops import Operand, Round, form_of_elements, operand
from shiftreset_ad.staging.native.memory import ArrayBlocks
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import Control, all_steps
from shiftreset_ad.staging.steps.functions import STATEMENTS, name_in_program
from shiftreset_ad.staging.steps.memory import owners_of
from shiftreset_ad.staging.steps.trace import Step, Trace
from shiftreset_ad.staging.steps.values import is_staged, unstaged

IN_PLACE = {operator.iadd: "fadd", operator.isub: "fsub", operator.imul: "fmul", operator.itruediv: "fdiv"}


def require_one_block(trace: Trace, left: Eliminated, memory: ArrayBlocks, outputs: list[Any]) -> None:
    """Refuse a write to memory that is one array in Python, but several blocks in native code.

    An array without dimensions and an array at an index that is a value are views in Python, and copies here. A copy
    that is made after the write, or that is not needed after it, does no harm. In a round, arrays go into frames, which
    are copies, too, so a round must not write.
    """
    steps = [*all_steps(left.steps)]
    if not any(step.writes for step in steps):
        return
    last = {memory.root(place): i for i, step in enumerate(steps) for place in left.operands(step)}
    last |= {memory.root(place): len(steps) for place in left.places_in(outputs)}
    blocks: dict[int, set[int]] = {}  # the roots of the values so far, by the owners of their memory
    for i, step in enumerate(steps):
        for place in [*step.params, *step.answers] if isinstance(step, Control) else [step.place]:
            for owner in owners_of(trace.values[place]):
                blocks.setdefault(id(owner), set()).add(memory.root(place))
        if step.writes:
            if step.is_question:
                refuse("it asks whether a write raises an error")
            if trace.homes[step.place] is not trace.root:
                refuse(f"{_statement(step)} writes in a loop or a branch")
            own = memory.root(left.place(step.args[0]))
            roots = {root for owner in owners_of(unstaged(step.args[0])) for root in blocks[id(owner)]}
            if any(last.get(root, -1) > i for root in roots - {own}):
                refuse(f"{_statement(step)} writes to an array with a view that native code copies")


def write(
    code: Code,
    step: Step,
    args: tuple[Any, ...],
    address: Callable[[Any], str],
    aside: Callable[[ndarray[Any, Any]], str],
) -> None:
    """Write the code of a write in place. `address` gives the address of an array, `aside` that of a new block."""
    target, *more = args
    if step.kwargs or not (step.function is operator.setitem or step.function in IN_PLACE):
        refuse(f"{_statement(step)} writes, and has no native form")
    index, value = more if step.function is operator.setitem else (Ellipsis, *more)
    write_to(code, step, target, index, value, address, aside)


def write_to(
    code: Code,
    step: Step,
    target: Any,
    index: Any,
    value: Any,
    address: Callable[[Any], str],
    aside: Callable[[ndarray[Any, Any]], str],
) -> None:
    """Write the code of a step that writes a value to the part of an array at an index."""
    to, source = _array(step, target), None
    start, first, layout = part_at(code, address(target), to, index)
    if not layout.size:
        return
    if form_of(unstaged(value)) == ARRAY:
        x = _array(step, value)
        if x.dtype != to.dtype:
            refuse(f"{_statement(step)} writes {described(x)} to {described(to)}")
        if x.ndim > len(layout.shape):
            refuse(f"{_statement(step)} writes an array of more dimensions")
        source = operand(address(value), x)
        if is_view(x, to):
            is_there = not is_staged(index) and distance(x, to) == first and layout_of(x) == layout
            if is_there and step.function is operator.setitem:  # the end of `x[i] += v`
                return
            source = _copied(code, source, aside, np.empty(x.shape, x.dtype))
    form = form_of_elements(to)
    if to.dtype not in (np.float64, np.int64, np.bool):
        refuse(f"{_statement(step)} writes to {described(to)}")
    if source is None and form == INTEGER and form_of(unstaged(value)) not in (INTEGER, TRUTH):
        refuse(f"{_statement(step)} writes {described(unstaged(value))} to {described(to)}")
    part = Operand(code.new(f"getelementptr i8, ptr {start}, i64 {first}"), layout, form)
    number = "" if source else TAKEN[form](code, value)
    turn = Round(code, layout.shape, {"y": part} | ({"x": source} if source else {}), {"y": part})
    text = turn.element("x").text if source else number
    if step.function in IN_PLACE:
        if form != DOUBLE:
            refuse(f"{_statement(step)} writes, with {described(to)}")
        text = turn.new(f"{IN_PLACE[step.function]} double {turn.element('y').text}, {text}")
    turn.store("y", Value(text, form))
    turn.write()


TAKEN: dict[str, Callable[[Code, Any], str]] = {DOUBLE: Code.double, INTEGER: Code.integer, TRUTH: Code.truth}


def _copied(code: Code, x: Operand, aside: Callable[[ndarray[Any, Any]], str], like: ndarray[Any, Any]) -> Operand:
    """A copy of an array that may lie where is written: NumPy reads all of it before it writes."""
    copy = operand(aside(like), like)
    turn = Round(code, x.layout.shape, {"x": x}, {"y": copy})
    turn.store("y", turn.element("x"))
    turn.write()
    return copy


def _array(step: Step, x: Any) -> ndarray[Any, Any]:
    """The array of floats or truth values that an argument is."""
    value = unstaged(x)
    if form_of(value) != ARRAY:
        refuse(f"{_statement(step)} writes, with {described(value)}")
    return value  # type: ignore[no-any-return]


def _statement(step: Step) -> str:
    return STATEMENTS.get(step.function) or name_in_program(step.function)
