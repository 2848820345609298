"""Every rule at complex points, and JAX's conventions.

`at_complex_points` gives a function the real and the imaginary parts of its operands as operands of their own, so that
`check` looks at every derivative there is, in every mode. On complex operands themselves, in every precision, the modes
are compared with each other; the conventions are what is left to test.
"""

from __future__ import annotations

import cmath
import operator
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices, mutually_broadcastable_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad, value_and_grad
from shiftreset_ad.modes.forward.number import NumF
from shiftreset_ad.modes.reverse.arrays import LARGE
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import COMPOSITE, ELEMENTWISE, STRUCTURED
from shiftreset_ad.rules.numpy.elementwise import CHOICES, sign_of_complex
from shiftreset_ad.rules.numpy.shapes import astype
from shiftreset_ad.rules.table import functions_of
from tests.rules import test_indexing
from tests.rules.numpy import test_elementwise, test_products, test_reductions, test_shapes
from tests.rules.three_ways import check, check_inner_products, check_inner_products_in, examples, generators

INF, NAN = np.inf, np.nan
CASES = {sign_of_complex: [(lambda z: sign_of_complex(z), (2,))]}

few = settings(examples, max_examples=12)
shapes = array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
pairs_of_shapes = mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3)


def off_the_axes(generator, *shapes):
    """Real numbers of either sign; as real and imaginary parts, away from every branch cut and every pole."""
    return [generator.uniform(0.3, 1.2, shape) * generator.choice([-1.0, 1.0], shape) for shape in shapes]


def like(x, y):
    return y if isinstance(x, np.ndarray) else type(x)(y)


def at_complex_points(f, *xs, generator, real=(), **options):
    """Check `f` with imaginary parts added to its operands, but for those at the positions `real`."""
    places = [i for i in range(len(xs)) if i not in real]
    imaginary = [like(xs[i], off_the_axes(generator, np.shape(xs[i]))[0]) for i in places]

    def f_of_parts(*parts):
        zs = list(parts[: len(xs)])
        for i, part in zip(places, parts[len(xs) :], strict=True):
            zs[i] = zs[i] + 1j * part
        return f(*zs)

    check(f_of_parts, *xs, *imaginary, generator=generator, **options)
    zs = list(xs)
    for i, part in zip(places, imaginary, strict=True):
        zs[i] = xs[i] + 1j * part
    dtype = generator.choice([np.float32, np.float64, np.longdouble]) if options.get("dtypes", True) else np.float64
    check_inner_products_in(dtype, f, *zs, generator=generator, second_order=options.get("second_order", True))


def one_may_be_real(data, count):
    return data.draw(st.sampled_from([(), *((i,) for i in range(count))] if count > 1 else [()]))


# Elementwise

COMPLEX = sorted(
    (
        f
        for f in {*ELEMENTWISE, *STRUCTURED, *COMPOSITE} - {*CHOICES, np.matmul}
        # Of NumPy's own: whether SciPy's are in the tables depends on what has been imported.
        if getattr(np, f.__name__, None) is f and isinstance(f, np.ufunc) and not f.signature
        if any("D" in types for types in f.types)
    ),
    key=lambda f: f.__name__,
)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("function", [f for f in COMPLEX if f.nin == 1], ids=lambda f: f.__name__)
@few
@given(data=st.data(), shape=shapes, generator=generators)
def test_unary(function, data, shape, generator):
    at_complex_points(function, *test_elementwise.as_drawn(off_the_axes(generator, shape), data), generator=generator)


@pytest.mark.parametrize("function", [f for f in COMPLEX if f.nin == 2], ids=lambda f: f.__name__)
@examples
@given(data=st.data(), pair=pairs_of_shapes, generator=generators)
def test_binary(function, data, pair, generator):
    xs = test_elementwise.as_drawn(off_the_axes(generator, *pair.input_shapes), data)
    at_complex_points(function, *xs, generator=generator, real=one_may_be_real(data, 2))


