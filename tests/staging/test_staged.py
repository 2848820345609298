"""`staged`: the answers, errors and warnings of the function itself, whatever it is called with, and nothing kept."""

from __future__ import annotations

import collections
import copy
import decimal
import doctest
import gc
import inspect
import math
import numbers
import pickle
import sys
import threading
import traceback
import warnings
import weakref
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import array_api_strict
import numpy as np
import optree
import pytest

import shiftreset_ad as sr
from shiftreset_ad import debug, derivative, grad, hessian, jvp, reset, shift
from shiftreset_ad.staging import StagedFunction, StagingWarning, staged
from shiftreset_ad.staging.native import machine
from shiftreset_ad.staging.patience import MOST_IN_VAIN
from shiftreset_ad.staging.ways import MOST_WAYS
from tests.staging.native.natively import needs_native

X = np.array([1.0, 2.0, 3.0])


def assert_same(answer, expected):
    """Both are the same, in structure, type, dtype and shape, and up to rounding in value."""
    leaves, spec = optree.tree_flatten(answer)
    wanted, spec_wanted = optree.tree_flatten(expected)
    assert spec == spec_wanted
    for x, y in zip(leaves, wanted, strict=True):
        assert type(x) is type(y)
        if isinstance(y, np.ndarray | np.generic):
            assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if isinstance(y, str | bytes | int | type(None)) or np.asarray(y).dtype.kind not in "fc":
            assert np.array_equal(x, y)
        else:
            np.testing.assert_allclose(x, y, rtol=1e-6 if np.asarray(y).itemsize < 8 else 1e-12)


def outcome(f, args):
    try:
        return f(*args), None
    except Exception as error:
        return None, error


def answers_as(f, *calls, ways: int | None = None):
    """`staged(f)` answers as `f` does, or raises the same, and by steps; any warning is an error."""
    g = staged(f)
    for args in calls:
        expected, error = outcome(f, args)
        answer, raised = outcome(g, args)
        assert (type(raised), str(raised)) == (type(error), str(error))
        assert raised is None or raised.__context__ is None
        assert_same(answer, expected)
    assert g.sources
    assert ways is None or len(g.sources) == ways
    return g


def is_run_as_it_is(f, match, *calls):
    g = staged(f)
    with pytest.warns(StagingWarning, match=match) as caught:
        answers = [g(*args) for args in calls]
    assert_same(answers, [f(*args) for args in calls])
    assert [warning.filename for warning in caught if warning.category is StagingWarning] == [__file__]
    assert not g.sources


# Which steps may be taken


def is_recorded(x):
    """Whether a value is a staged one, although a program should not ask."""
    return "Staged" in object.__repr__(x)


def test_the_function_is_run_three_times():
    runs = []

    def trace(frame, event, _):
        if event == "call" and frame.f_code is program.__code__:
            runs.append(type(frame.f_locals["x"]).__name__)

    def program(x):
        return x * 2

    f, before = staged(program), sys.gettrace()
    sys.settrace(trace)
    try:
        answers = [f(float(k)) for k in range(5)]
    finally:
        sys.settrace(before)
    assert answers == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert runs == ["float", "Staged", "float"]


@pytest.mark.parametrize(
    "arguments",
    [
        (1.0, 2.0),
        (1 + 2j, 3j),
        (np.float16(1), np.float16(2)),
        (np.float32(1), np.float32(2)),
        (np.float64(1), np.float64(2)),
        (np.longdouble(1), np.longdouble(2)),
        (np.complex64(1), np.complex64(2j)),
        (np.array(1.0), np.array(2.0)),
        (X, X * 2),
        (X.astype(">f8"), (2 * X).astype(">f8")),
        (X.astype("f2"), X.astype("f2") * 2),
        (X.astype("g"), X.astype("g") * 2),
        (X.astype("c8"), X.astype("c8") * 2j),
        (np.arange(3), np.arange(3) * 2),
        (np.arange(3, dtype="u1"), np.arange(3, dtype="u1") * 100),
        (np.array([True, False]), np.array([False, False])),
        (np.zeros((0, 3)), np.zeros((0, 3))),
        (np.broadcast_to(1.0, (2, 3)), np.broadcast_to(2.0, (2, 3))),
        (X[::-1], (2 * X)[::-1]),
        (np.asfortranarray(np.ones((2, 3))), np.asfortranarray(np.zeros((2, 3)))),
    ],
    ids=lambda pair: f"{type(pair[0]).__name__} {getattr(pair[0], 'dtype', '')}",
)
def test_dtypes_and_layouts(arguments):
    one, other = arguments
    answers_as(lambda x: (x + x, x * 2, np.sum(x), np.ravel(x)), (one,), (other,), (one,), ways=1)


