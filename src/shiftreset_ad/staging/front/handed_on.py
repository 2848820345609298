"""The lists, dicts, dataclasses and arrays that written control hands on, which must not change afterwards.

Control takes a structure apart, and makes a new one of its parts. In Python a branch, or a loop without a round, may
hand on the structure itself. Then a change would be seen under all names that it has. So it is with a row of a plain
array, or of a list, at a staged index.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary import trees
from shiftreset_ad.control.frames import module_of
from shiftreset_ad.staging.front.aliases import Aliases
from shiftreset_ad.staging.front.contents import OfDict, OfInstance, OfSequence, OfSlots, Restorable, are_same
from shiftreset_ad.staging.front.effects import slots_of
from shiftreset_ad.staging.seen.keys import is_structure, nodes_of
from shiftreset_ad.staging.steps.values import Staged

LEAVES = {Staged, float, int, bool, np.float64, ndarray}  # the usual ones, which have no parts
INSTANCES = f"{__package__}.instances"  # the module of objects that are taken apart


class HandedOn:
    """Lists, dicts and arrays, each with the site that hands it on, and whether it is still as it was."""

    def __init__(self) -> None:
        self.aliases = Aliases()
        self._found: list[tuple[Any, Callable[[], bool]]] = []

    def note(self, site: Any, state: Hashable, values: Iterable[Any]) -> None:
        """The site takes, or hands on, the structures in these values of a state."""
        for i, value in enumerate(values):
            if type(value) in LEAVES:
                continue
            trees.flatten(value)  # which makes structures of dataclasses
            for k, part in enumerate(nodes_of(value)):
                x = getattr(part, "source", part) if module_of(type(part)) == INSTANCES else part  # or the object
                if is_structure(part):
                    self._found.append((site, _is_as_it_was(x)))
                if is_structure(part) or (isinstance(part, tuple) and part):  # the empty tuple is always the same
                    self.aliases.join(site, (state, i, k), x)

    def note_read(self, site: Any, sources: Iterable[list[Any] | ndarray[Any, Any]]) -> None:
        """The site reads a row of these lists and arrays, or makes a new list for a row of them."""
        read = object()
        for x in sources:
            self._found.append((site, _is_as_it_was(x) if isinstance(x, list) else _has_its_elements(x)))
            if isinstance(x, list):
                self.aliases.join(site, read, x)

    def site_of_a_change(self) -> Any:
        """The site of something that has changed; None if nothing has."""
        return next((site for site, is_as_it_was in self._found if not is_as_it_was()), None)


def _is_as_it_was(x: Any) -> Callable[[], bool]:
    contents: list[Restorable] = []
    if isinstance(x, dict):
        contents.append(OfDict(x))
    elif isinstance(x, list | deque):
        contents.append(OfSequence(x))
    if type(getattr(x, "__dict__", None)) is dict:
        contents.append(OfInstance(x))
    if slots := slots_of(x):
        contents.append(OfSlots(x, slots))
    before = [part for content in contents for part in content.read()]

    def is_as_it_was() -> bool:
        return are_same([part for content in contents for part in content.read()], before)

    return is_as_it_was


def _has_its_elements(x: ndarray[Any, Any]) -> Callable[[], bool]:
    before = x.tobytes()
    return lambda: x.tobytes() == before


def structures_in(value: Any) -> Iterator[Any]:
    """The lists, dicts and dataclasses in a value, from the outside in."""
    trees.flatten(value)
    return filter(is_structure, nodes_of(value))
