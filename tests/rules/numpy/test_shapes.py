from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad
from shiftreset_ad.rules import STRUCTURED
from shiftreset_ad.rules.conversion import astype, imaginary_part, real_part
from shiftreset_ad.rules.numpy.shapes import repeated
from shiftreset_ad.rules.table import functions_of
from tests.rules.numpy import test_calling, test_grids, test_padding, test_selection
from tests.rules.three_ways import check, check_call, check_values, every_call, examples, generators


def without_deprecation(f, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return f(*args)


def wide(*xs):
    """The widest dtype for these."""
    return np.result_type(*xs, np.longdouble)


# For each function, calls of it, each with the shapes of its operands.
CASES = {
    np.reshape: [
        (lambda a: np.reshape(a, (3, 2)), (2, 3)),
        (lambda a: np.reshape(a, -1), (2, 3)),
        (lambda a: np.reshape(a, (3, -1), order="F"), (2, 3)),
        (lambda a: np.reshape(a, (0, 7)), (2, 0)),
        (lambda a: np.reshape(a, ()), (1, 1)),
        (lambda a: np.reshape(a, (1, 1)), ()),
        (lambda a: a.reshape(3, 2), (2, 3)),
        (lambda a: a.reshape((3, 2), order="F"), (2, 3)),
    ],
    np.ravel: [
        (np.ravel, (2, 3)),
        (np.ravel, ()),
        (np.ravel, (0, 2)),
        (lambda a: np.ravel(a, order="F"), (2, 3)),
        (lambda a: a.flatten("F"), (2, 3)),
    ],
    np.transpose: [
        (np.transpose, (2, 3, 4)),
        (np.transpose, ()),
        (lambda a: np.transpose(a, (1, 2, 0)), (2, 3, 4)),
        (lambda a: np.transpose(a, (-1, 0, -2)), (2, 3, 4)),
        (lambda a: a.transpose(2, 0, 1) + a.T.transpose([1, 0, 2]), (2, 2, 2)),
    ],
    np.matrix_transpose: [(lambda a: np.matrix_transpose(a) * a.mT, (2, 3, 4))],
    np.swapaxes: [(lambda a: np.swapaxes(a, 0, -1), (2, 3, 4)), (lambda a: a.swapaxes(1, 1), (2, 3))],
    np.moveaxis: [
        (lambda a: np.moveaxis(a, 0, -1), (2, 3, 4)),
        (lambda a: np.moveaxis(a, (0, -1), (-1, 0)), (2, 3, 4)),
        (lambda a: np.moveaxis(a, [2, 0], [0, 1]), (2, 3, 4)),
    ],
    np.rollaxis: [
        (lambda a: np.rollaxis(a, 2), (2, 3, 4)),
        (lambda a: np.rollaxis(a, 0, 3), (2, 3, 4)),
        (lambda a: np.rollaxis(a, -1, -2), (2, 3, 4)),
        (lambda a: np.rollaxis(a, 1, 1), (2, 3)),
    ],
    np.rot90: [
        (np.rot90, (2, 3)),
        (lambda a: np.rot90(a, -1, (1, 2)), (2, 3, 4)),
        (lambda a: np.rot90(a, 2, axes=(-1, 0)), (2, 3, 4)),
        (lambda a: np.rot90(a, 3, (1, 0)), (2, 3)),
        (lambda a: np.rot90(a, 4), (2, 3)),
    ],
    np.expand_dims: [
        (lambda a: np.expand_dims(a, 0), (2, 3)),
        (lambda a: np.expand_dims(a, -1), (2, 3)),
        (lambda a: np.expand_dims(a, (0, 2)), (2, 3)),
        (lambda a: np.expand_dims(a, [-1, 1]), (2, 3)),
        (lambda a: np.expand_dims(a, ()), (2, 3)),
        (lambda a: np.expand_dims(a, 0), ()),
    ],
    np.squeeze: [
        (np.squeeze, (1, 3, 1)),
        (lambda a: np.squeeze(a, 0), (1, 3, 1)),
        (lambda a: np.squeeze(a, -1), ()),
        (lambda a: np.squeeze(a, (0, -1)), (1, 3, 1)),
        (np.squeeze, (1, 1)),
        (np.squeeze, (2, 3)),
        (lambda a: a.squeeze(-1), (1, 0, 1)),
    ],
    np.broadcast_to: [
        (lambda a: np.broadcast_to(a, (4, 2, 3)), (2, 1)),
        (lambda a: np.broadcast_to(a, (2, 3)), ()),
        (lambda a: np.broadcast_to(a, 3), (1,)),
        (lambda a: np.broadcast_to(a, (0, 3)), (1, 3)),
    ],
    np.broadcast_arrays: [
        (lambda a, b: np.broadcast_arrays(a, b, np.ones((4, 1, 1))), (2, 1), (3,)),
        (lambda a: np.broadcast_arrays(a, [1.0, 2.0], subok=True), (2,)),
    ],
    np.atleast_1d: [(np.atleast_1d, ()), (lambda a, b: np.atleast_1d(a, b), (), (2, 3))],
    np.atleast_2d: [(np.atleast_2d, ()), (lambda a, b: np.atleast_2d(a, b), (3,), (1, 2, 3))],
    np.atleast_3d: [
        (np.atleast_3d, ()),
        (lambda a, b, c: np.atleast_3d(a, b, c), (3,), (2, 3), (1, 2, 3, 1)),
    ],
    astype: [(lambda a: astype(a, np.float64), (2, 3)), (lambda a: astype(a, np.longdouble), ())],
    **{
        function: [
            (lambda a, f=function: f(a, wide(a)), (2, 3)),
            (lambda a, f=function: f(a, wide(a), copy=False), (2,)),
            (lambda a, f=function: f(a, a.dtype, copy=False), (2,)),
        ]
        for function in functions_of("astype")
    },
    np.copy: [
        (np.copy, (2, 3)),
        (lambda a: a.copy(), (2,)),
        (lambda a: np.copy(a, "F", subok=True), (2, 3)),
        (np.copy, ()),
    ],
    np.conjugate: [(np.conjugate, (2, 3)), (lambda a: a.conj() * a.conjugate(), (2,)), (np.conj, ())],
    np.real: [(np.real, (2, 3)), (lambda a: a.real, (2,)), (lambda a: np.real(1j * a + a), (2,))],
    np.imag: [(np.imag, (2, 3)), (lambda a: a.imag, (2,)), (lambda a: np.imag(1j * a + a), (2,))],
    real_part: [(lambda a: real_part(1j * a + a), (2, 3)), (lambda a: real_part(1j * a + a), ())],
    imaginary_part: [(lambda a: imaginary_part(1j * a + a), (2, 3)), (lambda a: imaginary_part(1j * a + a), ())],
    np.angle: [
        (np.angle, (2, 3)),
        (lambda a: np.angle(1j + a), (2, 3)),
        (lambda a: np.angle(1j + a, deg=True), ()),
        (lambda a: np.angle(a, True), (2,)),
    ],
    np.real_if_close: [
        (np.real_if_close, (2, 3)),
        (lambda a: np.real_if_close(a + 0j), (2,)),
        (lambda a: np.real_if_close(a + 1e-3j, tol=1e-2), (2,)),
        (lambda a: np.real_if_close(a + 1j), (2,)),
    ],
    np.full_like: [
        (lambda a, b: np.full_like(a, b), (2, 3), ()),
        (lambda a, b: np.full_like(a, b), (2, 3), (3,)),
        (lambda a: np.full_like(a, 1.5), (2, 3)),
    ],
    np.repeat: [
        (lambda a: np.repeat(a, 3, axis=-1), ()),
        (lambda a: np.repeat(a, 2), (2, 3)),
        (lambda a: np.repeat(a, 2, axis=-1), (2, 3)),
        (lambda a: np.repeat(a, [1, 0, 3], axis=1), (2, 3)),
        (lambda a: np.repeat(a, (2, 1), 0), (2, 3)),
        (lambda a: np.repeat(a, 0), (3,)),
        (lambda a: np.repeat(a, 3), ()),
        (lambda a: a.repeat(np.array([2])), (3,)),
    ],
    np.tile: [
        (lambda a: np.tile(a, 2), (2, 3)),
        (lambda a: np.tile(a, (2, 1)), (2, 3)),
        (lambda a: np.tile(a, [2, 1, 3]), (3,)),
        (lambda a: np.tile(a, (2,)), (2, 2, 2)),
        (lambda a: np.tile(a, np.array(2)), (3,)),
        (lambda a: np.tile(a, ()), (3,)),
        (lambda a: np.tile(a, (0, 2)), (3,)),
        (lambda a: np.tile(a, (2, 2)), ()),
    ],
    np.flip: [
        (np.flip, (2, 3)),
        (lambda a: np.flip(a, 0), (2, 3)),
        (lambda a: np.flip(a, (0, -1)), (2, 3, 4)),
        (lambda a: np.flip(a, ()), (2, 3)),
        (np.flip, ()),
    ],
    np.fliplr: [(np.fliplr, (2, 3))],
    np.flipud: [(np.flipud, (3,))],
    np.roll: [
        (lambda a: np.roll(a, 1), (2, 3)),
        (lambda a: np.roll(a, -7), (2, 3)),
        (lambda a: np.roll(a, 1, axis=-1), (2, 3)),
        (lambda a: np.roll(a, (1, -1), axis=(0, 1)), (2, 3)),
        (lambda a: np.roll(a, (1, 2), axis=1), (2, 4)),
        (lambda a: np.roll(a, 1, axis=(0, 1)), (2, 3)),
        (lambda a: np.roll(a, np.array([1, 2]), axis=(0, 1)), (2, 3)),
        (lambda a: np.roll(a, [1, 1], axis=[0, 0]), (3, 2)),
        (lambda a: np.roll(a, 2), ()),
    ],
    repeated: [(lambda a: repeated(a, (4, 2, 3)), (1, 3)), (lambda a: repeated(a, (2,)), ())],
    np.concatenate: [
        (lambda a, b: np.concatenate([a, b]), (2, 3), (1, 3)),
        (lambda a, b: np.concatenate((a, np.ones((2, 1)), b, a), axis=-1), (2, 3), (2, 0)),
        (lambda a, b: np.concatenate([a, b], axis=None), (2, 3), ()),
        (lambda a: np.concatenate([[1.0, 2.0], a, [True]]), (3,)),
        (lambda a: np.concatenate(a), (2, 3)),  # of its rows
        (lambda a: np.concatenate(a, axis=1), (2, 3, 2)),
        (lambda a: np.concatenate(a, axis=None), (2, 3)),
        (lambda a, b: np.concatenate([a, b], dtype=wide(a, b)), (2, 3), (1, 3)),
        (lambda a: np.concatenate([a, [a[0], 2.0]]), (3,)),
    ],
    np.stack: [
        (lambda a, b: np.stack([a, b]), (2, 3), (2, 3)),
        (lambda a, b: np.stack((a, b, np.ones((2, 3))), axis=-1), (2, 3), (2, 3)),
        (lambda a, b: np.stack([a, b, 1.0]), (), ()),
        (lambda a: np.stack(a, axis=1), (2, 3)),
        (lambda a: np.stack(list(a)), (3,)),
        (lambda a, b: np.stack([a, b], 1, dtype=wide(a, b), casting="safe"), (2,), (2,)),
    ],
    np.vstack: [
        (lambda a, b: np.vstack([a, b]), (3,), (2, 3)),
        (lambda a, b: np.vstack((a, b)), (), ()),
        (np.vstack, (2, 3)),
        (lambda a, b: np.vstack([a, b], dtype=wide(a, b)), (2,), (1, 2)),
    ],
    **{
        function: [(lambda a, b, f=function: without_deprecation(f, [a, b]), (3,), (2, 3))]
        for function in functions_of("row_stack")
        if function is not np.vstack
    },
    np.hstack: [
        (lambda a, b: np.hstack([a, b]), (3,), (2,)),
        (lambda a, b: np.hstack([a, b]), (2, 3), (2, 1)),
        (lambda a, b: np.hstack([a, b]), (), (2,)),
        (lambda a, b: np.hstack([a, b], dtype=wide(a, b)), (1,), (2,)),
    ],
    np.dstack: [(lambda a, b: np.dstack([a, b]), (3,), (1, 3)), (lambda a, b: np.dstack([a, b]), (2, 3), (2, 3, 2))],
    np.column_stack: [
        (lambda a, b: np.column_stack([a, b]), (2,), (2, 3)),
        (lambda a, b: np.column_stack([a, b, 1.0]), (), (1,)),
    ],
    np.append: [
        (lambda a: np.append(a, 1.0), (2, 3)),
        (lambda a, b: np.append(a, b), (2, 3), ()),
        (lambda a, b: np.append(a, b, axis=1), (2, 3), (2, 1)),
        (lambda a: np.append(a, [a[0], a[1] * a[2]]), (3,)),
        (lambda b: np.append([1.0, 2.0], b), (2, 2)),
    ],
    np.ediff1d: [
        (np.ediff1d, (5,)),
        (np.ediff1d, (2, 3)),
        (lambda a: np.ediff1d(a, a[0], a[1:, None]), (4,)),
        (lambda a: np.ediff1d(a, to_begin=[0, 1]), (3,)),
        (np.ediff1d, ()),
    ],
    np.block: [
        (lambda a, b: np.block([[a, a], [b, np.ones((1, 2))]]), (2, 3), (1, 4)),
        (lambda a, b: np.block([a, b, 2.0]), (2,), ()),
        (lambda a, b: np.block([[a], [b]]), (3,), (2, 3)),
        (lambda a: np.block([[[a]], [[a]]]), (2, 3)),
        (np.block, (2, 3)),
        (lambda a, b: np.block([a, b]), (1, 2, 1), (2, 3)),
    ],
    np.split: [
        (lambda a: np.split(a, 3), (6,)),
        (lambda a: np.split(a, [1, 4]), (6,)),
        (lambda a: np.split(a, (1, 1, 9)), (3, 2)),
        (lambda a: np.split(a, np.array([2]), axis=-1), (2, 3)),
        (lambda a: np.split(a, 2, axis=1)[1], (2, 4)),
        (lambda a: np.split(a, [4, 2]), (6,)),
        (lambda a: np.split(a, [-2]), (6,)),
    ],
    np.array_split: [
        (lambda a: np.array_split(a, 4), (6, 2)),
        (lambda a: np.array_split(a, 3, axis=1), (2, 2)),
        (lambda a: np.array_split(a, [2], axis=-1), (2, 3)),
    ],
    np.hsplit: [(lambda a: np.hsplit(a, 2), (4,)), (lambda a: np.hsplit(a, [1]), (2, 3))],
    np.vsplit: [(lambda a: np.vsplit(a, 2), (4, 2))],
    np.dsplit: [(lambda a: np.dsplit(a, [1]), (2, 2, 3))],
    **{
        function: [
            (function, (2, 3)),
            (lambda a, f=function: f(a, axis=-1), (2, 3)),
            (function, (3,)),
        ]
        for function in functions_of("unstack")
    },
    np.diagonal: [
        (np.diagonal, (3, 3)),
        (lambda a: np.diagonal(a, 1), (3, 4)),
        (lambda a: np.diagonal(a, -1, 0, 2), (3, 2, 4)),
        (lambda a: np.diagonal(a, 1, 1, 2), (2, 3, 4)),
        (lambda a: np.diagonal(a, 1, 2, 1), (2, 3, 4)),
        (lambda a: np.diagonal(a, offset=1, axis1=-1, axis2=0), (3, 2, 4)),
        (lambda a: np.diagonal(a, 7), (3, 3)),
        (lambda a: a.diagonal(), (0, 3)),
    ],
    np.diagflat: [
        (np.diagflat, (3,)),
        (lambda a: np.diagflat(a, 1), (2, 2)),
        (lambda a: np.diagflat(a, -2), ()),
        (np.diagflat, (0,)),
    ],
    np.diag: [(np.diag, (3,)), (lambda a: np.diag(a, -1), (3, 4)), (lambda a: np.diag(a, k=1), (2,))],
    np.tril: [(np.tril, (3, 3)), (lambda a: np.tril(a, -1), (2, 3, 4)), (np.tril, (3,))],
    np.triu: [(np.triu, (3, 3)), (lambda a: np.triu(a, k=1), (2, 3, 4)), (np.triu, (3,))],
    np.where: [
        (lambda a, b: np.where([True, False, True], a, b), (2, 3), (3,)),
        (lambda a, b: np.where(np.array([[True], [False]]), a, b), (), (3,)),
        (lambda a, b: np.where(a > b, a, b), (2, 3), (2, 3)),
        (lambda a: np.where(a > 0, a, 0), (2, 3)),
        (lambda a: np.where(a > 0, 1.5, a), (2, 3)),
        (lambda a, b: np.where(True, a, b), (), ()),
        (lambda a, b: np.where(np.zeros((0, 1), bool), a, b), (), (3,)),
    ],
    np.clip: [
        (lambda a: np.clip(a, -0.3, 0.4), (2, 5)),
        (lambda a: np.clip(a, None, 0.4), (2, 5)),
        (lambda a: np.clip(a, a_min=-0.3, a_max=None), (2, 5)),
        (lambda a: np.clip(a, min=-0.3, max=0.4), (2, 5)),
        (lambda a: a.clip(max=0.1), (2, 5)),
        (lambda a: np.clip(a, -0.3, 0.4), ()),
        (lambda a: np.clip(a, np.linspace(-0.5, 0.1, 5), 0.4), (2, 5)),
        (lambda a: np.clip(a, [[-0.3], [0.0]], np.full((3, 2, 1), 0.2)), (2, 5)),
        (lambda a, b: np.clip(a, b, 0.4), (2, 5), (5,)),
        (lambda a, low, high: np.clip(a, low, high), (2, 5), (5,), ()),
        (lambda low: np.clip(np.linspace(-1.0, 1.0, 5), low, 2.0), ()),
    ],
}
OWN = dict(CASES)
# The tests that go over this table go over these, too, as far as they are of one operand.
for _cases in (test_selection.WITHOUT_LOOKING, test_grids.CASES, test_padding.CASES, test_calling.CASES):
    CASES |= {f: [call for call in calls if len(call) == 2] for f, calls in _cases.items() if f not in OWN}


@every_call(OWN)
def test_three_ways(f, shapes, seed):
    check_call(f, shapes, seed)


shapes_of_arrays = array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=3)


