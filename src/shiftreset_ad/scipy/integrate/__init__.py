"""`scipy.integrate`, with solutions of differential equations, and integrals, that have derivatives.

`odes` has the differential equations and the rules of their solutions, and `sensitivities` and `adjoints` have the two
directions. `odeint` and `initial_values` have the functions that solve them. `integrals` has the rules of an integral,
and `quadrature` has the functions that integrate. Everything else of `scipy.integrate` is SciPy's own.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shiftreset_ad.scipy.integrate.initial_values import solve_ivp
from shiftreset_ad.scipy.integrate.odeint import odeint
from shiftreset_ad.scipy.integrate.quadrature import dblquad, nquad, quad, tplquad

__all__ = ["dblquad", "nquad", "odeint", "quad", "solve_ivp", "tplquad"]

_scipy: Any = import_module("scipy.integrate")


def __getattr__(name: str) -> Any:
    return getattr(_scipy, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_scipy)})
