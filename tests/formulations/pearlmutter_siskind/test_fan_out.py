"""Fan-out: each backpropagator is called once, with the sum (Pearlmutter and Siskind 2008, section 7, Fig. 5)."""

import numpy as np
import pytest

from shiftreset_ad.formulations import karczmarczuk
from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.pearlmutter_siskind import J, call, grad, run
from shiftreset_ad.formulations.pearlmutter_siskind.values import Basic

# f = fun x0 -> let x1 = f1 x0 in b (f2 x1, f3 x1), with b a product
FIG_5 = "fun x0 -> let x1 = f1 x0 in f2 x1 * f3 x1"
FUNCTIONS = {"f1": ("sin x", "cos x"), "f2": ("exp x", "exp x"), "f3": ("x * x", "2.0 * x")}


@pytest.fixture
def program():
    """The program of the figure, and the sensitivities with which each backpropagator is called."""
    called = {name: [] for name in FUNCTIONS}

    def observed(name, text, slope):
        def tick(s):
            called[name].append(s)
            return s

        ticking = {"tick": Basic("tick", tick, lambda: pytest.fail("nobody transforms it"))}
        transformed = run(parse(f"fun x -> ({text}, fun s -> ((), {slope} * tick s))"), ticking)
        return Basic(name, run(parse(f"fun x -> {text}")), lambda: transformed)

    functions = {name: observed(name, *texts) for name, texts in FUNCTIONS.items()}
    return run(parse(FIG_5), functions), functions, called


def test_fig_5_each_backpropagator_is_called_once(program):
    f, _, called = program
    x1 = np.sin(0.7)
    slope_of_f2, slope_of_f3 = np.exp(x1) * x1 * x1, np.exp(x1) * 2.0 * x1
    assert grad(f)(0.7) == pytest.approx(np.cos(0.7) * (slope_of_f2 + slope_of_f3))
    assert called["f2"] == [pytest.approx(x1 * x1)]
    assert called["f3"] == [pytest.approx(np.exp(x1))]
    assert called["f1"] == [pytest.approx(slope_of_f2 + slope_of_f3)]


def test_fig_5_backpropagators_are_linear_so_two_calls_give_the_same(program):
    """Where the sum is taken after the calls, f1 is gone through twice."""
    f, functions, called = program
    expected = grad(f)(0.7)
    called["f1"].clear()
    x1, f1_back = call(J(functions["f1"]), 0.7)
    parts = [call(f1_back, x1_bar)[1] for x1_bar in (np.exp(x1) * x1 * x1, np.exp(x1) * 2.0 * x1)]
    assert sum(parts) == pytest.approx(expected)
    assert len(called["f1"]) == 2


def test_fig_5_without_the_sum_calls_grow_exponentially(program):
    """A row of such programs: once each here, and 2**n times where each backpropagator calls those before it."""
    _, functions, called = program
    n = 8
    row = "fun x0 -> " + "".join(f"let x{i + 1} = f3 x{i} in let x{i + 1} = x{i + 1} * x{i + 1} in " for i in range(n))
    grad(run(parse(f"{row} x{n}"), functions))(1.01)
    assert len(called["f3"]) == n

    ways = []
    x = karczmarczuk.NumK(1.01, lambda x_bar: ways.append(x_bar) or {}, 0)
    for _ in range(n):
        x = x * x
    x.back(1.0)
    assert len(ways) == 2**n
