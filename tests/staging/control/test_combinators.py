"""`cond`, `while_loop`, `fori_loop`, `scan`: plain Python anywhere, loops and branches in a staged function."""

import gc
import itertools
import math
import re
import warnings
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import StagingWarning, cond, fori_loop, grad, scan, staged, while_loop
from shiftreset_ad.staging.control import execution
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import Staged

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def every_warning_is_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


class State(NamedTuple):
    x: float
    rounds: int


def newton_sqrt(a):
    return while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)


def power(x, n):
    """x to the power of n, by n products."""
    return fori_loop(0, n, lambda i, y: y * x, 1.0)


# As plain Python


def test_they_are_plain_python():
    assert cond(True, lambda x: x, lambda x: -x, 2.0) == 2.0
    assert cond(False, lambda x, y: x, lambda x, y: x - y, 2.0, 5.0) == -3.0
    assert while_loop(lambda s: s["i"] < 3, lambda s: {"i": s["i"] + 1, "x": s["x"] * 2}, {"i": 0, "x": 1.0})["x"] == 8
    assert fori_loop(2, 5, lambda i, x: x + i, 0) == 2 + 3 + 4
    assert fori_loop(5, 2, lambda i, x: x + i, 1) == 1
    carry, (a, b) = scan(lambda c, x: (c + x, (c, x * x)), 0.0, np.array([1.0, 2.0, 3.0]))
    assert carry == 6.0
    np.testing.assert_array_equal(a, [0.0, 1.0, 3.0])
    np.testing.assert_array_equal(b, [1.0, 4.0, 9.0])
    assert scan(lambda c, x: (c * 2.0, x), 1.0, None, length=3) == (8.0, None)


def test_a_branch_of_plain_python_may_have_another_structure():
    assert cond(True, lambda: (1.0, 2.0), lambda: "three") == (1.0, 2.0)


@pytest.mark.parametrize(("xs", "length"), [(np.ones((0, 2)), None), (1.0, None), (None, None), (np.ones(3), 2)])
def test_scan_wants_one_length(xs, length):
    with pytest.raises(ValueError, match="scan: xs must have one length"):
        scan(lambda c, x: (c, c), 1.0, xs, length)


def test_every_mode_goes_through_them():
    assert grad(newton_sqrt)(4.0) == pytest.approx(0.25)
    assert sr.jvp(newton_sqrt, (4.0,), (1.0,))[1] == pytest.approx(0.25)
    assert sr.derivative(lambda x: power(x, 4), 2)(3.0) == pytest.approx(12 * 9.0)


# Written down


