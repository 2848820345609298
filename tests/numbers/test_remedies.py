"""What an error tells a program to write is done here: the wrong program raises it, and the right one is right.

The texts of the tables are run as they stand; the others are programs that do what the error says. Their derivatives
are those of finite differences, forward and in reverse, and of second order.
"""

from __future__ import annotations

import cmath
import linecache
import math
import random
import re
import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import grad, hessian, jvp, value
from shiftreset_ad.numbers import draws, remedies

scipy = pytest.importorskip("scipy")
for _name in ("integrate", "interpolate", "linalg", "signal", "sparse.linalg", "spatial.distance", "special", "stats"):
    pytest.importorskip(f"scipy.{_name}")
    pytest.importorskip("shiftreset_ad.scipy")

X = np.array([0.62, 0.28, 0.47])
Y = np.array([0.7, 0.4, 0.3])
C = np.array([1.0, 2.0, 3.0])
M = np.array([[2.0, 0.5, 0.0], [0.5, 1.5, 0.3], [0.0, 0.3, 1.8]])


def agrees_with_differences(f: Callable[[Any], Any], x: Any = X) -> None:
    """The derivatives of the sum of sin(f(x)), of both modes and of second order; not all of them zero."""

    def g(x: Any) -> Any:
        return np.sum(np.sin(f(x)))

    directions = np.eye(x.size).reshape(x.size, *x.shape)
    slopes = np.array([(g(x + 1e-6 * d) - g(x - 1e-6 * d)) / 2e-6 for d in directions])
    assert np.any(slopes != 0)
    gradient = grad(g)(x)
    np.testing.assert_allclose(gradient.ravel(), slopes, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose([jvp(g, (x,), (d,))[1] for d in directions], slopes, rtol=1e-6, atol=1e-7)
    curvature = [(grad(g)(x + 1e-5 * d) - grad(g)(x - 1e-5 * d)).ravel() / 2e-5 for d in directions]
    np.testing.assert_allclose(hessian(g)(x).reshape(x.size, -1), curvature, rtol=1e-5, atol=1e-6)


def refused(f: Callable[[Any], Any], said: str, x: Any = X) -> None:
    """The program raises an error in which this is said, in both modes and inside of another derivative."""
    for derivative in (
        lambda: grad(lambda x: np.sum(f(x)))(x),
        lambda: jvp(f, (x,), (x,)),
        lambda: grad(lambda x: np.sum(grad(lambda x: np.sum(f(x)))(x)))(x),
    ):
        with pytest.raises((TypeError, ValueError, NotImplementedError, AttributeError), match=re.escape(said)):
            derivative()


# Texts that are expressions


def names(x: Any = None, **others: Any) -> dict[str, Any]:
    known = {"numpy": np, "scipy": scipy, "shiftreset_ad": sr, "n": (), "x": x}
    return {**known, "rng": np.random.default_rng(7), **others}


def evaluated(text: str, known: dict[str, Any]) -> Any:
    """The value of an expression, whose text errors can quote as that of a program in a file."""
    file = f"<{text}>"
    linecache.cache[file] = (len(text), None, [text], file)
    return eval(compile(text, file, "eval"), known)


def computed(text: str, known: dict[str, Any]) -> Any:
    """An expression; or an assignment, and then an expression with its result."""
    *first, last = text.split(", and then ")
    for statement in first:
        name, _, expression = statement.partition(" = ")
        known[name] = evaluated(expression, known)
    return evaluated(last.partition(", without")[0], known)


def parameters(x: Any, method: str) -> dict[str, Any]:
    """What stands for the parameters of a draw, in terms of x."""
    if method == "dirichlet":
        return {"a": 1.0 + x}
    if method == "multivariate_normal":
        return {"mean": x, "cov": M + 0.1 * np.outer(x, x)}
    if method == "triangular":
        return {"a": 0.5 * x[1], "c": x[2], "b": 1.0 + x[0]}
    if method in draws.OF_ELEMENTS:
        return {"x": x}
    a, b, k = 1.0 + x[0], 2.0 + x[1], 2.0 + x[2]
    return {"x": x[0], "s": x[1], "a": a, "b": b, "k": 3.0 if method == "vonmises" else k, "c": x[1]}


@pytest.mark.parametrize("method", [*draws.CONTINUOUS, *draws.OF_TWO_STEPS, *draws.OF_ELEMENTS])
def test_draws(method: str) -> None:
    pytest.importorskip("scipy")
    call, instead = draws.KNOWN[method]

    def wrong(x: Any) -> Any:
        return evaluated(call, known(x))

    def right(x: Any) -> Any:
        return computed(instead, known(x))

    def known(x: Any) -> dict[str, Any]:
        return names(**{"x": None, **parameters(x, method), **({"n": len(x)} if method == "dirichlet" else {})})

    refused(wrong, f"Use {instead} for {call}, or shiftreset_ad.value(x)")
    agrees_with_differences(right)


@pytest.mark.parametrize("method", ["normal", "uniform", "exponential", "laplace", "gumbel", "logistic", "rayleigh"])
def test_draws_are_the_same(method: str) -> None:
    """With the same seed."""
    call, instead = draws.CONTINUOUS[method]
    known = names(**{"x": None, **parameters(X, method)})
    same = evaluated(call, known)
    np.testing.assert_allclose(evaluated(instead, names(**{"x": None, **parameters(X, method)})), same)


@pytest.mark.parametrize("method", [*draws.CONTINUOUS, *draws.OF_TWO_STEPS])
def test_draws_have_the_same_distribution(method: str) -> None:
    """Their mean, of many."""
    pytest.importorskip("scipy")
    call, instead = draws.KNOWN[method]
    size = 40_000
    known = names(**{"x": None, **parameters(np.array([0.8, 0.9, 0.85]), method), "n": (size,)})
    known |= {"a": known["a"] + 3.0} if method == "pareto" else {}
    if method == "multivariate_normal":
        found = np.mean([computed(instead, known) for _ in range(4000)], axis=0)
        np.testing.assert_allclose(found, known["mean"], atol=0.1)
        return
    if method == "dirichlet":
        found = np.mean([computed(instead, known) for _ in range(4000)], axis=0)
        np.testing.assert_allclose(found, known["a"] / np.sum(known["a"]), atol=0.02)
        return
    theirs = evaluated(f"{call[:-1]}, size=n)", known)
    ours = computed(instead, known)
    np.testing.assert_allclose(np.mean(ours), np.mean(theirs), atol=4 * np.std(theirs) / np.sqrt(size) * 2)


@pytest.mark.parametrize("method", draws.COUNTS)
def test_counts(method: str) -> None:
    """Of constants, they are drawn; the rest of the program has its derivative."""
    rng: Any = np.random if method == "randint" else np.random.default_rng(1)
    others = {"negative_binomial": (3,), "binomial": (4,), "multinomial": (4,)}
    after = {"hypergeometric": (3, 3), "multivariate_hypergeometric": (2,)}
    scaled = {"integers": 9.0, "randint": 9.0, "hypergeometric": 9.0, "multivariate_hypergeometric": 9.0, "zipf": 4.0}

    def draw(p: Any) -> Any:
        arguments = ", ".join(map(str, (*others.get(method, ()), "p", *after.get(method, ()))))
        return evaluated(f"rng.{method}({arguments})", {"rng": rng, "p": p})

    def parameter(x: Any) -> Any:
        if method == "multinomial":
            return x / np.sum(x)
        scale = scaled.get(method, 1.0)
        return np.floor(scale * x).astype(int) if method == "multivariate_hypergeometric" else x[0] * scale

    if method != "multivariate_hypergeometric":  # its parameters are counts
        refused(lambda x: draw(parameter(x)) * x, f"Use rng.{method}(shiftreset_ad.value(p)), as a count has no deriv")
    count = draw(value(parameter(X)))
    agrees_with_differences(lambda x: np.sum(count) * x + x)


@pytest.mark.parametrize("name", remedies.OF_OTHERS)
def test_functions_of_other_libraries(name: str) -> None:
    library, _, function = name.rpartition(".")
    module = pytest.importorskip(library)
    pytest.importorskip("shiftreset_ad.scipy.signal")
    call, instead = remedies.OF_OTHERS[name]
    matrices = function == "cdist"

    def operands(x: Any) -> dict[str, Any]:
        if matrices:
            return {"a": np.stack([x, x * x]), "b": np.stack([Y, C])}
        classes = {"log_loss": [0, 1, 1], "brier_score_loss": [0, 1, 1], "hinge_loss": [-1, 1, 1]}
        y = np.array(classes[function]) if function in classes else Y
        return {"y": y, "a": C, "b": Y, "x": x + 1.0 if function == "interp1d" else x}

    def theirs(x: Any) -> Any:
        return evaluated(call.partition(" of ")[0], {function: getattr(module, function), **names(**operands(x))})

    def ours(x: Any) -> Any:
        return evaluated(instead, names(**operands(x)))

    refused(theirs, f"Use {instead} for {call}, or shiftreset_ad.value(x)")
    agrees_with_differences(ours)
    known = theirs(X)
    np.testing.assert_allclose(ours(X), known[0] if function == "pearsonr" else known, rtol=1e-9)


def test_functions_that_ours_forward() -> None:
    """The text is the same for SciPy's function under our name."""
    integrate = pytest.importorskip("shiftreset_ad.scipy.integrate")
    refused(lambda x: integrate.trapezoid(x), "Use numpy.trapezoid(x) for trapezoid(x)")
    refused(lambda x: sr.scipy.integrate.trapezoid(x), "Use numpy.trapezoid(x) for trapezoid(x)")  # type: ignore[attr-defined]


def test_distributions_that_ours_are_for() -> None:
    """By any name of the distribution, and with fixed parameters."""
    stats = pytest.importorskip("scipy.stats")
    ours = pytest.importorskip("shiftreset_ad.scipy.stats")
    normal, frozen = stats.multivariate_normal, stats.multivariate_normal(C)
    said = "Use shiftreset_ad.scipy.stats.multivariate_normal for scipy.stats.multivariate_normal"
    for wrong in (lambda x: normal.logpdf(C, x, M), lambda x: normal(x).logpdf(C), lambda x: frozen.pdf(x)):
        refused(wrong, said)
    agrees_with_differences(lambda x: ours.multivariate_normal.logpdf(C, x, M))
    agrees_with_differences(lambda x: ours.multivariate_normal(x).logpdf(C))
    refused(lambda x: stats.dirichlet.logpdf(X / np.sum(X), x), "Use shiftreset_ad.scipy.stats.dirichlet for")
    agrees_with_differences(lambda x: ours.dirichlet.logpdf(X / np.sum(X), x))
    refused(lambda x: normal.cdf(x, C), "Use functions that have a derivative rule, or give this one a rule by")


@pytest.mark.parametrize("name", remedies.OF_MATH)
def test_functions_of_math(name: str) -> None:
    pytest.importorskip("scipy.special")
    module: Any = cmath if name in ("phase", "polar") else math
    cases: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
        "dist": (lambda f, x: f(x, Y), lambda f, x: np.linalg.norm(x - Y)),
        "fsum": (lambda f, x: f(x), lambda f, x: np.sum(x)),
        "phase": (lambda f, x: f(x[0]), lambda f, x: np.angle(x[0] + 1j * x[1])),
        "polar": (lambda f, x: f(x[0]), lambda f, x: np.abs(x[0] + 1j * x[1]) + np.angle(x[0] + 1j * x[1])),
    }
    if not hasattr(module, name):
        pytest.skip("of a newer Python")
    instead = remedies.OF_MATH[name]
    wrong, right = cases.get(name, (lambda f, x: f(x[0]), lambda f, x: evaluated(instead, names(None))(x[0])))
    refused(lambda x: wrong(getattr(module, name), x), f"Use {instead} for {module.__name__}.{name}")
    agrees_with_differences(lambda x: right(None, x))


