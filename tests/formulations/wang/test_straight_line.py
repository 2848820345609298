"""Straight-line programs, once through and there and back again: Wang et al. 2019, Fig. 2 and 6."""

import pytest

import shiftreset_ad
from shiftreset_ad.formulations.counting import count
from shiftreset_ad.formulations.language import evaluate, parse, show
from shiftreset_ad.formulations.wang.straight_line import (
    forward_1,
    forward_2,
    reverse_1,
    reverse_2,
    reverse_3,
    straight_line,
)
from tests.formulations.wang.source_cases import same_up_to_names

RUNNING_EXAMPLE = parse("fun x -> let y = 2.0 * x in let y = x * x in 2.0 * x + y * x")
PROGRAMS = [
    "fun x -> 2.0 * x + x * x * x",
    "fun x -> x * x",
    "fun x -> let x = x * x in let x = x * x in x",
    "fun x -> let y = sin x in exp (y * y) / (1.0 + y) - x",
    "fun x -> let y = x in let c = 3.0 in power (y + c) 3.0 * arctan2 c x",
    "fun x -> sin 2.0 * x",
]


def test_fig_2_forward_1():
    """Each step is followed by the step of its tangent; the running example."""
    lines = show(forward_1(parse("fun x -> 2.0 * x + x * x * x")), width=30).split("\n")
    assert [line.strip() for line in lines] == [
        "fun x ->",
        "let x' = 1.0 in",
        "let t1 = 2.0 * x in",
        "let t1' = x' * 2.0 in",
        "let t2 = x * x in",
        "let t2' = x' * x + x' * x in",
        "let t3 = t2 * x in",
        "let t3' = t2' * x + x' * t2 in",
        "let t4 = t1 + t3 in",
        "let t4' = t1' + t3' in t4'",
    ]


def test_fig_2_forward_2():
    """Each step computes a pair."""
    expected = parse("""
        fun x ->
          let x' = 1.0 in
          let (t1, t1') = (2.0 * x, x' * 2.0) in
          let (t2, t2') = (x * x, x' * x + x' * x) in
          let (t3, t3') = (t2 * x, t2' * x + x' * t2) in
          let (t4, t4') = (t1 + t3, t1' + t3') in t4'
    """)
    assert same_up_to_names(forward_2(parse("fun x -> 2.0 * x + x * x * x")), expected)


def test_fig_2_a_slope_that_uses_the_answer():
    """In a pair, the answer has no name yet."""
    assert "let x' = 1.0 in let pair = (exp x, x' * exp x) in" in show(forward_2(parse("fun x -> exp x")))


def test_fig_6_the_running_example():
    """Four rows: each step of the way there beside its step of the way back."""
    assert reverse_2(parse("fun x -> 2.0 * x + x * x * x")).split("\n") == [
        "let t1 = 2.0 * x | x' := !x' + !t1' * 2.0",
        "let t2 = x * x   | x' := !x' + !t2' * x; x' := !x' + !t2' * x",
        "let t3 = t2 * x  | t2' := !t2' + !t3' * x; x' := !x' + !t3' * t2",
        "let t4 = t1 + t3 | t1' := !t1' + !t4'; t3' := !t3' + !t4'",
    ]


def test_fig_6_reverse_1():
    """All of the way there, and then all of the way back."""
    lines = show(reverse_1(parse("fun x -> x * x + x")), width=30).split("\n")
    assert [line.strip() for line in lines] == [
        "fun x ->",
        "let x' = ref 0.0 in",
        "let t = x * x in",
        "let t' = ref 0.0 in",
        "let t1 = t + x in",
        "let t1' = ref 0.0 in",
        "t1' := 1.0;",
        "t' := !t' + !t1';",
        "x' := !x' + !t1';",
        "x' := !x' + !t' * x;",
        "x' := !x' + !t' * x; !x'",
    ]


def test_fig_6_reverse_3():
    """Continuations inside continuations, and each is followed by a step of the way back."""
    text = show(reverse_3(parse("fun x -> x * x + x")), width=40)
    parts = ("let k1 =", "let k2 =", "t1' := 1.0", "k2 t1 t1'", "!t1';", "k1 t t'", "!t' * x")
    order = [text.index(part) for part in parts]
    assert order == sorted(order)


@pytest.mark.parametrize("text", PROGRAMS)
@pytest.mark.parametrize("form", [forward_1, forward_2, reverse_1, reverse_3])
def test_the_derivative_is_that_of_the_library(form, text):
    f = parse(text)
    assert evaluate(form(f))(0.7) == pytest.approx(shiftreset_ad.grad(evaluate(f))(0.7), rel=1e-13)


def test_both_ways_cost_a_constant_times_as_much_as_the_program():
    for n in (10, 40):
        f = parse("fun x -> " + "".join("let x = x * x in " for _ in range(n)) + "x")
        assert count(evaluate(f), 1.0).operations == n
        assert count(evaluate(reverse_1(f)), 1.0).operations == count(evaluate(reverse_3(f)), 1.0).operations <= 5 * n


def test_steps_that_nobody_needs_have_no_part():
    assert evaluate(reverse_1(RUNNING_EXAMPLE))(3.0) == evaluate(reverse_3(RUNNING_EXAMPLE))(3.0) == 29.0


@pytest.mark.parametrize("text", ["fun x -> fst (x, x)", "fun x -> (fun y -> y) x * x", "fun x -> !(ref x) * x"])
def test_other_constructs_are_refused(text):
    with pytest.raises(TypeError, match="no step of a straight-line program"):
        straight_line(parse(text))


@pytest.mark.parametrize("text", ["fun x -> x", "fun x -> 3.0", "fun x -> let y = x * x in x"])
def test_a_program_ends_with_a_step(text):
    with pytest.raises(TypeError, match="must end with a step"):
        straight_line(parse(text))


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="expected a function"):
        straight_line(parse("3.0"))
