"""Discrete Fourier transforms: linear, so each is its own pushforward. Their transposes are Fourier transforms, too.

The matrices of `fft` and `ifft` are symmetric. As in all rules, nothing is conjugated: the pairing of tangents and
cotangents is Re(sum(y_bar * y_dot)), and for a real operand only the real part of the cotangent counts. A transform of
`n` points cuts its operand off or fills it up with zeros; its transpose does the opposite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.numpy.shapes import normalize_axis
from shiftreset_ad.rules.table import composite, linear, structured

# For each `norm`, the `norm` of the inverse transform that has the same factor.
SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def resized(x: Any, size: int, axis: int) -> Any:
    """`x` cut off or filled up with zeros, at the end of an axis."""
    shape = list(shape_of(x))
    axis = normalize_axis(axis, len(shape))
    if shape[axis] == size:
        return x
    if shape[axis] > size:
        return x[(slice(None),) * axis + (slice(size),)]
    shape[axis] = size - shape[axis]
    return np.concatenate([x, np.zeros(shape, dtype_of(x))], axis)


def _symmetric(transform: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a complex transform along one axis."""

    def differentiate(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
        shape = shape_of(a)

        def transpose(y_bar: Cotangent) -> Cotangent:
            return resized(transform(y_bar, None, axis, norm), shape[axis], axis)

        return linear(a, lambda a: transform(a, n, axis, norm), transpose)

    return differentiate


structured(np.fft.fft, linear=True)(_symmetric(np.fft.fft))
structured(np.fft.ifft, linear=True)(_symmetric(np.fft.ifft))


@structured(np.fft.rfft, linear=True)
def _rfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    """The first half of `fft`; the other half has a cotangent of zero."""
    shape = shape_of(a)

    def transpose(y_bar: Cotangent) -> Cotangent:
        points = shape[axis] if n is None else n
        return resized(np.fft.fft(y_bar, points, axis, norm), shape[axis], axis)

    return linear(a, lambda a: np.fft.rfft(a, n, axis, norm), transpose)


@structured(np.fft.irfft, linear=True)
def _irfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    """The rule of `irfft`. Its real answer has each frequency twice, itself and its conjugate, except the first and the
    middle frequency.
    """
    shape = shape_of(a)

    def transpose(y_bar: Cotangent) -> Cotangent:
        place = normalize_axis(axis, len(shape))
        points = shape_of(y_bar)[place]
        twice = np.full(points // 2 + 1, 2)
        twice[0] = 1
        if points % 2 == 0:
            twice[-1] = 1
        a_bar = np.fft.ihfft(y_bar, None, axis, norm) * np.reshape(twice, (-1,) + (1,) * (len(shape) - place - 1))
        return resized(a_bar, shape[axis], axis)

    return linear(a, lambda a: np.fft.irfft(a, n, axis, norm), transpose)


@composite(np.fft.hfft)
def _hfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    return np.fft.irfft(np.conjugate(a), n, axis, swapped(norm))


@composite(np.fft.ihfft)
def _ihfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    return np.conjugate(np.fft.rfft(a, n, axis, swapped(norm)))


def swapped(norm: Any) -> Any:
    """The `norm` of the inverse transform with the same factor."""
    if norm not in SWAPPED:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return SWAPPED[norm]


# Transforms along several axes: one axis after the other, in NumPy's order


def sizes_and_axes(a: Any, s: Any, axes: Any, to_real: bool = False) -> tuple[list[int | None], list[int]]:
    """The number of points along each axis; None is the size that the axis has by then. An axis may come twice."""
    shape = shape_of(a)
    if s is None:
        axes = list(range(len(shape)) if axes is None else axes)
        sizes = list(np.take(shape, axes))
        if to_real:
            sizes[-1] = 2 * (sizes[-1] - 1)
        return sizes, axes
    axes = list(range(-len(s), 0) if axes is None else axes)
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return [shape[axis] if n == -1 else n for n, axis in zip(s, axes, strict=True)], axes


def _along_axes(transform: Callable[..., Any], default: Any) -> Callable[..., Any]:
    """The definition of a transform along `axes`, from the last axis to the first."""

    def definition(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        sizes, axes = sizes_and_axes(a, s, axes)
        for n, axis in zip(reversed(sizes), reversed(axes), strict=True):
            a = transform(a, n, axis, norm)
        return a

    return definition


def _from_real(default: Any) -> Callable[..., Any]:
    """The definition of `rfftn` or `rfft2`: the real transform comes first, and works along the last axis."""

    def definition(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        sizes, axes = sizes_and_axes(a, s, axes)
        a = np.fft.rfft(a, sizes[-1], axes[-1], norm)
        for n, axis in zip(reversed(sizes[:-1]), reversed(axes[:-1]), strict=True):
            a = np.fft.fft(a, n, axis, norm)
        return a

    return definition


def _to_real(default: Any) -> Callable[..., Any]:
    """The definition of `irfftn` or `irfft2`: the real transform comes last, and works along the last axis."""

    def definition(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        sizes, axes = sizes_and_axes(a, s, axes, to_real=True)
        for n, axis in zip(sizes[:-1], axes[:-1], strict=True):
            a = np.fft.ifft(a, n, axis, norm)
        return np.fft.irfft(a, sizes[-1], axes[-1], norm)

    return definition


composite(np.fft.fftn)(_along_axes(np.fft.fft, None))
composite(np.fft.ifftn)(_along_axes(np.fft.ifft, None))
composite(np.fft.rfftn)(_from_real(None))
composite(np.fft.irfftn)(_to_real(None))
composite(np.fft.fft2)(_along_axes(np.fft.fft, (-2, -1)))
composite(np.fft.ifft2)(_along_axes(np.fft.ifft, (-2, -1)))
composite(np.fft.rfft2)(_from_real((-2, -1)))
composite(np.fft.irfft2)(_to_real((-2, -1)))


# The order of frequencies


def _shifted(x: Any, axes: Any, sign: int) -> Any:
    shape = shape_of(x)
    axes = tuple(range(len(shape))) if axes is None else (axes,) if np.ndim(axes) == 0 else tuple(axes)
    # One sign moves the middle to the front, the other sign moves the front to the middle.
    return np.roll(x, tuple(sign * (shape[axis] // 2) for axis in axes), axes)


@composite(np.fft.fftshift)
def _fftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, 1)


@composite(np.fft.ifftshift)
def _ifftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, -1)
