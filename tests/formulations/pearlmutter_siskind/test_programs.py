"""The programs of section 5."""

import dataclasses
import importlib
from pathlib import Path

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.language import free_variables, parse
from shiftreset_ad.formulations.pearlmutter_siskind import BASIS, run
from shiftreset_ad.formulations.pearlmutter_siskind.programs import DEFINITIONS, SADDLE, program

SADDLE_POINT = 4.965316230354233e-05  # all four coordinates, as recorded in the authors' program saddle.vlad


def test_the_saddle_point():
    """min over x of max over y of |x|^2 - |y|^2, from (1, 1), by gradients through an optimiser that uses gradients."""
    x, y = run(SADDLE)
    assert (*x, *y) == pytest.approx([SADDLE_POINT] * 4, rel=1e-9)


@pytest.fixture
def example(monkeypatch):
    """examples/saddle_point.py, the same optimiser in Python."""
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "examples")
    return importlib.import_module("saddle_point")


PAYOFF = """
    fun x -> fun y ->
      let (s, t) = x in
      let (u, v) = y in
      s * s + 8.0 * t * t - (u * u + 8.0 * v * v) + 2.0 * (s * u + t * v)
"""


def test_a_saddle_point_of_the_example_in_python(example):
    """By the same steps; as the players take many, epsilon is large."""
    (game,) = (game for game in example.GAMES if game.name == "s² + 8t² - u² - 8v² + 2(su + tv)")
    game, epsilon = dataclasses.replace(game, epsilon=1.0), 1.0
    solution = example.solve(game)
    x, y = run(program(f"saddle ({PAYOFF}) (1.0, 1.0) {epsilon}"))
    assert x == pytest.approx(solution.path[-1], rel=1e-6, abs=1e-9)
    assert y == pytest.approx(solution.replies[-1], rel=1e-6, abs=1e-9)
    assert np.hypot(*x) < epsilon


def test_argmin_and_argmax():
    bowl = "fun p -> (fst p - 3.0) * (fst p - 3.0) + 4.0 * (snd p + 1.0) * (snd p + 1.0) + 7.0"
    assert run(program(f"argmin ({bowl}) (1.0, 1.0) 0.001")) == pytest.approx((3.0, -1.0), abs=1e-3)
    assert run(program(f"argmax (fun p -> -(({bowl}) p)) (1.0, 1.0) 0.001")) == pytest.approx((3.0, -1.0), abs=1e-3)
    assert run(program(f"max (fun p -> -(({bowl}) p)) (1.0, 1.0) 0.001")) == pytest.approx(-7.0, abs=1e-6)


def test_the_derivative_of_an_optimum():
    """Through gradient descent: min over p of |p - (a, 2a)|^2 + a^3 is at (a, 2a), and has the derivative 3a^2."""
    text = """
        fun a -> let f = fun p -> (fst p - a) * (fst p - a) + (snd p - 2.0 * a) * (snd p - 2.0 * a) + a * a * a in
        f (argmin f (0.0, 0.0) 0.0001)
    """
    assert run(program(f"gradient ({text}) 1.5")) == pytest.approx(6.75, abs=1e-2)


QUADRATIC = "fun p -> 2.0 * fst p * fst p + 3.0 * fst p * snd p + 4.0 * snd p * snd p"


def test_the_hessian_times_a_vector():
    """The paper multiplies by (7, 8). In hessian.vlad of the distribution, the Hessian is ((4, 3), (3, 8)), and (7, 8)
    times it times (9, 10) is 1318.
    """
    assert run(program(f"hessian_vector ({QUADRATIC}) (3.0, 4.0) (7.0, 8.0)")) == (52.0, 85.0)
    assert run(program(f"hessian_vector ({QUADRATIC}) (3.0, 4.0) (9.0, 10.0)")) == (66.0, 107.0)
    assert run(program(f"dot (7.0, 8.0) (hessian_vector ({QUADRATIC}) (3.0, 4.0) (9.0, 10.0))")) == 1318.0


def test_the_hessian_times_a_vector_of_another_function():
    f = "fun p -> sin (fst p * snd p) * exp (fst p)"
    expected = shiftreset_ad.hvp(lambda x, y: np.sin(x * y) * np.exp(x), (0.3, 1.2), (2.0, -1.0))
    assert run(program(f"hessian_vector ({f}) (0.3, 1.2) (2.0, -1.0)")) == pytest.approx(expected, rel=1e-12)


def test_newtons_method():
    assert run(program("root (fun x -> x * x - 4.0) 5.0 0.00001")) == pytest.approx(2.0, abs=1e-9)
    slope = run(program("gradient (fun a -> root (fun x -> x * x - a) 5.0 0.00001) 4.0"))
    assert slope == pytest.approx(0.25, abs=1e-8)


def test_line_search():
    text = "golden_section (fun t -> (t - 2.5) * (t - 2.5)) (bracket (fun t -> (t - 2.5) * (t - 2.5)) (-100.0, 100.0))"
    assert run(program(text)) == pytest.approx(2.5, rel=2e-3)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_definition_uses_those_before_it_only(name):
    before = list(DEFINITIONS)[: list(DEFINITIONS).index(name)]
    assert free_variables(parse(DEFINITIONS[name])) <= {*before, *BASIS}
    assert free_variables(program(name)) <= BASIS.keys()
