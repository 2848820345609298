"""The four forms of a rule, and the tables that hold the rules.

*Elementwise*: one partial derivative per operand. Forward mode multiplies tangents by it, reverse mode cotangents.
*Structured*: one linear map per operand, with its transpose.
*Composite*: a definition by other functions that have rules.
*Constant*: the derivative is zero wherever it is defined, so the answer is an ordinary value.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, wraps
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent, Primal, Pullback, Pushforward, Tangent
from shiftreset_ad.rules.broadcasting import FLOAT64, is_complex

# The partial derivative `(y, *xs) -> dy/dx_i` of y = function(*xs), or a number if it is the same everywhere;
# None if the operand has no derivative (the exponent of `ldexp`).
Partial: TypeAlias = Callable[..., Any] | float | None


class Elementwise(NamedTuple):
    """A function applied element by element, with the partial derivative for each operand."""

    function: Callable[..., Any]
    partials: tuple[Partial, ...]


@dataclass(slots=True, eq=False)
class LinearMap:
    """The derivative of a function with respect to one operand: x_dot -> y_dot, and its transpose y_bar -> x_bar.

    It `selects` if the pushforward only picks and rearranges elements, none of them twice, and makes a view if it can.
    Then the pullback can add to such a view of an adjoint.

    It `moves` if the pullback only moves and copies elements, or leaves some out. Then the pullback moves the mask of a
    cotangent, too. The pullback of a map that selects does so.

    It `chooses` if the pullback takes a `Masked` cotangent as it is: it leaves elements out, or masks its answer.

    It `is_constant` if it is known to have no numbers in it.

    It `makes_new` arrays if nobody else sees what the pullback returns, although it may be a view of a new array.

    If the pullback is the outer product of two vectors, as for the matrix in a product with a vector, `factors` gives
    the two for a cotangent: many such contributions to one matrix can then be summed by one product of matrices.
    """

    pushforward: Pushforward
    pullback: Pullback
    selects: bool = False
    moves: bool = False
    is_constant: bool = False
    factors: Callable[[Cotangent], tuple[Cotangent, Any]] | None = None
    makes_new: bool = False
    chooses: bool = False


class MapByMethods:
    """A linear map whose two functions are methods. A rule that small arrays often take has a class of these.

    Each call of the rule makes one object, where a `LinearMap` needs two functions beside, each with its variables. The
    marks are those of a `LinearMap`; most are the same for all objects of a class.
    """

    __slots__ = ("is_constant",)
    selects = moves = makes_new = chooses = False
    factors: Callable[[Cotangent], tuple[Cotangent, Any]] | None = None
    is_constant: bool

    def pushforward(self, x_dot: Tangent) -> Tangent:
        raise NotImplementedError

    def pullback(self, y_bar: Cotangent) -> Cotangent:
        raise NotImplementedError


class Outer(NamedTuple):
    """A cotangent that is an outer product of two vectors: one product of matrices sums many for one matrix."""

    left: Cotangent
    right: Any

    def product(self) -> Cotangent:
        """The cotangent as a matrix."""
        return np.matmul(np.reshape(self.left, (-1, 1)), np.reshape(self.right, (1, -1)))


class JointMap:
    """The linear maps of all operands of one call, for a rule whose cotangents share most of what they are computed of.

    A rule returns it in place of the maps, beside one answer or several, which have memory of their own.
    """

    __slots__ = ()

    def pushforward(self, operand: int, x_dot: Any) -> Any:
        """The direction of the answer for this direction of one operand."""
        raise NotImplementedError

    def pullback(self, y_bar: Any, operands: Sequence[int]) -> list[Any]:
        """The cotangent of each of these operands, which may be an `Outer`."""
        raise NotImplementedError

    def __call__(self, operand: int) -> LinearMap:
        """The map of one operand alone, as modes take it that do not go back through all operands at once."""

        def pullback(y_bar: Any) -> Any:
            (x_bar,) = self.pullback(y_bar, (operand,))
            return x_bar.product() if type(x_bar) is Outer else x_bar

        return LinearMap(partial(self.pushforward, operand), pullback)


@dataclass(frozen=True, eq=False)
class Structured:
    """A function that can be differentiated in the parameters `operands`, each an array or a list of arrays.

    `differentiate(*args, **kwargs)` takes the function's own arguments, as far as they are supported. It returns the
    answer, and for each operand its `LinearMap`, or the function from the place of an operand to its map, so that only
    the maps of numbers are made; a `JointMap` is such a function. For an operand that is a list, it returns the
    function from a place in the list to the map of the part there, or a list of maps. The maps read the elements of the
    parameters that are `kept`, which must not change meanwhile.

    `linear` means that the function is linear in all its operands together, at least piecewise: its maps do not depend
    on the operands. `multilinear` means that it is linear in each operand alone, and `linear_in` names the operands for
    which this holds, if it holds for some. Any other function needs no mark.

    `parameters` are those that can be given by position.
    """

    function: Callable[..., Any]
    operands: tuple[str, ...]
    differentiate: Callable[..., tuple[Primal, Any]]
    parameters: tuple[str, ...]
    kept: tuple[str, ...] = ()
    linear: bool = False
    multilinear: bool = False
    linear_in: tuple[str, ...] = ()

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The place of each operand among the arguments; after all places, if it can only be given by its name."""
        known = {name: place for place, name in enumerate(self.parameters)}
        return tuple([known.get(name, len(known)) for name in self.operands])

    @cached_property
    def kept_places(self) -> frozenset[int]:
        """The places of the arguments that are kept."""
        return frozenset(place for place, name in enumerate(self.parameters) if name in self.kept)

    @cached_property
    def keeps_constants(self) -> bool:
        """Whether an argument that is no operand is kept."""
        return not set(self.kept).issubset(self.operands)

    @cached_property
    def linear_places(self) -> frozenset[int]:
        """The places of the operands in each of which alone the function is linear."""
        names = self.operands if self.linear or self.multilinear else self.linear_in
        return frozenset(place for name, place in zip(self.operands, self.places, strict=True) if name in names)

    @cached_property
    def reads_operands(self) -> bool:
        """Whether the maps may read elements of the operands, or of the answer."""
        return not self.linear or not set(self.kept).isdisjoint(self.operands)

    @cached_property
    def has_one_operand(self) -> bool:
        """Whether the first parameter is the only operand."""
        return self.places == (0,)


