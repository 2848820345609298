"""`any` and `all` of staged truths. They are joined, as a record has no end in the middle of the items.

So more items may be looked at than Python would look at. The items are those of a list, or of a generator expression
that has no effects, as far as its source tells: it calls functions of numbers alone, and goes over what lasts.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable
from functools import reduce
from types import GeneratorType
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.front.names import COMPREHENSIONS
from shiftreset_ad.staging.front.nodes import all_nodes
from shiftreset_ad.staging.front.session import Session, current
from shiftreset_ad.staging.steps.values import call

JOINS: dict[Any, Callable[[Any, Any], Any]] = {any: operator.or_, all: operator.and_}
PURE = {"abs", "bool", "float", "int", "isinstance", "len", "max", "min", "round"}
OF_ARRAYS = {
    "all",
    "any",
    "dot",
    "max",
    "mean",
    "min",
    "prod",
    "sum",
}  # NumPy's; a third one may be `out`
LASTING = {list, tuple, range, ndarray, dict, set, frozenset, str}  # a second iterator has all items again


class OneOff:
    """An iterator that the program may go on with, so no more items are taken than Python takes."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = iter(items)

    def __iter__(self) -> OneOff:
        return self

    def __next__(self) -> Any:
        return next(self._items)


def lasting(x: Any) -> Any:
    """What a generator expression without effects goes over."""
    session = current()
    if session is None or type(x) in LASTING or session.control.is_staged_array(x):
        return x
    return OneOff(x)


def may_be_joined(items: Any) -> bool:
    """Whether all of the items may be looked at."""
    is_generator = type(items) is GeneratorType and items.gi_frame is not None
    return not is_generator or type(items.gi_frame.f_locals.get(".0")) is not OneOff


def has_no_effects(node: ast.expr | None) -> bool:
    """Whether this is a generator expression with one `for`, which calls functions of numbers alone."""
    return (
        isinstance(node, ast.GeneratorExp)
        and len(node.generators) == 1
        and _is_simple(node.elt)
        and all(map(_is_simple, node.generators[0].ifs))
    )


def _is_simple(node: ast.expr) -> bool:
    return not any(
        isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda, *COMPREHENSIONS))
        or (isinstance(part, ast.Call) and not _is_of_numbers(part))
        for part in all_nodes(node)
    )


def _is_of_numbers(node: ast.Call) -> bool:
    """Whether a call has the form of one that writes to nothing: `out` may also be given by its place."""
    function, count = node.func, len(node.args)
    if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
        return False
    if isinstance(function, ast.Name):
        return function.id in PURE
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
        return False
    if function.value.id in ("np", "numpy"):
        ufunc = getattr(np, function.attr, None)
        return count <= ufunc.nin if isinstance(ufunc, np.ufunc) else function.attr in OF_ARRAYS and count <= 2
    return function.value.id == "math"


def joined(f: Any, items: Iterable[Any], session: Session) -> Any:
    """`any(items)` or `all(items)`. Items are looked at up to the first plain one that decides."""
    decisive, truths = f is any, list[Any]()
    for item in items:
        if session.control.is_staged(item):
            truths.append(session.control.truth(item))
        elif bool(item) is decisive:
            return decisive
    return call(bool, (reduce(JOINS[f], truths),)) if truths else not decisive
