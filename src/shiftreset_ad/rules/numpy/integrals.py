"""Functions that are integrals of elementary functions. So are their derivatives, to any order and without division.

    i0(x) = 1/pi integral of cosh(x cos t) over t from 0 to pi
    sinc(x) = integral of cos(pi x t) over t from 0 to 1

For the first, the trapezoidal rule converges exponentially, as the integrand is periodic; for the second, Gauss's does.
Trefethen and Weideman, The exponentially convergent trapezoidal rule, SIAM Review 56 (2014), section 3.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from shiftreset_ad.rules.plain import plain
from shiftreset_ad.rules.table import LinearMap, structured

# Half of the period, as the integrand is symmetric. The error is about exp(-2 n**2 / x), which is below 1e-16 for all x
# with a finite value.
COSINES = np.cos((np.arange(120) + 0.5) * (math.pi / 240))


@cache
def gauss() -> tuple[Any, Any]:
    """The nodes and the weights on [0, 1]. They are computed when they are first needed, as `import` need not wait."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    return (nodes + 1.0) / 2, weights / 2


@structured(np.i0)
def _i0(x: Any) -> Any:
    def slope() -> Any:
        return np.mean(COSINES * np.sinh(np.expand_dims(x, -1) * COSINES), axis=-1)

    return np.i0(x), (LinearMap(lambda x_dot: slope() * x_dot, lambda y_bar: slope() * y_bar),)


@structured(np.sinc)
def _sinc(x: Any) -> Any:
    def slope() -> Any:
        """The derivative: by the integral near 0, and by (cos(pi x) - sinc(x)) / x far away, where it is exact."""
        nodes, weights = gauss()
        near = np.absolute(plain(x)) < 2
        angles = math.pi * nodes * np.expand_dims(np.where(near, x, 0.0), -1)
        integral = np.sum(-math.pi * nodes * weights * np.sin(angles), axis=-1)
        if np.all(near):
            return integral
        far = np.where(near, 2.0, x)
        return np.where(near, integral, (np.cos(math.pi * far) - np.sinc(far)) / far)

    return np.sinc(x), (LinearMap(lambda x_dot: slope() * x_dot, lambda y_bar: slope() * y_bar),)
