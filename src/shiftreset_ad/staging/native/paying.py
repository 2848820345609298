"""Whether native code with calls of Python takes less time than the steps by NumPy.

Each step with a native form gains what Python takes to carry it out. A call costs the objects that it makes and checks.
What is in a loop counts more, as it is done more often. The times are those of `benchmarks/foreign.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import ndarray

from shiftreset_ad.staging.steps.trace import Block

PER_NUMBER, PER_ARRAY = 40.0, 400.0  # nanoseconds that a step by NumPy takes beyond its work
PER_CALL, PER_OBJECT, PER_VIEW = 250.0, 30.0, 90.0  # nanoseconds of a call, and of what goes in and out
PER_BYTE = 0.1  # nanoseconds, of an answer that is copied
ROUNDS = 30.0  # of a loop


def weight(home: Block) -> float:
    """How often a block is taken to be carried out."""
    if home.around is None:  # the usual case, for speed
        return 1.0
    return ROUNDS ** sum(block.rounds is not None for block in home.outwards())


def gain_of(answer: Any) -> float:
    """What a step with this answer gains as native code."""
    return PER_ARRAY if isinstance(answer, ndarray) and answer.shape else PER_NUMBER


def cost_of_call(given: Sequence[Any], answered: Sequence[Any]) -> float:
    """What a call costs beyond its steps, with these arguments and answers."""
    views = [x for x in (*given, *answered) if isinstance(x, ndarray) and x.shape]
    numbers = len(given) + len(answered) - len(views)
    copied = sum(x.nbytes for x in answered if isinstance(x, ndarray))
    return PER_CALL + PER_VIEW * len(views) + PER_OBJECT * numbers + PER_BYTE * copied


def pays(gain: float) -> bool:
    """Whether native code with calls of Python is worth its time to compile."""
    return gain > 0.0
