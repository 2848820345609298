"""A write inside a block makes a new version of the array, which the block hands on: blocks change no memory.

`x[i] = v` in a loop or in a branch is recorded as `x = replaced([v, x], i)`, which has derivatives of all kinds. So an
array to which a block writes is a part of its state, as a variable is that the block binds. After the outermost block,
the last version is written to the array itself, and whoever holds the array or a view of it sees the elements.

Inside a block nobody may see the elements of an older version, as he would see the new ones in Python. So reading an
array that has a newer version is refused (`Trace.outdated`): it is read by another name, or through a view.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary import trees
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.numbers.number import Number, in_memory
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.indexing import names_each_position_once, replaced
from shiftreset_ad.staging.control.kinds import parts_of
from shiftreset_ad.staging.steps.examples import at_nearest
from shiftreset_ad.staging.steps.memory import owners_of
from shiftreset_ad.staging.steps.trace import READS_OLDER, Block, Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged

WRITTEN = Staged | Number | ndarray | np.generic | float | int | complex


class Written(BaseException):
    """Blocks change what the writer knows by this key, so they have to carry it: an array, or attributes and items."""

    def __init__(self, writer: Any, key: Any) -> None:
        super().__init__()
        self.writer, self.key = writer, key


class Origin:
    """The array that a variable, an attribute or an item has at the beginning of a block.

    `writer` wants to know whether the block writes to it, and knows it by `key`.
    """

    __slots__ = ("is_carried", "is_written", "key", "name", "writer")

    def __init__(self, writer: Any, key: Any, name: str, is_carried: bool) -> None:
        self.writer, self.key, self.name, self.is_carried = writer, key, name, is_carried
        self.is_written = False


class _Version(NamedTuple):
    array: Any
    origin: Origin
    block: Block


class Versions:
    """The last versions of the arrays to which blocks may write, by the ids of the owners of their memory.

    An array that a block makes has a new version after a write, too, if all writes are `to_versions`: native code has
    those. If that `is_refused`, as the array has several names, such writes may be what they are in the program.
    """

    def __init__(self, trace: Trace, to_versions: bool = False) -> None:
        self._trace = trace
        self._to_versions = to_versions
        self._is_refused = False
        self._last: dict[int, _Version] = {}

    @contextmanager
    def kept(self) -> Iterator[Callable[[], None]]:
        """Keep what is known now: the function that is given brings it back, and so does the end."""
        last, outdated = dict(self._last), dict(self._trace.outdated)

        def bring_back() -> None:
            self._last, self._trace.outdated = dict(last), dict(outdated)

        try:
            yield bring_back
        finally:
            bring_back()

    def begin(self, x: Any, origin: Origin) -> None:
        """In this block, `x` is the array of a variable."""
        array, (owner,) = _memory(x)
        self._last[id(owner)] = _Version(array, origin, self._trace.block)

    def outdate(self, x: Any) -> None:
        """From here on, the elements of `x` are those of an older version."""
        self._trace.outdated.update((id(owner), owner) for owner in _memory(x)[1])

    def copy(self, x: Any) -> Any:
        """A version of its own, for blocks to begin with."""
        return np.copy(x)

    def is_last(self, x: Any, origin: Origin) -> bool:
        """Whether a variable has the last version of its array at the end of a block; if not, there was no write."""
        _, owners = _memory(x)
        version = self._last.get(id(owners[0])) if len(owners) == 1 else None
        if version is not None and version.origin is origin and id(owners[0]) not in self._trace.outdated:
            return True
        if origin.is_written:
            self.refuse(f"{origin.name!r} is written to, and then bound to another array")
        return False

    def require_no_common_memory(self, arrays: list[Any]) -> None:
        """Refuse that blocks write to an array by several names, or through a view beside it."""
        owners = [id(owner) for x in arrays for owner in _memory(x)[1]]
        if len(set(owners)) < len(owners):
            self.refuse("a block writes to an array by two names")

    def require_last(self, values: list[Any]) -> None:
        """Refuse that a block hands on an older version, by another name."""
        for leaf in trees.flatten(values)[0]:
            self._trace.require_last(in_memory(leaf))

    def require_last_in_all(self, is_last: bool, name: str) -> None:
        """Refuse that a variable has the last version after one of two branches only."""
        if not is_last:
            self.refuse(f"{name!r} is written to in one branch, and bound to another array in the other")

    def require_no_other_name(self, x: Any, values: list[Any]) -> None:
        """Refuse that what a block hands on may have the memory of `x` twice: a later write would be seen in both."""
        own = {id(owner) for owner in _memory(x)[1]}
        found = [id(owner) for leaf in trees.flatten(values)[0] for owner in _memory(leaf)[1]]
        if sum(key in own for key in found) > 1 or not own.isdisjoint(self._trace.shared):
            self.refuse("an array that a block writes to has two names after it")

    # Writing

    @property
    def may_write_to_arrays(self) -> bool:
        """Whether the recording was given up as writes make versions, and is to be tried without them."""
        return self._to_versions and (self._is_refused or self._trace.refusal == READS_OLDER)

    def announce(self, x: Any) -> bool:
        """A write to `x` is going to come. Raises Written if the array has to be carried, and is not.

        The answer is whether the array comes from outside of this block, and nobody knows where it was.
        """
        owners = _memory(x)[1]
        for owner in owners:
            version = self._last.get(id(owner))
            if version is not None and not version.origin.is_carried:
                raise Written(version.origin.writer, version.origin.key)
            if version is not None:
                return version.block is not self._trace.block
        return not any(id(owner) in self._trace.outdated for owner in owners) and self._trace.is_from_outside(owners)

    def write(self, x: Any, index: Any, item: Any, always: bool = False) -> Any:
        """`x[index] = item`; the array that the variable has afterwards: `always` a new version, or where need be."""
        if not self._makes_version(x, item, always):
            operator.setitem(x, index, item)
            return x
        part = shape_of(in_memory(x)[at_nearest(unstaged(index), shape_of(x))])
        if not isinstance(item, WRITTEN) or not names_each_position_once(index) or len(shape_of(item)) > len(part):
            self.refuse("a block writes x[i] = v with an index, or a value, that is not staged there")
        if not np.can_cast(dtype_of(item), dtype_of(x), "same_kind"):
            self.refuse(f"a block writes a value of dtype {dtype_of(item)} to an array of dtype {dtype_of(x)}")
        return self._replace(x, replaced([item, x], index))

    def augment(self, x: Any, name: str, other: Any) -> Any:
        """`x += other`, and its kin, for a variable that has an array; `name` is that of the function."""
        if not self._makes_version(x, other):
            return _in_place(name)(x, other)
        return self._replace(x, self._like(x, getattr(operator, name)(x, other)))

    def augment_item(self, x: Any, index: Any, part: Any, name: str, other: Any) -> Any:
        """`x[index] += other`, and its kin, where `part` is `x[index]`."""
        if not self._makes_version(x, other):
            operator.setitem(x, index, _in_place(name)(part, other))
            return x
        return self.write(x, index, self._like(part, getattr(operator, name)(part, other)))

    def write_back(self, x: Any, answer: Any) -> Any:
        """After a block that wrote to `x`: the array that the variable has in the block around."""
        if self._trace.block is self._trace.root:
            try:
                operator.setitem(x, ..., answer)
            except TypeError as error:  # `x` lacks a derivative that the answer has
                self._trace.refuse(f"{error}")
            return x
        self._makes_version(x, answer, always=True)
        return self._replace(x, answer)

    def _makes_version(self, x: Any, item: Any, always: bool = False) -> bool:
        """Whether a write to `x` makes a new version. If not, it is a write like those outside of blocks."""
        array, owners = _memory(x)
        trace = self._trace
        version = self._last.get(id(owners[0])) if len(owners) == 1 else None
        if any(id(owner) in trace.outdated for owner in owners):
            self.refuse("a block writes to an array by two names")
        if version is None:
            trace.require_writable(array, "x[i] = v")
            if not (always or self._to_versions or _in_reverse(x) or _in_reverse(item)):
                return False
            self.begin(x, Origin(None, "x", "x", is_carried=True))
            return True
        self.announce(x)
        if version.array is not array:
            self.refuse("a block writes to a view of an array")
        if version.block is not trace.block:
            self.refuse("a block writes to an array that belongs to another block")
        if id(owners[0]) in trace.shared:
            self.refuse("a block writes to an array that has another name")
        return True

    def _replace(self, x: Any, new: Any) -> Any:
        _, (owner,) = _memory(x)
        version = self._last.pop(id(owner))
        array, owners = _memory(new)
        if len(owners) != 1 or owners[0] is owner:
            self.refuse("a block writes to an array by a function that answers the array itself")
        self.outdate(x)
        version.origin.is_written = True
        self._trace.shared.pop(id(owners[0]), None)  # if this is the answer of a block: nobody else has it
        self._last[id(owners[0])] = _Version(array, version.origin, self._trace.block)
        return new

    def _like(self, x: Any, new: Any) -> Any:
        if shape_of(new) != shape_of(x):
            self.refuse("a block writes x[i] += v with a `v` of another shape")
        if shape_of(x) and dtype_of(new) != dtype_of(x):
            self.refuse(f"a block writes x += v with a `v` of dtype {dtype_of(new)}")
        return new

    def refuse(self, reason: str) -> NoReturn:
        """Give the recording up."""
        self._is_refused = True
        self._trace.refuse(f"{reason}. Write to a copy, x.copy(), or make a new array")


def _memory(x: Any) -> tuple[Any, list[Any]]:
    """The plain array of a value, as it lies in memory, and the owners of this memory."""
    array = in_memory(x)
    return array, owners_of(array)


def _in_place(name: str) -> Any:
    """The function of Python's for `x += y`, or its kin, by the name of that for `x + y`."""
    return getattr(operator, f"i{name.strip('_')}")


def _in_reverse(x: Any) -> bool:
    """Whether a value is a number of reverse mode at any level."""
    return isinstance(x, Number) and (isinstance(x, NumR) or any(map(_in_reverse, parts_of(x))))
