"""Python's functions of numbers in a staged loop: `math`, `float`, `int` and rounding. The loop is written once."""

import math

import numpy as np
import pytest

from shiftreset_ad import grad, staged, value
from shiftreset_ad.staging.native import c_functions
from shiftreset_ad.staging.steps.functions import OF_MATH
from tests.staging.native.natively import needs_native

OF_TWO = {math.atan2, math.copysign, math.fmod, math.hypot, math.pow, math.remainder}
WITHOUT_CODE = {math.gamma, math.hypot, math.lgamma, math.remainder}  # these are CPython's own, and not those of C
ROUNDING = {"int": int, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round}
POINTS = (0.3, 0.7, 1.1, 1.9, 3.2)


def looped(step):
    """A function with a loop whose number of rounds depends on the argument."""

    def f(x):
        total = 0.0
        while x < 4.0:
            total = total + step(x)
            x = x * 1.25 + 0.1
        return total

    return f


def agrees(f, points=POINTS, is_native=True):
    """That `f`, staged, is written down once, and has the bits of `f` at the points, in this order and backwards."""
    compiled = staged(f)
    for x in (*points, *reversed(points)):
        found, expected = compiled(x), f(x)
        assert type(found) is type(expected)
        assert (found, math.copysign(1.0, found)) == (expected, math.copysign(1.0, expected))
    assert len(compiled.sources) == 1
    assert "while " in compiled.sources[0]
    if is_native:
        assert "as native code" in compiled.report()
    return compiled


def inner_point(function):
    """How a function is called so that it has an answer for each x from 0.3 to 4."""
    if function in OF_TWO:
        return lambda x: function(x, x - 1.3)
    if function in (math.acos, math.asin, math.atanh):
        return lambda x: function(x / 5.0 - 0.4)
    if function is math.acosh:
        return lambda x: function(x + 1.0)
    return lambda x: function(x)


@needs_native
@pytest.mark.parametrize("function", sorted(OF_MATH, key=lambda f: f.__name__), ids=lambda f: f.__name__)
def test_functions_of_math(function):
    agrees(looped(inner_point(function)), is_native=function not in WITHOUT_CODE)


