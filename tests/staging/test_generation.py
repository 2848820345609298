"""The steps that are generated do what the function does, and no more than is needed of it."""

import ast
import functools
import gc
import time
import warnings

import numpy as np
import optree
import pytest

import shiftreset_ad as sr
from shiftreset_ad import StagingWarning, staged
from shiftreset_ad.rules.indexing import scatter
from shiftreset_ad.staging.native import machine
from shiftreset_ad.staging.python.expressions import option
from shiftreset_ad.staging.python.generation import generated
from shiftreset_ad.staging.python.lowering import scattered
from shiftreset_ad.staging.steps.trace import NOTHING, Trace, UnstageableError
from shiftreset_ad.staging.steps.values import Staged, call
from shiftreset_ad.staging.ways import Way
from tests.staging.in_turns import stays_staged

V = np.array([2.0, -0.5, 4.0])
M = np.arange(6.0).reshape(2, 3) + 0.5
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-310])


def steps_of(f, *args):
    """The generated function, its source, and the trace."""
    trace = Trace()
    result = f(*[Staged(trace, trace.place_for(arg)) for arg in args])
    take, source, _ = generated(trace, list(result) if isinstance(result, list | tuple) else [result])
    return take, source, trace


def assert_same(found, expected):
    assert type(found) is type(expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(found, expected)
    for part in (np.real, np.imag):
        np.testing.assert_array_equal(np.signbit(part(found)), np.signbit(part(expected)))


def check(f, *points):
    """That what is generated at the first point is right at all; the source."""
    take, source, _ = steps_of(f, *points[0])
    for args in points:
        expected = f(*args)
        found = take(list(args))
        for x, y in zip(found, expected if isinstance(expected, list | tuple) else [expected], strict=True):
            assert_same(x, y)
    return source


OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Subscript, ast.Attribute)


def count(source):
    """The number of steps, on lines of their own or as parts of others."""
    values = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assign)]
    nodes = [node for value in values for node in ast.walk(value) if isinstance(node, OPERATIONS)]
    of_methods = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    return len(nodes) - len(of_methods)


# Steps that are parts of others


@pytest.mark.parametrize(
    ("f", "line"),
    [
        (lambda x: x * x - 2.0 * (x * x), "v0 = v0 * v0\n    v0 = v0 - (2.0 * v0)"),
        (lambda x: -((x + 1.0) ** 2), "-((v0 + 1.0) ** 2)"),
        (lambda x: (-x) ** 2, "(-v0) ** 2"),
        (lambda x: x - (x - 1.0), "v0 - (v0 - 1.0)"),
        (lambda x: (x + 1.0)[0], "(v0 + 1.0)[0]"),
        (lambda x: (x + 1.0).sum(), "(v0 + 1.0).sum()"),
        (lambda x: (x * 1j).imag, "(v0 * c0).imag"),
        (lambda x: np.tanh(x + 1.0), "tanh(v0 + 1.0)"),
        (lambda x: np.clip(x + 1.0, a_min=0.0, a_max=2.0) * 3.0, "clip(v0 + 1.0, a_min=0.0, a_max=2.0) * 3.0"),
        (lambda x: np.stack([x, x * 2.0]), "stack([v0, v0 * 2.0, ])"),
        (lambda x: np.concatenate((x, x * 2.0)), "concatenate((v0, v0 * 2.0, ))"),
        (lambda x: np.exp(-np.sum(x * x)), "exp(-add_reduce(v0 * v0, None))"),
    ],
)
def test_what_only_the_next_step_needs_is_a_part_of_it(f, line):
    assert line in check(f, (V,), (-2.0 * V,))


def test_parts_that_are_long_have_a_line_of_their_own():
    def f(x):
        for k in range(300):
            x = np.sin(x + float(k))
        return x

    source = check(f, (V,), (2.0 * V,))
    assert count(source) == 600
    assert max(map(len, source.splitlines())) < 120