@pytest.mark.slow
@examples
@given(shape=shapes_of_arrays, data=st.data(), generator=generators)
def test_axes_at_random(shape, data, generator):
    ndim = len(shape)
    axis = data.draw(st.integers(-ndim, ndim - 1))
    several = data.draw(st.lists(st.integers(-ndim, ndim - 1), unique_by=lambda i: i % ndim).map(tuple))
    order = data.draw(st.permutations(range(ndim)))
    ones = data.draw(st.lists(st.integers(0, ndim + 1), unique=True, max_size=2).map(tuple))
    (x,) = [generator.uniform(-1.0, 1.0, shape)]
    second = data.draw(st.integers(-ndim, ndim - 1))
    for f in (
        lambda a: np.flip(a, several),
        lambda a: np.transpose(a, order),
        lambda a: np.moveaxis(a, several, order[: len(several)]),
        lambda a: np.swapaxes(a, axis, second),
        lambda a: np.squeeze(np.expand_dims(a, ones if max(ones, default=0) < ndim + len(ones) else 0)),
        lambda a: np.concatenate([a, 2 * a], axis=axis),
        lambda a: np.stack([a, a * a], axis=axis),
        lambda a: np.roll(a, 2, axis=several),
        lambda a: np.repeat(a, 2, axis=axis),
        lambda a: np.array_split(a, 2, axis=axis),
        lambda a: np.tile(a, order),
    ):
        check(f, x, generator=generator, dtypes=False)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_astype(dtype):
    """The gradient has the precision of the argument, whatever is computed in between."""
    x = np.array([0.5, 2.0, 3.0], np.float32)
    found = grad(lambda x: np.sum(x.astype(dtype) ** 2))(x)
    assert found.dtype == np.float32
    y, (linear_map,) = STRUCTURED[astype].differentiate(x, dtype)
    assert linear_map.pullback(y).dtype == np.float32
    assert linear_map.pushforward(x).dtype == dtype
    np.testing.assert_array_equal(found, 2 * x)
    check_values(lambda x: x.astype(dtype), x)
    constant = sr.value_and_grad(lambda x: (np.sum(x), x.astype(int)), has_aux=True)(x)[0][1]
    np.testing.assert_array_equal(constant, [0, 2, 3])


