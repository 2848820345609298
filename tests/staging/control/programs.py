"""Random programs of loops and branches, nested in one another, on two scalars and an array.

A state is a tuple (x, y, u). A statement takes the states of all blocks around it, the innermost last, and returns the
new innermost state; so it may also use what lies outside of its loop or branch.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad import cond, fori_loop, while_loop

MIXING = np.array([[0.5, 0.2, -0.1], [0.1, -0.4, 0.3], [0.2, 0.1, 0.6]])
OUTER = 0.2  # how often an expression uses a value from outside

Expression = Callable[[list[Any]], Any]


class Programs:
    """A source of random programs: one for each seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def leaf(self, places: tuple[int, ...]) -> Expression:
        place, level = self.random.choice(places), 0 if self.random.random() < OUTER else -1
        return lambda states: states[level][place]

    def scalar(self, depth: int) -> Expression:
        if depth == 0:
            return self.leaf((0, 1))
        f, g, c = self.scalar(depth - 1), self.scalar(depth - 1), self.random.uniform(-1.5, 1.5)
        u, i = self.array(depth - 1), self.random.randrange(3)
        made: list[Expression] = [
            lambda states: f(states) + c,
            lambda states: f(states) - g(states),
            lambda states: np.tanh(f(states) * g(states)),
            lambda states: np.sin(f(states)),
            lambda states: f(states) / (1.5 + g(states) * g(states)),
            lambda states: u(states)[i],
            lambda states: np.sum(u(states) * u(states)) * 0.3,
            lambda states: np.max(u(states)),
            lambda states: c,
        ]
        return self.random.choice(made)

    def array(self, depth: int) -> Expression:
        if depth == 0:
            return self.leaf((2,))
        u, v, f = self.array(depth - 1), self.array(depth - 1), self.scalar(depth - 1)
        made: list[Expression] = [
            lambda states: u(states) * 0.5 + f(states),
            lambda states: np.tanh(u(states) * v(states)),
            lambda states: MIXING @ u(states),
            lambda states: np.flip(u(states)),
            lambda states: np.concatenate([u(states)[1:], v(states)[:1]]),
        ]
        return self.random.choice(made)

    def condition(self) -> Expression:
        f, g, h = self.scalar(1), self.scalar(1), self.scalar(1)
        if self.random.random() < 0.3:
            return lambda states: (f(states) < g(states)) & (h(states) < 0.7)
        return lambda states: f(states) > g(states)

    def block(self, depth: int) -> Expression:
        statements = [self.statement(depth) for _ in range(self.random.randint(1, 3))]

        def run(states: list[Any]) -> Any:
            *outer, state = states
            for statement in statements:
                state = statement([*outer, state])
            return state

        return run

    def statement(self, depth: int) -> Expression:
        kind = self.random.random()
        if depth == 0 or kind < 0.45:
            return self.assignment()
        if kind < 0.65:
            test, yes, no = self.condition(), self.block(depth - 1), self.block(depth - 1)
            return lambda states: cond(
                test(states), lambda s: yes([*states, s]), lambda s: no([*states, s]), states[-1]
            )
        body, rounds, test = self.block(depth - 1), self.random.randint(1, 4), self.condition()
        if kind < 0.85:
            return lambda states: while_loop(
                lambda s: (s[0] < rounds) & test([*states, s[1]]),
                lambda s: (s[0] + 1, body([*states, s[1]])),
                (0, states[-1]),
            )[1]
        return lambda states: fori_loop(
            0, 2, lambda i, s: (lambda x, y, u: (x + 0.1 * i, y, u))(*body([*states, s])), states[-1]
        )

    def assignment(self) -> Expression:
        place = self.random.randrange(3)
        value = self.array(2) if place == 2 else self.scalar(2)
        return lambda states: tuple(value(states) if i == place else x for i, x in enumerate(states[-1]))

    def program(self) -> Callable[[Any, Any], Any]:
        """A function of a float and of an array of three."""
        block, last = self.block(3), self.scalar(2)

        def f(x: Any, u: Any) -> Any:
            state = block([(x, x * 0.7 - 0.2, u)])
            return last([state]) + state[0] * state[1] + np.sum(state[2] * u)

        return f
