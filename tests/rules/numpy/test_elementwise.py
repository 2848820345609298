from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad, jvp, value_and_grad
from tests.rules.three_ways import check, examples, generators

INF, NAN = math.inf, math.nan


# For each function, where its operands are drawn from: intervals, or a function `(generator, *shapes) -> operands`.


def reals(low=-2.0, high=2.0):
    return lambda generator, *shapes: [generator.uniform(low, high, shape) for shape in shapes]


def away_from_zero(generator, *shapes):
    """Of either sign."""
    return [generator.uniform(0.5, 2.0, shape) * generator.choice([-1.0, 1.0], shape) for shape in shapes]


def inside_a_period(generator, shape_a, shape_b):
    """A dividend that is not close to a multiple of the divisor."""
    (b,) = away_from_zero(generator, shape_b)
    shape = np.broadcast_shapes(shape_a, shape_b)
    if shape != shape_a:  # one dividend for several divisors
        return [generator.uniform(0.1, 0.4, shape_a), b]
    return [b * (generator.integers(-3, 4, shape) + generator.uniform(0.2, 0.8, shape)), b]


def base_and_exponent(generator, shape_a, shape_b):
    return [generator.uniform(0.5, 2.0, shape_a), generator.uniform(-2.0, 2.0, shape_b)]


CASES = {
    **dict.fromkeys((np.positive, np.negative, np.add, np.subtract, np.multiply), reals()),
    **dict.fromkeys((np.exp, np.exp2, np.expm1, np.logaddexp, np.logaddexp2, np.square), reals()),
    **dict.fromkeys((np.sin, np.cos, np.arctan, np.degrees, np.rad2deg, np.radians, np.deg2rad), reals()),
    **dict.fromkeys((np.sinh, np.cosh, np.tanh, np.arcsinh), reals()),
    **dict.fromkeys((np.maximum, np.minimum, np.fmax, np.fmin), reals()),
    **dict.fromkeys((np.divide, np.reciprocal, np.cbrt, np.hypot, np.arctan2), away_from_zero),
    **dict.fromkeys((np.absolute, np.fabs, np.sign, np.copysign, np.heaviside, np.nextafter), away_from_zero),
    **dict.fromkeys((np.remainder, np.fmod, np.divmod), inside_a_period),
    **dict.fromkeys((np.power, np.float_power), base_and_exponent),
    **dict.fromkeys((np.sqrt, np.log, np.log2, np.log10, np.log1p), reals(0.5, 3.0)),
    **dict.fromkeys((np.arcsin, np.arccos, np.arctanh), reals(-0.9, 0.9)),
    np.tan: reals(-1.2, 1.2),
    np.arccosh: reals(1.2, 3.0),
    np.ldexp: reals(),
    np.frexp: lambda generator, shape: [generator.uniform(0.55, 0.95, shape) * 2.0 ** generator.integers(-3, 3, shape)],
    np.modf: lambda generator, shape: [generator.integers(-3, 3, shape) + generator.uniform(0.1, 0.9, shape)],
}
# The operands that they are not differentiated in.
CONSTANT_SECOND = {np.copysign, np.nextafter, np.ldexp}
ONE = sorted((f for f in CASES if f.nin == 1), key=lambda f: f.__name__)
TWO = sorted((f for f in CASES if f.nin == 2), key=lambda f: f.__name__)
shapes = array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
pairs_of_shapes = mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3)


def as_drawn(xs, data):
    """An operand without dimensions is a float, a NumPy scalar or an array."""
    kinds = st.sampled_from([float, np.float64, np.asarray])
    return [x if np.ndim(x) else data.draw(kinds)(x) for x in xs]


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("function", ONE, ids=lambda f: f.__name__)
@examples
@given(data=st.data(), shape=shapes, generator=generators)
def test_three_ways_unary(function, data, shape, generator):
    check(function, *as_drawn(CASES[function](generator, shape), data), generator=generator)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("function", [f for f in TWO if f not in CONSTANT_SECOND], ids=lambda f: f.__name__)
@examples
@given(data=st.data(), pair=pairs_of_shapes, generator=generators)
def test_three_ways_binary(function, data, pair, generator):
    a, b = as_drawn(CASES[function](generator, *pair.input_shapes), data)
    active = data.draw(st.sampled_from(["both", "first", "second"]))
    if active == "both":
        check(function, a, b, generator=generator)
    elif active == "first":
        check(lambda a: function(a, b), a, generator=generator)
    else:
        check(lambda b: function(a, b), b, generator=generator)


