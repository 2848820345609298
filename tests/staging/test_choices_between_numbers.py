"""A choice between numbers, such as `maximum`, has one record whichever is chosen: a zero stands for no adjoint."""

import math
import warnings

import numpy as np
import pytest

from shiftreset_ad import grad, hessian, jvp, nn, staged, vmap
from shiftreset_ad.rules.numpy.shapes import repeated
from shiftreset_ad.staging.steps.trace import SHAPES
from tests.staging.native.natively import needs_native

POINTS = [(1.0, 2.0), (2.0, 1.0), (3.0, 3.0), (-1.0, 4.0), (4.0, -2.0), (0.0, 0.0), (0.5, math.inf), (1.0, 2.0)]
FUNCTIONS = {
    "alone": np.maximum,
    "maximum": lambda x, y: np.maximum(x, y) ** 2 * y,
    "minimum": lambda x, y: np.minimum(x, x * y) ** 2 * y,
    "fmax": lambda x, y: np.fmax(x, y) ** 2 * x,
    "fmin": lambda x, y: np.fmin(x, 2.0 * y) * x,
    "clip": lambda x, y: np.clip(x, -0.5, y) ** 2,
    "a chain": lambda x, y: np.maximum(np.maximum(x * y, 0.0) - y, 0.0) * x,
    "an integer": lambda x, y: np.maximum(x, 2) * y,
    "where": lambda x, y: np.where(x > y, x * x, y) * x,
    "relu": lambda x, y: nn.relu(x - y) * y,
    "a number and an array": lambda x, y: np.sum(np.maximum(x, np.array([1.0, 2.0, 3.0])) * y),
    "the greatest of a stack": lambda x, y: np.max(np.stack([x, y, x * y])) * x,
    "elements": lambda x, y: np.maximum(np.stack([x, y])[0], np.stack([x, y])[1]) * x,
}
MODES = {
    "gradient": lambda f: grad(f, (0, 1)),
    "second derivatives": lambda f: grad(lambda x, y: grad(f)(x, y) * x, (0, 1)),
    "forward": lambda f: lambda x, y: jvp(f, (x, y), (1.0, 0.5))[1],
    "forward over reverse": lambda f: lambda x, y: jvp(grad(f), (x, y), (1.0, 0.5))[1],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_one_record_serves_all_choices(name, mode):
    f = MODES[mode](FUNCTIONS[name])
    g = staged(f)
    for point in POINTS:
        assert np.allclose(g(*point), f(*point), equal_nan=True), point
    finite = [way for way in g._calls.ways if not way.answers or set(way.sites) == {SHAPES}]
    assert len(finite) == 1  # others have asked, as an answer was NaN
    assert len(g._calls.ways) <= 3


@needs_native
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["maximum", "clip", "a chain", "where", "elements"])
def test_it_is_native_code(name, mode):
    g = staged(MODES[mode](FUNCTIONS[name]))
    for _ in range(3):
        g(1.0, 2.0)
    assert [way.is_native for way in g._calls.ways] == [True]


@needs_native
def test_a_record_that_asks_is_native_code():
    g = staged(grad(lambda x: np.where(x > 0.0, np.sqrt(x), 0.0) + x))
    with np.errstate(all="ignore"):
        assert [g(x) for x in (0.0, 0.0, 0.0, 0.0)] == [1.0] * 4
    assert [way.is_native for way in g._calls.ways] == [True]


def american(s, k, r, sigma, steps=12):
    """The price of an American option by a tree, whose owner may exercise it at each node."""
    up = np.exp(sigma * np.sqrt(1.0 / steps))
    discount = np.exp(-r / steps)
    q = (1.0 / discount - 1.0 / up) / (up - 1.0 / up)
    values = [np.maximum(k - s * up ** (2 * i - steps), 0.0) for i in range(steps + 1)]
    for level in range(steps - 1, -1, -1):
        kept = [discount * (q * values[i + 1] + (1.0 - q) * values[i]) for i in range(level + 1)]
        values = [np.maximum(kept[i], k - s * up ** (2 * i - level)) for i in range(level + 1)]
    return values[0]


def test_an_option_with_many_strikes():
    greeks = grad(american, (0, 1, 2, 3))
    g = staged(greeks)
    for k in np.linspace(80.0, 120.0, 12):
        assert np.allclose(g(100.0, float(k), 0.05, 0.2), greeks(100.0, float(k), 0.05, 0.2))
    assert len(g._calls.ways) == 1


@pytest.mark.parametrize("points", [(2.0, 3.0, 0.0, 0.0, 0.0, 1.0, 0.0, 5.0), (0.0, 0.0, 0.0, 2.0, 0.0, 3.0)])
def test_an_infinite_slope_of_a_number_that_is_not_chosen_does_not_count(points):
    f = grad(lambda x: np.where(x > 0.0, np.sqrt(x), 0.0) + x)
    g = staged(f)
    for x in points:
        assert g(x) == f(x)
    assert len(g._calls.ways) == 2  # one without questions, and one that asks, for zero
    assert g._calls._problem == ""


