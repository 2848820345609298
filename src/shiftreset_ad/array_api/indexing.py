"""Parts of arrays by any index that NumPy takes, and the transpose: sums of contributions to parts.

The standard has slices with positive steps, and arrays of integers along one axis. A slice with a negative step is one
with a positive step, flipped. Several arrays of integers become one, and any other index is converted to positions:
NumPy says which elements of the flat array the index means, and `take` gets them. Integers that lie on a device stay
there; masks go to the host, as shapes depend on them.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from shiftreset_ad.array_api.promotion import in_dtype
from shiftreset_ad.array_api.standard import Standard, adopted, entered
from shiftreset_ad.rules.indexing import scatter

INTEGERS = (int, np.integer)
# Contributions to slices are added one by one if there are few, or if they have so many elements each in the mean.
FEW, LARGE = 8, 256


@entered(operator.getitem)
def part(x: Standard, index: Any) -> Standard:
    """`x[index]`."""
    shape = x.shape
    parts = _parts_of(index)
    basic = basic_index(parts, shape)
    if basic is not None:
        return _seen(x, *basic)
    together = axes_of_arrays(parts, shape)
    if together is not None:
        first, end = together
        sizes = shape[first:end]
        joint = x if end - first == 1 else x.apply("reshape", (*shape[:first], math.prod(sizes), *shape[end:]))
        return taken(joint, places_among(parts[first:], sizes), first)
    places = np.arange(x.size).reshape(shape)[tuple(map(on_host, parts))]
    return taken(flat(x), places, 0)


def _parts_of(index: Any) -> list[Any]:
    """The parts of an index, in which lists become plain arrays, and other libraries' arrays are wrapped."""
    parts = map(adopted, index if isinstance(index, tuple) else (index,))
    return [on_host(place) if isinstance(place, list) else place for place in parts]


def on_host(index: Any) -> Any:
    """An index in which arrays of another library and lists become plain arrays."""
    index = adopted(index)
    if isinstance(index, Standard):
        return index.to_numpy()
    if isinstance(index, list):
        plain = np.array([on_host(place) for place in index])
        return plain if plain.size else plain.astype(np.intp)
    return index


def _seen(x: Standard, index: tuple[Any, ...], backwards: tuple[int, ...]) -> Standard:
    """The part of `x` at a basic index."""
    if not backwards:
        return x.like(x.array[index])
    found = x.like(x.array[_of_old_axes(index)]).apply("flip", axis=backwards)
    return x.like(found.array[tuple([place if place is None else slice(None) for place in index if _is_axis(place)])])


def _is_axis(place: Any) -> bool:
    """Whether the part has an axis for a part of a basic index."""
    return not isinstance(place, int)


def _of_old_axes(index: tuple[Any, ...]) -> tuple[Any, ...]:
    """A basic index without new axes."""
    return tuple([place for place in index if place is not None])


