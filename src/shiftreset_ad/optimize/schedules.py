"""Schedules: how long a step is in each round of a training loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

Schedule: TypeAlias = Callable[[int], Any]  # of the number of the round, from 0 on


def rate_in(rate: Any, count: int) -> Any:
    """The rate of a round, from a constant or a schedule."""
    return rate(count) if callable(rate) else rate


def exponential_decay(rate: Any, rounds: int, factor: Any) -> Schedule:
    """The schedule that goes from `rate` to `factor` times that in every so many `rounds`.

    >>> exponential_decay(0.1, 10, 0.5)(20)
    0.025
    """
    return lambda count: rate * factor ** (count / rounds)


def cosine_decay(rate: Any, rounds: int, floor: Any = 0.0) -> Schedule:
    """The schedule that goes from `rate` down to `floor` along half a cosine, in so many `rounds`, and stays there.

    Loshchilov and Hutter, SGDR, 2017.

    >>> cosine_decay(0.1, 10)(5), cosine_decay(0.1, 10)(20)
    (0.05, 0.0)
    """
    return lambda count: floor + (rate - floor) * 0.5 * (1.0 + math.cos(math.pi * min(count / rounds, 1.0)))


def warmup(rate: Any, rounds: int) -> Schedule:
    """The schedule that grows in so many `rounds` to `rate`, a constant or a schedule, which then begins.

    >>> [warmup(0.1, 2)(count) for count in (0, 1, 2, 3)]
    [0.05, 0.1, 0.1, 0.1]
    """

    def scheduled(count: int) -> Any:
        return rate_in(rate, 0) * ((count + 1) / rounds) if count < rounds else rate_in(rate, count - rounds)

    return scheduled
