"""Operators that put the elements of an array into another shape or order."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.onnx.table import operator
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


@operator("Shape")
def _shape(x: Any, *, start: int = 0, end: int | None = None) -> Any:
    return np.array(shape_of(x)[start:end], np.int64)


@operator("Size")
def _size(x: Any) -> Any:
    return np.array(int(np.prod(shape_of(x))), np.int64)


@operator("Reshape", constant=["shape"])
def _reshape(x: Any, shape: Any, *, allowzero: int = 0) -> Any:
    sizes = [int(n) for n in shape]
    if not allowzero:
        sizes = [shape_of(x)[i] if n == 0 else n for i, n in enumerate(sizes)]
    return np.reshape(x, sizes)


@operator("Flatten")
def _flatten(x: Any, *, axis: int = 1) -> Any:
    shape = shape_of(x)
    return np.reshape(x, (int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))))


@operator("Squeeze", constant=["axes"])
def _squeeze(x: Any, axes: Any = None) -> Any:
    return np.squeeze(x, None if axes is None else tuple(map(int, axes)))


@operator("Unsqueeze", constant=["axes"])
def _unsqueeze(x: Any, axes: Any) -> Any:
    return np.expand_dims(x, tuple(map(int, np.atleast_1d(axes))))


@operator("Transpose")
def _transpose(x: Any, *, perm: Any = None) -> Any:
    return np.transpose(x, perm)


@operator("Expand", constant=["shape"])
def _expand(x: Any, shape: Any) -> Any:
    return np.broadcast_to(x, np.broadcast_shapes(shape_of(x), tuple(map(int, shape))))


@operator("Tile", 6, constant=["repeats"])
def _tile(x: Any, repeats: Any) -> Any:
    return np.tile(x, tuple(map(int, repeats)))


@operator("Concat", 4)
def _concat(*inputs: Any, axis: int) -> Any:
    return np.concatenate(inputs, axis=axis)


@operator("Split", 2, constant=["split"], outputs=None)
def _split(x: Any, split: Any = None, *, outputs: int, axis: int = 0, num_outputs: int | None = None) -> Any:
    if split is None:
        count = outputs if num_outputs is None else num_outputs
        part = -(-shape_of(x)[axis] // count)  # the last part may be smaller
        ends = [min(part * (i + 1), shape_of(x)[axis]) for i in range(count - 1)]
    else:
        ends = [int(end) for end in np.cumsum(split)[:-1]]
    return tuple(np.split(x, ends, axis=axis))


@operator("Slice", constant=["starts", "ends", "axes", "steps"])
def _slice(x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    slices = [slice(None)] * len(shape_of(x))
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = shape_of(x)[axis]
        if step < 0 and end < -size:  # before the first element, which a slice of Python writes as None
            slices[axis] = slice(int(start), None, int(step))
        else:
            slices[axis] = slice(int(start), int(end), int(step))
    return x[tuple(slices)]


@operator("Pad", 2, constant=["pads", "axes"])
def _pad(
    x: Any, pads: Any, constant_value: Any = None, axes: Any = None, *, mode: str = "constant", value: float = 0.0
) -> Any:
    ndim = len(shape_of(x))
    axes = range(ndim) if axes is None else [int(axis) % ndim for axis in axes]
    before, after = np.reshape(np.asarray(pads, int), (2, -1)).tolist()
    cuts, widths = [slice(None)] * ndim, [(0, 0)] * ndim
    for axis, first, last in zip(axes, before, after, strict=True):
        cuts[axis] = slice(max(-first, 0), shape_of(x)[axis] - max(-last, 0))  # negative padding takes away
        widths[axis] = (max(first, 0), max(last, 0))
    x = x[tuple(cuts)]
    if mode == "constant":
        fill = value if constant_value is None else constant_value
        inside = np.pad(np.ones(shape_of(x), bool), widths)
        padded = np.pad(x, widths)
        return (
            padded
            if fill is value and not value
            else np.where(inside, padded, np.reshape(fill, ())).astype(dtype_of(x))
        )
    return np.pad(x, widths, mode=mode)  # type: ignore[call-overload]


@operator("DepthToSpace")
def _depth_to_space(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    batch, channels, height, width = shape_of(x)
    b, c = blocksize, channels // blocksize**2
    if mode == "DCR":
        x = np.transpose(np.reshape(x, (batch, b, b, c, height, width)), (0, 3, 4, 1, 5, 2))
    else:
        x = np.transpose(np.reshape(x, (batch, c, b, b, height, width)), (0, 1, 4, 2, 5, 3))
    return np.reshape(x, (batch, c, height * b, width * b))


@operator("SpaceToDepth")
def _space_to_depth(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    batch, channels, height, width = shape_of(x)
    b = blocksize
    x = np.reshape(x, (batch, channels, height // b, b, width // b, b))
    x = np.transpose(x, (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    return np.reshape(x, (batch, channels * b * b, height // b, width // b))


@operator("Trilu", 14, constant=["k"])
def _trilu(x: Any, k: Any = None, *, upper: int = 1) -> Any:
    offset = 0 if k is None else int(np.reshape(k, ()))
    rows, columns = shape_of(x)[-2:]
    inside = np.tri(rows, columns, offset - 1, bool) ^ True if upper else np.tri(rows, columns, offset, bool)
    return np.where(inside, x, np.zeros((), dtype_of(x)))


@operator("ReverseSequence", 10, constant=["sequence_lens"])
def _reverse_sequence(x: Any, sequence_lens: Any, *, batch_axis: int = 1, time_axis: int = 0) -> Any:
    shape = shape_of(x)
    times = np.arange(shape[time_axis])[:, None]
    places = np.where(times < sequence_lens, sequence_lens - 1 - times, times)
    places = places if time_axis < batch_axis else places.T
    places = np.reshape(places, [n if i in (batch_axis, time_axis) else 1 for i, n in enumerate(shape)])
    return np.take_along_axis(x, np.broadcast_to(places, shape), axis=time_axis)