@pytest.mark.parametrize("function", c_functions.FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_of_c_are_those_of_python(function):
    name = function.__name__
    if name in (*c_functions.OF_ONE, *c_functions.OF_TWO):
        assert c_functions.address_of(name)


def test_a_function_that_c_does_not_have_has_no_address(monkeypatch):
    monkeypatch.setattr(math, "sin", lambda x: math.cos(x))
    c_functions.address_of.cache_clear()
    assert c_functions.address_of("sin") == 0
    monkeypatch.undo()
    c_functions.address_of.cache_clear()
    assert c_functions.address_of("sin")


@needs_native
@pytest.mark.parametrize("rounds", ROUNDING.values(), ids=ROUNDING)
def test_rounding(rounds):
    agrees(looped(lambda x: rounds(x * 1.7 - 3.0) * 0.5))
    agrees(looped(lambda x: rounds(np.float64(2.5) * (x > 1.0)) + x))


@pytest.mark.parametrize("rounds", ROUNDING.values(), ids=ROUNDING)
def test_integers_that_are_long(rounds):
    """Python's integers have no end; the machine's have."""
    f = looped(lambda x: float(rounds(x * 1e30) % 1000))
    compiled = staged(f)
    for x in (*POINTS, *POINTS):
        assert compiled(x) == f(x)


@needs_native
@pytest.mark.parametrize("rounds", ROUNDING.values(), ids=ROUNDING)
def test_integers_that_are_long_in_a_later_call(rounds):
    def f(x, scale):
        total = 0.0
        while x < 4.0:
            total, x = total + 0.5 * rounds(x * scale), x * 1.25 + 0.1
        return total

    compiled = staged(f)
    for scale in (1.7, 2.3, 0.4, 1e18, 1e30, -1e40, 2.1):
        assert compiled(0.3, scale) == f(0.3, scale)
    assert "as native code" in compiled.report()
    for scale in (np.inf, np.nan):
        with pytest.raises((OverflowError, ValueError)):
            compiled(0.3, scale)


@needs_native
def test_a_logarithm_to_the_base_one():
    f = looped(lambda x: math.log(3.0, x))
    compiled = staged(f)
    for x in (0.5, 0.7, 0.5):
        assert compiled(x) == f(x)
    with pytest.raises(ZeroDivisionError):
        compiled(1.0)


@needs_native
def test_types_of_numbers():
    agrees(looped(lambda x: math.sqrt(np.float64(x) * 2.0) + float(np.float64(x)) + math.sqrt(int(x)) + math.sin(2)))
    agrees(looped(lambda x: x if bool(math.floor(x)) else 2.0 * x))
    agrees(looped(lambda x: math.log(x, 2.5) + math.log(3, x + 1.0)))
    agrees(looped(lambda x: sum(map(math.sqrt, (x, x + 1.0)))))


@needs_native
def test_the_least_and_the_greatest():
    agrees(looped(lambda x: min(x, 2.0) + max(x, 1.0, 2.0 * x - 1.0) + max([x, 2.0]) * min((x, 0.0 * x, -0.0))))
    agrees(looped(lambda x: math.copysign(x, min(0.0 * x, -0.0)) + math.copysign(x, max((-0.0 * x, 0.0)))))
    agrees(looped(lambda x: max(x, 2.0, key=lambda y: -y) if x < 1e-3 else min(3.0, x)))
    slope = staged(grad(looped(lambda x: min(x * x, 2.0) + max(x, 1.5))))
    for x in (*POINTS, *POINTS):
        assert slope(x) == pytest.approx(grad(looped(lambda x: min(x * x, 2.0) + max(x, 1.5)))(x), rel=1e-14)
    assert len(slope.sources) == 1


@needs_native
def test_quotients_and_remainders_together():
    agrees(looped(lambda x: divmod(x, 0.7)[1] + divmod(-x, 0.3)[0] + divmod(int(x * 10.0), 3)[1]))
    compiled = staged(looped(lambda x: divmod(1.0, x - x)[0]))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            compiled(1.0)


@needs_native
def test_numbers_that_are_close():
    agrees(looped(lambda x: 1.0 if math.isclose(x, 2.0, rel_tol=0.5) else 0.0))
    agrees(looped(lambda x: math.isclose(x, 2, rel_tol=0.0, abs_tol=0.5) + math.isclose(x, x) * 0.5))
    agrees(looped(lambda x: math.isclose(x, math.inf) + math.isclose(math.inf * x, math.inf) * 0.5))
    agrees(looped(lambda x: math.isclose(x * math.nan, 1.0) + math.isclose(2.0, x) * x))
    compiled = staged(looped(lambda x: float(math.isclose(x, 2.0, abs_tol=-1.0))))
    for _ in range(2):
        with pytest.raises(ValueError, match="tolerances must be non-negative"):
            compiled(1.0)


@needs_native
def test_arrays_of_staged_numbers():
    agrees(looped(lambda x: float(np.array([x, 1.0, 2.0 * x]).sum() + np.asarray(((x, 1.0), (x * x, x)), float)[1, 0])))
    compiled = staged(lambda x, y: (np.array([x, [1.0, 2.0]]), np.array([[x, y], [y, x]], dtype=np.float32)))
    for y in (np.array([3.0, 4.0]), np.array([5.0, 6.0])):
        found, in_single = compiled(y, 2.0 * y)
        np.testing.assert_array_equal(found, np.array([y, [1.0, 2.0]]))
        assert in_single.dtype == np.float32
        np.testing.assert_array_equal(in_single, np.array([[y, 2.0 * y], [2.0 * y, y]], np.float32))
    with pytest.raises(ValueError, match="inhomogeneous"):
        staged(lambda x: np.array([x, [1.0, x]]))(2.0)


@needs_native
@pytest.mark.parametrize("y", [0.7, -0.7, 1e-3, -1e5])
def test_remainders(y):
    agrees(looped(lambda x: (x - 2.0) % y + (x - 2.0) // y + (y % x) * (y // x)))
    agrees(looped(lambda x: np.float64(x - 2.0) % y + np.float64(x) // y), (0.7, 1.4, 2.1))


def test_a_remainder_of_zero_is_the_error_of_python():
    f = staged(looped(lambda x: 1.0 % (x - x)))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            f(1.0)


def test_an_error_is_that_of_python():
    def f(x):
        while x > -3.0:
            x = x - math.sqrt(x)
        return x

    compiled = staged(f)
    for x in (1.5, 1.7, 1.6):
        with pytest.raises(ValueError, match=r"math domain error|expected a nonnegative input"):
            f(x)
        with pytest.raises(ValueError, match=r"math domain error|expected a nonnegative input"):
            compiled(x)
    g = looped(lambda x: math.exp(x * 100.0) if x > 3.5 else math.log(x))
    compiled = staged(g)
    for x in (0.5, 0.7, 0.5):
        assert compiled(x) == g(x)
    h = staged(looped(lambda x: math.exp(x * 250.0)))
    for _ in range(3):
        with pytest.raises(OverflowError):
            h(1.0)


@needs_native
def test_a_branch_that_is_not_reached_may_have_no_answer():
    agrees(looped(lambda x: math.log(x - 1.0) if x > 1.0 else math.sqrt(1.0 - x) if x <= 1.0 else 0.0))


def test_a_number_that_is_differentiated_is_an_error_as_before():
    compiled = staged(grad(lambda x: math.sin(x)))
    for _ in range(2):
        with pytest.raises(TypeError, match=r"numpy\.sin"):
            compiled(1.0)


@needs_native
def test_a_descent_with_a_norm():
    """The rounds of a gradient descent, whose norm and whose steps are plain numbers."""

    def cost(x):
        return (x[0] - 1.0) * (x[0] - 1.0) + 2.0 * (x[1] + 2.0) * (x[1] + 2.0)

    def descent(start):
        x, slope, step, downhill = start, grad(cost)(start), 0.01, 0
        while math.sqrt(sum(part * part for part in value(slope))) > 1e-5:
            if downhill == 3:
                step, downhill = 2 * step, 0
                continue
            lower = tuple(a - step * b for a, b in zip(x, slope, strict=True))
            if math.hypot(lower[0] - x[0], lower[1] - x[1]) < 1e-12:
                break
            if cost(lower) < cost(x):
                x, slope, downhill = lower, grad(cost)(lower), downhill + 1
            else:
                step, downhill = step / 2, 0
        return x

    compiled = staged(descent)
    for start in ((0.0, 0.0), (3.0, 1.0), (-2.0, 0.5), (0.0, 0.0)):
        assert compiled(start) == descent(start)
    assert len(compiled.sources) == 1
    assert "while " in compiled.sources[0]
