"""The operator Resize: along each axis, a matrix that is linear in the elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.onnx.table import operator, refused
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


@operator("Resize", 11, constant=["roi", "scales", "sizes"])
def _resize(
    x: Any,
    roi: Any = None,
    scales: Any = None,
    sizes: Any = None,
    *,
    mode: str = "nearest",
    coordinate_transformation_mode: str = "half_pixel",
    nearest_mode: str = "round_prefer_floor",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    antialias: int = 0,
    axes: Any = None,
    keep_aspect_ratio_policy: str = "stretch",
) -> Any:
    if coordinate_transformation_mode == "tf_crop_and_resize":
        raise refused("Resize", "coordinate_transformation_mode is tf_crop_and_resize")
    if antialias:
        raise refused("Resize", "antialias is 1")
    ndim = len(shape_of(x))
    places = list(range(ndim)) if axes is None else [int(axis) % ndim for axis in axes]
    factors = None if scales is None or not len(scales) else [float(scale) for scale in scales]
    if factors is None:
        factors = [int(size) / shape_of(x)[axis] for axis, size in zip(places, sizes, strict=True)]
        if keep_aspect_ratio_policy != "stretch":
            factor = min(factors) if keep_aspect_ratio_policy == "not_larger" else max(factors)
            lengths = [int(np.floor(factor * shape_of(x)[axis] + 0.5)) for axis in places]
            factors = [factor] * len(places)
        else:
            lengths = [int(size) for size in sizes]
    else:
        lengths = [int(np.floor(shape_of(x)[axis] * f)) for axis, f in zip(places, factors, strict=True)]
    for axis, length, factor in zip(places, lengths, factors, strict=True):
        size = shape_of(x)[axis]
        if length == size and factor == 1.0:
            continue
        at = _coordinates(size, length, factor, coordinate_transformation_mode)
        if mode == "nearest":
            x = np.take(x, np.clip(_nearest(at, nearest_mode), 0, size - 1), axis=axis)
        else:
            matrix = _matrix(at, size, mode, cubic_coeff_a, bool(exclude_outside)).astype(dtype_of(x))
            x = np.moveaxis(np.matmul(np.moveaxis(x, axis, -1), matrix.T), -1, axis)
    return x


def _coordinates(size: int, length: int, factor: float, mode: str) -> Any:
    """Where each element of the answer lies in the array."""
    out = np.arange(length)
    if mode == "half_pixel":
        return (out + 0.5) / factor - 0.5
    if mode == "half_pixel_symmetric":
        shift = size / 2.0 * (1.0 - length / (factor * size))
        return shift + (out + 0.5) / factor - 0.5
    if mode == "pytorch_half_pixel":
        return (out + 0.5) / factor - 0.5 if length > 1 else np.zeros(1)
    if mode == "align_corners":
        last = factor * size - 1.0  # the format takes the length before it is rounded
        return out * ((size - 1) / last) if length > 1 and last > 0.0 else np.zeros(length)
    if mode == "asymmetric":
        return out / factor
    raise refused("Resize", f"coordinate_transformation_mode is {mode}")


def _nearest(at: Any, mode: str) -> Any:
    rounded = {
        "round_prefer_floor": lambda: np.ceil(at - 0.5),
        "round_prefer_ceil": lambda: np.floor(at + 0.5),
        "floor": lambda: np.floor(at),
        "ceil": lambda: np.ceil(at),
    }
    if mode not in rounded:
        raise refused("Resize", f"nearest_mode is {mode}")
    return rounded[mode]().astype(int)


def _matrix(at: Any, size: int, mode: str, a: float, exclude_outside: bool) -> Any:
    """The weights of the elements of the array in each element of the answer: (length, size)."""
    if mode not in ("linear", "cubic"):
        raise refused("Resize", f"mode is {mode}")
    reach = 1 if mode == "linear" else 2
    places = np.floor(at).astype(int)[:, None] + np.arange(1 - reach, 1 + reach)
    distance = np.abs(at[:, None] - places)
    if mode == "linear":
        weights = 1.0 - distance
    else:
        near = ((a + 2.0) * distance - (a + 3.0)) * distance**2 + 1.0
        far = a * (((distance - 5.0) * distance + 8.0) * distance - 4.0)
        weights = np.where(distance <= 1.0, near, far)
    if exclude_outside:
        weights = np.where((places >= 0) & (places < size), weights, 0.0)
        weights = weights / weights.sum(axis=1, keepdims=True)
    matrix = np.zeros((len(at), size))
    np.add.at(matrix, (np.arange(len(at))[:, None], np.clip(places, 0, size - 1)), weights)
    return matrix