def test_the_list_of_functions_is_not_empty():
    assert {np.exp, np.absolute, np.sign, np.conjugate, np.power, np.arccosh} <= set(COMPLEX)
    assert len(COMPLEX) == 33


# The other families, at the cases of their own tests


@pytest.mark.parametrize("real", [(), (0,)])
@pytest.mark.parametrize(
    ("function", "place"),
    [(f, i) for f, calls in test_shapes.CASES.items() for i in range(len(calls)) if f not in (np.clip, astype)],
)
def test_rearranging(function, place, real):
    f, *sizes = test_shapes.CASES[function][place]
    if real and (len(sizes) == 1 or function is np.full_like):  # a real array is not filled with complex numbers
        return
    generator = np.random.default_rng(0)
    at_complex_points(f, *off_the_axes(generator, *sizes), generator=generator, real=real, dtypes=False)


@pytest.mark.parametrize(
    "function",
    [f for f in test_reductions.CASES if f not in (np.max, np.amax, np.min, np.amin)],
    ids=lambda f: f.__name__,
)
@few
@given(data=st.data(), generator=generators)
def test_reducing(function, data, generator):
    f, shape = data.draw(test_reductions.CASES[function])
    x = generator.permutation(np.linspace(-1.0, 1.5, int(np.prod(shape)))).reshape(shape)
    if function is np.std and np.min(f(x), initial=1.0) == 0.0:  # over no axes: the root has no derivative
        return
    at_complex_points(f, x if np.ndim(x) else float(x), generator=generator)


@few
@given(data=st.data(), generator=generators)
@pytest.mark.parametrize("ranks", [(1, 1), (2, 1), (1, 2), (2, 2), (3, 2), (2, 4)])
def test_matmul(ranks, data, generator):
    xs = off_the_axes(generator, *data.draw(test_products.matmul_shapes(*ranks)))
    at_complex_points(lambda a, b: a @ b, *xs, generator=generator, real=one_may_be_real(data, 2))


@few
@given(data=st.data(), generator=generators)
@pytest.mark.parametrize("name", ["dot", "inner", "outer", "tensordot"])
def test_products_of_two(name, data, generator):
    axes = {}
    if name == "tensordot":
        sizes, axes["axes"] = data.draw(test_products.tensordot_calls())
    else:
        sizes = data.draw(getattr(test_products, f"{name}_shapes")())
    xs = off_the_axes(generator, *sizes)
    at_complex_points(
        lambda a, b: getattr(np, name)(a, b, **axes), *xs, generator=generator, real=one_may_be_real(data, 2)
    )


@pytest.mark.parametrize("real", [(), (0,), (1,)])
@pytest.mark.parametrize(
    ("function", "sizes"),
    [(f, sizes) for name, cases in test_products.STACKED.items() for f in functions_of(name) for sizes in cases],
)
def test_products_of_stacks(function, sizes, real):
    """`vecdot` and `vecmat` conjugate their first operand."""
    generator = np.random.default_rng(0)
    at_complex_points(function, *off_the_axes(generator, *sizes), generator=generator, real=real)


@pytest.mark.parametrize(("subscripts", "sizes"), [(s, sizes) for s, *sizes in test_products.EINSUMS])
def test_einsum(subscripts, sizes):
    generator = np.random.default_rng(0)
    for real in ((), (0,)) if len(sizes) > 1 else ((),):
        at_complex_points(
            lambda *xs: np.einsum(subscripts, *xs),
            *off_the_axes(generator, *sizes),
            generator=generator,
            real=real,
            dtypes=False,
        )


def test_trace():
    generator = np.random.default_rng(0)
    at_complex_points(lambda a: np.trace(a, 1), *off_the_axes(generator, (3, 4)), generator=generator)
    at_complex_points(lambda a: a.trace(axis1=0, axis2=2), *off_the_axes(generator, (3, 2, 3)), generator=generator)
    check(lambda a: np.trace(a, dtype=complex), *off_the_axes(generator, (3, 3)), generator=generator, dtypes=False)


