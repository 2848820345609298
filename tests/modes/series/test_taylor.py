"""`taylor` and `derivative`: closed forms, cost, nesting, structures, errors. For every rule: test_taylor_rules."""

from __future__ import annotations

import gc
import math
import threading
from collections import namedtuple
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import EscapedNumberError, grad
from shiftreset_ad.modes.series import elementwise as series_operations
from shiftreset_ad.modes.series.number import Series, unfinished
from shiftreset_ad.numbers.installing import install_operators
from shiftreset_ad.numbers.interface import ArrayNumber
from shiftreset_ad.numbers.linear_maps import by_linear_maps
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import STRUCTURED, Elementwise
from shiftreset_ad.transforms.taylor import derivative, taylor

ORDER = 20

# Closed forms, in 60 digits. A composition is a composition of polynomials, by Horner's scheme, and so takes none of
# the recurrences that are tested.


def times(a, b):
    return [sum((a[j] * b[k - j] for j in range(k + 1)), Decimal(0)) for k in range(ORDER + 1)]


def compose(outer, inner):
    """The expansion of outer(inner(t)); `outer` is the expansion at inner(0)."""
    moving = [Decimal(0), *inner[1:]]
    result = [Decimal(0)] * (ORDER + 1)
    for coefficient in reversed(outer):
        result = times(result, moving)
        result[0] += coefficient
    return result


def factorial(k):
    return Decimal(math.factorial(k))


def variable(x):
    return [x, Decimal(1), *[Decimal(0)] * (ORDER - 1)]


def exp_at(x):
    return [x.exp() / factorial(k) for k in range(ORDER + 1)]


def sin_at(x, quarter_turns=0):
    turns = [sum((-1) ** i * x ** (2 * i + odd) / factorial(2 * i + odd) for i in range(60)) for odd in (1, 0)]
    cycle = [turns[0], turns[1], -turns[0], -turns[1]]
    return [cycle[(k + quarter_turns) % 4] / factorial(k) for k in range(ORDER + 1)]


def cos_at(x):
    return sin_at(x, 1)


def power_at(x, exponent):
    coefficients = [(x.ln() * exponent).exp()]
    for k in range(ORDER):
        coefficients.append(coefficients[-1] * (exponent - k) / (k + 1) / x)
    return coefficients


def reciprocal_at(x):
    return [(-1) ** k / x ** (k + 1) for k in range(ORDER + 1)]


def log_at(x):
    return [x.ln(), *[-((-1) ** k) / (k * x**k) for k in range(1, ORDER + 1)]]


def over(a, b):
    return times(a, compose(reciprocal_at(b[0]), b))


def tan_at(x):
    return over(sin_at(x), cos_at(x))


def tanh_at(x):
    doubled = compose(exp_at(2 * x), [2 * c for c in variable(x)])
    return over([doubled[0] - 1, *doubled[1:]], [doubled[0] + 1, *doubled[1:]])


def integrated(first, coefficients):
    return [Decimal(first), *[c / (k + 1) for k, c in enumerate(coefficients[:-1])]]


def one_plus_square(x):
    return [1 + x * x, 2 * x, Decimal(1), *[Decimal(0)] * (ORDER - 2)]


