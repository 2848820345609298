"""Idle steps, whose answer is one of their operands, bit for bit: copies, products with ones, reshapes to its shape.

A trace without writes needs no copy, unless the user gets its memory.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of
from shiftreset_ad.rules.conversion import constant_of
from shiftreset_ad.rules.plain import itself
from shiftreset_ad.staging.steps.functions import method
from shiftreset_ad.staging.steps.trace import Step, Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged

COPIES = {np.copy, np.positive, operator.pos, method("copy")}
TO_A_SHAPE = {np.reshape, method("reshape"), np.broadcast_to}


def _is_one(x: Any) -> bool:
    return bool(np.all(np.equal(x, 1)))


def _is_zero(x: Any) -> bool:
    """Whether a number is 0.0. To subtract it leaves -0.0 as it is."""
    return bool(np.all(np.equal(x, 0)) and not np.any(np.signbit(x)))


def _is_negative_zero(x: Any) -> bool:
    """Whether a number is -0.0. The sum of -0.0 and 0.0 is another number than -0.0."""
    return bool(np.all(np.equal(x, 0)) and np.all(np.signbit(x)))


# Which numbers leave the other operand as it is, and whether they may come first.
NEUTRAL: dict[Any, tuple[Callable[[Any], bool], bool]] = {
    **dict.fromkeys((operator.mul, np.multiply), (_is_one, True)),
    **dict.fromkeys((operator.truediv, np.divide), (_is_one, False)),
    **dict.fromkeys((operator.add, np.add), (_is_negative_zero, True)),
    **dict.fromkeys((operator.sub, np.subtract), (_is_zero, False)),
}


def idle_operand(
    step: Step, trace: Trace, is_fixed: Callable[[Any], bool], has_one_layout: Callable[[], bool]
) -> Staged | None:
    """The operand that is the answer, with its type and layout.

    `is_fixed` says what is the same for all inputs, and `has_one_layout` whether arrays always have the layout that
    was recorded.
    """
    x = step.args[0] if step.args else None
    answer = trace.values[step.place]
    if step.function is constant_of and step.args[1] is itself:
        return x if type(x) is Staged else None
    if step.is_question or step.open_ended:
        return None
    if is_copy(step):
        return x if type(x) is Staged and like(x.inside) == like(answer) and has_one_layout() else None
    if step.function in TO_A_SHAPE:
        return x if type(x) is Staged and like(x.inside) == like(answer) else None
    if step.kwargs or (step.function not in NEUTRAL and step.function is not np.where) or dtype_of(answer).kind != "f":
        return None
    for operand, others in _unchanged(step, is_fixed):
        if type(operand) is Staged and like(operand.inside) == like(answer):
            is_alike = not trace.has_control or all(np.ndim(unstaged(other)) < 2 for other in others)
            return operand if is_alike or has_one_layout() else None
    return None


def is_copy(step: Step) -> bool:
    """Whether a step copies an array as it is."""
    return step.function in COPIES and len(step.args) == 1 and not step.kwargs


def _unchanged(step: Step, is_fixed: Callable[[Any], bool]) -> list[tuple[Any, list[Any]]]:
    """The operands that a step leaves as they are, each with the others."""
    if step.function is np.where:
        condition, *both = step.args
        if len(both) == 2 and is_fixed(condition):
            truths = np.asarray(unstaged(condition), dtype=bool)
            if truths.all() or not truths.any():
                chosen = 0 if truths.all() else 1
                return [(both[chosen], [condition, both[1 - chosen]])]
        return []
    if len(step.args) != 2:
        return []
    is_neutral, may_be_first = NEUTRAL[step.function]
    orders = [step.args, step.args[::-1]] if may_be_first else [step.args]
    return [
        (operand, [other])
        for operand, other in orders
        if not (type(other) is float and other not in (0.0, 1.0)) and is_fixed(other) and is_neutral(unstaged(other))
    ]


def like(x: Any) -> Any:
    """The type, shape, dtype and strides of a value. Strides count: the rounding of a sum depends on them."""
    return type(x), np.shape(x), dtype_of(x), getattr(x, "strides", None)