def test_each_type_shape_and_layout_has_its_own_steps():
    kinds = (2.0, np.float64(2), np.float32(2), np.array(2.0), X, X[:2], X.astype("f4"), X.astype(">f8"), X[::-1])
    f = answers_as(lambda x: np.ravel(x) * 2, *[(x,) for x in kinds * 3])
    assert len(f.sources) == len(kinds)


def test_strings_and_other_constants_belong_to_the_way_and_integers_do_not():
    f = answers_as(
        lambda x, n: x**n if not isinstance(n, str) else x * len(n),
        *[(x, n) for x in (2.0, 3.0, 4.0) for n in (2, 3, True, "two", b"2"[0], np.int64(3), np.uint8(3))],
    )
    assert len(f.sources) == 5


def test_integers():
    """A count that is another each time, as of Adam's steps, is a value; where it decides something, a branch."""

    def adam(w, m, v, t):
        g = grad(lambda w: np.sum((w - 1.0) ** 4))(w)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        rate = 0.1 if t % 100 else 0.05
        return w - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v

    calls, state = [], (X, 0.0 * X, 0.0 * X)
    for t in range(1, 203):
        calls.append((*state, t))
        state = adam(*state, t)
    answers_as(adam, *calls, ways=1)
    answers_as(lambda x, n: sum(x**k for k in range(n)), *[(2.0, n) for n in (2, 3, 2, 3, 1)], ways=1)
    answers_as(lambda x, n: x[n] * n, *[(X, n) for n in (0, 1, 2, -1)])
    answers_as(lambda x, n: derivative(lambda t: t**5, n)(x), *[(2.0, n) for n in (1, 2, 3, 1, 2)], ways=3)


def test_a_derivative_of_a_constant_that_is_in_the_direction_of_a_value():
    w = np.arange(3.0)
    answers_as(lambda v: sr.hvp(lambda w: np.sum(w**3), (w,), (v,)), (X,), (2 * X,), (3 * X,), ways=1)
    answers_as(lambda v: sr.jvp(np.sin, (2.0,), (v,)), (1.0,), (2.0,), (3.0,), ways=1)
    answers_as(lambda v: grad(lambda x: np.sum(x * v))(2.0), (X,), (2 * X,), (3 * X,), ways=1)
    answers_as(lambda v: grad(lambda x: np.sum(x * v))(w), (X,), (2 * X,), (3 * X,), ways=1)


def test_slices_and_ranges():
    answers_as(lambda x, i: x[i], *[(k * X, slice(0, stop)) for k in (1, 2) for stop in (1, 2, 3)], ways=3)
    ranges = (range(0, 3, 2), range(0, 4, 2))  # are equal
    answers_as(lambda x, r: x * r.stop, *[(x, r) for x in (1.0, 2.0) for r in ranges], ways=2)
    answers_as(lambda x, i: x[i], *[(X, slice(np.array(k), None)) for k in (1, 2, 0, 1)], ways=4)