HALF = Decimal("0.5")
CLOSED_FORMS = {
    "sin": (np.sin, sin_at),
    "cos": (np.cos, cos_at),
    "exp": (np.exp, exp_at),
    "exp2": (np.exp2, lambda x: compose(exp_at(x * Decimal(2).ln()), [c * Decimal(2).ln() for c in variable(x)])),
    "expm1": (np.expm1, lambda x: [exp_at(x)[0] - 1, *exp_at(x)[1:]]),
    "log": (np.log, log_at),
    "log2": (np.log2, lambda x: [c / Decimal(2).ln() for c in log_at(x)]),
    "log10": (np.log10, lambda x: [c / Decimal(10).ln() for c in log_at(x)]),
    "log1p": (np.log1p, lambda x: log_at(1 + x)),
    "sqrt": (np.sqrt, lambda x: power_at(x, HALF)),
    "cbrt": (np.cbrt, lambda x: power_at(x, 1 / Decimal(3))),
    "x**2.5": (lambda x: x**2.5, lambda x: power_at(x, Decimal("2.5"))),
    "x**-3": (lambda x: x**-3, lambda x: power_at(x, Decimal(-3))),
    "1/x": (lambda x: 1 / x, reciprocal_at),
    "reciprocal": (np.reciprocal, reciprocal_at),
    "tan": (np.tan, tan_at),
    "tanh": (np.tanh, tanh_at),
    "arctan": (np.arctan, lambda x: integrated(math.atan(x), over([1, *[0] * ORDER], one_plus_square(x)))),
    "arcsinh": (
        np.arcsinh,
        lambda x: integrated(math.asinh(x), compose(power_at(1 + x * x, -HALF), one_plus_square(x))),
    ),
    "sinh": (np.sinh, lambda x: [(exp_at(x)[k] - (-1) ** k * exp_at(-x)[k]) / 2 for k in range(ORDER + 1)]),
    "cosh": (np.cosh, lambda x: [(exp_at(x)[k] + (-1) ** k * exp_at(-x)[k]) / 2 for k in range(ORDER + 1)]),
    "exp(sin x)": (lambda x: np.exp(np.sin(x)), lambda x: compose(exp_at(sin_at(x)[0]), sin_at(x))),
    "sin(exp x) / x": (
        lambda x: np.sin(np.exp(x)) / x,
        lambda x: over(compose(sin_at(x.exp()), exp_at(x)), variable(x)),
    ),
    "tan(x)**3": (lambda x: np.tan(x) ** 3, lambda x: times(tan_at(x), times(tan_at(x), tan_at(x)))),
    "1 / (1 + x * x)": (lambda x: 1 / (1 + x * x), lambda x: compose(reciprocal_at(1 + x * x), one_plus_square(x))),
    "sqrt(1 + tan(x)**2)": (
        lambda x: np.sqrt(1 + np.tan(x) ** 2),
        lambda x: over([Decimal(1), *[Decimal(0)] * ORDER], cos_at(x)),
    ),
    "2**x": (
        lambda x: 2**x,
        lambda x: compose(exp_at(x * Decimal(2).ln()), [c * Decimal(2).ln() for c in variable(x)]),
    ),
    "x**x": (
        lambda x: x**x,
        lambda x: compose(exp_at(x * x.ln()), times(variable(x), log_at(x))),
    ),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
@pytest.mark.parametrize("kind", [float, np.float64, np.asarray])
def test_order_20_matches_closed_forms(name, kind):
    f, closed_form = CLOSED_FORMS[name]
    x = 0.6875  # a sum of powers of two
    with localcontext() as context:
        context.prec = 60
        expected = [float(c) for c in closed_form(Decimal(x))]
    found = taylor(f, kind(x), ORDER)
    assert found.shape == (ORDER + 1,)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_tangent_numbers():
    """The coefficients of tan at 0, exactly, from Bernoulli numbers."""
    bernoulli = [Fraction(1)]
    for m in range(1, 22):
        bernoulli.append(-sum(math.comb(m + 1, j) * bernoulli[j] for j in range(m)) / (m + 1))
    expected = np.zeros(ORDER + 1)
    for n in range(1, 11):
        exact = (-1) ** (n - 1) * 2 ** (2 * n) * (2 ** (2 * n) - 1) * bernoulli[2 * n] / math.factorial(2 * n)
        expected[2 * n - 1] = float(exact)
    np.testing.assert_allclose(taylor(np.tan, 0.0, ORDER), expected, rtol=1e-14)


def test_complex_points():
    z = 0.5 + 0.25j
    k = np.arange(ORDER + 1)
    factorials = np.array([math.factorial(i) for i in k], dtype=float)
    np.testing.assert_allclose(taylor(np.exp, z, ORDER), np.exp(z) / factorials, rtol=1e-13)
    np.testing.assert_allclose(taylor(np.sin, z, ORDER), np.sin(z + k * np.pi / 2) / factorials, rtol=1e-12)
    np.testing.assert_allclose(taylor(lambda z: 1 / z, z, ORDER), (-1.0) ** k / z ** (k + 1), rtol=1e-12)
    # Along a real t, also what is not holomorphic: |1j + t| = sqrt(1 + t**2)
    np.testing.assert_allclose(
        taylor(abs, 1j, 6), taylor(np.sqrt, 1.0, 3)[[0, 0, 1, 0, 2, 0, 3]] * [1, 0, 1, 0, 1, 0, 1]
    )


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 20])
@pytest.mark.parametrize("kind", [float, np.float64, lambda x: np.array([x, 1.0])])
def test_a_natural_power_is_exact_at_zero_and_close_to_it(n, kind):
    for exponent in (n, float(n), np.int64(n), np.array([n])):
        at_zero = taylor(lambda x: x**exponent, kind(0.0), 8)  # noqa: B023
        np.testing.assert_array_equal(at_zero.reshape(9, -1)[:, 0], [float(k == n) for k in range(9)])
        close = taylor(lambda x: (x + x * x) ** exponent, kind(1e-9), 8)  # noqa: B023
        expected = [math.comb(n, k - n) if n <= k else 0 for k in range(9)]
        np.testing.assert_allclose(close.reshape(9, -1)[:, 0], expected, rtol=1e-6, atol=1e-7)