def test_a_part_is_computed_in_its_place():
    def f(x):
        y = x * 1.0
        first = y[:2] + 0.0
        y[0] = 100.0
        part = y[:-1] * 2.0
        y[1:] = part
        return first, y

    check(f, (V,), (2.0 * V,))

    def by_the_errors(x):
        with np.errstate(divide="ignore"):
            y = 1.0 / x
        return y * 2.0

    assert "    v0 = 1.0 / v0\n    v0 = v0 * 2.0" in check(by_the_errors, (V,), (np.zeros(3),))


# What is computed twice, and what is not


def test_repeated_steps_are_taken_once():
    assert count(check(lambda x: (np.sin(x) + np.sin(x)) * np.sin(x), (V,), (M,))) == 3
    assert count(check(lambda x: x[1:] * x[1:] + x[slice(1, None)], (V,))) == 3
    assert count(check(lambda x: np.sum(x, axis=0) * x.sum(axis=0), (V,))) == 3
    assert count(check(lambda x: np.sum(x * 2.0, axis=(0,)) * np.sum(x * 2.0, axis=(0,)), (V,))) == 3


def written(x):
    """An array to which the program writes."""
    y = np.zeros_like(x)
    y[0] = x[1]
    return y


def test_repeated_steps_beside_writes_are_taken_once():
    def beside(f):
        return lambda x: (np.sum(written(x)), f(x))

    without = count(check(beside(lambda x: np.sum(x)), (V,), (V + 1.0,)))
    assert count(check(beside(lambda x: np.sum(np.sin(x) * np.sin(x))), (V,), (V + 1.0,))) == without + 2
    assert count(check(beside(lambda x: np.sum(1.0 * x)), (V,), (V + 1.0,))) == without
    assert count(check(beside(lambda x: np.sum(x * np.ones(3) - 0.0)), (V,))) == without


def changed_between(x):
    y = x * 2.0
    before = np.sum(y)
    y[0] = 7.0
    return before + np.sum(y)


def changed_by_another_name(x):
    y = x * 2.0
    part = y[1:]
    before = np.sum(part) * np.sum(y)
    y[2] = 7.0
    part[0] = x[2]
    return before + np.sum(part) * np.sum(y)


def copies_of_what_changes(x):
    y = x * 2.0
    one, other = y.copy(), +y
    y[1] = 5.0
    again, last = y.copy(), +y
    return np.sum(one * other) + np.sum(again * last) + np.sum(one * again)


def one_of_two_that_are_equal(x):
    y, z = np.sin(x), np.sin(x)
    y[0] = 3.0
    return np.sum(y) * np.sum(z) + np.sum(np.sin(x))


def products_with_one_that_change(x):
    y, z = x * 1.0, 1.0 * x
    y += 2.0
    return np.sum(y * z) + np.sum(x)


def constants_that_change(x):
    y = np.zeros_like(x)
    z = np.zeros_like(x)
    y[1] = x[0]
    y += 1.0
    return np.sum(y) - np.sum(z) + np.sum(np.zeros_like(x) * 3.0)


def written_through_out(x):
    y = x * 3.0
    before = np.sum(y)
    np.multiply(x, 2.0, out=y)
    return before * np.sum(y) + np.sum(x * 3.0) + np.sum(x * 2.0)


def answered_and_changed(x):
    y = np.sin(x)
    z = np.sin(x)
    y[0] = 2.0
    return [y, z, np.sin(x)]


@pytest.mark.parametrize(
    "f",
    [
        *(changed_between, changed_by_another_name, copies_of_what_changes, one_of_two_that_are_equal),
        *(products_with_one_that_change, constants_that_change, written_through_out, answered_and_changed),
    ],
)
def test_steps_on_what_is_written_to_stay(f):
    check(f, (V,), (V + 1.0,), (-V,))


