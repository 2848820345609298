"""A loop inside itself, with other functions: it is written down once for each depth, and calls itself nowhere."""

import math
from functools import partial

import pytest

from shiftreset_ad import grad, jvp, staged, value
from tests.staging.native.natively import needs_native


def least(cost, x, gradient=grad):
    """A descent whose steps grow and shrink."""
    slope, step = gradient(cost)(x), 0.125
    while math.fabs(value(slope)) > 1e-3:
        lower = x - step * slope
        if cost(lower) < cost(x):
            x, slope, step = lower, gradient(cost)(lower), min(2.0 * step, 0.25)
        else:
            step = 0.5 * step
    return x


def greatest(cost, y, gradient=grad):
    return least(lambda y: -cost(y), y, gradient)


def payoff(x, y, a):
    return (x - a) * (x - a) + 0.5 * x * y - (y - 1.0) * (y - 1.0)


def by_forward_mode(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


def saddle(a, outer=grad, inner=grad):
    def worst(x):
        return payoff(x, greatest(lambda y: payoff(x, y, a), 0.0, inner), a)

    return least(worst, 0.0, outer)


@needs_native
@pytest.mark.parametrize("outer", [grad, by_forward_mode], ids=["grad", "jvp"])
@pytest.mark.parametrize("inner", [grad, by_forward_mode], ids=["grad", "jvp"])
def test_a_minimum_of_a_maximum(outer, inner):
    f = partial(saddle, outer=outer, inner=inner)
    compiled = staged(f)
    for a in (1.0, 2.0, -0.5, 1.0):
        assert compiled(a) == pytest.approx(f(a), abs=1e-12)
        assert compiled(a) == pytest.approx((4.0 * a - 1.0) / 4.25, abs=2e-2)
    assert len(compiled.sources) == 1
    assert compiled.sources[0].count("while ") >= 2
    assert "as native code" in compiled.report()


@pytest.mark.slow
def test_three_descents_inside_one_another():
    def f(a):
        def second(x):
            return least(lambda y: (y - x) * (y - x) + least(lambda z: (z - y) * (z - y), y + 0.01), x + 0.01)

        return least(lambda x: (x - a) * (x - a) + 0.01 * second(x), a + 0.02)

    compiled = staged(f)
    for a in (1.0, 2.0):
        assert compiled(a) == pytest.approx(f(a), abs=1e-12)


def test_a_function_that_calls_itself_with_another_function_each_time_ends():
    def total(n, f):
        return f(n) if n <= 0.0 else total(n - 1.0, lambda x: f(x) + n)

    compiled = staged(lambda n: total(n, lambda x: x))
    for n in (2.0, 3.0, 2.0):
        assert compiled(n) == total(n, lambda x: x)