def test_other_powers_at_zero():
    np.testing.assert_array_equal(taylor(lambda x: x**2.5, 0.0, 5), [0, 0, 0, np.inf, -np.inf, np.inf])
    np.testing.assert_array_equal(taylor(lambda x: x**2.5, 0.0, 2), [0.0, 0.0, 0.0])
    exponents = np.array([0, 1, 3])
    np.testing.assert_array_equal(
        taylor(lambda x: x**exponents, np.zeros(3), 3), [[1, 0, 0], [0, 1, 0], [0] * 3, [0, 0, 1]]
    )
    np.testing.assert_allclose(taylor(lambda b: 0.0**b, 2.0, 3), np.zeros(4))


def test_a_power_is_differentiated_in_an_outer_exponent():
    """An exponent that only looks like a natural number."""
    for x in (0.75, np.array([0.75])):
        found = grad(lambda b: np.sum(taylor(lambda x: x**b, x, 2)[2]))(2.0)  # noqa: B023
        assert found == pytest.approx(1.5 + math.log(0.75))  # of b (b - 1) / 2 x**(b - 2)


def test_derivatives_at_a_pole_are_infinite_as_in_reverse_mode():
    np.testing.assert_array_equal(taylor(np.sqrt, 0.0, 3), [0.0, np.inf, -np.inf, np.inf])
    np.testing.assert_array_equal(taylor(lambda x: x**0.5, 0.0, 1), [0.0, np.inf])
    assert derivative(np.arccos)(1.0) == -np.inf
    with pytest.raises(ZeroDivisionError):
        taylor(lambda x: 1 / x, 0.0, 2)
    with pytest.warns(RuntimeWarning, match="divide by zero"):  # of the value only
        np.testing.assert_array_equal(taylor(np.log, 0.0, 2), [-np.inf, np.inf, -np.inf])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        taylor(np.log, 0.0, 2)


def test_the_type_of_a_value_is_that_of_the_plain_program():
    def f(x):
        y = (x * x) ** 0.5
        assert type(sr.value(y)) is float
        with pytest.raises(ZeroDivisionError):
            1 / y
        assert type(sr.value(np.sin(x))) is np.float64
        return y

    taylor(f, 0.0, 2)


# Cost


class Counted(ArrayNumber):
    """A number that counts the operations on it and its like."""

    __slots__ = ("primal", "tag")
    operations_done = 0

    def __init__(self, primal, tag):
        self.primal, self.tag = primal, tag

    def structured(self, rule, args, kwargs, form=None):
        return by_linear_maps(self, rule, args, kwargs, form)

    @staticmethod
    def linearized(tag, answer, active):
        Counted.operations_done += 1
        return Counted(answer, tag)


def _counted(rule, function):
    def operate(*operands):
        if any(isinstance(x, Series) for x in operands):
            return NotImplemented
        Counted.operations_done += 1
        tag = next(x.tag for x in operands if isinstance(x, Counted))
        return Counted(function(*(x.primal if isinstance(x, Counted) else x for x in operands)), tag)

    return operate


install_operators(Counted, _counted)


def operations(f, x, order):
    Counted.operations_done = 0
    taylor(f, Counted(x, Tag.around([])), order)
    return Counted.operations_done


