"""What a program learns of a staged value without asking for the value: it is right, or the function runs as it is."""

from __future__ import annotations

import functools
import logging
import queue
import warnings
from collections.abc import Sized

import numpy as np
import pytest

from shiftreset_ad import cond, staged, while_loop
from shiftreset_ad.staging import StagingWarning
from tests.staging.in_turns import beside_a_test, in_turns, is_refused, stays_staged, under_a_test

X, START = np.array([1.0, 2.0]), np.array([1.0, 3.0])


@functools.singledispatch
def dispatched(x):
    return x * 1.0


@dispatched.register
def _(x: float):
    return x * 2.0


@dispatched.register
def _(x: np.ndarray):
    return x * 3.0


class Dispatching:
    @functools.singledispatchmethod
    def of(self, x):
        return x * 1.0

    @of.register
    def _(self, x: float):
        return x * 2.0


dispatching = Dispatching()


def matched(x, flag):
    match x:
        case np.ndarray() if flag > 0:
            return x * 3
        case float(y) if flag > 0:
            return y * 4
    return x


@pytest.mark.parametrize(
    "f",
    [
        lambda x, flag: x * 2 if type(x) is np.ndarray and flag > 0 else x * 3,
        lambda x, flag: {float: 2.0, np.ndarray: 3.0, np.float64: 5.0}[type(x)] * x,
        lambda x, flag: x * 2 if type(x) is type(flag) and flag > 0 else x * 3,
        lambda x, flag: dispatched(x),
        lambda x, flag: dispatching.of(x),
        lambda x, flag: x * 2 if hasattr(x, "__len__") and flag > 0 else x * 3,
        lambda x, flag: x * 2 if hasattr(x, "inside") and flag > 0 else x * 3,
        lambda x, flag: x * 2 if isinstance(x, Sized) and flag > 0 else x * 3,
        lambda x, flag: x * 2 if isinstance(x, (int, Sized)) and flag > 0 else x * 3,
        lambda x, flag: x * 2 if np.issubdtype(type(x), np.floating) and flag > 0 else x * 3,
        lambda x, flag: x * 2 if x is None or flag > 0 else x * 3,
        matched,
    ],
)
def test_the_type_of_a_value(f):
    for x in (1.0, X, np.float64(2.0)):
        calls = [*[(x, -1.0)] * 3, *[(x, 1.0)] * 3, (x, -1.0)]
        stays_staged(f, *calls)
        stays_staged(beside_a_test(f), *calls)
        in_turns(under_a_test(f), *[(flag, *call) for flag in (-1.0, 1.0, -1.0) for call in calls])


def matched_by_sequence(x, flag):
    match x:
        case [_, *_] if flag > 0:
            return x * 2
    return x


def test_patterns_of_sequences():
    for x in (1.0, X):
        _, reasons = in_turns(matched_by_sequence, *[(x, -1.0)] * 3, *[(x, 1.0)] * 3)
        assert not reasons or "a pattern of a sequence" in reasons


def matched_by_identity(x, flag):
    match x > 0:
        case True if flag > 0:
            return x * 2
    return x


def matched_by_abstract_class(x, flag):
    match x:
        case Sized() if flag > 0:
            return x * 2
    return x


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (lambda x, flag: x * 2 if (x > 0) is True and flag > 0 else x * 3, "by `is`"),
        (lambda x, flag: x * 2 if (x > 0) is not False and flag > 0 else x * 3, "by `is`"),
        (lambda x, flag: x * 2 if x is flag else x * 3, "by `is`"),
        (lambda x, flag: x * 2 if any(y is x for y in [flag]) else x * 3, "by `is`"),
        (lambda x, flag: x * 2 if id(x) == id(flag) else x * 3, "it asks for id"),
        (lambda x, flag: x * 2 if type(x + 1) is float and flag > 0 else x * 3, "the type of an expression"),
        (lambda x, flag: x * 2 if getattr(x, "__len__", None) is None and flag > 0 else x * 3, "it asks for x.__len__"),
        (matched_by_identity, "by `is`"),
        (matched_by_abstract_class, "an abstract class"),
    ],
)
def test_questions_that_steps_cannot_answer(f, reason):
    one, other = 1.5, -1.5
    calls = [*[(one, other)] * 3, (one, one), (one, 1.0)]
    is_refused(f, reason, *calls)
    is_refused(beside_a_test(f), reason, *calls)
    under_one = [(flag, *call) for flag in (-1.0, 1.0, -1.0) for call in calls]
    is_refused(under_a_test(f), reason, *under_one, has_other_paths=True)


