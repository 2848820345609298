"""Functions that accumulate along an axis: running sums, products and extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, reshaped, shape_of
from shiftreset_ad.rules.numpy.reductions import normalize_axes
from shiftreset_ad.rules.numpy.shapes import astype, normalize_axis
from shiftreset_ad.rules.table import LinearMap, composite, dispatched, functions_of, linear, require_order, structured


@structured(np.cumsum, linear=True)
def _cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    shape = shape_of(a)

    def transpose(y_bar: Cotangent) -> Cotangent:
        place = 0 if axis is None else normalize_axis(axis, len(shape_of(y_bar)))
        from_the_end = (*(slice(None),) * place, slice(None, None, -1))
        return reshaped(np.copy(np.cumsum(y_bar[from_the_end], place)[from_the_end]), shape)

    return linear(a, lambda a: np.cumsum(a, axis=axis, dtype=dtype), transpose)


# Linear recurrences, which the derivatives of products and of extremes need


def recurrence(a: Any, b: Any) -> Any:
    """The solution of s_i = a_i s_(i-1) + b_i along the last axis, from s_(-1) = 0, in O(n) operations on elements.

    Two steps together are one step of the same form. So every second element is the solution of a recurrence of half
    the length (cyclic reduction; Blelloch, Prefix sums and their applications, 1990, section 1.4).
    """
    size = shape_of(b)[-1]
    if size <= 1:
        return b
    later = a[..., 1::2]
    odd = recurrence(later * a[..., : size - 1 : 2], later * b[..., : size - 1 : 2] + b[..., 1::2])
    even = b[..., :1]
    if size > 2:
        even = np.concatenate([even, a[..., 2::2] * odd[..., : (size - 1) // 2] + b[..., 2::2]], axis=-1)
    if size % 2 == 0:
        return interleaved(even, odd)
    return np.concatenate([interleaved(even[..., :-1], odd), even[..., -1:]], axis=-1)


def interleaved(even: Any, odd: Any) -> Any:
    """The elements of both arrays in turn, along the last axis."""
    shape = shape_of(even)
    return np.reshape(np.stack([even, odd], axis=-1), (*shape[:-1], 2 * shape[-1]))


def recurrence_from_the_end(a: Any, b: Any) -> Any:
    """The solution of s_i = a_(i+1) s_(i+1) + b_i: the transpose of `recurrence` in b."""
    backwards = np.concatenate([a[..., :1], np.flip(a[..., 1:], -1)], axis=-1)
    return np.flip(recurrence(backwards, np.flip(b, -1)), -1)


def before(y: Any, first: float) -> Any:
    """For each element, the element before it along the last axis; for the first element, `first`."""
    start = np.full((*shape_of(y)[:-1], 1), first, dtype_of(y))
    return np.concatenate([start, y[..., :-1]], axis=-1)


@dispatched
def running_product(a: Any) -> Any:
    """`np.cumprod` along the last axis."""
    return np.cumprod(a, axis=-1)


@structured(running_product)
def _running_product(a: Any) -> Any:
    """`np.cumprod` by y_i = a_i y_(i-1). There is no division, so derivatives are right where elements are zero."""
    return running_product(a), (
        LinearMap(
            lambda x_dot: recurrence(a, before(running_product(a), 1.0) * x_dot),
            lambda y_bar: before(running_product(a), 1.0) * recurrence_from_the_end(a, y_bar),
        ),
    )


@dispatched
def running_maximum(a: Any) -> Any:
    """`np.maximum.accumulate` along the last axis."""
    return np.maximum.accumulate(a, axis=-1)


@dispatched
def running_minimum(a: Any) -> Any:
    """`np.minimum.accumulate` along the last axis."""
    return np.minimum.accumulate(a, axis=-1)


def _running_extreme(function: Callable[..., Any], ufunc: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a running extreme: elements that tie for the extreme so far share the derivative equally."""

    def differentiate(a: Any) -> Any:
        require_order(ufunc, a)
        y = function(a)

        def shares() -> tuple[Any, Any, Any]:
            """Whether an element ties for the extreme, whether the extreme is the same as before, and how many tie."""
            tied = (a == y) * 1.0
            same = np.concatenate([tied[..., :1], (y[..., 1:] == y[..., :-1]) * 1.0], axis=-1)
            return tied, same, recurrence(same, tied)

        def pushforward(x_dot: Tangent) -> Tangent:
            tied, same, count = shares()
            return recurrence(same, tied * x_dot) / count

        def pullback(y_bar: Cotangent) -> Cotangent:
            tied, same, count = shares()
            return tied * recurrence_from_the_end(same, y_bar / count)

        return y, (LinearMap(pushforward, pullback),)

    return differentiate


structured(running_maximum, kept=("a",), linear=True)(_running_extreme(running_maximum, np.maximum))
structured(running_minimum, kept=("a",), linear=True)(_running_extreme(running_minimum, np.minimum))


def accumulated(running: Callable[[Any], Any], a: Any, axis: int | None, dtype: Any = None) -> Any:
    """`running`, which works along the last axis, applied along `axis`; along all elements if `axis` is None."""
    a = a if dtype is None else astype(a, dtype)
    if axis is None or shape_of(a) == ():
        if axis is not None:
            normalize_axes(axis, 1)
        return running(np.reshape(a, -1))
    (axis,) = normalize_axes(axis, len(shape_of(a)))
    return np.moveaxis(running(np.moveaxis(a, axis, -1)), -1, axis)


@composite(np.cumprod)
def _cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return accumulated(running_product, a, axis, dtype)


def _with_initial(cumulate: Callable[..., Any], initial: float) -> Callable[..., Any]:
    """The definition of `cumulative_sum` and `cumulative_prod`."""

    def cumulative(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
        shape = shape_of(x)
        if axis is None:
            if len(shape) > 1:
                raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
            axis = 0
        x = np.atleast_1d(x)
        y = cumulate(x, axis=axis, dtype=dtype)
        if not include_initial:
            return y
        (axis,) = normalize_axes(axis, len(shape_of(x)))
        start = tuple(1 if i == axis else size for i, size in enumerate(shape_of(y)))
        return np.concatenate([np.full(start, initial, dtype_of(y)), y], axis=axis)

    return cumulative


for _function in functions_of("cumulative_sum"):
    composite(_function)(_with_initial(np.cumsum, 0.0))
for _function in functions_of("cumulative_prod"):
    composite(_function)(_with_initial(np.cumprod, 1.0))
