"""Arrays, by build and index (Krawiec et al. 2022, section 8.3).

    build n (fun i -> e)    the array of e for i = 0, ..., n - 1
    a[i]                    one element
    sum a                   the sum of all elements

The paper has three ways to add arrays: vectors of dual numbers, a dual of vectors, and vectors as new primitive data.
The room `monadic` has all three. This is a fourth way, which is ours. An array has a name of its own, as in the third
way, but its elements have Delta terms of their own. So Delta terms are of two sorts, for numbers and for arrays:

    data Delta  = Zero | Scale r Delta | Add Delta Delta | Var DeltaId | Index DeltaA i | Sum DeltaA
    data DeltaA = VarA DeltaId | Build [Delta]

    D[build n f] = deltaLet (Build [d0, d1, ...]), where f i = (yi, di)           1.
    D[a[i]]      = deltaLet (Index a i)                                           2.
    D[sum a]     = deltaLet (Sum a)                                               3.

The sensitivity of an array is a map from indices to numbers, and a[i] adds to the number at i. If the transpose of a[i]
were a whole array, zero except at i, each index would cost the length of the array. With the map, an index costs a
constant, and build and sum cost as much as there are elements. The way back is linear in the number of operations, as
it is without arrays.

Elementwise arithmetic on arrays is a build of arithmetic on elements. Derivatives nest: an operation belongs to the
newest state among its operands, and numbers of other states are constants to it, as in the room `sharing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import count
from operator import index
from typing import Any, NewType, TypeAlias, TypeGuard

import numpy as np

from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import COMPARISONS, Overloaded, answer_and_partials
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


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """The vector of an element of an array."""

    array: VarA
    i: int


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """The vector of the sum of an array with `size` elements."""

    array: VarA
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class VarA:
    """The array of vectors that has this name."""

    id: DeltaId


@dataclass(frozen=True, slots=True, eq=False)
class Build:
    """The array of these vectors."""

    elements: tuple[Delta, ...]


Delta: TypeAlias = Zero | Scale | Add | Var | Index | Sum
DeltaA: TypeAlias = VarA | Build


class DeltaState:
    """The bindings of one call, of numbers and arrays; a newer call has a greater `tag`."""

    def __init__(self) -> None:
        self.tag = next(_tags)
        self.bindings: list[tuple[DeltaId, Delta | DeltaA]] = []

    def delta_let(self, delta: Delta | DeltaA) -> DeltaId:
        """deltaLet: a new name for a term."""
        new = DeltaId(len(self.bindings))
        self.bindings.append((new, delta))
        return new

    def number(self, primal: Any, delta: Delta) -> Number:
        """A number; its term gets a name."""
        return Number(primal, Var(self.delta_let(delta)), self)

    def input(self, primal: Any) -> Number | ArrayNumber:
        """An input, a number or an array: it has a name, to which the way back leads."""
        name = self.delta_let(Zero())
        return ArrayNumber(primal, VarA(name), self) if isinstance(primal, Array) else Number(primal, Var(name), self)


class Number(Overloaded):
    """A `primal` and the name of its gradient, in the `state` of its call."""

    __slots__ = ("delta", "primal", "state")

    def __init__(self, primal: Any, delta: Delta, state: DeltaState) -> None:
        self.primal = primal
        self.delta = delta
        self.state = state

    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """The answer, with a new name for its term."""
        if any(isinstance(x, Array) for x in operands):
            return elementwise(function, operands)
        state = max((x.state for x in operands if isinstance(x, Number)), key=lambda state: state.tag)
        primals = [x.primal if belongs(x, state) else x for x in operands]
        y, slopes = answer_and_partials(function, *primals, of=operands)
        parts: list[Delta] = [
            Scale(slope, x.delta) for slope, x in zip(slopes, operands, strict=True) if belongs(x, state)
        ]
        return state.number(y, reduce(Add, parts))


class Array(Overloaded):
    """Numbers in a row, which cannot be changed.

    >>> Array([1.0, 2.0])[1]
    2.0
    """

    __slots__ = ("_elements",)

    def __init__(self, elements: Iterable[Any]) -> None:
        self._elements = tuple(elements)

    def __len__(self) -> int:
        return len(self._elements)

    def __getitem__(self, i: int) -> Any:
        return self._elements[index(i)]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        return f"Array({list(self)})"

    def sum(self) -> Any:
        """The sum of all elements, 0 if there are none."""
        return reduce(lambda a, b: a + b, self._elements) if self._elements else 0.0

    def operate(self, function: Callable[..., Any], *operands: Any) -> Array:
        """The array of `function` of the elements; a number goes with each element."""
        return elementwise(function, operands)

    def _operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        if function in COMPARISONS:
            raise TypeError(f"{function.__name__}: arrays are not compared; compare their elements")
        if any(isinstance(x, np.ndarray) for x in operands):
            raise TypeError(f"{function.__name__}: this room has arrays of its own; write Array(a) for NumPy's a")
        return self.operate(function, *operands)


class ArrayNumber(Array):
    """An array, its `primal`, and the name of its array of gradients, in the `state` of its call."""

    __slots__ = ("delta", "primal", "state")

    def __init__(self, primal: Array, delta: VarA, state: DeltaState) -> None:
        self.primal = primal
        self.delta = delta
        self.state = state

    def __len__(self) -> int:
        return len(self.primal)

    def __getitem__(self, i: int) -> Number:
        primal = self.primal[i]
        return self.state.number(primal, Index(self.delta, index(i) % len(self)))  # 2

    def sum(self) -> Number:
        """The sum of all elements, 0 if there are none."""
        return self.state.number(self.primal.sum(), Sum(self.delta, len(self)))  # 3


def belongs(x: Any, state: DeltaState) -> TypeGuard[Number]:
    """Whether x is a number of this call; all other numbers are constants to it."""
    return isinstance(x, Number) and x.state is state


def build(n: int, f: Callable[[int], Any]) -> Array:
    """The array of f(0), ..., f(n - 1).

    >>> list(build(3, lambda i: 2.0 * i))
    [0.0, 2.0, 4.0]
    """
    return array_of([f(i) for i in range(n)])


def array_of(elements: list[Any]) -> Array:
    """The array of these numbers. It belongs to their newest state; numbers of other states are constants to it (1)."""
    states = [x.state for x in elements if isinstance(x, Number)]
    if not states:
        return Array(elements)
    state = max(states, key=lambda state: state.tag)
    primal = array_of([x.primal if belongs(x, state) else x for x in elements])
    deltas = tuple(x.delta if belongs(x, state) else Zero() for x in elements)
    return ArrayNumber(primal, VarA(state.delta_let(Build(deltas))), state)


def elementwise(function: Callable[..., Any], operands: tuple[Any, ...]) -> Array:
    """The array of `function` of the elements; a number goes with each element."""
    sizes = {len(x) for x in operands if isinstance(x, Array)}
    if len(sizes) > 1:
        raise ValueError(f"{function.__name__}: the arrays have to be of one length; got {sorted(sizes)}")
    return build(sizes.pop(), lambda i: function(*(x[i] if isinstance(x, Array) else x for x in operands)))


def run_delta(state: DeltaState, y_bar: Any, delta: Delta) -> dict[DeltaId, Any]:
    """The way back from a term: the sensitivities of the inputs, by their names."""
    sensitivities: dict[DeltaId, Any] = {}
    eval_delta(y_bar, delta, sensitivities)
    for name, term in reversed(state.bindings):
        if name not in sensitivities or isinstance(term, Zero):
            continue
        y_bar = sensitivities.pop(name)
        if isinstance(term, Build):
            for i, bar in y_bar.items():
                eval_delta(bar, term.elements[i], sensitivities)
        else:
            eval_delta(y_bar, term, sensitivities)
    return sensitivities


def eval_delta(y_bar: Any, delta: Any, sensitivities: dict[DeltaId, Any]) -> None:
    """Add y_bar times a term to the sensitivities of the names in it; for an array this is a map from indices."""
    match delta:
        case Scale(r, scaled):
            eval_delta(r * y_bar, scaled, sensitivities)
        case Add(left, right):
            eval_delta(y_bar, left, sensitivities)
            eval_delta(y_bar, right, sensitivities)
        case Var(name):
            add_at(sensitivities, name, y_bar)
        case Index(VarA(name), i):
            add_at(sensitivities.setdefault(name, {}), i, y_bar)
        case Sum(VarA(name), size):
            for i in range(size):
                add_at(sensitivities.setdefault(name, {}), i, y_bar)


def add_at(bars: dict[Any, Any], key: Any, y_bar: Any) -> None:
    """Add to an element of a map; an element that is not there is zero."""
    bars[key] = bars[key] + y_bar if key in bars else y_bar


def grad(f: Term | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument, with arrays for arrays.

    Raises TypeError for a result that is not a number.

    >>> grad(lambda a: (a * a).sum() + a[0])(Array([2.0, 3.0]))
    Array([5.0, 6.0])
    """
    function = as_function(f)

    def gradient(x: Any) -> Any:
        inputs, state = Structure(x), DeltaState()
        xs = [state.input(x) for x in inputs.numbers]
        y = function(inputs.with_numbers(xs))
        y = scalar(list(y) if isinstance(y, Array) else y)
        if isinstance(y, Number) and y.state.tag > state.tag:
            raise ValueError("grad: the result is a number of an inner derivative, which is finished")
        sensitivities = run_delta(state, 1.0, y.delta) if belongs(y, state) else {}
        return inputs.derivative([sensitivity(x, sensitivities) for x in xs])

    return gradient


def sensitivity(x: Number | ArrayNumber, sensitivities: dict[DeltaId, Any]) -> Any:
    """The sensitivity of an input; zero if the result does not depend on it."""
    if isinstance(x, ArrayNumber):
        bars = sensitivities.get(x.delta.id, {})
        return Array(bars.get(i, 0.0) for i in range(len(x)))
    assert isinstance(x.delta, Var)
    return sensitivities.get(x.delta.id, 0.0)
