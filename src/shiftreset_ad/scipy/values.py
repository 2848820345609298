"""Values of SciPy's, with the derivatives of another way to compute the same."""

from __future__ import annotations

from typing import Any

from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.transforms.constants import value


def with_value(x: Any, known: Any) -> Any:
    """The plain value `known` with the derivatives of `x`, whose own value is equal up to a tolerance."""
    constant = value(x)
    return plain(known) + (x - constant) if isinstance(x, Number) else known
