"""Scripts as users have them, staged: the answers are the function's own, and recordings that do not pay are rare."""

import sys
import warnings
from itertools import product

import numpy as np
import pytest

from shiftreset_ad import grad, hvp, jacobian, staged, value_and_grad
from shiftreset_ad.staging import StagingWarning
from shiftreset_ad.staging.patience import PAYS
from shiftreset_ad.staging.ways import MOST_WAYS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.1
ZEROS = {"w": np.zeros(3), "b": 0.0}


def squares(p, x, y):
    return np.mean((x @ p["w"] + p["b"] - y) ** 2)


def answers_of(step, arguments):
    """What a function answers, the state first, which is its first argument the next time."""
    state, answers = next(arguments), []
    for more in arguments:
        state = step(state, *more)
        answers.append(state)
    return answers


def require_same(f, arguments, ways):
    """The answers of the function itself, to the last bit."""
    f_staged = staged(f)
    np.testing.assert_equal(answers_of(f_staged, iter(arguments)), answers_of(f, iter(arguments)))
    assert len(f_staged.sources) == ways
    return f_staged


# Optimisers


def test_gradient_descent_by_mini_batches():
    def step(p, x, y, rate):
        slope = grad(squares)(p, x, y)
        return {name: p[name] - rate * slope[name] for name in p}

    batches = [(X[i : i + 16], Y[i : i + 16], 0.1 / (1 + i)) for _ in range(3) for i in (0, 16, 32)]
    require_same(step, [ZEROS, *batches], ways=2)  # the last is smaller


def test_adam():
    def step(state, t):
        p, m, v = state
        slope = grad(squares)(p, X, Y)
        m = {name: 0.9 * m[name] + 0.1 * slope[name] for name in p}
        v = {name: 0.999 * v[name] + 0.001 * slope[name] ** 2 for name in p}
        size = {name: np.sqrt(v[name] / (1 - 0.999**t)) + 1e-8 for name in p}
        return {name: p[name] - 0.05 * m[name] / (1 - 0.9**t) / size[name] for name in p}, m, v

    f = staged(step)
    counts = [(float(t),) for t in range(1, 31)]
    start = (ZEROS, ZEROS, ZEROS)
    np.testing.assert_equal(answers_of(f, iter([start, *counts])), answers_of(step, iter([start, *counts])))
    assert 1 <= len(f.sources) <= 3


def test_newton_with_conjugate_gradients():
    def rosenbrock(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def step(x):
        residual = grad(rosenbrock)(x)
        direction, p, size = np.zeros_like(x), residual, residual @ residual
        for _ in range(20):
            product = hvp(rosenbrock, (x,), (p,))
            length = size / (p @ product)
            direction, residual = direction + length * p, residual - length * product
            before, size = size, residual @ residual
            if size < 1e-10:
                break
            p = residual + size / before * p
        return x - direction

    f = staged(step)
    calls = [np.full(6, 0.8), *[()] * 10]
    np.testing.assert_equal(answers_of(f, iter(calls)), answers_of(step, iter(calls)))
    assert 1 <= len(f.sources) < 10


def test_a_network_with_labels_and_a_mask():
    def loss(p, x, labels, mask):
        z = np.maximum(0, x @ p["in"]) * mask @ p["out"]
        z = z - np.max(z, axis=1, keepdims=True)
        logarithms = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
        one_hot = labels[:, None] == np.arange(3)  # np.eye(3)[labels] would read the labels
        return -np.mean(logarithms[np.arange(len(labels)), labels]) - np.mean(one_hot * logarithms)

    def step(p, x, labels, mask):
        slope = grad(loss)(p, x, labels, mask)
        return {name: p[name] - 0.1 * slope[name] for name in p}

    start = {"in": RNG.normal(size=(3, 5)), "out": RNG.normal(size=(5, 3))}
    batches = [(X[i : i + 8], RNG.integers(0, 3, 8), RNG.random((8, 5)) < 0.8) for i in (0, 8, 16, 24, 32)]
    require_same(step, [start, *batches], ways=1)


def test_a_saddle_point():
    def worst_case(x):
        def payoff(y):
            return x @ x - y @ y + x @ y

        y = np.zeros(2)
        for _ in range(10):
            y = y + 0.1 * grad(payoff)(y)
        return payoff(y)

    require_same(lambda x: x - 0.1 * grad(worst_case)(x), [np.array([1.0, 2.0]), *[()] * 5], ways=1)


def test_a_filter_and_an_implicit_derivative():
    def likelihood(p, measured):
        x, variance, total = np.zeros(2), np.eye(2), 0.0
        move, look = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]])
        for z in measured:
            x, variance = move @ x, move @ variance @ move.T + np.exp(p[0]) * np.eye(2)
            spread, error = look @ variance @ look.T + np.exp(p[1]) * np.eye(1), z - look @ x
            gain = np.linalg.solve(spread, look @ variance).T
            x, variance = x + gain @ error, variance - gain @ look @ variance
            total = total + error @ np.linalg.solve(spread, error) + np.linalg.slogdet(spread)[1]
        return total

    measured = RNG.normal(size=(6, 1))
    require_same(
        lambda p: p - 0.01 * value_and_grad(likelihood)(p, measured)[1], [np.array([-1.0, 0.0]), *[()] * 4], ways=1
    )

    def residual(y, t):
        return y**3 + t[0] * y - t[1]

    def slope_of_root(t):
        y = t[1]
        for _ in range(8):
            y = y - residual(y, t) / grad(residual)(y, t)
        return -jacobian(residual, 1)(y, t) / grad(residual)(y, t)

    require_same(lambda t: t + 0.1 * slope_of_root(t), [np.array([1.0, 2.0]), *[()] * 4], ways=1)


