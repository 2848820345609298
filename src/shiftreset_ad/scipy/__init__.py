"""SciPy's functions for numbers that are being differentiated, where SciPy itself would convert them to an array.

SciPy's ufuncs (`scipy.special.erf`, `gammaln`, `expit`, `jv`, ...) have rules, and programs call them as they are.
SciPy's functions that are written in Python convert their arguments, which loses the derivative.
`shiftreset_ad.scipy.special` has functions in place of these, with the same signatures, and everything else of
`scipy.special`: a program only changes its import. In the same way, `stats` has distributions, `integrate` has
differential equations and integrals, `interpolate` has splines, `ndimage` has images, `optimize` has roots and least
squares, `sparse` has sparse arrays of numbers, `spatial` has distances, and `linalg` and `signal` have functions. This
package needs SciPy (`pip install scipy`), and the rest of the library does not.

>>> import numpy as np
>>> from shiftreset_ad import grad
>>> from shiftreset_ad.scipy import special
>>> grad(special.logsumexp)(np.zeros(2))
array([0.5, 0.5])
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

MODULES = (
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
)


def __getattr__(name: str) -> ModuleType:
    """A module of this package, imported at its first use, like SciPy's own modules."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(MODULES)}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return [*globals(), *MODULES]
