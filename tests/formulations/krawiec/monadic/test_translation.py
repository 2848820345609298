"""Fig. 9: the rules on types and terms, as printed, and their invariants."""

import numpy as np
import pytest
from hypothesis import given

from shiftreset_ad.formulations.krawiec import monadic
from shiftreset_ad.formulations.krawiec.monadic.monad import CONSTANTS, TYPES, bindings_of, computation
from shiftreset_ad.formulations.krawiec.monadic.translation import of_type, translate
from shiftreset_ad.formulations.language import Const, Lam, Let, Names, Primitive, Term, Var, children, parse, run
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.discrete import Integer, plus_z, times_z
from shiftreset_ad.formulations.language.names import renamed, with_parts
from shiftreset_ad.formulations.language.types import INTEGER, REAL, STRING, Type, either, function, product
from tests.formulations.language.term_strategies import SETTINGS
from tests.formulations.random_terms import programs


def same(found: Term, expected: str | Term) -> bool:
    """Whether two terms are the same but for the names that they bind."""
    return canonical(found, Names(used=[*CONSTANTS, "x", "e", "f"])) == canonical(
        parse(expected) if isinstance(expected, str) else expected, Names(used=[*CONSTANTS, "x", "e", "f"])
    )


def canonical(term: Term, names: Names) -> Term:
    match term:
        case Lam(name, body):
            new = names.fresh("bound")
            return Lam(new, canonical(renamed(body, {name: new}), names))
        case Let(name, value, body):
            value, new = canonical(value, names), names.fresh("bound")
            return Let(new, value, canonical(renamed(body, {name: new}), names))
    return with_parts(term, [canonical(child, names) for child in children(term)])


RULES = {
    "x": "pure x",
    "fun x -> x": "pure (fun x -> pure x)",
    "let y = x in y": "bind (pure x) (fun y -> pure y)",
    "f x": "bind (pure f) (fun g -> bind (pure x) (fun y -> g y))",
    "inl x": "bind (pure x) (fun y -> pure (inl y))",
    "inr x": "bind (pure x) (fun y -> pure (inr y))",
    "(f, x)": "bind (pure f) (fun a -> bind (pure x) (fun b -> pure (a, b)))",
    "fst x": "bind (pure x) (fun y -> pure (fst y))",
    "snd x": "bind (pure x) (fun y -> pure (snd y))",
    "3.0": "pure (3.0, Zero)",
    "()": "pure ()",
}
PLUS = (
    "pure (fun p -> let a = fst p in let x = fst a in let u1 = snd a in let b = snd p in let y = fst b in "
    "let u2 = snd b in let z = x {op} y in bind (deltaLet (Add {delta})) (fun u3 -> pure (z, Var u3)))"
)
OPERATORS = {
    "+": PLUS.format(op="+", delta="u1 u2"),
    "*": PLUS.format(op="*", delta="(Scale y u1) (Scale x u2)"),
    "-": PLUS.format(op="-", delta="u1 (Scale (-1.0) u2)"),
}


@pytest.mark.parametrize("term", RULES)
def test_fig_9_rules(term):
    assert same(translate(parse(term)), RULES[term])


def test_fig_9_case():
    found = translate(parse("case x of y -> f y | z -> z"))
    branch = "bind (pure f) (fun g -> bind (pure y) (fun a -> g a))"
    expected = parse(f"bind (pure x) (fun s -> case s of y -> {branch} | z -> pure z)")
    assert str(found).replace(" ", "").replace("\n", "").count("case") == 1
    environment = {**CONSTANTS, "f": run(parse("fun x -> fun s -> (x, s)"))}
    for value in ("inl 3.0", "inr 3.0"):
        x = run(parse(value))
        assert bindings_of(run(found, {**environment, "x": x}), Integer(1)) == bindings_of(
            run(expected, {**environment, "x": x}), Integer(1)
        )


@pytest.mark.parametrize("operator", OPERATORS)
def test_fig_9_primitives(operator):
    operation = {"+": np.add, "*": np.multiply, "-": np.subtract}[operator]
    found = translate(Primitive(operation, (Var("x"), Var("f"))))
    operands = "bind (pure x) (fun a -> bind (pure f) (fun b -> pure (a, b)))"
    assert same(found, f"bind ({OPERATORS[operator]}) (fun g -> bind ({operands}) (fun p -> g p))")


def test_integers_and_strings_are_left_alone():
    three = Const(Integer(3))
    assert same(translate(three), Var("pure")(three))
    assert translate(Const("name")) == Var("pure")(Const("name"))
    sum_of_integers = translate(Primitive(plus_z, (three, three)))
    assert bindings_of(run(sum_of_integers, CONSTANTS), Integer(1)) == (Integer(6), ())


def test_an_integer_chooses_a_derivative():
    """A main expression from R * Z: 3 is an index here, and no real number."""
    n = Primitive(times_z, (parse("snd x"), Const(Integer(2))))
    term = Lam("x", Let("n", n, parse("let y = fst x in y * y")))
    assert monadic.grad(term)((3.0, Integer(3))) == (6.0, None)


def test_types():
    t = function(product(REAL, INTEGER), either(function(REAL, REAL), STRING))
    assert str(of_type(t)) == "R * Delta * Z -> M ((R * Delta -> M (R * Delta)) + String)"


def without_loops(program):
    """Loops are by functions that take themselves as arguments, whose types are no finite types."""
    try:
        infer(program)
    except TypeError:
        return False
    return True


@pytest.mark.slow
@SETTINGS
@given(programs(size=12))
def test_fig_9_the_invariant(case):
    """If e : A, then D{e} : M D{A}."""
    program, x = case
    t = function(infer(Const(x)), REAL)
    if without_loops(program):
        expected = computation(of_type(t))
        assert infer(translate(program), TYPES, expected) == expected


def test_a_wrong_translation_has_a_wrong_type():
    with pytest.raises(TypeError):
        infer(parse("pure (fun x -> bind (deltaLet x) (fun u -> pure (Var u)))"), TYPES, Type("R"))
    with pytest.raises(TypeError, match=r"expected .Delta -> M Delta. -> M Delta"):
        infer(parse("bind (deltaLet Zero) (fun u -> pure (Add u u))"), TYPES)


def test_names_of_the_monad_may_be_names_of_the_program():
    program = "fun pure -> let bind = pure * pure in let Var = bind * pure in let deltaLet = Var * bind in deltaLet"
    assert monadic.grad(parse(program))(2.0) == pytest.approx(5 * 2.0**4)


@pytest.mark.parametrize("program", ["fun x -> reset x", "fun x -> reset (shift k in k x)"])
def test_control_is_refused(program):
    with pytest.raises(TypeError, match="no translation into this monad"):
        monadic.grad(parse(program))
