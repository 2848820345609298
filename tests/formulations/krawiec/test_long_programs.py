"""Programs of more than a thousand operations: nothing nests on Python's stack."""

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.krawiec import (
    array_backed,
    arrays,
    delta,
    dense,
    duals,
    fusion,
    monadic,
    sharing,
    source_duals,
    source_sharing,
    structured,
)
from shiftreset_ad.formulations.language import Lam, Var, parse

each_that_shares = pytest.mark.parametrize(
    "room", [duals, dense, sharing, array_backed, structured, arrays, fusion], ids=lambda room: room.__name__
)
each_translation = pytest.mark.parametrize(
    "room", [source_duals, source_sharing, monadic], ids=lambda room: room.__name__
)


@each_that_shares
def test_long_program(room):
    def f(x):
        y = x
        for _ in range(2000):
            y = np.sin(y * x)
        return y

    assert room.grad(f)(1.1) == pytest.approx(shiftreset_ad.grad(f)(1.1), rel=1e-10)


def test_long_program_without_shared_results():
    def f(x):
        y = x
        for _ in range(10_000):
            y = np.sin(y) * 1.0001
        return y

    assert delta.grad(f)(1.1) == pytest.approx(shiftreset_ad.grad(f)(1.1), rel=1e-10)


@each_translation
def test_deep_term(room):
    y = Var("x")
    for _ in range(350):
        y = np.sin(y) * 1.0001 + Var("x")
    term = Lam("x", y)
    assert room.grad(term)(0.7) == pytest.approx(shiftreset_ad.grad(deep)(0.7), rel=1e-10)


def deep(x):
    y = x
    for _ in range(350):
        y = np.sin(y) * 1.0001 + x
    return y


@each_translation
def test_long_loop_of_a_term(room):
    program = parse(
        "fun x -> let rec f s = if fst s < 1.0 then snd s else f (fst s - 1.0, sin (snd s * x)) in f (350.0, x)"
    )

    def loop(x):
        y = x
        for _ in range(350):
            y = np.sin(y * x)
        return y

    assert room.grad(program)(1.1) == pytest.approx(shiftreset_ad.grad(loop)(1.1), rel=1e-10)
