"""Interpolation: SciPy's values, the three ways, and errors, in data, knots and points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate as theirs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import spsolve

import shiftreset_ad as sr
from shiftreset_ad import derivative, grad, jvp
from shiftreset_ad.scipy import interpolate as ours
from shiftreset_ad.testing import check_grads
from tests.rules.three_ways import check

X = np.array([0.1, 0.7, 1.2, 2.0, 2.3, 2.9, 3.6])
Y = np.array([0.3, -0.5, 1.1, 1.6, 1.4, 0.2, -0.9])
Y2 = np.stack([Y, Y[::-1] ** 2], axis=1)
RISING = np.cumsum(np.abs(Y))
INSIDE = np.array([0.4, 1.9, 2.35, 3.5])
POINTS = np.array([0.4, 1.9, 2.35, 3.5, -0.3, 3.9])
ENDS = [
    "not-a-knot",
    "natural",
    "clamped",
    ((1, 0.3), (2, -0.4)),
    ("not-a-knot", (1, 2.0)),
    ((2, 1.0), "clamped"),
]


def agree(make_ours, make_theirs, *data, points=POINTS, order=1):
    """The values are SciPy's, and the derivatives in the data and in the points are right the three ways."""
    at = [make_theirs(*data)(points)]
    found = jvp(lambda *data: make_ours(*data)(points), data, tuple(map(np.ones_like, data)))[0]
    np.testing.assert_allclose(sr.value(found), at[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(make_ours(*data)(points), at[0])
    check_grads(lambda *args: make_ours(*args[:-1])(args[-1]), (*data, points), order=order, rtol=1e-4)


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("ends", ENDS)
def test_a_cubic_spline_with_each_end(ends):
    agree(
        lambda x, y: ours.CubicSpline(x, y, bc_type=ends),
        lambda x, y: theirs.CubicSpline(x, y, bc_type=ends),
        X,
        Y,
        order=2,
    )


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("ends", ["not-a-knot", "natural", "clamped"])
def test_a_cubic_spline_through_few_points(n, ends):
    make = [lambda x, y, room=room: room.CubicSpline(x, y, bc_type=ends) for room in (ours, theirs)]
    agree(*make, X[:n], Y[:n])


@pytest.mark.parametrize("n", [3, 4, 7])
def test_a_periodic_spline(n):
    def make(room, join):
        return lambda x, y: room.CubicSpline(x, join([y, y[:1]]), bc_type="periodic")

    agree(make(ours, np.concatenate), make(theirs, np.concatenate), X[:n], Y[: n - 1])


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "Akima1DInterpolator"])
def test_along_each_axis(name):
    for axis, y in ((0, Y2), (1, Y2.T.copy()), (-1, Y2.T.copy())):
        make = [lambda x, y, room=room, axis=axis: getattr(room, name)(x, y, axis=axis) for room in (ours, theirs)]
        agree(*make, X, y, points=INSIDE)
        points = INSIDE.reshape(2, 2)
        found = jvp(lambda y, make=make[0], points=points: make(X, y)(points), (y,), (y,))[0]
        np.testing.assert_allclose(sr.value(found), make[1](X, y)(points), rtol=1e-12)


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("y", [Y, RISING, Y2], ids=["turns", "rises", "two"])
@pytest.mark.parametrize("n", [2, 3, 7])
def test_monotone_interpolation(y, n):
    agree(ours.PchipInterpolator, theirs.PchipInterpolator, X[:n], y[:n], order=2)


@pytest.mark.parametrize("method", ["akima", "makima"])
@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_akima(method, n):
    make = [
        lambda x, y, room=room: room.Akima1DInterpolator(x, y, method=method, extrapolate=True)
        for room in (ours, theirs)
    ]
    agree(*make, X[:n], Y[:n])


@pytest.mark.parametrize("method", ["akima", "makima"])
def test_akima_where_data_lie_on_lines(method):
    """Where the secants on both sides are equal, the weights of the mean are 0 / 0."""
    x, y = np.arange(7.0), np.array([0.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0])
    points = np.array([0.5, 1.5, 2.5, 3.3, 4.5])
    expected = theirs.Akima1DInterpolator(x, y, method=method)(points)
    found = jvp(lambda y: ours.Akima1DInterpolator(x, y, method=method)(points), (y,), (y,))
    np.testing.assert_allclose(found, [expected, expected], rtol=1e-12)  # the curve of c y is c times that of y


def test_given_slopes():
    agree(ours.CubicHermiteSpline, theirs.CubicHermiteSpline, X, Y, np.cos(X))


