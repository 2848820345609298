"""What functions give lies in memory as NumPy's answer does, however their arguments lie.

So a `ravel` or a `reshape` of it is a view where NumPy's is one, and who writes to it sees what NumPy's user sees.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad, hvp, jvp
from shiftreset_ad.numbers.number import innermost
from shiftreset_ad.rules.layouts import in_order, in_order_like
from tests.docs import examples_of_numpy
from tests.rules.families import cases_of
from tests.rules.three_ways import examples, generators

EXAMPLES, POINTS, points_of = (getattr(examples_of_numpy(), name) for name in ("EXAMPLES", "POINTS", "points_of"))

LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "part": lambda x: np.ascontiguousarray(np.repeat(x, 2, axis=-1))[..., ::2],
    "part of F": lambda x: np.asfortranarray(np.repeat(x, 2, axis=-1))[..., ::2],
    "reversed": lambda x: np.flip(np.ascontiguousarray(np.flip(x))),
    "reversed F": lambda x: np.flip(np.asfortranarray(np.flip(x))),
    "first axis last": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0),
}
LISTED = ("shapes", "selection", "padding", "grids", "calling")  # the families whose cases are lists of calls
OF_TABLES = {"histogram2d", "histogramdd"}  # NumPy's are parts of larger tables, that have the outliers, too


def laid(layout: str, x: Any) -> Any:
    return LAYOUTS[layout](x) if np.ndim(x) else x


def arrays_in(y: Any) -> list[Any]:
    return [part for each in y for part in arrays_in(each)] if isinstance(y, tuple | list) else [y]


def strides_of(y: Any) -> list[int]:
    """Of the axes that have more than one element."""
    return [stride for size, stride in zip(y.shape, y.strides, strict=True) if size > 1 and y.size]


def lies_as_in_numpy(f: Any, *xs: Any) -> int:
    """Check the arrays that `f` gives for numbers, and count them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = f(*xs)
        except (AttributeError, TypeError, ValueError, np.linalg.LinAlgError):  # of another version, shape or rank
            return 0
        found: list[Any] = []

        def recorded(*numbers: Any) -> Any:
            found.append(f(*numbers))
            return 0.0 * sum(np.real(np.sum(x)) for x in numbers)

        grad(recorded, argnums=tuple(range(len(xs))))(*xs)
    count = 0
    for y, plain in zip(arrays_in(found[0]), arrays_in(expected), strict=True):
        array = innermost(y)
        if isinstance(plain, np.ndarray) and isinstance(array, np.ndarray):
            assert strides_of(array) == strides_of(plain)
            for x in xs:
                assert np.shares_memory(array, x) == np.shares_memory(plain, x)
            count += 1
    return count


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_examples_of_all_functions(layout):
    count = 0
    for name, f in EXAMPLES.items():
        if name.split(".")[-1] not in OF_TABLES:
            try:
                count += lies_as_in_numpy(f, *(laid(layout, POINTS[point]) for point in points_of(f)))
            except AssertionError as error:
                error.add_note(name)
                raise
    assert count > 200


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("family", LISTED)
def test_the_cases_of_functions_that_rearrange(family, layout):
    generator, count = np.random.default_rng(0), 0
    for function, calls in cases_of(family).items():
        for f, *shapes in calls:
            try:
                count += lies_as_in_numpy(f, *(laid(layout, generator.uniform(0.1, 0.9, shape)) for shape in shapes))
            except AssertionError as error:
                error.add_note(function.__name__)
                raise
    assert count > 10


