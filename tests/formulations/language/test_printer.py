"""Terms as text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftreset_ad.formulations.language import (
    App,
    Const,
    Fst,
    Inl,
    Inr,
    Lam,
    Let,
    Pair,
    Primitive,
    Ref,
    Shift,
    Snd,
    Var,
    letrec,
    parse,
    show,
)
from shiftreset_ad.formulations.language.grammar import PRIMITIVES
from tests.formulations.language.term_strategies import SETTINGS, TERMS, programs

x, y, f = map(Var, "xyf")


@SETTINGS
@given(TERMS, st.integers(1, 120))
def test_the_text_of_a_term_is_that_term(term, width):
    assert parse(show(term, width)) == term


@pytest.mark.slow
@settings(SETTINGS, max_examples=120)
@given(programs())
def test_the_text_of_a_program_is_that_program(program):
    assert parse(show(program)) == program
    assert parse(show(program, width=20)) == program


@pytest.mark.parametrize("function", PRIMITIVES.values(), ids=PRIMITIVES)
def test_every_primitive_can_be_written_and_read(function):
    term = Primitive(function, (np.sin(x), Const(-1.0))[: function.nin])
    assert parse(show(term)) == term


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (Lam("x", x * x + np.sin(x)), "fun x -> x * x + sin x"),
        ((x + y) * (x * y), "(x + y) * (x * y)"),
        (x - (y - x), "x - (y - x)"),
        (x - Const(-1.0), "x - -1.0"),
        (f(Const(-1.0)), "f (-1.0)"),
        ((x < y) < (y < x), "(x < y) < (y < x)"),
        (-Const(1.0), "-(1.0)"),
        (f(np.sin(np.sin(x))), "f (sin (sin x))"),
        (np.sin(f(x)), "sin (f x)"),
        (Fst(Snd(x)), "fst (snd x)"),
        (Inl(Inr(Ref(x))), "inl (inr (ref x))"),
        (parse("f !x !y"), "f !x !y"),
        (parse("x := !x + y; !x"), "x := !x + y; !x"),
        (Const(np.float64(2.0)), "2.0"),
        (parse("if x<y then x else y"), "if x < y then x else y"),
        (App(Lam("x", x), Pair(x, y)), "(fun x -> x) (x, y)"),
        (Shift("k", Let("_", x, y)), "shift k in x; y"),
        (letrec("f", "n", f(Var("n")), f), "let f1 = fun f1 -> fun n -> let f = f1 f1 in f n in let f = f1 f1 in f"),
    ],
)
def test_a_term_is_written_with_as_few_parentheses_as_ml_needs(term, text):
    assert show(term) == text


PROGRAM = """\
let f =
  fun x -> fun y ->
    case x of
      a ->
        let b = a * y in
        b + sin (b * 2.0 - a)
    | c ->
        if c < 1.0
          then (c, y)
          else k (fun z -> z * z)
in
let r = ref 0.0 in
r := !r + 1.0;
(shift k in
   let y = f x 2.0 in
   k y; r := !r + 2.0 * y);
g (fun z ->
   let y = z * z in
   y + sin (z * z * z)
   - z * z * z);
reset (f !r (inl 1.0))"""


def test_a_long_program_is_laid_out_as_one_writes_it():
    assert show(parse(PROGRAM), width=29) == PROGRAM


def test_a_line_is_as_long_as_asked_for():
    text = show(parse("let x = 1.0 in f x"))
    assert text == "let x = 1.0 in f x"
    assert show(parse(text), width=len(text)) == text
    assert show(parse(text), width=len(text) - 1) == "let x = 1.0 in\nf x"


def test_terms_show_themselves():
    assert str(x * x) == "x * x"
    assert repr(x * x) == "parse('x * x')"


def test_a_term_may_be_deeper_than_the_stack():
    term = x
    for _ in range(1_200):
        term = np.sin(term)
    assert show(term, width=10_000).count("(sin") == 1_199
