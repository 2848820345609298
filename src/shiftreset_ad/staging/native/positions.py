"""Elements at the positions that arrays of integers name: they are read, written, or added to.

A position is an offset in bytes. It has a part that the slices of the index give, which is a layout, and a part that
the arrays give: a table of offsets, which is a constant, or which a loop fills before. That loop looks whether each
index is in the array.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.indexing import checked, moved
from shiftreset_ad.staging.native.layouts import Layout, as_layout, broadcast, is_view, layout_of, offsets_like
from shiftreset_ad.staging.native.llvm import (
    ARRAY,
    DOUBLE,
    INTEGER,
    TRUTH,
    Code,
    Value,
    described,
    form_of,
    is_table,
    refuse,
)
from shiftreset_ad.staging.native.loops import Operand, Round, operand
from shiftreset_ad.staging.steps.functions import name_in_program
from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged, is_staged, unstaged

NO_FORM = f"{name_in_program(operator.getitem)} by these values has no native form"
AddressOf = Callable[[Any], str]  # the address of an array
Aside = Callable[[ndarray[Any, Any]], str]  # the address of a block for an array that only this step needs


class Positions(NamedTuple):
    """Where the elements of a part of an array lie: an address, and from there a layout and a table of offsets.

    The loop over `shape` is cut before the axis `inner`: from there on the table has nothing to say.
    """

    shape: tuple[int, ...]
    inner: int
    address: str
    layout: Layout
    table: Operand


def has_arrays(index: Any) -> bool:
    """Whether an index has arrays, or lists, in it."""
    parts = index if type(index) is tuple else (index,)
    return any(type(part) in (list, range) or _is_array(unstaged(part)) for part in parts)


def positions(code: Code, x: ndarray[Any, Any], index: Any, start: str, address: AddressOf, aside: Aside) -> Positions:
    """The positions of `x[index]`, where `x` begins at the address `start`."""
    if not is_staged(index):
        return _constant(x, index, start, address)
    parts = _parts(x, index)
    arrays = [part for part in parts if _is_array(unstaged(part))]
    shape = np.broadcast_shapes(*[unstaged(part).shape for part in arrays])
    axis, tables = 0, []
    for i, part in enumerate(parts):
        if part is None:
            continue
        if _is_array(unstaged(part)):
            tables.append((part, x.shape[axis], x.strides[axis]))
            parts[i] = np.zeros(unstaged(part).shape, int)
        elif type(part) is Staged:
            start = moved(code, start, part, x.shape[axis], x.strides[axis])
            parts[i] = 0
        axis += 1
    table = np.zeros(shape, np.int64)
    at = operand(aside(table), table)
    _fill(code, at, [(operand(address(part), unstaged(part)), *more) for part, *more in tables])
    offsets = np.asarray(offsets_like(x)[tuple(parts)])
    first, layout = as_layout(offsets, x.itemsize) or refuse(NO_FORM)
    before = _axes_before(parts)
    strides = (0,) * before + layout_of(table).strides + (0,) * (offsets.ndim - before - table.ndim)
    return Positions(
        offsets.shape,
        before + table.ndim,
        code.new(f"getelementptr i8, ptr {start}, i64 {first}"),
        layout,
        Operand(at.address, Layout(offsets.shape, strides, 8), INTEGER),
    )


def _constant(x: ndarray[Any, Any], index: Any, start: str, address: AddressOf) -> Positions:
    """The positions at an index that is the same for all inputs."""
    offsets = np.ascontiguousarray(offsets_like(x)[index])
    if not offsets.size:
        refuse("it indexes by an array without elements")
    inner, strides = offsets.ndim, (0,) * offsets.ndim
    while inner and (more := _strides_from(offsets, inner - 1)) is not None:
        inner, strides = inner - 1, (0,) * (inner - 1) + more
    table = np.ascontiguousarray(offsets.reshape(*offsets.shape[:inner], -1)[..., 0])
    of_table = layout_of(table).strides[:inner] + (0,) * (offsets.ndim - inner)
    at = Operand(address(table), Layout(offsets.shape, of_table, 8), INTEGER)
    return Positions(offsets.shape, inner, start, Layout(offsets.shape, strides, x.itemsize), at)


def _strides_from(offsets: ndarray[Any, Any], axis: int) -> tuple[int, ...] | None:
    """The strides that all elements have from this axis on; None if they lie in different ways."""
    rows = offsets.reshape(-1, *offsets.shape[axis:])
    rows = rows - rows[(slice(None), *[slice(1)] * (rows.ndim - 1))]
    found = as_layout(rows[0], 8) if np.array_equal(rows, np.broadcast_to(rows[:1], rows.shape)) else None
    return found[1].strides if found else None


def _is_array(x: Any) -> bool:
    return isinstance(x, ndarray) and bool(x.shape)


def _parts(x: ndarray[Any, Any], index: Any) -> list[Any]:
    """The parts of an index, with slices for its ellipsis."""
    parts = list(index) if type(index) is tuple else [index]
    for part in parts:
        value = unstaged(part)
        is_integer = type(value) in (int, np.int64)
        is_slice = part is None or part is Ellipsis or (type(part) is slice and not is_staged(part))
        if not (is_integer or is_slice or is_table(value)):
            refuse(NO_FORM)
    named = sum(1 for part in parts if part is not None and part is not Ellipsis)
    if Ellipsis in [part for part in parts if not isinstance(part, Staged | ndarray)]:
        if named == x.ndim:
            refuse("it indexes by an ellipsis that stands for no axis")
        where = next(i for i, part in enumerate(parts) if part is Ellipsis)
        parts[where : where + 1] = [slice(None)] * (x.ndim - named)
    return parts


def _axes_before(parts: list[Any]) -> int:
    """How many axes a part has before those of the index's arrays: none if its arrays and integers lie apart."""
    among = [i for i, part in enumerate(parts) if part is not None and type(part) is not slice]
    return among[0] if among == list(range(among[0], among[-1] + 1)) else 0


