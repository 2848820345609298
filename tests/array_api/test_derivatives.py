"""The derivative operators on arrays of other libraries: what goes in comes out, and is right."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import shiftreset_ad as sr
from tests.array_api.libraries import assert_same

GENERATOR = np.random.default_rng(1)
X, DIRECTION = GENERATOR.normal(size=5), GENERATOR.normal(size=5)
PARAMETERS = {
    "hidden": [GENERATOR.normal(size=(4, 3)), np.zeros(3)],
    "out": [GENERATOR.normal(size=3), 0.25],
    "name": "network",
}
DATA = GENERATOR.normal(size=(6, 4)), GENERATOR.normal(size=6)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_in_a_loop(x):
    return sum(100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2 for i in range(len(x) - 1))


def rosenbrock_by_namespace(x):
    xp = x.__array_namespace__()
    return xp.sum(100.0 * xp.square(x[1:] - xp.square(x[:-1])) + xp.square(1.0 - x[:-1]))


def network(parameters, inputs, targets):
    weights, offsets = parameters["hidden"]
    last, offset = parameters["out"]
    hidden = np.tanh(np.matmul(inputs, weights) + offsets)  # array_api_strict refuses `inputs @ weights`
    return np.mean((hidden @ last + offset - targets) ** 2)


OPERATORS = {
    "grad": lambda f, x, v: sr.grad(f)(x),
    "value_and_grad": lambda f, x, v: sr.value_and_grad(f)(x),
    "grad with aux": lambda f, x, v: sr.grad(lambda x: (f(x), {"twice": 2 * x, "mask": x > 0, "n": 3}), has_aux=True)(
        x
    ),
    "jvp": lambda f, x, v: sr.jvp(f, (x,), (v,)),
    "jvp of grad": lambda f, x, v: sr.jvp(sr.grad(f), (x,), (v,)),
    "hvp": lambda f, x, v: sr.hvp(f, (x,), (v,)),
    "hessian": lambda f, x, v: sr.hessian(f)(x),
    "jacobian": lambda f, x, v: sr.jacobian(lambda x: x * f(x))(x),
    "value_and_jacobian": lambda f, x, v: sr.value_and_jacobian(lambda x: x * f(x))(x),
    "jacrev": lambda f, x, v: sr.jacrev(lambda x: np.stack([f(x), x[0], x[0] * 0.0]))(x),
    "jacfwd": lambda f, x, v: sr.jacfwd(lambda x: f(x) * x)(x),
    "tall jacobian": lambda f, x, v: sr.jacobian(lambda x: np.concatenate([x, x, x * f(x)]))(x),
    "linearize": lambda f, x, v: sr.linearize(lambda x: x * f(x), x)[1](v),
    "elementwise_grad": lambda f, x, v: sr.elementwise_grad(lambda x: np.tanh(x) * x)(x),
    "taylor": lambda f, x, v: sr.taylor(f, x, 3, v),
    "grad of grad": lambda f, x, v: sr.grad(lambda x: np.sum(sr.grad(f)(x) * v))(x),
    "grad of jvp": lambda f, x, v: sr.grad(lambda x: sr.jvp(f, (x,), (v,))[1])(x),
    "jvp of jvp": lambda f, x, v: sr.jvp(lambda x: sr.jvp(f, (x,), (v,))[1], (x,), (v,)),
    "taylor of grad": lambda f, x, v: sr.taylor(sr.grad(f), x, 2, v),
    "checkpoint": lambda f, x, v: sr.grad(sr.checkpoint(f))(x),
    "checkpointed_loop": lambda f, x, v: sr.grad(
        lambda x: f(sr.checkpointed_loop(lambda i, s: s - 0.001 * x * s, x, 7, snapshots=2))
    )(x),
    "constant": lambda f, x, v: sr.grad(lambda x: f(sr.stop_gradient(x)) * np.sum(x))(x),
    "independent": lambda f, x, v: sr.value_and_grad(lambda x: np.sum(sr.value(x)) * 1.0)(x),
    "zeros_like": lambda f, x, v: sr.zeros_like({"x": x, "n": 1}),
    "value": lambda f, x, v: sr.value((x, 1.0)),
}


@pytest.mark.parametrize("f", [rosenbrock, rosenbrock_in_a_loop, rosenbrock_by_namespace])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name, f, library):
    operator = OPERATORS[name]
    assert_same(library, operator(f, library.array(X), library.array(DIRECTION)), operator(f, X, DIRECTION), 1e-7)


@pytest.mark.parametrize("linear", [np.sum, lambda x: np.sum(x * 2.0 - x), lambda x: x[1] + np.sum(x[::-1])])
@pytest.mark.parametrize("name", sorted(set(OPERATORS) - {"elementwise_grad", "checkpointed_loop"}))
def test_operators_on_linear_functions(name, linear, library):
    """Whose derivatives are made of shapes alone, of which rules make plain arrays."""
    operator = OPERATORS[name]
    assert_same(library, operator(linear, library.array(X), library.array(DIRECTION)), operator(linear, X, DIRECTION))


NETWORKS = {
    "grad": lambda parameters, data: sr.grad(network)(parameters, *data),
    "value_and_grad": lambda parameters, data: sr.value_and_grad(network)(parameters, *data),
    "with respect to all": lambda parameters, data: sr.grad(network, argnums=(0, 1, 2))(parameters, *data),
    "hessian": lambda parameters, data: sr.hessian(network)(parameters, *data)["hidden"][0]["out"][0],
    "vjp": lambda parameters, data: [sr.vjp(lambda p: network(p, *data), parameters)[1](y_bar) for y_bar in (1.0, 2.0)],
    "training": lambda parameters, data: trained(parameters, data),
}


def trained(parameters, data):
    for _ in range(20):
        slopes = sr.grad(network)(parameters, *data)
        for name in ("hidden", "out"):
            steps = zip(parameters[name], slopes[name], strict=True)
            parameters = parameters | {name: [x - 0.1 * slope for x, slope in steps]}
    return parameters


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name, library):
    """The data are not differentiated, and stay the library's; one parameter is a float, and its derivative, too."""
    derivative = NETWORKS[name]
    assert_same(library, derivative(library.arrays(PARAMETERS), library.arrays(DATA)), derivative(PARAMETERS, DATA))


