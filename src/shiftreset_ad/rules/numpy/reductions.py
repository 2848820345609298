"""Functions that reduce along axes: sums, products, extremes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import COUNT, FLOAT64, dtype_of, reshaped, shape_of, total
from shiftreset_ad.rules.conversion import in_precision
from shiftreset_ad.rules.masked import Choice, Pick, once, where_chosen
from shiftreset_ad.rules.numpy.shapes import broadcast
from shiftreset_ad.rules.stand_ins import is_staged
from shiftreset_ad.rules.table import CONSTANT, LinearMap, composite, functions_of, linear, require_order, structured

normalize_axes = np.lib.array_utils.normalize_axis_tuple

CONSTANT.update(
    functions_of(
        *("all", "any", "argmax", "argmin", "argsort", "argwhere", "nonzero", "flatnonzero", "count_nonzero"),
        *("nanargmax", "nanargmin", "searchsorted", "digitize", "lexsort", "argpartition"),
        *("allclose", "isclose", "array_equal", "array_equiv", "isneginf", "isposinf"),
    )
)


def reduced_axes(axis: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that the argument `axis` of a reduction means. None means all axes; a scalar has the axes 0 and -1."""
    if axis is None or (shape == () and axis in (0, -1)):
        return tuple(range(len(shape)))
    return tuple(normalize_axes(axis, len(shape)))