@pytest.mark.skipif(not hasattr(math, "sumprod"), reason="of a newer Python")
def test_sumprod_needs_no_other_function() -> None:
    """It multiplies and adds by the operators of what it is given."""
    agrees_with_differences(lambda x: math.sumprod(x, Y))
    agrees_with_differences(lambda x: math.sumprod([x[0], 1.5], [x[1], 2.0]))


# Programs that do what an error says

S = np.array([[1.0, 0.0, 2.0], [0.0, -3.0, 0.0]])


def sparse() -> Any:
    return scipy.sparse.csr_array(S)


def table() -> Any:
    return pytest.importorskip("pandas").DataFrame({"a": C, "b": Y, "c": X})


def written(cells: Any, index: Any, item: Any) -> Any:
    cells[index] = item
    return cells


class OfNothing:
    """A class that optree does not know."""


def shaped(x: Any) -> Any:
    x.shape = (3, 1)
    return x


def ours(name: str) -> Any:
    return pytest.importorskip(f"shiftreset_ad.scipy.{name}")


SPARSE = "Use S @ (x * v) for (S * x) @ v, or S.toarray() for the sparse S"
PANDAS = "Use df.to_numpy() for the df, with the numbers in NumPy's arrays: df.to_numpy() @ x for df @ x"
PROGRAMS: dict[str, tuple[Callable[[Any], Any], str, Callable[[Any], Any]]] = {
    # Methods of plain arrays
    "choose": (
        lambda x: np.array([0, 1, 0]).choose([x, C]),
        "numpy.choose(a, [x, y])",
        lambda x: np.choose(np.array([0, 1, 0]), [x, C]),
    ),
    "clip": (lambda x: C.clip(0.0, x, out=C), "numpy.clip", lambda x: np.clip(C, 0, x)),
    "dot": (lambda x: M.dot(x), "numpy.dot(a, x)", lambda x: np.dot(M, x)),
    "fill": (lambda x: C.copy().fill(x[0]), "numpy.full(a.shape, x)", lambda x: np.full(C.shape, x[0])),
    "put": (
        lambda x: C.copy().put(0, x[0]),
        "numpy.put(a, i, x) of an array a that takes numbers, shiftreset_ad.zeros(shape) + a",
        lambda x: (a := sr.zeros(C.shape) + C, np.put(a, 0, x[0]))[0],
    ),
    "searchsorted": (
        lambda x: C.searchsorted(x) * x,
        "numpy.searchsorted(a, x)",
        lambda x: np.searchsorted(C, x) * x + x,
    ),
    # Functions and modules
    "r_": (
        lambda x: np.r_[x[0] : 3.0 : 5j],
        "numpy.concatenate, and numpy.linspace for a slice",
        lambda x: np.concatenate([np.linspace(x[0], 3.0, 5), x]),
    ),
    "ndenumerate": (
        lambda x: sum(a for i, a in np.ndenumerate(x)),
        "x[i] for each i in numpy.ndindex(x.shape)",
        lambda x: sum(x[i] for i in np.ndindex(x.shape)),
    ),
    "vectorize": (
        lambda x: np.vectorize(lambda v: v * v)(x),
        "shiftreset_ad.array([f(v) for v in x])",
        lambda x: sr.array([v * v for v in x]),
    ),
    "frompyfunc": (
        lambda x: np.frompyfunc(lambda v: v * v, 1, 1)(x),
        "shiftreset_ad.array([f(v) for v in x])",
        lambda x: sr.array([v * v for v in x]),
    ),
    "full of an array": (
        lambda x: np.full((2, 3), x),
        "Use shiftreset_ad.zeros(shape) + x for numpy.full(shape, x)",
        lambda x: sr.zeros((2, 3)) + x,
    ),
    "full with a dtype": (
        lambda x: np.full(3, x[0], dtype=float),
        "Use shiftreset_ad.zeros(shape) + x for numpy.full(shape, x)",
        lambda x: sr.zeros(3) + x[0],
    ),
    "full_like of a plain array": (
        lambda x: np.full_like(C, x[0]),
        "Use shiftreset_ad.zeros(a.shape) + x for numpy.full_like(a, x)",
        lambda x: sr.zeros(C.shape) + x[0],
    ),
    "random": (
        lambda x: random.lognormvariate(x[0], x[1]),
        "numpy.random and its functions of fixed parameters: x + s * rng.normal() for random.gauss(x, s)",
        lambda x: x + Y * np.random.default_rng(0).normal(),
    ),
    "statistics": (
        lambda x: statistics.fmean(x),
        "numpy.mean, numpy.median, numpy.std and the like",
        lambda x: np.mean(x) + np.median(x) + np.std(x),
    ),
    "float": (lambda x: float(x[0]), "NumPy's functions, numpy.sin(x) for math.sin(x)", lambda x: np.sin(x[0])),
    "int": (
        lambda x: C[int(x[0])] * x,
        "int(shiftreset_ad.value(x)) for a count",
        lambda x: C[int(sr.value(x[0]))] * x,
    ),
    "index": (
        lambda x: sum(range(x[0])) * x,
        "use int(shiftreset_ad.value(x))",
        lambda x: sum(range(int(sr.value(x[0])))) * x + x,
    ),
    "asarray": (lambda x: np.asarray(x), "x is an array already, so numpy.asarray(x) can be left out", lambda x: x),
    "array of complex numbers": (
        lambda x: np.array([x[0] * 1j, x[1] * 1j]),
        "use numpy.stack or shiftreset_ad.array",
        lambda x: np.imag(np.stack([x[0] * 1j, x[1] * 1j]) + sr.array([x[0] * 1j, x[2] * 1j])),
    ),
    "masked": (
        lambda x: np.ma.masked_array(x, [True, False, False]),
        "Use numpy.where(mask, 0.0, x), or the where= of numpy.sum and the like",
        lambda x: np.where([True, False, False], 0.0, x) + np.sum(x, where=np.array([False, True, True])),
    ),
    "masked operand": (
        lambda x: x * np.ma.masked_array(C, [True, False, False]),
        "numpy.where(x.mask, 0.0, x.data) for a masked array",
        lambda x: (m := np.ma.masked_array(C, [True, False, False]), x * np.where(m.mask, 0.0, m.data))[1],
    ),
    # Writing
    "written": (
        lambda x: written(np.zeros(3), 0, x[0]),
        "make it an array that takes numbers, inside the function: cells = shiftreset_ad.zeros(cells.shape) + cells",
        lambda x: written(sr.zeros(3) + np.zeros(3), 0, x[0]),
    ),
    "a Series written": (
        lambda x: written(x * 1.0, slice(None), table()["a"]) * x,
        "write its array, numpy.asarray(v)",
        lambda x: written(x * 1.0, slice(None), np.asarray(table()["a"])) * x,
    ),
    "out": (
        lambda x: np.sin(x, out=np.zeros(3)),
        "Make a new array: y = f(x) for f(x, out=y), y = y + x for y += x; or make the array by numpy.zeros_like(x)",
        lambda x: np.sin(x, out=np.zeros_like(x)) + np.sin(x),
    ),
    "an argument": (
        lambda x: written(x, 0, 1.0),
        "Write to a copy, y = x.copy()",
        lambda x: written(x.copy(), 0, 1.0),
    ),
    "a complex number": (
        lambda x: written(x * 1.0, 0, 1j * x[0]),
        "Write its real part, numpy.real(v)",
        lambda x: written(x * 1.0, 0, np.real((1 + 1j) * x[0])),
    ),
    "shape": (shaped, "Write x = x.reshape(shape)", lambda x: x.reshape(3, 1)),
    "flat": (lambda x: sum(x.flat), "x.ravel() has the same elements", lambda x: sum(x.ravel())),
    "nan_to_num of an argument": (
        lambda x: np.nan_to_num(x, copy=False),
        "Write to a copy, y = x.copy()",
        lambda x: np.nan_to_num(x.copy(), copy=False),
    ),
    "insert": (
        lambda x: np.insert(np.arange(3), 0, x[0]),
        "give arr.astype(float)",
        lambda x: np.insert(np.arange(3).astype(float), 0, x[0]),
    ),
    "pad": (
        lambda x: np.pad(x, 1, lambda *args: None),
        "Pad by numpy.concatenate([before, x, after], axis)",
        lambda x: np.concatenate([C, x, C], 0),
    ),
    # Options
    "dtype of a ufunc": (
        lambda x: np.sin(x, dtype=np.float64),
        "Use numpy.where to choose, and x.astype to convert",
        lambda x: np.where(C > 1, np.sin(x.astype(np.float64)), 0.0),
    ),
    "complex order": (
        lambda x: np.maximum(x * 1j, Y),
        "Compare real numbers: numpy.where(numpy.abs(a) > numpy.abs(b), a, b)",
        lambda x: np.abs(np.where(np.abs(x * 1j) > np.abs(Y), x * 1j, Y)),
    ),
    "order": (lambda x: np.ravel(x, "K"), "give 'C' or 'F'", lambda x: np.ravel(x, "C") + np.ravel(x, "F")),
    "positions": (
        lambda x: np.take(x, x),
        "use shiftreset_ad.value(x).astype(int)",
        lambda x: np.take(C, sr.value(x).astype(int)) * x,
    ),
    "qr": (
        lambda x: np.linalg.qr(M + np.outer(x, x), "raw")[0],
        "Use 'reduced', 'complete' or 'r'",
        lambda x: np.linalg.qr(M + np.outer(x, x), "r"),
    ),
    "no rule": (
        lambda x: np.packbits(x),
        "Write it with functions that have one, or give it shiftreset_ad.value(x)",
        lambda x: np.packbits(sr.value(x) > 0.5) * x,
    ),
    # What is returned
    "an array": (lambda x: OfNothing(), "return ", lambda x: np.sum(x)),
    # Other libraries
    "S * x": (lambda x: sparse() * x, SPARSE, lambda x: sparse() @ (x * C) + np.sum(sparse().toarray() * x)),
    "x * S": (
        lambda x: x * sparse(),
        "Use S @ (x * v) for (S * x) @ v, or x * S.toarray()",
        lambda x: x * sparse().toarray(),
    ),
    "S * scalar": (lambda x: sparse() * x[0], SPARSE, lambda x: sparse().toarray() * x[0]),
    "S.multiply": (lambda x: sparse().multiply(x), SPARSE, lambda x: sparse().toarray() * x),
    "S.multiply of a scalar": (lambda x: sparse().multiply(x[0]), SPARSE, lambda x: sparse().toarray() * x[0]),
    "S + x": (lambda x: sparse() + x, "Use S.toarray() + x", lambda x: sparse().toarray() + x),
    "S + 0": (lambda x: sparse() + 0.0 * x[0], "Use S.toarray() + x", lambda x: sparse().toarray() + x[0]),
    "S - 0": (lambda x: sparse() - 0.0 * x[0], "Use S.toarray() - x", lambda x: sparse().toarray() - x[0]),
    "x - S": (lambda x: x - sparse(), "Use x - S.toarray()", lambda x: x - sparse().toarray()),
    "S / x": (lambda x: sparse() / x, SPARSE, lambda x: sparse().toarray() / x),
    "maximum of S": (
        lambda x: np.maximum(x, sparse()),
        "Use numpy.maximum(x, S.toarray())",
        lambda x: np.maximum(x, sparse().toarray()),
    ),
    "dot of S": (
        lambda x: np.dot(sparse(), x),
        "Use S @ x for numpy.dot(S, x), and S.toarray() for the sparse S in any other function",
        lambda x: sparse() @ x + np.dot(sparse().toarray(), x),
    ),
    "spsolve": (
        lambda x: scipy.sparse.linalg.spsolve(scipy.sparse.csc_array(M), x),
        "Use numpy.linalg with S.toarray() for the sparse S",
        lambda x: np.linalg.solve(scipy.sparse.csc_array(M).toarray(), x),
    ),
    "Series * x": (lambda x: table()["a"] * x, PANDAS, lambda x: table()["a"].to_numpy() * x),
    "x * Series": (lambda x: x * table()["a"], PANDAS, lambda x: x * table()["a"].to_numpy()),
    "Series * scalar": (lambda x: table()["a"] * x[0], PANDAS, lambda x: table()["a"].to_numpy() * x[0]),
    "DataFrame @ x": (lambda x: table() @ x, PANDAS, lambda x: table().to_numpy() @ x),
    "x @ DataFrame": (lambda x: x @ table(), PANDAS, lambda x: x @ table().to_numpy()),
    "DataFrame * scalar": (lambda x: table() * x[0], PANDAS, lambda x: table().to_numpy() * x[0]),
    "DataFrame.dot": (lambda x: table().dot(x), PANDAS, lambda x: np.dot(table().to_numpy(), x)),
    "a ufunc of a Series": (
        lambda x: np.minimum(table()["a"], x),
        PANDAS,
        lambda x: np.minimum(table()["a"].to_numpy(), x),
    ),
    "a Series of numbers": (lambda x: pytest.importorskip("pandas").Series(x), PANDAS, lambda x: np.stack([x, x])),
    "a column of numbers": (lambda x: table().assign(d=x), PANDAS, lambda x: np.column_stack([table().to_numpy(), x])),
    "predict": (
        lambda x: linear_model().predict(x[None]),
        "x @ model.coef_ + model.intercept_ is model.predict(x) of a linear model",
        lambda x: x[None] @ linear_model().coef_ + linear_model().intercept_,
    ),
    "expm": (
        lambda x: scipy.linalg.expm(np.outer(x, x)),
        "Use shiftreset_ad.scipy.linalg.expm for scipy.linalg.expm",
        lambda x: ours("linalg").expm(np.outer(x, x)),
    ),
    "solve": (
        lambda x: scipy.linalg.solve(M, x),
        "Use numpy.linalg.solve for scipy.linalg.solve",
        lambda x: np.linalg.solve(M, x),
    ),
    "a rule": (
        lambda x: scipy.linalg.sinm(np.outer(x, x)),
        "give this one a rule by shiftreset_ad.custom_vjp",
        lambda x: squared(x),
    ),
}  # fmt: skip


