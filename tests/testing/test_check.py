"""`check_grads` passes right derivatives of every kind, and fails wrong ones with a message that says where."""

import dataclasses
import itertools
import math
import re
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from shiftreset_ad import custom_derivative, custom_jvp, custom_vjp, grad, jvp, value, vjp
from shiftreset_ad.testing import check_grads, check_jvp, check_vjp
from shiftreset_ad.testing.coordinates import Coordinates
from shiftreset_ad.testing.numerical import by_complex_step, by_differences, steps

GENERATOR = np.random.default_rng(3)
VECTOR = GENERATOR.normal(size=5)
MATRIX = GENERATOR.normal(size=(4, 4))


class Layer(NamedTuple):
    w: Any
    b: Any


@dataclasses.dataclass
class Model:
    layers: list[Layer]
    name: str
    rounds: int


def network(model, x):
    for _ in range(model.rounds):
        for layer in model.layers:
            x = np.tanh(layer.w @ x + layer.b)
    return {"mean": np.mean(x), "all": x, "name": model.name, "rounds": model.rounds}


MODEL = Model([Layer(MATRIX, MATRIX[0]), Layer(MATRIX.T * 0.5, MATRIX[1])], "small", 2)

RIGHT = {
    "elementwise": (lambda x: np.sin(x) * np.exp(x) / (1.0 + x * x), (VECTOR,)),
    "of a float": (lambda x: x**3 + 2.0 / x, (1.5,)),
    "of a NumPy scalar": (lambda x: np.sin(x) * x, (np.float64(0.3),)),
    "of an array without axes": (lambda x: np.sin(x) * x, (np.array(0.3),)),
    "matrix products": (lambda a, x: np.sum(np.tanh(a @ x) ** 2) + x @ a @ x, (MATRIX, VECTOR[:4])),
    "structures": (network, (MODEL, VECTOR[:4])),
    "constants among arguments": (
        lambda d, n, s: d["x"] ** n * len(s), ({"x": 1.5, "k": np.arange(3)}, 3, "four")),
    "no argument is a number but one": (lambda n, x, none: n * x * x, (2, 0.7, None)),
    "a constant": (lambda x: 1.0, (VECTOR,)),
    "nothing is left": (lambda x: np.sin(x) ** 2 + np.cos(x) ** 2, (VECTOR,)),
    "zero": (lambda x: x * x, (0.0,)),
    "zeros among others": (lambda x: x * x * x + x, (np.array([0.0, 2.0, 0.0]),)),
    "branches": (lambda x: x * x if x > 0.0 else -x, (0.5,)),
    "kinks elsewhere": (lambda x: np.sum(np.abs(x) * np.maximum(x, 0.25 * x)), (VECTOR,)),
    "a kink nearby": (lambda x: np.abs(x - 1e-3) * x, (0.0,)),
    "jumps elsewhere": (lambda x: np.floor(x) * x, (1.5,)),
    "a small penalty with a kink": (lambda x: np.sum(x**4) + 1e-6 * np.sum(np.abs(x)), (VECTOR,)),
    "large": (np.exp, (20.0,)),
    "small": (np.sqrt, (1e-8,)),
    "nearly flat": (np.cos, (1e-8,)),
    "fast": (np.sin, (1e8,)),
    "small beside 1": (lambda x: 1.0 + x, (1e-30,)),
    "near the end of the domain": (np.log, (1e-100,)),
    "large and small numbers": (lambda x, y: np.exp(x) + y * y, (20.0, 1e-8)),
    "large and small elements": (np.sqrt, (np.array([1e-8, 1.0, 1e8]),)),
    "a tiny element": (lambda x: np.sum(np.sin(x) * x), (np.array([1e-17, 1.0]),)),
    "small values": (lambda x: 1e-30 * np.sin(x), (VECTOR,)),
    "a sum of many": (lambda x: np.sum(x * x * x), (GENERATOR.normal(size=10_000),)),
    "many": (lambda x: x * x * x, (GENERATOR.normal(size=10_000),)),
    "many numbers": (lambda xs: sum(x * y for x, y in itertools.pairwise(xs)), (list(VECTOR) * 4,)),
    "nothing": (np.sum, (np.zeros(0),)),
    "rounding to a larger number": (lambda x: np.abs((x + 1e6) - 1e6) + x * x, (np.array([1e-4, 3e-4]),)),
    "saturated elements": (np.tanh, (20.0 * np.random.default_rng(0).normal(size=200),)),
    "values that depend on the precision": (lambda x: x * x.dtype.itemsize, (VECTOR.astype(np.float32),)),
    "half precision": (lambda x: np.sum(np.sin(x) * x), (VECTOR.astype(np.float16),)),
    "single precision": (lambda x: np.sum(np.sin(x) * x), (VECTOR.astype(np.float32),)),
    "single precision inside": (lambda x: np.sin(x.astype(np.float32)) * 2.0, (VECTOR,)),
    "extended precision": (lambda x: np.sum(np.sin(x) * x), (VECTOR.astype(np.longdouble),)),
    "mixed precision": (lambda x, y: x * y, (VECTOR.astype(np.float32), VECTOR)),
    "complex": (lambda z: z * z * np.exp(z), (np.array([1.0 + 2.0j, 0.3 - 0.1j]),)),
    "a complex number": (lambda z: z * z, (1.0 + 2.0j,)),
    "complex single precision": (lambda z: z * z, (np.array([1.0 + 2.0j], np.complex64),)),
    "not holomorphic": (
        lambda z: np.sum(np.abs(z) ** 2) + np.real(z[0] * np.conj(z[1])), (np.array([1.0 + 2.0j, 0.3 - 0.1j]),)),
    "complex of real": (lambda x: np.exp(1j * x), (VECTOR,)),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives(name):
    f, args = RIGHT[name]
    check_grads(f, args, order=2)


@pytest.mark.parametrize("name", ["elementwise", "of a float", "nothing is left", "large", "complex"])
def test_right_derivatives_of_third_order(name):
    f, args = RIGHT[name]
    check_grads(f, args, order=3)


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ["rev", "fwd"]])
def test_some_modes(modes):
    check_grads(lambda x: x * np.sin(x), (VECTOR,), 3, modes)


