"""The ends of slices of lists whose lengths may be staged."""

from __future__ import annotations

from typing import Any

from shiftreset_ad.staging.control.choosing import python_number
from shiftreset_ad.staging.steps.values import Staged


def least(m: Any, n: Any) -> Any:
    """The lesser of two integers, which may be staged."""
    if type(m) is not Staged and type(n) is not Staged:
        return min(m, n)
    is_less = m < n
    return m * is_less + n * (1 - is_less)


def not_negative(n: Any) -> Any:
    """The integer, which may be staged; 0 if it is less."""
    return n * (n > 0)


def within(end: Any, length: Any) -> Any:
    """The end of a slice as a number from zero to the length. A negative one counts from the end."""
    end = python_number(end)
    return least(not_negative(end + length * (end < 0)), length)
