"""Derivatives that may be wrong because of a zero that is carried. The program must not go on with such a derivative.

Control carries zeros where the function itself has no derivative at all, and so do choices between numbers. Zero times
an infinite derivative is NaN. If the program tests this NaN, or chooses by it, its answer tells nobody. So the steps
raise UncertainError as soon as the program gets the derivative, and the function itself runs. A rule of the user's gets
cotangents, too, and may give a derivative for a cotangent of zero, where the function itself never calls the rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.numbers.floating_errors import without_warnings
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.carried_zeros import carried
from shiftreset_ad.staging.control.kinds import staged_inside, values_inside
from shiftreset_ad.staging.steps.functions import as_linear, certain_number
from shiftreset_ad.staging.steps.trace import NOTHING, Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged

UNCERTAIN = (
    "a derivative is NaN, which may come of a number that is not chosen, or of a branch that is not taken. Compute in "
    "the branch what no other branch needs, and give roots and logarithms no zero, as by numpy.where(x > 0, x, 1.0)"
)


def certain_of(derivatives: list[Any]) -> list[Any]:
    """The derivatives. The steps hold only if none of them is NaN; what is NaN in this run makes the run uncertain."""
    for derivative in derivatives:
        for x in staged_inside(derivative):
            if np.size(x.inside) and dtype_of(x).kind in "fc":
                _require_certain(x, without_warnings(np.sum, x) if shape_of(x) else x)
    return derivatives


def _require_certain(x: Staged, total: Staged) -> None:
    """The same for one value. The sum of an array is NaN if an element is. What needs no value needs no check of it."""
    trace = x._trace
    step = trace.add(certain_number, (total,), NOTHING, total.inside)
    trace.checked[step.place] = [x]
    if total.inside != total.inside:
        _is_uncertain(trace)


def _is_uncertain(trace: Trace) -> None:
    if trace.block is not trace.root:  # which may not be reached
        carried.is_doubtful = True
        return
    carried.is_uncertain = True
    if not trace.has_control:
        trace.refuse(UNCERTAIN)  # and the next run asks


def before_rule(y_bars: list[Any]) -> None:
    """A rule of the user's may test its cotangents. It may also keep something, such as a count of its calls.

    So if it may get a zero for a number that is not chosen, the next run asks which number is chosen. A branch or a
    loop cannot ask.
    """
    staged = next((x for y_bar in y_bars for x in staged_inside(y_bar)), None)
    if staged is not None and not staged._trace.has_control:
        staged._trace.refuse(UNCERTAIN)
    certain_of(y_bars)


def after_rule(given: list[Any], found: list[Any]) -> None:
    """Record that a rule of the user's, where it is `given` zeros alone, has found zeros alone.

    The function itself does not call the rule for a zero that a branch or a loop carries.
    """
    size, size_found = _size(given), _size(found)
    if type(size) is not Staged or not size._trace.has_control:
        return
    trace = size._trace
    step = trace.add(as_linear, (size, size_found), NOTHING, unstaged(size_found))
    trace.checked[step.place] = [x for x_bar in found for x in staged_inside(x_bar)]
    if size.inside == 0.0 and unstaged(size_found) != 0.0:
        _is_uncertain(trace)


def _size(derivatives: list[Any]) -> Any:
    """The sum of the absolute values of all plain values in these derivatives."""
    total: Any = 0.0
    for derivative in derivatives:
        for part in values_inside(derivative):
            if part is not None:
                total = total + (without_warnings(np.sum, np.abs(part)) if shape_of(part) else abs(part))
    return total
