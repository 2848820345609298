"""Forward and reverse mode, and all the operators made of them, nested in one another in every mix to third order."""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import EscapedNumberError, WrongThreadError, derivative, grad, jvp, linearize, taylor, vjp
from shiftreset_ad.testing import check_grads
from shiftreset_ad.testing.numerical import by_differences, steps
from tests.random_programs import STATEMENTS, Program, programs

MODES = {}


def mode(directional):
    """Enter the derivative of a function of several arguments along a direction."""
    MODES[directional.__name__[0]] = directional
    return directional


@mode
def forward(f, xs, v):
    return jvp(f, xs, v)[1]


@mode
def reverse(f, xs, v):
    x_bars = vjp(f, *xs)[1](1.0)
    return sum(np.sum(x_bar * x_dot) for x_bar, x_dot in zip(x_bars, v, strict=True))


def along(f, path, directions):
    """The derivative of `f` along each direction, in the modes that the path spells, the outermost first."""
    if not path:
        return f
    inner = along(f, path[1:], directions[1:])
    return lambda *xs: MODES[path[0]](inner, xs, directions[0])


def paths(order):
    return ["".join(path) for path in itertools.product("fr", repeat=order)]


def differences(g, xs, v):
    """The derivative of `g` along a direction by its values, and its error."""

    def g_along(t):
        moved = [x + float(t[0]) * x_dot for x, x_dot in zip(xs, v, strict=True)]
        return np.array([g(*moved)])

    t, one, noise = np.zeros(1), np.ones(1), np.full(1, 2.0**-52)
    y = g_along(t)
    found = by_differences(g_along, t, one, y, np.abs(y) + 1.0, noise, steps(t, one, noise, None))
    return found.y_dot[0], found.error[0]


def check_program(program, seed, third_order=True):
    generator = np.random.default_rng(seed)
    xs = (generator.uniform(-1, 1), generator.uniform(-1, 1, 3))
    v = [(generator.uniform(-1, 1), generator.uniform(-1, 1, 3)) for _ in range(3)]
    constants = program.constants(*xs)

    def replayed(s, a):
        return program(s, a, constants)

    for order in range(1, 4 if third_order else 3):
        directions = v[:order]
        found = {path: float(along(program, path, directions)(*xs)) for path in paths(order)}
        expected = found["f" * order]
        scale = max(1.0, *map(abs, found.values()))
        for path, y_dot in found.items():
            assert y_dot == pytest.approx(expected, rel=1e-9, abs=1e-10 * scale), (path, found)
        # The next lower order in the mix that this seed picks, and its values.
        lower = paths(order - 1)[seed % 2 ** (order - 1)]
        slope, error = differences(along(replayed, lower, directions[1:]), xs, directions[0])
        assert error <= 1e-3 * (1.0 + abs(slope))
        assert expected == pytest.approx(slope, rel=1e-7, abs=1e-8 * scale + 4.0 * error), (lower, found)
        assert np.isfinite(expected)


def examples(count):
    return settings(
        max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.__name__)
def test_each_statement_in_every_mix(statement):
    for k in range(3):
        check_program(Program([(statement, 0, 1, k), (statement, 2, 3, k + 3)]), seed=k)


@pytest.mark.slow
@given(program=programs, seed=st.integers(0, 99))
@examples(20)
def test_random_programs_in_every_mix(program, seed):
    check_program(program, seed)


@pytest.mark.slow
@given(program=programs, seed=st.integers(0, 99))
@examples(150)
def test_many_random_programs_in_every_mix(program, seed):
    check_program(program, seed)


# The same for each operator: the first derivative of a scalar function of a number, and of an array


def units(x):
    return np.eye(len(x))