def linear_model() -> Any:
    return pytest.importorskip("sklearn.linear_model").LinearRegression().fit(M, C)


squared = sr.custom_vjp(lambda x: np.sum(x**2))
squared.defvjp(lambda x: (np.sum(x**2), x), lambda x, y_bar: (2.0 * x * y_bar,))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_errors_say(name: str) -> None:
    wrong, said, right = PROGRAMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of inefficient formats
        refused(wrong, said)
        agrees_with_differences(right)


def test_each_module_has_a_program() -> None:
    texts = [said.removeprefix("Use ") for _, said, _ in PROGRAMS.values()]
    done = {module for module, remedy in remedies.OF_MODULES.items() if any(text in remedy for text in texts)}
    assert remedies.OF_MODULES.keys() - done == {
        "json",
        "logging",
        "matplotlib",
        "xarray",
    }  # these write, draw and hold


# Other libraries that work


def test_comparisons_with_pandas_and_sparse_arrays() -> None:
    """Their answers are plain, as all comparisons are."""

    def f(x: Any) -> Any:
        mask = (x > table()["c"] - 0.1).to_numpy() & (table()["a"] > x).to_numpy()
        return np.sum(np.where(mask, x, 0.0)) + (sparse() == x[0]).sum() * x[0] + np.dot(table(), x)

    agrees_with_differences(f)


