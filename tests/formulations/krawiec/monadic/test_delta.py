"""Fig. 11: evaluation, maps and the monad, and Lemma 4."""

import pytest
from hypothesis import given

from shiftreset_ad.formulations.krawiec.monadic import delta as fig_11
from shiftreset_ad.formulations.krawiec.monadic.delta import (
    Add,
    Let,
    Scale,
    Var,
    Zero,
    add_delta,
    delete,
    empty_map,
    evaluated,
    lookup,
    lookup_or_zero,
)
from shiftreset_ad.formulations.krawiec.monadic.monad import CONSTANTS, bindings_of, run_delta
from shiftreset_ad.formulations.language import parse, run
from shiftreset_ad.formulations.language.discrete import Integer
from tests.formulations.krawiec.monadic.random_deltas import deltas, size, x
from tests.formulations.language.term_strategies import SETTINGS


def test_the_five_functions_on_maps():
    a, b = Integer(1), Integer(2)
    um = add_delta(a, 2.0, empty_map())
    assert (lookup(a, um), lookup(b, um)) == (2.0, None)
    assert (lookup_or_zero(a, um), lookup_or_zero(b, um)) == (2.0, 0.0)
    assert lookup(a, add_delta(a, 3.0, um)) == 5.0
    assert lookup(a, delete(a, um)) is None


@pytest.mark.parametrize(
    ("u", "expected"),
    [
        (Zero(), {}),
        (Scale(3.0, x(1)), {Integer(1): 6.0}),
        (Add(x(1), x(2)), {Integer(1): 2.0, Integer(2): 2.0}),
        (Add(x(1), x(1)), {Integer(1): 4.0}),
        (Let(Integer(3), Add(x(1), x(2)), Scale(5.0, x(3))), {Integer(1): 10.0, Integer(2): 10.0}),
        (Let(Integer(3), Add(x(1), x(2)), x(1)), {Integer(1): 2.0}),  # a name that is not used is not evaluated
    ],
)
def test_the_equations_of_eval(u, expected):
    assert evaluated(2.0, u, empty_map()) == expected


def test_run_delta_wraps_the_bindings_with_the_first_one_outside():
    two = run(parse("bind (deltaLet Zero) (fun u -> bind (deltaLet (Var u)) (fun v -> pure (1.0, Var v)))"), CONSTANTS)
    value, u = run_delta(Integer(5), two)
    assert value == 1.0
    assert (u.uid, u.bound, u.body.uid, u.body.bound, u.body.body) == (Integer(5), Zero(), Integer(6), x(5), x(6))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("bind (pure 3.0) f", "f 3.0"),
        ("bind (deltaLet Zero) pure", "deltaLet Zero"),
        (
            "bind (bind (deltaLet Zero) g) f",
            "bind (deltaLet Zero) (fun x -> bind (g x) f)",
        ),
    ],
)
def test_laws_of_the_monad(left, right):
    environment = {
        **CONSTANTS,
        "f": run(parse("fun x -> bind (deltaLet Zero) (fun u -> pure (x, u))"), CONSTANTS),
        "g": run(parse("fun u -> deltaLet (Var u)"), CONSTANTS),
    }
    answers = [bindings_of(run(parse(text), environment), Integer(1)) for text in (left, right)]
    assert answers[0] == answers[1]


@pytest.mark.slow
@SETTINGS
@given(deltas(size=30))
def test_lemma_4_each_part_is_evaluated_once_at_most(u):
    """So time is linear in the size of the term, and so is memory: only the case `Var` makes an entry of the map."""
    calls, largest = [], [0]
    original = fig_11._eval

    def counted(x, u, um):
        calls.append(u)
        largest[0] = max(largest[0], len(um))
        return original(x, u, um)

    fig_11._eval = counted
    try:
        um = evaluated(1.0, u, empty_map())
    finally:
        fig_11._eval = original
    assert len(calls) <= size(u)
    assert max(largest[0], len(um)) <= sum(isinstance(part, Var) for part in calls)
