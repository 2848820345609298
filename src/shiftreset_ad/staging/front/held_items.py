"""The arrays that are items of growing lists. A record has copies of them, and the program has the arrays themselves.

So the program must not write to an item, under whatever name. What is appended, or read from a list, is protected. But
what blocks hand on lies elsewhere in the record: an array of the next round may be an item of this one. So if blocks
hand an item on, no block may write to any array, and nobody may write to what blocks have handed on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shiftreset_ad.boundary import trees
from shiftreset_ad.numbers.number import in_memory
from shiftreset_ad.staging.front.control_writer import ControlWriter
from shiftreset_ad.staging.front.refusals import WRITES_TO_ITEMS
from shiftreset_ad.staging.steps.memory import owners_of


class HeldItems:
    """What is known of the items in one recording."""

    def __init__(self, control: ControlWriter) -> None:
        self._control = control
        self._lists: list[Any] = []
        self._holding: list[Any] = []  # those that hold copies of arrays
        self._memory: dict[int, Any] = {}  # the owners of the memory of items, by their ids
        self._originals: list[Any] = []  # the owners of the memory of what was appended
        self._are_handed_on = False
        self._has_writes = False  # whether a block writes to an array

    def made(self, items: Any, holds_arrays: bool) -> None:
        """There is a growing list."""
        self._lists.append(items)
        if holds_arrays:
            self._holding.append(items)
            self._require_no_writes()

    def held(self, leaf: Any) -> None:
        """The program must not write to an item from here on."""
        self._control.keep_as_it_is(leaf)
        self._memory.update((id(owner), owner) for owner in owners_of(in_memory(leaf)))

    def appended(self, leaf: Any) -> None:
        """A growing list gets an item."""
        self.held(leaf)
        self._originals += owners_of(in_memory(leaf))

    def read(self, leaf: Any) -> None:
        """The program has an item of a growing list, and the record a copy of it."""
        self.held(leaf)
        self._control.keep_as_it_is(leaf, self._originals)

    def written(self, x: Any) -> None:
        """A block writes to an array, which has other memory in the record from then on."""
        self._has_writes = True
        self._are_handed_on |= self._is_item(x)
        self._require_no_writes()

    def handed_on(self, values: Iterable[Any]) -> None:
        """A block takes these values, or hands them on."""
        if self._holding and not self._are_handed_on and any(map(self._is_item, trees.flatten(values)[0])):
            self._are_handed_on = True
            self._require_no_writes()

    def after_blocks(self, values: Iterable[Any]) -> None:
        """These values come out of blocks. An array among them may be an item, if blocks hand items on."""
        if self._are_handed_on:
            own = {id(array) for items in self._lists for array in items.arrays}
            for value in values:
                if id(value) not in own:
                    self._control.keep_as_it_is(value)

    def _is_item(self, x: Any) -> bool:
        return any(id(owner) in self._memory for owner in owners_of(in_memory(x)))

    def _require_no_writes(self) -> None:
        if self._has_writes and self._holding and self._are_handed_on:
            self._holding[0].refuse(WRITES_TO_ITEMS)