@pytest.mark.parametrize("of", ["derivative", "antiderivative"])
@pytest.mark.parametrize("nu", [1, 2, 3])
def test_derivatives_and_antiderivatives_are_scipys(of, nu):
    for name, data in (("CubicSpline", (X, Y)), ("make_interp_spline", (X, Y))):
        make = [
            lambda *data, room=room, name=name: getattr(getattr(room, name)(*data), of)(nu) for room in (ours, theirs)
        ]
        agree(*make, *data)
    assert derivative(ours.CubicSpline(X, Y), nu)(1.9) == pytest.approx(float(theirs.CubicSpline(X, Y)(1.9, nu)))


@pytest.mark.parametrize("ends", [(0.4, 2.7), (2.7, 0.4), (-0.4, 4.1)])
def test_integrals(ends):
    def integral(room, **options):
        return lambda x, y, a, b: room(x, y, **options).integrate(a, b)

    for mine, scipys, options in (
        (ours.CubicSpline, theirs.CubicSpline, {}),
        (ours.CubicSpline, theirs.CubicSpline, {"extrapolate": "periodic"}),
        (ours.make_interp_spline, theirs.make_interp_spline, {}),
    ):
        f = integral(mine, **options)
        found = jvp(f, (X, Y, *ends), (X, Y, 1.0, 1.0))[0]
        assert sr.value(found) == pytest.approx(float(integral(scipys, **options)(X, Y, *ends)), rel=1e-11)
        check_grads(f, (X, Y, *ends), order=2 if ends == (0.4, 2.7) else 1, rtol=1e-4)


def test_the_derivative_of_an_integral_is_the_value():
    spline = ours.CubicSpline(X, Y)
    assert grad(lambda b: spline.integrate(0.5, b))(1.9) == pytest.approx(float(spline(1.9)))


@pytest.mark.parametrize("extrapolate", [False, "periodic"])
def test_points_outside(extrapolate):
    def make(room):
        return lambda y: room.CubicSpline(X, y, extrapolate=extrapolate)

    found = jvp(lambda y: make(ours)(y)(POINTS), (Y,), (Y,))
    np.testing.assert_allclose(sr.value(found[0]), make(theirs)(Y)(POINTS), rtol=1e-12)
    assert np.isnan(found[1]).tolist() == np.isnan(found[0]).tolist()
    knots = np.linspace(0.0, 4.0, 11)
    for room in (ours, theirs):
        assert room.BSpline(knots, np.ones(7), 3, extrapolate=extrapolate)(np.array([0.1])).shape == (1,)
    found = jvp(lambda c: ours.BSpline(knots, c, 3, extrapolate=extrapolate)(POINTS), (Y,), (Y,))[0]
    expected = theirs.BSpline(knots, Y, 3, extrapolate=extrapolate)(POINTS)
    np.testing.assert_allclose(sr.value(found), expected, rtol=1e-12)


KNOTS = np.array([-0.9, -0.2, 0.1, 0.3, 0.9, 1.4, 1.6, 2.2, 2.5, 3.1, 3.3, 4.0])


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
def test_b_splines(k):
    generator = np.random.default_rng(k)
    c = generator.normal(size=(len(KNOTS) - k - 1, 2))
    make = [lambda t, c, room=room: room.BSpline(t, c, k) for room in (ours, theirs)]
    agree(*make, KNOTS, c, order=2 if k == 3 else 1)
    for nu in range(1, k + 1):
        make = [lambda t, c, room=room, nu=nu: room.BSpline(t, c, k).derivative(nu) for room in (ours, theirs)]
        agree(*make, KNOTS, c, points=INSIDE)


def test_b_splines_with_knots_that_coincide():
    t = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.5, 4.0, 4.0, 4.0, 4.0])
    make = [lambda c, room=room: room.BSpline(t, c, 3) for room in (ours, theirs)]
    agree(*make, Y)
    make = [lambda c, room=room: room.BSpline(t, c, 3).derivative() for room in (ours, theirs)]
    agree(*make, Y)


def test_a_b_spline_that_jumps_has_slopes_and_no_derivative():
    t, c = np.repeat([0.0, 1.0, 2.0], 3), np.arange(6.0) ** 2
    make = [lambda c, room=room: lambda x: room.BSpline(t, c, 2)(x, 1) for room in (ours, theirs)]
    agree(*make, c, points=np.array([0.5, 1.5]))
    with pytest.raises(ValueError, match="repeated knots and is not differentiable 1 times"):
        jvp(lambda c: ours.BSpline(t, c, 2).derivative()(0.5), (c,), (c,))


@pytest.mark.parametrize("k", range(6))
def test_splines_through_points(k):
    make = [lambda x, y, room=room: room.make_interp_spline(x, y, k) for room in (ours, theirs)]
    agree(*make, X, Y2)


