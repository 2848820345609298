"""NumPy's functions of a list that grows: the length alone is asked, and the array of all items is one step."""

import numpy as np
import pytest

from shiftreset_ad import grad, jvp, staged
from shiftreset_ad.staging.front.stacking import JOINING, join

ITEMS = {
    "numbers": lambda v: v,
    "vectors": lambda v: np.stack([v, v * v, 1.0 - v]),
    "matrices": lambda v: np.stack([np.stack([v, 2.0 * v]), np.stack([v * v, v]), np.stack([-v, v])]),
}
JOINS = {
    "stack": lambda xs: np.stack(xs),
    "stack at the end": lambda xs: np.stack(xs, axis=-1),
    "stack beside the first": lambda xs: np.stack(xs, 1),
    "concatenate": lambda xs: np.concatenate(xs),
    "concatenate the last axes": lambda xs: np.concatenate(xs, axis=-1),
    "concatenate all": lambda xs: np.concatenate(xs, None),
    "vstack": lambda xs: np.vstack(xs),
    "hstack": lambda xs: np.hstack(xs),
    "column_stack": lambda xs: np.column_stack(xs),
}
OTHERS = {
    "array": lambda xs: np.array(xs),
    "array of floats": lambda xs: np.array(xs, dtype=float),
    "asarray": lambda xs: np.asarray(xs, np.float64),
}
WITHOUT_NUMBERS = {  # a list of numbers that are differentiated is no array to them, outside of a staged function
    "sum": lambda xs: np.sum(xs),
    "mean of the items": lambda xs: np.mean(xs, axis=0),
    "the greatest one": lambda xs: np.max(xs) - np.min(xs),
    "a ufunc": lambda xs: np.sin(xs) + np.exp(xs),
    "running sums": lambda xs: np.cumsum(xs),
    "its shape": lambda xs: np.shape(xs)[0] * 1.0 + np.size(xs),
}
POINTS = ((0.7, 4.0), (1.3, 4.0), (0.3, 6.0), (0.7, 4.0), (1.3, 6.0), (0.2, 4.0), (0.7, 4.0), (1.3, 4.0))


def appended(item, x, n):
    """As many items as the values decide."""
    xs, v = [], x
    while v < n:
        xs.append(item(v))
        v = v * 1.5 + 0.1
    return xs


def agree(f, points=POINTS):
    """That a staged function answers as the function does, and that its records have the loop that appends."""
    compiled = staged(f)
    for args in points:
        found, expected = compiled(*args), f(*args)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert type(found) is type(expected)
        assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)
    require_loops(compiled)


def require_loops(compiled):
    assert compiled.sources
    assert all("while " in source for source in compiled.sources)


@pytest.mark.parametrize("items", ITEMS)
@pytest.mark.parametrize("join", JOINS | OTHERS | WITHOUT_NUMBERS)
def test_the_array_of_a_list_is_that_of_its_items(items, join):
    function = (JOINS | OTHERS | WITHOUT_NUMBERS)[join]

    def f(x, n):
        return function(appended(ITEMS[items], x, n)) * 1.0

    try:
        f(*POINTS[0])
    except (ValueError, np.exceptions.AxisError) as error:
        with pytest.raises(type(error), match=r"\w"):
            staged(f)(*POINTS[0])
        return
    agree(f)


DERIVATIVES = [  # NumPy does not join numbers, and has no array of vectors that are differentiated
    *((join, "numbers") for join in ("stack", "stack at the end", "hstack", "column_stack", "array")),
    *((join, "vectors") for join in ("stack", "stack at the end", "concatenate", "hstack", "column_stack")),
]


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("mode", ["reverse", "forward", "reverse over reverse"])
@pytest.mark.parametrize(("join", "items"), DERIVATIVES)
def test_derivatives_of_joined_items(join, items, mode):
    def f(x, n):
        found = (JOINS | OTHERS)[join](appended(ITEMS[items], x, n))
        return np.sum(found * found * 0.1 + found)

    modes = {
        "reverse": grad(f),
        "forward": lambda x, n: jvp(lambda x: f(x, n), (x,), (0.5,))[1],
        "reverse over reverse": grad(grad(f)),
    }
    agree(modes[mode], POINTS[:4])


