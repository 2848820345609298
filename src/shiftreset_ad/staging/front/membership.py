"""`x in items` of a staged number: it is compared with each of the items, which are plain numbers, or with a range."""

from __future__ import annotations

import operator
from functools import reduce
from math import isnan
from typing import Any

from shiftreset_ad.staging.front.session import current, negated
from shiftreset_ad.staging.steps.values import Staged, call

COLLECTIONS = (tuple, list, set, frozenset, dict)
MOST = 64  # items that are compared


def contained(name: str, x: Any, y: Any) -> Any:
    """`x in y` or `x not in y`, by the name of the operator."""
    return truth_as(name == "in", _is_in(x, y))


def truth_as(expected: bool, x: Any) -> Any:
    """Whether the truth of `x` is the expected one."""
    session = current()
    if session is None or not session.control.is_staged(x):
        return bool(x) is expected
    return session.control.truth(x) if expected else negated(x)


def _is_in(x: Any, y: Any) -> Any:
    session = current()
    if session is None or not session.control.is_staged(x) or not issubclass(session.control.type_of(x), float | int):
        return x in y
    if type(y) is range and y and issubclass(session.control.type_of(x), int):
        first, last = (y[0], y[-1]) if y.step > 0 else (y[-1], y[0])
        return (x >= first) & (x <= last) & ((x - first) % abs(y.step) == 0)
    if type(y) in COLLECTIONS and 0 < len(y) <= MOST and all(map(_is_plain, y)):
        return call(bool, (reduce(operator.or_, [session.control.truth(x == item) for item in y]),))
    return x in y


def _is_plain(x: Any) -> bool:
    """Whether this is a plain number that is equal to itself: Python finds others by their identity."""
    return type(x) is not Staged and isinstance(x, float | int) and not isnan(x)
