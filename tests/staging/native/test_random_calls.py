"""Random functions that call themselves, in derivatives: native code has the bits of the NumPy steps."""

import random

import pytest

from shiftreset_ad import cond, fori_loop
from shiftreset_ad.staging.control.combinators import trace_of
from shiftreset_ad.staging.control.functions import SelfCalling
from tests.staging.native.natively import agreed_at_random, needs_native
from tests.staging.native.test_random_control import OF_ONE, OF_TWO, OPERATORS

pytestmark = needs_native


def recursive(f):
    """The function `f(again, *args)`, which calls `again` for itself. It is written down if an argument is staged."""

    def called(*args):
        trace = trace_of(args)
        if trace is None:
            return f(called, *args)
        function = SelfCalling(trace, lambda *args: f(function.again, *args), lambda arguments: None)
        return function(*args)

    return called


class Functions:
    """Functions of a depth and two floats, which answer two floats, one for each seed.

    A function calls itself with a smaller depth: one call after another, in branches, and in loops. It may have a
    function of its own, which may call both. A statement takes the functions around it, each with the depth that is
    left, and their states, the innermost last, and returns the next state.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self, depth):
        if depth == 0:
            level, place = self.random.choice((-1, -1, -1, 0)), self.random.choice((0, 1))
            return lambda states: states[level][place]
        f, g = self.number(depth - 1), self.number(depth - 1)
        one, two = self.random.choice(OF_ONE), self.random.choice(OF_TWO)
        return self.random.choice((lambda s: one(f(s)), lambda s: two(f(s), g(s))))

    def pair(self):
        f, g = self.number(1), self.number(2)
        return lambda states: (f(states), g(states))

    def statement(self, depth):
        kind, pair = self.random.random(), self.pair()
        if depth == 0 or kind < 0.4:
            level, less = self.random.choice((-1, -1, -1, 0)), self.random.choice((1, 1, 2))

            def call(calls, states):
                again, left = calls[level]
                return again(left - less, *pair(states))

            return call
        if kind < 0.5:
            return lambda calls, states: pair(states)
        inner = self.statement(depth - 1)
        if kind < 0.7:
            test = self.number(1)
            return lambda calls, states: cond(test(states) > 0.3, lambda: inner(calls, states), lambda: pair(states))
        if kind < 0.85:
            rounds = self.random.choice((1, 2, None))

            def loop(calls, states):
                *outer, state = states
                count = calls[-1][1] if rounds is None else rounds
                return fori_loop(0, count, lambda i, s: inner(calls, [*outer, s]), state)

            return loop
        own = self.function(depth - 1)
        return lambda calls, states: own(calls, states)(1, *pair(states))

    def function(self, depth):
        """A function, given those around it and their states."""
        statements, base = [self.statement(depth) for _ in range(self.random.randint(1, 2))], self.pair()

        def made(calls, states):
            def body(again, n, x, y):
                def go_on():
                    state = (x, y)
                    for statement in statements:
                        state = statement([*calls, (again, n)], [*states, state])
                    return state

                return cond(n <= 0, lambda: base([*states, (x, y)]), go_on)

            return recursive(body)

        return made

    def program(self):
        made, last = self.function(2), self.number(1)

        def f(x, n):
            state = made([], [(x, x * 0.5)])(n, x, x * 0.7 - 0.2)
            return last([state]) + state[0] * state[1]

        return f


def agree(operator, seed):
    """How many of some points native code has answered as the NumPy steps do; None if there is no native code."""
    return agreed_at_random(OPERATORS[operator](Functions(seed).program()), seed, (2, 0, 1, 3))


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_random_function(operator, seed):
    agree(operator, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 36))
@pytest.mark.parametrize("operator", OPERATORS)
def test_more_random_functions(operator, seed):
    agree(operator, seed)


def test_most_of_them_are_answered():
    found = [agree("grad", seed) for seed in range(8)]
    assert sum(answered or 0 for answered in found) > 8
