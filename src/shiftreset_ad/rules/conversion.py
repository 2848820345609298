"""Rules of copies, of changes of precision, and of the parts of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, is_complex
from shiftreset_ad.rules.layouts import is_scalar
from shiftreset_ad.rules.table import CONSTANT, LinearMap, composite, dispatched, functions_of, linear, structured


@structured(np.copy, linear=True)
def _copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    return linear(a, lambda a: np.copy(a, order=order), lambda y_bar: y_bar, moves=True)


@dispatched
def constant_of(x: Any, function: Callable[..., Any], *args: Any) -> Any:
    """`function(x, *args)`, as a constant; for functions that take real numbers only."""
    return function(x, *args)


CONSTANT.add(constant_of)


def real_part_of(x: Any) -> Any:
    """The real part; real numbers are returned as they are."""
    return np.real(x) if is_complex(x) else x


# Precision


@dispatched
def astype(x: Any, dtype: Any) -> Any:
    """The same values in another precision, always a copy (`np.astype`, which NumPy 2.0 does not have)."""
    y = np.asarray(x).astype(dtype)
    return y if isinstance(x, np.ndarray) else y[()]


def in_precision(x: Any, dtype: Any) -> Any:
    """A derivative in the precision of the value that it belongs to; for a real value, its real part."""
    given = dtype_of(x)
    if given == dtype:
        return x
    if given.kind == "c" and dtype.kind != "c":
        x = np.real(x)
    return x if dtype_of(x) == dtype else astype(x, dtype)


@structured(astype, linear=True)
def _astype(x: Any, dtype: Any) -> Any:
    to, back = np.dtype(dtype), np.dtype(dtype_of(x))

    def pushforward(x_dot: Tangent) -> Tangent:
        # If imaginary parts of the value are dropped, NumPy warns. The derivative drops them without a warning.
        return astype(x_dot if to.kind == "c" or not is_complex(x_dot) else np.real(x_dot), to)

    return astype(x, dtype), (LinearMap(pushforward, lambda y_bar: in_precision(y_bar, back)),)


@composite(*functions_of("astype"))
def _astype_of_numpy(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    if device not in (None, "cpu"):
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')
    if not np.issubdtype(dtype, np.inexact):
        return constant_of(x, lambda x: astype(x, dtype))
    return x if not copy and dtype_of(x) == dtype else astype(x, dtype)


# Parts of complex numbers. The pairing of cotangents is Re(sum(y_bar * y_dot)). Only `conjugate` conjugates.


@structured(np.conjugate, linear=True)
def _conjugate(x: Any) -> Any:
    return linear(x, np.conjugate, np.conjugate)


@dispatched
def real_part(z: Any) -> Any:
    """`np.real` of complex numbers."""
    return np.real(z)


@structured(real_part, linear=True)
def _real_part(z: Any) -> Any:
    return linear(z, real_part, lambda y_bar: y_bar, selects=True)


@dispatched
def imaginary_part(z: Any) -> Any:
    """`np.imag` of complex numbers."""
    return np.imag(z)


@structured(imaginary_part, linear=True)
def _imaginary_part(z: Any) -> Any:
    return linear(z, imaginary_part, lambda y_bar: -1j * y_bar)


@composite(np.real)
def _real(val: Any) -> Any:
    return real_part(val) if is_complex(val) else val


@composite(np.imag)
def _imag(val: Any) -> Any:
    return imaginary_part(val) if is_complex(val) else constant_of(val, np.imag)


@composite(np.angle)
def _angle(z: Any, deg: bool = False) -> Any:
    if not is_complex(z):
        return constant_of(z, lambda z: np.angle(z, deg))
    angle = np.arctan2(np.imag(z), np.real(z))
    return np.degrees(angle) if deg else angle


@composite(np.real_if_close)
def _real_if_close(a: Any, tol: float = 100) -> Any:
    if is_scalar(a):
        a = np.copy(a)  # which is an array
    if not is_complex(a):
        return a
    limit = tol * np.finfo(dtype_of(a)).eps if tol > 1 else tol
    return np.real(a) if np.all(np.absolute(np.imag(a)) < limit) else a