def test_a_question_under_a_test_that_the_first_run_has_not_reached():
    def f(x, y):
        if x > 100.0:
            y = y * 2.0 if y is x else y * 3.0
        return x + y

    g, reasons = in_turns(f, *[(1.0, 2.0)] * 3)
    assert not reasons
    assert "It holds as long as the answer is the same" in g.report()
    is_refused(f, "by `is`", *[(1.0, 2.0)] * 3, (200.0, 2.0), (200.0, 200.0), has_other_paths=True)


def test_an_array_that_is_one_from_outside():
    is_refused(lambda x: x * 2 if x is START else x * 3, "by `is`", *[(X,)] * 3, (START,))


def test_what_is_computed_before_a_loop_is_no_argument():
    """The values of the blocks of a loop have places, too."""

    def f(u, y):
        z = u * 2.0
        w = cond(y > 1.0, lambda z, u: z, lambda z, u: u * 3.0, z, u)
        t = while_loop(lambda v: v > 1.0, lambda v: np.sin(v) * 0.5 + np.cos(v) * 0.1 - 1.0 + v * 0.1, y)
        return (u if w is z else w) + 0.0 * t

    is_refused(f, "by `is`", *[(X, 0.5)] * 3, (X, 9.0))


def test_a_plain_value_is_shown_to_the_question_alone():
    def f(x, y):
        kinds = [type(x), isinstance(x, float | int), type(y)]
        return x * y if kinds[0] is kinds[2] else x

    stays_staged(f, (1.0, 2.0), (2.0, 3.0), (3.0, 4.0), (1.0, 2), (3.0, 5))
    stays_staged(lambda x: x * (2.0 if isinstance(abs(x), float) else 3.0), (1.0,), (-2.0,), (3.0,))
    stays_staged(lambda x, y: x if isinstance(x if x > y else y, float) else y, (1.0, 2.0), (3.0, 2.0), (1.0, 2.0))


def warning_of_its_own(x):
    warnings.warn("use another function", stacklevel=2)
    return x * 2


def test_warnings_of_its_own():
    is_refused(warning_of_its_own, "it warns", (1.0,), (2.0,))
    g = staged(warning_of_its_own)
    for k in range(4):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            g(float(k))
        assert "use another function" in [str(warning.message) for warning in caught]


def test_no_staged_value_stays_in_a_queue_or_a_log():
    kept: list[logging.LogRecord] = []
    numbers: queue.SimpleQueue[float] = queue.SimpleQueue()
    logger = logging.getLogger("of a user")
    logger.propagate = False
    handler = logging.Handler()
    handler.emit = kept.append  # type: ignore[method-assign]
    logger.addHandler(handler)

    def logged(x):
        logger.warning("x is %s", x)
        return x * 2

    def queued(x):
        numbers.put(x)
        return x * 2

    for f, reason in ((logged, "it logs a value"), (queued, "a SimpleQueue")):
        g = staged(f)
        with pytest.warns(StagingWarning, match=reason):
            assert [g(x) for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert [type(arg) for record in kept for arg in record.args] == [float] * len(kept)
    assert [numbers.get() for _ in range(3)] == [1.0, 2.0, 3.0]
    assert numbers.empty()
