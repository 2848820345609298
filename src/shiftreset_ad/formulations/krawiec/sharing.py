"""Reverse mode, number 3: Delta terms with sharing, in linear time (Krawiec et al. 2022, section 5.3, Fig. 9 to 11).

A Delta term (room `delta`) has a result in it as often as the program uses the result. Here each result gets a name,
and terms have names in them. The bindings of names are a state that passes through the program. The paper translates
the program into a state monad (room `source_sharing`). Here the numbers of one call share a `DeltaState`, which
Python's order of evaluation keeps in order.

    data Delta = Zero | OneHot i | Scale r Delta | Add Delta Delta | Var DeltaId
    data DeltaState = { next DeltaId, bindings of DeltaId to Delta }

    D[e1 * e2] = do { (x1, d1) <- D[e1]; (x2, d2) <- D[e2]
                    ; d <- deltaLet (Add (Scale x2 d1) (Scale x1 d2))        1. a name for each result
                    ; return (x1 * x2, d) }

The way back starts with the sensitivity of the result, and visits each binding once, in reverse order. All uses of a
name come later in the program, so they have been visited before, and the sensitivity of the name is complete.

    evalDelta y_bar (Var id) = add y_bar to the sensitivity of id            2. the other terms as in `delta`
    runDelta: for each binding, last first: take its sensitivity out of the map, and evalDelta it in its term    3.

The paper's term has `Let` around it for each binding, and its inputs are `Var`, without `OneHot` (room `monadic`).
One operation makes one binding, with a term of constant size. So time and memory are linear in the number of operations
that the program carries out, apart from the cost of the map (Theorem 5; `array_backed` has no map).

Derivatives nest here; the programs of the paper do not differentiate, so they do not need that. An operation belongs to
the newest state among its operands. Numbers of other states are constants to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import Any, NamedTuple, NewType, TypeAlias, TypeGuard

from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

DeltaId = NewType("DeltaId", int)
_tags = count()


@dataclass(frozen=True, slots=True, eq=False)
class Zero:
    """The vector of zeros."""


@dataclass(frozen=True, slots=True, eq=False)
class OneHot:
    """The i-th unit vector."""

    i: int


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


Delta: TypeAlias = Zero | OneHot | Scale | Add | Var


class DeltaState:
    """The bindings that one call has made so far, in order; a newer call has a greater `tag`."""

    def __init__(self) -> None:
        self.tag = next(_tags)
        self.bindings: list[tuple[DeltaId, Delta]] = []

    def delta_let(self, delta: Delta) -> Var:
        """deltaLet: a new name for a term."""
        new = DeltaId(len(self.bindings))
        self.bindings.append((new, delta))
        return Var(new)

    def lift(self, constant: Any) -> Number:
        """A constant as a number of this call, with a name, as the translation does with a literal."""
        return Number(constant, self.delta_let(Zero()), self)


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
        return Number(y, state.delta_let(reduce(Add, parts)), state)  # 1


def belongs(x: Any, state: DeltaState) -> TypeGuard[Number]:
    """Whether x is a number of this call; all other numbers are constants to it."""
    return isinstance(x, Number) and x.state is state


class Trace(NamedTuple):
    """The outcome of the forward pass: the result, the terms of the numbers in it, and the bindings of their names."""

    result: Any
    deltas: list[Delta]
    bindings: list[tuple[DeltaId, Delta]]


def trace(f: Term | Callable[[Any], Any]) -> Callable[[Any], Trace]:
    """The forward pass of `f`, from any structure to any structure; `show` prints it.

    >>> print(show(trace(lambda x: (x * x) * 2.0)(3.0)))
    let d0 = 3.0 * x0 + 3.0 * x0
        d1 = 2.0 * d0
    in d1
    """
    function = as_function(f)

    def forward_pass(x: Any) -> Trace:
        inputs, state = Structure(x), DeltaState()
        xs = [Number(x, OneHot(i), state) for i, x in enumerate(inputs.numbers)]
        outputs = Structure(function(inputs.with_numbers(xs)), may_be_constant=True)
        result = outputs.with_numbers([y.primal if belongs(y, state) else y for y in outputs.numbers])
        return Trace(result, [delta_of(y, state) for y in outputs.numbers], state.bindings)

    return forward_pass


def delta_of(y: Any, state: DeltaState) -> Delta:
    """The term of a number in the result, Zero if it is a constant."""
    if not isinstance(y, Number) or y.state.tag < state.tag:
        return Zero()
    if y.state is not state:
        raise ValueError("grad: the result is a number of an inner derivative, which is finished")
    return y.delta


def run_delta(trace: Trace, y_bar: Any, n: int) -> list[Any]:
    """The way back: y_bar times the sum of the gradients of the results, by n inputs (3)."""
    x_bar: list[Any] = [0.0] * n
    sensitivities: dict[DeltaId, Any] = {}
    for delta in trace.deltas:
        eval_delta(y_bar, delta, x_bar, sensitivities)
    for name, delta in reversed(trace.bindings):
        if name in sensitivities:
            eval_delta(sensitivities.pop(name), delta, x_bar, sensitivities)
    return x_bar


def eval_delta(y_bar: Any, delta: Delta, x_bar: list[Any], sensitivities: dict[DeltaId, Any]) -> None:
    """Push the sensitivity of a term to the inputs and the names in it (2)."""
    match delta:
        case OneHot(i):
            x_bar[i] = x_bar[i] + y_bar
        case Scale(r, scaled):
            eval_delta(r * y_bar, scaled, x_bar, sensitivities)
        case Add(left, right):
            eval_delta(y_bar, left, x_bar, sensitivities)
            eval_delta(y_bar, right, x_bar, sensitivities)
        case Var(name):
            sensitivities[name] = sensitivities[name] + y_bar if name in sensitivities else y_bar


def grad(f: Term | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument.

    Raises TypeError for a result that is not a number.

    >>> grad(lambda x: x[0] * x[1])((2.0, 3.0))
    (3.0, 2.0)
    """
    function = as_function(f)
    forward_pass = trace(lambda x: scalar(function(x)))

    def gradient(x: Any) -> Any:
        inputs = Structure(x)
        return inputs.derivative(run_delta(forward_pass(x), 1.0, len(inputs.numbers)))

    return gradient


def show(trace: Trace) -> str:
    """The bindings and the results as text: x0, x1, ... are the one-hot vectors of the inputs."""
    bindings = "\n    ".join(f"d{name} = {text(delta)}" for name, delta in trace.bindings)
    results = ", ".join(map(text, trace.deltas))
    return f"let {bindings}\nin {results}" if bindings else results


def text(delta: Delta) -> str:
    """A term in the notation of vectors."""
    match delta:
        case Zero():
            return "0"
        case OneHot(i):
            return f"x{i}"
        case Scale(r, scaled):
            inside = text(scaled)
            return f"{r} * ({inside})" if isinstance(scaled, Add) else f"{r} * {inside}"
        case Add(left, right):
            return f"{text(left)} + {text(right)}"
        case Var(name):
            return f"d{name}"