@few
@given(data=st.data(), shape=array_shapes(min_dims=1, max_dims=3, min_side=1), generator=generators)
def test_basic_indices(data, shape, generator):
    index = data.draw(basic_indices(shape, allow_newaxis=True))
    at_complex_points(lambda a: a[index], *off_the_axes(generator, shape), generator=generator)


@pytest.mark.parametrize("index", test_indexing.INDICES, ids=repr)
def test_indices(index):
    generator = np.random.default_rng(0)
    at_complex_points(lambda a: a[index], *off_the_axes(generator, (4, 3, 2)), generator=generator, dtypes=False)


def test_one_element_at_a_time():
    """Elements of a complex array, in scalar arithmetic, and the complex element of a real array."""
    generator = np.random.default_rng(0)
    for f in (
        lambda a: sum(part * part.conj() * abs(part) for part in a),
        lambda a: a[0] * 2j + abs(a[1] * 1j) * a[2] ** 2 - a[0] / (1 + 2j),
    ):
        at_complex_points(f, *off_the_axes(generator, (3,)), generator=generator)
        check(f, *off_the_axes(generator, (3,)), generator=generator)


# Python's operators, and real functions by way of complex numbers

OPERATORS = {
    **test_elementwise.PYTHON_OPERATORS,
    "constants": lambda a, b: 1j * a + b * (2 - 1j) - a / 2j + (1 + 1j) / b - 1j - (b - 1j) + (2j - a),
    "powers": lambda a, b: a ** (1 + 1j) + (2 + 1j) ** b + a**b + b**2 + a**-1 + b**0.5 + 2**a + 1.5**b + a**0,
    "negative bases": lambda a, b: (-a) ** (b + 0.3j) + (-a) ** 0.5 * b if np.iscomplexobj(a) else a * b,
    "numpy's scalars": lambda a, b: np.complex128(1 + 1j) * a + b * np.float64(2.0) - np.complex128(1j) / a,
    "attributes": lambda a, b: a.real * b.imag + (a * b).imag * a.conjugate(),
}
del OPERATORS["%"], OPERATORS["divmod"], OPERATORS["reflected"]


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("name", OPERATORS)
@few
@given(data=st.data(), pair=pairs_of_shapes, generator=generators)
def test_python_operators(name, data, pair, generator):
    a = generator.uniform(0.5, 0.9, pair.input_shapes[0])
    b = generator.uniform(1.1, 1.3, pair.input_shapes[1])
    xs = test_elementwise.as_drawn([a, b], data)
    at_complex_points(OPERATORS[name], *xs, generator=generator, real=one_may_be_real(data, 2))


THROUGH_COMPLEX = {
    "modulus of an exponential": lambda x: abs(np.exp(1j * x * x)) + abs(np.exp((0.3 + 1j) * x)),
    "imaginary part": lambda x: (np.exp(1j * x)).imag * x,
    "angle": lambda x: np.angle(np.exp(1j * x) + 0.5),
    "product with its conjugate": lambda x: np.real((x + 2j) * np.conj(x + 2j)),
    "root of a negative": lambda x: abs(np.sqrt(-x + 0j) + 1),
    "logarithm of a negative": lambda x: np.real(np.log(-x + 0j) ** 2),
    "sine by exponentials": lambda x: ((np.exp(1j * x) - np.exp(-1j * x)) / 2j).real,
    "sign": lambda x: np.sign(np.exp(1j * x) * x).real,
    "complex and real by astype": lambda x: np.exp(np.asarray(1.0) * x + 0j).real,
    "norm": lambda x: np.sqrt(np.sum(np.abs(x * np.array([1j, 2.0, 3 - 1j])) ** 2)),
    "a transform by a matrix": lambda x: np.abs(
        np.exp(-2j * np.pi * np.outer(range(3), range(3)) / 3) @ (x * np.ones(3))
    ),
}