@pytest.mark.parametrize("function", sorted(CONSTANT_SECOND, key=lambda f: f.__name__), ids=lambda f: f.__name__)
@examples
@given(data=st.data(), pair=pairs_of_shapes, generator=generators)
def test_three_ways_in_the_first_operand(function, data, pair, generator):
    (a,) = as_drawn(CASES[function](generator, pair.input_shapes[0]), data)
    b = generator.integers(-2, 3, pair.input_shapes[1])
    check(lambda a: function(a, b if function is np.ldexp else b + 0.5), a, generator=generator)


@pytest.mark.parametrize("function", sorted(CONSTANT_SECOND, key=lambda f: f.__name__), ids=lambda f: f.__name__)
def test_the_second_operand_is_a_constant(function):
    b = 2 if function is np.ldexp else 2.0
    if function is not np.ldexp:
        assert grad(lambda b: 3.0 * b + function(1.5, b))(b) == 3.0
    assert grad(lambda a: function(a, b))(1.5) == (4.0 if function is np.ldexp else 1.0)


PYTHON_OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "neg": lambda a, b: -a * +b,
    "abs": lambda a, b: abs(a) * abs(b),
    "divmod": lambda a, b: divmod(a, b)[1],
    "reflected": lambda a, b: 2.0 / a - (3.0 - b) + 1.5**b + 1.5 % b,
    "integers": lambda a, b: (2 * a + b * 3 - 1) / 5 + a**2 + a**-1 + 2**b + a**True,
}


@pytest.mark.parametrize("operator", PYTHON_OPERATORS)
@examples
@given(data=st.data(), pair=pairs_of_shapes, generator=generators)
def test_three_ways_python_operators(operator, data, pair, generator):
    a = generator.uniform(0.5, 0.9, pair.input_shapes[0])
    b = generator.uniform(1.1, 1.3, pair.input_shapes[1])
    check(PYTHON_OPERATORS[operator], *as_drawn([a, b], data), generator=generator)


# Ties and edges: docs/edges.md


def as_float(x):
    return x


def as_numpy_scalar(x):
    return np.float64(x)


def as_array(x):
    return np.array([x, x])


EDGES = [
    # function, operands, derivatives
    (np.absolute, (0.0,), (0.0,)),
    (np.fabs, (0.0,), (0.0,)),
    (np.copysign, (0.0, -1.0), (0.0, 0.0)),
    (np.maximum, (1.0, 1.0), (0.5, 0.5)),
    (np.minimum, (1.0, 1.0), (0.5, 0.5)),
    (np.fmax, (1.0, 1.0), (0.5, 0.5)),
    (np.fmin, (1.0, 1.0), (0.5, 0.5)),
    (np.maximum, (NAN, 1.0), (0.0, 0.0)),
    (np.fmax, (NAN, 1.0), (0.0, 1.0)),
    (np.fmin, (NAN, 1.0), (0.0, 1.0)),
    (np.power, (0.0, 0.0), (0.0, 0.0)),
    (np.power, (0.0, 1.0), (1.0, 0.0)),
    (np.power, (0.0, 2.0), (0.0, 0.0)),
    (np.power, (0.0, 0.5), (INF, 0.0)),
    (np.power, (2.0, 0.0), (0.0, math.log(2))),
    (np.power, (-2.0, 3.0), (12.0, NAN)),
    (np.power, (INF, 0.0), (0.0, INF)),
    (np.float_power, (0.0, 0.0), (0.0, 0.0)),
    (np.sqrt, (0.0,), (INF,)),
    (np.cbrt, (0.0,), (INF,)),
    (np.arcsin, (1.0,), (INF,)),
    (np.arccos, (-1.0,), (-INF,)),
    (np.arccosh, (1.0,), (INF,)),
    (np.hypot, (0.0, 0.0), (0.0, 0.0)),
    (np.hypot, (3e200, 4e200), (0.6, 0.8)),
    (np.arctan2, (0.0, 0.0), (NAN, NAN)),
    (np.arctan2, (0.0, -1.0), (-1.0, 0.0)),
    (np.arctan2, (1e-200, 1e-200), (5e199, -5e199)),
    (np.arctan2, (1e200, 1e200), (5e-201, -5e-201)),
    (np.arcsinh, (1e200,), (1e-200,)),
    (np.arccosh, (1e200,), (1e-200,)),
    (np.logaddexp, (-INF, -INF), (0.5, 0.5)),
    (np.logaddexp, (INF, INF), (0.5, 0.5)),
    (np.logaddexp, (INF, 1.0), (1.0, 0.0)),
    (np.logaddexp, (-INF, 1.0), (0.0, 1.0)),
    (np.logaddexp2, (-INF, -INF), (0.5, 0.5)),
    (np.logaddexp2, (1.0, INF), (0.0, 1.0)),
    (np.remainder, (6.0, 3.0), (1.0, -2.0)),
    (np.remainder, (1.0, 0.1), (1.0, -9.0)),
    (np.fmod, (6.0, 3.0), (1.0, -2.0)),
    (np.fmod, (-7.5, 2.0), (1.0, 3.0)),
    (np.fmod, (1.0, 0.1), (1.0, -9.0)),  # where 1.0 / 0.1 is 10.0
    (np.heaviside, (0.0, 0.3), (0.0, 1.0)),
    (np.heaviside, (1.0, 0.3), (0.0, 0.0)),
]


