"""`shiftreset_ad.scipy.stats`: SciPy's distributions, in the middle, in the tails, at the edges and outside."""

from __future__ import annotations

import copy
import inspect
import math

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import grad
from shiftreset_ad.scipy import stats
from shiftreset_ad.testing import check_grads
from tests.rules.three_ways import assert_close, check, examples, generators

INF = math.inf
few = settings(examples, max_examples=5)
# Of each continuous distribution, how many parameters its shape has.
CONTINUOUS = {"norm": 0, "beta": 2, "gamma": 1, "chi2": 1, "t": 1}
CONTINUOUS |= {"expon": 0, "lognorm": 1, "uniform": 0, "laplace": 0, "cauchy": 0, "logistic": 0, "gumbel_r": 0}
CONTINUOUS |= {"weibull_min": 1, "pareto": 1, "f": 2, "invgamma": 1, "truncnorm": 2, "vonmises": 1}
POSITIVE = {"gamma", "chi2", "expon", "lognorm", "weibull_min", "f", "invgamma"}
DENSITIES = ("pdf", "logpdf")
QUANTILES = ("ppf", "isf")
METHODS = (*DENSITIES, "cdf", "sf", "logcdf", "logsf")
SHAPES = st.sampled_from(
    [((), (), ()), ((), (3,), (2, 1)), ((3,), (), (3,)), ((2, 3), (3,), (2, 1)), ((2, 1), (1, 3), ())]
)


def draw_x(name, generator, shape):
    """Inside of the support, at location 0 and scale 1."""
    if name in ("beta", "uniform", "truncnorm"):
        return generator.uniform(0.1, 0.9, shape)[()]
    if name in POSITIVE:
        return generator.uniform(0.2, 4.0, shape)[()]
    if name == "pareto":
        return generator.uniform(1.2, 4.0, shape)[()]
    return generator.normal(size=shape)[()]


def draw_shapes(name, generator, shape):
    given = [generator.uniform(1.2, 4.0, shape)[()] for _ in range(CONTINUOUS[name])]
    return [-given[0], given[1]] if name == "truncnorm" else given


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("method", METHODS + QUANTILES)
@pytest.mark.parametrize("name", CONTINUOUS)
@few
@given(shapes=SHAPES, generator=generators)
def test_continuous(name, method, shapes, generator):
    f = getattr(getattr(stats, name), method)
    given = draw_shapes(name, generator, shapes[1])
    loc, scale = generator.normal(size=shapes[2])[()], generator.uniform(0.5, 2.0, shapes[1])[()]
    if method in QUANTILES:
        x = generator.uniform(0.1, 0.9, shapes[0])[()]
    else:
        x = draw_x(name, generator, shapes[0]) * scale + loc
    if name == "vonmises" and method not in DENSITIES:  # which has none in kappa
        (kappa,) = given
        check(lambda x, loc, scale: f(x, kappa, loc, scale), x, loc, scale, generator=generator, dtypes=False)
        return
    check(lambda *xs: f(*xs[:-1], scale=xs[-1]), x, *given, loc, scale, generator=generator, dtypes=False)


@pytest.mark.parametrize("method", ["mean", "var", "std"])
@pytest.mark.parametrize("name", [name for name in CONTINUOUS if name not in ("cauchy", "vonmises")])
def test_moments(name, method):
    f, generator = getattr(getattr(stats, name), method), np.random.default_rng(0)
    expected = getattr(getattr(scipy.stats, name), method)
    for shape in ((), (2, 3)):
        given = [4.5 + x if name != "truncnorm" else x for x in draw_shapes(name, generator, shape)]
        given = [x / 8.0 for x in given] if name == "lognorm" else given
        loc, scale = generator.normal(size=shape)[()], generator.uniform(0.5, 2.0, shape)[()]
        check(lambda *xs: f(*xs[:-1], scale=xs[-1]), *given, loc, scale, generator=generator, dtypes=False)
        found = of_numbers(lambda loc, given=given, scale=scale: f(*given, loc, scale), loc)
        np.testing.assert_allclose(found, expected(*given, loc, scale), rtol=1e-11)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *[("pareto", (0.5,)), ("pareto", (1.5,)), ("t", (1.5,)), ("t", (0.5,)), ("f", (2.0, 1.0)), ("f", (2.0, 3.0))],
        *[("invgamma", (0.5,)), ("invgamma", (1.5,)), ("lognorm", (-1.0,)), ("truncnorm", (-1.0, INF))],
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_moments_that_are_infinite_or_none_are_scipys(name, given):
    for method in ("mean", "var", "std"):
        ours, theirs = getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)
        for loc, scale in [(0.0, 1.0), (2.0, 3.0), (0.0, -1.0)]:
            found = of_numbers(lambda loc, ours=ours, scale=scale: ours(*given, loc, scale), loc)
            np.testing.assert_allclose(found, theirs(*given, loc, scale), rtol=1e-11)