def test_joined_precisions():
    a, b = np.ones(2, np.float32), np.ones(3)
    check_values(lambda a, b: np.concatenate([a, b, [1]]), a, b)
    check_values(lambda a, b: np.stack([a, b[:2]]), a, b)
    check_values(lambda a: np.where([True, False], a, 0.0), a)
    check_values(lambda a: np.tril(a), a)


def test_where_keeps_what_is_not_taken_out():
    """An infinite or undefined value in the branch that is not taken does not reach the derivative through `where`."""
    x = np.array([-1.0, 0.0, 4.0])
    bad = np.array([np.nan, np.inf, 1.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.where(x > 1, x, bad * 1.0)))(x), [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.where(x > 1, bad, x)))(x), [1.0, 1.0, 0.0])

    def guarded(x):  # by an inner `where`, which other libraries need
        return np.sum(np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0))

    np.testing.assert_array_equal(grad(guarded)(x), [0.0, 0.0, 0.25])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))(x[1:]), [0.0, 0.25])


def test_an_infinite_cotangent_stays_on_its_side_of_where():
    zeros, fours = np.zeros(2), np.full(2, 4.0)

    def f(a, b):
        return np.sum(np.sqrt(np.where([True, False], a, b)))

    a_bar, b_bar = grad(f, argnums=(0, 1))(zeros, fours)
    np.testing.assert_array_equal(a_bar, [np.inf, 0.0])
    np.testing.assert_array_equal(b_bar, [0.0, 0.25])
    a_bar, b_bar = grad(f, argnums=(0, 1))(fours, zeros)
    np.testing.assert_array_equal(a_bar, [0.25, 0.0])
    np.testing.assert_array_equal(b_bar, [0.0, np.inf])


