"""PyTorch's own functions, such as `torch.sin(x)`, called with a number.

They work if NumPy has a function with the same meaning, under the same name or another. Any other function is an error.
For constants, `Standard` takes all of PyTorch's functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

ELEMENTWISE = {
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "exp2", "sqrt", "square")},
    **{name: name for name in ("log", "log1p", "log2", "log10", "logaddexp", "logaddexp2", "hypot", "reciprocal")},
    **{name: name for name in ("positive", "negative", "sign", "maximum", "minimum", "fmax", "fmin", "copysign")},
    **{name: name for name in ("floor", "ceil", "trunc", "isnan", "isinf", "isfinite", "signbit", "matmul", "where")},
    **{name: name for name in ("subtract", "multiply", "divide", "true_divide", "real", "imag", "angle", "outer")},
    **{f"{a}{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh") for a in ("a", "arc")},
    "abs": "absolute",
    "absolute": "absolute",
    "neg": "negative",
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "pow": "power",
    "atan2": "arctan2",
    "arctan2": "arctan2",
    "conj": "conjugate",
    "deg2rad": "deg2rad",
    "rad2deg": "rad2deg",
}
ALONG_AXES = {
    **{name: name for name in ("sum", "mean", "prod", "cumsum", "cumprod", "stack", "concatenate")},
    "amax": "max",
    "amin": "min",
    "cat": "concatenate",
    "concat": "concatenate",
}
OPTIONS = {"dim": "axis", "axis": "axis", "keepdim": "keepdims", "keepdims": "keepdims"}


def of_numbers(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call the function of NumPy that is the same as this function of PyTorch; TypeError if there is none."""
    name = getattr(function, "__name__", str(function))
    if name in ELEMENTWISE and not kwargs:
        return _numpy(ELEMENTWISE[name])(*args)
    if name in ALONG_AXES and len(args) <= 2 and OPTIONS.keys() >= kwargs.keys():
        options = {OPTIONS[option]: given for option, given in kwargs.items()}
        return _numpy(ALONG_AXES[name])(*args, **options)
    given = f" with {', '.join(kwargs)}" if kwargs else ""
    raise TypeError(
        f"torch.{name}{given} of a number that is being differentiated: write it with NumPy's functions, numpy.sin(x), "
        "or Python's operators, which also work on tensors; torch.sin(x) works if NumPy has the same function. Give "
        "shiftreset_ad.value(x) where a constant is meant"
    )


def _numpy(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(np, name)
    return found
