"""The standard transformations of the supplement of Wang et al. 2019, against the interpreters."""

import pytest
from hypothesis import HealthCheck, given, settings

from shiftreset_ad.formulations.language import (
    App,
    Const,
    Lam,
    Left,
    Reset,
    Right,
    Shift,
    Var,
    distinct,
    evaluate,
    if_then_else,
    parse,
    run,
    show,
)
from shiftreset_ad.formulations.language.sources import subterms
from shiftreset_ad.formulations.wang.cps import cps, cps_by_shift_reset, direct, metacircular
from tests.formulations.random_terms import programs
from tests.formulations.wang.source_cases import PROGRAMS, chain, program, same_up_to_names, size

transformations = pytest.mark.parametrize("transformation", [metacircular, cps_by_shift_reset, cps])
to_cps = pytest.mark.parametrize("transformation", [cps_by_shift_reset, cps])

# With the values that the literature gives them: Danvy and Filinski 1990 and others.
CONTROL = {
    "no shift": ("reset (1.0 + 2.0) + 3.0", 6.0),
    "k is not used": ("1.0 + reset (10.0 + (shift k in 100.0))", 101.0),
    "k is used once": ("1.0 + reset (10.0 + (shift k in k 100.0))", 111.0),
    "k is used twice": ("1.0 + reset (10.0 + (shift k in k (k 100.0)))", 121.0),
    "k is handed out": ("let f = reset (2.0 * (shift k in k)) in f 3.0 + f 4.0", 14.0),
    "k is returned": ("(reset (2.0 * (shift k in k))) 21.0", 42.0),
    "a shift in a handler": ("reset (2.0 * (shift k in 1.0 + k (shift h in 10.0 * h 3.0)))", 70.0),
    "a shift after another": ("reset ((shift k in 1.0 + k 2.0) * (shift h in 10.0 + h 3.0))", 17.0),
    "a reset in a handler": ("reset (2.0 * (shift k in 1.0 + reset (k 3.0)))", 7.0),
    "nested resets": ("reset (1.0 + reset (10.0 * (shift k in k 2.0 + 3.0)))", 24.0),
    "a shift in a function": ("let f = fun x -> shift k in k (k x) in reset (2.0 * f 5.0)", 20.0),
    "a shift in a branch": ("reset (1.0 + (if 1.0 < 2.0 then shift k in k (k 5.0) else 3.0))", 7.0),
    "a shift in a condition": ("reset (if (shift k in k 1.0 + k 3.0) < 2.0 then 10.0 else 20.0)", 30.0),
    "a product of a list": (
        """
        let l = inr (2.0, inr (0.0, inr (3.0, inl ()))) in
        let rec f l = case l of n -> 1.0 | c -> if fst c < 0.5 then (shift k in -1.0) else fst c * f (snd c) in
        1.0 + reset (f l)
        """,
        0.0,
    ),
    "memory is shared by two calls of k": (
        "let r = ref 1.0 in reset (let x = shift k in k 2.0 + k 3.0 in r := !r * x; !r)",
        8.0,
    ),
    "a cell before two calls of k": (
        "reset (let p = (ref 1.0, shift k in k 2.0 + k 3.0) in fst p := !(fst p) * snd p; !(fst p))",
        8.0,
    ),
    "an effect before two calls of k": (
        "let r = ref 0.0 in let g = fun y -> r := !r + y; !r in reset (g 1.0 * 10.0 + (shift k in k 1.0 + k 2.0)) + !r",
        24.0,
    ),
    "an operand that is a reset": (
        "let r = ref 1.0 in let f = fun x -> r := x; x in reset (!r + 0.0) * 10.0 + f 5.0",
        15.0,
    ),
    "a reset before a call": (
        "let r = ref 1.0 in let f = fun x -> r := x; x in reset (f 3.0 + 0.0) * f 5.0 + !r",
        20.0,
    ),
}


@pytest.mark.parametrize("example", CONTROL)
def test_machine_has_the_values_of_the_literature(example):
    text, expected = CONTROL[example]
    assert run(parse(text)) == expected


