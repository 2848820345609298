"""Section 7: the statements of the proof, each on random or on chosen terms, and Proposition 2."""

import numpy as np
import optree
import pytest
from hypothesis import assume, given, settings

import shiftreset_ad
from shiftreset_ad.formulations.krawiec import monadic, source_duals
from shiftreset_ad.formulations.krawiec.monadic.delta import Scale, Var, Zero, evaluated, lookup_or_zero
from shiftreset_ad.formulations.krawiec.monadic.meaning import free_names, get, meaning, unit_vectors
from shiftreset_ad.formulations.krawiec.monadic.monad import CONSTANTS
from shiftreset_ad.formulations.krawiec.monadic.translation import translate
from shiftreset_ad.formulations.krawiec.monadic.wrapper import vjp
from shiftreset_ad.formulations.language import Const, call, evaluate, free_variables, parse, run
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.types import INTEGER, REAL, UNIT, either, function, product
from shiftreset_ad.formulations.structures import Structure
from tests.formulations.agreement import LARGE, is_close, run_recorded
from tests.formulations.krawiec.monadic.random_deltas import deltas
from tests.formulations.krawiec.monadic.relation import (
    EMPTY,
    POINTS,
    computes_related,
    extended,
    is_related,
    related_values,
)
from tests.formulations.language.term_strategies import SETTINGS
from tests.formulations.random_terms import programs

RANDOM_PROGRAMS = settings(SETTINGS, max_examples=100)
VECTORS = {Integer(i): np.array([np.sin(i), i / 2, 1.0 - i]) for i in (1, 2, 3)}


@pytest.mark.slow
@SETTINGS
@given(deltas(size=20))
def test_lemma_10_eval_computes_the_meaning(u):
    """s * [[u]] is a sum over the free names of u: what `eval s u m` adds to an entry, times its vector."""
    s, m = 1.7, {Integer(i): 10.0 * i for i in (1, 2, 3)}
    after = evaluated(s, u, dict(m))
    total = sum(
        (
            (lookup_or_zero(a, after) - lookup_or_zero(a, m)) * VECTORS[a]
            for a in sorted(free_names(u), key=lambda a: a.value)
        ),
        np.zeros(3),
    )
    np.testing.assert_allclose(s * meaning(u, VECTORS) + np.zeros(3), total, rtol=1e-9, atol=1e-9)


def gradient_of(program, x):
    """The gradient by the library, where rounding says little."""
    with np.errstate(all="ignore"):
        value, _, largest = run_recorded(program, x)
        assume(abs(value) < LARGE and largest < LARGE)
        expected = shiftreset_ad.grad(evaluate(program))(x)
    assume(max(map(abs, optree.tree_leaves(expected))) < LARGE)
    return value, expected


@RANDOM_PROGRAMS
@given(programs(memory=False))
def test_proposition_2_forward_mode(case):
    """F{e}(x, ds) is the Jacobian at x, times ds."""
    program, x = case
    _, gradient = gradient_of(program, x)
    ds = optree.tree_map(lambda leaf: 0.5 - leaf, x)
    along = sum(g * d for g, d in zip(optree.tree_leaves(gradient), optree.tree_leaves(ds), strict=True))
    forward = source_duals.forward(program, function(infer(Const(x)), REAL))
    with np.errstate(all="ignore"):
        assert is_close(float(call(run(forward), (x, ds), lambda y: y)), along)


@pytest.mark.slow
@RANDOM_PROGRAMS
@given(programs(memory=False))
def test_theorem_6_reverse_mode(case):
    """R{e}(x, dt) is dt, times the Jacobian at x."""
    program, x = case
    _, gradient = gradient_of(program, x)
    with np.errstate(all="ignore"):
        found = vjp(program, function(infer(Const(x)), REAL))(x, -1.5)
    assert is_close(optree.tree_map(float, found), optree.tree_map(lambda g: -1.5 * g, gradient))


@RANDOM_PROGRAMS
@given(programs(memory=False))
def test_theorem_9_the_translation_is_adequate(case):
    """From any bindings C, D{e} ends in bindings C' with a value and a z, and [[get C' z]] is the Jacobian."""
    program, x = case
    value, gradient = gradient_of(program, x)
    inputs = Structure(x)
    a = len(inputs.numbers)
    duals = [(s, Var(Integer(i + 1))) for i, s in enumerate(inputs.numbers)]
    before = ((Integer(a + 1), Scale(3.0, Var(Integer(1)))), ())
    with np.errstate(all="ignore"):
        computation = monadic.computation(program)(inputs.with_numbers(duals))
        (y, z), (_, after) = call(computation, (Integer(a + 2), before), lambda answer: answer)
    assert is_close(float(y), value)
    jacobian = meaning(get(after, z), unit_vectors(a)) + np.zeros(a)
    assert is_close(tuple(map(float, jacobian)), tuple(optree.tree_leaves(gradient)))


