"""Along which axis of its answer, and of each argument, a step goes in strips.

A strip of the answer must be made of the same strip of each argument, or of all of an argument. Elementwise steps and
reductions tell their axes. What a move such as `reshape` or `stack` does with the axis is seen by trying it on labels.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.indexing import scatter
from shiftreset_ad.rules.numpy.shapes import repeated
from shiftreset_ad.staging.native.arrays import BY_METHOD, SUMS
from shiftreset_ad.staging.native.formulas import axes_of
from shiftreset_ad.staging.native.fusion import elementwise
from shiftreset_ad.staging.native.layouts import layout_of
from shiftreset_ad.staging.native.moves import JOINS, is_plain
from shiftreset_ad.staging.native.positions import has_arrays
from shiftreset_ad.staging.native.reductions import lengths_of
from shiftreset_ad.staging.steps.functions import Attribute, method
from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged, is_staged, unstaged

PROBES = (7, 12)  # the lengths of strips on which a move is tried
MOST_TRIALS = 32  # of a move whose arguments have several axes of the length

BY_UFUNC = {
    np.add.reduce: SUMS[np.sum],
    np.multiply.reduce: SUMS[np.prod],
    np.maximum.reduce: SUMS[np.max],
    np.minimum.reduce: SUMS[np.min],
}
REDUCTIONS: dict[Any, tuple[np.ufunc, float | None, bool]] = {**SUMS, **BY_METHOD, **BY_UFUNC}
WITH_SHAPE = {np.reshape, method("reshape"), np.broadcast_to, repeated}  # what follows the array is a shape
OTHER_MOVES = {*JOINS, operator.getitem, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.copy}
OTHER_METHODS = {"transpose", "swapaxes", "squeeze", "copy", "T", "mT"}
NOWHERE = 63  # in labels: an element that has no place along the axis

Place = Callable[[Staged], int]  # of a value
Axis = int | None  # None for an array of which each strip needs all


class Axes(NamedTuple):
    """The axes along which a step goes: that of its answer, and those of the arrays among its arguments."""

    answer: int
    args: tuple[Axis, ...]


class Trial(NamedTuple):
    """A step that might go along axes of `length` elements. `possible` are the axes of each array in its arguments."""

    step: Step
    args: tuple[Any, ...]
    answer: ndarray[Any, Any]
    length: int
    possible: list[list[Axis]]

    def along(self, axis: int) -> Axes | None:
        """The axes if the answer goes along this one; None if it does not."""
        function = self.step.function
        if function in REDUCTIONS:
            return self._reduction(axis)
        if function in WITH_SHAPE or function in OTHER_MOVES or _is_other_method(function):
            return None if function is operator.getitem and has_arrays(self.args[1]) else self._move(axis)
        if function is scatter:
            return self._scatter(axis)
        is_ufunc = isinstance(function, np.ufunc) and function.signature is None and function.nout == 1
        is_by_numpy = (is_ufunc or function is operator.pow) and not self.step.kwargs
        if not is_by_numpy and elementwise(self.step, self.args, self.answer) is None:
            return None
        return self._elements(axis)

    def _elements(self, axis: int) -> Axes | None:
        found: list[Axis] = []
        for x, possible in zip(arrays_in(self.args), self.possible, strict=True):
            shape = unstaged(x).shape
            own = axis - self.answer.ndim + len(shape)
            found.append(own if own >= 0 and shape[own] == self.length else None)
            if found[-1] not in possible:
                return None
        return Axes(axis, tuple(found))

    def _reduction(self, axis: int) -> Axes | None:
        """A reduction goes along other axes, and so that the strips of both arrays are at equal distances."""
        x, reduced = unstaged(self.args[0]), axes_of_reduction(self.step, self.args)
        if type(x) is not ndarray or x.dtype != np.float64 or min(x.strides) < 0 or reduced is None:
            return None
        for own in self.possible[0]:
            if own is None or own in reduced:
                continue
            is_kept = self.answer.ndim == x.ndim
            if axis == own - (0 if is_kept else sum(other < own for other in reduced)):
                parts = [layout_of(part(y, of, min(PROBES))) for y, of in ((x, own), (self.answer, axis))]
                return Axes(axis, (own,)) if lengths_of(parts[0], reduced, parts[1], layout_of(x)) else None
        return None

    def _move(self, axis: int) -> Axes | None:
        first, *more = self.args
        step, is_join = self.step, self.step.function in JOINS
        if is_staged(more) or not is_plain([*more, *step.kwargs.values()]) or is_join != (type(first) in (list, tuple)):
            return None

        xs = first if is_join else [first]

        def moved(own: tuple[Axis, ...], short: int) -> Any:
            labels = [_labels(x, i, of, short) for i, (x, of) in enumerate(zip(xs, own, strict=True))]
            _, *options = args_of_strip(step.function, self.args, axis, short)
            return step.function(labels if is_join else labels[0], *options, **step.kwargs)

        for own in islice(product(*self._possible_of(xs)), MOST_TRIALS):
            if any(of is not None for of in own) and _keeps_strips(partial(moved, own), self.answer, axis):
                return self._axes(axis, xs, own)
        return None

    def _scatter(self, axis: int) -> Axes | None:
        values, indices, *_ = self.args
        if is_staged(indices) or any(has_arrays(index) or not is_plain(index) for index in indices):
            return None

        def scattered(value: Any, index: Any, own: Axis, short: int) -> Any:
            labels = np.full(with_length(self.answer.shape, axis, short), NOWHERE)
            labels[index] = _labels(value, 1, own, short)
            return labels

        found: list[Axis] = []
        for value, index, possible in zip(values, indices, self._possible_of(values), strict=True):
            right = (own for own in possible if _keeps_strips(partial(scattered, value, index, own), self.answer, axis))
            try:
                found.append(next(right))
            except StopIteration:
                return None
        return self._axes(axis, values, found)

    def _possible_of(self, xs: Sequence[Any]) -> list[list[Axis]]:
        """The possible axes of arguments, some of which are numbers."""
        of_arrays = iter(self.possible)
        return [next(of_arrays) if isinstance(unstaged(x), ndarray) else [None] for x in xs]

    def _axes(self, axis: int, xs: Sequence[Any], own: Sequence[Axis]) -> Axes:
        pairs = zip(xs, own, strict=True)
        return Axes(axis, tuple([of for x, of in pairs if isinstance(unstaged(x), ndarray)]))


def arrays_in(args: Any) -> Iterator[Any]:
    """The arrays among arguments, and in the lists among them."""
    for x in args:
        if type(x) in (list, tuple):
            yield from arrays_in(x)
        elif isinstance(unstaged(x), ndarray):
            yield x


def _is_other_method(function: Any) -> bool:
    return isinstance(function, Attribute) and function.__name__ in OTHER_METHODS


def axes_of_reduction(step: Step, args: tuple[Any, ...]) -> set[int] | None:
    """The axes along which a reduction goes; None if it has other options."""
    options = dict(zip(("axis",), args[1:], strict=False)) | dict(step.kwargs)
    axis = options.pop("axis", 0 if step.function in BY_UFUNC else None)
    others = [x for name, x in options.items() if x is not None and not (name == "keepdims" and type(x) is bool)]
    if others or len(args) > 2 or axis is None or not is_plain(axis):
        return None
    return set(axes_of(axis, np.ndim(unstaged(args[0]))))


def part(x: ndarray[Any, Any], axis: int, short: int) -> ndarray[Any, Any]:
    """A strip in the memory of the whole array."""
    found: ndarray[Any, Any] = x[(*[slice(None)] * axis, slice(short))]
    return found


def with_length(shape: tuple[int, ...], axis: int, short: int) -> tuple[int, ...]:
    """A shape with a strip in place of the axis, whose length may be -1 in an argument."""
    return (*shape[:axis], short, *shape[axis + 1 :])


def args_of_strip(function: Any, args: tuple[Any, ...], axis: int, short: int) -> tuple[Any, ...]:
    """The arguments of a step whose answer goes in strips along an axis, as far as they are shapes."""
    if function is scatter:
        return *args[:2], with_length(args[2], axis, short), *args[3:]
    if function not in WITH_SHAPE:
        return args
    x, *shape = args
    if shape and type(shape[0]) in (tuple, list):
        return x, with_length(tuple(shape[0]), axis, short), *shape[1:]
    return x, *with_length(tuple(shape), axis, short)


# Labels


def _labels(x: Any, number: int, axis: Axis, short: int) -> Any:
    """An array like a strip of an argument, whose elements tell the argument, the row, and the place in the strip."""
    x = unstaged(x)
    shape = np.shape(x)
    if axis is None:
        rows = np.arange(max(1, np.size(x))).reshape(shape)
        return (rows + (number << 40)) * (NOWHERE + 1) + NOWHERE
    rows = np.arange(np.size(x) // shape[axis]).reshape((*shape[:axis], 1, *shape[axis + 1 :]))
    at = np.arange(short).reshape((short, *[1] * (len(shape) - axis - 1)))
    return (rows + (number << 40)) * (NOWHERE + 1) + at


def _rows(labels: Any, axis: int, short: int) -> Any:
    """The rows of the elements; None if a strip has elements of other places."""
    labels = np.moveaxis(labels, axis, -1)
    at, rows = labels % (NOWHERE + 1), labels // (NOWHERE + 1)
    is_right = ((at == np.arange(short)) | (at == NOWHERE)).all() and (rows == rows[..., :1]).all()
    return rows[..., 0] if is_right else None


def _keeps_strips(labels_of: Callable[[int], Any], answer: ndarray[Any, Any], axis: int) -> bool:
    """Whether the elements of a strip of the answer are those of the same strips, by the labels in a strip so long."""
    found = []
    for short in PROBES:
        try:
            labels = np.asarray(labels_of(short))
        except (ValueError, IndexError, TypeError):  # the step needs the length that it was given
            return False
        if labels.shape != with_length(answer.shape, axis, short):
            return False
        if (rows := _rows(labels, axis, short)) is None:
            return False
        found.append(rows)
    return np.array_equal(found[0], found[1])
