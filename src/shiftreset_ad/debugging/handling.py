"""`handling(handler)`: a handler of the user's decides what becomes of each operation, there and on the way back.

An operation captures the rest of the program, and a handler runs this rest. The library's own handler keeps the
operation, and resumes it on the way back. A `Handler` stands before it: `there` is called where an operation captures,
and `back` is called in place of the operation, when it is its turn. What a handler may do is what any code may do at
these two places: count and print; raise an error, which ends the derivative; leave out `resume()`, so that nothing goes
back through the operation; or `shift` to a `reset` around the whole derivative, which suspends it.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import CodeType
from typing import Any

from shiftreset_ad.boundary.notes import FUNCTION_OF
from shiftreset_ad.boundary.places import FramesOutwards, OperationPlace, name_of
from shiftreset_ad.control import Operation
from shiftreset_ad.debugging.steps import Step
from shiftreset_ad.debugging.watching import Noted, with_adjoint
from shiftreset_ad.numbers.number import numbers_in
from shiftreset_ad.numbers.tags import Tag, watcher


class Handler:
    """What becomes of operations. A subclass overrides `there`, `back` or both; these do nothing of their own.

    >>> class Log(Handler):
    ...     def there(self, step):
    ...         print("there", step.name, step.value)
    ...     def back(self, step, resume):
    ...         print("back", step.name, step.adjoint)
    ...         resume()
    >>> from shiftreset_ad import grad
    >>> with handling(Log()):
    ...     grad(lambda x: 3.0 * (x * x))(2.0)
    there * 4.0
    there * 12.0
    back * 1.0
    back * 3.0
    12.0
    """

    def there(self, step: Step) -> None:
        """An operation has computed its answer, and the rest of the program has not run yet."""

    def back(self, step: Step, resume: Callable[[], None]) -> None:
        """The way back has come to an operation; `resume()` adds to the adjoints of its operands."""
        resume()


@contextmanager
def handling(handler: Handler) -> Iterator[None]:
    """A context in which `handler` sees each operation of all derivatives that begin inside it.

    It sees the derivatives of every mode; only those in reverse mode have a way back. Staged functions run as they
    stand, so their operations are seen. The context holds for this thread, and takes the place of `debug()` and of
    another `handling` around it. A `Step` is valid while the handler looks at it: to keep an array, copy it.

    >>> from shiftreset_ad import grad
    >>> class Names(Handler):
    ...     def there(self, step):
    ...         print(step.name, step.shape)
    >>> with handling(Names()):
    ...     slope = grad(lambda x: 2.0 * x + x)(1.0)
    * ()
    + ()
    """
    token = watcher.set(_Handled(handler))
    try:
        yield
    finally:
        watcher.reset(token)


class _Kept(Noted):
    """An operation with its place and its step."""

    step: Step


class _Handled:
    """Calls a handler, in the place of the watcher of `debug()`."""

    __slots__ = ("_during", "_handler")

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        # The steps that ways back are going through, with their places, the innermost last.
        self._during: list[tuple[OperationPlace, Step]] = []

    # On the way there

    def capturing(self, tag: Tag, capture: Callable[..., Any]) -> Callable[..., Any]:
        """A `capture` for this tag that first calls the handler."""

        def look(source: Any, operation: Operation) -> Any:
            visit = FramesOutwards(sys._getframe(1), PLACE_IN)
            kept = _Kept(operation)
            kept.place = visit.place
            kept.step = self._step(visit, tag, operation, numbers_in(operation[1]))
            self._handler.there(kept.step)
            return capture(source, kept)

        return look

    def attending(self, tag: Tag) -> Callable[..., Any]:
        """The `capture` for a tag without control: it only calls the handler."""

        def look(source: Any, answers: Any) -> None:
            visit = FramesOutwards(sys._getframe(1), PLACE_IN)
            self._handler.there(self._step(visit, tag, (), numbers_in(answers)))

        return look

    def composite(self, definition: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the definition of a composite operation, whose parts are steps."""
        place = FramesOutwards(sys._getframe(1), PLACE_IN).place  # noqa: F841 (its parts find it here)
        return definition(*args, **kwargs)

    def _step(self, visit: FramesOutwards, tag: Tag, operation: Operation, answers: list[Any]) -> Step:
        larger = "" if visit.inside is None else _known(visit.inside.operation.name)
        on_the_way_back = visit.inside is not None and self._during and visit.inside is self._during[-1][0]
        name = name_of_called(visit, operation) or larger
        active = [x for x in with_adjoint(operation[2:]) if x.tag is tag]  # others are constants here
        return Step(
            name=name,
            part_of="" if on_the_way_back or larger == name else larger,
            place=visit.place,
            level=tag.level,
            during=self._during[-1][1] if on_the_way_back else None,
            given=active if on_the_way_back else visit.given or active,
            answers=answers,
            active=active,
            written=item_of_write(visit, operation),
        )

    # On the way back

    def pull(self, operation: Operation) -> None:
        """Call the handler, which resumes the operation."""
        if not isinstance(operation, _Kept):  # it was captured before the context began, or it is a check
            operation[0](operation)
            return
        place = operation.place.again()
        self._during.append((place, operation.step))
        try:
            self._handler.back(operation.step, partial(_resume, operation, place))
        finally:
            self._during.pop()


def _resume(operation: Operation, place: OperationPlace) -> None:
    operation[0](operation)


def item_of_write(visit: FramesOutwards, operation: Operation) -> Any:
    """The item, if the operation writes one: its answer is the array, which has the old elements yet."""
    if not operation or FUNCTION_OF.get(operation[0]) is not operator.setitem:
        return None
    item = operation[4]
    return visit.given[-1] if item is None and visit.given else item


def name_of_called(visit: FramesOutwards, operation: Operation) -> str:
    """What was called, by the frames, or by what the operation itself knows."""
    name = _known(visit.operation.name)
    if name and not name.startswith("shiftreset_ad."):
        return name
    site: Any = operation[-1] if operation else None
    if type(site) is tuple and len(site) == 3 and type(site[1]) is CodeType:
        site = site[0]
    called = site if callable(site) else FUNCTION_OF.get(operation[0]) if operation else None
    return name if called is None else _known(name_of(called))


def _known(name: str) -> str:
    """The name, or none if it is that of a function inside of the library, which the user does not know."""
    return "" if "._" in name or "<" in name else name


# The local variable, in the frame of a larger operation, that holds its place. The operations inside look for it.
PLACE_IN = {_Handled.composite.__code__: "place", _resume.__code__: "place"}
