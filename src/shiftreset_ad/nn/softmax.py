"""Exponentials that are divided by their sum, and logarithms of sums of exponentials.

The largest element is subtracted first, as a constant: the functions do not change, and nothing overflows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.nn.calling import as_array, of_any_library
from shiftreset_ad.rules.plain import plain


@of_any_library
def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x) divided by its sum along `axis`.

    >>> import numpy as np
    >>> softmax(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    powers = np.exp(shifted_by_largest(as_array(x), axis)[0])
    return powers / np.sum(powers, axis=axis, keepdims=True)


@of_any_library
def log_softmax(x: Any, axis: int = -1) -> Any:
    """The logarithm of `softmax`.

    >>> import numpy as np
    >>> log_softmax(np.array([0.0, -1000.0]))
    array([    0., -1000.])
    """
    shifted, _ = shifted_by_largest(as_array(x), axis)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


@of_any_library
def logsumexp(x: Any, axis: Any = -1, keepdims: bool = False) -> Any:
    """The logarithm of the sum of exp(x) along an axis or several.

    If all elements are minus infinity, so is the answer, and the derivative is zero.

    >>> import numpy as np
    >>> float(logsumexp(np.array([1000.0, -np.inf])))
    1000.0
    """
    x = as_array(x)
    shifted, top = shifted_by_largest(x, axis)
    total = np.sum(np.exp(shifted), axis=axis, keepdims=True)
    empty = total == 0
    found = np.where(empty, -np.inf, np.log(np.where(empty, 1.0, total))) + top
    return found if keepdims else np.squeeze(found, axis)


def shifted_by_largest(x: Any, axis: Any) -> tuple[Any, Any]:
    """`x` minus its largest elements as constants, and these; 0 in place of an infinity."""

    def largest(x: Any) -> Any:
        top = np.max(x, axis=axis, keepdims=True)
        return np.where(np.isinf(top), 0.0, top)

    top = largest(plain(x))
    return x - top, top
