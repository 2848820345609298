"""The standard interpretation, and what both interpreters have in common."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings

from shiftreset_ad import grad, jvp
from shiftreset_ad.control import ContinuationUsedError, ControlError
from shiftreset_ad.formulations.language import (
    Cell,
    Left,
    Let,
    Right,
    Var,
    as_function,
    call,
    evaluate,
    parse,
    run,
)
from tests.formulations.language.term_strategies import SETTINGS, programs

INTERPRETERS = pytest.mark.parametrize("interpret", [evaluate, run])

VALUES = [
    ("1.5", 1.5),
    ("()", ()),
    ("2.0 * 3.0 - 1.0 / 4.0", 5.75),
    ("-(2.0 + 1.0)", -3.0),
    ("arctan2 1.0 1.0", np.pi / 4),
    ("maximum 2.0 (power 3.0 2.0)", 9.0),
    ("(1.0, (2.0, ()))", (1.0, (2.0, ()))),
    ("fst (1.0, 2.0) + snd (3.0, 4.0)", 5.0),
    ("inl (inr 1.0)", Left(Right(1.0))),
    ("1.0 < 2.0", Left(())),
    ("1.0 >= 2.0", Right(())),
    ("isinf (1.0 / 4.0)", Right(())),
    ("if 1.0 == 1.0 then 2.0 else 3.0", 2.0),
    ("if 1.0 != 1.0 then 2.0 else 3.0", 3.0),
    ("case inl 2.0 of x -> x * x | y -> -y", 4.0),
    ("case inr 2.0 of x -> x * x | y -> -y", -2.0),
    ("let x = 1.0 in let x = x + 1.0 in x * x", 4.0),
    ("let x = 1.0 in let f = fun y -> x + y in let x = 10.0 in f 2.0", 3.0),
    ("(fun f -> fun x -> f (f x)) (fun x -> x * x) 3.0", 81.0),
    ("let r = ref 1.0 in r := !r + 1.0; r := !r * 5.0; !r", 10.0),
    ("let r = ref 1.0 in let s = r in s := 2.0; !r", 2.0),
    ("ref 1.0; ()", ()),
    ("(ref 1.0) := 2.0", ()),
    # From left to right.
    ("let r = ref 1.0 in (r := !r * 2.0; !r) - (r := !r + 3.0; !r)", -3.0),
    ("let r = ref 1.0 in ((r := 2.0; !r), (r := !r + 3.0; !r))", (2.0, 5.0)),
    ("let r = ref 1.0 in (r := 5.0; fun x -> x - !r) (r := 7.0; 1.0)", -6.0),
    ("let r = ref 1.0 in let s = ref 0.0 in (r := 5.0; s) := !r; !s", 5.0),
    # Danvy and Filinski 1990, Wang et al. 2019, section 3.2, and other textbook examples.
    ("reset 3.0", 3.0),
    ("1.0 + reset (10.0 + (shift k in 100.0))", 101.0),
    ("1.0 + reset (10.0 + (shift k in k 100.0))", 111.0),
    ("1.0 + reset (10.0 + (shift k in 2.0 * k 100.0))", 221.0),
    ("reset (2.0 * (shift k in k 3.0 + 1.0))", 7.0),
    ("reset (1.0 + reset (10.0 + (shift k in 100.0)))", 101.0),
    ("reset (1.0 + (shift k in 10.0 + (shift j in 100.0)))", 100.0),
    ("reset (1.0 + (shift k in 2.0 * (shift j in k (j 10.0))))", 21.0),
    ("reset ((shift k in k 1.0) + (shift k in k 2.0))", 3.0),
    ("reset ((shift k in (k 1.0, ())) + 2.0)", (3.0, ())),
    # The continuation has its reset with it, and can be called outside.
    ("(reset (let x = shift k in k in x + 1.0)) 5.0", 6.0),
    ("let k = reset (1.0 + (shift k in k) + (shift j in 10.0 * j 2.0)) in k 3.0", 60.0),
    # And the handler is under a reset.
    ("reset ((shift k in 10.0 * (shift j in j 1.0)) + 1.0)", 10.0),
    ("let r = ref 1.0 in reset (r := !r + (shift k in k 1.0; r := !r * 10.0; 0.0)); !r", 20.0),
]


@INTERPRETERS
@pytest.mark.parametrize(("text", "value"), VALUES, ids=[text for text, _ in VALUES])
def test_the_value_of_a_term(interpret, text, value):
    assert interpret(parse(text)) == value


@INTERPRETERS
@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("x + y", NameError, "the variable y is free in the term"),
        ("fst x", TypeError, "fst: expected a pair; got 2.0"),
        ("snd ()", TypeError, r"snd: expected a pair; got \(\)"),
        ("case x of a -> a | b -> b", TypeError, "case: expected the value of inl or inr.*got 2.0"),
        ("if () then x else x", TypeError, r"case: expected .* got \(\)"),
        ("!x", TypeError, "!: expected a reference; got 2.0"),
        ("x := 1.0", TypeError, ":=: expected a reference; got 2.0"),
        ("x 1.0", TypeError, "application: expected a function; got 2.0"),
        ("fst (fun x -> x)", TypeError, "fst: expected a pair"),
        ("1.0 + (shift k in k 1.0)", (TypeError, ControlError), "shift: .*no reset"),
    ],
)
def test_a_wrong_program_is_an_error_that_says_why(interpret, text, error, message):
    with pytest.raises(error, match=message):
        interpret(parse(text), {"x": 2.0})


@INTERPRETERS
def test_what_is_no_term_is_an_error(interpret):
    with pytest.raises(TypeError, match="'x' is not a term of the core language"):
        interpret("x")


@INTERPRETERS
def test_free_variables_are_in_the_environment_which_stays_as_it_is(interpret):
    environment = {"x": 2.0, "f": np.sin}
    assert interpret(parse("let y = x + 1.0 in f y"), environment) == np.sin(3.0)
    assert environment == {"x": 2.0, "f": np.sin}


def test_a_continuation_is_called_once_and_no_more():
    with pytest.raises(ContinuationUsedError):
        evaluate(parse("reset (1.0 + (shift k in k (k 10.0)))"))


@INTERPRETERS
def test_programs_may_be_deep_where_they_go_on_and_need_not_come_back(interpret):
    term = Var("x")
    for i in range(5_000):
        term = (
            Let("x", Var("x") + 1.0, term)
            if i % 2
            else parse("if a then b else c").__class__(parse("x < 0.0"), "_", Var("x"), "_", term)
        )
    assert interpret(term, {"x": 0.0}) == 2_500
    loop = "let rec f p = if fst p < 0.5 then snd p else f (fst p - 1.0, snd p + 2.0) in f (10000.0, 0.0)"
    assert interpret(parse(loop)) == 20_000


def test_programs_that_nest_deeper_than_the_stack_are_an_error_that_names_the_remedy():
    sums = parse("let rec sum n = if n < 0.5 then 0.0 else n + sum (n - 1.0) in sum 10000.0")
    with pytest.raises(RecursionError, match=r"evaluate: .*sys\.setrecursionlimit, or run it on the machine"):
        evaluate(sums)
    assert run(sums) == 10_000 * 10_001 / 2
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(5_000)
        assert evaluate(parse(str(sums).replace("10000", "1000"))) == 1_000 * 1_001 / 2
    finally:
        sys.setrecursionlimit(limit)


def outcome(interpret, program):
    """The value of a program, with references as what they hold; or which error it is."""
    try:
        return held(interpret(program))
    except ContinuationUsedError:
        return "called twice"
    except (ControlError, TypeError) as error:
        return str(error)[:24]  # "shift: no reset ..." of Python, "shift: there is no reset ..." of the machine


def held(value):
    match value:
        case tuple():
            return tuple(map(held, value))
        case Left(content) | Right(content) | Cell(content):
            return type(value), held(content)
    return value


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("wanted", ["real", ("pair", "real", ("sum", "real", "unit")), ("reference", "real")], ids=str)
def test_the_interpreters_agree_on_random_programs(wanted):
    counts = {"agreed": 0, "called twice": 0}

    @settings(SETTINGS, max_examples=120)
    @given(programs(wanted))
    def agree(program):
        by_python = outcome(evaluate, program)
        if by_python == "called twice":
            counts["called twice"] += 1
            return
        by_machine = outcome(run, program)
        assert by_machine == by_python or (by_machine, by_python) == (
            "shift: there is no reset",
            "shift: no reset is runni",
        )
        counts["agreed"] += 1

    agree()
    assert counts["agreed"] > 80


def test_functions_are_functions_of_python():
    square = evaluate(parse("fun x -> x * x"))
    assert square(3.0) == 9.0
    assert repr(square) == "<fun x -> x * x>"
    assert evaluate(parse("f (fun x -> x + 1.0)"), {"f": lambda g: g(g(1.0))}) == 3.0


def test_programs_run_on_any_numbers():
    f = as_function(parse("fun x -> let y = sin x in y * y * x"))
    x = 0.7
    slope = 2 * np.sin(x) * np.cos(x) * x + np.sin(x) ** 2
    assert grad(f)(x) == pytest.approx(slope)
    assert jvp(f, (x,), (2.0,))[1] == pytest.approx(2 * slope)
    assert call(run(parse("fun x -> x * x")), 3.0, lambda y: y + 1.0) == 10.0


def test_as_function_takes_functions_and_closed_terms_for_them():
    assert as_function(np.sin) is np.sin
    assert as_function(parse("fun x -> x"))(2.0) == 2.0
    with pytest.raises(TypeError, match=r"grad: expected a function, or a term for one; got .*3\.0"):
        as_function(parse("1.0 + 2.0"))
    with pytest.raises(TypeError, match="grad: expected a function, or a term for one; got 'x'"):
        as_function("x")
    with pytest.raises(NameError, match="y is free"):
        as_function(parse("fun x -> y"))(1.0)
