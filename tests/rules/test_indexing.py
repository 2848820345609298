from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices, integer_array_indices

from shiftreset_ad import grad, jvp
from shiftreset_ad.rules import indexing
from shiftreset_ad.rules.indexing import At, frozen_index, read, replaced, scatter, scatter_into
from tests.rules.three_ways import check, examples, generators

shapes = array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)


@examples
@given(data=st.data(), shape=shapes, generator=generators)
def test_basic_indices(data, shape, generator):
    index = data.draw(basic_indices(shape, allow_newaxis=True))
    check(lambda a: a[index], generator.uniform(-1.0, 1.0, shape), generator=generator)


@examples
@given(data=st.data(), shape=shapes, generator=generators)
def test_integer_arrays(data, shape, generator):
    """Drawn from few positions, so that they repeat."""
    result = array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=6)
    index = data.draw(integer_array_indices(shape, result_shape=result))
    check(lambda a: a[index], generator.uniform(-1.0, 1.0, shape), generator=generator)


@examples
@given(data=st.data(), shape=shapes, generator=generators)
def test_boolean_masks(data, shape, generator):
    axes = data.draw(st.integers(1, len(shape)))
    mask = generator.random(shape[:axes]) < 0.5
    check(lambda a: a[mask], generator.uniform(-1.0, 1.0, shape), generator=generator)


