"""Sorting and partitioning: the elements are rearranged or selected, and the order itself is constant.

Equal elements keep their order, whatever algorithm is asked for: the permutation is the one of a stable `argsort`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.indexing import read
from shiftreset_ad.rules.layouts import in_order_like
from shiftreset_ad.rules.numpy.shapes import astype, constant_of, normalize_axis
from shiftreset_ad.rules.table import composite, dispatched, linear, structured


def along(index: Any, axis: int) -> tuple[Any, ...]:
    """The index for `x[...]` that takes the elements at the positions `index` along `axis`."""
    grid = np.ogrid[tuple(slice(size) for size in index.shape)]
    return (*grid[:axis], index, *grid[axis + 1 :])


def order_of(a: Any, axis: int = -1) -> Any:
    """The positions of the elements of `a` along `axis`, from the least to the greatest."""
    return np.argsort(a, axis=axis, kind="stable")


@dispatched
def rearranged(a: Any, order: Any, axis: int) -> Any:
    """`a` with its elements permuted along `axis`: element i of the answer is element order[i] of `a`."""
    return a[along(order, axis)]


@structured(rearranged, linear=True)
def _rearranged(a: Any, order: Any, axis: int) -> Any:
    place, inverse = along(order, axis), along(np.argsort(order, axis=axis), axis)
    return linear(a, lambda a: read(a, place), lambda y_bar: read(y_bar, inverse))


@composite(np.sort)
def _sort(a: Any, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> Any:
    a, axis = (np.ravel(a), 0) if axis is None else (a, normalize_axis(axis, len(shape_of(a))))
    return in_order_like(rearranged(a, order_of(a, axis), axis), a)


@composite(np.sort_complex)
def _sort_complex(a: Any) -> Any:
    ordered = np.sort(a)
    dtype = dtype_of(ordered)
    return ordered if dtype.kind == "c" else astype(ordered, np.result_type(dtype, np.complex128))


@composite(np.partition)
def _partition(a: Any, kth: Any, axis: int | None = -1, kind: Any = "introselect") -> Any:
    a, axis = (np.ravel(a), 0) if axis is None else (a, normalize_axis(axis, len(shape_of(a))))
    # The rank of an element tells its place in the answer.
    ranks = order_of(order_of(constant_of(a, lambda a: np.partition(a, kth, axis, kind)), axis), axis)
    return in_order_like(rearranged(a, np.take_along_axis(order_of(a, axis), ranks, axis), axis), a)
