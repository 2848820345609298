"""The report of a staged function says what runs in steps, by line, and what as it is, and why."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging import StagingWarning
from tests.staging.native.natively import needs_native


def helper(x):
    return np.sin(x) * x


def f(x):
    y = helper(x)
    if bool(y > 0):
        y = y * 2.0
    return y


def refused(x):
    return x * 2 if (x > 0) is True else x


def test_the_steps_of_each_line():
    g = staged(f)
    assert g.report() == "staged(f) is not recorded yet: it is recorded when it is called"
    for x in (1.0, 4.0):
        g(x)
    text = g.report()
    assert text.startswith("staged(f) runs in steps, in 2 ways.\nway 1, ")
    assert text.count(", in helper: 2 steps\n    return np.sin(x) * x") == 2
    assert text.count(", in f: 1 step\n    y = y * 2.0") == 1
    assert text.count("It holds as long as the answer is the same at") == 2


def test_the_way_back_has_no_line():
    g = staged(grad(f))
    g(1.0)
    assert "  on the way back: " in g.report()


def test_why_a_long_loop_is_recorded_round_by_round():
    def f(x):
        items = [0.5] * 1200
        items[900] = np.ones(2)
        for item in items:
            x = x * 0.9 + item
        return x

    g = staged(f)
    for _ in range(3):
        assert np.array_equal(g(1.0), f(1.0))
    reason = "the items of the loop are of different types or shapes"
    assert f"Why loops are recorded round by round, and not written down:\n  {reason}" in g.report()


def test_why_a_function_runs_as_it_is():
    g = staged(refused)
    with pytest.warns(StagingWarning, match=r"(?s)by `is`.*x \* 2 if \(x > 0\) is True"):
        g(1.0)
    text = g.report()
    assert text.startswith("staged(refused) runs as it is for now, as it asks whether")
    assert text.endswith("in refused\n    return x * 2 if (x > 0) is True else x")


@needs_native
def test_calls_that_native_code_leaves_to_numpy():
    g = staged(lambda x: np.sqrt(x))
    for x in (1.0, 4.0, 9.0):
        g(x)
    assert g.report().splitlines()[1] == "way 1, 1 step, as native code:"
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="invalid"):
            g(-1.0)
    assert g.report().splitlines()[1] == "way 1, 1 step, as native code (it left 2 calls to NumPy):"


def branch(t):
    root = np.sqrt(t)
    return root if t > 5.0 else t * 2.0


@pytest.mark.parametrize(
    ("function", "at", "problem"), [(lambda x: 1.0 / x, 0.0, "float division by zero"), (grad(branch), 0.0, "is NaN")]
)
def test_calls_that_are_left_to_the_function_itself(function, at, problem):
    g = staged(function)
    for x in (1.0, 7.0, 2.0):
        g(x)
    assert "itself" not in g.report()
    for _ in range(2):
        with suppress(ZeroDivisionError):
            g(at)
    assert "  It left 2 calls to the function itself: " in g.report()
    assert problem in g.report().splitlines()[-1]


@needs_native
def test_what_carries_out_the_steps():
    of_floats, of_others = staged(f), staged(lambda x: x * 1j)
    of_floats(1.0)
    of_others(1.0)
    assert "\nway 1, 5 steps, as native code:\n" in of_floats.report()
    assert "\nway 1, 1 step, by NumPy, with no native code (it keeps a complex):\n" in of_others.report()


def test_a_shape_that_depends_on_values():
    g = staged(lambda x: np.sum(x[x > 0]))
    for _ in range(3):
        g(np.arange(4.0) - 1.5)
    *_, first, second = g.report().splitlines()
    assert first == "  It holds as long as shapes and types are the same"
    assert second == "  where the shape or the type of a value depends on other values"


@needs_native
def test_a_step_without_a_native_form_has_the_name_of_the_program():
    g = staged(lambda x: np.sum(x[x > 0]))
    g(np.arange(4.0) - 1.5)
    assert "(x[i] by these values has no native form)" in g.report()
