"""Losses between what a network answers and what it should answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.nn.activations import log_sigmoid
from shiftreset_ad.nn.calling import as_array, of_any_library
from shiftreset_ad.nn.likelihoods import at_target, log_likelihood
from shiftreset_ad.nn.softmax import log_softmax
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


def reduced(name: str, losses: Any, reduction: str, weights: Any = None) -> Any:
    """The mean of all losses, their sum, or the losses; the mean is weighted if there are weights."""
    if reduction == "none":
        return losses
    if reduction == "sum":
        return np.sum(losses)
    if reduction != "mean":
        raise ValueError(f'nn.{name}: reduction is {reduction!r}; give "mean", "sum" or "none"')
    return np.mean(losses) if weights is None else np.sum(losses) / np.sum(weights)


@of_any_library
def nll_loss(log_probs: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """The negative log likelihood: minus the logarithm of the probability of each target.

    `log_probs` has the shape (batch, classes, ...) and `target`, the number of a class for each element, the shape
    (batch, ...); or (classes,) and (). `weight: (classes,)` weighs the classes, also in the mean. Targets equal to
    `ignore_index` do not count. Raises ValueError for a target that is no class.

    >>> import numpy as np
    >>> from shiftreset_ad import grad
    >>> grad(nll_loss)(np.log([[0.25, 0.75]]), np.array([1]))
    array([[ 0., -1.]])
    """
    losses, weights = _weighted("nll_loss", at_target, as_array(log_probs), target, weight, ignore_index)
    return reduced("nll_loss", losses, reduction, weights)


@of_any_library
def cross_entropy(
    logits: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The negative log likelihood of the softmax of `logits: (batch, classes, ...)`.

    `target` has the number of a class for each element, as for `nll_loss`, or the probability of each class, in the
    shape of `logits`. With `label_smoothing`, this share of each target is spread over all classes evenly. Raises
    ValueError for a target that is no class.

    >>> import numpy as np
    >>> from shiftreset_ad import grad
    >>> grad(cross_entropy)(np.zeros((1, 2)), np.array([1]))
    array([[ 0.5, -0.5]])
    """
    logits, target = as_array(logits), as_array(target)
    axis = _class_axis(logits)
    classes = shape_of(logits)[axis]
    if dtype_of(target).kind == "f":
        if shape_of(target) != shape_of(logits):
            raise ValueError(
                f"nn.cross_entropy: probabilities in target have the shape {shape_of(target)}; give {shape_of(logits)}"
            )
        log_probs = log_softmax(logits, axis)
        target = (1.0 - label_smoothing) * target + label_smoothing / classes
        losses = -np.sum(log_probs * target * _along(1.0 if weight is None else weight, logits, axis), axis=axis)
        return reduced("cross_entropy", losses, reduction)  # the mean over elements, whatever the weights
    losses, weights = _weighted("cross_entropy", log_likelihood, logits, target, weight, ignore_index)
    if label_smoothing:
        log_probs = log_softmax(logits, axis)
        everything = -np.sum(log_probs * _along(1.0 if weight is None else weight, logits, axis), axis=axis)
        everything = np.where(target == ignore_index, 0.0, everything)
        losses = (1.0 - label_smoothing) * losses + label_smoothing / classes * everything
    return reduced("cross_entropy", losses, reduction, weights)


