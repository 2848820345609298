"""Searches along a line."""

import math

import pytest

from shiftreset_ad.optimize.line_search import GOLDEN, bracket, golden_section

LINES = {
    "a parabola": lambda x: (x - 5000.0) ** 2,
    "two parabolas": lambda x: abs(x - 3.0) ** 2 + abs(x),
    "a quartic far away": lambda x: (x - 1e6) ** 4,
    "an edge": lambda x: abs(x - 7e5),
    "a valley with a wall": lambda x: math.exp(x / 1e3) - x,
    "waves": lambda x: math.cos(x / 300.0) + 1e-7 * x * x,
    "flat, and then a dip": lambda x: -math.exp(-(((x - 1e4) / 2e3) ** 2)),
}


@pytest.mark.parametrize("first", [(-100.0, 100.0), (100.0, -100.0), (0.0, 1.0)])
@pytest.mark.parametrize("name", LINES)
def test_a_bracket_has_its_least_value_in_the_middle(name, first):
    f = LINES[name]
    a, b, c = bracket(f, *first)
    assert a < b < c or a > b > c
    assert f(b) <= f(a)
    assert f(b) < f(c)
    x = golden_section(f, a, b, c, 1e-6)
    assert f(x) <= f(b)
    assert f(x) <= min(f(x - 1e-3 * abs(x)), f(x + 1e-3 * abs(x)))


def test_a_parabola_is_bracketed_at_its_vertex():
    first = 100.0 + GOLDEN * 200.0
    found = (first, 5000.0, 5000.0 + GOLDEN * (5000.0 - first))
    assert bracket(LINES["a parabola"], -100.0, 100.0) == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("f", [lambda x: -x, lambda x: x, lambda x: 7.0, lambda x: -math.exp(min(x, 300.0)) - x**3])
def test_a_line_that_does_not_rise_again_has_no_bracket(f):
    assert bracket(f, -100.0, 100.0) is None


def test_a_value_that_is_not_a_number_ends_the_search():
    assert bracket(lambda x: math.nan if abs(x) > 1e3 else -x, 0.0, 1.0) is None


def test_no_point_is_asked_twice():
    for f in LINES.values():
        asked = []
        bracket(lambda x, f=f, asked=asked: asked.append(x) or f(x), -100.0, 100.0)
        assert len(set(asked)) == len(asked)
