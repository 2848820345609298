"""Averages, variances and covariances."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of, unbroadcast
from shiftreset_ad.rules.conversion import in_precision, real_part_of
from shiftreset_ad.rules.masked import where_chosen
from shiftreset_ad.rules.numpy.reductions import (
    NOT_GIVEN,
    count_along,
    given,
    lined_up,
    mask_of,
    masked,
    normalize_axes,
    reduced_axes,
)
from shiftreset_ad.rules.numpy.shapes import astype, constant_of
from shiftreset_ad.rules.plain import as_array
from shiftreset_ad.rules.table import LinearMap, composite, structured


def degrees(ddof: float, correction: Any) -> float:
    """The degrees of freedom to subtract: `ddof` and `correction` are two names of this argument."""
    if correction is NOT_GIVEN:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction  # type: ignore[no-any-return]


def all_equal(a: Any, axes: tuple[int, ...], where: Any) -> Any:
    """Whether the elements of a plain array are equal along `axes`. The answer keeps these axes."""
    if where is True:
        return np.max(a, axis=axes, keepdims=True) == np.min(a, axis=axes, keepdims=True)
    highest = np.max(a, axis=axes, keepdims=True, where=where, initial=-np.inf)
    return highest == np.min(a, axis=axes, keepdims=True, where=where, initial=np.inf)


def _deviation(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of `var`, or of its root `std`.

    Deviations from the mean sum up to zero, so the derivative of the mean contributes nothing. A `mean` that is given
    has a derivative of its own.
    """

    def differentiate(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        *,
        ddof: float = 0,
        keepdims: bool = False,
        where: Any = True,
        mean: Any = NOT_GIVEN,
        correction: Any = NOT_GIVEN,
    ) -> Any:
        ddof = degrees(ddof, correction)
        shape = shape_of(a)
        axes = reduced_axes(axis, shape)
        where = mask_of(where)
        y = function(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, **given(where=where, mean=mean))

        def slope() -> Any:
            count = count_along(axes, shape)
            if not math.prod(shape):
                return np.zeros(shape, dtype_of(y))
            counted = where
            if where is not True:
                count = np.sum(np.broadcast_to(where, shape), axis=axes, keepdims=True)
                counted = where | (count == 0)  # the computation of the value has warned of an empty mean
            centre = mean
            if mean is NOT_GIVEN:
                centre = np.mean(a, axis=axes, dtype=dtype, keepdims=True, **given(where=counted))
            centred = masked(where, a - centre)
            if is_complex(centred):  # the variance is the mean of |centred|**2, which is real
                centred = np.conjugate(centred)
            freedom = np.maximum(count - ddof, 0)
            if function is np.var:
                return 2.0 * centred / freedom
            whole = lined_up(y, shape, axes)
            flat = whole == 0
            if mean is NOT_GIVEN:  # rounding may have left a deviation where the elements are equal
                flat = flat | constant_of(a, all_equal, axes, where)
            return np.where(flat, 0.0, centred) / (np.where(flat, 1.0, whole) * freedom)

        return y, (
            LinearMap(
                lambda x_dot: real_part_of(np.sum(masked(where, slope() * x_dot), axis=axis, keepdims=keepdims)),
                lambda y_bar: where_chosen(where, slope() * lined_up(real_part_of(y_bar), shape, axes)),
            ),
            LinearMap(
                lambda mean_dot: -real_part_of(np.sum(slope() * mean_dot, axis=axis, keepdims=keepdims)),
                lambda y_bar: -unbroadcast(slope() * lined_up(real_part_of(y_bar), shape, axes), shape_of(mean)),
            ),
        )

    return differentiate


for _function in (np.var, np.std):
    structured(_function, "a", "mean")(_deviation(_function))


