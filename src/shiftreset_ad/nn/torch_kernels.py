"""PyTorch's kernels of convolution and pooling, on tensors and on the memory of NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.array_api.libraries import name_of_library
from shiftreset_ad.array_api.promotion import together
from shiftreset_ad.array_api.standard import Standard
from shiftreset_ad.nn.geometry import Geometry


def correlated(x: Any, w: Any, g: Geometry) -> Any:
    """`correlation.correlated` of tensors."""
    return _operators().convolution(x, w, None, g.stride, g.padding, g.dilation, False, [0] * len(g.size), g.groups)


def spread(y: Any, w: Any, g: Geometry) -> Any:
    """`correlation.spread` of tensors."""
    rest = [(size + 2 * p - e) % s for size, p, e, s in zip(g.size, g.padding, g.extent, g.stride, strict=True)]
    return _operators().convolution(y, w, None, g.stride, g.padding, g.dilation, True, rest, g.groups)


def met(x: Any, y: Any, g: Geometry) -> Any:
    """`correlation.met` of tensors."""
    w = x.new_empty((y.shape[1], x.shape[1] // g.groups, *g.kernel))  # only its shape and its layout are read
    none = [0] * len(g.size)
    found = _operators().convolution_backward(
        y, x, w, None, g.stride, g.padding, g.dilation, False, none, g.groups, [False, True, False]
    )
    return found[1]


def winners(x: Any, g: Geometry) -> Any:
    """The flat position of the largest element of each window."""
    import torch

    pool = getattr(torch.nn.functional, f"max_pool{len(g.size)}d")
    return pool(x, g.kernel, g.stride, g.padding, g.dilation, return_indices=True)[1]


def by_torch(kernel: Callable[..., Any], g: Geometry, *operands: Any) -> Any:
    """The answer of a kernel where the operands are tensors or the program has asked for it; otherwise None."""
    if any(isinstance(x, Standard) for x in operands):
        tensors = together(*operands)
        if name_of_library(tensors[0].xp) != "torch":
            return None
        return tensors[0].like(kernel(*[x.array for x in tensors], g))
    return _on_memory(kernel, g, *operands) if g.kernels == "torch" else None


def _on_memory(kernel: Callable[..., Any], g: Geometry, *operands: Any) -> Any:
    """The answer of a kernel on the memory of plain arrays, or None if PyTorch does not have their dtype."""
    import torch

    dtype = np.result_type(*operands)
    if dtype not in (np.float32, np.float64):
        return None
    return kernel(*[torch.from_numpy(_readable(x, dtype)) for x in operands], g).numpy()


class _Memory:
    """The memory of an array that must not be written to, for PyTorch, which only takes other arrays."""

    def __init__(self, x: Any) -> None:
        self.x = x  # keeps the memory alive
        self.__array_interface__ = {**x.__array_interface__, "data": (x.__array_interface__["data"][0], False)}


def _readable(x: Any, dtype: Any) -> Any:
    """An array that PyTorch takes, of the same memory unless its dtype or its order differ. The kernels only read."""
    x = np.ascontiguousarray(x, dtype)
    return x if x.flags.writeable else np.asarray(_Memory(x))


def _operators() -> Any:
    import torch

    return torch.ops.aten