def test_pullback_takes_a_cotangent_of_the_library_and_a_plain_one(library):
    for y_bar in (library.array(DIRECTION), DIRECTION):
        y, pullback = sr.vjp(np.sin, library.array(X))
        assert_same(library, (y, pullback(y_bar)), (np.sin(X), (np.cos(X) * DIRECTION,)))


@dataclasses.dataclass
class State:
    x: object
    steps: object
    name: str


def test_structures_with_integers_of_the_library(library):
    """Which have no derivative, and are constants."""

    def f(state):
        return np.sum(state.x[state.steps] ** 2)

    steps = np.array([0, 3, 3])
    found = sr.grad(f)(State(library.array(X), library.array(steps), "s"))
    expected = sr.grad(f)(State(X, steps, "s"))
    assert found.steps is None
    assert_same(library, found.x, expected.x)


def test_closures(library):
    x, v = library.array(X), library.array(DIRECTION)

    def f(t):
        return np.sum(np.sin(t * x) * v)

    found = sr.grad_closure(f)(0.5)
    assert_same(library, found["x"], 0.5 * np.cos(0.5 * X) * DIRECTION)
    assert sr.grad(f)(0.5) == pytest.approx(np.sum(np.cos(0.5 * X) * X * DIRECTION))


def test_custom_rules(library):
    @sr.custom_vjp
    def cube(x):
        return x * x * x

    cube.defvjp(lambda x: (x**3, x), lambda x, y_bar: (5.0 * x * x * y_bar,))

    @sr.custom_jvp
    def square(x):
        return x * x

    square.defjvp(lambda primals, tangents: (primals[0] ** 2, 7.0 * primals[0] * tangents[0]))
    for f in (lambda x: np.sum(cube(x) * x), lambda x: np.sum(square(np.sin(x)))):
        assert_same(library, sr.grad(f)(library.array(X)), sr.grad(f)(X))


@pytest.mark.parametrize("operator", ["jvp", "vjp", "jacfwd", "jacrev", "derivative"])
def test_inner_derivatives_that_only_depend_on_an_outer_float(operator, library):
    """They are numbers over plain arrays, until they are told whose derivatives they are."""

    def of(x):
        def slope(a):
            return sr.grad(lambda x: a * np.sum(x))(x)

        if operator == "jvp":
            return sr.jvp(slope, (2.0,), (1.0,))
        if operator == "vjp":
            y, pullback = sr.vjp(slope, 2.0)
            return y, pullback(x)
        return getattr(sr, operator)(slope)(2.0)

    assert_same(library, of(library.array(X)), of(X))


def test_derivatives_of_an_array_without_dimensions(library):
    def of(x, v):
        def f(t):
            return np.sin(t) * v

        return sr.derivative(f, 2)(x), sr.jacobian(f)(x), sr.grad(lambda t: t**3)(x), sr.taylor(np.exp, x, 2)

    scalar = np.array(0.5)
    found, expected = of(library.array(scalar), library.array(X)), of(scalar, X)
    assert_same(library, found, tuple(map(np.asarray, expected)))


def test_nothing_is_written_to(library):
    x, v = library.array(X), library.array(DIRECTION)
    for operator in OPERATORS.values():
        operator(rosenbrock, x, v)
    np.testing.assert_array_equal(library.plain(x), X)
    np.testing.assert_array_equal(library.plain(v), DIRECTION)


def test_results_are_the_users_to_write_to(library):
    x = library.array(X)
    y, pullback = sr.vjp(lambda x: x * np.exp(x), x)
    expected = library.plain(pullback(library.array(DIRECTION))[0])
    (x_bar,) = pullback(library.array(DIRECTION))
    for written in (x, y, x_bar):
        written[...] = 0.0
    np.testing.assert_array_equal(library.plain(pullback(library.array(DIRECTION))[0]), expected)


def test_two_gradients_do_not_share_memory(library):
    a_bar, b_bar = sr.grad(lambda a, b: np.sum(a + b), argnums=(0, 1))(library.array(X), library.array(X))
    a_bar[...] = 7.0
    np.testing.assert_array_equal(library.plain(b_bar), np.ones(5))


def test_an_answer_that_is_the_argument_is_a_copy(library):
    x = library.array(X)
    y, _ = sr.vjp(lambda x: x, x)
    y[...] = 0.0
    np.testing.assert_array_equal(library.plain(x), X)
    y, _ = sr.jvp(lambda x: x, (x,), (x,))
    y[...] = 0.0
    np.testing.assert_array_equal(library.plain(x), X)
