"""The code of steps that go in strips: a loop over the strips, and in it the loops of each step on one strip.

The steps get strips as if these were whole arrays. An array that only they need has memory for one strip. All strips
have the same length, so the last one begins before the one before it ends: what both have is made twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.loops import WORD, copy, operand
from shiftreset_ad.staging.native.strips import (
    Group,
    Place,
    Waiting,
    args_of_strip,
    arrays_in,
    is_reduction,
    with_length,
)
from shiftreset_ad.staging.steps.values import Staged, unstaged

MANY = 2**18  # bytes of all arrays; a smaller cache of the machine keeps fewer
BUDGET = 2**16  # bytes of a strip
MOST = 2**20  # bytes of a strip that a slower cache keeps
FEWEST = 3  # strips
AT_ONCE = 8  # elements, which the machine computes at once
LINE_UP = 64  # elements; long strips have some more than a multiple of it, or they would meet in few lines of the cache
LEAST = 256  # bytes of a row in a strip


def length_of_strips(group: Group, place: Place) -> int:
    """How long the strips of a group are; zero if they would gain nothing."""
    makers = [waiting for waiting in group.steps if waiting.step.place in group.roots]
    if not _has_several_loops(makers):
        return 0
    length, given = group.length, {}
    for x in chain.from_iterable(arrays_in(waiting.args) for waiting in makers):
        name = place(x) if type(x) is Staged else -id(x)
        if name not in group.made and length in unstaged(x).shape:
            given[name] = unstaged(x).nbytes
    row = (sum(waiting.answer.nbytes for waiting in makers) + sum(given.values())) // length
    short = max(2, BUDGET // row, LEAST // max(WORD, min(group.roots.values())))
    if short > LINE_UP:
        short = short // LINE_UP * LINE_UP + AT_ONCE
    elif short > AT_ONCE:
        short -= short % AT_ONCE
    return short if row * length > MANY and row * short < MOST and FEWEST * short <= length else 0


def _has_several_loops(makers: list[Waiting]) -> bool:
    """Whether the steps are several loops: steps that go element by element share one if they have one shape."""
    shapes = {waiting.answer.shape for waiting in makers if waiting.is_element}
    return len(shapes) + sum(not waiting.is_element for waiting in makers) > 1


class Strips:
    """What the steps of a group get in the code of one strip: strips of arrays, and their addresses.

    `first` is the name of the number of the first element. `inner` are the arrays that have memory for one strip.
    """

    def __init__(self, code: Any, group: Group, short: int, first: str, inner: set[int]) -> None:
        self._code, self._memory, self._group = code, code.memory, group
        self._short, self._first, self._inner = short, first, inner
        self._arrays: dict[int, ndarray[Any, Any]] = {}  # the strips, by their places
        self._constants: dict[int, tuple[ndarray[Any, Any], ndarray[Any, Any]]] = {}  # and their wholes, by their ids
        self._copies: dict[int, tuple[str, ndarray[Any, Any]]] = {}  # and their addresses, by their ids
        self._steps: dict[int, int] = {}  # the bytes between two elements along the axis, by the ids of strips
        self._offsets: dict[int, str] = {}  # the bytes before the strip, by those between two elements

    # Strips of arrays

    def args(self, waiting: Waiting) -> tuple[Any, ...]:
        """The arguments of a step on one strip. What is reduced has no gaps, as the whole array has none."""
        args = args_of_strip(waiting.step.function, waiting.args, self._group.length, self._short)
        args = tuple(map(self._argument, args))
        if is_reduction(waiting.step.function) and not self._is_inner(waiting.args[0]):
            return self._without_gaps(waiting.args[0], args[0]), *args[1:]
        return args

    def answer(self, waiting: Waiting) -> ndarray[Any, Any]:
        """The strip of an answer."""
        return self._strip(waiting.step.place, waiting.answer)

    def _argument(self, x: Any) -> Any:
        if type(x) in (list, tuple):
            return type(x)(map(self._argument, x))
        if self._has_axis(x) and type(x) is Staged:
            strip = Staged.__new__(Staged)
            strip._trace, strip._place = x._trace, x._place
            strip.inside = self._strip(self._code.place(x), x.inside)
            return strip
        if self._has_axis(x):
            if id(x) not in self._constants:
                part = self._part(x)
                self._constants[id(x)] = self._constants[id(part)] = part, x
            return self._constants[id(x)][0]
        return x

    def _has_axis(self, x: Any) -> bool:
        value = unstaged(x)
        return isinstance(value, ndarray) and self._group.length in value.shape

    def _is_inner(self, x: Any) -> bool:
        return type(x) is Staged and self._memory.root(self._code.place(x)) in self._inner

    def _strip(self, place: int, x: ndarray[Any, Any]) -> ndarray[Any, Any]:
        if place not in self._arrays:
            is_inner = self._memory.root(place) in self._inner
            self._arrays[place] = self._like(x) if is_inner else self._part(x)
        return self._arrays[place]

    def _part(self, x: ndarray[Any, Any]) -> ndarray[Any, Any]:
        """A strip in the memory of the whole array."""
        axis = self._axis(x)
        part: ndarray[Any, Any] = x[(*[slice(None)] * axis, slice(self._short))]
        self._steps[id(part)] = x.strides[axis]
        return part

    def _axis(self, x: ndarray[Any, Any]) -> int:
        return int(x.shape.index(self._group.length))

    def _like(self, x: ndarray[Any, Any]) -> ndarray[Any, Any]:
        """An array like a strip, in memory for one strip."""
        shape = with_length(x.shape, self._group.length, self._short)
        across = x.strides[self._axis(x)] * self._group.length
        strides = tuple([self._moved(stride, across) for stride in x.strides])
        last = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
        return ndarray(shape, x.dtype, np.zeros(last // x.itemsize + 1, x.dtype), 0, strides)

    def _moved(self, offset: int, across: int) -> int:
        """An offset in memory for one strip. The strips of the whole array have so many bytes `across`."""
        rows, inside = divmod(offset, across)
        return rows * (across // self._group.length * self._short) + inside

    def _without_gaps(self, whole: Any, x: Any) -> ndarray[Any, Any]:
        """A copy of a strip, in the order of the whole array."""
        self._code.write_waiting()  # which may make the array
        like = self._like(unstaged(whole))
        address = self._code.aside(like)
        copy(self._code, operand(self.address(x), unstaged(x)), operand(address, like))
        self._copies[id(like)] = address, like
        return like

    # Their addresses

    def address(self, x: Any) -> str:
        """The address of a strip, or of an array that has no axis for strips."""
        if id(x) in self._copies:
            return self._copies[id(x)][0]
        if type(x) is not Staged:
            strip, whole = self._constants.get(id(x), (x, x))
            return self._from_first(self._code.address_of_whole(whole), strip)
        root, offset = self._memory.address(self._code.place(x))
        if root in self._inner:
            across = self._group.roots[root] * self._group.length
            return str(self._code.moved("%memory", self._memory.block(root) + self._moved(offset, across)))
        return self._from_first(self._code.address_of_whole(x), x.inside)

    def of_new(self, address: str, place: int, strip: ndarray[Any, Any]) -> str:
        """The address of the strip of a new array."""
        return address if place < 0 or place in self._inner else self._from_first(address, strip)

    def _from_first(self, address: str, strip: Any) -> str:
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
