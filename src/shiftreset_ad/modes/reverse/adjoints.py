"""Adjoints are destinations: the one place where contributions to an adjoint are added up.

An adjoint starts as `ZERO`. The first contribution replaces it. A later contribution is added in place, but only into
an array that nothing else sees (`owns`): the pullback of an addition gives both operands the same array.

The adjoint of an element `x[i]` is added into that part of the adjoint of `x`, without a full-size array of zeros: a
loop over n elements costs O(n). Contributions that are numbers of an outer derivative are kept and summed once, which
takes fewer operations.

An element that was never read, or not chosen (`rules/masked.py`), has a zero that no infinite partial may turn into
NaN. Such elements do not count. So an adjoint is one of these:

| adjoint | state |
|---|---|
| `ZERO` | nothing that counts has been added |
| a float, an array, a number | the sum of all contributions |
| `Masked` | the sum, of which a part counts |
| `Held` | contributions that are summed when the adjoint is needed |
| `Viewed`, `Window` | nothing has been added, and the number has views, or is a view |
| `Memory`, or a `Window` of one | the program has written: the `Memory` has the sum |
| `Shell` | the shell of the number has the adjoint, and operations hold the shell (`shells.py`) |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import float64, ndarray

from shiftreset_ad.array_api import MET, Standard, Wrapped
from shiftreset_ad.boundary.libraries import as_the_users, in_library_of
from shiftreset_ad.modes.reverse.memory import PLACES, Memory, Viewed, Window, add_at, has_been_written
from shiftreset_ad.modes.reverse.unsettled import Accumulator, Held, add_at_masked, hold, hold_outer
from shiftreset_ad.numbers.floating_errors import without_warnings
from shiftreset_ad.numbers.number import ZERO, Number, innermost, rows_of, single_value
from shiftreset_ad.rules import LinearMap
from shiftreset_ad.rules.annotations import Adjoint, Cotangent, Primal
from shiftreset_ad.rules.broadcasting import COUNT, FLOAT64, are_doubles, dtype_of, is_complex, shape_of, unbroadcast
from shiftreset_ad.rules.carried_zeros import carried, may_count
from shiftreset_ad.rules.indexing import At, scatter, scatter_into, staged_part
from shiftreset_ad.rules.layouts import in_order
from shiftreset_ad.rules.masked import Masked, marked, masked_values, through, unbroadcast_mask
from shiftreset_ad.rules.numpy.shapes import astype, in_precision
from shiftreset_ad.rules.stand_ins import StagedValue, is_staged

PLAIN = (float, complex, np.generic, ndarray)
USUAL = frozenset((float, float64, ndarray))
IN_NUMBERS = frozenset((float64, ndarray))  # what numbers of two levels have in them, mostly


def cotangent(y: Accumulator, takes_masked: bool) -> Cotangent:
    """The adjoint of `y`, as linear maps take it; None if nothing that counts has used `y`.

    If only a part counts, a linear function gets it `Masked`, and so does a map that `chooses`.
    """
    y_bar = y.adjoint
    if issubclass(type(y_bar), Number):  # usual cases, for speed
        return y_bar
    if type(y_bar) is Masked and type(mask := y_bar.mask) is ndarray and 0 < COUNT(mask) < mask.size:
        return y_bar if takes_masked else y_bar.values
    y_bar = summed(y)
    if type(y_bar) is Masked:
        return y_bar if takes_masked else y_bar.values
    if y_bar is ZERO:
        return None
    return float64(y_bar) if type(y_bar) is float else y_bar


def contribute(active: Sequence[tuple[Accumulator, LinearMap]], y_bar: Cotangent) -> None:
    """Pull the adjoint of the answer back to each active operand, and add the result to its adjoint."""
    is_masked, is_number = type(y_bar) is Masked, issubclass(type(y_bar), Number)
    for x, linear_map in active:
        if linear_map.factors is not None and are_doubles(y_bar, x.primal) and type(x.adjoint) not in PLACES:
            hold_outer(x, *linear_map.factors(y_bar))
            continue
        if is_masked:
            x_bar = linear_map.pullback(y_bar) if linear_map.chooses else through(linear_map, y_bar)
        elif is_number and linear_map.is_constant:
            x_bar = y_bar.mapped(linear_map.pullback)
        else:
            x_bar = linear_map.pullback(y_bar)
        if type(x_bar) is ndarray:
            accumulate(x, x_bar, (x_bar.base is None and x_bar is not y_bar) or linear_map.makes_new)
        else:
            add(x, x_bar)


def add(x: Accumulator, x_bar: Cotangent) -> None:
    """Add to the adjoint of `x` what a pullback has returned: a contribution, `Masked`, or `At` a part of `x`."""
    if type(x_bar) is At:
        contribution = x_bar.y_bar
        if type(contribution) is Masked:
            accumulate_at(x, x_bar.index, contribution.values, contribution.mask)
        else:
            accumulate_at(x, x_bar.index, contribution)
    elif type(x_bar) is Masked:
        accumulate_masked(x, x_bar)
    else:
        accumulate(x, x_bar)


def accumulate(x: Accumulator, x_bar: Cotangent, owned: bool = False) -> None:
    """Add the contribution `x_bar` to the adjoint of `x`. `owned`: nothing else sees the array `x_bar`."""
    adjoint, plain = x.adjoint, x.primal
    kind = type(plain)
    if kind is not ndarray and kind is not float64 and issubclass(kind, Number):
        plain = inside if type(inside := plain.inside) in IN_NUMBERS and plain.has_one_value else single_value(plain)
    if type(x_bar) is type(plain) is ndarray and x_bar.dtype is plain.dtype and x_bar.shape == plain.shape:
        if adjoint is ZERO:  # the usual cases, for speed
            x.adjoint = x_bar
            x.owns = owned
            return
        if type(adjoint) is ndarray and x.owns:
            adjoint += x_bar
            return
    else:
        given = x_bar
        if issubclass(type(x_bar), Number):
            given = (
                inside if type(inside := x_bar.inside) in IN_NUMBERS and x_bar.has_one_value else single_value(x_bar)
            )
        if (
            type(given) is not ndarray
            or type(plain) is not ndarray
            or given.dtype is not plain.dtype
            or given.shape != plain.shape
        ):
            if type(x_bar) is Masked:
                accumulate_masked(x, x_bar)
                return
            is_broadcast = type(given) is ndarray and given.ndim and given.dtype is FLOAT64 and is_of_doubles(plain)
            if is_broadcast or not conforms(given, plain):
                if not is_broadcast:
                    conformed = conform(x_bar, x.primal)
                elif given is x_bar:
                    conformed = unbroadcast(x_bar, shape_of(plain))
                else:  # at each level of the number by itself
                    shape = shape_of(plain)
                    conformed = x_bar.mapped(lambda x_bar: unbroadcast(x_bar, shape))
                owned = owned if conformed is x_bar else type(conformed) is ndarray and conformed.base is None
                x_bar = conformed
    if adjoint is ZERO or (type(adjoint) is Window and type(adjoint.root.adjoint) is Viewed):
        x.adjoint, x.owns = x_bar, owned
    elif type(adjoint) is ndarray and type(x_bar) is ndarray:
        if x.owns:
            adjoint += x_bar
        elif owned:
            x_bar += adjoint
            x.adjoint, x.owns = x_bar, True
        else:
            x.adjoint, x.owns = adjoint + x_bar, True
    elif type(adjoint) is Masked:
        x.adjoint, x.owns = adjoint.values + x_bar, True
    elif type(adjoint) is Held:
        adjoint.add(x, x_bar)
    elif type(adjoint) not in PLACES:
        x.adjoint = adjoint + x_bar
    elif has_been_written(x):
        add_at(x, ..., x_bar)
    else:
        x.adjoint, x.owns = x_bar, owned


def accumulate_masked(x: Accumulator, x_bar: Masked) -> None:
    """Add a contribution that counts only where its mask is True."""
    plain, adjoint, values = x.primal, x.adjoint, x_bar.values
    kind = type(plain)
    if kind is not ndarray and issubclass(kind, Number):
        plain = inside if type(inside := plain.inside) is ndarray and plain.has_one_value else single_value(plain)
    given = values if type(values) is ndarray else single_value(values)
    is_plain = type(given) is type(plain) is ndarray and given.dtype is plain.dtype
    if not is_plain or not given.shape == plain.shape == x_bar.mask.shape != ():
        primal = x.primal
        shape, mask = shape_of(primal), x_bar.mask
        if not shape:
            if may_count(mask) if is_staged(mask) else COUNT(mask):
                accumulate(x, conform(values, primal))
            return
        if mask.shape != shape:
            mask = unbroadcast_mask(mask, shape)
        x_bar = Masked(values if conforms(given, plain) else conform(values, primal), mask)
    if adjoint is ZERO or (type(adjoint) is Window and type(adjoint.root.adjoint) is Viewed):
        x.adjoint, x.owns = x_bar, False
    elif type(adjoint) is Masked:
        x.adjoint, x.owns = Masked(adjoint.values + x_bar.values, adjoint.mask | x_bar.mask), False
    elif type(adjoint) is Held:
        adjoint.add_masked(x, x_bar.values, x_bar.mask)
    elif type(adjoint) not in PLACES:
        accumulate(x, x_bar.values)
    elif has_been_written(x):
        add_at(x, ..., x_bar.values, x_bar.mask)
    else:
        x.adjoint, x.owns = x_bar, False


def summed(x: Accumulator) -> Cotangent:
    """The adjoint of `x`, summed; `Masked` if only a part counts, and ZERO if nothing counts."""
    adjoint = x.adjoint
    kind = type(adjoint)
    if kind is not Masked:
        if kind is Memory:
            adjoint = given_up(x)
        if type(adjoint) is Held:
            mask, values = adjoint.counted(x), adjoint.settle(x)
            adjoint = values if mask is None else Masked(values, mask)
        if type(adjoint) is not Masked:
            return ZERO if type(adjoint) in PLACES else adjoint
    mask = adjoint.mask
    if type(mask) is not ndarray and is_staged(mask):  # each replay of the steps has another mask
        return adjoint
    count = COUNT(mask)
    if count == mask.size:
        return adjoint.values
    if count:
        return adjoint
    x.adjoint = ZERO
    return ZERO


def settle(x: Accumulator) -> Cotangent:
    """The adjoint of `x`, summed; ZERO for a view of written memory, as the memory has the adjoint."""
    adjoint = x.adjoint if type(x.adjoint) is not Memory else given_up(x)
    if type(adjoint) is Masked:
        return adjoint.values
    if type(adjoint) is Held:
        return adjoint.settle(x)
    return ZERO if type(adjoint) in PLACES else adjoint


def given_up(x: Accumulator) -> Cotangent:
    """Give the adjoint of a memory back to the number that owns the memory, as all writes have been undone."""
    memory = x.adjoint
    adjoint = memory.adjoint
    if adjoint is None or not (is_staged(memory.mask) or memory.mask.any()):
        x.adjoint, x.owns = ZERO, False
    else:
        if memory.mask.ndim:
            x.adjoint = Masked(adjoint, memory.mask)
        else:
            x.adjoint = adjoint[()] if type(adjoint) is ndarray else adjoint
        x.owns = True
    return x.adjoint


def conforms(given: Any, plain: Any) -> bool:
    """Whether `conform` surely has nothing to do, for these plain values of a contribution and of its operand.

    A stack has no plain value, and arrays of one shape have been found to conform. Shapes of numbers take longer.
    """
    if issubclass(type(given), StagedValue) and issubclass(type(plain), StagedValue):
        given, plain = given.inside, plain.inside
        if type(given) is type(plain) is ndarray:
            return given.dtype is plain.dtype and given.shape == plain.shape != ()
    kind, kind_of_plain = type(given), type(plain)
    if kind is float64 or kind is float:
        return kind_of_plain is float64 or kind_of_plain is float
    if kind is ndarray or kind_of_plain is not ndarray or (rows := rows_of(given)) is None:
        return False
    return rows.dtype is plain.dtype and rows.shape[1:] == plain.shape != ()


def is_of_doubles(plain: Any) -> bool:
    """Whether a plain value is a float, or an array, in double precision."""
    kind = type(plain)
    return kind is float64 or kind is float or (kind is ndarray and plain.dtype is FLOAT64)


def conform(x_bar: Cotangent, primal: Primal) -> Cotangent:
    """`x_bar` in the shape and precision of `primal`, real if `primal` is real; a scalar if it has no dimensions."""
    x_bar = unbroadcast(x_bar, shape_of(primal))
    if type(x_bar) is type(primal) is float64:  # the usual case of broadcasting, for speed
        return x_bar
    if MET:
        x_bar = in_library_of(primal, x_bar)
    if type(primal) is not float:
        x_bar = in_precision(x_bar, dtype_of(primal))
        if type(x_bar) is complex:
            x_bar = np.complex128(x_bar)  # it has the interface of an array
    elif is_complex(x_bar):
        x_bar = np.real(x_bar)
    return x_bar[()] if type(x_bar) is ndarray and x_bar.ndim == 0 else x_bar


def accumulate_at(x: Accumulator, index: Any, y_bar: Cotangent, mask: Any = True) -> None:
    """Add `y_bar`, which counts where `mask` is True, to the part `index` of the adjoint of `x`."""
    adjoint, is_slice = x.adjoint, type(index) is slice
    if type(adjoint) is Masked and (is_slice or type(index) is int) and mask is True and x.owns:  # the usual case
        values = adjoint.values
        if type(values) is ndarray and type(y_bar) in USUAL:
            if is_slice:
                part = values[index]
                part += y_bar  # without assigning the view to its own place again
            else:
                values[index] += y_bar
            adjoint.mask[index] = True
            return
    plain = x.primal
    if type(plain) is not ndarray and issubclass(type(plain), Number):
        plain = inside if type(inside := plain.inside) is ndarray and plain.has_one_value else single_value(plain)
    if is_slice and (adjoint is ZERO or type(adjoint) is Viewed) and type(plain) is ndarray and type(y_bar) in USUAL:
        values, counted = np.zeros(plain.shape, plain.dtype), np.zeros(plain.shape, bool)
        values[index] = y_bar  # the first contribution, usually
        counted[index] = mask
        x.adjoint, x.owns = masked_values(values, counted), True
        return
    if type(adjoint) in PLACES:
        if type(adjoint) is not Viewed and has_been_written(x):
            add_at(x, index, y_bar, mask)
            return
        x.adjoint = adjoint = ZERO
    if (
        type(plain) is not ndarray
        or not issubclass(type(y_bar), PLAIN)
        or (type(index) is not int and staged_part(index) is not None)
    ):
        add_part(x, index, y_bar, mask)
    elif type(adjoint) is Masked and type(adjoint.values) is ndarray:
        add_at_masked(x, index, y_bar, mask)
    elif type(adjoint) is Held:
        adjoint.add_at(x, index, y_bar, mask)
    elif type(adjoint) is ndarray:
        if not x.owns:
            x.adjoint = adjoint = adjoint.copy()
            x.owns = True
        scatter_into(adjoint, index, y_bar)
    elif adjoint is ZERO and plain.shape:
        values, counted = np.zeros(plain.shape, plain.dtype), np.zeros(plain.shape, bool)
        if is_slice:
            values[index] = y_bar
        else:
            scatter_into(values, index, y_bar)
        if is_slice and mask is True:
            counted[index] = True
        else:
            counted = marked(counted, index, mask)
        x.adjoint, x.owns = masked_values(values, counted), True
    else:
        add_part(x, index, y_bar, mask)


def add_part(x: Accumulator, index: Any, y_bar: Cotangent, mask: Any) -> None:
    """Keep a contribution to a part, and add it when the adjoint is needed; add it now to x[...] of a scalar."""
    if shape_of(x.primal):
        hold(x, index, y_bar, mask)
    else:
        whole = scatter([y_bar], [index], (), dtype_of(x.primal))
        accumulate_masked(x, Masked(whole, marked(np.zeros((), bool), index, mask)))


def of_other_library(primal: Primal, adjoint: Adjoint) -> Any:
    """An adjoint as an array of the library of its value; an adjoint of a NumPy array as it is."""
    if adjoint is ZERO:
        if type(innermost(primal)) is not Standard:
            return ZERO
        adjoint = np.zeros(shape_of(primal), dtype_of(primal))
    return in_library_of(primal, adjoint)


def finished(x: Accumulator) -> Cotangent:
    """The adjoint of an input as the user gets it: of the type of the input, in C order, in memory of its own."""
    primal, adjoint = x.primal, settle(x)
    if type(primal) is type(adjoint) is float:
        return 0.0 if adjoint is ZERO else adjoint
    if MET:
        adjoint = of_other_library(primal, adjoint)
    if carried.any and not shape_of(primal) and is_staged(innermost(adjoint)):
        adjoint = adjoint + 0.0  # what is not reached has 0.0, and a zero that is carried may be -0.0
    if issubclass(type(primal), ndarray):
        if adjoint is ZERO:
            return np.zeros(primal.shape, primal.dtype)
        if isinstance(adjoint, ndarray) and adjoint.dtype == primal.dtype:
            return adjoint if x.owns and adjoint.flags.c_contiguous else adjoint.copy()
        if is_staged(adjoint) and not primal.shape:
            return astype(adjoint, primal.dtype).of_type_of(primal)
        if isinstance(adjoint, PLAIN):  # the input has no dimensions, or another order of bytes
            return np.array(adjoint, primal.dtype)
        # A copy, as another input may have the same number for its adjoint.
        return in_order(+adjoint if dtype_of(adjoint) == primal.dtype else astype(adjoint, primal.dtype), "C")
    if issubclass(type(primal), PLAIN):
        if type(primal) is float:
            adjoint = conform(adjoint, primal)
        elif type(adjoint) is not type(primal):  # the adjoint may be too large for the type
            adjoint = without_warnings(conform, adjoint, primal)
        if is_staged(adjoint):
            return adjoint.of_type_of(primal)
        like: Any = type(primal)
        return like(adjoint) if issubclass(type(adjoint), PLAIN) else adjoint
    if issubclass(type(primal), Wrapped):
        return as_the_users(primal, None if adjoint is ZERO else adjoint)
    # The input is a number of an outer derivative. So is its adjoint, unless the adjoint is constant.
    shape = shape_of(primal)
    if adjoint is ZERO:
        return np.zeros(shape, dtype_of(primal)) if shape else 0j if is_complex(primal) else adjoint
    if type(adjoint) is ndarray:
        return adjoint if x.owns and adjoint.flags.c_contiguous else adjoint.copy()
    return in_order(+adjoint, "C") if shape else adjoint
