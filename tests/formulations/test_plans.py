"""The criteria of Krawiec et al. 2022, Fig. 2, Lemma 1 and the two plans of 3.2, for every room."""

import numpy as np
import optree
import pytest

import shiftreset_ad
from shiftreset_ad.formulations import ROOMS
from shiftreset_ad.formulations.language import evaluate, parse
from shiftreset_ad.formulations.language.types import INTEGER, REAL, function, product
from shiftreset_ad.formulations.plans import forward, forward_plan, reverse, reverse_plan, units

R2 = product(REAL, REAL)
# A main expression from R^a to R^b, its type, an argument, a change of the argument and a change of the result.
CASES = {
    "R to R": ("fun x -> x * sin x", function(REAL, REAL), 1.5, 2.0, -0.5),
    "R^3 to R": (
        "fun x -> fst x * sin (fst (snd x)) + snd (snd x)",
        function(product(REAL, R2), REAL),
        (1.5, (0.5, 2.0)),
        (1.0, (-1.0, 0.5)),
        2.0,
    ),
    "R to R^3": (
        "fun x -> let y = x * x in (y, (sin y, 2.0))",
        function(REAL, product(REAL, R2)),
        0.7,
        2.0,
        (1.0, (-1.0, 0.5)),
    ),
    "R^2 to R^2": (
        "fun x -> let r = fst x in let t = snd x in (r * cos t, r * sin t)",
        function(R2, R2),
        (2.0, 0.5),
        (1.0, 3.0),
        (0.25, -2.0),
    ),
}


def flat(value):
    return np.array([float(x) for x in optree.tree_leaves(value)])


def jacobian(e, s):
    """By the library."""
    spec = optree.tree_structure(s)
    rows = shiftreset_ad.jacobian(
        lambda numbers: optree.tree_leaves(evaluate(e)(optree.tree_unflatten(spec, numbers)))
    )(optree.tree_leaves(s))
    return np.array([[0.0 if x is None else float(x) for x in row] for row in rows])


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.path)
@pytest.mark.parametrize("name", CASES)
def test_fig_2_and_lemma_1(room, name):
    program, t, s, ds, dt = CASES[name]
    e = parse(program)
    expected = jacobian(e, s)
    pushed, pulled = forward(room, e, t)(s, ds), reverse(room, e, t)(s, dt)
    assert optree.tree_structure(pushed) == optree.tree_structure(dt)
    assert optree.tree_structure(pulled) == optree.tree_structure(s)
    np.testing.assert_allclose(flat(pushed), expected @ flat(ds), rtol=1e-12)
    np.testing.assert_allclose(flat(pulled), flat(dt) @ expected, rtol=1e-12)
    assert flat(dt) @ flat(pushed) == pytest.approx(flat(pulled) @ flat(ds), rel=1e-12)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.path)
@pytest.mark.parametrize("name", CASES)
def test_the_two_plans(room, name):
    program, t, s, *_ = CASES[name]
    e = parse(program)
    expected = jacobian(e, s)
    np.testing.assert_allclose(np.array(forward_plan(room, e, t)(s), float), expected, rtol=1e-12)
    np.testing.assert_allclose(np.array(reverse_plan(room, e, t)(s), float), expected, rtol=1e-12)


def test_units():
    assert units(product(R2, REAL)) == [((1.0, 0.0), 0.0), ((0.0, 1.0), 0.0), ((0.0, 0.0), 1.0)]
    with pytest.raises(TypeError, match="product of real numbers"):
        units(product(REAL, INTEGER))