def test_a_function_that_takes_no_number_but_floats():
    """A NumPy function behind a rule: differences call it with floats, and it has no complex step."""

    @custom_jvp
    def sine(x):
        return math.sin(x)

    sine.defjvp(lambda xs, x_dots: (sine(*xs), np.cos(xs[0]) * x_dots[0]))
    check_grads(sine, (0.5,), order=2)


# Wrong rules


def wrong(f, f_dot, mode="reverse"):
    """`f`, elementwise, with `f_dot(x) * x_dot` for its derivative in this mode, and the right one otherwise."""
    if mode == "forward":
        g = custom_jvp(lambda x: f(x))
        g.defjvp(lambda xs, x_dots: (f(*xs), f_dot(xs[0]) * x_dots[0]))
        return lambda x: g(x)
    g = custom_vjp(lambda x: f(x))
    g.defvjp(lambda x: (f(x), x), lambda x, y_bar: (f_dot(x) * y_bar,))
    return lambda x: g(x)


def in_one_element(x):
    return np.cos(x) * np.where(np.arange(5) == 3, 1.001, 1.0)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize(
    ("f_dot", "where"),
    [
        (lambda x: 2.0 * np.cos(x), r"argument 0\[\d\]"),
        (lambda x: -np.cos(x), r"argument 0\[\d\]"),
        (lambda x: 1.001 * np.cos(x), r"argument 0\[\d\]"),
        (lambda x: (1.0 + 1e-6) * np.cos(x), r"argument 0\[\d\]"),
        (in_one_element, r"argument 0\[3\]"),
    ],
)
def test_a_wrong_rule(mode, f_dot, where):
    """A rule for one mode serves the other too, transposed."""
    for modes, says in (("fwd",), "forward"), (("rev",), "reverse"):
        with pytest.raises(AssertionError, match=f"order 1: {where}: {says} mode says .* complex step says"):
            check_grads(wrong(np.sin, f_dot, mode), (VECTOR,), 1, modes)
    check_grads(wrong(np.sin, np.cos, mode), (VECTOR,), 2)


def test_the_message():
    f = wrong(lambda x: x * x, lambda x: np.where(np.arange(6).reshape(2, 3) == 4, 4.0, 2.0) * x)

    def named(arguments, scale):
        return scale * np.sum(f(arguments["w"]))

    message = (
        "check_grads(named), order 1: argument 0['w'][1, 1]: reverse mode says 16, the complex step says 8, "
        "for the derivative of the result"
    )
    with pytest.raises(AssertionError, match=f"^{re.escape(message)}$"):
        check_grads(named, ({"w": np.full((2, 3), 2.0), "b": 1.0}, 2.0), 2, ("rev",))


