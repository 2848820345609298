"""Every rule, staged: the steps that were written down at one point are right at others, too.

The examples are those of `docs/coverage.py`, one call of each function. Of each the gradient, the gradient in one
argument after the other, the derivative by forward mode and one of second order are staged, at a point, and then called
at others: at ordinary ones by the steps alone, and where elements are equal, zero or negative by other steps if there
must be.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pytest

from shiftreset_ad import StagingWarning, grad, hessian, jacfwd, jvp, staged
from shiftreset_ad.boundary import trees
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from tests.docs import examples_of_numpy, examples_of_scipy

EXAMPLES, POINTS, points_of = (getattr(examples_of_numpy(), name) for name in ("EXAMPLES", "POINTS", "points_of"))
OF_SCIPY = examples_of_scipy().EXAMPLES if find_spec("scipy") else {}

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ALL = EXAMPLES | OF_SCIPY
if not hasattr(np, "row_stack"):  # since NumPy 2.5
    del ALL["numpy.row_stack"]
OURS = "shiftreset_ad.scipy"


def names(namespace: str, text: str) -> set[str]:
    return {f"{namespace}.{name}" for name in text.split()}


# Functions that are run as they are, and why
RUN_AS_THEY_ARE = {
    "a list of a number and of a staged value is to NumPy one of objects": names(
        "numpy", "array asarray asanyarray asarray_chkfinite ascontiguousarray asfortranarray"
    ),
    "random numbers": names(OURS, "linalg.logm"),
    "it calls SciPy with a sparse array": names(OURS, "sparse.csc_array sparse.csr_array"),
}
HAVE_REAL = np.linalg.eigvals(np.eye(2)).dtype.kind == "f"  # before NumPy 2.5, where they can
# Functions that are written down anew at other points, and why
SOLVERS = (
    "integrate.odeint integrate.solve_ivp integrate.quad integrate.nquad integrate.dblquad integrate.tplquad "
    "optimize.bisect optimize.brenth optimize.brentq optimize.ridder optimize.toms748 optimize.newton "
    "optimize.root_scalar optimize.root optimize.fsolve optimize.least_squares"
)
WRITTEN_ANEW = {
    "the dtype of the answer depends on the values": names("numpy.linalg", "eig eigvals" if HAVE_REAL else ""),
    "which elements a point lies between depends on its coordinates": names(OURS, "ndimage.map_coordinates"),
    "how many steps a solver takes depends on the values": names(OURS, f"{SOLVERS} signal.lfilter"),
    "SciPy's object is made of data without a derivative, and asks for their values": names(
        f"{OURS}.interpolate",
        "Akima1DInterpolator BSpline CubicSpline PPoly PchipInterpolator RegularGridInterpolator make_interp_spline",
    ),
}
# Those that take longest
SLOW = names(
    "scipy.special",
    "btdtria btdtrib bdtrik bdtrin nbdtrik nbdtrin gdtria gdtrib gdtrix fdtri fdtridfd stdtridf betainc betaincc "
    "betaincinv betainccinv fdtr fdtrc gdtr gdtrc chdtrc chdtri chdtriv stdtr stdtrit pdtrik",
)
SLOW |= names(
    OURS,
    "integrate.odeint integrate.solve_ivp integrate.dblquad integrate.nquad integrate.tplquad optimize.root "
    "optimize.least_squares stats.beta.cdf stats.beta.sf stats.beta.logcdf stats.beta.logsf stats.t.cdf stats.t.sf "
    "stats.t.logcdf stats.t.logsf stats.gamma.sf stats.gamma.logcdf stats.gamma.logsf stats.chi2.cdf stats.chi2.sf "
    "stats.chi2.logcdf",
)

NESTED = names(OURS, "integrate.dblquad integrate.nquad integrate.tplquad")  # integrals of integrals, by `quad`


# The derivatives


def parts_of(answer: Any) -> list[Any]:
    """The floating-point numbers in an answer, the complex ones by their parts."""
    found = []
    for leaf in trees.flatten(answer)[0]:
        kind = dtype_of(leaf).kind
        found += [leaf] if kind == "f" else [np.real(leaf), np.imag(leaf)] if kind == "c" else []
    return found


def direction_of(x: Any) -> Any:
    """Of the type and shape of `x`, and no function of it."""
    shape = shape_of(x)
    direction = np.cos(np.arange(float(np.prod(shape, dtype=int)))).reshape(shape) + 0.3
    direction = direction * (1.0 - 0.4j) if dtype_of(x).kind == "c" else direction
    return direction if shape else float(direction)


def total(answer: Any) -> Any:
    """A linear function: the cotangents that it gives are constants."""
    return sum((np.sum(part * direction_of(part)) for part in parts_of(answer)), 0.0)


def total_of_squares(answer: Any) -> Any:
    return sum((np.sum(part * part * direction_of(part)) for part in parts_of(answer)), 0.0)


def gradient(
    example: Callable[..., Any], xs: tuple[Any, ...], summed: Callable[[Any], Any] = total
) -> Callable[..., Any]:
    return grad(lambda *xs: summed(example(*xs)), argnums=tuple(range(len(xs))))


def each_gradient(example: Callable[..., Any], xs: tuple[Any, ...]) -> Callable[..., Any]:
    """In one argument after the other, as far as the others may be plain: not where numbers are written to them."""
    gradients = [grad(lambda *xs: total(example(*xs)), argnums=i) for i in range(len(xs))]
    gradients = [gradient for gradient in gradients if not isinstance(outcome(gradient, xs), Failure)]
    return lambda *xs: [gradient(*xs) for gradient in gradients]


def forward(example: Callable[..., Any], xs: tuple[Any, ...]) -> Callable[..., Any]:
    return lambda *xs: jvp(example, xs, tuple(map(direction_of, xs)))


def second_order(example: Callable[..., Any], xs: tuple[Any, ...]) -> Callable[..., Any]:
    return forward(gradient(example, xs, total_of_squares), xs)


DERIVATIVES = (gradient, each_gradient, forward, second_order)

# The points


def mapped(function: Callable[[Any], Any], xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """An array from each array, and a float from each float."""
    return tuple(function(x) if shape_of(x) else float(function(np.array([x]))[0]) for x in xs)


def moved(x: Any) -> Any:
    return x * (1.0 + 0.05 * np.cos(np.arange(x.size)).reshape(x.shape))


def turned(x: Any) -> Any:
    return 0.97 * np.roll(x, 1)


def with_zero_and_equal_elements(x: Any) -> Any:
    x = x.copy()
    x.flat[1:] = np.roll(x.flat[1:], 1)
    x.flat[2:3] = x.flat[1:2]
    x.flat[0] = 0.0
    return x


ORDINARY = (moved, turned)
AT_THE_EDGE = (with_zero_and_equal_elements, np.negative)


# What is compared


class Failure(NamedTuple):
    kind: str
    message: str


def outcome(f: Callable[..., Any], xs: tuple[Any, ...]) -> Any:
    """The answer, or what is raised."""
    try:
        return f(*xs)
    except Exception as error:
        return Failure(type(error).__name__, str(error))


def assert_same(found: Any, expected: Any) -> None:
    """The same to rounding, of the same types, shapes and dtypes, with NaN and infinities in the same places."""
    leaves, spec = trees.flatten(found)
    wanted, spec_wanted = trees.flatten(expected)
    assert spec == spec_wanted
    for x, y in zip(leaves, wanted, strict=True):
        assert type(x) is type(y)
        if not isinstance(y, float | complex | np.ndarray | np.generic):
            assert x == y
            continue
        assert shape_of(x) == shape_of(y)
        assert dtype_of(x) == dtype_of(y)
        for part, wanted_part in ((np.real(x), np.real(y)), (np.imag(x), np.imag(y))):
            finite = np.abs(wanted_part)[np.isfinite(wanted_part)]
            scale = float(finite.max(initial=0.0))
            np.testing.assert_allclose(part, wanted_part, rtol=1e-12, atol=1e-12 * scale)


def must_not_run(*xs: Any) -> Any:
    raise AssertionError("the function was run, where the steps could have been taken")


def behaviour(derivative: Callable[..., Any], xs: tuple[Any, ...]) -> str:
    """How the staged derivative does at other points: by the same steps, by others, or run as it is."""
    f = staged(derivative)
    with warnings.catch_warnings(record=True) as given, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        answer = derivative(*xs)
        for _ in range(2):
            assert_same(f(*xs), answer)
        gives_up = any(issubclass(warning.category, StagingWarning) for warning in given)
        ways = len(f.sources)
        points = [mapped(change, xs) for change in ORDINARY]
        answers = [derivative(*point) for point in points]
        for point, answer in zip(points, answers, strict=True):
            assert_same(f(*point), answer)
        anew = len(f.sources) > ways
        if not (gives_up or anew):
            f.__wrapped__ = must_not_run
            for point, answer in zip(points, answers, strict=True):
                assert_same(f(*point), answer)
            f.__wrapped__ = derivative
        for change in AT_THE_EDGE:
            point = mapped(change, xs)
            assert_same(outcome(f, point), outcome(derivative, point))
    return "run as it is" if gives_up else "written anew" if anew else "steps"


def expected_of(name: str) -> str:
    if any(name in group for group in RUN_AS_THEY_ARE.values()):
        return "run as it is"
    return "written anew" if any(name in group for group in WRITTEN_ANEW.values()) else "steps"


def check_rule(name: str, derivatives: tuple[Callable[..., Any], ...]) -> None:
    example = ALL[name]
    xs = tuple(POINTS[point] for point in points_of(example))
    found = {behaviour(derivative(example, xs), xs) for derivative in derivatives}
    assert expected_of(name) in found
    assert found <= {expected_of(name), "steps"}


USUAL = [name for i, name in enumerate(sorted(ALL.keys() - SLOW)) if i % 4 == 1 or expected_of(name) != "steps"]


@pytest.mark.parametrize("name", USUAL[::23])
def test_a_sample_of_the_rules_in_every_derivative(name):
    check_rule(name, DERIVATIVES)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ALL.keys() - NESTED))
def test_every_rule(name):
    """To second order, which has the steps of the gradient and of forward mode in it."""
    check_rule(name, (second_order,) if expected_of(name) == "steps" else DERIVATIVES)


# Positions and masks that depend on the values, in derivatives along directions that do not


def of_each_direction(function: Callable[..., Any], xs: tuple[Any, ...]) -> Callable[..., Any]:
    return jacfwd(function)


def hessian_of_total(function: Callable[..., Any], xs: tuple[Any, ...]) -> Callable[..., Any]:
    return hessian(lambda x: total_of_squares(function(x)))


BY_VALUES = {
    "an array of positions": lambda x: x[np.argsort(x)],
    "a position": lambda x: x[np.argmax(x)],
    "positions, of a constant": lambda x: x * POINTS["y"][np.argsort(POINTS["x"])] + x[np.argsort(-x)],
    "take": lambda x: np.take(x, np.argsort(x)[:2]),
    "take_along_axis": lambda x: np.take_along_axis(x, np.argsort(x), 0),
    "sum, where": lambda x: np.sum(x, where=x > 0.3),
    "bincount": lambda x: np.bincount(np.argsort(x), weights=x),
    "a mask": lambda x: x[x > 0.3],
    "piecewise, of one condition": lambda x: np.piecewise(x, x > 0.3, [np.sin, np.cos]),
}


@pytest.mark.parametrize("case", BY_VALUES)
@pytest.mark.parametrize("derivative", [gradient, forward, second_order, of_each_direction, hessian_of_total])
def test_positions_that_depend_on_values(case, derivative):
    xs = (POINTS["x"],)
    assert behaviour(derivative(BY_VALUES[case], xs), xs) == "steps"


@pytest.mark.parametrize("x", [np.ones(3), 2.0])
def test_functions_of_scipy_without_numbers(x):
    """Those that make arrays of what they are given are steps, too, where nothing is differentiated."""
    special = pytest.importorskip("shiftreset_ad.scipy.special")
    norm = pytest.importorskip("shiftreset_ad.scipy.stats").norm

    def f(x: Any) -> Any:
        return special.polygamma(1, x), special.comb(x + 3.0, 2.0), norm.logpdf(x, scale=x), special.logsumexp(x)

    assert behaviour(f, (x,)) == "steps"


# Rules that were written in another way, to be staged


def test_repeated_elements_of_sets_are_selected_in_their_order():
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    derivative = grad(lambda x: np.sum(np.setdiff1d(x, [9.0], assume_unique=True) * weights))
    np.testing.assert_array_equal(derivative(np.array([2.0, 1.0, 2.0, 3.0, 1.0])), weights)


@pytest.mark.parametrize("spread", [lambda t: np.reshape(t, (1, 1)), np.ravel], ids=["reshape", "ravel"])
def test_the_derivative_of_the_gradient_in_a_float_is_no_array(spread):
    for found in jvp(grad(lambda t: np.sum(spread(t) ** 2)), (0.5,), (2.0,)):
        assert not isinstance(found, np.ndarray)
    assert jvp(grad(lambda t: np.sum(spread(t) ** 2)), (0.5,), (2.0,)) == (1.0, 4.0)


@pytest.mark.parametrize("ufunc", [np.hypot, np.logaddexp, np.multiply, np.maximum])
def test_a_reduction_where_a_test_holds(ufunc):
    f = grad(lambda x: ufunc.reduce(np.sqrt(x), where=x > 0.5, initial=0.25))
    g = staged(f)
    for x in ([1.0, 0.25, 2.0], [4.0, 1.0, 0.25], [1.0, 0.25, 2.0], [0.25, 0.125, 0.25]):
        np.testing.assert_allclose(g(np.array(x)), f(np.array(x)), 1e-12)
    assert g.sources