@of_any_library
def binary_cross_entropy(p: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """-target log(p) - (1 - target) log(1 - p), with logarithms of at least -100, as in PyTorch.

    >>> import numpy as np
    >>> float(binary_cross_entropy(np.array([0.0]), np.array([1.0])))
    100.0
    """
    p, target = as_array(p), as_array(target)
    losses = -(target * _bounded_log(p) + (1.0 - target) * _bounded_log(1.0 - p))
    return reduced("binary_cross_entropy", losses if weight is None else losses * weight, reduction)


@of_any_library
def binary_cross_entropy_with_logits(
    logits: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Any:
    """`binary_cross_entropy` of sigmoid(logits), exact for large logits. `pos_weight` weighs the first term.

    >>> import numpy as np
    >>> float(binary_cross_entropy_with_logits(np.array([-1000.0]), np.array([1.0])))
    1000.0
    """
    logits, target = as_array(logits), as_array(target)
    positive = target if pos_weight is None else target * pos_weight
    losses = -(positive * log_sigmoid(logits) + (1.0 - target) * log_sigmoid(-logits))
    return reduced("binary_cross_entropy_with_logits", losses if weight is None else losses * weight, reduction)


@of_any_library
def mse_loss(x: Any, target: Any, reduction: str = "mean") -> Any:
    """The squared difference.

    >>> import numpy as np
    >>> float(mse_loss(np.array([1.0, 3.0]), np.zeros(2)))
    5.0
    """
    return reduced("mse_loss", np.square(as_array(x) - as_array(target)), reduction)


@of_any_library
def l1_loss(x: Any, target: Any, reduction: str = "mean") -> Any:
    """The absolute difference.

    >>> import numpy as np
    >>> float(l1_loss(np.array([1.0, -3.0]), np.zeros(2)))
    2.0
    """
    return reduced("l1_loss", np.abs(as_array(x) - as_array(target)), reduction)


@of_any_library
def huber_loss(x: Any, target: Any, delta: float = 1.0, reduction: str = "mean") -> Any:
    """Half the squared difference up to `delta`, and a straight line beyond.

    >>> import numpy as np
    >>> huber_loss(np.array([1.0, -3.0]), np.zeros(2), reduction="none")
    array([0.5, 2.5])
    """
    if delta <= 0:
        raise ValueError(f"nn.huber_loss: delta is {delta}; give a positive number")
    difference = as_array(x) - as_array(target)
    size = np.abs(difference)
    losses = np.where(size < delta, 0.5 * difference * difference, delta * (size - 0.5 * delta))
    return reduced("huber_loss", losses, reduction)


def smooth_l1_loss(x: Any, target: Any, beta: float = 1.0, reduction: str = "mean") -> Any:
    """`huber_loss` with delta = beta, divided by beta.

    >>> import numpy as np
    >>> smooth_l1_loss(np.array([1.0, -3.0]), np.zeros(2), beta=2.0, reduction="none")
    array([0.25, 2.  ])
    """
    return huber_loss(x, target, beta, reduction) / beta


@of_any_library
def kl_div(log_probs: Any, target: Any, reduction: str = "mean") -> Any:
    """target (log(target) - log_probs), the terms of the Kullback-Leibler divergence; 0 where target is 0.

    >>> import numpy as np
    >>> float(kl_div(np.log([0.5, 0.5]), np.array([0.5, 0.5])))
    0.0
    """
    log_probs, target = as_array(log_probs), as_array(target)
    losses = np.where(target > 0, target * np.log(np.where(target > 0, target, 1.0)), 0.0) - target * log_probs
    return reduced("kl_div", losses, reduction)


def _weighted(
    name: str, likelihood: Callable[[Any, Any, int], Any], x: Any, target: Any, weight: Any, ignore_index: int
) -> tuple[Any, Any]:
    """The loss of each target, from its log likelihood, and the weights in the mean."""
    target, axis, shape = as_array(target), _class_axis(x), shape_of(x)
    if dtype_of(target).kind not in "iu" or shape_of(target) != shape[:axis] + shape[axis + 1 :]:
        raise ValueError(
            f"nn.{name}: target has dtype {dtype_of(target)} and the shape {shape_of(target)}; give integers in the "
            f"shape {shape[:axis] + shape[axis + 1 :]}"
        )
    ignored = target == ignore_index
    wrong = ~ignored & ((target < 0) | (target >= shape[axis]))
    if bool(np.any(wrong)):
        raise ValueError(f"nn.{name}: target has elements that are no class; classes are 0 to {shape[axis] - 1}")
    counts = type(ignored) is np.ndarray and not ignored.any()  # all of them
    chosen = target if counts else np.where(ignored, 0, target)
    likelihoods = likelihood(x, chosen, axis)
    if weight is None:
        weights = np.where(ignored, 0.0, np.ones((), dtype_of(x)))
        if counts:
            return -likelihoods, weights
    else:
        weights = np.where(ignored, 0.0, np.take(as_array(weight), chosen))
    return np.where(ignored, 0.0, -likelihoods * weights), weights


def _class_axis(x: Any) -> int:
    return 0 if len(shape_of(x)) == 1 else 1


def _along(weight: Any, x: Any, axis: int) -> Any:
    """A weight for each class, in a shape to be combined with `x`."""
    if type(weight) is float:
        return weight
    return np.reshape(as_array(weight), (-1,) + (1,) * (len(shape_of(x)) - axis - 1))


def _bounded_log(p: Any) -> Any:
    """log(p), at least -100; the derivative is 0 where it is the bound."""
    low = p <= np.exp(-100.0)
    return np.where(low, -100.0, np.log(np.where(low, 1.0, p)))