def test_the_message_names_the_element_of_the_result():
    def f_dot(x):
        return np.where(np.arange(3) == 1, 0.0, 1.0) * np.cos(x)

    f = wrong(np.sin, f_dot)
    for modes in ("fwd",), ("rev",), ("rev", "fwd"):
        with pytest.raises(
            AssertionError, match=r"argument 1\[1\]: .* for the derivative of the result\['y'\]\[0, 1\]"
        ):
            check_grads(lambda a, x: {"x": x, "y": np.stack([f(x), a * x])}, (2.0, VECTOR[:3]), 1, modes)


def test_one_wrong_element_among_many():
    x = np.random.default_rng(0).normal(size=10_000)
    f = wrong(np.sin, lambda x: np.cos(x) * np.where(np.arange(10_000) == 1234, 1.001, 1.0))
    for modes in ("fwd",), ("rev",):
        with pytest.raises(AssertionError, match=r"argument 0\[1234\].*result\[1234\]"):
            check_grads(f, (x,), 1, modes)
    with pytest.raises(AssertionError, match=r"argument 0\[1234\]"):
        check_grads(lambda x: np.sum(f(x)), (x,), 1, ("rev",))


def test_wrong_in_a_small_number_beside_a_large_one():
    f = wrong(lambda x: x * x, lambda x: 2.002 * x)
    with pytest.raises(AssertionError, match="argument 1: "):
        check_grads(lambda x, y: np.exp(x) + f(y), (5.0, 1e-3), 1)
    with pytest.raises(AssertionError, match=r"argument 0\[1\]: .*result\[1\]"):
        check_grads(lambda x: np.stack([np.exp(x[0]), f(x[1])]), (np.array([20.0, 1e-6]),), 1)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_wrong_in_other_precisions(dtype):
    factor = 1.1 if dtype is np.float16 else 1.001
    with pytest.raises(AssertionError, match=r"argument 0\[\d\]: forward mode says"):
        check_grads(wrong(np.sin, lambda x: factor * np.cos(x)), (VECTOR.astype(dtype),), 1)


def test_wrong_in_a_number_that_counts_little():
    f = wrong(np.sin, lambda x: 1.001 * np.cos(x))
    with pytest.raises(AssertionError, match="argument 1: "):
        check_grads(lambda x, y: 1e8 * np.exp(x) + f(y), (0.5, 0.7), 1)


def test_wrong_for_complex_numbers():
    z = np.array([1.0 + 2.0j, 0.3 - 0.1j])
    conjugated = wrong(lambda z: z * z, lambda z: 2.0 * np.conj(z), "forward")
    with pytest.raises(AssertionError, match=r"argument 0\[\d\]\.(real|imag): .* result\[\d\]\.(real|imag)"):
        check_grads(conjugated, (z,), 1)
    with pytest.raises(AssertionError, match=r"argument 0\.(real|imag): reverse mode says"):
        check_vjp(lambda z: z * z, lambda z: (z * z, lambda y_bar: (np.conj(2.0 * z) * y_bar,)), (1.0 + 2.0j,))


def test_wrong_in_second_order_only():
    """The derivative of the rule is another rule, which is wrong."""
    cosine = wrong(np.cos, lambda x: -1.001 * np.sin(x))
    f = wrong(np.sin, cosine)
    check_grads(f, (VECTOR,), 1)
    for modes in ("fwd",), ("rev",), ("fwd", "rev"):
        mode = "forward" if "fwd" in modes else "reverse"
        with pytest.raises(AssertionError, match=rf"order 2, derivatives of {mode} mode: argument 0\[\d\]: "):
            check_grads(f, (VECTOR,), 2, modes)


def test_wrong_in_third_order_only():
    g = wrong(np.sin, wrong(np.cos, lambda x: -wrong(np.sin, lambda x: 1.01 * np.cos(x))(x)))
    check_grads(g, (0.5,), 2)
    with pytest.raises(AssertionError, match="order 3, derivatives of forward over forward mode: argument 0: "):
        check_grads(g, (0.5,), 3)