OF_A_NUMBER = {
    "grad": grad,
    "value_and_grad": lambda f: lambda x: sr.value_and_grad(f)(x)[1],
    "jvp": lambda f: lambda x: jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: vjp(f, x)[1](1.0)[0],
    "linearize": lambda f: lambda x: linearize(f, x)[1](1.0),
    "jacfwd": sr.jacfwd,
    "jacrev": sr.jacrev,
    "jacobian": sr.jacobian,
    "value_and_jacobian": lambda f: lambda x: sr.value_and_jacobian(f)(x)[1],
    "elementwise_grad": sr.elementwise_grad,
    # d/dt d/dx of t f(x)
    "hvp": lambda f: lambda x: sr.hvp(lambda t, x: t * f(x), (1.0, x), (1.0, 0.0))[1],
    "hessian": lambda f: lambda x: sr.hessian(lambda tx: tx[0] * f(tx[1]))(np.stack([1.0, x]))[0, 1],
    "taylor": lambda f: lambda x: taylor(f, x, 1)[1],
    "derivative": derivative,
}

OF_AN_ARRAY = {
    "grad": grad,
    "value_and_grad": OF_A_NUMBER["value_and_grad"],
    "jvp": lambda f: lambda x: np.stack([jvp(f, (x,), (unit,))[1] for unit in units(x)]),
    "vjp": OF_A_NUMBER["vjp"],
    "linearize": lambda f: lambda x: np.stack([*map(linearize(f, x)[1], units(x))]),
    "jacfwd": sr.jacfwd,
    "jacrev": sr.jacrev,
    "jacobian": sr.jacobian,
    "value_and_jacobian": OF_A_NUMBER["value_and_jacobian"],
    "hvp": lambda f: lambda x: sr.hvp(lambda t, x: t * f(x), (1.0, x), (1.0, np.zeros(len(x))))[1],
    "hessian": lambda f: lambda x: sr.hessian(lambda tx: tx[0] * f(tx[1:]))(np.concatenate([np.ones(1), x]))[0, 1:],
    "taylor": lambda f: lambda x: np.stack([taylor(f, x, 1, unit)[1] for unit in units(x)]),
}

X = 0.7


def close(expected):
    return pytest.approx(expected, rel=1e-11, abs=0)


@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_first_derivatives(name):
    d = OF_A_NUMBER[name]
    assert d(lambda x: np.sin(x) * x)(X) == close(math.cos(X) * X + math.sin(X))
    assert d(lambda x: x**3)(np.float64(X)) == close(3.0 * X**2)
    assert d(lambda x: 2.0 * x)(X) == 2.0


def check_pair(a, b):
    # Siskind and Pearlmutter 2005; Wang et al. 2019, section 2.4: confused perturbations give 2.
    assert a(lambda x: x * b(lambda y: x + y)(1.0))(5.0) == close(1.0)
    assert a(lambda x: x * b(lambda y: x * y)(2.0))(5.0) == close(10.0)
    assert a(lambda x: x * b(lambda y: x * y * y)(x))(X) == close(6.0 * X**2)
    assert a(b(lambda x: x**4))(X) == close(12.0 * X**2)
    assert a(b(np.sin))(X) == close(-math.sin(X))
    # The inner function does not depend on the outer variable, or on its own.
    assert a(lambda x: x * b(lambda y: y * y)(3.0))(X) == close(6.0)
    assert a(lambda x: x + b(lambda y: x * x + 0.0 * y)(3.0))(X) == close(1.0)
    assert a(lambda x: b(lambda y: y * 1.0)(x) + x)(X) == close(1.0)
    # In a loop, the inner derivative feeding the next one.

    def looped(x):
        y = x
        for _ in range(3):
            y = b(lambda z, y=y: np.sin(y * z))(x)
        return y

    check_against_differences(a, looped)
    # Manzyuk et al. 2019, "Perturbation confusion in forward automatic differentiation of higher-order functions":
    # the derivative of the curried s(u)(f)(x) = f(x + u) at 0, as an operator on functions, applied twice.

    def through_s(d):
        return lambda f: lambda x: d(lambda u: f(x + u))(0.0)

    assert through_s(a)(through_s(b)(np.exp))(X) == close(math.exp(X))
    assert through_s(a)(through_s(b)(lambda x: x**3))(X) == close(6.0 * X)


