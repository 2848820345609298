"""Derivatives that may be wrong because of a zero that is carried. The program must not go on with such a derivative.

Control carries zeros where the function itself has no derivative at all, and so do choices between numbers. Zero times
an infinite derivative is NaN. If the program tests this NaN, or chooses by it, its answer tells nobody. So the steps
raise UncertainError as soon as the program gets the derivative, and the function itself runs. A rule of the user's gets
cotangents, too, and may give a derivative for a cotangent of zero, where the function itself never calls the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from shiftreset_ad.numbers.floating_errors import without_warnings
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.carried_zeros import carried
from shiftreset_ad.staging.control.kinds import staged_inside
from shiftreset_ad.staging.steps.functions import certain
from shiftreset_ad.staging.steps.trace import NOTHING
from shiftreset_ad.staging.steps.values import Staged, unstaged

UNCERTAIN = "a derivative is NaN, which may come of a number that is not chosen, or of a branch that is not taken"
OF_ZERO = (
    "its rule for reverse mode gives a derivative, or an error, for a cotangent of zero. A branch that is not taken "
    "gives such a cotangent"
)


def certain_of(derivatives: Iterable[Any]) -> list[Any]:
    """The derivatives. The steps hold only if none of them is NaN; what is NaN in this run makes the run uncertain."""
    found = list(derivatives)
    for derivative in found:
        for x in staged_inside(derivative):
            if np.size(x.inside) and dtype_of(x).kind in "fc":
                _require_certain(without_warnings(np.sum, x) if shape_of(x) else x)
    return found


def _require_certain(x: Staged) -> None:
    """The same for a number: of an array the sum, which is NaN if an element is."""
    trace = x._trace
    trace.add(certain, (x,), NOTHING, x.inside)
    if x.inside == x.inside:
        return
    if trace.block is not trace.root:  # which may not be reached
        carried.is_doubtful = True
        return
    carried.is_uncertain = True
    if not trace.has_control:
        trace.refuse(UNCERTAIN)  # and the next run asks


def try_zeros(rule: Callable[[list[Any]], Any], y_bars: list[Any]) -> None:
    """Refuse a rule of the user's that does not give zeros for cotangents of zero. It gets no cotangent that is NaN."""
    certain_of(y_bars)
    staged = next((x for y_bar in y_bars for x in staged_inside(y_bar)), None)
    if staged is None:
        return
    trace = staged._trace
    mark = trace.mark()
    try:
        with np.errstate(all="ignore"):
            gives_zeros = not any(map(_is_not_zero, rule(list(map(_zeros_like, y_bars)))))
    except Exception:
        gives_zeros = False
    trace.rewind(mark)
    if not gives_zeros:
        trace.refuse(OF_ZERO if trace.has_control else UNCERTAIN)


def _zeros_like(y_bar: Any) -> Any:
    shape = shape_of(y_bar)
    return None if y_bar is None else np.zeros(shape, dtype_of(y_bar)) if shape else 0.0


def _is_not_zero(x_bar: Any) -> bool:
    """Whether a derivative is something else than zero and NaN, which may come of other values in another run."""
    return any(np.any(np.nan_to_num(part)) for part in _plain_inside(x_bar))


def _plain_inside(x: Any) -> Iterator[Any]:
    values = [unstaged(part) for part in staged_inside(x)]
    yield from values or ([] if x is None or isinstance(x, Number) else [x])
