"""The geometry of windows: where each window of a convolution or of a pooling lies."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from shiftreset_ad.rules.broadcasting import shape_of

Sizes: TypeAlias = tuple[int, ...]
Flat: TypeAlias = tuple[Any, ...]


class Geometry(NamedTuple):
    """How windows of the shape `kernel` lie in an array whose axes after the channels have the sizes `size`."""

    size: Sizes
    kernel: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    groups: int = 1
    kernels: str = "numpy"

    @property
    def extent(self) -> Sizes:
        """The length of a window from its first element to its last."""
        return tuple([d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True)])

    @property
    def out(self) -> Sizes:
        """How many windows there are along each axis."""
        return tuple(
            [
                (size + 2 * p - e) // s + 1
                for size, p, e, s in zip(self.size, self.padding, self.extent, self.stride, strict=True)
            ]
        )

    def flat(self) -> Flat:
        """The geometry as one tuple of scalars, which a function takes without being looked into."""
        sizes = (*self.size, *self.kernel, *self.stride, *self.padding, *self.dilation)
        return (len(self.size), *sizes, self.groups, self.kernels)


@cache
def geometry_of(flat: Flat) -> Geometry:
    """The geometry that is flat there."""
    ndim, *sizes = flat[:-2]
    size, kernel, stride, padding, dilation = [tuple(sizes[k * ndim : (k + 1) * ndim]) for k in range(5)]
    return Geometry(size, kernel, stride, padding, dilation, *flat[-2:])


def sizes(name: str, argument: str, given: Any, ndim: int, least: int) -> Sizes:
    """An integer for each axis; ValueError unless there are `ndim` integers, each at least `least`."""
    found = (given,) * ndim if isinstance(given, int | np.integer) else tuple(given)
    if len(found) != ndim or any(not isinstance(size, int | np.integer) or size < least for size in found):
        raise ValueError(
            f"nn.{name}: {argument} is {given!r}; give an integer, or a tuple of {ndim} integers, each at least {least}"
        )
    return tuple(map(int, found))


def require_windows(name: str, g: Geometry) -> None:
    """Raise ValueError if not a single window fits."""
    if min(g.out) < 1:
        raise ValueError(
            f"nn.{name}: windows of the extent {g.extent} do not fit into x of the size {g.size} with padding "
            f"{g.padding}; give a larger padding, or a smaller kernel"
        )


def windows(x: Any, g: Geometry) -> Any:
    """All windows of `x: (batch, channels, *size)`, with zeros around it: (batch, channels, *out, *kernel).

    For a plain array they are a view.
    """
    ndim = len(g.kernel)
    if any(g.padding):
        x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in g.padding]])
    if type(x) is np.ndarray:
        every: Any = np.lib.stride_tricks.sliding_window_view(x, g.extent, tuple(range(2, 2 + ndim)))
        steps = [slice(None, (n - 1) * s + 1, s) for n, s in zip(g.out, g.stride, strict=True)]
        return every[(..., *steps, *[slice(None, None, d) for d in g.dilation])]
    for axis in range(ndim):
        positions = np.arange(g.out[axis])[:, None] * g.stride[axis] + np.arange(g.kernel[axis]) * g.dilation[axis]
        before, after = shape_of(x)[: 2 + 2 * axis], shape_of(x)[3 + 2 * axis :]
        x = np.reshape(np.take(x, positions.ravel(), 2 + 2 * axis), (*before, *positions.shape, *after))
    places = range(2, 2 + 2 * ndim, 2)
    return np.transpose(x, (0, 1, *places, *[place + 1 for place in places]))
