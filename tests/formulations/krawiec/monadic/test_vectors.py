"""Section 8.3: vectors of duals, and duals of vectors, beside the room `arrays`."""

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.krawiec import arrays
from shiftreset_ad.formulations.krawiec.monadic import monad
from shiftreset_ad.formulations.krawiec.monadic.delta import Var as DeltaVar
from shiftreset_ad.formulations.krawiec.monadic.delta import Zero, empty_map, evaluated
from shiftreset_ad.formulations.krawiec.monadic.monad import CONSTANTS, bindings_of, computation, each, run_delta
from shiftreset_ad.formulations.krawiec.monadic.translation import of_type, translate
from shiftreset_ad.formulations.krawiec.monadic.vectors import (
    DUAL_OF_VECTORS,
    SOURCE,
    TYPES,
    VECTOR_OF_DUALS,
    Vector,
    index,
    vector,
    with_dual_of_vectors,
)
from shiftreset_ad.formulations.language import Const, Lam, Let, Primitive, Var, evaluate, parse, run
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.discrete import Integer, less_z, plus_z
from shiftreset_ad.formulations.language.types import INTEGER, REAL, function, product

DESIGNS = {
    "a vector of duals": (VECTOR_OF_DUALS, of_type),
    "a dual of vectors": (DUAL_OF_VECTORS, with_dual_of_vectors),
}
each_design = pytest.mark.parametrize(("environment", "dual"), DESIGNS.values(), ids=DESIGNS)


def with_integers(term, n):
    """The term, with `less`, `next`, `zero` and `n` for integers."""
    less = Lam("i", Lam("j", Primitive(less_z, (Var("i"), Var("j")))))
    following = Lam("i", Primitive(plus_z, (Var("i"), Const(Integer(1)))))
    for name, value in (("n", Const(Integer(n))), ("zero", Const(Integer(0))), ("next", following), ("less", less)):
        term = Let(name, value, term)
    return term


SUM = "let rec sum i = if less i n then {} + sum (next i) else 0.0 in sum zero"
# Programs of R, of which the vectors are inside.
PROGRAMS = {
    "powers": "fun x -> let v = build (n, fun i -> x * x) in " + SUM.format("index (v, i) * x"),
    "a vector of a vector": "fun x -> let v = build (n, fun i -> sin x) in "
    "let w = build (n, fun i -> index (v, i) * x) in " + SUM.format("index (w, i) * index (v, i)"),
    "constants": "fun x -> let v = build (n, fun i -> 2.0) in " + SUM.format("index (v, i) * x"),
}


def applied(program, environment, x):
    linked = {**CONSTANTS, **environment}
    return run(parse("bind main (fun f -> f x)"), {**linked, "main": run(translate(program), linked), "x": x})


@each_design
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name, environment, dual):
    program = with_integers(parse(PROGRAMS[name]), 4)
    expected = shiftreset_ad.grad(lambda x: evaluate(program, SOURCE)(x))(0.7)
    computed = applied(program, environment, (0.7, DeltaVar(Integer(1))))
    assert evaluated(1.0, run_delta(Integer(2), computed)[1], empty_map())[Integer(1)] == pytest.approx(expected)


@each_design
def test_a_vector_as_the_argument(environment, dual):
    program = with_integers(parse("fun v -> " + SUM.format("index (v, i) * sin (index (v, i))")), 3)
    numbers, names = (0.5, -1.0, 2.0), [DeltaVar(Integer(i + 1)) for i in range(3)]
    if environment is VECTOR_OF_DUALS:
        argument = Vector(list(zip(numbers, names, strict=True)))
    else:
        argument = Vector(numbers), Vector(names)
    um = evaluated(1.0, run_delta(Integer(4), applied(program, environment, argument))[1], empty_map())
    assert [um[name.uid] for name in names] == pytest.approx([np.sin(x) + x * np.cos(x) for x in numbers])


@each_design
def test_types(environment, dual):
    """The translations of index and build have the translated types, in both designs."""
    of_vectors = {
        "index": function(product(vector(REAL), INTEGER), REAL),
        "build": function(product(INTEGER, function(INTEGER, REAL)), vector(REAL)),
    }
    program = parse("fun x -> index (build (n, fun i -> x * 2.0), n)")
    t = function(REAL, REAL)
    assert infer(program, {**TYPES, "n": INTEGER}, t) == t
    context = {**monad.TYPES, **{name: dual(of) for name, of in of_vectors.items()}, "n": INTEGER}
    assert infer(translate(program), context, computation(dual(t))) == computation(dual(t))
    assert (dual(vector(REAL)) == of_type(vector(REAL))) == (environment is VECTOR_OF_DUALS)


@each_design
def test_an_index_has_no_binding(environment, dual):
    """Both designs bind what the elements compute, and nothing else; `arrays` binds an array and an index, too."""
    lookups = "index (v, zero) + index (v, next zero) + index (v, zero)"
    program = with_integers(parse(f"fun x -> let v = build (n, fun i -> x * x) in {lookups}"), 5)
    _, bindings = bindings_of(applied(program, environment, (0.7, DeltaVar(Integer(1)))), Integer(2))
    assert sum(1 for _ in each(bindings)) == 5 + 2

    def with_arrays(x):
        v = arrays.build(5, lambda i: x * x)
        return v[0] + v[1] + v[0]

    assert arrays.grad(with_arrays)(0.7) == pytest.approx(6 * 0.7)


def test_elements_and_errors():
    v = Vector([1.0, (2.0, Zero())])
    assert index((v, Integer(0))) == 1.0
    assert repr(v) == "Vector([1.0, (2.0, Zero())])"
    with pytest.raises(IndexError, match="2 elements; got the index 2"):
        index((v, Integer(2)))
    with pytest.raises(IndexError, match="got the index -1"):
        index((v, Integer(-1)))
