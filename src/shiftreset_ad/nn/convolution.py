"""Convolutions of one to three dimensions, and their transposes."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.nn.calling import as_array, of_any_library
from shiftreset_ad.nn.correlation import convolved, correlated, spread
from shiftreset_ad.nn.geometry import Geometry, require_windows, sizes
from shiftreset_ad.nn.kernels import chosen
from shiftreset_ad.rules.broadcasting import shape_of


@of_any_library
def conv(
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """The convolution of `x: (batch, channels, *size)` with `w: (outputs, channels / groups, *kernel)`.

    The answer is of `(batch, outputs, *out)`. `x` has one to three axes after the channels; without a batch, its shape
    is `(channels, *size)`. `bias` has the shape (outputs,). `stride`, `padding` and `dilation` are one integer, or
    an integer for each axis; `padding` may also be "valid" or "same". All are as in PyTorch. Raises ValueError if
    shapes do not fit.

    >>> import numpy as np
    >>> from shiftreset_ad import grad
    >>> x = np.arange(4.0).reshape(1, 1, 4)
    >>> grad(lambda w: np.sum(conv(x, w)))(np.ones((1, 1, 2)))
    array([[[3., 6.]]])
    """
    x, w, batched = _operands("conv", x, w)
    ndim = len(shape_of(w)) - 2
    size, kernel = shape_of(x)[2:], shape_of(w)[2:]
    stride = sizes("conv", "stride", stride, ndim, 1)
    dilation = sizes("conv", "dilation", dilation, ndim, 1)
    _require_groups("conv", groups, shape_of(w)[0], "outputs")
    if shape_of(x)[1] != shape_of(w)[1] * groups:
        raise ValueError(
            f"nn.conv: x has {shape_of(x)[1]} channels, but w of shape {shape_of(w)} takes {shape_of(w)[1]} in each of "
            f"{groups} groups; x is (batch, channels, *size), and w is (outputs, channels / groups, *kernel)"
        )
    if isinstance(padding, str):
        x, padding = _padded(x, padding, stride, kernel, dilation)
        size = shape_of(x)[2:]
    g = Geometry(size, kernel, stride, sizes("conv", "padding", padding, ndim, 0), dilation, groups, chosen())
    require_windows("conv", g)
    if bias is None:
        y = correlated(x, w, g.flat())
    else:
        y = convolved(x, w, _checked("conv", bias, shape_of(w)[0]), g.flat())
    return y if batched else y[0]


@of_any_library
def conv_transpose(
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transposed convolution of `x: (batch, channels, *size)` with `w: (channels, outputs / groups, *kernel)`.

    It is the transpose of the linear map `conv` with the same options. The answer is of `(batch, outputs, *out)`
    with out = (size - 1) stride - 2 padding + dilation (kernel - 1) + 1 + output_padding. All is as in PyTorch. Raises
    ValueError if shapes do not fit.

    >>> import numpy as np
    >>> conv_transpose(np.ones((1, 1, 2)), np.ones((1, 1, 2)), stride=2)
    array([[[1., 1., 1., 1.]]])
    """
    name = "conv_transpose"
    x, w, batched = _operands(name, x, w)
    ndim = len(shape_of(w)) - 2
    stride, dilation = sizes(name, "stride", stride, ndim, 1), sizes(name, "dilation", dilation, ndim, 1)
    padding, rest = sizes(name, "padding", padding, ndim, 0), sizes(name, "output_padding", output_padding, ndim, 0)
    _require_groups(name, groups, shape_of(w)[0], "channels")
    if shape_of(x)[1] != shape_of(w)[0]:
        raise ValueError(
            f"nn.{name}: x has {shape_of(x)[1]} channels, but w of shape {shape_of(w)} takes {shape_of(w)[0]}; x is "
            "(batch, channels, *size), and w is (channels, outputs / groups, *kernel)"
        )
    if any(r >= s and r >= d for r, s, d in zip(rest, stride, dilation, strict=True)):
        raise ValueError(f"nn.{name}: output_padding is {rest}; it must be smaller than the stride or the dilation")
    size = tuple(
        [
            (n - 1) * s - 2 * p + d * (k - 1) + 1 + r
            for n, s, p, d, k, r in zip(shape_of(x)[2:], stride, padding, dilation, shape_of(w)[2:], rest, strict=True)
        ]
    )
    if min(size) < 1:
        raise ValueError(f"nn.{name}: the answer would have the size {size}; give a smaller padding")
    # Elements that the convolution would make beyond the answer, if the dilation is larger than the stride, are zero.
    g = Geometry(size, shape_of(w)[2:], stride, padding, dilation, groups, chosen())
    widths = [(0, more - n) for more, n in zip(g.out, shape_of(x)[2:], strict=True)]
    x = np.pad(x, [(0, 0), (0, 0), *widths]) if np.any(widths) else x
    y = spread(x, w, g.flat())
    if bias is not None:
        y = y + np.reshape(_checked(name, bias, shape_of(y)[1]), (-1,) + (1,) * ndim)
    return y if batched else y[0]


def _operands(name: str, x: Any, w: Any) -> tuple[Any, Any, bool]:
    """Both operands as arrays, `x` with a batch; and whether it had one."""
    x, w = as_array(x), as_array(w)
    ndim = len(shape_of(w))
    if ndim not in (3, 4, 5):
        raise ValueError(
            f"nn.{name}: w has the shape {shape_of(w)}; give an array with two axes for the channels, and one to three "
            "axes for the kernel"
        )
    if len(shape_of(x)) not in (ndim - 1, ndim):
        raise ValueError(
            f"nn.{name}: x has the shape {shape_of(x)}, but w has {ndim - 2} axes for the kernel; give x the shape "
            "(batch, channels, *size) with as many axes in size"
        )
    batched = len(shape_of(x)) == ndim
    return (x if batched else np.expand_dims(x, 0)), w, batched


def _require_groups(name: str, groups: int, channels: int, what: str) -> None:
    if groups < 1 or channels % groups:
        raise ValueError(f"nn.{name}: groups is {groups}; give a divisor of the {channels} {what}")


def _padded(x: Any, padding: str, stride: Any, kernel: Any, dilation: Any) -> tuple[Any, Any]:
    """The array, and the padding of both sides, for a padding by name."""
    if padding == "valid":
        return x, 0
    if padding != "same" or set(stride) != {1}:
        raise ValueError(
            f'nn.conv: padding is {padding!r} with stride {stride}; give integers, "valid", or "same" with stride 1'
        )
    rest = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if any(r % 2 for r in rest):
        return np.pad(x, [(0, 0), (0, 0), *[(r // 2, r - r // 2) for r in rest]]), 0
    return x, tuple([r // 2 for r in rest])


def _checked(name: str, bias: Any, outputs: int) -> Any:
    """The bias as an array; ValueError unless it has an element for each output."""
    bias = as_array(bias)
    if shape_of(bias) != (outputs,):
        raise ValueError(f"nn.{name}: bias has the shape {shape_of(bias)}; give {(outputs,)}")
    return bias