def sources(f, *calls):
    """The sources of a function, staged and called; the answers are those of the function."""
    g = staged(f)
    for args in calls + calls:
        found, expected = sr.boundary.trees.flatten(g(*args)), sr.boundary.trees.flatten(f(*args))
        assert found[1] == expected[1]
        for a, b in zip(found[0], expected[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-300)
    return g.sources


def test_a_loop_is_a_loop_in_the_source():
    (source,) = sources(newton_sqrt, (2.0,), (50.0,), (1.0,))
    assert source.count("while ") == 1
    assert source.count("/ 2") == 1


def test_a_branch_is_a_branch_in_the_source():
    (source,) = sources(lambda x: cond(x > 0.0, np.sin, lambda x: x * x, x), (1.0,), (-1.0,))
    assert "if v1:" in source
    assert "else:" in source
    assert source.count("sin(") == 1


def test_the_way_back_is_a_loop_over_what_the_rounds_keep():
    (source,) = sources(grad(newton_sqrt), (2.0,), (50.0,), (1.0,))
    assert source.count("while ") == 1
    assert source.count("reversed(") == 1
    assert source.count(".append(") == 1


def test_what_no_derivative_needs_is_not_kept():
    (source,) = sources(grad(lambda x: fori_loop(0, 4, lambda i, y: y * 3.0, x)), (2.0,))
    assert ".append([])" in source


def test_any_number_of_rounds_is_recorded_once():
    f = staged(grad(power))
    for n in map(int, RANDOM.integers(1, 1000, 100)):
        x = float(RANDOM.uniform(0.99, 1.01))
        assert f(x, n) == pytest.approx(n * x ** (n - 1), rel=1e-12)
    assert len(f.sources) == 1


def test_no_round_and_no_branch_need_be_reached():
    (source,) = sources(lambda x, n: fori_loop(0, n, lambda i, y: 1.0 / y, x), (0.0, 0), (2.0, 3), (4.0, 0))
    assert "while" in source
    (source,) = sources(lambda x: cond(x != 0.0, lambda: 1.0 / x, lambda: 2.0 * x), (0.0,), (4.0,))
    assert "if" in source


def test_an_error_of_the_function_is_the_error_of_the_staged_function():
    f = staged(lambda x: cond(x < 5.0, lambda: 1.0 / x, lambda: 2.0 * x))
    assert [f(x) for x in (4.0, 4.0, 8.0, 2.0)] == [0.25, 0.25, 16.0, 0.5]
    with pytest.raises(ZeroDivisionError):
        f(0.0)


def test_the_state_is_a_tree():
    def f(x, n):
        s = while_loop(lambda s: s.rounds < n, lambda s: State(s.x * 0.5 + 1.0, s.rounds + 1), State(x, 0))
        return {"x": s.x, "rounds": s.rounds}

    sources(f, (3.0, 4), (5.0, 1), (5.0, 0))


def test_the_state_may_have_integers_booleans_arrays_and_things_that_stay():
    def f(u, limit):
        def body(s):
            name, u, _, k = s
            u = u @ np.array([[0.5, 0.1], [0.2, 0.4]])
            return name, u, np.max(u) > limit, k + 1

        _, u, _, k = while_loop(lambda s: s[2], body, ("a name", u, np.max(u) > limit, 0))
        return u * k

    sources(f, (np.array([1.0, 2.0]), 0.1), (np.array([5.0, -2.0]), 0.01), (np.array([0.0, 0.0]), 0.1))


def test_an_integer_that_becomes_a_float_is_one_from_the_beginning():
    sources(lambda x, n: fori_loop(0, n, lambda i, y: y * 0.5 + x, 0), (1.0, 3), (2.0, 5))


def test_a_loop_without_a_staged_value_is_unrolled():
    (source,) = sources(lambda x: fori_loop(0, 3, lambda i, k: k * 2, 1) * x, (1.0,), (2.0,))
    assert "while" not in source


def test_a_constant_state_is_written_down_as_soon_as_a_value_is_in_it():
    (source,) = sources(lambda x: fori_loop(0, 1000, lambda i, y: y + x[i % 3], 0.0), (np.array([1.0, 2.0, 4.0]),))
    assert "while" in source


def test_scan_in_derivatives():
    def f(w, xs):
        c, ys = scan(lambda c, x: (np.tanh(c * w + x), c * x), 0.5, xs)
        return np.sum(ys * ys) * c

    xs = np.linspace(-1.0, 1.0, 7)
    for g in (f, grad(f, argnums=(0, 1)), grad(grad(f)), lambda w, xs: sr.jvp(f, (w, xs), (1.0, xs))):
        (source,) = sources(g, (0.3, xs), (0.7, xs * 2.0))
        assert source.count("while ") == 1
    rows = lambda w, xs: scan(lambda c, x: (np.sin(c * w + x), c * x), w, xs)[1]  # noqa: E731
    for g in (sr.jacobian(rows), sr.jacrev(rows), sr.jacfwd(rows), sr.jacrev(rows, argnums=1)):
        sources(g, (0.3, xs), (0.7, xs * 2.0))


def test_nothing_is_kept_alive():
    f = staged(grad(lambda u, n: np.sum(fori_loop(0, n, lambda i, v: cond(i > 1, np.sin, np.cos, v) * u, u))))
    gc.disable()
    try:
        for _ in range(3):
            u = np.ones(1000)
            argument, answer = weakref.ref(u), weakref.ref(f(u, 3))
            del u
            assert (argument(), answer()) == (None, None)
    finally:
        gc.enable()


def test_scan_of_trees():
    def f(w, xs):
        (c, d), ys = scan(
            lambda c, x: ((np.tanh(c[0] * w + x[0]), c[1] + x), {"a": c[0] * x, "b": x[1] * w, "c": 1.0}),
            (w, xs[0] * 0.0),
            xs,
        )
        return np.sum(ys["a"] ** 2) * c + np.sum(ys["b"] * d[0]) + np.sum(ys["c"])

    xs = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
    for g in (f, grad(f, argnums=(0, 1)), sr.hessian(f)):
        sources(g, (0.3, xs), (0.7, xs * 2.0))


# What is refused


def refused(f, *calls):
    """The warning of a function that cannot be staged; its answers are right all the same."""
    g = staged(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StagingWarning)
        for args in calls * 3:
            np.testing.assert_allclose(g(*args), f(*args))
    (warning,) = caught
    return str(warning.message)


def test_a_branch_by_if_in_a_round_is_refused():
    def body(i, y):
        return y * 0.5 if bool(y > 1.0) else y + 1.0

    assert "Let a test of its own decide" in refused(lambda x, n: fori_loop(0, n, body, x), (3.0, 5), (4.0, 5))


@pytest.mark.slow
def test_a_question_with_the_same_answer_in_each_round_is_none():
    def body(i, y):
        return y * x0 if y > 0.0 else -y

    x0 = 0.5
    sources(lambda x, n: fori_loop(0, n, body, x), (3.0, 5), (4.0, 2))


def test_a_plain_array_at_the_index_of_a_round_is_refused():
    table = np.array([1.0, 2.0, 3.0])
    assert "give a plain array" in refused(lambda x: fori_loop(0, 3, lambda i, y: y + table[i], x), (3.0,), (4.0,))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (lambda u: np.concatenate([u, u]), r"a loop carries an array of shape \(2,\) .* an array of shape \(4,\)"),
        (lambda u: (u, u), "has the structure"),
        (lambda u: u.__setitem__(0, 0.5) or u * 0.4, "is carried by a loop"),
        (lambda u: u * 0.5 + RANDOM.uniform(0, 0, 2), "random numbers"),
    ],
)
def test_bodies_that_are_refused(body, reason):
    assert re.search(reason, refused(lambda u, n: fori_loop(0, n, lambda i, u: body(u), u * 1.0), (np.ones(2), 1)))


