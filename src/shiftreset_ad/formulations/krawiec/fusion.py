"""Fusion makes one operation of a whole function (Krawiec et al. 2022, Fig. 15).

In the room `sharing` each operation of the program makes a binding. A function that is called often, such as a dot
product or an activation, can do with one binding for a call: its own gradient is computed at once, forward and back,
and only the value and one binding remain, with a partial derivative for each argument.

    fused f (x1, d1) ... = do { let (y, (p1, ...)) = value and gradient of f at x1 ...         1.
                              ; d <- deltaLet (Add (Scale p1 d1) ...)                          2.
                              ; return (y, d) }

So f is treated as a primitive, and the construction itself finds the partial derivatives. The function must be closed:
all numbers that it uses are its arguments.

Derivatives nest, and step 1 already needs that: an operation belongs to the newest state among its operands, and
numbers of other states are constants to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce, wraps
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
        state = newest_state(operands)
        primals = [x.primal if belongs(x, state) else x for x in operands]
        y, slopes = answer_and_partials(function, *primals, of=operands)
        active = [(slope, x) for slope, x in zip(slopes, operands, strict=True) if belongs(x, state)]
        return one_binding(y, active, state)


def newest_state(numbers: Any) -> DeltaState:
    """The state of an operation with these operands; at least one of them is a `Number`."""
    return max((x.state for x in numbers if isinstance(x, Number)), key=lambda state: state.tag)


def belongs(x: Any, state: DeltaState) -> TypeGuard[Number]:
    """Whether x is a number of this call; all other numbers are constants to it."""
    return isinstance(x, Number) and x.state is state


def one_binding(y: Any, active: list[tuple[Any, Number]], state: DeltaState) -> Number:
    """The number y, with a name for its term: the sum of slope times vector over the active operands (2)."""
    parts: list[Delta] = [Scale(slope, x.delta) for slope, x in active]
    return Number(y, state.delta_let(reduce(Add, parts)), state)


def fused(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function `f`; each call makes one binding, however many operations `f` has.

    `f` takes structures of numbers and returns a number. Raises TypeError for another result, and if `f` uses a number
    that is not among its arguments.

    >>> multiply_and_add = fused(lambda x, y, z: x * y + z)
    >>> grad(lambda x: multiply_and_add(*x))((2.0, 3.0, 4.0))
    (3.0, 2.0, 1.0)
    >>> bindings(lambda x: multiply_and_add(*x))((2.0, 3.0, 4.0))
    1
    """

    @wraps(f)
    def operation(*args: Any) -> Any:
        operands = Structure(args, may_be_constant=True)
        if not any(isinstance(x, Number) for x in operands.numbers):
            return f(*args)
        state = newest_state(operands.numbers)
        active = [x for x in operands.numbers if belongs(x, state)]

        def of_active(primals: tuple[Any, ...]) -> Any:
            remaining = iter(primals)
            return f(*operands.with_numbers([next(remaining) if belongs(x, state) else x for x in operands.numbers]))

        y, slopes = value_and_gradient(of_active, tuple(x.primal for x in active), "fused")  # 1
        if any(isinstance(x, Number) and x.state.tag >= state.tag for x in (y, *slopes)):
            raise TypeError("fused: the function uses a number that is not among its arguments; make it an argument")
        return one_binding(y, list(zip(slopes, active, strict=True)), state)

    return operation


def value_and_gradient(function: Callable[[Any], Any], x: Any, name: str) -> tuple[Any, Any]:
    """The value and the gradient at x; `name` is for errors."""
    inputs, state = Structure(x, operator=name), DeltaState()
    xs = [Number(x, state.delta_let(Zero()), state) for x in inputs.numbers]
    y = scalar(function(inputs.with_numbers(xs)), name)
    if isinstance(y, Number) and y.state.tag > state.tag:
        raise ValueError(f"{name}: the result is a number of an inner derivative, which is finished")
    if not belongs(y, state):
        return y, inputs.derivative([0.0] * len(xs))
    return y.primal, inputs.derivative(run_delta(state, y.delta, 1.0, len(xs)))


def run_delta(state: DeltaState, delta: Delta, y_bar: Any, n: int) -> list[Any]:
    """The way back from a term: y_bar times the gradient by the n inputs."""
    sensitivities: dict[DeltaId, Any] = {}
    eval_delta(y_bar, delta, sensitivities)
    for bound, delta in reversed(state.bindings[n:]):
        if bound in sensitivities:
            eval_delta(sensitivities.pop(bound), delta, sensitivities)
    return [sensitivities.get(DeltaId(i), 0.0) for i in range(n)]


def eval_delta(y_bar: Any, delta: Delta, sensitivities: dict[DeltaId, Any]) -> None:
    """Add y_bar times a term to the sensitivities of the names in it."""
    pending = [(y_bar, delta)]
    while pending:  # a call of a fused function has as many parts as arguments
        y_bar, delta = pending.pop()
        match delta:
            case Scale(r, scaled):
                pending.append((r * y_bar, scaled))
            case Add(left, right):
                pending += (y_bar, right), (y_bar, left)
            case Var(name):
                sensitivities[name] = sensitivities[name] + y_bar if name in sensitivities else y_bar


def grad(f: Term | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument.

    Raises TypeError for a result that is not a number.

    >>> grad(lambda x: x[0] * x[1])((2.0, 3.0))
    (3.0, 2.0)
    """
    function = as_function(f)
    return lambda x: value_and_gradient(function, x, "grad")[1]


def bindings(f: Term | Callable[[Any], Any]) -> Callable[[Any], int]:
    """How many bindings a run of `f` makes: the length of the way back.

    >>> bindings(lambda x: x * x * x)(3.0)
    2
    """
    function = as_function(f)

    def number(x: Any) -> int:
        inputs, state = Structure(x), DeltaState()
        xs = [Number(x, state.delta_let(Zero()), state) for x in inputs.numbers]
        function(inputs.with_numbers(xs))
        return len(state.bindings) - len(xs)

    return number