def test_the_order_of_keys_counts():
    def digits(numbers):
        return reduce(lambda total, key: 10 * total + numbers[key], numbers, 0.0)

    calls = [{"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}] * 2
    answers_as(digits, *[(numbers,) for numbers in calls], ways=2)
    f = staged(lambda **numbers: digits(numbers))
    assert [f(**numbers) for numbers in calls] == [12.0, 21.0] * 2


def test_positions_and_names_of_arguments():
    f = staged(lambda a, *rest, b=1.0, **more: a * 2 + sum(rest) + b + more.get("c", 0.0))
    for x in (1.0, 2.0, 3.0):
        assert f(x) == 2 * x + 1
        assert f(x, b=x) == 3 * x
        assert f(x, x, x) == 4 * x + 1
        assert f(x, c=x) == 3 * x + 1
    assert len(f.sources) == 4


def test_the_same_array_twice():
    y, z = X.copy(), X.copy()
    answers_as(lambda a, b: a * 2 if a is b else a * 3, (y, z), (y, z), (y, y), (z, z), (z, y))


class Point(NamedTuple):
    x: float
    y: float


@dataclass
class Box:
    w: Any
    n: int = 2
    name: str = "box"


def test_structures_go_in_and_come_out():
    answers_as(lambda p: Point(p.y, p.x * 2), (Point(1.0, 2.0),), (Point(3.0, 4.0),), (Point(5.0, 6.0),))
    answers_as(lambda p, q: {"b": [p["a"], q], "a": (q, None, "s", 3, [], {})}, *[({"a": k * X}, 2.0) for k in (1, 2)])
    answers_as(lambda d: d[0] + d[1], (collections.deque([1.0, 2.0]),), (collections.deque([3.0, 4.0]),))
    f = staged(lambda box: Box(box.w * box.n, 3, box.name))
    assert [f(Box(1.0)), f(Box(2.0)), f(Box(2.0, 5))] == [Box(2.0, 3), Box(4.0, 3), Box(10.0, 3)]
    f = staged(lambda x: {"b": x, "a": x})
    assert [list(f(x)) for x in (1.0, 2.0, 3.0)] == [["b", "a"]] * 3


def test_nothing_in_and_nothing_out():
    answers_as(lambda: 3.0, (), (), ())
    answers_as(lambda x: None, (1.0,), (2.0,), (3.0,))
    answers_as(lambda x: (), (1.0,), (2.0,), (3.0,))
    answers_as(lambda x: [{}, ((),)], (X,), (X,), (X,))


def test_a_dataclass_with_attributes_that_are_no_fields():
    def with_factor(k):
        box = Box(2.0)
        if k != 1.0:
            box.factor = k
        return box

    f = staged(lambda box: box.w * getattr(box, "factor", 1.0))
    assert [f(with_factor(1.0)) for _ in range(3)] == [2.0] * 3
    with pytest.warns(StagingWarning, match="a Box among its arguments has 'factor', which is no field"):
        assert f(with_factor(5.0)) == 10.0


# Branches


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = (x + a / x) / 2
    return x


def test_loops_that_end_when_the_values_say_so():
    answers_as(newton, *[(x,) for x in (2.0, 3.0, 100.0, 2.0, 1e-3, 100.0)])
    answers_as(grad(newton), *[(x,) for x in (2.0, 3.0, 100.0, 2.0)])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x if x > 2 else -x,
        lambda x: x if 1 < x < 3 else -x,
        lambda x: x * 2 if x in (2.0, 3.0) else x,
        lambda x: x * 2 if x in {2.0, 3.0} else x,
        lambda x: {2.0: 5.0}.get(x, x),
        lambda x: f"{x:.1f} {x!r} {x}",
        lambda x: math.sin(x) + math.floor(x) + math.copysign(1.0, x),
        lambda x: (x // 2, x % 3, divmod(x, 2), round(x), round(x, 1), int(x), abs(x), -x),
        lambda x: (max(x, 2.5), min(x, 2.5), sorted([3.0, x, 1.0]), sum([x, x])),
        lambda x: [x] * int(abs(x)),
        lambda x: x if x == x else 0.0,
    ],
)
def test_values_that_the_program_looks_at(f):
    answers_as(f, *[(x,) for x in (2.0, 2.0, 3.0, -4.5, 0.0, -0.0, 2.0)])


def test_nan_and_the_sign_of_zero_are_other_answers():
    answers_as(lambda x: x if x == x else 0.0, *[(x,) for x in (math.nan, 1.0, math.nan, 2.0)])
    answers_as(lambda x: math.copysign(3.0, x), *[(x,) for x in (0.0, 0.0, -0.0, 0.0)])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[x > 1.5] * 2,
        np.unique,
        lambda x: np.nonzero(x > 1)[0],
        lambda x: np.sort(x)[: int(np.sum(x > 1))],
        lambda x: np.asarray(x).tobytes(),
    ],
)
def test_shapes_that_depend_on_values(f):
    answers_as(f, *[(x,) for x in (X, X * 2, X - 5, np.ones(3), X)])


def test_dtypes_that_depend_on_values():
    rotation, shear = np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([[2.0, 1.0], [0.0, 1.0]])
    answers_as(lambda m: np.linalg.eig(m)[0], (shear,), (shear,), (rotation,), (shear,))
    answers_as(lambda x: x**0.5, (4.0,), (9.0,), (-4.0,), (4.0,))


def test_recursion():
    def power(x, n):
        return x if n == 0 else x * power(x * 0.5, n - 1)

    answers_as(power, (1.1, 100), (1.2, 100), (1.2, 101))


def test_a_staged_function_that_calls_itself():
    def factorial(x):
        return 1.0 if x < 1 else x * staged_factorial(x - 1)

    staged_factorial = staged(factorial)
    assert [staged_factorial(x) for x in (5.0, 5.0, 3.0, 5.0)] == [120.0, 120.0, 6.0, 120.0]


@pytest.mark.slow
def test_a_very_long_program(monkeypatch):
    answers_as(lambda x: reduce(lambda y, _: y * 0.999 + 1.0, range(10_000), x), (1.0,), (2.0,), (3.0,))
    monkeypatch.setattr(machine, "unfit", lambda: "llvmlite is not installed")
    is_run_as_it_is(lambda x: reduce(lambda y, _: y * 0.9, range(50_001), x), "more than 50000 steps", (1.0,), (2.0,))


