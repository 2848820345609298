"""The log likelihood of one class for each element, as one operation: a softmax, its logarithm, and the choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.nn.calling import fused
from shiftreset_ad.nn.softmax import log_softmax, shifted_by_largest
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.masked import Masked, selected
from shiftreset_ad.rules.table import LinearMap, structured


def at_target(x: Any, target: Any, axis: int) -> Any:
    """The element at `target` along `axis`, for each place of the other axes."""
    if type(x) is np.ndarray and x.ndim == 2 and axis == 1:  # as below, with fewer calls
        return x[np.arange(len(x)), target]
    return np.squeeze(np.take_along_axis(x, np.expand_dims(target, axis), axis=axis), axis)


def _by_log_softmax(logits: Any, target: Any, axis: int) -> Any:
    return at_target(log_softmax(logits, axis), target, axis)


@fused(2, _by_log_softmax)
def log_likelihood(logits: Any, target: Any, axis: int) -> Any:
    """`log_softmax` of `logits` along `axis`, at the classes `target`: an array without this axis."""
    shifted, _ = shifted_by_largest(logits, axis)
    return np.asarray(at_target(shifted, target, axis) - np.log(np.sum(np.exp(shifted), axis=axis)))


@structured(log_likelihood, "logits", kept=("target",))
def _log_likelihood(logits: Any, target: Any, axis: int) -> Any:
    shifted, _ = shifted_by_largest(logits, axis)
    powers = np.exp(shifted)
    total = np.sum(powers, axis=axis, keepdims=True)
    y = at_target(shifted, target, axis) - np.squeeze(np.log(total), axis)

    shape = shape_of(shifted)

    def back(y_bar: Any) -> Any:
        if type(y_bar) is Masked:  # what does not count is zero, whatever the powers are
            mask = np.broadcast_to(np.expand_dims(y_bar.mask, axis), shape)
            return Masked(selected(mask, back(y_bar.values)), mask)
        y_bar = np.expand_dims(y_bar, axis)
        classes = np.reshape(np.arange(shape[axis]), (-1,) + (1,) * (len(shape) - axis - 1))
        is_target = classes == np.expand_dims(target, axis)
        return np.where(is_target, y_bar, 0.0) - powers * (y_bar / total)

    def forward(x_dot: Any) -> Any:
        return at_target(x_dot, target, axis) - np.sum(powers * x_dot, axis=axis) / np.squeeze(total, axis)

    return y, (LinearMap(forward, back, chooses=True),)
