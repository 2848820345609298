"""A waiting operation holds the shell of a large number, and not its elements.

    y = np.tanh(x @ w + b)      # the way back needs y, and the elements of neither x @ w nor x @ w + b

An operation waits with the numbers whose adjoints it will read and add to. It needs their elements only where its
partial derivatives read them. So a large number has a `Shell`, which has the adjoint. The operations hold the shell,
and beside it the arrays that they read. The program alone holds the number, and as soon as the program drops it, an
array that nobody reads is freed. A small number has no shell: its elements take little memory, and to make the shell
takes time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import float64, ndarray

from shiftreset_ad.numbers.number import ZERO, Number, innermost
from shiftreset_ad.rules.annotations import Adjoint
from shiftreset_ad.rules.broadcasting import FLOAT64, dtype_of, shape_of

SMALL = 512  # elements


class Shell(Number):
    """What the operations hold of a large number: its adjoint, and a hollow array in place of its `primal`.

    `is_read`: a waiting operation reads the elements of the array. A shell whose memory has views, or has been written
    to, has the `primal` of the number after all.
    """

    __slots__ = ("adjoint", "is_read", "owns", "primal", "tag")
    adjoint: Adjoint
    is_read: bool
    owns: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.primal)

    @property
    def dtype(self) -> Any:
        return dtype_of(self.primal)


def with_shell(y: Any) -> Any:
    """What operations hold of the new number `y`: its shell if it is large, or else `y` itself."""
    array, tag = array_in(y.primal), y.tag
    if array is None or array.size <= SMALL or y.adjoint is not ZERO or tag.is_watched:
        return y
    y.adjoint = shell = Shell()  # without an __init__, to spare the call
    shell.adjoint = ZERO
    shell.is_read = False
    shell.tag = tag
    shell.primal = hollow(array.shape, array.dtype)
    tag.has_shells = True
    return shell


def is_large(primal: Any) -> bool:
    """Whether this value is, or has in it, an array of more than `SMALL` elements."""
    array = array_in(primal)
    return array is not None and array.size > SMALL


def array_in(primal: Any) -> Any:
    """What has the shape and the type of a value that is an array, or has one in it; None if there is no array."""
    kind = type(primal)
    if kind is ndarray:
        return primal
    if kind is float64 or kind is float:
        return None
    if issubclass(kind, Number) and kind.has_one_value and type(array := primal.inside) is ndarray:
        return array  # itself, as a number takes longer to answer
    return primal if type(innermost(primal)) is ndarray else None


def hollow(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array that has the shape and the type, and no memory for its elements: all are one NaN, so a use shows."""
    known = HOLLOW_DOUBLES if dtype is FLOAT64 else HOLLOW.setdefault(dtype, {})
    array = known.get(shape)
    if array is None:
        if len(known) == 1000:
            known.clear()
        known[shape] = array = np.broadcast_to(np.array(np.nan, dtype), shape)
    return array


# Hollow arrays by their shapes, for each precision; they are read-only
HOLLOW_DOUBLES: dict[tuple[int, ...], Any] = {}
HOLLOW: dict[Any, dict[tuple[int, ...], Any]] = {}