def test_where_needs_a_condition_that_is_not_differentiated():
    with pytest.raises(TypeError, match=r"numpy\.where: argument 'condition' .*shiftreset_ad\.value\(x\)"):
        grad(lambda x: np.sum(np.where(x, x, 0.0)))(np.ones(3))


def test_clip_at_its_bounds():
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.clip(x, 0.0, 1.0)))(x), [0.0, 0.5, 1.0, 0.5, 0.0])
    low, high = grad(lambda low, high: np.sum(np.clip(x, low, high)), argnums=(0, 1))(0.0, 1.0)
    assert (low, high) == (1.5, 1.5)


@pytest.mark.parametrize("function", [np.stack, np.concatenate, np.vstack, np.hstack, np.dstack, np.column_stack])
def test_generators_are_rejected_as_numpy_rejects_them(function):
    with pytest.raises(TypeError, match="sequence"):
        function(x for x in [np.ones(2)])
    with pytest.raises(TypeError, match="sequence"):
        grad(lambda x: np.sum(function(part for part in [x, x])))(np.ones(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.reshape(a, (4, 2)),
        lambda a: np.transpose(a, (0, 0)),
        lambda a: np.expand_dims(a, (0, 0)),
        lambda a: np.expand_dims(a, 3),
        lambda a: np.squeeze(a, 0),
        lambda a: np.broadcast_to(a, (3, 2)),
        lambda a: np.moveaxis(a, (0, 1), 0),
        lambda a: np.swapaxes(a, 0, 2),
        lambda a: np.flip(a, 2),
        lambda a: np.flip(a, (0, 0)),
        lambda a: np.repeat(a, [1, 2], axis=1),
        lambda a: np.roll(a, (1, 2), (0, 1, 0)),
        lambda a: np.concatenate([a, a[0]]),
        lambda a: np.concatenate([a, a], axis=2),
        lambda a: np.concatenate([a, a[:, :1]]),
        lambda a: np.concatenate(a[0]),
        lambda a: np.stack([a, a[0]]),
        lambda a: np.stack([a, a], axis=3),
        lambda a: np.split(a, 2, axis=1)[0],
        lambda a: np.hsplit(a[0, 0], 2)[0],
        lambda a: np.vsplit(a[0], 3)[0],
        lambda a: np.dsplit(a, 1)[0],
        lambda a: np.array_split(a, 0)[0],
        lambda a: np.diag(a[0, 0]),
        lambda a: np.diag(a[None]),
        lambda a: np.diagonal(a, 0, 1, 1),
        lambda a: np.diagonal(a[0]),
        lambda a: np.fliplr(a[0]),
        lambda a: np.flipud(a[0, 0]),
        lambda a: np.matrix_transpose(a[0]),
        lambda a: np.column_stack([a, a[0]]),
        lambda a: np.where([True, False], a, 0.0),
        lambda a: np.repeat(a, -1),
        lambda a: np.tile(a, -1),
        lambda a: np.rot90(a, axes=(0, 2)),
        lambda a: np.rot90(a, axes=(0, 0)),
        lambda a: np.rot90(a, axes=(0, 1, 1)),
        lambda a: np.rollaxis(a, 2),
        lambda a: np.rollaxis(a, 0, 3),
        lambda a: np.unstack(a[0, 0])[0],
        lambda a: np.unstack(a, axis=2)[0],
        lambda a: np.block([[a], a]),
        lambda a: np.block([[a], []]),
        lambda a: np.block([[a], [a[:, :1]]]),
        lambda a: np.reshape(np.transpose(a), 6, copy=False),
    ],
)
def test_wrong_arguments_raise_as_in_numpy(call):
    x = np.ones((2, 3))
    with pytest.raises((ValueError, IndexError)) as expected:
        call(x)
    with pytest.raises(type(expected.value).__mro__[-4] if isinstance(expected.value, ValueError) else IndexError):
        grad(lambda a: np.sum(call(a)))(x)