@pytest.mark.parametrize(
    ("one", "other"),
    [(0.0, -0.0), (1, 1.0), (1, True), (2.0, np.float64(2.0)), (2.0, np.float32(2.0)), (0j, -0j), (0.0, 0)],
)
def test_constants_that_are_equal_but_not_the_same(one, other):
    for x in (2.5, np.float32(2.5), V, V.astype(np.float32), np.array([1, 2])):
        check(lambda x: [np.multiply(x, one), np.multiply(x, other)], (x,))
        check(lambda x: [np.add(x, one) * 1, np.add(x, other) * 1], (x,))
        check(lambda x: [np.copysign(x.real, np.real(one)) + 1, np.copysign(x.real, np.real(other)) + 1], (x,))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nan_and_other_constants_without_a_literal():
    nan = float("nan")
    check(
        lambda x: [x * nan, x + float("inf"), x - float("-inf"), x * 2**80, x * 1e308, x**-2, -(x**2), x - -1.0], (V,)
    )
    check(lambda x: [x * nan, x + float("inf"), x**-2, -(x**2), (-x) ** 2, 2.0**x, (-2.0) ** 2 * x, 2**70 * x], (2.5,))
    check(lambda x: [np.add(x, 1, dtype=np.float32), np.add(x, 1)], (V.astype(np.float32),))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_products_with_ones():
    ones = np.ones(6)
    assert count(check(lambda x: (ones * x) + 0.5, (SPECIAL,))) == 1
    assert count(check(lambda x: 1.0 * x + 0.5, (SPECIAL,))) == 1
    assert count(check(lambda x: x * 1 + 0.5, (2.5,))) == 1
    check(lambda x: x * 1.0 + 0.5, (np.array([1, 2]),))  # it is converted
    check(lambda x: x * np.float64(1.0) + np.float32(0.5), (np.float32(2.5),))
    check(lambda x: x * np.ones((2, 1)) + 1.0, (V,))
    check(lambda x: x * np.float64(1.0), (2.5,))
    check(lambda x: x * 1.0 + 1.0, (1.0 + 2.0j,))
    check(lambda x: (x[::2] * 1.0).ravel("K"), (V,))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operands_that_steps_leave_as_they_are():
    for f in (
        lambda x: (x / 1.0) + 0.5,
        lambda x: (x - 0.0) + 0.5,
        lambda x: (x + -0.0) + 0.5,
        lambda x: (-0.0 + x) + 0.5,
        lambda x: np.where(False, 2.0 * x, x) + 0.5,
        lambda x: np.where(np.ones(6, dtype=bool), x, 0.0) + 0.5,
        lambda x: np.broadcast_to(x, (6,)) + 0.5,
        lambda x: np.subtract(x, np.zeros(6)) + 0.5,
    ):
        assert count(check(f, (SPECIAL,))) == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_steps_that_change_a_zero_or_a_type_stay():
    for f in (
        lambda x: (x + 0.0) + 0.5,  # -0.0 becomes 0.0
        lambda x: (0.0 - x) + 0.5,
        lambda x: (x - -0.0) + 0.5,
        lambda x: (1.0 / x) + 0.5,
        lambda x: np.where(np.arange(6) < 3, x, 0.5) + 0.5,
        lambda x: np.broadcast_to(x, (2, 6)) + 0.5,
    ):
        assert count(check(f, (SPECIAL,))) >= 2
    zeros = np.array([0.0, -0.0])
    for f in (lambda x: x + 0.0, lambda x: x - -0.0, lambda x: x - 0.0, lambda x: x + -0.0, lambda x: x / 1):
        check(lambda x, f=f: 1.0 / f(x), (zeros,))
    check(lambda x: (x / 1 + 0.5, x - 0 + 0.5), (np.array([1, 2]),))
    check(lambda x: (x / 1 + 0.5, x - 0 + 0.5), (3,))
    check(lambda x: x - np.zeros((2, 1)) + 1.0, (V,))
    check(lambda x: (np.where(True, x[::2], x[1::2] * 1.0)).ravel("K"), (V,))
    check(lambda x: np.where(True, x, 1.0), (2.5,))


