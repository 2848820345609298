"""Loops that are carried out a few times in a long program are compiled with less effort, and have the same bits."""

import re

import numpy as np
import pytest

from shiftreset_ad import while_loop
from shiftreset_ad.staging.native.effort import (
    FEW_LOOPS,
    FEW_ROUNDS,
    ONCE,
    ONE_BY_ONE,
    SHORT,
    WITHOUT_COPIES,
    with_less_effort,
)
from tests.staging.native.natively import check, in_tables, needs_native

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=50), RNG.normal(size=(50, 50)) / 7.0
LOOP = """define internal void @rounds_x(ptr %p0) {{
index1_loop:
  %more = icmp ult i64 %next, {}
  br i1 %more, label %index1_loop, label %after_index1{}
after_index1:
  ret void
}}"""


@pytest.mark.parametrize(
    ("rounds", "times", "mark"),
    [
        (50, 20, ONE_BY_ONE),
        (50, 21, WITHOUT_COPIES),
        (50, float("inf"), WITHOUT_COPIES),
        (FEW_ROUNDS, 1, ONE_BY_ONE),
        (FEW_ROUNDS + 1, 1, WITHOUT_COPIES),
        (SHORT, 1, ""),
        (SHORT, 1000, ""),
    ],
)
def test_a_loop_is_marked_by_its_rounds_in_all_calls(rounds, times, mark):
    assert with_less_effort(LOOP.format(rounds, ""), times) == LOOP.format(rounds, mark)


def test_a_loop_that_is_never_made_of_vectors_stays_as_it_is():
    loop = LOOP.format(50, ", !llvm.loop !0")
    assert with_less_effort(loop, 1) == loop


def marks(code):
    """How many loops have each mark."""
    return [len(re.findall(f"label %\\w+{mark}$", code.text, re.MULTILINE)) for mark in (ONE_BY_ONE, WITHOUT_COPIES)]


@needs_native
def test_loops_of_a_long_program_are_marked_by_how_often_they_are_called():
    def f(x):
        for i in range(600):
            x = W @ (0.5 * x - 0.25)
            if i % 100 == 7:
                x = W @ (np.abs(x) / 3.0)  # six times
        return x

    code = check(f, (X,), (-X,))
    assert in_tables(code)
    assert marks(code) == [1, 1]


@needs_native
def test_loops_of_a_short_program_are_not_marked():
    def f(x):
        for _ in range(10):
            x = W @ (0.5 * x - 0.25)
        return x

    assert marks(check(f, (X,), (-X,))) == [0, 0]


@needs_native
def test_a_call_in_a_loop_of_the_program_is_no_single_call():
    def f(x):
        for _ in range(500):
            x = W @ (0.5 * x - 0.25)

        def body(state):
            i, x = state
            for _ in range(10):
                x = W @ np.abs(x)
            return i + 1, x

        return while_loop(lambda state: state[0] < np.abs(state[1][0]) + 2.0, body, (0, x))[1]

    few, many = marks(check(f, (X,), (-X,)))
    assert few == 0
    assert many > 0


@needs_native
@pytest.mark.parametrize(("rounds", "is_cold"), [(3, False), (600, True)])
def test_what_a_run_does_once_is_compiled_without_effort_in_a_program_with_tables(rounds, is_cold):
    def f(x):
        for _ in range(rounds):
            x = W @ (0.5 * x - 0.25)
        return x

    code = check(f, (X,), (-X,))
    once = [line for line in code.text.splitlines() if re.match(r"define .*@(run|fill)\(", line)]
    assert [f"){ONCE} {{" in line for line in once] == [is_cold, is_cold]


@needs_native
@pytest.mark.parametrize("many", [False, True])
def test_in_a_program_with_many_loops_only_short_ones_are_copied(many):
    def f(x):
        parts = [np.sum(np.exp(x[i:]) * x[i:]) for i in range(FEW_LOOPS if many else 1)]
        short = x[:4] * x[:4]
        return sum(parts) + np.exp(short[0]) * short

    code = check(f, (X,), (-X,))
    ends = [int(n) for n in re.findall(r"icmp ult i64 %\w+, (\d+)\n.*" + WITHOUT_COPIES, code.text)]
    assert (len(ends) == FEW_LOOPS and min(ends) > SHORT) if many else not ends


@needs_native
@pytest.mark.parametrize(("count", "is_large"), [(60, False), (70, True)])
def test_a_function_with_many_answers_takes_no_long_to_compile(count, is_large):
    """Their loop is not inlined, and nothing is done for the code that makes arrays of them."""
    text = check(lambda x: [x * i for i in range(2, count + 2)], (X,), (2.0 * X,)).text
    (loop,) = re.findall(r"^define internal void @(?:few_)?rounds_.*$", text, re.MULTILINE)
    assert ("noinline" in loop) == is_large
    (fill,) = re.findall(r"^define +i64 @fill\(.*$", text, re.MULTILINE)
    assert (ONCE in fill) == is_large