@settings(examples, max_examples=60)
@given(shape=array_shapes(max_dims=3, max_side=4), data=st.data(), generator=generators)
def test_shapes_at_random(shape, data, generator):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    size = shape[axis]
    some = data.draw(st.lists(st.integers(-size, size - 1), max_size=3))
    cut = data.draw(st.slices(size))
    widths = generator.integers(0, 3, (len(shape), 2))
    mask, which = generator.random(shape) < 0.5, generator.integers(0, 2, shape)
    x = laid(data.draw(st.sampled_from(sorted(LAYOUTS))), generator.uniform(-1.0, 1.0, shape))
    functions = (
        lambda a: np.delete(a, some, axis),
        lambda a: np.delete(a, cut, axis),
        lambda a: np.delete(a, some[:1], axis),
        lambda a: np.delete(a, generator.permutation(size) < 2, axis),
        lambda a: np.insert(a, some, 1.0, axis),
        lambda a: np.insert(a, some[:1], a, axis),
        lambda a: np.insert(a, cut, 2.0, axis),
        lambda a: np.pad(a, widths),
        lambda a: np.pad(a, widths, "edge"),
        lambda a: np.pad(a, widths, "linear_ramp"),
        lambda a: np.pad(a, widths, "mean"),
        lambda a: np.choose(which, [a, 2.0 * a]),
        lambda a: np.choose(which, [a, 1.0], mode="wrap"),
        lambda a: np.select([mask, ~mask], [a, a * a]),
        lambda a: np.select([mask], [a[0]], a),
        lambda a: np.piecewise(a, [mask], [np.sin, np.cos]),
        lambda a: np.take(a, some, axis),
        lambda a: np.concatenate([a, a], axis),
        lambda a: np.stack([a, a], axis),
        lambda a: np.append(a, a, axis),
        lambda a: np.block([[a, a], [a, a]]),
        lambda a: np.tile(a, 2),
        lambda a: np.tile(a, (2, *(1,) * a.ndim)),
        lambda a: np.repeat(a, 2, axis),
        lambda a: np.roll(a, 1, axis),
        lambda a: np.where(mask, a, 0.0),
        lambda a: np.clip(a, -0.5, 0.5),
        lambda a: np.compress([True], a, axis),
        lambda a: np.full_like(a, a[(0,) * a.ndim]),
        lambda a: np.full_like(a, 1.0 + 0.0 * a, order="A"),
    )
    assert sum(lies_as_in_numpy(f, x) for f in functions) > len(functions) - 6  # NumPy does not take all arguments


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.maximum, np.logaddexp, np.hypot])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_methods_of_ufuncs(ufunc, layout):
    x = laid(layout, np.random.default_rng(0).uniform(0.1, 0.9, (2, 3, 4)))
    for axis in range(3):
        assert lies_as_in_numpy(lambda x, axis=axis: ufunc.accumulate(x, axis), x)
        assert lies_as_in_numpy(lambda x, axis=axis: ufunc.reduceat(x, [0, 1], axis), x)
        assert lies_as_in_numpy(lambda x, axis=axis: ufunc.reduce(x, axis), x)


def test_large_blocks():
    """NumPy fills them in the order of Fortran if all blocks are in it."""
    x = np.ones((4, 600))
    for a in (x, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2]):
        assert lies_as_in_numpy(lambda a: np.block([[a] * 20] * 10), a)
        assert lies_as_in_numpy(lambda a: np.block([[a] * 20, [np.ones((200, 12000))]]), a)


GIVING_TABLES = {
    "pad": lambda a: np.pad(a, 1),
    "delete": lambda a: np.delete(a, 1, axis=1),
    "delete_some": lambda a: np.delete(a, [0, 0], axis=1),
    "insert": lambda a: np.insert(a, 1, a[0], axis=0),
    "choose": lambda a: np.choose([[0], [1]], [a, a * a]),
    "select": lambda a: np.select([a > 0.5], [a], 2.0 * a),
    "piecewise": lambda a: np.piecewise(a, [a > 0.5], [np.sin, np.cos]),
    "block": np.block,
    "concatenate": lambda a: np.concatenate([a, a]),
}


X, V = np.array([[0.3, 0.8, 0.2], [0.9, 0.4, 0.7]]), np.array([[1.0, -2.0, 3.0], [-1.0, 0.5, 2.0]])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("f", GIVING_TABLES.values(), ids=GIVING_TABLES.keys())
def test_what_is_written_to_a_row_is_seen_in_the_table_where_it_is_in_numpy(f, layout):
    def written(x):
        y = f(x)
        row = y.ravel()
        row[1] = 5.0 * row[0] ** 2
        return np.sum(np.sin(y)) + np.sum(row**3)

    def along(t):
        return written(laid(layout, X + t * V))

    x, v, step = laid(layout, X), laid(layout, V), 1e-6
    value, gradient = sr.value_and_grad(written)(x)
    assert value == pytest.approx(written(x), rel=1e-13)
    assert np.sum(gradient * v) == pytest.approx((along(step) - along(-step)) / (2 * step), rel=1e-7)
    assert jvp(written, (x,), (v,))[1] == pytest.approx(np.sum(gradient * v), rel=1e-12)
    np.testing.assert_allclose(hvp(written, (x,), (v,)), grad(lambda x: jvp(written, (x,), (v,))[1])(x), rtol=1e-12)


def test_where_a_row_is_a_view_depends_on_the_layout():
    """Of most of the functions above, it is one for some layouts, and for others it is none."""
    tables = [[f(laid(layout, X)) for layout in LAYOUTS] for f in GIVING_TABLES.values()]
    assert sum(len({np.shares_memory(y, y.ravel()) for y in ys}) == 2 for ys in tables) >= 5


@pytest.mark.parametrize("layout", LAYOUTS)
def test_orders(layout):
    x = laid(layout, np.arange(24.0).reshape(2, 3, 4))
    y = laid("C", np.cos(x))

    def f(y):
        for order in ("C", "F"):
            assert strides_of(innermost(in_order(y, order))) == strides_of(np.copy(y.primal, order=order))
        like = in_order_like(y, x)
        assert strides_of(innermost(like)) == strides_of(np.copy(x, order="K"))
        np.testing.assert_array_equal(sr.value(like), sr.value(y))
        assert in_order(like, "C") is like or layout not in ("C", "part", "reversed")
        return np.sum(like * like)

    np.testing.assert_array_equal(grad(f)(y), 2.0 * y)
    np.testing.assert_array_equal(jvp(lambda y: in_order_like(y, x), (y,), (x,))[1], x)
