"""Spherical Bessel functions: derivatives in the argument (DLMF 10.51).

SciPy's functions are Python functions that make arrays of their arguments. So the functions here are ours, with SciPy's
values. Their order is the last argument, because `dispatched` functions look for numbers in the first argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.table import rule, special
from shiftreset_ad.rules.table import dispatched


def of_argument(name: str) -> Callable[..., Any]:
    """The spherical function of this name, with its argument first."""
    function = getattr(special, name)

    def spherical(z: Any, n: Any, derivative: bool) -> Any:
        return function(n, z, derivative)

    spherical.__name__ = spherical.__qualname__ = name
    spherical.__module__ = "scipy.special"
    return dispatched(spherical)


def derivative_by(function: Callable[..., Any], below: float, above: float) -> Callable[..., Any]:
    """(2n + 1) f_n' = below n f_(n-1) + above (n + 1) f_(n+1), and the same for the derivatives of both sides."""

    def partial(y: Any, z: Any, n: Any, derivative: bool) -> Any:
        n = np.asarray(n)
        before, after = function(z, np.maximum(n - 1, 0), derivative), function(z, n + 1, derivative)
        return (below * n * before + above * (n + 1) * after) / (2 * n + 1)

    return partial


SPHERICAL: dict[str, Callable[..., Any]] = {}
for _name, _below, _above in (
    ("spherical_jn", 1.0, -1.0),
    ("spherical_yn", 1.0, -1.0),
    ("spherical_in", 1.0, 1.0),
    ("spherical_kn", -1.0, -1.0),
):
    SPHERICAL[_name] = of_argument(_name)
    rule("f(z, n, derivative)", SPHERICAL[_name], z=derivative_by(SPHERICAL[_name], _below, _above))
