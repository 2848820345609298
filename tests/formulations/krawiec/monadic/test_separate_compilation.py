"""Section 8.1: a definition is translated once, whatever the programs that use it."""

import pytest

import shiftreset_ad
from shiftreset_ad.formulations.krawiec.monadic.delta import Var, empty_map, evaluated, lookup_or_zero
from shiftreset_ad.formulations.krawiec.monadic.monad import CONSTANTS, TYPES, bindings_of, computation, run_delta
from shiftreset_ad.formulations.krawiec.monadic.translation import of_type, translate
from shiftreset_ad.formulations.language import Let, evaluate, parse, run
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.types import REAL, function, product

# A library, in the order of its definitions, which may use those before them; and programs of different argument types.
LIBRARY = {
    "squared": (parse("fun x -> x * x"), function(REAL, REAL)),
    "twice": (parse("fun f -> fun x -> f (f x)"), function(function(REAL, REAL), REAL, REAL)),
    "hypotenuse": (parse("fun p -> sqrt (squared (fst p) + squared (snd p))"), function(product(REAL, REAL), REAL)),
}
MAINS = {
    "of a number": (parse("fun x -> twice squared x + hypotenuse (x, 2.0)"), 1.5),
    "of a pair": (parse("fun x -> hypotenuse x * twice (fun y -> y * fst x) (snd x)"), (1.5, -0.5)),
}


@pytest.fixture(scope="module")
def compiled():
    """Each definition f = e as f_rev, the value of D{e}. Its translation does not see the programs."""
    values = {}
    for name, (term, t) in LIBRARY.items():
        context = {**TYPES, **{other: of_type(LIBRARY[other][1]) for other in values}}
        assert infer(translate(term), context, computation(of_type(t))) == computation(of_type(t))
        values[name], bindings = bindings_of(run(translate(term), {**CONSTANTS, **values}), Integer(1))
        assert bindings == ()  # a definition of a function leaves no trace
    return values


@pytest.mark.parametrize("name", MAINS)
def test_a_definition_is_translated_once(name, compiled):
    """A program that is linked to the library has the derivative of the whole program, with the definitions in it."""
    term, x = MAINS[name]
    whole = term
    for definition, (body, _) in reversed(LIBRARY.items()):
        whole = Let(definition, body, whole)
    numbers = list(x) if isinstance(x, tuple) else [x]
    duals = [(number, Var(Integer(i + 1))) for i, number in enumerate(numbers)]
    s0 = tuple(duals) if isinstance(x, tuple) else duals[0]
    found = []
    for translated, environment in ((translate(term), {**CONSTANTS, **compiled}), (translate(whole), CONSTANTS)):
        applied = run(parse("bind main (fun f -> f x)"), {**CONSTANTS, "main": run(translated, environment), "x": s0})
        _, u = run_delta(Integer(len(numbers) + 1), applied)
        um = evaluated(1.0, u, empty_map())
        found.append([lookup_or_zero(Integer(i + 1), um) for i in range(len(numbers))])
    assert found[0] == found[1]
    expected = shiftreset_ad.grad(evaluate(whole))(x)
    assert found[0] == pytest.approx(expected if isinstance(x, tuple) else [expected])