def test_a_body_that_raises_is_refused():
    f = staged(lambda x, n: fori_loop(0, n, lambda i, y: y + [1.0, None][n + 2], x))
    with pytest.warns(StagingWarning, match="raises IndexError"):
        assert f(2.0, 0) == 2.0


def test_a_loop_that_takes_long_to_record_is_refused(monkeypatch):
    monkeypatch.setattr(execution, "LONGEST_RUN", 1000)
    assert "a loop takes more than 1000 steps" in refused(
        lambda x, n: fori_loop(0, n, lambda i, y: y * x, x), (1.0, 1000)
    )


def test_branches_of_other_shapes_or_structures_are_refused():
    u = np.array([1.0, 2.0])
    f = lambda u: cond(u[0] > 0.0, lambda: (u, u), lambda: [u, u])[0]  # noqa: E731
    assert "structure" in refused(f, (u,), (-u,))
    f = lambda u: cond(u[0] > 0.0, lambda: u, lambda: u[:1])  # noqa: E731
    assert "the branches of cond answer an array of shape (2,)" in refused(f, (u,), (-u,))


def test_a_round_that_changes_a_variable_is_refused():
    """The body runs once, so a count of its calls would be wrong for another number of rounds."""

    def f(x, n):
        count = 0

        def body(i, y):
            nonlocal count
            count += 1
            return y * x

        return fori_loop(0, n, body, x) * count

    def g(x, n):
        left = []
        return fori_loop(0, n, lambda i, y: left.append(i) or y * x, x) * len(left)

    assert "changes 'count', which is outside of it" in refused(f, (3.0, 2), (3.0, 3))
    assert "changes 'left', which is outside of it" in refused(g, (3.0, 2), (3.0, 3))


class Box:
    content = None

    def put(self, x):
        self.content = x
        return 0.0


def test_a_value_of_a_round_that_leaks_is_refused():
    def f(x):
        box = Box()
        y = fori_loop(0, 3, lambda i, y: box.put(y * 2.0) + y * 0.5, x)
        return y + box.content

    assert "used outside of" in refused(f, (3.0,), (4.0,))


def test_a_value_of_a_branch_that_leaks_is_refused():
    def f(x):
        box = Box()
        box.put(x)
        y = cond(x > 0.0, lambda: box.put(x * 2.0) + x, lambda: x)
        return y + box.content

    g = staged(f)
    with pytest.warns(StagingWarning, match="used outside of"):
        assert [g(x) for x in (3.0, -3.0, 4.0)] == [9.0, -6.0, 12.0]