def _fill(code: Code, table: Operand, indices: list[tuple[Operand, int, int]]) -> None:
    """Write the loop that fills a table. The code leaves if an index is not in the array."""
    is_out = code.variable(TRUTH)
    code.lines.append(f"  store i1 false, ptr {is_out}")
    turn = Round(code, table.layout.shape, {i: x for i, (x, _, _) in enumerate(indices)}, {"y": table})
    total = "0"
    for number, (_, length, stride) in enumerate(indices):
        row, is_bad = checked(turn, turn.element(number).text, length)
        total = turn.new(f"add i64 {total}, {turn.new(f'mul i64 {row}, {stride}')}")
        before = turn.new(f"load i1, ptr {is_out}")
        turn.lines.append(f"  store i1 {turn.new(f'or i1 {before}, {is_bad}')}, ptr {is_out}")
    turn.store("y", Value(total, INTEGER))
    turn.write()
    code.leave_if(code.new(f"load i1, ptr {is_out}"))


def each(code: Code, at: Positions, operands: dict[str, Operand], body: Callable[[Round, str], None]) -> None:
    """Write a loop over positions. `body` gets its code, in which the `operands` have elements, and a position."""
    shape, inner = at.shape, at.inner
    whole = {**operands, "at": Operand(at.address, at.layout, INTEGER)}
    strides = {key: broadcast(x.layout, shape) for key, x in whole.items()}

    def part(key: str, address: str, axes: slice) -> Operand:
        return Operand(address, Layout(shape[axes], strides[key][axes], 8), whole[key].form)

    leading, trailing = slice(inner), slice(inner, None)
    rows = {key: part(key, x.address, leading) for key, x in whole.items()}
    table = at.table._replace(layout=Layout(shape[:inner], at.table.layout.strides[:inner], 8))
    outer = Round(code, shape[:inner], {**rows, "table": table}, {})
    starts = {key: outer.address(key) for key in whole}
    starts["at"] = outer.new(f"getelementptr i8, ptr {starts['at']}, i64 {outer.element('table').text}")
    turn = Round(outer, shape[inner:], {key: part(key, start, trailing) for key, start in starts.items()}, {})
    body(turn, turn.address("at"))
    turn.write()
    outer.write()


def gather(code: Code, at: Positions, answer: Operand) -> None:
    """Read the elements at positions."""

    def body(turn: Round, position: str) -> None:
        turn.put(turn.address("y"), turn.loaded(position, answer.form))

    each(code, at, {"y": answer}, body)


def add(code: Code, at: Positions, item: Operand) -> None:
    """Add to the floats at positions, one after another: a position may come twice."""

    def body(turn: Round, position: str) -> None:
        before = turn.loaded(position, DOUBLE).text
        turn.put(position, Value(turn.new(f"fadd double {before}, {turn.element('x').text}"), DOUBLE))

    each(code, at, {"x": item}, body)


def writes_at_arrays(step: Step) -> bool:
    """Whether a step is `x[index] = v`, with arrays in the index."""
    return step.function is operator.setitem and has_arrays(step.args[1])


def write_at(code: Code, args: tuple[Any, ...], address: AddressOf, aside: Aside) -> None:
    """Write elements to positions, each of which is there once. NumPy reads all elements first, and so does this."""
    target, index, item = args
    to, value = unstaged(target), unstaged(item)
    if form_of(to) != ARRAY or to.dtype != np.float64 or is_staged(index) or not names_once(index, to):
        refuse("x[i] = v at these positions has no native form")
    at = _constant(to, index, address(target), address)
    if form_of(value) == ARRAY:
        if value.dtype != np.float64 or is_view(value, to) or value.ndim > len(at.shape):
            refuse(f"it writes {described(value)} to positions")
        each(code, at, {"x": operand(address(item), value)}, lambda turn, to: turn.put(to, turn.element("x")))
        return
    number = Value(code.double(item), DOUBLE)
    each(code, at, {}, lambda turn, to: turn.put(to, number))


def are_in_order(index: Any, x: ndarray[Any, Any]) -> bool:
    """Whether NumPy adds at an index in the order of C: it goes through its arrays in the order of their memory."""
    arrays = [unstaged(part) for part in (index if type(index) is tuple else (index,)) if _is_array(unstaged(part))]
    if all(array.ndim == 1 for array in arrays) or (not is_staged(index) and names_once(index, x)):
        return True
    shape = np.broadcast_shapes(*[array.shape for array in arrays])
    return all(array.shape == shape and array.flags.c_contiguous for array in arrays)


def names_once(index: Any, x: ndarray[Any, Any]) -> bool:
    """Whether an index that is the same for all inputs names no position twice."""
    offsets = np.asarray(offsets_like(x)[index])
    return bool(np.unique(offsets).size == offsets.size)
