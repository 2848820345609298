"""Some rules of each family through `check_grads`, as a user would check a function: to second order, in every mix.

`three_ways` looks at all of them, to the same order, at many more arguments.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftreset_ad.rules.indexing import frozen_index, scatter
from shiftreset_ad.testing import check_grads
from tests.rules import test_complex, test_indexing
from tests.rules.numpy import test_elementwise, test_products, test_shapes


def uniform(*shapes):
    generator = np.random.default_rng(0)
    return tuple(generator.uniform(-1.0, 1.0, shape) for shape in shapes)


def complex_uniform(*shapes):
    """Away from the real and the imaginary axis, and so from every branch cut and every pole."""
    parts = test_complex.off_the_axes(np.random.default_rng(0), *shapes, *shapes)
    return tuple(real + 1j * imag for real, imag in zip(parts[: len(shapes)], parts[len(shapes) :], strict=True))


def check(f, *args):
    check_grads(f, args, order=2)


@pytest.mark.parametrize("function", [np.tanh, np.absolute])
def test_unary(function):
    (x,) = test_elementwise.CASES[function](np.random.default_rng(0), (3,))
    check(function, x)
    check(function, float(x[0]))


@pytest.mark.parametrize("function", [np.power, np.arctan2])
def test_binary(function):
    a, b = test_elementwise.CASES[function](np.random.default_rng(0), (2, 2), (2,))
    check(function, a, b)
    check(function, float(a[0, 0]), float(b[0]))


def test_an_operand_without_derivative():
    (a, _) = test_elementwise.CASES[np.ldexp](np.random.default_rng(0), (2, 2), (2,))
    check(lambda a: np.ldexp(a, 2), a)


@pytest.mark.parametrize("function", [np.multiply, np.sqrt, np.absolute])
def test_complex_points(function):
    check(function, *complex_uniform((2,), (2,))[: function.nin])


@pytest.mark.parametrize("function", [np.concatenate, np.transpose, np.where])
def test_shapes_of_arrays(function):
    for f, *shapes in test_shapes.CASES[function]:
        check_grads(f, uniform(*shapes), order=2, eps=1e-3)  # of linear functions, by few differences


@pytest.mark.parametrize("function", [np.prod, np.max])
@pytest.mark.parametrize("axis", [0, -1])
def test_reductions_along_an_axis(function, axis):
    check(lambda a: function(a, axis=axis), *uniform((3, 2)))


@pytest.mark.parametrize("shapes", [((2, 3), (3, 2)), ((3,), (2, 3, 1)), ((2, 3), (3,))])
def test_products_of_arrays(shapes):
    check(np.matmul, *uniform(*shapes))
    check(np.matmul, *complex_uniform(*shapes))


def test_einsum():
    subscripts, *shapes = test_products.EINSUMS[0]
    check(functools.partial(np.einsum, subscripts), *uniform(*shapes))


@pytest.mark.parametrize("index", test_indexing.INDICES[::8], ids=repr)
def test_reading_parts(index):
    check(lambda a: a[index], *uniform((4, 3, 2)))


def test_adding_into_parts():
    index = frozen_index([0, 0])
    check(lambda a, b: scatter([a, b, a[0]], [slice(1, 3), index, 2], (4,), np.dtype(float)), *uniform((2,), (2,)))
