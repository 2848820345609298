"""Splines through images: SciPy's values, the three ways, modes, and errors."""

import numpy as np
import pytest

theirs = pytest.importorskip("scipy.ndimage")

import shiftreset_ad as sr  # noqa: E402
from shiftreset_ad import grad, hessian, jvp  # noqa: E402
from shiftreset_ad.scipy import ndimage  # noqa: E402
from tests.rules.three_ways import check  # noqa: E402

MODES = ("constant", "nearest", "mirror", "reflect", "wrap", "grid-wrap", "grid-constant", "grid-mirror")
GENERATOR = np.random.default_rng(0)
LINE, IMAGE = GENERATOR.normal(size=6), GENERATOR.normal(size=(5, 4))
INSIDE = np.array([[0.3, 2.6, 3.9, 1.2], [1.7, 0.1, 2.8, 2.2]])
OUTSIDE = np.linspace(-16.7123, 21.4371, 40)[None]


def agree(order, mode, data, at, cval=0.7):
    options = {"order": order, "mode": mode, "cval": cval}
    weights = np.cos(np.arange(at[0].size, dtype=float)).reshape(at[0].shape)
    mine = lambda data, at: weights * ndimage.map_coordinates(data, at, **options)  # noqa: E731
    scipys = weights * theirs.map_coordinates(data, at, **options)
    found, slope = jvp(mine, (data, at), (np.zeros_like(data), np.ones_like(at)))
    np.testing.assert_array_equal(sr.value(found), scipys)
    step = 1e-6
    ends = [weights * theirs.map_coordinates(data, at + sign * step, **options) for sign in (1, -1)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), atol=1e-6)
    unit = np.cos(np.arange(data.size, dtype=float)).reshape(data.shape)
    _, along = jvp(lambda data: mine(data, at), (data,), (unit,))
    exact = weights * theirs.map_coordinates(unit, at, **(options | {"cval": 0.0}))
    np.testing.assert_allclose(along, exact, atol=1e-12)
    total = lambda data, at: np.sum(mine(data, at))  # noqa: E731
    of_data, of_places = grad(total, (0, 1))(data, at)
    assert np.sum(of_data * unit) == pytest.approx(np.sum(along), abs=1e-12)
    assert np.sum(of_places) == pytest.approx(np.sum(slope), abs=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", range(6))
def test_each_order_and_mode(order, mode):
    agree(order, mode, LINE, OUTSIDE)
    agree(order, mode, IMAGE, INSIDE)
    agree(order, mode, IMAGE, np.stack([OUTSIDE[0], OUTSIDE[0, ::-1] * 0.7123 + 0.0137]))


@pytest.mark.parametrize("order", [2, 3])
def test_all_orders_of_derivatives(order):
    check(
        lambda data, at: ndimage.map_coordinates(data, at, order=order, mode="mirror"),
        IMAGE,
        INSIDE,
        generator=np.random.default_rng(0),
        dtypes=False,
    )


def test_without_the_filter_and_with_a_single_row():
    options = {"order": 3, "prefilter": False, "mode": "nearest"}
    found = jvp(lambda at: ndimage.map_coordinates(LINE, at, **options), (OUTSIDE,), (OUTSIDE,))[0]
    np.testing.assert_allclose(found, theirs.map_coordinates(LINE, OUTSIDE, **options))
    for mode in MODES[1:]:
        agree(3, mode, LINE[None], INSIDE[:, :2])
    at = np.stack([np.zeros(4), INSIDE[1]])
    found = jvp(lambda data: ndimage.map_coordinates(data, at), (LINE[None],), (LINE[None],))[1]
    np.testing.assert_allclose(found, theirs.map_coordinates(LINE[None], at))


def test_the_value_outside_has_a_derivative():
    f = lambda c, mode: np.sum(ndimage.map_coordinates(LINE, OUTSIDE, mode=mode, cval=c))  # noqa: E731
    for mode in ("constant", "grid-constant"):
        exact = f(1.0, mode) - f(0.0, mode)
        assert grad(lambda c, mode=mode: f(c, mode))(0.3) == pytest.approx(exact)


def test_the_way_of_an_image_is_found_again():
    x, y = np.meshgrid(np.arange(12.0), np.arange(12.0), indexing="ij")
    image = np.sin(x / 3.0) * np.cos(y / 4.0)
    at = np.stack([x, y])[:, 3:9, 3:9]
    target = theirs.map_coordinates(image, at + np.array([0.4, -0.7])[:, None, None])
    loss = lambda s: np.sum((ndimage.map_coordinates(image, at + s[:, None, None]) - target) ** 2)  # noqa: E731
    s = np.zeros(2)
    for _ in range(6):
        s = s - np.linalg.solve(hessian(loss)(s), grad(loss)(s))
    np.testing.assert_allclose(s, [0.4, -0.7], atol=1e-8)


def test_what_has_no_derivative_says_so():
    with pytest.raises(NotImplementedError, match="with output"):
        grad(lambda a: np.sum(ndimage.map_coordinates(a, INSIDE, np.zeros(4))))(IMAGE)
    with pytest.raises(NotImplementedError, match=r"scipy\.ndimage\.gaussian_filter has no derivative rule"):
        grad(lambda a: np.sum(ndimage.gaussian_filter(a, 1.0)))(IMAGE)
    with pytest.raises(NotImplementedError, match="complex"):
        grad(lambda a: np.sum(np.abs(ndimage.map_coordinates(a * 1j, INSIDE))))(IMAGE)
    with pytest.raises(RuntimeError, match="spline order not supported"):
        grad(lambda a: np.sum(ndimage.map_coordinates(a, INSIDE, order=6)))(IMAGE)


@pytest.mark.parametrize("order", range(6))
def test_whole_periods_outside_wrap_to_an_end_as_in_scipy(order):
    places = np.array([[-10.0, -5.0, 5.0, 10.0, 15.0]])  # the period of six points is five
    jacobian = sr.jacobian(lambda data: ndimage.map_coordinates(data, places, order=order, mode="wrap"))(LINE)
    np.testing.assert_allclose(jacobian, theirs_of_units(places, order, "wrap"), atol=1e-12)


def theirs_of_units(places, order, mode):
    units = [theirs.map_coordinates(unit, places, order=order, mode=mode) for unit in np.eye(LINE.size)]
    return np.stack(units, axis=1)


@pytest.mark.parametrize("mode", ["constant", "wrap"])
def test_at_the_last_place_the_derivative_is_that_on_the_left(mode):
    slope = grad(lambda at: ndimage.map_coordinates(LINE, np.reshape(at, (1, 1)), order=1, mode=mode)[0])
    assert slope(5.0) == pytest.approx(LINE[5] - LINE[4])
    assert slope(4.0) == pytest.approx(LINE[5] - LINE[4])
    single = sr.jacobian(lambda at: ndimage.map_coordinates(LINE[:1], at, order=1, mode=mode))(np.zeros((1, 1)))
    assert single.tolist() == [[[0.0]]]
