"""`scipy.interpolate`: piecewise polynomials and splines with derivatives in the data, the knots and the points.

`piecewise` evaluates polynomials between knots, and `cubic` and `slopes` make them from data. `bsplines` has splines by
their coefficients, and `grids` interpolates on grids. All other functions are SciPy's, and raise for numbers.
"""

from __future__ import annotations

import scipy.interpolate  # type: ignore[import-untyped]

from shiftreset_ad.scipy.forwarding import forwarding
from shiftreset_ad.scipy.interpolate.bsplines import BSpline, make_interp_spline
from shiftreset_ad.scipy.interpolate.cubic import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
)
from shiftreset_ad.scipy.interpolate.grids import RegularGridInterpolator
from shiftreset_ad.scipy.interpolate.piecewise import PPoly

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "CubicHermiteSpline",
    "CubicSpline",
    "PPoly",
    "PchipInterpolator",
    "RegularGridInterpolator",
    "make_interp_spline",
]

__getattr__, __dir__ = forwarding(scipy.interpolate, globals())