@pytest.mark.parametrize("name", THROUGH_COMPLEX)
@pytest.mark.parametrize("x", [0.7, np.float64(1.1), np.array(0.6), np.array([0.4, 0.8, 1.3])], ids=repr)
def test_real_functions_by_way_of_complex_numbers(name, x):
    check(THROUGH_COMPLEX[name], x, generator=np.random.default_rng(0))


def test_a_power_of_a_negative_float_is_complex_in_python_and_not_in_numpy():
    y, slope = value_and_grad(lambda x: ((-x) ** 0.5).imag)(4.0)
    assert y == pytest.approx(2.0)
    assert slope == pytest.approx(0.25)
    a, b, log = -2.0, 1.5, cmath.log(-2.0)
    for w in (1.0, 1j):  # of the answer, the real part and (negative) the imaginary one
        in_a, in_b = grad(lambda a, b, w=w: (w * a**b).real, (0, 1))(a, b)
        assert in_a == pytest.approx((w * b * a ** (b - 1)).real)
        assert in_b == pytest.approx((w * log * a**b).real)
        mixed = w * a ** (b - 1) * (1 + b * log)
        assert grad(lambda a, w=w: grad(lambda b: (w * a**b).real)(b))(a) == pytest.approx(mixed.real)
        assert grad(lambda b, w=w: grad(lambda a: (w * a**b).real)(a))(b) == pytest.approx(mixed.real)
        assert push(lambda a, w=w: grad(lambda b: (w * a**b).real)(b), a, 1.0) == pytest.approx(mixed.real)
        assert push(lambda b, w=w: push(lambda a: (w * a**b).real, a, 1.0), b, 1.0) == pytest.approx(mixed.real)
    with np.errstate(invalid="ignore"):
        for x in (-2.0, np.float64(-2.0), np.array(-2.0)):
            assert np.isnan(grad(lambda x: np.power(x, 0.5))(x))
            assert np.isnan(grad(grad(lambda x: np.power(x, 0.5)))(x))


# JAX's conventions, on complex operands themselves; the literals are what jax.grad, jvp and vjp give


def push(f, x, x_dot):
    tag = Tag.around(())
    y = f(NumF(x, x_dot, tag))
    tag.finish()
    return y.tangent


def pull(f, x, y_bar):
    """J^T y_bar, by the pairing Re(sum(y_bar * y_dot))."""
    return grad(lambda x: np.sum(np.real(y_bar * f(x))))(x)


KINDS = [complex, np.complex128, np.complex64, np.clongdouble, np.array]
JAX_GRADIENTS = [
    (abs, 1 + 1j, 0.7071067811865475 - 0.7071067811865475j),
    (np.real, 1 + 2j, 1 + 0j),
    (np.imag, 1 + 2j, -1j),
    (np.angle, 0.5 - 1.5j, 0.6 - 0.2j),
    (lambda z: np.real(np.conj(z) * z), 1 + 2j, 2 - 4j),
    (lambda z: np.real(np.exp(z) * z), 0.5 - 1.5j, -2.2919479092172463 - 2.6418256962752853j),
    (lambda z: np.real(np.sin(z) / np.conj(z)), 0.5 - 1.5j, 1.8347514246924201 - 0.7072093372318105j),
    (lambda z: np.imag(z**2), 1 + 2j, 4 - 2j),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("f", "z", "gradient"), JAX_GRADIENTS)