VECTOR = np.array([0.5, 1.25, -0.75])
PROGRAMS = {
    "multiply": (lambda x: np.sin(x) * np.exp(x), 0.5, 2),
    "sin": (lambda x: np.sin(np.sin(x)), 0.5, 2),
    "tan": (lambda x: np.tan(np.sin(x)), 0.5, 2),
    "power": (lambda x: np.exp(x) ** 2.5 + np.exp(x) ** 5, 0.5, 2),
    "large power": (lambda x: np.exp(x / 1000) ** 1000, 0.5, 2),
    "both operands": (lambda x: np.exp(x) ** np.cos(x), 0.5, 2),
    "division": (lambda x: np.sin(x) / np.cos(x), 0.5, 2),
    "by partials": (lambda x: np.arcsin(np.sin(x)) + np.arctan2(np.exp(x), np.sin(x)), 0.5, 2),
    "logaddexp": (lambda x: np.logaddexp(np.sin(x), np.exp(x)), 0.5, 2),
    "zero to a power": (lambda x: np.sin(x) ** 2.5, 0.0, 3),
    "var": (lambda x: np.var(np.sin(x)), VECTOR, 2),
    "std": (lambda x: np.std(np.sin(x)), VECTOR, 2),
    "prod": (lambda x: np.prod(np.sin(x)), VECTOR, 2),
    "matmul": (lambda x: np.sin(x) @ np.exp(x), VECTOR, 2),
    "einsum": (lambda x: np.einsum("i,i,i->", np.sin(x), np.exp(x), x), VECTOR, 3),
    "complex": (lambda z: np.abs(np.exp(z)) + np.real(np.sign(np.exp(z))), 0.5 + 0.25j, 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_cost_is_polynomial(name):
    """Counted in operations on coefficients: the square of the order for a pass of products, the cube at most."""
    f, x, degree = PROGRAMS[name]
    with np.errstate(all="ignore"):
        counts = [operations(f, x, order) for order in (5, 10, 20, 40)]
    assert counts[0] > 5
    for fewer, more in pairwise(counts):
        assert more < fewer * 2**degree * 1.1


@pytest.mark.parametrize("function", [np.arctan, np.sin])
def test_a_function_whose_derivative_needs_it_twice(monkeypatch, function):
    """Without a recurrence, and without the memo, the cost would double with each order."""
    recurrences = {name: other for name, other in series_operations.RECURRENCES.items() if name is not function}
    monkeypatch.setattr(series_operations, "RECURRENCES", recurrences)
    rule = Elementwise(function, (lambda y, x: 1.0 + function(x) * function(x),))  # that of the tangent
    monkeypatch.setitem(Series.operations, function, series_operations.make_operation(rule, function))
    f = lambda x: function(np.exp(x))  # noqa: E731
    counts = [operations(f, 0.5, order) for order in (5, 10, 20, 40)]
    for fewer, more in pairwise(counts):
        assert more < fewer * 4.4
    y = function(1.0)
    np.testing.assert_allclose(
        taylor(function, 1.0, 3), [y, 1 + y * y, y * (1 + y * y), (1 + y * y) * (1 + 3 * y * y) / 3], rtol=1e-14
    )


@pytest.mark.parametrize("function", [np.matmul, np.sum])
def test_a_structured_rule_without_a_mark(monkeypatch, function):
    """Slower, but polynomial, and right."""
    f, x = (lambda x: np.sum(np.sin(x) @ np.exp(x))), np.array([[0.5, 1.0], [0.25, -1.0]])
    expected = taylor(f, x, 8)
    monkeypatch.setitem(STRUCTURED, function, replace(STRUCTURED[function], linear=False, multilinear=False))
    np.testing.assert_allclose(taylor(f, x, 8), expected, rtol=1e-12)
    counts = [operations(f, x, order) for order in (8, 16)]
    assert counts[1] < counts[0] * 2**4.5


def test_the_coefficients_that_are_zero_are_left_out():
    """A polynomial costs no more at a high order than at its own."""

    def f(x):
        return (3 * x * x + x) * 2 - x * x * x

    assert operations(f, 0.5, 40) == operations(f, 0.5, 3)
    np.testing.assert_array_equal(taylor(f, 2.0, 5), [20.0, 14.0, 0.0, -1.0, 0.0, 0.0])


def test_a_long_program():
    def f(x):
        for _ in range(20_000):
            x = x * 1.0001 + np.sin(x) * 1e-9
        return x

    assert taylor(f, 1.0, 2)[1] == pytest.approx(1.0001**20_000, rel=1e-3)


def test_high_orders():
    """Lazy series know each other, and do not nest deeper with the order."""
    for f in (np.sin, np.arcsinh, lambda x: x**2.5, lambda x: np.hypot(x, 1.0), lambda x: np.var(x * np.ones(3))):
        assert np.all(np.isfinite(taylor(f, 2.0, 300)))
    np.testing.assert_allclose(
        taylor(np.exp, 1.0, 300)[:150] * [float(math.factorial(k)) for k in range(150)], np.e, rtol=1e-12
    )


@pytest.mark.parametrize(
    "f", [lambda x: x[1:], lambda x: x[0] * 2, np.sin, np.arctan, np.sum, np.var, lambda x: x @ x, lambda x: x + x]
)
def test_what_is_computed_from_a_lazy_series_is_lazy(f):
    def check(x):
        y = f(unfinished(x))
        assert y.memo is not None
        assert len(y.coefficients) == 1
        y.reach(2)
        found = np.stack(y.coefficients)
        np.testing.assert_allclose(found, np.stack(f(x).coefficients)[: len(found)])
        return x

    taylor(check, np.array([0.5, 0.75, 1.0]), 3)


@pytest.mark.slow
def test_nothing_lazy_is_kept():
    def f(x):
        y = np.arctan2(x, 2.0) ** 2.5 + np.prod(np.stack([x, np.arcsin(x / 4)])) + np.modf(x * 1.5)[0]
        found = [number for number in gc.get_objects() if type(number) is Series]
        assert found
        assert all(number.rest is None and number.memo is None and not number.sources for number in found)
        return y

    gc.collect()
    gc.disable()
    try:
        taylor(f, 0.75, 5)
    finally:
        gc.enable()


# Directions, structures, dtypes

Pair = namedtuple("Pair", "a b")


@dataclass
class Model:
    weights: Any
    bias: float
    name: str


def test_along_a_direction():
    x, v = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, -1.0])

    def f(x):
        return np.sum(np.exp(x)) * x[0]

    found = taylor(f, x, 4, v)
    for k in range(5):
        along = derivative(lambda t: f(x + t * v), k)
        assert found[k] == pytest.approx(along(0.0) / math.factorial(k))


