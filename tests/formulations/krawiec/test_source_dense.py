"""Reverse mode, number 1, as a translation of terms: Fig. 5 and 6."""

import numpy as np
import pytest
from hypothesis import assume, given

import shiftreset_ad
from shiftreset_ad.formulations.counting import count
from shiftreset_ad.formulations.krawiec.source_dense import grad, of_type, reverse, translate
from shiftreset_ad.formulations.language import Const, call, evaluate, free_variables, parse, run
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.polytypic import reals
from shiftreset_ad.formulations.language.types import REAL, function, product
from tests.formulations.agreement import is_close
from tests.formulations.language.term_strategies import SETTINGS
from tests.formulations.random_terms import programs

PAIR = product(REAL, REAL)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("x", "x"),
        ("3.0", "(3.0, (0.0, 0.0))"),
        ("()", "()"),
        ("fun x -> (x, inl x)", "fun x -> (x, inl x)"),
        ("x < 1.0", "fst x < fst (1.0, (0.0, 0.0))"),
        ("f x", "f x"),
        (
            "x + x",
            "let p = x in let p1 = x in let x1 = fst p in let u = snd p in "
            "let x2 = fst p1 in let u1 = snd p1 in let y = x1 + x2 in (y, plus (u, u1))",
        ),
        (
            "x * x",
            "let p = x in let p1 = x in let x1 = fst p in let u = snd p in "
            "let x2 = fst p1 in let u1 = snd p1 in let y = x1 * x2 in (y, plus (scale (x2, u), scale (x1, u1)))",
        ),
    ],
)
def test_fig_5_rules(source, target):
    assert translate(parse(source), PAIR) == parse(target)


def test_fig_5_types():
    assert str(of_type(function(PAIR, REAL), PAIR)) == "R * (R * R) * (R * (R * R)) -> R * (R * R)"


@pytest.mark.slow
@SETTINGS
@given(programs(arguments=(PAIR,), size=12))
def test_fig_5_the_invariant(case):
    """If e : A, then D1[e] : D1{A}."""
    e, _ = case
    t = function(PAIR, REAL)
    context = {"plus": function(product(PAIR, PAIR), PAIR), "scale": function(product(REAL, PAIR), PAIR)}
    image = of_type(t, PAIR)
    assert infer(e, expected=t, recursive=True) == t
    assert infer(translate(e, PAIR), context, image, recursive=True) == image


def test_names_of_the_program_do_not_meet_the_operations():
    program = parse("fun plus -> let scale = plus * plus in scale * plus")
    assert grad(program)(2.0) == 12.0
    assert free_variables(translate(program, REAL)) == {"plus", "scale"}
    with pytest.raises(NameError, match="plus is a free variable of the program"):
        grad(parse("fun x -> plus (x, x)"))(2.0)


@pytest.mark.slow
@SETTINGS
@given(programs(arguments=(PAIR,), size=12))
def test_fig_6_the_wrapper(case):
    """R1{e}(s, dt) is dt times the Jacobian, in one run."""
    e, x = case
    with np.errstate(all="ignore"):
        expected = shiftreset_ad.grad(evaluate(e))(x)
        assume(np.isfinite(expected).all() and np.abs(expected).max() < 1e4)
        found = call(run(reverse(e, function(PAIR, REAL))), (x, -3.0), lambda y: y)
    assert is_close(found, tuple(-3.0 * g for g in expected))


def test_fig_6_types():
    e, t = parse("fun p -> fst p * sin (fst (snd p)) + snd (snd p)"), function(product(REAL, PAIR), REAL)
    expected = function(product(product(REAL, PAIR), REAL), product(REAL, PAIR))
    assert infer(reverse(e, t), expected=expected) == expected
    with pytest.raises(TypeError, match="to a real number; got the type"):
        reverse(parse("fun x -> (x, sin x)"), function(REAL, PAIR))
    with pytest.raises(TypeError, match="expected a product of real numbers"):
        reverse(parse("fun f -> f 1.0"), function(function(REAL, REAL), REAL))
    assert reals(PAIR) == 2


def test_an_operation_costs_as_much_as_there_are_inputs():
    program = parse("fun p -> let x = fst p in sin (sin (sin (sin x)))")
    small, large = (count(grad(program), (0.5, tuple([0.5] * n))).operations for n in (10, 100))
    assert large - small == 4 * 90


def test_errors():
    with pytest.raises(TypeError, match="takes a term for a function"):
        grad(lambda x: x)
    with pytest.raises(TypeError, match="a function to a number; the result is"):
        grad(parse("fun x -> inl x"))(1.0)
    assert grad(parse("fun x -> 3.0"))((1.0, 2.0)) == (0.0, 0.0)
    assert grad(parse("fun p -> fst p * snd p"))((2.0, 3)) == (3.0, None)
    assert translate(Const(1.0), REAL) == parse("(1.0, 0.0)")
