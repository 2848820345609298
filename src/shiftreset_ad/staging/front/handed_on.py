"""The lists and dicts that written control hands on, which must not change afterwards.

Control takes a list apart and makes a new one of its items. In Python a branch, or a loop without a round, may hand on
the list itself. Then a change would be seen under all names that the list has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from operator import is_
from typing import Any

from shiftreset_ad.staging.front.contents import OfDict, OfSequence, Restorable


class HandedOn:
    """Lists and dicts, each with the site that hands it on, and with its contents at this moment."""

    def __init__(self) -> None:
        self._found: list[tuple[Any, Restorable, list[Any]]] = []

    def note(self, site: Any, values: Iterable[Any]) -> None:
        """The site takes, or hands on, the lists and dicts in these values."""
        for part in _containers(values):
            contents = OfDict(part) if isinstance(part, dict) else OfSequence(part)
            self._found.append((site, contents, contents.read()))

    def site_of_a_change(self) -> Any:
        """The site of something that has changed; None if nothing has."""
        for site, contents, before in self._found:
            now = contents.read()
            if len(now) != len(before) or not all(map(is_, now, before)):
                return site
        return None


def _containers(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | dict | deque):
            yield value
        if isinstance(value, list | tuple | dict | deque):
            yield from _containers(value.values() if isinstance(value, dict) else value)