def test_without_a_direction_every_element_grows_alike():
    found = taylor(lambda xs: xs["a"] * xs["b"], {"a": np.array([1.0, 2.0]), "b": 3.0}, 3)
    np.testing.assert_array_equal(found, [[3.0, 6.0], [4.0, 5.0], [1.0, 1.0], [0.0, 0.0]])


def test_structures():
    model = Model({"w": np.ones(2)}, 2.0, "name")

    def f(model):
        assert model.name == "name"
        return Pair(model.weights["w"] * model.bias, [model.name, 3, None, model.bias**2, 1.5])

    found = taylor(f, model, 2, Model({"w": np.array([1.0, 2.0])}, 3.0, None))
    assert type(found) is Pair
    np.testing.assert_array_equal(found.a, [[2.0, 2.0], [5.0, 7.0], [3.0, 6.0]])
    name, three, none, square, constant = found.b
    assert (name, three, none) == ("name", 3, None)
    np.testing.assert_array_equal(square, [4.0, 12.0, 9.0])
    np.testing.assert_array_equal(constant, [1.5, 0.0, 0.0])


def test_a_direction_of_none_is_zero():
    found = taylor(lambda x: (x[0] * x[1], x[1]), (2.0, 3.0), 1, (1.0, None))
    np.testing.assert_array_equal(found[0], [6.0, 3.0])
    np.testing.assert_array_equal(found[1], [3.0, 0.0])


def test_integers_stay_as_they_are():
    indices = np.array([2, 1])
    found = taylor(lambda x: (np.argmax(x), indices, x[0] > 0), np.array([1.0, 2.0]), 2)
    assert found[0] == 1
    assert found[1] is indices
    assert found[2] == True  # noqa: E712


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.complex64])
def test_dtypes(dtype):
    x = np.array([0.5, 0.75], dtype)

    def f(x):
        return 2 * np.sin(x) ** 2 / (x + 1) + np.sqrt(x) * np.arctan(x)

    found = taylor(f, x, 3)
    assert found.dtype == dtype
    expected = taylor(f, x.astype(complex if np.dtype(dtype).kind == "c" else float), 3)
    np.testing.assert_allclose(found.astype(expected.dtype), expected, rtol=100 * np.finfo(dtype).eps + 1e-15)
    assert taylor(f, dtype(0.5), 3).dtype == dtype


@pytest.mark.parametrize("order", [0, 1, np.int64(2)])
def test_low_orders(order):
    found = taylor(lambda x: np.exp(x) * np.var(x), np.array([1.0, 2.0]), order)
    assert found.shape == (order + 1, 2)
    np.testing.assert_allclose(found, taylor(lambda x: np.exp(x) * np.var(x), np.array([1.0, 2.0]), 3)[: order + 1])


