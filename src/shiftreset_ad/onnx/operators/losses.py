"""Operators that are losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad import nn
from shiftreset_ad.onnx.table import operator
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


def _loss(log_probs: Any, target: Any, weight: Any, ignore_index: int | None, reduction: str) -> Any:
    """The negative log likelihood, of classes along axis 1."""
    ignored = np.zeros(shape_of(target), bool) if ignore_index is None else target == ignore_index
    classes = np.expand_dims(np.where(ignored, 0, target), 1)
    losses = -np.squeeze(np.take_along_axis(log_probs, classes, axis=1), 1)
    one = np.ones((), dtype_of(log_probs))
    weights = np.where(ignored, 0 * one, one if weight is None else np.take(weight, np.squeeze(classes, 1)))
    losses = np.where(ignored, 0 * one, losses * weights)
    if reduction == "none":
        return losses
    return np.sum(losses) if reduction == "sum" else np.sum(losses) / np.sum(weights)


@operator("NegativeLogLikelihoodLoss", 12, constant=["target"])
def _nll_loss(
    x: Any, target: Any, weight: Any = None, *, ignore_index: int | None = None, reduction: str = "mean"
) -> Any:
    return _loss(x, target, weight, ignore_index, reduction)


@operator("SoftmaxCrossEntropyLoss", 12, constant=["labels"], outputs=2)
def _cross_entropy(
    scores: Any, labels: Any, weights: Any = None, *, ignore_index: int | None = None, reduction: str = "mean"
) -> Any:
    log_probs = nn.log_softmax(scores, 1)
    return _loss(log_probs, labels, weights, ignore_index, reduction), log_probs