def test_arrays_reshaped_to_their_own_shape():
    assert count(check(lambda x: x.reshape(2, 3) + np.reshape(x, (2, 3), order="C"), (M,))) == 1
    assert count(check(lambda x: np.reshape(x, (-1, 3), order="F") * 2.0, (M,))) == 1
    assert count(check(lambda x: x.reshape(3, 2) * 2.0, (M,))) == 2
    for x in (M[:, ::-1], np.asfortranarray(M), SPECIAL[::2].reshape(1, 3), M.astype(np.float32)):
        check(lambda x: [x.reshape(x.shape).sum(0), np.reshape(x, x.shape, order="F").ravel("K")], (x,))
    take, _, _ = steps_of(lambda x: (x.reshape(2, 3), (x * 2.0).reshape(2, 3)), M)
    answers = take([M])
    assert answers[0] is not M
    assert np.shares_memory(answers[0], M)
    assert answers[1].base is not None


def test_copies_of_what_nothing_else_needs():
    assert count(check(lambda x: np.copy(x * 2.0), (V,))) == 1
    assert count(check(lambda x: np.positive(x * 2.0), (V,))) == 1
    assert count(check(lambda x: +(x * 2.0), (2.5,))) == 1
    assert count(check(lambda x: [+(y := x * 2.0), np.sin(y)], (V,))) == 3
    take, _, _ = steps_of(lambda x: +x, V)
    assert not np.shares_memory(take([V])[0], V)


def test_copies_that_the_user_does_not_get():
    assert count(check(lambda x: (y := x * 2.0, np.sin(np.copy(y))), (V,))) == 2
    assert count(check(lambda x: (y := x * 2.0, y.copy() * y), (V,))) == 2
    assert count(check(lambda x: np.copy(x) * x.copy(), (V,))) == 1
    assert count(check(lambda x: (y := np.copy(x), y * x), (V,))) == 2
    take, _, _ = steps_of(lambda x: [y := x * 2.0, np.copy(y)[1:]], V)
    y, part = take([V])
    assert not np.shares_memory(y, part)
    for x in (M.T, M[:, ::2], M[::-1]):  # a copy that lies in another way stays
        source = check(lambda x: [x.copy().ravel("K") * 2.0, np.copy(x).ravel("K") * 3.0], (x,))
        assert "copy" in source


def test_each_array_of_the_user_is_its_own():
    def f(x):
        y = x * 2.0
        return x * 1.0, x * 2.0, y, y[1:], y.reshape(3), np.copy(y), np.linalg.svd(np.outer(x, x))[0]

    take, _, _ = steps_of(lambda x: [*f(x), *f(x)], V)
    found, expected = take([V]), [*f(V), *f(V)]
    for i, x in enumerate(found):
        for j, y in enumerate(found):
            if i != j and not np.shares_memory(expected[i], expected[j]):
                assert not np.shares_memory(x, y), (i, j)
        assert np.shares_memory(x, V) == np.shares_memory(expected[i], V)


def test_gradients_are_of_their_own():
    for operator in (sr.grad, lambda f, argnums: lambda *xs: sr.vjp(f, *xs)[1](1.0)):
        take, _, _ = steps_of(operator(lambda x, y: np.sum(x + y), (0, 1)), V, V)
        x_bar, y_bar = take([V, V])
        assert not np.shares_memory(x_bar, y_bar)
        x_bar[0] = 5.0
        np.testing.assert_array_equal(y_bar, np.ones(3))
    take, _, _ = steps_of(lambda x, v: sr.jvp(lambda x: (x, x[1:]), (x,), (v,))[1], V, V.copy())
    y_dot, rest_dot = take([V, V.copy()])
    assert not np.shares_memory(y_dot, rest_dot)


def test_constants_are_not_the_users_to_write_to():
    constant = np.ones(3)
    take, _, _ = steps_of(lambda x: [*np.broadcast_arrays(x, constant), *np.atleast_1d(x, constant)], V)
    first = take([V])
    for answer in (first[1], first[3]):
        answer[:] = 7.0
    for found in take([V])[1::2]:
        np.testing.assert_array_equal(found, np.ones(3))


def test_constants_that_the_program_changes():
    def f(x):
        buffer, total = np.zeros(3), 0.0
        for i in range(3):
            buffer[i] = i + 1.0
            total = total + x * buffer + np.stack([buffer, x])[0]
        return total

    check(f, (V,), (2.0 * V,))

    def with_lists(x):
        index, parts = [0], [x]
        y = x[index]
        index.append(2)
        parts.append(x * 2.0)
        z = np.concatenate(parts)
        parts.clear()
        return y.sum() + x[index].sum() + z.sum()

    check(with_lists, (V,), (2.0 * V,))


