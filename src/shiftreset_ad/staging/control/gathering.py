"""What the rounds of a loop answer, gathered into one array, and the way back into the rounds.

The derivative of gathering is spreading: a visit of the rounds adds to the adjoint of the value of each round its part
of the adjoint of the array. The way back through the loop finds these adjoints in the frames.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.control import Operation
from shiftreset_ad.modes.reverse.adjoints import accumulate, settle
from shiftreset_ad.modes.reverse.number import NumR, capture
from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.numbers.number import ZERO, Number, innermost
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.staging.control.kinds import kind_of, parts_of, with_parts
from shiftreset_ad.staging.control.levels import carried_out
from shiftreset_ad.staging.control.reverse import restore
from shiftreset_ad.staging.control.writing import LoopWay, open_reverse_tags
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import adopted


def gathered(way: LoopWay, x: Any, i: Any) -> Any:
    """The array of a value of each round. `i` is the number of a round, as a value of the round."""
    if not isinstance(x, Number):
        return way.gather(x)
    parts = [gathered(way, part, i) for part in parts_of(x)]
    if isinstance(x, Stack):
        return Stack(np.moveaxis(parts[0], 0, 1), x.tag)
    y = with_parts(kind_of(x), parts)
    if type(x) is NumR:
        capture(x.tag, (pull_gathered, y, x, i, way))
    return y


def indexable(x: Any, trace: Trace) -> Any:
    """An array, or a number, which can be indexed by a staged value: NumPy reads a plain array at a plain index."""
    if type(innermost(x)) is not ndarray:
        return x
    return adopted(trace, x) if x is innermost(x) else x + adopted(trace, np.zeros(shape_of(x), dtype_of(x)))


def pull_gathered(operation: Operation) -> None:
    _, y, x, i, way = operation
    y_bar = settle(y)
    if y_bar is ZERO:
        return
    before, y_bar = x.adjoint, indexable(y_bar, way.trace)

    def spread(_: list[Any]) -> list[Any]:
        restore([(x, before)])
        accumulate(x, y_bar[i])
        return []

    carried_out(way.back(), [spread], [], (), open_reverse_tags())
