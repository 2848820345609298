"""Attributes and items that blocks change: they are a part of the state, as variables are that the blocks bind.

Which ones a block changes is found by writing it down: what has changed after an attempt is carried in the next one. A
place is carried where it is, in its object. So it does not matter by which names, functions or methods the program
comes to it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from shiftreset_ad.staging.control.versions import Written
from shiftreset_ad.staging.front.contents import Place, Tail
from shiftreset_ad.staging.front.effects import Effects
from shiftreset_ad.staging.front.refusals import GROWS_IN_A_BRANCH, GROWS_IN_ROUNDS, HAS_EFFECT
from shiftreset_ad.staging.front.session import Session

MANY = 8  # places of a site, of which some may be of no use any more


class Places:
    """The places that the blocks of a site change, as far as they are known."""

    def __init__(self, session: Session, site: Any, may_carry: bool = True) -> None:
        self._session = session
        self._may_carry = may_carry
        self._site = site
        self._known = session.places.setdefault(site, [])
        self.carried: list[Place] = []
        self._effects: Effects
        self._tails: list[Tail] = []
        self._first: dict[Any, Sequence[Any]] = {}  # the items of lists after the first block
        self._arrays_of_lists: set[Hashable] = set()  # to which the blocks are likely to write

    def begin(self, effects: Effects) -> None:
        """The blocks are going to be written down, and `effects` has what they can reach."""
        self._effects = effects
        known = [place for place in self._known if effects.reaches(place.owner) and place.is_there()]
        if self._may_carry:
            variables = effects.places_of(self._session.variables[self._site])
            known += [x for x in variables if x.is_there() and not self._session.control.is_outside(x.owner)]
            lists, changes = effects.growing_lists, self._site.list_changes
            arrays = changes.arrays(lists)
            self._arrays_of_lists = {place.identity() for place in arrays}
            known += [*changes.slots(lists), *arrays]
        tails = sorted((place.now() for place in known if isinstance(place, Tail)), key=lambda tail: tail.back)
        self._tails = list({tail.identity(): tail for tail in tails}.values())  # the longest one of each list
        self._first = {}
        places = {place.identity(): place for place in known if not isinstance(place, Tail)}.values()
        self.carried = [*self._tails, *[p for p in places if not any(tail.has(p) for tail in self._tails)]]
        effects.expects(self.carried)

    def values(self) -> list[Any]:
        """What is in the places."""
        return [place.get() for place in self.carried]

    def fill(self, values: Sequence[Any]) -> None:
        """Put these values into the places."""
        for place, value in zip(self.carried, values, strict=True):
            place.put(value)

    def require_nothing_else(self) -> None:
        """The blocks have changed nothing but the places that are known. Otherwise there is another attempt."""
        changes = self._effects.changes()
        for change in changes:
            if self._session.is_made(change.array):
                self._session.needs_buffer(change.array)
            if change.is_new and self._may_carry:
                self._site.not_yet(self._session, change.name)
            if change.place is None or not self._may_carry or self._session.control.is_outside(change.place.owner):
                self._session.refuse(self._site, HAS_EFFECT.format(name=change.name))
        if changes:
            places = [change.place for change in changes if change.place is not None]
            self._known.extend({place.identity(): place for place in places}.values())
            self._session.variables[self._site].update(self._effects.variables_of(place.owner for place in places))
            self._site.list_changes.note_slots(places, self._effects.growing_lists)
            raise Written(self, changes[0].name)
        self._require_lengths()

    def keep(self, changed: set[Hashable]) -> None:
        """Of many places, know from here on those that the blocks have changed.

        In a loop that is recorded round by round, a site may change another item of a list in each round.
        """
        if len(self._known) > MANY:
            self._known[:] = [
                place
                for place in self._known
                if isinstance(place, Tail)
                or place.identity() in changed
                or any(tail.has(place) for tail in self._tails)
            ]

    def _require_lengths(self) -> None:
        """Lists have the same length after each block, and before a round: their structure is a part of the record."""
        for tail in self._tails:
            self.require_length(tail, tail.container, tail.back, tail.get())
        self._session.require_no_growth()

    def require_length(self, of: Any, items: Any, before: int, now: Sequence[Any]) -> None:
        """The `items` that are `of` this name and identity have a length after a block that the record may have.

        If not, the list may be one that grows. That is found of all lists, before there is another recording.
        """
        first = self._first.setdefault(of.identity(), now)
        in_rounds, in_a_branch = self._site.has_rounds and len(now) != before, len(now) != len(first)
        if (in_rounds or in_a_branch) and self._session.may_grow(items, [*first, *now]):
            return
        if in_rounds:
            self._session.refuse(self._site, GROWS_IN_ROUNDS.format(name=of.name))
        if in_a_branch:
            self._session.refuse(self._site, GROWS_IN_A_BRANCH.format(name=of.name))

    def likely_arrays(self) -> set[Hashable]:
        """The identities of the places of arrays to which the blocks are likely to write."""
        return self._session.arrays[self._site] | self._arrays_of_lists

    def note_array(self, key: Hashable, is_written: bool) -> None:
        """The blocks write to the array at this place, or they do not."""
        (self._session.arrays[self._site].add if is_written else self._session.arrays[self._site].discard)(key)
        self._site.list_changes.note_array(key, self._effects.growing_lists, is_written)

    def add(self, x: Any) -> bool:
        """Add the places that hold an array to which the blocks write. False if there are none, or some are outside."""
        known = {place.identity() for place in (*self._known, *self.carried)}
        new = [place for place in self._effects.holders(x) if place.identity() not in known]
        if not new or not self._may_carry or any(self._session.control.is_outside(place.owner) for place in new):
            return False
        self._known.extend(new)
        return True

    def carry(self, key: Any) -> None:
        """The places that have been found are carried from the next attempt on."""
