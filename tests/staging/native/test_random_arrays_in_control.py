"""Random programs of loops and branches on small arrays, in derivatives: native code has the bits of the steps."""

import random

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import cond, fori_loop, while_loop
from shiftreset_ad.staging.native import frames, slots
from tests.staging.native.natively import answered_as_by_steps, needs_native

pytestmark = needs_native

MATRIX = np.array([[0.5, -0.25, 0.125], [0.75, 0.25, -0.5], [-0.375, 0.5, 0.25]])
DIRECTION = np.array([0.5, -0.75, 0.25])
OPERATORS = {
    "itself": lambda f: f,
    "value and grad": sr.value_and_grad,
    "jvp": lambda f: lambda x, xs, n: sr.jvp(lambda x: f(x, xs, n), (x,), (DIRECTION,)),
    "grad": sr.grad,
    "grad of data": lambda f: sr.grad(f, argnums=1),
    "hvp": lambda f: lambda x, xs, n: sr.hvp(lambda x: f(x, xs, n), (x,), (DIRECTION,)),
    "grad of jvp": lambda f: sr.grad(lambda x, xs, n: sr.jvp(lambda x: f(x, xs, n), (x,), (x * x,))[1]),
}
ROWS = 4


class Programs:
    """Programs of statements on a vector, a matrix, a float and an integer, one for each seed.

    A statement takes the states of all blocks around it, the innermost last, and returns the new innermost state. Data
    from outside are read at a row that is a value.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        return self.random.choice(choices)

    def number(self, depth):
        level = self.pick(-1, -1, 0)
        if depth == 0:
            return lambda s, xs: s[level][2]
        f, u, v, k = self.number(depth - 1), self.vector(depth - 1), self.vector(depth - 1), self.pick(0, 1, 2, -1)
        return self.pick(
            lambda s, xs: np.sum(u(s, xs)),
            lambda s, xs: u(s, xs) @ v(s, xs) * 0.25,
            lambda s, xs: u(s, xs)[k] * 0.5 + f(s, xs),
            lambda s, xs: np.mean(u(s, xs)) - f(s, xs),
            lambda s, xs: np.sum(s[level][1] * 0.1) + f(s, xs),
            lambda s, xs: np.sum(s[level][1][:, k]) * 0.5,
            lambda s, xs: xs[self_row(s), k],
            lambda s, xs: np.tanh(f(s, xs)),
        )

    def vector(self, depth):
        level = self.pick(-1, -1, 0)
        if depth == 0:
            return self.pick(lambda s, xs: s[level][0], lambda s, xs: s[level][0], lambda s, xs: s[level][1][1])
        f, u, v, k = self.number(depth - 1), self.vector(depth - 1), self.vector(depth - 1), self.pick(0, 1)
        return self.pick(
            lambda s, xs: np.tanh(u(s, xs)),
            lambda s, xs: u(s, xs) * 0.5 + v(s, xs),
            lambda s, xs: MATRIX @ u(s, xs),
            lambda s, xs: u(s, xs) @ MATRIX.T + 0.1,
            lambda s, xs: u(s, xs) * f(s, xs) * 0.25,
            lambda s, xs: np.where(u(s, xs) > v(s, xs), u(s, xs), 0.5 * v(s, xs)),
            lambda s, xs: s[level][1][k] - u(s, xs),
            lambda s, xs: xs[self_row(s)] + 0.5 * u(s, xs),
            lambda s, xs: np.concatenate([u(s, xs)[1:], v(s, xs)[:1]]),
            lambda s, xs: np.sum(s[level][1], axis=0) * 0.5,
        )

    def matrix(self):
        f, u, v = self.number(1), self.vector(1), self.vector(1)
        return self.pick(
            lambda s, xs: np.stack([u(s, xs), v(s, xs)]),
            lambda s, xs: s[-1][1] * 0.5 + u(s, xs),
            lambda s, xs: np.tanh(s[-1][1] @ MATRIX),
            lambda s, xs: s[-1][1] * f(s, xs) * 0.25,
            lambda s, xs: (MATRIX @ s[-1][1].T).T * 1.0 + 0.0 * s[-1][1],
            lambda s, xs: s[0][1] - s[-1][1] * 0.5,
        )

    def test(self):
        f, g, u = self.number(1), self.number(1), self.vector(1)
        return self.pick(
            lambda s, xs: f(s, xs) > g(s, xs),
            lambda s, xs: u(s, xs)[0] < 0.3,
            lambda s, xs: (np.sum(u(s, xs)) < g(s, xs)) & (s[-1][3] < 5),
        )

    def block(self, depth):
        statements = [self.statement(depth) for _ in range(self.random.randint(1, 3))]

        def run(states, xs):
            *outer, state = states
            for statement in statements:
                state = statement([*outer, state], xs)
            return state

        return run

    def statement(self, depth):
        kind = self.random.random()
        if depth == 0 or kind < 0.4:
            return self.assignment()
        test, body, rounds = self.test(), self.block(depth - 1), self.random.randint(1, 3)
        if kind < 0.65:
            other = self.block(depth - 1)
            return lambda states, xs: cond(
                test(states, xs),
                lambda s: body([*states, s], xs),
                lambda s: other([*states, s], xs),
                states[-1],
            )
        if kind < 0.8:
            return lambda states, xs: while_loop(
                lambda s: (s[0] < rounds) & test([*states, s[1]], xs),
                lambda s: (s[0] + 1, body([*states, s[1]], xs)),
                (0, states[-1]),
            )[1]
        return lambda states, xs: fori_loop(
            0,
            states[0][3],
            lambda i, s: (lambda v, w, y, n: (v + 0.1 * xs[i], w, y, n))(*body([*states, s], xs)),
            states[-1],
        )

    def assignment(self):
        kind = self.pick("vector", "vector", "matrix", "number", "row", "swap")
        if kind == "row":
            step = self.pick(1, -1)
            return lambda s, xs: (*s[-1][:3], s[-1][3] + step)
        if kind == "swap":
            return lambda s, xs: (s[-1][1][0], np.stack([s[-1][0], s[-1][1][1]]), *s[-1][2:])
        place = {"vector": 0, "matrix": 1, "number": 2}[kind]
        value = self.matrix() if kind == "matrix" else (self.vector(2) if kind == "vector" else self.number(2))
        return lambda s, xs: tuple(value(s, xs) if i == place else x for i, x in enumerate(s[-1]))

    def program(self):
        block, last = self.block(2), self.number(2)

        def f(x, xs, n):
            state = block([(x, np.stack([x * 0.5, x - 0.25]), x[0] * 0.7, n)], xs)
            return last([state], xs) + np.sum(state[0]) + 0.5 * np.sum(state[1] * state[1]) + state[2]

        return f


def self_row(states):
    """The row of the data that is read."""
    return states[0][3] - 1


def agree(operator, seed):
    """How many of some points native code has answered as the NumPy steps do; None if there is no native code."""
    numbers = np.random.default_rng(seed)
    f = OPERATORS[operator](Programs(seed).program())
    points = [(numbers.normal(size=3), numbers.normal(size=(ROWS, 3)), n) for n in (3, 0, 1, 4, 5, -3, 2)]
    return answered_as_by_steps(f, points, REASONS)


REASONS = ("with another layout", "may be Python's or NumPy's", "is reversed", "numpy.any has options")


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_random_program(operator, seed):
    agree(operator, seed)


@pytest.mark.parametrize("operator", OPERATORS)
def test_in_functions_of_one_step_and_small_chunks(monkeypatch, operator):
    monkeypatch.setattr(slots, "STEPS_OF_A_PART", 1)
    monkeypatch.setattr(frames, "BEGIN", [line.replace("8192", "256") for line in frames.BEGIN])
    for seed in range(60, 63):
        agree(operator, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 50))
@pytest.mark.parametrize("operator", OPERATORS)
def test_more_random_programs(operator, seed):
    agree(operator, seed)


@pytest.mark.slow
def test_most_of_them_are_answered():
    found = [agree("grad", seed) for seed in range(12)]
    assert sum(answered or 0 for answered in found) > 30
