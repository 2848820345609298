"""Sequences, meshes, and arrays filled with numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad, jacobian
from tests.rules.three_ways import check, check_call, check_values, every_call, examples, generators

few = settings(examples, max_examples=25)

# For each function, calls of it, each with the shapes of its operands.
CASES = {
    np.linspace: [
        (lambda a, b: np.linspace(a, b), (), ()),
        (lambda a, b: np.linspace(a, b, 5), (), ()),
        (lambda a, b: np.linspace(a, b, 4, endpoint=False), (2, 1), (3,)),
        (lambda a, b: np.linspace(a, b, 3, axis=-1), (2, 3), (3,)),
        (lambda a, b: np.linspace(a, b, 3, axis=1), (2, 3), ()),
        (lambda a, b: np.linspace(a, b, 1), (2,), ()),
        (lambda a, b: np.linspace(a, b, 0), (2,), ()),
        (lambda a, b: np.linspace(a, b, 4, retstep=True), (2,), ()),
        (lambda a, b: np.linspace(a, b, 4, False, True, axis=-1), (2,), (2,)),
        (lambda a, b: np.linspace(a, b, 4, True, True)[1], (), ()),
        (lambda a: np.linspace(a, 2.0, 4), (2,)),
        (lambda b: np.linspace([1.0, 2.0], b, 4), (2,)),
        (lambda a: np.linspace(a, a, 4), (2,)),
        (lambda a, b: np.linspace(a, b, 3, dtype=np.longdouble), (2,), ()),
    ],
    np.logspace: [
        (lambda a, b: np.logspace(a, b, 5), (), ()),
        (lambda a, b: np.logspace(a, b, 4, endpoint=False, axis=-1), (2, 1), (3,)),
        (lambda a, b, c: np.logspace(a, b, 3, base=np.exp(c)), (), (2,), ()),
        (lambda a, b, c: np.logspace(a, b, 3, base=np.exp(c), axis=1), (2, 1), (), (3,)),
        (lambda a: np.logspace(a, 2.0, 4, base=2.0), (2,)),
        (lambda a, b: np.logspace(a, b, 3, dtype=np.longdouble), (), ()),
    ],
    np.geomspace: [
        (lambda a, b: np.geomspace(np.exp(a), 2.0 + b, 5), (), ()),
        (lambda a, b: np.geomspace(np.exp(a), 2.0 + b, 4, endpoint=False), (2, 1), (3,)),
        (lambda a, b: np.geomspace(np.exp(a), 2.0 + b, 3, axis=-1), (2, 3), (3,)),
        (lambda a, b: np.geomspace(np.exp(a), 2.0 + b, 1), (2,), ()),
        (lambda a: np.geomspace(np.exp(a), 9.0, 4), (2,)),
        (lambda a: np.geomspace(np.exp(a), np.exp(a), 4), ()),
    ],
    np.meshgrid: [
        (lambda a, b: np.meshgrid(a, b), (2,), (3,)),
        (lambda a, b, c: np.meshgrid(a, b, c, indexing="ij"), (2,), (3,), (1,)),
        (lambda a, b: np.meshgrid(a, b, sparse=True), (2,), (3,)),
        (lambda a, b: np.meshgrid(a, b, sparse=True, copy=False, indexing="ij"), (2,), (3,)),
        (lambda a, b: np.meshgrid(a, b, copy=False), (2,), ()),
        (lambda a: np.meshgrid(a), (3,)),
        (lambda a: np.meshgrid(a, [1.0, 2.0], a), (2,)),
        (lambda a, b: np.meshgrid(a, b), (2, 2), (0,)),
    ],
    np.ix_: [
        (lambda a, b: np.ix_(a, b), (2,), (3,)),
        (lambda a: np.ix_(a, np.array([True, False, True]), [1, 2]), (2,)),
    ],
    np.full_like: [
        (lambda a, b: np.full_like(a, b), (2, 3), ()),
        (lambda a, b: np.full_like(a, b), (2, 3), (3,)),
        (lambda a: np.full_like(a, 1.5), (2, 3)),
        (lambda a, b: np.full_like(a, b, shape=(4, 3), order="F"), (2,), (3,)),
        (lambda a, b: np.full_like(a, b, dtype=np.longdouble, subok=False), (), ()),
        (lambda a: np.full_like(a, [a[0] * 2.0, 3.0]), (2,)),
    ],
}


@every_call(CASES)
def test_three_ways(f, shapes, seed):
    check_call(f, shapes, seed)


@few
@given(
    shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3),
    num=st.integers(0, 5),
    endpoint=st.booleans(),
    data=st.data(),
    generator=generators,
)
def test_sequences_at_random(shapes, num, endpoint, data, generator):
    ndim = len(shapes.result_shape) + 1
    axis = data.draw(st.integers(-ndim, ndim - 1))
    xs = [generator.uniform(0.5, 2.0, shape) for shape in shapes.input_shapes]
    for function in (np.linspace, np.logspace, np.geomspace):
        check(
            lambda a, b, function=function: function(a, b, num, endpoint, axis=axis),
            *xs,
            generator=generator,
            dtypes=False,
        )


def test_the_ends_are_the_numbers_themselves():
    start, stop = 0.1, 0.7
    both = (1.0, 0.0), (0.0, 1.0)
    for function in (np.linspace, np.geomspace):
        y = function(start, stop, 7)
        assert (y[0], y[-1]) == (start, stop)
        of_start, of_stop = jacobian(lambda a, b, f=function: f(a, b, 7), argnums=(0, 1))(start, stop)
        np.testing.assert_allclose([of_start[[0, -1]], of_stop[[0, -1]]], both, atol=1e-14)


def test_negative_and_complex_geometric_sequences():
    for sign in (1.0, -1.0):
        middle = grad(lambda a, b: np.geomspace(a, b, 3)[1], argnums=(0, 1))(2.0 * sign, 8.0 * sign)
        np.testing.assert_allclose(middle, (1.0, 0.25))
    generator = np.random.default_rng(0)
    check(lambda a, b: np.geomspace(a, b, 4), -2.0, -9.0, generator=generator)

    def spiral(a, b, c, d):
        return np.geomspace(a + 1j * b, c + 1j * d, 5)

    check(spiral, 1.0, 0.5, -0.5, 2.0, generator=generator)
    check(spiral, np.array([1.0, -1.0]), 0.5, -0.5, np.array([[2.0], [3.0]]), generator=generator)
    check(lambda a, b: np.linspace(a + 1j * b, a * b, 3), 0.5, 2.0, generator=generator)
    check(lambda a, b: np.logspace(a + 1j * b, a * b, 3), 0.5, 2.0, generator=generator)


def test_sequences_of_integers_are_constant():
    def f(x):
        y = np.linspace(x, 9.5, 4, dtype=int)
        assert type(y) is np.ndarray
        np.testing.assert_array_equal(y, np.linspace(0.5, 9.5, 4, dtype=int))
        return x * x

    assert grad(f)(0.5) == 1.0
    step = grad(lambda x: np.linspace(x, 9.5, 4, retstep=True, dtype=int)[1])(0.5)
    np.testing.assert_allclose(step, -1 / 3)
    assert grad(lambda x: x + np.sum(np.logspace(x, 2.5, 4, dtype=int)))(0.5) == 1.0
    assert grad(lambda x: x + np.sum(np.geomspace(x, 2.5, 4, dtype=int)))(1.5) == 1.0
    assert sr.jvp(lambda x: np.linspace(x, 9.5, 4, dtype=int), (0.5,), (1.0,))[1] is None


def test_equal_ends_and_denormal_steps():
    for start, stop in ((1.0, 1.0), (0.0, 5e-324)):
        check_values(lambda a, b: np.linspace(a, b, 5), start, stop)
        of_start, of_stop = jacobian(lambda a, b: np.linspace(a, b, 5), argnums=(0, 1))(start, stop)
        np.testing.assert_array_equal(of_start, [1.0, 0.75, 0.5, 0.25, 0.0])
        np.testing.assert_array_equal(of_stop, [0.0, 0.25, 0.5, 0.75, 1.0])


def test_one_element_has_no_step():
    def f(a):
        y, step = np.linspace(a, 2.0, 1, retstep=True)
        assert np.isnan(step)
        return y[0]

    assert grad(f)(1.0) == 1.0


def test_a_mesh_of_indices_is_one_of_indices():
    x = np.arange(12.0).reshape(3, 4)

    def f(a):
        return np.sum(a[np.ix_([0, 2], [True, False, False, True])] ** 2)

    expected = np.zeros((3, 4))
    expected[np.ix_([0, 2], [0, 3])] = 2 * x[np.ix_([0, 2], [0, 3])]
    np.testing.assert_array_equal(grad(f)(x), expected)


def test_filled_with_numbers_of_other_precision():
    a, b = np.ones((2, 3), np.float32), 2.0
    check_values(lambda a, b: np.full_like(a, b), a, b)
    check_values(lambda a, b: np.full_like(a, b, dtype=np.float16), a, b)
    found = grad(lambda b: np.sum(np.full_like(b, 3.0 * b, shape=(2, 2))))(2.0)
    assert found == 12.0
    constant = grad(lambda a: np.sum(a * np.full_like(a, a[0], dtype=int)))(np.array([1.5, 2.5]))
    np.testing.assert_array_equal(constant, [1.0, 1.0])


def test_what_is_filled_is_no_view():
    def f(a, b):
        y = np.full_like(a, b)
        assert not np.shares_memory(sr.value(y), sr.value(b))
        return np.sum(y)

    np.testing.assert_array_equal(grad(f, argnums=(0, 1))(np.ones((2, 3)), np.ones(3))[1], [2.0, 2.0, 2.0])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: np.linspace(a, 1.0, -1), ValueError),
        (lambda a: np.linspace(a, 1.0, 2.5), TypeError),
        (lambda a: np.linspace(a, 1.0, 3, axis=2), np.exceptions.AxisError),
        (lambda a: np.linspace(a, np.ones(2), 3), ValueError),
        (lambda a: np.geomspace(a, 0.0), ValueError),
        (lambda a: np.meshgrid(a, indexing="x"), ValueError),
        (lambda a: np.ix_(a[None]), ValueError),
        (lambda a: np.full_like(a, np.ones(2)), ValueError),
    ],
)
def test_wrong_arguments_raise_as_in_numpy(call, error):
    x = np.ones(3)
    with pytest.raises(error):
        call(x)
    with pytest.raises(error):
        grad(lambda a: np.sum(call(a)[0]))(x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.arange(x),
        lambda x: np.arange(0.0, 2.0, x),
        lambda x: np.full((2, 2), x, float),
        lambda x: np.full_like(np.ones(2), x),
        lambda x: np.fromiter((x, x), float),
        lambda x: np.eye(x),
        lambda x: np.linspace(0.0, 1.0, x),
    ],
)
def test_builders_that_numpy_does_not_dispatch_are_errors(call):
    with pytest.raises((TypeError, NotImplementedError), match=r"differentiated|as an integer|value\(x\)"):
        grad(lambda x: np.sum(call(x)))(3.0)
    assert grad(lambda x: x * x)(3.0) == 6.0


def test_a_function_of_indices_may_close_over_a_number():
    found = grad(lambda x: np.sum(np.fromfunction(lambda i, j: x ** (i + j), (2, 2))))(3.0)
    assert found == 1.0 + 1.0 + 2 * 3.0


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_the_real_part_of_a_complex_geomspace_has_the_derivative_of_the_real_part():
    z, v = np.array([1.0 + 2.0j, 3.0 - 1.0j]), np.array([1.0 - 1.0j, 0.5 + 2.0j])
    answers = [
        (sr.jvp(f, (z,), (v,)), sr.vjp(f, z)[1](np.arange(4.0)))
        for f in (
            lambda z: np.geomspace(z[0], z[1], 4, dtype=float),
            lambda z: np.real(np.geomspace(z[0], z[1], 4)),
        )
    ]
    for found, expected in zip(*answers, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
