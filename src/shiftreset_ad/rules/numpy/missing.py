"""Functions that ignore NaNs: each NaN is replaced by a neutral element, whose derivative is zero.

`nanmax` and `nanmin` are in `reductions`; `nanmedian`, `nanquantile` and `nanpercentile` are in `quantiles`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.rules.numpy.reductions import NOT_GIVEN, given, reduced_axes
from shiftreset_ad.rules.numpy.shapes import astype
from shiftreset_ad.rules.numpy.statistics import degrees
from shiftreset_ad.rules.stand_ins import may_hold
from shiftreset_ad.rules.table import composite


def filled(a: Any, neutral: float) -> Any:
    """`a` with `neutral` in place of each NaN."""
    missing = np.isnan(a)
    return np.where(missing, neutral, a) if may_hold(missing) else a


def require_inexact(dtype: Any) -> None:
    if dtype is not None and not np.issubdtype(dtype, np.inexact):
        raise TypeError("If a is inexact, then dtype must be inexact")


@composite(np.nansum)
def _nansum(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = NOT_GIVEN, where: Any = True
) -> Any:
    return np.sum(filled(a, 0.0), axis=axis, dtype=dtype, keepdims=keepdims, **given(initial=initial, where=where))


@composite(np.nanprod)
def _nanprod(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = NOT_GIVEN, where: Any = True
) -> Any:
    return np.prod(filled(a, 1.0), axis=axis, dtype=dtype, keepdims=keepdims, **given(initial=initial, where=where))


@composite(np.nancumsum)
def _nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return np.cumsum(filled(a, 0.0), axis=axis, dtype=dtype)


@composite(np.nancumprod)
def _nancumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return np.cumprod(filled(a, 1.0), axis=axis, dtype=dtype)


def valid_of(a: Any, where: Any) -> Any:
    """The mask of the elements that count; True if all elements count."""
    missing = np.isnan(a)
    if not may_hold(missing):
        return where
    return ~missing if where is True else ~missing & where


@composite(np.nanmean)
def _nanmean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True) -> Any:
    require_inexact(dtype)
    if axis in (0, -1) and shape_of(a) == ():  # which NumPy's mean refuses
        axis = None
    return np.mean(filled(a, 0.0), axis=axis, dtype=dtype, keepdims=keepdims, **given(where=valid_of(a, where)))


def _deviation(name: str) -> None:
    function, ignoring = getattr(np, name), getattr(np, f"nan{name}")

    @composite(ignoring)
    def definition(
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
        require_inexact(dtype)
        options = given(where=valid_of(a, where), mean=mean)
        freedom = degrees(ddof, correction)
        shape = shape_of(a)
        axes = reduced_axes(axis, shape)
        if "where" not in options:
            return function(a, axis=axes, dtype=dtype, ddof=freedom, keepdims=keepdims, **options)
        y = function(filled(a, 0.0), axis=axes, dtype=dtype, ddof=freedom, keepdims=keepdims, **options)
        # NumPy does not look here, and a variance without degrees of freedom may be infinite.
        counts = np.sum(np.broadcast_to(options["where"], shape), axis=axes, keepdims=keepdims)
        too_few = counts - freedom <= 0
        return y * np.where(too_few, np.nan, 1.0).astype(dtype_of(y)) if np.any(too_few) else y


for _name in ("var", "std"):
    _deviation(_name)


@composite(np.nan_to_num)
def _nan_to_num(x: Any, *, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    limits = np.finfo(dtype_of(x))
    posinf = limits.max if posinf is None else posinf
    neginf = limits.min if neginf is None else neginf

    def replaced(part: Any) -> Any:
        infinite = np.isinf(part)
        finite = np.where(np.isnan(part), nan, part)
        finite = np.where(infinite & (part > 0), posinf, finite)
        return np.where(infinite & (part < 0), neginf, finite)

    y = replaced(np.real(x)) + 1j * replaced(np.imag(x)) if is_complex(x) else replaced(x)
    y = y if shape_of(x) else y[()]
    return y if dtype_of(y) == dtype_of(x) else astype(y, dtype_of(x))
