"""`x ** y` has Python's bits in the arithmetic that is written here, and leaves where Python raises an error."""

import math
import random

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad.staging.native import powers
from tests.staging.native.natively import check, eagerly, native, needs_native, same

pytestmark = needs_native

LEAST, TINY, MOST = 5e-324, 2.0**-1022, 1.7976931348623157e308
SPECIAL = [0.0, 1.0, LEAST, 1e-310, TINY, MOST, math.inf, math.nan, 1 - 2.0**-53, 1 + 2.0**-52, 2.0**-511, 2.0**511]
SPECIAL += [-x for x in SPECIAL]
EXPONENTS = [-0.5, 0.5, -1.5, 1.5, -1.0, 1.0, 2.0, -2.0, 3.0, -2.5, 1 / 3, 0.0, -0.0, 1e-30, 700.0, -1e300, 1e18, 2, -3]


def numbers(count, seed):
    """Bases near 1, of usual size, and of any size; exponents of all sizes."""
    rng = random.Random(seed)
    for _ in range(count):
        base = rng.choice((rng.uniform(0.5, 2.0), math.exp(rng.uniform(-9, 9)), math.exp(rng.uniform(-700, 700))))
        known, tiny = float(rng.choice(EXPONENTS)), 1e-9 * rng.gauss(0, 1)
        yield base, rng.choice((rng.uniform(-4, 4), rng.gauss(0, 60), known, tiny))


def python(x, y):
    """`x ** y`; None if Python raises an error, or gives a complex number."""
    try:
        power = x**y
    except ArithmeticError:
        return None
    return power if type(power) is float else None


def check_at(entry, x, y, *given):
    found, expected = entry(*given), python(x, y)
    if found is not None:
        assert expected is not None, (x, y, found)
        assert same(found[0], expected), (x, y, found, expected)
    elif expected is not None and x != -math.inf and not (x == 0.0 and math.copysign(1.0, x) < 0.0):
        assert not abs(expected) < 2.0**1022, (x, y)


def test_bits_of_any_power():
    entry = native(lambda x, y: x**y, 1.5, 2.5).entry()
    for x, y in [*numbers(20_000, 0), *(known[:2] for known in powers.ITS_OWN)]:
        check_at(entry, x, y, x, y)
    for x in SPECIAL:
        for y in [*map(float, EXPONENTS), *SPECIAL]:
            check_at(entry, x, y, x, y)


@pytest.mark.parametrize("y", EXPONENTS)
def test_bits_of_a_known_power(y):
    entry = native(lambda x: x**y, 1.0).entry()
    for x in [*SPECIAL, *(x for x, _ in numbers(2_000, 1))]:
        check_at(entry, x, y, x)
    edge = 2.0 ** (1023 / y) if 1 < abs(y) < 600 else 1.0
    for x in (edge, math.nextafter(edge, 0.0), math.nextafter(edge, math.inf), edge * 2, edge / 2):
        check_at(entry, x, y, x)


@pytest.mark.parametrize("y", [-1.5, 2.0, 0.3])
def test_bits_of_a_power_of_numpy(y):
    entry = native(lambda x: x**y, np.float64(1.5)).entry()
    for x in map(np.float64, [*SPECIAL, *(x for x, _ in numbers(500, 2))]):
        found, expected = entry(x), eagerly(lambda x: x**y, x)
        if expected is None:
            assert found is None, x
        elif found is not None:
            assert same(found[0], expected[0]), (x, found, expected)


def test_powers_of_one_number_have_one_logarithm():
    text = native(sr.grad(lambda x: x**-0.5 + x**1.5), 1.5).text
    assert powers.is_known() == (f"@{powers.LOGARITHM}(" in text)


def test_the_function_of_c_is_called_if_it_is_another_one(monkeypatch):
    monkeypatch.setattr(powers, "is_known", lambda: False)
    code = check(sr.grad(lambda x: x**-0.5 + x**1.5), (1.5,), (0.25,), (7.0,), (-1.0,), (0.0,), leaves=2)
    assert f"@{powers.LOGARITHM}(" not in code.text
    assert "call double @c_pow(" in code.text


def test_an_error_is_raised_for_a_power_whose_value_is_not_needed():
    slope = sr.grad(lambda x: (x - 1.0) ** -0.5)  # which is a power of its own
    f = sr.staged(slope)
    for x in (2.0, 3.0, 4.0, 5.0):
        assert f(x) == slope(x)
    assert f.llvm[0].count("call double @known_power(") == 2
    for x in (1.0, 0.5):
        with pytest.raises((ZeroDivisionError, TypeError)) as expected:
            slope(x)
        with pytest.raises(expected.type):
            f(x)


def test_tables_are_those_of_the_routines():
    """1/c, log(c) and its rest, and the relative error and the bits of a power of 2, at some intervals."""
    table = powers.tables()
    rows = [[float(table[4 * i + j]) for j in range(3)] for i in (0, 74, 127)]
    assert rows[0] == [1.4140625, -0.3464667673462145, 5.929407345889625e-15]
    assert rows[1] == [1.0, 0.0, 0.0]
    assert rows[2] == [0.7109375, 0.3411707574027787, -1.156568624616423e-14]
    start = 4 * powers.INTERVALS
    assert [table[start], table[start + 1]] == [0.0, 1.0]
    assert table[start + 2] == 9.447885451727066e-17
    assert table[start + 254] == 4.124842848606488e-18
