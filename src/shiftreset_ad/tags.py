"""Tags: which call of a derivative operator a number belongs to, so that nested derivatives are not confused.

Each call makes a fresh tag, and each operation belongs to the newest tag among its operands; a number with any other
tag is a constant to it. Wang et al., ICFP 2019, section 2.4; Siskind and Pearlmutter, IFL 2005.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable
from functools import partial
from typing import Any, NoReturn

from shiftreset_ad.control import ControlError, GreenletError, Operation, Prompt, enclosing, here

_serials = itertools.count(1)


class EscapedNumberError(ControlError):
    """A number was used in an operation after the derivative that it belonged to was finished."""


class WrongThreadError(ControlError):
    """A number was used in another thread than the one that differentiates with respect to it."""


class Tag(Prompt):
    """One call of a derivative operator; being a prompt, it is also what the operations on its numbers capture up to.

    `serial` orders tags by age; `level` counts how deep the call is nested, from 1. A mode without control, such as
    forward mode, has nothing to capture: `around` and `finish` say where its call begins and ends. Of a call that is
    `recorded`, the operations stay after its end. `copies` are those of large constant arrays, by their ids.
    """

    __slots__ = ("copies", "level", "recorded", "serial", "thread")

    def __init__(self) -> None:
        self.serial = next(_serials)
        self.level = 1 + sum(isinstance(body.prompt, Tag) for body in enclosing())
        self.thread = threading.get_ident()
        self.recorded = False
        self.copies: dict[int, tuple[Any, Any]] = {}
        super().__init__(closed=partial(_refuse_escaped, self.level))

    @classmethod
    def around(cls, levels: Iterable[int]) -> Tag:
        """An open tag for a call without control, on values that have numbers of these levels in them."""
        tag = cls()
        tag.level = max(tag.level, 1 + max(levels, default=0))
        tag.closed = partial(_refuse_escaped, tag.level)
        tag.capture = _nothing_to_capture
        return tag

    def finish(self) -> None:
        """End a call without control: every further use of its numbers is an error."""
        self.capture = self.closed

    def require_open(self) -> None:
        """Raise EscapedNumberError if the call is over."""
        if self.capture is self.closed:
            self.closed(None, None)

    def misplaced(self) -> ControlError:
        """The error for a capture that could not reach the driver."""
        if threading.get_ident() != self.thread:
            return WrongThreadError(
                f"a number of level {self.level} is used in another thread than its grad runs in. "
                "Call grad inside that thread, or hand it the plain value, shiftreset_ad.value(x)"
            )
        return ControlError(
            f"a number of level {self.level} is used in a signal handler that interrupted its own grad. "
            "Have the handler set a flag, and look at it in the differentiated function"
        )


def _nothing_to_capture(source: Any, message: Any) -> NoReturn:
    raise ControlError("an operation of a mode without control was captured")


def _refuse_escaped(level: int, source: Any, message: Any) -> NoReturn:
    raise EscapedNumberError(
        f"a number of level {level} is used in an operation after its derivative has finished, so its derivative would "
        "be lost. Return it from the differentiated function (has_aux=True for more than the result), "
        "or keep its plain value with shiftreset_ad.value(x)"
    )


def capture(tag: Tag, operation: Operation) -> None:
    """Leave the program for the handler of `tag`, and come back when that has kept the operation."""
    try:
        if tag.capture(here(), operation):
            raise tag.misplaced()
    except GreenletError:
        raise tag.misplaced() from None


def innermost_tag() -> Tag | None:
    """The tag of the innermost derivative whose function is running here."""
    return next((body.prompt for body in enclosing() if isinstance(body.prompt, Tag)), None)
