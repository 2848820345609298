"""Steps for training loops: stochastic gradient descent and Adam, on structures.

    optimizer = adam(0.01)
    state = optimizer.init(x)
    for batch in batches:
        x, state = optimizer.step(grad(loss)(x, batch), x, state)

The same objects are methods of `minimize`. All steps have derivatives, also in the rate and its kin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.optimize.objectives import Objective
from shiftreset_ad.optimize.results import Iterate
from shiftreset_ad.optimize.running import Rounds
from shiftreset_ad.optimize.schedules import Schedule, rate_in
from shiftreset_ad.rules.annotations import Primal, X
from shiftreset_ad.rules.broadcasting import shape_of


class StepwiseOptimizer:
    """An optimizer by steps: `init` makes its state, and `step` takes a gradient."""

    def init(self, x: Any) -> Any:
        """The state before the first step at `x`, a structure of floats and arrays."""
        raise NotImplementedError

    def step(self, gradient: Any, x: X, state: Any) -> tuple[X, Any]:
        """The structure after a step, and the state after it. The gradient has the structure and shapes of `x`.

        Raises TypeError or ValueError if the gradient does not fit.
        """
        raise NotImplementedError

    def __call__(self, objective: Objective, x: Primal) -> Rounds:
        """The rounds of a minimisation from a start."""
        x = objective.project(x)
        state = self.init(x)
        while True:
            value, gradient = objective.value_and_gradient(x)
            yield Iterate(x, value, objective.residual(x, gradient))
            x, state = self.step(gradient, x, state)
            x = objective.project(x)


class SGDState(NamedTuple):
    """The number of steps done, and the velocity of each number."""

    done: int
    velocity: list[Any]


@dataclass(frozen=True)
class SGD(StepwiseOptimizer):
    """Stochastic gradient descent, made by `sgd`."""

    rate: Any
    momentum: Any = 0.0
    nesterov: bool = False

    def init(self, x: Any) -> SGDState:
        """No step is done, and nothing moves."""
        return SGDState(0, _zeros(x))

    def step(self, gradient: Any, x: X, state: SGDState) -> tuple[X, SGDState]:
        """A step along the velocity."""
        rate = rate_in(self.rate, state.done)
        slopes = _slopes("sgd", gradient, x)
        velocity = [self.momentum * v + g for v, g in zip(state.velocity, slopes, strict=True)]
        ways = velocity
        if self.nesterov:
            ways = [g + self.momentum * v for v, g in zip(velocity, slopes, strict=True)]
        return _moved(x, [-rate * way for way in ways]), SGDState(state.done + 1, velocity)


def sgd(rate: float | Schedule, momentum: float = 0.0, nesterov: bool = False) -> SGD:
    """Gradient descent with steps of `rate` times the gradient, for training loops and as a method of `minimize`.

    `rate` is a number or a schedule, such as `cosine_decay(0.1, 1000)`. `momentum` is the part of the velocity that a
    step keeps, with `nesterov` as Nesterov has it. `init(x)` gives the state, and `step(gradient, x, state)` gives the
    pair of the next `x` and state, of the same structures and shapes. Raises TypeError or ValueError if the gradient
    does not fit. Wang et al. 2019, section 2; Sutskever et al. 2013.

    >>> optimizer = sgd(0.1)
    >>> optimizer.step({"w": 1.0}, {"w": 2.0}, optimizer.init({"w": 2.0}))[0]
    {'w': 1.9}
    """
    return SGD(rate, momentum, nesterov)


class AdamState(NamedTuple):
    """The number of steps done, and the means of the gradients and of their squares, for each number."""

    done: int
    means: list[Any]
    squares: list[Any]


@dataclass(frozen=True)
class Adam(StepwiseOptimizer):
    """Adam, made by `adam`."""

    rate: Any
    b1: Any = 0.9
    b2: Any = 0.999
    epsilon: Any = 1e-8
    decay: Any = 0.0

    def init(self, x: Any) -> AdamState:
        """No step is done."""
        return AdamState(0, _zeros(x), _zeros(x))

    def step(self, gradient: Any, x: X, state: AdamState) -> tuple[X, AdamState]:
        """A step along the mean gradient, in units of the mean size of gradients."""
        rate, count = rate_in(self.rate, state.done), state.done + 1
        slopes = _slopes("adam", gradient, x)
        means = [self.b1 * m + (1.0 - self.b1) * g for m, g in zip(state.means, slopes, strict=True)]
        squares = [self.b2 * s + (1.0 - self.b2) * (g * g) for s, g in zip(state.squares, slopes, strict=True)]
        ways = []
        for number, mean, square in zip(trees.Parts(x).numbers, means, squares, strict=True):
            unbiased = square / (1.0 - self.b2**count)
            # The square root has no slope at zero, where no gradient has been met.
            size = np.where(square > 0.0, np.sqrt(unbiased), 0.0) if shape_of(square) else _root(unbiased)
            way = mean / (1.0 - self.b1**count) / (size + self.epsilon)
            ways.append(-rate * (way + self.decay * number))
        return _moved(x, ways), AdamState(count, means, squares)


def adam(
    rate: float | Schedule = 1e-3, b1: float = 0.9, b2: float = 0.999, epsilon: float = 1e-8, decay: float = 0.0
) -> Adam:
    """Adam, for training loops and as a method of `minimize`: steps of about `rate` in every variable.

    `rate` is a number or a schedule. `b1` and `b2` are the parts of the means that a step keeps, and `decay` draws the
    variables to zero (AdamW). Use, shapes and errors are those of `sgd`. Kingma and Ba 2015, algorithm 1; Loshchilov
    and Hutter 2019.

    >>> optimizer = adam(0.1)
    >>> x, state = optimizer.step(5.0, 2.0, optimizer.init(2.0))
    >>> round(x, 6)
    1.9
    """
    return Adam(rate, b1, b2, epsilon, decay)


def _zeros(x: Any) -> list[Any]:
    return [0.0 * number for number in trees.Parts(x).numbers]


def _slopes(optimizer: str, gradient: Any, x: Any) -> list[Any]:
    """The gradient in each number; zero for None."""
    parts = trees.Parts(x)
    slopes = parts.derivatives_in(gradient, optimizer, "the gradient", "x")
    return [0.0 * number if g is None else g for number, g in zip(parts.numbers, slopes, strict=True)]


def _moved(x: X, ways: list[Any]) -> X:
    parts = trees.Parts(x)
    return parts.with_numbers([a + b for a, b in zip(parts.numbers, ways, strict=True)])  # type: ignore[no-any-return]


def _root(square: Primal) -> Primal:
    return square**0.5 if square > 0.0 else 0.0
