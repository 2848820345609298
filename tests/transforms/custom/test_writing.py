"""What rules write to: directions, which are theirs; and arguments and residuals, to which they may not write."""

from __future__ import annotations

import numpy as np
import pytest

from shiftreset_ad import (
    checkpoint,
    custom_derivative,
    custom_jvp,
    custom_vjp,
    derivative,
    fuse,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    staged,
    taylor,
    vjp,
)
from tests.transforms.custom.decorating import with_rules

KINDS = ("vjp", "jvp", "both")
X = np.array([0.3, 0.7, 1.1])
D = np.array([1.0, 2.0, 3.0])


def plain(x):
    return 2.0 * x


def doubling(kind, fwd, bwd, rule):
    """The double of a number, by these rules."""
    return with_rules(kind, plain, fwd, bwd, rule)


# Programs that use a number again, which a rule had, and its derivative


def of_the_argument(f, x):
    return f(x) * f(x) + x


def of_an_intermediate(f, x):
    y = x * 1.0
    return f(y) + y + f(f(y)) * y


def of_views(f, x):
    return f(x[:2]) * x[1:] + np.sum(f(x.reshape(3, 1)))


def of_what_a_sum_shares(f, x):
    return np.sum(f(x + 0.0) + f(x + 0.0) + f(x)) * x


PROGRAMS = [of_the_argument, of_an_intermediate, of_views, of_what_a_sum_shares]


def twice(function):
    """What a function answers the first and the second time."""
    return lambda *args: (function(*args), function(*args))


def total(f):
    return lambda x: np.sum(np.sin(f(x)))


ROUTES = {
    "jvp": lambda f: jvp(f, (X,), (D,)),
    "jacfwd": lambda f: jacfwd(f)(X),
    "jacrev": lambda f: jacrev(f)(X),
    "linearize": lambda f: twice(linearize(f, X)[1])(D),
    "vjp": lambda f: twice(vjp(total(f), X)[1])(1.0),
    "grad": lambda f: grad(total(f))(X),
    "hessian": lambda f: hessian(total(f))(X),
    "jvp of jvp": lambda f: jvp(lambda x: jvp(f, (x,), (x * D,))[1], (X,), (D,)),
    "jvp of grad": lambda f: jvp(grad(total(f)), (X,), (D,)),
    "grad of jvp": lambda f: grad(lambda x: np.sum(jvp(f, (x,), (np.sin(x),))[1]))(X),
    "jvp in the tangent": lambda f: jvp(lambda d: jvp(f, (X,), (d,))[1], (D,), (X,)),
    "grad in the tangent": lambda f: grad(lambda d: np.sum(jvp(f, (X,), (d,))[1]))(D),
    "grad of a pullback": lambda f: grad(lambda x: np.sum(vjp(f, x)[1](f(x))[0]))(X),
    "taylor": lambda f: taylor(f, X, 3, D),
    "derivative": lambda f: derivative(lambda t: total(f)(X + t * D), 2)(0.1),
    "checkpoint": lambda f: jacfwd(grad(checkpoint(total(f))))(X),
    "fuse": lambda f: grad(fuse(total(f)))(X),
    "staged": lambda f: twice(staged(grad(total(f))))(X),
    "staged jvp": lambda f: twice(staged(lambda x, d: jvp(f, (x,), (d,))))(X, D),
}


def by_operator(direction):
    direction *= 2.0
    return direction


def by_index(direction):
    if np.ndim(direction):
        direction[...] = 2.0 * direction
        return direction
    return 2.0 * direction


def by_out(direction):
    return np.multiply(direction, 2.0, out=direction)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("write", [by_operator, by_index, by_out])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_rule_may_write_to_directions_in_every_mode(program, write, kind):
    f = doubling(kind, lambda x: (2.0 * x, None), lambda _, g: (write(g),), lambda xs, ds: (2.0 * xs[0], write(ds[0])))
    x, d = X.copy(), D.copy()
    for name, route in ROUTES.items():
        found, expected = route(lambda x: program(f, x)), route(lambda x: program(plain, x))
        assert_alike(found, expected, name)
        np.testing.assert_array_equal([X, D], [x, d], err_msg=name)


def assert_alike(found, expected, name):
    if isinstance(expected, (tuple, list)):
        for a, b in zip(found, expected, strict=True):
            assert_alike(a, b, name)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=name)


