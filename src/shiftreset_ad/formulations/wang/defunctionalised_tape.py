"""Reverse mode with a tape that is data: a Wengert list (Wang et al. 2019, section 3.5).

The tape of Fig. 12 is a function that is composed of closures. All of them come from the same line of code, and differ
only in their free variables. Defunctionalisation (Reynolds 1972) makes a record of the free variables, a list of
records of the composition, and an interpreter of the call:

    tape = (() => this.d += y.d * that.x) andThen tape   1. tape.append(Entry(operands, slopes)), and y is its position
    tape()                                               2. for each entry, last in, first out: what the closures did

The adjoints are in a list, too, so a number has its primal and its place on the tape. This is the tape of most systems
for reverse mode: the continuations of section 3.2, without functions.

An operation goes on the newest tape among its operands, so derivatives nest (2.5). The slopes on an inner tape may be
numbers of an outer tape.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

serials = count()


class Entry(NamedTuple):
    """The record of one operation: the places of its operands on the tape, and its partial derivatives in them."""

    operands: tuple[int, ...]
    slopes: tuple[Any, ...]


class Tape:
    """The operations of one derivative, in the order in which they were carried out; its inputs come first."""

    __slots__ = ("entries", "serial")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.serial = next(serials)

    def write(self, value: Any, operands: tuple[int, ...] = (), slopes: tuple[Any, ...] = ()) -> NumW:
        """A number at the next place on the tape, for the answer of an operation, or for an input."""
        self.entries.append(Entry(operands, slopes))
        return NumW(value, len(self.entries) - 1, self)


class NumW(Overloaded):
    """A value, its `primal`, with its place on a tape."""

    __slots__ = ("place", "primal", "tape")

    def __init__(self, primal: Any, place: int, tape: Tape) -> None:
        self.primal = primal
        self.place = place
        self.tape = tape

    def operate(self, function: Callable[..., Any], *operands: Any) -> NumW:
        """The answer, with an entry on the tape."""
        tape = max((x.tape for x in operands if isinstance(x, NumW)), key=lambda tape: tape.serial)
        mine = [isinstance(x, NumW) and x.tape is tape for x in operands]
        primals = [x.primal if own else x for x, own in zip(operands, mine, strict=True)]
        value, slopes = answer_and_partials(function, *primals, of=operands)
        places = tuple(x.place for x, own in zip(operands, mine, strict=True) if own)
        return tape.write(value, places, tuple(slope for slope, own in zip(slopes, mine, strict=True) if own))  # 1


def adjoints(entries: list[Entry], result: int) -> list[Any]:
    """The interpreter: the adjoint of each place on the tape; the adjoint of the result is 1.

    >>> adjoints([Entry((), ()), Entry((0, 0), (3.0, 3.0))], result=1)  # of y = x * x at 3
    [6.0, 1.0]
    """
    x_bars: list[Any] = [0.0] * len(entries)
    x_bars[result] = 1.0
    for y_bar, entry in zip(reversed(x_bars), reversed(entries), strict=True):  # 2
        for x, slope in zip(entry.operands, entry.slopes, strict=True):
            x_bars[x] = x_bars[x] + slope * y_bar
    return x_bars


def grad(f: Callable[..., Any] | Term) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument.

    Raises TypeError where `f` does not return one number.

    >>> grad(grad(lambda x: x * x * x))(2.0)
    np.float64(12.0)
    """
    function = as_function(f)

    def gradient(x: Any) -> Any:
        structure, tape = Structure(x), Tape()
        xs = [tape.write(number) for number in structure.numbers]
        result = scalar(function(structure.with_numbers(xs)))
        if isinstance(result, NumW) and result.tape.serial > tape.serial:
            raise ValueError("grad: the result is a number of an inner derivative, which is finished")
        if not (isinstance(result, NumW) and result.tape is tape):
            return structure.derivative([0.0 for _ in xs])
        x_bars = adjoints(tape.entries, result.place)
        return structure.derivative(x_bars[: len(xs)])

    return gradient
