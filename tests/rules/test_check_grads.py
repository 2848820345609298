"""Every rule through `check_grads`, as a user would check a function: to the second order, in every mix of modes.

The arguments are few and always the same; `three_ways` looks at many more, to the same order.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftreset_ad.rules.indexing import frozen_index, scatter
from shiftreset_ad.rules.table import functions_of
from shiftreset_ad.testing import check_grads
from tests.rules import test_complex, test_indexing
from tests.rules.numpy import test_elementwise, test_products, test_reductions, test_shapes

SHAPES_OF_PRODUCTS = {
    np.matmul: [((2, 3), (3, 2)), ((3,), (2, 3, 1)), ((2, 3), (3,))],
    np.dot: [((2, 3), (3, 2)), ((), (2,))],
    np.inner: [((2, 3), (2, 3)), ((3,), (3,))],
    np.outer: [((2,), (3,))],
    np.tensordot: [((2, 1, 3), (1, 3, 2))],
    np.trace: [((3, 3),), ((2, 3, 2),)],
}


def uniform(*shapes):
    generator = np.random.default_rng(0)
    return tuple(generator.uniform(-1.0, 1.0, shape) for shape in shapes)


def complex_uniform(*shapes):
    """Away from the real and the imaginary axis, and so from every branch cut and every pole."""
    parts = test_complex.off_the_axes(np.random.default_rng(0), *shapes, *shapes)
    return tuple(real + 1j * imag for real, imag in zip(parts[: len(shapes)], parts[len(shapes) :], strict=True))


def check(f, *args):
    check_grads(f, args, order=2)


@pytest.mark.parametrize("function", test_elementwise.ONE, ids=lambda f: f.__name__)
def test_unary(function):
    (x,) = test_elementwise.CASES[function](np.random.default_rng(0), (3,))
    check(function, x)
    check(function, float(x[0]))


@pytest.mark.parametrize("function", test_elementwise.TWO, ids=lambda f: f.__name__)
def test_binary(function):
    a, b = test_elementwise.CASES[function](np.random.default_rng(0), (2, 2), (2,))
    if function in test_elementwise.CONSTANT_SECOND:
        other = 2 if function is np.ldexp else b
        check(lambda a: function(a, other), a)
    else:
        check(function, a, b)
        check(function, float(a[0, 0]), float(b[0]))


@pytest.mark.parametrize("function", test_complex.COMPLEX, ids=lambda f: f.__name__)
def test_complex_points(function):
    check(function, *complex_uniform((2,), (2,))[: function.nin])


@pytest.mark.parametrize("function", test_shapes.CASES, ids=lambda f: f.__name__)
def test_shapes_of_arrays(function):
    for f, *shapes in test_shapes.CASES[function]:
        check_grads(f, uniform(*shapes), order=2, eps=1e-3)  # of linear functions, by few differences


@pytest.mark.parametrize("function", test_reductions.CASES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("axis", [0, -1])
def test_reductions_along_an_axis(function, axis):
    check(lambda a: function(a, axis=axis), *uniform((3, 2)))


@pytest.mark.parametrize("function", SHAPES_OF_PRODUCTS, ids=lambda f: f.__name__)
def test_products_of_arrays(function):
    for shapes in SHAPES_OF_PRODUCTS[function]:
        check(function, *uniform(*shapes))
        check(function, *complex_uniform(*shapes))


@pytest.mark.parametrize("function", functions_of(*test_products.STACKED), ids=lambda f: f.__name__)
def test_products_of_stacks(function):
    for shapes in test_products.STACKED[function.__name__]:
        check(lambda a, b: function(a, b), *uniform(*shapes))


@pytest.mark.parametrize(("subscripts", "shapes"), [(s, shapes) for s, *shapes in test_products.EINSUMS])
def test_einsum(subscripts, shapes):
    check(functools.partial(np.einsum, subscripts), *uniform(*shapes))


@pytest.mark.parametrize("index", test_indexing.INDICES, ids=repr)
def test_reading_parts(index):
    check(lambda a: a[index], *uniform((4, 3, 2)))


def test_adding_into_parts():
    index = frozen_index([0, 0])
    check(lambda a, b: scatter([a, b, a[0]], [slice(1, 3), index, 2], (4,), np.dtype(float)), *uniform((2,), (2,)))