def test_the_arguments_are_not_written_to_and_the_answer_is_its_own():
    x, v = np.array([1.0, 2.0]), np.array([1.0, 0.5])
    found = taylor(lambda x: x, x, 2, v)
    found[:] = 7.0
    np.testing.assert_array_equal(x, [1.0, 2.0])
    np.testing.assert_array_equal(v, [1.0, 0.5])


def test_in_place_operators():
    def f(x):
        y = x * 2
        alias = y
        y += x
        y *= y
        assert alias is y
        return y

    np.testing.assert_array_equal(taylor(f, np.array([1.0, 2.0]), 3).T, [[9, 18, 9, 0], [36, 36, 9, 0]])
    with pytest.raises(TypeError, match="is an argument"):
        taylor(lambda x: x.__iadd__(x), np.array([1.0, 2.0]), 2)


def test_lifted_constants():
    def f(x):
        total = sr.lift(np.zeros(2), like=x)
        total += x * x
        return total

    np.testing.assert_array_equal(taylor(f, np.array([1.0, 2.0]), 2), [[1.0, 4.0], [2.0, 4.0], [1.0, 1.0]])


# Nesting


def f_smooth(x):
    return np.exp(np.sin(x)) * x**2.5 / np.arctan(x)


def nth_grad(f, n):
    for _ in range(n):
        f = grad(f)
    return f


@pytest.mark.parametrize("kind", [float, np.float64])
def test_derivatives_nest_with_every_mode(kind):
    x, expected = kind(0.75), nth_grad(f_smooth, 4)(0.75)
    for found in (
        derivative(f_smooth, 4),
        derivative(derivative(f_smooth, 2), 2),
        derivative(derivative(f_smooth, 1), 3),
        derivative(nth_grad(f_smooth, 2), 2),
        nth_grad(derivative(f_smooth, 2), 2),
        grad(derivative(grad(f_smooth), 2)),
        lambda x: sr.jvp(derivative(f_smooth, 3), (x,), (kind(1.0),))[1],
        derivative(lambda x: sr.jvp(f_smooth, (x,), (1.0,))[1], 3),
        lambda x: grad(lambda y: taylor(f_smooth, y, 3)[3])(x) * 6,
        lambda x: taylor(grad(f_smooth), x, 3)[3] * 6,
        lambda x: sr.jacfwd(lambda x: taylor(f_smooth, x, 3))(x)[3] * 6,
        lambda x: sr.jacrev(lambda x: taylor(f_smooth, x, 3))(x)[3] * 6,
        lambda x: sr.hessian(lambda x: taylor(f_smooth, x, 2)[2])(x) * 2,
    ):
        assert found(x) == pytest.approx(expected, rel=1e-11)


def test_a_function_that_uses_taylor():
    """Its coefficients are smooth functions of the point, and of what it closes over."""

    def g(a):
        return np.sum(taylor(lambda x: np.sin(a * x), a, 3))

    def plain(a):
        return np.sin(a * a) + a * np.cos(a * a) - a**2 * np.sin(a * a) / 2 - a**3 * np.cos(a * a) / 6

    assert g(0.5) == pytest.approx(plain(0.5))
    for n in (1, 2, 3):
        assert derivative(g, n)(0.5) == pytest.approx(nth_grad(plain, n)(0.5))
        assert nth_grad(g, n)(0.5) == pytest.approx(nth_grad(plain, n)(0.5))


@pytest.mark.parametrize("outer", [grad, derivative])
@pytest.mark.parametrize("inner", [grad, derivative])
def test_perturbations_are_not_confused(outer, inner):
    assert outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0) == 1.0
    assert outer(lambda x: x * inner(lambda y: x * y * y)(x))(3.0) == 54.0


def test_taylor_inside_taylor_in_both_orders():
    def mixed(x, y):
        return np.exp(x * y) * np.sin(y)

    in_x_first = taylor(lambda y: taylor(lambda x: mixed(x, y), 0.5, 3), 0.75, 2)
    in_y_first = taylor(lambda x: taylor(lambda y: mixed(x, y), 0.75, 2), 0.5, 3)
    assert in_x_first.shape == (3, 4)
    np.testing.assert_allclose(in_x_first, in_y_first.T, rtol=1e-12)
    np.testing.assert_array_equal(
        taylor(lambda x: x * taylor(lambda y: x * y * y, x, 2), 1.0, 4),
        [[1, 2, 1], [4, 6, 2], [6, 6, 1], [4, 2, 0], [1, 0, 0]],
    )