def test_wrong_in_one_mode_only():
    def f(x):
        return np.sum(x * x)

    def f_vjp(x, factor):
        return f(x), lambda y_bar: (factor * 2.0 * x * y_bar,)

    check_jvp(f, partial(jvp, f), (VECTOR,))
    check_vjp(f, partial(vjp, f), (VECTOR,))
    check_vjp(f, partial(f_vjp, factor=1.0), (VECTOR,))
    with pytest.raises(AssertionError, match=r"check_vjp\(f\): argument 0\[\d\]: reverse mode says"):
        check_vjp(f, partial(f_vjp, factor=1.001), (VECTOR,))
    with pytest.raises(AssertionError, match=r"check_jvp\(f\): argument 0\[\d\]: forward mode says"):
        check_jvp(f, lambda xs, x_dots: (f(*xs), 1.001 * jvp(f, xs, x_dots)[1]), (VECTOR,))


def with_rules(f, pushed, pulled):
    """`f` with derivatives of its own for forward and for reverse mode."""
    g = custom_derivative(lambda x: f(x))
    g.defjvp(lambda xs, x_dots: (f(*xs), pushed(xs[0]) * x_dots[0]))
    g.defvjp(lambda x: (f(x), x), lambda x, y_bar: (pulled(x) * y_bar,))
    return lambda x: g(x)


def test_modes_that_do_not_agree():
    """Both are within what is allowed of the differences, and not of each other."""

    def rough(x):
        return abs(x) + 1e-6 * (value(x) * 1.23456789e6 % 1.0)

    for factor in 1.0 + 1e-6, 1.0 + 1e-5:
        f = with_rules(rough, lambda x: 1.0 + 0.0 * x, lambda x, factor=factor: factor + 0.0 * x)
        for mode in "fwd", "rev":
            check_grads(f, (0.5,), 1, [mode])
        with pytest.raises(AssertionError, match=r"argument 0: forward mode says 1, reverse mode says 1\.0000"):
            check_grads(f, (0.5,), 1)


def test_wrong_in_reverse_over_reverse_only():
    slope = with_rules(np.cos, lambda x: -np.sin(x), lambda x: -1.001 * np.sin(x))
    f = with_rules(np.sin, np.cos, slope)
    check_grads(f, (0.5,), 1)
    check_grads(f, (0.5,), 3, ["fwd"])
    with pytest.raises(AssertionError, match="order 2, derivatives of reverse mode: argument 0: reverse mode says"):
        check_grads(f, (0.5,), 2)


def test_a_value_that_a_mode_gets_wrong():
    with pytest.raises(AssertionError, match=r"the result\[2\] is 4, and forward mode says 5"):
        check_jvp(
            lambda x: x * x, lambda xs, vs: (xs[0] ** 2 + np.array([0, 0, 1.0]), 2 * xs[0] * vs[0]), (np.full(3, 2.0),)
        )


def test_a_derivative_of_another_structure():
    with pytest.raises(AssertionError, match="the tangent must have the structure of the value"):
        check_jvp(lambda x: (x, x), lambda xs, vs: ((xs[0], xs[0]), vs[0]), (1.0,))
    with pytest.raises(AssertionError, match="cotangents of the arguments"):
        check_vjp(lambda x: x, lambda x: (x, lambda y_bar: y_bar), (1.0,))
    with pytest.raises(AssertionError, match=r"has shape \(2,\)"):
        check_vjp(lambda x: x, lambda x: (x, lambda y_bar: (np.ones(2),)), (1.0,))


def test_a_gradient_that_is_stopped():
    with pytest.raises(AssertionError, match="argument 0: forward mode says 3, the complex step says 6"):
        check_grads(lambda x: x * value(x), (3.0,), 1)


# Functions that cannot be checked


@pytest.mark.parametrize(
    "f", [np.abs, lambda x: np.maximum(x, 0.5 * x), lambda x: x * np.sign(x) + 1.0, lambda x: np.sign(x)]
)
def test_a_kink_or_a_jump(f):
    with pytest.raises(AssertionError, match="differences cannot tell the derivative of the result along a direction"):
        check_grads(f, (0.0,), 1)