def test_gradients_of_real_functions_are_those_of_jax(f, z, gradient, kind):
    z = kind(z)
    found = grad(f)(z)
    assert type(found) is type(z)
    tolerance = 1e-6 if kind is np.complex64 else 1e-14
    np.testing.assert_allclose(found, gradient, rtol=tolerance)
    z_dot = type(z)(0.3 - 0.7j) if kind is not np.array else np.array(0.3 - 0.7j)
    y_dot = push(f, z, z_dot)
    assert np.asarray(y_dot).dtype == np.asarray(f(z)).dtype
    np.testing.assert_allclose(y_dot, (gradient * (0.3 - 0.7j)).real, rtol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_holomorphic_derivatives_are_not_conjugated(kind):
    z, direction = kind(0.5 - 1.5j), kind(2 + 1j)
    f, slope = lambda z: np.exp(z) * z, np.exp(0.5 - 1.5j) * (1.5 - 1.5j)
    tolerance = 1e-6 if kind is np.complex64 else 1e-14
    np.testing.assert_allclose(push(f, z, direction), slope * (2 + 1j), rtol=tolerance)
    np.testing.assert_allclose(pull(f, z, 2 + 1j), slope * (2 + 1j), rtol=tolerance)
    # Only `conjugate` conjugates, tangents and cotangents alike.
    np.testing.assert_allclose(push(np.conj, z, direction), 2 - 1j, rtol=tolerance)
    np.testing.assert_allclose(pull(np.conj, z, 2 + 1j), 2 - 1j, rtol=tolerance)


def test_from_real_to_complex():
    np.testing.assert_allclose(push(lambda x: np.exp(1j * x), 0.5, 2.0), 2j * np.exp(0.5j))
    found = pull(lambda x: np.exp(1j * x), 0.5, 2 - 1j)
    assert type(found) is float
    assert found == pytest.approx(((2 - 1j) * 1j * cmath.exp(0.5j)).real)


LARGER = [2.0, np.float32(2.0), 2.0 + 1j, np.complex64(2 + 1j), np.array([1.0, 2.0], np.float32), np.array([1j, 2.0])]


@pytest.mark.parametrize("function", [f for f in COMPLEX if f.nin == 2], ids=lambda f: f.__name__)
@pytest.mark.parametrize("a", LARGER, ids=repr)
@pytest.mark.parametrize("b", LARGER, ids=repr)
def test_dtypes_of_real_and_complex_operands(function, a, b):
    expected = function(a, b)

    def f(a, b):
        y = function(a, b)
        assert y.dtype == expected.dtype
        np.testing.assert_array_equal(sr.value(y), expected)
        return np.sum(abs(y))

    for x, x_bar in zip((a, b), grad(f, (0, 1))(a, b), strict=True):
        assert type(x_bar) is type(x)
        assert np.asarray(x_bar).dtype == np.asarray(x).dtype
        assert np.shape(x_bar) == np.shape(x)
    tag = Tag.around(())
    y = function(NumF(a, a, tag), NumF(b, b, tag))
    assert np.asarray(y.tangent).dtype == expected.dtype == y.dtype


@few
@given(data=st.data(), pair=pairs_of_shapes, generator=generators)
@pytest.mark.parametrize("function", [np.multiply, np.divide, np.power], ids=lambda f: f.__name__)
def test_the_pairing_of_tangents_and_cotangents(function, data, pair, generator):
    """Re(sum(y_bar * J z_dot)) = Re(sum((J^T y_bar) * z_dot)), with a real and a complex operand."""
    (a, b), order = off_the_axes(generator, *pair.input_shapes), data.draw(st.sampled_from([(0, 1), (1, 0)]))
    b = b + 1j * generator.uniform(0.3, 1.2, np.shape(b))
    a_dot, b_dot = generator.normal(size=np.shape(a)), generator.normal(size=np.shape(b)) * np.exp(1j)

    def f(a, b):
        operands = (a, b)
        return function(operands[order[0]], operands[order[1]])

    tag = Tag.around(())
    y = f(NumF(a, a_dot, tag), NumF(b, b_dot, tag))
    y_bar = generator.normal(size=y.shape) + 1j * generator.normal(size=y.shape)
    a_bar, b_bar = grad(lambda a, b: np.sum(np.real(y_bar * f(a, b))), (0, 1))(a, b)
    assert np.asarray(a_bar).dtype == float
    forward = np.sum(np.real(y_bar * y.tangent))
    np.testing.assert_allclose(forward, np.sum(a_bar * a_dot) + np.sum(np.real(b_bar * b_dot)), rtol=1e-9, atol=1e-9)


# Edges: docs/edges.md


@pytest.mark.parametrize("kind", [complex, np.complex128, lambda z: np.array([z, z])])
@pytest.mark.parametrize(
    ("function", "z", "slope"),
    [(np.absolute, 0j, 0.0), (np.sign, 0j, 0.0), (np.square, 0j, 0.0), (np.angle, 0j, NAN), (np.log, 0j, NAN)],
)
def test_edges(function, z, slope, kind):
    with np.errstate(divide="ignore", invalid="ignore"):
        found = grad(lambda z: np.sum(np.real(function(z))))(kind(z))
    np.testing.assert_allclose(np.real(found), kind(slope).real)


def test_powers_at_zero():
    assert grad(lambda z: np.real(z**2))(0j) == 0j
    assert grad(lambda z: np.real(z**0))(0j) == 0j
    assert grad(lambda z: np.real(z**1))(0j) == 1.0
    assert np.isnan(grad(lambda z: np.real(z**0.5))(0j))
    np.testing.assert_array_equal(grad(lambda z: np.sum(np.real(z**2)))(np.zeros(2, complex)), [0j, 0j])


CUTS = {
    np.sqrt: [-2.0],
    np.log: [-2.0],
    np.log2: [-2.0],
    np.log10: [-2.0],
    np.log1p: [-2.0],
    np.arcsin: [-2.0, 2.0],
    np.arccos: [-2.0, 2.0],
    np.arctanh: [-2.0, 2.0],
    np.arccosh: [-2.0, 0.5],
    np.arctan: [-2j, 2j],
    np.arcsinh: [-2j, 2j],
    lambda z: z**0.3: [-2.0],
    lambda z: z ** (0.3 + 1j): [-2.0],
}


@pytest.mark.parametrize("kind", [complex, np.complex128, np.array])
@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize(("function", "point"), [(f, point) for f, points in CUTS.items() for point in points])
def test_on_a_branch_cut_the_sign_of_zero_says_the_side(function, point, zero, kind):
    def on_the_cut(step):
        """Along the cut, on one side of it."""
        real, imag = (zero, point.imag + step) if isinstance(point, complex) else (point + step, zero)
        return kind(complex(real, imag))

    along = 1j if isinstance(point, complex) else 1.0
    slope = (function(on_the_cut(1e-6)) - function(on_the_cut(-1e-6))) / (2e-6 * along)
    z = on_the_cut(0.0)
    np.testing.assert_allclose(push(function, z, 1 + 0j), slope, rtol=1e-8)
    np.testing.assert_allclose(pull(function, z, 1.0), slope, rtol=1e-8)


@pytest.mark.parametrize("function", [np.arcsinh, np.arccosh])
def test_large_complex_numbers(function):
    np.testing.assert_allclose(pull(function, 3e200 + 4e200j, 1.0), 1 / (3e200 + 4e200j), rtol=1e-10)


def test_the_sign_of_infinity():
    with np.errstate(invalid="ignore"):
        y, _ = value_and_grad(lambda z: np.real(np.sign(z)))(np.complex128(INF))
    assert y == 1.0


# What has no order, no meaning or no derivative

ORDERED = {
    **{function.__name__: lambda z, function=function: function(z, 0.5) for function in CHOICES},
    "max": np.max,
    "amax": np.amax,
    "min": lambda z: z.min(axis=0),
    "amin": np.amin,
    "clip": lambda z: z.clip(0.0, 1.0),
}


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("level", [1, 2])
def test_functions_that_compare_refuse_complex_numbers(name, level):
    f = ORDERED[name]
    said = rf"^numpy\.{name}: complex numbers have no order, .*numpy\.where\("
    z = np.array([1j, 2.0, 1 - 1j])
    for x, g in ((z, f), (z[0], f), (np.ones(3), lambda x: f(x * 1j)), (z.astype(np.complex64), f)):
        if np.ndim(x) == 0 and name == "min":
            continue

        def scalar(x, g=g):
            return np.sum(np.real(g(x)))

        with pytest.raises(TypeError, match=said):
            grad(scalar if level == 1 else lambda x: np.sum(grad(scalar)(x * 1.0)))(x)
        with pytest.raises(TypeError, match=said):
            push(scalar, x, x)
    assert grad(lambda x: x * x)(3.0) == 6.0


def test_a_refused_operation_may_be_caught():
    def f(z):
        try:
            return np.real(np.maximum(z, 1.0))
        except TypeError:
            return np.real(z * z)

    assert grad(f)(1 + 1j) == 2 + 2j


@pytest.mark.parametrize(
    "function",
    [f for f in ELEMENTWISE if getattr(np, f.__name__, None) is f and f not in COMPLEX and f not in CHOICES],
    ids=lambda f: f.__name__,
)
def test_functions_of_real_numbers_refuse_complex_ones_as_in_numpy(function):
    z = np.array([1j, 2.0])
    with pytest.raises(TypeError) as expected:
        function(*[z] * function.nin)
    for differentiate in (lambda f: grad(f)(z), lambda f: push(f, z, z)):
        with pytest.raises(TypeError) as found:
            differentiate(lambda z: np.sum(np.abs(function(*[z] * function.nin))))
        assert str(found.value).startswith(str(expected.value))


def test_conversions_to_python_numbers_are_refused():
    for f in (complex, float, int, cmath.exp, cmath.phase):
        for x in (1 + 2j, np.complex64(1j)):
            with pytest.raises(TypeError, match=r"lose its derivative\. Use (NumPy's functions|numpy\.)"):
                grad(lambda z, f=f: abs(z) + f(z))(x)


def test_comparisons_are_those_of_the_value():
    z, w = np.array([1 + 2j, 1 - 1j, 3j]), np.array([1 + 1j, 2j, 3j])
    seen = []

    def f(a, b):
        seen.extend([a < b, a >= b, a == b, a != w, np.less_equal(a, b), np.isnan(a), np.argmax(a), np.iscomplexobj(a)])
        seen.extend([np.iscomplex(a), np.isrealobj(b), np.round(a), np.rint(b), np.isfinite(a)])
        return abs(np.sum(a * b))

    grad(f)(z, w)
    plain, seen[:] = seen[:], []
    f(z, w)
    for found, expected in zip(plain, seen, strict=True):
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected)
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(TypeError, match="not supported between instances of 'complex' and"):
            grad(lambda z, compare=compare: float(compare(z, 1.0)))(1j)
    assert grad(lambda z: abs(z) if z == 2j and z != 1j and bool(z) else 0.0)(2j) == -1j