# Exceptions and warnings


def too_large(x):
    if x > 3:
        raise ValueError(f"{x} is too large")
    return x * 2


def test_exceptions_of_the_function():
    answers_as(too_large, *[(x,) for x in (4.0, 1.0, 2.0, 5.0, 3.0)])
    many = [(4.0 + k,) for k in range(2 * MOST_IN_VAIN)]
    answers_as(too_large, *many, (1.0,), (2.0,), *many, (3.0,))


def test_the_traceback_leads_to_the_line_of_the_user():
    f = answers_as(too_large, (1.0,), (2.0,), (1.0,))
    with pytest.raises(ValueError, match="too large") as caught:
        f(4.0)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "too_large"


@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (lambda x: 1 / x, (2.0, 3.0, 0.0, 4.0)),
        (lambda x: x**1000.0, (1.0, 0.5, 10.0, 1.0)),
        (lambda x: int(x), (1.5, 1.25, math.inf, math.nan, 1.5)),
        (lambda x: math.log(x), (1.0, 1.0, -1.0)),
        (np.linalg.inv, (np.eye(2), 2 * np.eye(2), np.zeros((2, 2)), np.eye(2))),
        (np.linalg.cholesky, (np.eye(2), 2 * np.eye(2), -np.eye(2), np.eye(2))),
        (lambda x: X[int(x)], (1.0, 2.0, 7.0, 1.0)),
    ],
)
def test_exceptions_of_operations(f, calls):
    answers_as(f, *[(x,) for x in calls])


def test_an_exception_of_an_operation_whose_answer_is_not_needed():
    def divides(x):
        1.0 / x
        return x

    def inverts(x):
        np.linalg.inv(x)
        return x * 2

    answers_as(divides, (2.0,), (3.0,), (0.0,), (4.0,))
    answers_as(inverts, (np.eye(2),), (2 * np.eye(2),), (np.zeros((2, 2)),))


def test_exceptions_that_the_function_catches():
    def reciprocal(x):
        try:
            return 1.0 / x
        except ZeroDivisionError:
            return 0.0

    def whole(x):
        try:
            return float(int(x))
        except (ValueError, OverflowError) as error:
            return str(error)

    answers_as(reciprocal, *[(x,) for x in (0.0, 0.0, 2.0, 4.0, 0.0)])
    answers_as(reciprocal, *[(x,) for x in (2.0, 2.0, 0.0, 4.0, 0.0)])
    answers_as(whole, *[(x,) for x in (math.nan, math.nan, 2.0, math.inf, 2.5, 2.0)])


def test_warnings_are_those_of_the_function():
    f = staged(grad(lambda x: np.sum(np.sqrt(x))))
    g = staged(lambda x: np.log(x) * 2)
    for _ in range(3):
        f(np.array([1.0, 4.0]))
        assert np.isinf(f(np.array([0.0, 4.0]))[0])  # infinite on the way back, of which nothing warns
        g(np.array([1.0, 4.0]))
    with pytest.warns(RuntimeWarning, match="invalid value encountered in log"):
        g(np.array([-1.0, 4.0]))
    with pytest.raises(RuntimeWarning, match="invalid value"):
        g(np.array([-1.0, 4.0]))


def test_floating_point_errors():
    with np.errstate(all="raise"):
        answers_as(lambda x: np.log(x) * 2, (X,), (2 * X,), (X - 2,), (X,))

    def careful(x):
        with np.errstate(divide="raise"):
            return np.sum(1 / x)

    answers_as(careful, (X,), (2 * X,), (X - 2,), (X,))


def test_the_errstate_of_the_caller_counts():
    f = staged(lambda x: 1 / x)
    zero = np.zeros(1)
    for _ in range(3):
        with np.errstate(divide="ignore"):
            assert f(zero) == np.inf
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            f(zero)


@needs_native
def test_a_usual_call_asks_for_no_reactions_to_errors_and_for_no_derivatives(monkeypatch):
    """They are looked at where they may be others: after they have been set, and in a greenlet."""
    f = staged(lambda x: x * x)
    for x in (1.0, 2.0, 3.0, 4.0):
        f(x)

    def not_asked(*args):
        raise AssertionError("asked")

    with monkeypatch.context() as patch:
        patch.setattr(np, "geterr", not_asked)
        patch.setattr(sys.modules["shiftreset_ad.numbers.tags"], "open_tags", not_asked)
        assert f(5.0) == 25.0
    log = []
    with np.errstate(over="raise"):
        with monkeypatch.context() as patch:
            patch.setattr(np, "geterr", lambda: log.append(1) or {"over": "raise"})
            assert f(6.0) == 36.0
        with pytest.raises(FloatingPointError):
            staged(lambda x: x * x)(np.float64(1e200))
    assert log
    assert sr.grad(lambda x: f(x) * x)(2.0) == 12.0
    assert sr.jvp(lambda x: f(x) * x, (2.0,), (1.0,)) == (8.0, 12.0)
    assert f(1e200) == math.inf


