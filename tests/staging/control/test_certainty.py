"""A zero that is carried for no derivative at all: where NaN comes of it, no program goes on with the NaN."""

import math
import warnings

import numpy as np
import pytest

from shiftreset_ad import (
    StagingWarning,
    cond,
    custom_jvp,
    custom_vjp,
    derivative,
    fori_loop,
    grad,
    hessian,
    jacrev,
    jvp,
    staged,
    taylor,
    value_and_grad,
    vjp,
)
from shiftreset_ad.rules.carried_zeros import carried
from tests.staging.native.natively import needs_native


def branch(t):
    root = np.sqrt(t)
    if t > 5.0:
        return root
    return t * 2.0


def rounds(t):
    root, s, i = np.sqrt(t), t * 2.0, 0
    while s > 5.0 and i < 3:
        s = s * 0.5 + root
        i += 1
    return s


def recursive(t):
    root = np.sqrt(t)

    def down(s):
        if s > 5.0:
            return down(s * 0.5) + root
        return s * 2.0

    return down(t)


def choice(t):
    return np.where(t > 5.0, np.sqrt(t), t * 2.0)


def greater(t):
    return np.maximum(np.sqrt(t) - 5.0, t * 2.0)


DERIVATIVES = {
    "grad": grad,
    "value_and_grad": lambda f: lambda x: value_and_grad(f)(x)[1],
    "vjp": lambda f: lambda x: vjp(f, x)[1](1.0)[0],
    "jacrev": lambda f: lambda x: jacrev(lambda v: f(v[0]))(np.stack([x, x]))[0],
    "forward over reverse": lambda f: lambda x: jvp(lambda x: grad(f)(x) * x, (x,), (1.0,))[1],
    "reverse over reverse": lambda f: grad(lambda x: grad(f)(x) * x),
}
CONSUMERS = {
    "a test": lambda g, x: 1.0 if g > 0.0 else -1.0,
    "a test that holds for NaN": lambda g, x: 1.0 if not g > 0.0 else -1.0,
    "where": lambda g, x: np.where(g > 0.0, 1.0, -1.0) + x,
    "fmax": lambda g, x: np.fmax(g, 0.0),
    "min": lambda g, x: min(g, 5.0),
    "nan_to_num": lambda g, x: np.nan_to_num(g),
    "argmax": lambda g, x: np.array([1.0, 2.0, 3.0])[np.argmax(np.stack([g * 0.0 + 1.0, x]))],
    "sign": lambda g, x: np.nansum(np.stack([np.sign(g), x])),
}
POINTS = (1.0, 2.0, 7.0, 0.0, 0.0, 3.0, 30.0, 0.0)


FUNCTIONS = [branch, rounds, recursive, choice, greater]
ALL = [(f, derived, consumer) for f in FUNCTIONS for derived in DERIVATIVES for consumer in CONSUMERS]


@pytest.mark.parametrize(
    ("f", "derived", "consumer"),
    [pytest.param(*one, marks=pytest.mark.slow if i % 7 else ()) for i, one in enumerate(ALL)],
)
def test_the_program_never_gets_nan_of_a_zero(f, derived, consumer):
    consume, slope = CONSUMERS[consumer], DERIVATIVES[derived](f)

    def program(x):
        return consume(slope(x), x)

    with np.errstate(all="ignore"):
        for points in (POINTS, POINTS[::-1]):
            g = staged(program)
            for x in points:
                wanted = program(x)
                assert np.allclose(g(x), wanted, equal_nan=True), (x, wanted)
    assert not g._calls._is_given_up


def test_arrays():
    def f(v):
        roots = np.sqrt(v)
        if np.sum(v) > 5.0:
            return np.sum(roots)
        return np.sum(v * v)

    def step(v):
        g = grad(f)(v)
        return np.where(g > 0.5, v - 0.1 * g, v)

    g = staged(step)
    with np.errstate(all="ignore"):
        for v in ([1.0, 2.0], [4.0, 5.0], [0.0, 1.0], [0.0, 9.0], [1.0, 1.0], [0.0, 1.0]):
            assert np.allclose(g(np.array(v)), step(np.array(v)))


def test_a_gradient_in_each_round():
    """A descent that skips a step where the slope is no number."""

    def descent(x, count):
        for _ in range(count):
            g = grad(branch)(x)
            x = x - (0.25 * g if g > 0.0 else 1.0)
            if x < 0.0:
                x = 0.0
        return x

    points = (9.0, 3), (9.0, 3), (3.0, 2), (1.0, 9), (6.0, 30), (0.0, 5)
    for order in (points, points[::-1], points[3:]):  # NaN in no round, in the first one, in the third one of a call
        g = staged(descent)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", StagingWarning)
            for x, count in (*order, (9.0, 3)):
                assert math.isclose(g(x, count), descent(x, count), abs_tol=1e-12)
        assert not g._calls._is_given_up


