"""Reverse mode without mutation, by maps of updates (Wang et al. 2019, section 3.6, with the paper's type).

In explicit CPS (`explicit_cps`), adjoints are mutable, and the rest of the program returns nothing. Here each number
has an id, and the rest of the program returns an immutable map from ids to what it has to add to their adjoints:

    k: number -> Map[Id, Double]
    a * b   =  fun k -> let y = a number with a new id, for a.x * b.x in       1. there
                        let updates = k y in                                   2. the rest of the program
                        let y_bar = updates at y, or zero in
                        updates + (a: b.x * y_bar) + (b: a.x * y_bar)          3. and back again
    grad f x = (f z (fun r -> {r: 1})) at z

All uses of y are in the rest of the program, so the map that comes back has all of its updates. A map is copied for
each operation, as a dictionary of Python has no versions. The room `store_passing` hands one store through the whole
program, in a tree that shares its parts.

Programs are functions `f(x, k)` in CPS that return what `k` returns, or terms of the core language. Derivatives do not
nest: an id says to which derivative it belongs, and an update for another derivative is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, NamedTuple, NoReturn, TypeAlias

from shiftreset_ad.formulations.language import Term, as_function, call, run
from shiftreset_ad.formulations.language.recursion import nesting
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar


class Id(NamedTuple):
    """The name of a number, in its derivative."""

    derivative: int
    number: int


Updates: TypeAlias = Mapping[Id, Any]
_new = count()  # a supply of names


class Number(Overloaded):
    """A value, its `primal`, with the `id` of its adjoint."""

    __slots__ = ("id", "primal")

    def __init__(self, primal: Any, derivative: int) -> None:
        self.primal = primal
        self.id = Id(derivative, next(_new))

    def operate(self, function: Callable[..., Any], *operands: Any) -> NoReturn:
        """Refused: an operator has no place for its continuation."""
        raise TypeError(
            f"{function.__name__}: in explicit CPS, write operate({function.__name__}, operands, k); for programs in "
            "direct style, and for derivatives of derivatives, use the room `prompts`"
        )


def operate(function: Callable[..., Any], operands: tuple[Any, ...], k: Callable[[Any], Updates]) -> Updates:
    """An operation: it runs the rest of the program, `k`, and adds its own updates to the map that comes back.

    Raises TypeError for operands of two derivatives.
    """
    primals = [x.primal if isinstance(x, Number) else x for x in operands]
    value, slopes = answer_and_partials(function, *primals, of=operands)
    active = [(x, slope) for x, slope in zip(operands, slopes, strict=True) if isinstance(x, Number)]
    if not active:
        return k(value)
    derivatives = {x.id.derivative for x, _ in active}
    if len(derivatives) > 1:
        raise TypeError(f"{function.__name__}: operands of two derivatives; to nest them, use the room `prompts`")
    y = Number(value, *derivatives)  # 1
    updates = k(y)  # 2
    if not isinstance(updates, Mapping):
        raise TypeError(f"grad: f(x, k) must return what k returns; it returned {updates!r:.60}")
    y_bar = updates.get(y.id, 0.0)
    for x, slope in active:  # 3
        updates = added(updates, x.id, slope * y_bar)
    return updates


def added(updates: Updates, to: Id, update: Any) -> Updates:
    """A new map, with one update more.

    >>> x = Id(0, 0)
    >>> added({x: 2.0}, x, 3.0)
    {Id(derivative=0, number=0): 5.0}
    """
    return {**updates, to: updates[to] + update if to in updates else update}


def grad(f: Callable[[Any, Callable[[Any], Updates]], Updates] | Term) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, a function `f(x, k)` that returns what `k` returns, or a term.

    Raises TypeError where `f` does not return the map of `k`, and where a derivative is inside of another one.

    >>> import numpy as np
    >>> grad(lambda x, k: operate(np.multiply, (x, x), k))(3.0)
    6.0
    """
    program = in_cps(f)

    def gradient(x: Any) -> Any:
        structure, derivative = Structure(x), next(_new)
        xs = [Number(value, derivative) for value in structure.numbers]
        updates = program(structure.with_numbers(xs), lambda result: finish(result, derivative))
        if not isinstance(updates, Mapping):
            raise TypeError(f"grad: f(x, k) must return what k returns; it returned {updates!r:.60}")
        if any(name.derivative != derivative for name in updates):
            raise TypeError("grad: there are operands of two derivatives; to nest them, use the room `prompts`")
        return structure.derivative([updates.get(x.id, 0.0) for x in xs])

    return nesting(gradient)


def finish(result: Any, derivative: int) -> Updates:
    """The last continuation: the adjoint of the result is 1; a constant has none."""
    y = scalar(result)
    return {y.id: 1.0} if isinstance(y, Number) and y.id.derivative == derivative else {}


def in_cps(f: Callable[..., Any] | Term) -> Callable[..., Any]:
    """The function in continuation-passing style: `f` itself, or the function that a term denotes."""
    function = as_function(f)  # raises TypeError if there is none
    if not isinstance(f, Term):
        return function
    return lambda x, k: run(f, k=lambda function: call(function, x, k, operate), operate=operate)
