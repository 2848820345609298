"""`numpy.pad`: along one axis after the other, the array is joined with the padding before and after it.

Each way to pad is a function `(y, axis, widths, option) -> (before, after)`. Its answers broadcast to the widths.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.conversion import astype
from shiftreset_ad.rules.layouts import in_order, order_of
from shiftreset_ad.rules.numpy.joining import as_array
from shiftreset_ad.rules.numpy.selection import along
from shiftreset_ad.rules.numpy.shapes import normalize_axis
from shiftreset_ad.rules.table import composite

PLAIN = (int, float, complex, np.generic, np.ndarray)
Widths: TypeAlias = tuple[int, int]
Sides: TypeAlias = tuple[Any, Any]


def by_constants(y: Any, axis: int, widths: Widths, values: Any) -> Sides:
    return values[0], values[1]


def by_zeros(y: Any, axis: int, widths: Widths, _: None) -> Sides:
    """Padding for the mode "empty", which allows any values."""
    return 0.0, 0.0


def by_ramps(y: Any, axis: int, widths: Widths, ends: Any) -> Sides:
    edges = y[along(axis, 0)], y[along(axis, -1)]
    before, after = (np.linspace(ends[side], edges[side], widths[side], endpoint=False, axis=axis) for side in (0, 1))
    return before, np.flip(after, axis)


def by_statistics(function: Callable[..., Any]) -> Callable[..., Sides]:
    def sides(y: Any, axis: int, widths: Widths, lengths: Any) -> Sides:
        size = shape_of(y)[axis]
        first, last = (size if length is None else min(size, int(length)) for length in lengths)
        if 0 in (first, last) and function in (np.max, np.min):
            raise ValueError("stat_length of 0 yields no value for padding")
        before = function(y[along(axis, slice(0, first))], axis=axis, keepdims=True)
        if first == last == size:
            return before, before
        return before, function(y[along(axis, slice(size - last, None))], axis=axis, keepdims=True)

    return sides


def by_elements(mode: str) -> Callable[..., Sides]:
    """Padding by elements of the array itself. NumPy says where they are, as it does not depend on their values."""

    def sides(y: Any, axis: int, widths: Widths, reflect_type: str | None) -> Sides:
        size = shape_of(y)[axis]
        positions = np.pad(np.arange(size), widths, mode)  # type: ignore[call-overload]
        outside = slice(0, widths[0]), slice(widths[0] + size, None)
        parts = [y[along(axis, positions[place])] for place in outside]
        if reflect_type == "odd" and size > 1:
            period = size if mode == "symmetric" else size - 1
            blocks = np.arange(-widths[0], size + widths[1]) // period
            parts = [turned_over(part, y, axis, blocks[place]) for part, place in zip(parts, outside, strict=True)]
        return parts[0], parts[1]

    return sides


def turned_over(reflected: Any, y: Any, axis: int, blocks: Any) -> Any:
    """Reflected elements, turned over at the edges, so that `y` goes on through each edge without a kink.

    `y` itself is block 0. Every second block has the sign changed, and each block begins where the block before it
    ends.
    """
    blocks = np.reshape(blocks, (-1,) + (1,) * (len(shape_of(y)) - 1 - axis))
    odd = blocks % 2
    first, last = y[along(axis, slice(0, 1))], y[along(axis, slice(-1, None))]
    return (1 - 2 * odd) * reflected + (blocks + odd) * last - (blocks - odd) * first


# For each mode its way to pad, its option, and the option's default.
MODES: dict[str, tuple[Callable[..., Sides], str, Any]] = {
    "constant": (by_constants, "constant_values", 0),
    "empty": (by_zeros, "", None),
    "linear_ramp": (by_ramps, "end_values", 0),
    "maximum": (by_statistics(np.max), "stat_length", None),
    "minimum": (by_statistics(np.min), "stat_length", None),
    "mean": (by_statistics(np.mean), "stat_length", None),
    "median": (by_statistics(np.median), "stat_length", None),
    "edge": (by_elements("edge"), "", None),
    "wrap": (by_elements("wrap"), "", None),
    "reflect": (by_elements("reflect"), "reflect_type", "even"),
    "symmetric": (by_elements("symmetric"), "reflect_type", "even"),
}


@composite(np.pad)
def _pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    if callable(mode):
        raise NotImplementedError(
            "numpy.pad: a function as mode writes into the padded array, but it cannot write numbers that are being "
            "differentiated. Pad by numpy.concatenate([before, x, after], axis)"
        )
    if mode not in MODES:
        raise ValueError(f"mode '{mode}' is not supported")
    sides, name, usual = MODES[mode]
    if unknown := set(kwargs) - {name}:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    shape = shape_of(array)
    options = pairs(kwargs.get(name, usual), len(shape)) if name in PAIRED else [kwargs.get(name, usual)] * len(shape)
    y = array
    for axis, widths in enumerate(_widths(pad_width, len(shape))):
        if widths == (0, 0):
            continue
        if shape[axis] == 0 and mode not in ("constant", "empty"):
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
        parts = sides(y, axis, widths, options[axis])
        before, after = (
            [] if width == 0 and isinstance(part, PLAIN) else [_fitted(part, y, axis, width)]
            for part, width in zip(parts, widths, strict=True)
        )
        y = np.concatenate([*before, y, *after], axis)
    order = order_of(array)
    return np.copy(y, order=order) if y is array else in_order(y, order)


PAIRED = ("constant_values", "end_values", "stat_length")


def pairs(given: Any, ndim: int) -> Any:
    """An option as two values for each axis, before and after; one value, or one pair, may be given for all axes."""
    return [(None, None)] * ndim if given is None else np.broadcast_to(as_array(given), (ndim, 2))


def _widths(pad_width: Any, ndim: int) -> list[Widths]:
    if isinstance(pad_width, dict):
        of_axes = {normalize_axis(axis, ndim): width for axis, width in pad_width.items()}
        pad_width = [np.broadcast_to(of_axes.get(axis, 0), 2) for axis in range(ndim)] or 0
    widths = np.asarray(pad_width)
    if widths.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    if np.any(widths < 0):
        raise ValueError("index can't contain negative values")
    return [(int(before), int(after)) for before, after in np.broadcast_to(widths, (ndim, 2))]


def _fitted(part: Any, y: Any, axis: int, width: int) -> Any:
    """A side in the dtype of the array, broadcast to its width."""
    shape = shape_of(y)
    part = part if dtype_of(part) == dtype_of(y) else astype(part, dtype_of(y))
    return np.broadcast_to(part, (*shape[:axis], width, *shape[axis + 1 :]))
