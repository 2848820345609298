"""Distributions of counts: SciPy's values, and their derivatives in the parameters, but not in the counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.scipy.stats.continuous import within
from shiftreset_ad.scipy.stats.distribution import Distribution
from shiftreset_ad.scipy.stats.located import Moments, located, moment_methods, standard

Slopes = dict[str, dict[str, Callable[..., Any]]]  # (y, k, *shapes) by method, and by parameter


def discrete(name: str, shapes: tuple[str, ...], moments: Moments, slopes: Slopes, least: float = 0.0) -> Distribution:
    """A distribution of counts from `least` on, by the derivatives of its methods, and by `mean(*shapes)` and
    `var(*shapes)`. `slopes` has the derivatives in those parameters in which a method has one.
    """
    methods = {}
    for method, of_parameters in slopes.items():
        counted: Any = {key: within((least, np.inf), slope) for key, slope in of_parameters.items()}
        methods[method] = located(name, method, standard(name, method, ("k", *shapes), **counted), shapes)
    return Distribution(name, methods | moment_methods(name, moments, shapes))