def test_writing_to_an_array_from_outside_is_refused():
    def f(x):
        buffer = np.zeros_like(x)

        def body(i, y):
            buffer[0] = y
            return y + buffer[0]

        return fori_loop(0, 3, body, x[0])

    assert "made outside of it" in refused(f, (np.ones(2),), (np.ones(2) * 3.0,))


def test_a_round_may_write_to_an_array_of_its_own():
    def body(i, u):
        v = np.zeros_like(u)
        v[0] = u[1]
        v[1:] = u[:-1] * 0.5
        return v

    sources(lambda u, n: fori_loop(0, n, body, u), (np.array([1.0, 2.0, 3.0]), 4), (np.array([0.0, 2.0, 5.0]), 1))


def test_the_answer_of_a_branch_is_the_users_own():
    f = staged(lambda x, u: cond(x > 0.0, lambda: np.array([1.0, 2.0]), lambda: u))
    for x in (1.0, -1.0, 1.0, 1.0):
        answer = f(x, np.array([3.0, 4.0]))
        answer *= 0.0
    np.testing.assert_array_equal(f(1.0, np.array([3.0, 4.0])), [1.0, 2.0])


def test_zero_times_an_infinite_derivative_does_not_count():
    """The square root is used in one branch only. Its derivative at 0 is infinite."""

    def f(x):
        root = np.sqrt(x * 0.0)
        return cond(x > 0.0, lambda: root + 1.0, lambda: x * 3.0)

    g = staged(grad(f))
    assert [g(x) for x in (-1.0, -2.0, -4.0)] == [3.0, 3.0, 3.0]
    assert math.isnan(g(1.0))
    assert len(g.sources) == 1


def test_a_scan_that_answers_a_value_from_outside():
    """The frames of its rounds do not have the value."""
    for f in (lambda x, z: scan(lambda c, y: (c + y, z), 0.0, x)[1], lambda x, z: scan(lambda c, y: (c, x), z, x)[1]):
        g = staged(f)
        for factor in (1.0, 2.0, 3.0):
            x = np.array([1.0, 2.0, 3.0]) * factor
            assert np.array_equal(g(x, factor), f(x, factor))
        assert len(g.sources) == 1


@pytest.mark.parametrize(
    "f",
    [
        lambda x, z: np.sum(scan(lambda c, y: (c + y, z), 0.0, x)[1] ** 2),
        lambda x, z: np.sum(scan(lambda c, y: (c + y, z * y), 0.0, x)[1] ** 2),
        lambda x, z: np.sum(scan(lambda c, y: (c + y, z * c * np.sin(z * y)), 0.0, x)[1]),
        lambda x, z: scan(lambda c, y: (c, (z * y, y)), z, x)[1][0][1] * z,
    ],
)
@pytest.mark.parametrize(
    "operator",
    [
        lambda f: grad(f, argnums=1),
        lambda f: grad(grad(f, argnums=1), argnums=1),
        grad,
        lambda f: lambda x, z: sr.jvp(lambda z: grad(f, argnums=1)(x, z), (z,), (2.0,)),
    ],
)
def test_what_scan_gathers_has_a_derivative_that_its_carry_has_not(f, operator):
    g, plain = staged(operator(f)), operator(f)
    for factor in (1.0, 2.0, 3.0, 0.5):
        x, z = np.array([1.0, 2.0, 3.0]) * factor, 0.75 * factor
        for found, expected in zip(np.atleast_1d(g(x, z)), np.atleast_1d(plain(x, z)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len(g.sources) == 1


def test_a_derivative_that_is_zero_in_the_first_calls():
    g = staged(grad(lambda z, x, weight: weight * np.sum(scan(lambda c, y: (c + y, z * y), 0.0, x)[1])))
    assert [g(2.0, np.arange(3.0), weight) for weight in (0.0, 0.0, 0.0, 1.0, 2.0)] == [0.0, 0.0, 0.0, 3.0, 6.0]


def test_branches_in_branches_are_recorded_once():
    """Each was recorded twice for each branch around it."""
    trace, calls = Trace(), itertools.count()
    x = Staged(trace, trace.place_for(7.5))

    def nested(depth):
        next(calls)
        return cond(x > depth, lambda: nested(depth - 1) if depth else x * 2.0, lambda: x * 0.5)

    assert nested(6.0).inside == 15.0
    assert next(calls) == 7
