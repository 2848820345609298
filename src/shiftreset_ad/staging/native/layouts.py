"""Where the elements of an array lie: its shape and strides, and the offsets of its elements."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.llvm import refuse
from shiftreset_ad.staging.steps.memory import owner_of


class Layout(NamedTuple):
    """The shape of an array, its strides in bytes, and the bytes of an element."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def axes(self, part: slice) -> Layout:
        """The layout of some of the axes."""
        return Layout(self.shape[part], self.strides[part], self.itemsize)

    @property
    def is_dense(self) -> bool:
        """Whether the elements lie one after another, in some order of the axes."""
        axes = [axis for axis, length in enumerate(self.shape) if length > 1]
        axes.sort(key=lambda axis: -self.strides[axis])
        return self._follow(axes)

    @property
    def is_in_order(self) -> bool:
        """Whether the elements lie one after another in the order of C."""
        return self._follow([axis for axis, length in enumerate(self.shape) if length > 1])

    def _follow(self, axes: list[int]) -> bool:
        expected = self.itemsize
        for axis in reversed(axes):
            if self.strides[axis] != expected:
                return False
            expected *= self.shape[axis]
        return True


def layout_of(x: ndarray[Any, Any]) -> Layout:
    """The layout of an array."""
    return Layout(x.shape, x.strides, x.itemsize)


def broadcast(layout: Layout, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array in a loop over a larger shape."""
    new = len(shape) - len(layout.shape)
    if new < 0 and layout.size > 1:
        raise ValueError(f"an array of shape {layout.shape} does not fit into {shape}")
    return (0,) * new + tuple(
        0 if length == 1 else stride for length, stride in zip(layout.shape, layout.strides, strict=True)
    )


def merged(shape: tuple[int, ...], strides: list[tuple[int, ...]]) -> tuple[list[int], list[list[int]]]:
    """The lengths of as few loops as can be over a shape, and in them the strides of each array."""
    lengths: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, length in enumerate(shape):
        if length == 1:
            continue
        if lengths and all(of[-1] == strides[i][axis] * length for i, of in enumerate(steps)):
            lengths[-1] *= length
            for i, of in enumerate(steps):
                of[-1] = strides[i][axis]
        else:
            lengths.append(length)
            for i, of in enumerate(steps):
                of.append(strides[i][axis])
    return lengths, steps


def in_memory_order(
    shape: tuple[int, ...], strides: list[tuple[int, ...]], of_answers: list[tuple[int, ...]]
) -> tuple[list[int], list[list[int]]]:
    """The same, with the axes in the order in which the first answer lies in memory, as NumPy has them.

    They stay as they are if elements of an answer are stored more than once, as the order may matter then.
    """
    long = [axis for axis, length in enumerate(shape) if length > 1]
    if of_answers and all(of[axis] for of in of_answers for axis in long):
        axes = sorted(range(len(shape)), key=lambda axis: -abs(of_answers[0][axis]))
        shape, strides = tuple([shape[i] for i in axes]), [tuple([of[i] for i in axes]) for of in strides]
    return merged(shape, strides)


def offsets_of(layout: Layout) -> ndarray[Any, Any]:
    """The offset of each element from the first one, in bytes."""
    found = np.zeros(layout.shape, np.int64)
    for axis, (length, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        across = [1] * len(layout.shape)
        across[axis] = length
        found += (np.arange(length) * stride).reshape(across)
    return found


def offsets_like(x: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """An array of the layout's order whose elements are the offsets of the elements of `x`."""
    found = np.empty_like(x, dtype=np.int64)
    found[...] = offsets_of(layout_of(x))
    return found


def untouched(layout: Layout) -> ndarray[Any, Any]:
    """An array with this layout, in memory that nobody reads or writes: the system does not even provide it.

    NumPy's views of it tell where the elements of views lie, in no time.
    """
    kind = np.dtype((np.void, layout.itemsize))
    if not layout.size:
        return np.empty(layout.shape, kind)
    reaches = [(length - 1) * stride for length, stride in zip(layout.shape, layout.strides, strict=True)]
    before = -sum(reach for reach in reaches if reach < 0)
    after = sum(reach for reach in reaches if reach > 0)
    return ndarray(layout.shape, kind, np.empty(before + after + layout.itemsize, np.uint8), before, layout.strides)


def place_in(whole: ndarray[Any, Any], part: ndarray[Any, Any]) -> tuple[int, Layout]:
    """Where a view of an array begins in it, and its layout."""
    strides = tuple(stride if length > 1 else 0 for length, stride in zip(part.shape, part.strides, strict=True))
    return distance(part, whole), Layout(part.shape, strides, part.itemsize)


def view_at(x: ndarray[Any, Any], index: Any) -> ndarray[Any, Any]:
    """The view of an array at an index of integers and slices. A single element is a view, too."""
    parts = index if type(index) is tuple else (index,)
    view: ndarray[Any, Any] = x[index if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)]
    return view


def as_layout(offsets: ndarray[Any, Any], itemsize: int) -> tuple[int, Layout] | None:
    """Where the first element lies, and a layout that has these offsets from there; None if there is none."""
    first = int(offsets.flat[0])
    strides = []
    for axis, length in enumerate(offsets.shape):
        other = [0] * offsets.ndim
        other[axis] = min(1, length - 1)
        strides.append(int(offsets[tuple(other)]) - first)
    layout = Layout(offsets.shape, tuple(strides), itemsize)
    return (first, layout) if np.array_equal(offsets_of(layout) + first, offsets) else None


def bytes_of(array: ndarray[Any, Any]) -> int:
    """The bytes from the first element of an array to its last one."""
    if array.flags.c_contiguous:  # the usual case, for speed
        return array.nbytes
    if any(stride < 0 for stride in array.strides):
        refuse("an array of it is reversed")
    return int(array.itemsize + sum((n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)))


def is_view(x: Any, of: Any) -> bool:
    """Whether an array lies in the memory of another one."""
    return isinstance(x, ndarray) and isinstance(of, ndarray) and owner_of(x) is owner_of(of)


def distance(x: ndarray[Any, Any], of: ndarray[Any, Any]) -> int:
    """The bytes from the first element of an array to the first element of its view."""
    return int(x.ctypes.data) - int(of.ctypes.data)
