"""Activation functions, element by element: compositions of NumPy's functions.

At a kink, each has PyTorch's derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.nn.calling import as_array, of_any_library
from shiftreset_ad.nn.error_function import erf
from shiftreset_ad.nn.gates import relu_of, sigmoid_of
from shiftreset_ad.nn.kernels import chosen

# Klambauer et al., Self-normalizing neural networks (2017): with these, mean 0 and variance 1 are a fixed point.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@of_any_library
def relu(x: Any) -> Any:
    """max(x, 0), with the derivative 0 at 0.

    >>> from shiftreset_ad import grad
    >>> [grad(relu)(x) for x in (-1.0, 0.0, 2.0)]
    [0.0, 0.0, 1.0]
    """
    return relu_of(x, chosen())


@of_any_library
def relu6(x: Any) -> Any:
    """min(max(x, 0), 6), with the derivative 0 at 0 and at 6.

    >>> relu6(7.0)
    array(6.)
    """
    return hard_tanh(x, 0.0, 6.0)


@of_any_library
def hard_tanh(x: Any, least: float = -1.0, most: float = 1.0) -> Any:
    """`x` between two bounds, with the derivative 0 at the bounds and beyond.

    >>> import numpy as np
    >>> hard_tanh(np.array([-2.0, 0.5]))
    array([-1. ,  0.5])
    """
    return np.where(x <= least, least, np.where(x >= most, most, x))


@of_any_library
def leaky_relu(x: Any, slope: float = 0.01) -> Any:
    """`x`, times `slope` where x is not positive.

    >>> import numpy as np
    >>> leaky_relu(np.array([-2.0, 0.5]))
    array([-0.02,  0.5 ])
    """
    return np.where(x > 0, x, slope * x)


@of_any_library
def prelu(x: Any, weight: Any) -> Any:
    """`leaky_relu` with a slope that may be differentiated, too: one element, or one for each channel (axis 1).

    >>> import numpy as np
    >>> prelu(np.array([[-2.0, -1.0]]), np.array([0.5, 0.25]))
    array([[-1.  , -0.25]])
    """
    x, weight = as_array(x), as_array(weight)
    if len(x.shape) > 1 and weight.size > 1:
        weight = np.reshape(weight, (-1,) + (1,) * (len(x.shape) - 2))
    return np.where(x > 0, x, weight * x)


@of_any_library
def elu(x: Any, alpha: float = 1.0) -> Any:
    """`x` where it is positive, otherwise alpha (exp(x) - 1).

    >>> import numpy as np
    >>> elu(np.array([-np.inf, 0.5]))
    array([-1. ,  0.5])
    """
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0.0, x)))


@of_any_library
def celu(x: Any, alpha: float = 1.0) -> Any:
    """`x` where it is positive, otherwise alpha (exp(x / alpha) - 1).

    >>> celu(0.5)
    array(0.5)
    """
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0.0, x) / alpha))


@of_any_library
def selu(x: Any) -> Any:
    """The scaled `elu` of self-normalizing networks.

    >>> import numpy as np
    >>> selu(np.array([1.0])).round(4)
    array([1.0507])
    """
    return SELU_SCALE * elu(x, SELU_ALPHA)


@of_any_library
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), exact also where it is very small.

    >>> float(sigmoid(0.0))
    0.5
    """
    return sigmoid_of(x)


@of_any_library
def log_sigmoid(x: Any) -> Any:
    """The logarithm of `sigmoid`.

    >>> float(log_sigmoid(-1000.0))
    -1000.0
    """
    return -np.logaddexp(0.0, -x)


@of_any_library
def softplus(x: Any, beta: float = 1.0) -> Any:
    """log(1 + exp(beta x)) / beta, without overflow.

    >>> float(softplus(1000.0))
    1000.0
    """
    return np.logaddexp(0.0, beta * x) / beta


@of_any_library
def softsign(x: Any) -> Any:
    """`x / (1 + |x|)`.

    >>> float(softsign(1.0))
    0.5
    """
    return x / (1.0 + np.abs(x))


@of_any_library
def silu(x: Any) -> Any:
    """x sigmoid(x), also called swish.

    >>> float(silu(0.0))
    0.0
    """
    return x * sigmoid(x)


@of_any_library
def mish(x: Any) -> Any:
    """x tanh(softplus(x)).

    >>> float(mish(0.0))
    0.0
    """
    return x * np.tanh(softplus(x))


@of_any_library
def hard_sigmoid(x: Any) -> Any:
    """min(max(x / 6 + 1/2, 0), 1).

    >>> float(hard_sigmoid(0.0))
    0.5
    """
    return relu6(x + 3.0) / 6.0


@of_any_library
def hard_swish(x: Any) -> Any:
    """x hard_sigmoid(x).

    >>> float(hard_swish(3.0))
    3.0
    """
    return x * hard_sigmoid(x)


@of_any_library
def gelu(x: Any, approximate: str = "none") -> Any:
    """x times the probability that a normal variable is below x; with "tanh", an approximation by tanh.

    The exact function needs SciPy, for NumPy's arrays. Raises ValueError for another word.

    >>> float(gelu(0.0, approximate="tanh"))
    0.0
    """
    if approximate == "tanh":
        return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    if approximate != "none":
        raise ValueError(f'nn.gelu: approximate is {approximate!r}; give "none" or "tanh"')
    return 0.5 * x * (1.0 + erf(x * 0.7071067811865476))