ELEMENTWISE: dict[Callable[..., Any], Elementwise] = {}
STRUCTURED: dict[Callable[..., Any], Structured] = {}
COMPOSITE: dict[Callable[..., Any], Callable[..., Any]] = {}
CONSTANT: set[Callable[..., Any]] = set()
# For a composite function whose usual call is one call of a function of ours with a structured rule: our function, and
# the function from the arguments of the call to the arguments of ours, or to None if the call is not usual.
RESTATED: dict[Callable[..., Any], tuple[Callable[..., Any], Callable[..., tuple[Any, ...] | None]]] = {}


def elementwise(function: Callable[..., Any], *partials: Partial) -> None:
    """Enter an elementwise rule into the table."""
    ELEMENTWISE[function] = Elementwise(function, partials)


def structured(
    function: Callable[..., Any],
    *operands: str,
    kept: tuple[str, ...] = (),
    linear: bool = False,
    multilinear: bool = False,
    linear_in: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated `differentiate` as the rule of `function`. `operands` is by default the first parameter."""

    def enter(differentiate: Callable[..., Any]) -> Callable[..., Any]:
        parameters = tuple(
            [
                parameter.name
                for parameter in inspect.signature(differentiate).parameters.values()
                if parameter.kind is not parameter.KEYWORD_ONLY
            ]
        )
        STRUCTURED[function] = Structured(
            function, operands or parameters[:1], differentiate, parameters, kept, linear, multilinear, linear_in
        )
        return differentiate

    return enter


def composite(*functions: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated function as the definition of each of `functions`."""

    def enter(definition: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            COMPOSITE[function] = definition
        return definition

    return enter


def restated(
    function: Callable[..., Any], ours: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated function, which restates the arguments of `function` as arguments of `ours`."""

    def enter(arguments: Callable[..., Any]) -> Callable[..., Any]:
        RESTATED[function] = ours, arguments
        return arguments

    return enter


def require_order(function: Callable[..., Any], x: Any) -> None:
    """Raise TypeError if `x` is complex: `function` compares elements."""
    if (type(x) is not np.ndarray or x.dtype is not FLOAT64) and is_complex(x):
        raise TypeError(
            f"numpy.{function.__name__}: complex numbers have no order, so the function has no derivative for them. "
            "Compare real numbers: numpy.where(numpy.abs(a) > numpy.abs(b), a, b), z[numpy.argmax(numpy.abs(z))]"
        )


def linear(
    x: Primal, function: Pushforward, transpose: Pullback, selects: bool = False, moves: bool = False
) -> tuple[Primal, tuple[LinearMap]]:
    """A function that is linear in its one operand is its own pushforward, and only declares its transpose."""
    return function(x), (LinearMap(function, transpose, selects, moves),)


PLAIN = (np.ndarray, np.generic)


def answered(function: Callable[..., Any], operands: Iterable[Any], args: tuple[Any, ...]) -> Any:
    """The answer to a call of `function` by the first operand that answers NumPy's functions itself.

    The operand may be in a list or a tuple. NotImplemented if all operands are plain.
    """
    found: list[Any] = []
    for operand in operands:
        for x in operand if issubclass(type(operand), (list, tuple)) else (operand,):
            if type(x) is not np.ndarray and hasattr(x, "__array_function__") and not issubclass(type(x), PLAIN):
                found.append(x)  # noqa: PERF401  (a comprehension is a call more, until Python 3.12)
    types = tuple(map(type, found))  # an array of another library leaves the call to a number
    for x in found:
        answer = x.__array_function__(function, types, args, {})
        if answer is not NotImplemented:
            return answer
    return NotImplemented


def dispatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of ours take numbers in its first argument by `__array_function__`, as NumPy's functions do."""

    @wraps(function)
    def dispatch(first: Any, *rest: Any) -> Any:
        if type(first) is np.ndarray:
            return function(first, *rest)
        answer = answered(dispatch, (first,), (first, *rest))
        return function(first, *rest) if answer is NotImplemented else answer

    return dispatch


def functions_of(*names: str) -> list[Callable[..., Any]]:
    """The functions of NumPy with these dotted names, as far as the installed version has them."""
    found = []
    for name in names:
        try:
            found.append(operator.attrgetter(name)(np))
        except AttributeError:  # a newer NumPy's function
            continue
    return found