@pytest.mark.parametrize("kind", [as_float, as_numpy_scalar, as_array])
@pytest.mark.parametrize(("function", "operands", "expected"), EDGES, ids=lambda part: getattr(part, "__name__", None))
def test_edges(function, operands, expected, kind):
    xs = [kind(x) for x in operands]
    found = grad(lambda *xs: np.sum(function(*xs)), argnums=tuple(range(len(xs))))(*xs)
    for x_bar, derivative in zip(found, expected, strict=True):
        np.testing.assert_allclose(x_bar, kind(derivative), rtol=1e-12)


# Here NumPy, or Python, complains about the value, and so it does while differentiating; never about the derivative.
POLES = [
    (np.log, (0.0,), (INF,)),
    (np.log2, (0.0,), (INF,)),
    (np.log10, (0.0,), (INF,)),
    (np.log1p, (-1.0,), (INF,)),
    (np.arctanh, (1.0,), (INF,)),
    (np.reciprocal, (0.0,), (-INF,)),
    (np.divide, (1.0, 0.0), (INF, -INF)),
    (np.divide, (0.0, 0.0), (INF, NAN)),
    (np.power, (0.0, -1.0), (-INF, NAN)),
]


@pytest.mark.parametrize("kind", [as_float, as_numpy_scalar, as_array])
@pytest.mark.parametrize(("function", "operands", "expected"), POLES, ids=lambda part: getattr(part, "__name__", None))
def test_poles(function, operands, expected, kind):
    xs = [kind(x) for x in operands]
    with pytest.warns(RuntimeWarning):
        found = grad(lambda *xs: np.sum(function(*xs)), argnums=tuple(range(len(xs))))(*xs)
    for x_bar, derivative in zip(found, expected, strict=True):
        np.testing.assert_allclose(x_bar, kind(derivative))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(len(xs)):  # the other operand is a constant
            x_bar = grad(lambda *xs: np.sum(function(*xs)), argnums=i)(*xs)
            np.testing.assert_allclose(x_bar, kind(expected[i]))


def test_an_array_divided_by_the_float_zero():
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(grad(lambda x: np.sum(x / 0.0))(np.array([1.0, 2.0])), [INF, INF])
        np.testing.assert_array_equal(grad(lambda x: np.sum(x / 0))(np.array([1.0, 2.0])), [INF, INF])


def test_python_powers_at_zero():
    assert grad(lambda x: x**0)(0.0) == 0.0
    assert grad(lambda x: x**0.5)(0.0) == INF
    assert grad(lambda x: x**2)(0.0) == 0.0
    assert grad(lambda x: 0.0**x)(2.0) == 0.0
    assert grad(lambda x: 0.0**x)(0.0) == 0.0
    assert grad(lambda x: x**x)(1.0) == 1.0
    with pytest.raises(ZeroDivisionError):
        grad(lambda x: x**-1)(0.0)


@pytest.mark.parametrize("kind", [as_float, as_numpy_scalar, as_array])
def test_mixed_second_derivative_of_a_power_at_exponent_zero(kind):
    """d2(a**b) / da db = a**(b - 1) (1 + b log a), which is 1 / a at b = 0."""
    a, b = kind(4.0), kind(0.0)
    in_a = grad(lambda a, b: np.sum(np.power(a, b)), argnums=0)
    np.testing.assert_allclose(grad(lambda b: np.sum(in_a(a, b)))(b), kind(0.25))
    in_b = grad(lambda a, b: np.sum(np.power(a, b)), argnums=1)
    np.testing.assert_allclose(grad(lambda a: np.sum(in_b(a, b)))(a), kind(0.25))


