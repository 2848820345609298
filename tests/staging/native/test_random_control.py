"""Random programs of loops and branches on numbers, in derivatives: native code has the bits of the NumPy steps."""

import random

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import cond, fori_loop, while_loop
from tests.staging.native.natively import agreed_at_random, needs_native

pytestmark = needs_native

OPERATORS = {
    "itself": lambda f: f,
    "value and grad": sr.value_and_grad,
    "jvp": lambda f: lambda x, n: sr.jvp(lambda x: f(x, n), (x,), (0.5,)),
    "grad": sr.grad,
    "grad of grad": lambda f: sr.grad(sr.grad(f)),
    "hvp": lambda f: lambda x, n: sr.hvp(lambda x: f(x, n), (x,), (0.75,)),
    "grad of jvp": lambda f: sr.grad(lambda x, n: sr.jvp(lambda x: f(x, n), (x,), (x * x,))[1]),
    "third derivative": lambda f: lambda x, n: sr.derivative(lambda x: f(x, n), 3)(x),
}
OF_TWO = (
    lambda x, y: x + y,
    lambda x, y: x - 0.5 * y,
    lambda x, y: x * y * 0.5,
    lambda x, y: x / y,
    lambda x, y: x / (1.5 + y * y),
    lambda x, y: np.where(x > y, x, y) * 1.0,
    lambda x, y: np.tanh(x * y),
)
OF_ONE = (
    lambda x: -x,
    lambda x: abs(x),
    lambda x: 0.5 * x + 1,
    lambda x: x**2 * 0.1,
    np.sin,
    np.tanh,
    lambda x: np.exp(-abs(x)),
    lambda x: np.sqrt(abs(x)),
    lambda x: 0.75,
)


class Programs:
    """Programs of statements on a state of two floats and an integer, one for each seed.

    A statement takes the states of all blocks around it, the innermost last, and returns the new innermost state.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self, depth):
        if depth == 0:
            level, place = self.random.choice((-1, -1, -1, 0)), self.random.choice((0, 1))
            return lambda states: states[level][place]
        f, g = self.number(depth - 1), self.number(depth - 1)
        one, two = self.random.choice(OF_ONE), self.random.choice(OF_TWO)
        return self.random.choice((lambda s: one(f(s)), lambda s: two(f(s), g(s)), lambda s: f(s) + 0.1 * s[-1][2]))

    def test(self):
        f, g = self.number(1), self.number(1)
        tests = (
            lambda s: f(s) > g(s),
            lambda s: (f(s) < g(s)) & (s[-1][2] < 5),
            lambda s: (f(s) < 0.3) | (g(s) >= 0.5),
        )
        return self.random.choice(tests)

    def block(self, depth):
        statements = [self.statement(depth) for _ in range(self.random.randint(1, 3))]

        def run(states):
            *outer, state = states
            for statement in statements:
                state = statement([*outer, state])
            return state

        return run

    def statement(self, depth):
        kind = self.random.random()
        if depth == 0 or kind < 0.4:
            return self.assignment()
        test, body, rounds = self.test(), self.block(depth - 1), self.random.randint(1, 4)
        if kind < 0.65:
            other = self.block(depth - 1)
            return lambda states: cond(
                test(states), lambda s: body([*states, s]), lambda s: other([*states, s]), states[-1]
            )
        if kind < 0.85:
            return lambda states: while_loop(
                lambda s: (s[0] < rounds) & test([*states, s[1]]),
                lambda s: (s[0] + 1, body([*states, s[1]])),
                (0, states[-1]),
            )[1]
        return lambda states: fori_loop(
            0,
            states[0][2],
            lambda i, s: (lambda x, y, n: (x + 0.1 * i, y, n))(*body([*states, s])),
            states[-1],
        )

    def assignment(self):
        place, value, step = self.random.choice((0, 0, 1, 1, 2)), self.number(2), self.random.choice((-1, 1, 2))
        if place == 2:
            return lambda states: (*states[-1][:2], states[-1][2] + step)
        return lambda states: tuple(value(states) if i == place else x for i, x in enumerate(states[-1]))

    def program(self):
        block, last = self.block(3), self.number(2)

        def f(x, n):
            state = block([(x, x * 0.7 - 0.2, n)])
            return last([state]) + state[0] * state[1]

        return f


def agree(operator, seed):
    """How many of some points native code has answered as the NumPy steps do; None if there is no native code."""
    return agreed_at_random(OPERATORS[operator](Programs(seed).program()), seed, (3, 0, 1, 4, 3))


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_random_program(operator, seed):
    agree(operator, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 36))
@pytest.mark.parametrize("operator", OPERATORS)
def test_more_random_programs(operator, seed):
    agree(operator, seed)


@pytest.mark.slow
def test_most_of_them_are_answered():
    found = [agree("grad", seed) for seed in range(8)]
    assert sum(answered or 0 for answered in found) > 8
