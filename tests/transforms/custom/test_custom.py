"""Functions with derivative rules of their own: which rule is used where, to any order, and what is checked."""

from __future__ import annotations

import copy
import gc
import itertools
import math
import pickle
import threading
import traceback
import weakref
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiftreset_ad import (
    ControlError,
    EscapedNumberError,
    fuse,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
    zeros,
)
from shiftreset_ad.transforms.checkpointing.checkpoint import checkpoint
from shiftreset_ad.transforms.custom import custom_derivative, custom_jvp, custom_vjp
from shiftreset_ad.transforms.taylor import taylor
from tests.transforms.custom.decorating import with_rules

examples = settings(
    max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)

KINDS = ("vjp", "jvp", "both")
X = np.array([1.5, -0.5, 2.0])


def slope_by_jvp(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


def slope_by_vjp(f):
    return lambda x: vjp(f, x)[1](1.0)[0]


def slope_by_linearize(f):
    """Forward mode, made by transposing reverse mode."""
    return lambda x: linearize(f, x)[1](1.0)


REVERSE = {"grad": grad, "vjp": slope_by_vjp, "jacrev": jacrev}
FORWARD = {"jvp": slope_by_jvp, "jacfwd": jacfwd, "linearize": slope_by_linearize}
SLOPES = REVERSE | FORWARD


def cube_of(kind):
    def cube_jvp(primals, tangents):
        return cube(*primals), 3.0 * primals[0] ** 2 * tangents[0]

    cube = with_rules(kind, lambda x: x**3, lambda x: (cube(x), x), lambda x, g: (3.0 * x**2 * g,), cube_jvp)
    return cube


# Orders and modes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("modes", [m for n in (1, 2, 3) for m in itertools.product(SLOPES, repeat=n)], ids="-".join)
def test_exact_rules_are_right_to_third_order_in_every_mix(kind, modes):
    f = cube_of(kind)
    for mode in modes:
        f = SLOPES[mode](f)
    assert f(2.0) == {1: 12.0, 2: 12.0, 3: 6.0}[len(modes)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("modes", [m for n in (1, 2, 3) for m in itertools.product(SLOPES, repeat=n)], ids="-".join)
def test_each_level_uses_the_rule_of_its_own_mode(kind, modes):
    """Rules that are wrong on purpose: they say that f' is f in reverse mode, and -f in forward mode."""

    def f_jvp(primals, tangents):
        y = f(*primals)
        return y, -y * tangents[0]

    def f_fwd(x):
        y = f(x)
        return y, y

    f = with_rules(kind, lambda x: x**3, f_fwd, lambda y, g: (y * g,), f_jvp)
    slope = f
    for mode in modes:
        slope = SLOPES[mode](slope)
    signs = {
        "vjp": [1.0] * len(modes),
        "jvp": [-1.0] * len(modes),
        "both": [1.0 if m in REVERSE else -1.0 for m in modes],
    }
    assert slope(2.0) == 8.0 * math.prod(signs[kind])


def test_the_code_of_a_rule_is_differentiated_where_it_does_not_call_the_function():
    """What JAX gives for the same definitions."""
    f = with_rules("vjp", lambda x: x**3, lambda x: (x**3, x), lambda x, g: (5.0 * x**2 * g,), None)
    assert (grad(f)(2.0), grad(grad(f))(2.0), grad(grad(grad(f)))(2.0)) == (20.0, 20.0, 10.0)
    g = with_rules("jvp", lambda x: x**3, None, None, lambda xs, ds: (xs[0] ** 3, 7.0 * xs[0] * ds[0]))
    assert (grad(g)(2.0), grad(grad(g))(2.0), slope_by_jvp(grad(g))(2.0), slope_by_jvp(slope_by_jvp(g))(2.0)) == (
        (14.0, 7.0, 7.0, 7.0)
    )


def test_the_rule_of_a_value_differs_from_the_code_of_fwd():
    """fwd's own code is differentiated by an outer derivative only, as its value is below the level of the call."""
    f = with_rules("vjp", lambda x: x**3, lambda x: (x**3, None), lambda _, g: (g,), None)
    assert grad(f)(2.0) == 1.0
    assert grad(lambda x: f(x) * f(x))(2.0) == 16.0
    assert grad(grad(lambda x: f(x) * f(x)))(2.0) == 2.0 * 12.0


@pytest.mark.parametrize("kind", KINDS)
def test_several_arguments_with_numbers_of_several_levels(kind):
    def f_jvp(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        return f(x, y), 2.0 * x * y * x_dot + x**2 * y_dot

    f = with_rules(
        kind,
        lambda x, y: x**2 * y,
        lambda x, y: (f(x, y), (x, y)),
        lambda res, g: (2.0 * res[0] * res[1] * g, res[0] ** 2 * g),
        f_jvp,
    )
    assert grad(lambda x: grad(lambda y: f(x, y))(5.0))(3.0) == 6.0
    assert grad(lambda y: grad(lambda x: f(x, y))(3.0))(5.0) == 6.0
    assert grad(lambda x: slope_by_jvp(lambda y: f(x, y) * x)(5.0))(3.0) == 27.0
    assert slope_by_jvp(lambda x: grad(lambda y: f(x, y) * x)(5.0))(3.0) == 27.0
    assert grad(lambda x: grad(lambda y: grad(lambda z: f(x * z, y * z))(2.0))(5.0))(3.0) == 72.0


def test_a_custom_function_inside_the_rules_of_another():
    cube = cube_of("both")
    f = with_rules(
        "both",
        lambda x: x**4,
        lambda x: (x * cube(x), x),
        lambda x, g: (4.0 * cube(x) * g,),
        lambda xs, ds: (xs[0] * cube(xs[0]), 4.0 * cube(xs[0]) * ds[0]),
    )
    for modes in itertools.product(SLOPES, repeat=2):
        assert SLOPES[modes[1]](SLOPES[modes[0]](f))(2.0) == 48.0


# Structures


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class Layer:
    weight: Any
    bias: Any
    name: str = "linear"


def layer_of(kind):
    """A function from and to structures, with integers, strings and None in them, and its rules."""

    def layer(layer, x, scale=2.0):
        y = layer.weight @ x["data"] + layer.bias
        return {"y": y * y, "count": x["count"], "note": None}, Pair(np.sum(y) * scale, layer.name)

    def fwd(parameters, x, scale):
        y = parameters.weight @ x["data"] + parameters.bias
        return f(parameters, x, scale), {"y": y, "of": (parameters, x), "scale": scale}

    def bwd(residuals, bars):
        (out, pair), (parameters, x) = bars, residuals["of"]
        assert out["count"] is None
        assert pair.second is None
        y_bar = 2.0 * residuals["y"] * out["y"] + residuals["scale"] * pair.first
        weight_bar = np.outer(y_bar, x["data"])
        x_bar = {"data": parameters.weight.T @ y_bar, "count": None}
        return Layer(weight_bar, y_bar, None), x_bar, np.sum(residuals["y"]) * pair.first

    def rule(primals, tangents):
        (parameters, x, scale), (parameters_dot, x_dot, scale_dot) = primals, tangents
        assert x_dot["count"] is None
        assert parameters_dot.name is None
        y = parameters.weight @ x["data"] + parameters.bias
        y_dot = parameters_dot.weight @ x["data"] + parameters.weight @ x_dot["data"] + parameters_dot.bias
        pair_dot = Pair(np.sum(y_dot) * scale + np.sum(y) * scale_dot, None)
        return f(parameters, x, scale), ({"y": 2.0 * y * y_dot, "count": None, "note": None}, pair_dot)

    f = with_rules(kind, layer, fwd, bwd, rule)
    return f, layer


def arguments_from(generator):
    m, n = generator.integers(1, 4, 2)
    parameters = Layer(generator.normal(size=(m, n)), generator.normal(size=m))
    return parameters, {"data": generator.normal(size=n), "count": 3}, float(generator.normal())


def tangents_from(generator, args):
    parameters, x, _ = args
    return (
        Layer(generator.normal(size=parameters.weight.shape), generator.normal(size=parameters.bias.shape), None),
        {"data": generator.normal(size=x["data"].shape), "count": None},
        float(generator.normal()),
    )


def numbers_in(structure):
    match structure:
        case dict():
            return [number for key in sorted(structure) for number in numbers_in(structure[key])]
        case tuple() | list():
            return [number for part in structure for number in numbers_in(part)]
        case Layer():
            return numbers_in([structure.weight, structure.bias])
        case float() | np.ndarray():
            return [structure]
    return []


def inner(us, vs):
    return sum(np.sum(u * v) for u, v in zip(numbers_in(us), numbers_in(vs), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@examples
@given(generator=generators)
def test_structures_in_both_modes(kind, generator):
    """<y_bar, J x_dot> = <J^T y_bar, x_dot>, and both are what the plain function gives."""
    f, plain = layer_of(kind)
    args = arguments_from(generator)
    tangents = tangents_from(generator, args)
    out, out_dot = jvp(f, args, tangents)
    assert out[0]["count"] == 3
    assert out[0]["note"] is None
    assert out[1].second == "linear"
    assert out_dot[0]["count"] is None
    cotangents = ({"y": generator.normal(size=out[0]["y"].shape), "count": None, "note": None}, Pair(0.5, None))
    (found, pullback), (expected, plain_pullback) = vjp(f, *args), vjp(plain, *args)
    for ours, theirs in (
        (found, expected),
        (out, expected),
        (out_dot, jvp(plain, args, tangents)[1]),
        (pullback(cotangents), plain_pullback(cotangents)),
        (pullback(cotangents), plain_pullback(cotangents)),
    ):
        for a, b in zip(numbers_in(ours), numbers_in(theirs), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    x_bars = pullback(cotangents)
    assert x_bars[1]["count"] is None
    assert x_bars[0].name is None
    np.testing.assert_allclose(inner(cotangents, out_dot), inner(x_bars, tangents), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_second_order_with_structures(kind):
    generator = np.random.default_rng(1)
    f, plain = layer_of(kind)
    args = arguments_from(generator)
    tangents = tangents_from(generator, args)

    def scalar(f):
        def loss(*args):
            out, pair = f(*args)
            return np.sum(out["y"] ** 2) * pair.first

        return loss

    found, expected = hvp(scalar(f), args, tangents), hvp(scalar(plain), args, tangents)
    for a, b in zip(numbers_in(found), numbers_in(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_argument_has_no_derivative_and_a_default_counts_as_an_argument(kind):
    f, plain = layer_of(kind)
    parameters, x, _ = arguments_from(np.random.default_rng(2))

    def loss(f):
        return lambda data: f(parameters, {"data": data, "count": 1})[1].first

    np.testing.assert_allclose(grad(loss(f))(x["data"]), grad(loss(plain))(x["data"]))
    np.testing.assert_allclose(jacfwd(loss(f))(x["data"]), grad(loss(plain))(x["data"]))


def test_an_answer_that_nobody_used_has_a_cotangent_of_zeros():
    seen = []

    def bwd(_, bars):
        seen.append(bars)
        return (bars[0] + np.sum(bars[1]),)

    f = with_rules("vjp", lambda x: (x, x * np.ones(3), 7), lambda x: ((x, x * np.ones(3), 7), None), bwd, None)
    assert grad(lambda x: f(x)[0])(2.0) == 1.0
    ((first, second, third),) = seen
    assert first == 1.0
    np.testing.assert_array_equal(second, np.zeros(3))
    assert third is None


def test_none_is_zero():
    f = with_rules("vjp", lambda x, y: x * y, lambda x, y: (x * y, y), lambda y, g: (y * g, None), None)
    assert grad(f, argnums=(0, 1))(2.0, 3.0) == (3.0, 0.0)
    nothing = with_rules("jvp", lambda x: x * 2.0, None, None, lambda xs, _: (xs[0] * 2.0, None))
    assert jvp(nothing, (2.0,), (1.0,)) == (4.0, 0.0)
    assert grad(nothing)(2.0) == 0.0
    part = with_rules(
        "both",
        lambda x: (x, x),
        lambda x: ((x, x), None),
        lambda _, g: (g[0],),
        lambda xs, ds: ((xs[0], xs[0]), (ds[0], None)),
    )
    assert jvp(part, (2.0,), (1.0,)) == ((2.0, 2.0), (1.0, 0.0))
    nested = with_rules("vjp", lambda p: p["a"], lambda p: (p["a"], None), lambda _, g: ({"a": g, "b": None},), None)
    assert grad(nested)({"a": 2.0, "b": 3.0}) == {"a": 1.0, "b": 0.0}


def test_a_value_without_numbers_is_a_constant():
    for kind in KINDS:
        f = with_rules(kind, lambda x: 3, lambda x: (3, None), lambda _, g: (None,), lambda xs, ds: (3, None))
        assert grad(lambda x, f=f: x * f(x))(2.0) == 3.0
        assert slope_by_jvp(lambda x, f=f: x * f(x))(2.0) == 3.0


@pytest.mark.parametrize("kind", KINDS)
def test_precision_is_that_of_the_argument(kind):
    f = with_rules(
        kind,
        lambda x: x * 2,
        lambda x: (x * 2, None),
        lambda _, g: (2 * g.astype(np.float64),),
        lambda xs, ds: (xs[0] * 2, 2 * ds[0].astype(np.float64)),
    )
    x = X.astype(np.float32)
    assert grad(lambda x: np.sum(f(x)))(x).dtype == np.float32
    assert jvp(f, (x,), (x,))[1].dtype == np.float32


@pytest.mark.parametrize("kind", KINDS)
def test_complex_numbers(kind):
    def rule(primals, tangents):
        return square(*primals), 2.0 * primals[0] * tangents[0]

    square = with_rules(kind, lambda z: z * z, lambda z: (square(z), z), lambda z, g: (2.0 * z * g,), rule)
    z = 1.0 + 2.0j
    assert grad(square, holomorphic=True)(z) == 2.0 * z
    assert jvp(square, (z,), (1.0j,))[1] == 2.0j * z
    plain = grad(lambda z: np.real((z * z) * (1.0 - 1.0j)))(z)
    np.testing.assert_allclose(grad(lambda z: np.real(square(z) * (1.0 - 1.0j)))(z), plain)


# Numbers that a function closes over


def closing(kind, c, factor=2.0):
    """x -> c x**2, with rules for x that say `factor` where 2 is right."""

    def f_jvp(primals, tangents):
        return f(*primals), factor * c * primals[0] * tangents[0]

    f = with_rules(kind, lambda x: c * x**2, lambda x: (c * x**2, x), lambda x, g: (factor * c * x * g,), f_jvp)
    return f


def closing_by_residual(c):
    """The same, with c among the residuals."""
    return with_rules(
        "vjp", lambda x: c * x**2, lambda x: (c * x**2, (c, x)), lambda r, g: (2.0 * r[0] * r[1] * g,), None
    )


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("kind", [*KINDS, "residual"])
def test_a_closure_over_a_number_of_the_same_derivative(kind, order):
    """h(x) = sin(x) (x**2)**2, where the function closes over sin(x)."""

    def h(x):
        c = np.sin(x)
        return (closing_by_residual(c) if kind == "residual" else closing(kind, c))(x**2)

    for modes in itertools.product(SLOPES, repeat=order):
        found, expected = h, lambda x: np.sin(x) * x**4
        for mode in modes:
            found, expected = SLOPES[mode](found), grad(expected)
        np.testing.assert_allclose(found(0.7), expected(0.7), rtol=1e-12, err_msg=str(modes))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", SLOPES)
def test_the_rule_is_for_the_argument_and_the_code_for_what_is_closed_over(kind, mode):
    found = SLOPES[mode](lambda x: closing(kind, 5.0 * x, factor=100.0)(x))(3.0)
    assert found == 5.0 * 3.0**2 + 100.0 * 5.0 * 3.0 * 3.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_closure_against_finite_differences(kind):
    def h(x):
        c = np.cumsum(x)

        def rule(primals, tangents):
            return f(*primals), np.cos(c * primals[0]) * c * tangents[0]

        f = with_rules(
            kind, lambda y: np.sin(c * y), lambda y: (np.sin(c * y), y), lambda y, g: (np.cos(c * y) * c * g,), rule
        )
        return np.sum(f(x * x) * x)

    direction, step = np.array([0.3, -1.0, 0.6]), 1e-5
    expected = (h(X + step * direction) - h(X - step * direction)) / (2 * step)
    np.testing.assert_allclose(grad(h)(X) @ direction, expected, rtol=1e-7)
    np.testing.assert_allclose(jvp(h, (X,), (direction,))[1], expected, rtol=1e-7)
    second = (grad(h)(X + step * direction) - grad(h)(X - step * direction)) / (2 * step)
    np.testing.assert_allclose(hvp(h, (X,), (direction,)), second, rtol=1e-6)
    np.testing.assert_allclose(hessian(h)(X) @ direction, second, rtol=1e-6)
    np.testing.assert_allclose(jacrev(grad(h))(X) @ direction, second, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outer", SLOPES)
@pytest.mark.parametrize("inner", SLOPES)
def test_a_closure_over_a_number_of_an_outer_derivative(kind, inner, outer):
    assert SLOPES[outer](lambda c: SLOPES[inner](closing(kind, c))(3.0))(5.0) == 6.0
    assert SLOPES[outer](lambda c: SLOPES[inner](lambda x: closing(kind, c * x)(x))(3.0))(5.0) == 27.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", SLOPES)
def test_a_closure_over_a_number_and_no_argument_that_is_one(kind, mode):
    assert SLOPES[mode](lambda c: closing(kind, c, factor=100.0)(3.0))(5.0) == 9.0


@pytest.mark.parametrize("kind", [*KINDS, "residual"])
@pytest.mark.parametrize("outer", SLOPES)
@pytest.mark.parametrize("inner", SLOPES)
def test_a_closure_over_a_number_of_an_inner_derivative(kind, inner, outer):
    """The rules are for the argument, though it belongs to the outer derivative, and the code for the other number."""

    def f(c):
        return closing_by_residual(c) if kind == "residual" else closing(kind, c)

    assert SLOPES[outer](lambda x: SLOPES[inner](lambda c: f(c)(x))(5.0))(3.0) == 6.0
    assert SLOPES[outer](lambda x: SLOPES[inner](lambda c: f(c * x)(x))(5.0))(3.0) == 27.0
    assert SLOPES[outer](lambda x: SLOPES[inner](lambda c: f(c * x)(x) ** 2)(5.0))(3.0) == 6 * 2 * 5.0 * 3.0**5
    if kind != "residual":
        by_rule = SLOPES[outer](lambda x: SLOPES[inner](lambda c: c * stopped(closing(kind, c, 100.0)(x)))(5.0))(3.0)
        assert by_rule == 100.0 * 5.0 * 3.0


def stopped(y):
    """The value without its own derivative in the innermost level, which the outer ones keep."""
    return y.primal


def test_three_levels_of_closures():
    def h(a):
        def of_b(b):
            def of_c(c):
                return closing("both", a * b * c)(a) + closing("vjp", b * c)(a * b) + closing("jvp", c)(a)

            return grad(of_c)(2.0)

        return slope_by_jvp(of_b)(3.0)

    def expected(a):  # the third mixed derivative of a**3 b c + a**2 b**3 c + a**2 c, in c, b and a
        return 3.0 * a**2 + 2.0 * a * 3.0 * 3.0**2

    assert grad(h)(5.0) == expected(5.0)
    assert slope_by_jvp(h)(5.0) == expected(5.0)


def test_a_tangent_that_closes_over_a_number_of_an_inner_derivative():
    def f(c):
        return with_rules("jvp", lambda x: x**2, None, None, lambda xs, ds: (xs[0] ** 2, c * ds[0]))

    assert slope_by_jvp(lambda x: grad(lambda c: f(c)(x) * c)(5.0))(3.0) == 5.0


def test_a_value_of_another_structure_than_that_of_the_function_is_an_error():
    def f(c):
        return with_rules("vjp", lambda x: (c * x, x), lambda x: (c * x, None), lambda _, g: (g,), None)

    with pytest.raises(TypeError, match="<lambda> returned 2 floating-point numbers, and its rule 1"):
        grad(lambda x: grad(lambda c: f(c)(x))(5.0))(3.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_closure_in_a_jacobian(kind):
    def h(x):
        return closing(kind, np.cumsum(x))(x * x)

    expected = jacobian(lambda x: np.cumsum(x) * (x * x) ** 2)(X)
    for operator in (jacobian, jacrev, jacfwd):
        np.testing.assert_allclose(operator(h)(X), expected, rtol=1e-12)


def test_a_residual_is_lowered_so_that_code_for_plain_floats_works():
    def h(x):
        c = np.sin(x)
        f = with_rules("vjp", lambda y: c * y, lambda y: (c * y, c), lambda c, g: (math.fabs(c) * g,), None)
        return f(x)

    assert grad(h)(0.5) == pytest.approx(math.sin(0.5) + 0.5 * math.cos(0.5))


def test_a_rule_that_closes_over_numbers_sees_those_of_one_level_below():
    left = []

    def h(x):
        c = np.sin(x)

        def bwd(y, g):
            left.append(c * y)
            return (math.fabs(c) * g,)

        return with_rules("vjp", lambda y: math.fabs(c) * y, lambda y: (math.fabs(c) * y, y), bwd, None)(x)

    with pytest.raises(TypeError, match=r"math\.fabs"):  # of the function's code, which has the derivative in c
        grad(h)(0.5)
    assert grad(lambda x: h(0.0) + x)(0.5) == 1.0


class Holder:
    """An object in which no number is found."""


def test_numbers_that_a_rule_leaves_elsewhere_cannot_be_used_later():
    left = []

    def h(x):
        held = Holder()
        held.c = np.sin(x)

        def bwd(y, g):
            left.append(held.c * y)
            return (held.c * g,)

        return with_rules("vjp", lambda y: held.c * y, lambda y: (held.c * y, y), bwd, None)(x)

    assert grad(h)(0.5) == pytest.approx(math.sin(0.5) + 0.5 * math.cos(0.5))
    with pytest.raises(EscapedNumberError):
        left[0] * 2.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_that_is_not_found_is_refused_where_its_array_has_changed(kind):
    """In an attribute of an object: after the call, it is what the program has made of it."""

    def h(x):
        held = Holder()
        held.c = x * 1.0
        held.c[0] = 5.0 * x[1]
        f = with_rules(
            kind,
            lambda z: z * held.c[0],
            lambda z: (z * held.c[0], None),
            lambda _, g: (g * held.c[0],),
            lambda xs, ds: (xs[0] * held.c[0], ds[0] * held.c[0]),
        )
        return f(x[1] * 1.0)

    x, direction = np.array([2.0, 3.0]), np.array([1.0, 10.0])
    assert grad(h)(x) @ direction == jvp(h, (x,), (direction,))[1] == 300.0
    with pytest.raises(EscapedNumberError, match="had written to the array of the number"):
        linearize(h, x)[1](direction)
    with pytest.raises(TypeError, match="in an attribute of an object"):
        taylor(lambda t: h(x + t * direction), 0.0, 2)
    assert grad(lambda x: x * x)(3.0) == 6.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_may_write_to_an_array_that_it_has_made(kind):
    """Below an inner derivative, where it is an array of the outer one."""

    def plain(z):
        y = np.zeros_like(z)
        y[0] = z[0] ** 3
        y[1] = z[0] * z[1]
        return y

    def bwd(z, g):
        z_bar = zeros(2)
        z_bar[0] = 3.0 * z[0] ** 2 * g[0] + z[1] * g[1]
        z_bar[1] = z[0] * g[1]
        return (z_bar,)

    def rule(primals, tangents):
        (z,), (z_dot,) = primals, tangents
        y_dot = zeros(2)
        y_dot[0] = 3.0 * z[0] ** 2 * z_dot[0]
        y_dot[1] = z[0] * z_dot[1] + z[1] * z_dot[0]
        return plain(z), y_dot

    f = with_rules(kind, plain, lambda z: (plain(z), z), bwd, rule)
    x = np.array([2.0, 3.0])
    for modes in itertools.product((jacrev, jacfwd, jacobian), repeat=2):
        found, expected = (lambda x: f(x) * x), (lambda x: np.stack([x[0] ** 4, x[0] * x[1] ** 2]))
        for mode in modes:
            found, expected = mode(found), jacfwd(expected)
        np.testing.assert_allclose(found(x), expected(x), rtol=1e-12, err_msg=str(modes))


def with_scalar_arrays(x):
    y = np.add(x[0], x[1], out=zeros(()))
    return x * y


def with_windows(x):
    y = x * 1.0
    windows = np.lib.stride_tricks.sliding_window_view(y, 2)
    y[1] = y[0] * windows[0, 1]
    return windows[1] * windows[0]


def with_checkpoints(x):
    y = zeros(2)
    y[:] = checkpoint(lambda z: np.zeros_like(z) + np.sin(z) * x)(x[:2])
    return y * fuse(lambda z: np.sum(zeros(2) + z * y))(y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("f", [with_scalar_arrays, with_windows, with_checkpoints])
def test_rules_made_by_the_operators_of_any_function(f, kind):
    ruled = with_rules(kind, f, lambda x: vjp(f, x), lambda pullback, g: pullback(g), lambda xs, ds: jvp(f, xs, ds))
    x = np.array([0.7, 1.3, -0.4])[: 3 if f is with_windows else 2]
    for operator in (jacrev, jacfwd, jacobian):
        np.testing.assert_allclose(operator(ruled)(x), operator(f)(x), rtol=1e-12)
    for operator in itertools.product((jacrev, jacfwd), repeat=2):
        np.testing.assert_allclose(operator[0](operator[1](ruled))(x), jacfwd(jacfwd(f))(x), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_may_not_write_to_what_it_is_given(kind):
    def written(c, z):
        c[0] = 1.0
        return z * c[0]

    def of(c):
        return with_rules(
            kind,
            lambda z: written(c, z),
            lambda z: (written(c, z), None),
            lambda _, g: (g * c[0],),
            lambda xs, ds: (written(c, xs[0]), ds[0] * c[0]),
        )

    def h(x):
        return of(x * 1.0)(x[1])

    for derivative in (grad(h), jacfwd(h)):
        with pytest.raises(ValueError, match="read-only"):
            derivative(np.array([2.0, 3.0]))
    with pytest.raises(TypeError, match="the memory of x belongs to an argument of a function with a rule"):
        grad(lambda x: grad(lambda z: of(x * 1.0)(z))(3.0))(np.array([2.0, 3.0]))


def test_a_variable_that_rules_assign_to_is_theirs():
    count = 0

    def h(x):
        c = 2.0 * x

        def bwd(z, g):
            nonlocal count
            count += 1
            return (c * g,)

        f = with_rules("vjp", lambda z: c * z, lambda z: (c * z, z), bwd, None)
        return f(f(x))

    _, pullback = vjp(h, 3.0)
    assert pullback(1.0) == pullback(1.0) == (12.0 * 9.0,)
    assert count == 4


def test_a_number_that_rules_assign_to_a_variable_is_refused():
    def h(x):
        total = 0.0 * x

        def code(z):
            nonlocal total
            total = total + z
            return 2.0 * z

        return with_rules("vjp", code, lambda z: (code(z), None), lambda _, g: (2.0 * g,), None)(x) + total

    with pytest.raises(ControlError, match="assigns to 'total', which holds a number"):
        grad(h)(3.0)


def test_a_residual_that_is_a_function_keeps_what_it_closes_over():
    def h(x):
        c = x * 1.0
        f = with_rules("vjp", lambda z: z * c[0], lambda z: (z * c[0], lambda g: g * c[0]), lambda r, g: (r(g),), None)
        c[0] = 5.0 * x[1]
        y = f(x[1])
        c[0] = 0.0
        return y

    x, direction = np.array([2.0, 3.0]), np.array([1.0, 10.0])
    assert grad(h)(x) @ direction == linearize(h, x)[1](direction) == 300.0


def test_a_checkpoint_finds_what_a_custom_function_closes_over():
    assert grad(lambda x: checkpoint(lambda z: closing("both", x)(z))(x))(3.0) == 27.0


# Many directions at once


@pytest.mark.parametrize("operator", [jacobian, jacrev, jacfwd])
def test_rules_see_one_direction_at_a_time(operator):
    """The rules take the value of the direction, which many at once do not have."""
    directions = []

    def bwd(x, g):
        directions.append(tuple(map(float, g)))
        return (np.array([math.sin(g_i) if g_i != 0 else 0.0 for g_i in g]) * x,)

    def rule(primals, tangents):
        directions.append(tuple(map(float, tangents[0])))
        return primals[0] * 2.0, np.array([math.sin(d) if d != 0 else 0.0 for d in tangents[0]]) * primals[0]

    f = with_rules("both", lambda x: x * 2.0, lambda x: (x * 2.0, x), bwd, rule)
    np.testing.assert_array_equal(operator(f)(X), np.diag(math.sin(1.0) * X))
    assert sorted(directions) == sorted(map(tuple, np.eye(3)))


def test_directions_that_are_written_to_are_the_rules_own():
    def bwd(_, g):
        g *= 2.0
        return (g,)

    f = with_rules("vjp", lambda x: 2.0 * x, lambda x: (2.0 * x, None), bwd, None)
    np.testing.assert_array_equal(jacrev(lambda x: f(x) + x)(X), np.diag([3.0] * 3))
    np.testing.assert_array_equal(grad(lambda x: np.sum(f(x)) + np.sum(x))(X), [3.0] * 3)


def test_some_rows_may_be_none():
    f = with_rules("vjp", lambda x: x, lambda x: (+x, None), lambda _, g: (None if float(g[0]) else g,), None)
    np.testing.assert_array_equal(jacrev(f)(X), np.diag([0.0, 1.0, 1.0]))
    nothing = with_rules("vjp", lambda x: x, lambda x: (+x, None), lambda _, g: (None,), None)
    np.testing.assert_array_equal(jacrev(nothing)(X), np.zeros((3, 3)))


@pytest.mark.parametrize("kind", KINDS)
def test_hessians(kind):
    f = cube_of(kind)
    for operator in (hessian, lambda f: jacrev(jacrev(f)), lambda f: jacfwd(jacfwd(f)), lambda f: jacrev(jacfwd(f))):
        np.testing.assert_allclose(operator(lambda x: np.sum(f(x) * x))(X), np.diag(12.0 * X**2))
    np.testing.assert_allclose(jacfwd(hessian(lambda x: np.sum(f(x))))(X)[1, 1], [0.0, 6.0, 0.0])


# A mode that is derived from the rule of the other


@pytest.mark.parametrize(
    "operation",
    [
        lambda d: np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0]]) @ d,
        lambda d: np.where(X > 0, d, -d),
        lambda d: np.stack([d[2], d[0] / 3.0]),
        lambda d: d[::2].reshape(1, 2) * np.ones((3, 2)),
        lambda d: np.sum(d * X) + np.mean(d),
        lambda d: np.cumsum(d) * d.shape[0] * d.size,
        lambda d: np.concatenate([d, np.full(2, 0.0)]),
        lambda d: np.einsum("i,j->ij", X, d),
        lambda d: np.einsum("ij,j->i", np.outer(X, X), d),
        lambda d: d * len(d) + np.zeros_like(d) + np.ndim(d) * np.reshape(d, np.shape(d)),
        lambda d: d * (np.ndim(a=d) + np.size(a=d) + np.isrealobj(x=d) + np.iscomplexobj(d)),
        lambda d: np.stack([2.0 * part for part in d]),
        lambda d: np.stack([*np.split(d, 3)][::-1]),
        lambda d: d * [1.0, 2.0, 3.0] if repr(d) else d,
        lambda d: np.flip(np.roll(d, 1)) - d[[0, 0, 2]],
    ],
)
def test_transposes_of_linear_code(operation):
    linear = with_rules("jvp", operation, None, None, lambda xs, ds: (operation(xs[0]), operation(ds[0])))
    np.testing.assert_allclose(jacrev(linear)(X), jacrev(operation)(X))
    np.testing.assert_allclose(jacfwd(linear)(X), jacrev(operation)(X))

    def bwd(_, g):
        return (vjp(operation, X)[1](g)[0],)

    transposed = with_rules("vjp", operation, lambda x: (operation(x), None), bwd, None)
    np.testing.assert_allclose(jacfwd(transposed)(X), jacrev(operation)(X))
    np.testing.assert_allclose(jacrev(transposed)(X), jacrev(operation)(X))


NOT_LINEAR = {
    "cube": lambda d: d**3,
    "clip": lambda d: np.clip(d, -1.0, 1.0),
    "branch": lambda d: d if np.any(d) else 0.0 * d,
    "iteration": lambda d: next(d * k for k in range(1, 9) if float(np.sum(np.abs(d))) < k),
    "product": lambda d: d * d[0],
    "affine": lambda d: d + 1.0,
    "constant": lambda d: np.ones(3),
    "sine": np.sin,
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_a_rule_that_is_not_linear_cannot_be_transposed(name):
    """It is an error that says so, and not a derivative at zero."""
    operation = NOT_LINEAR[name]

    def its_rule(primals, tangents):
        return +primals[0], operation(tangents[0])

    def its_bwd(_, g):
        return (operation(g),)

    f = with_rules("jvp", lambda x: +x, None, None, its_rule)
    with pytest.raises(TypeError) as caught:
        grad(lambda x: np.sum(f(x)))(X)
    said = "".join(traceback.format_exception(caught.value))
    assert "Reverse mode of <lambda> is derived from its_rule" in said
    assert "defvjp(fwd, bwd)" in said
    g = with_rules("vjp", lambda x: +x, lambda x: (+x, None), its_bwd, None)
    with pytest.raises(TypeError) as caught:
        jvp(g, (X,), (X,))
    said = "".join(traceback.format_exception(caught.value))
    assert "Forward mode of <lambda> is derived from its_bwd" in said
    assert "defjvp(rule)" in said


@pytest.mark.parametrize("kind", KINDS)
def test_tall_jacobians_and_linearizations_use_the_rule_for_forward_mode(kind):
    """They transpose the way back; bwd is not called at a cotangent of zero, where this one would give up."""

    def bwd(x, g):
        return (g * 2.0 * x if np.any(g) else 0.0 * g,)

    def rule(primals, tangents):
        return square(*primals), 2.0 * primals[0] * tangents[0]

    square = with_rules(kind, lambda x: x * x, lambda x: (x * x, x), bwd, rule)

    def tall(x):
        y = square(x)
        return np.concatenate([y, 3.0 * y])

    if kind == "vjp":
        with pytest.raises(TypeError, match=r"the value of a tangent or cotangent was asked for by numpy\.any"):
            jacobian(tall)(X)
        with pytest.raises(TypeError, match=r"the value of a tangent or cotangent was asked for by numpy\.any"):
            linearize(tall, X)[1](X)
    else:
        np.testing.assert_allclose(jacobian(tall)(X), np.concatenate([np.diag(2.0 * X), np.diag(6.0 * X)]))
        np.testing.assert_allclose(linearize(tall, X)[1](X), np.concatenate([2.0 * X**2, 6.0 * X**2]))
        np.testing.assert_allclose(hessian(lambda x: np.sum(tall(x)))(X), 8.0 * np.eye(3))
    np.testing.assert_allclose(jacrev(tall)(X), np.concatenate([np.diag(2.0 * X), np.diag(6.0 * X)]))


def test_a_pullback_is_differentiated_at_zero_as_anywhere_else():
    """Only a recording goes by the linear map there; bwd of this one is linear near zero, and not everywhere."""
    clip = with_rules("vjp", lambda x: x, lambda x: (x, None), lambda _, g: (np.clip(g, -1.0, 1.0),), None)
    _, pullback = vjp(clip, 3.0)
    assert [grad(lambda g: pullback(g)[0])(g) for g in (0.0, 0.5, 2.0)] == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tall_jacobian_of_a_closure(kind):
    def h(x):
        y = closing(kind, np.cumsum(x))(x * x)
        return np.concatenate([y, x])

    np.testing.assert_allclose(jacobian(h)(X), jacrev(h)(X), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_rule_for_forward_mode_is_used_later_on_arrays_as_they_were(kind):
    """In the transpose of the way back, where the program has written to its buffer meanwhile."""

    def rule(primals, tangents):
        return primals[0] * primals[1], tangents[0] * primals[1] + primals[0] * tangents[1]

    f = with_rules(kind, lambda x, a: x * a, lambda x, a: (x * a, (x, a)), lambda r, g: (r[1] * g, r[0] * g), rule)

    def h(x):
        buffer, total = np.zeros(3), 0.0
        for k in (1.0, 2.0, 3.0):
            buffer[:] = k
            total = total + f(x, buffer)
        return total

    np.testing.assert_array_equal(linearize(h, X)[1](np.ones(3)), [6.0] * 3)


def test_the_derivative_of_a_pullback_in_the_cotangent_is_that_of_the_code():
    f = with_rules("vjp", lambda x: x, lambda x: (x, None), lambda _, g: (np.clip(g, -1.0, 1.0),), None)
    _, pullback = vjp(f, 3.0)
    assert grad(lambda g: pullback(g)[0])(0.5) == 1.0
    assert grad(lambda g: pullback(g)[0])(5.0) == 0.0
    assert slope_by_jvp(lambda g: pullback(g)[0])(5.0) == 0.0


def test_zero_times_infinity_does_not_make_a_rule_nonlinear():
    f = with_rules("jvp", np.sqrt, None, None, lambda xs, ds: (np.sqrt(xs[0]), 0.5 / np.sqrt(xs[0]) * ds[0]))
    with np.errstate(divide="ignore", invalid="ignore"):
        np.testing.assert_array_equal(grad(lambda x: np.sum(f(x)))(np.array([0.0, 4.0])), [np.inf, 0.25])
    slope = np.array([np.inf, 1.0])  # and there is no warning
    g = with_rules("jvp", lambda x: x, None, None, lambda xs, ds: (xs[0], slope * ds[0]))
    np.testing.assert_array_equal(grad(lambda x: np.sum(g(x)))(np.zeros(2)), slope)


@pytest.mark.parametrize("when", ["in fwd", "in bwd"])
def test_a_rule_that_goes_back_through_another_custom_function_is_transposed(when):
    square = with_rules("vjp", lambda x: x * x, lambda x: (x * x, x), lambda x, g: (2.0 * x * g,), None)

    def inner(x):
        return np.sin(square(x))

    if when == "in fwd":
        f = with_rules("vjp", inner, lambda x: vjp(inner, x), lambda pullback, g: pullback(g), None)
    else:
        f = with_rules("vjp", inner, lambda x: (inner(x), x), lambda x, g: vjp(inner, x)[1](g), None)
    for slope in SLOPES.values():
        assert slope(f)(0.7) == pytest.approx(1.4 * np.cos(0.49))
        assert slope(slope_by_jvp(f))(0.7) == pytest.approx(2 * np.cos(0.49) - 4 * 0.49 * np.sin(0.49))


def test_a_value_that_depends_on_the_tangents_is_an_error():
    f = with_rules("jvp", lambda x: x, None, None, lambda xs, ds: (xs[0] + ds[0], ds[0]))
    with pytest.raises(TypeError, match="the value that <lambda> returned depends on the tangents"):
        grad(f)(1.0)


# What the rules return is checked


def from_rules(f=lambda x, y: x * y, fwd=None, bwd=None, rule=None):
    """The gradient of a function `f` that is called `product`, with one rule that is wrong."""

    def product(x, y):
        return f(x, y)

    custom = custom_derivative(product)
    if rule is not None:
        custom.defjvp(rule)
    else:
        custom.defvjp(fwd or (lambda x, y: (f(x, y), None)), bwd or (lambda _, g: (g, g)))
    return custom


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        ({"fwd": lambda x, y: x * y}, TypeError, r"product: <lambda> must return a tuple \(value, residuals\)"),
        ({"fwd": lambda x, y: (x, y, 1)}, TypeError, r"must return a tuple \(value, residuals\)"),
        ({"fwd": lambda x, y: None}, TypeError, "and it returned None"),
        ({"bwd": lambda _, g: g}, TypeError, r"one cotangent for each differentiable argument, \(x_bar, y_bar,\)"),
        ({"bwd": lambda _, g: (g,)}, TypeError, r"product: <lambda> must return .* and it returned \(1"),
        ({"bwd": lambda _, g: (g, g, g)}, TypeError, "one cotangent for each"),
        ({"bwd": lambda _, g: None}, TypeError, "one cotangent for each"),
        ({"bwd": lambda _, g: (g, [g])}, TypeError, "the cotangent of y is of type list"),
        ({"bwd": lambda _, g: (g, np.ones(2))}, ValueError, r"the cotangent of y has shape \(2,\), .* which is \(\)"),
        ({"bwd": lambda _, g: (1j * g, g)}, TypeError, "the cotangent of x is complex, .* give its real part"),
        ({"bwd": lambda _, g: (g, "g")}, TypeError, "the cotangent of y is of type str"),
        ({"bwd": lambda _, g: (g, 1)}, TypeError, r"the cotangent of y is an integer .* convert it"),
    ],
)
def test_errors_of_a_rule_for_reverse_mode(rules, error, message):
    with pytest.raises(error, match=message):
        grad(from_rules(**rules))(2.0, 3.0)
    assert grad(lambda x: x * x)(3.0) == 6.0


@pytest.mark.parametrize("operator", [grad, slope_by_jvp])
@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (lambda xs, ds: xs[0], TypeError, r"product: <lambda> must return a tuple \(value, tangent\)"),
        (lambda xs, ds: (1.0, 2.0, 3.0), TypeError, r"\(value, tangent\), and it returned"),
        (lambda xs, ds: (xs[0], [ds[0]]), TypeError, "the tangent is of type list"),
        (lambda xs, ds: ([xs[0]], ds[0]), TypeError, "the tangent must have the structure of the value"),
        (lambda xs, ds: (xs[0], ds[0] * np.ones(2)), ValueError, r"the tangent has shape \(2,\), .* which is \(\)"),
        (lambda xs, ds: (xs[0], 1j * ds[0]), TypeError, "the tangent is complex"),
        (lambda xs, ds: ((xs[0], 3), (ds[0], ds[0])), TypeError, r"the tangent\[1\] belongs to 3, .* give None"),
        (lambda xs, ds: (xs[0], "x"), TypeError, "the tangent is of type str"),
    ],
)
def test_errors_of_a_rule_for_forward_mode(operator, rule, error, message):
    product = from_rules(rule=rule)
    with pytest.raises(error, match=message):
        operator(lambda x: product(x, 3.0))(2.0)


def test_errors_name_the_place_in_a_structure():
    f = custom_vjp(lambda parameters: np.sum(parameters["w"][0]))
    f.defvjp(lambda p: (np.sum(p["w"][0]), None), lambda _, g: ({"w": [np.ones(2)], "n": 1.0},))
    with pytest.raises(ValueError, match=r"the cotangent of parameters\['w'\]\[0\] has shape \(2,\).* \(3,\)"):
        grad(f)({"w": [X], "n": 2.0})
    with pytest.raises(TypeError, match="the cotangent of parameters must have the structure of the argument"):
        grad(f)({"w": (X,), "n": 2.0})
    with pytest.raises(TypeError, match=r"the cotangent of parameters\['n'\] belongs to 2, which has no derivative"):
        grad(f)({"w": [X], "n": 2})


@pytest.mark.parametrize("decorator", [custom_vjp, custom_jvp, custom_derivative])
def test_errors_of_the_definition(decorator):
    name = decorator.__name__

    @decorator
    def f(x, y=1.0):
        return x * y

    assert f(2.0) == 2.0
    for operator in (grad, slope_by_jvp, lambda f: taylor(f, 2.0, 2)):
        with pytest.raises(NotImplementedError, match=r"f is declared .*f\.defvjp\(fwd, bwd\) or f\.defjvp\(rule\)"):
            operator(f)(2.0) if operator is not None else None
    with pytest.raises(TypeError, match=f"{name}: the function is 3, which cannot be called; write @{name}"):
        decorator(3)
    with pytest.raises(TypeError, match=r"f\.defvjp: a rule is a function, and None was given"):
        f.defvjp(lambda x, y: (x, y), None)
    with pytest.raises(TypeError, match=r"f\.defjvp: a rule is a function, and 3 was given"):
        f.defjvp(3)
    with pytest.raises(TypeError, match=r"f\.defjvps: a rule is a function, and 3 was given"):
        f.defjvps(None, 3)
    with pytest.raises(TypeError, match=rf"{name}\(<lambda>\): nondiff_argnums names argument 2, .* has 1"):
        decorator(lambda x: x, nondiff_argnums=2)
    with pytest.raises(TypeError, match=rf"{name}\(<lambda>\): nondiff_argnames names 'z', .* x, y"):
        decorator(lambda x, y: x, nondiff_argnames=("z",))
    with pytest.raises(TypeError, match="integer"):
        decorator(lambda x: x, nondiff_argnums="x")


def test_errors_of_a_call():
    f = custom_vjp(lambda x, *, power=2: x**power)
    f.defvjp(lambda x: (x**2, x), lambda x, g: (2 * x * g,))
    assert grad(f)(3.0) == 6.0
    with pytest.raises(TypeError, match="power can be given by name only, and rules get arguments by position"):
        f(3.0, power=3)
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        f()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        f(3.0, z=1)


def test_defjvps_with_another_number_of_rules_is_an_error():
    f = custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda x_dot, value, x, y: x_dot * y)
    with pytest.raises(TypeError, match=r"defjvps was given 1 rules, and 2 differentiable arguments"):
        grad(f)(2.0, 3.0)


# Arguments


@pytest.mark.parametrize(
    "options",
    [
        {"nondiff_argnums": (1,)},
        {"nondiff_argnums": 1},
        {"nondiff_argnames": "kind"},
        {"nondiff_argnames": ["kind"]},
        {"nondiff_argnums": -2},
    ],
)
@pytest.mark.parametrize("decorator", [custom_vjp, custom_jvp, custom_derivative])
def test_arguments_without_derivative(decorator, options):
    @decorator(**options)
    def f(x, kind, scale=1.0):
        return {"sin": np.sin, "cos": np.cos}[kind](x) * scale

    slope = {"sin": np.cos, "cos": lambda x: -np.sin(x)}
    if decorator is not custom_jvp:
        f.defvjp(
            lambda x, kind, scale: (f(x, kind, scale), (x, scale)),
            lambda kind, res, g: (slope[kind](res[0]) * res[1] * g, np.sum(f(res[0], kind) * g)),
        )
    if decorator is not custom_vjp:
        f.defjvp(
            lambda kind, xs, ds: (f(xs[0], kind, xs[1]), slope[kind](xs[0]) * xs[1] * ds[0] + f(xs[0], kind) * ds[1])
        )
    for x in (0.3, X):
        for kind in ("sin", "cos"):
            expected = slope[kind](x)
            for call in (
                lambda x, kind=kind: np.sum(f(x, kind)),
                lambda x, kind=kind: np.sum(f(x, kind=kind)),
                lambda x, kind=kind: np.sum(f(scale=1.0, kind=kind, x=x)),
            ):
                np.testing.assert_allclose(grad(call)(x), expected)
                np.testing.assert_allclose(jacfwd(call)(x), expected)
    assert grad(lambda s: f(0.3, "sin", s))(2.0) == np.sin(0.3)
    assert slope_by_jvp(grad(lambda x: f(x, "sin")))(0.3) == pytest.approx(-np.sin(0.3))


def test_a_number_in_an_argument_without_derivative_is_as_one_closed_over():
    f = custom_vjp(lambda c, x: c * x**2, nondiff_argnums=0)
    f.defvjp(lambda c, x: (c * x**2, x), lambda c, x, g: (2.0 * c * x * g,))
    assert grad(lambda x: f(5.0 * x, x))(3.0) == 3 * 5.0 * 9.0
    assert slope_by_jvp(lambda x: f(5.0 * x, x))(3.0) == 3 * 5.0 * 9.0


def test_defjvps():
    @custom_jvp
    def f(x, y, n):
        return np.sin(x) * y["a"] * n

    f.defjvps(
        lambda x_dot, value, x, y, n: np.cos(x) * x_dot * y["a"] * n,
        lambda y_dot, value, x, y, n: np.sin(x) * y_dot["a"] * n,
        None,
    )
    assert grad(f, argnums=(0, 1))(0.3, {"a": 2.0}, 3) == (np.cos(0.3) * 6.0, {"a": np.sin(0.3) * 3})
    assert slope_by_jvp(slope_by_jvp(lambda x: f(x, {"a": 2.0}, 3)))(0.3) == pytest.approx(-6.0 * np.sin(0.3))

    constant = custom_jvp(lambda mode, x, y: x * y, nondiff_argnums=0)
    constant.defjvps(lambda x_dot, value, mode, x, y: x_dot * y, None)
    assert grad(constant, argnums=(1, 2))("mode", 2.0, 3.0) == (3.0, 0.0)
    constant.defjvps(None, None)
    assert jvp(partial(constant, "mode"), (2.0, 3.0), (1.0, 1.0)) == (6.0, 0.0)


def test_any_number_of_arguments():
    total = custom_vjp(lambda first, *rest: first + sum(rest), nondiff_argnums=3)
    total.defvjp(lambda *xs: (xs[0] + sum(xs[1:]), len(xs)), lambda third, n, g: (g,) * (n - 1))
    assert grad(total, argnums=(0, 1, 2))(1.0, 2.0, 3.0, 4.0) == (1.0, 1.0, 1.0)
    few = custom_vjp(lambda *xs: sum(xs))
    few.defvjp(lambda *xs: (sum(xs), None), lambda _, g: (g, np.ones(3)))
    with pytest.raises(ValueError, match=r"the cotangent of xs\[1\] has shape"):
        grad(few)(1.0, 2.0)


def test_functions_without_a_signature():
    f = custom_jvp(math.hypot)
    f.defjvp(lambda xs, ds: (f(*xs), (xs[0] * ds[0] + xs[1] * ds[1]) / f(*xs)))
    assert f(3.0, 4.0) == 5.0
    assert slope_by_jvp(lambda x: f(x, 4.0))(3.0) == 0.6


def test_it_looks_like_the_function_it_decorates():
    @custom_vjp
    def f(x: float) -> float:
        """Doc."""
        return x

    assert (f.__name__, f.__doc__, f.__wrapped__(2.0), f.__module__) == ("f", "Doc.", 2.0, __name__)
    assert f.__qualname__.endswith("<locals>.f")


@custom_vjp
def doubled(x):
    return 2.0 * x


doubled.defvjp(lambda x: (2.0 * x, None), lambda _, g: (2.0 * g,))


def test_it_is_pickled_by_name_as_a_function_is():
    for protocol in range(4, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(doubled, protocol)) is doubled
    assert copy.deepcopy({"f": doubled})["f"] is doubled


class Model:
    def __init__(self, power):
        self.power = power

    @custom_derivative
    def raised(self, x):
        """x to this power."""
        return x**self.power

    raised.defvjp(lambda self, x: (self.raised(x), x), lambda self, x, g: (self.power * x ** (self.power - 1) * g,))
    raised.defjvp(lambda self, xs, ds: (self.raised(*xs), self.power * xs[0] ** (self.power - 1) * ds[0]))

    @staticmethod
    @custom_jvp
    def tripled(x):
        return 3.0 * x

    tripled.__wrapped__.defjvp(lambda xs, ds: (3.0 * xs[0], 3.0 * ds[0]))

    @classmethod
    @custom_jvp
    def halved(cls, x):
        return x / 2.0

    halved.__wrapped__.defjvp(lambda cls, xs, ds: (xs[0] / 2.0, ds[0] / 2.0))


def test_methods():
    model = Model(3)
    assert model.raised(2.0) == 8.0
    for slope in SLOPES.values():
        assert slope(model.raised)(2.0) == 12.0
        assert slope(lambda x: Model.raised(model, x))(2.0) == 12.0
        assert slope(slope(model.raised))(2.0) == 12.0
        assert slope(model.tripled)(2.0) == 3.0
        assert slope(Model.halved)(2.0) == 0.5
    assert Model.raised.__doc__ == "x to this power."


@dataclass
class Line:
    slope: Any
    name: str = "line"

    @custom_vjp
    def at(self, x):
        return self.slope * x

    at.defvjp(lambda self, x: (self.slope * x, (self.slope, x)), lambda r, g: (Line(r[1] * g, None), r[0] * g))


def test_self_with_numbers_in_it_is_a_differentiable_argument():
    assert grad(lambda line, x: line.at(x), argnums=(0, 1))(Line(2.0), 3.0) == (Line(3.0, None), 2.0)
    assert grad(lambda line: line.at(3.0))(Line(2.0)) == Line(3.0, None)


# State


def test_a_pullback_called_many_times():
    calls = []

    def bwd(x, g):
        calls.append(g)
        return (2.0 * x * g,)

    f = with_rules("vjp", lambda x: x * x, lambda x: (x * x, x), bwd, None)
    _, pullback = vjp(lambda x: f(f(x)), X)
    for scale in (1.0, 2.0, 1.0):
        np.testing.assert_allclose(pullback(np.full(3, scale))[0], 4.0 * X**3 * scale)
    assert len(calls) == 6
    g = cube_of("jvp")
    _, pullback = vjp(lambda x: g(g(x)), 1.5)
    assert pullback(1.0) == pullback(1.0)
    assert pullback(1.0)[0] == pytest.approx(9.0 * 1.5**8)


def test_residuals_are_not_written_to():
    def bwd(x, g):
        x *= 2.0
        return (x * g,)

    f = with_rules("vjp", lambda x: x * x, lambda x: (x * x, x.copy()), bwd, None)
    _, pullback = vjp(f, X)
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            pullback(np.ones(3))


@pytest.mark.parametrize("kind", KINDS)
def test_constant_arrays_may_change_after_the_call(kind):
    def rule(primals, tangents):
        x, a = primals
        return x * a, tangents[0] * a + x * tangents[1]

    f = with_rules(kind, lambda x, a: x * a, lambda x, a: (x * a, (x, a)), lambda r, g: (r[1] * g, r[0] * g), rule)
    named = custom_vjp(lambda a, x: a * x, nondiff_argnums=0)
    named.defvjp(lambda a, x: (a * x, None), lambda a, _, g: (a * g,))

    def h(x):
        buffer, total = np.zeros(3), 0.0
        for k in (1.0, 2.0, 3.0):
            buffer[:] = k
            total = total + np.sum(f(x, buffer)) + np.sum(named(buffer, x))
        return total

    np.testing.assert_array_equal(grad(h)(X), [12.0] * 3)


def test_derivatives_that_a_rule_writes_to_again():
    """A rule may use one buffer for all its answers."""
    buffer = np.zeros(3)

    def bwd(k, g):
        np.multiply(g, k, out=buffer)
        return (buffer, None)

    def rule(primals, tangents):
        np.multiply(tangents[0], primals[1], out=buffer)
        return primals[0] * primals[1], buffer

    f = with_rules("both", lambda x, k: x * k, lambda x, k: (x * k, k), bwd, rule)
    np.testing.assert_array_equal(grad(lambda x: np.sum(f(x, 2.0)) + np.sum(f(x, 3.0)))(X), [5.0] * 3)
    np.testing.assert_array_equal(jvp(lambda x: f(x, 2.0) + f(x, 3.0), (X,), (np.ones(3),))[1], [5.0] * 3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_value_can_be_added_to_in_place(kind):
    def rule(primals, tangents):
        return 2.0 * primals[0], 2.0 * tangents[0]

    f = with_rules(kind, lambda x: 2.0 * x, lambda x: (2.0 * x, None), lambda _, g: (2.0 * g,), rule)

    def h(x):
        y = f(x)
        y += x
        return np.sum(y * y)

    np.testing.assert_allclose(grad(h)(X), 18.0 * X)


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_checkpoint(kind):
    f = cube_of(kind)
    np.testing.assert_allclose(
        grad(lambda x: np.sum(checkpoint(lambda x: np.sin(f(x)))(x)))(X), 3 * X**2 * np.cos(X**3)
    )


class Token:
    """A residual whose end can be seen."""


def test_residuals_go_with_their_operation():
    tokens: list[weakref.ref[Token]] = []
    alive: list[int] = []

    def fwd(x):
        token = Token()
        tokens.append(weakref.ref(token))
        return x * 2.0, token

    def bwd(token, g):
        alive.append(sum(t() is not None for t in tokens))
        return (2.0 * g,)

    f = with_rules("vjp", lambda x: x * 2.0, fwd, bwd, None)
    gc.disable()
    try:
        assert grad(lambda x: f(f(f(x))))(1.0) == 8.0
        assert alive == [3, 2, 1]
        assert [t() for t in tokens] == [None] * 3
    finally:
        gc.enable()


@pytest.mark.parametrize("where", ["fwd", "bwd", "rule", "f"])
def test_errors_of_the_rules_are_the_users_and_nothing_is_left_behind(where):
    class OwnError(Exception):
        pass

    def fails(name, answer):
        def function(*args):
            if name == where:
                raise OwnError(name)
            return answer(*args)

        function.__name__ = name
        return function

    f = custom_derivative(fails("f", lambda x: x**2))
    f.defvjp(fails("fwd", lambda x: (x**2, x)), fails("bwd", lambda x, g: (2.0 * x * g,)))
    f.defjvp(fails("rule", lambda xs, ds: (xs[0] ** 2, 2.0 * xs[0] * ds[0])))
    call = {"fwd": grad(f), "bwd": grad(f), "rule": slope_by_jvp(f), "f": f}[where]
    for _ in range(2):
        with pytest.raises(OwnError) as caught:
            call(3.0)
        files = {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}
        assert not any(f"shiftreset_ad{sep}custom" in file for file in files for sep in "/\\") or where == "f"
        assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "function"
    where = None
    assert grad(f)(3.0) == slope_by_jvp(f)(3.0) == 6.0


def test_an_error_on_the_way_back_leaves_a_pullback_usable():
    failing = iter([True, False])

    def h(x):
        c = np.sin(x)

        def bwd(y, g):
            if next(failing):
                raise RuntimeError("not now")
            return (c * g,)

        return with_rules("vjp", lambda y: c * y, lambda y: (c * y, y), bwd, None)(x)

    _, pullback = vjp(h, 0.5)
    with pytest.raises(RuntimeError, match="not now"):
        pullback(1.0)
    assert pullback(1.0)[0] == pytest.approx(math.sin(0.5) + 0.5 * math.cos(0.5))


def test_a_number_that_outlived_its_derivative():
    for kind in KINDS:
        f, left = cube_of(kind), []
        grad(lambda x, left=left: left.append(x) or x)(2.0)
        jvp(lambda x, left=left: left.append(x) or x, (2.0,), (1.0,))
        for x in left:
            with pytest.raises(EscapedNumberError):
                f(x)


def test_threads():
    functions = [cube_of(kind) for kind in KINDS]
    found, barrier = [], threading.Barrier(4)

    def work(x):
        barrier.wait()
        for f in functions * 20:
            found.extend((grad(grad(f))(x) == 6.0 * x, jacfwd(grad(f))(x) == 6.0 * x))

    threads = [threading.Thread(target=work, args=(float(x),)) for x in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * (4 * 20 * 3 * 2)


# Taylor series


@pytest.mark.parametrize("kind", KINDS)
def test_taylor_coefficients_by_the_rules(kind):
    """The rules say that f' = f, and the code does not."""

    def rule(primals, tangents):
        y = f(*primals)
        return y, y * tangents[0]

    def fwd(x):
        y = f(x)
        return y, y

    f = with_rules(kind, lambda x: math.exp(x), fwd, lambda y, g: (y * g,), rule)
    order = 8
    expected = [math.exp(0.5) / math.factorial(k) for k in range(order + 1)]
    np.testing.assert_allclose(taylor(f, 0.5, order), expected, rtol=1e-13)
    np.testing.assert_allclose(
        taylor(lambda x: f(np.sin(x)) * x, 0.5, order), taylor(lambda x: np.exp(np.sin(x)) * x, 0.5, order), rtol=1e-12
    )
    np.testing.assert_allclose(grad(lambda x: taylor(f, x, 3)[3])(0.5), math.exp(0.5) / 6.0, rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_taylor_coefficients_of_arrays_and_structures(kind):
    f = cube_of(kind)
    np.testing.assert_allclose(
        taylor(lambda x: f(x) * x, X, 5), [math.comb(4, k) * X ** (4 - k) if k <= 4 else 0.0 * X for k in range(6)]
    )
    constant = with_rules(kind, lambda x: x, lambda x: (x, None), lambda _, g: (None,), lambda xs, ds: (xs[0], None))
    np.testing.assert_array_equal(taylor(constant, 2.0, 3), [2.0, 0.0, 0.0, 0.0])


def test_taylor_coefficients_of_functions_that_need_each_other():
    """Each rule runs once for each of the two functions, however high the order."""
    runs = []

    @custom_jvp
    def sine(x):
        return math.sin(x)

    @custom_jvp
    def cosine(x):
        return math.cos(x)

    @sine.defjvp
    def sine_jvp(primals, tangents):
        runs.append("sine")
        return sine(*primals), cosine(*primals) * tangents[0]

    @cosine.defjvp
    def cosine_jvp(primals, tangents):
        runs.append("cosine")
        return cosine(*primals), -sine(*primals) * tangents[0]

    np.testing.assert_allclose(taylor(sine, 0.5, 20), taylor(np.sin, 0.5, 20), rtol=1e-12)
    assert sorted(runs) == ["cosine", "sine"]


def test_taylor_coefficients_where_a_rule_writes_and_needs_its_own_value():
    """f' = f, and the rule runs once for each order, after the run that met the write."""
    runs = []

    @custom_jvp
    def f(x):
        return np.exp(x)

    @f.defjvp
    def rule(primals, tangents):
        runs.append(1)
        y = f(*primals)
        y_dot = zeros(2)
        y_dot[0] = y[0] * tangents[0][0]
        y_dot[1:] = (y * tangents[0])[1:]
        return y, y_dot

    x, order = np.array([0.5, -0.2]), 6
    np.testing.assert_allclose(taylor(f, x, order), taylor(np.exp, x, order), rtol=1e-13)
    assert len(runs) <= 2 * order

    def along(exp, s, t):
        return np.sum(exp(np.sin(x * s * t)) * x)

    found, expected = (taylor(lambda t, exp=exp: along(exp, 1.0, t), 0.3, order) for exp in (f, np.exp))
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    found, expected = (
        taylor(lambda s, exp=exp: taylor(lambda t: along(exp, s, t), 0.3, 3)[3], 0.5, 2) for exp in (f, np.exp)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_taylor_coefficients_of_what_is_closed_over(kind):
    np.testing.assert_allclose(taylor(lambda x: closing(kind, x)(x), 2.0, 4), [8.0, 12.0, 6.0, 1.0, 0.0])
    np.testing.assert_allclose(taylor(lambda x: closing("jvp", x)(3.0), 2.0, 2), [18.0, 9.0, 0.0])


# Examples


def test_clip_gradient():
    @custom_vjp
    def clip_gradient(lo, hi, x):
        return x

    clip_gradient.defvjp(lambda lo, hi, x: (x, (lo, hi)), lambda r, g: (None, None, np.clip(g, *r)))
    np.testing.assert_array_equal(grad(lambda x: np.sum(clip_gradient(-1.0, 1.0, x) * X))(X), [1.0, -0.5, 1.0])
    assert grad(lambda x: clip_gradient(-1.0, 1.0, np.sin(x)))(0.0) == 1.0
    # Where the cotangent is clipped, it does not depend on x any more.
    assert grad(grad(lambda x: clip_gradient(-1.0, 1.0, x) ** 2))(3.0) == 0.0
    assert grad(grad(lambda x: clip_gradient(-1.0, 1.0, x) ** 2))(0.25) == 2.0
    assert hessian(lambda x: clip_gradient(-1.0, 1.0, x) ** 2)(0.25) == 2.0


def test_log1pexp_is_stable():
    @custom_jvp
    def log1pexp(x):
        return np.log(1.0 + np.exp(x))

    @log1pexp.defjvp
    def log1pexp_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return log1pexp(x), (1.0 - 1.0 / (1.0 + np.exp(x))) * x_dot

    with np.errstate(over="ignore"):
        assert grad(log1pexp)(np.float64(1000.0)) == 1.0
        assert jvp(log1pexp, (np.float64(1000.0),), (1.0,))[1] == 1.0
    assert grad(grad(log1pexp))(0.0) == pytest.approx(0.25)
    x = np.linspace(-3.0, 3.0, 5)
    np.testing.assert_allclose(grad(lambda x: np.sum(log1pexp(x)))(x), 1.0 / (1.0 + np.exp(-x)))


def fixed_point_of(tolerance=1e-14):
    """The solution x of x = f(a, x), differentiated by the implicit function theorem, with iterations on both ways."""

    @partial(custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f, a, start):
        x = start
        while np.max(np.abs(f(a, x) - x)) > tolerance:
            x = f(a, x)
        return x

    def fwd(f, a, start):
        x = fixed_point(f, a, start)
        return x, (a, x)

    def bwd(f, residuals, x_bar):
        a, x = residuals
        _, pull_x = vjp(lambda x: f(a, x), x)
        _, pull_a = vjp(lambda a: f(a, x), a)
        solution = fixed_point(lambda b, u: b + pull_x(u)[0], x_bar, x_bar)
        return pull_a(solution)[0], None

    fixed_point.defvjp(fwd, bwd)
    return fixed_point


def test_fixed_point_with_an_implicit_derivative():
    fixed_point = fixed_point_of()

    def root(a):
        return fixed_point(lambda a, x: 0.5 * (x + a / x), a, 1.0)

    assert root(2.0) == pytest.approx(math.sqrt(2.0))
    assert grad(root)(2.0) == pytest.approx(0.5 / math.sqrt(2.0))

    def cosine(a):
        return fixed_point(lambda a, x: np.cos(a * x), a, 0.5)

    step = 1e-5
    slope = (cosine(1.0 + step) - cosine(1.0 - step)) / (2 * step)
    assert grad(cosine)(1.0) == pytest.approx(slope, rel=1e-8)
    bend = (grad(cosine)(1.0 + step) - grad(cosine)(1.0 - step)) / (2 * step)
    assert grad(grad(cosine))(1.0) == pytest.approx(bend, rel=1e-6)
    matrix, vector = np.array([[0.3, 0.1], [-0.2, 0.4]]), np.array([1.0, 2.0])
    solved = jacrev(lambda b: fixed_point(lambda b, x: matrix @ x + b, b, vector))(vector)
    np.testing.assert_allclose(solved, np.linalg.inv(np.eye(2) - matrix), rtol=1e-10)


def test_the_iteration_of_a_solver_is_not_transposed():
    """Forward mode would have to go through the iteration on the cotangent; that it cannot is said."""
    with pytest.raises(TypeError) as caught:
        jacfwd(lambda a: fixed_point_of()(lambda a, x: np.cos(a * x), a, 0.5))(1.0)
    assert any("Forward mode of fixed_point is derived from bwd" in note for note in caught.value.__notes__)


def test_an_optimizer_that_closes_over_what_it_minimizes():
    """argmin over y of (y - c)**2 + y**4 by Newton steps, where c is closed over, from a start that does not matter."""

    def minimum(c):
        def slope(y):
            return 2.0 * (y - c) + 4.0 * y**3

        @custom_vjp
        def argmin(start):
            y = start
            for _ in range(50):
                y = y - slope(y) / (2.0 + 12.0 * y**2)
            return y

        argmin.defvjp(lambda start: (argmin(start), None), lambda _, g: (0.0 * g,))
        return argmin

    def found(c):
        return minimum(c)(0.5 * c)

    y = found(1.5)
    expected = 2.0 / (2.0 + 12.0 * y**2)
    assert grad(found)(1.5) == pytest.approx(expected)
    assert slope_by_jvp(found)(1.5) == pytest.approx(expected)
    step = 1e-5
    assert grad(grad(found))(1.5) == pytest.approx((grad(found)(1.5 + step) - grad(found)(1.5 - step)) / (2 * step))


def test_parameters_in_a_dict_are_trained():
    @custom_derivative
    def squared_error(parameters, data):
        residual = parameters["w"] * data["x"] + parameters["b"] - data["y"]
        return np.sum(residual**2)

    def fwd(parameters, data):
        residual = parameters["w"] * data["x"] + parameters["b"] - data["y"]
        return np.sum(residual**2), (residual, data["x"])

    def bwd(residuals, g):
        residual, x = residuals
        return {"w": 2.0 * g * np.sum(residual * x), "b": 2.0 * g * np.sum(residual)}, None

    squared_error.defvjp(fwd, bwd)
    data = {"x": np.array([0.0, 1.0, 2.0]), "y": np.array([1.0, 3.0, 5.0]), "source": "made up"}
    parameters = {"w": 0.0, "b": 0.0}
    losses = []
    for _ in range(200):
        loss, slope = value_and_grad(squared_error)(parameters, data)
        losses.append(loss)
        parameters = {name: parameters[name] - 0.1 * slope[name] for name in parameters}
    assert losses[0] == 35.0
    assert parameters == {"w": pytest.approx(2.0, abs=1e-3), "b": pytest.approx(1.0, abs=1e-3)}


def test_windows_of_an_array_that_a_transposed_rule_writes_to():
    def f(x):
        y = x * 1.0
        windows = np.lib.stride_tricks.sliding_window_view(y, 2)
        y *= y[::-1]
        return np.sum(windows * np.arange(4.0).reshape(2, 2))

    rule = custom_jvp(f)
    rule.defjvp(lambda primals, tangents: jvp(f, primals, tangents))
    x = np.array([0.3, 0.4, 0.5])
    np.testing.assert_allclose(grad(rule)(x), grad(f)(x))