def test_functions_of_numpy_take_pandas() -> None:
    def f(x: Any) -> Any:
        column = table()["a"]
        return (
            np.where(column > 1, x, 0.0)
            + np.interp(x, column, column)
            + np.concatenate([x, column])[1:4]
            + (np.einsum("i,i", x, column) + x[column.index] + x[column > 1][0])
        )

    agrees_with_differences(f)


def test_arrays_of_xarray_hold_numbers() -> None:
    """A DataArray takes them as it takes arrays; what is returned is its `data`."""
    xarray = pytest.importorskip("xarray")
    weights = xarray.DataArray(C, dims="i")
    programs: list[Callable[[Any], Any]] = [
        lambda x: (weights * x).data,
        lambda x: (x * weights + x[0]).data,
        lambda x: np.sin(xarray.DataArray(x, dims="i")).data,
        lambda x: (xarray.DataArray(x, dims="i") * weights).sum().item(),
        lambda x: xarray.DataArray(x, dims="i", coords={"i": [5, 6, 7]}).sel(i=6).data,
        lambda x: weights.dot(xarray.DataArray(x, dims="i")).data,
        lambda x: xarray.where(weights > 1, x, 0.0).data,
        lambda x: (xarray.DataArray(x, dims="i") * xarray.DataArray(Y, dims="j")).mean("j").data,
        lambda x: xarray.Dataset({"v": ("i", x)})["v"].cumsum("i").data,
    ]
    for f in programs:
        agrees_with_differences(f)
    refused(lambda x: xarray.DataArray(x, dims="i").values, "Use x.data for the number in a DataArray")
    with pytest.raises(TypeError, match=r"a DataArray, whose number is y\.data"):
        grad(lambda x: np.sum(weights * x))(X)
