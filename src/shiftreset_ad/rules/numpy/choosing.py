"""Elements chosen by conditions, which are constants."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.annotations import Tangent
from shiftreset_ad.rules.broadcasting import COUNT, FLOAT64, dtype_of, shape_of
from shiftreset_ad.rules.building import SEQUENCES
from shiftreset_ad.rules.conversion import astype, constant_of
from shiftreset_ad.rules.layouts import array_of, in_order, in_order_like
from shiftreset_ad.rules.masked import BITS, BOOL, FEW, PUT, Choice, chosen_where, halved_unless, selected, where_chosen
from shiftreset_ad.rules.numpy.joining import as_array
from shiftreset_ad.rules.numpy.selection import as_positions, brought_into_range, elements_along, flattened_for, in_line
from shiftreset_ad.rules.numpy.shapes import normalize_axes
from shiftreset_ad.rules.table import LinearMap, composite, dispatched, require_order, restated, structured


@structured(np.where, "x", "y", kept=("condition",), linear=True)
def _where(condition: Any, x: Any, y: Any) -> Any:
    z = chosen_of(condition, x, y)
    shape = z.shape  # the maps hold none of the operands
    is_mask = type(condition) is ndarray and condition.dtype is BOOL and condition.shape == shape != ()

    def choosing(operand: int) -> Any:
        chosen = np.logical_not(condition) if operand else condition
        if is_mask:
            return chosen_where(chosen)
        return LinearMap(
            lambda x_dot: chosen_beside(chosen, x_dot, shape), lambda z_bar: where_chosen(chosen, z_bar), chooses=True
        )

    return z, choosing


def chosen_of(condition: Any, x: Any, y: Any) -> Any:
    """`np.where(condition, x, y)`; of few doubles in a row by a copy and a write, which take a third of its time."""
    if type(condition) is ndarray and condition.dtype is BOOL and condition.ndim == 1 and condition.size <= FEW:
        shape, z = condition.shape, None
        if type(x) is float or (type(x) is ndarray and x.dtype is FLOAT64 and x.shape == shape):
            if type(y) is ndarray and y.dtype is FLOAT64 and y.shape == shape:
                z = y.copy()
            elif type(y) is float:
                z = EMPTY(shape)
                z.fill(y)
        if z is not None:
            PUT(z, condition, x)
            return z
    if type(condition) is type(x) is type(y) is ndarray:
        return WHERE(condition, x, y)
    return or_zero(condition, x, y) if type(x) is float or type(y) is float else np.where(condition, x, y)


EMPTY: Any = np.empty
WHERE: Any = getattr(sys.modules.get("numpy._core._multiarray_umath"), "where", np.where)  # without NumPy's protocol


def or_zero(condition: Any, x: Any, y: Any) -> Any:
    """`np.where(condition, x, y)`, by bits if one of the two is zero and the other is a plain array of many floats."""
    for zero, values, is_zero in ((x, y, True), (y, x, False)):
        if (
            type(values) is np.ndarray
            and type(zero) is float
            and values.dtype in BITS
            and values.size > FEW
            and type(condition) is np.ndarray
            and condition.dtype == bool
            and condition.shape == values.shape
            and condition.flags.c_contiguous
            and values.flags.c_contiguous
            and zero == 0.0
            and math.copysign(1.0, zero) > 0.0
        ):
            return selected(~condition if is_zero else condition, values)
    return np.where(condition, x, y)


def chosen_beside(condition: Any, x_dot: Tangent, shape: tuple[int, ...]) -> Any:
    """The tangent of an answer of this shape: `x_dot` where the condition holds, and zero elsewhere."""
    if shape == shape_of(condition):
        return selected(condition, x_dot)
    return np.where(condition, x_dot, np.zeros(shape, dtype_of(x_dot)))


# The ufunc in `np.clip`, and in `a.clip(0, x)` of a plain array. It takes a fifth of the time for a small array.
CLIP: Any = sys.modules["numpy._core.umath"].clip


@dispatched
def clipped(a: Any, lowest: Any, highest: Any) -> Any:
    """`np.clip` of an array, between constant bounds."""
    return np.minimum(np.maximum(a, lowest), highest)


@composite(np.clip)
def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    require_order(np.clip, a)
    lowest = a_min if min is None else min
    highest = a_max if max is None else max
    clipped = np.positive(a) if lowest is None else np.maximum(a, lowest)
    return clipped if highest is None else np.minimum(clipped, highest)


NO_BOUNDS = {type(None), *SEQUENCES}  # of `clipped`: lists are not compared element by element


@restated(np.clip, clipped)
def _as_clipped(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,  # noqa: A002
    max: Any = None,  # noqa: A002
) -> tuple[Any, ...] | None:
    """The arguments of `clipped` for an array between two bounds."""
    lowest = a_min if min is None else min
    highest = a_max if max is None else max
    if type(lowest) in NO_BOUNDS or type(highest) in NO_BOUNDS:
        return None
    return (a, lowest, highest) if getattr(a, "shape", ()) else None


@structured(clipped, linear=True)
def _clipped(a: Any, lowest: Any, highest: Any) -> Any:
    is_plain, are_crossed = type(a) is np.ndarray, None
    if not is_plain or a.dtype is not FLOAT64:
        require_order(np.clip, a)
    elif type(lowest) in REALS and type(highest) in REALS:  # of which NumPy would make arrays each time
        are_crossed = lowest >= highest
        lowest, highest = np.array(lowest, FLOAT64), np.array(highest, FLOAT64)
    y = CLIP(a, lowest, highest) if is_plain else clipped(a, lowest, highest)
    choice = choice_of_clipped(y, a, lowest, highest, are_crossed)  # at once: it takes less memory than the arrays
    return y, (choice,)


REALS = {float, int}


def choice_of_clipped(y: Any, a: Any, lowest: Any, highest: Any, are_crossed: Any) -> Choice:
    """The partial derivative of `clipped`: that of `maximum` with one bound, times that of `minimum` with the other.

    `are_crossed`: the lowest value is not below the highest; None if that is not known.
    """
    inside = a == y
    if type(inside) is np.ndarray:
        above, below = a != lowest, a != highest
        is_low, is_high = COUNT(above) < above.size, COUNT(below) < below.size
        if not is_low and not is_high:
            return chosen_where(inside)
        if are_crossed is None:
            are_crossed = COUNT(lowest >= highest)
        alone = (above & below if is_low else below) if is_high else above
        if not are_crossed and alone.shape == inside.shape:
            return halved_unless(alone, inside)
    raised = np.maximum(a, lowest)
    of_lowest = np.where(a == lowest, 0.5, a == raised)
    return Choice(of_lowest * np.where(raised == highest, 0.5, raised == y))


@composite(np.compress)
def _compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    if len(shape_of(condition)) != 1:
        raise ValueError("condition must be a 1-d array")
    a, axis = in_line(axis, a)
    return elements_along(a, axis, np.flatnonzero(condition))


@composite(np.extract)
def _extract(condition: Any, arr: Any) -> Any:
    row, _ = flattened_for(None, arr)
    return row[np.flatnonzero(condition)]


@composite(np.choose)
def _choose(a: Any, choices: Any, *, mode: str = "raise") -> Any:
    parts = [as_array(choice) for choice in choices]
    which = as_positions("choose", a)
    if mode == "raise" and np.any((which < 0) | (which >= len(parts))):
        raise ValueError("invalid entry in choice array")
    shape = np.broadcast_shapes(which.shape, *map(shape_of, parts))
    which = np.broadcast_to(brought_into_range("choose", which, len(parts), mode), shape)
    dtype = np.result_type(*parts)
    stacked = np.stack([np.broadcast_to(part, shape) for part in parts])
    y = stacked[(which, *np.indices(shape, sparse=True))]
    return in_order(y if dtype_of(y) == dtype else astype(y, dtype), "C")


@composite(np.select)
def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    conditions = np.broadcast_arrays(*condlist)
    for i, condition in enumerate(conditions):
        if dtype_of(condition) != np.bool_:
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    choices = [as_array(choice) for choice in choicelist]
    y = as_array(default)
    dtype = np.result_type(*choices, y)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        y = np.where(condition, choice, y)
    return in_order(y if dtype_of(y) == dtype else astype(y, dtype), "C")


@composite(np.piecewise)
def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    shape, dtype = shape_of(x), dtype_of(x)
    if np.isscalar(condlist) or (shape and not isinstance(condlist[0], list) and array_of(condlist[0]) is None):
        condlist = [condlist]
    masks = constant_of(condlist, _as_masks)
    if len(masks) == len(funclist) - 1:
        masks = np.concatenate([masks, ~np.any(masks, axis=0, keepdims=True)])
    elif len(masks) != len(funclist):
        raise ValueError(
            f"with {len(masks)} condition(s), either {len(masks)} or {len(masks) + 1} functions are expected"
        )
    # If several conditions hold, the last function counts; if none holds, the answer is zero.
    last = np.max(np.where(masks, np.arange(1, len(masks) + 1).reshape(-1, *(1,) * (masks.ndim - 1)), 0), axis=0)
    within = shape[last.ndim :]
    parts = [np.zeros((int(np.count_nonzero(last == 0)), *within), dtype)]
    for i, (mask, function) in enumerate(zip(masks, funclist, strict=True), start=1):
        if not np.any(mask):
            continue
        part = function(x[mask], *args, **kw) if callable(function) else function
        part = np.broadcast_to(as_array(part), (int(np.count_nonzero(mask)), *within))
        part = part[last[mask] == i]
        parts.append(part if dtype_of(part) == dtype else astype(part, dtype))
    order = np.argsort(np.argsort(last, axis=None, kind="stable"))
    return in_order_like(np.reshape(np.concatenate(parts)[order], shape), x)


def _as_masks(conditions: Any) -> Any:
    return np.asarray(conditions, bool)


@composite(np.trim_zeros)
def _trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    trim = trim.lower()
    if trim not in {"fb", "bf", "f", "b"}:
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    ndim = len(shape_of(filt))
    axes = range(ndim) if axis is None else normalize_axes(axis, ndim, "axis")
    if not axes:
        return filt

    def kept(positions: Any) -> slice:
        if not len(positions):
            return slice(0, 0)
        first, last = np.min(positions), np.max(positions) + 1
        return slice(int(first) if "f" in trim else None, int(last) if "b" in trim else None)

    return filt[tuple(kept(found) if i in axes else slice(None) for i, found in enumerate(np.nonzero(filt)))]
