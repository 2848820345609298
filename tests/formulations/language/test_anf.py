"""A-normal form keeps the meaning of a program, and has the shape that it says."""

import numpy as np
import pytest
from hypothesis import given, settings

from shiftreset_ad.formulations.language import (
    App,
    Case,
    Const,
    Lam,
    Let,
    Names,
    Reset,
    Shift,
    Term,
    Var,
    children,
    evaluate,
    free_variables,
    parse,
    run,
    show,
)
from shiftreset_ad.formulations.language.anf import to_anf
from tests.formulations.random_terms import programs

CASES = [
    ("2.0", 2.0),
    ("let x = 3.0 in x", 3.0),
    ("sin (2.0 * 3.0) + 1.0 / 4.0", np.sin(6.0) + 0.25),
    ("(fun x -> (fun x -> x * x) (x + 1.0)) 2.0", 9.0),
    ("let x = 2.0 in let x = x * x in let y = x in y + x", 8.0),
    ("fst (snd (1.0, (2.0, 3.0)))", 2.0),
    ("case (if 1.0 < 2.0 then inl 3.0 else inr (1.0, 2.0)) of x -> x * x | p -> fst p", 9.0),
    ("case inr (4.0, 2.0) of x -> x * x | p -> fst p - snd p", 2.0),
    ("let x = 5.0 in if x < 1.0 then x else if x < 4.0 then 0.0 else -x", -5.0),
    ("let rec f n = if n < 1.0 then 1.0 else n * f (n - 1.0) in f 5.0", 120.0),
    ("let r = ref 1.0 in r := !r + 1.0; (r := !r * 5.0; !r)", 10.0),
    ("let r = ref 1.0 in (!r - (r := 3.0; !r)) * 2.0", -4.0),
    ("reset (1.0 + (shift k in k (k 10.0)) * 2.0)", None),
    ("1.0 + reset (2.0 * (shift k in 5.0 + k 1.0))", 8.0),
]


def outside_anf(term):
    """A part that is not in A-normal form, or None."""
    waiting = [("binding" if isinstance(term, Lam) else "block", term)]
    while waiting:
        kind, term = waiting.pop()
        if kind == "block":
            while isinstance(term, Let):
                waiting.append(("binding", term.value))
                term = term.body
            if not isinstance(term, Var):
                return term
        elif isinstance(term, (Lam, Shift, Reset)):
            waiting.append(("block", term.body))
        elif isinstance(term, Case):
            match term:
                case Case(Var(), a, App(Var(), Var(b)), c, App(Var(), Var(d))) if a == b and c == d:
                    continue
            return term
        elif isinstance(term, Var) or not all(isinstance(child, Var) for child in children(term)):
            return term
    return None


def binders(term):
    match term:
        case Lam(name, _) | Shift(name, _) | Let(name, _, _):
            yield name
        case Case(_, left, _, right, _):
            yield from (left, right)
    for child in children(term):
        yield from binders(child)


@pytest.mark.parametrize(("text", "value"), CASES)
def test_meaning_and_shape(text, value):
    term = parse(text)
    anf = to_anf(term)
    assert outside_anf(anf) is None
    names = list(binders(anf))
    assert len(names) == len(set(names))
    assert run(anf) == run(term)
    if value is not None:  # a continuation that is called twice, on the machine only
        assert evaluate(anf) == pytest.approx(value)
    assert parse(show(anf)) == anf


def test_the_check_of_the_shape_can_fail():
    assert outside_anf(parse("fun x -> let y = x * x in let z = sin (y + x) in z")) is not None
    assert outside_anf(parse("fun x -> x * x")) is not None
    assert outside_anf(parse("fun x -> let y = 1.0 in let z = (fun w -> w + y) in z")) is not None
    assert outside_anf(parse("fun x -> let y = x in y")) is not None


def test_the_example_of_the_paper():
    assert show(to_anf(parse("fun a -> ((fun b -> fun c -> b) a) 1.0")), width=60) == (
        "fun a ->\n"
        "  let t1 = fun b -> let t = fun c -> b in t in\n"
        "  let t2 = t1 a in let t3 = 1.0 in let t4 = t2 t3 in t4"
    )


def test_names_of_let_are_kept_and_free_variables_are_not_captured():
    anf = to_anf(parse("fun x -> let area = x * t in area + t1"))
    assert show(anf) == "fun x -> let area = x * t in let t2 = area + t1 in t2"
    assert free_variables(anf) == {"t", "t1"}


def test_an_unused_name_is_bound_once():
    assert list(binders(to_anf(parse("fun _ -> (1.0; 2.0; 3.0)")))) == ["unused", "unused1", "unused2", "t"]


def test_a_very_deep_term():
    x: Term = Var("x")
    for _ in range(1500):
        x = np.sin(x)
    anf = to_anf(Lam("x", x))
    assert outside_anf(anf) is None
    assert run(anf(Const(1.0))) == run(Lam("x", x)(Const(1.0)))
    lets: Term = Var("x")
    for _ in range(1500):
        lets = Let("x", Var("x") + Const(1.0), lets)
    assert run(to_anf(Lam("x", lets))(Const(1.0))) == 1501.0
    branches: Term = Const(7.0)
    for _ in range(500):
        branches = Case(Var("s"), "a", Var("a"), "s", branches)
    assert outside_anf(to_anf(Lam("s", branches))) is None


def test_names_that_are_in_use_stay_in_use():
    """As another transformation takes its names from the result."""
    anf = to_anf(parse("fun x -> x * x"))
    assert Names(anf).fresh("t") == "t1"


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(programs())
def test_random_programs(case):
    program, x = case
    anf = to_anf(program)
    assert outside_anf(anf) is None
    with np.errstate(all="ignore"):
        np.testing.assert_equal(evaluate(anf)(x), evaluate(program)(x))