@pytest.mark.parametrize(
    "ends", ["natural", "clamped", "not-a-knot", ([(1, 0.3)], [(2, 0.5)]), ([(1, 0.3)], "natural")]
)
def test_splines_with_ends(ends):
    make = [lambda x, y, room=room: room.make_interp_spline(x, y, 3, bc_type=ends) for room in (ours, theirs)]
    agree(*make, X, Y)


def test_splines_with_given_knots_and_numbers_at_the_ends():
    def make(room):
        ends = X[:1].repeat(4), X[-1:].repeat(4)
        return lambda y, inner: room.make_interp_spline(X, y, 3, np.concatenate([ends[0], inner, ends[1]]))

    agree(make(ours), make(theirs), Y, X[2:-2] + 0.05)
    check_grads(lambda v: ours.make_interp_spline(X, Y, bc_type=([(1, v)], [(1, 2.0 * v)]))(INSIDE), (0.4,), order=2)
    check_grads(lambda v: ours.CubicSpline(X, Y, bc_type=((1, v), (2, v * v)))(INSIDE), (0.4,), order=2)


GRID = np.array([0.0, 0.4, 1.1, 1.5, 2.1, 3.0]), np.array([-1.0, -0.3, 0.2, 0.8, 1.3, 2.2, 2.7])
AT = np.array([[0.3, 0.4], [1.2, -0.7], [2.9, 2.3], [0.1, 1.0]])


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear", "cubic", "quintic", "pchip"])
@pytest.mark.parametrize("rest", [(), (2,)])
def test_grids(method, rest):
    generator = np.random.default_rng(0)
    values = generator.normal(size=(6, 7, *rest))
    exact = {"solver": spsolve} if method in ("cubic", "quintic") else {}

    def make(room):
        return lambda a, b, v: room.RegularGridInterpolator((a, b), v, method, **exact)

    agree(make(ours), make(theirs), *GRID, values, points=AT, order=2 if method == "linear" else 1)
    found = jvp(lambda v: make(ours)(GRID[0], GRID[1], v)((AT[:, :1], AT[:, 1])), (values,), (values,))[0]
    expected = make(theirs)(*GRID, values)((AT[:, :1], AT[:, 1]))
    np.testing.assert_allclose(sr.value(found), expected, rtol=1e-9, atol=1e-12)


def test_values_on_a_grid_are_scipys_and_not_those_of_an_exact_solution():
    """SciPy solves the equations of splines by an iteration that stops early."""
    values = np.random.default_rng(0).normal(size=(6, 7))
    room = theirs.RegularGridInterpolator
    expected, exact = (room(GRID, values, "cubic", **solver)(AT) for solver in ({}, {"solver": spsolve}))
    found = jvp(lambda v: ours.RegularGridInterpolator(GRID, v, "cubic")(AT), (values,), (values,))[0]
    np.testing.assert_array_equal(sr.value(found), expected)
    assert np.any(expected != exact)


def test_grids_that_fall_and_points_outside():
    values = np.arange(42.0).reshape(6, 7) ** 1.5
    outside = np.concatenate([AT, [[-1.0, 0.0], [0.0, 9.0]]])
    outside_is_nan, extrapolated = {"bounds_error": False}, {"bounds_error": False, "fill_value": None}
    for options in (outside_is_nan, extrapolated, extrapolated | {"method": "pchip"}):

        def make(room, options=options):
            return lambda v: room.RegularGridInterpolator((GRID[0][::-1], GRID[1]), v, **options)

        found = jvp(lambda v, make=make: make(ours)(v)(outside), (values,), (values,))[0]
        np.testing.assert_allclose(sr.value(found), make(theirs)(values)(outside), rtol=1e-12)


@pytest.mark.slow
def test_monotone_cubics_on_a_grid_of_three_axes_and_at_one_point():
    generator = np.random.default_rng(2)
    values = generator.normal(size=(6, 7, 6, 2))
    for points in (generator.uniform(0.0, 2.0, (5, 3)), np.array([[0.3, 0.4, 1.2]])):
        make = lambda room: lambda v, at: room.RegularGridInterpolator((*GRID, GRID[0]), v, "pchip")(at)  # noqa: E731
        found = jvp(make(ours), (values, points), (values, 0.0 * points))
        np.testing.assert_allclose(sr.value(found[0]), make(theirs)(values, points), rtol=1e-12)
        np.testing.assert_allclose(found[1], make(theirs)(values, points), rtol=1e-9)  # of degree one in the values
        check_grads(make(ours), (values, points), order=2)


