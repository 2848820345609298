"""Elements chosen by positions and by conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from numpy.lib.stride_tricks import sliding_window_view

from shiftreset_ad import grad, jacobian, jvp
from shiftreset_ad.rules.numpy.selection import elements_along
from tests.rules.three_ways import check, check_call, check_values, every_call, examples, generators

few = settings(examples, max_examples=20)

MASK = np.array([[True, False, True], [False, False, True]])
POSITIONS = np.array([[0, 2, 2], [1, 0, 0]])

# For each function, calls of it, each with the shapes of its operands: those that go by positions, or by conditions
# that have nothing to do with the operands ...
WITHOUT_LOOKING = {
    elements_along: [
        (lambda a: elements_along(a, 1, np.array([0, 2, 2, -1])), (2, 3)),
        (lambda a: elements_along(a, 0, np.array([[1, 0], [0, 0]])), (2, 3)),
        (lambda a: elements_along(a, 1, np.array(1)), (2, 3, 2)),
    ],
    np.take: [
        (lambda a: np.take(a, 2), (2, 3)),
        (lambda a: np.take(a, [[0, -1], [5, 5]]), (2, 3)),
        (lambda a: np.take(a, 1, axis=0), (2, 3)),
        (lambda a: np.take(a, np.array(1), 1), (2, 3)),
        (lambda a: np.take(a, (0, 0, 2), axis=-1), (2, 3)),
        (lambda a: np.take(a, [[0, 1]], axis=1), (2, 3, 2)),
        (lambda a: np.take(a, [7, -8, 2], axis=1, mode="wrap"), (2, 3)),
        (lambda a: np.take(a, [7, -8, 1], axis=1, mode="clip"), (2, 3)),
        (lambda a: np.take(a, 9, mode="clip"), (3,)),
        (lambda a: np.take(a, [True, False]), (3,)),
        (lambda a: np.take(a, np.zeros((0, 2), int), axis=0), (3, 2)),
        (lambda a: np.take(a, [0, 0]), ()),
        (lambda a: np.take(a, [0, 0], axis=-1), ()),
        (lambda a: np.take(a, 0, axis=0), ()),
        (lambda a: np.take(a, [], axis=0), (2, 3)),
        (lambda a: np.take(a, np.array([], int), mode="wrap"), (0,)),
    ],
    np.take_along_axis: [
        (lambda a: np.take_along_axis(a, POSITIONS, axis=1), (2, 3)),
        (lambda a: np.take_along_axis(a, POSITIONS[:1], axis=-1), (2, 3)),
        (lambda a: np.take_along_axis(a, np.array([[1, 0, 1], [1, 1, -1], [0, 0, 0]]), axis=0), (2, 3)),
        (lambda a: np.take_along_axis(a, np.array([5, 0, 0]), axis=None), (2, 3)),
        (lambda a: np.take_along_axis(a, POSITIONS[:, None], 2), (1, 4, 3)),
    ],
    np.delete: [
        (lambda a: np.delete(a, 1), (4,)),
        (lambda a: np.delete(a, -2, axis=0), (3, 2)),
        (lambda a: np.delete(a, [0, 2, 2], axis=1), (2, 4)),
        (lambda a: np.delete(a, slice(None, None, 2), axis=1), (2, 4)),
        (lambda a: np.delete(a, np.array([True, False, True]), 0), (3, 2)),
        (lambda a: np.delete(a, [1, 4]), (2, 3)),
        (lambda a: np.delete(a, []), (3,)),
        (lambda a: np.delete(a, slice(2, 0, -1)), (4,)),
    ],
    np.insert: [
        (lambda a, b: np.insert(a, 1, b), (4,), ()),
        (lambda a, b: np.insert(a, -1, b), (4,), (3,)),
        (lambda a, b: np.insert(a, [1, 3, 1], b), (4,), (3,)),
        (lambda a, b: np.insert(a, [0, 2], b), (2, 3), ()),
        (lambda a, b: np.insert(a, 1, b, axis=1), (2, 3), (2,)),
        (lambda a, b: np.insert(a, 1, b, axis=1), (2, 3), (4, 2)),
        (lambda a, b: np.insert(a, [1], b, axis=1), (2, 3), (2, 1)),
        (lambda a, b: np.insert(a, [1], b, axis=1), (2, 3), (2, 4)),
        (lambda a, b: np.insert(a, [0, -1], b, axis=0), (2, 3), (3,)),
        (lambda a, b: np.insert(a, slice(0, 3, 2), b, axis=-1), (2, 3), (2, 2)),
        (lambda a, b: np.insert(a, np.array([True, False, True]), b), (3,), (2,)),
        (lambda a: np.insert(a, 0, 5.0), (3,)),
        (lambda a, b: np.insert(a, [], b), (3,), (0,)),
        (lambda a, b: np.insert(a, 2, b, axis=0), (2, 3, 2), (3, 2)),
        (lambda a: np.insert(a, [0, 1], [a[0] * 2.0, 1.0]), (3,)),
    ],
    np.resize: [
        (lambda a: np.resize(a, (2, 4)), (3,)),
        (lambda a: np.resize(a, 2), (2, 3)),
        (lambda a: np.resize(a, (3, 0)), (2,)),
        (lambda a: np.resize(a, (2, 2)), ()),
        (lambda a: np.resize(a, 0) + a, (0,)),
    ],
    sliding_window_view: [
        (lambda a: sliding_window_view(a, 2), (5,)),
        (lambda a: sliding_window_view(a, (4,), axis=0), (5,)),
        (lambda a: sliding_window_view(a, 5, writeable=False), (5,)),
        (lambda a: sliding_window_view(a, (2, 3)), (3, 4)),
        (lambda a: sliding_window_view(a, 2, -1), (3, 4)),
        (lambda a: sliding_window_view(a, (3, 2), axis=(2, 0)), (2, 2, 4)),
        (lambda a: sliding_window_view(a, (2, 2, 3), axis=(0, 1, 0)), (5, 3)),
        (lambda a: sliding_window_view(a, (), axis=(), subok=True), (2, 3)),
        (lambda a: sliding_window_view(a, ()), ()),
        (lambda a: sliding_window_view(a, 0), (3,)),
        (lambda a: sliding_window_view(a, 0, axis=0), (2, 3)),
        (lambda a: sliding_window_view(a, 2, axis=1), (0, 3)),
        (lambda a: sliding_window_view(a[::-1, 1:].T, (2, 1)), (3, 4)),
        (lambda a: sliding_window_view(sliding_window_view(a, 3), 2, axis=1), (6,)),
    ],
    np.compress: [
        (lambda a: np.compress([True, False, True], a), (2, 3)),
        (lambda a: np.compress([False, True], a, axis=0), (2, 3)),
        (lambda a: np.compress([True], a, axis=0), ()),
        (lambda a: np.compress(np.array([1, 0, 2]), a, axis=-1), (2, 3)),
        (lambda a: np.compress([True], a), ()),
    ],
    np.extract: [
        (lambda a: np.extract(MASK, a), (2, 3)),
        (lambda a: np.extract([0, 3.0, 0], a), (3,)),
        (lambda a: np.extract(np.zeros((2, 3), bool), a), (2, 3)),
    ],
    np.choose: [
        (lambda a, b: np.choose(MASK.astype(int), [a, b]), (2, 3), (3,)),
        (lambda a, b: np.choose([3, -1, 0], (a, b), mode="wrap"), (3,), ()),
        (lambda a, b: np.choose([3, -1, 0], (a, b, 1.5), mode="clip"), (3,), ()),
        (lambda a: np.choose([2, 0, 1], a), (3, 3)),
        (lambda a, b: np.choose(1, [a, b]), (2,), (2,)),
        (lambda a, b: np.choose(0, [a, b]), (), ()),
    ],
    np.select: [
        (lambda a, b: np.select([MASK, ~MASK], [a, b]), (2, 3), (3,)),
        (lambda a, b: np.select([MASK, MASK[0]], [a, b], default=3), (2, 3), ()),
        (lambda a, b, c: np.select([MASK[0], [True, True, False]], (a, b), c), (), (3,), (2, 3)),
        (lambda a: np.select([np.array(True)], [a], 2.0), ()),
        (lambda a: np.select([MASK], [a]), (2, 3)),
    ],
    np.piecewise: [
        (lambda a: np.piecewise(a, [MASK, ~MASK], [np.sin, lambda x: x * x]), (2, 3)),
        (lambda a: np.piecewise(a, [MASK], [2.0, lambda x: -x]), (2, 3)),
        (lambda a: np.piecewise(a, [MASK, MASK & MASK[::-1]], [lambda x: x * x, np.exp]), (2, 3)),
        (lambda a: np.piecewise(a, [MASK[0], MASK[1]], [np.cos, lambda x: x * x]), (3,)),
        (lambda a: np.piecewise(a, MASK[0], [np.cos]), (3,)),
        (lambda a: np.piecewise(a, [False, True], [np.cos, np.sin]), ()),
        (lambda a: np.piecewise(a, [True], [np.cos, np.sin]), ()),
        (lambda a, b: np.piecewise(a, [MASK[0]], [b, lambda x, c, d: c * x * x + d], 3.0, d=1.0), (3,), ()),
        (lambda a: np.piecewise(a, [[True, False]], [lambda x: x * x, 2.0]), (2, 3)),
        (lambda a: np.piecewise(a, [np.zeros(0, bool)], [np.sin]), (0,)),
        (lambda a, b: np.piecewise(a, [MASK[0]], [lambda x: x * b]), (3,), ()),
    ],
}

# ... and those that look at the elements.
BY_VALUE = {
    np.trim_zeros: [
        (lambda a: np.trim_zeros(np.where([False, True, True, False], a, 0.0)), (4,)),
        (lambda a: np.trim_zeros(np.where([False, True, False, False], a, 0.0), "f"), (4,)),
        (lambda a: np.trim_zeros(np.where([False, True, False, False], a, 0.0), trim="B"), (4,)),
        (lambda a: np.trim_zeros(a * 0.0), (4,)),
    ],
    np.extract: [(lambda a: np.extract(a > 0, a), (3, 4)), (lambda a: np.extract(a, a), (3,))],
    np.compress: [(lambda a: np.compress(a > 0, a), (5,)), (lambda a, b: np.compress(a, b), (3,), (3,))],
    np.select: [(lambda a: np.select([a > 0.5, a < -0.5], [a * a, np.sin(a)], a), (3, 4))],
    np.choose: [(lambda a: np.choose(a > 0, [a * a, np.sin(a)]), (3, 4))],
    np.piecewise: [
        (lambda a: np.piecewise(a, [a < 0, a >= 0], [lambda x: x * x, np.sqrt]), (3, 4)),
        (lambda a: np.piecewise(a, [a < 0], [lambda x: x * x, np.sqrt]), ()),
        (lambda a: np.piecewise(a, a < 0, [lambda x: x * x, np.sqrt]), (5,)),
    ],
}
CASES = {f: WITHOUT_LOOKING.get(f, []) + BY_VALUE.get(f, []) for f in {**WITHOUT_LOOKING, **BY_VALUE}}


@every_call(CASES)
def test_three_ways(f, shapes, seed):
    check_call(f, shapes, seed)


shapes_of_arrays = array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)


@few
@given(shape=shapes_of_arrays, data=st.data(), generator=generators)
def test_positions_at_random(shape, data, generator):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    size = shape[axis]
    some = data.draw(st.lists(st.integers(-size, size - 1), max_size=5))
    beyond = data.draw(array_shapes(min_dims=0, max_dims=2, max_side=3).map(lambda s: generator.integers(-9, 9, s)))
    mode = data.draw(st.sampled_from(["wrap", "clip"]))
    mask = generator.random(data.draw(st.integers(0, size))) < 0.5
    along = generator.integers(-size, size, [4 if i == axis % len(shape) else n for i, n in enumerate(shape)])
    for f in (
        lambda a: np.take(a, some, axis),
        lambda a: np.take(a, beyond, axis, mode=mode),
        lambda a: np.delete(a, some, axis),
        lambda a: np.compress(mask, a, axis),
        lambda a: np.take_along_axis(a, along, axis),
        lambda a: np.resize(a, beyond.shape),
    ):
        check(f, generator.uniform(-1.0, 1.0, shape), generator=generator, dtypes=False)


@few
@given(shape=shapes_of_arrays, data=st.data(), generator=generators)
def test_insertion_at_random(shape, data, generator):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    size = shape[axis]
    obj = data.draw(
        st.lists(st.integers(-size, size), min_size=2, max_size=4)
        | st.builds(slice, st.none() | st.integers(0, size), st.none() | st.integers(0, size))
    )
    count = len(range(*obj.indices(size))) if isinstance(obj, slice) else len(obj)
    full = [count if i == axis % len(shape) else n for i, n in enumerate(shape)]
    given_shape = [1 if generator.random() < 0.3 else n for n in full][generator.integers(0, 2) :]
    xs = generator.uniform(-1.0, 1.0, shape), generator.uniform(-1.0, 1.0, given_shape)
    check(lambda a, b: np.insert(a, obj, b, axis), *xs, generator=generator, dtypes=False)


@few
@given(shape=shapes_of_arrays, data=st.data(), generator=generators)
def test_conditions_at_random(shape, data, generator):
    count = data.draw(st.integers(1, 4))
    masks = [generator.random(shape[data.draw(st.integers(0, 1)) :]) < 0.4 for _ in range(count)]
    whole = generator.random((count, *shape)) < 0.4
    a, b = generator.uniform(-1.0, 1.0, shape), generator.uniform(-1.0, 1.0, shape[-1:])
    functions = [np.sin, lambda x: x * x, 2.0, np.exp, lambda x: -x][: count + data.draw(st.integers(0, 1))]
    which = generator.integers(0, count, shape)
    for f in (
        lambda a, b: np.select(masks, [a, b, 1.0, a * a][:count], 3.0),
        lambda a, b: np.piecewise(a, list(whole), functions),
        lambda a, b: np.piecewise(a, list(whole[..., 0] if len(shape) > 1 else whole), functions),
        lambda a, b: np.choose(which, [a, b, 1.0, a * b][:count]),
        lambda a, b: np.extract(whole[0], a),
    ):
        check(f, a, b, generator=generator, dtypes=False)


def test_a_function_of_pieces_is_called_with_its_pieces_only():
    """So the infinite slope of a root at zero is not met."""
    x = np.array([0.0, 4.0, -1.0])
    roots = grad(lambda x: np.sum(np.piecewise(x, [x > 0], [np.sqrt, 1.0])))(x)
    np.testing.assert_array_equal(roots, [0.0, 0.25, 0.0])

    # `select` computes all choices, as `where` does, and an infinite slope of what is not chosen does not count.
    chosen = grad(lambda x: np.sum(np.select([x > 0], [np.sqrt(x)], 1.0)))(x[:2])
    np.testing.assert_array_equal(chosen, [0.0, 0.25])

    def never(x):
        raise AssertionError

    np.testing.assert_array_equal(
        grad(lambda x: np.sum(np.piecewise(x, [x > 9], [never, np.negative])))(x), -np.ones(3)
    )


def test_what_is_chosen_twice_counts_twice():
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.take(x, [0, 0, -1])))(x), [2.0, 0.0, 1.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.resize(x, 5)))(x), [2.0, 2.0, 1.0])
    np.testing.assert_array_equal(grad(lambda x: np.choose([0, 0], [x, x[::-1]]).sum())(x[:2]), [1.0, 1.0])


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.2.0", reason="earlier it is for vectors only")
@pytest.mark.parametrize(
    "options", [{}, {"axis": 1}, {"axis": (0,), "trim": "f"}, {"axis": ()}, {"trim": "b", "axis": -1}]
)
def test_zeros_are_trimmed_along_axes(options):
    generator = np.random.default_rng(0)
    x = np.zeros((4, 5))
    x[1:3, 2:4] = 1.0 + generator.random((2, 2))
    check(lambda a: np.trim_zeros(np.where(x > 0, a, 0.0), **options), x, generator=generator)


def test_precisions_of_what_is_put_together():
    a, b = np.ones(3, np.float32), np.full(3, 2.0)
    check_values(lambda a, b: np.insert(a, 1, b), a, b)
    check_values(lambda a, b: np.insert(b, [0, 1], a[:2]), a, b)
    check_values(lambda a, b: np.select([a > 0], [a], 3.0), a, b)
    check_values(lambda a, b: np.select([a > 0, b > 0], [a, b]), a, b)
    check_values(lambda a, b: np.choose([0, 1, 0], [a, b]), a, b)
    check_values(lambda a: np.choose([0, 1, 0], [a, 3.0]), a)
    check_values(lambda a: np.piecewise(a, [a > 0], [lambda x: x.astype(float) * 2]), a)


def test_numbers_put_among_constants():
    """There only one of several arguments is a number, and the others may be lists."""
    generator = np.random.default_rng(0)
    for f in (
        lambda b: np.insert(np.ones(3), 2, b),
        lambda b: np.insert([[1.0], [2.0]], 1, b[0], axis=1),
        lambda b: np.choose([1, 0], [[3.0, 4.0], b]),
        lambda b: np.select([[True, False]], [[3.0, 4.0]], 1.0) + np.select([[True, False]], [b]),
    ):
        check(f, generator.uniform(-1.0, 1.0, 2), generator=generator)
    # Of the condition, whose elements only count as true or false, there is none.
    found = grad(lambda b: np.sum(b * np.compress(b, [3.0, 4.0])) + np.sum(b * np.extract(b, [1.0, 2.0])))(np.ones(2))
    np.testing.assert_array_equal(found, [4.0, 6.0])


def test_complex_numbers():
    generator = np.random.default_rng(0)
    real, imaginary = generator.uniform(-1.0, 1.0, (2, 2, 3))

    def f(x, y):
        z = x + 1j * y
        mixed = np.select([MASK], [z * z], x), np.choose(POSITIONS, [z, x, 1j * y])
        return *mixed, np.insert(z, 1, x[:, 0], axis=1), np.piecewise(z, [MASK], [np.exp, 2.0])

    check(f, real, imaginary, generator=generator)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: np.take(a, 6), IndexError),
        (lambda a: sliding_window_view(a, 2), ValueError),
        (lambda a: sliding_window_view(a, 4, axis=1), ValueError),
        (lambda a: sliding_window_view(a, -1, axis=1), ValueError),
        (lambda a: sliding_window_view(a, (2, 2), axis=1), ValueError),
        (lambda a: sliding_window_view(a, 2, axis=2), np.exceptions.AxisError),
        (lambda a: np.take(a, 3, axis=1), IndexError),
        (lambda a: np.take(a, 0, axis=2), np.exceptions.AxisError),
        (lambda a: np.take(a, 0, mode="x"), ValueError),
        (lambda a: np.take(a, np.array([1.0])), TypeError),
        (lambda a: np.take(a[:0], 0, mode="wrap"), IndexError),
        (lambda a: np.take_along_axis(a, np.ones((2, 3)), 0), IndexError),
        (lambda a: np.take_along_axis(a, np.ones(3, int), 0), ValueError),
        (lambda a: np.take_along_axis(a, np.ones((2, 3), int), None), ValueError),
        (lambda a: np.delete(a, 6), IndexError),
        (lambda a: np.delete(a, [0, 3], axis=1), IndexError),
        (lambda a: np.delete(a, np.array([True]), 0), ValueError),
        (lambda a: np.insert(a, 7, 0.0), IndexError),
        (lambda a: np.insert(a, [0, 9], 0.0), IndexError),
        (lambda a: np.insert(a, [[0, 1]], 0.0), ValueError),
        (lambda a: np.insert(a, [0, 1], [1.0, 2.0, 3.0]), ValueError),
        (lambda a: np.insert(a, 0, 0.0, axis=2), np.exceptions.AxisError),
        (lambda a: np.compress([[True]], a), ValueError),
        (lambda a: np.compress([False, False, True], a, axis=0), IndexError),
        (lambda a: np.extract([False] * 6 + [True], a), IndexError),
        (lambda a: np.choose([2], [a, a]), ValueError),
        (lambda a: np.choose([0], [a, a], mode="x"), ValueError),
        (lambda a: np.select([a > 0], [a, a]), ValueError),
        (lambda a: np.select([[1, 0, 1]], [a]), TypeError),
        (lambda a: np.piecewise(a, [a > 0], [1.0, 2.0, 3.0]), ValueError),
        (lambda a: np.resize(a, -1), ValueError),
        (lambda a: np.trim_zeros(a[0], "x"), ValueError),
    ],
)
def test_wrong_arguments_raise_as_in_numpy(call, error):
    x = np.ones((2, 3))
    with pytest.raises(error):
        call(x)
    with pytest.raises(error):
        grad(lambda a: np.sum(call(a)))(x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: np.take(a, a), r"numpy\.take: positions are integers.*float64.*shiftreset_ad\.value\(x\)"),
        (lambda a: np.delete(a, a), r"numpy\.delete: positions are integers"),
        (lambda a: np.insert(a, a, 1.0), r"numpy\.insert: positions are integers"),
        (lambda a: np.choose(a, [a, a]), r"numpy\.choose: positions are integers"),
        (lambda a: np.insert(np.arange(3), 0, a), r"numpy\.insert: arr has dtype int64.*arr\.astype\(float\)"),
        (lambda a: np.select([a], [a]), "invalid entry 0 in condlist: should be boolean ndarray"),
    ],
)
def test_a_number_where_there_can_be_none(call, message):
    with pytest.raises((TypeError, IndexError), match=message):
        grad(lambda a: np.sum(call(a)))(np.ones(3))
    assert grad(lambda x: x * x)(3.0) == 6.0


def test_an_index_array_may_be_changed_afterwards():
    positions = np.array([0, 2])

    def f(a):
        y = np.take(a, positions) * np.take_along_axis(a, positions, 0)
        positions[:] = 1
        return np.sum(y)

    np.testing.assert_array_equal(grad(f)(np.array([1.0, 2.0, 3.0])), [2.0, 0.0, 6.0])


def test_a_condition_may_be_changed_afterwards():
    mask = np.array([True, False])

    def f(a):
        y = np.select([mask], [a * a], a) + np.piecewise(a, [mask], [np.sin, np.cos]) + np.choose(mask, [a, 2.0 * a])
        mask[:] = ~mask
        return np.sum(y)

    x = np.array([0.5, 1.5])
    np.testing.assert_allclose(grad(f)(x), [2 * 0.5 + np.cos(0.5) + 2.0, 1.0 - np.sin(1.5) + 1.0])


def test_forward_mode_of_nothing():
    y, y_dot = jvp(lambda a: np.resize(a, (2, 2)), (np.zeros(0),), (np.zeros(0),))
    np.testing.assert_array_equal(y, np.zeros((2, 2)))
    np.testing.assert_array_equal(y_dot, np.zeros((2, 2)))


# Windows


def test_windows_see_what_is_written_to_the_array_and_cannot_be_written_to():
    """As the views that they are, of an array in any layout."""

    def f(x):
        in_fortran = np.copy(x, order="F")
        with_axes_in_another_order = np.stack([in_fortran, in_fortran * 2.0], axis=-1)
        for array in (x * x, np.sin(x)[::-1, 1:], in_fortran, np.exp(x).T, with_axes_in_another_order):
            windows = sliding_window_view(array, 2, axis=0)
            part = windows[1, ..., 0]
            array[1] = array[1] * x[0, 0]
            with pytest.raises(ValueError, match="read-only"):
                windows[0] = 1.0
            yield np.sum(windows**3) + np.sum(part * part)

    def total(x):
        return sum(f(x))

    check(total, np.random.default_rng(0).uniform(-1.0, 1.0, (3, 4)), generator=np.random.default_rng(1), dtypes=False)


@pytest.mark.parametrize("size", [3, 5])
def test_windows_in_many_directions(size):
    """By columns for the longer answer, and by rows for the other."""
    x = np.arange(5.0)
    expected = sliding_window_view(np.eye(5), size, axis=0).transpose(0, 2, 1)
    np.testing.assert_array_equal(jacobian(lambda x: sliding_window_view(x, size))(x), expected)
    found = jacobian(lambda x: np.reshape(sliding_window_view(x, size), -1) * x[0])(x)
    by_hand = expected.reshape(-1, 5) * x[0] + np.outer(sliding_window_view(x, size), np.eye(5)[0])
    np.testing.assert_array_equal(found, by_hand)


def test_long_windows_take_no_more_than_they_have_elements():
    """Not n**2 numbers: that would be 2 terabytes."""
    x = np.ones(500_000)
    for size in (1, 2, x.size - 1, x.size):
        found = grad(lambda x, size=size: np.sum(sliding_window_view(x, size)[:, ::-1] * 2.0))(x)
        assert found[0] == found[-1] == 2.0
        assert np.max(found) == 2.0 * min(size, x.size - size + 1)


def test_writeable_windows_are_refused():
    with pytest.raises(ValueError, match=r"sliding_window_view: .* writeable must be False"):
        grad(lambda x: np.sum(sliding_window_view(x, 2, writeable=True)))(np.ones(3))
    assert grad(lambda x: x * x)(3.0) == 6.0