@pytest.mark.parametrize(
    ("call", "unsupported"),
    [
        (lambda a: np.clip(a, 0.0, 1.0, where=True), "where"),
        (lambda a: np.clip(a, 0.0, 1.0, casting="unsafe"), "casting"),
    ],
)
def test_unsupported_arguments_are_named(call, unsupported):
    with pytest.raises(TypeError, match=rf"numpy\.\w+: .*'{unsupported}'"):
        grad(lambda a: np.sum(call(a)))(np.ones(3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: np.concatenate([a, a], dtype=np.float32, casting="safe"), "Cannot cast array data"),
        (lambda a: np.stack([a, a], dtype=int), "Cannot cast array data"),
        (lambda a: np.block([(a, a)]), "Only lists can be used to arrange blocks"),
        (lambda a: np.ediff1d(a, to_end=1j), "dtype of `to_end` must be compatible"),
    ],
)
def test_wrong_types_raise_as_in_numpy(call, message):
    x = np.ones(3)
    with pytest.raises(TypeError, match=message):
        call(x)
    with pytest.raises(TypeError, match=message):
        grad(lambda a: np.sum(call(a)))(x)


def test_what_is_joined_in_a_dtype():
    a, b = np.ones(2, np.float32), np.full(2, 3.0)
    for dtype in (np.float32, np.float16, np.longdouble, np.complex64):
        check_values(lambda a, b, dtype=dtype: np.concatenate([a, b, [1.0]], dtype=dtype), a, b)
        check_values(lambda a, b, dtype=dtype: np.hstack([a, 2.0, b], dtype=dtype), a, b)
    found = grad(lambda a, b: np.sum(np.vstack([a, b], dtype=np.float16) * 2.0), argnums=(0, 1))(a, b)
    assert [part.dtype for part in found] == [np.float32, np.float64]
    constant = grad(lambda a: np.sum(a) + np.sum(np.stack([a, a], dtype=int, casting="unsafe")))(b)
    np.testing.assert_array_equal(constant, [1.0, 1.0])
    check_values(lambda a: np.ediff1d(a, 1.0, np.ones(2)), a)
    check_values(lambda a: np.ediff1d(a, a * 2.0), b)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.reshape(a, (3, 2), copy=True),
        lambda a: np.reshape(a, (2, 1, 3), copy=False),
        lambda a: np.broadcast_to(a, (4, 2, 3), subok=True),
        lambda a: np.ediff1d(a, a[0], to_begin=2.0),
        lambda a: np.ediff1d([1.0, 4.0], to_end=a),
    ],
)
def test_more_arguments(f):
    generator = np.random.default_rng(0)
    check(f, generator.uniform(-1.0, 1.0, (2, 3)), generator=generator)