def test_nan_that_is_the_answer_is_recorded_once():
    f = grad(lambda x, y: np.maximum(x, 0.0) * y)
    g = staged(f)
    for _ in range(3):
        assert g(1.0, 2.0) == 2.0
        assert math.isnan(g(1.0, math.nan))
    assert len(g._calls.ways) == 2


def test_rows_of_vmap_choose_by_themselves():
    f = vmap(grad(lambda x: np.where(x > 0.0, np.sqrt(x), 0.0) + np.maximum(x, 1.0)))
    for g in (f, staged(f)):
        for x in ([4.0, 1.0, 0.25], [4.0, 1.0, 0.25], [4.0, 0.0, 0.25], [0.0, 0.0, 0.0], [1.0, 4.0, 0.0]):
            wanted = [grad(lambda x: np.where(x > 0.0, np.sqrt(x), 0.0) + np.maximum(x, 1.0))(float(e)) for e in x]
            assert np.allclose(g(np.array(x)), wanted)
    assert "for all rows at once" in f.report()
    assert "certain_number" not in f.report()  # which is called row by row


def test_an_array_with_a_choice_between_its_elements():
    f = hessian(lambda v: sum(np.maximum(v[i], v[i - 1]) ** 2 for i in range(3)))
    g = staged(f)
    for v in ([1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 2.0, 2.0], [-1.0, 0.0, -3.0]):
        assert np.allclose(g(np.array(v)), f(np.array(v)))
    assert len(g._calls.ways) == 1


def test_a_choice_in_a_branch():
    """A branch carries zeros already, so the function itself runs where an answer is NaN."""

    def f(x):
        if x > -1.0:
            return np.where(x > 0.0, np.sqrt(x), 0.0) + x
        return x * x

    g = staged(grad(f))
    for x in (1.0, -2.0, 0.0, 4.0, 0.0, -3.0):
        assert g(x) == grad(f)(x)
    assert len(g._calls.ways) == 1


def test_an_error_of_the_program_is_its_own():
    def f(x, y):
        return np.maximum(x, 0.0) * (1.0 / y if isinstance(y, float) else y)

    g = staged(f)
    assert g(1.0, 2.0) == g(1.0, 2.0) == 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError):
            g(1.0, 0.0)


@pytest.mark.parametrize(("x", "of"), [(2.0, lambda x: np.where(x > 1.0, x * 2.0, 0.0)), (0.5, np.sum)])
def test_the_item_of_an_array_without_dimensions(x, of):
    g = staged(lambda x: (of(x)[()] * 3.0, of(x).item() + 1.0))
    for _ in range(4):
        found = g(x)
    assert repr(found) == repr((of(x)[()] * 3.0, of(x).item() + 1.0))


@needs_native
def test_items_are_native_code():
    g = staged(lambda v: np.where(v[0] > 1.0, v[1], 0.0)[()] * v.reshape(()).item() if v.size == 1 else np.sum(v)[()])
    for v in (np.array([2.0, 3.0]), np.array([2.0, 3.0]), np.array([4.0, 3.0])):
        assert g(v) == np.sum(v)
    assert all(way.is_native for way in g._calls.ways)


def test_a_zero_that_is_repeated_is_an_array_of_its_own():
    """A branch gives a float for what has no derivative. As a view, the answer could not be written to."""
    y = repeated(0.0, (2,))
    assert y.strides == (8,)
    assert y.flags.writeable


def test_a_choice_in_a_loop_whose_numbers_are_of_two_types():
    """NumPy's in the first round, and Python's in the next one."""

    def f(x):
        s, i = np.sin(x), 0
        while i < 4 and s < 9.0:
            s = np.maximum(s, 0.5) * x if i % 2 == 0 else float(i) + x
            i += 1
        return s

    g = staged(grad(f))
    for x in (1.5, 2.0, 0.25, -1.0, 3.0):
        assert g(x) == pytest.approx(grad(f)(x))
    assert len(g._calls.ways) == 1


def test_a_number_has_a_derivative_without_dimensions_and_of_the_type_that_the_function_gives():
    """Also where the first run asks, as its derivative is NaN. With another type the function would be given up."""
    f = MODES["forward over reverse"](lambda x, y: nn.relu(x - y) * y)
    g = staged(f)
    for point in ((2.0, 1.0), (3.0, 1.0), (4.0, 2.0), (1.0, 2.0)):
        assert not isinstance(g(*point), np.ndarray)
        assert g(*point) == f(*point)

    def bounded(x):
        slope = grad(lambda t: np.maximum(np.sqrt(t) - 5.0, t * 2.0))
        return min(jvp(lambda x: slope(x) * x, (x,), (1.0,))[1], 5.0)

    g = staged(bounded)
    with np.errstate(all="ignore"):
        assert [g(x) for x in (0.0, 30.0, 3.0, 0.0, 2.0)] == [2.0] * 5
    assert g.sources


def test_an_item_asks_nothing_and_is_left_out_where_nothing_needs_it():
    of_a_row, of_a_sum = staged(lambda v: v.item() * 2.0), staged(lambda v: (np.sum(v).item(), np.sum(v) * 2.0)[1])
    for g in (of_a_row, of_a_sum):
        assert g(np.array([1.5])) == g(np.array([1.5])) == 3.0
        assert "if not" not in g.sources[0]
    assert "number" not in of_a_sum.ir[0]
