"""Variables of comprehensions that have the name of a variable of their function."""

from __future__ import annotations

import ast
import re
import sys

import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging.front.apart import with_names_apart
from tests.staging.in_turns import in_turns, stays_staged


def counter(x, n):
    total = 0.0
    for i in range(n):
        total = total + x * i
    return total + sum([x * i for i in range(3)])


def in_the_test(x, n):
    i = 0
    while i < n and x > min([i * 0.1 for i in range(1, 3)]):
        x, i = x * 0.9, i + 1
    return x + i


def sets_and_dicts(x, n):
    k = v = 0.0
    while k < n:
        k, v = k + 1.0, v + x * k
    table = {k: v * x for k, v in (("a", 1.0), ("b", 2.0))}
    return v * table["a"] + k * table["b"] + len({v % 2 for v in range(4)})


def first_iterable(x, n):
    y = x
    if n > 2:
        y = x * 3.0
    return sum([y * y for y in [y, y + 1.0]]) + y


def inside_one_another(x, n):
    a = b = 1.0
    while a < n:
        a, b = a + 1.0, b * x
    rows = [[a * b for a in (b, b + x) if a > 0.0] for b in (x, a)]
    return sum([sum([1.0 * b for b in a]) for a in rows]) + a * b


def functions_inside(x, n):
    k = 0
    while k < n:
        k, x = k + 1, x * 1.5
    own = [lambda k: k * x for k in range(2)]
    seen = [lambda y: y * k for k in (2.0, 3.0)]  # noqa: B023
    one = lambda k: sum([k * k for k in (k, x)])  # noqa: E731
    return sum([f(x) for f in own]) + sum([f(x) for f in seen]) + one(k * 1.0)


def function_with_its_own(x, n):
    def total(y):
        for i in range(n):
            if y > 2.0:
                y = y - i
        return y + sum([y * i for i in range(2)])

    i = x
    if x > 0.5:
        i = total(x)
    return i + sum([total(i) for i in (x, x + 1.0)])


def assigned_inside(x, n):
    y = last = x
    while y < n:
        y = y * 2.0
    parts = [last := last + y for y in (x, y)]
    return last * parts[0] + y


def a_class_inside(x, n):
    i = 0
    while i < n:
        i = i + 1

    class Parts:
        k = x, x + i

        def total(self):
            return sum([self.k[i] for i in range(2)]) + i

    return Parts().total()


def a_generator(x, n):
    i = 0
    while i < n:
        i = i + 1
    return sum(x * i for i in range(3)) + i


def comprehensions_alone(x, n):
    y = x
    while y < n:
        y = y * 2.0
    tables = [[x * z for z in (y, k)] for k in (1.0, y)]
    sums = [sum([z * k for z in (y, k)]) for k in (2.0, x)]
    return sum([sum(k) for k in tables]) + sum([k * z for k in sums for z in (x, y)])


def unused(x, n):
    for _ in range(n):
        x = x * 1.1
    a, *_ = [x * 2.0 for _ in range(3)]
    return a


PROGRAMS = [
    *(counter, in_the_test, sets_and_dicts, first_iterable, inside_one_another, function_with_its_own),
    *(assigned_inside, a_generator, comprehensions_alone, unused),
]
# The function itself has cells of these names, which some versions of Python take for the variable.
WITH_CELLS = [functions_inside, a_class_inside]
CALLS = [(1.3, 2), (1.3, 4), (0.7, 1), (2.5, 0), (1.1, 3)]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_another_variable_may_have_the_name(f):
    stays_staged(f, *CALLS[:1], *CALLS, ways=1)
    g, derivative = staged(grad(f)), grad(f)
    assert [g(*call) for call in CALLS] == pytest.approx([derivative(*call) for call in CALLS], rel=1e-14)


@pytest.mark.parametrize("f", WITH_CELLS, ids=lambda f: f.__name__)
def test_a_variable_that_python_does_not_show_is_none_of_another(f):
    _, reasons = in_turns(f, *CALLS[:1], *CALLS)
    assert not reasons if sys.version_info < (3, 12) else "Give the variable another name" in reasons or not reasons


def test_who_looks_up_variables_by_their_names_finds_them():
    def f(x, n):
        i = 0
        while i < n:
            i, x = i + 1, x * 2.0
        return x + sum([eval("i") for i in range(3)])

    in_turns(f, (1.0, 2), (1.0, 2), (2.0, 3), (1.0, 0))


RENAMED = {
    "another variable": ("i = n; return [i for i in range(i)]", "i = n; return [_ for _ in range(i)]"),
    "a parameter": ("return {n: n for n in n}", "return {_: _ for _ in n}"),
    "a variable from outside": ("return k, [k for k in n]", "return k, [_ for _ in n]"),
    "no other variable": ("return [i for i in n]", "return [i for i in n]"),
    "an earlier comprehension": ("return [i for i in n], [i for i in n]", "return [i for i in n], [_ for _ in n]"),
    "a filter": ("i = n; return [1 for i in n if i]", "i = n; return [1 for _ in n if _]"),
    "a later loop": ("i = n; return [1 for i in n for j in i]", "i = n; return [1 for _ in n for j in _]"),
    "one inside": ("return [[i for i in i] for i in n]", "return [[_ for _ in i] for i in n]"),
    "what one inside goes over": (
        "i = n; return [[j for j in i] for i in n]",
        "i = n; return [[j for j in _] for _ in n]",
    ),
    "used inside": ("i = n; return [[i for j in n] for i in n]", "i = n; return [[_ for j in n] for _ in n]"),
    "a function inside": ("i = n; return [lambda j: i for i in n]", "i = n; return [lambda j: _ for _ in n]"),
    "its parameter": ("i = n; return [lambda i: i for i in n]", "i = n; return [lambda i: i for _ in n]"),
    "its default": ("i = n; return [lambda j=i: j for i in n]", "i = n; return [lambda j=_: j for _ in n]"),
    "a variable of its own": ("i = n; return lambda: [i for i in n]", "i = n; return lambda: [i for i in n]"),
    "names that are looked up": ("i = n; return [eval('i') for i in n]", "i = n; return [eval('i') for i in n]"),
}


@pytest.mark.parametrize(("body", "expected"), RENAMED.values(), ids=RENAMED)
def test_what_is_renamed(body, expected):
    tree = ast.parse(f"def f(n):\n    {body}")
    with_names_apart(tree.body[0])
    found = re.sub(r"_sr_each\d+_\w+", "_", ast.unparse(tree))
    assert found == ast.unparse(ast.parse(f"def f(n):\n    {expected}"))


def test_each_comprehension_has_names_of_its_own():
    tree = ast.parse("def f(i):\n    return [i for i in i], {i for i in i}")
    with_names_apart(tree)
    assert len({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}) == 3
