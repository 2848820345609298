"""Every rule in a Taylor expansion: coefficients up to the third against nested forward mode."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad.modes.forward.number import NumF
from shiftreset_ad.numbers.dispatch import name_of
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import COMPOSITE, ELEMENTWISE, STRUCTURED
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.building import assemble
from shiftreset_ad.rules.indexing import replaced, scatter
from shiftreset_ad.rules.numpy.choosing import clipped
from shiftreset_ad.rules.numpy.einstein import contract
from shiftreset_ad.rules.numpy.elementwise import sign_of_complex
from shiftreset_ad.rules.numpy.shapes import astype
from shiftreset_ad.rules.table import functions_of
from shiftreset_ad.transforms.taylor import taylor
from tests.rules import test_complex, test_indexing
from tests.rules.families import FAMILIES, cases_of
from tests.rules.numpy import test_elementwise, test_products, test_reductions, test_shapes
from tests.rules.three_ways import differentiable, examples, generators

ORDER = 3
few = settings(examples, max_examples=8)


def nested(f, xs, x_dots):
    """The coefficients of each answer, by forward mode in forward mode."""
    columns = []
    for k in range(ORDER + 1):
        columns.append([np.asarray(y) / math.factorial(k) for y in f(*xs)])
        f = along(f, x_dots)
    return [np.stack(coefficients) for coefficients in zip(*columns, strict=True)]


def along(f, x_dots):
    """The derivative of `f` along the direction `x_dots`."""

    def derivative(*xs):
        tag = Tag.around(x.tag.level for x in xs if isinstance(x, Number))
        ys = f(*(NumF(x, x_dot, tag) for x, x_dot in zip(xs, x_dots, strict=True)))
        tag.finish()
        return [y.tangent if isinstance(y, NumF) and y.tag is tag else np.zeros(shape_of(y), dtype_of(y)) for y in ys]

    return derivative


def direction_like(x, generator):
    drawn = generator.uniform(-1.0, 1.0, shape_of(x))
    if dtype_of(x).kind == "c":
        drawn = drawn + 1j * generator.uniform(-1.0, 1.0, shape_of(x))
    return drawn if isinstance(x, np.ndarray) else type(x)(drawn)


def check_taylor(f, *xs, generator):
    """Check the expansion of `f: (floats or arrays) -> array, or tuple or list of them` in a random direction."""
    x_dots = tuple(direction_like(x, generator) for x in xs)

    def numbers(*xs):  # squares, so that a linear f has a second coefficient, too
        return [part for y in differentiable(f(*xs)) for part in (y, y * y)]

    expected = nested(numbers, xs, x_dots)
    found = taylor(lambda xs: numbers(*xs), xs, ORDER, x_dots)
    assert len(found) == len(expected)
    for coefficients, by_forward in zip(found, expected, strict=True):
        assert coefficients.dtype == by_forward.dtype
        assert coefficients.shape == by_forward.shape
        scale = np.max(np.abs(by_forward), initial=1.0)
        np.testing.assert_allclose(coefficients, by_forward, rtol=1e-10, atol=1e-10 * scale)


# Elementwise functions


@pytest.mark.parametrize("function", test_elementwise.ONE, ids=lambda f: f.__name__)
@few
@given(data=st.data(), shape=test_elementwise.shapes, generator=generators)
def test_unary(function, data, shape, generator):
    xs = test_elementwise.as_drawn(test_elementwise.CASES[function](generator, shape), data)
    check_taylor(function, *xs, generator=generator)


@pytest.mark.parametrize("function", test_elementwise.TWO, ids=lambda f: f.__name__)
@few
@given(data=st.data(), pair=test_elementwise.pairs_of_shapes, generator=generators)
def test_binary(function, data, pair, generator):
    a, b = test_elementwise.as_drawn(test_elementwise.CASES[function](generator, *pair.input_shapes), data)
    if function is np.ldexp:
        check_taylor(lambda a: np.ldexp(a, 2), a, generator=generator)
        return
    check_taylor(lambda a: function(a, b), a, generator=generator)
    if function not in test_elementwise.CONSTANT_SECOND:
        check_taylor(lambda b: function(a, b), b, generator=generator)
        check_taylor(function, a, b, generator=generator)


@pytest.mark.parametrize("name", test_elementwise.PYTHON_OPERATORS)
@few
@given(data=st.data(), pair=test_elementwise.pairs_of_shapes, generator=generators)
def test_python_operators(name, data, pair, generator):
    a = generator.uniform(0.5, 0.9, pair.input_shapes[0])
    b = generator.uniform(1.1, 1.3, pair.input_shapes[1])
    xs = test_elementwise.as_drawn([a, b], data)
    check_taylor(test_elementwise.PYTHON_OPERATORS[name], *xs, generator=generator)


@pytest.mark.parametrize("function", test_complex.COMPLEX, ids=lambda f: f.__name__)
@few
@given(data=st.data(), pair=test_elementwise.pairs_of_shapes, generator=generators)
def test_complex_points(function, data, pair, generator):
    xs = []
    for shape in pair.input_shapes[: function.nin]:
        real, imag = test_complex.off_the_axes(generator, shape, shape)
        z = real + 1j * imag
        xs.append(z if shape else data.draw(st.sampled_from([complex, np.complex128, np.asarray]))(z))
    check_taylor(function, *xs, generator=generator)


@pytest.mark.parametrize("kind", [float, np.float64, lambda x: np.array([x, x])])
@pytest.mark.parametrize(
    ("function", "operands", "expected"),
    test_elementwise.EDGES + test_elementwise.POLES,
    ids=lambda part: getattr(part, "__name__", None),
)
def test_first_derivatives_at_edges(function, operands, expected, kind):
    """At ties, kinks and poles they are those of the table, as in docs/edges.md."""
    xs = [kind(x) for x in operands]
    for i, slope in enumerate(expected):
        with np.errstate(all="ignore"):
            found = taylor(lambda x, i=i: function(*xs[:i], x, *xs[i + 1 :]), xs[i], 1)
        np.testing.assert_allclose(found[1], kind(slope), rtol=1e-12)


# The other families


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(
    ("function", "place"), [(f, i) for f, calls in test_shapes.CASES.items() for i in range(len(calls))]
)
def test_shapes_of_arrays(function, place, is_complex):
    f, *shapes = test_shapes.CASES[function][place]
    if is_complex and function in (np.clip, astype):
        return
    generator = np.random.default_rng(0)
    xs = [generator.uniform(-1.0, 1.0, shape) + 1j * generator.uniform(0.5, 1.0, shape) for shape in shapes]
    check_taylor(f, *(xs if is_complex else [x.real for x in xs]), generator=generator)


@pytest.mark.parametrize("function", test_reductions.CASES, ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_reductions_of_arrays(function, data, generator):
    f, shape = data.draw(test_reductions.CASES[function])
    x = generator.permutation(np.linspace(-1.0, 1.5, math.prod(shape))).reshape(shape)
    if function is np.std and np.min(f(x), initial=1.0) == 0.0:
        return
    check_taylor(f, x, generator=generator)
    if function not in (np.max, np.amax, np.min, np.amin):
        check_taylor(f, x + 1j * generator.permutation(x.ravel()).reshape(shape), generator=generator)


def test_a_product_with_zeros():
    generator = np.random.default_rng(0)
    check_taylor(np.prod, np.array([0.0, 2.0, 0.0, 3.0]), generator=generator)
    check_taylor(lambda x: np.prod(x, axis=0), np.array([[0.0, 2.0], [0.0, 0.0], [1.0, 3.0]]), generator=generator)


def drawn(generator, *shapes):
    return [generator.uniform(-1.0, 1.0, shape) for shape in shapes]


def check_product(f, *xs, generator):
    """In all operands, and in each alone."""
    check_taylor(f, *xs, generator=generator)
    check_taylor(
        f, *(x + 1j * y for x, y in zip(xs, drawn(generator, *map(np.shape, xs)), strict=True)), generator=generator
    )
    if len(xs) > 1:
        for i in range(len(xs)):
            check_taylor(lambda x, i=i: f(*xs[:i], x, *xs[i + 1 :]), xs[i], generator=generator)


@pytest.mark.parametrize(("rank_a", "rank_b"), test_products.RANKS)
@settings(examples, max_examples=3)
@given(data=st.data(), generator=generators)
def test_matmul(rank_a, rank_b, data, generator):
    shapes = data.draw(test_products.matmul_shapes(rank_a, rank_b))
    check_product(np.matmul, *drawn(generator, *shapes), generator=generator)


@few
@given(
    dot=test_products.dot_shapes(),
    inner=test_products.inner_shapes(),
    outer=test_products.outer_shapes(),
    tensordot=test_products.tensordot_calls(),
    generator=generators,
)
def test_products_of_two(dot, inner, outer, tensordot, generator):
    check_product(np.dot, *drawn(generator, *dot), generator=generator)
    check_product(np.inner, *drawn(generator, *inner), generator=generator)
    check_product(np.outer, *drawn(generator, *outer), generator=generator)
    shapes, axes = tensordot
    check_product(lambda a, b: np.tensordot(a, b, axes), *drawn(generator, *shapes), generator=generator)


STACKED = [
    (f, shapes) for name in test_products.STACKED for f in functions_of(name) for shapes in test_products.STACKED[name]
]


@pytest.mark.parametrize(("function", "shapes"), STACKED)
def test_products_of_stacks(function, shapes):
    generator = np.random.default_rng(0)
    check_product(lambda a, b: function(a, b), *drawn(generator, *shapes), generator=generator)


@pytest.mark.parametrize(("subscripts", "shapes"), [(s, shapes) for s, *shapes in test_products.EINSUMS])
def test_einsum(subscripts, shapes):
    generator = np.random.default_rng(0)
    check_product(lambda *xs: np.einsum(subscripts, *xs), *drawn(generator, *shapes), generator=generator)


def test_trace():
    check_product(lambda a: np.trace(a, 1, 0, 2), np.ones((3, 2, 4)), generator=np.random.default_rng(0))


def test_one_number_in_several_places():
    generator = np.random.default_rng(0)
    check_product(lambda a: np.einsum("ij,jk,ki->", a, np.sin(a), a), *drawn(generator, (3, 3)), generator=generator)
    check_product(lambda a: a @ a.T @ a, *drawn(generator, (2, 3)), generator=generator)


@pytest.mark.parametrize("index", test_indexing.INDICES, ids=repr)
def test_reading_parts(index):
    generator = np.random.default_rng(0)
    check_product(lambda a: a[index], *drawn(generator, (4, 3, 2)), generator=generator)


def test_adding_into_parts():
    def f(a, b):
        return scatter([a, b, a[0]], [slice(1, 3), np.array([0, 0]), 2], (4,), np.dtype(float))

    check_taylor(f, *drawn(np.random.default_rng(0), (2,), (2,)), generator=np.random.default_rng(1))


def test_another_part():
    generator = np.random.default_rng(0)
    check_product(lambda a, b: replaced([b, a], (..., 1)), *drawn(generator, (2, 3), (2,)), generator=generator)


def test_arrays_of_numbers():
    generator = np.random.default_rng(0)
    check_taylor(
        lambda a, b: sr.array([[a[0], 1.0], [b[1], a[0] * b[0]]]), *drawn(generator, (2,), (2,)), generator=generator
    )


def test_trimming():
    generator = np.random.default_rng(0)
    check_taylor(
        lambda a: np.trim_zeros(np.concatenate([a * 0.0, a, [0.0]])), *drawn(generator, (3,)), generator=generator
    )


# All of them

CASES = {
    **dict.fromkeys((assemble, np.trim_zeros)),
    **dict.fromkeys((*test_elementwise.CASES, *test_shapes.CASES, *test_reductions.CASES, *test_complex.COMPLEX)),
    **dict.fromkeys((np.matmul, np.dot, np.inner, np.outer, np.tensordot, np.trace, np.einsum, contract)),
    **dict.fromkeys(functions_of(*test_products.STACKED)),
    **dict.fromkeys((operator.getitem, scatter, replaced)),
    sign_of_complex: "by np.sign",
    clipped: "by np.clip",
}


# Of these families, the tests of the rules themselves go through taylor, too.
THEMSELVES = (
    *("accumulations", "calculus", "convolution", "counting", "factorizations", "fourier", "interpolation", "linalg"),
    *("missing", "polynomials", "sorting", "statistics"),
    *("matrix_functions", "signal", "special", "special_parameters"),
)


def test_every_rule_has_a_case():
    covered = {*CASES, *(f for family in FAMILIES.keys() & THEMSELVES for f in cases_of(family))}
    missing = {name_of(f) for f in {*ELEMENTWISE, *STRUCTURED, *COMPOSITE} - covered}
    # In tests/scipy, tests/numbers/test_sparse.py, tests/nn and tests/staging
    elsewhere = ("scipy.stats", "shiftreset_ad.numbers.sparse", "shiftreset_ad.nn", "shiftreset_ad.staging")
    assert not {name for name in missing if not name.startswith(elsewhere)}
