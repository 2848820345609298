"""Tags: which call of a derivative operator a number belongs to, so that nested derivatives are not confused.

Each call makes a new tag. An operation belongs to the newest tag among its operands, and a number with any other tag is
a constant to it. Without tags, this program would answer 2: the inner derivative by `y` would take `x`, a number like
`y`, for its own variable.

>>> from shiftreset_ad import grad
>>> grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0)
1.0

Wang et al., ICFP 2019, sections 2.4 and 2.5; Siskind and Pearlmutter, Perturbation Confusion and Referential
Transparency, IFL 2005.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Collection, Iterable
from contextvars import ContextVar
from functools import partial
from threading import get_ident
from typing import Any, NoReturn, cast

from shiftreset_ad.control import ControlError, Prompt, enclosing, here

_serials = itertools.count(1)

# The `Watcher` of `debug()`, which looks at the operations of each derivative that begins now, or None.
watcher: ContextVar[Any] = ContextVar("watcher", default=None)


# The tags without control whose calls are running, of all threads.
without_control: list[Tag] = []


class EscapedNumberError(ControlError):
    """A number was used in an operation after its derivative had finished."""


class WrongThreadError(ControlError):
    """A number was used in a thread that is not the thread of its derivative."""


class Tag(Prompt):
    """One call of a derivative operator, and the prompt up to which the operations on its numbers capture.

    A mode without control, such as forward mode, has nothing to capture: its call begins with `around`, and ends with
    `finish`.

    *   `serial`: orders tags by age;
    *   `level`: how deep the call is nested, from 1;
    *   `recorded`: the operations stay after the end of the call;
    *   `copies`: the copies of large constant arrays, by the ids of the arrays;
    *   `protected`: the arrays that its numbers may not write to, with the reasons, by their ids;
    *   `written`: the arrays that its numbers have written to, by their ids;
    *   `shown`: the numbers whose arrays `value` has given to the program, by the ids of the arrays;
    *   `is_undone`: the way back has put the old elements back into the written arrays;
    *   `visible`: the older tags that this run may see, if the function is one operation; None means all;
    *   `is_hidden`: a rule of the user is running that may not see this tag, as the rule runs below its level;
    *   `has_shells`: some operation holds the shell of a large number, and not the elements;
    *   `is_read_later`: code of the user, such as a rule, runs on the way back, and may read any array;
    *   `is_watched`: `debug()` looks at the operations, and at their operands on the way back;
    *   `copies_all`: operations keep copies of all older arrays, so the program may write to these;
    *   `site`: the call of the structured operation that is being carried out.
    """

    __slots__ = (
        *(
            "_lift",
            "copies",
            "copies_all",
            "has_shells",
            "is_hidden",
            "is_read_later",
            "is_undone",
            "is_watched",
            "level",
            "protected",
        ),
        *("recorded", "serial", "shown", "site", "thread", "visible", "written"),
    )

    def __init__(self) -> None:
        self.serial = next(_serials)
        self.level = 1
        if here().parent is not None:  # otherwise nothing is running around the call
            self.level += sum(isinstance(body.prompt, Tag) for body in enclosing())
        self.thread = get_ident()
        self.recorded = False
        self.site: Any = None
        self.visible: Collection[Tag] | None = None
        self._lift: Callable[[Any, Tag], Any] | None = None
        self.copies: dict[int, Any] = {}
        self.protected: dict[int, tuple[Any, str]] = {}
        self.written: dict[int, weakref.ref[Any]] = {}
        self.shown: dict[int, Any] = {}
        self.is_undone = self.is_hidden = self.is_watched = self.copies_all = False
        self.has_shells = self.is_read_later = False
        self.closed = self.capture = partial(_refuse_escaped, self.level)

    @classmethod
    def around(cls, levels: Iterable[int], lift: Callable[[Any, Tag], Any] | None = None) -> Tag:
        """An open tag for a call without control, on values that have numbers of these levels in them."""
        tag = cls()
        if lift is not None:
            tag._lift = lift
            without_control.append(tag)
        tag.level = max(tag.level, 1 + max(levels, default=0))
        tag.closed = partial(_refuse_escaped, tag.level)
        watch = watcher.get()
        tag.capture = nothing_to_capture if watch is None else watch.attending(tag)
        return tag

    def lift(self, array: Any) -> Any:
        """A constant array as a number of this tag, to be written to."""
        return cast(Callable[[Any, Tag], Any], self._lift)(array, self)

    def open(self, capture: Callable[[Any, Any], Any]) -> None:
        watch = watcher.get()
        self.is_watched = watch is not None
        self.capture = capture if watch is None else watch.capturing(self, capture)

    def finish(self) -> None:
        """End a call without control: every further use of its numbers is an error."""
        self.capture = self.closed
        if self._lift is not None:
            self._lift = None
            without_control.remove(self)

    def require_open(self) -> None:
        """Raise EscapedNumberError if the call is over."""
        if self.capture is self.closed:
            self.closed(None, None)

    def misplaced(self) -> ControlError:
        """The error for a capture that did not reach the driver."""
        if get_ident() != self.thread:
            return WrongThreadError(
                f"a number of level {self.level} is used in another thread than its grad runs in. "
                "Call grad inside that thread, or hand it the plain value, shiftreset_ad.value(x)"
            )
        return ControlError(
            f"a number of level {self.level} is used in a signal handler that interrupted its own grad. "
            "Have the handler set a flag, and look at it in the differentiated function"
        )


def nothing_to_capture(source: Any, answers: Any) -> NoReturn:
    """The `capture` of an open tag without control, which is never called.

    Operations that find another `capture` call it with their answers: a watcher looks at the answers, and the `capture`
    of a finished call raises.
    """
    raise ControlError("an operation of a mode without control was captured")


def attended(answers: Any, tag: Tag) -> Any:
    """The answers of an operation without control, at its end; EscapedNumberError if its call has ended."""
    if tag.capture is not nothing_to_capture:
        tag.capture(None, answers)
    return answers


def _refuse_escaped(level: int, source: Any, message: Any) -> NoReturn:
    raise EscapedNumberError(
        f"a number of level {level} is used in an operation after its derivative has finished, so its derivative would "
        "be lost. Return it from the differentiated function (has_aux=True for more than the result), "
        "or keep its plain value with shiftreset_ad.value(x)"
    )


def open_tags() -> list[Tag]:
    """The tags of all derivatives that are being computed around the call, the oldest first."""
    captured = [body.prompt for body in enclosing() if isinstance(body.prompt, Tag)]
    thread = get_ident()
    others = [tag for tag in list(without_control) if tag.thread == thread]
    tags = sorted([*captured, *others], key=lambda tag: tag.serial)
    for i in reversed(range(len(tags))):
        visible = tags[i].visible
        if visible is not None:
            return [tag for tag in tags[:i] if tag in visible] + tags[i:]
    return tags


def has_open_tags() -> bool:
    """Whether a derivative is being computed around the call."""
    if here().parent is None and not without_control:  # the usual case, for speed
        return False
    return bool(open_tags())


def visible_tags() -> list[Tag]:
    """The open tags that the calling code may see."""
    return [tag for tag in open_tags() if not tag.is_hidden]


def innermost_tag() -> Tag | None:
    """The tag of the innermost derivative whose function is running here."""
    for body in enclosing():
        if isinstance(body.prompt, Tag):
            return body.prompt
    return None


def innermost_in_need() -> Tag | None:
    """The tag of the innermost derivative running here that needs older arrays unchanged."""
    for body in enclosing():
        tag = body.prompt
        if isinstance(tag, Tag) and not tag.copies_all:
            return tag
    return None


def seeing(tags: Collection[Tag], function: Callable[..., Any], *args: Any) -> Any:
    """Call `function`, which may see only these tags, and the tags that begin in it."""
    hidden = [tag for tag in visible_tags() if tag not in tags]
    try:
        for tag in hidden:
            tag.is_hidden = True
        return function(*args)
    finally:
        for tag in hidden:
            tag.is_hidden = False


def copying(function: Callable[..., Any], *args: Any) -> Any:
    """Call `function` while all derivatives that run here copy older arrays, so it may write to its own."""
    tags = {tag for body in enclosing() if isinstance(tag := body.prompt, Tag) and not tag.copies_all}
    try:
        for tag in tags:
            tag.copies_all = True
        return function(*args)
    finally:
        for tag in tags:
            tag.copies_all = False