def check_against_differences(a, f):
    slope, error = differences(f, (X,), (1.0,))
    assert a(f)(X) == pytest.approx(slope, rel=1e-8, abs=4.0 * error)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_each_operator_over_each_other(name):
    for other in OF_A_NUMBER:
        check_pair(OF_A_NUMBER[name], OF_A_NUMBER[other])


def check_triple(a, b, c):
    assert a(b(c(lambda x: x**5)))(X) == close(60.0 * X**2)
    # c gives x y, b gives 2 x y = 6 x, and a is d/dx of 6 x^2.
    assert a(lambda x: x * b(lambda y: y * c(lambda z: x * y * z)(4.0))(3.0))(X) == close(12.0 * X)
    # c gives 2 x z = 2 x y, then d/dy of 2 x y^2 x is 4 x^2 y = 4 x^3.
    assert a(lambda x: b(lambda y: x * y * c(lambda z: x * z * z)(y))(x))(X) == close(12.0 * X**2)


# All kinds of derivatives; each other operator is made of one of these.
KINDS = ("grad", "jvp", "vjp", "linearize", "jacfwd", "jacrev", "hvp", "hessian", "taylor")


@pytest.mark.parametrize("name", KINDS)
def test_any_three_kinds_nested(name):
    for others in itertools.product(KINDS, repeat=2):
        check_triple(*(OF_A_NUMBER[each] for each in (name, *others)))


# f = x0^3 x1^2 + exp(k x), and its derivatives

K, W, U = np.array([0.5, -0.3]), np.array([0.7, -1.1]), np.array([-0.4, 0.9])
POINT = np.array([0.8, 1.3])


def scalar(x):
    return x[0] ** 3 * x[1] ** 2 + np.exp(K @ x)


def third_derivative_of_scalar(x, v, w):
    """The gradient of D_v D_w f."""
    p, q = x
    t = np.zeros((2, 2, 2))
    for index in itertools.product(range(2), repeat=3):
        t[index] = [6 * q**2, 12 * p * q, 6 * p**2, 0.0][sum(index)] + K[list(index)].prod() * np.exp(K @ x)
    return np.einsum("ijk,j,k", t, v, w)


def second_derivative_of_scalar(x, v):
    p, q = x
    h = np.array([[6 * p * q**2, 6 * p**2 * q], [6 * p**2 * q, 2 * p**3]]) + np.outer(K, K) * np.exp(K @ x)
    return h @ v


def check_array_pair(a, b):
    np.testing.assert_allclose(a(lambda x: W @ b(scalar)(x))(POINT), second_derivative_of_scalar(POINT, W), rtol=1e-11)
    # d/dx of x . d/dy (y . x)^2 / 2 at y = x is that of (x . x)^2.
    found = a(lambda x: x @ b(lambda y: 0.5 * (y @ x) ** 2)(x))(POINT)
    np.testing.assert_allclose(found, 4.0 * (POINT @ POINT) * POINT, rtol=1e-11)


@pytest.mark.parametrize("name", OF_AN_ARRAY)
def test_each_operator_over_each_other_on_arrays(name):
    for other in OF_AN_ARRAY:
        check_array_pair(OF_AN_ARRAY[name], OF_AN_ARRAY[other])


def check_array_triple(a, b, c):
    found = a(lambda x: W @ b(lambda y: U @ c(scalar)(y))(x))(POINT)
    np.testing.assert_allclose(found, third_derivative_of_scalar(POINT, W, U), rtol=1e-10)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("name", KINDS)
def test_any_three_kinds_nested_on_arrays(name):
    for others in itertools.product(KINDS, repeat=2):
        check_array_triple(*(OF_AN_ARRAY[each] for each in (name, *others)))


@pytest.mark.parametrize("name", OF_AN_ARRAY)
def test_derivatives_of_an_operator_are_right_in_every_mode(name):
    d = OF_AN_ARRAY[name]
    check_grads(lambda x: d(lambda y: np.sum(np.sin(y * x)) * y[0])(x * x), (POINT,), 2)


# Directions and pullbacks that belong to several levels


