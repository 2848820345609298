"""Bundles of values of each kind, and what is no bundle."""

import pytest

from shiftreset_ad.formulations.language import Left, Right, parse
from shiftreset_ad.formulations.pearlmutter_siskind import BASIS, Closure, call, plus, run, zero
from shiftreset_ad.formulations.pearlmutter_siskind.bundles import J_forward, bundle, primal, tangent
from shiftreset_ad.formulations.pearlmutter_siskind.values import Couple

CLOSURE = run(parse("let a = 2.0 in let p = (3.0, ()) in fun x -> a * x + fst p"))
VALUES = {
    "real": (3.0, 1.0, (3.0, 1.0)),
    "unit": ((), (), ()),
    "pair": ((1.0, (2.0, ())), (10.0, (20.0, ())), ((1.0, 10.0), ((2.0, 20.0), ()))),
    "inl": (Left(2.0), Left(1.0), Left((2.0, 1.0))),
    "inr": (Right((2.0, Left(()))), Right((5.0, Left(()))), Right(((2.0, 5.0), Left(())))),
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_bundle_is_taken_apart(kind):
    value, value_dot, both = VALUES[kind]
    assert bundle(value, value_dot) == both
    assert (primal(both), tangent(both)) == (value, value_dot)
    assert J_forward(value) == bundle(value, zero(value))


@pytest.mark.parametrize("kind", VALUES)
def test_a_bundle_of_bundles(kind):
    value, value_dot, both = VALUES[kind]
    again = bundle(both, bundle(value_dot, zero(value_dot)))
    assert primal(again) == both
    assert tangent(again) == bundle(value_dot, zero(value_dot))
    assert (primal(primal(again)), tangent(primal(again))) == (value, value_dot)
    assert primal(tangent(again)) == value_dot


def test_a_function():
    """Its tangent is a list, as its sensitivity is: of a, and of p."""
    moved = bundle(CLOSURE, (10.0, ((100.0, ()), ())))
    assert isinstance(moved, Closure)
    assert primal(moved).procedure is CLOSURE.procedure
    assert primal(moved).values == CLOSURE.values
    assert tangent(moved) == (10.0, ((100.0, ()), ()))
    assert call(moved, (7.0, 0.0)) == (17.0, 170.0)
    assert call(moved, (7.0, 1.0)) == (17.0, 172.0)


def test_primitives_have_no_tangent():
    for primitive in BASIS.values():
        assert primal(J_forward(primitive)) is primitive
        assert tangent(J_forward(primitive)) == ()
        assert bundle(primitive, ()) is J_forward(primitive)


@pytest.mark.parametrize(
    ("value", "other"),
    [(1.0, (1.0, 2.0)), ((1.0, 2.0), 1.0), (Left(1.0), Right(1.0)), (CLOSURE, (1.0, ())), ((), 1.0)],
)
def test_a_tangent_of_another_structure(value, other):
    with pytest.raises(TypeError, match="is no tangent of"):
        bundle(value, other)


@pytest.mark.parametrize("take", [primal, tangent])
@pytest.mark.parametrize("value", [CLOSURE, BASIS["J"]])
def test_functions_that_are_no_bundles(take, value):
    with pytest.raises(TypeError, match="is not a function on bundles"):
        take(value)


def test_parts_that_are_shared_are_visited_once():
    """With one visit for each path, this would take 2**200 steps."""
    value = Couple((1.0, 1.0))
    for _ in range(200):
        value = Couple((value, value))
    both = J_forward(value)
    assert primal(both) is value
    slope = tangent(bundle(value, value))
    for _ in range(200):
        assert slope[0] is slope[1]
        slope = slope[0]
    assert plus(slope, slope) == (2.0, 2.0)