# What has to be done


def test_what_nothing_depends_on_is_left_out():
    assert count(check(lambda x: [np.sin(x), np.cos(x) * 2.0][0], (V,))) == 1
    source = check(lambda x: [x * 2.0, np.linalg.inv(np.outer(x, x) + np.eye(3))][0], (V,))
    assert count(source) > 1  # it may raise an error
    take, _, _ = steps_of(lambda x: [x * 2.0, 1.0 / x][0], 2.0)
    with pytest.raises(ZeroDivisionError):
        take([0.0])
    take, _, _ = steps_of(lambda x, i: [x * 2.0, x[i]][0], V, np.array([1, 2]))
    with pytest.raises(IndexError):
        take([V, np.array([3, 1])])


def test_shapes_that_are_looked_at_are_asked_for_again():
    take, _, _ = steps_of(lambda x: x * float(np.nonzero(x > 0.0)[0].size), V)
    np.testing.assert_array_equal(take([2.0 * V])[0], 4.0 * V)
    assert type(take([-V])) is int
    take, _, _ = steps_of(lambda x: x * float(len(np.array_split(x, int(x[0])))), V)
    assert type(take([2.0 * V])) is int


def test_questions_come_before_the_steps_that_need_their_answers():
    def f(x):
        return 1.0 / x if x > 0.0 else x

    take, _, _ = steps_of(f, 2.0)
    assert type(take([0.0])) is int


def test_there_is_no_way_after_a_refusal():
    trace = Trace()
    x = Staged(trace, trace.place_for(V))
    with pytest.raises(UnstageableError):
        x[0] = 1.0
    with pytest.raises(UnstageableError, match="writes to an array that is an argument"):
        Way(trace, [x], optree.tree_structure(0.0), {}, [])


# Floating-point errors


def test_reactions_to_errors_are_those_of_the_function():
    def f(x):
        with np.errstate(divide="ignore"):
            y = 1.0 / x
        with np.errstate(divide="raise"):
            z = 1.0 / (x + 1.0)
            if z[0] > 0.0:
                z = z * 2.0
        return y + z

    take, _, _ = steps_of(f, np.array([1.0, 2.0]))
    assert_same(take([np.array([0.0, 2.0])])[0], f(np.array([0.0, 2.0])))
    with pytest.raises(FloatingPointError):
        take([np.array([3.0, -1.0])])
    assert type(take([np.array([-3.0, 2.0])])) is int

    def once_more(x):
        with np.errstate(all="ignore"):
            y = np.log(x)
        with np.errstate(all="raise"):
            return y + np.log(x)

    take, _, _ = steps_of(once_more, V * V)
    with pytest.raises(FloatingPointError):
        take([np.zeros(3)])
    g = staged(lambda x: call_with_handler(x))
    with pytest.warns(StagingWarning, match="handled by a function"):
        np.testing.assert_array_equal(g(V), np.log(V * V))


def call_with_handler(x):
    with np.errstate(all="call", call=lambda *_: None):
        return np.log(x * x)


# The source


def test_variables_are_used_again():
    def f(x, y):
        for _ in range(50):
            x, y = x * y + 0.1, [y, x][0] - np.stack([x, y])[1] * 0.5
        return x + y

    source = check(f, (V, 0.1 * V), (0.5 * V, V))
    names = {name for line in source.splitlines() for name in line.split() if name.startswith("v")}
    assert len(names) < 10


def test_arguments_in_lists_tuples_slices_and_options():
    check(lambda x, y: np.concatenate([x, (y, [x[0], y][1])[0]]), (V, V + 1.0))
    check(lambda x, i: x[i, slice(None, None, -1)], (M, np.array([1, 0])), (M, np.array([0, 0])))
    check(lambda x, y: np.clip(x, a_min=y, a_max=None), (V, 0.5), (V, 3.0))
    check(lambda x, y: np.sum(x, initial=y, where=[True, False, True]), (V, 0.5))
    trace = Trace()
    x = Staged(trace, trace.place_for(3.0))
    y = call(lambda_of_options, (x,), {"lambda": x, "of": 2.0})
    take, source, _ = generated(trace, [y])
    assert "**{'lambda': v" in source
    assert take([3.0]) == [8.0]
    assert option("of", "1") == "of=1"


