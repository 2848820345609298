"""`debug()`: the first infinity or NaN is an error, with the line of the operation that made it.

While `debug` is on, each new tag has another `capture`. On the way forward, this `capture` looks at the answer of an
operation, and keeps the operation's place. On the way back, `pull` looks at the adjoints that an operation gives to its
operands. An intermediate result of an operation, at an outer level or in a part of a composite operation, may be
infinite: only the answer of the whole operation counts.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from shiftreset_ad.boundary.notes import FUNCTION_OF, described
from shiftreset_ad.boundary.places import Called, FramesOutwards, OperationPlace
from shiftreset_ad.control import Operation
from shiftreset_ad.debugging.finite import Element, adjoint_of, element, first_not_finite, is_finite
from shiftreset_ad.modes.reverse.unsettled import Held
from shiftreset_ad.numbers.number import Number, newest, numbers_in
from shiftreset_ad.numbers.tags import Tag, watcher
from shiftreset_ad.rules.annotations import Adjoint, Cotangent
from shiftreset_ad.rules.broadcasting import shape_of


@contextmanager
def debug(enabled: bool = True) -> Iterator[None]:
    """A context in which the first infinity or NaN in a derivative is an error that names the line that made it.

    Put it around the call of `grad`, `vjp`, `jvp`, `jacobian`, `taylor` or any other operator: it watches the
    derivatives that begin inside it. An operation on finite operands raises FloatingPointError if its answer, its
    tangent or a Taylor coefficient is infinite or NaN, and on the way back, if an adjoint that it gives to an operand
    is infinite or NaN. The error has the line of the operation, its name, the element, and the values there. Any other
    error on the way back gets a note with the line. `debug` holds for this thread and context, and `debug(False)`
    switches it off inside.

    >>> from shiftreset_ad import grad
    >>> with debug():
    ...     grad(lambda x: 3.0 * np.sqrt(x))(0.0)
    Traceback (most recent call last):
    FloatingPointError: on the way back through numpy.sqrt: the adjoint of its operand becomes inf, where ...
    """
    token = watcher.set(Watcher() if enabled else None)
    try:
        yield
    finally:
        watcher.reset(token)


class Noted(tuple[Any, ...]):
    """An operation, with its place."""

    place: OperationPlace


class Watcher:
    """An observer of the operations of all derivatives that begin while it is active."""

    __slots__ = ()

    # On the way there

    def capturing(self, tag: Tag, capture: Callable[..., Any]) -> Callable[..., Any]:
        """A `capture` for this tag that first looks at the answers, and keeps the place of each operation."""

        def look(source: Any, operation: Operation) -> Any:
            visit = FramesOutwards(sys._getframe(1), PLACE_IN)
            noted = Noted(operation)
            noted.place = visit.place
            answers = numbers_in(operation[1])
            noted.place.made.update(map(id, answers))
            if not visit.in_region and FUNCTION_OF.get(operation[0]) is not operator.setitem:
                require_finite(visit, tag, answers)
            return capture(source, noted)

        return look

    def attending(self, tag: Tag) -> Callable[..., Any]:
        """The `capture` for a tag without control: it only looks at the answers."""

        def look(source: Any, answers: Any) -> None:
            require_finite(FramesOutwards(sys._getframe(1), PLACE_IN), tag, numbers_in(answers))

        return look

    def composite(self, definition: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the definition of a composite operation, and look at its answer."""
        visit = FramesOutwards(sys._getframe(1), PLACE_IN)
        place = visit.place  # noqa: F841 (its parts find it here)
        answer = definition(*args, **kwargs)
        found = numbers_in(answer)
        if found:
            require_finite(visit, newest(found).tag, found)
        return answer

    # On the way back

    def pull(self, operation: Operation) -> None:
        """Go back through an operation, and look at the new adjoints of its operands."""
        noted = getattr(operation, "place", None)
        place = OperationPlace(Called(), None) if noted is None else noted.again()
        ys, xs = with_adjoint(operation[1:2]), with_adjoint(operation[2:])
        answers, operands = parts_read_by(operation)
        y_bars = [answers(adjoint_of(y)) for y in ys]
        sound = (noted is not None and noted.spoilt) or is_finite(y_bars)
        before = [x for x in xs if is_finite(operands(adjoint_of(x)))] if sound else []
        y_bars = [np.copy(y_bar) if isinstance(y_bar, np.ndarray) else y_bar for y_bar in y_bars]
        operation[0](operation)
        for x in before:
            if is_finite(operands(adjoint_of(x))):
                continue
            if noted is not None and id(x) in noted.made:
                noted.spoilt = True
            else:
                raise spoilt_adjoint(place, x, ys, y_bars)


