"""Section 3: transforms that lose the sensitivities of free variables, beside the right one."""

import pytest

from shiftreset_ad.formulations.language import parse, show
from shiftreset_ad.formulations.language.anf import to_anf
from shiftreset_ad.formulations.pearlmutter_siskind import Closure, J, call, run
from shiftreset_ad.formulations.pearlmutter_siskind.incorrect import (
    EXAMPLE,
    ArgumentOnly,
    ClosureIgnored,
    FunctionIgnored,
    derivative,
)
from shiftreset_ad.formulations.pearlmutter_siskind.reverse import Transform

INCORRECT = [ArgumentOnly, FunctionIgnored, ClosureIgnored]


@pytest.mark.parametrize("transform", INCORRECT)
def test_the_example_fails(transform):
    assert derivative(Transform, EXAMPLE)(3.0) == 1.0
    assert derivative(transform, EXAMPLE)(3.0) == 0.0


@pytest.mark.parametrize("transform", [Transform, *INCORRECT])
@pytest.mark.parametrize(
    ("text", "x", "slope"),
    [
        ("fun x -> x * x * x", 2.0, 12.0),
        ("fun x -> (fun y -> y * y) (x * 3.0)", 2.0, 36.0),
        ("fun x -> let f = fun y -> (fun z -> z * z) (y * y) in f x", 2.0, 32.0),
        ("fun x -> fst ((fun p -> (snd p, fst p)) (1.0, x)) * 5.0", 2.0, 5.0),
    ],
)
def test_code_whose_functions_have_no_free_variables_is_right(transform, text, x, slope):
    assert derivative(transform, parse(text))(x) == slope


@pytest.mark.parametrize("transform", INCORRECT)
@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("fun x -> (fun y -> x * y) x", 4.0),
        ("fun x -> let f = fun y -> x in f 1.0 + f 1.0", 2.0),
        ("fun x -> let twice = fun f -> fun y -> f (f y) in twice (fun y -> x * y) 1.0", 4.0),
    ],
)
def test_other_free_variables_are_lost_too(transform, text, slope):
    assert derivative(Transform, parse(text))(2.0) == slope
    assert derivative(transform, parse(text))(2.0) < slope


def test_the_example_in_a_normal_form():
    assert show(to_anf(EXAMPLE)) == (
        "fun a ->\n  let t1 = fun b -> let t = fun c -> b in t in let t2 = t1 a in let t3 = 1.0 in let t4 = t2 t3 in t4"
    )


def steps(transform):
    """The way back of the example: what the backpropagators of k = g a, and of k 1, return."""
    g = run(parse("fun b -> fun c -> b"))
    k, k_back = call(Closure(transform(g.procedure).image()), 3.0)
    y, y_back = call(k, 1.0)
    assert y == 3.0
    return y_back, k_back


def test_where_the_sensitivity_is_lost():
    y_back, k_back = steps(Transform)
    assert call(y_back, 1.0) == ((1.0, ()), 0.0)
    assert call(k_back, (1.0, ())) == ((), 1.0)

    y_back, k_back = steps(ArgumentOnly)
    assert call(y_back, 1.0) == 0.0  # of the argument 1, and nothing of k
    assert call(k_back, (0.0, ())) == 0.0  # so k gets a zero

    y_back, k_back = steps(FunctionIgnored)
    assert call(y_back, 1.0) == ((1.0, ()), 0.0)  # it is there, but the call of k does not use it
    assert "fst both2" not in show(FunctionIgnored(run(EXAMPLE).procedure).image().term)
    assert "fst both2" in show(Transform(run(EXAMPLE).procedure).image().term)

    y_back, k_back = steps(ClosureIgnored)
    assert call(y_back, 1.0) == ((1.0, ()), 0.0)
    assert call(k_back, (1.0, ())) == ((), 0.0)  # k gets it, and does not hand it on to b


def test_the_incorrect_transforms_leave_the_right_one_as_it_is():
    f = run(EXAMPLE)
    for transform in INCORRECT:
        transform(f.procedure).image()
    _, back = call(J(f), 3.0)
    assert call(back, 1.0) == ((), 1.0)
