"""Constants and numbers: how to turn one into the other, and how to tell them apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.array_api import Standard
from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.results import own
from shiftreset_ad.numbers import number
from shiftreset_ad.numbers.memory import require_last_value, show
from shiftreset_ad.numbers.number import Number, is_open
from shiftreset_ad.numbers.plain_arrays import read_only
from shiftreset_ad.rules.annotations import Primal, X
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.stand_ins import recorder


def value(x: X) -> X:
    """The plain value of a number, at any level of nesting; in a structure, of each leaf. Anything else stays as it is.

    You may ask for it at any time, also after the derivative. Arrays come as read-only views. Raises EscapedNumberError
    for an array that the program had written to, once the way back has restored its old elements.

    >>> from shiftreset_ad import grad
    >>> grad(lambda x: x * round(value(x)))(3.2)
    3.0
    """
    recorder.note("value")
    return trees.map_leaves(_plain, x)  # type: ignore[no-any-return]


def stop_gradient(x: X) -> X:
    """The value of `x` as a constant in every derivative, as `value` gives it; in a structure, of each leaf.

    >>> from shiftreset_ad import grad
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    recorder.note("stop_gradient")
    return trees.map_leaves(_plain, x)  # type: ignore[no-any-return]


def _plain(leaf: Any) -> Any:
    if not isinstance(leaf, Number):
        return leaf.array if type(leaf) is Standard and leaf.shared else leaf
    found = number.plain_value(leaf)
    if type(found) is Standard and not is_open(leaf):
        return found.copied().array
    if isinstance(number.in_memory(found), np.ndarray):
        require_last_value(leaf)
        show(leaf)
        return read_only(found)
    return found


def lift(x: X, like: Primal) -> X:
    """`x` as a number with derivative zero, of the derivative that `like` belongs to; in a structure, each float and
    each array of floats becomes such a number.

    A program can then add to a buffer in place. If `like` is not a number, `x` is returned as it is.

    >>> from shiftreset_ad import grad
    >>> def f(x):
    ...     total = lift(np.zeros(2), like=x)
    ...     total += x * x
    ...     return np.sum(total)
    >>> grad(f)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    if not isinstance(like, Number):
        return x
    like.tag.require_open()
    parts = trees.Parts(x)
    return parts.with_numbers([_lifted(number, like) for number in parts.numbers])  # type: ignore[no-any-return]


def _lifted(x: Any, like: Number) -> Any:
    if isinstance(x, Number) and x.tag.serial >= like.tag.serial:
        return x
    # A copy: the program may write to both arrays.
    return like.lifted(np.copy(x) if isinstance(x, np.ndarray) or shape_of(x) else x)


def zeros_like(x: X) -> X:
    """The zero derivative of `x`: zeros of the same structure, types, shapes and dtypes, and None for an integer, a
    string and the like.

    >>> zeros_like((np.ones(2), 3))
    (array([0., 0.]), None)
    """
    parts = trees.Parts(x)
    return trees.handed_back(parts.derivative([own(None, number) for number in parts.numbers]), x)  # type: ignore[no-any-return]


def is_differentiable(x: Any) -> bool:
    """Whether `x` holds something to differentiate: a real or complex float, an array of floats, or a number.

    >>> is_differentiable([1, 2.0]), is_differentiable([1, "two", None])
    (True, False)
    """
    return bool(trees.Parts(x).numbers)
