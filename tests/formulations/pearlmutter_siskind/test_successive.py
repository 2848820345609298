"""Section 3: the six forms of straight-line code, of which each is derived from the one before."""

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.pearlmutter_siskind import BASIS, J, call, plus
from shiftreset_ad.formulations.pearlmutter_siskind import run as run_term
from shiftreset_ad.formulations.pearlmutter_siskind.as_printed import Version, function_of, transformed
from shiftreset_ad.formulations.pearlmutter_siskind.lines import run
from shiftreset_ad.formulations.pearlmutter_siskind.successive import (
    Step,
    arbitrary_values,
    backpropagator_variables,
    functions_in_variables,
    paired_primitives,
    renamed,
    single_assignment,
    tapeless,
)

PROGRAM = [Step("x1", "sin", "x0"), Step("x2", "exp", "x1"), Step("x3", "cos", "x2")]
ON_NUMBERS = [tapeless, single_assignment, backpropagator_variables, paired_primitives]
X = 0.7


def slope():
    return shiftreset_ad.grad(lambda x: np.cos(np.exp(np.sin(x))))(X)


@pytest.mark.parametrize("form", ON_NUMBERS)
def test_forms_on_numbers(form):
    variables = run(form(PROGRAM), {"x0": X, "x3_sens": 1.0}, plus)
    assert variables["x3"] == pytest.approx(np.cos(np.exp(np.sin(X))))
    assert variables["x0_sens"] == pytest.approx(slope(), rel=1e-15)


@pytest.mark.parametrize("form", [functions_in_variables, arbitrary_values])
def test_forms_on_transformed_values(form):
    functions = {f"{step.u}'": J(run_term(parse(f"fun x -> {step.u} x"))) for step in PROGRAM}

    def second(f):
        """A backpropagator returns the sensitivity of the argument in this section: there is no environment yet."""
        return lambda x: (lambda both: (both[0], lambda s: both[1](s)[1]))(f(x))

    functions = {name: second(f) for name, f in functions.items()}
    variables = run(form(PROGRAM), {**BASIS, **functions, "x0'": X, "x3_sens": 1.0}, plus)
    assert variables["x3'"] == pytest.approx(np.cos(np.exp(np.sin(X))))
    assert variables["x0_sens"] == pytest.approx(slope(), rel=1e-15)


def test_the_same_variable_may_have_numbers_and_functions_in_it():
    """In form 5 the program x2 = x1 x0 takes its function from a variable."""
    variables = {"x1'": lambda x: (x * x, lambda s: 2.0 * x * s), "x0'": 3.0, "x2_sens": 1.0}
    assert run(functions_in_variables([Step("x2", "x1", "x0")]), variables, plus)["x0_sens"] == 6.0


def test_arbitrary_values_are_pairs_of_pairs():
    def swapped(p):
        return (p[1], p[0]), lambda s: (s[1], s[0])

    def product(p):
        (a, b), c = p
        return a * b * c, lambda s: ((b * c * s, a * c * s), a * b * s)

    program = [Step("x1", "swap", "x0"), Step("x2", "product", "x1")]
    variables = {**BASIS, "swap'": swapped, "product'": product, "x0'": (5.0, (2.0, 3.0)), "x2_sens": 1.0}
    assert run(arbitrary_values(program), variables, plus)["x0_sens"] == (6.0, (15.0, 10.0))


@pytest.mark.parametrize("form", [backpropagator_variables, paired_primitives, functions_in_variables])
def test_a_backpropagator_costs_a_multiplication_for_each_step(form):
    """A step has one line on the way there, and one on the way back; a function of the table has a line for all."""
    many = renamed([Step("y", "sin", "y")] * 50)
    few = renamed([Step("y", "sin", "y")] * 25)
    assert len(form(many)) - len(form(few)) == (4 if form is backpropagator_variables else 3) * 25