@pytest.mark.parametrize(
    "slope",
    [
        lambda f: lambda x: jvp(f, (x,), (1.0,))[1],
        lambda f: derivative(f, 2),
        lambda f: lambda x: taylor(f, x, order=2)[1],
        lambda f: lambda x: hessian(lambda v: f(v[0]))(np.stack([x, x]))[0, 0],
    ],
)
def test_zero_tangents(slope):
    """What is constant in one branch, and not in the other, has a tangent of zeros."""

    def f(t):
        if t > 5.0:
            s = t * 2.0
        else:
            s = 0.0
        return np.sqrt(s) + t * t

    def program(x):
        return np.fmax(slope(f)(x), -1.0)

    g = staged(program)
    with np.errstate(all="ignore"):
        for x in (1.0, 7.0, 2.0, 0.0, 8.0, 3.0, 1.0):
            assert np.allclose(g(x), program(x))


@needs_native
def test_a_program_that_goes_on_with_a_derivative_is_native_code():
    g = staged(lambda x: np.exp(-grad(branch)(x)))
    for x in (1.0, 7.0, 2.0):
        assert math.isclose(g(x), np.exp(-grad(branch)(x)))
    (way,) = g._calls.ways
    assert way.is_native
    assert way.source.count("certain_number(") == 1
    with np.errstate(all="ignore"):
        assert g(0.0) == np.exp(-2.0)


def test_no_zero_is_carried_where_control_is_outside_of_the_derivative():
    """Then each round of a descent costs no test."""

    def descent(x):
        while x > 1.0:
            x = x - 0.1 * grad(lambda x: x * x)(x)
        return x

    g = staged(descent)
    g(3.0)
    assert "certain_number(" not in "".join(g.sources)


def with_rule(pull):
    """x, whose rule for reverse mode is this function of the cotangent."""

    @custom_vjp
    def same(x):
        return x * 1.0

    same.defvjp(lambda x: (x * 1.0, None), lambda _, g: (pull(g),))
    return same


RULES = {
    "a floor": lambda g: np.maximum(g, 0.1),
    "a bound": lambda g: np.clip(g, -0.5, 0.5),
    "swallows NaN": lambda g: np.fmax(g, 0.25),
    "one more": lambda g: np.sign(g) + 1.0,
    "divides": lambda g: 2.0 * g * g / g,
    "linear": lambda g: 2.0 * g,
}


def of_a_choice(same):
    return lambda x: np.maximum(same(x), 1.0)


def before_a_choice(same):
    def f(x):
        t = same(x)
        return np.where(t > 0.0, np.sqrt(t), 0.0) + t

    return f


def before_a_branch(same):
    def f(x):
        y = same(x)
        return y * 3.0 if x > 1.0 else 2.0 * x

    return f


def before_a_root_in_a_branch(same):
    return lambda x: branch(same(x))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("made", [of_a_choice, before_a_choice, before_a_branch, before_a_root_in_a_branch])