def test_a_direction_beside_a_stack_is_the_rules_own_for_each_row():
    @custom_jvp
    def product(x, y):
        return x * y

    @product.defjvp
    def rule(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        y_dot *= 2.0
        return x * y, x_dot * y + 0.5 * x * y_dot

    found = jvp(lambda y: jacfwd(lambda x: product(x, y))(X), (D,), (np.ones(3),))[1]
    np.testing.assert_allclose(found, np.eye(3))
    np.testing.assert_allclose(
        jacfwd(lambda x: jvp(lambda y: product(x * y, y), (D,), (D,))[1])(X), 2.0 * np.diag(D**2)
    )


def written(x):
    if np.ndim(x):
        x += 1.0
    return x


def double_of_written(x):
    return plain(x) + 0.0 * np.sum(written(x))


WRITING = {
    "fwd": ("vjp", lambda x: (double_of_written(x), None), lambda _, g: (2.0 * g,), None),
    "bwd": ("vjp", lambda x: (plain(x), x), lambda x, g: (2.0 * g + 0.0 * np.sum(written(x)),), None),
    "bwd, to its own": ("vjp", lambda x: (plain(x), x + 1.0), lambda y, g: (2.0 * g + 0.0 * np.sum(written(y)),), None),
    "jvp": ("jvp", None, None, lambda xs, ds: (double_of_written(xs[0]), 2.0 * ds[0])),
}


@pytest.mark.parametrize("route", [name for name in ROUTES if "staged" not in name])
@pytest.mark.parametrize("where", WRITING)
def test_a_rule_may_not_write_to_arguments_and_residuals(where, route):
    f = doubling(*WRITING[where])
    for program in PROGRAMS:
        with pytest.raises((TypeError, ValueError), match=r"read-only|the function may not write to it|outer deriv"):
            ROUTES[route](lambda x, program=program: program(f, x))
        np.testing.assert_array_equal(X, [0.3, 0.7, 1.1])


@pytest.mark.parametrize("route", ["staged", "staged jvp"])
@pytest.mark.parametrize("where", WRITING)
def test_a_rule_may_not_write_where_it_is_staged(where, route):
    with pytest.raises((TypeError, ValueError), match=r"read-only|the function may not write to it"):
        ROUTES[route](lambda x: of_an_intermediate(doubling(*WRITING[where]), x))


@pytest.mark.parametrize("kind", KINDS)
def test_the_code_of_a_function_may_not_write_to_its_argument(kind):
    decorated = {"vjp": custom_vjp, "jvp": custom_jvp, "both": custom_derivative}[kind](double_of_written)
    decorated.defvjp(lambda x: (decorated(x), None), lambda _, g: (2.0 * g,))
    decorated.defjvp(lambda xs, ds: (decorated(*xs), 2.0 * ds[0]))
    for name, route in ROUTES.items():
        for program in PROGRAMS:
            with pytest.raises((TypeError, ValueError)) as raised:
                route(lambda x, program=program: program(decorated, x))
            assert "read-only" in str(raised.value) or "to write to" in str(raised.value), name
    np.testing.assert_array_equal(X, [0.3, 0.7, 1.1])


def test_the_error_says_what_to_write():
    f = doubling(*WRITING["fwd"])
    with pytest.raises(ValueError, match="read-only") as raised:
        grad(total(f))(X)
    assert "plain: <lambda> may not write to its arguments" in raised.value.__notes__[0]
    assert "Write to a copy, y = x.copy()" in raised.value.__notes__[0]


def test_lists_and_dicts_of_residuals_are_new_at_each_way_back():
    def bwd(residuals, g):
        residuals["factors"].append(2.0)
        residuals["count"] += 1
        return (g * np.prod(residuals["factors"]) * residuals["count"],)

    f = doubling("vjp", lambda x: (2.0 * x, {"factors": [1.0], "count": 0}), bwd, None)
    _, pullback = vjp(f, X)
    np.testing.assert_array_equal([pullback(D)[0], pullback(D)[0]], [2.0 * D, 2.0 * D])
    np.testing.assert_array_equal(jacrev(f)(X), 2.0 * np.eye(3))


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_may_use_one_array_for_all_its_values(kind):
    buffer = np.zeros(3)

    def double(x):
        return np.multiply(x, 2.0, out=buffer) if type(x) is np.ndarray else 2.0 * x

    f = doubling(
        kind, lambda x: (double(x), None), lambda _, g: (2.0 * g,), lambda xs, ds: (double(xs[0]), 2.0 * ds[0])
    )

    def program(f, x):
        return f(f(x * 1.0)) * x + f(x)

    for name, route in ROUTES.items():
        if "staged" not in name:
            assert_alike(route(lambda x: program(f, x)), route(lambda x: program(plain, x)), name)


def test_a_value_that_is_the_argument_is_no_copy():
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, x), lambda x, g: (g,))
    x = np.ones(10_000)
    y, _ = jvp(lambda x: f(x), (x,), (x,))
    assert y is x
    y[0] = 2.0  # the caller's array, as without derivatives


@pytest.mark.parametrize("kind", KINDS)
def test_results_that_share_memory_are_not_written_to(kind):
    """Also where they are copies, in which a write to the other would not be seen."""
    decorated = {"vjp": custom_vjp, "jvp": custom_jvp, "both": custom_derivative}[kind](lambda x: (x[:2], x[1:]))
    decorated.defvjp(
        lambda x: ((x[:2], x[1:]), None),
        lambda _, gs: (np.concatenate([gs[0], [0.0]]) + np.concatenate([[0.0], gs[1]]),),
    )
    decorated.defjvp(lambda xs, ds: ((xs[0][:2], xs[0][1:]), (ds[0][:2], ds[0][1:])))

    def h(x):
        a, b = decorated(x * 1.0)
        a[1] = 5.0
        return np.sum(a * b)

    for mode in (grad, jacfwd):
        with pytest.raises(TypeError, match="the function may not write to it"):
            mode(h)(X)
