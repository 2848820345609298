"""`scipy.optimize`, with roots and least squares whose solutions have derivatives in all that the functions depend on.

SciPy finds a solution for plain values, and the rule of `shiftreset_ad.optimize` differentiates it. `calls` has what
the functions here share, and `roots` and `fitting` have the functions. `refusals` has those functions of SciPy's that
have no derivative, or another function in their place. The other names are SciPy's, and raise for numbers.
"""

from __future__ import annotations

from typing import Any

import scipy.optimize  # type: ignore[import-untyped]

from shiftreset_ad.scipy.forwarding import forwarding
from shiftreset_ad.scipy.optimize.fitting import least_squares
from shiftreset_ad.scipy.optimize.refusals import REFUSED
from shiftreset_ad.scipy.optimize.roots import (
    bisect,
    brenth,
    brentq,
    fsolve,
    newton,
    ridder,
    root,
    root_scalar,
    toms748,
)

__all__ = [
    "bisect",
    "brenth",
    "brentq",
    "fsolve",
    "least_squares",
    "newton",
    "ridder",
    "root",
    "root_scalar",
    "toms748",
]

_forwarded, __dir__ = forwarding(scipy.optimize, globals())


def __getattr__(name: str) -> Any:
    return REFUSED[name] if name in REFUSED else _forwarded(name)
