"""Rows at edges: infinite slopes beside `where`, ties, masks, positions and orders that differ from row to row."""

from __future__ import annotations

import numpy as np
import pytest

from shiftreset_ad import grad, hessian, hvp, jvp, vmap

pytestmark = pytest.mark.filterwarnings("ignore:.*it runs row by row::", "ignore::RuntimeWarning")
ROWS = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
POSITIONS = np.array([2, 0, 1, -1])
MATRICES = np.random.default_rng(0).normal(size=(4, 3, 3)) + 3.0 * np.eye(3)


def infinite_slope(x):
    return np.sum(np.where(x > 0.0, np.sqrt(x), 0.0) + np.where(x == 0.0, 1.0, np.log(np.where(x == 0.0, 1.0, x))))


def infinite_slope_chosen(x):
    return np.sum(np.where(x > 0.5, np.sqrt(x) * x, x**2))


def masked_sum(x):
    return np.sum(x * x, where=x > 0.5) + np.prod(x + 1.0, where=x < 1.5)


def masked_mean(x):
    return np.mean(x**2, where=x >= 0.0) + np.max(x * x, where=x > 0.5, initial=-1.0)


def ties(x):
    return np.max(x) * 2.0 + np.min(x * x) + x[np.argmax(x)] + np.median(x) + np.ptp(x)


def orders(x):
    return np.sum(x[np.argsort(x, kind="stable")] * np.arange(3.0)) + np.sort(x)[1] ** 2


def of_pythons_sorted(x):
    return sum(k * y * y for k, y in enumerate(sorted(x)))


def scalars_in_place(x):
    total = x[0] * 1.0
    for y in x[1:]:
        total += y * y
        total *= 0.5
    return total


def elements_in_place(x):
    y = np.zeros(3) + x
    y[np.argmax(x)] *= 3.0
    y[x > 0.5] += 1.0
    return np.sum(y * y)


def rising(x):
    return x[0] * np.abs(x[1]) + np.hypot(x[1], x[2]) + np.linalg.norm(x)


PROGRAMS = [
    *(infinite_slope, infinite_slope_chosen, masked_sum, masked_mean, ties, orders, of_pythons_sorted),
    *(scalars_in_place, elements_in_place, rising),
]
MODES = {
    "value": lambda f: lambda x, v: f(x),
    "grad": lambda f: lambda x, v: grad(f)(x),
    "jvp": lambda f: lambda x, v: jvp(f, (x,), (v,))[1],
    "hvp": lambda f: lambda x, v: hvp(f, (x,), (v,)),
    "hessian": lambda f: lambda x, v: hessian(f)(x),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", PROGRAMS)
def test_rows_at_edges_are_those_of_a_loop(f, mode):
    derivative, v = MODES[mode](f), np.cos(ROWS + np.arange(3.0))
    expected = np.stack([derivative(x, d) for x, d in zip(ROWS, v, strict=True)])
    np.testing.assert_allclose(vmap(derivative)(ROWS, v), expected, rtol=1e-12)


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients_around_rows_at_edges_are_those_of_a_loop(f):
    weights = np.arange(1.0, 5.0)
    expected = np.stack([w * grad(f)(x) for x, w in zip(ROWS, weights, strict=True)])
    np.testing.assert_allclose(grad(lambda rows: weights @ vmap(f)(rows))(ROWS), expected, rtol=1e-12)


@pytest.mark.parametrize("mode", ["value", "grad", "hvp"])
def test_a_position_in_each_row(mode):
    def f(x, i):
        y = np.copy(x)
        y[i] = x[i] ** 2 * x[0]
        return y[i] * x[i - 1] + np.sum(np.take(y, [i, 0]))

    def of_row(x, i):
        return MODES[mode](lambda x: f(x, i))(x, np.ones(3))

    expected = np.stack([of_row(x, i) for x, i in zip(ROWS, POSITIONS, strict=True)])
    np.testing.assert_allclose(vmap(of_row)(ROWS, POSITIONS), expected, rtol=1e-12)


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("of", ["vector", "matrix"])
def test_equations_of_two_batches(axes, of):
    right = ROWS if of == "vector" else MATRICES[::-1].copy()
    a, b = (x if axis == 0 else x[0] for x, axis in zip((MATRICES, right), axes, strict=True))

    def f(a, b):
        return np.sum(np.sin(np.linalg.solve(a, b)))

    gradient = grad(f, argnums=(0, 1))
    for of_rows, of_row in ((vmap(f, axes), f), (vmap(gradient, axes), gradient)):
        each = [of_row(*[x[k] if axis == 0 else x for x, axis in zip((a, b), axes, strict=True)]) for k in range(4)]
        found = of_rows(a, b)
        if isinstance(found, tuple):
            for part, parts in zip(found, zip(*each, strict=True), strict=True):
                np.testing.assert_allclose(part, np.stack(parts), rtol=1e-10, atol=1e-13)
        else:
            np.testing.assert_allclose(found, each, rtol=1e-10)
