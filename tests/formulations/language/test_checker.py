"""The typing rules of the core language, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given

from shiftreset_ad.formulations.language import Const, Lam, Left, Primitive, Right, Var, evaluate, parse
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.discrete import DISCRETE, Integer, append, less_z, plus_z, times_z
from shiftreset_ad.formulations.language.types import INTEGER, REAL, STRING, Type, either, function, product
from tests.formulations.language.term_strategies import SETTINGS
from tests.formulations.random_terms import programs

RULES = {
    "fun x -> 2.0 * x": "R -> R",
    "fun x -> x": "1 -> 1",
    "fun f -> fun g -> fun x -> g (f x) + 1.0": "(1 -> 1) -> (1 -> R) -> 1 -> R",
    "fun p -> (snd p, fst p + 1.0)": "R * 1 -> 1 * R",
    "fun s -> case s of x -> x + 1.0 | p -> fst p * snd p": "R + R * R -> R",
    "fun x -> if x < 1.0 then inl x else inr (x, ())": "R -> R + R * 1",
    "let x = (fun x -> sin x) 1.0 in (x, (x, x))": "R * (R * R)",
    "fun r -> r := !r * 2.0; !r": "ref R -> R",
    "ref (ref 1.0)": "ref ref R",
}


@pytest.mark.parametrize("program", RULES)
def test_the_type_of_a_term(program):
    assert str(infer(parse(program))) == RULES[program]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("fun x -> x + fst x", "fst x has the type R|x has the type R"),
        ("1.0 2.0", r"1\.0 has the type R; expected R -> 1"),
        ("fun f -> f f", "f has the type"),
        ("let f = fun x -> x in (f 1.0, f ())", "f has the type R -> R; expected 1 -> R"),
        ("if 1.0 < 2.0 then 1.0 else ()", "has the type 1; expected R"),
        ("fun x -> !x + x", "x has the type"),
        ("shift k in k 1.0", "shift and reset have no types"),
        ("reset 1.0", "shift and reset have no types"),
    ],
)
def test_what_is_ill_typed(program, message):
    with pytest.raises(TypeError, match=message):
        infer(parse(program))


def test_constants_that_are_no_data():
    with pytest.raises(TypeError, match="no constant of the typed language"):
        infer(Const(np.ones(2)))
    with pytest.raises(NameError, match="y is free"):
        infer(Var("y"))


def test_a_variable_of_a_program_has_one_type_and_a_constant_of_the_context_has_many():
    pair = parse("(f 1.0, f ())")
    with pytest.raises(TypeError):
        infer(Lam("f", pair))
    assert infer(pair, {"f": function(Type("'a"), Type("M", (Type("'a"),)))}) == parse_type("M R", "M 1")


def parse_type(*parts):
    return product(*(Type("M", (REAL if part == "M R" else Type("1"),)) for part in parts))


def test_an_expected_type_decides_what_the_term_leaves_open():
    assert infer(parse("fun x -> 1.0"), expected=function(product(REAL, REAL), REAL)).parts[0] == product(REAL, REAL)
    with pytest.raises(TypeError, match="has the type R -> R; expected"):
        infer(parse("fun x -> x * x"), expected=function(product(REAL, REAL), REAL))


def test_recursion_has_a_type_that_is_a_part_of_itself():
    power = parse("fun x -> let rec f n = if n < 1.0 then 1.0 else x * f (n - 1.0) in f 4.0")
    with pytest.raises(TypeError):
        infer(power)
    assert str(infer(power, recursive=True)) == "R -> R"
    with pytest.raises(TypeError, match="a part of itself"):
        infer(parse("fun f -> f f"), recursive=True)


def test_constants_of_every_type():
    value = (3.0, (Left(Integer(2)), Right(("name", ()))))
    assert infer(Const(value)) == product(
        REAL, product(either(INTEGER, Type("1")), either(Type("1"), product(STRING, Type("1"))))
    )


def test_discrete_primitives():
    two, three = Const(Integer(2)), Const(Integer(3))
    term = Primitive(plus_z, (two, Primitive(times_z, (two, three))))
    assert (infer(term), evaluate(term)) == (INTEGER, Integer(8))
    assert str(infer(Primitive(less_z, (two, three)))) == "1 + 1"
    assert evaluate(Primitive(less_z, (two, three))) == Left(())
    assert evaluate(Primitive(less_z, (three, two))) == Right(())
    assert evaluate(Primitive(append, (Const("a"), Const("b")))) == "ab"
    with pytest.raises(TypeError, match=r"1\.0 has the type R; expected Z"):
        infer(Primitive(plus_z, (two, Const(1.0))))
    assert all(all(t.is_first_order for t in types) for types in DISCRETE.values())


@pytest.mark.slow
@SETTINGS
@given(programs())
def test_random_programs_are_well_typed(case):
    program, x = case
    expected = function(infer(Const(x)), REAL)
    assert infer(program, expected=expected, recursive=True) == expected


def test_how_types_are_written():
    a = function(REAL, REAL)
    assert str(function(a, product(either(REAL, a), product(REAL, INTEGER)))) == "(R -> R) -> (R + (R -> R)) * (R * Z)"
    assert INTEGER.is_discrete
    assert not REAL.is_discrete
    assert product(REAL, REAL).is_first_order
    assert not product(REAL, a).is_first_order
