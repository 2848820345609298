"""Text as terms."""

import numpy as np
import pytest

from shiftreset_ad.formulations.language import (
    UNIT,
    App,
    Assign,
    Case,
    Const,
    Deref,
    Fst,
    Inl,
    Inr,
    Lam,
    Let,
    Pair,
    Primitive,
    Ref,
    Reset,
    Shift,
    Snd,
    Var,
    if_then_else,
    let_pair,
    letrec,
    parse,
    show,
)
from shiftreset_ad.formulations.language.grammar import PRIMITIVES

x, y, f, k = map(Var, "xyfk")


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("x", x),
        ("1.5", Const(1.5)),
        ("2", Const(2.0)),
        ("1e-3", Const(0.001)),
        ("inf", Const(np.inf)),
        ("-1.0", Const(-1.0)),
        ("-inf", Const(-np.inf)),
        ("-(1.0)", -Const(1.0)),
        ("--1.0", -Const(-1.0)),
        ("-1.0 x", -App(Const(1.0), x)),
        ("-x", -x),
        ("()", UNIT),
        ("(x, y)", Pair(x, y)),
        ("x + y * x", x + y * x),
        ("x - y - x", (x - y) - x),
        ("x - (y - x)", x - (y - x)),
        ("x / y / x", (x / y) / x),
        ("-x * y", (-x) * y),
        ("x - -y", x - (-y)),
        ("x - -1.0", x - Const(-1.0)),
        ("x + 1.0 < y", x + 1.0 < y),
        ("x == y", Primitive(np.equal, (x, y))),
        ("f x y", App(App(f, x), y)),
        ("f (x y)", App(f, App(x, y))),
        ("f -1.0", f - Const(1.0)),
        ("f (-1.0)", App(f, Const(-1.0))),
        ("f x + f y", f(x) + f(y)),
        ("sin x * y", np.sin(x) * y),
        ("sin (x * y)", np.sin(x * y)),
        ("arctan2 x (f y)", np.arctan2(x, f(y))),
        ("power x 2.0", x**2.0),
        ("fst x y", App(Fst(x), y)),
        ("fst snd x", Fst(Snd(x))),
        ("!x + !y", Deref(x) + Deref(y)),
        ("f !x", App(f, Deref(x))),
        ("!!x", Deref(Deref(x))),
        ("x := !x + y", Assign(x, Deref(x) + y)),
        ("ref inl inr x", Ref(Inl(Inr(x)))),
        ("fun x -> fun y -> x y", Lam("x", Lam("y", App(x, y)))),
        ("let x = y in x + x", Let("x", y, x + x)),
        ("x; y; x", Let("_", x, Let("_", y, x))),
        ("fun x -> y; x", Lam("x", Let("_", y, x))),
        ("(fun x -> y); x", Let("_", Lam("x", y), x)),
        ("let x = y; x in x", Let("x", Let("_", y, x), x)),
        ("case x of x -> y | y -> x", Case(x, "x", y, "y", x)),
        ("case x of x -> case y of x -> x | y -> y | y -> x", Case(x, "x", Case(y, "x", x, "y", y), "y", x)),
        ("if x < y then x else y", if_then_else(x < y, x, y)),
        ("if x then y; x else y; x", if_then_else(x, Let("_", y, x), Let("_", y, x))),
        ("shift k in k x + y", Shift("k", k(x) + y)),
        ("reset (shift k in k)", Reset(Shift("k", k))),
        ("let (x, y) = f in x", let_pair("x", "y", f, x)),
        ("let rec f x = f y in f", letrec("f", "x", f(y), f)),
        (" x\n\t+y ", x + y),
        ("x' + naïve", Var("x'") + Var("naïve")),
    ],
)
def test_a_text_is_a_term(text, term):
    assert parse(text) == term


def test_constants_keep_the_sign_of_zero():
    assert np.signbit(parse("-0.0").value)
    assert not np.signbit(parse("0.0").value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a term and found the end, line 1, column 1"),
        ("x +", "expected a term and found the end, line 1, column 4"),
        ("x\n  + * y", r"expected a term and found '\*', line 2, column 5"),
        ("let x = 1.0\nin (x", r"expected '\)' and found the end, line 2, column 6"),
        ("let x 1.0 in x", "expected '=' and found '1.0', line 1, column 7"),
        ("let sin = x in x", "expected a name and found 'sin', line 1, column 5"),
        ("fun x y -> x", "expected '->' and found 'y', line 1, column 7; a function has one parameter"),
        ("1.0 + shift k in k", "expected a term and found 'shift', line 1, column 7; put it in parentheses"),
        ("fun 1.0 -> x", "expected a name and found '1.0'"),
        ("case x of y -> y", r"expected '\|' and found the end"),
        ("if x then y", "expected 'else' and found the end"),
        ("x @ y", "expected a word of the language and found '@', line 1, column 3"),
        ("x )", r"expected the end and found '\)', line 1, column 3"),
        ("x < y < x", "expected the end and found '<', line 1, column 7"),
        ("sin", "expected a term and found the end"),
        ("_ + x", "expected a term and found '_', line 1, column 1"),
        ("in", "expected a term and found 'in'"),
    ],
)
def test_an_error_says_what_is_wrong_and_where(text, message):
    with pytest.raises(SyntaxError, match=f"parse: {message}"):
        parse(text)


def test_what_opens_an_expression_may_be_nested_as_deep_as_wanted():
    term = x
    for i in range(5_000):
        term = [Let("x", np.sin(x), term), Lam("x", term), Let("_", y, term)][i % 3]
    for _ in range(1_000):
        term = Case(x, "x", y, "y", if_then_else(x, y, Shift("k", term)))
    assert parse(show(term, width=100_000)) == term


def test_parentheses_deeper_than_the_stack_are_an_error_that_says_so():
    with pytest.raises(RecursionError, match=r"parse: .*give parts a name by let"):
        parse("(" * 10_000)


def test_the_primitives_are_numpys_own_whatever_else_has_been_imported():
    """SciPy has an exp2 and an i0 of its own."""
    assert all(getattr(np, name) is function for name, function in PRIMITIVES.items())
    assert PRIMITIVES["exp2"] is np.exp2
