"""Adjoints are destinations: the one place where contributions to an adjoint are added up.

An adjoint starts as `ZERO` and is replaced by the first contribution. A later one is added in place, but only into an
array that nothing else sees (`owns`): the pullback of an addition gives both operands the same array.

An element that was read, `x[i]`, gives its adjoint back by adding into that part of the adjoint of `x`, never through a
full-size array of zeros: a loop over n elements costs O(n). Where the contributions are themselves numbers being
differentiated, nothing can be written in place, so they are kept in a `Held` and summed once.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of, unbroadcast
from shiftreset_ad.rules.indexing import scatter, scatter_into
from shiftreset_ad.rules.shapes import in_precision

# A float that is one of a kind: `adjoint + c` works from the start, and `adjoint is ZERO` tells "never touched", which
# matters where zero times an infinite partial would give a NaN for a result that nobody used.
ZERO: float = float("0")

PLAIN = (float, complex, np.generic, ndarray)


class Held:
    """An adjoint that has not been summed yet: a whole part, and contributions to parts of it."""

    __slots__ = ("indices", "values", "whole")

    def __init__(self, whole: Any) -> None:
        self.whole = whole
        self.indices: list[Any] = []
        self.values: list[Any] = []


class Accumulator(Protocol):
    """What has an adjoint; `owns` says of an array adjoint that nothing else sees it."""

    primal: Any
    adjoint: Any
    owns: bool


def accumulate(x: Accumulator, x_bar: Any, owned: bool = False) -> None:
    """Add the contribution `x_bar` to the adjoint of `x`; `owned` says that nothing else sees the array `x_bar`."""
    primal, adjoint = x.primal, x.adjoint
    if (
        type(x_bar) is not ndarray
        or type(primal) is not ndarray
        or x_bar.dtype is not primal.dtype
        or x_bar.shape != primal.shape
    ):
        conformed = conform(x_bar, primal)
        owned = owned if conformed is x_bar else type(conformed) is ndarray and conformed.base is None
        x_bar = conformed
    if adjoint is ZERO:
        x.adjoint, x.owns = x_bar, owned
    elif type(adjoint) is Held:
        adjoint.whole = x_bar if adjoint.whole is ZERO else adjoint.whole + x_bar
    elif type(adjoint) is not ndarray or type(x_bar) is not ndarray:
        x.adjoint = adjoint + x_bar
    elif x.owns:
        adjoint += x_bar
    elif owned:
        x_bar += adjoint
        x.adjoint, x.owns = x_bar, True
    else:
        x.adjoint, x.owns = adjoint + x_bar, True


def settle(x: Accumulator) -> Any:
    """The adjoint of `x`, summed."""
    adjoint = x.adjoint
    if type(adjoint) is not Held:
        return adjoint
    parts = scatter(adjoint.values, adjoint.indices, shape_of(x.primal), dtype_of(x.primal))
    x.adjoint = parts if adjoint.whole is ZERO else adjoint.whole + parts
    x.owns = False
    return x.adjoint


def conform(x_bar: Any, primal: Any) -> Any:
    """`x_bar` with broadcasting undone, in the precision of `primal`, real if that is; a scalar without dimensions."""
    x_bar = unbroadcast(x_bar, shape_of(primal))
    if type(primal) is not float:
        x_bar = in_precision(x_bar, dtype_of(primal))
        if type(x_bar) is complex:
            x_bar = np.complex128(x_bar)  # which has the interface of an array
    elif is_complex(x_bar):
        x_bar = np.real(x_bar)
    return x_bar[()] if type(x_bar) is ndarray and x_bar.ndim == 0 else x_bar


def accumulate_at(x: Accumulator, index: Any, y_bar: Any) -> None:
    """Add `y_bar` to the part `index` of the adjoint of `x`."""
    primal, adjoint = x.primal, x.adjoint
    plain = isinstance(y_bar, PLAIN) and type(primal) is ndarray
    if plain and type(adjoint) is ndarray:
        if not x.owns:
            x.adjoint = adjoint = adjoint.copy()
            x.owns = True
        scatter_into(adjoint, index, y_bar)
    elif plain and adjoint is ZERO:
        x.adjoint = zeros = np.zeros(primal.shape, primal.dtype)
        x.owns = True
        scatter_into(zeros, index, y_bar)
    else:
        if type(adjoint) is not Held:
            x.adjoint = adjoint = Held(adjoint)
        adjoint.indices.append(index)
        adjoint.values.append(y_bar)


def finished(x: Accumulator) -> Any:
    """The adjoint of an input as the user gets it: of the input's own type, and the user's to keep."""
    primal, adjoint = x.primal, settle(x)
    if isinstance(primal, ndarray):
        if adjoint is ZERO:
            return np.zeros(primal.shape, primal.dtype)
        if isinstance(adjoint, ndarray):
            return adjoint if x.owns else adjoint.copy()
        if isinstance(adjoint, PLAIN):  # of an array without dimensions
            return np.array(adjoint, primal.dtype)
        return +adjoint  # a number of its own, as another input may have been given the same
    if isinstance(primal, PLAIN):
        adjoint = conform(adjoint, primal)
        like: Any = type(primal)
        return like(adjoint) if isinstance(adjoint, PLAIN) else adjoint
    # A number of an outer derivative, and so is its adjoint, unless it is the same everywhere.
    shape = shape_of(primal)
    if adjoint is ZERO:
        return np.zeros(shape, dtype_of(primal)) if shape else 0j if is_complex(primal) else adjoint
    if type(adjoint) is ndarray:
        return adjoint if x.owns else adjoint.copy()
    return +adjoint if shape else adjoint
