"""What to write instead of what would lose a derivative: by the function that is called, and what it is called on."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

BUILD = "numpy.stack([x, y]) or shiftreset_ad.array to build an array from numbers"
FORMAT = "f'{x:.3f}'"
_DRAWN = "fixed parameters, and compute with the number that they give: x + s * rng.normal() for rng.normal(x, s)"

WITH_OURS = {f"scipy.{name}" for name in ("integrate", "linalg", "signal", "special", "stats")}
OF_MATH = {
    "dist": "numpy.linalg.norm(x - y)",
    "erf": "scipy.special.erf",
    "erfc": "scipy.special.erfc",
    "fsum": "numpy.sum",
    "gamma": "scipy.special.gamma",
    "lgamma": "scipy.special.gammaln",
    "phase": "numpy.angle",
    "polar": "numpy.abs and numpy.angle",
    "sumprod": "numpy.dot",
}
OF_MODULES = {
    "random": _DRAWN,
    "numpy.random": _DRAWN,
    "statistics": "numpy.mean, numpy.median, numpy.std and the like",
    "scipy": "functions that have a derivative rule, or give this one a rule by shiftreset_ad.custom_vjp",
    "json": "shiftreset_ad.value(x) for what is written",
    "logging": FORMAT,
}
OF_FUNCTIONS = (
    (np.r_, "numpy.concatenate, and numpy.linspace for a slice"),
    (np.c_, "numpy.column_stack"),
    (np.ndenumerate, "x[i] for each i in numpy.ndindex(x.shape)"),
    (np.vectorize, "shiftreset_ad.array([f(v) for v in x])"),
)
# Methods of plain arrays, which ask nobody, as the functions do.
OF_METHODS = {
    "choose": "numpy.choose(a, [x, y])",
    "clip": "numpy.clip(a, 0, x)",
    "dot": "numpy.dot(a, x)",
    "fill": "numpy.full(a.shape, x)",
    "put": "numpy.put(a, i, x) of an array a that takes numbers, shiftreset_ad.zeros(shape) + a",
    "searchsorted": "numpy.searchsorted(a, x)",
}


def taking_numbers(array: str) -> str:
    """How to make a plain array one that takes numbers."""
    made = f"{array} = shiftreset_ad.zeros({array}.shape) + {array}"
    return f"make it an array that takes numbers, inside the function: {made}"


def of_function(function: Any, method: str | None) -> str | None:
    """What to write instead of a function; where it is not known, of a method of what it gives or of anything else."""
    for known, remedy in OF_FUNCTIONS:
        if function is known or (isinstance(known, type) and isinstance(function, known)):
            return remedy
    module, name = module_of(function), getattr(function, "__name__", "")
    if module in ("math", "cmath"):
        known_name = OF_MATH.get(name) or (f"numpy.{name}" if hasattr(np, name) else None)
        return known_name and f"{known_name} for {module}.{name}"
    found = [remedy for prefix, remedy in OF_MODULES.items() if f"{module}.".startswith(f"{prefix}.")]
    if found:
        return of_scipy(function) or found[-1]
    if method in OF_METHODS and (function is None or module.partition(".")[0] == "numpy"):
        return f"{OF_METHODS[method]}, as a method of a plain array cannot take a number"
    return None


def of_scipy(function: Any) -> str | None:
    """The function of ours, or of NumPy's, in place of one of SciPy's; None if there is none."""
    library = ".".join(module_of(function).split(".")[:2])
    if not library.startswith("scipy.") or library not in sys.modules:
        return None
    owner = getattr(function, "__self__", function)
    of_distribution = getattr(owner, "name", None) or getattr(getattr(owner, "dist", None), "name", None)
    method = "" if owner is function or of_distribution is None else function.__name__
    name = str(of_distribution or getattr(function, "__name__", ""))
    theirs = getattr(sys.modules[library], name, None)
    ours = vars(import_module(f"shiftreset_ad.{library}")).get(name) if library in WITH_OURS else None
    if theirs is not None and ours is not None and ours is not theirs:
        return f"shiftreset_ad.{library}.{name} for {library}.{name}" if not method or method in vars(ours) else None
    if library in ("scipy.linalg", "scipy.fft") and hasattr(getattr(np, library.partition(".")[2]), name):
        return f"{library.replace('scipy', 'numpy')}.{name} for {library}.{name}"
    return None


def module_of(function: Any) -> str:
    """The module that a function, or the object that it is a method of, comes from."""
    return getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__module__
