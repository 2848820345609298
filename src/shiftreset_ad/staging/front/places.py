"""Attributes and items that blocks change: they are a part of the state, as variables are that the blocks bind.

Which ones a block changes is found by writing it down: what has changed after an attempt is carried in the next one. A
place is carried where it is, in its object. So it does not matter by which names, functions or methods the program
comes to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

from shiftreset_ad.staging.control.versions import Written
from shiftreset_ad.staging.front.contents import Place
from shiftreset_ad.staging.front.effects import Effects
from shiftreset_ad.staging.front.refusals import HAS_EFFECT
from shiftreset_ad.staging.front.session import Session


class Places:
    """The places that the blocks of a site change, as far as they are known."""

    def __init__(self, session: Session, site: Any, may_carry: bool = True) -> None:
        self._session = session
        self._may_carry = may_carry
        self._site = site
        self._known = session.places.setdefault(site, [])
        self._carried: list[Place] = []
        self._effects: Effects

    def begin(self, effects: Effects) -> None:
        """The blocks are going to be written down, and `effects` has what they can reach."""
        self._effects = effects
        self._carried = [place for place in self._known if effects.reaches(place.owner) and place.is_there()]
        effects.expects(self._carried)

    def names(self) -> list[str]:
        """What the places are called."""
        return [f"{place.key}" for place in self._carried]

    def values(self) -> list[Any]:
        """What is in the places."""
        return [place.get() for place in self._carried]

    def fill(self, values: Sequence[Any]) -> None:
        """Put these values into the places."""
        for place, value in zip(self._carried, values, strict=True):
            place.put(value)

    def require_nothing_else(self) -> None:
        """The blocks have changed nothing but the places that are known. Otherwise there is another attempt."""
        changes = self._effects.changes()
        for change in changes:
            if change.is_new and self._may_carry:
                self._site.not_yet(self._session, change.name)
            if change.place is None or not self._may_carry or self._session.control.is_outside(change.place.owner):
                self._session.refuse(self._site, HAS_EFFECT.format(name=change.name))
        if changes:
            self._known.extend({place.identity(): place for _, place, _ in changes if place is not None}.values())
            raise Written(self, changes[0].name)

    def require_unchanged(self, values: Sequence[Any]) -> None:
        """A test has changed nothing, and these values are still there. Otherwise each test is carried out once."""
        self.require_nothing_else()
        if not all(map(is_, self.values(), values)):
            self._session.acting.add(self._site)
            raise Written(self, "a test")

    def carry(self, name: str) -> None:
        """The places that have been found are carried from the next attempt on."""
