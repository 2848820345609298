"""What the blocks of a site change in growing lists, by what makes the lists, so that it is carried from the beginning.

Each change that an attempt finds starts another attempt, and all that is in the blocks is written down again. A list is
another one in each round of a loop around, and in each recording. But the display or the comprehension that makes it is
the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from shiftreset_ad.staging.front.contents import Place


class ListChanges:
    """The slots of growing lists, and the numbers of their arrays, that blocks have changed, by the sites of lists."""

    def __init__(self) -> None:
        self._slots = set[tuple[Any, str]]()
        self._arrays = set[tuple[Any, int]]()

    def note_slots(self, places: Iterable[Place], lists: Iterable[Any]) -> None:
        """These places have been changed."""
        owners = {id(x): x for x in lists}
        self._slots |= {(owners[id(p.owner)].site, p.key) for p in places if id(p.owner) in owners and p.is_slot}

    def note_array(self, key: Hashable, lists: Iterable[Any], is_written: bool = True) -> None:
        """The array at the place of this identity is written to, or is not."""
        for x in lists:
            for i in range(len(x.arrays)):
                if Place(x.arrays, x.arrays, i).identity() == key:
                    (self._arrays.add if is_written else self._arrays.discard)((x.site, i))

    def slots(self, lists: Iterable[Any]) -> list[Place]:
        """The slots that blocks are likely to change."""
        return [Place(x, x, name, is_slot=True) for x in lists for site, name in self._slots if site is x.site]

    def arrays(self, lists: Iterable[Any]) -> list[Place]:
        """The places of arrays to which blocks are likely to write."""
        return [
            Place(x.arrays, x.arrays, i)
            for x in lists
            for site, i in self._arrays
            if site is x.site and i < len(x.arrays)
        ]
