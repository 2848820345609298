"""Functions of arrays as sets of values: they return a selection of the given elements.

Among equal elements, they select the first. Positions and counts are constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.numpy.shapes import normalize_axis
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.rules.table import CONSTANT, composite, functions_of

numpy: Any = np  # untyped, as NumPy's annotations need the options as constants

CONSTANT.update(functions_of("isin", "in1d"))


def selected(pool: Any, values: Any) -> Any:
    """The elements of the vector `pool` with these plain values; equal values get the equal elements in their order."""
    order = np.argsort(plain(pool), kind="stable")
    in_order = plain(pool)[order]
    again = np.argsort(values, kind="stable")
    repetition = (np.arange(len(values)) - np.searchsorted(values[again], values[again]))[np.argsort(again)]
    return pool[order[np.searchsorted(in_order, values) + repetition]]


def _replaced(answer: Any, values: Any) -> Any:
    """NumPy's answer with numbers for the values: an array, or a tuple that begins with them."""
    if not isinstance(answer, tuple):
        return values
    rest = answer[1:]
    return type(answer)(values, *rest) if hasattr(answer, "_fields") else (values, *rest)


def _first(answer: Any) -> Any:
    return answer[0] if isinstance(answer, tuple) else answer


@composite(np.unique)
def _unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    **options: Any,
) -> Any:
    answer = numpy.unique(plain(ar), return_index, return_inverse, return_counts, axis, **options)
    if axis is None:
        return _replaced(answer, selected(np.ravel(ar), _first(answer)))
    axis = normalize_axis(axis, len(shape_of(ar)))
    index = numpy.unique(plain(ar), return_index=True, axis=axis, **options)[1]
    return _replaced(answer, ar[(slice(None),) * axis + (index,)])


def _of_the_standard(function: Callable[..., Any]) -> None:
    @composite(function)
    def definition(x: Any, /) -> Any:
        answer = function(plain(x))
        return _replaced(answer, selected(np.ravel(x), _first(answer)))


for _function in functions_of("unique_all", "unique_counts", "unique_inverse", "unique_values"):
    _of_the_standard(_function)


@composite(np.union1d)
def _union1d(ar1: Any, ar2: Any) -> Any:
    return np.unique(np.concatenate([ar1, ar2], axis=None))


@composite(np.intersect1d)
def _intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    answer = numpy.intersect1d(plain(ar1), plain(ar2), assume_unique, return_indices)
    return _replaced(answer, selected(np.ravel(ar1), _first(answer)))


@composite(np.setdiff1d)
def _setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    return selected(np.ravel(ar1), np.setdiff1d(plain(ar1), plain(ar2), assume_unique))


@composite(np.setxor1d)
def _setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    answer = np.setxor1d(plain(ar1), plain(ar2), assume_unique)
    return selected(np.concatenate([ar1, ar2], axis=None), answer)
