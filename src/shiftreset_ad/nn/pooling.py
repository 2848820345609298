"""Pooling: the largest element (`maxima.py`), or the mean, of each window. A mean is a convolution with a constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.nn.calling import as_array, of_any_library
from shiftreset_ad.nn.correlation import correlated
from shiftreset_ad.nn.geometry import Geometry, require_windows, sizes
from shiftreset_ad.nn.kernels import chosen
from shiftreset_ad.nn.maxima import largest
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


@of_any_library
def max_pool(x: Any, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Any:
    """The largest element of each window of `x: (batch, channels, *size)`: `(batch, channels, *out)`.

    `kernel`, `stride` (by default, the kernel), `padding` and `dilation` are one integer, or an integer for each of the
    one to three axes of size. Padding never wins. Raises ValueError if shapes do not fit, or if a window has padding
    only.

    >>> import numpy as np
    >>> from shiftreset_ad import grad
    >>> grad(lambda x: np.sum(max_pool(x, 2)))(np.array([[[1.0, 3.0, 2.0, 2.0]]]))
    array([[[0., 1., 1., 0.]]])
    """
    x = _array("max_pool", x)
    g = _geometry("max_pool", x, kernel, stride, padding, dilation)
    tables = []
    for size, k, s, p, d, n in zip(g.size, g.kernel, g.stride, g.padding, g.dilation, g.out, strict=True):
        places = np.arange(n)[:, None] * s + np.arange(k) * d - p
        inside = (places >= 0) & (places < size)
        if not inside.any(axis=1).all():
            raise ValueError(
                f"nn.max_pool: with padding {g.padding} and dilation {g.dilation}, a window has no element of x of the "
                f"size {g.size}; give a smaller padding or dilation"
            )
        first = np.take_along_axis(places, np.argmax(inside, axis=1)[:, None], axis=1)
        tables.append(np.where(inside, places, first))  # outside, an element of the same window again
    return largest(x, tables, g, g.out)


@of_any_library
def average_pool(x: Any, kernel: Any, stride: Any = None, padding: Any = 0, count_include_pad: bool = True) -> Any:
    """The mean of each window of `x: (batch, channels, *size)`: `(batch, channels, *out)`.

    `kernel`, `stride` (by default, the kernel) and `padding` are one integer, or an integer for each of the one to
    three axes of size. The zeros around `x` count as elements unless `count_include_pad` is False. Raises ValueError if
    shapes do not fit.

    >>> import numpy as np
    >>> average_pool(np.array([[[1.0, 3.0, 2.0, 2.0]]]), 2)
    array([[[2., 2.]]])
    """
    x = _array("average_pool", x)
    g = _geometry("average_pool", x, kernel, stride, padding, 1)
    batch, channels = shape_of(x)[:2]
    ones = np.ones((1, 1, *g.kernel), dtype_of(x))
    mean = correlated(np.reshape(x, (batch * channels, 1, *g.size)), ones / ones.size, g.flat())
    if not count_include_pad:
        mean = mean / correlated(np.ones((1, 1, *g.size), dtype_of(x)), ones / ones.size, g.flat())
    return np.reshape(mean, (batch, channels, *g.out))


@of_any_library
def adaptive_max_pool(x: Any, out: Any) -> Any:
    """The largest element of each of `out` equal parts of `x: (batch, channels, *size)`: `(batch, channels, *out)`.

    `out` is one integer, or an integer for each axis of size. Part i goes from floor(i size / out) to
    ceil((i + 1) size / out), as in PyTorch. Raises ValueError if shapes do not fit.

    >>> import numpy as np
    >>> adaptive_max_pool(np.array([[[1.0, 3.0, 2.0]]]), 2)
    array([[[3., 3.]]])
    """
    x = _array("adaptive_max_pool", x)
    size = shape_of(x)[2:]
    out = sizes("adaptive_max_pool", "out", out, len(size), 1)
    tables = []
    for n, parts in zip(size, out, strict=True):
        starts, ends = _parts(n, parts)
        places = starts[:, None] + np.arange(max(ends - starts))
        tables.append(np.minimum(places, ends[:, None] - 1))
    return largest(x, tables, None, out)


@of_any_library
def adaptive_average_pool(x: Any, out: Any) -> Any:
    """The mean of each of `out` equal parts of `x: (batch, channels, *size)`: `(batch, channels, *out)`.

    The parts are those of `adaptive_max_pool`. Raises ValueError if shapes do not fit.

    >>> import numpy as np
    >>> adaptive_average_pool(np.array([[[1.0, 3.0, 2.0]]]), 2)
    array([[[2. , 2.5]]])
    """
    x = _array("adaptive_average_pool", x)
    size = shape_of(x)[2:]
    for axis, (n, parts) in enumerate(
        zip(size, sizes("adaptive_average_pool", "out", out, len(size), 1), strict=True), 2
    ):
        starts, ends = _parts(n, parts)
        places = np.arange(n)[:, None]
        shares = ((places >= starts) & (places < ends)) / (ends - starts)
        x = np.moveaxis(np.matmul(np.moveaxis(x, axis, -1), shares.astype(dtype_of(x))), -1, axis)
    return x


def global_max_pool(x: Any) -> Any:
    """The largest element of each channel of `x: (batch, channels, *size)`, with axes of size 1 in place of size.

    >>> import numpy as np
    >>> global_max_pool(np.array([[[1.0, 3.0, 2.0]]]))
    array([[[3.]]])
    """
    return adaptive_max_pool(x, 1)


def global_average_pool(x: Any) -> Any:
    """The mean of each channel of `x: (batch, channels, *size)`, with axes of size 1 in place of size.

    >>> import numpy as np
    >>> global_average_pool(np.array([[[1.0, 3.0, 2.0]]]))
    array([[[2.]]])
    """
    return adaptive_average_pool(x, 1)


def _parts(size: int, parts: int) -> tuple[Any, Any]:
    """Where each part begins, and where it ends."""
    index = np.arange(parts)
    return index * size // parts, -(-(index + 1) * size // parts)


def _array(name: str, x: Any) -> Any:
    x = as_array(x)
    if len(shape_of(x)) not in (3, 4, 5) or 0 in shape_of(x)[2:]:
        raise ValueError(
            f"nn.{name}: x has the shape {shape_of(x)}; give it the shape (batch, channels, *size), with one to three "
            "axes in size, none of them empty"
        )
    return x


def _geometry(name: str, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Geometry:
    size = shape_of(x)[2:]
    ndim = len(size)
    kernel = sizes(name, "kernel", kernel, ndim, 1)
    stride = kernel if stride is None else sizes(name, "stride", stride, ndim, 1)
    padding, dilation = sizes(name, "padding", padding, ndim, 0), sizes(name, "dilation", dilation, ndim, 1)
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise ValueError(f"nn.{name}: padding is {padding}; give at most half of the kernel {kernel}")
    g = Geometry(size, kernel, stride, padding, dilation, 1, chosen())
    require_windows(name, g)
    return g
