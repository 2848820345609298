"""Functions that are defined by type: their types, and their values."""

import pytest

from shiftreset_ad.formulations.language import Left, Right, evaluate
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.polytypic import delta, dot, one_hot, plus, primal, reals, scale, zip_
from shiftreset_ad.formulations.language.types import INTEGER, REAL, STRING, UNIT, either, function, product

SHAPES = {
    "a real": REAL,
    "an integer": INTEGER,
    "pairs": product(REAL, product(INTEGER, REAL)),
    "sums": either(product(REAL, STRING), either(UNIT, REAL)),
    "a sum in a pair": product(REAL, either(REAL, product(REAL, REAL))),
}


def dual(t):
    return product(REAL, REAL) if t == REAL else type(t)(t.kind, tuple(map(dual, t.parts)))


@pytest.mark.parametrize("name", SHAPES)
def test_the_types_of_the_figure(name):
    t = SHAPES[name]
    for term, expected in (
        (scale(t), function(product(REAL, t), t)),
        (plus(t), function(product(t, t), t)),
        (dot(t), function(product(t, t), REAL)),
        (primal(t), function(dual(t), t)),
        (delta(t), function(dual(t), t)),
        (zip_(t), function(product(t, t), dual(t))),
    ):
        assert infer(term, expected=expected) == expected


A = (1.0, Right((2.0, 3.0)))
B = (10.0, Right((20.0, 30.0)))


def test_values():
    t = SHAPES["a sum in a pair"]
    assert evaluate(scale(t))((2.0, A)) == (2.0, Right((4.0, 6.0)))
    assert evaluate(plus(t))((A, B)) == (11.0, Right((22.0, 33.0)))
    assert evaluate(dot(t))((A, B)) == 140.0
    assert evaluate(zip_(t))((A, B)) == ((1.0, 10.0), Right(((2.0, 20.0), (3.0, 30.0))))
    assert evaluate(primal(t))(evaluate(zip_(t))((A, B))) == A
    assert evaluate(delta(t))(evaluate(zip_(t))((A, B))) == B


def test_discrete_values_are_left_alone():
    t = SHAPES["pairs"]
    a = (1.0, (Integer(5), 2.0))
    assert evaluate(scale(t))((3.0, a)) == (3.0, (Integer(5), 6.0))
    assert evaluate(dot(t))((a, a)) == 5.0


@pytest.mark.parametrize("function_of", [plus, dot, zip_])
def test_values_of_different_shapes(function_of):
    t = SHAPES["a sum in a pair"]
    with pytest.raises(TypeError, match="fst: expected a pair"):
        evaluate(function_of(t))((A, (1.0, Left(2.0))))


def test_types_that_are_not_first_order():
    with pytest.raises(TypeError, match="first-order types; got R -> R"):
        dot(product(REAL, function(REAL, REAL)))


def test_one_hot():
    t = product(product(REAL, REAL), REAL)
    assert [evaluate(one_hot(t, i)) for i in range(reals(t))] == [
        ((1.0, 0.0), 0.0),
        ((0.0, 1.0), 0.0),
        ((0.0, 0.0), 1.0),
    ]
    with pytest.raises(TypeError, match="product of real numbers"):
        reals(product(REAL, INTEGER))