# The relation of Fig. 13. A context, and terms of every type former in it.

CONTEXT = {
    "x": REAL,
    "n": INTEGER,
    "p": product(REAL, REAL),
    "s": either(REAL, UNIT),
    "f": function(REAL, REAL),
}
TERMS = {
    "2.0": REAL,
    "x": REAL,
    "x * x + fst p": REAL,
    "sin (x * snd p) / (2.0 + x * x)": REAL,
    "n": INTEGER,
    "()": UNIT,
    "(x * 2.0, (n, snd p))": product(REAL, product(INTEGER, REAL)),
    "inl (x * x)": either(REAL, UNIT),
    "case s of y -> inr (y * x) | z -> inl x": either(REAL, REAL),
    "fun y -> x * y": function(REAL, REAL),
    "fun y -> fun z -> f y * z + x": function(REAL, function(REAL, REAL)),
    "fun g -> g x + g (x * x)": function(function(REAL, REAL), REAL),
    "let y = f x in (fun z -> z * y, y)": product(function(REAL, REAL), REAL),
    "fun q -> case q of y -> y * x | m -> f x": function(either(REAL, INTEGER), REAL),
    "(fun g -> fun y -> g (g y)) (fun y -> y * x) (fst p)": REAL,
}


def substitutions(names, world):
    """Some related substitutions for a context, each with the world in which its values are related."""
    if not names:
        yield {}, [{} for _ in POINTS], world
        return
    name, *rest = names
    for v, vs, between in related_values(CONTEXT[name], world):
        for gamma, gammas, after in substitutions(rest, between):
            yield (
                {name: v, **gamma},
                [{name: value, **others} for value, others in zip(vs, gammas, strict=True)],
                after,
            )


def denotation(term, gamma):
    return lambda x: evaluate(term, {name: v(x) for name, v in gamma.items()})


LONGEST = "fun y -> fun z -> f y * z + x"


@pytest.mark.parametrize("text", [pytest.param(t, marks=pytest.mark.slow) if t == LONGEST else t for t in TERMS])
def test_theorem_8_the_fundamental_property(text):
    """Each well-typed term is related to its translation, for related substitutions."""
    term, t = parse(text), TERMS[text]
    assert infer(term, CONTEXT, t) == t
    translated = translate(term)
    used = sorted(free_variables(term))
    for gamma, gammas, world in substitutions(used, EMPTY):
        computations = [run(translated, {**CONSTANTS, **values}) for values in gammas]
        assert computes_related(t, denotation(term, gamma), computations, world)


@pytest.mark.parametrize("name", CONTEXT)
def test_lemma_7_what_is_related_stays_related_in_later_worlds(name):
    t = CONTEXT[name]
    for v, vs, world in related_values(t, EMPTY):
        assert is_related(t, v, vs, world)
        assert is_related(t, v, vs, extended(extended(world, [Zero() for _ in POINTS]), [Zero() for _ in POINTS]))


def test_what_is_not_related():
    """The relation is no empty statement: a wrong value, a wrong vector, a wrong side, a number that depends on x."""
    z = Var(Integer(1))
    assert is_related(REAL, lambda x: x[0], [(x[0], z) for x in POINTS], EMPTY)
    assert not is_related(REAL, lambda x: x[0], [(x[0] + 1.0, z) for x in POINTS], EMPTY)
    assert not is_related(REAL, lambda x: x[0] * x[0], [(x[0] * x[0], z) for x in POINTS], EMPTY)
    assert not is_related(REAL, lambda x: x[0], [(x[0], Zero()) for x in POINTS], EMPTY)
    assert not is_related(INTEGER, lambda x: Integer(1), [Integer(2) for _ in POINTS], EMPTY)
    right = [run(parse("inr 1.0")) for _ in POINTS]
    assert not is_related(either(REAL, REAL), lambda x: run(parse("inl 1.0")), right, EMPTY)


def test_a_wrong_translation_is_not_related():
    """The rule of a product, without the second part of its Delta term."""
    wrong = parse("pure (fun p -> bind (deltaLet (Scale (fst p) (snd p))) (fun u -> pure (fst p * fst p, Var u)))")
    computations = [run(wrong, CONSTANTS) for _ in POINTS]
    assert not computes_related(function(REAL, REAL), lambda x: lambda y: y * y, computations, EMPTY)