# Of each distribution of counts, where its parameters are drawn from, those of them that are constant, and its least
COUNTS = {
    "poisson": ([(0.5, 4.0)], (), 0),
    "binom": ([None, (0.1, 0.9)], (5,), 0),
    "bernoulli": ([(0.1, 0.9)], (), 0),
    "geom": ([(0.1, 0.9)], (), 1),
    "nbinom": ([(0.6, 4.0), (0.1, 0.9)], (), 0),
}
OF_COUNTS = ("pmf", "logpmf", "cdf", "sf", "logcdf", "logsf")


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("method", OF_COUNTS)
@pytest.mark.parametrize("name", COUNTS)
@few
@given(shapes=SHAPES, generator=generators)
def test_counts(name, method, shapes, generator):
    f = getattr(getattr(stats, name), method)
    intervals, constants, least = COUNTS[name]
    k = generator.integers(least, 1 if name == "bernoulli" else 5, shapes[0])
    given = [generator.uniform(*interval, shapes[1])[()] for interval in intervals if interval]
    check(lambda *xs: f(k, *constants, *xs, 0), *given, generator=generator, dtypes=False)
    check(lambda *xs: f(k + 2.0, *constants, *xs, loc=2), *given, generator=generator, dtypes=False)


@pytest.mark.parametrize("method", ["mean", "var", "std"])
@pytest.mark.parametrize("name", COUNTS)
def test_moments_of_counts(name, method):
    f, expected = getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)
    generator = np.random.default_rng(0)
    intervals, constants, _ = COUNTS[name]
    given = [generator.uniform(*interval) for interval in intervals if interval]
    check(lambda *xs: f(*constants, *xs), *given, 0.5, generator=generator, dtypes=False)
    for bad in (given, [-1.0 for _ in given]):
        found = of_numbers(lambda x, bad=bad: f(*constants, *bad[:-1], x), bad[-1])
        np.testing.assert_allclose(found, expected(*constants, *bad), rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_precisions(name, dtype):
    given = (-1.5, 2.5) if name == "truncnorm" else (1.5, 2.5)
    x = [1.75, 2.5] if name == "pareto" else [0.25, 0.5]
    parameters = (*map(dtype, given[: CONTINUOUS[name]]), dtype(1.5))
    every = tuple(range(len(parameters) + 1))
    for method in METHODS + QUANTILES:
        if name == "vonmises" and method not in DENSITIES:
            continue
        operands = (np.array([0.25, 0.5] if method in QUANTILES else x, dtype), *parameters)
        f = getattr(getattr(stats, name), method)
        of = lambda *xs, f=f: f(*xs[:-1], 0.0, xs[-1])  # noqa: E731
        assert of_numbers(lambda x, of=of: of(x, *parameters), operands[0]).dtype == of(*operands).dtype
        gradient = grad(lambda *xs, of=of: np.sum(of(*xs)), argnums=every)
        found, expected = gradient(*operands), gradient(*(x.astype(float) for x in operands))
        for x_bar, exact, operand in zip(found, expected, operands, strict=True):
            assert x_bar.dtype == operand.dtype == dtype
            rounding = (64 if method in QUANTILES else 4) * np.finfo(dtype).eps  # at a quantile that is rounded
            np.testing.assert_allclose(x_bar, exact, rtol=rounding, atol=2 * np.finfo(dtype).eps)


# Values are SciPy's, at any point, for good parameters and for bad ones

POINTS = [-INF, -40.0, -2.0, -0.5, 0.0, 0.3, 0.5, 1.0, 2.5, 40.0, INF, math.nan]


def of_numbers(f, x):
    """The value of f at x, where x is being differentiated."""
    return grad(lambda x: (np.sum(x) * 0.0, sr.value(f(x))), has_aux=True)(np.asarray(x))[1]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("method", METHODS + QUANTILES)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_values_are_scipys(name, method):
    ours, theirs = getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)
    for shapes in [(0.5, 1.0), (1.0, 2.0), (2.0, 1.0), (3.5, 0.7), (-1.0, 2.0), (0.0, 0.0), (-INF, INF)]:
        for loc, scale in [(0, 1), (0.5, 2.0), (0.0, 0.0), (1.0, -1.0)]:
            args = (*shapes[: CONTINUOUS[name]], loc, scale)
            expected = theirs(POINTS, *args)
            np.testing.assert_array_equal(ours(POINTS, *args), expected)
            found = of_numbers(lambda x, args=args: ours(x, *args), POINTS)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("method", OF_COUNTS)
@pytest.mark.parametrize("name", COUNTS)
def test_values_of_counts_are_scipys(name, method):
    ours, theirs = getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)
    for last in (-1.0, 0.0, 0.3, 0.7, 1.0, 30.0):
        for first in [(0,), (4,), (-1,)] if name == "binom" else [(2.5,), (0.0,)] if name == "nbinom" else [()]:
            for loc in (0, 1.5, 2):
                expected = theirs(POINTS, *first, last, loc)
                np.testing.assert_array_equal(ours(POINTS, *first, last, loc), expected)
                found = of_numbers(lambda x, first=first, loc=loc: ours(POINTS, *first, x, loc), last)
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_the_interface_is_scipys(name):
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    assert set(METHODS + QUANTILES) <= set(vars(ours)) <= set(dir(ours))
    assert set(dir(theirs)) <= set(dir(ours))
    assert inspect.signature(ours.pdf) == inspect.signature(theirs.pdf)
    given = (1.5, 2.5)[: CONTINUOUS[name]]
    assert ours.entropy(*given) == theirs.entropy(*given)
    assert ours.ppf(0.3, *given) == theirs.ppf(0.3, *given)
    np.testing.assert_array_equal(ours(*given, loc=1.0).mean(), theirs(*given, loc=1.0).mean())
    assert ours(*given, loc=1.0).logpdf(1.5) == theirs(*given, loc=1.0).logpdf(1.5)
    assert copy.copy(ours).pdf(0.5, *given) == theirs.pdf(0.5, *given)
    assert stats.expon.pdf(0.5) == scipy.stats.expon.pdf(0.5)
    assert stats.rv_continuous is scipy.stats.rv_continuous
    assert {"zscore", "norm"} <= set(dir(stats))


