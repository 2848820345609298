"""Operators that go over windows: convolutions and pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad import nn
from shiftreset_ad.onnx.table import operator, refused
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


def _padding(size: Any, kernel: Any, strides: Any, dilations: Any, pads: Any, auto_pad: str, ceil: int = 0) -> Any:
    """The padding before and after each axis, as pairs; and how much more the last window needs if it is cut off."""
    pairs, more = [], []
    for i, (n, k) in enumerate(zip(size, kernel, strict=True)):
        stride, extent = strides[i], dilations[i] * (k - 1) + 1
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            total = max((-(-n // stride) - 1) * stride + extent - n, 0)
            small, large = total // 2, total - total // 2
            pairs.append((small, large) if auto_pad == "SAME_UPPER" else (large, small))
        elif auto_pad == "VALID" or pads is None:
            pairs.append((0, 0))
        else:
            pairs.append((int(pads[i]), int(pads[i + len(kernel)])))
        last = n + sum(pairs[-1]) - extent
        windows = -(-last // stride) + 1 if ceil else last // stride + 1
        if ceil and (windows - 1) * stride >= n + pairs[-1][0]:  # it would begin after the last element
            windows -= 1
        more.append(max((windows - 1) * stride - last, 0))
    return pairs, more


def _filled(ndim: int, given: Any) -> list[int]:
    return [1] * ndim if given is None else [int(n) for n in given]


def _with_padding(x: Any, pairs: Any) -> Any:
    return np.pad(x, [(0, 0), (0, 0), *pairs]) if np.any(pairs) else x


def _split_padding(x: Any, pairs: Any) -> tuple[Any, Any]:
    """The array, and a padding that is equal on both sides; unequal padding is put around the array."""
    if all(first == last for first, last in pairs):
        return x, tuple([first for first, _ in pairs])
    return _with_padding(x, pairs), 0


@operator("Conv")
def _conv(
    x: Any,
    w: Any,
    b: Any = None,
    *,
    kernel_shape: Any = None,
    strides: Any = None,
    pads: Any = None,
    dilations: Any = None,
    group: int = 1,
    auto_pad: str = "NOTSET",
) -> Any:
    kernel = shape_of(w)[2:]
    strides, dilations = _filled(len(kernel), strides), _filled(len(kernel), dilations)
    pairs, _ = _padding(shape_of(x)[2:], kernel, strides, dilations, pads, auto_pad)
    x, padding = _split_padding(x, pairs)
    return nn.conv(x, w, b, strides, padding, dilations, group)


@operator("ConvTranspose")
def _conv_transpose(
    x: Any,
    w: Any,
    b: Any = None,
    *,
    kernel_shape: Any = None,
    strides: Any = None,
    pads: Any = None,
    dilations: Any = None,
    output_padding: Any = None,
    output_shape: Any = None,
    group: int = 1,
    auto_pad: str = "NOTSET",
) -> Any:
    kernel = shape_of(w)[2:]
    ndim = len(kernel)
    strides, dilations = _filled(ndim, strides), _filled(ndim, dilations)
    extra = [0] * ndim if output_padding is None else list(output_padding)
    pads = [0] * (2 * ndim) if pads is None else list(pads)
    sizes = shape_of(x)[2:]
    cuts = []
    for i, (n, k) in enumerate(zip(sizes, kernel, strict=True)):
        full = strides[i] * (n - 1) + dilations[i] * (k - 1) + 1
        first, last = pads[i], pads[i + ndim]
        if output_shape is not None or auto_pad.startswith("SAME"):
            wanted = n * strides[i] if output_shape is None else output_shape[i]
            total = full + extra[i] - wanted
            small, large = total // 2, total - total // 2
            first, last = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
        cuts.append((first, last - extra[i]))
    if any(cut < 0 for pair in cuts for cut in pair):  # the answer goes beyond what the windows reach
        y = _with_padding(
            nn.conv_transpose(x, w, None, strides, 0, 0, group, dilations),
            [(max(-first, 0), max(-last, 0)) for first, last in cuts],
        )
    else:
        y = nn.conv_transpose(x, w, None, strides, 0, 0, group, dilations)
    slices = [slice(max(first, 0), n - max(last, 0)) for (first, last), n in zip(cuts, shape_of(y)[2:], strict=True)]
    y = y[(slice(None), slice(None), *slices)]
    return y if b is None else y + np.reshape(b, (-1, *[1] * ndim))


@operator("MaxPool")
def _max_pool(
    x: Any,
    *,
    kernel_shape: Any,
    strides: Any = None,
    pads: Any = None,
    dilations: Any = None,
    ceil_mode: int = 0,
    auto_pad: str = "NOTSET",
    storage_order: int = 0,
) -> Any:
    ndim = len(kernel_shape)
    strides, dilations = _filled(ndim, strides), _filled(ndim, dilations)
    pairs, more = _padding(shape_of(x)[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    pairs = [(first, last + rest) for (first, last), rest in zip(pairs, more, strict=True)]
    if any(first != last or 2 * first > k for (first, last), k in zip(pairs, kernel_shape, strict=True)):
        dtype = dtype_of(x)
        least = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
        widths = [(0, 0), (0, 0), *pairs]
        inside = np.pad(np.ones(shape_of(x), bool), widths)
        x, pairs = np.where(inside, np.pad(x, widths), np.array(least, dtype)), [(0, 0)] * ndim
    return nn.max_pool(x, kernel_shape, strides, [first for first, _ in pairs], dilations)


def _sums(x: Any, kernel: Any, strides: Any, dilations: Any) -> Any:
    """The sum of each window of each channel."""
    batch, channels, *size = shape_of(x)
    ones = np.ones((1, 1, *kernel), dtype_of(x))
    y = nn.conv(np.reshape(x, (batch * channels, 1, *size)), ones, None, strides, 0, dilations)
    return np.reshape(y, (batch, channels, *shape_of(y)[2:]))


@operator("AveragePool")
def _average_pool(
    x: Any,
    *,
    kernel_shape: Any,
    strides: Any = None,
    pads: Any = None,
    dilations: Any = None,
    ceil_mode: int = 0,
    auto_pad: str = "NOTSET",
    count_include_pad: int = 0,
) -> Any:
    ndim = len(kernel_shape)
    strides, dilations = _filled(ndim, strides), _filled(ndim, dilations)
    size = shape_of(x)[2:]
    pairs, more = _padding(size, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    beyond = [(0, rest) for rest in more]
    ones = np.ones((1, 1, *size), dtype_of(x))
    counted = np.pad(ones, [(0, 0), (0, 0), *pairs], constant_values=1.0 if count_include_pad else 0.0)
    counts = _sums(_with_padding(counted, beyond), kernel_shape, strides, dilations)
    return _sums(_with_padding(_with_padding(x, pairs), beyond), kernel_shape, strides, dilations) / counts


@operator("LpPool", 2)
def _lp_pool(
    x: Any,
    *,
    kernel_shape: Any,
    strides: Any = None,
    pads: Any = None,
    dilations: Any = None,
    ceil_mode: int = 0,
    auto_pad: str = "NOTSET",
    p: int = 2,
) -> Any:
    ndim = len(kernel_shape)
    strides, dilations = _filled(ndim, strides), _filled(ndim, dilations)
    pairs, more = _padding(shape_of(x)[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    pairs = [(first, last + rest) for (first, last), rest in zip(pairs, more, strict=True)]
    return _root(_sums(_with_padding(np.abs(x) ** p, pairs), kernel_shape, strides, dilations), p)


def _root(sums: Any, p: int) -> Any:
    """The p-th root; where it is 0, its derivative is 0."""
    zero = sums == 0
    one, none = np.ones((), dtype_of(sums)), np.zeros((), dtype_of(sums))
    return np.where(zero, none, np.where(zero, one, sums) ** (1.0 / p))


@operator("GlobalAveragePool")
def _global_average_pool(x: Any) -> Any:
    return np.mean(x, axis=tuple(range(2, len(shape_of(x)))), keepdims=True)


@operator("GlobalMaxPool")
def _global_max_pool(x: Any) -> Any:
    return nn.global_max_pool(x)


@operator("GlobalLpPool", 2)
def _global_lp_pool(x: Any, *, p: int = 2) -> Any:
    return _root(np.sum(np.abs(x) ** p, axis=tuple(range(2, len(shape_of(x)))), keepdims=True), p)


@operator("Upsample", 7, constant=["scales"])
def _upsample(x: Any, scales: Any, *, mode: str = "nearest") -> Any:
    if mode != "nearest":
        raise refused("Upsample", f'mode is {mode!r}; only "nearest" is supported')
    for axis, scale in enumerate(scales):
        size = shape_of(x)[axis]
        x = np.take(x, np.minimum((np.arange(int(size * scale)) / scale).astype(int), size - 1), axis=axis)
    return x
