"""Batch normalization in training: one operation for the normalized array, the means and the variances.

Of PyTorch's kernels, one gives the three, and one their way back. Numbers go by the formulas.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.nn import torch_kernels
from shiftreset_ad.nn.calling import Shared, fused
from shiftreset_ad.nn.torch_kernels import by_torch_on_memory
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.table import LinearMap, structured


def _along(c: Any, x: Any) -> Any:
    """An array with an element for each channel, shaped to be combined with `x`."""
    return np.reshape(c, (-1,) + (1,) * (len(shape_of(x)) - 2))


def _over(x: Any) -> tuple[int, ...]:
    """The axes of the elements of a channel."""
    return (0, *range(2, len(shape_of(x))))


def _count(x: Any) -> int:
    """The number of elements of a channel."""
    return math.prod([shape_of(x)[axis] for axis in _over(x)])


def _by_passes(x: Any, weight: Any, bias: Any, eps: float, library: str) -> tuple[Any, Any, Any]:
    """`standardized` by other functions."""
    mean = np.mean(x, axis=_over(x))
    centred = x - _along(mean, x)
    var = np.mean(centred * centred, axis=_over(x))
    return centred * _along(weight / np.sqrt(var + eps), x) + _along(bias, x), mean, var


def _of_tensors(x: Any, weight: Any, bias: Any, eps: float, library: str) -> tuple[Any, Any, Any]:
    """`standardized` of tensors."""
    y, mean, var = torch_kernels.standardized(x, weight, bias, eps)
    count = _count(x)
    return y, mean, var * ((count - 1) / count)


@fused(3, _by_passes, _of_tensors)
def standardized(x: Any, weight: Any, bias: Any, eps: float, library: str) -> tuple[Any, Any, Any]:
    """`x: (batch, channels, ...)` minus its means, over its standard deviations, times `weight`, plus `bias`.

    Also the means and the variances, of (channels,), as `weight` and `bias` are. `library` has the kernels.
    """
    if library == "torch":
        found = by_torch_on_memory(_of_tensors, x, weight, bias, eps, library)
        if found is not None:
            y, mean, var = found
            return y, mean, var
    mean = np.mean(x, axis=_over(x))
    y = x - _along(mean, x)
    var = _sum_of_products(y, y) / _count(x)
    var = var.astype(mean.dtype, copy=False)
    y *= _along((weight / np.sqrt(var + eps)).astype(y.dtype, copy=False), x)
    y += _along(bias.astype(y.dtype, copy=False), x)
    return y, mean, var


def _sum_of_products(x: Any, y: Any) -> Any:
    """The sum of x y over each channel of arrays, without an array of the products."""
    flat = (x.shape[0], x.shape[1], -1) if x.size else (*x.shape[:2], 0)
    return np.einsum("ncl,ncl->c", x.reshape(flat), y.reshape(flat))


def _back_by_passes(
    y_bar: Any, x: Any, weight: Any, mean: Any, var: Any, eps: float, library: str
) -> tuple[Any, Any, Any]:
    """The cotangents of `x`, `weight` and `bias` for one of the normalized array."""
    scale = 1.0 / np.sqrt(var + eps)
    centred = (x - _along(mean, x)) * _along(scale, x)
    of_bias, of_weight = np.sum(y_bar, axis=_over(x)), np.sum(y_bar * centred, axis=_over(x))
    count = _count(x)
    rest = y_bar - _along(of_bias / count, x) - centred * _along(of_weight / count, x)
    return rest * _along(weight * scale, x), of_weight, of_bias


def _back_of_tensors(
    y_bar: Any, x: Any, weight: Any, mean: Any, var: Any, eps: float, library: str
) -> tuple[Any, Any, Any]:
    """`_back` of tensors."""
    x_bar, of_weight, of_bias = torch_kernels.standardized_back(y_bar, x, weight, mean, (var + eps).rsqrt(), eps)
    return x_bar, of_weight, of_bias


@fused(5, _back_by_passes, _back_of_tensors)
def _back(y_bar: Any, x: Any, weight: Any, mean: Any, var: Any, eps: float, library: str) -> tuple[Any, Any, Any]:
    if library == "torch":
        found = by_torch_on_memory(_back_of_tensors, y_bar, x, weight, mean, var, eps, library)
        if found is not None:
            x_bar, of_weight, of_bias = found
            return x_bar, of_weight, of_bias
    scale = 1.0 / np.sqrt(var + eps)
    centred = x - _along(mean, x)
    of_bias, of_weight = np.sum(y_bar, axis=_over(x)), _sum_of_products(y_bar, centred) * scale
    centred *= _along(scale * (of_weight / -_count(x)), x)
    centred += y_bar
    centred -= _along(of_bias / _count(x), x)
    centred *= _along(weight * scale, x)
    return centred, of_weight, of_bias


@structured(standardized, "x", "weight", "bias", kept=("x", "weight"))
def _differentiate(x: Any, weight: Any, bias: Any, eps: float, library: str) -> Any:
    y, mean, var = standardized(x, weight, bias, eps, library)
    over, count = _over(x), _count(x)

    def normal() -> tuple[Any, Any]:
        """The standardized elements, and one over the standard deviations."""
        scale = 1.0 / np.sqrt(var + eps)
        return (x - _along(mean, x)) * _along(scale, x), scale

    def from_x(x_dot: Any) -> tuple[Any, Any, Any]:
        centred, scale = normal()
        mean_dot = np.mean(x_dot, axis=over)
        slope = np.mean(centred * x_dot, axis=over)
        y_dot = (x_dot - _along(mean_dot, x) - centred * _along(slope, x)) * _along(weight * scale, x)
        return y_dot, mean_dot, 2.0 * slope / scale

    def beside(y_dot: Any) -> tuple[Any, Any, Any]:
        return y_dot, 0.0 * mean, 0.0 * var

    back = Shared(lambda bars: _back(bars[0], x, weight, mean, var, eps, library))

    def to_x(bars: Any) -> Any:
        _, mean_bar, var_bar = bars
        x_bar = back(bars)[0]
        if _is_something(mean_bar):
            x_bar = x_bar + _along(mean_bar / count, x)
        if _is_something(var_bar):
            x_bar = x_bar + (x - _along(mean, x)) * _along(2.0 / count * var_bar, x)
        return x_bar

    maps = (
        LinearMap(from_x, to_x, makes_new=True),
        LinearMap(lambda w_dot: beside(normal()[0] * _along(w_dot, x)), lambda bars: back(bars)[1], makes_new=True),
        LinearMap(lambda b_dot: beside(0.0 * x + _along(b_dot, x)), lambda bars: back(bars)[2], makes_new=True),
    )

    def map_of(operand: int) -> LinearMap:
        back.users += 1
        return maps[operand]

    return (y, mean, var), map_of


def _is_something(bar: Any) -> bool:
    """Whether a cotangent may count: the running statistics mostly have none."""
    return bar is not None and (type(bar) is not np.ndarray or bool(bar.any()))
