"""The tag of one call of `taylor`."""

from __future__ import annotations

from typing import cast

from shiftreset_ad.numbers.tags import Tag


class Expansion(Tag):
    """One call of `taylor`, up to this `order`."""

    __slots__ = ("order",)
    order: int

    def shorter(self) -> Expansion:
        """An open tag for a call inside this one, up to one order less."""
        tag = cast(Expansion, Expansion.around([self.level], self._lift))
        tag.order = self.order - 1
        return tag


class WrittenWhileUnfinished(BaseException):
    """A lazy series of this `tag` was written to, or another one was that it was to be written to.

    Memory has no place for coefficients still to come. The code has to run once more, on series that are complete; it
    is not for the program to handle, and so it is no Exception.
    """

    def __init__(self, tag: Tag) -> None:
        super().__init__()
        self.tag = tag
