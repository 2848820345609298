"""What the fuzzer takes for an answer: no jumps and no poles that rounding may be on either side of, and no differences
that agree by chance.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.fuzzing.check import Unsuitable, Wrong, check
from tests.fuzzing.differences import slopes
from tests.fuzzing.programs import Program
from tests.fuzzing.routes import ROUTES

NOISE = 2.0**-49


def program(*statements: str, x: str) -> Program:
    return Program(("a_0 = x * 1.0", *statements), (f"a_{len(statements)}",), f"np.array({x})", f"np.array({x})[::-1]")


@pytest.mark.parametrize(
    "beside",
    [
        program(
            "a_1 = a_0[0] - a_0[1]", "a_2 = np.fmod(a_1, a_0[0] - a_0[1])", x="[0.705, 0.372]"
        ),  # of two equal ones
        program("a_1 = a_0 * 1e-33", "a_2 = np.fmod.reduce(a_1)", x="[0.7, 0.4, 0.2]"),  # the remainder of 0 and 0
        program("a_1 = 1.0 / (a_0[0] + a_0[1] - a_0[2])", x="[0.1, 0.2, 0.3000001]"),
        program("a_1 = np.count_nonzero(a_0 + 0.2 > 0.3) * a_0", x="[0.1, 0.2, -0.3]"),
    ],
)
def test_a_program_whose_answer_rounding_decides_is_not_judged(beside: Program) -> None:
    with pytest.raises(Unsuitable, match="rounding decides"):
        check(beside)


def test_routes_are_compared_where_differences_say_nothing() -> None:
    counts: Counter[str] = Counter()
    check(program("a_1 = np.fmod(a_0, 1e-5)", x="[0.700004, 0.400007, 0.200003]"), counts=counts)
    assert counts["no differences"] == counts["no second differences"] == 1
    assert counts["jvp"] == counts["hvp"] == 1


def test_a_jump_on_both_sides_closer_than_most_steps_is_seen() -> None:
    steep = slopes(lambda t: (3.0 if abs(t) > 2.0**-16 else 1.0) * t, NOISE)
    assert (steep.first, steep.first_error) == (pytest.approx(3.0), np.inf)


def test_estimates_that_agree_by_chance_are_not_believed() -> None:
    """The errors of the fourth and of the sixth order in the step cancel at one step, for the curvature 2."""
    curved = slopes(lambda t: t**2 + 1e4 * (t**8 - 21.0 * 2.0**-14 * t**6), NOISE)
    assert abs(curved.second - 2.0) <= curved.second_error < 1e-6


def test_what_differences_say_counts_where_nothing_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzzing.check.dot", lambda a, b: np.sum(np.real(a * b)) * (1.0 + 1e-6))
    with pytest.raises(Wrong, match="differences: "):
        check(program("a_1 = np.sin(a_0)", x="[0.7, 0.4, 0.2]"), only="differences")


def test_a_kink_is_told_from_a_steep_curve() -> None:
    assert slopes(lambda t: abs(t) * 1e-4 + np.exp(t), NOISE).kink == pytest.approx(2e-4, rel=0.1)
    assert slopes(lambda t: np.exp(30.0 * t), NOISE).kink < 1e-8


def test_a_tie_of_two_curves_with_one_slope_is_seen() -> None:
    counts: Counter[str] = Counter()
    check(program("a_1 = np.maximum(0.0 * a_0, a_0 ** 2)", x="[0.0, 0.7, 0.2]"), counts=counts)
    assert counts["a tie at second order"] == counts["hvp"] == 1
    assert counts["second differences"] == 0


def test_a_second_derivative_that_is_wrong_near_the_point_is_no_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = ROUTES["forward_over_reverse"]._replace(function=lambda f, several, x, v: 1.001 * x)
    monkeypatch.setitem(ROUTES, "forward_over_reverse", wrong)
    with pytest.raises(Wrong, match="second differences: "):
        check(program("a_1 = a_0 ** 3 / 6.0", x="[0.7, 0.4, 0.2]"), only="second differences")