# The tails


@pytest.mark.parametrize("x", [-5.0, -40.0, -1e5])
def test_tails_of_the_normal(x):
    # the hazard is -x + 1 / -x - 2 / -x**3 + 10 / -x**5 - ...: the ratio of Mills
    slope, second = grad(stats.norm.logcdf)(x), grad(grad(stats.norm.logcdf))(x)
    hazard = math.sqrt(2 / math.pi) / scipy.special.erfcx(-x / math.sqrt(2))
    assert slope == pytest.approx(hazard, rel=1e-14)
    assert grad(stats.norm.logsf)(-x) == -slope
    assert second == pytest.approx(-1.0 + 1.0 / x**2 - 6.0 / x**4, rel=1.2e-2 if x == -5.0 else 1e-5)
    assert grad(lambda s: stats.norm.logcdf(x, scale=s))(1.0) == pytest.approx(-x * hazard, rel=1e-14)


def test_other_tails():
    assert grad(stats.norm.pdf)(-30.0) == pytest.approx(30.0 * scipy.stats.norm.pdf(30.0), rel=1e-14)
    assert grad(stats.norm.sf)(30.0) == pytest.approx(-scipy.stats.norm.pdf(30.0), rel=1e-14)
    assert grad(lambda x: stats.gamma.logpdf(x, 2.0))(1e6) == pytest.approx(1e-6 - 1.0, rel=1e-15)
    assert grad(lambda x: stats.t.logpdf(x, 3.0))(1e150) == pytest.approx(-4e-150, rel=1e-14)
    assert grad(lambda x: stats.t.logcdf(x, 3.0))(-1e10) == pytest.approx(3e-10, rel=1e-12)
    for df in (1e8, INF):
        assert grad(lambda x, df=df: stats.t.logpdf(x, df))(0.7) == pytest.approx(-0.7, rel=1e-7)
        assert abs(grad(lambda df: stats.t.logpdf(0.7, df))(df)) < 1e-9


# Of the logarithm of a distribution function far out, which operand, and its first two derivatives (with sixty digits)
IN_SHAPES = [
    (stats.gamma.logcdf, (1e-8, 2.5), 1, -19.523837385413934, -0.3303577556337626),
    (stats.gamma.logcdf, (1e-90, 3.25), 1, -208.5573415882246, -0.26512373409656215),
    (stats.gamma.logsf, (60.0, 2.5), 1, 3.4079855746729835, -0.49008483513978196),
    (stats.gamma.logsf, (700.0, 2.5), 1, 5.849353281143774, -0.49035571821278084),
    (stats.chi2.logcdf, (1e-12, 5.0), 1, -14.71366246856689, -0.08258943902505289),
    (stats.chi2.logsf, (300.0, 4.0), 1, 2.2972586675891886, -0.16122255274921493),
    (stats.beta.logcdf, (1e-6, 2.5, 0.75), 1, -13.901676267133164, 0.02944052254753224),
    (stats.beta.logcdf, (1e-6, 2.5, 0.75), 2, 2.1028510765686477, -2.182081357361981),
    (stats.beta.logsf, (1.0 - 2.0**-30, 2.5, 3.5), 1, 1.0029610270621954, -0.30903480036311953),
    (stats.beta.logsf, (1.0 - 2.0**-30, 2.5, 3.5), 2, -20.477168674795074, -0.06740214727123423),
    (stats.t.logcdf, (-1e10, 3.0), 1, -22.11673093837979, 0.20531074435366456),
    (stats.t.logcdf, (-8.0, 100.0), 1, -0.05415508283819045, 0.0007924143787621589),
    (stats.t.logsf, (50.0, 7.0), 1, -2.508049112659959, 0.07980682103760275),
    (stats.lognorm.logcdf, (1e-15, 1.25), 1, 611.5765802348802, -1466.5104337172286),
    (stats.lognorm.logsf, (1000000000000000.0, 1.25), 1, 611.5765802348802, -1466.5104337172286),
    (stats.weibull_min.logsf, (40.0, 1.5), 1, -933.2208871038902, -3442.5393565875215),
    (stats.weibull_min.logcdf, (1e-20, 1.5), 1, -46.051701859880914, -1.0603796220956803e-27),
    (stats.pareto.logsf, (1e20, 2.5), 1, -46.051701859880914, -1.8314588644e-314),
    (stats.f.logcdf, (1e-06, 2.5, 3.5), 1, -6.4008733492982435, 0.15940092355890087),
    (stats.f.logcdf, (1e-06, 2.5, 3.5), 2, -0.01948677464385882, 0.009748784580471959),
    (stats.invgamma.logsf, (1000000.0, 2.5), 1, -14.918667280242179, -0.33035770945299986),
    (stats.truncnorm.logsf, (30.5, 30.0, 31.0), 1, 30.033259667435328, 0.9988962285377113),
    (stats.truncnorm.logcdf, (30.5, 30.0, 31.0), 1, -7.975087921234648e-06, -0.00023978319878312237),
    (stats.truncnorm.logcdf, (0.5, -1.0, 8.0), 2, -6.004995107113079e-15, 4.803996085690467e-14),
    (stats.truncnorm.logpdf, (30.5, 30.0, 31.0), 1, 30.033259667435328, 0.9988962285377113),
]


