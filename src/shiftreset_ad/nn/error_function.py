"""The error function: SciPy's for NumPy's arrays, and that of another array's own library."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.array_api.standard import Standard
from shiftreset_ad.nn.calling import operation
from shiftreset_ad.rules.same import SAME_FOR_ARRAYS
from shiftreset_ad.rules.table import LinearMap, structured


@operation(1)
def erf(x: Any) -> Any:
    """The error function."""
    if isinstance(x, Standard):
        return x.apply("erf")
    return _of_scipy()(x)


def _of_scipy() -> Any:
    try:
        from scipy.special import erf  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError('nn.gelu: SciPy is needed; pip install scipy, or give approximate="tanh"') from None
    return erf


SAME_FOR_ARRAYS[erf] = _of_scipy


@structured(erf, kept=("x",))
def _erf(x: Any) -> Any:
    def times_slope(direction: Any) -> Any:
        return 1.1283791670955126 * np.exp(-x * x) * direction

    return erf(x), (LinearMap(times_slope, times_slope),)
