"""Which steps go along a long axis in strips: all of them on one strip, one after another, and then on the next one.

A step on a long array goes through memory: no fast cache keeps the array until the next step comes. A strip is so short
that a cache keeps all that the steps make of it, and what no other step needs is never stored as a whole. A strip of
the answer must be made of the same strip of each argument, so a sum along the axis ends the group of steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.along import Axes, Axis, Place, Trial, arrays_in
from shiftreset_ad.staging.native.fusion import elementwise
from shiftreset_ad.staging.native.layouts import layout_of
from shiftreset_ad.staging.native.llvm import ARRAY, form_of, is_table
from shiftreset_ad.staging.native.memory import ArrayBlocks
from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged, is_staged, unstaged

SHORTEST = 256  # elements along an axis that goes in strips
FEW_ROWS = 4096  # elements at one index of it
MANY_ROWS, LONGEST_ROW = 256, 2**15  # along an axis that is not the longest one; their bytes
FEW_ELEMENTS = 2**16  # of an array of which each strip may need all, though it has an axis of the length


class Waiting(NamedTuple):
    """A step that waits, with its number among all steps, and the axes along which it goes."""

    now: int
    step: Step
    args: tuple[Any, ...]
    answer: ndarray[Any, Any]
    axes: Axes

    @property
    def is_element(self) -> bool:
        """Whether it goes element by element, so that it may share a loop with others."""
        return elementwise(self.step, self.args, self.answer) is not None


class Group:
    """Steps that wait to go in strips along axes of `length` elements.

    `axes` are those of the arrays that they make, and of views of these, by their places. `roots` are the arrays that
    they make, each with its bytes between two elements along the axis: its memory is parted by this number.
    """

    __slots__ = ("_memory", "axes", "length", "roots", "steps")

    def __init__(self, memory: ArrayBlocks) -> None:
        self._memory = memory
        self.length = 0
        self.steps: list[Waiting] = []
        self.axes: dict[int, int] = {}
        self.roots: dict[int, int] = {}

    def takes(self, now: int, step: Step, args: tuple[Any, ...], answer: Any, place: Place) -> bool:
        """Let a step wait, if it may join the group or begin a new one. There is nothing to do for a view."""
        if form_of(answer) != ARRAY or max(answer.shape) < SHORTEST or not is_pure(step, self._memory):
            return False
        root, offset = self._memory.address(step.place)
        if root != step.place:
            self._note_view(step.place, root, offset, answer)
            return False
        begun = None if self.length else _axis_of(answer)
        length = self.length or (0 if begun is None else answer.shape[begun])
        if not length or length not in answer.shape:
            return False
        possible = [self._possible(x, length, place) for x in arrays_in(args)]
        if not layout_of(answer).is_dense or not all(possible):
            return False
        trial = Trial(step, args, answer, length, possible)
        wished = _axes_of_length(answer, length) if begun is None else [begun]
        axes = next(filter(None, map(trial.along, wished)), None)
        if axes is None:
            return False
        self.length = length
        self.axes[step.place] = axes.answer
        self.roots[step.place] = answer.strides[axes.answer]
        self.steps.append(Waiting(now, step, args, answer, axes))
        return True

    def needed_inside(self) -> set[int]:
        """The arrays that only steps of the group need."""
        last = self.steps[-1].now
        return {root for root in self.roots if not self._memory.is_needed_after(root, last)}

    def _note_view(self, place: int, root: int, offset: int, view: ndarray[Any, Any]) -> None:
        """Note the axis of a view of an array of the group, if each strip of it lies in the same strip of the array."""
        step = self.roots.get(root)
        if step is None:
            return
        found = [axis for axis in _axes_of_length(view, self.length) if view.strides[axis] == step]
        if len(found) == 1 and _parts(step, offset, view, found[0]):
            self.axes[place] = found[0]

    def _possible(self, x: Any, length: int, place: Place) -> list[Axis]:
        """The axes along which an argument may go in strips; none if it is no array for them."""
        value = unstaged(x)
        if form_of(value) != ARRAY or is_table(value):
            return []
        if type(x) is Staged and place(x) in self.axes:
            return [self.axes[place(x)]]
        if type(x) is Staged and self._memory.root(place(x)) in self.roots:
            return []
        along: list[Axis] = [*_axes_of_length(value, length)]
        return along if along and value.size > FEW_ELEMENTS else [*along, None]


def _axes_of_length(x: ndarray[Any, Any], length: int) -> list[int]:
    """The axes that are so long, from the outermost one in memory to the innermost one."""
    return sorted([axis for axis, n in enumerate(x.shape) if n == length], key=lambda axis: -x.strides[axis])


def _parts(step: int, offset: int, view: ndarray[Any, Any], axis: int) -> bool:
    """Whether each strip of a view lies in the same strip of its array, which is parted by `step` bytes."""
    if min(view.strides) < 0:
        return False
    across = step * view.shape[axis]
    lengths = [*zip(view.shape, view.strides, strict=True)]
    others = [(n - 1) * s for i, (n, s) in enumerate(lengths) if i != axis and s % across]
    return bool(offset % across + sum(others) + view.itemsize <= step)


def is_pure(step: Step, memory: ArrayBlocks) -> bool:
    """Whether a step only makes an array, in a block of its own, or a view."""
    of, place = memory.in_place, step.place
    is_written = step.writes or step.is_question or is_staged([*step.kwargs.values()])
    return not is_written and not any(place in x for x in (of.scatters, of.additions, of.replaced, of.moved, of.copied))


def _axis_of(x: ndarray[Any, Any]) -> int | None:
    """The axis along which strips go; None if there is none.

    It is the outermost one in memory, if that is long and has short rows, as then a strip is one piece; or the longest.
    """
    outer = int(np.argmax(x.strides))
    is_outer = x.shape[outer] >= MANY_ROWS and x.nbytes <= LONGEST_ROW * x.shape[outer]
    axis = outer if is_outer else _axes_of_length(x, max(x.shape))[0]
    return axis if x.size <= FEW_ROWS * x.shape[axis] else None
