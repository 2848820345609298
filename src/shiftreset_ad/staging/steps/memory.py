"""Who owns the memory of arrays: two arrays may see the same elements only if their memory has one owner."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from numpy import ndarray


class PlacesByOwner:
    """The places of a trace's values by the owners of their memory.

    The owners are found when this is first asked after the values have their places: most recordings never ask.
    """

    def __init__(self, values: list[Any]) -> None:
        self._values = values
        self._known = 0  # so many values have been looked at
        self._places = defaultdict[int, list[int]](list)  # by the ids of the owners

    def of(self, owner: Any) -> list[int]:
        """The places whose values have memory of this owner. Values that have been forgotten do not count."""
        for place in range(self._known, len(self._values)):
            for found in owners_of(self._values[place]):
                self._places[id(found)].append(place)
        self._known = len(self._values)
        places = self._places.get(id(owner), [])
        return [place for place in places if any(found is owner for found in owners_of(self._values[place]))]


def owners_of(x: Any) -> list[Any]:
    """The object that owns the memory of an array; for a structure, the owner of each array in it."""
    if isinstance(x, ndarray):
        return [owner_of(x)]
    return [owner for part in x for owner in owners_of(part)] if issubclass(type(x), tuple | list) else []


def owner_of(x: ndarray[Any, Any]) -> Any:
    """The object that owns the memory of an array."""
    base = x.base
    while base is not None:
        if not isinstance(base, ndarray):
            return base
        x, base = base, base.base
    return x