def test_what_is_not_finite():
    with pytest.raises(AssertionError, match=r"argument 0\[1\] is nan; a derivative can only"):
        check_grads(np.sin, (np.array([1.0, np.nan]),), 1)
    with pytest.raises(AssertionError, match=r"the result\[0\] is -inf; a derivative can only"):
        check_grads(np.log, (np.array([0.0, 1.0]),), 1)
    with pytest.raises(AssertionError, match=r"argument 0\[\d\]: reverse mode says nan, the complex step says"):
        check_grads(wrong(np.sin, lambda x: np.nan * x), (VECTOR,), 1, ("rev",))
    with pytest.raises(AssertionError, match=r"argument 0\[\d\]: reverse mode says (inf|nan), the complex step says"):
        check_grads(wrong(np.sin, lambda x: np.inf + 0.0 * x), (VECTOR,), 1, ("rev",))
    with pytest.raises(AssertionError, match="differences cannot tell"):
        check_grads(np.sqrt, (0.0,), 1)


def test_a_function_that_is_not_deterministic():
    generator = np.random.default_rng(0)
    with pytest.raises(AssertionError, match="order 1: the function is not deterministic: two calls with the same"):
        check_grads(lambda x: x * generator.normal(), (1.0,), 1)


def test_a_buffer_that_is_not_deterministic():
    generator, buffer = np.random.default_rng(0), np.zeros(2)

    def f(x):
        buffer[:] = x * generator.normal()
        return buffer

    with pytest.raises(AssertionError, match="the function is not deterministic"):
        check_grads(f, (np.ones(2),), 1)


def test_a_derivative_that_is_not_deterministic():
    generator = np.random.default_rng(0)
    f = wrong(np.sin, lambda x: generator.normal() * x)
    with pytest.raises(AssertionError, match=r"check_grads\(<lambda>\), order [12]"):
        check_grads(f, (1.0,), 2)


def test_a_function_that_changes_its_arguments():
    def f(x, d):
        x[0] = 2.0
        return x[1] * d["y"]

    def g(x, d):
        return x[1] * d.pop("y")

    def h(x, d):
        d["n"][0] += 1
        return x[1] * d["y"]

    x, d = np.ones(2), {"y": 3.0, "n": np.arange(2)}
    for function, name in (f, "argument 0"), (g, "argument 1"), (h, "argument 1"):
        with pytest.raises(AssertionError, match=f"changes its arguments: it writes to {name}"):
            check_grads(function, (x, d), 1)
    assert x.tolist() == [1.0, 1.0]
    assert d["n"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("error", "arguments", "message"),
    [
        (TypeError, (3.0, (1.0,), 1), "cannot be called"),
        (TypeError, (np.sin, 1.0, 1), r"args must be a tuple of the arguments, \(x,\) for one argument, and is 1.0"),
        (TypeError, (np.sin, (1,), 1), "integer"),
        (TypeError, (lambda x: 1, (1.0,), 1), "no floating-point number"),
        (ValueError, (np.sin, (1.0,), 0), "order must be an integer, 1 or greater, and is 0"),
        (ValueError, (np.sin, (1.0,), 1.0), "order must be an integer"),
        (ValueError, (np.sin, (1.0,), 1, "fwd"), "modes must have"),
        (ValueError, (np.sin, (1.0,), 1, ["forward"]), "modes must have"),
        (ValueError, (np.sin, (1.0,), 1, []), "modes must have"),
    ],
)
def test_arguments_that_are_refused(error, arguments, message):
    with pytest.raises(error, match=message):
        check_grads(*arguments)


def test_inside_a_derivative():
    with pytest.raises(TypeError, match=r"are being differentiated; give plain values, shiftreset_ad\.value\(x\)"):
        grad(lambda x: check_grads(np.sin, (x,), 1))(1.0)

    def f(x):
        check_grads(np.sin, (value(x),), 2)
        return x * x

    assert grad(f)(3.0) == 6.0


def test_an_error_of_the_function_arrives():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        check_grads(f, (1.0,), 1)


def test_the_same_every_time():
    f = wrong(np.sin, lambda x: 1.01 * np.cos(x))
    messages = set()
    for seed in 0, 0, 1:
        with pytest.raises(AssertionError) as caught:
            check_grads(f, (np.linspace(1.0, 2.0, 50),), 1, seed=seed)
        messages.add(str(caught.value))
    assert len(messages) <= 2


def test_given_tolerances_and_steps():
    f = wrong(np.sin, lambda x: 1.001 * np.cos(x))
    check_grads(f, (0.5,), 1, rtol=1e-2)
    check_grads(f, (0.5,), 1, atol=1e-2)
    check_grads(np.sin, (0.5,), 2, eps=1e-3)
    seen = []

    def watched(x):
        if not isinstance(x, complex):
            seen.append(value(x))
        return x * x

    check_grads(watched, (1.0,), 1, eps=1e-3)
    assert max(seen) == pytest.approx(1.0 + 1e-3, rel=1e-6)


