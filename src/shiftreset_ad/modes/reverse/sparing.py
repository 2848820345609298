"""What an operation on large arrays holds while it waits: no elements that its derivatives do not read."""

from __future__ import annotations

from typing import Any

from numpy import ndarray

from shiftreset_ad.control import Operation
from shiftreset_ad.modes.reverse.memory import waiting
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.modes.reverse.shells import HOLLOW_DOUBLES, Shell, hollow, with_shell
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.rules.broadcasting import FLOAT64


def binary(pull: Any, reads: tuple[bool, ...], y: NumR, a: Any, b: Any, p: Any, q: Any) -> Operation:
    """The operation y = f(a, b), where `p` and `q` are the values of `a` and `b`; and `reads` is whether the partial
    derivatives read y, a and b.
    """
    tag = y.tag
    is_y_read, is_a_read, is_b_read = reads
    held = y if is_y_read else hollowed(y)
    if type(a) is not NumR or a.tag is not tag:
        a = None
    elif type(place := a.adjoint) is Shell:  # the steps of `waiting` for the usual case, for speed
        if is_a_read:
            place.is_read = True
        a = place
    elif place is not ZERO:
        a = waiting(a, is_a_read)
    if type(b) is not NumR or b.tag is not tag:
        b = None
    elif type(place := b.adjoint) is Shell:
        if is_b_read:
            place.is_read = True
        b = place
    elif place is not ZERO:
        b = waiting(b, is_b_read)
    return pull, held, a, b, held.primal, p if is_a_read else None, q if is_b_read else None


def unary(pull: Any, reads: tuple[bool, ...], y: NumR, x: NumR) -> Operation:
    """The same for y = f(x)."""
    is_y_read, is_x_read = reads
    held = y if is_y_read else hollowed(y)
    return pull, held, waiting(x, is_x_read), held.primal, x.primal if is_x_read else None


def hollowed(y: NumR) -> Any:
    """What the operation holds of its answer, whose elements it does not read."""
    primal, tag = y.primal, y.tag
    if type(primal) is not ndarray or primal.dtype is not FLOAT64 or tag.is_watched:
        return with_shell(y)
    y.adjoint = shell = Shell()  # the steps of `with_shell` for the usual case, for speed
    shell.adjoint = ZERO
    shell.is_read = False
    shell.tag = tag
    try:
        shell.primal = HOLLOW_DOUBLES[primal.shape]
    except KeyError:
        shell.primal = hollow(primal.shape, FLOAT64)
    tag.has_shells = True
    return shell