@pytest.mark.slow
@given(
    st.integers(0, 2**32 - 1),
    st.integers(4, 12),
    st.sampled_from(["CubicSpline", "PchipInterpolator", "Akima1DInterpolator"]),
)
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
def test_random_data(seed, n, name):
    generator = np.random.default_rng(seed)
    x, y = np.cumsum(generator.uniform(0.2, 1.0, n)), generator.normal(size=n)
    points = generator.uniform(x[0], x[-1], 5)
    check(lambda y, points: getattr(ours, name)(x, y)(points), y, points, generator=generator, dtypes=False)
    found = jvp(lambda y: getattr(ours, name)(x, y)(points), (y,), (y,))[0]
    np.testing.assert_allclose(sr.value(found), getattr(theirs, name)(x, y)(points), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda room, y: room.CubicSpline(X[::-1], y),
        lambda room, y: room.CubicSpline(X, y[:3]),
        lambda room, y: room.CubicSpline(X, y, bc_type="wrong"),
        lambda room, y: room.CubicSpline(X, y * np.inf),
        lambda room, y: room.PchipInterpolator(X[:1], y[:1]),
        lambda room, y: room.Akima1DInterpolator(X, y, method="wrong"),
        lambda room, y: room.BSpline(KNOTS[::-1], y, 3),
        lambda room, y: room.BSpline(KNOTS, y[:3], 3),
        lambda room, y: room.make_interp_spline(X, y[:3]),
        lambda room, y: room.make_interp_spline(X, y, bc_type="wrong"),
        lambda room, y: room.RegularGridInterpolator((X,), y[:3]),
        lambda room, y: room.RegularGridInterpolator((X,), y)(np.array([[99.0]])),
        lambda room, y: room.RegularGridInterpolator((X,), y, "wrong"),
        lambda room, y: room.PPoly(y, X),
        lambda room, y: room.CubicSpline(X, y)(0.5, -1),
    ],
)
def test_errors_are_scipys(call):
    with pytest.raises((ValueError, NotImplementedError)) as expected:
        call(theirs, Y)
    with pytest.raises(expected.type) as found:
        grad(lambda y: call(ours, y) and 0.0)(Y)
    if "wrong" not in str(expected.value):
        assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y: ours.CubicSpline(X, y).roots(), r"interpolate\.CubicSpline\.roots has no derivative rule"),
        (lambda y: ours.CubicSpline(X, Y).solve(y[0]), r"interpolate\.CubicSpline\.solve has no derivative rule"),
        (lambda y: ours.CubicSpline(X, y * 1j)(0.5), r"Give it the real and the imaginary part"),
        (lambda y: ours.CubicSpline(X, y)(1j), r"Give it the real and the imaginary part"),
        (lambda y: ours.make_interp_spline(X, y)(0.5, -1), r"Cannot do derivative order"),
        (lambda y: ours.interp1d(X, y), r"Use numpy\.interp"),
        (lambda y: ours.make_interp_spline(X, y, bc_type="periodic"), r"Use CubicSpline"),
        (lambda y: ours.RegularGridInterpolator((X,), y, "cubic_legacy")(INSIDE), r'method="cubic"'),
    ],
)
def test_what_has_no_derivative_is_an_error(call, message):
    with pytest.raises((NotImplementedError, TypeError), match=message):
        grad(lambda y: np.sum(call(y)))(Y)


def test_plain_data_are_scipys_objects():
    spline = ours.CubicSpline(X, Y)
    np.testing.assert_array_equal(spline.roots(), theirs.CubicSpline(X, Y).roots())
    with pytest.raises(AttributeError):
        _ = spline.nothing
    with pytest.raises(AttributeError):
        grad(lambda y: ours.CubicSpline(X, y).nothing)(Y)


def test_a_negative_order_is_the_opposite():
    for name in ("CubicSpline", "make_interp_spline"):
        for of in ("derivative", "antiderivative"):
            found = jvp(lambda y, name=name, of=of: getattr(getattr(ours, name)(X, y), of)(-1)(INSIDE), (Y,), (Y,))[0]
            expected = getattr(getattr(theirs, name)(X, Y), of)(-1)(INSIDE)
            np.testing.assert_allclose(sr.value(found), expected, rtol=1e-11)


def test_values_are_in_double_precision_and_gradients_in_that_of_the_argument():
    single = Y.astype(np.float32)
    assert jvp(lambda y: ours.CubicSpline(X, y)(INSIDE), (single,), (single,))[0].dtype == np.float64
    assert grad(lambda y: ours.CubicSpline(X, y)(1.5))(single).dtype == np.float32


def test_a_tuple_of_one_array_is_this_array():
    for shape in ((1,), (3,), (2, 1)):
        at = np.full(shape, 0.7)
        found = jvp(lambda p: ours.RegularGridInterpolator((X,), Y)((p,)), (at,), (at,))[0]
        assert np.shape(sr.value(found)) == theirs.RegularGridInterpolator((X,), Y)((at,)).shape