def test_arrays_nest():
    def f(x):
        return np.prod(np.sin(x)) * np.var(x) + x @ np.tanh(x)

    x, v = np.array([0.5, 0.75, 1.0]), np.array([1.0, -0.5, 0.25])
    found = grad(lambda x: taylor(f, x, 2, v)[2])(x)
    expected = taylor(grad(f), x, 2, v)[2]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    second = sr.hvp(f, (x,), (v,))
    np.testing.assert_allclose(taylor(grad(f), x, 1, v)[1], second, rtol=1e-12)
    np.testing.assert_allclose(grad(lambda v: taylor(f, x, 2, v)[2])(v), second, rtol=1e-12)  # of v H v / 2


def test_a_constant_of_an_outer_derivative_in_the_answer():
    assert grad(lambda a: np.sum(taylor(lambda x: a, 1.0, 2)))(2.0) == 1.0
    assert grad(lambda a: derivative(lambda x: a * x)(1.0))(2.0) == 1.0
    assert grad(lambda a: derivative(lambda x: a * 1.0)(1.0) * a)(2.0) == 0.0


# The end of a call, and threads


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + 1,
        np.sin,
        np.arctan,
        lambda x: np.sum(x),
        lambda x: np.var(x),
        lambda x: x @ x,
        lambda x: x[0],
        lambda x: grad(lambda y: np.sum(x * y))(2.0),
    ],
)
def test_a_number_that_escapes_is_refused(use):
    escaped = []

    def f(x):
        escaped.append(x * 2)
        return x

    taylor(f, np.array([1.0, 2.0]), 2)
    with pytest.raises(EscapedNumberError, match="after its derivative has finished"):
        use(escaped[0])
    np.testing.assert_array_equal(sr.value(escaped[0]), [2.0, 4.0])
    with pytest.raises(EscapedNumberError):
        taylor(lambda x: escaped[0], 1.0, 2)
    with pytest.raises(EscapedNumberError):
        derivative(lambda x: escaped[0])(1.0)


def test_levels():
    seen = []
    taylor(lambda x: taylor(lambda y: seen.append(repr(y)) or y, x, 1), 1.0, 1)
    assert seen == ["Series(1.0, level=2)"]


def test_a_call_that_fails_is_over():
    escaped = []

    def f(x):
        escaped.append(x)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as error:
        taylor(f, 1.0, 2)
    assert {entry.path.name for entry in error.traceback} <= {"test_taylor.py", "tracebacks.py"}
    with pytest.raises(EscapedNumberError):
        escaped[0] + 1
    assert derivative(np.sin)(0.0) == 1.0


def test_threads_are_independent():
    expected = taylor(f_smooth, 0.75, 8)
    found = {}

    def work(i):
        found[i] = [taylor(f_smooth, 0.75, 8) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for results in found.values():
        for result in results:
            np.testing.assert_array_equal(result, expected)


# derivative


def test_derivative():
    assert derivative(np.sin)(0.0) == 1.0
    assert derivative(lambda x: x**3, 2)(2.0) == 12.0
    assert derivative(lambda x: x**3, 0)(2.0) == 8.0
    assert derivative(lambda x: x**3, 4)(2.0) == 0.0
    assert derivative(lambda x, a, b: a * x**2 + b)(2.0, 3.0, b=1.0) == 12.0
    assert derivative(np.exp).__name__ == "derivative(exp)"
    assert derivative(lambda x: 7)(2.0) == 0.0


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, complex, np.array])
def test_the_type_of_a_derivative_is_that_of_the_value(kind):
    def f(x):
        return x * x * x

    for n in (0, 2, 4):
        found = derivative(f, n)(kind(1.5))
        value = f(kind(1.5))
        assert type(found) is type(value)
        assert found == [3.375, 0, 9.0, 0, 0.0][n]


def test_derivative_of_a_structure():
    found = derivative(lambda x: {"a": np.array([1.0, 2.0]) * x * x, "b": ["name", 3, x, 1.5]}, 2)(3.0)
    np.testing.assert_array_equal(found["a"], [2.0, 4.0])
    assert found["b"] == [None, None, 0.0, 0.0]