# Classes and redefinitions


def test_attributes_that_change_between_calls():
    class Model:
        rate = 0.1

        @staged
        def step(self, w):
            return w - self.rate * grad(lambda w: np.sum(w**2))(w)

    model, w = Model(), np.ones(2)
    for rate in (0.1, 0.1, 0.1, 0.5, 0.5, 0.1):
        model.rate = rate
        np.testing.assert_allclose(model.step(w), w - rate * 2 * w, rtol=1e-12)


def test_cells_that_define_a_function_anew():
    names = {"np": np, "grad": grad, "staged": staged, "__name__": "__main__"}
    cells = ["def loss(w): return np.sum(w**2)\n", "step = staged(lambda w: grad(loss)(w))\n", "y = step(np.ones(2))\n"]
    for cell in [*cells, cells[2], cells[2]]:
        exec(compile(cell, "<cell>", "exec"), names)
        assert "y" not in names or list(names["y"]) == [2.0, 2.0]
    exec(compile(cells[0].replace("2", "3") + cells[2], "<cell>", "exec"), names)
    assert list(names["y"]) == [3.0, 3.0]


# Where staging does not pay


@pytest.mark.slow
def test_more_ways_than_are_kept_are_recorded_rarely_although_some_are_taken_again():
    def f(x):
        for i in range(6):
            x = x * 1.5 if bool(x[i] > 0) else x * 0.5
        return np.sum(x**2)

    f_staged, calls = staged(f), [np.array(signs) for signs in product((-1.0, 1.0), repeat=6) for _ in range(2)]
    with pytest.warns(StagingWarning, match=r"more ways than are kept:[\s\S]*if bool\(x\[i\] > 0\)"):
        answers = [f_staged(x) for _ in range(2) for x in calls]
    assert answers == [f(x) for _ in range(2) for x in calls]
    assert len(f_staged.sources) == MOST_WAYS


def test_as_many_ways_as_are_kept_stay():
    def f(x):
        for i in range(5):
            x = x * 1.5 if bool(x[i] > 0) else x * 0.5
        return np.sum(x**2)

    f_staged, calls = (
        staged(f),
        [np.array(signs) for _ in range(20) for signs in product((-1.0, 1.0), repeat=5) for _ in range(2)],
    )
    assert [f_staged(x) for x in calls] == [f(x) for x in calls]
    assert len(f_staged.sources) == MOST_WAYS


@pytest.mark.slow
def test_ways_that_are_forgotten_are_paid_for_by_the_calls_that_take_them(monkeypatch):
    monkeypatch.setattr(sys.modules["shiftreset_ad.staging.records"], "MOST_SIGNATURES", MOST_WAYS)
    f_staged = staged(lambda x: np.sum(x * x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(1, 5 * MOST_WAYS):
            for _ in range(PAYS + 1):
                assert f_staged(np.ones(n)) == n
    assert len(f_staged.sources) == MOST_WAYS
