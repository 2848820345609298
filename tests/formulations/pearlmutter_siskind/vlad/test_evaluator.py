"""The programs of the paper by the letter of section 4."""

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations import pearlmutter_siskind
from shiftreset_ad.formulations.language import evaluate, parse
from shiftreset_ad.formulations.pearlmutter_siskind.vlad import run
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.values import EMPTY, Tagged, conforms, pair, parts, tagged_list
from tests.formulations.test_rooms import PROGRAMS

GRADIENT = "let gradient = fun f -> fun x -> snd ((snd ((J f) (J x))) 1.0) in "
ENCODED = [
    "the paper's 2x + x^3",
    "sharing",
    "quotients and functions of two",
    "a constant",
    "the argument itself",
    "a function with a free variable",
    "a function of functions",
    "shadowing",
    "recursion",
    "a branch that is equal",
]


@pytest.mark.parametrize("name", ENCODED)
def test_gradients_agree_with_the_library_and_with_the_room(name):
    text, x = PROGRAMS[name]
    found = run(parse(f"{GRADIENT} gradient ({text}) ({x})"))
    assert found == pytest.approx(shiftreset_ad.grad(evaluate(parse(text)))(x), rel=1e-12)
    assert found == pytest.approx(pearlmutter_siskind.grad(parse(text))(x), rel=1e-12)


def test_the_answer_and_the_backpropagator_of_the_worked_example():
    """f' applied to 4' is 4', and a backpropagator that maps 1 to ([], 1): a closed function has no sensitivities."""
    text = "let f = fun a -> ((fun b -> fun c -> b) a) a in let both = (J f) (J 4.0) in (fst both, (snd both) 1.0)"
    answer, sensitivities = parts(run(parse(text)))
    assert answer == Tagged(4.0)
    assert conforms(sensitivities, pair(EMPTY, 1.0))
    assert parts(sensitivities)[1] == 1.0


def test_constants_are_free_variables():
    """So the sensitivity of (fun a -> ...) 1 has one of the constant in it: the paper's lines III and VI."""
    text = "let f = fun a -> ((fun b -> fun c -> b) a) 1.0 in (snd ((J f) (J 4.0))) 1.0"
    environment, of_a = parts(run(parse(text)))
    assert conforms(environment, tagged_list([0.0], 0))
    assert (parts(environment)[0], of_a) == (0.0, 1.0)


@pytest.mark.parametrize("f", ["fun x -> x * x * x", "fun x -> sin x", "fun x -> if x < 3.0 then x * x else x"])
def test_second_derivatives(f):
    expected = shiftreset_ad.grad(shiftreset_ad.grad(evaluate(parse(f))))(2.0)
    assert run(parse(f"{GRADIENT} gradient (gradient ({f})) 2.0")) == pytest.approx(expected, rel=1e-12)


def test_nested_derivatives_keep_apart():
    assert run(parse(f"{GRADIENT} gradient (fun x -> x * gradient (fun y -> x + y) 1.0) 1.0")) == 1.0


@pytest.mark.slow
def test_the_hessian_times_a_vector():
    """[52, 85]. The sensitivity of an encoded pair is a list, so the dot product takes the gradient as a list."""
    text = f"""{GRADIENT}
        let f = fun p -> 2.0 * (fst p * fst p) + 3.0 * (fst p * snd p) + 4.0 * (snd p * snd p) in
        let dot = fun g -> fst g * 7.0 + fst (snd g) * 8.0 in
        gradient (fun x -> dot (gradient f x)) (3.0, 4.0)
    """
    assert conforms(run(parse(text)), tagged_list([52.0, 85.0], 0))
    first, rest = parts(run(parse(text)))
    assert (first, parts(rest)[0]) == (52.0, 85.0)


def test_the_primitives_take_what_they_are_for():
    with pytest.raises(TypeError, match="expected real numbers"):
        run(parse("sin (J 1.0)"))
    with pytest.raises(TypeError, match="expected a pair"):
        run(parse("plus 1.0"))
    with pytest.raises(TypeError, match="is no function"):
        run(parse("1.0 2.0"))
    with pytest.raises(NameError, match="the variable unknown"):
        run(parse("unknown"))


@pytest.mark.parametrize("name", ["sin", "exp", "log", "sqrt", "tanh"])
def test_unary_primitives(name):
    found = run(parse(f"{GRADIENT} gradient (fun x -> {name} x) 0.7"))
    assert found == pytest.approx(shiftreset_ad.grad(getattr(np, name))(0.7), rel=1e-14)