def test_a_derivative_whose_factorial_is_no_float():
    assert derivative(lambda x: np.exp(4 * x), 200)(0.0) == pytest.approx(4.0**200, rel=1e-12)
    assert derivative(lambda x: np.exp(1000 * x), 180)(0.0) == np.inf


# Errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: taylor(3.0, 1.0, 2),
            TypeError,
            r"taylor: .*3\.0, which cannot be called; write taylor\(f, x, order\)",
        ),
        (lambda: taylor(np.sin, 1.0, -1), ValueError, r"taylor\(sin\): order must be 0 or more, and is -1"),
        (lambda: taylor(np.sin, 1.0, 2.0), TypeError, r"taylor\(sin\): order must be an integer.* is 2\.0"),
        (lambda: taylor(np.sin, 1.0, True), TypeError, r"taylor\(sin\): order must be an integer.* is True"),
        (lambda: taylor(np.sin, 1, 2), TypeError, r"taylor\(sin\): x is an integer .*float\(x\)"),
        (lambda: taylor(np.sin, np.arange(2), 2), TypeError, r"taylor\(sin\): x is an integer .*astype"),
        (lambda: taylor(np.sin, "a", 2), TypeError, r"taylor\(sin\): x is of type str"),
        (lambda: taylor(np.sin, 1.0, 2, np.ones(2)), ValueError, r"direction has shape \(2,\).* of x, which is \(\)"),
        (lambda: taylor(np.sin, 1.0, 2, [1.0]), TypeError, "direction"),
        (lambda: taylor(np.sin, 1.0, 2, 1), TypeError, r"direction is an integer"),
        (lambda: taylor(np.sin, 1.0, 2, 1j), TypeError, r"direction is complex"),
        (lambda: taylor(sum, [1.0, 2.0], 2, [1.0]), TypeError, r"direction must have the structure of x"),
        (lambda: taylor(lambda x: (x, 3), (1.0, 2), 2, (1.0, 1.0)), TypeError, r"direction\[1\] belongs to 2"),
        (lambda: taylor(lambda x: None, 1.0, 2), TypeError, "returned None .*return statement"),
        (lambda: taylor(lambda x: {1, 2}, 1.0, 2), TypeError, r"returned \{1, 2\}, of type set"),
        (lambda: taylor(lambda x: np.array([x, None]), 1.0, 2), TypeError, "cannot be built with None in it"),
        (lambda: derivative(3.0), TypeError, r"derivative: .*which cannot be called"),
        (lambda: derivative(np.sin, -1), ValueError, r"derivative\(sin\): n must be 0 or more"),
        (lambda: derivative(np.sin, 1.0), TypeError, r"derivative\(sin\): n must be an integer"),
        (lambda: derivative(np.sin)(2), TypeError, r"derivative\(sin\): x is an integer"),
        (lambda: derivative(np.sin)(np.ones(2)), TypeError, r"derivative\(sin\): x must be one number.*jacobian"),
        (lambda: derivative(np.sin)([1.0]), TypeError, r"derivative\(sin\): x must be one number"),
        (lambda: derivative(lambda x: None)(1.0), TypeError, "returned None"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert derivative(np.sin)(0.0) == 1.0


@pytest.mark.parametrize(
    "write",
    [
        lambda a: a.__setitem__(slice(None, -1), a[1:]),
        lambda a: a.__setitem__(slice(1, None), np.sin(a[:-1])),
        lambda a: a[::-1].__imul__(a),
        lambda a: np.add.at(a, [0, 0, 2], a[1]),
    ],
    ids=["shifted", "nonlinear", "reversed", "at"],
)
def test_derivatives_of_derivatives_of_functions_that_write_by_views(write):
    x, v = np.array([0.5, 0.3, 0.2]), np.array([1.0, 2.0, 3.0])

    def f(t):
        a = (x + t * v) * 1.0
        write(a)
        return np.sum(a**3)

    by_one_pass = derivative(f, 2)(0.3)
    np.testing.assert_allclose(derivative(derivative(f))(0.3), by_one_pass)
    np.testing.assert_allclose(derivative(grad(f))(0.3), by_one_pass)
    np.testing.assert_allclose(grad(derivative(f))(0.3), by_one_pass)
    np.testing.assert_allclose(derivative(derivative(derivative(f)))(0.3), derivative(f, 3)(0.3))