@pytest.mark.parametrize(("f", "at", "i", "slope", "second"), IN_SHAPES)
def test_tails_in_the_parameters_of_the_shape(f, at, i, slope, second):
    assert grad(f, i)(*at) == pytest.approx(slope, rel=1e-11)
    twice = grad(lambda *at: grad(f, i)(*at), i)(*at)  # in which the square of the slope cancels
    assert twice == pytest.approx(second, rel=1e-9, abs=1e-12 * slope**2)


def test_a_tail_that_is_a_subnormal_number():
    assert grad(stats.gamma.logsf, 1)(725.0, 2.5) == pytest.approx(5.884395271220027, rel=1e-11)


def test_the_distribution_functions_of_beta_and_gamma_are_those_of_special():
    x, a, b = 0.3, 1.7, 2.5
    of = lambda f, *at: np.array(sr.hessian(lambda p: f(*p))(np.array(at)))  # noqa: E731
    np.testing.assert_allclose(of(stats.gamma.cdf, x, a)[::-1, ::-1], of(scipy.special.gammainc, a, x), rtol=1e-12)
    np.testing.assert_allclose(
        np.roll(of(stats.beta.sf, x, a, b), -1, (0, 1)), of(scipy.special.betaincc, a, b, x), rtol=1e-12
    )


def test_student_with_infinitely_many_degrees_of_freedom_is_normal():
    for method in METHODS:
        slopes = grad(getattr(stats.t, method), argnums=(0, 1))(0.7, INF)
        assert slopes[0] == pytest.approx(grad(getattr(stats.norm, method))(0.7), rel=1e-14)
        assert slopes[1] == 0.0


# Outside of the support, and at its edges


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("name", "given", "x"),
    [
        ("beta", (0.5, 1.5), -0.5),
        ("beta", (2.0, 0.5), 1.5),
        ("gamma", (0.7,), -1.0),
        ("chi2", (3.0,), -1.0),
        ("norm", (), -INF),
        ("t", (2.0,), INF),
        ("expon", (), -1.0),
        ("lognorm", (0.7,), -1.0),
        ("uniform", (), 1.5),
        ("cauchy", (), INF),
        ("gumbel_r", (), INF),
        ("weibull_min", (0.7,), -1.0),
        ("pareto", (0.7,), 0.5),
        ("f", (2.0, 3.0), -1.0),
        ("invgamma", (0.7,), -1.0),
        ("truncnorm", (-1.0, 2.0), 2.5),
    ],
)
def test_outside_of_the_support_the_derivative_is_zero(name, given, x, method):
    f, operands = getattr(getattr(stats, name), method), (x, *given, 1.0)

    def of(*operands):
        y = f(*operands[:-1], scale=operands[-1])
        return y if np.isfinite(sr.value(y)) else np.where(y > 0, 0.0, y)

    if math.isinf(x):  # where the scale says nothing
        operands, of = operands[:-1], lambda *operands, of=of: of(*operands, 1.0)
    every = tuple(range(len(operands)))
    np.testing.assert_array_equal(grad(of, argnums=every)(*operands), [0.0] * len(operands))
    for i in every:
        assert sr.jacfwd(of, argnums=i)(*operands) == 0.0
        assert grad(grad(of, argnums=i), argnums=i)(*operands) == 0.0


def test_a_density_where_some_are_outside():
    x = np.array([-1.0, 0.5, 2.0])
    found = sr.jacobian(lambda x: stats.beta.pdf(x, 2.0, 2.0))(x)
    np.testing.assert_allclose(found, np.diag([0.0, 0.0, 0.0]), atol=1e-15)
    found = grad(lambda a: np.sum(stats.beta.pdf(x, a, 2.0)))(2.0)
    assert found == pytest.approx(grad(lambda a: stats.beta.pdf(0.5, a, 2.0))(2.0))


