"""Forward J beside reverse J: each alone, and each applied to what the other has made."""

import itertools

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.language import evaluate, parse, show
from shiftreset_ad.formulations.pearlmutter_siskind import BASIS, J, call, run
from shiftreset_ad.formulations.pearlmutter_siskind.bundles import J_forward
from shiftreset_ad.formulations.pearlmutter_siskind.programs import program
from tests.formulations.test_rooms import PROGRAMS

DERIVATIVE = {"F": "forward_derivative", "R": "gradient"}
UNITS = {"real": "1.0", "pair": "(1.0, 0.0)"}
FUNCTIONS = {
    "x^4 by a power": ("fun x -> x * x * power x 2.0", 2.0),
    "a sine": ("fun x -> x * sin (x * x)", 0.7),
    "a function with a free variable": ("fun x -> let f = fun y -> x * y * y in f (f 2.0)", 1.3),
    "a function of functions": ("fun x -> let twice = fun f -> fun y -> f (f y) in twice (fun y -> y * y * x) x", 1.1),
    "recursion": ("fun x -> let rec f n = if n < 1.0 then 1.0 else x * f (n - 1.0) in f 6.0", 1.5),
    "pairs and sums": (
        "fun x -> case (if x < 1.0 then inl x else inr (x, x * x)) of y -> y | z -> fst z * snd z * x",
        1.5,
    ),
    "quotients": ("fun x -> arctan2 x (2.0 + x) - 1.0 / (1.0 + exp x)", 0.7),
}


def power_of(derivatives, f):
    for mode in reversed(derivatives):
        f = f"{DERIVATIVE[mode]} ({f})"
    return f


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_mixes_agree_with_the_library(name, order):
    text, x = FUNCTIONS[name]
    expected = evaluate(parse(text))
    for _ in range(order):
        expected = shiftreset_ad.grad(expected)
    for modes in itertools.product("FR", repeat=order):
        found = run(program(f"{power_of(modes, text)} ({x})"))
        assert found == pytest.approx(expected(x), rel=1e-9), "".join(modes)


@np.errstate(all="ignore")
def test_a_power_of_a_negative_number():
    """Reverse J has a slope for the exponent, too, which is NaN, and which nobody asks for. A derivative of this code
    has it in its sums: the answer is NaN, and not a wrong number.
    """
    f = "fun x -> x * x * power x 2.0"
    found = {modes: run(program(f"{power_of(modes, f)} (-2.0)")) for modes in ("F", "R", "FF", "RF")}
    assert found == {"F": -32.0, "R": -32.0, "FF": 48.0, "RF": 48.0}
    for modes in ("FR", "RR"):
        assert np.isnan(run(program(f"{power_of(modes, f)} (-2.0)")))


@pytest.mark.parametrize("name", [name for name, (_, x) in PROGRAMS.items() if isinstance(x, float)])
def test_programs_of_all_rooms(name):
    text, x = PROGRAMS[name]
    expected = shiftreset_ad.grad(evaluate(parse(text)))(x)
    assert run(program(f"forward_derivative ({text}) ({x})")) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("modes", ["FF", "FR", "RF", "RR"])
def test_nested_derivatives_keep_apart(modes):
    """The inner derivative is of a function with a free variable, by which the outer one differentiates."""
    outer, inner = (DERIVATIVE[mode] for mode in modes)
    assert run(program(f"{outer} (fun x -> x * {inner} (fun y -> x + y) 1.0) 1.0")) == 1.0
    assert run(program(f"{outer} (fun x -> x * {inner} (fun y -> x * y * y) x) 3.0")) == 54.0


@pytest.mark.parametrize("modes", ["FF", "FR", "RF", "RR"])
def test_the_operations_are_differentiated_themselves(modes):
    """An inner derivative as a value that is kept, with its transformed functions in pairs and closures."""
    outer, inner = (DERIVATIVE[mode] for mode in modes)
    kept = f"let d = {inner} (fun y -> x * sin (x * y)) in let p = (d, fun z -> z * d x) in"
    text = f"{outer} (fun x -> {kept} (snd p) x) 0.8"
    f = shiftreset_ad.grad(lambda x: x * shiftreset_ad.grad(lambda y: x * np.sin(x * y))(x))
    assert run(program(text)) == pytest.approx(f(0.8), rel=1e-12)


@pytest.mark.parametrize("mode", ["J", "J_forward"])
@pytest.mark.parametrize("name", [name for name in BASIS if name not in ("plus", "bundle")])
def test_a_primitive_on_bundles_is_the_primitive_with_its_derivative(name, mode):
    """All of them are linear on numbers; the argument is what the primitive takes."""
    x, x_dot = {
        "J": ("x", "x_dot"),
        "J_inverse": ("x", "x_dot"),
        "zero": ("x", "x_dot"),
        "J_forward": ("x", "x_dot"),
        "primal": ("bundle (x, 3.0)", "bundle (x_dot, 0.0)"),
        "tangent": ("bundle (3.0, x)", "bundle (0.0, x_dot)"),
    }[name]
    value = run(parse(f"let x = 5.0 in let x_dot = 2.0 in primal ((J_forward {name}) (bundle ({x}, {x_dot})))"))
    slope = run(parse(f"let x = 5.0 in let x_dot = 2.0 in tangent ((J_forward {name}) (bundle ({x}, {x_dot})))"))
    assert value == run(parse(f"let x = 5.0 in {name} ({x})"))
    assert slope == run(parse(f"let x = 5.0 in let x_dot = 2.0 in {name} ({x_dot})"))


def test_the_transform_is_the_same_code():
    f = run(parse("fun x -> let c = 2.0 in (fun y -> y * c) (x + x)"))
    transformed = show(J_forward(f).procedure.term)
    assert "fun y" in transformed
    assert len(transformed.splitlines()) == len(show(f.procedure.term).splitlines()) + 2


def test_code_grows_by_a_constant_factor():
    def size(n):
        f = run(parse("fun x -> " + "".join("let x = sin x * x in " for _ in range(n)) + "x"))
        images = (f, J(f), J_forward(f), J(J(f)), J(J_forward(f)), J_forward(J(f)), J_forward(J_forward(f)))
        return [len(show(g.procedure.term)) for g in images]

    growth = np.diff([size(n) for n in (20, 40, 80)], axis=0)
    assert growth[1] == pytest.approx(2.0 * growth[0], rel=0.1)


def test_a_call_by_hand():
    f = run(parse("fun p -> fst p * snd p"))
    assert call(J_forward(f), ((3.0, 1.0), (4.0, 0.0))) == (12.0, 4.0)
    _, back = call(J(J_forward(f)), ((3.0, 1.0), (4.0, 0.0)))
    assert call(back, (0.0, 1.0)) == ((), ((0.0, 4.0), (1.0, 3.0)))
