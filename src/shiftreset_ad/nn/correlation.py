"""Three bilinear maps, each the derivative of the others: the kernel of every convolution.

With x of the shape (batch, channels, *size), w of (outputs, channels / groups, *kernel) and y of (batch, outputs,
*out), there is one trilinear form, the sum of all products y x w of elements that meet. Each map is its derivative in
one of the three arrays:

*   `correlated(x, w)` is of y's shape: the convolution of networks;
*   `spread(y, w)` is of x's shape: the transposed convolution;
*   `met(x, y)` is of w's shape: the gradient of the kernel.

So each linear map of each rule is one of the three again, and all modes and all orders follow.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeAlias

import numpy as np

from shiftreset_ad.array_api.standard import Standard
from shiftreset_ad.modes.stacks.at_once import at_once
from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.nn import torch_kernels
from shiftreset_ad.nn.calling import Shared, operation
from shiftreset_ad.nn.geometry import Flat, Geometry, geometry_of, windows
from shiftreset_ad.nn.torch_kernels import by_torch
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.table import LinearMap, structured

Bilinear: TypeAlias = Callable[[Any, Any, Any], Any]


def or_by(kernel: Callable[..., Any]) -> Callable[[Bilinear], Bilinear]:
    """A map of two arrays that PyTorch's kernel computes in place of ours, where `by_torch` says so."""

    def chosen(ours: Bilinear) -> Bilinear:
        @wraps(ours)
        def either(x: Any, y: Any, flat: Flat) -> Any:
            g = geometry_of(tuple(flat))
            answer = by_torch(kernel, g, x, y)
            return ours(x, y, g) if answer is None else answer

        return either

    return chosen


# Each takes the geometry flat, and has it as a `Geometry` inside.


@operation(2)
@or_by(torch_kernels.correlated)
def correlated(x: Any, w: Any, g: Geometry) -> Any:
    """The products of `w` with all windows of `x`: (batch, outputs, *out)."""
    batch, outputs = shape_of(x)[0], shape_of(w)[0]
    y = np.matmul(_columns(x, g), np.swapaxes(_rows(w, g), 1, 2))
    return np.reshape(_from_groups(y, batch, g), (batch, outputs, *g.out))


@operation(3)
def convolved(x: Any, w: Any, bias: Any, g: Flat) -> Any:
    """`correlated`, plus a bias for each of the outputs."""
    geometry = geometry_of(tuple(g))
    answer = by_torch(torch_kernels.convolved, geometry, x, w, bias)
    if answer is not None:
        return answer
    y, bias = correlated(x, w, g), np.reshape(bias, (-1,) + (1,) * len(geometry.size))
    return np.add(y, bias, out=y) if type(y) is np.ndarray and y.dtype == bias.dtype else y + bias


