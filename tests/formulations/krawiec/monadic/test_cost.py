"""Lemma 3 and Theorem 5: the translated program, and the reverse derivative, counted in steps of the machine."""

import pytest

from shiftreset_ad.formulations.krawiec import monadic
from shiftreset_ad.formulations.krawiec.monadic.delta import Var
from shiftreset_ad.formulations.krawiec.monadic.monad import CONSTANTS, bindings_of, each
from shiftreset_ad.formulations.krawiec.monadic.wrapper import reverse
from shiftreset_ad.formulations.language import App, Const, call, machine, parse, run
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.types import REAL, function
from tests.formulations.krawiec.monadic.random_deltas import size

LOOP = "fun x -> let rec f s = if fst s < 1.0 then snd s else f (fst s - 1.0, {body}) in f ({n}, x)"
BODIES = {
    "squares, each result is used twice": "snd s * snd s",
    "functions of functions": "(fun g -> g (g (snd s))) (fun y -> sin (y * x))",
    "sums and pairs": "fst ((if snd s < x then snd s else x * snd s), snd s)",
}
ROUNDS = (20, 40, 80)
FACTOR = 40  # steps of `pure` and `bind` are steps of the machine, too
R_TO_R = function(REAL, REAL)
each_body = pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)


@pytest.fixture
def steps(monkeypatch):
    """How many steps the machine takes for a call of a function without arguments."""
    count = [0]
    original = machine.step

    def counted(*state):
        count[0] += 1
        return original(*state)

    monkeypatch.setattr(machine, "step", counted)

    def measure(function):
        before = count[0]
        function()
        return count[0] - before

    return measure


def program(body, n):
    return parse(LOOP.format(body=body, n=float(n)))


def plainly(term):
    return lambda: run(App(term, Const(0.9)))


def translated(term):
    return lambda: bindings_of(monadic.computation(term)((0.9, Var(Integer(1)))), Integer(2))


@each_body
def test_lemma_3_time(body, steps):
    """Each step of the program is a bounded number of steps of its translation, whatever its length."""
    plain = [steps(plainly(program(body, n))) for n in ROUNDS]
    after = [steps(translated(program(body, n))) for n in ROUNDS]
    assert after[2] - after[1] == 2 * (after[1] - after[0])
    assert all(cost <= FACTOR * of_program for cost, of_program in zip(after, plain, strict=True))


@each_body
def test_lemma_3_memory(body, steps):
    """What the translation adds to memory is its bindings: fewer than the steps of the program, of a bounded size."""
    for n in ROUNDS:
        _, bindings = translated(program(body, n))()
        sizes = [size(delta) for _, delta in each(bindings)]
        assert len(sizes) <= steps(plainly(program(body, n)))
        assert max(sizes) <= 5


@each_body
def test_theorem_5_time(body, steps):
    """R{e}: the bounds of the translation, and of `eval` (Lemma 4), together."""
    plain = [steps(plainly(program(body, n))) for n in ROUNDS]
    derivatives = [run(reverse(program(body, n), R_TO_R), CONSTANTS) for n in ROUNDS]
    after = [steps(lambda r=r: call(r, (0.9, 1.0), lambda y: y)) for r in derivatives]
    assert after[2] - after[1] == 2 * (after[1] - after[0])
    assert all(cost <= FACTOR * of_program for cost, of_program in zip(after, plain, strict=True))
