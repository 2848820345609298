"""Views of the coefficients of a series, for programs that write to arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shiftreset_ad.modes.tangents import lies_alike
from shiftreset_ad.numbers.memory import lacks_level
from shiftreset_ad.numbers.number import in_memory, lacks, put, tags_of, with_levels_of, zeros_alike
from shiftreset_ad.numbers.tags import Tag


def mark_views(x: Any) -> None:
    """Note that there are views of `x`, each with views of all coefficients."""
    if not hasattr(x, "has_views"):
        mirror(x)
        x.has_views = True


def mirror(x: Any, items: Sequence[Any] = ()) -> None:
    """Have all coefficients of `x`, in arrays that lie in memory as its value does, so that `items` can be written."""
    coefficients, order = x.coefficients, x.tag.order
    needed: set[Tag] = set().union(*map(tags_of, (*coefficients, *items)))
    has_levels = not any(lacks(x_k, needed) for x_k in coefficients[1:]) and not any(
        lacks(coefficients[0], tags_of(y)) for y in items[:1]
    )
    if has_levels and (hasattr(x, "has_views") or (len(coefficients) > order and _lie_alike(coefficients))):
        return
    if hasattr(x, "has_views"):
        raise lacks_level()
    coefficients[0] = with_levels_of(x.primal, *items[:1])
    for k in range(1, order + 1):
        array = with_levels_of(zeros_alike(x.primal), *items, *coefficients)
        if k < len(coefficients):
            put(array, ..., coefficients[k])
            coefficients[k] = array
        else:
            coefficients.append(array)


def _lie_alike(coefficients: list[Any]) -> bool:
    """Whether all can be written to, and lie in memory as the first one does."""
    first, *others = map(in_memory, coefficients)
    return all(lies_alike(other, first) for other in others)
