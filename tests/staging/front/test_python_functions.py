"""`sorted`, `min`, `max` with keys, functions of `math`, dicts at staged keys: written down, or the test is asked."""

import math
import warnings

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging.native import machine
from tests.staging.front import python_functions as programs
from tests.staging.front.agreement import (
    POINTS,
    agree,
    by_numpy,
    ids,
    require_bits_of_the_steps,
    require_one_record,
)
from tests.staging.native.natively import needs_native


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("f", programs.WRITTEN, **ids)
def test_one_record_serves_all_counts(f, monkeypatch):
    require_one_record(f, monkeypatch)


@pytest.mark.slow_but_every(3)
@needs_native
@pytest.mark.parametrize("f", programs.WRITTEN, **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    require_bits_of_the_steps(f, monkeypatch)


@pytest.mark.parametrize("f", programs.ASKED, **ids)
def test_what_has_no_form_is_asked(f, monkeypatch):
    by_numpy(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(grad(f), POINTS[:4])
        asked = agree(f, [(0.7, n) for n in (0, *range(22))])
        assert "a loop asks for a value that differs from round to round" in asked.report()


def test_nan_in_a_sorted_list_is_where_python_has_it():
    def f(x, n):
        s = 0.0
        for k in range(n):
            values = sorted([1.0 + k, x, 0.5, x * 0.3])
            s = s + values[0] + 10 * values[1] + 100 * values[3]
        return s

    compiled = staged(f)
    for x in (0.7, 2.0, 0.7, math.nan, 3.0, math.inf, -math.inf):
        for n in (2, 3):
            assert repr(compiled(x, n)) == repr(f(x, n))


def test_a_key_that_is_not_there_raises_the_error_of_python():
    table = {0: 1.0, 1: 2.0}

    def f(x, n):
        s = 0.0
        for k in range(n):
            s = s + table[k] * x
        return s

    compiled = staged(f)
    for n in (2, 2, 1):
        assert compiled(0.5, n) == f(0.5, n)
    with pytest.raises(KeyError, match="2"):
        compiled(0.5, 3)
    table[2] = 5.0
    assert compiled(0.5, 3) == f(0.5, 3)


@pytest.mark.parametrize("f", [min, max, sorted], ids=lambda f: f.__name__)
def test_a_key_is_called_once_for_each_value_and_in_order(f):
    def program(x, n):
        seen = []

        def key(y):
            seen.append(y)
            return 0.0 if n > 4 else -y

        found = f([x, x + n, x * 2.0], key=key)
        total = 0.0
        while total < n:
            total = total + 1.0
        weighted = sum(y * 10.0**i for i, y in enumerate(seen))
        return weighted + (found[0] if f is sorted else found) + total + len(seen)

    compiled = staged(program)
    for x, n in (*POINTS, (0.7, 6), (0.7, 7)):
        assert compiled(x, n) == program(x, n)


SPECIAL = (0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan)
OF_FLOATS = [
    lambda x, y: (min(x, y), max(x, y)),
    lambda x, y: (min(x, 1.0, y, -0.0), max([0.0, y, x])),
    lambda x, y: (min((x * 1.0,)), max(y, 0.0), min(0.0, y), max(v * 2.0 for v in (x, y))),
]


@pytest.mark.parametrize("f", OF_FLOATS)
@pytest.mark.parametrize("natively", [True, False])
def test_the_least_of_floats_has_the_bits_of_python(f, natively, monkeypatch):
    """The first of equal ones, as 0.0 and -0.0, and what Python gives for NaN."""
    if not natively:
        monkeypatch.setattr(machine, "unfit", lambda: "not here")
    compiled = staged(lambda x, y: f(x, y) if x * 0.0 == 0.0 or x != x or x == x else None)
    for x in SPECIAL:
        for y in SPECIAL:
            assert list(map(repr, compiled(x, y))) == list(map(repr, f(x, y)))
    assert len(compiled.sources) <= 4


def test_the_least_of_floats_is_a_step_without_branches():
    f = staged(lambda x, y: min(x, y, 3.0) * max(x, 1.0) if x > y else min(y, x))
    for x, y in ((0.5, 1.0), (2.0, 1.0), (5.0, 4.0), (-1.0, -2.0), (0.0, 0.0)):
        assert f(x, y) == (min(x, y, 3.0) * max(x, 1.0) if x > y else min(y, x))
    assert len(f.sources) == 1
    assert f.sources[0].count("if ") == 1


def test_the_least_of_numbers_of_other_types_is_what_python_gives():
    f = staged(lambda x, n: (min(x, n), max(n, 2, x), min(np.float64(x), n)))
    for x, n in ((0.5, 1), (2.0, 1), (5.0, 7), (-1.0, -2), (1.0, 1)):
        found, expected = f(x, n), (min(x, n), max(n, 2, x), min(np.float64(x), n))
        assert found == expected
