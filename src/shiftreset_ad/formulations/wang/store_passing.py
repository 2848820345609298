"""Reverse mode without mutation, by passing a store (Wang et al. 2019, section 3.6).

In explicit CPS (`explicit_cps`), adjoints are mutable. Here a number has an address, and its adjoint is at this address
in an immutable store. The rest of the program is a function that takes a number, and returns a function from stores to
stores:

    k: number -> (store -> store)
    a * b  =  fun k -> fun store ->
        let (y, store1) = new (a.x * b.x) store           1. a number with the next address
        let store2 = k y store1                           2. the rest of the program, and the way back from it
        let y_bar = store2 at y
        store2 + (a: b.x * y_bar) + (b: a.x * y_bar)      3. a store with new adjoints
    grad f x  =  let (z, store) = new x empty in  (f z (fun r -> fun s -> s + (r: 1))) store at z

In the paper a continuation returns an immutable map from the ids of numbers to their updates, and each operation merges
its own updates into the map (room `updates`). Here the store holds the adjoints themselves, and is handed on.

There is no assignment: an operation finds the adjoint of its answer in the store that comes back. A store is a
persistent map, a binary tree of tuples: an update makes a new path to one address, and shares the rest. So an operation
costs O(log n) after n operations. Mutable adjoints would cost O(1), and copies of a dictionary O(n).

It shows that reverse mode can be purely functional. Programs are functions `f(x, k)` in CPS that return what `k`
returns, or terms of the core language. Operations nest on the stack: a thousand of them take a higher
`sys.setrecursionlimit`. Derivatives do not nest. Each has a tag, so no address is looked up in another derivative's
store.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple, NoReturn, TypeAlias

from shiftreset_ad.formulations.language import Term, as_function, call, run
from shiftreset_ad.formulations.language.recursion import nesting
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

# The value at the root, the tree of the odd addresses and the tree of the even ones; None is a tree of zeros.
Tree: TypeAlias = "tuple[Any, Tree, Tree] | None"


def look_up(tree: Tree, address: int) -> Any:
    """The value at an address; 0.0 if no value has been put there.

    >>> look_up(updated(updated(None, 5, 2.0), 6, 3.0), 5)
    2.0
    """
    if tree is None:
        return 0.0
    value, odd, even = tree
    return value if address == 0 else look_up(odd if address % 2 else even, (address - 1) // 2)


def updated(tree: Tree, address: int, new: Any) -> Tree:
    """The tree with a new value at an address. The old tree stays as it was; both share all but the path there."""
    value, odd, even = tree or (0.0, None, None)
    if address == 0:
        return new, odd, even
    if address % 2:
        return value, updated(odd, (address - 1) // 2, new), even
    return value, odd, updated(even, (address - 1) // 2, new)


class Store(NamedTuple):
    """All adjoints of one derivative, the number of addresses in use, and how often the program has finished."""

    tag: object
    adjoints: Tree = None
    size: int = 0
    results: int = 0

    def new(self, value: Any) -> tuple[Number, Store]:
        """A number at the next address, and the store with this address."""
        return Number(value, self.size, self.tag), self._replace(size=self.size + 1)

    def adjoint(self, x: Number) -> Any:
        """The adjoint of a number: the value at its address."""
        return look_up(self.adjoints, x.address)

    def adding(self, x: Number, x_bar: Any) -> Store:
        """The store with `x_bar` added to the adjoint of a number."""
        return self._replace(adjoints=updated(self.adjoints, x.address, self.adjoint(x) + x_bar))


Transition: TypeAlias = Callable[[Store], Store]


class Number(Overloaded):
    """A value, its `primal`, with the `address` of its adjoint in the store of its `tag`."""

    __slots__ = ("address", "primal", "tag")

    def __init__(self, primal: Any, address: int, tag: object) -> None:
        self.primal = primal
        self.address = address
        self.tag = tag

    def operate(self, function: Callable[..., Any], *operands: Any) -> NoReturn:
        """Refused: an operator has no place for its continuation."""
        raise TypeError(
            f"{function.__name__}: in explicit CPS, write operate({function.__name__}, operands, k); for programs in "
            "direct style, and for derivatives of derivatives, use the room `prompts`"
        )


def operate(function: Callable[..., Any], operands: tuple[Any, ...], k: Callable[[Any], Transition]) -> Transition:
    """An operation as a transition of the store, with the rest of the program, `k`, in the middle.

    The transition raises TypeError if an operand does not belong to the derivative of the store.
    """
    primals = [x.primal if isinstance(x, Number) else x for x in operands]
    value, slopes = answer_and_partials(function, *primals, of=operands)
    active = [(x, slope) for x, slope in zip(operands, slopes, strict=True) if isinstance(x, Number)]
    if not active:
        return k(value)

    def transition(store: Store) -> Store:
        if any(x.tag is not store.tag for x, _ in active):
            raise TypeError(f"{function.__name__}: operands of two derivatives; to nest them, use the room `prompts`")
        y, with_y = store.new(value)  # 1
        after = k(y)(with_y)  # 2
        y_bar = after.adjoint(y)
        return reduce(lambda store, part: store.adding(part[0], part[1] * y_bar), active, after)  # 3

    return transition


def grad(f: Callable[[Any, Callable[[Any], Transition]], Transition] | Term) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, a function `f(x, k)` that returns what `k` returns, or a term.

    Raises TypeError where `f` does not hand one number to `k` exactly once.

    >>> import numpy as np
    >>> grad(lambda x, k: operate(np.multiply, (x, x), k))(3.0)
    6.0
    """
    program = in_cps(f)

    def gradient(x: Any) -> Any:
        structure = Structure(x)
        xs, start = inputs(structure.numbers, Store(tag=object()))
        transition = program(structure.with_numbers(xs), finish)
        if not callable(transition):
            raise TypeError(f"grad: f(x, k) must return what k returns; it returned {transition!r:.60}")
        end = transition(start)
        if not isinstance(end, Store) or end.results != 1:
            raise TypeError("grad: f(x, k) must hand its result to k once, and return what k returns")
        return structure.derivative([end.adjoint(x) for x in xs])

    return nesting(gradient)


def inputs(values: list[Any], store: Store) -> tuple[list[Number], Store]:
    """A number for each of the values, and the store with their addresses."""
    numbers = [Number(value, store.size + i, store.tag) for i, value in enumerate(values)]
    return numbers, store._replace(size=store.size + len(values))


def finish(result: Any) -> Transition:
    """The last continuation: the adjoint of the result is 1."""
    y = scalar(result)

    def transition(store: Store) -> Store:
        finished = store._replace(results=store.results + 1)
        return finished.adding(y, 1.0) if isinstance(y, Number) and y.tag is store.tag else finished

    return transition


def in_cps(f: Callable[..., Any] | Term) -> Callable[..., Any]:
    """The function in continuation-passing style: `f` itself, or the function that a term denotes."""
    function = as_function(f)  # raises TypeError if there is none
    if not isinstance(f, Term):
        return function
    return lambda x, k: run(f, k=lambda function: call(function, x, k, operate), operate=operate)
