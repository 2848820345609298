"""Arrays of integers as tables of indices in native code: `xs[table[i]]`, chains of links, and their derivatives."""

import random

import numpy as np
import pytest

from shiftreset_ad import cond, fori_loop, grad, jvp, staged, value_and_grad, while_loop
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from tests.staging.native.natively import answered_as_by_steps, native, needs_native

pytestmark = needs_native

OPERATORS = {
    "itself": lambda f: f,
    "grad": grad,
    "value and grad": value_and_grad,
    "grad of grad": lambda f: grad(lambda xs, table: np.sum(grad(f)(xs, table) ** 2)),
    "jvp": lambda f: lambda xs, table: jvp(lambda xs: f(xs, table), (xs,), (xs * 0.5,)),
}


def gathered(xs, table):
    """A sum by a table, in a loop of plain numbers."""
    return fori_loop(0, len(table), lambda i, s: s * 0.5 + np.sin(xs[table[i]]) * xs[i], 0.0)


def along_links(xs, table):
    """A chain of links, which ends at a negative index. The index is Python's integer first, and then NumPy's."""
    return while_loop(lambda s: s[0] >= 0, lambda s: (table[s[0]], s[1] * xs[s[0]] + 0.1), (0, 1.0))[1]


def with_arithmetic(xs, table):
    def body(i, s):
        k = (table[i] * 3 + i) % len(xs)
        return cond(k > table[i] // 2, lambda: s + xs[k] / (k + 1), lambda: s * xs[k] - table[0])

    return fori_loop(0, len(table), body, xs[0])


def points(f, seed):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(4):
        order = rng.permutation(6)
        links = np.full(6, -1)
        links[order[:-1]] = order[1:]
        found.append((rng.normal(size=6), links if f is along_links else rng.integers(-6, 6, size=6)))
    return found


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("f", [gathered, along_links, with_arithmetic])
def test_a_table_of_indices_in_a_loop(f, operator):
    calls = points(f, 1) + points(f, 2)
    assert answered_as_by_steps(OPERATORS[operator](f), calls, ()) == len(calls)


def test_an_index_that_is_in_no_array_leaves():
    xs, table = np.arange(3.0) + 1.0, np.array([0, 2, 1])
    code = native(gathered, xs, table).entry()
    assert code(xs, table) == [gathered(xs, table)]
    for bad in ([0, 3, 1], [0, -4, 1], [2**62, 0, 0], [-(2**63), 0, 0]):
        assert code(xs, np.array(bad)) is None


def test_a_table_of_another_kind_leaves():
    xs, table = np.arange(3.0) + 1.0, np.array([0, 2, 1])
    code = native(gathered, xs, table).entry()
    for other in (table.astype(np.int32), table.astype(np.uint64), table[:2], table[::-1], table * 1.0, table[:, None]):
        assert code(xs, other) is None
    for kind in (np.int32, np.uint64):
        with pytest.raises(NoNativeFormError, match=np.dtype(kind).name):
            native(gathered, xs, table.astype(kind))


def test_a_table_of_rows_and_one_that_is_reversed():
    xs = np.linspace(0.5, 1.5, 5)
    f = lambda xs, t: fori_loop(0, 3, lambda i, s: s + xs[t[i, 1]] * xs[t[i, 0]] ** 2, 0.0)  # noqa: E731
    pairs = np.array([[0, 4], [3, -1], [2, 2]])
    for table in (pairs, np.asfortranarray(pairs), pairs[::-1], pairs[:, ::-1]):
        g = grad(f)
        code = native(g, xs, table)
        np.testing.assert_allclose(code.entry()(xs, table)[0], g(xs, table), rtol=1e-14)


def test_integers_of_a_table_that_grow_too_long():
    xs = np.ones(2)
    f = lambda xs, t: xs[0] * (t[0] * t[1])  # noqa: E731
    entry = native(f, xs, np.array([3, 4])).entry()
    assert entry(xs, np.array([5, -6])) == [-30.0]
    assert entry(xs, np.array([2**62, 4])) is None


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (lambda xs, t: t[0], "int64"),
        (lambda xs, t: np.sum(t) * xs[0], "numpy.sum"),
        (lambda xs, t: np.mean(t) * xs[0], "numpy.mean"),
        (lambda xs, t: xs[0] * (t + t)[0], "int64|add"),
        (lambda xs, t: xs[0] * np.sort(t)[0], "sort"),
        (lambda xs, t: while_loop(lambda i: t[i] > i, lambda i: t[i], 1), "it returns"),
        (lambda xs, t: while_loop(lambda i: t[i] > i, lambda i: t[i], 1) * 2 - 1, "it returns"),
    ],
)
def test_what_else_is_done_with_integers_has_a_reason(f, reason):
    with pytest.raises(NoNativeFormError, match=reason):
        native(f, np.ones(3), np.array([0, 2, 1]))