def lambda_of_options(x, **options):
    return x + options["lambda"] + options["of"]


lambda_of_options.__module__ = "numpy"


def test_many_inputs_outputs_and_constants():
    xs = [float(i) for i in range(2000)]
    check(lambda *xs: [x * (i + 0.5) for i, x in enumerate(xs)], xs)
    arrays = [np.full(2, float(i)) for i in range(500)]
    check(lambda x: sum([x * array for array in arrays], x), (np.ones(2),))
    check(lambda *xs: np.stack(xs), xs)


@pytest.mark.slow
def test_time_and_memory_are_linear_in_the_number_of_steps(monkeypatch):
    def f(n):  # no statement is the loop, so it is recorded round by round
        return lambda x: functools.reduce(lambda x, i: x * 0.999 + 0.001 * i, range(n), x)

    def time_of(n):
        gc.collect()
        gc.disable()  # it would look at all objects of the test session
        start = time.process_time()
        take, _, _ = steps_of(f(n), 1.5)
        taken = time.process_time() - start
        gc.enable()
        assert take([1.5]) == [f(n)(1.5)]
        return taken

    time_of(100)
    short, long = min(time_of(500), time_of(500), time_of(500)), min(time_of(10_000), time_of(10_000))
    assert long < 20.0 * short * 4.0
    monkeypatch.setattr(machine, "unfit", lambda: "llvmlite is not installed")
    with pytest.warns(StagingWarning, match="more than 50000 steps"):
        staged(f(30_000))(1.5)


def test_nothing_is_kept_of_the_run_but_the_constants(monkeypatch):
    monkeypatch.setattr(machine, "unfit", lambda: "llvmlite is not installed")
    g = staged(lambda x: np.sin(x) * np.cos(x) if x[0] > 0.0 else x)
    g(V)
    take = next(way.take for signature in g._calls._signatures.values() for way in signature.ways)
    assert not any(isinstance(x, Staged | Trace) for x in take.__globals__.values())
    sites = next(way.sites for signature in g._calls._signatures.values() for way in signature.ways)
    assert all(isinstance(site, str) for site in sites)


# What NumPy's functions come down to


LOWERED = [
    lambda x: np.sum(x),
    lambda x: np.sum(x, 0),
    lambda x: np.sum(x, axis=-1, keepdims=True),
    lambda x: np.sum(x, axis=0, dtype=np.float32),
    lambda x: np.sum(x, 0, None, None, True),
    lambda x: np.sum(x, initial=1.0),
    lambda x: np.sum(x > 1.0),
    lambda x: np.prod(x, axis=0),
    lambda x: np.max(x, axis=0),
    lambda x: np.max(x, 1, None, True),
    lambda x: np.min(x),
    lambda x: np.min(x, initial=0.25),
    lambda x: np.mean(x, axis=0),
    lambda x: np.var(x, ddof=1),
    lambda x: np.std(x, axis=-1, keepdims=True),
    lambda x: np.reshape(x, -1),
    lambda x: np.reshape(x, (3, 2), order="F"),
    lambda x: np.reshape(x.T, (3, 2)),
    lambda x: np.transpose(x),
    lambda x: np.transpose(x, (1, 0)),
    lambda x: np.transpose(x, axes=(1, 0)),
    lambda x: np.swapaxes(x, 0, 1),
    lambda x: np.expand_dims(x.T, 1),
    lambda x: np.squeeze(x[:1]),
    lambda x: np.squeeze(x[:1], axis=0),
    lambda x: np.ravel(x, "F"),
    lambda x: np.zeros_like(x),
    lambda x: np.zeros_like(x.T),
    lambda x: np.zeros_like(x, dtype=int),
    lambda x: np.clip(x, 1.0, 2.0),
    lambda x: np.clip(x, a_min=None, a_max=2.0),
    lambda x: np.cumsum(x, axis=1),
    lambda x: np.argmax(x, axis=0),
    lambda x: np.take(x, [0, 2], axis=1),
    lambda x: np.take(x, [0, 9], mode="wrap"),
    lambda x: np.repeat(x, 2, axis=0),
    lambda x: np.trace(x, 1),
    lambda x: np.diagonal(x, axis1=1, axis2=0),
    lambda x: np.add(x, x),
    lambda x: np.add(x, 2),
    lambda x: np.matmul(x, x.T),
    lambda x: np.multiply(x, x, dtype=np.float32, casting="same_kind"),
    lambda x: np.stack([x[0, 0], x[1, 1]]),
    lambda x: np.stack([x[0, 0], 1.0, np.float64(2.0)]),
    lambda x: np.stack([x[0, 0], 1]),
    lambda x: np.stack([x[0], x[1]], 1),
    lambda x: sr.rules.conversion.astype(x, np.float32),
    lambda x: sr.rules.conversion.astype(x[0, 0], np.float32),
]


