"""The code of steps that go in strips: a loop over the strips, and in it the loops of each step on one strip.

The steps get strips as if these were whole arrays. An array that only they need has memory for one strip. All strips
have the same length, so the last one begins before the one before it ends: what both have is made twice.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.along import (
    REDUCTIONS,
    Axis,
    Place,
    args_of_strip,
    arrays_in,
    axes_of_reduction,
    part,
    with_length,
)
from shiftreset_ad.staging.native.layouts import layout_of
from shiftreset_ad.staging.native.llvm import refuse
from shiftreset_ad.staging.native.loops import WORD, operand
from shiftreset_ad.staging.native.reductions import ARITHMETIC, FEW, divide, lengths_of, reduce
from shiftreset_ad.staging.native.strips import Group, Waiting
from shiftreset_ad.staging.steps.functions import name_in_program
from shiftreset_ad.staging.steps.values import Staged, unstaged

MANY = 2**18  # bytes of all arrays; a smaller cache of the machine keeps fewer
BUDGET = 2**16  # bytes of a strip
MOST = 2**19  # bytes of a strip, a part of which a slower cache keeps
FEWEST = 3  # strips
AT_ONCE = 8  # elements, which the machine computes at once
LINE_UP = 64  # elements; the rows of strips of a multiple of it would meet in few lines of the cache
LEAST = 256  # bytes of a row in a strip
SMALL_PART = 64  # an array with less than this part of the bytes of a strip takes little time, however short its rows
CALL = 2**13  # bytes of a strip beside which a call of a loop of NumPy's takes little time


def length_of_strips(group: Group, place: Place) -> int:
    """How long the strips of a group are; zero if they would gain nothing."""
    steps = group.steps
    if not _has_several_loops(steps):
        return 0
    length, given = group.length, {}
    for x, axis in chain.from_iterable(map(arrays_along, steps)):
        name = place(x) if type(x) is Staged else -id(x)
        if name not in group.axes and axis is not None:
            given[name] = unstaged(x).nbytes
    row = (sum(waiting.answer.nbytes for waiting in steps) + sum(given.values())) // length
    large = [x for x in steps if x.answer.nbytes * SMALL_PART >= row * length]
    least = (
        LEAST // max(WORD, min(group.roots[x.step.place] for x in large)) if large else 0,
        CALL * sum(map(_calls, steps)) // row,
    )
    short = max(2, BUDGET // row, *least)
    strips = -(-length // short)
    short = -(-length // strips)  # so that the last strip overlaps the one before it by as little as can be
    if short > AT_ONCE:
        short += -short % AT_ONCE
    if short > LINE_UP and not short % LINE_UP:
        short += AT_ONCE
    is_worth_it = strips >= FEWEST and short < length and row * length > MANY and row * short < MOST
    return short if is_worth_it else 0


def _has_several_loops(steps: list[Waiting]) -> bool:
    """Whether the steps are several loops: steps that go element by element share one if they have one shape."""
    shapes = {waiting.answer.shape for waiting in steps if waiting.is_element}
    return len(shapes) + sum(not waiting.is_element for waiting in steps) > 1


def arrays_along(waiting: Waiting) -> Iterator[tuple[Any, Axis]]:
    """The arrays among the arguments of a step, each with its axis."""
    return zip(arrays_in(waiting.args), waiting.axes.args, strict=True)


def _calls(waiting: Waiting) -> int:
    """How many calls of loops of NumPy's a step takes in each strip, beyond those that it takes for whole arrays."""
    step, answer, axes = waiting.step, waiting.answer, waiting.axes
    if waiting.is_element:
        return 0
    is_reduction = step.function in REDUCTIONS
    x, axis = (unstaged(waiting.args[0]), axes.args[0] or 0) if is_reduction else (answer, axes.answer)
    if x.strides[axis] != WORD:
        return 0
    if is_reduction:
        ufunc, _, _ = REDUCTIONS[step.function]
        return 0 if ufunc in ARITHMETIC and x.size <= FEW * answer.size else int(x.size // x.shape[axis])
    return int(x.size // x.shape[axis]) if isinstance(step.function, np.ufunc) or step.function is operator.pow else 0


class Strips:
    """What the steps of a group get in the code of one strip: strips of arrays, and their addresses.

    `first` is the name of the number of the first element. `inner` are the arrays that have memory for one strip.
    """

    def __init__(self, code: Any, group: Group, short: int, first: str, inner: set[int]) -> None:
        self._code, self._memory, self._group = code, code.memory, group
        self._short, self._first, self._inner = short, first, inner
        self._arrays: dict[tuple[int, int], ndarray[Any, Any]] = {}  # the strips, by their places and axes
        self._constants: dict[int, ndarray[Any, Any]] = {}  # the wholes, by the ids of the strips of constants
        self._of_constants: dict[tuple[int, int], ndarray[Any, Any]] = {}  # these strips, by the wholes' ids and axes
        self._steps: dict[int, int] = {}  # the bytes between two elements along the axis, by the ids of strips
        self._offsets: dict[int, str] = {}  # the bytes before the strip, by those between two elements

    # Strips of arrays

    def args(self, waiting: Waiting) -> tuple[Any, ...]:
        """The arguments of a step on one strip."""
        args = args_of_strip(waiting.step.function, waiting.args, waiting.axes.answer, self._short)
        axes = iter(waiting.axes.args)
        return tuple([self._argument(x, axes) for x in args])

    def answer(self, waiting: Waiting) -> ndarray[Any, Any]:
        """The strip of an answer."""
        return self._strip(waiting.step.place, waiting.answer, waiting.axes.answer)

    def _argument(self, x: Any, axes: Iterator[Axis]) -> Any:
        """A strip of an argument, or of the arrays in it, along the next of the axes."""
        if type(x) in (list, tuple):
            return type(x)([self._argument(item, axes) for item in x])
        if not isinstance(unstaged(x), ndarray) or (axis := next(axes)) is None:
            return x
        if type(x) is Staged:
            strip = Staged.__new__(Staged)
            strip._trace, strip._place = x._trace, x._place
            strip.inside = self._strip(self._code.place(x), x.inside, axis)
            return strip
        if (id(x), axis) not in self._of_constants:
            part = self._of_constants[id(x), axis] = self._part(x, axis)
            self._constants[id(part)] = x
        return self._of_constants[id(x), axis]

    def _strip(self, place: int, x: ndarray[Any, Any], axis: int) -> ndarray[Any, Any]:
        if (place, axis) not in self._arrays:
            is_inner = self._memory.root(place) in self._inner
            self._arrays[place, axis] = self._like(x, axis) if is_inner else self._part(x, axis)
        return self._arrays[place, axis]

    def _part(self, x: ndarray[Any, Any], axis: int) -> ndarray[Any, Any]:
        """A strip in the memory of the whole array."""
        found = part(x, axis, self._short)
        self._steps[id(found)] = x.strides[axis]
        return found

    def _like(self, x: ndarray[Any, Any], axis: int) -> ndarray[Any, Any]:
        """An array like a strip, in memory for one strip."""
        shape, across = with_length(x.shape, axis, self._short), x.strides[axis] * self._group.length
        strides = tuple([self._moved(stride, across) for stride in x.strides])
        last = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
        return ndarray(shape, x.dtype, np.zeros(last // x.itemsize + 1, x.dtype), 0, strides)

    def _moved(self, offset: int, across: int) -> int:
        """An offset in memory for one strip. The strips of the whole array have so many bytes `across`."""
        rows, inside = divmod(offset, across)
        return rows * (across // self._group.length * self._short) + inside

    # Reductions

    def reduce(self, waiting: Waiting) -> None:
        """Write a reduction of one strip, in the order in which NumPy goes through the whole array."""
        step, (given, *_) = waiting.step, waiting.args
        (x, *_), answer = self.args(waiting), self.answer(waiting)
        axes, whole = axes_of_reduction(step, waiting.args) or set(), layout_of(unstaged(given))
        lengths = lengths_of(layout_of(unstaged(x)), axes, layout_of(answer), whole)
        if lengths is None:
            refuse(f"{name_in_program(step.function)} along these axes has no native form")
        ufunc, identity, is_mean = REDUCTIONS[step.function]
        of, out = operand(self.address(x), unstaged(x)), self._code.new_block(step.place, answer)
        reduce(self._code, ufunc, identity, of, out, lengths)
        if is_mean:
            divide(self._code, out, lengths)

    # Their addresses

    def address(self, x: Any) -> str:
        """The address of a strip, or of an array that has no axis for strips."""
        if type(x) is not Staged:
            return self.from_first(self._code.address_of_whole(self._constants.get(id(x), x)), x)
        root, offset = self._memory.address(self._code.place(x))
        if root in self._inner:
            across = self._group.roots[root] * self._group.length
            return str(self._code.moved("%memory", self._memory.block(root) + self._moved(offset, across)))
        return self.from_first(self._code.address_of_whole(x), x.inside)

    def from_first(self, address: str, strip: Any) -> str:
        """The address of a strip in the memory of a whole array that begins at an address."""
        if not (step := self._steps.get(id(strip), 0)):
            return address
        if step not in self._offsets:
            self._offsets[step] = self._code.new(f"mul nsw i64 {self._first}, {step}")
        return str(self._code.new(f"getelementptr i8, ptr {address}, i64 {self._offsets[step]}"))


@contextmanager
def loop_over_strips(code: Any, length: int, short: int) -> Iterator[str]:
    """The loop around the code of one strip, as the name of the number of the first element of the strip."""
    number = code.fresh()[1:]
    first, behind, following, is_less, more = (
        f"%{name}_{number}" for name in ("first", "behind", "next", "less", "more")
    )
    before, again, end, after = (f"{name}_strips_{number}" for name in ("before", "in", "end", "after"))
    code.lines += [
        *(f"  br label %{before}", f"{before}:", f"  br label %{again}", f"{again}:"),
        f"  {first} = phi i64 [0, %{before}], [{following}, %{end}]",
    ]
    yield first
    last = length - short
    code.lines += [
        f"  {behind} = add nuw nsw i64 {first}, {short}",
        f"  {is_less} = icmp ult i64 {behind}, {last}",
        f"  {following} = select i1 {is_less}, i64 {behind}, i64 {last}",
        *(f"  br label %{end}", f"{end}:"),
        f"  {more} = icmp ult i64 {first}, {last}",
        *(f"  br i1 {more}, label %{again}, label %{after}", f"{after}:"),
    ]