def test_interface_of_a_complex_number():
    def f(z):
        assert repr(z) == "NumR((3+4j), level=1)"
        assert f"{z:.1f}" == "3.0+4.0j"
        assert z == 3 + 4j
        assert (z.dtype, z.shape, z.itemsize) == (np.complex128, (), 16)
        assert sr.value(z.conjugate()) == 3 - 4j
        assert type(sr.value(z.real)) is float
        with pytest.raises(TypeError):
            round(z)
        with pytest.raises(TypeError):
            z // 2
        return z.real * z.imag + z.item().real + z.conj().imag + abs(-z) + (+z).real

    assert grad(f)(3 + 4j) == pytest.approx(4 - 3j + 1 + 1j + 0.6 - 0.8j + 1)
    z = np.array([1 + 2j, 3j], np.complex64)
    gradient = grad(lambda z: abs(z.item(0)) + z.tolist()[1].imag + np.sum(z.imag) + z.T.conj()[0].real)(z)
    assert gradient.dtype == np.complex64
    np.testing.assert_allclose(gradient, [(1 - 2j) / 5**0.5 + 1 - 1j, -2j], rtol=1e-6)


def test_the_real_part_of_a_real_number_is_the_number():
    def f(x):
        assert x.real is x
        assert np.real(x) is x
        assert type(np.imag(x)) is type(np.imag(sr.value(x)))
        return np.sum(x)

    grad(f)(3.0)
    grad(f)(np.ones(2))


