"""Fig. 15: a function that is fused when it is translated."""

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.krawiec.monadic.delta import Var as DeltaVar
from shiftreset_ad.formulations.krawiec.monadic.delta import empty_map, evaluated, lookup_or_zero
from shiftreset_ad.formulations.krawiec.monadic.fused import fused
from shiftreset_ad.formulations.krawiec.monadic.monad import CONSTANTS, TYPES, bindings_of, computation, each, run_delta
from shiftreset_ad.formulations.krawiec.monadic.translation import of_type, translate
from shiftreset_ad.formulations.language import Lam, Let, Var, evaluate, parse, run
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.sources import subterms
from shiftreset_ad.formulations.language.types import REAL, function, product

R2 = product(REAL, REAL)
CASES = {
    "the paper's": ("fun x -> x * sin x", REAL, (1.5,)),
    "shared results": ("fun x -> let y = x * x in let z = y * y in z * sin z + y", REAL, (0.9,)),
    "two inputs": ("fun x -> arctan2 (fst x) (2.0 + snd x) / (1.0 + exp (fst x))", R2, (0.7, -0.2)),
    "functions of functions": ("fun x -> let f = fun g -> fun y -> g (g y) in f (fun y -> y * x) 2.0", REAL, (1.3,)),
    "an input that is not used": ("fun x -> fst x * fst x", R2, (0.7, -0.2)),
    "a power": ("fun x -> power x 3.0", REAL, (-1.5,)),
    "a constant": ("fun x -> 3.0", REAL, (1.0,)),
    "the argument": ("fun x -> x", REAL, (1.0,)),
}


def gradient(translated, xs):
    """The gradient by a translated function, and its number of bindings."""
    duals = tuple((x, DeltaVar(Integer(i + 1))) for i, x in enumerate(xs))
    environment = {**CONSTANTS, "main": run(translated, CONSTANTS), "x": duals if len(xs) > 1 else duals[0]}
    applied = run(parse("bind main (fun f -> f x)"), environment)
    first = Integer(len(xs) + 1)
    um = evaluated(1.0, run_delta(first, applied)[1], empty_map())
    found = [float(lookup_or_zero(Integer(i + 1), um)) for i in range(len(xs))]
    return found, sum(1 for _ in each(bindings_of(applied, first)[1]))


def test_the_example_of_the_paper():
    """One Scale, by sin x + x * cos x. The paper prints the answer `x + sin x`, for `x * sin x`."""
    found = fused(parse("fun x -> x * sin x"), function(REAL, REAL))
    expected = parse(
        "pure (fun p -> let x = fst p in let u = snd p in let t = sin x in "
        "bind (deltaLet (Scale (t + x * cos x) u)) (fun v -> pure (x * t, Var v)))"
    )
    assert found == expected
    assert sum(term == Var("Scale") for term in subterms(found)) == 1


@pytest.mark.parametrize("name", CASES)
def test_one_binding(name):
    program, source, xs = CASES[name]
    e, t = parse(program), function(source, REAL)
    found, bindings = gradient(fused(e, t), xs)
    assert bindings == 1
    expected = shiftreset_ad.grad(evaluate(e))(xs if len(xs) > 1 else xs[0])
    assert found == pytest.approx(np.ravel(expected).tolist())
    assert gradient(translate(e), xs)[0] == pytest.approx(found)


@pytest.mark.parametrize("name", CASES)
def test_it_has_the_type_of_the_translation(name):
    program, source, _ = CASES[name]
    t = computation(of_type(function(source, REAL)))
    assert infer(fused(parse(program), function(source, REAL)), TYPES, t) == t
    assert infer(translate(parse(program)), TYPES, t) == t


def test_it_takes_the_place_of_the_translation_in_a_program():
    """A definition that is called three times leaves three bindings, and not nine."""
    f, main = parse("fun x -> x * sin x"), parse("fun x -> f (f (f x))")
    linked = Let("main", translate(main), Var("main"))
    counts = []
    for definition in (translate(f), fused(f, function(REAL, REAL))):
        value, _ = bindings_of(run(definition, CONSTANTS), Integer(1))
        environment = {**CONSTANTS, "f": value}
        applied = run(
            parse("bind main (fun f -> f x)"),
            {**environment, "main": run(linked, environment), "x": (0.7, DeltaVar(Integer(1)))},
        )
        um = evaluated(1.0, run_delta(Integer(2), applied)[1], empty_map())
        counts.append(sum(1 for _ in each(bindings_of(applied, Integer(2))[1])))
        assert um[Integer(1)] == pytest.approx(shiftreset_ad.grad(evaluate(Let("f", f, main)))(0.7))
    assert counts == [6, 3]


def test_the_size_is_linear_in_the_operations():
    def squares(n):
        body = Var("x")
        for _ in range(n):
            body = Let("x", Var("x") * Var("x"), body)
        return Lam("x", body)

    sizes = [sum(1 for _ in subterms(fused(squares(n), function(REAL, REAL)))) for n in (10, 20, 40)]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])


def test_a_comparison_is_refused():
    with pytest.raises(TypeError, match="fused: a comparison decides"):
        fused(parse("fun x -> if x < 1.0 then x else 2.0 * x"), function(REAL, REAL))