def test_a_long_list_is_a_loop_and_an_array():
    def positions(x):
        xs = [x]
        for _ in range(400):
            v = xs[-1]
            xs.append(v + 0.01 * np.stack([v[1], -v[0]]))
        return np.sum(np.stack(xs) ** 2)

    def numbers(x):
        xs = []
        for _ in range(700):
            x = x + 0.01 * np.sin(x)
            xs.append(x)
        return np.sum((np.array(xs) - 1.0) ** 2)

    for f, args in ((positions, np.array([1.0, 0.5])), (numbers, 0.7)):
        slope = staged(grad(f))
        for factor in (1.0, 1.0, 1.0, 1.7, 0.4):
            np.testing.assert_allclose(slope(args * factor), grad(f)(args * factor), rtol=1e-10)
        (source,) = slope.sources
        assert source.count("\n") < 150


@pytest.mark.parametrize("name", ["stack", "concatenate", "hstack", *OTHERS, *WITHOUT_NUMBERS])
def test_there_is_one_step_for_all_items(name):
    function = (JOINS | OTHERS | WITHOUT_NUMBERS)[name]
    compiled = staged(lambda x, n: function(appended(lambda v: np.stack([1.0 / v, 0.5]), x, n)) * 1.0)
    for _ in range(3):
        compiled(0.1, 1e12)  # 70 items
    (source,) = compiled.sources
    assert source.count("\n") < 35


def test_a_list_goes_on_after_the_array_of_its_items():
    def f(x, n):
        xs = appended(lambda v: v, x, n)
        before = np.array(xs)
        if x > 0.5:
            xs.append(2.0 * x)
        else:
            xs[0] = 7.0
        xs.pop(0)
        return np.sum(before) + 10.0 * np.sum(np.array(xs))

    agree(f)
    agree(grad(f), POINTS[:5])


def test_the_first_items_may_be_gone():
    def f(x, n):
        xs = appended(lambda v: v, x, n)
        first = xs.pop(0)
        while xs[0] < 1.0:
            xs.pop(0)
        return np.array(xs) * first

    agree(f)


def test_an_item_that_changes_later_does_not_change_the_array():
    def f(x, n):
        xs = appended(lambda v: v, x, n)
        before = np.array(xs)
        xs[0] = 2.0 * x
        xs[1] = x
        return np.sum(before * np.arange(len(xs))), np.stack(xs)

    compiled = staged(f)
    for args in POINTS:
        for one, other in zip(compiled(*args), f(*args), strict=True):
            np.testing.assert_array_equal(one, other)
    require_loops(compiled)
    agree(grad(lambda x, n: f(x, n)[0] * np.sum(f(x, n)[1])), POINTS[:5])


def test_other_kinds_of_items():
    def counts(x, n):
        xs, k = [], 0
        while x < n:
            xs.append(k)
            x, k = x * 1.5 + 0.1, k + 2
        return np.array(xs), np.array(xs, dtype=float) * 0.5

    def truths(x, n):
        xs = []
        while x < n:
            xs.append(x > 1.0)
            x = x * 1.5 + 0.1
        return np.array(xs)

    def pairs(x, n):
        xs = []
        while x < n:
            xs.append((x, x * x))
            x = x * 1.5 + 0.1
        return np.array(xs)

    def none(x, n):
        xs = []
        while x > n:
            xs.append(x)
            x = x * 0.5
        return np.array(xs), np.sum(xs)

    for f in (counts, truths, pairs, none):
        compiled = staged(f)
        for args in POINTS:
            found, expected = compiled(*args), f(*args)
            parts = (found, expected) if isinstance(expected, tuple) else ((found,), (expected,))
            for one, other in zip(*parts, strict=True):
                np.testing.assert_array_equal(one, other)
                assert one.dtype == other.dtype


def test_other_options_join_the_items_themselves():
    def f(x, n):
        xs = appended(ITEMS["vectors"], x, n)
        return np.concatenate(xs, axis=0, dtype=np.float64) * 2.0, np.stack(xs, axis=0, dtype=np.float64)

    compiled = staged(f)
    for args in POINTS:
        for one, other in zip(compiled(*args), f(*args), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 3, 2), (4, 1, 2, 3)])
@pytest.mark.parametrize("function", JOINING, ids=lambda f: f.__name__)
def test_joins_of_an_array_are_those_of_its_items(function, shape):
    items = np.arange(float(np.prod(shape))).reshape(shape)
    for args in [(), *[(axis,) for axis in range(-5, 6)], (None,)]:
        try:
            expected = function([*items], *args)
        except (TypeError, ValueError, np.exceptions.AxisError):
            expected = None
        try:
            found = join(function, items, args, {})
        except (TypeError, ValueError, np.exceptions.AxisError):
            found = None
        assert (found is None) == (expected is None), args
        assert join(function, items, args, {"dtype": np.float64}) is None
        if found is not None:
            np.testing.assert_array_equal(found, expected)
