"""The places that later steps want."""

from __future__ import annotations

from collections.abc import Iterable


class Wanted:
    """The `places` that are wanted, in the order in which they came to be, so that the last ones can be forgotten.

    To copy the places for each step with blocks would take time with the square of their number.
    """

    __slots__ = ("_in_order", "places")

    def __init__(self, places: Iterable[int]) -> None:
        self.places: set[int] = set()
        self._in_order: list[int] = []
        self.add(places)

    def add(self, places: Iterable[int]) -> None:
        known = self.places
        for place in places:
            if place not in known:
                known.add(place)
                self._in_order.append(place)

    def mark(self) -> int:
        return len(self._in_order)

    def forget(self, mark: int) -> None:
        """Forget the places that came after this mark."""
        self.places.difference_update(self._in_order[mark:])
        del self._in_order[mark:]