@pytest.mark.parametrize(
    ("f", "x", "slope"),
    [
        (lambda x: stats.gamma.pdf(x, 1.0), 0.0, -1.0),
        (lambda x: stats.gamma.logpdf(x, 1.0), 0.0, -1.0),
        (lambda x: stats.gamma.pdf(x, 2.0), 0.0, 1.0),
        (lambda x: stats.gamma.pdf(x, 3.0), 0.0, 0.0),
        (lambda x: stats.gamma.pdf(x, 1.5), 0.0, INF),
        (lambda x: stats.gamma.cdf(x, 1.0), 0.0, 1.0),
        (lambda a: stats.gamma.cdf(0.0, a), 1.5, 0.0),
        (lambda a: stats.chi2.logsf(0.0, a), 1.5, 0.0),
        (lambda a: stats.beta.cdf(1.0, a, 2.0 * a), 1.5, 0.0),
        (lambda a: stats.t.cdf(0.0, a), 1.5, 0.0),
        (lambda a: stats.gamma.pdf(0.0, a), 2.0, 0.0),
        (lambda s: stats.gamma.pdf(0.0, 1.0, scale=s), 2.0, -0.25),
        (lambda x: stats.chi2.pdf(x, 2.0), 0.0, -0.25),
        (lambda x: stats.chi2.pdf(x, 4.0), 0.0, 0.25),
        (lambda x: stats.beta.pdf(x, 2.0, 1.0), 0.0, 2.0),
        (lambda x: stats.beta.pdf(x, 1.0, 2.0), 1.0, -2.0),
        (lambda x: stats.beta.logpdf(x, 1.0, 2.0), 0.0, -1.0),
        (lambda x: stats.beta.pdf(x, 1.0, 1.0), 1.0, 0.0),
        (lambda x: stats.expon.pdf(x), 0.0, -1.0),
        (lambda x: stats.expon.ppf(x), 0.0, 1.0),
        (lambda x: stats.norm.ppf(x), 0.0, INF),
        (lambda s: stats.norm.ppf(1.5, scale=s), 1.0, math.nan),
        (lambda x: stats.lognorm.pdf(x, 0.5), 0.0, 0.0),
        (lambda s: stats.lognorm.pdf(0.0, s), 0.5, 0.0),
        (lambda s: stats.lognorm.cdf(0.0, s), 0.5, 0.0),
        (lambda x: stats.uniform.pdf(x), 1.0, 0.0),
        (lambda x: stats.uniform.cdf(x), 1.0, 1.0),
        (lambda b: stats.uniform.logpdf(0.5, 0.0, b), 2.0, -0.5),
        (lambda x: stats.laplace.pdf(x), 0.0, 0.0),
        (lambda x: stats.laplace.logcdf(x), -800.0, 1.0),
        (lambda x: stats.weibull_min.pdf(x, 1.0), 0.0, -1.0),
        (lambda x: stats.weibull_min.pdf(x, 2.0), 0.0, 2.0),
        (lambda x: stats.weibull_min.logpdf(x, 1.0), 0.0, -1.0),
        (lambda c: stats.weibull_min.pdf(0.0, c), 1.5, 0.0),
        (lambda c: stats.weibull_min.cdf(0.0, c), 0.5, 0.0),
        (lambda x: stats.pareto.pdf(x, 2.0), 1.0, -6.0),
        (lambda b: stats.pareto.pdf(1.0, b), 2.0, 1.0),
        (lambda x: stats.f.pdf(x, 2.0, 2.0), 0.0, -2.0),
        (lambda x: stats.f.pdf(x, 4.0, 2.0), 0.0, 8.0),
        (lambda x: stats.invgamma.pdf(x, 2.0), 0.0, 0.0),
        (lambda a: stats.truncnorm.ppf(0.0, a, 2.0), -1.0, 1.0),
        (lambda b: stats.truncnorm.isf(0.0, -1.0, b), 2.0, 1.0),
        (lambda p: stats.binom.pmf(0, 3, p), 0.0, -3.0),
        (lambda p: stats.binom.pmf(2, 3, p), 1.0, -3.0),
        (lambda p: stats.binom.pmf(0, 0, p), 0.5, 0.0),
        (lambda p: stats.binom.logpmf(3, 3, p), 1.0, 3.0),
        (lambda p: stats.binom.cdf(3, 3, p), 0.5, 0.0),
        (lambda p: stats.bernoulli.logpmf(1, p), 1.0, 1.0),
        (lambda p: stats.bernoulli.cdf(0.5, p), 0.25, -1.0),
        (lambda p: stats.bernoulli.pmf(0.5, p), 0.25, 0.0),
        (lambda p: stats.geom.pmf(1, p), 1.0, 1.0),
        (lambda p: stats.geom.pmf(2, p), 1.0, -1.0),
        (lambda p: stats.geom.pmf(0, p), 0.5, 0.0),
        (lambda p: stats.geom.cdf(1, p), 1.0, 1.0),
        (lambda p: stats.nbinom.pmf(1, 2.0, p), 1.0, -2.0),
        (lambda n: stats.nbinom.pmf(0, n, 1.0), 2.0, 0.0),
        (lambda mu: stats.poisson.pmf(0, mu), 0.0, -1.0),
        (lambda mu: stats.poisson.pmf(1, mu), 0.0, 1.0),
        (lambda mu: stats.poisson.pmf(2, mu), 0.0, 0.0),
        (lambda mu: stats.poisson.logpmf(0, mu), 0.0, -1.0),
        (lambda mu: stats.poisson.pmf(1.5, mu), 2.0, 0.0),
        (lambda mu: stats.poisson.logpmf(1.5, mu), 2.0, 0.0),
        (lambda mu: stats.poisson.cdf(-1, mu), 2.0, 0.0),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_edges(f, x, slope):
    np.testing.assert_array_equal(grad(f)(x), slope)
    np.testing.assert_array_equal(sr.jvp(f, (x,), (1.0,))[1], slope)


def test_second_derivatives_at_an_edge():
    assert grad(grad(lambda x: stats.gamma.pdf(x, 3.0)))(0.0) == 1.0
    assert grad(grad(lambda mu: stats.poisson.pmf(2, mu)))(0.0) == 1.0


@pytest.mark.parametrize(
    "f",
    [
        lambda s: stats.norm.pdf(0.5, scale=s),
        lambda s: stats.gamma.logpdf(0.5, s),
        lambda s: stats.gamma.cdf(0.5, s),
        lambda s: stats.beta.logsf(0.5, s, s),
        lambda s: stats.t.logcdf(0.5, s),
        lambda s: stats.lognorm.ppf(0.5, s),
        lambda s: stats.expon.mean(scale=s),
        lambda s: stats.weibull_min.logpdf(0.5, s),
        lambda s: stats.truncnorm.cdf(0.5, 1.0, s),
        lambda s: stats.nbinom.logpmf(2, s, 0.5),
        lambda s: stats.geom.std(s),
    ],
)
def test_bad_parameters_give_nan(f):
    assert math.isnan(f(-1.0))
    assert math.isnan(of_numbers(f, -1.0))
    assert math.isnan(grad(f)(-1.0))


# Several variables

SPREAD = np.array([[1.5, 0.2], [0.4, 0.9]])


@pytest.mark.parametrize("method", ["pdf", "logpdf"])
@few
@given(generator=generators, columns=st.sampled_from([(), (3,)]), whole=st.booleans())
def test_dirichlet(method, generator, columns, whole):
    f = getattr(stats.dirichlet, method)
    x, alpha = generator.dirichlet(np.ones(3), columns).T, generator.uniform(0.6, 3.0, 3)
    check(lambda alpha: f(x, alpha), alpha, generator=generator, dtypes=False)
    if whole:
        check(
            lambda z, a: f(np.exp(z) / np.sum(np.exp(z), axis=0), a),
            np.log(x),
            alpha,
            generator=generator,
            dtypes=False,
        )
    else:
        check(f, x[:-1] * 0.9 + 0.02, alpha, generator=generator, dtypes=False)


def test_dirichlet_at_the_border():
    found = grad(lambda x: stats.dirichlet.pdf(x, [2.0, 1.0, 3.0]))(np.array([0.0, 0.25]))
    np.testing.assert_allclose(found, [60.0 * 0.75**2, 0.0], atol=1e-12)
    alpha = np.array([2.0, 1.0, 3.0])
    assert np.all(np.isfinite(grad(lambda a: stats.dirichlet.pdf([0.0, 0.25, 0.75], a))(alpha)))
    assert stats.dirichlet.pdf([0.25, 0.75], [1.0, 2.0]) == scipy.stats.dirichlet.pdf([0.25, 0.75], [1.0, 2.0])
    assert stats.dirichlet.mean([1.0, 2.0])[0] == scipy.stats.dirichlet.mean([1.0, 2.0])[0]
    with pytest.raises(ValueError, match="greater than 0"):
        grad(lambda a: stats.dirichlet.logpdf([0.25, 0.75], [a, 2.0]))(-1.0)
    with pytest.raises(ValueError, match="normal simplex"):
        grad(lambda x: stats.dirichlet.logpdf([x, 0.75], [1.0, 2.0]))(0.5)


@pytest.mark.parametrize("method", ["pdf", "logpdf"])
@few
@given(generator=generators, shape=st.sampled_from([(2,), (1, 2), (3, 2), (2, 2, 2)]))
def test_multivariate_normal(method, generator, shape):
    f = getattr(stats.multivariate_normal, method)
    x, mean, root = generator.normal(size=shape), generator.normal(size=2), SPREAD + 0.2 * generator.normal(size=(2, 2))
    check(lambda x, m, r: f(x, m, r @ r.T), x, mean, root, generator=generator, dtypes=False)
    check(lambda x, m: f(x, m, root @ root.T), x, mean, generator=generator, dtypes=False)


@pytest.mark.parametrize("method", ["pdf", "logpdf"])
@few
@given(generator=generators, shape=st.sampled_from([(2,), (1, 2), (3, 2), (2, 2, 2)]))
def test_multivariate_t(method, generator, shape):
    f = getattr(stats.multivariate_t, method)
    x, loc, root = generator.normal(size=shape), generator.normal(size=2), SPREAD + 0.2 * generator.normal(size=(2, 2))
    df = generator.uniform(0.6, 5.0)
    check(lambda x, m, r, df: f(x, m, r @ r.T, df), x, loc, root, df, generator=generator, dtypes=False)
    check(lambda x, df: f(x, loc, root @ root.T, df), x, df, generator=generator, dtypes=False)


def test_values_of_multivariate_t_are_scipys():
    x, theirs, generator = np.array([[0.3, -0.4], [1.0, 2.0]]), scipy.stats.multivariate_t, np.random.default_rng(0)
    for shape in (2.0, [1.5, 0.7], [[1.5, 0.2], [0.2, 0.7]], [[1.5, 9.0], [0.2, 0.7]]):
        for df in (0.7, 3, 1e3, INF):
            found = of_numbers(lambda x, shape=shape, df=df: stats.multivariate_t.logpdf(x, [1.0, 2.0], shape, df), x)
            np.testing.assert_allclose(found, theirs.logpdf(x, [1.0, 2.0], shape, df), rtol=1e-12)
    for args in ((0.4,), (0.4, 0.5), (0.4, 0.5, 2.0, 3.0)):
        found = of_numbers(lambda x, rest=args[1:]: stats.multivariate_t.pdf(x, *rest), args[0])
        np.testing.assert_allclose(found, theirs.pdf(*args), rtol=1e-13)
    of_one = stats.multivariate_t.logpdf
    check(lambda *xs: of_one(*xs), 0.4, 0.5, 2.0, 3.0, generator=generator, dtypes=False)
    found = grad(lambda x: stats.multivariate_t([0.0, 1.0], df=4).logpdf(x))(x[0])
    np.testing.assert_array_equal(found, grad(lambda x: stats.multivariate_t.logpdf(x, [0.0, 1.0], 1, 4))(x[0]))


def test_multivariate_t_of_many_degrees_of_freedom_is_normal():
    cov, x, normal = SPREAD @ SPREAD.T, np.array([0.3, -0.4]), stats.multivariate_normal.logpdf
    at_infinity = grad(lambda x, c, df: stats.multivariate_t.logpdf(x, None, c, df), argnums=(0, 1, 2))(x, cov, INF)
    at_many = grad(lambda x, c, df: stats.multivariate_t.logpdf(x, None, c, df), argnums=(0, 1, 2))(x, cov, 1e9)
    for found, many, expected in zip(
        at_infinity, at_many, (*grad(lambda x, c: normal(x, None, c), argnums=(0, 1))(x, cov), 0.0), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
        np.testing.assert_allclose(many, expected, rtol=1e-7, atol=1e-16)


@pytest.mark.parametrize("name", ["multivariate_normal", "multivariate_t"])
@pytest.mark.parametrize(
    ("x", "mean", "cov"),
    [
        (np.zeros(2), np.zeros(2), -np.eye(2)),
        (np.zeros(2), np.zeros(2), np.ones((2, 2))),
        (np.zeros(2), np.zeros(2), np.diag([1.0, 1e-12])),
        (np.zeros(2), np.zeros(2), np.full((2, 2), math.nan)),
        (np.zeros(2), np.zeros(3), np.eye(2)),
        (np.zeros(3), np.zeros(2), np.eye(2)),
        (np.zeros(2), np.zeros(2), np.eye(2)[:1]),
        (np.zeros((2, 3)), None, np.eye(2)),
    ],
)
def test_the_errors_of_several_variables_are_scipys(name, x, mean, cov):
    with pytest.raises(Exception) as expected:  # noqa: PT011 (whatever SciPy says)
        getattr(scipy.stats, name).pdf(x, mean, cov)
    for f in (
        lambda x: getattr(stats, name).pdf(x, mean, cov),
        lambda x: getattr(stats, name)(mean, cov * (1.0 + 0.0 * x[0])).pdf(x),
    ):
        with pytest.raises(type(expected.value)) as found:
            grad(lambda x, f=f: np.sum(f(x)))(x if x.ndim == 1 else x[0])
        assert type(found.value) is type(expected.value)


def test_a_density_of_twenty_variables():
    generator = np.random.default_rng(0)
    x, mean, root = generator.normal(size=20), generator.normal(size=20), generator.normal(size=(20, 20))
    cov = root @ root.T + np.eye(20)
    for f in (stats.multivariate_normal.logpdf, stats.multivariate_t.logpdf):
        check(lambda x, m, c, f=f: f(x, m, symmetric(c)), x, mean, cov, generator=generator, dtypes=False)
        g = grad(lambda c, f=f: f(x, mean, c))(cov)
        np.testing.assert_allclose(g, g.T, rtol=1e-12, atol=1e-15)
        read = np.tril(cov)  # SciPy looks at this triangle
        g = grad(lambda c, f=f: f(x, mean, c))(read)
        np.testing.assert_array_equal(g, np.tril(g))
        assert f(x, mean, read) == pytest.approx(f(x, mean, cov))


def symmetric(cov):
    """What the derivative in a covariance is that of, along a direction that is not symmetric."""
    return (cov + cov.T) / 2 if np.ndim(cov) == 2 else cov


@pytest.mark.parametrize("method", ["pdf", "logpdf"])
def test_forms_of_mean_and_covariance(method):
    f, expected = getattr(stats.multivariate_normal, method), getattr(scipy.stats.multivariate_normal, method)
    x, generator = np.array([0.3, -0.4]), np.random.default_rng(0)
    for cov in (2.0, np.array([1.5, 0.7]), np.array([[1.5, 0.2], [0.2, 0.7]])):
        check(lambda x, c: f(x, [1.0, 2.0], symmetric(c)), x, cov, generator=generator, dtypes=False)
        assert_close(of_numbers(lambda c: f(x, [1.0, 2.0], c), cov), expected(x, [1.0, 2.0], cov), tolerance=1e-13)
    check(lambda x, m: f(x, m), x, np.array([0.5, 1.0]), generator=generator, dtypes=False)
    check(lambda x, m, c: f(x, m, c), x, 0.5, 2.0, generator=generator, dtypes=False)
    check(lambda x, c: f(x, cov=c), 0.4, 2.0, generator=generator, dtypes=False)
    known = scipy.stats.Covariance.from_diagonal([1.5, 0.7])
    np.testing.assert_allclose(
        grad(lambda x: f(x, [1.0, 2.0], known))(x), grad(lambda x: f(x, [1.0, 2.0], [1.5, 0.7]))(x), rtol=1e-13
    )


def test_covariances_are_symmetric():
    cov = np.array([[1.5, 0.2], [0.2, 0.7]])
    found = grad(lambda c: stats.multivariate_normal.logpdf([0.3, -0.4], None, c))(cov)
    inverse = np.linalg.inv(cov)
    solved = inverse @ [0.3, -0.4]
    np.testing.assert_allclose(found, 0.5 * (np.outer(solved, solved) - inverse), rtol=1e-12)
    found = grad(lambda c: stats.multivariate_normal.entropy(None, c))(cov)
    np.testing.assert_allclose(found, 0.5 * inverse, rtol=1e-12)


def test_entropy():
    root = SPREAD
    check_grads(lambda r: stats.multivariate_normal.entropy(np.zeros(2), r @ r.T), (root,), order=2)
    cov = root @ root.T
    found = of_numbers(lambda c: stats.multivariate_normal.entropy(cov=c), cov)
    assert found == pytest.approx(scipy.stats.multivariate_normal.entropy(cov=cov), rel=1e-14)
    assert grad(lambda m: stats.multivariate_normal.entropy(m, cov) + np.sum(m))(np.zeros(2)).tolist() == [1.0, 1.0]
    assert grad(lambda v: stats.multivariate_normal(cov=v).entropy())(2.0) == pytest.approx(0.25)


def test_a_singular_covariance():
    cov, x = np.diag([2.0, 0.0]), np.array([[1.0, 0.0], [0.3, 0.5]])
    f = lambda x: stats.multivariate_normal.logpdf(x, None, cov, allow_singular=True)  # noqa: E731
    assert f(x)[1] == -INF
    np.testing.assert_allclose(grad(lambda x: f(x)[0])(x), [[-0.5, 0.0], [0.0, 0.0]], rtol=1e-14)
    np.testing.assert_array_equal(sr.jacfwd(f)(x)[1], np.zeros((2, 2)))
    np.testing.assert_allclose(of_numbers(f, x), f(x))
    with pytest.raises(NotImplementedError, match="singular covariance"):
        grad(lambda c: stats.multivariate_normal.logpdf(x[0], None, c, allow_singular=True))(cov)
    with pytest.raises(np.linalg.LinAlgError, match="allow_singular"):
        grad(lambda c: stats.multivariate_normal.logpdf(x[0], None, c))(cov)
    with pytest.raises(ValueError, match="must be a vector of length"):
        grad(lambda x: stats.multivariate_normal.logpdf(x, np.zeros((2, 2))))(x)


# Frozen distributions, lists, other kinds of numbers


def test_frozen_distributions():
    x = np.array([0.3, 1.2])
    found = grad(lambda m, s: np.sum(stats.norm(m, scale=s).logpdf(x)), argnums=(0, 1))(0.2, 1.5)
    expected = grad(lambda m, s: np.sum(stats.norm.logpdf(x, m, s)), argnums=(0, 1))(0.2, 1.5)
    assert found == expected
    assert grad(lambda x: stats.norm(0.2, 1.5).cdf(x))(0.3) == scipy.stats.norm.pdf(0.3, 0.2, 1.5)
    found = grad(lambda m: stats.multivariate_normal(m, [1.0, 2.0]).logpdf(x))(np.zeros(2))
    np.testing.assert_allclose(found, [0.3, 0.6], rtol=1e-14)
    quantile = scipy.stats.norm.ppf(0.3)
    assert grad(lambda m, s: stats.norm(m, s).ppf(0.3), argnums=(0, 1))(0.2, 1.5) == (1.0, pytest.approx(quantile))
    assert grad(lambda m, s: stats.norm(m, scale=s).mean(), argnums=(0, 1))(0.2, 1.5) == (1.0, 0.0)
    assert grad(lambda p: stats.binom(5, p).std())(0.2) == pytest.approx(5.0 * 0.6 / 2.0 / math.sqrt(0.8))
    with pytest.raises(NotImplementedError, match=r"scipy\.stats\.norm\.entropy has no derivative rule"):
        grad(lambda s: stats.norm(0.0, s).entropy())(1.0)
    with pytest.raises(TypeError):
        stats.norm(1, 2, 3, 4)


def test_numbers_in_lists_and_arrays_of_objects():
    expected = grad(lambda x: stats.norm.logpdf(x) + stats.norm.logpdf(1.0))(0.5)
    assert grad(lambda x: np.sum(stats.norm.logpdf([x, 1.0])))(0.5) == expected
    assert grad(lambda x: np.sum(stats.norm.logpdf(np.array([x, 1.0]))))(0.5) == expected


def test_taylor_series_and_hessians():
    found = sr.taylor(stats.norm.pdf, 0.0, 4)
    np.testing.assert_allclose(found, np.array([1.0, 0.0, -0.5, 0.0, 0.125]) / math.sqrt(2 * math.pi), atol=1e-15)
    x = np.array([0.5, -1.2, 2.2])
    found = sr.hessian(lambda p: np.sum(stats.norm.logpdf(x, p[0], p[1])))(np.array([0.3, 1.4]))
    z = (x - 0.3) / 1.4
    expected = [[-3, -2 * z.sum()], [-2 * z.sum(), 3 - 3 * (z * z).sum()]] / np.square(1.4)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (lambda a: stats.poisson.pmf(a, 2.0), TypeError, r"scipy\.stats\.poisson\.pmf: argument 'k'"),
        (lambda a: stats.norm.moment(2, a), NotImplementedError, r"scipy\.stats\.norm\.moment has no derivative rule"),
        (lambda a: stats.levy.pdf(a), NotImplementedError, r"scipy\.stats\.levy\.pdf has no derivative rule"),
        (lambda a: stats.binom.ppf(a, 3, 0.5), NotImplementedError, r"scipy\.stats\.binom\.ppf has no derivative rule"),
        (lambda a: stats.binom.pmf(2, a, 0.5), TypeError, r"scipy\.stats\.binom\.pmf: argument 'n'"),
        (lambda a: stats.vonmises.cdf(0.5, a), TypeError, r"scipy\.stats\.vonmises\.cdf: argument 'kappa'"),
        (lambda a: stats.zscore([a, 1.0]), NotImplementedError, r"scipy\.stats\.zscore has no derivative rule"),
        (lambda a: stats.norm.pdf(1j * a), TypeError, r"scipy\.stats\.norm\.pdf is a function of real numbers"),
        (lambda a: stats.norm.pdf(a, shape=2), TypeError, "unexpected keyword argument 'shape'"),
        (lambda a: stats.gamma.pdf(a), TypeError, "missing a required argument: 'a'"),
        (lambda a: scipy.stats.norm.pdf(a), TypeError, "differentiated"),
    ],
)
def test_errors(f, error, message):
    with pytest.raises(error, match=message):
        grad(f)(0.4)
    assert grad(lambda x: x * x)(3.0) == 6.0