@pytest.mark.parametrize("f", LOWERED)
def test_what_functions_come_down_to_is_the_same(f):
    for x in (M, M.astype(np.float32), M * (1.0 + 1j), np.asfortranarray(M), M[:, ::-1]):
        try:
            expected = f(x)
        except (TypeError, np.exceptions.ComplexWarning):  # of complex numbers
            continue
        take, _, _ = steps_of(f, x)
        found = take([x])[0]
        assert_same_of_any_kind(found, expected)
        assert getattr(found, "strides", None) == getattr(expected, "strides", None)
        assert np.shares_memory(found, x) == np.shares_memory(expected, x)


def assert_same_of_any_kind(found, expected):
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_values_that_are_scattered_apart():
    indices = [0, slice(1, 3), (slice(4, None, 2),), -3]
    values = [np.float64(-0.0), np.array([1.0, -0.0]), np.array([3.0, np.nan]), np.float64(np.inf)]
    found, expected = scattered(values, indices, (7,), np.dtype(float)), scatter(values, indices, (7,), np.dtype(float))
    assert_same(found, expected)

    def together(x, y):
        return scatter([x, y], [slice(0, 2), slice(1, 3)], (3,), np.dtype(float))

    check(together, (V[:2], V[1:]))
    take, _, _ = steps_of(lambda x, y: scatter([x, y], [slice(0, 2), 2], (3,), np.dtype(float)), V[:2], V[2])
    np.testing.assert_array_equal(take([V[:2], V[2]])[0], V)


def test_indices_that_meet_in_a_later_call_only():
    slope = sr.grad(lambda u, i, j: abs(u[i]) + 10.0 * u[j])
    at_both = staged(slope)
    for i, j in [(0, 1), (2, 1), (1, 1), (0, 2), (2, 2)]:
        np.testing.assert_array_equal(at_both(V, i, j), slope(V, i, j))
    assert len(at_both.sources) == 1


def test_the_network_of_the_readme_takes_little_time():
    def network(p):
        w, b = np.reshape(p[:8], (4, 2)), p[8:]
        return np.sum(np.tanh(np.ones((3, 4)) @ w + b) ** 2)

    p = np.linspace(-1.0, 1.0, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StagingWarning)
        hvp = staged(lambda p, v: sr.hvp(network, (p,), (v,)))
        for x in (p, p, 2.0 * p):
            np.testing.assert_allclose(hvp(x, p), sr.hvp(network, (x,), (p,)), rtol=1e-12, atol=1e-12)
    assert count(hvp.sources[0]) < 60
    assert NOTHING == {}


@pytest.mark.parametrize("kind", [int, np.int64])
def test_elements_are_taken_at_an_integer_among_the_arguments(kind):
    slope = sr.grad(lambda u, i: abs(np.take(u, i % 3)) + u[0])
    stays_staged(slope, *[(V, kind(i)) for i in (1, 1, 0, 2, 4)], ways=1)
