"""Comprehensions that are reduced where they stand are loops: filters and counts may depend on values."""

import itertools
import math
import re

import numpy as np
import pytest

from shiftreset_ad import staged
from tests.staging.front.agreement import agree, by_numpy, ids, require_bits_of_the_steps, require_one_record
from tests.staging.native.natively import needs_native

FACTORS = (0.5, -1.2, 2.0, 0.1, -0.3)


def square(v):
    return v * v if v > 0.5 else v


def is_large(v, x):
    if v > 0.0:
        return v * x > 0.2
    return v * x > 0.5


def total(x, n):
    return sum([v * x for v in FACTORS if v * x > 0.0])


def total_from_a_start(x, n):
    return sum((v * x for v in FACTORS if v * x > 0.0), x)


def total_by_functions(x, n):
    return sum(square(v * x) for v in FACTORS if is_large(v, x))


def total_of_a_range(x, n):
    return x + sum(x**k for k in range(1, n))


def total_of_two_ranges(x, n):
    return x + sum(x * i * j for i in range(n) for j in range(i) if i * j * x > 1.0)


def total_of_pairs(x, n):
    return 0.0 + sum(v * w * x for v, w in zip(FACTORS, FACTORS[::-1], strict=True) if v * w * x < 0.0)


def number_of(x, n):
    return x * len([v for v in FACTORS if 0.1 < v * x < 1.0])


def number_by_ones(x, n):
    return x * sum(1 for v in FACTORS if v * x > 0.1)


def share(x, n):
    return sum(v * x for v in FACTORS if v * x > 0.1) / max(len([v for v in FACTORS if v * x > 0.1]), 1)


def greatest(x, n):
    return max(v * x for v in FACTORS if v * x < 1.0)


def least_or_other(x, n):
    return min((v * x for v in FACTORS if v * x > 5.0), default=x * x)


def greatest_of_a_range(x, n):
    return max([np.sin(x * k) for k in range(n + 1)])


def least_of_a_list(x, n):
    return min([v * x for v in (3.0, x, x * x) if v > x * 0.5])


def any_by_a_function(x, n):
    return x * x if any(is_large(v, x) for v in FACTORS) else x


def all_by_a_function(x, n):
    return x * x if all(is_large(v, x) for v in (1.0, 0.3)) else x


def any_with_a_filter(x, n):
    return x if any(v * x > 1.5 for v in FACTORS if v * x < 2.0) else -x * x


def all_with_filters(x, n):
    return x if all(v * x > 0.4 for v in FACTORS if v * x > 0.1 if v > 0.2) else -x * x


def any_of_a_range(x, n):
    return x if any(square(x * k) > 2.0 for k in range(n)) else -x * x


def divisors(x, n):
    return x * sum(1.0 / (v * x) for v in (0.0, 1.0, 2.0) if v * x > 0.0)


def inside_one_another(x, n):
    return sum(sum(v * w * x for w in FACTORS if w > v * x) for v in FACTORS if v * x > 0.0)


def in_rounds(x, n):
    found = 0.0
    for _ in range(n):
        found = found + sum(v * x for v in FACTORS if v * x > found)
    return found


def under_a_test(x, n):
    if x > 1.0:
        return sum(v * x for v in FACTORS if v * x > 0.3)
    return max(v * x for v in FACTORS if v * x < 0.3)


def in_a_lambda(x, n):
    return (lambda y: sum(v * y * x for v in FACTORS if v * y > 0.0))(-x)


def of_elements(x, n):
    return sum(v for v in np.array([0.3, -0.6, 1.0]) * x if v > 0.0)


PROGRAMS = [
    *(total, total_from_a_start, total_by_functions, total_of_a_range, total_of_two_ranges, total_of_pairs),
    *(number_of, number_by_ones, share, greatest, least_or_other, greatest_of_a_range, least_of_a_list),
    *(any_by_a_function, all_by_a_function, any_with_a_filter, all_with_filters, any_of_a_range, divisors),
    *(inside_one_another, in_rounds, under_a_test, in_a_lambda, of_elements),
]


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_it_is_written_down_once(f, monkeypatch):
    require_one_record(f, monkeypatch)