# Conversions


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128, np.clongdouble])
@pytest.mark.parametrize("origin", [np.float32, np.float64, np.complex64, np.complex128])
def test_astype(origin, dtype):
    """Only of the value does NumPy say that its imaginary part is dropped."""
    z = np.array([0.5, 2.0]).astype(origin) + (np.array([1j, 2j], origin) if np.dtype(origin).kind == "c" else 0)
    weights = np.array([2 - 1j, 3 + 1j])

    def f(z):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            y = z.astype(dtype)
        assert y.dtype == dtype
        return y

    found = grad(lambda z: np.sum(np.real(weights * f(z))))(z)
    assert found.dtype == origin
    both = np.dtype(origin).kind == np.dtype(dtype).kind == "c"
    np.testing.assert_array_equal(found, weights if both else weights.real)
    y_dot = push(f, z, z)
    assert y_dot.dtype == dtype
    np.testing.assert_array_equal(y_dot, z if both else z.real)


def test_only_the_program_hears_of_dropped_imaginary_parts():
    z = np.array([1 + 2j])
    with pytest.warns(np.exceptions.ComplexWarning) as heard:
        grad(lambda z: np.sum(grad(lambda z: np.sum(z.astype(float) ** 2))(z).real))(z)
    assert len(heard) == 1
    with pytest.warns(np.exceptions.ComplexWarning) as heard:
        push(lambda z: z.astype(float), z, z)
    assert len(heard) == 1


