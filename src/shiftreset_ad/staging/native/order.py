"""The order of steps: elementwise steps on arrays of one shape come one after another, so that they share a loop.

Each loop goes through memory, and what is made and needed in the same loop stays in registers. Only steps of straight
code change places, none goes before a step that it needs, and all have the same operands as before.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from copy import copy
from heapq import heappop, heappush
from typing import Any

from numpy import ndarray

from shiftreset_ad.staging.native.operations import OPERATIONS
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.trace import Step, Trace

FARTHEST = 200  # steps that are put in order together, as arrays that are made early take memory for longer


def in_order(trace: Trace, left: Eliminated) -> Eliminated:
    """The steps in another order. Where the program writes, its order stays."""
    if any(step.writes for step in left.steps):
        return left
    ordered = copy(left)
    ordered.steps = []
    part: list[Step] = []
    for step in left.steps:
        if _stays(step) or len(part) == FARTHEST:
            ordered.steps += _together(trace, left, part)
            part = []
        if _stays(step):
            ordered.steps.append(step)
        else:
            part.append(step)
    ordered.steps += _together(trace, left, part)
    return ordered


def _stays(step: Step) -> bool:
    return type(step) is not Step or step.is_question or step.open_ended


def shape_of_loop(trace: Trace, step: Step) -> Any:
    """The shape of the loop of a step; None if it is in no loop."""
    answer = None if step.place is None else trace.values[step.place]
    is_elementwise = step.function in OPERATIONS or step.function is operator.pow
    return answer.shape if is_elementwise and isinstance(answer, ndarray) and answer.size > 1 else None


def _together(trace: Trace, left: Eliminated, steps: list[Step]) -> list[Step]:
    """The steps, of which each shape goes on as long as it can. Otherwise the first step that can be next is next."""
    number = {step.place: i for i, step in enumerate(steps)}
    shapes = [shape_of_loop(trace, step) for step in steps]
    missing, users = [0] * len(steps), [list[int]() for _ in steps]
    for i, step in enumerate(steps):
        for place in {place for place in left.operands(step) if place in number}:
            missing[i] += 1
            users[number[place]].append(i)
    ready: dict[Any, list[int]] = defaultdict(list)  # by the shape: the least number comes first
    found: list[Step] = []
    now = None

    def is_ready(i: int) -> None:
        heappush(ready[shapes[i]], i)

    for i, count in enumerate(missing):
        if not count:
            is_ready(i)
    while len(found) < len(steps):
        if not ready[now] and not ready[None]:
            now = min([shape for shape in ready if ready[shape]], key=lambda shape: ready[shape][0])
        i = heappop(ready[now] or ready[None])
        found.append(steps[i])
        for user in users[i]:
            missing[user] -= 1
            if not missing[user]:
                is_ready(user)
    return found
