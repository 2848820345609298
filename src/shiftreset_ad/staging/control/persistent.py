"""Persistent arrays: all versions of an array in the memory of one, for rounds that are carried out one by one.

The frame of each round has the values of the round. A version of an array differs from the one before in a few
elements, so the frames have these elements alone (Baker, "Shallow binding makes functional arrays fast", 1991). The
version that is asked for has the memory; the way to it from the last one undoes writes, or does them again.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.indexing import replaced, scatter
from shiftreset_ad.staging.steps.functions import INFIX

FEW = 32  # elements: an array with fewer is copied
ADDING = (operator.add, np.add)
READING = {*INFIX, np.copy}  # functions whose arrays are new, beside the ufuncs


class Version:
    """A version of an array: it has the memory, or says in what it differs from the `next_` version."""

    __slots__ = ("_array", "_index", "_next", "_own", "_part")

    def __init__(self, array: ndarray[Any, Any]) -> None:
        self._array: Any = array
        self._next: Version | None = None
        self._index: Any = None
        self._part: Any = None
        self._own: Any = None

    @property
    def is_unwritten(self) -> bool:
        """Whether nobody has the array in memory of its own."""
        return self._own is None

    def now(self) -> ndarray[Any, Any]:
        """The array, until another version is asked for."""
        return self._with_memory() if self._own is None else self.own()

    def own(self) -> ndarray[Any, Any]:
        """The array in memory of its own, for whoever keeps it, a view of it, or writes to it."""
        if self._own is None:
            self._own = self._with_memory().copy("K")
        own: ndarray[Any, Any] = self._own
        return own

    def with_item(self, index: Any, item: Any) -> Version:
        """The version after `x[index] = item`."""
        array = self._with_memory()
        part = np.copy(array[index])
        array[index] = item
        new = Version(array)
        self._array, self._next, self._index, self._part = None, new, index, part
        return new

    def _with_memory(self) -> ndarray[Any, Any]:
        path: list[Version] = []
        version = self
        while version._next is not None:
            path.append(version)
            version = version._next
        for before in reversed(path):
            array, index = version._array, before._index
            version._part, version._index, version._next = np.copy(array[index]), index, before
            array[index] = before._part
            version._array, before._array = None, array
            before._next = before._index = before._part = None
            version = before
        array = self._array
        assert type(array) is ndarray
        return array


class Scattered:
    """The answer of `scatter`, which is made when something else than a sum needs it."""

    __slots__ = ("_args", "_array")

    def __init__(self, values: list[Any], indices: list[Any], shape: tuple[int, ...], dtype: Any) -> None:
        self._args = values, indices, shape, dtype
        self._array: Any = None

    def own(self) -> ndarray[Any, Any]:
        """The array."""
        if self._array is None:
            self._array = scatter(*self._args)
        return self._array  # type: ignore[no-any-return]

    now = own

    def added_to(self, x: Any) -> Version | None:
        """The version of an array to which this is added; None if it is no array like this one."""
        values, indices, shape, dtype = self._args
        array = x.now() if type(x) is Version else x
        if type(array) is not ndarray or array.shape != shape or array.dtype != dtype:
            return None
        version = _version_of(x)
        for value, index in zip(values, indices, strict=True):
            version = version.with_item(index, version.now()[index] + value)
        return version


LAZY = (Version, Scattered)
LAZILY = (replaced, scatter, *ADDING)


def answered_lazily(function: Any, args: list[Any]) -> Any:
    """The answer of a step as a persistent array, or as what is added to one; None for other steps.

    An index names each position once, as in a block that writes by `replaced`.
    """
    if function is replaced:
        (item, x), index = args
        if type(x) is Version or (type(x) is ndarray and x.size >= FEW):
            item = item.own() if type(item) in LAZY else item
            return _version_of(x).with_item(index, item)
    elif function is scatter:
        values, indices, shape, dtype = args
        if np.prod(shape) >= FEW and not any(type(value) is ndarray or type(value) in LAZY for value in values):
            return Scattered(values, indices, shape, dtype)
    elif function in ADDING and len(args) == 2:
        x, y = args
        if type(y) is Scattered and type(x) is not Scattered:
            return y.added_to(x)
        if type(x) is Scattered and type(y) is not Scattered:
            return x.added_to(y)
    return None


def answered(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The answer of a step some of whose arguments are persistent arrays."""
    lazy = {id(value) for value in _lazy_in([*args, *kwargs.values()])}
    is_read = function in READING or isinstance(function, np.ufunc) or function is operator.getitem
    if len(lazy) == 1 and is_read and "out" not in kwargs:
        answer = function(*plain(args, now=True), **kwargs)
        return answer.copy("K") if type(answer) is ndarray and answer.base is not None else answer
    return function(*plain(args), **plain(kwargs))


def plain(x: Any, now: bool = False) -> Any:
    """A value with arrays in place of persistent ones: as they are `now`, or in memory of their own."""
    kind = type(x)
    if kind in LAZY:
        return x.now() if now else x.own()
    if kind is list or kind is tuple:
        return kind([plain(part, now) for part in x])
    return {name: plain(part, now) for name, part in x.items()} if kind is dict else x


def has_lazy(args: list[Any]) -> bool:
    """Whether there is a persistent array among the arguments of a step."""
    for x in args:
        kind = type(x)
        if kind in LAZY or ((kind is list or kind is tuple) and has_lazy(x)):
            return True
    return False


def _lazy_in(x: Any) -> list[Any]:
    if type(x) in LAZY:
        return [x]
    return [value for part in x for value in _lazy_in(part)] if type(x) in (list, tuple) else []


def _version_of(x: Any) -> Version:
    if type(x) is Version and x.is_unwritten:
        return x
    return Version(np.array(plain(x)))
