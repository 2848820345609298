"""What an elementwise operation on arrays holds while it waits: no elements that its partial derivatives do not read.

Each step is written out where it is taken, as this decides the speed.
"""

from __future__ import annotations

from typing import Any

from numpy import ndarray

from shiftreset_ad.control import Operation
from shiftreset_ad.modes.reverse.memory import waiting
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.modes.reverse.shells import DOUBLES, Shell, hollow, with_shell
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.rules.broadcasting import FLOAT64


def binary(pull: Any, reads: tuple[bool, ...], y: NumR, a: Any, b: Any, p: Any, q: Any) -> Operation:
    """The operation y = f(a, b), where `p` and `q` are the values of `a` and `b`; and `reads` is whether the partial
    derivatives read y, a and b.
    """
    tag = y.tag
    is_y_read, is_a_read, is_b_read = reads
    held = holding(y, is_y_read)
    if type(a) is not NumR or a.tag is not tag:
        a = None
    elif a.adjoint is not ZERO:
        a = waiting(a, is_a_read)
    if type(b) is not NumR or b.tag is not tag:
        b = None
    elif b.adjoint is not ZERO:
        b = waiting(b, is_b_read)
    return pull, held, a, b, held.primal, p if is_a_read else None, q if is_b_read else None


def unary(pull: Any, reads: tuple[bool, ...], y: NumR, x: NumR) -> Operation:
    """The same for y = f(x)."""
    is_y_read, is_x_read = reads
    held = holding(y, is_y_read)
    return pull, held, waiting(x, is_x_read), held.primal, x.primal if is_x_read else None


def holding(y: NumR, is_read: bool) -> Any:
    """What the operation holds of its answer: all of it, if a partial derivative reads it."""
    if is_read:
        return y
    primal, tag = y.primal, y.tag
    if type(primal) is not ndarray or primal.dtype is not FLOAT64 or tag.is_watched:
        return with_shell(y)
    y.adjoint = shell = Shell()  # the steps of `with_shell` for the usual case
    shell.adjoint = ZERO
    shell.is_read = False
    shell.tag = tag
    try:
        shell.primal = DOUBLES[primal.shape]
    except KeyError:
        shell.primal = hollow(primal.shape, FLOAT64)
    return shell
