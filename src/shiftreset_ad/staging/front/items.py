"""Items that rewritten code reads and writes: at a staged index, the steps choose an item of a plain list or array.

By itself, `table[k]` would ask for the plain index, and the steps would hold for this index alone. After a write to a
list, each of its items may be the new one. So all its items become values of the steps.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.front.buffers import PlainItems
from shiftreset_ad.staging.front.refusals import MAY_ACT
from shiftreset_ad.staging.front.rows import are_rows, parts_for
from shiftreset_ad.staging.front.sequences import sliced
from shiftreset_ad.staging.front.session import Session, changing, current
from shiftreset_ad.staging.front.sites import Site
from shiftreset_ad.staging.front.users import acts_if_written


class ItemSite(Site):
    """`x[index]` in the user's code."""

    def item(self, x: Any, index: Any) -> Any:
        """`x[index]`. A row that the steps choose has no name in common with `x`, so `x` must not change later."""
        session = current()
        if are_rows(x, index):
            return np.stack([self.item(x, i) for i in index])
        if session is None or type(x) not in (list, tuple, dict, ndarray) or self in session.refusals:
            return x[index]
        return session.control.item(x, index, partial(session.handed_on.note_read, self))

    def items(self, x: Any, index: Any) -> Any:
        """What a loop over `x[index]` goes over: it needs no slice, as `xs[k, :n]` is, where an end is staged."""
        session = current()
        *first, part = index if type(index) is tuple else (index,)
        if session is None or type(part) is not slice or self in session.refusals or slice in map(type, first):
            return self.item(x, index)
        if not all(
            issubclass(kind, int | np.integer) and kind is not bool for kind in map(session.control.type_of, first)
        ):
            return self.item(x, index)  # a boolean adds an axis, and a mask or an array may, too
        whole = self.item(x, first[0] if len(first) == 1 else tuple(first)) if first else x
        found = sliced(whole, part, session.control)
        return self.item(x, index) if found is None else found


def writable(x: Any) -> Any:
    """What stands for `x` in `x[index] = item` and in `x[index] += item`."""
    session = current()
    changing(x)
    if session is not None and session.active and acts_if_written(x):
        session.refuse(session.active[-1], MAY_ACT.format(name=f"{type(x).__name__}.__setitem__"))
    if session is not None and session.is_made(x):
        return PlainItems(x, session)
    if session is None or type(x) is not list or session.control.is_outside(x):
        return x
    return WritableItems(x, session)


def writable_rows(x: Any) -> Any:
    """What stands for `x` in `x[[i, j]] = item`."""
    found = writable(x)
    return found if current() is None or type(found) is not type(x) else WritableRows(x)


class WritableRows:
    """The rows of an array, which are written one after another."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> Any:
        return self._array[index]

    def __setitem__(self, index: Any, item: Any) -> None:
        parts = parts_for(self._array, index, item)
        if parts is None:
            self._array[index] = item
            return
        for i, part in zip(index, parts, strict=True):
            self._array[i] = part


class WritableItems:
    """The items of a list, which may be written to at a staged index."""

    def __init__(self, items: list[Any], session: Session) -> None:
        self._items = items
        self._control = session.control

    def __getitem__(self, index: Any) -> Any:
        return self._control.number(self._items, index)

    def __setitem__(self, index: Any, item: Any) -> None:
        self._control.write(self._items, index, item)
