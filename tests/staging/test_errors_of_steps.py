"""Errors and warnings of steps: of steps whose answer nobody needs, too, and their text."""

from __future__ import annotations

import signal
import warnings

import numpy as np
import pytest

from shiftreset_ad import staged, while_loop
from shiftreset_ad.staging.native import machine
from tests.staging.in_turns import is_refused, stays_staged

X, BYTES = np.array([1.0, 2.0, 3.0]), np.ones(2, "u1")
LARGE = 10**400


def unused(operation):
    def f(*args):
        operation(*args)
        return args[0] * 2

    return f


def caught(operation):
    def f(*args):
        try:
            operation(*args)
        except OverflowError:
            return args[0] * 3
        return args[0] * 2

    return f


@pytest.mark.parametrize("around", [unused, caught])
@pytest.mark.parametrize(
    ("operation", "good", "bad"),
    [
        (lambda x, k: x + k, (BYTES, 3), (BYTES, 300)),
        (lambda x, k: x * k, (BYTES, 3), (BYTES, -1)),
        (lambda x, k: x << k, (BYTES, 3), (BYTES, 300)),
        (lambda k: k + 1.0, (3,), (LARGE,)),
        (lambda k: k * 2.0, (3,), (LARGE,)),
        (lambda k, x: x + k, (3, np.float64(1.0)), (LARGE, np.float64(1.0))),
        (lambda k: np.add(k, 1), (3,), (2**63,)),
        (lambda k: np.negative(k), (3,), (LARGE,)),
        (lambda x: x**400.0, (3.0,), (2000.0,)),
    ],
)
def test_a_step_that_may_raise_is_not_left_out(around, operation, good, bad):
    f = around(operation)
    stays_staged(f, *[good] * 3, *[bad] * 3, good)


def test_the_dtype_that_numpy_chooses_for_an_integer():
    stays_staged(lambda k: np.add(k, 1), *[(3,)] * 3, *[(2**63,)] * 3, *[(2**64,)] * 3, (3,))


def test_the_text_of_an_error_that_is_caught():
    def f(x, i):
        try:
            return x[i]
        except IndexError as error:
            return error.args[0]

    stays_staged(f, *[(X, 10)] * 3, *[(X, 12)] * 3, (X, 1))


def test_warnings_that_are_recorded_may_be_looked_at():
    def f(x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y = np.log(x)
        return y if not caught else x * 5.0

    is_refused(f, "it records warnings", *[(np.ones(1),)] * 3, *[(-np.ones(1),)] * 3)


@pytest.mark.parametrize("by_numpy", [True, False])
def test_an_error_of_a_signals_handler_arrives(by_numpy, monkeypatch):
    """A time limit, for example: the function must not run itself instead."""
    if by_numpy:
        monkeypatch.setattr(machine, "unfit", lambda: "it is switched off")
    f = staged(lambda x, y: while_loop(lambda s: s > y, lambda s: s * 0.5, x))
    assert [f(x, 1.0) for x in (4.0, 8.0, 3.0, 5.0)] == [1.0, 1.0, 0.75, 0.625]

    times = []

    def late(*_):
        times.append(1)
        raise TimeoutError("late" if len(times) == 1 else "too late")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.5)
    try:
        with pytest.raises(TimeoutError, match=r"^late"):
            f(4.0, -1.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("always::RuntimeWarning")
def test_a_branch_that_is_not_reached_gives_no_warning():
    def f(x, n):
        total = x
        for _ in range(n):
            total += np.log(total) if total > 0.0 else np.sqrt(-total)
        return np.log(total) if total > 0.0 else np.sqrt(-total)

    with warnings.catch_warnings(record=True) as found:
        compiled = staged(f)
        for x in (np.float64(1.5), np.float64(-1.5), np.float64(0.5)):
            assert compiled(x, 3) == f(x, 3)
    assert len(compiled.sources) == 1
    assert not found


@pytest.mark.filterwarnings("always::RuntimeWarning")
def test_a_branch_that_is_reached_warns_in_each_call():
    def f(x, n):
        total = x
        for _ in range(n):
            total = np.maximum(np.log(total) if n > 0 else total, 0.0)
        return total

    compiled = staged(f)
    for _ in range(4):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            compiled(np.float64(0.0), 3)


def test_a_branch_that_is_not_taken_gives_no_warning():
    """Its example has no elements, and NumPy warns of the mean of none."""

    def centre(x, least):
        mask = x > least
        return x[mask].mean() if mask.any() else x[0]

    f = staged(centre)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for least in (9.0, 1.0, 2.5, 9.0, 0.5):
            assert f(np.arange(4.0), least) == centre(np.arange(4.0), least)
    assert [w.message for w in caught if w.category is RuntimeWarning] == []
