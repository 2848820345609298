"""What errors of custom rules tell a program to write is done here: the wrong program raises it, the other is right."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import custom_derivative, custom_jvp, custom_vjp, grad, jvp, taylor, vjp, zeros
from tests.remedies import not_done, require_remedies

X = np.array([0.3, 0.7])


def with_vjp(f: Any, bwd: Any, decorate: Any = custom_vjp) -> Any:
    decorated = decorate(f)
    decorated.defvjp(lambda *xs: (f(*xs), xs), bwd)
    return decorated


def with_jvp(f: Any, rule: Any, decorate: Any = custom_jvp) -> Any:
    decorated = decorate(f)
    decorated.defjvp(rule)
    return decorated


def cube(x: Any) -> Any:
    return x**3


def slope_of_both(f: Any) -> Any:
    return np.array([grad(f)(2.0), jvp(f, (2.0,), (1.0,))[1]])


# Rules that are no linear functions


def clipped_in_reverse(has_both: bool) -> Any:
    f = with_vjp(cube, lambda xs, g: (np.minimum(12.0 * g, 100.0),), custom_derivative)
    if has_both:
        f.defjvp(lambda xs, ds: (cube(*xs), 3.0 * xs[0] ** 2 * ds[0]))
    return slope_of_both(f)


def clipped_in_forward(has_both: bool) -> Any:
    f = with_jvp(cube, lambda xs, ds: (cube(*xs), np.minimum(12.0 * ds[0], 100.0)), custom_derivative)
    if has_both:
        f.defvjp(lambda x: (cube(x), x), lambda x, g: (3.0 * x**2 * g,))
    return slope_of_both(f)


def branching(slope: Any) -> Any:
    return slope_of_both(with_vjp(cube, lambda xs, g: (slope(g, 3.0 * xs[0] ** 2),)))


# Numbers in places where they are not found


def assigned(is_returned: bool) -> Any:
    def h(x: Any) -> Any:
        total = 0.0 * x

        def code(z: Any) -> Any:
            nonlocal total
            if is_returned:
                return 2.0 * z, total + z
            total = total + z
            return 2.0 * z

        def bwd(_: Any, g: Any) -> Any:
            return (2.0 * g[0] + g[1],) if is_returned else (2.0 * g,)

        f = with_vjp(code, bwd)
        y, total = f(x) if is_returned else (f(x), total)
        return y + total

    return grad(h)(2.0)


def held(is_argument: bool) -> Any:
    def h(x: Any) -> Any:
        model = SimpleNamespace(weight=2.0 * x)
        if is_argument:
            return with_vjp(lambda z, w: w * z, lambda xs, g: (xs[1] * g, xs[0] * g))(x, model.weight)
        return with_vjp(lambda z: model.weight * z, lambda xs, g: (model.weight * g,))(x)

    return taylor(h, 3.0, 2)[1]


# Definitions


def decorated(f: Any) -> Any:
    return grad(with_vjp(f, lambda xs, g: (3.0 * xs[0] ** 2 * g,)))(2.0)


def by_name_only() -> Any:
    def power(x: Any, *, n: int) -> Any:
        return x**n

    f = custom_vjp(power)
    f.defvjp(lambda x, n: (x**n, x), lambda x, g: (3.0 * x**2 * g, None))
    return grad(lambda x: f(x, n=3))(2.0)


def by_name_or_position() -> Any:
    def power(x: Any, n: int) -> Any:
        return x**n

    f = custom_vjp(power)
    f.defvjp(lambda x, n: (x**n, x), lambda x, g: (3.0 * x**2 * g, None))
    return grad(lambda x: f(x, n=3))(2.0)


def product(*rules: Any) -> Any:
    f = custom_jvp(lambda x, y: x**3 + 0.0 * y)
    f.defjvps(*rules)
    return grad(lambda x: f(x, 1.0))(2.0)


def slope(x_dot: Any, value: Any, x: Any, y: Any) -> Any:
    return 3.0 * x**2 * x_dot


def undefined(has_rule: bool) -> Any:
    f = custom_vjp(cube)
    if has_rule:
        f.defvjp(lambda x: (cube(x), x), lambda x, g: (3.0 * x**2 * g,))
    return grad(f)(2.0)


def written(copy: Any) -> Any:
    def fwd(x: Any) -> Any:
        y = copy(x)
        y *= 2.0
        return np.sum(x**3), x

    f = custom_vjp(lambda x: np.sum(x**3))
    f.defvjp(fwd, lambda x, g: (3.0 * x**2 * g,))
    return grad(f)(X)


# Zeros in a rule that `jvp` makes of the function: they are numbers of the transposition, too


def made_by_jvp(f: Any, has_both: bool = False) -> Any:
    total = custom_derivative(lambda x: np.sum(f(x)))
    total.defjvp(lambda xs, ds: jvp(lambda x: np.sum(f(x)), xs, ds))
    if has_both:
        total.defvjp(lambda x: vjp(lambda x: np.sum(f(x)), x), lambda pullback, g: pullback(g))
    return grad(total)(X)


def viewed(taking: Any) -> Any:
    def cubes(x: Any) -> Any:
        y = taking(x**3)
        first = y[:1]
        first += np.zeros_like(x[:1])
        return y

    return cubes


def filled(taking: Any) -> Any:
    """By a function with a rule, that closes over what `zeros` has been added to."""

    def cubes(x: Any) -> Any:
        shifted = np.zeros_like(x) + x * 1.0

        def square(z: Any) -> Any:
            y = taking(z * 1.0)
            y[...] = y * (z + 0.0 * shifted)
            return y

        def bwd(z: Any, g: Any) -> Any:
            z_bar = taking(g * 1.0)
            z_bar[...] = z_bar * (2.0 * z + 0.0 * shifted)
            return (z_bar,)

        f = custom_vjp(square)
        f.defvjp(lambda z: (square(z), z), bwd)
        return f(x) * x

    return cubes


def as_zeros(y: Any) -> Any:
    return zeros(y.shape) + y


def scaled(is_argument: bool) -> Any:
    """The factor is in a list, to which the program puts another factor before the way back."""
    factors = [3.0]
    if is_argument:
        f = with_vjp(lambda x, c: c * x**2, lambda xs, g: (2.0 * xs[1] * xs[0] * g, None))
    else:
        f = with_vjp(lambda x: factors[0] * x**2, lambda xs, g: (2.0 * factors[0] * xs[0] * g,))

    def h(x: Any) -> Any:
        y = f(x, factors[0]) if is_argument else f(x)
        factors[0] = 5.0
        return y

    return grad(h)(2.0)


PROGRAMS: dict[str, tuple[Any, str, Any, Any]] = {
    "zeros written to an array with views": (
        lambda: made_by_jvp(viewed(lambda y: y)),
        "Write to numpy.zeros_like(x) or shiftreset_ad.zeros(shape)",
        lambda: made_by_jvp(viewed(as_zeros)),
        3.0 * X**2,
    ),
    "zeros, and a rule for reverse mode": (
        lambda: made_by_jvp(viewed(lambda y: y)),
        "if it is not linear, give the rule for reverse mode too, by ",
        lambda: made_by_jvp(viewed(lambda y: y), has_both=True),
        3.0 * X**2,
    ),
    "zeros written to a plain array of a rule": (
        lambda: made_by_jvp(filled(lambda y: y)),
        "make it an array that takes numbers, inside the function: y = shiftreset_ad.zeros(y.shape) + y",
        lambda: made_by_jvp(filled(as_zeros)),
        3.0 * X**2,
    ),
    "not linear in the cotangent": (
        lambda: clipped_in_reverse(False),
        "if it is not linear, give the rule for forward mode too, by ",
        lambda: clipped_in_reverse(True),
        [12.0, 12.0],
    ),
    "not linear in the tangent": (
        lambda: clipped_in_forward(False),
        "if it is not linear, give the rule for reverse mode too, by ",
        lambda: clipped_in_forward(True),
        [12.0, 12.0],
    ),
    "a branch": (
        lambda: branching(lambda g, slope: slope * g if g > 0 else 0.0),
        "Multiply by it and add, and do not branch on it",
        lambda: branching(lambda g, slope: slope * g + 0.0),
        [12.0, 12.0],
    ),
    "a number that is assigned": (
        lambda: assigned(False),
        "and its derivative would be lost. Return it from the function",
        lambda: assigned(True),
        3.0,
    ),
    "a number of a series": (lambda: held(False), "Make it an argument of ", lambda: held(True), 12.0),
    "no function": (lambda: decorated(3.0), "which cannot be called; write @", lambda: decorated(cube), 12.0),
    "by name only": (
        by_name_only,
        "make it an ordinary parameter, before any * in the signature",
        by_name_or_position,
        12.0,
    ),
    "too few rules": (
        lambda: product(slope),
        "differentiable arguments were given; give one rule, or None, for each argument",
        lambda: product(slope, None),
        12.0,
    ),
    "no rule": (lambda: undefined(False), "Define one after the function: ", lambda: undefined(True), 12.0),
    "a list": (
        lambda: scaled(False),
        "Make what the rules need an argument of ",
        lambda: scaled(True),
        12.0,
    ),
    "a write": (
        lambda: written(lambda x: x),
        "Write to a copy, y = x.copy()",
        lambda: written(np.copy),
        3.0 * X**2,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_errors_say(name: str) -> None:
    wrong, said, right, expected = PROGRAMS[name]
    require_remedies(wrong, said, [right], expected, (TypeError, ValueError, RuntimeError, NotImplementedError))


def test_each_message_has_a_program() -> None:
    assert not_done("transforms/custom", [said for _, said, _, _ in PROGRAMS.values()]) == []
