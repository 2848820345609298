"""A list that control carries is a new list in the record: nobody may find out by `is`, a change, or an answer."""

import operator
import warnings
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from shiftreset_ad import grad, staged
from tests.staging.front.test_places import answers, ids

POINTS = ((0.7, 0), (0.9, 5), (1.3, 1), (0.7, 0))
TABLE = [1.0, 2.0]


@dataclass
class Point:
    x: float
    y: float


def of_a_loop(x, n):
    a = [x, 2 * x]
    b = a
    for _ in range(n):
        b = [b[1], b[0]]
    return x if a is b else 2 * x


def of_a_branch(x, n):
    a = [x, 2 * x]
    b = a
    if n > 2:
        b = [x, 3 * x]
    return x if a is not b else 2 * x


def of_an_attribute(x, n):
    a = [x, 2 * x]
    o = SimpleNamespace(a=a, b=a)
    for _ in range(n):
        o.b = [o.b[1], o.b[0]]
    return x if o.a is o.b else 2 * x


def of_a_dataclass(x, n):
    a = Point(x, 1.0)
    b = a
    for _ in range(n):
        b = replace(b, x=b.x * 1.1)
    return x if a is b else 2 * x


def of_a_tuple(x, n):
    a = (x, 1.0)
    b = a
    for _ in range(n):
        b = (b[1], b[0])
    return x if a is b else 2 * x


def in_a_round(x, n):
    a, s = [x, 1.0], x
    b = a
    for _ in range(n):
        s = s + (1.0 if b is a else 0.5)
        b = [s, 2.0]
    return s


def of_a_row(x, n):
    rows, s = [[x, 0.0], [1.0, 2 * x]], 0.0 * x
    for i in range(n):
        row = rows[i % 2]
        if row is rows[1]:
            s = s + x
    return s


def by_functions(x, n):
    a = [x, 2 * x]
    b = a
    for _ in range(n):
        b = [b[1], b[0]]
    return x * len({id(v) for v in (a, b)}) + (1.0 if operator.is_(a, b) else 0.0)


def of_a_function_of_itself(x, n):
    def go(a, m):
        return a if m < 1 else go([a[1], a[0] * 1.1], m - 1)

    a = [x, 2 * x]
    return x if go(a, n) is a else 2 * x


def changed_after_a_function_of_itself(x, n):
    def go(a, m):
        return a if m < 1 else go([a[1], a[0] * 1.1], m - 1)

    a = [x, 2 * x]
    b = go(a, n)
    b[0] = 50.0
    return a[0] + 10 * b[1]


def changed_for_a_while(x, n):
    a = [x, 2 * x]
    b = a
    for _ in range(n):
        b = [b[1], b[0]]
    kept, a[0] = a[0], 50.0
    s = b[0]
    a[0] = kept
    return s + b[1]


def changed_for_a_while_by_methods(x, n):
    a = [x, 2 * x]
    b = a if n > 2 else [1.0, x]
    kept = a.pop()
    a.append(50.0)
    s = b[1]
    a.pop()
    a.append(kept)
    return s + b[0]


def attribute_that_is_changed_for_a_while(x, n):
    a = Point(x, 2 * x)
    b = a if n > 2 else Point(x, 3.0)
    kept, a.y = a.y, 50.0
    s = b.y
    a.y = kept
    return s + b.x


def row_that_is_changed_for_a_while(x, n):
    rows, s = [[x, 1.0], [2.0, 3.0]], 0.0
    for i in range(n):
        row = rows[i % 2]
        kept, rows[0][0] = rows[0][0], 50.0
        s += row[0]
        rows[0][0] = kept
    return s


@pytest.mark.parametrize(
    "f",
    [
        *(of_a_loop, of_a_branch, of_an_attribute, of_a_dataclass, of_a_tuple, in_a_round, of_a_row, by_functions),
        *(of_a_function_of_itself, changed_after_a_function_of_itself, changed_for_a_while),
        *(changed_for_a_while_by_methods, attribute_that_is_changed_for_a_while, row_that_is_changed_for_a_while),
    ],
    **ids,
)
def test_whether_two_names_have_one_list_is_asked(f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for g, first in ((f, 3), (f, 0), (grad(f), 3), (grad(f), 0)):
            answers(g, first, POINTS)


def two_names(x, n):
    a = [x, 2 * x]
    b = a
    for _ in range(n):
        b = [b[1], b[0]]
    return [a, b]


def two_names_of_attributes(x, n):
    a = [x, 2 * x]
    o = SimpleNamespace(a=a, b=a)
    for _ in range(n):
        o.b = [o.b[1], o.b[0]]
    return [o.a, o.b]


def swapped(x, n):
    a, b = [x, 1.0], [2.0, x]
    for _ in range(n):
        a, b = b, a
    return [a, b]


def with_a_list_from_outside(x, n):
    return [TABLE if n > 2 else [x, 1.0], TABLE]


def of_itself(x, n):
    def go(a, m):
        return a if m < 1 else go([a[1], a[0] * 1.1], m - 1)

    a = [x, 2 * x]
    return [go(a, n), a]


@pytest.mark.parametrize("f", [two_names, two_names_of_attributes, swapped, with_a_list_from_outside, of_itself], **ids)
def test_what_is_answered_is_one_list_where_it_is_one_in_python(f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first in (3, 0):
            compiled = staged(f)
            for x, n in ((0.7, first), (0.7, first), *POINTS):
                (a, b), expected = compiled(x, n), f(x, n)
                assert (a, b) == (pytest.approx(expected[0]), pytest.approx(expected[1]))
                assert (a is b, a is TABLE) == (expected[0] is expected[1], expected[0] is TABLE)


def test_lists_that_are_never_one_are_answered_by_one_record():
    def f(x, n):
        a, b = [x, 1.0], [2.0, x]
        for _ in range(n):
            a, b = [v * 1.1 for v in a], [v + 0.1 for v in b]
        return [a, b]

    compiled = staged(f)
    for x, n in ((0.7, 3), *POINTS):
        assert compiled(x, n) == f(x, n)
    assert len(compiled.sources) == 1


def test_none_and_the_empty_tuple_are_what_they_are():
    def f(x, n):
        a, b, empty = (None, x), (), ()
        for _ in range(n):
            a = (None, a[1] * 1.1)
        return a[1] if a[0] is None and b is empty else 2 * x

    assert len(answers(grad(f), 3, POINTS).sources) == 1
