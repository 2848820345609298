"""Arrays that the program makes by `np.zeros(n)` and its kin, and then writes staged values to.

A plain array takes plain numbers alone, so a write would ask. Which arrays get staged values is found by recording: the
first such write gives the recording up, and in the next one the call that has made the array makes a staged one. So
does a write of plain values in a block that is written down, as the program may never reach the block. All other arrays
stay plain, and what is computed with them stays a constant.
"""

from __future__ import annotations

import operator
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.front.session import Session, current
from shiftreset_ad.staging.front.sites import Site
from shiftreset_ad.staging.front.versions import OPERATORS
from shiftreset_ad.staging.seen.parts import attributes_of
from shiftreset_ad.staging.steps.values import Staged

MAKERS: set[Any] = {
    *(np.zeros, np.ones, np.empty, np.full, np.zeros_like, np.ones_like, np.empty_like, np.full_like),
    *(np.array, np.arange, np.linspace, np.copy, np.eye, np.identity),
}
NAMES = {maker.__name__ for maker in MAKERS}


class MakingSite(Site):
    """A call that may make an array."""


def making(site: MakingSite, f: Any, form: Any) -> Any:
    """What to call for a function that may make an array; `form` is what is called for it elsewhere."""
    session = current()
    is_copy = type(f) is BuiltinFunctionType and type(f.__self__) is ndarray and f.__name__ == "copy"
    if session is None or not (is_copy or (type(f).__hash__ is not None and f in MAKERS)):
        return form
    return partial(made_by, form, site)


def made_by(form: Any, site: MakingSite, *args: Any, **kwargs: Any) -> Any:
    """The array that a call makes: a staged one if it gets staged values."""
    session = current()
    if form is np.full and len(args) == 2 and not kwargs and is_staged_float(args[1]):
        return np.copy(np.broadcast_to(args[1], args[0]))
    array = form(*args, **kwargs)
    if session is None or type(array) is not ndarray or array.base is not None or array.dtype.kind not in "fciub":
        return array
    if id(array) in session.made or session.control.is_outside(array):
        return array  # `np.array(x, copy=False)` is `x`
    if site in session.buffers:
        return session.control.adopted(array)
    session.made[id(array)] = array, site
    return array


def is_staged_float(x: Any) -> bool:
    return type(x) is Staged and isinstance(x.inside, float)


def written_to(x: Any, part: str | None, key: Any, value: Any) -> Any:
    """The value of `x += value`, of `x.key += value` or of `x[key] += value`, or its kin, by the `part` of `x`.

    What is written to may be a plain array that the program has made. No code of the program is called to find it.
    """
    session = current()
    if session is None or not session.control.has_staged(value):
        return value
    if part == "attribute":
        x = (attributes_of(x) or {}).get(key)
    elif part == "item":
        has_key = type(x) in (list, dict) and not session.control.has_staged(key)
        with suppress(LookupError, TypeError):  # which the statement itself raises
            x = x[key] if has_key else None
    if type(x) is ndarray and session.is_made(x):
        session.needs_buffer(x)
    return value


class PlainItems:
    """The items of a plain array that the program has made, which may get staged values."""

    def __init__(self, array: ndarray[Any, Any], session: Session) -> None:
        self._array = array
        self._session = session

    def __getitem__(self, index: Any) -> Any:
        self.require_plain(index)
        part = self._array[index]
        return PlainPart(part, self) if type(part) is ndarray else part

    def __setitem__(self, index: Any, item: Any) -> None:
        self.require_plain((index, item))
        self._array[index] = item

    def require_plain(self, x: Any) -> None:
        """Give the recording up if there is a staged value in what is written."""
        if self._session.control.has_staged(x):
            self._session.needs_buffer(self._array)


class PlainPart:
    """A part of such an array in `a[i] += value`, or its kin."""

    def __init__(self, part: ndarray[Any, Any], items: PlainItems) -> None:
        self._part = part
        self._items = items


def _augmented_by(name: str) -> Any:
    augment = getattr(operator, f"i{name.strip('_')}")

    def augmented(self: PlainPart, other: Any) -> Any:
        self._items.require_plain(other)
        return augment(self._part, other)

    return augmented


for _name in OPERATORS.values():
    setattr(PlainPart, f"__i{_name.strip('_')}__", _augmented_by(_name))