@composite(np.average)
def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    a = as_array(a)
    shape = shape_of(a)
    if axis is not None:
        axis = normalize_axes(axis, len(shape), argname="axis")
    if weights is None:
        average = np.mean(a, axis=axis, keepdims=keepdims)
        total: Any = dtype_of(average).type(count_along(reduced_axes(axis, shape), shape))
    else:
        weights = _fitted(as_array(weights), shape, axis)
        dtype = np.result_type(dtype_of(a), dtype_of(weights))
        total = np.sum(weights, axis=axis, dtype=dtype, keepdims=keepdims)
        if np.any(total == 0.0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        average = np.sum(astype(a, dtype) * astype(weights, dtype), axis=axis, keepdims=keepdims) / total
    if not returned:
        return average
    if shape_of(total) != shape_of(average):
        total = np.positive(np.broadcast_to(total, shape_of(average)))
    return average, total


def _fitted(weights: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """The weights of an average, in a shape that broadcasts to the shape of the array."""
    given_shape = shape_of(weights)
    if given_shape == shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if given_shape != tuple(shape[i] for i in axis):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    in_order = np.transpose(weights, np.argsort(axis))
    return np.reshape(in_order, tuple(size if i in axis else 1 for i, size in enumerate(shape)))


@composite(np.cov)
def _cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    m, y = as_array(m), None if y is None else as_array(y)
    if dtype is None:
        dtype = np.result_type(*(dtype_of(x) for x in (m, y) if x is not None), np.float64)
    x = _variables("m", m, dtype, not rowvar and len(shape_of(m)) != 1)
    if shape_of(x)[0] == 0:
        return np.array([]).reshape(0, 0)
    if y is not None:
        x = np.concatenate([x, _variables("y", y, dtype, not rowvar and np.atleast_2d(y).shape[0] != 1)], axis=0)
    if ddof is None:
        ddof = 0 if bias else 1

    count = shape_of(x)[1]
    frequencies, importances = _weights("fweights", fweights, count), _weights("aweights", aweights, count)
    if frequencies is None or importances is None:
        weights = importances if frequencies is None else frequencies
    else:
        weights = frequencies * importances
    average, total = np.average(x, axis=1, weights=weights, returned=True)
    total = total[0]
    if weights is None:
        divisor: Any = count - ddof
    elif ddof == 0:
        divisor = total
    elif importances is None:
        divisor = total - ddof
    else:
        divisor = total - ddof * np.sum(weights * importances) / total
    if divisor <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        divisor = 0.0
    x = x - average[:, None]
    transposed = np.transpose(x if weights is None else x * weights)
    product = np.dot(x, np.conjugate(transposed) if is_complex(transposed) else transposed)
    return np.squeeze(in_precision(product * np.true_divide(1, divisor), dtype_of(product)))


def _variables(name: str, x: Any, dtype: Any, as_columns: bool) -> Any:
    """The variables of a covariance, one in each row."""
    if len(shape_of(x)) > 2:
        raise ValueError(f"{name} has more than 2 dimensions")
    rows = np.atleast_2d(astype(x, dtype))
    return np.transpose(rows) if as_columns else rows


def _weights(name: str, weights: Any, count: int) -> Any:
    """The weights of the observations of a covariance."""
    if weights is None:
        return None
    if len(shape_of(weights)) > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if shape_of(weights)[0] != count:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    weights = astype(weights, np.float64)
    if np.any(weights < 0):
        raise ValueError(f"{name} cannot be negative")
    if name == "fweights" and not np.all(weights == np.round(weights)):
        raise TypeError("fweights must be integer")
    return weights


@composite(np.corrcoef)
def _corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    covariance = np.cov(x, y, rowvar, dtype=dtype)
    if len(shape_of(covariance)) == 0:
        return covariance / covariance
    deviation = np.sqrt(np.real(np.diagonal(covariance)))
    correlation = covariance / deviation[:, None] / deviation[None, :]
    if not is_complex(correlation):
        return np.clip(correlation, -1, 1)
    return np.clip(np.real(correlation), -1, 1) + 1j * np.clip(np.imag(correlation), -1, 1)
