"""Lists whose length depends on values: arrays with more room than there are items, and the number of the items.

A list whose length differs from round to round, or from branch to branch, cannot be a part of a record, whose structure
is the same in each replay. Such a list is found by recording. In the next recording, what has made it makes a
`GrowingList`. What this does for an item is arithmetic, so a loop that appends is a loop in the record. For whatever
else the program does with the list, it becomes one of Python's, and its length is asked.

Where NumPy makes an array of all items, the length alone is asked: the array is a part of the one with more room.

If there are more items than there is room, the steps raise NoRoomError. The function itself runs then, and is recorded
again with more room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableSequence
from operator import index as as_index
from typing import Any, NoReturn, cast

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.control.choosing import type_of
from shiftreset_ad.staging.front.ends import not_negative, within
from shiftreset_ad.staging.front.item_forms import Leaf, filled, form_of, joined, leaves_of
from shiftreset_ad.staging.front.refusals import COMPARED, OTHER_TYPES
from shiftreset_ad.staging.front.session import Session
from shiftreset_ad.staging.front.stacking import JOINING, TAKING_ARRAYS, join
from shiftreset_ad.staging.front.versions import is_in_block, version_with
from shiftreset_ad.staging.steps.functions import place_at_end, place_in
from shiftreset_ad.staging.steps.values import Staged, call, unstaged

NO_ITEM, NOT_ASSIGNED = "list index out of range", "list assignment index out of range"  # Python's messages
POPPED_FROM_NONE = "pop from empty list"
LONGEST_EXACT = 2**53  # of the integers, so that all up to it are floats, too


def _place(function: Callable[..., int], *args: Any) -> Any:
    """A place in a list; it is a step that finds it if an argument is staged."""
    return call(function, args) if any(type(arg) is Staged for arg in args) else function(*args)


def _as_one_of_pythons(name: str) -> Callable[..., Any]:
    """A method that looks at the items of a list."""

    def method(self: GrowingList, *args: Any) -> Any:
        return getattr(list(self), name)(*[list(arg) if type(arg) is GrowingList else arg for arg in args])

    return method


def _comparing(name: str) -> Callable[..., Any]:
    """A method that compares items. To Python an item is equal to itself, even NaN, and an array has no items."""

    def method(self: GrowingList, *args: Any) -> NoReturn:
        self.refuse(COMPARED.format(name=name))

    return method


def _changing_all(name: str) -> Callable[..., Any]:
    """A method that changes a list in another way than at its end."""

    def method(self: GrowingList, *args: Any, **kwargs: Any) -> Any:
        self._require_exact(False)
        items = list(self)
        answer = getattr(items, name)(*args, **kwargs)
        self.clear()
        self.extend(items)
        return answer

    return method


class GrowingList:
    """A list of the program's, in a recording."""

    __slots__ = ("_first", "_form", "_room", "_session", "arrays", "length", "site")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, session: Session, site: Any, items: Iterable[Any]) -> None:
        self._session, self.site, self._form, self._room = session, site, session.growing[site], site.room
        leaves = [] if self._form is None else leaves_of(self._form)
        self.arrays = [leaf.room(session.control, site.room) for leaf in leaves]
        session.held_items.made(self, self._holds_arrays)
        self._first: Any = 0  # where the first item is, if there is one; it may be staged
        self.length: Any = 0  # the number of items, which may be staged
        self.extend(items)

    @property
    def _holds_arrays(self) -> bool:
        return self._form is not None and any(leaf.kind is ndarray for leaf in leaves_of(self._form))

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """To the program, it is a list."""
        return list

    # What a record has as it is

    def append(self, item: Any) -> None:
        self._require_form(item)
        end = self._at(self.length)
        if unstaged(end) >= self._room:
            self._session.needs_room()
        self._write(_place(place_at_end, end, self._room), item)
        self.length = self.length + 1

    def extend(self, items: Iterable[Any]) -> None:
        for item in list(items) if isinstance(items, list | tuple) else items:  # an iterator may look at the list
            self.append(item)

    def pop(self, index: Any = -1) -> Any:
        if type(index) is not int or index not in (0, -1):
            return self._popped(index)
        item = self.item(self._place(index, POPPED_FROM_NONE))
        if index == 0:
            self._first = self._first + 1
        self.length = self.length - 1
        return item

    def clear(self) -> None:
        self._first = self.length = 0

    def fill(self, item: Any, count: Any) -> None:
        """Become the list of so many times this item."""
        self._require_form(item)
        count = not_negative(count)
        if unstaged(count) > self._room:
            self._session.needs_room()
        self._write(slice(None), item)
        self._first, self.length = 0, _place(place_at_end, count, self._room + 1)

    def copy(self) -> GrowingList:
        """A new list with the same items."""
        found = object.__new__(GrowingList)
        found._session, found.site, found._form, found._room = self._session, self.site, self._form, self._room
        found.arrays = list(map(np.copy, self.arrays))
        found._first, found.length = self._first, self.length
        self._session.held_items.made(found, self._holds_arrays)
        return found

    def _part(self, part: slice) -> Any:
        """A new list for a slice."""
        if part == slice(None, None, -1):
            found = self.copy()
            found.arrays = [np.copy(array[::-1]) for array in self.arrays]
            found._first = self._room - self._first - self.length
        elif part.step is None:
            found = self.copy()
            found.keep(part)
        else:
            return list(self)[part]
        return found

    def keep(self, part: slice) -> None:
        """Leave out all items but those of a slice without a step."""
        start = 0 if part.start is None else within(part.start, self.length)
        stop = self.length if part.stop is None else within(part.stop, self.length)
        self._first = self._at(start)
        self.length = not_negative(stop - start)

    def __getitem__(self, index: Any) -> Any:
        return self._part(index) if type(index) is slice else self.item(self._place(index, NO_ITEM))

    def __setitem__(self, index: Any, item: Any) -> None:
        if type(index) is slice:
            self._set_slice(index, item)
            return
        self._require_form(item)
        self._write(self._at(self._place(index, NOT_ASSIGNED)), item)

    def refuse(self, reason: str) -> NoReturn:
        """Give the recording up. In the next one, the list is one of Python's."""
        self._session.refuse(self.site, reason)

    def _require_form(self, item: Any) -> None:
        """Give the recording up if there is no array for the leaves of an item."""
        form = joined(self._form, form_of(item))
        self._require_exact(form == form_of(item))
        if form is None or form != self._form:
            self._session.takes(self.site, form)
        for leaf, of in zip(leaves_of(item), leaves_of(form), strict=True):
            if of.kind is float and type_of(leaf) is int and not (type(leaf) is int and abs(leaf) <= LONGEST_EXACT):
                self._session.takes(self.site, None)  # it may have more digits than a float

    def _require_exact(self, is_exact: bool) -> None:
        """Give long loops up where the items would have other types than in the program, or each would be moved."""
        if not is_exact and self._session.control.is_exact:
            self._session.control.refuse_inexact(OTHER_TYPES)

    def item(self, place: Any) -> Any:
        """The item at a place that the list has, counted from its beginning."""
        forms, place = leaves_of(self._form), self._at(place)
        leaves = [leaf.read(array, place, is_in_block()) for leaf, array in zip(forms, self.arrays, strict=True)]
        for leaf in leaves:
            self._session.held_items.read(leaf)
        return filled(self._form, iter(leaves))

    def _place(self, index: Any, message: str) -> Any:
        return _place(place_in, index if type(index) is Staged else as_index(index), self.length, message)

    def _at(self, place: Any) -> Any:
        """The place in the arrays."""
        return place if type(self._first) is int and self._first == 0 else self._first + place

    def _write(self, place: Any, item: Any) -> None:
        for i, leaf in enumerate(leaves_of(item)):
            array = self.arrays[i]
            self._session.held_items.appended(leaf)
            if type(leaf) is ndarray:
                self._session.handed_on.note_read(self.site, [leaf])
            if is_in_block():
                self.arrays[i] = version_with(leaf, array, place)
            else:
                array[place] = leaf

    # What asks for the length

    def __len__(self) -> int:
        return int(self.length)

    def __iter__(self) -> Iterator[Any]:
        place = 0
        while place < self.length:
            yield self.item(place)
            place += 1

    def __delitem__(self, index: Any) -> None:
        if type(index) is int and index in (0, -1):
            self.pop(index)
        else:
            self._deleted(index)

    def __reversed__(self) -> Iterator[Any]:
        yield from reversed(list(self))

    def as_array(self) -> Any:
        """The array of all items along a new first axis; None if the items are tuples, or if there are none."""
        if type(self._form) is not Leaf or (n := len(self)) == 0:
            return None
        first = int(self._first)
        return np.copy(self.arrays[0][first : first + n])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(list(self), dtype)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        return by_numpy(function, *args, **kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, name: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, name)(*map(as_array, inputs), **kwargs)

    def __iadd__(self, items: Iterable[Any]) -> GrowingList:  # type: ignore[misc]
        self.extend(items)
        return self

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: Any) -> list[Any]:
        return list(self)

    def __reduce__(self) -> Any:
        return list, (list(self),)

    def __imul__(self, times: int) -> GrowingList:  # type: ignore[misc]
        items = list(self) * times
        self.clear()
        self.extend(items)
        return self

    insert, sort, reverse = map(_changing_all, ("insert", "sort", "reverse"))
    _popped, _deleted, _set_slice = map(_changing_all, ("pop", "__delitem__", "__setitem__"))
    __mul__, __rmul__, __repr__ = map(_as_one_of_pythons, ("__mul__", "__rmul__", "__repr__"))
    index, count, remove, __contains__ = map(_comparing, ("index", "count", "remove", "in"))
    __eq__, __ne__, __lt__, __le__, __gt__, __ge__ = map(_comparing, ("==", "!=", "<", "<=", ">", ">="))

    def __add__(self, other: Any) -> Any:
        if type(other) is not list:
            return list(self) + (list(other) if type(other) is GrowingList else other)
        found = self.copy()
        found.extend(other)
        return found

    def __radd__(self, other: Any) -> Any:
        return other + list(self)


MutableSequence.register(GrowingList)  # as a list is: a `match` takes it for a sequence


def without_growing(x: Any) -> Any:
    """A structure with lists of Python's in place of growing ones."""
    leaves, spec = trees.flatten(x)
    return (
        trees.unflatten(spec, list(map(as_pythons, leaves))) if any(type(leaf) is GrowingList for leaf in leaves) else x
    )


def by_numpy(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The answer of one of NumPy's functions, with growing lists among its arguments."""
    if function in JOINING and args and type(args[0]) is GrowingList and (items := args[0].as_array()) is not None:
        answer = join(function, items, args[1:], kwargs)
        if answer is not None:
            return answer
    plain = as_array if function in TAKING_ARRAYS else as_pythons
    return function(*map(plain, args), **{name: plain(arg) for name, arg in kwargs.items()})


def as_array(x: Any) -> Any:
    """An argument with the array of all items, or with a list of Python's, in place of a growing list."""
    array = x.as_array() if type(x) is GrowingList else None
    return as_pythons(x) if array is None else array


def as_pythons(x: Any) -> Any:
    """An argument with a list of Python's in place of a growing one."""
    return list(x) if type(x) is GrowingList else cast(Any, x)
