"""Reverse mode from any structure S to any structure T (Krawiec et al. 2022, Fig. 16).

The construction of the room `sharing` is for functions of several reals with one result. Only its two ends change:

    the argument of type S is taken apart, each of its reals gets a name, and it is put together again      1.
    the way back begins with a sensitivity for each real in the result of type T                            2.
    the sensitivities of the first names, one for each real in S, are put together as the gradient          3.

So the reverse derivative at x is a map of structures, T -> S, the transpose of the Jacobian. In the paper
polytypic functions, defined by type, take structures apart (room `monadic`). Here optree does it, for tuples, lists,
dicts, dataclasses, and the core language's sums. The bindings stay as they are, so the map can be applied many times:
once for each row of the Jacobian.

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
    """The bindings of one call, its inputs first; a newer call has a greater `tag`."""

    def __init__(self) -> None:
        self.tag = next(_tags)
        self.bindings: list[tuple[DeltaId, Delta]] = []

    def delta_let(self, delta: Delta) -> Var:
        """deltaLet: a new name for a term."""
        new = DeltaId(len(self.bindings))
        self.bindings.append((new, delta))
        return Var(new)


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


def vjp(f: Term | Callable[[Any], Any], name: str = "vjp") -> Callable[[Any], tuple[Any, Callable[[Any], Any]]]:
    """The function that returns f(x) and the pullback, `y_bar -> x_bar`, at x; `name` is for its errors.

    The pullback raises TypeError for a cotangent that does not have the structure of the result.

    >>> y, pullback = vjp(lambda x: {"product": x[0] * x[1], "sum": x[0] + x[1]})((2.0, 3.0))
    >>> y, pullback({"product": 1.0, "sum": 10.0})
    ({'product': np.float64(6.0), 'sum': np.float64(5.0)}, (13.0, 12.0))
    """
    function = as_function(f)

    def value_and_pullback(x: Any) -> tuple[Any, Callable[[Any], Any]]:
        inputs, state = Structure(x, operator=name), DeltaState()
        xs = [Number(x, state.delta_let(Zero()), state) for x in inputs.numbers]  # 1
        outputs = Structure(function(inputs.with_numbers(xs)), may_be_constant=True)
        deltas = [delta_of(y, state, name) for y in outputs.numbers]

        def pullback(y_bar: Any) -> Any:
            cotangent = Structure(y_bar, may_be_constant=True)
            if not cotangent.is_like(outputs):
                raise TypeError(f"{name}: the cotangent has to have the structure of the result; got {y_bar!r}")
            sensitivities: dict[DeltaId, Any] = {}
            for bar, delta in zip(cotangent.numbers, deltas, strict=True):
                eval_delta(bar, delta, sensitivities)  # 2
            for bound, delta in reversed(state.bindings[len(xs) :]):
                if bound in sensitivities:
                    eval_delta(sensitivities.pop(bound), delta, sensitivities)
            return inputs.derivative([sensitivities.get(DeltaId(i), 0.0) for i in range(len(xs))])  # 3

        return outputs.with_numbers([y.primal if belongs(y, state) else y for y in outputs.numbers]), pullback

    return value_and_pullback


def delta_of(y: Any, state: DeltaState, name: str) -> Delta:
    """The term of a number in the result, Zero if it is a constant."""
    if not isinstance(y, Number) or y.state.tag < state.tag:
        return Zero()
    if y.state is not state:
        raise ValueError(f"{name}: the result has a number of an inner derivative, which is finished")
    return y.delta


def eval_delta(y_bar: Any, delta: Delta, sensitivities: dict[DeltaId, Any]) -> None:
    """Add y_bar times a term to the sensitivities of the names in it."""
    match delta:
        case Scale(r, scaled):
            eval_delta(r * y_bar, scaled, sensitivities)
        case Add(left, right):
            eval_delta(y_bar, left, sensitivities)
            eval_delta(y_bar, right, sensitivities)
        case Var(name):
            sensitivities[name] = sensitivities[name] + y_bar if name in sensitivities else y_bar


def jacobian(f: Term | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function that returns the Jacobian of `f`: the structure of the result, with a gradient for each number.

    >>> jacobian(lambda x: [x[0] * x[1], x[0] + x[1]])((2.0, 3.0))
    [(3.0, 2.0), (1.0, 1.0)]
    """
    value_and_pullback = vjp(f, "jacobian")

    def rows(x: Any) -> Any:
        y, pullback = value_and_pullback(x)
        outputs = Structure(y, may_be_constant=True)
        n = len(outputs.numbers)
        units = [outputs.derivative([float(i == j) for j in range(n)]) for i in range(n)]
        return outputs.derivative([pullback(unit) for unit in units])

    return rows


def grad(f: Term | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument.

    Raises TypeError for a result that is not a number.

    >>> grad(lambda x: x[0] * x[1])((2.0, 3.0))
    (3.0, 2.0)
    """
    function = as_function(f)
    value_and_pullback = vjp(lambda x: 1.0 * scalar(function(x)), "grad")  # an integer becomes a number

    def gradient(x: Any) -> Any:
        _, pullback = value_and_pullback(x)
        return pullback(1.0)

    return gradient