@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_an_inner_direction_that_depends_on_the_outer_variable(name):
    d = OF_A_NUMBER[name]
    assert d(lambda x: jvp(lambda y: x * y * y, (x,), (x * x,))[1])(X) == close(8.0 * X**3)  # 2 x x x^2
    assert d(lambda x: linearize(lambda y: x * y * y, x)[1](x * x))(X) == close(8.0 * X**3)
    assert d(lambda x: vjp(lambda y: x * y * y, x)[1](x * x)[0])(X) == close(8.0 * X**3)
    assert d(lambda x: sr.hvp(lambda y: x * y**3, (x,), (x * x,)))(X) == close(24.0 * X**3)  # 6 x x x^2
    assert d(lambda x: jvp(lambda y: x * y, (2.0,), (x,))[1])(X) == close(2.0 * X)  # y is a constant to x


@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_a_pullback_called_in_another_derivative_and_after_it(name):
    d = OF_A_NUMBER[name]
    y, pullback = vjp(lambda x: x**3, 2.0)
    assert y == 8.0
    assert d(lambda c: c * pullback(c * c)[0])(X) == close(36.0 * X**2)  # 12 c^3
    assert pullback(1.0) == (12.0,)
    _, pushforward = linearize(lambda x: x**3, 2.0)
    assert d(lambda c: c * pushforward(c * c))(X) == close(36.0 * X**2)
    assert pushforward(1.0) == 12.0

    def outer(x):
        _, pullback = vjp(lambda y: np.sin(y) * x, x)
        inside = d(lambda c: pullback(c * c)[0])(3.0)  # 6 x cos x
        return inside + pullback(x)[0]

    check_against_differences(d, outer)


@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_a_pullback_of_a_pullback_of_a_pullback(name):
    def pulled(f):
        return lambda x, c: vjp(f, x)[1](c)[0]

    def once(x):
        return x**4

    def twice(x):
        return pulled(once)(x, x)  # 4 x^4

    def three_times(x):
        return pulled(twice)(x, x * x)  # 16 x^5

    assert OF_A_NUMBER[name](three_times)(X) == close(80.0 * X**4)


@pytest.mark.parametrize("name", OF_A_NUMBER)
@pytest.mark.parametrize("make", [lambda f, t: vjp(f, t)[1], lambda f, t: linearize(f, t)[1]])
def test_a_pullback_that_leaves_the_derivative_whose_numbers_it_holds(name, make):
    left = []

    def f(x):
        left.append(make(lambda t: t * t * x, 2.0))
        left.append(make(lambda t: t * t, x))
        left.append(make(lambda t: np.sin(t + x) + t, 2.0))
        return x * x

    assert OF_A_NUMBER[name](f)(3.0) == close(6.0)
    for pull in left:
        with pytest.raises(EscapedNumberError, match="after its derivative has finished"):
            pull(1.0)
        # Nor in another derivative that is going on.
        with pytest.raises(EscapedNumberError, match="after its derivative has finished"):
            OF_A_NUMBER[name](lambda c, pull=pull: pull(c) * c)(1.0)
    assert OF_A_NUMBER[name](np.sin)(X) == close(math.cos(X))


@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_a_pullback_that_holds_no_outer_number_may_leave(name):
    left = []

    def f(x):
        left.append(vjp(lambda t: t**3, 2.0)[1])
        return x * left[-1](x)[0]

    assert OF_A_NUMBER[name](f)(X) == close(24.0 * X)
    assert np.all(left[0](1.0)[0] == 12.0)


# Functions as values


@pytest.mark.parametrize("name", ["jvp", "vjp", "linearize"])
def test_a_function_returned_by_a_differentiated_one_cannot_be_confused(name):
    """In the curried s(u) = lambda f: lambda x: f(x + u), the returned function holds the number u."""
    operators = {
        "jvp": lambda f, x: jvp(f, (x,), (1.0,))[0],
        "vjp": lambda f, x: vjp(f, x)[0],
        "linearize": lambda f, x: linearize(f, x)[0],
    }
    s = operators[name](lambda u: lambda f: lambda x: f(x + u), 0.0)
    with pytest.raises(EscapedNumberError):
        s(np.exp)(1.0)
    with pytest.raises(EscapedNumberError):
        grad(s(np.exp))(1.0)


