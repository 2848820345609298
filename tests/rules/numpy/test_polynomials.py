from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad
from shiftreset_ad.rules.numpy.polynomials import characteristic_polynomial
from tests.rules.test_complex import at_complex_points
from tests.rules.test_taylor_rules import check_taylor
from tests.rules.three_ways import (
    check,
    check_finite_differences,
    check_inner_products,
    check_second_order,
    check_values,
    examples,
    generators,
)

few = settings(examples, max_examples=12)
lengths = st.integers(1, 5)


def well_spread(generator, size):
    """Coefficients whose polynomial has simple roots: those of distinct ones."""
    roots = np.linspace(-1.5, 1.25, size - 1) + generator.uniform(-0.2, 0.2, size - 1)
    return np.atleast_1d(np.poly(roots)) * generator.uniform(0.5, 2.0)


@st.composite
def values(draw):
    shape = draw(array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    return np.polyval, draw(st.integers(0, 4)), shape


@st.composite
def derivatives(draw):
    m = draw(st.integers(0, 3))
    return lambda p: np.polyder(p, m), draw(lengths)


@st.composite
def integrals(draw):
    m, size = draw(st.integers(0, 3)), draw(lengths)
    constants = draw(st.sampled_from([None, (), (1,), (max(m, 1),), (m + 2,)]))
    if constants is None:
        return lambda p: np.polyint(p, m), size
    return lambda p, k: np.polyint(p, m, k), size, constants


@st.composite
def pairs(draw, function):
    shapes = st.one_of(st.just(()), lengths)
    return function, draw(shapes), draw(shapes)


@st.composite
def powers(draw):
    count, increasing = draw(st.none() | st.integers(0, 4)), draw(st.booleans())
    return lambda x: np.vander(x, count, increasing), draw(st.integers(0, 4))


CASES = {
    np.polyval: values(),
    np.polyder: derivatives(),
    np.polyint: integrals(),
    **{f: pairs(f) for f in (np.polyadd, np.polysub, np.polymul, np.polydiv)},
    np.vander: powers(),
    np.poly: st.tuples(st.just(np.poly), st.integers(1, 4)),
    characteristic_polynomial: st.tuples(
        st.just(lambda a: np.real(np.poly(a))), st.integers(1, 4).map(lambda n: (n, n))
    ),
    np.roots: st.tuples(st.just(np.roots), st.integers(2, 5)),
    np.polyfit: None,  # by itself below
}
# NumPy computes eigenvalues in single or double precision, and the length of a remainder depends on the rounding.
DOUBLE_ONLY = [characteristic_polynomial, np.polydiv]
SIMPLE = [f for f in CASES if f not in (np.roots, np.polyfit)]


def points(function, generator, shapes):
    """Leading coefficients are well away from zero."""
    drawn = [generator.uniform(0.3, 1.2, shape) * generator.choice([-1.0, 1.0], shape) for shape in shapes]
    return [x if np.ndim(x) else np.float64(x) for x in drawn]


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("function", SIMPLE, ids=lambda f: f.__name__)
@examples
@given(data=st.data(), generator=generators)
def test_three_ways(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    check(f, *points(function, generator, shapes), generator=generator, dtypes=function not in DOUBLE_ONLY)


@pytest.mark.parametrize("function", SIMPLE, ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_of_complex_operands(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    if function is characteristic_polynomial:
        f = np.poly
    xs = points(function, generator, shapes)
    real = data.draw(st.sampled_from([(), *((i,) for i in range(len(xs)))] if len(xs) > 1 else [()]))
    at_complex_points(f, *xs, generator=generator, real=real, dtypes=function not in DOUBLE_ONLY)


@pytest.mark.parametrize("function", [*SIMPLE, np.roots], ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_taylor(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    xs = [well_spread(generator, *shapes)] if function is np.roots else points(function, generator, shapes)
    check_taylor(f, *xs, generator=generator)


# Values and arithmetic


def test_constants_of_any_kind():
    generator = np.random.default_rng(0)
    x, p = generator.normal(size=(2, 2)), generator.normal(size=3)
    for constant in ([1, 2, 3], (0.5, 1.0), np.arange(1, 4), 2):
        for function in (np.polyadd, np.polysub, np.polymul, np.polydiv):
            dtypes = function is not np.polydiv
            check(lambda p, f=function, c=constant: f(p, c), p, generator=generator, dtypes=dtypes)
            check(lambda p, f=function, c=constant: f(c, p), p, generator=generator, dtypes=dtypes)
        if np.ndim(constant):
            check(lambda x, c=constant: np.polyval(c, x), x, generator=generator)
            check(lambda p, c=constant: np.polyval(p, c), p, generator=generator)
    check(lambda p: np.polyval(p, 2), p, generator=generator)
    check(lambda p, x: np.polyval(p, x), generator.normal(size=(3, 2)), x, generator=generator)  # one for each column


def test_constants_of_integration():
    generator = np.random.default_rng(1)
    p = generator.normal(size=3)
    check(lambda p, a: np.polyint(p, 2, [a, 1.0]), p, np.float64(0.5), generator=generator, dtypes=False)
    check(lambda p: np.polyint(p, 2, [3, 4]), p, generator=generator)
    check(lambda p: np.polyint(p, 3, 2), p, generator=generator)


@pytest.mark.parametrize("zeros", [1, 2])
def test_leading_zeros_of_factors_count(zeros):
    """NumPy drops them from the product, where the derivatives in them still are."""
    p, q = np.array([0.0] * zeros + [1.0, 2.0]), np.array([0.0, 3.0, 4.0])
    check_values(np.polymul, p, q)
    expected = np.polymul(p[zeros:], q[1:])
    of_p, of_q = sr.jacobian(np.polymul, (0, 1))(p, q)
    full_of_p, full_of_q = sr.jacobian(np.convolve, (0, 1))(p, q)
    np.testing.assert_array_equal(of_p, full_of_p[zeros + 1 :])
    np.testing.assert_array_equal(of_q, full_of_q[zeros + 1 :])
    assert of_p.shape == (len(expected), len(p))
    assert np.any(of_p[:, zeros - 1])


@pytest.mark.parametrize(("p", "q"), [([0.0, 0.0], [1.0, 2.0]), ([0.0], [0.0]), ([0.0, 0.0], [0.0, 0.0, 0.0])])
def test_products_with_nothing_but_zeros(p, q):
    check_values(np.polymul, np.array(p), np.array(q))
    check_inner_products(np.polymul, np.array(p), np.array(q), generator=np.random.default_rng(2))


def test_division_with_a_small_remainder():
    """What is close to zero at the front of the remainder is left out, as NumPy has it."""
    generator = np.random.default_rng(3)
    v = np.array([2.0, 3.0, -1.0])
    for u in (np.polymul(v, [1.0, 2.0]), np.polyadd(np.polymul(v, [1.0, -1.0]), 0.5), v[:2], v[:1], v * 1e12):
        q, r = np.polydiv(u, v)
        check_values(np.polydiv, u, v)
        check_inner_products(np.polydiv, u, v, generator=generator)
        of_u = sr.jacobian(lambda u: np.polydiv(u, v)[0])(u)
        assert of_u.shape == (len(q), len(u))
        np.testing.assert_allclose(of_u @ u, q)
        assert len(r) >= 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.complex64])
def test_division_in_every_precision(dtype):
    """How much of the remainder is close to zero depends on the rounding."""
    generator = np.random.default_rng(14)
    for m, n in ((1, 1), (5, 3), (3, 5), (6, 1)):
        u, v = generator.uniform(0.5, 2.0, m).astype(dtype), generator.uniform(0.5, 2.0, n).astype(dtype)
        check_values(np.polydiv, u, v)
        tolerance = {np.float16: 4e-2, np.float32: 1e-4, np.complex64: 1e-4}.get(dtype, 1e-12)
        check_inner_products(np.polydiv, u, v, generator=generator, tolerance=tolerance)


def test_of_another_polynomial():
    """`poly1d` among the operands is a vector of constants, and the answer is one, as NumPy has it."""
    p, fixed = np.array([1.0, 2.0, -1.0]), np.poly1d([3.0, 4.0])
    np.testing.assert_allclose(grad(lambda x: np.polyval(fixed, x) ** 2)(2.0), 2 * 10 * 3)
    np.testing.assert_allclose(grad(lambda x: fixed(x) ** 2)(2.0), 2 * 10 * 3)
    for function in (np.polymul, np.polyadd, np.polysub):

        def f(p, function=function):
            y = function(p, fixed)
            assert type(y) is np.poly1d
            return y.coeffs

        np.testing.assert_allclose(
            sr.jacobian(f)(p), sr.jacobian(lambda p, function=function: function(p, fixed.coeffs))(p)
        )
    np.testing.assert_allclose(grad(lambda p: np.poly1d(p)(2.0))(p), [4.0, 2.0, 1.0])
    np.testing.assert_allclose(grad(lambda p: np.poly1d(p)(2.0))(np.array([0.0, 2.0, 1.0])), [0.0, 2.0, 1.0])
    composed = sr.jacobian(lambda p: np.polyval(p, fixed).coeffs)(p)
    np.testing.assert_allclose(composed.T, [[9, 24, 16], [0, 3, 4], [0, 0, 1]])


# numpy.polynomial, which is plain Python


@pytest.mark.parametrize("name", ["chebyshev", "hermite", "hermite_e", "laguerre", "legendre", "polynomial"])
def test_series_of_polynomials(name):
    """With constant coefficients they compute with numbers; numbers among the coefficients are refused."""
    module = getattr(np.polynomial, name)
    evaluate = next(f for label, f in vars(module).items() if label.endswith("val") and not label.startswith("_"))
    generator, c, table = np.random.default_rng(15), np.array([1.0, -2.0, 0.5, 3.0]), np.arange(6.0).reshape(3, 2)
    for x in (0.5, generator.normal(size=3), generator.normal(size=(2, 3))):
        check(lambda x: evaluate(x, c), x, generator=generator, dtypes=False)
    check(lambda x: evaluate(x, table), 0.5, generator=generator, dtypes=False)
    check(lambda x: evaluate(x, table[:, :, None], tensor=False), generator.normal(size=3), generator=generator)
    with pytest.raises(TypeError, match="would turn a number that is being differentiated into a constant"):
        grad(lambda c: evaluate(2.0, c))(c)


# Roots


@examples
@given(size=lengths, generator=generators)
def test_roots(size, generator):
    p = well_spread(generator, size)
    check_values(np.roots, p)
    check_inner_products(np.roots, p, generator=generator, order=2)
    check_finite_differences(np.roots, p, generator=generator)
    check_second_order(np.roots, p, generator=generator)


def test_complex_roots():
    p = np.array([2.0, 1.0, 3.0, 0.5])
    assert np.roots(p).dtype == complex
    check(np.roots, p, generator=np.random.default_rng(4), dtypes=False)
    at_complex_points(np.roots, p, generator=np.random.default_rng(5), dtypes=False)
    assert sr.value(grad(lambda p: (np.sum(np.abs(np.roots(p))), np.roots(p)), has_aux=True)(p)[1]).dtype == complex


def test_roots_of_a_quadratic():
    """x**2 - s x + t has the roots (s +- sqrt(s**2 - 4 t)) / 2."""
    s, t = 3.0, 1.0
    of_p = sr.jacobian(lambda p: np.sort(sr.value(np.roots(p))) * 0.0 + np.roots(p))(np.array([1.0, -s, t]))
    root = np.sqrt(s * s - 4 * t)
    np.testing.assert_allclose(of_p[:, 1], [-(1 + s / root) / 2, -(1 - s / root) / 2])
    np.testing.assert_allclose(of_p[:, 2], [-1 / root, 1 / root])


def test_zeros_at_the_ends():
    """A leading zero takes no root, and still moves them; a trailing one is a root at zero, which moves as well."""
    p = np.array([0.0, 0.0, 1.0, -3.0, 2.0, 0.0])
    np.testing.assert_allclose(np.roots(p), [2.0, 1.0, 0.0])
    check_values(np.roots, p)
    check_inner_products(np.roots, p, generator=np.random.default_rng(6))
    slopes = sr.jacobian(np.roots)(p)
    # -r**(5 - i) / p'(r), where p' is 2, -1 and 2 at 2, 1 and 0.
    np.testing.assert_allclose(
        slopes, [[-16, -8, -4, -2, -1, -0.5], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, -0.5]], atol=1e-12
    )


def test_a_leading_zero_moves_the_roots():
    slopes = sr.jacobian(np.roots)(np.array([0.0, 1.0, -3.0, 2.0]))
    np.testing.assert_allclose(slopes, [[-8, -4, -2, -1], [1, 1, 1, 1]])


def test_multiple_roots_have_no_derivative():
    p = np.array([1.0, 0.0, 0.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        assert not np.any(np.isfinite(sr.jacobian(np.roots)(p)[:, 2]))
        assert np.all(np.isinf(sr.jvp(np.roots, (p,), (np.array([0.0, 0.0, 1.0]),))[1]))


def test_no_roots():
    for p in (np.array([2.0]), np.zeros(3), np.zeros(0), np.array([0.0, 3.0])):
        gradient = grad(lambda p: np.sum(np.roots(p)) + 2 * np.sum(p))(p)
        np.testing.assert_array_equal(gradient, np.full(p.shape, 2.0))


def test_polynomials_from_conjugate_roots_are_real():
    zeros = np.array([1 + 2j, 0.5, 1 - 2j])
    assert np.poly(zeros).dtype == float
    check_values(np.poly, zeros)
    check_inner_products(np.poly, zeros, generator=np.random.default_rng(7))
    assert np.poly(zeros[:2]).dtype == complex
    check_values(np.poly, zeros[:2])


def test_polynomials_of_equal_roots():
    for zeros in (np.zeros(3), np.ones(2), np.array([2.0, 0.0, 2.0])):
        check(np.poly, zeros, generator=np.random.default_rng(8))


@pytest.mark.parametrize(
    "matrix", [np.eye(3), np.zeros((2, 2)), np.array([[2.0, 1.0], [0.0, 2.0]]), np.diag([1.0, 2.0, 1.0])]
)
def test_the_characteristic_polynomial_is_smooth_at_equal_eigenvalues(matrix):
    """Its coefficients are polynomials in the elements, though the eigenvalues have no derivative there."""
    generator = np.random.default_rng(9)
    size = len(matrix)
    check_values(np.poly, matrix)
    check_inner_products(np.poly, matrix, generator=generator)
    slopes = sr.jacobian(np.poly)(matrix)
    np.testing.assert_allclose(slopes[1], -np.eye(size))  # minus the trace

    def determinant(a):
        return a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]

    if size == 2:
        np.testing.assert_allclose(slopes[2], grad(determinant)(matrix), atol=1e-12)
        np.testing.assert_allclose(
            sr.hessian(lambda a: np.poly(a)[2])(matrix), sr.hessian(determinant)(matrix), atol=1e-12
        )


def test_roots_one_by_one():
    x = np.array([2.0, 3.0])
    np.testing.assert_array_equal(sr.jacobian(lambda x: np.poly([x[0], x[1]]))(x), [[0, 0], [-1, -1], [3, 2]])
    np.testing.assert_array_equal(sr.jacobian(lambda x: np.poly((x[0], 5.0)))(x), [[0, 0], [-1, 0], [5, 0]])


def test_what_numpy_takes_for_no_polynomial():
    assert grad(lambda x: np.sum(x) * np.poly(x[:0]))(np.ones(2)).tolist() == [1.0, 1.0]


# Fits


@st.composite
def fits(draw):
    columns, weighted = draw(st.sampled_from([(), (2,)])), draw(st.booleans())
    return draw(st.integers(0, 2)), columns, weighted


@few
@given(fit=fits(), generator=generators)
def test_polyfit(fit, generator):
    degree, columns, weighted = fit
    x = np.linspace(-1, 1, 5) + generator.uniform(-0.2, 0.2, 5)
    y, w = generator.uniform(-1, 1, (5, *columns)), generator.uniform(0.5, 1.5, 5)
    if weighted:
        check(lambda x, y, w: np.polyfit(x, y, degree, w=w), x, y, w, generator=generator, dtypes=False)
    else:
        check(lambda x, y: np.polyfit(x, y, degree), x, y, generator=generator, dtypes=False)


@pytest.mark.parametrize("cov", [True, "unscaled"])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_covariance_of_a_fit(cov, columns):
    generator = np.random.default_rng(10)
    x, y = np.linspace(-1, 1, 6) + generator.uniform(-0.1, 0.1, 6), generator.normal(size=(6, *columns))
    check(lambda x, y: np.polyfit(x, y, 1, cov=cov), x, y, generator=generator, dtypes=False)


def test_all_answers_of_a_fit():
    generator = np.random.default_rng(11)
    x, y = np.linspace(-1, 1, 6), generator.normal(size=6)
    check(lambda x, y: np.polyfit(x, y, 2, full=True)[:2], x, y, generator=generator, dtypes=False)

    def f(x, y):
        found, expected = np.polyfit(x, y, 2, full=True), np.polyfit(sr.value(x), sr.value(y), 2, full=True)
        for part, plain in zip(found, expected, strict=True):
            np.testing.assert_allclose(sr.value(part), plain)
        return np.sum(found[0])

    grad(f, (0, 1))(x, y)


def test_a_fit_is_linear_in_the_data():
    x, y = np.arange(4.0), np.array([1.0, -1.0, 2.0, 0.5])
    np.testing.assert_allclose(
        sr.jacobian(lambda y: np.polyfit(x, y, 1))(y), np.linalg.pinv(np.vander(x, 2)), atol=1e-12
    )


def test_a_fit_of_complex_data():
    x, y = np.linspace(-1.0, 1.0, 5), np.random.default_rng(12).normal(size=5)
    at_complex_points(
        lambda x, y: np.polyfit(x, y, 2), x, y, generator=np.random.default_rng(13), real=(0,), dtypes=False
    )


def test_a_poor_fit_is_warned_of():
    with pytest.warns(np.exceptions.RankWarning, match="poorly conditioned"):
        grad(lambda y: np.sum(np.polyfit(np.array([0.5, 1.0, 1.0]), y, 2)))(np.ones(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.polyder(a, -1),
        lambda a: np.polyint(a, -1),
        lambda a: np.polyint(a, 3, [1.0, 2.0]),
        lambda a: np.polymul(a[:, None], a),
        lambda a: np.poly(np.reshape(a, (1, 3))),
        lambda a: np.roots(np.reshape(a, (1, 3))),
        lambda a: np.vander(np.reshape(a, (1, 3))),
        lambda a: np.polyfit(a, a, -1),
        lambda a: np.polyfit(a[:, None], a, 1),
        lambda a: np.polyfit(a[:0], a[:0], 1),
        lambda a: np.polyfit(a, np.ones((3, 1, 1)), 1),
        lambda a: np.polyfit(a, a[:2], 1),
        lambda a: np.polyfit(a, a, 1, w=np.ones((3, 1))),
        lambda a: np.polyfit(a, a, 1, w=np.ones(2)),
        lambda a: np.polyfit(a, a, 2, cov=True),
    ],
)
def test_wrong_arguments_raise_as_in_numpy(call):
    x = np.array([1.0, 2.0, 4.0])
    with pytest.raises((ValueError, TypeError)) as expected:
        call(x)
    with pytest.raises(type(expected.value)) as found:
        grad(lambda a: np.sum(call(a)))(x)
    assert str(found.value) == str(expected.value)
    assert grad(lambda x: x * x)(3.0) == 6.0