def test_the_errstate_of_the_function_holds_under_any_of_the_caller():
    def f(x):
        with np.errstate(divide="ignore"):
            return 1 / x

    g, zero = staged(f), np.zeros(1)
    for _ in range(3):
        with np.errstate(divide="ignore"):
            assert g(zero) == np.inf
    with np.errstate(divide="warn"):
        assert g(zero) == np.inf
    assert len(g.sources) == 2


def test_an_interrupt_leaves_nothing_behind():
    def f(x, interrupts=[True, False, False]):  # noqa: B006
        if interrupted:
            raise KeyboardInterrupt
        return x * 2

    def only_when_written_down(x):
        if interrupted and is_recorded(x):
            raise KeyboardInterrupt
        return x * 2

    for function in (f, only_when_written_down):
        interrupted = True
        g = staged(function)
        with pytest.raises(KeyboardInterrupt):
            g(1.0)
        interrupted = False
        assert [g(x) for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
        assert len(g.sources) == 1


def test_infinite_recursion():
    def endless(x):
        return endless(x)

    f = staged(endless)
    for _ in range(2):
        with pytest.raises(RecursionError):
            f(1.0)
    answers_as(lambda x: x * 2, (1.0,), (2.0,), (3.0,))


# What is run as it is


def test_the_type_of_a_value():
    """To `isinstance` and to `type`, a staged value is what its plain value is."""
    answers_as(lambda x: x * 2 if isinstance(x, float) else x * 3, (1.0,), (2.0,), (3.0,))
    answers_as(lambda x: x * 2 if isinstance(x, np.ndarray) else x * 3, (X,), (2 * X,), (3 * X,))
    answers_as(lambda x: x * 2 if np.isscalar(x) else x * 3, (1.0,), (2.0,), (3.0,))
    answers_as(lambda x: x * 2 if isinstance(x, numbers.Real) else x * 3, (1.0,), (2.0,), (3.0,))
    answers_as(lambda x: x * 2 if type(x) is np.ndarray else x * 3, (X,), (X,), (X,))


def test_a_difference_is_noticed_in_the_first_call():
    f = staged(lambda x: x * 3 if is_recorded(x) else x * 2)
    with pytest.warns(StagingWarning, match="something else when it is run again"):
        assert f(1.0) == 2.0


def test_what_cannot_be_seen_is_noticed_when_the_steps_are_first_taken():
    f = staged(lambda x: x * float(decimal.Decimal(1) / decimal.Decimal(3)))
    with decimal.localcontext(prec=3), pytest.warns(StagingWarning, match="something else when it is run again"):
        first, second = f(1.0), (decimal.getcontext().__setattr__("prec", 5), f(1.0))[1]
    assert (first, second) == (0.333, 0.33333)


def test_writing_to_the_arguments():
    def append(items, x):
        items.append(x)

    def enter(table):
        table["y"] = table["x"] * 2
        return table["y"]

    def clear(x):
        np.asarray(x)[:] = 0.0
        return 1.0

    def assign(box):
        box.w = box.w + 1.0
        return box.w

    items: list[float] = []
    f, g, h, k = staged(append), staged(enter), staged(clear), staged(assign)
    with pytest.warns(StagingWarning, match="changes its arguments"):
        assert [f(items, float(i)) for i in range(3)] == [None] * 3
    assert items == [0.0, 1.0, 2.0]
    for function, made in ((g, lambda: {"x": 2.0}), (h, lambda: np.ones(2)), (k, lambda: Box(1.0))):
        changed = [made() for _ in range(3)]
        with pytest.warns(StagingWarning, match="changes its arguments"):
            assert len(set(map(function, changed))) == 1
        assert all(str(argument) == str(changed[0]) != str(made()) for argument in changed)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_results_that_are_no_values():
    is_run_as_it_is(lambda x: np.matrix([[1.0, x]]), "it returns a matrix", (1.0,), (2.0,))
    f = staged(lambda x: sr.vjp(np.sin, x))
    with pytest.warns(StagingWarning, match="it returns a function"):
        assert f(2.0)[1](1.0) == (math.cos(2.0),)


def test_a_value_that_is_read_and_is_another_each_time():
    f = staged(lambda x: float(str(x)) * 2)
    with pytest.warns(
        StagingWarning, match=r"(?s)another way 16 times.*numpy.sin for math.sin.*float\(str\(x\)\)"
    ) as caught:
        assert [f(float(k)) for k in range(40)] == [2.0 * k for k in range(40)]
    assert len(caught) == 1


def test_arguments_that_are_others_each_time():
    f = staged(lambda x: np.sum(x))
    with pytest.warns(StagingWarning, match="its arguments have other types, shapes"):
        assert [f(np.ones(k)) for k in range(40)] == list(range(40))


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_other_arrays():
    matrix = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    answers_as(lambda m, x: float(m.sum()) * x, *[(m, x) for x in (1.0, 2.0) for m in (matrix, masked)], ways=2)
    answers_as(lambda names, x: x * len(names[0]), *[(names, x) for names in [np.array(["ab"])] for x in (1.0, 2.0)])
    answers_as(lambda days: days[1] - days[0], *[(np.array(["2020-01-01", f"2020-01-0{k}"], "M8[D]"),) for k in (2, 3)])
    objects = np.array([1.0, 2.0], object)
    answers_as(lambda a, x: a[0] * x, (objects, 1.0), (objects, 2.0), (objects, 3.0), ways=1)


def test_arrays_that_are_read_from_a_file(tmp_path):
    x = np.memmap(tmp_path / "x", float, "w+", shape=(3,))
    f = staged(lambda x: np.sum(x) * 2)
    for k in range(4):
        x[:] = k
        assert f(x) == 6.0 * k


def test_arrays_of_other_libraries():
    f = staged(lambda x: x * 2)
    for _ in range(3):
        answer = f(array_api_strict.asarray([1.0, 2.0]))
        assert type(answer).__module__.startswith("array_api_strict")
    constant = array_api_strict.asarray(2.0)
    is_run_as_it_is(lambda x: x * float(constant), "it sees 'constant', a Array", (1.0,), (2.0,))


def test_a_list_that_contains_itself():
    items: list[Any] = [2.0]
    items.append(items)
    f = staged(lambda items, x: items[0] * x)
    with pytest.warns(StagingWarning):
        assert [f(items, 1.0), f(items, 2.0)] == [2.0, 4.0]


def test_warnings_that_are_errors_do_no_harm():
    f = staged(lambda x: x + np.random.rand())  # noqa: NPY002
    assert f(1.0) > 1.0
    with pytest.raises(StagingWarning, match="random numbers"):  # as all warnings are errors here
        f(1.0)
    assert f(1.0) > 1.0


# With derivatives, and with one another


def test_derivatives_in_staged_functions():
    answers_as(hessian(lambda x: np.sum(x**3) * x[0]), (X,), (2 * X,), (X - 5,), ways=1)
    answers_as(lambda x: jvp(grad(lambda y: y**3), (x,), (1.0,)), (1.0,), (2.0,), (3.0,), ways=1)
    answers_as(lambda x: sr.taylor(lambda t: np.exp(t) * t, x, 4), (1.0,), (2.0,), (3.0,), ways=1)
    answers_as(grad(lambda z: abs(z) ** 2), (1 + 2j,), (2 - 1j,), (3j,))


def test_staged_functions_in_derivatives():
    cube = staged(lambda x: x**3)
    assert [grad(cube)(2.0), jvp(cube, (2.0,), (1.0,)), grad(grad(cube))(2.0)] == [12.0, (8.0, 12.0), 12.0]
    assert not cube.sources


@pytest.mark.parametrize(
    "derivative", [grad, derivative, lambda f: lambda x: jvp(f, (x,), (1.0,))[1]], ids=["grad", "derivative", "jvp"]
)
def test_an_array_that_a_staged_function_makes_in_a_derivative_takes_its_numbers(derivative):
    """The function itself runs there, although nothing that it is given is being differentiated."""

    @staged
    def prepared(first):
        array = sr.zeros(2)
        array[0] = first
        return array

    def f(x):
        array = prepared(3.0)
        array[1] = x
        return np.sum(array * array)

    for _ in range(3):
        prepared(3.0)
    assert derivative(f)(2.0) == 4.0
    assert len(prepared.sources) == 1


def test_a_number_of_an_outer_derivative_that_is_closed_over():
    def outer(x):
        return grad(staged(lambda y: y * y * x))(x) + staged(lambda y: y * y)(x)

    answers_as(outer, (1.0,), (2.0,), (3.0,))
    answers_as(grad(outer), (1.0,), (2.0,), (3.0,))
    answers_as(lambda x: jvp(outer, (x,), (1.0,)), (1.0,), (2.0,), (3.0,))


def test_staged_functions_in_staged_functions():
    inner = staged(lambda x: x * 2)
    answers_as(lambda x: inner(x) + 1, (1.0,), (2.0,), (3.0,))
    answers_as(staged(lambda x: x * 2), (1.0,), (2.0,), (3.0,))
    assert [inner(x) for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert len(inner.sources) == 1


def test_a_staged_function_in_one_that_is_run_as_it_is():
    inner = staged(lambda x: x * 2)
    is_run_as_it_is(lambda x: 0.0 if is_recorded(x) else inner(x), "something else", (1.0,), (2.0,), (3.0,))
    assert inner.sources


def test_inside_debug():
    f = staged(lambda x: np.log(x))
    for _ in range(3):
        f(X)
    with debug(), pytest.raises(RuntimeWarning):
        f(np.zeros(2))


# Answers and arguments are the user's


def test_answers_may_be_written_to():
    constant = np.ones(3)
    f = staged(lambda x: (x * 2, constant, [x]))
    for _ in range(4):
        double, again, items = f(X)
        np.testing.assert_array_equal(double, 2 * X)
        np.testing.assert_array_equal(again, np.ones(3))
        if again is not constant:
            again[:] = 7.0
        double[:] = 7.0
        items.append(7.0)
    np.testing.assert_array_equal(constant, np.ones(3))


def test_an_answer_is_an_argument_or_a_view_of_it_where_the_function_says_so():
    f = staged(lambda x: (x, x[1:], x * 1.0, x.copy(), +x))
    for _ in range(4):
        x = X.copy()
        same, view, *others = f(x)
        assert same is x
        assert np.shares_memory(view, x)
        assert not any(np.shares_memory(other, x) for other in others)


def test_arguments_may_be_written_to_between_calls():
    f, x = staged(lambda x: np.sum(x * x)), np.ones(3)
    for k in range(4):
        x[:] = k
        assert f(x) == 3.0 * k * k


# What is kept


@pytest.fixture
def _no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collector")
def test_no_argument_and_no_value_on_the_way_is_kept():
    class Array(np.ndarray):  # these can be referred to weakly, as all arrays can
        pass

    f = staged(grad(lambda x: np.sum(np.sin(x) * x)))
    for _ in range(4):
        x = np.ones(1000)
        argument, answer = weakref.ref(x), weakref.ref(f(x))
        del x
        assert argument() is None
        assert answer() is None


def test_objects_that_are_arguments_are_not_kept():
    class Holder:
        def __init__(self, k):
            self.k = k

    f, holder = staged(lambda holder, x: holder.k * x), Holder(2.0)
    for x in (1.0, 2.0, 3.0):
        assert f(holder, x) == 2.0 * x
    assert f.sources
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None
    assert not f.sources


def test_signatures_and_ways_are_limited(monkeypatch):
    monkeypatch.setattr(sys.modules["shiftreset_ad.staging.records"], "MOST_SIGNATURES", 20)
    f = staged(lambda x: np.sum(x))
    for k in range(40):
        assert [f(np.ones(k)) for _ in range(2)] == [k, k]
    assert len(f.sources) == 20
    f = staged(lambda x: x * float(str(np.rint(x))))
    for k in range(2 * MOST_WAYS):
        assert [f(float(k)) for _ in range(2)] == [k * k] * 2
    assert len(f.sources) == MOST_WAYS


# As functions


@staged
def doubled(x, *, k: float = 2.0):
    """Doubled.

    >>> doubled(1.0)
    2.0
    """
    return x * k


def plain(x):
    return x * 3


def test_it_looks_like_the_function():
    assert doubled.__name__ == "doubled"
    assert doubled.__doc__.startswith("Doubled.")
    assert str(inspect.signature(doubled)) == "(x, *, k: 'float' = 2.0)"
    assert repr(doubled) == "<staged(doubled)>"
    assert [test.name.rpartition(".")[2] for test in doctest.DocTestFinder().find(doubled, "doubled")] == ["doubled"]
    with pytest.raises(TypeError, match="cannot be called"):
        staged(3)


def test_the_errors_of_a_call():
    for _ in range(2):
        with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
            doubled(1.0, 2.0)


def test_copies_and_pickles(monkeypatch):
    module = type(sys)("a_module_of_tests")
    module.doubled, module.plain = doubled, plain
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(doubled, "__module__", module.__name__)
    monkeypatch.setattr(plain, "__module__", module.__name__)
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert copy.copy(doubled) is copy.deepcopy(doubled) is doubled
    f = staged(plain)
    f(1.0)
    for other in (pickle.loads(pickle.dumps(f)), copy.copy(f), copy.deepcopy(f)):
        assert type(other) is type(f)
        assert isinstance(other, StagedFunction)
        assert other is not f
        assert [other(1.0), other(2.0), other(3.0)] == [3.0, 6.0, 9.0]


class Methods:
    k = 2.0

    @staged
    def method(self, x):
        return self.k * x

    @classmethod
    @staged
    def of_class(cls, x):
        return cls.k * x

    @staticmethod
    @staged
    def of_nobody(x):
        return 3 * x

    @property
    @staged
    def doubled(self):
        return 2 * self.k


def test_methods():
    one, other = Methods(), Methods()
    other.k = 5.0
    for x in (1.0, 2.0, 3.0):
        assert [one.method(x), other.method(x), Methods.method(one, x)] == [2 * x, 5 * x, 2 * x]
        assert [one.of_class(x), Methods.of_class(x), one.of_nobody(x)] == [2 * x, 2 * x, 3 * x]
        assert [one.doubled, other.doubled] == [4.0, 10.0]
    assert len(Methods.method.sources) == 2
    one.k = 7.0
    assert [one.method(1.0), other.method(1.0), one.doubled] == [7.0, 5.0, 14.0]


@dataclass
class Linear:
    w: float

    @staged
    def loss(self, x):
        return self.w * x


def test_a_method_of_a_dataclass_has_its_fields_as_arguments():
    assert [Linear(w).loss(x) for w in (1.0, 2.0) for x in (3.0, 4.0)] == [3.0, 4.0, 6.0, 8.0]
    assert len(Linear.loss.sources) == 1


# Threads


def test_several_threads():
    w = np.ones(3)
    program = grad(lambda x: np.sum(np.sin(x) * x * w) if x[0] > 0 else np.sum(x * w))
    f, wrong = staged(program), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(50):
            x = rng.normal(size=3)
            if not np.allclose(f(x), program(x), rtol=1e-12):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert f.sources


def test_another_thread_while_a_function_is_written_down():
    def slow(x):
        if is_recorded(x):
            recorded.set()
            answered.wait(10.0)
        return x * 2

    def wait():
        recorded.wait(10.0)
        answers.append(other(2.0))
        answered.set()

    answers: list[float] = []
    recorded, answered, thread = threading.Event(), threading.Event(), threading.Thread(target=wait)
    other = staged(lambda x: x * 3)
    thread.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StagingWarning)
        f = staged(slow)
        assert [f(1.0), f(2.0), f(3.0)] == [2.0, 4.0, 6.0]
    thread.join()
    assert answers == [6.0]
    assert [other(1.0), other(2.0)] == [3.0, 6.0]


def test_only_the_ways_that_a_call_may_still_go_are_tried():
    """Of 32 ways each question leaves half: a call tries no more than one for each question, and the first."""

    def f(x):
        y = x
        for k in range(5):
            # The shape of an answer is a question, too.
            y = y * 1.5 if bool(x[k] > 0.0) else y - y[: np.argmax(x[:1]) + 1]
        return y

    g = staged(f)
    points = [np.array([1.0 if i >> k & 1 else -1.0 for k in range(5)]) for i in range(32)]
    for x in points:
        assert_same([g(x), g(x)], [f(x)] * 2)
    (signature,) = g._calls._signatures.values()
    assert len(signature.ways) == 32
    tried = []
    for way in signature.ways:
        way.take = lambda inputs, take=way.take: tried.append(take) or take(inputs)
    for x in points:
        tried.clear()
        assert_same(g(x), f(x))
        assert len(tried) <= 6


def test_a_continuation_up_to_a_reset_outside_is_captured_once():
    """The handler would run again with the run that is recorded."""

    def program(x):
        return x * shift(lambda k: ("handled", k(x * x)))

    g = staged(grad(program))
    with pytest.warns(StagingWarning, match="it captures a continuation up to a reset around it"):
        assert reset(lambda: g(2.0)) == ("handled", 12.0)
    assert reset(lambda: g(3.0)) == ("handled", 27.0)
    later = staged(grad(lambda x: x * x * shift(lambda k: k)))
    with pytest.warns(StagingWarning, match="it captures a continuation"):
        assert reset(lambda: later(3.0))(10.0) == 60.0
    inside = staged(grad(lambda x: reset(lambda: x * shift(lambda k: k(x) * 2.0))))
    assert [inside(x) for x in (1.0, 2.0, 3.0)] == [4.0, 8.0, 12.0]
    assert len(inside.sources) == 1
