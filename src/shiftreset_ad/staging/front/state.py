"""What the blocks of a site change, and hand on from one to the next: variables, arrays, attributes and items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftreset_ad.staging.control.versions import Origin
from shiftreset_ad.staging.front.frames import UNBOUND, FrameVariables
from shiftreset_ad.staging.front.places import Places
from shiftreset_ad.staging.front.session import Session
from shiftreset_ad.staging.front.versions import Arrays


class State:
    """The state of the blocks of one site, as values in a row: first the variables, and then the places."""

    def __init__(
        self, session: Session, site: Any, frame: FrameVariables, variables: Sequence[str], base: Mapping[str, Any]
    ) -> None:
        """`variables` are carried for certain. `base` is what all variables of the blocks begin with."""
        self.arrays = Arrays(session, frame, site.written)
        self.places = Places(session, site)
        self._session = session
        self._site = site
        self._frame = frame
        self._variables = variables
        self._base = base
        self._names: list[str] = []
        self._first: tuple[Any, ...] = ()

    def start(self) -> tuple[Any, ...]:
        """The state before the blocks."""
        self._names = [*self._variables, *[name for name in self.arrays.names if name not in self._variables]]
        self._first = self._session.noted(self._site, self, [*self.arrays.copies(self._names), *self.places.values()])
        return self._first

    def begin(self, state: Sequence[Any]) -> dict[str, Origin]:
        """A block begins with this state; the answer tells where the arrays come from to which it may write."""
        values, of_places = self._parts(self._session.noted(self._site, self, state))
        self._frame.fill({**self._base, **values})
        self.places.fill(of_places)
        return self.arrays.begin()

    def handed_on(self, origins: Mapping[str, Origin]) -> tuple[Any, ...]:
        """The state after a block."""
        self.places.require_nothing_else()
        values = self.arrays.handed_on(self._names, origins, self.places.values())
        for name, before, now in zip([*self._names, *self.places.names()], self._first, values, strict=True):
            if before is None and now is not None and self._site.has_rounds:
                self._site.not_yet(self._session, name)
        return self._session.noted(self._site, self, values)

    def end(self, state: Sequence[Any]) -> None:
        """The blocks have been written down, and this is the state after them."""
        values, of_places = self._parts(self._session.noted(self._site, self, state))
        self._frame.fill(self._base)
        found = self.arrays.write_back(list(values), list(values.values()), self._variables)
        self._frame.fill({**dict.fromkeys(self._frame.copy(self._site.bound), UNBOUND), **found})
        self.places.fill(of_places)

    def _parts(self, state: Sequence[Any]) -> tuple[dict[str, Any], Sequence[Any]]:
        count = len(self._names)
        return dict(zip(self._names, state[:count], strict=True)), state[count:]
