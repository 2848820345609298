"""Operators that normalize, and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad import nn
from shiftreset_ad.onnx.table import operator, refused
from shiftreset_ad.rules.broadcasting import shape_of


def _of_channels(x: Any, values: Any) -> Any:
    """A value for each channel, in a shape to be combined with `x`."""
    return np.reshape(values, (-1, *[1] * (len(shape_of(x)) - 2)))


def _standardized(x: Any, axes: tuple[int, ...], epsilon: float) -> tuple[Any, Any, Any]:
    """The array with mean 0 and variance 1 along axes; the mean; and one divided by the deviation."""
    mean = np.mean(x, axis=axes, keepdims=True)
    centred = x - mean
    inverse = 1.0 / np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True) + epsilon)
    return centred * inverse, mean, inverse


@operator("BatchNormalization", 7, outputs=3)
def _batch_normalization(
    x: Any,
    scale: Any,
    b: Any,
    input_mean: Any,
    input_var: Any,
    *,
    outputs: int,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
) -> Any:
    if not training_mode:
        if outputs > 1:
            raise refused("BatchNormalization", "running statistics before version 14; convert the model to version 14")
        return nn.batch_norm(x, input_mean, input_var, scale, b, epsilon)
    axes = (0, *range(2, len(shape_of(x))))
    y, mean, _ = _standardized(x, axes, epsilon)
    mean = np.reshape(mean, -1)
    y = y * _of_channels(x, scale) + _of_channels(x, b)
    running_mean = input_mean * momentum + mean * (1.0 - momentum)
    return y, running_mean, input_var * momentum + np.var(x, axis=axes) * (1.0 - momentum)


@operator("InstanceNormalization", 6)
def _instance_normalization(x: Any, scale: Any, b: Any, *, epsilon: float = 1e-5) -> Any:
    y, _, _ = _standardized(x, tuple(range(2, len(shape_of(x)))), epsilon)
    return y * _of_channels(x, scale) + _of_channels(x, b)


@operator("GroupNormalization", 21)
def _group_normalization(
    x: Any, scale: Any, bias: Any, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    return nn.group_norm(x, num_groups, scale, bias, epsilon)


@operator("LayerNormalization", 17, outputs=3)
def _layer_normalization(
    x: Any, scale: Any, b: Any = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    ndim = len(shape_of(x))
    y, mean, inverse = _standardized(x, tuple(range(axis % ndim, ndim)), epsilon)
    y = y * scale
    return (y if b is None else y + b), mean, inverse


@operator("RMSNormalization", 23)
def _rms_normalization(x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    ndim = len(shape_of(x))
    squares = np.mean(x * x, axis=tuple(range(axis % ndim, ndim)), keepdims=True)
    return x / np.sqrt(squares + epsilon) * scale


@operator("MeanVarianceNormalization", 9)
def _mean_variance_normalization(x: Any, *, axes: Any = (0, 2, 3)) -> Any:
    return _standardized(x, tuple(axes), 1e-9)[0]


@operator("LRN")
def _local_response_normalization(
    x: Any, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Any:
    channels = shape_of(x)[1]
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    widths = [(0, 0), (before, after), *[(0, 0)] * (len(shape_of(x)) - 2)]
    squares = np.pad(x * x, widths)
    sums = sum(squares[:, i : i + channels] for i in range(size))
    return x / (bias + alpha / size * sums) ** beta


@operator("Dropout", 7, constant=["ratio", "training_mode"], outputs=2)
def _dropout(x: Any, ratio: Any = None, training_mode: Any = None, *, seed: int | None = None) -> Any:
    drops = 0.5 if ratio is None else float(np.reshape(ratio, ()))
    if training_mode is not None and bool(np.reshape(training_mode, ())) and drops:
        raise refused("Dropout", "training_mode is true; export the model for inference, as a random mask has no seed")
    return x, np.ones(shape_of(x), bool)