def test_second_derivative_of_logaddexp_at_a_tie():
    """Sigmoid's slope of a quarter: a share of one half there is not a constant."""
    found = grad(lambda a: grad(lambda a: np.logaddexp(a, 1.0))(a))(1.0)
    assert found == pytest.approx(0.25)


def test_integer_and_boolean_constants():
    x = np.array([1.5, 2.5])
    np.testing.assert_allclose(grad(lambda x: np.sum(x ** np.array([0, 3], np.uint8)))(x), [0.0, 3 * 2.5**2])
    np.testing.assert_allclose(grad(lambda x: np.sum(x ** np.array([True, False])))(x), [1.0, 0.0])
    np.testing.assert_allclose(grad(lambda x: np.sum(x * np.array([True, False])))(x), [1.0, 0.0])
    np.testing.assert_allclose(
        grad(lambda x: np.sum(np.array([2, 3]) ** x))(x), [2**1.5 * np.log(2), 3**2.5 * np.log(3)]
    )
    np.testing.assert_allclose(grad(lambda x: np.sum(np.maximum(x, 2)))(x), [0.0, 1.0])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_python_scalars_do_not_widen(dtype):
    x = np.array([0.5, 0.25], dtype)

    def f(x):
        y = 2 * x + np.maximum(x, 0.3) ** 2 - np.hypot(x, 1.0) / 3
        assert y.dtype == dtype
        return np.sum(y)

    value, x_bar = value_and_grad(f)(x)
    assert x_bar.dtype == dtype
    np.testing.assert_allclose(
        x_bar.astype(float), grad(lambda x: f(x.astype(dtype)))(x.astype(float)), rtol=8 * np.finfo(dtype).eps + 1e-15
    )
    assert value.dtype == dtype


def test_a_tangent_is_as_precise_as_its_value():
    """The derivative of a sum is that of its operand, and is not left in the lower precision of that."""
    for function in (np.add, np.subtract, np.remainder, np.nextafter):
        f = lambda a, function=function: function(a, np.float64(2.0)) * 0.1  # noqa: E731
        assert jvp(f, (np.float32(1.0),), (np.float32(1.0),))[1] == 0.1
        assert grad(f)(np.float32(1.0)) == np.float32(0.1)


def test_integral_parts_of_divmod_and_exponents_of_frexp_are_constants():
    def f(x):
        quotient, remainder = np.divmod(x, 2.0)
        mantissa, exponent = np.frexp(x)
        assert type(quotient) is np.float64
        assert type(exponent) is np.int32
        return remainder + mantissa * 2.0**exponent + quotient

    assert value_and_grad(f)(7.5) == (1.5 + 7.5 + 3.0, 2.0)


def test_modf_uses_either_part():
    x = np.array([1.25, -2.5, 3.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.modf(x)[0] ** 2))(x), [0.5, -1.0, 0.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.modf(x)[1] ** 2))(x), [0.0, 0.0, 0.0])


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
@pytest.mark.parametrize("function", [np.round, np.around, np.fix, np.floor, np.rint, np.sign, np.imag, np.angle])
def test_piecewise_constant_functions(function):
    x = np.array([1.25, -2.5])

    def f(x):
        y = function(x)
        assert type(y) is np.ndarray
        np.testing.assert_array_equal(y, function(sr.value(x)))
        return np.sum(x * y)

    np.testing.assert_array_equal(grad(f)(x), function(x))
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.round(x, 1)))(x), [0.0, 0.0])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint64, np.int64, bool])
def test_an_integer_exponent_does_not_wrap_around(dtype):
    exponents = np.array([0, 1, 1], dtype)
    np.testing.assert_array_equal(grad(lambda x: np.sum(x**exponents))(np.array([1000.0, 2.0, 3.0])), [0.0, 1.0, 1.0])
    assert grad(lambda x: x ** exponents[0])(1000.0) == 0.0


def test_the_most_negative_exponent():
    exponents = np.array([-128], np.int8)
    np.testing.assert_allclose(grad(lambda x: np.sum(x**exponents))(np.array([1.01])), [-128 * 1.01**-129])


@pytest.mark.parametrize("kind", [float, np.float64, np.array])
@pytest.mark.parametrize(("f", "x", "second"), [(np.log, 0.0, -np.inf), (np.log1p, -1.0, -np.inf)])
def test_second_derivatives_at_a_pole(kind, f, x, second):
    with np.errstate(divide="ignore"):
        assert grad(grad(f))(kind(x)) == second
