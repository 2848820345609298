"""Unique elements, by sorting, because some libraries do not have the standard's functions for them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.array_api.indexing import flat
from shiftreset_ad.array_api.standard import entered


class Unique(NamedTuple):
    """The elements in order, the first place of each, the number of the element at each place, and how often it is."""

    values: Any
    indices: Any
    inverse: Any
    counts: Any


def unique(x: Any, equal_nan: bool) -> Unique:
    """The unique elements of `x`; with `equal_nan`, all NaNs are one element."""
    row = flat(x)
    order = np.argsort(row)
    in_order = np.take(row, order)
    before, after = in_order[:-1], in_order[1:]
    is_new = np.not_equal(before, after)
    if equal_nan:
        is_new = is_new & ~(np.isnan(before) & np.isnan(after))
    is_first = np.asarray(np.concatenate([np.ones(min(row.size, 1), bool), is_new]))
    starts = np.flatnonzero(is_first)
    places = np.asarray(order)
    inverse = np.empty(row.size, np.int64)
    inverse[places] = np.cumsum(is_first) - 1
    counts = np.diff(np.append(starts, row.size))
    indices, inverse, counts = (x.converted(found) for found in (places[starts], inverse, counts))
    return Unique(np.take(in_order, starts), indices, inverse.apply("reshape", x.shape), counts)


@entered(np.unique)
def _unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,  # noqa: A002 (NumPy's name)
) -> Any:
    if axis is not None:
        raise TypeError("numpy.unique: axis cannot be given with an array of another library than NumPy; give its rows")
    found = unique(ar, equal_nan)
    wanted = zip(found[1:], (return_index, return_inverse, return_counts), strict=True)
    answer = (found.values, *(part for part, is_wanted in wanted if is_wanted))
    return answer if len(answer) > 1 else answer[0]


def _like_numpy(function: Any, *names: str) -> Any:
    """Make a function return NumPy's kind of answer, a named tuple."""

    def definition(x: Any, /) -> Any:
        found = unique(x, equal_nan=False)
        return type(function(np.zeros(1)))(*(getattr(found, name) for name in names))

    return definition


entered(np.unique_all)(_like_numpy(np.unique_all, "values", "indices", "inverse", "counts"))
entered(np.unique_counts)(_like_numpy(np.unique_counts, "values", "counts"))
entered(np.unique_inverse)(_like_numpy(np.unique_inverse, "values", "inverse"))


@entered(np.unique_values)
def _unique_values(x: Any, /) -> Any:
    return unique(x, equal_nan=False).values
