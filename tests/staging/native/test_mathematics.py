"""Functions of mathematics have NumPy's bits, at special values and over their whole domains."""

import math

import numpy as np
import pytest

from shiftreset_ad.staging.native import c_functions, mathematics
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from tests.staging.native.natively import check, eagerly, native, needs_native, same

pytestmark = needs_native

OF_ONE = [np.exp, np.log, np.tanh, np.sin, np.cos, np.tan, np.arctan, np.expm1, np.log1p, np.exp2, np.cbrt, np.sinh]
OF_ONE += [np.sign, np.rint, np.floor, np.arcsin, np.arccosh, np.log2, np.log10, np.cosh, np.deg2rad]
OF_TWO = [np.power, np.arctan2, np.hypot, np.maximum, np.minimum, np.fmax, np.copysign, np.logaddexp, np.float_power]
TINY, LEAST, MOST = 2.0**-1022, 5e-324, 1.7976931348623157e308
SPECIAL = [0.0, -0.0, 1.0, -1.0, TINY, -TINY, LEAST, -LEAST, 1e-310, MOST, -MOST, math.inf, -math.inf, math.nan]
CLAMPS = [709.78, 709.79, -708.4, -745.1, -745.2, 710.4, -1022.0, 1024.0, 22.0, 1e5, 1e22, math.pi, math.pi / 2]


def points():
    rng = np.random.default_rng(0)
    spread = rng.normal(size=300) * 10.0 ** rng.integers(-12, 4, size=300)
    return [*SPECIAL, *CLAMPS, *(float(x) for x in spread), *(float(x) for x in rng.normal(size=300))]


@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.parametrize("function", OF_ONE)
def test_functions_of_one(function, kind):
    answered = 0
    entry = native(function, kind(1.5)).entry()
    for x in map(kind, points()):
        found, expected = entry(x), eagerly(function, x)
        if expected is None:
            assert found is None, (x, found)
        elif found is not None:
            answered += 1
            assert same(found[0], expected[0]), (x, found, expected)
    assert answered > 50


@pytest.mark.parametrize("function", OF_TWO)
def test_functions_of_two(function):
    answered = 0
    entry = native(function, 1.5, 2.5).entry()
    first = points()
    for x, y in [*zip(first, reversed(first), strict=True), *((x, y) for x in SPECIAL for y in SPECIAL)]:
        found, expected = entry(x, y), eagerly(function, x, y)
        if expected is None:
            assert found is None, (x, y, found)
        elif found is not None:
            answered += 1
            assert same(found[0], expected[0]), (x, y, found, expected)
    assert answered > 200


@pytest.mark.parametrize("kind", [float, np.float64])
def test_powers_of_pythons_floats_and_of_numpys(kind):
    rng = np.random.default_rng(0)
    entry = native(lambda x, y: x**y, kind(1.5), kind(2.5)).entry()
    for x, y in zip(rng.lognormal(size=2000), rng.normal(size=2000) * 3, strict=True):
        assert entry(kind(x), kind(y)) == [kind(x) ** kind(y)]
    for exponent in (2, 3, 0.5, -1, -2, 7, 1.5):
        entry = native(lambda x, k=exponent: x**k, kind(1.5)).entry()
        for x in rng.lognormal(size=200):
            assert entry(kind(x)) == [kind(x) ** exponent]


def test_flags_before_a_loop_that_clears_them_count():
    def f(x):
        y = x * x  # which overflows
        return np.maximum(y, 1.0) + np.minimum(x, 0.0)

    check(f, (np.float64(2.0),), (np.float64(1e200),), leaves=1)


def test_flags_of_before_do_not_count():
    entry = native(lambda x: np.exp(x) / x, np.float64(1.0)).entry()
    with np.errstate(all="ignore"):
        np.float64(1.0) / np.float64(0.0)
        assert entry(np.float64(0.0)) is None
        assert entry(np.float64(1.0)) == [np.exp(np.float64(1.0))]


def test_a_loop_that_is_not_found_is_refused(monkeypatch):
    monkeypatch.setattr(mathematics, "address_of", lambda ufunc: None)
    with pytest.raises(NoNativeFormError, match=r"the loop of numpy\.sin was not found"):
        native(np.sin, 1.0)


def test_a_loop_that_answers_something_else_is_not_used(monkeypatch):
    monkeypatch.setattr(mathematics, "POINTS", (0.5,))
    _, of_cosine = mathematics.address_of(np.sin), mathematics.address_of(np.cos)
    assert mathematics._agrees(np.cos, of_cosine)
    assert not mathematics._agrees(np.sin, of_cosine)


def test_pow_that_is_not_found_is_refused(monkeypatch):
    monkeypatch.setattr(c_functions, "address_of", lambda name: 0)
    with pytest.raises(NoNativeFormError, match="pow of C"):
        native(lambda x: x**2.5, 1.0)


def test_ufuncs_of_others_are_refused(monkeypatch):
    special = pytest.importorskip("scipy.special")
    monkeypatch.setattr(mathematics, "SPECIAL", "a package that is not there")
    with pytest.raises(NoNativeFormError, match="expit"):
        native(special.expit, 1.0)