def test_each_part_has_its_place():
    """Forward mode joins all tangents at once, so these maps are for whoever asks for one of them."""
    parts = [np.ones((2, 1)), np.ones((2, 3)), np.ones((2, 0))]
    _, (map_of,) = STRUCTURED[np.concatenate].differentiate(parts, 1)
    for place, part in enumerate(parts):
        tangents = [other * (i == place) for i, other in enumerate(parts)]
        np.testing.assert_array_equal(map_of(place).pushforward(part), np.concatenate(tangents, axis=1))


def test_no_parts():
    for function in functions_of("unstack"):
        np.testing.assert_array_equal(
            grad(lambda a, f=function: np.sum(a) + len(f(a, axis=1)))(np.ones((2, 0))), np.ones((2, 0))
        )


def test_integers_are_constants():
    x = np.array([1.5, -2.5])
    for function in functions_of("astype"):
        gradient = grad(lambda a, f=function: np.sum(a) + np.sum(f(a, int)))(x)
        np.testing.assert_array_equal(gradient, [1.0, 1.0])
        with pytest.raises(ValueError, match="Device not understood"):
            grad(lambda a, f=function: np.sum(f(a, float, device="gpu")))(x)


@pytest.mark.parametrize("order", ["A", "K"])
def test_orders_that_depend_on_memory_are_refused(order):
    with pytest.raises(ValueError, match=f"order='{order}' depends on how the array lies in memory"):
        grad(lambda a: np.sum(np.ravel(a, order=order)))(np.ones((2, 2), order="F"))


def test_broadcast_arrays_of_scalars_gives_arrays_that_are_written_to():
    def f(x):
        a, b = np.broadcast_arrays(x * 1.0, 2.0 * x)
        a.reshape(-1)[0] *= b
        return a * 1.0

    for x in (np.array(0.5), 0.5):
        assert sr.value_and_grad(f)(x) == (f(x), 2.0) == sr.jvp(f, (x,), (1.0,))