def averaged_axes(axis: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that the argument `axis` of a mean or a median means, to which a scalar has no axis."""
    return tuple(range(len(shape)) if axis is None else normalize_axes(axis, len(shape)))


def count_along(axes: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The number of elements that a reduction over `axes` reduces to one."""
    return math.prod(shape[i] for i in axes)


def spread(y_bar: Cotangent, shape: tuple[int, ...], axis: Any) -> Cotangent:
    """The transpose of a sum over `axis`: it broadcasts the cotangent, with or without `keepdims`, to `shape`."""
    return broadcast(lined_up(y_bar, shape, reduced_axes(axis, shape)) if shape_of(y_bar) else y_bar, shape)


def lined_up(y: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """What was reduced over `axes`, with or without `keepdims`, such that it broadcasts against the `shape` before."""
    return reshaped(y, tuple([1 if i in axes else size for i, size in enumerate(shape)])) if shape_of(y) else y


NOT_GIVEN: Any = object()


def frozen_initial(initial: Any) -> Any:
    """The option `initial` as it is now: it may be an array without dimensions, to which the program writes later."""
    return initial.copy() if type(initial) is ndarray else initial


def given(**options: Any) -> dict[str, Any]:
    """The options that were given. The others are left out: NumPy has no value for `initial` that means "not given"."""
    return {name: option for name, option in options.items() if option is not NOT_GIVEN and option is not True}


def mask_of(where: Any) -> Any:
    """A copy of the mask `where`, as the program may write to it before the way back; True if all elements count."""
    if where is True:
        return True
    if is_staged(where):
        return where.astype(bool)
    if isinstance(where, ndarray | np.generic) and where.dtype.kind != "b":  # of a list NumPy takes the truth
        raise TypeError(f"Cannot cast array data from {where.dtype!r} to dtype('bool') according to the rule 'safe'")
    return np.array(where, dtype=bool)


def masked(where: Any, x: Any, otherwise: float = 0.0) -> Any:
    """`x` where it counts, and `otherwise` elsewhere."""
    return x if where is True else np.where(where, x, otherwise)


@structured(np.sum, linear=True)
def _sum(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = NOT_GIVEN, where: Any = True
) -> Any:
    shape = shape_of(a)
    if where is True and initial is NOT_GIVEN:
        return linear(
            a, lambda a: total(a, axis, dtype, keepdims), lambda y_bar: spread(y_bar, shape, axis), moves=True
        )
    where = mask_of(where)
    y = np.sum(a, axis=axis, dtype=dtype, keepdims=keepdims, **given(initial=initial, where=where))
    return y, (
        LinearMap(
            lambda x_dot: np.sum(masked(where, x_dot), axis=axis, dtype=dtype, keepdims=keepdims),
            lambda y_bar: where_chosen(where, spread(y_bar, shape, axis)),
        ),
    )


@structured(np.mean, linear=True)
def _mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True) -> Any:
    shape = shape_of(a)
    if where is True:
        count = count_along(averaged_axes(axis, shape), shape) or 1  # without elements, any number will do
        return linear(
            a,
            lambda a: mean_of(a, count, axis, dtype, keepdims),
            lambda y_bar: spread(y_bar / count, shape, axis),
        )
    where = mask_of(where)
    y = np.mean(a, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    counts = np.maximum(np.sum(np.broadcast_to(where, shape), axis=axis, keepdims=keepdims), 1)
    return y, (
        LinearMap(
            lambda x_dot: np.sum(masked(where, x_dot), axis=axis, dtype=dtype, keepdims=keepdims) / counts,
            lambda y_bar: where_chosen(where, spread(y_bar / counts, shape, axis)),
        ),
    )


def mean_of(a: Any, count: int, axis: Any, dtype: Any, keepdims: bool) -> Any:
    """`np.mean`. For a plain array in double precision, only its arithmetic: most of its time goes into its options."""
    if type(a) is ndarray and a.dtype is FLOAT64 and a.size and dtype is None:
        return total(a, axis, None, keepdims) / count
    return np.mean(a, axis=axis, dtype=dtype, keepdims=keepdims)


# The ufuncs in `max` and `min`: for a small array, the outer call is most of the time.
IN_EXTREMES: dict[Any, Any] = {np.max: np.maximum.reduce, np.min: np.minimum.reduce}


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of `max` and `min`: elements, and `initial`, that tie for the extreme share the derivative equally."""
    reduce = IN_EXTREMES.get(function)

    def differentiate(
        a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = NOT_GIVEN, where: Any = True
    ) -> Any:
        is_usual = type(a) is ndarray and initial is NOT_GIVEN and where is True
        if not is_usual or a.dtype is not FLOAT64:
            require_order(function, a)
            where = mask_of(where)
            if initial is not NOT_GIVEN:
                initial = frozen_initial(initial)
        shape = a.shape if is_usual else shape_of(a)
        axes = reduced_axes(axis, shape)
        is_whole = len(axes) == len(shape)  # then the answer broadcasts against `a` as it is
        if reduce is not None and is_usual:
            y = reduce(a, axis, None, None, keepdims)
        else:
            y = function(a, axis=axis, keepdims=keepdims, **given(initial=initial, where=where))

        def found() -> Choice:
            extreme = y if is_whole else lined_up(y, shape, axes)
            tied = a == extreme
            if is_whole and is_usual and COUNT(tied) == 1:
                return Pick(tied) if tied.size > 1 else Choice(tied, tied)  # the usual case, for speed
            if where is not True:
                tied = tied & where
            # Staged masks are counted in floats, which have native code; the shares are the same.
            count = total(tied * 1.0 if is_staged(tied) else tied, axes, keepdims=True)
            if initial is not NOT_GIVEN:
                count = count + (np.asarray(initial, dtype_of(y)) == extreme)
            if type(tied) is ndarray and type(count) is ndarray and COUNT(count == 1) == count.size:
                return Choice(tied, tied)
            return Choice(tied / count)

        shares = once(found) if type(a) is ndarray else found

        def pushforward(x_dot: Tangent) -> Tangent:
            choice = shares()
            if type(choice) is Pick and type(x_dot) is ndarray and not keepdims:
                return choice.of(x_dot)
            return total(choice * x_dot, axis, keepdims=keepdims)

        return y, (
            LinearMap(
                pushforward,
                lambda y_bar: shares().pullback(y_bar if is_whole else lined_up(y_bar, shape, axes)),
            ),
        )

    return differentiate


# `nanmax` and `nanmin` ignore NaNs. If there are only NaNs, nothing ties, and the shares are NaN, as the value is.
for _name in ("max", "amax", "min", "amin", "nanmax", "nanmin"):
    structured(getattr(np, _name), kept=("a",), linear=True)(_extreme(getattr(np, _name)))


@composite(np.ptp)
def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


@structured(np.prod)
def _prod(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = NOT_GIVEN, where: Any = True
) -> Any:
    shape = shape_of(a)
    axes = reduced_axes(axis, shape)
    where, initial = mask_of(where), frozen_initial(initial)
    y = np.prod(a, axis=axis, dtype=dtype, keepdims=keepdims, **given(initial=initial, where=where))
    to = dtype_of(a) if dtype is None else np.dtype(dtype)  # the elements are converted, and then multiplied

    def slope() -> Any:
        others = products_of_others(masked(where, in_precision(a, to), 1.0), axes)
        return others if initial is NOT_GIVEN else others * initial

    return y, (
        LinearMap(
            lambda x_dot: np.sum(masked(where, slope() * in_precision(x_dot, to)), axis=axis, keepdims=keepdims),
            lambda y_bar: where_chosen(where, slope() * lined_up(y_bar, shape, axes)),
        ),
    )


def in_line(a: Any, axes: tuple[int, ...]) -> Any:
    """`a` with its `axes` moved to the end and joined into one axis."""
    shape = shape_of(a)
    kept = [i for i in range(len(shape)) if i not in axes]
    return np.reshape(np.transpose(a, (*kept, *axes)), (*(shape[i] for i in kept), count_along(axes, shape)))


def products_of_others(a: Any, axes: tuple[int, ...]) -> Any:
    """For each element, the product of all others along `axes`, without division: right where elements are zero."""
    shape = shape_of(a)
    order = (*(i for i in range(len(shape)) if i not in axes), *axes)
    others = np.reshape(_others(in_line(a, axes)), tuple(shape[i] for i in order))
    return np.transpose(others, tuple(np.argsort(order)))


def _others(a: Any) -> Any:
    """Products of all others along the last axis; for numbers from the products of pairs, in O(n) multiplications."""
    shape = shape_of(a)
    size = shape[-1]
    dtype = dtype_of(a)
    if size <= 1:
        return np.ones(shape, dtype)
    if type(a) is ndarray:
        return _before(a) * _before(a[..., ::-1])[..., ::-1]
    if size % 2:
        a = np.concatenate([a, np.ones((*shape[:-1], 1), dtype)], axis=-1)
    left, right = a[..., 0::2], a[..., 1::2]
    outside = _others(left * right)
    pairs = np.stack([right * outside, left * outside], axis=-1)
    return np.reshape(pairs, shape_of(a))[..., :size]


def _before(a: ndarray[Any, Any]) -> Any:
    """For each element of a plain array, the product of the elements before it along the last axis."""
    y = np.ones(a.shape, a.dtype)
    np.multiply.accumulate(a[..., :-1], axis=-1, out=y[..., 1:])
    return y
