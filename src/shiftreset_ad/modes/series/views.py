"""Views of the coefficients of a series, for programs that write to arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shiftreset_ad.modes.tangents import is_settled, mirrored


def mark_views(x: Any) -> None:
    """Note that `x` has views, each with views of all coefficients."""
    if not hasattr(x, "has_views"):
        if not is_settled(x):
            mirror(x)
        x.has_views = True


def mirror(x: Any, items: Sequence[Any] = (0.0,)) -> None:
    """Give `x` all its coefficients, in arrays that lie in memory as its value does, so that `items` can be written."""
    zeros = [0.0] * (x.tag.order + 1 - len(x.coefficients))
    x.coefficients[:] = mirrored(x, [*x.coefficients, *zeros], items)