# Threads, generators, escaping numbers


def test_forward_mode_in_a_pool_of_threads():
    """Each thread differentiates its own function over the outer number."""

    def f(x):
        def slope(k):
            return jvp(lambda y: np.sin(x * y) * k, (2.0,), (1.0,))[1]  # k x cos 2x

        with ThreadPoolExecutor(4) as pool:
            return sum(pool.map(slope, range(1, 9)))

    expected = 36.0 * (math.cos(2.0 * X) - 2.0 * X * math.sin(2.0 * X))
    assert jvp(f, (X,), (1.0,)) == (close(36.0 * X * math.cos(2.0 * X)), close(expected))
    second = -36.0 * (4.0 * math.sin(2.0 * X) + 4.0 * X * math.cos(2.0 * X))
    assert jvp(lambda x: jvp(f, (x,), (1.0,))[1], (X,), (1.0,))[1] == close(second)
    # Reverse mode in the threads is their own, over the numbers of forward mode.

    def g(x):
        with ThreadPoolExecutor(4) as pool:
            return sum(pool.map(lambda k: grad(lambda y: np.sin(x * y) * k)(2.0), range(1, 9)))

    assert jvp(g, (X,), (1.0,))[1] == close(expected)
    with pytest.raises(WrongThreadError):
        grad(f)(X)


def test_pullbacks_in_a_pool_of_threads():
    _, pullback = vjp(lambda x: np.sin(x) * x, np.linspace(0.0, 1.0, 100))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: pullback(np.full(100, float(k)))[0], range(40)))
    for k, x_bar in enumerate(found):
        np.testing.assert_allclose(x_bar, k * found[1], rtol=1e-14)


@pytest.mark.parametrize("a", ["grad", "jvp", "vjp", "jacfwd", "taylor"])
@pytest.mark.parametrize("b", ["grad", "jvp", "vjp", "jacfwd", "taylor"])
def test_generators_that_yield_between_levels(a, b):
    """One made in the outer derivative is advanced in the inner one, and the other way round."""
    a, b = OF_A_NUMBER[a], OF_A_NUMBER[b]

    def powers(x):
        y = x
        while True:
            y = y * x
            yield y

    def f(x):
        outer = powers(x)
        next(outer)  # x^2
        slope = b(lambda y: y * y * next(outer))(x)  # 2 x x^3
        return slope * next(outer)  # 2 x^8

    assert a(f)(X) == close(16.0 * X**7)

    def g(x):
        left = []

        def inner(y):
            generator = powers(x)
            left.append(generator)
            return y * next(generator)

        return b(inner)(3.0) * next(left[0])  # x^2 x^3

    assert a(g)(X) == close(5.0 * X**4)

    def escaping(x):
        left = []
        b(lambda y: left.append(powers(y)) or y * next(left[0]))(3.0)
        return x * next(left[0])

    with pytest.raises(EscapedNumberError):
        a(escaping)(X)


@pytest.mark.parametrize("name", OF_A_NUMBER)
@pytest.mark.parametrize("outer", ["grad", "jvp"])
def test_a_number_that_escapes_is_an_error_at_any_level(name, outer):
    d, left = OF_A_NUMBER[name], []

    def keeps(y):
        left.append(y)
        return y * y

    d(keeps)(2.0)
    operations = [lambda y: y * 2.0, np.sin, lambda y: y + 1.0, lambda y: np.sum(np.stack([y, y]))]
    for operation in operations:
        with pytest.raises(EscapedNumberError):
            operation(left[0])

    def f(x):
        d(lambda y: keeps(y * x))(2.0)
        return x * left[-1]

    with pytest.raises(EscapedNumberError):
        OF_A_NUMBER[outer](f)(X)
    assert OF_A_NUMBER[outer](np.sin)(X) == close(math.cos(X))
