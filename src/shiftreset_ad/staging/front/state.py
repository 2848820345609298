"""What the blocks of a site change, and hand on from one to the next: variables, arrays, attributes and items."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from shiftreset_ad.staging.control.versions import Origin, Written
from shiftreset_ad.staging.front.arrays import Arrays, Holder
from shiftreset_ad.staging.front.frames import UNBOUND, FrameVariables, Variable
from shiftreset_ad.staging.front.growing import GrowingList
from shiftreset_ad.staging.front.instances import Objects
from shiftreset_ad.staging.front.places import Places
from shiftreset_ad.staging.front.refusals import BOUND_ANEW
from shiftreset_ad.staging.front.session import Session


class State:
    """The state of the blocks of one site, as values in a row: first the variables, and then the places."""

    def __init__(
        self, session: Session, site: Any, frame: FrameVariables, variables: Sequence[str], base: Mapping[str, Any]
    ) -> None:
        """`variables` are carried for certain. `base` is what all variables of the blocks begin with."""
        self.places = Places(session, site)
        self.arrays = Arrays(session, self.places)
        self.objects = Objects(session)
        self._session = session
        self._site = site
        self._frame = frame
        self._variables = variables
        self._base = base
        self._holders: list[Holder] = []
        self._lengths: list[int | None] = []  # of the lists before a block
        self._given: list[Any] = []  # the values before the blocks, which are no copies
        self._before: list[Any] = []  # the values before the blocks, or before the block that is being written down
        self._changed = set[Hashable]()  # what has another value after a block

    @property
    def carriers(self) -> tuple[Any, ...]:
        """What may have to carry more."""
        return self.arrays, self.places, self.objects

    def start(self) -> tuple[Any, ...]:
        """The state before the blocks."""
        for name in self._site.written & {*self._variables}:  # as by `x += v`, after which the variable has a value
            if self._session.is_made(self._frame[name]):
                self._session.needs_buffer(self._frame[name])
        written = sorted(self._site.written & self._frame.cells.keys() - {*self._variables})
        variables = [Variable(self._frame, name) for name in (*self._variables, *written)]
        holders = self.arrays.start([*variables, *self.places.carried])
        self._holders = [
            holder for holder in holders if holder.identity() not in written or holder.identity() in self.arrays.carried
        ]
        self._given = self._before = self.arrays.copies(self._holders)
        return self._noted(self.objects.taken_apart(self._keys(), self._before))

    def begin(self, state: Sequence[Any]) -> dict[Hashable, Origin]:
        """A block begins with this state; the answer tells where the arrays come from to which it may write."""
        self._frame.fill(self._base)
        self._before = self._put_together(state)
        self._session.stand_for(self._given, self._before)
        # A block may change the list itself.
        self._lengths = [len(x) if type(x) is list else None for x in self._before]
        self._fill(self._before)
        return self.arrays.begin()

    def position(self, name: str) -> int:
        """The place of a variable in the state, if no other holder has its value."""
        return next(i for i, holder in enumerate(self._holders) if holder.identity() == name)

    def name(self, position: int) -> str:
        """The name of what has the value at this place of the state."""
        return self._holders[position].name

    def require_unchanged(self) -> None:
        """A test has changed nothing, and the state is still there. Otherwise each test is carried out once."""
        self.places.require_nothing_else()
        if not all(holder.get() is value for holder, value in zip(self._holders, self._before, strict=True)):
            self._session.acting.add(self._site)
            raise Written(self.places, "a test")

    def handed_on(self, origins: Mapping[Hashable, Origin]) -> tuple[Any, ...]:
        """The state after a block."""
        self.places.require_nothing_else()
        values = self.arrays.handed_on(self._holders, origins)
        for holder, before, now in zip(self._holders, self._before, values, strict=True):
            if before is not now:
                self._changed.add(holder.identity())
            if before is None and now is not None and self._site.has_rounds:
                self._site.not_yet(self._session, holder.name)
        for holder, given, length, now in zip(self._holders, self._given, self._lengths, values, strict=True):
            if length is not None and type(now) is list:
                self.places.require_length(holder, given, length, now)
        self._session.require_no_growth()
        for holder, before, now in zip(self._holders, self._before, values, strict=True):
            for x in (before, now):
                if type(x) is GrowingList and before is not now:
                    x.refuse(BOUND_ANEW.format(name=holder.name))
        self.objects.require_known(self._keys(), self._before, values)
        apart = self.objects.taken_apart(self._keys(), values)
        self._session.control.versions.require_last(apart)
        return self._noted(apart)

    def end(self, state: Sequence[Any]) -> None:
        """The blocks have been written down, and this is the state after them."""
        answers = self._put_together(state)
        self._session.stand_for(self._given, answers)
        self._frame.fill(self._base)
        found = self.arrays.write_back(self._holders, answers, self._variables)
        self._frame.fill(dict.fromkeys(self._frame.copy(self._site.bound), UNBOUND))
        self._fill(found)
        self._session.held_items.after_blocks(found)
        if self._session.active == [self._site]:
            self.places.keep(self._changed)

    def _keys(self) -> list[Hashable]:
        return [holder.identity() for holder in self._holders]

    def _put_together(self, state: Sequence[Any]) -> list[Any]:
        values = self.objects.put_together(state)
        self._noted(state)
        return values

    def _noted(self, state: Sequence[Any]) -> tuple[Any, ...]:
        return self._session.noted(self._site, self, state)

    def _fill(self, values: Sequence[Any]) -> None:
        for holder, value in zip(self._holders, values, strict=True):
            holder.put(value)
