"""Reverse mode, number 3, with mutable arrays (Krawiec et al. 2022, section 5.3.3).

The way back of the room `sharing` looks up its sensitivities in a map. If the map is immutable, a look-up costs the
logarithm of its size. Names are consecutive numbers, and after the forward pass it is known how many there are. So an
array of this size can take the place of the map. It is changed in place: `eval` uses its map once.

    data Delta = Zero | Scale r Delta | Add Delta Delta | Var DeltaId
    terms[id] is the term that id is bound to; the first n ids are the inputs       1.
    bars[id]  is the sensitivity of id                                              2.
    for id = last, ..., n: eval bars[id] in terms[id]                               3.

Each step costs a constant. So time and memory are linear in the number of operations, without any condition
(Theorem 5). Here an element of `bars` is freed when it has been visited.

Derivatives nest here; the programs of the paper do not differentiate, so they do not need that. An operation belongs to
the newest state among its operands. Numbers of other states are constants to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import Any, NewType, TypeAlias, TypeGuard

from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

DeltaId = NewType("DeltaId", int)
_tags = count()


@dataclass(frozen=True, slots=True, eq=False)
class Zero:
    """The vector of zeros."""


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """r times a vector."""

    r: Any
    delta: Delta


@dataclass(frozen=True, slots=True, eq=False)
class Add:
    """The sum of two vectors."""

    left: Delta
    right: Delta


@dataclass(frozen=True, slots=True, eq=False)
class Var:
    """The vector that has this name."""

    id: DeltaId


Delta: TypeAlias = Zero | Scale | Add | Var


class DeltaState:
    """The array of terms, which the numbers of one call share; a newer call has a greater `tag`."""

    def __init__(self, numbers: list[Any]) -> None:
        self.tag = next(_tags)
        self.terms: list[Delta] = []
        self.inputs = [Number(x, self.delta_let(Zero()), self) for x in numbers]  # 1

    def delta_let(self, delta: Delta) -> Var:
        """deltaLet: the next name for a term."""
        self.terms.append(delta)
        return Var(DeltaId(len(self.terms) - 1))


class Number(Overloaded):
    """A `primal` and the name of its gradient, in the `state` of its call."""

    __slots__ = ("delta", "primal", "state")

    def __init__(self, primal: Any, delta: Delta, state: DeltaState) -> None:
        self.primal = primal
        self.delta = delta
        self.state = state

    def operate(self, function: Callable[..., Any], *operands: Any) -> Number:
        """The answer, with a new name for its term."""
        state = max((x.state for x in operands if isinstance(x, Number)), key=lambda state: state.tag)
        primals = [x.primal if belongs(x, state) else x for x in operands]
        y, slopes = answer_and_partials(function, *primals, of=operands)
        parts: list[Delta] = [
            Scale(slope, x.delta) for slope, x in zip(slopes, operands, strict=True) if belongs(x, state)
        ]
        return Number(y, state.delta_let(reduce(Add, parts)), state)


def belongs(x: Any, state: DeltaState) -> TypeGuard[Number]:
    """Whether x is a number of this call; all other numbers are constants to it."""
    return isinstance(x, Number) and x.state is state


def run_delta(state: DeltaState, delta: Delta, y_bar: Any) -> list[Any]:
    """The way back from a term: y_bar times the gradient by the inputs."""
    bars: list[Any] = [None] * len(state.terms)  # 2; None stands for zero
    eval_delta(y_bar, delta, bars)
    while len(bars) > len(state.inputs):  # 3
        bar = bars.pop()
        if bar is not None:
            eval_delta(bar, state.terms[len(bars)], bars)
    return [0.0 if bar is None else bar for bar in bars]


def eval_delta(y_bar: Any, delta: Delta, bars: list[Any]) -> None:
    """Add y_bar times a term to the sensitivities of the names in it."""
    match delta:
        case Scale(r, scaled):
            eval_delta(r * y_bar, scaled, bars)
        case Add(left, right):
            eval_delta(y_bar, left, bars)
            eval_delta(y_bar, right, bars)
        case Var(name):
            bars[name] = y_bar if bars[name] is None else bars[name] + y_bar


def grad(f: Term | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument.

    Raises TypeError for a result that is not a number.

    >>> grad(lambda x: x[0] * x[1])((2.0, 3.0))
    (3.0, 2.0)
    """
    function = as_function(f)

    def gradient(x: Any) -> Any:
        inputs = Structure(x)
        state = DeltaState(inputs.numbers)
        y = scalar(function(inputs.with_numbers(state.inputs)))
        return inputs.derivative(run_delta(state, delta_of(y, state), 1.0))

    return gradient


def delta_of(y: Any, state: DeltaState) -> Delta:
    """The term of a result, Zero if it is a constant."""
    if not isinstance(y, Number) or y.state.tag < state.tag:
        return Zero()
    if y.state is not state:
        raise ValueError("grad: the result is a number of an inner derivative, which is finished")
    return y.delta