def test_the_forms_as_they_are_printed():
    two = [Step("x1", "sin", "x0"), Step("x2", "sin", "x1")]
    assert [str(line) for line in tapeless(two)] == [
        "x1 := sin x0",
        "x2 := sin x1",
        "x0_sens := 0.0",
        "x1_sens := 0.0",
        "x1_sens +:= cos x1 * x2_sens",
        "x2_sens := 0.0",
        "x0_sens +:= cos x0 * x1_sens",
        "x1_sens := 0.0",
    ]
    assert [str(line) for line in single_assignment(two)] == [
        "x1 = sin x0",
        "x2 = sin x1",
        "x0_sens := 0.0",
        "x1_sens := 0.0",
        "x1_sens +:= cos x1 * x2_sens",
        "x0_sens +:= cos x0 * x1_sens",
    ]
    start, back = ["x0_sens := 0.0", "x1_sens := 0.0"], ["x1_sens +:= x2_back x2_sens", "x0_sens +:= x1_back x1_sens"]
    assert [str(line) for line in backpropagator_variables(two)] == [
        "x1 = sin x0",
        "u1_back = fun s -> cos x0 * s",
        "x2 = sin x1",
        "u2_back = fun s -> cos x1 * s",
        *start,
        "x1_sens +:= u2_back x2_sens",
        "x0_sens +:= u1_back x1_sens",
    ]
    assert [str(line) for line in paired_primitives(two)] == [
        "sin' = fun x -> (sin x, fun s -> cos x * s)",
        "(x1, x1_back) = sin' x0",
        "(x2, x2_back) = sin' x1",
        *start,
        *back,
    ]
    forward = ["(x1', x1_back) = sin' x0'", "(x2', x2_back) = sin' x1'"]
    assert [str(line) for line in functions_in_variables(two)] == [*forward, *start, *back]
    assert [str(line) for line in arbitrary_values(two)] == [
        *forward,
        "x0_sens := zero (J_inverse x0')",
        "x1_sens := zero (J_inverse x1')",
        "x1_sens (+):= x2_back x2_sens",
        "x0_sens (+):= x1_back x1_sens",
    ]


def test_the_last_form_is_the_body_of_a_transformed_function():
    """With a definition for an assignment: the paper goes on from here to lambda terms."""
    two = [Step("x1", "f", "x0"), Step("x2", "g", "x1")]
    function = transformed(function_of(parse("fun x0 -> let x1 = f x0 in let x2 = g x1 in x2")), Version.UNBOUND)
    _, backpropagator = function.result
    lines = [str(line).replace(" = ", " := ", 1) for line in (*function.lines, *backpropagator.lines)]
    expected = [str(line).replace("(+):=", "(+)=").replace(" = ", " := ", 1) for line in arbitrary_values(two)]
    assert lines == expected


@pytest.mark.parametrize("x", [0.3, 1.4])
def test_the_last_form_answers_as_the_transform_of_section_4(x):
    f = run_term(parse("fun x -> cos (exp (sin x))"))
    y, back = call(J(f), x)
    found = run(single_assignment(PROGRAM), {"x0": x, "x3_sens": 2.0}, plus)
    assert found["x3"] == y
    assert call(back, 2.0)[1] == pytest.approx(found["x0_sens"], rel=1e-15)


DESTRUCTIVE = [Step("y", "sin", "x"), Step("y", "exp", "y"), Step("x", "cos", "y")]


def test_a_variable_that_is_assigned_to_twice():
    """Without a tape its old value is gone, and the paper goes on with code in which each variable has one value."""
    with pytest.raises(ValueError, match="the slopes need the old value of y"):
        tapeless(DESTRUCTIVE)
    assert renamed(DESTRUCTIVE) == PROGRAM


def test_backpropagators_are_valid_for_single_assignment_only():
    """The second backpropagator of y would be called in the place of the first: the paper warns of it."""
    destructive = [Step("y", "sin", "x"), Step("y", "exp", "y"), Step("z", "cos", "y")]
    wrong = run(paired_primitives(destructive), {"x": X, "z_sens": 1.0}, plus)["x_sens"]
    assert wrong != pytest.approx(slope())
