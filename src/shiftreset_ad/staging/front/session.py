"""A session: while it is open, tests of staged values are written down, by the control that the session has.

What the control refuses is kept by site: such a site asks its test from then on, and the recording starts again.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from threading import local
from types import CodeType, FrameType, FunctionType
from typing import Any, NoReturn

from numpy import ndarray

from shiftreset_ad.staging.control.versions import Written
from shiftreset_ad.staging.front.contents import Place
from shiftreset_ad.staging.front.control_writer import ControlWriter
from shiftreset_ad.staging.front.handed_on import HandedOn, structures_in
from shiftreset_ad.staging.front.held_items import HeldItems
from shiftreset_ad.staging.front.item_forms import form_of, joined
from shiftreset_ad.staging.front.long_loops import LongLoops
from shiftreset_ad.staging.front.refusals import (
    CHANGES_LATER,
    ENTERS,
    MAY_BE_ONE,
    TOO_LONG,
    UNEQUAL_GROWTH,
    Refusal,
)
from shiftreset_ad.staging.steps.functions import NoRoomError

MOST_ROOM = 8**8
MORE_ROOM = 8  # times the room, for a growing list that has none left


class Session:
    """The sites that are being written down, and those that ask instead, each with its reason.

    A site in `refusals` asks for good. A site in `asked` has asked once, and may be written down later. A function in
    `recursive` calls itself under a staged test; for its code, there is the rewritten code that it is a part of. What
    is in `entered` was called by an operator of an object, or in a similar way. A list that a site in `growing` makes
    has a length that depends on values, and its items have the form that is given there, if it is known. What
    only some paths have is of the form that is given in `forms`.
    """

    def __init__(
        self,
        control: ControlWriter,
        refusals: dict[Any, Refusal],
        asked: dict[Any, Refusal],
        recursive: dict[CodeType, Any],
        entered: set[Any] | None = None,
        buffers: set[Any] | None = None,
        growing: dict[Any, Any] | None = None,
        forms: dict[Any, Any] | None = None,
        long_loops: LongLoops | None = None,
        visited: dict[int, frozenset[Any]] | None = None,
    ) -> None:
        self.control = control
        self.is_solving = False  # a solver of ours is running
        self.refusals = refusals
        self.asked = asked
        self.recursive = recursive
        self.entered: set[Any] = set() if entered is None else entered
        self.called: set[CodeType] = set()  # the code of the functions that have been called
        self.functions: dict[Any, tuple[FunctionType, Any]] = {}  # those that are being written down, by their sites
        self.places: dict[Any, list[Place]] = {}  # the attributes and items that blocks change, by their sites
        self.variables = defaultdict[Any, set[Any]](set)  # of functions around, that blocks change, by their sites
        self.arrays = defaultdict[Any, set[Any]](set)  # what holds the arrays to which blocks write, by their sites
        self.buffers: set[Any] = set() if buffers is None else buffers
        self.growing: dict[Any, Any] = {} if growing is None else growing
        self.forms: dict[Any, Any] = {} if forms is None else forms
        self.visited: dict[int, frozenset[Any]] = {} if visited is None else visited
        self.made: dict[int, tuple[Any, Any]] = {}  # plain arrays by their ids, and the calls that have made them
        self.lists: dict[int, tuple[Any, Any]] = {}  # lists by their ids, and the displays that have made them
        self.held_items = HeldItems(control)
        self.acting = set[Any]()  # sites of loops whose tests change attributes or items
        self._has_growth = False
        self.none_in_one = Counter[Any]()  # how often each branch has left a variable None in one block alone
        self.active: list[Any] = []
        self.followed: list[tuple[Any, Any]] = []  # for each active site, what it can reach, and what it may change
        self._uses: list[Any] = []  # for each active site, the functions that it works with
        self._renamed: tuple[Any, Any] = (None, None)  # the last array of which there is a new version, and this one
        self.handed_on = HandedOn()
        self.long_loops = LongLoops() if long_loops is None else long_loops
        self._blamed: BaseException | None = None

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Write down in this block."""
        outer, _thread.session = _thread.session, self
        self.active, self.followed, self._uses, self.handed_on = [], [], [], HandedOn()
        self.long_loops.begin()
        self.control.is_exact = self.long_loops.tried
        try:
            yield
            if (site := self.handed_on.site_of_a_change()) is not None:
                self.refuse(site, CHANGES_LATER)
        finally:
            _thread.session = outer

    def noted(self, site: Any, state: Any, values: Iterable[Any]) -> tuple[Any, ...]:
        """These values of a state, which a site takes or hands on: lists in them must not change from here on."""
        found = tuple(values)
        self.handed_on.note(site, state, found)
        self.held_items.handed_on(found)
        return found

    def require_own_names(self, answer: Any) -> None:
        """What the function answers has no list twice, or a list from outside, that is a new list in the record."""
        structures = structures_in(answer)
        if (site := self.handed_on.aliases.site_of_two_names(structures, self.control.is_outside)) is not None:
            self.refuse(site, MAY_BE_ONE)

    def carry_array(self, x: Any, around: int = 0) -> None:
        """The innermost site writes to an array from outside of its blocks. It carries the places that hold the array.

        Or so does the site so many sites `around` it. If no place holds the array, the write is refused when it is
        carried out.
        """
        places = self.followed[-1 - around][1] if len(self.followed) > around else None
        if places is not None and places.add(x):
            raise Written(places, "an array")

    def renamed(self, versions: Sequence[tuple[Any, Any]]) -> None:
        """All that holds one of these arrays, and that an active site can reach, holds the new version of the array."""
        if versions:
            self._renamed = versions[-1]
        if new := {id(x): version for x, version in versions if version is not x}:
            for effects, _ in self.followed:
                effects.renew(new)

    def is_older(self, x: Any, new: Any) -> bool:
        """Whether `x` is the version that the `new` one has replaced just now."""
        old, last = self._renamed
        return x is old and new is last and new is not old

    def is_active(self, site: Any, uses: Any) -> bool:
        """Whether a site is being written down with these functions, in the innermost of the functions that are.

        A minimum over x of a maximum over y may be found by the same loop, once inside the other: it works with other
        functions there, so no function calls itself.
        """
        for other, used in zip(reversed(self.active), reversed(self._uses), strict=True):
            if (other is site and used == uses) or other.is_of_a_function:
                return other is site
        return False

    def calls_itself(self, site: Any, reason: str) -> NoReturn:
        """Give this recording up, as the function of a site calls itself. It is a function from then on."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code not in self.called:
            frame = frame.f_back
        if frame is None or frame.f_code in self.recursive:
            self.refuse(site, reason)
        self.recursive[frame.f_code] = site.code
        self._give_up(reason)

    @property
    def looks_into_objects(self) -> bool:
        """Whether rewritten code calls the operators and properties of objects in their rewritten form.

        It takes time to look for them, so it is done where it is needed.
        """
        return bool(self.entered)

    def enters(self, site: Any, code: CodeType) -> NoReturn:
        """Give this recording up, as code is entered that is not rewritten. From then on operators are looked into."""
        reason = ENTERS.format(name=code.co_name)
        if self.entered:
            self.refuse(site, reason)
        self._look_into(code, reason)

    def look_into_objects(self) -> None:
        """Objects are carried, so the recording starts again if operators are not looked into: these may compare."""
        if not self.entered:
            self._look_into(None, "objects are carried")

    def _look_into(self, code: CodeType | None, reason: str) -> NoReturn:
        self.entered.add(code)
        self.refusals.clear()
        self._give_up(reason)

    def is_made(self, x: Any) -> bool:
        """Whether a call in the program has made a plain array, or the array of which this is a view."""
        return self._making_of(x) is not None

    def needs_buffer(self, x: Any) -> NoReturn:
        """Give this recording up, as such an array gets a staged value. The call makes a staged array then."""
        self.buffers.add(self._making_of(x))
        self._give_up("a plain array gets a staged value")

    def _making_of(self, x: Any) -> Any:
        while type(x) is ndarray:
            known, site = self.made.get(id(x), (None, None))
            if known is x:
                return site
            x = x.base
        return None

    def grows(self, items: Any) -> None:
        """Give this recording up if a display has made this list, which has another length after a block.

        Such a display makes a list that may grow, from then on.
        """
        if self.may_grow(items, ()):
            self.require_no_growth()

    def may_grow(self, items: Any, now: Iterable[Any]) -> bool:
        """Whether a list, whose items are these now, is to be one that grows in the next recording."""
        _, site = self.lists.get(id(items), (None, None))
        if site is None or site in self.refusals or site in self.growing:
            return False
        self.growing[site] = reduce(lambda form, item: joined(form, form_of(item)), now, None)
        self._has_growth = True
        return True

    def require_no_growth(self) -> None:
        """Give this recording up if a list has been found that is to grow."""
        if self._has_growth:
            self._give_up("a list grows")

    def stand_for(self, lists: Iterable[Any], others: Iterable[Any]) -> None:
        """In a block, or after it, other lists stand for these, which displays may have made."""
        for items, other in zip(lists, others, strict=True):
            known, site = self.lists.get(id(items), (None, None))
            if known is items and type(other) is list:
                self.lists[id(other)] = other, site

    def grows_by(self, site: Any) -> None:
        """Give this recording up, as the list of a site has a length that depends on values."""
        if site not in self.refusals and site not in self.growing:
            self.growing[site] = None
            self._give_up("a list grows")

    def visited_in(self, code: CodeType) -> frozenset[Any]:
        """The places of loops in this code whose generators call the bodies of the loops."""
        return self.visited.get(id(code), frozenset())

    def visits(self, site: Any) -> None:
        """Give this recording up, as a loop goes over a generator. From then on the generator calls its body."""
        known = self.visited_in(site.code.of)
        if site.place not in known:
            self.visited[id(site.code.of)] = known | {site.place}
            self._give_up("a loop goes over a generator")

    def tries_a_long_loop(self) -> None:
        """A loop is to be written down whose test is plain in the program. So is what follows from it: types count."""
        self.control.is_exact = self.long_loops.tried = True

    def is_long(self, site: Any) -> None:
        """Give this recording up, as a loop has taken many steps before it was written down. It is written at once."""
        if site not in self.long_loops.known:
            self.long_loops.known.add(site)
            self._give_up("a loop is long")

    def takes(self, site: Any, form: Any) -> NoReturn:
        """Give this recording up, as a growing list has no array for items of this form. None is for no form."""
        if form is None:
            self.refuse(site, UNEQUAL_GROWTH)
        self.growing[site] = form
        self._give_up("a list grows by items of another form")

    def needs_room(self) -> NoReturn:
        """Give this recording up, as a growing list has no room. All have more from then on."""
        for site in self.growing:
            if site.room >= MOST_ROOM:
                self.refuse(site, TOO_LONG.format(most=MOST_ROOM))
            site.room *= MORE_ROOM
        self._give_up("a list has no room")

    def has_form(self, of: Any, form: Any) -> None:
        """A value that only some paths have is of this form. If that is new, give up: the others need zeros of it."""
        if of not in self.forms:
            self.forms[of] = form
            self._give_up("a value has no form on another path")

    def refuse(self, site: Any, reason: str) -> NoReturn:
        """Give this recording up, as a site cannot be written down. The site asks from then on."""
        self.refusals.setdefault(site, site.refusal(reason))
        self._give_up(reason)

    def _give_up(self, reason: str) -> NoReturn:
        try:
            self.control.refuse(reason)
        except self.control.error as error:
            self._blamed = error
            raise

    @contextmanager
    def writing(self, site: Any, uses: Any) -> Iterator[None]:
        """Write this site down. If it is refused, the innermost site is to blame, and asks from then on."""
        self.active.append(site)
        self._uses.append(uses)
        try:
            yield
        except NoRoomError:
            self.needs_room()
        except self.control.error as error:
            if error is not self._blamed:
                self._blamed = error
                self.refusals.setdefault(site, site.refusal(f"{error}"))
            raise
        finally:
            self.active.pop()
            self._uses.pop()


class _Thread(local):
    session: Session | None = None


_thread = _Thread()


def changing(x: Any) -> Any:
    """What the program is going to change. It must not be handed on by a site, even if it is changed back later.

    A list that a display has made may be one that grows: such a list is changed under all its names.
    """
    if (session := _thread.session) is not None and session.handed_on.aliases.site_of(x) is not None:
        session.grows(x)
    return _unless_handed_on(x, CHANGES_LATER)


def told_apart(x: Any) -> Any:
    """A value that the program compares by `is`. A list that a site hands on may be another one in the record."""
    return _unless_handed_on(x, MAY_BE_ONE)


def _unless_handed_on(x: Any, reason: str) -> Any:
    session = _thread.session
    if session is not None and (site := session.handed_on.aliases.site_of(x)) is not None:
        session.refuse(site, reason)
    return x


@contextmanager
def closed() -> Iterator[None]:
    """Write nothing down in this block: a test of a staged value asks."""
    outer, _thread.session = _thread.session, None
    try:
        yield
    finally:
        _thread.session = outer


def current() -> Session | None:
    """The session that is open in this thread."""
    return _thread.session


def is_staged(x: Any) -> bool:
    """Whether the value of a test is staged, so that its site takes over."""
    session = _thread.session
    return session is not None and session.control.is_staged(x)


def negated(x: Any) -> Any:
    """`not x` for a staged value."""
    session = _thread.session
    return not x if session is None else session.control.truth(x) == False  # noqa: E712 (a staged value)
