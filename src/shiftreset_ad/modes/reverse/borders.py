"""Where values enter a program in reverse mode, and where they leave it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import ndarray

from shiftreset_ad.boundary.checks import without_level
from shiftreset_ad.control import Operation
from shiftreset_ad.modes.reverse.kept import unchanged
from shiftreset_ad.modes.reverse.memory import has_been_written
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.numbers.floating_errors import without_warnings
from shiftreset_ad.numbers.memory import protect
from shiftreset_ad.numbers.number import ZERO, copied_part, put
from shiftreset_ad.numbers.tags import Tag, watcher
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.stand_ins import recorder


def arrived(numbers: list[Primal], tag: Tag) -> list[NumR]:
    """The numbers with which a program under this tag begins. The program may not write to their arrays."""
    xs = []
    for number in numbers:
        if type(number) is not float:
            protect(tag, number, "is an argument")
        xs.append(NumR(number, ZERO, tag))
    return xs


def unchanged_inputs(numbers: list[Primal]) -> list[Operation]:
    """Operations that check, on the way back, that nobody has written to the arrays among the inputs."""
    return [unchanged(number) for number in numbers if issubclass(type(number), ndarray)]


def departed(answer: Any, aux: Any, tag: Tag) -> tuple[Any, Any]:
    """What the program returned, as values one level below, before the way back puts old elements into arrays."""
    tag.copies.clear()  # the operations hold the copies, and are freed one by one
    tag.protected.clear()
    value = last_value(answer) if type(answer) is NumR and answer.tag is tag else answer
    return value, None if aux is None else without_level(aux, tag, last_value)


def last_value(x: NumR) -> Primal:
    """The value of a number before the way back: a copy if the way back will change the array."""
    return +x.primal if has_been_written(x) else x.primal


def going_back(tag: Tag, pending: list[Operation], go_back: Callable[[Any], None]) -> None:
    """Go back through these operations without warnings, and give `go_back` the watcher of `debug()`, or None.

    Then put the last elements back into the plain arrays that the program has from `value`.
    """
    last = [(root.primal, copied_part(root.primal, ...)) for root in tag.shown.values() if has_been_written(root)]
    watch = watcher.get()
    if recorder.unwatched is not None and watch is None and not tag.is_read_later:
        go_back = recorder.unwatched(go_back, pending)
    try:
        without_warnings(go_back, watch)
    finally:
        tag.is_undone = bool(tag.written)
        for array, elements in last:
            put(array, ..., elements)
