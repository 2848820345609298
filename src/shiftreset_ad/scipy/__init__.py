"""SciPy's functions as they take numbers: those that SciPy itself would make an array of.

SciPy's ufuncs (`scipy.special.erf`, `gammaln`, `expit`, `jv`, ...) have rules and are used as they are. Its functions
that are written in Python convert their arguments, which loses the derivative. `shiftreset_ad.scipy.special` has these,
with the same signatures, and everything else of `scipy.special`, too: a program changes the line that imports it.
`stats` has distributions, `integrate` has `odeint`, and `linalg` and `signal` have functions in the same way. It needs
SciPy, `pip install shiftreset_ad[scipy]`, which `import shiftreset_ad` itself does not.

>>> import numpy as np
>>> from shiftreset_ad import grad
>>> from shiftreset_ad.scipy import special
>>> grad(special.logsumexp)(np.zeros(2))
array([0.5, 0.5])
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

MODULES = ("integrate", "linalg", "signal", "special", "stats")


def __getattr__(name: str) -> ModuleType:
    """A module of this package, imported when it is first asked for, as SciPy's own are."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(MODULES)}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return [*globals(), *MODULES]
