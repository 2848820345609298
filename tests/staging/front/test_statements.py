"""Statements of all kinds around staged tests: `match`, `del`, `try`, `with`, `nonlocal`, `:=`, stars and chains."""

import contextlib

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from tests.staging.front.agreement import agree, ids, require_bits_of_the_steps, require_one_record
from tests.staging.native.natively import needs_native

FACTORS = (0.5, -1.2, 2.0, 0.1)


def match_of_a_count(x, n):
    match n:
        case 0:
            return x
        case 1 | 2:
            return 2.0 * x
        case 3 if x > 1.0:
            return x * x
        case _:
            return x * x * x


def match_with_guards(x, n):
    match 2.0 * x:
        case y if y > 2.0:
            z = 2.0 * y
        case y if y > 1.0:
            z = y * y
        case other:
            z = -other
    return z + y


def match_in_rounds(x, n):
    total = 0.0
    for k in range(n):
        match k % 3:
            case 0:
                total = total + x
            case 1:
                continue
            case 2:
                if total > 2.0:
                    break
                total = total * x
    return total


def match_without_a_fit(x, n):
    total = x
    match n:
        case 3:
            total = x * x
        case 5 if total > 2.0:
            total = 0.0 * x
    return total


def match_of_plain_values(x, n):
    total = x
    for operation in ("square", "halve", None, True, "other"):
        match operation:
            case "square":
                total = total * total
            case "halve" if total > 1.0:
                total = total * 0.5
            case None | True:
                total = total + 1.0 if total < 1.0 else total
            case _:
                total = total - x
    return total


def match_of_structures(x, n):
    total = x
    for operation in (("times", 2.0), ("plus", 1.0), ("clip",)):
        match operation:
            case ("times", factor):
                total = total * factor
            case ("plus", term):
                total = total + term if total > 2.0 else total
            case ("clip",):
                if total > 2.0:
                    total = 2.0 * x
    return total


def deleted_in_rounds(x, n):
    for _ in range(n):
        t = x * 0.5
        x = t + 0.1
        del t
    return x


def deleted_in_branches(x, n):
    y = x * 2.0
    if x > 1.0:
        z = y * x
        del y
    else:
        z = x
    return z


def deleted_and_bound_again(x, n):
    y = x * 2.0
    for k in range(n):
        z = y * 0.7
        del y
        y = z + k
    return y


def with_finally(x, n):
    total = x
    for k in range(n):
        try:
            total = total * 0.5 if total > 1.0 else total + k
        finally:
            total = total * 1.1
    return total


def with_contexts(x, n):
    total = x
    for k in range(n):
        with np.errstate(all="ignore"):
            total = np.log(total * total + 1.0) + k
    with contextlib.nullcontext(2.0) as factor:
        if total > 1.0:
            total = total * factor
    return total


def with_nonlocal(x, n):
    total = 0.0

    def add(v):
        nonlocal total
        total = total + v if v > 0.5 else total - v

    for k in range(n):
        add(x * k)
    return total


def with_walrus(x, n):
    total = 0.0
    while (x := x * 0.6) > 0.1:
        if (y := x * 2.0) > 1.0:
            total = total + y
    return total + x


def with_stars(x, n):
    def scaled(first, *rest, factor=1.0, **options):
        return first * factor + sum(rest) if first > options.get("most", 1.0) else first

    parts = (x, 2.0 * x, 1.0)
    for _ in range(n):
        _, *rest = parts
        parts = (*rest, scaled(*parts, factor=x, most=0.8) * 0.3)
    return parts[0] + parts[2] * x


def with_else(x, n):
    for _ in range(n):
        x = x * 0.5
        if 0.1 < x < 0.2:
            break
    else:
        x = x + 10.0
    k = 0
    while k < n:
        k += 1
        if x > 10.1:
            break
    else:
        x = x * x
    return x


def with_texts(x, n):
    table = {f"of {k}": x * k for k in range(3)}
    total = 0.0
    for j in range(3):
        total = total + table[f"of {j}"] if x > j * 0.5 else total
    return total


PROGRAMS = [
    *(match_of_a_count, match_with_guards, match_in_rounds, match_without_a_fit, match_of_plain_values),
    *(
        match_of_structures,
        deleted_in_rounds,
        deleted_in_branches,
        with_finally,
        with_contexts,
    ),
    *(with_nonlocal, with_walrus, with_stars, with_else, with_texts),
]


@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_it_is_written_down_once(f, monkeypatch):
    require_one_record(f, monkeypatch)


@needs_native
@pytest.mark.parametrize("f", [match_of_a_count, match_in_rounds, deleted_in_rounds, with_walrus], **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    require_bits_of_the_steps(f, monkeypatch)


def test_a_variable_that_is_deleted_and_read_later_is_right():
    agree(deleted_and_bound_again)
    agree(grad(deleted_and_bound_again))


def test_a_deleted_variable_has_no_value():
    def f(x, n):
        y = 2.0 * x
        if x > 1.0:
            del y
        try:
            return y * x
        except UnboundLocalError:
            return -x

    for mode in (lambda f: f, grad):
        agree(mode(f))


def test_an_item_that_is_deleted_under_a_test():
    def f(x, n):
        table, items = {"a": x, "b": 2.0}, [x, 1.0, 3.0]
        if x > 1.0:
            del table["a"], items[0]
        return sum(table.values()) * sum(items)

    agree(f)
    agree(grad(f))


def test_a_guard_that_fails_leaves_its_name(monkeypatch):
    def f(x, n):
        y = 1.0
        match x:
            case y if y > 1.0:
                return y
        return 3.0 * y

    require_one_record(f, monkeypatch)


def test_what_a_pattern_compares_with_is_seen(monkeypatch):
    class Modes:
        FIRST = 3

    def f(x, n):
        match n:
            case Modes.FIRST:
                return x
        return -x

    compiled = staged(f)
    for first in (3, 0, 5):
        monkeypatch.setattr(Modes, "FIRST", first)
        for n in (0, 3, 5, 3):
            assert compiled(1.5, n) == f(1.5, n)
