"""The tag of one call of `taylor`."""

from __future__ import annotations

from typing import cast

from shiftreset_ad.numbers.tags import Tag


class Expansion(Tag):
    """One call of `taylor`, up to this `order`."""

    __slots__ = ("order",)
    order: int

    def shorter(self) -> Expansion:
        """A new tag for a call inside this call, up to one order less."""
        tag = cast(Expansion, Expansion.around([self.level], self._lift))
        tag.order = self.order - 1
        return tag


class WrittenWhileUnfinished(BaseException):
    """The program writes to a lazy series of this `tag`, or writes such a series to another series.

    Memory has no place for coefficients that are still to come. So the code has to run again, on complete series. The
    program must not catch this, so it is no Exception.
    """

    def __init__(self, tag: Tag) -> None:
        super().__init__()
        self.tag = tag
