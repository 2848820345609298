"""Normalization: elements minus their mean, divided by their standard deviation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.nn.calling import as_array, of_any_library
from shiftreset_ad.nn.kernels import chosen
from shiftreset_ad.nn.standardized import standardized
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


@of_any_library
def batch_norm(x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """`x: (batch, channels, ...)` normalized by a known mean and variance of each channel, as in inference.

    The answer is (x - mean) / sqrt(var + eps) * weight + bias. All but `x` have the shape (channels,). Raises
    ValueError if shapes do not fit.

    >>> import numpy as np
    >>> batch_norm(np.array([[1.0], [3.0]]), np.array([2.0]), np.array([0.25]), eps=0.0)
    array([[-2.],
           [ 2.]])
    """
    x = _with_channels("batch_norm", x)
    mean, var, weight, bias = _of_channels("batch_norm", x, mean=mean, var=var, weight=weight, bias=bias)
    return _scaled((x - mean) / np.sqrt(var + eps), weight, bias)


@of_any_library
def batch_norm_in_training(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Any, Any, Any]:
    """`x: (batch, channels, ...)` normalized by the mean and variance of each channel in the batch, as in training.

    The answer is (y, mean, var), with the running mean and variance after this batch: (1 - momentum) times the old one
    plus momentum times the batch's, and the batch's alone if there is no old one. As in PyTorch, the running variance
    is that with n - 1 in the denominator. Raises ValueError if shapes do not fit, or if a channel has one element.

    >>> import numpy as np
    >>> y, mean, var = batch_norm_in_training(np.array([[1.0], [3.0]]), eps=0.0)
    >>> y.tolist(), mean.tolist(), var.tolist()
    ([[-1.0], [1.0]], [2.0], [2.0])
    """
    name = "batch_norm_in_training"
    x = _with_channels(name, x)
    running_mean, running_var, weight, bias = _checked(
        name, x, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    axes = (0, *range(2, len(shape_of(x))))
    count = math.prod([shape_of(x)[axis] for axis in axes])
    if count < 2:
        raise ValueError(f"nn.{name}: x of shape {shape_of(x)} has one element in a channel; give a larger batch")
    channels, dtype = shape_of(x)[1], dtype_of(x)
    weight = np.ones(channels, dtype) if weight is None else weight
    bias = np.zeros(channels, dtype) if bias is None else bias
    y, mean, var = standardized(x, weight, bias, eps, chosen())
    var = var * (count / (count - 1))
    if running_mean is not None:
        mean = (1.0 - momentum) * running_mean + momentum * mean
    if running_var is not None:
        var = (1.0 - momentum) * running_var + momentum * var
    return y, mean, var


@of_any_library
def layer_norm(x: Any, ndim: int = 1, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """`x` normalized over its last `ndim` axes, times `weight` plus `bias`, which have the shape of these axes.

    Raises ValueError if shapes do not fit.

    >>> import numpy as np
    >>> layer_norm(np.array([1.0, 3.0]), eps=0.0)
    array([-1.,  1.])
    """
    x = as_array(x)
    shape = shape_of(x)
    if not 1 <= ndim <= len(shape):
        raise ValueError(f"nn.layer_norm: ndim is {ndim}; give a number of axes of x, which has the shape {shape}")
    for name, given in (("weight", weight), ("bias", bias)):
        if given is not None and shape_of(given) != shape[-ndim:]:
            raise ValueError(f"nn.layer_norm: {name} has the shape {shape_of(given)}; give {shape[-ndim:]}")
    return _scaled(_normalized(x, tuple(range(-ndim, 0)), eps)[0], weight, bias)


@of_any_library
def group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """`x: (batch, channels, ...)` normalized over each of `groups` equal groups of channels of each element.

    `weight` and `bias` have the shape (channels,). Raises ValueError if shapes do not fit.

    >>> import numpy as np
    >>> group_norm(np.array([[1.0, 3.0, 5.0, 9.0]]), 2, eps=0.0)
    array([[-1.,  1., -1.,  1.]])
    """
    x = _with_channels("group_norm", x)
    shape = shape_of(x)
    if groups < 1 or shape[1] % groups:
        raise ValueError(f"nn.group_norm: groups is {groups}; give a divisor of the {shape[1]} channels of x")
    weight, bias = _of_channels("group_norm", x, weight=weight, bias=bias)
    y = _normalized(np.reshape(x, (shape[0], groups, math.prod(shape[1:]) // groups)), (2,), eps)[0]
    return _scaled(np.reshape(y, shape), weight, bias)


def instance_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """`x: (batch, channels, ...)` normalized over each channel of each element: `group_norm`, a group for each channel.

    >>> import numpy as np
    >>> instance_norm(np.array([[[1.0, 3.0]]]), eps=0.0)
    array([[[-1.,  1.]]])
    """
    return group_norm(x, shape_of(x)[1], weight, bias, eps)


@of_any_library
def rms_norm(x: Any, weight: Any = None, eps: float = 1e-6) -> Any:
    """`x` divided by the square root of the mean of its squares along the last axis, times `weight`.

    >>> import numpy as np
    >>> rms_norm(np.array([1.0, 7.0]), eps=0.0)
    array([0.2, 1.4])
    """
    x = as_array(x)
    return _scaled(x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps), weight, None)


def _normalized(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    """`x` minus its mean, over its standard deviation; the mean and the variance."""
    mean = np.mean(x, axis=axes, keepdims=True)
    centred = x - mean
    var = np.mean(centred * centred, axis=axes, keepdims=True)
    return centred / np.sqrt(var + eps), mean, var


def _scaled(y: Any, weight: Any, bias: Any) -> Any:
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _with_channels(name: str, x: Any) -> Any:
    x = as_array(x)
    if len(shape_of(x)) < 2:
        raise ValueError(f"nn.{name}: x has the shape {shape_of(x)}; give it the shape (batch, channels, ...)")
    return x


def _of_channels(name: str, x: Any, **given: Any) -> list[Any]:
    """Arrays with an element for each channel, shaped to be combined with `x`; None stays None."""
    shape = (-1,) + (1,) * (len(shape_of(x)) - 2)
    return [None if array is None else np.reshape(array, shape) for array in _checked(name, x, **given)]


def _checked(name: str, x: Any, **given: Any) -> list[Any]:
    """Arrays with an element for each channel; None stays None."""
    found = []
    for argument, array in given.items():
        if array is not None:
            array = as_array(array)
            if shape_of(array) != shape_of(x)[1:2]:
                raise ValueError(f"nn.{name}: {argument} has the shape {shape_of(array)}; give {shape_of(x)[1:2]}")
        found.append(array)
    return found