@pytest.mark.parametrize("points", [(2.0, 3.0, 4.0, 0.0, 0.5, 3.0), (0.0, 0.0, 2.0, 0.5, 0.0, 3.0)])
def test_a_rule_of_the_user_that_gives_something_for_zero(points, made, rule):
    f = grad(made(with_rule(RULES[rule])))
    g = staged(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in points:
            assert np.allclose(g(x), f(x), equal_nan=True), x
    assert not g._calls._is_given_up


def test_a_rule_of_the_user_is_called_for_what_is_chosen_alone():
    """A record for each choice, as a rule may keep something."""
    g = staged(grad(of_a_choice(with_rule(lambda g: 2.0 * g))))
    assert [g(x) for x in (2.0, 2.0, 3.0, 0.5, 1.0, 0.0)] == [2.0, 2.0, 2.0, 0.0, 1.0, 0.0]
    assert len(g.sources) == 2
    assert g._calls._problem == ""


def test_a_rule_that_keeps_something_is_called_as_often_as_by_the_function():
    def f(x):
        calls, kept = [0], {}

        @custom_vjp
        def squared(t):
            return t * t

        def backwards(t, g):
            calls[0] += 1
            kept.setdefault("slope", 2.0 * t)
            return (kept["slope"] * g / calls[0],)

        squared.defvjp(lambda t: (t * t, t), backwards)
        return grad(lambda t: np.maximum(squared(t), 1.0))(x)

    for points in ((0.5, 0.5, 3.0, 4.0, -2.0), (3.0, 3.0, 0.5, -2.0)):
        g = staged(f)
        assert [g(x) for x in points] == [f(x) for x in points]
        assert not g._calls._is_given_up


def test_a_rule_that_gives_something_for_zero_at_some_values_alone():
    same = custom_vjp(lambda v: v * 1.0)
    same.defvjp(lambda v: (v * 1.0, v), lambda v, g: (g + 0.1 * np.maximum(v - 3.0, 0.0),))
    f = grad(lambda w: np.maximum(0.0, 1.0 - same(w) @ np.array([1.0, -1.0])))
    g = staged(f)
    for v in ([1.0, 2.0], [1.0, 2.0], [9.0, -9.0], [5.0, 4.5], [9.0, -9.0]):
        np.testing.assert_allclose(g(np.array(v)), f(np.array(v)))


@pytest.mark.parametrize("rule", ["a floor", "divides", "linear"])
def test_a_rule_in_a_loop_is_one_record(rule):
    same = with_rule(RULES[rule])
    f = grad(lambda x: fori_loop(0, 3, lambda i, c: same(c) * 0.5 + x, x))
    g = staged(f)
    for x in (1.0, 2.0, -1.0, 0.5):
        assert math.isclose(g(x), f(x))
    assert len(g.sources) == 1


def test_a_rule_for_forward_mode_that_gives_something_for_zero():
    @custom_jvp
    def floored(t):
        return t * t

    floored.defjvp(lambda p, d: (p[0] * p[0], np.maximum(d[0], 0.1) * p[0]))

    def f(x):
        return jvp(lambda t: floored(t * 2.0 if t > 1.0 else 3.0) + t, (x,), (1.0,))[1]

    for points in ((2.0, 2.0, 0.5, 3.0, 0.0), (0.5, 0.5, 2.0, 0.0)):
        g = staged(f)
        assert [g(x) for x in points] == [f(x) for x in points]
        assert not g._calls._is_given_up


def test_a_derivative_that_nothing_needs_is_not_looked_at():
    g = staged(lambda x: (grad(branch)(x), x * 2.0)[1])
    with np.errstate(all="ignore"):
        assert [g(x) for x in (1.0, 7.0, 0.0)] == [2.0, 14.0, 0.0]
    (way,) = g._calls.ways
    assert "certain_number(" not in way.source
    assert way.unanswered == 0


@pytest.mark.parametrize("points", [(3.0, 3.0, 0.5, 0.0, 7.0), (0.5, 0.5, 3.0, 0.0)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_argument_without_dimensions(points):
    def f(x):
        return np.divide(1.0, grad(lambda x: np.where(x > 1.0, -3.0 * x, 2.0))(x))

    g = staged(f)
    for x in points:
        assert repr(g(np.array(x))) == repr(f(np.array(x)))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.where(x > 1.0, -3.0 * x, 2.0),
        lambda x: np.maximum(-3.0 * x, -6.0),
        lambda x: -3.0 * x if x > 1.0 else 2.0,
    ],
)
@pytest.mark.parametrize("consume", [lambda g: np.divide(1.0, g), lambda g: np.copysign(1.0, g)])
@pytest.mark.parametrize("points", [(3.0, 1.5, 4.0, 0.0, 0.5, 3.0), (0.0, 0.5, 3.0, 0.0, 1.5)])
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_no_derivative_is_zero_and_not_minus_zero(f, consume, points):
    def program(x):
        return consume(grad(f)(x))

    g = staged(program)
    for x in points:
        assert g(x) == program(x), x


@pytest.mark.parametrize(
    "f", [lambda x: np.where(x > 0.0, np.log(x), x), lambda x: np.where(x > 0.0, x * np.log(x), x)]
)
@pytest.mark.parametrize("points", [(0.0, 0.0, 2.0, 3.0, 0.0), (2.0, 3.0, 0.0, 0.0, 0.0, 4.0)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_error_in_the_slope_of_what_is_not_chosen(f, points):
    """Python's floats raise an error where NumPy's have an infinity. The program has no such error."""
    g = staged(grad(f))
    for x in points:
        assert g(x) == grad(f)(x)
    assert len(g.sources) == 2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nan_in_a_branch_that_is_taken_does_not_end_staging_for_good():
    slope = grad(lambda x: np.where(x > 0.0, np.sqrt(x), 0.0) + x)

    def program(x):
        return cond(x >= 0.0, lambda y: np.nan_to_num(slope(y), nan=5.0), lambda y: 2.0 * y, x)

    g = staged(program)
    with pytest.warns(StagingWarning, match="a derivative is NaN"):
        assert g(0.0) == 1.0
    for x in (0.0, 2.0, 3.0, 0.0, -1.0):
        assert g(x) == program(x)
    assert not g._calls._is_given_up


def test_what_depends_on_the_sign_of_a_zero_is_not_given_up_for_good():
    """A tangent of zeros is carried through a negative slope."""

    def f(t):
        s = t if t > 1.0 else 2.0
        return s * -3.0

    def program(x):
        return np.divide(1.0, derivative(f)(x))

    g = staged(program)
    with np.errstate(divide="ignore"):
        with pytest.warns(StagingWarning, match="sign of a zero.*Add 0.0 to the derivative"):
            assert [g(x) for x in (0.5, 0.5, 3.0, 0.5)] == [math.inf, math.inf, -1.0 / 3.0, math.inf]
        assert [way.carries_zeros for way in g._calls.ways] == [False]  # the other one is dropped
        assert [g(x) for x in (0.0, 3.0, 0.5)] == [program(x) for x in (0.0, 3.0, 0.5)]
    assert not g._calls._is_given_up


def test_no_run_leaves_a_zero_behind():
    staged(grad(branch))(1.0)
    assert not carried.any
    assert not carried.asks
    assert vars(carried).keys().isdisjoint({"certain_of", "before_rule", "after_rule"})
