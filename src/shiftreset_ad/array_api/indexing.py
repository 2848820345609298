"""Parts of arrays by any index that NumPy takes, and the transpose: sums of contributions to parts.

The standard has slices with positive steps, and arrays of integers along one axis. Any other index is converted to
positions: NumPy says which elements of the flat array the index means, and `take` gets them.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from shiftreset_ad.array_api.promotion import in_dtype
from shiftreset_ad.array_api.standard import Standard, adopted, entered
from shiftreset_ad.rules.indexing import scatter

INTEGERS = (int, np.integer)


@entered(operator.getitem)
def part(x: Standard, index: Any) -> Standard:
    """`x[index]`."""
    shape = x.shape
    parts = [on_host(place) for place in (index if isinstance(index, tuple) else (index,))]
    basic = basic_index(parts, shape)
    if basic is not None:
        return x.like(x.array[basic])
    along = axis_of_only_array(parts, shape)
    if along is not None:
        return taken(x, parts[along], along)
    places = np.arange(x.size).reshape(shape)[tuple(parts)]
    return taken(flat(x), places, 0)


def on_host(index: Any) -> Any:
    """An index in which arrays of another library and lists become plain arrays."""
    index = adopted(index)
    if isinstance(index, Standard):
        return index.to_numpy()
    if isinstance(index, list):
        plain = np.array([on_host(place) for place in index])
        return plain if plain.size else plain.astype(np.intp)
    return index


def basic_index(parts: list[Any], shape: tuple[int, ...]) -> tuple[Any, ...] | None:
    """An index of integers, forward slices, `None` and `...`, with every axis named and within its bounds.

    None if the index has other parts.
    """
    for place in parts:
        if isinstance(place, bool | np.bool_) or not (
            place is None or place is Ellipsis or isinstance(place, (slice, *INTEGERS))
        ):
            return None
    named = sum(place is not None and place is not Ellipsis for place in parts)
    ellipses = sum(place is Ellipsis for place in parts)
    if named > len(shape) or ellipses > 1:
        raise IndexError(f"too many indices for an array of {len(shape)} dimensions, or more than one ellipsis")
    if not ellipses:
        parts = [*parts, Ellipsis]
    found: list[Any] = []
    axis = 0
    for place in parts:
        if place is None:
            found.append(None)
        elif place is Ellipsis:
            found += [slice(None)] * (len(shape) - named)
            axis += len(shape) - named
        elif isinstance(place, slice):
            start, stop, step = place.indices(shape[axis])
            if step < 0:
                return None
            found.append(slice(start, max(start, stop), step))
            axis += 1
        else:
            size = shape[axis]
            if not -size <= place < size:
                raise IndexError(f"index {place} is out of bounds for axis {axis} with size {size}")
            found.append(int(place) % size)
            axis += 1
    return tuple(found)


def axis_of_only_array(parts: list[Any], shape: tuple[int, ...]) -> int | None:
    """The axis of an array of integers that has only full slices before it, and nothing after it; None for others."""
    *before, last = parts
    if not (isinstance(last, np.ndarray) and last.dtype.kind in "iu" and last.ndim) or len(parts) > len(shape):
        return None
    return len(before) if all(isinstance(place, slice) and place == slice(None) for place in before) else None


def taken(x: Standard, places: Any, axis: int) -> Standard:
    """`numpy.take(x, places, axis)`, for a plain array of places, which may be negative."""
    size = x.shape[axis]
    if places.size and not (-size <= places.min() and places.max() < size):
        raise IndexError(f"an index is out of bounds for axis {axis} with size {size}")
    wrapped = x.converted(np.ravel(places % size if size else places).astype(np.int64))
    along = x.apply("take", wrapped.array, axis=axis)
    return along.apply("reshape", (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]))


def flat(x: Standard) -> Standard:
    """All elements as a vector."""
    return x.apply("reshape", (-1,))


@entered(scatter)
def sums_at_parts(values: list[Any], indices: list[Any], shape: tuple[int, ...], dtype: Any) -> Standard:
    """`rules.indexing.scatter`."""
    size = int(np.prod(shape))
    every = np.arange(size).reshape(shape)
    places, rows = [], []
    for index, value in zip(indices, in_dtype(dtype, *values), strict=True):
        parts = tuple(on_host(place) for place in index) if isinstance(index, tuple) else on_host(index)
        found = every[parts]
        places.append(np.ravel(found))
        rows.append(flat(value.apply("broadcast_to", np.shape(found))))
    return sums_at(joined(rows), np.concatenate(places), size).apply("reshape", tuple(shape))


def sums_at(values: Standard, places: Any, size: int) -> Standard:
    """For each place the sum of the values that belong there; 0 if there are none.

    Sorting brings the values of one place together. Then, for steps 1, 2, 4 and so on, the value `step` before it is
    added to each value, if both have the same place. In the end, the last value of a place is the sum: a scan in pairs.
    """
    order = np.argsort(places, kind="stable")
    places = places[order]
    values = taken(values, order, 0)
    most = int(np.max(np.unique(places, return_counts=True)[1], initial=0))
    step = 1
    while step < most:
        same = values.converted(places[step:] == places[:-step]).array
        earlier = values.array[: len(places) - step]
        zeros = values.xp.zeros_like(earlier)
        later = values.like(values.array[step:] + values.xp.where(same, earlier, zeros))
        values = joined([values.like(values.array[:step]), later])
        step *= 2
    last = np.flatnonzero(np.append(places[1:] != places[:-1], True)) if len(places) else np.arange(0)
    source = np.full(size, len(places))  # the place of the zero behind the sums
    source[places[last]] = last
    return taken(joined([values, values.full((1,), 0, values.dtype)]), source, 0)


def joined(rows: list[Standard]) -> Standard:
    """Vectors of one dtype, joined into one."""
    return rows[0].like(rows[0].xp.concat([row.array for row in rows], axis=0))
