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


MODES = {"F": "forward_gradient", "R": "gradient"}
MIXES = ["FF", "FR", "RF", "RR"]


@pytest.mark.parametrize("modes", MIXES)
def test_the_saddle_point_in_all_mixes_of_modes(modes):
    """Forward and reverse mode, outside and inside. The authors' program has the same answer four times."""
    outer, inner = (MODES[mode] for mode in modes)
    x, y = run(program(f"saddle_by {outer} {inner} payoff (1.0, 1.0) (1.0, 1.0) 0.01"))
    assert (*x, *y) == pytest.approx([SADDLE_POINT] * 4, rel=1e-9)


def test_the_players_start_at_points_of_their_own():
    x, y = run(program("saddle payoff (1.0, -2.0) (3.0, 0.5) 0.01"))
    assert (*x, *y) == pytest.approx([0.0] * 4, abs=5e-3)
    assert abs(x[0] / x[1]) == pytest.approx(0.5)
    assert abs(y[0] / y[1]) == pytest.approx(6.0)


@pytest.fixture
def example(monkeypatch):
    """examples/saddle_point.py, the same optimiser in Python."""
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "examples")
    return importlib.import_module("saddle_point")


PAYOFF = """
    fun both ->
      let (x, y) = both in
      let (s, t) = x in
      let (u, v) = y in
      s * s + 8.0 * t * t - (u * u + 8.0 * v * v) + 2.0 * (s * u + t * v)
"""


@pytest.mark.slow
def test_a_saddle_point_of_the_example_in_python(example):
    """By the same steps; as the players take many, epsilon is large."""
    (game,) = (game for game in example.GAMES if game.name == "s² + 8t² - u² - 8v² + 2(su + tv)")
    game, epsilon = dataclasses.replace(game, epsilon=1.0), 1.0
    solution = example.solve(game)
    x, y = run(program(f"saddle ({PAYOFF}) (1.0, 1.0) (1.0, 1.0) {epsilon}"))
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
    """(H f [3, 4]) [7, 8] = [52, 85], as the paper has it."""
    assert run(program(f"hessian_vector ({QUADRATIC}) (3.0, 4.0) (7.0, 8.0)")) == (52.0, 85.0)


def test_the_hessian_times_a_vector_is_the_printed_term():
    """With CDR for snd, as the paper writes it, and without any definition but that of the dot product."""
    text = f"""
        let f = {QUADRATIC} in let x = (3.0, 4.0) in let v = (7.0, 8.0) in
        snd ((snd ((J (fun x -> dot (snd ((snd ((J f) (J x))) 1.0)) v)) (J x))) 1.0)
    """
    assert run(program(text)) == (52.0, 85.0)


@pytest.mark.parametrize("modes", MIXES)
def test_the_hessian_and_its_quadratic_form_in_all_mixes_of_modes(modes):
    """hessian.vlad of the distribution: ((4, 3), (3, 8)), and (7, 8) times it times (9, 10) is 1318."""
    outer, inner = (MODES[mode] for mode in modes)
    column = f"{outer} (fun x -> {{}} ({inner} ({QUADRATIC}) x)) (3.0, 4.0)"
    assert run(program(f"({column.format('fst')}, {column.format('snd')})")) == ((4.0, 3.0), (3.0, 8.0))
    form = f"dot (7.0, 8.0) ({outer} (fun x -> dot ({inner} ({QUADRATIC}) x) (9.0, 10.0)) (3.0, 4.0))"
    assert run(program(form)) == 1318.0


def test_the_quadratic_form_by_one_bundle_of_bundles():
    """The fifth way of hessian.vlad: both directions at once."""
    text = f"tangent (tangent (J_forward (J_forward ({QUADRATIC})) (bundle (bundle ((3.0, 4.0), (7.0, 8.0)), " + (
        "bundle ((9.0, 10.0), zero (9.0, 10.0))))))"
    )
    assert run(program(text)) == 1318.0


def test_the_hessian_times_a_vector_of_another_function():
    f = "fun p -> sin (fst p * snd p) * exp (fst p)"
    expected = shiftreset_ad.hvp(lambda x, y: np.sin(x * y) * np.exp(x), (0.3, 1.2), (2.0, -1.0))
    assert run(program(f"hessian_vector ({f}) (0.3, 1.2) (2.0, -1.0)")) == pytest.approx(expected, rel=1e-12)