@transformations
@pytest.mark.parametrize("example", CONTROL)
def test_control(transformation, example):
    text, expected = CONTROL[example]
    transformed = transformation(parse(text))
    assert run(transformed) == expected
    if transformation is not metacircular:
        assert not any(isinstance(term, (Shift, Reset)) for term in subterms(transformed))
        assert evaluate(transformed) == expected
        assert parse(show(transformed)) == transformed


@pytest.mark.parametrize("example", CONTROL)
def test_both_translators_write_the_same_but_for_the_place_of_a_case(example):
    f = parse(CONTROL[example][0])
    assert same_up_to_names(cps(f), cps_by_shift_reset(f)) or example == "a shift in a condition"


@pytest.mark.parametrize("case", PROGRAMS)
def test_programs_without_control(case):
    text, x = PROGRAMS[case]
    f = program(text)
    expected = evaluate(f)(x)
    assert evaluate(metacircular(f))(x) == expected
    assert evaluate(direct(f))(x) == expected
    assert evaluate(cps(f))(x)(lambda y: y) == evaluate(cps_by_shift_reset(f))(x)(lambda y: y) == expected


@settings(max_examples=60, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_programs(case):
    f, x = case
    expected = evaluate(f)(x)
    for transformed in (App(metacircular(f), Const(x)), App(direct(f), Const(x))):
        assert run(transformed) == expected or expected != expected
    k = Lam("y", Var("y"))
    for transformed in (cps(f), cps_by_shift_reset(f), cps_by_shift_reset(direct(f))):
        assert run(App(App(transformed, Const(x)), k)) == expected or expected != expected


@pytest.mark.parametrize("text", [PROGRAMS["recursion"][0], CONTROL["a product of a list"][0]])
def test_metacircular_is_the_identity(text):
    assert metacircular(parse(text)) == distinct(parse(text))


@to_cps
def test_tail_calls_stay_tail_calls(transformation):
    found = transformation(parse("fun f -> fun x -> if x < 1.0 then f x else f (f x)"))
    expected = parse("fun f -> fun k -> k (fun x -> fun h -> if x < 1.0 then f x h else f x (fun a -> f a h))")
    assert same_up_to_names(found, expected)


@to_cps
def test_rule_for_shift(transformation):
    found = transformation(parse("reset (1.0 + (shift k in k 2.0))"))
    expected = parse("let k = fun a -> fun h -> h (1.0 + a) in k 2.0 (fun b -> b)")
    assert same_up_to_names(found, expected)


@to_cps
def test_size_is_linear(transformation):
    def cases(n):
        body = Var("x")
        for _ in range(n):
            body = if_then_else(Var("x") < 1.0, Var("x"), 2.0 * Var("x")) * body
        return Lam("x", body)

    for programs_of_size in (cases, chain):
        a, b, c = (size(transformation(programs_of_size(n))) for n in (5, 10, 20))
        assert c - b == 2 * (b - a)


@transformations
def test_deep_programs(transformation):
    f, deep = chain(1000), Const(1.0)
    assert size(transformation(f)) >= size(f)
    for _ in range(1000):
        deep = Reset(0.5 * deep)
    assert run(transformation(deep)) == 0.5**1000


def test_direct_of_functions_that_use_control():
    f = direct(parse("fun x -> reset (x * (shift k in k (k 2.0)))"))
    assert evaluate(f)(3.0) == 18.0
    assert evaluate(direct(f))(3.0) == 18.0
    assert evaluate(direct(parse("fun p -> reset (inr (fst p, shift k in k (snd p)))")))((1.0, Left(2.0))) == Right(
        (1.0, Left(2.0))
    )


@transformations
def test_errors(transformation):
    with pytest.raises(NameError, match=f"{transformation.__name__}: y is free"):
        transformation(parse("fun x -> y"))
    with pytest.raises(TypeError, match=f"{transformation.__name__}: expected a term"):
        transformation(lambda x: x)
