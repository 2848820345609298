"""The size of what the source transformations write, and deep programs: Wang et al. 2019, Fig. 4, 9, 10 and 11."""

import sys

import pytest

from shiftreset_ad.formulations.language import App, Const, Inl, Inr, Lam, Var, if_then_else, repeat
from shiftreset_ad.formulations.wang import source_cps, source_forward, source_meta, source_shift_reset
from tests.formulations.wang.source_cases import chain, chain_slope, size

ROOMS = [source_forward, source_shift_reset, source_meta, source_cps]
rooms = pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__.rpartition(".")[2])
again = pytest.mark.parametrize("room", [source_forward, source_meta, source_cps])


def nested_cases(n):
    """(if x < 1 then (if ...) * x else x) * x, where each case is an operand."""
    body = Var("x")
    for _ in range(n):
        body = if_then_else(Var("x") < 1.0, body, Var("x")) * Var("x")
    return Lam("x", body)


def cases_in_a_row(n):
    """Each operand is a case: its continuation is all the rest."""
    body = Var("x")
    for _ in range(n):
        body = if_then_else(Var("x") < 1.0, Var("x"), 2.0 * Var("x")) * body
    return Lam("x", body)


def tail_cases(n):
    body = Var("x")
    for _ in range(n):
        body = if_then_else(Var("x") < 1.0, Var("x") * Var("x"), body)
    return Lam("x", body)


def nested_calls(n):
    body = Var("x")
    for _ in range(n):
        body = App(Lam("y", body), Var("x") * Var("x"))
    return Lam("x", body)


@rooms
@pytest.mark.parametrize("programs_of_size", [chain, nested_cases, cases_in_a_row, tail_cases, nested_calls])
def test_size_is_linear(room, programs_of_size):
    sources = [size(programs_of_size(n)) for n in (5, 10, 20)]
    targets = [size(room.transform(programs_of_size(n))) for n in (5, 10, 20)]
    assert targets[2] - targets[1] == 2 * (targets[1] - targets[0])
    assert targets[2] - targets[1] <= 20 * (sources[2] - sources[1])


@again
def test_size_is_linear_again(room):
    targets = [size(room.transform(room.transform(cases_in_a_row(n)))) for n in (5, 10, 20)]
    assert targets[2] - targets[1] == 2 * (targets[1] - targets[0])


@rooms
def test_long_chain(room):
    """600 operations, each of which nests in the one before."""
    limit = sys.getrecursionlimit()
    assert room.grad(chain(300))(0.5) == pytest.approx(chain_slope(300, 0.5), rel=1e-9)
    assert sys.getrecursionlimit() == limit


@rooms
def test_deep_expressions(room):
    deep, counter = Var("x"), Inl(Const(()))
    for _ in range(300):
        deep = 0.5 * deep
    for _ in range(2000):
        counter = Inr(counter)
    f = Lam("x", App(Lam("y", App(Lam("_", Var("y")), counter)), deep))
    assert room.grad(f)(1.0) == 0.5**300


@rooms
def test_deep_cases_and_functions(room):
    assert room.grad(nested_cases(200))(0.999) == pytest.approx(201 * 0.999**200)
    assert room.grad(tail_cases(300))(2.0) == 1.0


@rooms
def test_long_loop(room):
    f = Lam("x", repeat(300, Lam("y", 0.999 * Var("y") * Var("x")), Const(1.0)))
    assert room.grad(f)(1.0) == pytest.approx(300 * 0.999**300)
