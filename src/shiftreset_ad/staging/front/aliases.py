"""Structures that may be one object in the program, although they are several in the record.

Control takes a structure apart, and makes a new one of its parts. In Python the list that a loop begins with may be the
one that it ends with. So nobody may ask by `is` for such a structure, or get two that may be one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any


class Aliases:
    """Groups of structures. Two in different groups are two in the program, too."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, dict[int, Any]] = {}  # by the ids of structures, and by the places in a state
        self._sites: dict[int, Any] = {}

    def join(self, site: Any, place: Hashable, x: Any) -> None:
        """A structure comes in, or goes out, at a place of the site's state. So it may be any other one that does."""
        group = self._groups.setdefault(place, {})
        other = self._groups.get(id(x), {id(x): x})
        if other is not group:
            group.update(other)
            for key in [key for key, found in self._groups.items() if found is other]:
                self._groups[key] = group
        self._groups[id(x)] = group
        self._sites.setdefault(id(x), site)

    def site_of(self, x: Any) -> Any:
        """The site that takes or hands on a structure; None if there is no such site."""
        return self._sites.get(id(x))

    def site_of_two_names(self, structures: Iterable[Any], is_outside: Callable[[Any], bool]) -> Any:
        """The site of one of these structures that may be another one of them, or one from outside, or None."""
        met: dict[int, Any] = {}
        for x in structures:
            group = self._groups.get(id(x))
            if group is not None and (
                met.setdefault(id(group), x) is not x or (not is_outside(x) and any(map(is_outside, group.values())))
            ):
                return self.site_of(x)
        return None
