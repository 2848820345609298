"""Section 8.3, the third design: vectors are primitive data."""

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.krawiec.monadic import monad
from shiftreset_ad.formulations.krawiec.monadic.delta import Linear, Zero, empty_map, evaluated
from shiftreset_ad.formulations.krawiec.monadic.delta import Var as DeltaVar
from shiftreset_ad.formulations.krawiec.monadic.monad import bindings_of, computation, each, run_delta
from shiftreset_ad.formulations.krawiec.monadic.primitive_vectors import (
    PRIMITIVE_VECTORS,
    REALS,
    SOURCE,
    TYPES,
    with_primitive_vectors,
)
from shiftreset_ad.formulations.krawiec.monadic.translation import translate
from shiftreset_ad.formulations.krawiec.monadic.vectors import VECTOR_OF_DUALS, Vector
from shiftreset_ad.formulations.language import evaluate, parse
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.types import INTEGER, REAL, function
from tests.formulations.krawiec.monadic.test_vectors import PROGRAMS, SUM, applied, with_integers

NUMBERS = np.array([0.5, -1.0, 2.0])
# Programs of Vector R
OF_VECTORS = {
    "dot": "fun v -> dot (v, v)",
    "elementwise": "fun v -> let w = times (v, v) in sum (add (times (w, v), w)) * sum v",
    "built": "fun v -> let w = build (n, fun i -> sin (index (v, i))) in dot (v, w)",
    "indexed": "fun v -> index (v, zero) * sin (index (v, next zero)) + index (v, zero)",
    "a vector that is not used": "fun v -> let w = times (v, v) in sum v",
    "constants": "fun v -> dot (v, build (n, fun i -> 3.0))",
}


def gradient(program, x, gives):
    um = evaluated(1.0, run_delta(Integer(2), applied(program, PRIMITIVE_VECTORS, (x, DeltaVar(Integer(1)))))[1], {})
    return um.get(Integer(1), gives)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_have_vectors_inside(name):
    """The programs of the other two designs."""
    program = with_integers(parse(PROGRAMS[name]), 4)
    expected = shiftreset_ad.grad(evaluate(program, SOURCE))(0.7)
    assert gradient(program, 0.7, 0.0) == pytest.approx(expected)


@pytest.mark.parametrize("name", OF_VECTORS)
def test_programs_of_vectors(name):
    program = with_integers(parse(OF_VECTORS[name]), len(NUMBERS))
    f = evaluate(program, SOURCE)
    expected = shiftreset_ad.grad(lambda xs: f(Vector([xs[i] for i in range(len(NUMBERS))])))(NUMBERS)
    np.testing.assert_allclose(gradient(program, NUMBERS, np.zeros(3)), expected, rtol=1e-12)


def test_an_operation_on_vectors_has_one_binding():
    """With vectors of duals, a dot product binds each product and each sum."""
    program = with_integers(parse("fun v -> dot (times (v, v), v)"), 50)
    _, bindings = bindings_of(applied(program, PRIMITIVE_VECTORS, (np.ones(50), DeltaVar(Integer(1)))), Integer(2))
    assert [type(u) for _, u in each(bindings)] == [Linear, Linear]
    of_elements = with_integers(parse("fun v -> " + SUM.format("index (v, i) * index (v, i) * index (v, i)")), 50)
    duals = Vector([(1.0, DeltaVar(Integer(i + 1))) for i in range(50)])
    _, bindings = bindings_of(applied(of_elements, VECTOR_OF_DUALS, duals), Integer(51))
    assert sum(1 for _ in each(bindings)) >= 150


def test_types():
    """The translations of the operations have the translated types."""
    t = function(REALS, REAL)
    for text in OF_VECTORS.values():
        program = with_integers(parse(text), 3)
        assert infer(program, TYPES, t) == t
        context = {**monad.TYPES, **{name: with_primitive_vectors(of) for name, of in TYPES.items()}}
        image = computation(with_primitive_vectors(t))
        assert infer(translate(program), context, image) == image
    assert with_primitive_vectors(INTEGER) == INTEGER


def test_errors():
    v, w = (np.ones(3), Zero()), (np.ones(1), Zero())
    for name in ("add", "times", "dot"):
        with pytest.raises(ValueError, match=f"{name}: the vectors have 3 and 1 elements"):
            PRIMITIVE_VECTORS[name]((v, w))
    for wrong in (-1, 3):
        with pytest.raises(IndexError, match=f"3 elements; got the index {wrong}"):
            PRIMITIVE_VECTORS["index"]((v, Integer(wrong)))
    assert evaluated(1.0, Linear(lambda x: []), empty_map()) == {}