@needs_native
@pytest.mark.parametrize("f", [total, total_of_a_range, share, greatest, any_by_a_function, in_rounds], **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    require_bits_of_the_steps(f, monkeypatch)


# What differs from the usual call is Python's own


def test_a_function_of_the_users_by_the_name_of_pythons():
    def f(x, n):
        def sum(items):  # noqa: A001
            return 2.0 * len(list(items)) * x

        return sum(v * x for v in FACTORS if v * x > 0.3)

    agree(f)


def test_no_item_is_an_error(monkeypatch):
    def f(x):
        return max(v * x for v in FACTORS if v * x > 5.0)

    by_numpy(monkeypatch)
    compiled = staged(f)
    for x in (3.0, 4.0, 3.5, 0.1, 4.5):
        if x > 1.0:
            assert compiled(x) == f(x)
        else:
            with pytest.raises(ValueError, match="empty") as expected:
                f(x)
            with pytest.raises(ValueError, match=re.escape(str(expected.value))):
                compiled(x)


def test_integers_stay_integers():
    big = 2**53 + 1

    def f(x):
        return max(k for k in (big, big + 2, 3) if k * x < big + 1)

    compiled = staged(f)
    for x in (1.0, 2.0, 0.5, 1.0):
        found = compiled(x)
        assert found == f(x)
        assert type(found) is int


def test_no_more_items_are_taken_than_python_takes():
    def f(x):
        items = iter([x, 2.0 * x, 3.0 * x, 4.0 * x])
        found = any(square(v) > 2.0 for v in items)
        return sum(items) * (2.0 if found else 1.0)

    def endless(x):
        return x if any(square(k * x) > 2.0 for k in itertools.count()) else 0.0

    for program in (f, endless):
        compiled = staged(program)
        for x in (0.3, 0.7, 1.1, 1.9, 3.2, 0.3):
            assert compiled(x) == program(x)


def test_effects_are_those_of_python():
    def f(x):
        seen = []

        def noted(v):
            seen.append(v)
            return v > 1.0

        found = any(noted(v * x) for v in (0.5, 1.0, 2.0))
        return sum(seen) * (2.0 if found else 1.0)

    compiled = staged(f)
    for x in (0.3, 0.7, 1.1, 1.9, 3.2, 0.3):
        assert compiled(x) == pytest.approx(f(x), rel=1e-14)  # from Python 3.12 on `sum` keeps rounding errors


def test_plain_comprehensions_are_pythons():
    def f(x):
        names = [name for name in ("a", "bb", "ccc") if len(name) > 1]
        count = sum(len(name) for name in names if name != "bb")
        return x * count + max(len(name) for name in names) + sum([k for k in range(4) if k % 2]) if x > 0.0 else x

    compiled = staged(f)
    for x in (0.5, -1.0, 2.0):
        assert compiled(x) == f(x)


def test_a_filter_that_is_not_reduced_asks_and_the_report_says_why():
    def f(x):
        return math.fsum(v * x for v in FACTORS if v * x > 0.3)

    compiled = staged(f)
    for x in (0.3, 0.7, 1.9, 0.3):
        assert compiled(x) == f(x)
    assert "this filter decides how many items the comprehension has" in compiled.report()


# What the loop reads from outside is compared before each call

TABLE = [0.5, -1.0, 2.0]
LIMITS = {"least": 0.2}


def of_a_table(x):
    return sum(v * x for v in TABLE if v * x > LIMITS["least"])


def greatest_of_a_table(x):
    return max([v * x for v in TABLE if v * x > LIMITS["least"]], default=0.0)


def any_of_a_table(x):
    return x if any(is_large(v, x) for v in TABLE) else -x


@pytest.mark.parametrize("f", [of_a_table, greatest_of_a_table, any_of_a_table], **ids)
def test_what_changes_outside_is_seen(f, monkeypatch):
    compiled = staged(f)

    def check():
        for x in (1.0, 0.3, -1.0, 1.0):
            assert compiled(x) == f(x)

    check()
    monkeypatch.setitem(globals(), "TABLE", list(TABLE))
    check()
    TABLE[2] = 0.25
    check()
    TABLE.append(4.0)
    check()
    TABLE.pop()
    monkeypatch.setitem(LIMITS, "least", 0.6)
    check()
    monkeypatch.setitem(globals(), "is_large", lambda v, x: v * x < -0.5)
    check()
    for name in ("sum", "max", "any"):
        monkeypatch.setitem(globals(), name, lambda items, default=0.0: 7.0 * len(list(items)))
    check()


def greatest_below(x):
    return max(v * x for v in FACTORS if v * x < 1.0)


def least_above(x):
    return min([v * x for v in FACTORS if v * x > 0.3])


def least_above_or_two(x):
    return min((v * x for v in FACTORS if v * x > 0.3), default=2.0)


@pytest.mark.parametrize("f", [greatest_below, least_above, least_above_or_two], **ids)
def test_other_items_are_left_at_each_call(f, monkeypatch):
    """One record serves them all, and an extreme of no items is Python's error, or the default."""
    by_numpy(monkeypatch)
    compiled = staged(f)
    for x in (0.7, 3.0, 0.4, -2.2, -4.0, 0.01, 0.7, 0.01):
        try:
            expected = f(x)
        except ValueError as error:
            with pytest.raises(ValueError, match=re.escape(str(error))):
                compiled(x)
        else:
            assert compiled(x) == expected
    assert len(compiled.sources) == 1
