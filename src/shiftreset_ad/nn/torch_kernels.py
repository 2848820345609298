"""PyTorch's kernels of convolution and pooling, on tensors and on the memory of NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftreset_ad.array_api.libraries import name_of_library
from shiftreset_ad.array_api.promotion import common_dtype, together
from shiftreset_ad.array_api.standard import Standard
from shiftreset_ad.nn.geometry import Geometry


def correlated(x: Any, w: Any, g: Geometry) -> Any:
    """`correlation.correlated` of tensors."""
    return _operators().convolution(x, w, None, g.stride, g.padding, g.dilation, False, [0] * len(g.size), g.groups)


def convolved(x: Any, w: Any, bias: Any, g: Geometry) -> Any:
    """`correlation.convolved` of tensors."""
    return _operators().convolution(x, w, bias, g.stride, g.padding, g.dilation, False, [0] * len(g.size), g.groups)


def spread(y: Any, w: Any, g: Geometry) -> Any:
    """`correlation.spread` of tensors."""
    x = y.new_empty((y.shape[0], w.shape[1] * g.groups, *g.size))  # only its shape and its layout are read
    return _backward(y, x, w, g, [True, False, False])[0]


def met(x: Any, y: Any, g: Geometry) -> Any:
    """`correlation.met` of tensors."""
    w = x.new_empty((y.shape[1], x.shape[1] // g.groups, *g.kernel))  # only its shape and its layout are read
    return _backward(y, x, w, g, [False, True, False])[1]


def cotangents(y: Any, x: Any, w: Any, g: Geometry, asked: list[bool]) -> Any:
    """`spread`, `met` and the sums of `y` over each channel, each if it is asked for and otherwise None."""
    return _backward(y, x, w, g, asked)


def _backward(y: Any, x: Any, w: Any, g: Geometry, asked: list[bool]) -> Any:
    none, bias = [0] * len(g.size), [y.shape[1]] if asked[2] else None
    return _operators().convolution_backward(
        y, x, w, bias, g.stride, g.padding, g.dilation, False, none, g.groups, asked
    )


def standardized(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    """The normalized array of `standardized.standardized`, the means, and the variances with n - 1."""
    mean, var = weight.new_zeros(weight.shape), weight.new_zeros(weight.shape)
    y, *_ = _operators().native_batch_norm(x, weight, bias, mean, var, True, 1.0, eps)
    return y, mean, var


def standardized_back(y_bar: Any, x: Any, weight: Any, mean: Any, scale: Any, eps: float) -> Any:
    """The cotangents of `x`, `weight` and `bias`; `scale` is one over the standard deviations."""
    return _operators().native_batch_norm_backward(
        y_bar, x, weight, None, None, mean, scale, True, eps, [True, True, True]
    )


def rectified(x: Any, *_: Any) -> Any:
    """max(x, 0)."""
    return _operators().relu(x)


def opened(x: Any) -> Any:
    """The sigmoid."""
    return _operators().sigmoid(x)


def largest(x: Any, g: Geometry) -> Any:
    """The largest element of each window, and its flat position."""
    import torch

    pool = getattr(torch.nn.functional, f"max_pool{len(g.size)}d")
    return pool(x, g.kernel, g.stride, g.padding, g.dilation, return_indices=True)


def winners(x: Any, g: Geometry) -> Any:
    """The flat position of the largest element of each window."""
    return largest(x, g)[1]


def to_winners(y_bar: Any, g: Geometry, positions: Any) -> Any:
    """The cotangent of the array whose largest elements are at these flat positions, from one of these elements."""
    x = y_bar.new_empty((*y_bar.shape[:2], *g.size))  # only its shape and its layout are read
    tensors, given = (y_bar, x, positions.reshape(y_bar.shape)), list(g[1:5])
    has_one_axis = len(g.size) == 1  # for which there is no kernel: it is the second of two
    if has_one_axis:
        tensors = tuple([tensor.unsqueeze(2) for tensor in tensors])
        given = [(neutral, *sizes) for neutral, sizes in zip((1, 1, 0, 1), given, strict=True)]
    back = getattr(_operators(), f"max_pool{max(len(g.size), 2)}d_with_indices_backward")
    x_bar = back(*tensors[:2], *given, False, tensors[2])
    return x_bar.squeeze(2) if has_one_axis else x_bar


def by_torch(kernel: Callable[..., Any], g: Geometry, *operands: Any) -> Any:
    """The answer of a kernel where the operands are tensors or the program has asked for it; otherwise None."""
    if any(isinstance(x, Standard) for x in operands):
        return by_torch_on_tensors(kernel, operands, g)
    return by_torch_on_memory(kernel, *operands, g) if g.kernels == "torch" else None


def are_floating_tensors(operands: Sequence[Any]) -> bool:
    """Whether these are arrays of another library, with plain arrays beside them, in a floating-point dtype."""
    kinds = {type(x) for x in operands}
    return Standard in kinds <= {Standard, np.ndarray} and common_dtype(tuple(operands)).kind == "f"


def by_torch_on_tensors(kernel: Callable[..., Any], operands: Sequence[Any], *others: Any) -> Any:
    """The answer, or the answers, of a kernel whose operands are tensors, and plain arrays beside them.

    None if they are of another library than PyTorch. The kernel gets the `others` as they are.
    """
    tensors = together(*operands)
    first = tensors[0]
    if name_of_library(first.xp) != "torch":
        return None
    return _each(first.like, kernel(*[x.array for x in tensors], *others))


def by_torch_on_memory(kernel: Callable[..., Any], *args: Any) -> Any:
    """The answer, or the answers, of a kernel on the memory of the plain arrays among `args`, in one precision.

    None if PyTorch does not have the precision.
    """
    import torch

    dtype = np.result_type(*[x for x in args if isinstance(x, np.ndarray)])
    if dtype not in (np.float32, np.float64):
        return None
    given = [torch.from_numpy(_readable(x, dtype)) if isinstance(x, np.ndarray) else x for x in args]
    return _each(torch.Tensor.numpy, kernel(*given))


def _each(function: Callable[[Any], Any], answer: Any) -> Any:
    """The function of an answer of PyTorch's, or of each of several; None stays None."""
    if isinstance(answer, tuple):
        return tuple([None if part is None else function(part) for part in answer])
    return function(answer)


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