# The parts


def test_the_error_of_differences_is_honest():
    """It is never smaller than a fourth of the true error, nor much larger than rounding and truncation make it."""
    functions = [
        (np.sin, np.cos),
        (np.exp, np.exp),
        (lambda x: x**7, lambda x: 7 * x**6),
        (lambda x: 1 / x, lambda x: -1 / x**2),
        (lambda x: np.sin(50 * x), lambda x: 50 * np.cos(50 * x)),
        (lambda x: 1e6 + x, np.ones_like),
    ]
    x = np.linspace(0.3, 2.9, 200)
    for f, f_dot in functions:
        v, noise = np.ones(200), np.full(200, 2.0**-52)
        found = by_differences(f, x, v, f(x), np.abs(f(x)), noise, steps(x, v, noise, None))
        off = np.abs(found.y_dot - f_dot(x))
        assert np.all(off <= 4.0 * found.error)
        assert np.all(found.error <= 1e-7 * (np.abs(f_dot(x)) + np.abs(f(x))))


def test_differences_where_part_of_the_function_does_not_move():
    """The shortest steps, small beside x, are lost in 1e6 + x: what they agree on is the derivative of x**2 alone."""
    x = 1e-4 * np.random.default_rng(0).normal(size=200)
    v, noise = np.full(200, 2.0**-11), np.full(200, 2.0**-52)

    def f(x):
        return ((x + 1e6) - 1e6) + x * x

    found = by_differences(f, x, v, f(x), np.abs(f(x)), noise, steps(x, v, noise, None))
    np.testing.assert_allclose(found.y_dot / v, 1.0 + 2.0 * x, rtol=1e-7)


@pytest.mark.parametrize(
    ("f", "analytic"),
    [
        (np.sin, True),
        (lambda z: z / (1.0 + z * z), True),
        (np.conj, False),
        (np.abs, False),
        (lambda z: np.abs(z - [0.5, 1.5]), False),
        (lambda z: np.real(z - [0.5, 1.5]) ** 2, False),
        (lambda z: np.where(np.iscomplexobj(z), z, z + 1.0), False),
        (lambda z: z * np.conj(z), False),
        (lambda z: np.real(z) ** 2, False),
        (lambda z: z**2 + 1e-6 * np.abs(z), False),
        (lambda z: np.asarray(z, float) ** 2, False),
        (lambda z: z.astype(float) ** 2, False),
        (lambda z: np.where(np.real(z) > 0.0, z * z, -z), True),
        (lambda z: z if math.sqrt(z[0]) else 0, False),
    ],
)
def test_the_complex_step_is_taken_of_analytic_functions_only(f, analytic):
    x, v = np.array([0.5, 1.5]), np.array([1.0, -0.5])
    y_dot = by_complex_step(f, x, v, f(x), np.full(2, 2.0**-52))
    assert (y_dot is not None) == analytic
    if analytic:
        np.testing.assert_allclose(y_dot, jvp(f, (x,), (v,))[1] if f is np.sin else y_dot, rtol=1e-14)


def test_coordinates():
    structures = [("a", {"w": np.ones((2, 2)), "n": 3}), ("b", [1.0 + 2.0j, np.float32(2.0), "text"])]
    coordinates = Coordinates(structures)
    assert coordinates.size == 7
    assert [coordinates.name(i) for i in range(7)] == [
        *("a['w'][0, 0]", "a['w'][0, 1]", "a['w'][1, 0]", "a['w'][1, 1]", "b[0].real", "b[0].imag", "b[1]")
    ]
    numbers = [np.array([[1.0, 2.0], [3.0, 4.0]]), 5.0 + 6.0j, np.float32(7.0)]
    vector = coordinates.vector(numbers)
    assert vector.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    assert coordinates.vector(numbers, cotangent=True).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, -6.0, 7.0]
    for cotangent in False, True:
        back = coordinates.structured(coordinates.vector(numbers, cotangent), cotangent=cotangent)
        assert [type(x) for x in back] == [np.ndarray, complex, np.float32]
        assert np.array_equal(back[0], numbers[0])
        assert back[1:] == numbers[1:]
    with pytest.raises(ValueError, match=r"a\['w'\] had shape \(2, 2\), and has shape \(3,\)"):
        coordinates.vector([np.ones(3), *numbers[1:]])
