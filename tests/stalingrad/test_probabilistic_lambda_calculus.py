"""The program probabilistic-lambda-calculus: the probabilities by which four observations are most likely."""

import pytest

from tests.stalingrad.modes import GRADIENT, gradient_ascent
from tests.stalingrad.probabilistic_lambda_calculus import (
    Call,
    Constant,
    Function,
    Variable,
    boolean,
    certain,
    choose,
    conditional,
    evaluate,
    likelihood,
)

# if x0 then 0 else if x1 then 1 else 2
PROGRAM = conditional(Variable("x0"), Constant(0), conditional(Variable("x1"), Constant(1), Constant(2)))
OBSERVATIONS = (0, 1, 2, 2)


def distribution(p):
    environment = {"x0": boolean(p[0], "x0"), "x1": boolean(p[1], "x1"), "if": certain(choose)}
    return evaluate(PROGRAM, environment)


def likelihood_of_all(p):
    found, product = distribution(p), 1.0
    for observation in OBSERVATIONS:
        product = product * likelihood(observation, found)
    return product


def test_the_interpreter():
    assert [likelihood(i, distribution([0.3, 0.6])) for i in range(3)] == pytest.approx([0.3, 0.7 * 0.6, 0.7 * 0.4])
    assert evaluate(Call(Function("x", Variable("x")), Constant(5)), {}) == [(1.0, {}, 5)]


def test_choices_that_contradict_each_other_are_left_out():
    """if x0 then (if x0 then 1 else 2) else 3: never 2."""
    program = conditional(Variable("x0"), conditional(Variable("x0"), Constant(1), Constant(2)), Constant(3))
    found = evaluate(program, {"x0": boolean(0.3, "x0"), "if": certain(choose)})
    assert {value for _, _, value in found} == {1, 3}
    assert sum(p for p, _, _ in found) == pytest.approx(1.0)


@pytest.mark.parametrize("mode", "FR")
def test_the_answer(mode):
    found = gradient_ascent(GRADIENT[mode], likelihood_of_all, [0.5, 0.5], 1000, 0.1)
    assert found == pytest.approx([0.2500000000000016, 0.33333333349839966], rel=1e-14)