@operation(2)
@or_by(torch_kernels.spread)
def spread(y: Any, w: Any, g: Geometry) -> Any:
    """Each element of `y` times `w`, added up where the windows lie: (batch, channels, *size)."""
    # It is the correlation of y, with gaps of the stride, with the reversed kernel.
    ndim = len(g.size)
    for axis, (size, e, s, p) in enumerate(zip(g.size, g.extent, g.stride, g.padding, strict=True), 2):
        y = _with_gaps(y, axis, s, e - 1, size + 2 * p)
        y = y[(slice(None),) * axis + (slice(p, p + size + e - 1),)]
    reversed_w = np.flip(w, tuple(range(2, 2 + ndim)))
    outputs, channels = shape_of(w)[:2]
    split = np.reshape(reversed_w, (g.groups, outputs // g.groups, channels, *g.kernel))
    swapped = np.reshape(np.swapaxes(split, 1, 2), (g.groups * channels, outputs // g.groups, *g.kernel))
    full = Geometry(shape_of(y)[2:], g.kernel, (1,) * ndim, (0,) * ndim, g.dilation, g.groups)
    return correlated(y, swapped, full.flat())


@operation(2)
@or_by(torch_kernels.met)
def met(x: Any, y: Any, g: Geometry) -> Any:
    """The sum over all windows of `x` times their element of `y`: (outputs, channels / groups, *kernel)."""
    channels, (batch, outputs) = shape_of(x)[1], shape_of(y)[:2]
    positions = int(np.prod(g.out))  # counted, as NumPy cannot infer it from an empty batch
    by_groups = np.transpose(np.reshape(y, (batch, g.groups, outputs // g.groups, positions)), (1, 2, 0, 3))
    rows = np.reshape(by_groups, (g.groups, outputs // g.groups, batch * positions))
    return np.reshape(np.matmul(rows, _columns(x, g)), (outputs, channels // g.groups, *g.kernel))


def _columns(x: Any, g: Geometry) -> Any:
    """The windows of each group as a matrix: (groups, batch * out, channels / groups * kernel)."""
    batch, channels = shape_of(x)[:2]
    ndim = len(g.kernel)
    split = np.reshape(windows(x, g), (batch, g.groups, channels // g.groups, *g.out, *g.kernel))
    out, kernel = range(3, 3 + ndim), range(3 + ndim, 3 + 2 * ndim)
    ordered = np.transpose(split, (1, 0, *out, 2, *kernel))
    return np.reshape(ordered, (g.groups, batch * int(np.prod(g.out)), channels // g.groups * int(np.prod(g.kernel))))


def _rows(w: Any, g: Geometry) -> Any:
    """The kernels of each group as a matrix: (groups, outputs / groups, channels / groups * kernel)."""
    outputs, channels = shape_of(w)[:2]
    return np.reshape(w, (g.groups, outputs // g.groups, channels * int(np.prod(g.kernel))))


def _from_groups(y: Any, batch: int, g: Geometry) -> Any:
    """(groups, batch * out, outputs / groups) with the batch first, the outputs before the positions."""
    split = np.reshape(y, (g.groups, batch, int(np.prod(g.out)), shape_of(y)[2]))
    return np.transpose(split, (1, 0, 3, 2))


def _with_gaps(y: Any, axis: int, stride: int, before: int, end: int) -> Any:
    """`y` with stride - 1 zeros after each element along an axis, between `before` zeros and zeros up to `end`."""
    shape = shape_of(y)
    widths = [(0, 0)] * len(shape)
    if stride > 1:
        y = np.pad(np.expand_dims(y, axis + 1), [*widths[: axis + 1], (0, stride - 1), *widths[axis + 1 :]])
        y = np.reshape(y, (*shape[:axis], shape[axis] * stride, *shape[axis + 1 :]))
    widths[axis] = (before, max(0, end - shape[axis] * stride))
    return np.pad(y, widths)[(slice(None),) * axis + (slice(before + end),)]


@structured(correlated, "x", "w", kept=("x", "w"), multilinear=True)
def _correlated(x: Any, w: Any, g: Flat) -> Any:
    return correlated(x, w, g), _maps(x, w, g)


def _maps(x: Any, w: Any, g: Flat) -> Callable[[int], LinearMap]:
    """The linear map of x, of w or of the bias, by its place; one kernel of PyTorch's gives all their cotangents."""
    asked = [False, False, False]
    ndim = len(shape_of(w)) - 2
    back = Shared(lambda y_bar: _cotangents(y_bar, x, w, g, asked))

    def to(operand: int, otherwise: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def pullback(y_bar: Any) -> Any:
            found = back(y_bar)
            return otherwise(y_bar) if found is None else found[operand]

        return pullback

    def along_channels(b_dot: Any) -> Any:
        out = geometry_of(tuple(g)).out
        return np.broadcast_to(np.reshape(b_dot, (-1,) + (1,) * ndim), (shape_of(x)[0], shape_of(w)[0], *out))

    def map_of(operand: int) -> LinearMap:
        asked[operand] = True
        back.users += 1
        if operand == 0:
            return LinearMap(
                lambda x_dot: correlated(x_dot, w, g), to(0, lambda y_bar: spread(y_bar, w, g)), makes_new=True
            )
        if operand == 1:
            return LinearMap(
                lambda w_dot: correlated(x, w_dot, g), to(1, lambda y_bar: met(x, y_bar, g)), makes_new=True
            )
        over = (0, *range(2, 2 + ndim))
        return LinearMap(along_channels, to(2, lambda y_bar: np.sum(y_bar, axis=over)), makes_new=True)

    return map_of


def _cotangents(y_bar: Any, x: Any, w: Any, g: Flat, asked: list[bool]) -> Any:
    """The cotangents of x, w and the bias that are `asked` for; None unless one kernel of PyTorch's computes them."""
    if not {type(y_bar), type(x), type(w)} <= {np.ndarray, Standard}:
        return None
    return by_torch(partial(torch_kernels.cotangents, asked=asked), geometry_of(tuple(g)), y_bar, x, w)


@structured(spread, "y", "w", kept=("y", "w"), multilinear=True)
def _spread(y: Any, w: Any, g: Flat) -> Any:
    return spread(y, w, g), (
        LinearMap(lambda y_dot: spread(y_dot, w, g), lambda x_bar: correlated(x_bar, w, g), makes_new=True),
        LinearMap(lambda w_dot: spread(y, w_dot, g), lambda x_bar: met(x_bar, y, g), makes_new=True),
    )


@structured(met, "x", "y", kept=("x", "y"), multilinear=True)
def _met(x: Any, y: Any, g: Flat) -> Any:
    return met(x, y, g), (
        LinearMap(lambda x_dot: met(x_dot, y, g), lambda w_bar: spread(y, w_bar, g), makes_new=True),
        LinearMap(lambda y_dot: met(x, y_dot, g), lambda w_bar: correlated(x, w_bar, g), makes_new=True),
    )


@structured(convolved, "x", "w", "bias", kept=("x", "w"))
def _convolved(x: Any, w: Any, bias: Any, g: Flat) -> Any:
    return convolved(x, w, bias, g), _maps(x, w, g)


def _as_one_batch(function: Callable[..., Any]) -> Callable[..., Any]:
    """How a map works on all rows at once, if only its first operand has rows: the rows are one larger batch."""

    def on_all_rows(stack: Stack, a: Any, b: Any, g: Flat) -> Any:
        if not isinstance(a, Stack) or a.tag is not stack.tag or (isinstance(b, Stack) and b.tag is stack.tag):
            return None
        count, batch, *rest = shape_of(a.rows)
        answer = function(np.reshape(a.rows, (count * batch, *rest)), b, g)
        return np.reshape(answer, (count, batch, *shape_of(answer)[1:]))

    return on_all_rows


at_once(correlated)(_as_one_batch(correlated))
at_once(spread)(_as_one_batch(spread))