# The local variable, in the frame of a larger operation, that holds its place. The operations inside look for it.
PLACE_IN = {Watcher.composite.__code__: "place", Watcher.pull.__code__: "place"}


def with_adjoint(parts: tuple[Any, ...]) -> list[Any]:
    """The numbers in these parts of an operation that have an adjoint."""
    return [x for x in numbers_in(parts) if "adjoint" in type(x).__slots__]


def parts_read_by(operation: Operation) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Two functions that give the part that counts: of an adjoint of the answer, and of an adjoint of the operand.

    A program may read or write one element of an array, and then only this element is checked.
    """
    function = FUNCTION_OF.get(operation[0])
    if function is operator.getitem:
        return whole, lambda adjoint: part(adjoint, operation[3])
    if function is operator.setitem:
        return lambda adjoint: part(adjoint, operation[2]), whole
    return whole, whole


def whole(adjoint: Adjoint) -> Any:
    return adjoint


def part(adjoint: Adjoint, index: Any) -> Any:
    summed = adjoint.whole if type(adjoint) is Held else adjoint
    return summed[index] if isinstance(summed, np.ndarray) else None


def require_finite(visit: FramesOutwards, tag: Tag, answers: list[Any]) -> None:
    """Raise FloatingPointError if an answer has an infinity or a NaN, and the operands have none."""
    if visit.inside is not None:
        return
    found = first_not_finite(answers)
    if found is None:
        return
    operands = visit.operands
    numbers = [x for x in operands if isinstance(x, Number)]
    if numbers and newest(numbers).tag is not tag:  # this operation is a part of an operation on newer numbers
        return
    if all(map(is_finite, operands)):
        raise spoilt_answer(visit.place, found, operands, answers) from None


# The errors


def spoilt_answer(place: OperationPlace, found: Element, operands: list[Any], answers: list[Any]) -> FloatingPointError:
    """The error for an operation whose answer is not finite."""
    name, elementwise = place.operation
    shape = shape_of(answers[0])
    values = [("operand", x) for x in operands] if elementwise else []
    what = f"the {found.part} of its answer" if found.part else "its answer"
    return FloatingPointError(
        f"{name or 'an operation'}: {what} is {found.value}{found.place(shape)}{values_at(found, values, shape)}\n"
        f"{place}\n"
        f"  operands: {', '.join(map(described, operands))}; answer: {', '.join(map(described, answers))}"
    )


def spoilt_adjoint(place: OperationPlace, x: Any, ys: list[Any], y_bars: list[Cotangent]) -> FloatingPointError:
    """The error for an operation that gives its operand an adjoint that is not finite."""
    found = first_not_finite(adjoint_of(x))
    assert found is not None
    name, elementwise = place.operation
    shape = shape_of(x)
    values = [("operand", x)]
    if elementwise:
        values += [("answer", y) for y in ys] + [("adjoint of the answer", y_bar) for y_bar in y_bars]
    what = f"the {found.part} of the adjoint" if found.part else "the adjoint"
    return FloatingPointError(
        f"on the way back through {name or 'an operation'}: {what} of its operand becomes "
        f"{found.value}{found.place(shape)}{values_at(found, values, shape)}\n{place}\n"
        f"  operand: {described(x)}; answer: {', '.join(map(described, ys))}"
    )


def values_at(found: Element, values: list[tuple[str, Any]], shape: tuple[int, ...]) -> str:
    """These values at the place of the element that was found, for messages; the element's value has this shape."""
    texts = [(name, element(x, found.within(shape), shape)) for name, x in values]
    known = [f"the {name} is {text}" for name, text in texts if text]
    return ", where " + ", ".join(known) if known else ""