def test_sums_in_another_precision():
    generator = np.random.default_rng(0)
    for function in (np.sum, np.mean, np.prod, np.cumsum):
        check(
            lambda a, f=function: f(a, dtype=complex), *off_the_axes(generator, (3,)), generator=generator, dtypes=False
        )


@pytest.mark.parametrize("size", [3, 5 * LARGE])
def test_adjoints_that_change_between_real_and_complex(size):
    """Large arrays are used up where they can be."""
    x = np.linspace(0.5, 1.5, size)
    generator = np.random.default_rng(0)
    for f in (
        lambda x: abs(x * 1j + 2.0) * 1.5,
        lambda x: (x * (1 + 2j) * 3j).real,
        lambda x: np.exp(1j * x) * x,
        lambda x: (1j * x + x).imag * x,
        lambda x: np.power(x * (1 + 1j), x).real,
    ):
        check_inner_products(f, x, generator=generator)
        slope = grad(lambda x, f=f: np.sum(np.real(f(x))))(x)
        ahead, behind = (np.real(f(x + step)) for step in (1e-6, -1e-6))
        np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-6)


def test_in_place():
    def f(z):
        y = z * 1.0
        y *= 2j
        y += z
        y **= 2
        return np.sum(y.imag)

    z = np.array([0.5 + 1j, 2.0])
    np.testing.assert_allclose(grad(f)(z), -1j * 2 * (1 + 2j) ** 2 * z)


def test_an_unused_complex_argument():
    for z in (1j, np.complex64(1j), np.array([1j, 2j])):
        _, found = grad(lambda x, z: x * 1.0, (0, 1))(2.0, z)
        assert type(found) is type(z)
        assert not np.any(found)
    inner = []
    grad(lambda x: inner.append(grad(lambda z: 2.0)(x + 1j)) or x)(2.0)
    assert type(inner[0]) is complex
    assert inner[0] == 0j


def test_third_order():
    """d3/dx3 |exp((1 + 2j) x)| = exp(x)."""

    def f(x):
        return abs(np.exp((1 + 2j) * x))

    assert grad(grad(grad(f)))(0.3) == pytest.approx(np.exp(0.3))
    assert push(grad(grad(f)), 0.3, 1.0) == pytest.approx(np.exp(0.3))
    assert push(lambda x: push(lambda x: push(f, x, 1.0), x, 1.0), 0.3, 1.0) == pytest.approx(np.exp(0.3))
