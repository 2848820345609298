"""The cost of a derivative, counted in operations on numbers: so the papers' claims can be checked as they are stated.

There are two ways to count, and they agree. `count` has a number class of its own: such a number is the primal of a
room's numbers, and counts the operations on it. `count_captured` has the library's own numbers, and a handler that
counts the operations that they capture:

    at an operation            `count`                         `count_captured`
    who counts                 `Counted.operate`               the handler that waits in `run`, as in `grad`
    what happens then          one more number, go on          the operation is forgotten, go on

An addition to a known zero counts as an operation, and so does a multiplication by one. A comparison does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from shiftreset_ad.control import Operation, run
from shiftreset_ad.formulations.overloading import Overloaded
from shiftreset_ad.formulations.structures import Structure
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.numbers.tags import Tag


class Costs(NamedTuple):
    """The cost of a run: operations, numbers that were made or given, and the most numbers alive at one time."""

    operations: int
    allocations: int
    peak: int


class Meter:
    """The counters of a run."""

    def __init__(self) -> None:
        self.operations = self.allocations = self.alive = self.peak = 0

    def made(self) -> None:
        """Count one more number."""
        self.allocations += 1
        self.alive += 1
        self.peak = max(self.peak, self.alive)

    def freed(self) -> None:
        """Count one number less."""
        self.alive -= 1


class Counted(Overloaded, measures=True):
    """A number that tells its meter when it is made, used, and freed."""

    __slots__ = ("meter", "primal")

    def __init__(self, primal: Any, meter: Meter) -> None:
        self.primal = primal
        self.meter = meter
        meter.made()

    def __del__(self) -> None:
        self.meter.freed()

    def operate(self, function: Callable[..., Any], *operands: Any) -> Counted:
        """The answer, counted as one operation."""
        self.meter.operations += 1
        return Counted(function(*(x.primal if isinstance(x, Counted) else x for x in operands)), self.meter)


def count(f: Callable[..., Any], *args: Any) -> Costs:
    """The cost of `f(*args)`, for arguments that are structures of floats.

    >>> count(lambda x: (x * x) * x, 3.0)
    Costs(operations=2, allocations=3, peak=3)
    >>> from shiftreset_ad.formulations.wang import forward
    >>> count(forward.grad(lambda x: (x * x) * x), 3.0).operations
    8
    """
    meter = Meter()
    f(*(_with_numbers(arg, lambda x: Counted(x, meter)) for arg in args))
    return Costs(meter.operations, meter.allocations, meter.peak)


def count_captured(f: Callable[..., Any], *args: Any) -> int:
    """How many operations `f(*args)` does, for functions that take the library's numbers, such as its `grad(f)`.

    >>> from shiftreset_ad import grad
    >>> count_captured(grad(lambda x: (x * x) * x), 3.0)
    6
    """
    tag = Tag()
    operations = 0

    def forget(operation: Operation) -> None:
        nonlocal operations
        operations += 1

    run(tag, lambda: f(*(_with_numbers(arg, lambda x: NumR(x, ZERO, tag)) for arg in args)), forget)
    return operations


def _with_numbers(arg: Any, number: Callable[[Any], Any]) -> Any:
    structure = Structure(arg, may_be_constant=True)
    numbers: Sequence[Any] = [number(x) for x in structure.numbers]
    return structure.with_numbers(numbers)
