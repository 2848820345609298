"""The interpreter whose closures can be looked into."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from shiftreset_ad.formulations.language import Left, Right, evaluate, parse
from shiftreset_ad.formulations.pearlmutter_siskind import BASIS, call, run
from tests.formulations.random_terms import programs

CASES = [
    ("2.0 + 3.0 * 4.0", 14.0),
    ("(fun x -> fun y -> x - y) 5.0 2.0", 3.0),
    ("let x = 2.0 in let x = x * x in x * x", 16.0),
    ("(1.0, ((), inl 2.0))", (1.0, ((), Left(2.0)))),
    ("case inr (4.0, 2.0) of x -> x | p -> fst p - snd p", 2.0),
    ("1.0 < 2.0", Left(())),
    ("1.0 >= 2.0", Right(())),
    ("let rec f n = if n < 1.0 then 1.0 else n * f (n - 1.0) in f 5.0", 120.0),
    ("(fun twice -> twice twice (fun x -> x * 2.0) 1.0) (fun f -> fun x -> f (f x))", 16.0),
]


@pytest.mark.parametrize(("text", "value"), CASES)
def test_values(text, value):
    assert run(parse(text)) == value


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(programs(memory=False))
def test_random_programs_mean_the_same_as_elsewhere(case):
    program, x = case
    with np.errstate(all="ignore"):
        np.testing.assert_equal(call(run(program), x), evaluate(program)(x))


def test_the_environment_and_the_primitives():
    assert run(parse("x * y"), {"x": 2.0, "y": 3.0}) == 6.0
    assert run(parse("case s of x -> x | y -> fst y"), {"s": Right((7.0, 8.0))}) == 7.0
    assert run(parse("J")) is BASIS["J"]
    assert run(parse("zero (1.0, ())")) == (0.0, ())
    assert run(parse("plus ((1.0, 2.0), (3.0, 4.0))")) == (4.0, 6.0)
    assert run(parse("J"), {"J": 1.0}) == 1.0
    assert run(parse("fun x -> x * y"), {"y": 2.0})(3.0) == 6.0


def test_a_free_variable_is_named():
    with pytest.raises(NameError, match="y is free"):
        run(parse("fun x -> y"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fst 1.0", "fst: expected a pair"),
        ("snd ()", "snd: expected a pair"),
        ("1.0 2.0", "expected a function of this language; got 1.0"),
        ("case 1.0 of x -> x | y -> y", "case"),
        ("plus 1.0", "plus: expected a pair"),
        ("!(1.0)", "references"),
    ],
)
def test_errors(text, message):
    with pytest.raises(TypeError, match=message):
        run(parse(text))


@pytest.mark.slow
def test_calls_do_not_nest_on_the_stack_of_python():
    count = "let rec f n = if n < 1.0 then 0.0 else 1.0 + f (n - 1.0) in f 20000.0"
    assert run(parse(count)) == 20000.0


def test_constructs_are_counted():
    counts = Counter()
    run(parse("let f = fun x -> x * x + 1.0 in f 2.0 + fst (f 3.0, 1.0)"), counts=counts)
    assert counts["Primitive"] == 5
    assert counts["App"] == 2
    assert counts["Fst"] == counts["Pair"] == 1
