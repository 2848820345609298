"""Symbolic differentiation with let: Wang et al. 2019, section 2.1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftreset_ad
from shiftreset_ad.formulations.counting import count
from shiftreset_ad.formulations.language import evaluate, parse, show
from shiftreset_ad.formulations.language.anf import to_anf
from shiftreset_ad.formulations.language.sources import subterms
from shiftreset_ad.formulations.wang import source_forward
from shiftreset_ad.formulations.wang.symbolic import symbolic

RUNNING_EXAMPLE = parse("fun x -> 2.0 * x + x * x * x")


def size(term):
    return sum(1 for _ in subterms(term))


def product(n):
    """A product of n factors, each of which is an operation."""
    return parse("fun x -> " + " * ".join("sin x" for _ in range(n)))


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("fun x -> 3.0", "fun x -> 0.0"),
        ("fun x -> x", "fun x -> 1.0"),
        ("fun x -> a", "fun x -> 0.0"),
        ("fun x -> x + 3.0", "fun x -> 1.0 + 0.0"),
        ("fun x -> x * a", "fun x -> 1.0 * a + x * 0.0"),
        ("fun x -> let y = x in y", "fun x -> let y = x in let y' = 1.0 in y'"),
        ("fun x -> sin x", "fun x -> 1.0 * cos x"),
        ("fun x -> let y = x in y * y'", "fun x -> let y = x in let y'' = 1.0 in y'' * y' + y * 0.0"),
    ],
)
def test_fig_1_rules(term, expected):
    assert show(symbolic(parse(term))) == expected


@given(st.floats(-1e3, 1e3))
def test_the_running_example(x):
    for term in (RUNNING_EXAMPLE, to_anf(RUNNING_EXAMPLE)):
        assert evaluate(symbolic(term))(x) == pytest.approx(2.0 + 3.0 * x * x, rel=1e-12)


def test_each_binding_has_one_more_beside_it():
    """Forward 1 of Fig. 2: the program is interleaved with its derivative."""
    expected = """
fun x ->
  let t = 2.0 in
  let t' = 0.0 in
  let t1 = t * x in
  let t1' = t' * x + t * 1.0 in
  let t2 = x * x in
  let t2' = 1.0 * x + x * 1.0 in
  let t3 = t2 * x in
  let t3' = t2' * x + t2 * 1.0 in
  let t4 = t1 + t3 in
  let t4' = t1' + t3' in t4'
"""
    assert show(symbolic(to_anf(RUNNING_EXAMPLE)), width=40) == expected.strip()


def test_the_explosion():
    """Of a product of n factors: the derivative has n products of n factors. With names, it is linear."""
    without, with_names = (
        [size(symbolic(change(product(n)))) for n in (10, 20, 40)] for change in (lambda term: term, to_anf)
    )
    assert without[2] > 3.5 * without[1] > 3.5 * 3.0 * without[0]
    assert with_names[2] - with_names[1] == 2 * (with_names[1] - with_names[0])


def test_again_and_again():
    """Without names, each order takes as many times the text as there are factors; with names, a constant."""
    growth = {}
    for n in (6, 12):
        for change in (lambda term: term, to_anf):
            once = symbolic(change(product(n)))
            growth.setdefault(change.__name__, []).append(size(symbolic(once)) / size(once))
    assert growth["<lambda>"][1] > 1.6 * growth["<lambda>"][0] > 1.6 * 4.0
    assert max(growth["to_anf"]) < 3.2


def test_each_factor_is_evaluated_n_times_or_once():
    for n in (10, 20):
        operations = [count(evaluate(change(product(n))), 0.9).operations for change in (lambda term: term, to_anf)]
        assert operations == [2 * n - 1, 2 * n - 1]
        derivative, named = (count(evaluate(symbolic(f)), 0.9).operations for f in (product(n), to_anf(product(n))))
        assert derivative >= n * n
        assert named <= 8 * n


def test_with_names_it_is_forward_mode():
    """The same derivative as by Fig. 4, by the same number of operations."""
    for n in (5, 10):
        named, transformed = symbolic(to_anf(product(n))), source_forward.transform(product(n))
        costs = [count(evaluate(term), 0.9).operations for term in (named, transformed)]
        assert evaluate(named)(0.9) == pytest.approx(evaluate(transformed)(0.9), rel=1e-13)
        assert costs[0] == costs[1]


@pytest.mark.parametrize(
    "text",
    [
        "fun x -> let x = x * x in let x = x * x in x",
        "fun x -> let y = sin x in exp (y * y) / (1.0 + y) - x",
        "fun x -> arctan2 x (2.0 + x) * tanh x",
    ],
)
def test_the_derivative_is_that_of_the_library(text):
    f = parse(text)
    for term in (f, to_anf(f)):
        found = evaluate(symbolic(term))(0.7)
        assert found == pytest.approx(shiftreset_ad.grad(evaluate(f))(0.7), rel=1e-12)
    twice = evaluate(symbolic(symbolic(to_anf(f))))(0.7)
    assert twice == pytest.approx(shiftreset_ad.grad(shiftreset_ad.grad(evaluate(f)))(0.7), rel=1e-10)


@pytest.mark.parametrize(
    "text", ["fun x -> fst (x, x)", "fun x -> (fun y -> y) x", "fun x -> x < 1.0", "fun x -> !(ref x)"]
)
def test_other_constructs_are_refused(text):
    with pytest.raises(TypeError, match="straight-line programs"):
        symbolic(parse(text))
    with pytest.raises(TypeError, match="expected a function"):
        symbolic(parse("3.0"))


def test_a_long_program():
    f = parse("fun x -> " + "".join("let x = x * 0.999 in " for _ in range(3000)) + "x")
    assert np.isclose(evaluate(symbolic(f))(1.0), 0.999**3000)
