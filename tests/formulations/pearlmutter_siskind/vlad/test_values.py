"""zero, plus, J and its inverse on each kind of value, with tags."""

import pytest

from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.pearlmutter_siskind.vlad import run
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.values import (
    EMPTY,
    J,
    J_inverse,
    Tagged,
    conforms,
    matches,
    pair,
    plus,
    tagged_list,
    zero,
)

CLOSURE = run(parse("let a = 1.0 in let b = 2.0 in fun x -> (a, (b, x))"))
VALUES = {
    "empty list": EMPTY,
    "real": 3.0,
    "tagged real": Tagged(3.0),
    "primitive": run(parse("J")),
    "pair": pair(1.0, pair(2.0, EMPTY)),
    "closure": CLOSURE,
    "closure of closures": run(parse("let f = fun x -> x in let p = (f, 1.0) in fun x -> p")),
    "transformed closure": J(CLOSURE),
}


@pytest.mark.parametrize("kind", VALUES)
def test_j_inverse_is_the_inverse(kind):
    value = VALUES[kind]
    assert conforms(J_inverse(J(value)), value)
    assert conforms(J_inverse(J_inverse(J(J(value)))), value)
    assert not conforms(J(value), value)


@pytest.mark.parametrize("kind", VALUES)
def test_exactly_one_zero_matches(kind):
    value = VALUES[kind]
    assert matches(value, zero(value))
    assert conforms(zero(value), plus(zero(value), zero(value)))
    assert not matches(J(value), zero(value))
    assert matches(J(value), zero(J(value)))


@pytest.mark.parametrize("kind", VALUES)
def test_the_zero_of_a_reverse_value_is_the_reverse_value_of_the_zero(kind):
    """The sensitivity of a transformed function has the shape of that of the function, for which there are B e."""
    value = VALUES[kind]
    assert conforms(zero(J(value)), J(zero(value)))


def test_reals_carry_tags():
    assert J(3.0) == Tagged(3.0)
    assert J(J(3.0)) == Tagged(Tagged(3.0))
    assert zero(J(3.0)) == Tagged(0.0)
    assert plus(Tagged(1.0), Tagged(2.0)) == Tagged(3.0)
    assert J(EMPTY) == Tagged(EMPTY)


def test_the_sensitivity_of_a_closure_is_a_list():
    """Of a, of b, which are the constants 1.0 and 2.0, and of CONS, in the order of variables."""
    assert conforms(zero(CLOSURE), tagged_list([0.0, 0.0, EMPTY], 0))
    assert conforms(zero(J(CLOSURE)), tagged_list([Tagged(0.0), Tagged(0.0), Tagged(EMPTY)], 1))
    assert conforms(zero(pair(1.0, EMPTY)), tagged_list([0.0, EMPTY], 0))
    assert zero(run(parse("fun x -> x"))) == EMPTY


@pytest.mark.parametrize(("v", "w"), [(1.0, EMPTY), (1.0, Tagged(1.0)), (pair(1.0, 2.0), CLOSURE)])
def test_values_that_do_not_conform(v, w):
    assert not conforms(v, w)
    with pytest.raises(TypeError, match="do not conform"):
        plus(v, w)


def test_what_is_no_reverse_value():
    for value in (3.0, EMPTY, CLOSURE, VALUES["primitive"]):
        with pytest.raises(TypeError, match="is no reverse value"):
            J_inverse(value)