@pytest.mark.parametrize("kind", ["grad", "value"])
def test_a_staged_function_with_a_table_is_native(kind):
    def f(xs, table):
        total = 0.0
        for i in range(4):
            k = table[i]
            while k > 0:
                total, k = total + xs[k] * xs[i], k // 2
        return total

    operator = grad if kind == "grad" else value_and_grad
    g, rng = staged(operator(f)), np.random.default_rng(3)
    for _ in range(6):
        xs, table = rng.normal(size=5), rng.integers(0, 5, size=4)
        found, expected = g(xs, table), operator(f)(xs, table)
        if kind == "grad":
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        else:
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
    assert "by NumPy" not in g.report()


def test_numpys_integers_that_come_instead_of_pythons():
    """The index is Python's integer in the first round. A division of integers may be Python's, or NumPy's."""

    def f(xs, table):
        k, y = while_loop(lambda s: table[s[0]] > s[0], lambda s: (table[s[0]], s[1] + s[0] / 7 + s[0] % 2), (0, xs[0]))
        return y * (k / 3) + xs[k]

    calls = [(np.array([0.5, 1.5, -2.0]), np.array(links)) for links in ([1, 2, 0], [0, 1, 2], [2, 0, 1])]
    for operator in OPERATORS.values():
        assert answered_as_by_steps(operator(f), calls, ()) == len(calls)


def random_program(seed):
    """Statements on a float and an index, which read tables."""
    chosen = random.Random(seed)

    def index(depth):
        if depth == 0:
            return chosen.choice((lambda i, t, n: i, lambda i, t, n: t[i % n], lambda i, t, n: chosen_constant))
        f, g = index(depth - 1), index(depth - 1)
        kinds = (
            lambda i, t, n: t[f(i, t, n) % n],
            lambda i, t, n: f(i, t, n) + g(i, t, n),
            lambda i, t, n: f(i, t, n) // 3 - g(i, t, n) % 4,
            lambda i, t, n: abs(f(i, t, n)) >> 1,
            lambda i, t, n: -f(i, t, n) & 7,
        )
        return chosen.choice(kinds)

    chosen_constant = chosen.randint(-3, 3)
    one, two, test = index(2), index(2), index(1)
    rounds = chosen.randint(1, 7)

    def f(xs, table):
        n = len(xs)

        def body(i, state):
            k, y = state
            y = cond(
                test(k, table, n) > i,
                lambda: y * 0.5 + xs[one(k, table, n) % n] * xs[i % n],
                lambda: np.tanh(y) + one(i, table, n) * xs[two(k, table, n) % n],
            )
            return two(k + i, table, n), y

        return fori_loop(0, rounds, body, (chosen_constant, xs[0]))[1]

    return f


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_random_program_with_tables(operator, seed):
    rng = np.random.default_rng(seed)
    calls = [(rng.normal(size=5), rng.integers(-9, 9, size=5)) for _ in range(4)]
    answered = answered_as_by_steps(OPERATORS[operator](random_program(seed)), calls, ("may be Python's or NumPy's",))
    assert answered is None or answered == len(calls)
