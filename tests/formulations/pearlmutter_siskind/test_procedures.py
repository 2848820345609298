"""Lambda terms as lists of bindings."""

import pytest

from shiftreset_ad.formulations.language import Const, Lam, Let, parse, show
from shiftreset_ad.formulations.language.anf import to_anf
from shiftreset_ad.formulations.pearlmutter_siskind import BASIS, run
from shiftreset_ad.formulations.pearlmutter_siskind.procedures import Procedure, operands_of, procedure


def from_text(text, constants=BASIS):
    return procedure(to_anf(parse(text)), constants)


def test_the_term_of_a_procedure_is_the_term_it_is_made_of():
    anf = to_anf(parse("fun x -> let f = fun y -> x * y in if x < 1.0 then f x else (fst (x, inl x))"))
    assert procedure(anf, {}).term == anf


def test_free_variables_are_in_the_order_of_their_use():
    assert from_text("fun x -> z * x + a (fun y -> b y z) + x", {}).free == ("z", "b", "a")
    assert from_text("fun x -> x * x", {}).free == ()
    assert from_text("fun x -> y", {}).free == ("y",)


def test_free_variables_of_branches():
    code = from_text("fun x -> if x < a then b else c", {})
    assert code.free == ("a", "b", "c")
    _, case = code.bindings[-1]
    assert [operand.name for operand in operands_of(case)] == ["t", "on_left", "on_right"]


def test_constants_take_the_place_of_free_variables_only():
    code = from_text("fun x -> zero (J x)")
    assert [binding.function for _, binding in code.bindings] == [Const(BASIS["J"]), Const(BASIS["zero"])]
    assert run(parse("(fun J -> J 2.0) (fun x -> x * 10.0)")) == 20.0
    assert run(parse("let zero = 5.0 in zero")) == 5.0
    assert run(parse("(fun x -> plus) 1.0")) is BASIS["plus"]


def test_show_names_the_constants():
    assert show(from_text("fun x -> J J x").term) == "fun x -> let t = J J in let t1 = t x in t1"


@pytest.mark.parametrize(
    "text",
    ["fun x -> ref x", "fun x -> !x", "fun x -> x := 1.0", "fun x -> reset x", "fun x -> (fun y -> shift k in x) x"],
)
def test_what_is_not_covered_is_refused(text):
    with pytest.raises(TypeError, match="without references, shift and reset: use a formulation of Wang"):
        from_text(text)


@pytest.mark.slow
def test_functions_in_functions_that_are_very_deep():
    code = Procedure("x", [], "x")
    for i in range(2000):
        code = Procedure(f"x{i}", [("f", code)], "f")
    assert code.image.origin is code
    assert code.image.image.origin is code.image
    depth, term = 0, code.term
    while isinstance(term, Lam):
        depth, term = depth + 1, term.body.value if isinstance(term.body, Let) else term.body
    assert depth == 2001