INDICES = [
    3,
    -1,
    np.int64(2),
    np.uint8(1),
    np.array(2),
    True,
    False,
    np.True_,
    None,
    ...,
    (),
    slice(1, None, 2),
    slice(None, None, -1),
    slice(3, 1),
    [],
    [0, 0, 0],
    [-1, 0, 3],
    [True, False, True, False],
    range(1, 3),
    (0, 1, 1),
    (..., 0),
    (0, ...),
    (None, 0, None, ..., None),
    (slice(None), None, slice(0, 2)),
    ([0, 1, 1], [2, 0, 0]),
    ([[0], [1]], [0, 2]),
    (0, [0, 0]),
    ([0, 0], 0),
    ([0, 0], slice(None), [1, 1]),
    (slice(None), [1, 1], None),
    (..., [0, 0], 1),
    ([0, 0], None, [1, 1]),
    (np.array([True, False, True, False]), 0),
    (np.array([False, True, False, False]), [0, 0]),  # one position in the mask, read twice
    (0, np.array([[True, False], [False, True], [True, True]])),
    (slice(1, 3), np.array([True, False, True]), 1),
    (np.zeros((4, 3, 2), bool),),
    np.ones((4, 3, 2), bool),
    (True, 0),
    np.zeros((0, 2), int),
    [[], []],
    ([[], []], 0),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_indices(index):
    generator = np.random.default_rng(0)
    check(lambda a: a[index], generator.uniform(-1.0, 1.0, (4, 3, 2)), generator=generator)
    check(lambda a: np.sin(a)[index], generator.uniform(-1.0, 1.0, (4, 3, 2))[::-1], generator=generator, dtypes=False)


@pytest.mark.parametrize("index", [(), ..., None, (None, ...), True, (None, None)], ids=repr)
@pytest.mark.parametrize("kind", [np.float64, np.array])
def test_indices_of_scalars(index, kind):
    check(lambda a: (a * 1.0)[index], kind(1.5), generator=np.random.default_rng(0), dtypes=False)


@pytest.mark.parametrize(
    "index", [4, (0, 0, 0, 0), [0, 7], 1.5, "a", (..., ...), np.array([True]), ([0, 1], [0, 1, 2])], ids=repr
)
def test_wrong_indices_raise_as_in_numpy(index):
    with pytest.raises(IndexError) as expected:
        np.ones((4, 3, 2))[index]
    with pytest.raises(type(expected.value)) as found:
        grad(lambda a: np.sum(a[index]))(np.ones((4, 3, 2)))
    assert str(found.value) == str(expected.value)


def rows(layout, shape):
    """Numbers in an array of this shape, and of this layout in memory."""
    x = np.random.default_rng(0).normal(size=shape)
    return {"C": x, "F": np.asfortranarray(x), "reversed": x[::-1], "every other": x.repeat(2, axis=-1)[..., ::2]}[
        layout
    ]


@pytest.mark.parametrize("shape", [(5,), (5, 1), (5, 4), (5, 2, 3), (5, 0), (0, 4)])
@pytest.mark.parametrize("layout", ["C", "F", "reversed", "every other"])
@pytest.mark.parametrize("places", [[], [1], [4, -5, 0, 0], [[1, 2, 3], [0, 0, -1]], [5], [0, -6], 2])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_read_as_by_numpy(shape, layout, places, order):
    x, index = rows(layout, shape), np.array(places, np.intp, order=order)
    if index.size and not -len(x) <= index.min() <= index.max() < len(x):
        with pytest.raises(IndexError) as error:
            x[index]
        with pytest.raises(IndexError) as found:
            read(x, index)
        assert str(found.value) == str(error.value)
        return
    answer, expected = read(x, index), x[index]
    assert (answer.strides, answer.dtype, answer.base is None) == (expected.strides, expected.dtype, not index.base)
    np.testing.assert_array_equal(answer, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("of_values", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(5, 8), (5, 7), (500, 4)])
@pytest.mark.parametrize("layout", ["C", "F", "reversed", "every other"])
def test_rows_of_any_layout_are_added_in_the_order_of_numpy(dtype, of_values, shape, layout):
    """Bit for bit, with infinities and NaN."""
    generator = np.random.default_rng(1)
    index = generator.integers(-5, 5, 300)
    values = rows(layout, (300, *shape[1:])).astype(of_values)
    values[:3, 0] = [np.inf, -np.inf, np.nan]
    array = generator.normal(size=shape).astype(dtype)
    expected = array.copy()
    np.add.at(expected, index, values)
    scatter_into(array, index, values)
    np.testing.assert_array_equal(array.view(f"i{array.itemsize}"), expected.view(f"i{array.itemsize}"))


def test_rows_are_read_and_added_the_fast_way(monkeypatch):
    """By `take`, and by the positions of their elements: each several times as fast as rows by an index."""
    counted = []
    for name in ("rows_at", "elements_of"):
        way = getattr(indexing, name)
        monkeypatch.setattr(indexing, name, lambda *given, name=name, way=way: counted.append(name) or way(*given))
    x, index = rows("C", (10, 8)), np.arange(300) % 10
    grad(lambda x: np.sum(np.sin(x[index])))(x)
    jvp(lambda x: x[index], (x,), (x,))
    assert counted == ["rows_at", "elements_of", "rows_at", "rows_at"]


def test_an_index_that_is_differentiated_is_refused():
    with pytest.raises((TypeError, IndexError)):
        grad(lambda a: np.sum(a[a[0]]))(np.ones(3))


@pytest.mark.parametrize("wrap", [lambda index: index, lambda index: (slice(None), index), lambda index: list(index)])
def test_an_index_array_may_be_changed_afterwards(wrap):
    index = np.array([0, 2])

    def f(a):
        given = wrap(index)
        y = a[given] * 1.0
        index[:] = 1
        if isinstance(given, list):
            given[:] = [1, 1]
        return np.sum(y)

    expected = np.zeros((3, 3))
    expected[wrap(np.array([0, 2]))] = 1.0
    np.testing.assert_array_equal(grad(f)(np.ones((3, 3))), expected)


class Counter:
    """An integer that changes."""

    def __init__(self, count):
        self.count = count

    def __index__(self):
        return self.count

    def __setitem__(self, _, count):
        self.count = count


@pytest.mark.parametrize("make", [np.array, Counter], ids=["an array without dimensions", "an object"])
@pytest.mark.parametrize("wrap", [lambda i: slice(i, 3), lambda i: (slice(None, 2), slice(i, None)), lambda i: i])
def test_a_bound_or_a_position_may_be_changed_afterwards(make, wrap):
    a = np.arange(1.0, 17.0).reshape(4, 4)

    def f(a, changes):
        i = make(1)
        b = a * 1.0
        total = np.sum(a[wrap(i)] ** 2)
        b[wrap(i)] *= 2.0
        total = total + np.sum(b * a)
        if changes:
            i[...] = 2
        return total

    expected = 2.0 * a
    expected[wrap(1)] *= 3.0
    for changes in (False, True):
        np.testing.assert_array_equal(grad(f)(a, changes), expected)
    assert jvp(f, (a, True), (np.ones((4, 4)), None))[1] == np.sum(expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize("index", [0, slice(1, 3), [0, 0, 1], np.array([True, False, True])], ids=repr)
def test_parts_are_added_in_the_precision_of_the_array(index, dtype):
    x = np.array([1.0, 2.0, 3.0], dtype)
    found = grad(lambda a: np.sum(a[index].astype(np.float64) ** 2) + np.sum(a[index]))(x)
    assert found.dtype == dtype
    expected = np.zeros(3)
    np.add.at(expected, index, 2 * x[index].astype(float) + 1)
    np.testing.assert_array_equal(found, expected)


def test_iteration_and_unpacking():
    generator = np.random.default_rng(0)
    check(lambda a: sum(row[0] * row[-1] for row in a), generator.uniform(size=(3, 2)), generator=generator)

    def f(a):
        first, *_, last = a
        return first * last

    check(f, generator.uniform(size=4), generator=generator)


def test_scatter_is_the_transpose_of_reading():
    """The sum of parts, which is used where parts are themselves being differentiated."""
    generator = np.random.default_rng(0)
    indices = [0, slice(1, 3), [0, 0], np.array([True, False, True]), (..., None)]
    x = np.zeros(3)
    parts = [generator.uniform(size=np.shape(x[index])) for index in indices]
    expected = np.zeros(3)
    for index, part in zip(indices, parts, strict=True):
        np.add.at(expected, index, part)
    np.testing.assert_allclose(scatter(parts, indices, (3,), np.float64), expected)
    frozen = [frozen_index(index) for index in indices]
    check(lambda *parts: scatter(list(parts), frozen, (3,), np.float64), *parts, generator=generator, dtypes=False)


def test_what_is_added_twice_counts_twice():
    array = np.zeros(3)
    scatter_into(array, np.array([0, 0]), np.array([1.0, 2.0]))
    scatter_into(array, (np.array([False, True, False]), ...), np.array([5.0]))
    scatter_into(array, slice(0, 2), 1.0)
    np.testing.assert_array_equal(array, [4.0, 6.0, 0.0])


def test_a_part_says_where_it_belongs():
    assert At(0, 1.5) == (0, 1.5)


@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize(
    ("shape", "index"),
    [
        ((5, 3), [0, 4, 0, -1, 2, -5]),
        ((5, 3, 2), [[0, 4], [0, -1]]),
        ((5, 0), [0, 0]),
        ((5, 3), []),
        ((4, 3), np.array([3, 3, 0], np.uint8)),
        ((4, 3), np.int8([-4, 3, -4])),
        ((4, 3), (np.array([0, -1, 0, 3]), np.array([2, -1, 2, -3]))),
        ((4, 3, 2), (np.array([0, -1, 0]), np.array([2, -1, 2]))),
        ((4, 3, 2), (-1, np.array([2, 2, -3]))),
        ((4, 3, 2), (np.array([[0], [1]]), np.int8([2, -1, 0]), 1)),
        ((4, 3, 2), (np.uint8([3, 3]), 0, -1)),
        ((4, 3, 0), (np.array([3, 3]), 0)),
    ],
)
def test_rows_are_added_as_by_add_at(shape, index, dtype, few, monkeypatch):
    """Bit for bit, in the same order; one row may be given for all."""
    monkeypatch.setattr(indexing, "FEW", few)
    generator = np.random.default_rng(1)
    index = np.array(index, np.intp) if isinstance(index, list) else index
    array = generator.normal(size=shape).astype(dtype)
    part = np.zeros(shape)[index].shape
    for rows in (part, part[1:]):
        values = generator.normal(size=rows) * 10.0 ** generator.integers(-9, 9, rows)
        found, expected = array.copy(), array.copy()
        indexing.scatter_into(found, index, values)
        np.add.at(expected, index, values)
        assert np.array_equal(found, expected)


def test_many_rows_are_not_added_row_by_row(monkeypatch):
    """`numpy.add.at` takes five times as long for rows as for elements."""
    seen = []

    class Add:
        @staticmethod
        def at(array, index, values):
            seen.append(array.ndim)

    monkeypatch.setattr(indexing.np, "add", Add)
    indexing.scatter_into(np.zeros((100, 20)), np.arange(100), np.ones((100, 20)))
    indexing.scatter_into(np.zeros((100, 20))[:, ::2], np.arange(100), np.ones((100, 10)))
    places = np.arange(100)[:, None], np.zeros((100, 9), int)
    indexing.scatter_into(np.zeros((100, 20)), places, np.ones((100, 9)))
    assert seen == [1, 2, 1]


@examples
@given(data=st.data(), shape=shapes, generator=generators)
def test_another_part(data, shape, generator):
    """The item may be broadcast to the part."""
    index = data.draw(basic_indices(shape))
    part = np.zeros(shape)[index].shape
    item = generator.uniform(-1.0, 1.0, tuple(data.draw(st.sampled_from((1, n))) for n in part))
    check(lambda a, b: replaced([b, a], index), generator.uniform(-1.0, 1.0, shape), item, generator=generator)


CASES = {
    operator.getitem: test_indices,
    scatter: test_scatter_is_the_transpose_of_reading,
    replaced: test_another_part,
}
