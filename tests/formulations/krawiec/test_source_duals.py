"""The translation to dual numbers as a map of terms, Fig. 3 and 4."""

import numpy as np
import pytest
from hypothesis import given

from shiftreset_ad.formulations.krawiec.source_duals import grad, jvp, of_type, transform
from shiftreset_ad.formulations.language import Const, Var, call, evaluate, free_variables, parse, run
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.types import REAL, function
from shiftreset_ad.formulations.language.values import Left, Right
from tests.formulations.language.term_strategies import SETTINGS
from tests.formulations.random_terms import programs


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("x", "x"),
        ("3.0", "(3.0, 0.0)"),
        ("()", "()"),
        ("fun x -> (x, inl x)", "fun x -> (x, inl x)"),
        ("x < 1.0", "fst x < fst (1.0, 0.0)"),
        ("f x", "f x"),
        (
            "x * x",
            "let p = x in let p1 = x in let x1 = fst p in let x_dot = snd p in "
            "let x2 = fst p1 in let x_dot1 = snd p1 in let y = x1 * x2 in (y, x2 * x_dot + x1 * x_dot1)",
        ),
    ],
)
def test_rules(source, target):
    assert transform(parse(source)) == parse(target)


def test_both_interpreters():
    target = transform(parse("fun x -> let f = fun y -> y * sin x in f (f x)"))
    assert evaluate(target)((0.7, 1.0)) == pytest.approx(call(run(target), (0.7, 1.0), lambda y: y))


def test_twice():
    """The target is in the language of the source: the second derivative is the translation of the translation."""
    second = transform(transform(parse("fun x -> x * x * sin x")))
    (y, y1), (y2, y3) = evaluate(second)(((0.7, 1.0), (1.0, 0.0)))
    assert y == pytest.approx(0.7**2 * np.sin(0.7))
    assert y1 == y2 == pytest.approx(2 * 0.7 * np.sin(0.7) + 0.7**2 * np.cos(0.7))
    assert y3 == pytest.approx(2 * np.sin(0.7) + 4 * 0.7 * np.cos(0.7) - 0.7**2 * np.sin(0.7))


def test_thrice():
    third = transform(transform(transform(parse("fun x -> x * x * x * x"))))
    x = (((2.0, 1.0), (1.0, 0.0)), ((1.0, 0.0), (0.0, 0.0)))
    assert evaluate(third)(x)[1][1][1] == 24 * 2.0


def test_free_variables_stay():
    assert free_variables(transform(parse("x * y + fst p"))) == {"x", "y", "p"}


def test_control():
    """Shift and reset are translated as they are."""
    term = parse("fun x -> reset (x * (shift k in k (k x)))")
    assert call(run(transform(term)), (3.0, 1.0), lambda y: y) == (27.0, 27.0)


def test_direction():
    assert jvp(parse("fun x -> (fst x * snd x, inl (fst x))"))((2.0, 3.0), (10.0, 1.0)) == (32.0, Left(10.0))
    assert jvp(parse("fun x -> case x of a -> inr (a * a) | b -> inl ()"))(Left(3.0), Left(1.0)) == Right(6.0)
    assert jvp(parse("fun x -> ((), x)"))(3.0, 1.0) == ((), 1.0)


def test_errors():
    with pytest.raises(TypeError, match="the structure of the argument"):
        jvp(parse("fun x -> fst x"))((1.0, 2.0), 1.0)
    with pytest.raises(TypeError, match="jvp: the function has to return numbers"):
        jvp(parse("fun x -> fun y -> x"))(1.0, 1.0)
    with pytest.raises(TypeError, match="jvp: this room translates terms"):
        jvp(lambda x: x)
    with pytest.raises(NameError, match="y"):
        grad(Var("y"))(1.0)


@pytest.mark.slow
@SETTINGS
@given(programs(size=12))
def test_fig_3_the_invariant(case):
    """If e : A, then D{e} : D{A}."""
    program, x = case
    expected = of_type(function(infer(Const(x)), REAL))
    assert infer(transform(program), expected=expected, recursive=True) == expected
