"""Differentiate plain Python: reverse mode by operator overloading and delimited continuations.

>>> from shiftreset_ad import grad
>>> grad(lambda x: 2 * x + x**3)(3.0)
29.0
"""

from shiftreset_ad import operations as _operations  # gives NumR its operators
from shiftreset_ad.control import Continuation, ContinuationUsedError, ControlError, Prompt, reset, shift
from shiftreset_ad.reverse import NumR, grad, value_and_grad
from shiftreset_ad.tags import EscapedNumberError, WrongThreadError
from shiftreset_ad.trees import plain as value

__version__ = "0.1.0"

__all__ = [
    "Continuation",
    "ContinuationUsedError",
    "ControlError",
    "EscapedNumberError",
    "NumR",
    "Prompt",
    "WrongThreadError",
    "grad",
    "reset",
    "shift",
    "value",
    "value_and_grad",
]

del _operations