def basic_index(parts: list[Any], shape: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[int, ...]] | None:
    """An index of integers, forward slices and `None`, with every axis named and within its bounds.

    Also the axes of the part along which slices go backwards, counted without new axes: the slice in the index has the
    same elements from the other end. None if the index has other parts than integers, slices, `None` and `...`.
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
    backwards: list[int] = []
    axis = 0
    for place in parts:
        if place is None:
            found.append(None)
        elif place is Ellipsis:
            found += [slice(None)] * (len(shape) - named)
            axis += len(shape) - named
        elif isinstance(place, slice):
            places = range(*place.indices(shape[axis]))
            if places.step < 0:
                backwards.append(sum(isinstance(place, slice) for place in found))
                places = places[::-1]
            found.append(slice(places[0], places[-1] + 1, places.step) if places else slice(0, 0))
            axis += 1
        else:
            size = shape[axis]
            if not -size <= place < size:
                raise IndexError(f"index {place} is out of bounds for axis {axis} with size {size}")
            found.append(int(place) % size)
            axis += 1
    return tuple(found), tuple(backwards)


def axes_of_arrays(parts: list[Any], shape: tuple[int, ...]) -> tuple[int, int] | None:
    """The first and the end of the axes of an index of integers and arrays of integers; None for other indices.

    Before them there may be full slices, and nothing after them.
    """
    first = 0
    while first < len(parts) and isinstance(parts[first], slice) and parts[first] == slice(None):
        first += 1
    of_arrays = parts[first:]
    if not of_arrays or len(parts) > len(shape) or not all(map(_is_position, of_arrays)):
        return None
    return first, len(parts)


def _is_position(place: Any) -> bool:
    if isinstance(place, np.ndarray | Standard):
        return place.dtype.kind in "iu"
    return isinstance(place, INTEGERS) and not isinstance(place, bool | np.bool_)


def places_among(parts: list[Any], sizes: tuple[int, ...]) -> Any:
    """The places of elements among all of some axes, for positions along each axis: plain, or a `Standard`."""
    total: Any = 0
    for positions, size in zip(parts, sizes, strict=True):
        total = total * size + _not_negative(positions, size)
    return total


def _not_negative(places: Any, size: int) -> Any:
    """Positions counted from the beginning. What lies on a device is not compared with the bounds."""
    if isinstance(places, Standard):
        places = places.astype(np.dtype(np.int64))  # where there is room for the size
        return np.where(np.less(places, 0), places + size, places)
    places = np.asarray(places).astype(np.int64)
    if places.size and not (-size <= places.min() and places.max() < size):
        raise IndexError(f"an index is out of bounds for an axis of size {size}")
    return np.where(places < 0, places + size, places)


def taken(x: Standard, places: Any, axis: int) -> Standard:
    """`numpy.take(x, places, axis)`, for an array of places, which may be negative: a plain one, or a `Standard`."""
    chosen = _not_negative(places, x.shape[axis])
    rows = chosen.reshape(-1)
    along = x.apply("take", rows.array if isinstance(rows, Standard) else x.converted(rows).array, axis=axis)
    return along.apply("reshape", (*x.shape[:axis], *chosen.shape, *x.shape[axis + 1 :]))


def flat(x: Standard) -> Standard:
    """All elements as a vector."""
    return x.apply("reshape", (-1,))


@entered(scatter)
def sums_at_parts(values: list[Any], indices: list[Any], shape: tuple[int, ...], dtype: Any) -> Standard:
    """`rules.indexing.scatter`."""
    contributions = in_dtype(dtype, *values)
    parts = list(map(_parts_of, indices))
    is_short = len(parts) <= FEW or sum(x.size for x in contributions) > LARGE * len(parts)
    basic = [basic_index(places, shape) for places in parts] if is_short else [None]
    if all(index is not None for index in basic):
        total = _added_in_place(contributions, basic, shape, dtype)
        if total is not None:
            return total
    axes = {axes_of_arrays(places, shape) for places in parts}
    if len(axes) == 1 and (together := axes.pop()) is not None and together[0] == 0 and _is_by_torch(contributions[0]):
        return _rows_by_torch(contributions, parts, together[1], shape)
    size = math.prod(shape)
    every = np.arange(size).reshape(shape)
    found, rows = [], []
    for places, value in zip(parts, contributions, strict=True):
        has_device = any(isinstance(place, Standard) and place.dtype.kind != "b" for place in places)
        named = part(value.converted(every), tuple(places)) if has_device else every[tuple(map(on_host, places))]
        found.append(named.reshape(-1))
        rows.append(flat(value.apply("broadcast_to", named.shape)))
    if any(isinstance(places, Standard) for places in found):
        device_places = [x if isinstance(x, Standard) else rows[0].converted(x) for x in found]
        return sums_at(joined(rows), joined(device_places), size).apply("reshape", tuple(shape))
    return sums_at(joined(rows), np.concatenate(found), size).apply("reshape", tuple(shape))


def _added_in_place(contributions: list[Standard], indices: list[Any], shape: Any, dtype: Any) -> Standard | None:
    """Zeros with the contributions added to parts without repetition; None if arrays of the library refuse writes."""
    total = contributions[0].full(shape, 0, dtype)
    try:
        for (index, backwards), value in zip(indices, contributions, strict=True):
            index = _of_old_axes(index)  # the standard does not write to new ones
            whole = total.array[index]
            added = value if value.ndim <= len(whole.shape) else value.reshape(tuple(whole.shape))
            if backwards:
                added = added.apply("broadcast_to", tuple(whole.shape)).apply("flip", axis=backwards)
            total.array[index] = whole + added.array
    except TypeError:
        return None
    return total


def sums_at(values: Standard, places: Any, size: int) -> Standard:
    """For each place the sum of the values that belong there; 0 if there are none. Places may lie on the device.

    Sorting brings the values of one place together. Then, for steps 1, 2, 4 and so on, the value `step` before it is
    added to each value, if both have the same place. In the end, the last value of a place is the sum: a scan in pairs.
    """
    if not values.shape[0]:
        return values.full((size,), 0, values.dtype)
    if _is_by_torch(values):
        return _rows_by_torch([values], [[places]], 1, (size,))
    known = None if isinstance(places, Standard) else int(np.max(np.unique(places, return_counts=True)[1]))
    places = places if isinstance(places, Standard) else values.converted(np.asarray(places, np.int64))
    order = np.argsort(places, kind="stable")
    places, values = taken(places, order, 0), taken(values, order, 0)
    most = values.shape[0] if known is None else known
    step = 1
    while step < most:
        same = np.equal(places[step:], places[:-step])
        later = values[step:] + np.where(same, values[:-step], 0.0)
        values = joined([values[:step], later])
        step *= 2
    every = values.converted(np.arange(size))
    before = np.searchsorted(places, every, side="right") - 1  # the last value of this place, or of one before it
    is_there = np.logical_and(before >= 0, np.equal(taken(places, np.maximum(before, 0), 0), every))
    source = np.where(is_there, before, values.shape[0])  # the place of the zero behind the sums
    return taken(joined([values, values.full((1,), 0, values.dtype)]), source, 0)


def _is_by_torch(values: Standard) -> bool:
    """Whether PyTorch sums such values in double precision, which one kind of device does not have."""
    return hasattr(values.array, "index_put") and values.array.device.type != "mps"


def _rows_by_torch(values: list[Standard], parts: list[Any], end: int, shape: tuple[int, ...]) -> Standard:
    """The sums of values that belong to positions along the axes before `end`: a call of PyTorch for each value.

    It adds one after another, so in double precision.
    """
    first, sizes, row = values[0], shape[:end], shape[end:]
    wide = np.result_type(first.dtype, np.float64)
    total = first.full((math.prod(sizes), *row), 0, wide).array
    for value, of_value in zip(values, parts, strict=True):
        places = places_among(of_value, sizes)
        places = places if isinstance(places, Standard) else value.converted(places)
        rows = value.astype(wide).apply("broadcast_to", (*places.shape, *row)).array
        total = total.index_put((places.array,), rows, accumulate=True)
    return first.like(total).apply("reshape", tuple(shape)).astype(first.dtype)


def joined(rows: list[Standard]) -> Standard:
    """Vectors of one dtype, joined into one."""
    return rows[0].like(rows[0].xp.concat([row.array for row in rows], axis=0))