def test_newtons_method():
    assert run(program("root (fun x -> x * x - 4.0) 5.0 0.00001")) == pytest.approx(2.0, abs=1e-9)
    slope = run(program("gradient (fun a -> root (fun x -> x * x - a) 5.0 0.00001) 4.0"))
    assert slope == pytest.approx(0.25, abs=1e-8)


def mnbrak(f, ax, bx):
    """The function of Numerical Recipes, with assignments."""
    fa, fb = f(ax), f(bx)
    if fb > fa:
        ax, bx, fa, fb = bx, ax, fb, fa
    cx = bx + 1.61803399 * (bx - ax)
    fc = f(cx)
    while fb >= fc:
        r, q = (bx - ax) * (fb - fc), (bx - cx) * (fb - fa)
        u = bx - ((bx - cx) * q - (bx - ax) * r) / (2.0 * np.copysign(max(abs(q - r), 1e-20), q - r))
        limit = bx + 100.0 * (cx - bx)
        if (bx - u) * (u - cx) > 0.0:
            fu = f(u)
            if fu < fc:
                return bx, u, cx
            if fu > fb:
                return ax, bx, u
            u = cx + 1.61803399 * (cx - bx)
        elif (cx - u) * (u - limit) > 0.0:
            if f(u) < fc:
                bx, cx, u = cx, u, u + 1.61803399 * (u - cx)
                fb, fc = fc, f(cx)
        elif (u - limit) * (limit - cx) >= 0.0:
            u = limit
        else:
            u = cx + 1.61803399 * (cx - bx)
        ax, bx, cx, fa, fb, fc = bx, cx, u, fb, fc, f(u)
    return ax, bx, cx


LINES = {
    "a parabola near by": "fun t -> (t - 2.5) * (t - 2.5)",
    "a parabola far away": "fun t -> (t - 5000.0) * (t - 5000.0)",
    "a parabola very far away": "fun t -> (t - 500000.0) * (t - 500000.0)",
    "upwards": "fun t -> (t + 700.0) * (t + 700.0)",
    "a quartic": "fun t -> power (t / 100.0 - 9.0) 4.0 + t",
    "a row of hills": "fun t -> t * t / 100000.0 - t + 40.0 * sin (t / 30.0)",
    "concave at first": "fun t -> absolute (t - 3000.0) - 1000.0 * exp (-(t / 400.0) * (t / 400.0))",
    "a distance": "fun t -> sqrt (1.0 + (t - 1234.0) * (t - 1234.0))",
}


@pytest.mark.parametrize("name", LINES)
def test_mnbrak_is_that_of_numerical_recipes(name):
    f = run(parse(LINES[name]))
    for ends in [(-100.0, 100.0), (0.0, 1.0), (5.0, 3.0)]:
        a, (b, c) = run(program(f"mnbrak ({LINES[name]}) {ends}"))
        assert (a, b, c) == pytest.approx(mnbrak(f, *ends), rel=1e-12), ends
        assert f(b) <= min(f(a), f(c))


def test_a_parabolic_step_finds_the_least_of_a_parabola():
    found = run(program(f"mnbrak ({LINES['a parabola far away']}) (-100.0, 100.0)"))
    assert found == (pytest.approx(423.606798), (pytest.approx(5000.0), pytest.approx(12404.759752)))


@pytest.mark.parametrize("name", ["a parabola near by", "a parabola far away", "upwards", "a distance"])
def test_line_search(name):
    least = {"a parabola near by": 2.5, "a parabola far away": 5000.0, "upwards": -700.0, "a distance": 1234.0}[name]
    assert run(program(f"univariate_argmin ({LINES[name]}) 0.01")) == pytest.approx(least, rel=2e-3)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_definition_uses_those_before_it_only(name):
    before = list(DEFINITIONS)[: list(DEFINITIONS).index(name)]
    assert free_variables(parse(DEFINITIONS[name])) <= {*before, *BASIS}
    assert free_variables(program(name)) <= BASIS.keys()
