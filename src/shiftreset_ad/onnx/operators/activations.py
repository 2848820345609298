"""Operators that are activations, and softmax and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad import nn
from shiftreset_ad.onnx.table import enter, operator
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


@operator("Relu", 6)
def relu(x: Any) -> Any:
    """The larger of x and 0."""
    return np.maximum(x, 0) if dtype_of(x).kind in "iu" else nn.relu(x)


@operator("LeakyRelu", 6)
def leaky_relu(x: Any, *, alpha: float = 0.01) -> Any:
    """Positive numbers as they are, and negative numbers times `alpha`."""
    return nn.leaky_relu(x, alpha)


@operator("PRelu", 7)
def _prelu(x: Any, slope: Any) -> Any:
    return np.where(x < 0, slope * x, x)


@operator("ThresholdedRelu", 10)
def thresholded_relu(x: Any, *, alpha: float = 1.0) -> Any:
    """The number where it is above `alpha`, and 0 elsewhere."""
    return np.where(x > alpha, x, np.zeros((), dtype_of(x)))


@operator("Elu", 6)
def elu(x: Any, *, alpha: float = 1.0) -> Any:
    """An exponential function below 0."""
    return nn.elu(x, alpha)


@operator("Celu", 12)
def _celu(x: Any, *, alpha: float = 1.0) -> Any:
    return nn.celu(x, alpha)


@operator("Selu", 6)
def _selu(x: Any, *, alpha: float = 1.6732631921768188, gamma: float = 1.0507010221481323) -> Any:
    return gamma * nn.elu(x, alpha)


@operator("Sigmoid", 6)
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return nn.sigmoid(x)


@operator("HardSigmoid", 6)
def hard_sigmoid(x: Any, *, alpha: float = 0.2, beta: float = 0.5) -> Any:
    """A straight line, cut off below 0 and above 1."""
    return nn.hard_tanh(alpha * x + beta, 0.0, 1.0)


@operator("HardSwish", 14)
def _hard_swish(x: Any) -> Any:
    return nn.hard_swish(x)


@operator("Softplus")
def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return nn.softplus(x)


@operator("Softsign")
def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return nn.softsign(x)


@operator("Mish", 18)
def _mish(x: Any) -> Any:
    return nn.mish(x)


@operator("Swish", 24)
def _swish(x: Any, *, alpha: float = 1.0) -> Any:
    return x * nn.sigmoid(alpha * x)


@operator("Gelu", 20)
def _gelu(x: Any, *, approximate: str = "none") -> Any:
    return nn.gelu(x, approximate)


@operator("Shrink", 9)
def _shrink(x: Any, *, bias: float = 0.0, lambd: float = 0.5) -> Any:
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, np.zeros((), dtype_of(x)))).astype(dtype_of(x))


def _hardmax(x: Any, axis: int) -> Any:
    axis = axis % len(shape_of(x))
    best = np.expand_dims(np.argmax(x, axis=axis), axis)
    classes = np.reshape(np.arange(shape_of(x)[axis]), [-1 if i == axis else 1 for i in range(best.ndim)])
    return (classes == best).astype(dtype_of(x))


def _enter_along_an_axis(name: str, function: Callable[..., Any]) -> None:
    """Enter a function along an axis; up to version 12, all axes from the given one on were one axis."""

    def along(x: Any, *, axis: int = -1) -> Any:
        return function(x, axis)

    def flattened(x: Any, *, axis: int = 1) -> Any:
        before = shape_of(x)[: axis % len(shape_of(x)) if axis < 0 else axis]
        rows = int(np.prod(before))
        return np.reshape(function(np.reshape(x, (rows, -1)), -1), shape_of(x))

    enter(name, flattened, since=1)
    enter(name, along, since=13)


_enter_along_an_axis("Softmax", nn.softmax)
_enter_along_an_axis("LogSoftmax", nn.log_softmax)
_enter_along_an_axis("Hardmax", _hardmax)
