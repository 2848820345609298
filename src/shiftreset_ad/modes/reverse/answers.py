"""What the answer of an operation becomes: a number that waits for its adjoint, several numbers, or a constant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy import float64, ndarray

from shiftreset_ad.boundary.notes import CallSite
from shiftreset_ad.control import Operation
from shiftreset_ad.modes.reverse.adjoints import accumulate, finished, settle
from shiftreset_ad.modes.reverse.memory import PLACES, initial_adjoint, waiting
from shiftreset_ad.modes.reverse.number import Active, NumR, capture
from shiftreset_ad.modes.reverse.shells import SMALL, Shell, with_shell
from shiftreset_ad.modes.reverse.sparing import hollowed
from shiftreset_ad.modes.reverse.unsettled import hold_outer
from shiftreset_ad.numbers.memory import protect_shared
from shiftreset_ad.numbers.number import ZERO, Number, in_memory
from shiftreset_ad.numbers.operands import is_inexact
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import STRUCTURED, JointMap, LinearMap
from shiftreset_ad.rules.annotations import Cotangent, Primal
from shiftreset_ad.rules.broadcasting import FLOAT64, are_doubles
from shiftreset_ad.rules.building import SEQUENCES
from shiftreset_ad.rules.table import Outer

new = object.__new__

HELD = (NumR, Shell)  # what an operation holds of an answer that has an adjoint


def number_of(answer: Primal, active: Active, tag: Tag) -> tuple[NumR | None, bool]:
    """The answer of an operation as a number, and whether it is a large array; None unless it is one floating-point
    number or array.
    """
    kind = type(answer)
    array = answer.inside if issubclass(kind, Number) else answer
    if type(array) is ndarray and array.dtype is FLOAT64 and array.base is None:  # the usual case, for speed
        y = new(NumR)  # and not NumR(answer, ZERO, tag), to spare the call of __init__
        y.primal, y.adjoint, y.tag = answer, ZERO, tag
        return y, array.size > SMALL
    if kind is not ndarray and kind is not float64:
        array = in_memory(answer)
    is_array = type(array) is ndarray
    if issubclass(kind, SEQUENCES):
        return None, False
    if not (is_array and array.dtype is FLOAT64) and type(array) is not float64 and not is_inexact(answer):
        return None, False
    y = new(NumR)
    y.primal, y.tag = answer, tag
    y.adjoint = initial_adjoint(array, active) if is_array and array.base is not None else ZERO
    return y, is_array and array.size > SMALL


def with_shells(operation: Operation) -> Operation:
    """The operation y = f(*xs) by its linear maps, without elements of large arrays that these maps do not read."""
    pull, y, active, site = operation
    is_read = True
    if callable(site):  # the site of a linear function
        rule = STRUCTURED.get(site)
        is_read = rule is not None and rule.reads_operands  # without a rule, the function is a choice
    primal = y.primal
    held = hollowed(y) if y.adjoint is ZERO and type(primal) is ndarray and primal.size > SMALL else with_shell(y)
    if held is not y:
        held.is_read = is_read
    if len(active) > 1:
        return pull, held, [(waiting(x, is_read), linear_map) for x, linear_map in active], site
    ((x, linear_map),) = active
    place = x.adjoint
    if type(place) is not Shell:
        return pull, held, [(waiting(x, is_read), linear_map)], site
    if is_read:
        place.is_read = True
    return pull, held, [(place, linear_map)], site  # the steps of `waiting` for the usual case, for speed


def other_answers(tag: Tag, answers: Any, active: Active, site: CallSite | None) -> Any:
    """Carry out an operation with a list or tuple of answers, which may have constants, or with a constant answer."""
    if not issubclass(type(answers), SEQUENCES):
        return answers
    operands, maps = [x for x, _ in active], [linear_map for _, linear_map in active]
    return type(answers)(jointly(tag, answers, operands, maps, site))


def jointly(
    tag: Tag,
    answers: Any,
    operands: list[NumR],
    pullback: Callable[[list[Cotangent]], list[Cotangent]] | list[LinearMap],
    site: CallSite | None = None,
) -> list[Any]:
    """Carry out one operation with these answers and operands.

    `pullback` takes the cotangent of each answer, None for a constant, and returns the cotangent of each operand, None
    for zero. Or it is the linear map of each operand, of a rule of ours, which does not write to a cotangent.
    """
    tag.is_read_later = True
    ys = [NumR(y, ZERO, tag) if (type(y) is ndarray and y.dtype is FLOAT64) or is_inexact(y) else y for y in answers]
    protect_shared(tag, answers, [x.primal for x in operands])
    waiting_operands = list(map(waiting, operands))
    if type(pullback) is list:
        # Shells of large answers, as the maps hold what they read. They may read an answer, so `is_read_later` has each
        # later write keep the elements.
        held = [with_shell(y) if type(y) is NumR else y for y in ys]
        capture(tag, (pull_by_maps, held, waiting_operands, pullback, site))
    else:
        capture(tag, (pull_jointly, ys, waiting_operands, pullback, site))
    return ys


def together(tag: Tag, answer: Any, active: Sequence[NumR], joint: JointMap, operands: Sequence[int]) -> Any:
    """Carry out one operation of a rule of ours, with one map for these operands, and one answer or several."""
    site, tag.site = tag.site, None
    tag.is_read_later = True
    several = issubclass(type(answer), SEQUENCES)
    held, found = [], []
    for y in answer if several else (answer,):
        if (type(y) is ndarray and y.dtype is FLOAT64) or is_inexact(y):
            number = new(NumR)
            number.primal, number.adjoint, number.tag = y, ZERO, tag
            y = number
            held.append(with_shell(number))
        else:
            held.append(y)
        found.append(y)
    capture(tag, (pull_together, held, list(map(waiting, active)), (joint, operands, several), site))
    return type(answer)(found) if several else found[0]


def pull_together(operation: Operation) -> None:
    _, ys, active, (joint, operands, several), _ = operation
    y_bars = of_answers(ys)
    if y_bars is None:
        return
    for x, x_bar in zip(active, joint.pullback(y_bars if several else y_bars[0], operands), strict=True):
        if type(x_bar) is Outer:
            if type(x.adjoint) not in PLACES:
                hold_outer(x, *x_bar)
                continue
            x_bar = x_bar.product()
        accumulate(x, x_bar)


def pull_jointly(operation: Operation) -> None:
    _, ys, operands, pullback, _ = operation
    if all(settle(y) is ZERO for y in ys if type(y) is NumR):
        return
    y_bars = [finished(y) if type(y) is NumR else None for y in ys]
    for x, x_bar in zip(operands, pullback(y_bars), strict=True):
        if x_bar is not None:
            accumulate(x, x_bar)


def pull_by_maps(operation: Operation) -> None:
    _, ys, operands, maps, _ = operation
    y_bars = of_answers(ys)
    if y_bars is None:
        return
    for x, linear_map in zip(operands, maps, strict=True):
        if linear_map.factors is not None and type(x.adjoint) not in PLACES:
            left, right = linear_map.factors(y_bars)
            if are_doubles(left, x.primal) and are_doubles(right, x.primal):
                hold_outer(x, left, right)
                continue
        x_bar = linear_map.pullback(y_bars)
        if x_bar is not None:
            accumulate(x, x_bar, linear_map.makes_new and type(x_bar) is ndarray)


def of_answers(ys: list[Any]) -> list[Cotangent] | None:
    """The cotangent of each answer, None for a constant; None if none of the answers counts."""
    adjoints, counts = [], False
    for y in ys:
        adjoint = settle(y) if type(y) in HELD else ZERO
        adjoints.append(adjoint)
        counts = counts or adjoint is not ZERO
    if not counts:
        return None
    return [of_answer(y, adjoint) if type(y) in HELD else None for y, adjoint in zip(ys, adjoints, strict=True)]


def of_answer(y: NumR | Shell, adjoint: Cotangent) -> Cotangent:
    """The cotangent of an answer with this adjoint, as a rule of ours takes it: it may be the adjoint itself."""
    is_plain = type(adjoint) is type(y.primal) is ndarray
    return adjoint if is_plain and adjoint.dtype == y.primal.dtype else finished(y)
