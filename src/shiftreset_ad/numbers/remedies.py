"""What to write instead of a call that would lose a derivative, for each function, method and module."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

from shiftreset_ad.numbers.draws import of_draw

BUILD = "numpy.stack([x, y]) or shiftreset_ad.array to build an array from numbers"
FORMAT = "f'{x:.3f}'"
_RULE = "give this one a rule by shiftreset_ad.custom_vjp"

WITH_OURS = {
    f"scipy.{name}"
    for name in ("integrate", "linalg", "ndimage", "optimize", "signal", "sparse.linalg", "special", "stats")
}
OF_MATH = {
    "dist": "numpy.linalg.norm(x - y)",
    "erf": "scipy.special.erf",
    "erfc": "scipy.special.erfc",
    "fsum": "numpy.sum",
    "gamma": "scipy.special.gamma",
    "lgamma": "scipy.special.gammaln",
    "phase": "numpy.angle",
    "polar": "numpy.abs and numpy.angle",
}
OF_MODULES = {
    "random": "numpy.random and its functions of fixed parameters: x + s * rng.normal() for random.gauss(x, s)",
    "statistics": "numpy.mean, numpy.median, numpy.std and the like",
    "scipy": f"functions that have a derivative rule, or {_RULE}",
    "scipy.sparse": "S @ (x * v) for (S * x) @ v, or S.toarray() for the sparse S in any other operation",
    "scipy.sparse.linalg": f"numpy.linalg with S.toarray() for the sparse S, or {_RULE}",
    "pandas": "df.to_numpy() for the df, with the numbers in NumPy's arrays: df.to_numpy() @ x for df @ x",
    "xarray": "x.data for the number in a DataArray",
    "matplotlib": "shiftreset_ad.value(x) for what is drawn",
    "sklearn": "NumPy's functions, as x @ model.coef_ + model.intercept_ is model.predict(x) of a linear model, or "
    + _RULE,
    "json": "shiftreset_ad.value(x) for what is written",
    "logging": FORMAT,
}
OF_FUNCTIONS = (
    (np.r_, "numpy.concatenate, and numpy.linspace for a slice"),
    (np.c_, "numpy.column_stack"),
    (np.ndenumerate, "x[i] for each i in numpy.ndindex(x.shape)"),
    (np.vectorize, "shiftreset_ad.array([f(v) for v in x])"),
    (np.full, "shiftreset_ad.zeros(shape) + x for numpy.full(shape, x)"),
    (np.full_like, "shiftreset_ad.zeros(a.shape) + x for numpy.full_like(a, x)"),
)
# Methods of plain arrays. They do not ask their arguments; NumPy's functions do.
OF_METHODS = {
    "choose": "numpy.choose(a, [x, y])",
    "clip": "numpy.clip(a, 0, x)",
    "dot": "numpy.dot(a, x)",
    "fill": "numpy.full(a.shape, x)",
    "put": "numpy.put(a, i, x) of an array a that takes numbers, shiftreset_ad.zeros(shape) + a",
    "searchsorted": "numpy.searchsorted(a, x)",
}
# Functions of SciPy and of scikit-learn that are one line in NumPy, for the operands x, y, a, b and so on.
OF_OTHERS = {
    "scipy.integrate.trapezoid": ("trapezoid(x)", "numpy.trapezoid(x)"),
    "scipy.integrate.cumulative_trapezoid": ("cumulative_trapezoid(x)", "numpy.cumsum((x[1:] + x[:-1]) / 2)"),
    "scipy.integrate.simpson": (
        "simpson(x) of an odd number of points",
        "(x[0] + 4 * numpy.sum(x[1:-1:2]) + 2 * numpy.sum(x[2:-1:2]) + x[-1]) / 3",
    ),
    "scipy.interpolate.interp1d": ("interp1d(a, b)(x)", "numpy.interp(x, a, b)"),
    "scipy.signal.correlate": ("correlate(x, y)", "shiftreset_ad.scipy.signal.convolve(x, numpy.flip(y))"),
    "scipy.signal.fftconvolve": ("fftconvolve(x, y)", "shiftreset_ad.scipy.signal.convolve(x, y)"),
    "scipy.signal.oaconvolve": ("oaconvolve(x, y)", "shiftreset_ad.scipy.signal.convolve(x, y)"),
    "scipy.spatial.distance.cdist": ("cdist(a, b)", "numpy.linalg.norm(a[:, None] - b, axis=-1)"),
    "scipy.spatial.distance.cityblock": ("cityblock(x, y)", "numpy.sum(numpy.abs(x - y))"),
    "scipy.spatial.distance.cosine": (
        "cosine(x, y)",
        "1 - x @ y / (numpy.linalg.norm(x) * numpy.linalg.norm(y))",
    ),
    "scipy.spatial.distance.euclidean": ("euclidean(x, y)", "numpy.linalg.norm(x - y)"),
    "scipy.spatial.distance.sqeuclidean": ("sqeuclidean(x, y)", "numpy.sum((x - y) ** 2)"),
    "scipy.stats.gmean": ("gmean(x)", "numpy.exp(numpy.mean(numpy.log(x)))"),
    "scipy.stats.hmean": ("hmean(x)", "1 / numpy.mean(1 / x)"),
    "scipy.stats.pearsonr": ("pearsonr(x, y)", "numpy.corrcoef(x, y)[0, 1]"),
    "scipy.stats.sem": ("sem(x)", "numpy.std(x, ddof=1) / numpy.sqrt(len(x))"),
    "scipy.stats.zscore": ("zscore(x)", "(x - numpy.mean(x)) / numpy.std(x)"),
    "sklearn.metrics.brier_score_loss": ("brier_score_loss(y, x)", "numpy.mean((y - x) ** 2)"),
    "sklearn.metrics.explained_variance_score": (
        "explained_variance_score(y, x)",
        "1 - numpy.var(y - x) / numpy.var(y)",
    ),
    "sklearn.metrics.hinge_loss": ("hinge_loss(y, x)", "numpy.mean(numpy.maximum(1 - y * x, 0))"),
    "sklearn.metrics.log_loss": ("log_loss(y, x)", "-numpy.mean(y * numpy.log(x) + (1 - y) * numpy.log(1 - x))"),
    "sklearn.metrics.max_error": ("max_error(y, x)", "numpy.max(numpy.abs(y - x))"),
    "sklearn.metrics.mean_absolute_error": ("mean_absolute_error(y, x)", "numpy.mean(numpy.abs(y - x))"),
    "sklearn.metrics.mean_absolute_percentage_error": (
        "mean_absolute_percentage_error(y, x)",
        "numpy.mean(numpy.abs((y - x) / y))",
    ),
    "sklearn.metrics.mean_squared_error": ("mean_squared_error(y, x)", "numpy.mean((y - x) ** 2)"),
    "sklearn.metrics.mean_squared_log_error": (
        "mean_squared_log_error(y, x)",
        "numpy.mean((numpy.log1p(y) - numpy.log1p(x)) ** 2)",
    ),
    "sklearn.metrics.median_absolute_error": ("median_absolute_error(y, x)", "numpy.median(numpy.abs(y - x))"),
    "sklearn.metrics.r2_score": (
        "r2_score(y, x)",
        "1 - numpy.sum((y - x) ** 2) / numpy.sum((y - numpy.mean(y)) ** 2)",
    ),
    "sklearn.metrics.root_mean_squared_error": (
        "root_mean_squared_error(y, x)",
        "numpy.sqrt(numpy.mean((y - x) ** 2))",
    ),
}


def taking_numbers(array: str) -> str:
    """How to make an array that takes numbers out of a plain array."""
    made = f"{array} = shiftreset_ad.zeros({array}.shape) + {array}"
    return f"make it an array that takes numbers, inside the function: {made}"


def of_function(function: Any, method: str | None) -> str | None:
    """What to write instead of a function. If the function is not known, what to write instead of a method."""
    for known, remedy in OF_FUNCTIONS:
        if function is known or (isinstance(known, type) and isinstance(function, known)):
            return remedy
    module, name = module_of(function), getattr(function, "__name__", "")
    if module in ("math", "cmath"):
        known_name = OF_MATH.get(name) or (f"numpy.{name}" if hasattr(np, name) else None)
        return known_name and f"{known_name} for {module}.{name}"
    if f"{module}.".startswith("numpy.random."):
        return of_draw(method or name)
    found = of_library(module)
    if found is not None:
        return of_scipy(function) or of_another(function) or found
    if method in OF_METHODS and (function is None or module.partition(".")[0] == "numpy"):
        return f"{OF_METHODS[method]}, as a method of a plain array cannot take a number"
    return None


def of_library(module: str) -> str | None:
    """What to write instead of a function of this module, or of an operator of its objects; None if nothing is known.

    If several entries fit, the last entry fits best.
    """
    found = [remedy for library, remedy in OF_MODULES.items() if f"{module}.".startswith(f"{library}.")]
    return found[-1] if found else None


def of_another(function: Any) -> str | None:
    """What NumPy has for a function of SciPy or of scikit-learn; None if nothing is known."""
    library, name = module_of(function), getattr(function, "__name__", "")
    while library and f"{library}.{name}" not in OF_OTHERS:
        library = library.rpartition(".")[0]
    if not library:
        return None
    call, instead = OF_OTHERS[f"{library}.{name}"]
    return f"{instead} for {call}"


def of_scipy(function: Any) -> str | None:
    """Our function, or NumPy's function, in place of a function of SciPy; None if there is none."""
    library = ".".join(module_of(function).split(".")[:2])
    if not library.startswith("scipy.") or library not in sys.modules:
        return None
    owner = getattr(function, "__self__", function)
    of_distribution = name_of_distribution(owner, library)
    method = "" if owner is function or of_distribution is None else function.__name__
    name = str(of_distribution or getattr(function, "__name__", ""))
    theirs = getattr(sys.modules[library], name, None)
    ours = vars(import_module(f"shiftreset_ad.{library}")).get(name) if library in WITH_OURS else None
    if theirs is not None and ours is not None and ours is not theirs:
        return f"shiftreset_ad.{library}.{name} for {library}.{name}" if not method or method in vars(ours) else None
    if library in ("scipy.linalg", "scipy.fft") and hasattr(getattr(np, library.partition(".")[2]), name):
        return f"{library.replace('scipy', 'numpy')}.{name} for {library}.{name}"
    return None


def name_of_distribution(owner: Any, library: str) -> str | None:
    """The name of a distribution, with or without fixed parameters; None for anything else."""
    for distribution in (owner, getattr(owner, "dist", None), getattr(owner, "_dist", None)):
        for name, theirs in vars(sys.modules[library]).items():
            if hasattr(theirs, "rvs") and not isinstance(theirs, type) and type(theirs) is type(distribution):
                return name
    return None


def module_of(function: Any) -> str:
    """The module of a function; for a method, the module of its object."""
    return getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__module__
