"""Which steps go along a long axis in strips: all of them on one strip, one after another, and then on the next one.

A step on a long array goes through memory: no fast cache keeps the array until the next step comes. A strip is so short
that a cache keeps all that the steps make of it, and what no other step needs is never stored as a whole. A strip of
the answer must be made of the same strip of each argument, so a sum along the axis ends the group of steps.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.indexing import scatter
from shiftreset_ad.rules.numpy.shapes import repeated
from shiftreset_ad.staging.native.arrays import BY_METHOD, SUMS
from shiftreset_ad.staging.native.formulas import axes_of
from shiftreset_ad.staging.native.fusion import elementwise
from shiftreset_ad.staging.native.layouts import layout_of
from shiftreset_ad.staging.native.llvm import ARRAY, form_of, is_table
from shiftreset_ad.staging.native.memory import ArrayBlocks
from shiftreset_ad.staging.native.moves import JOINS, is_plain
from shiftreset_ad.staging.native.positions import has_arrays
from shiftreset_ad.staging.native.reductions import lengths_of
from shiftreset_ad.staging.steps.functions import Attribute, method
from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged, is_staged, unstaged

SHORTEST = 256  # elements along an axis that goes in strips
FEW_ROWS = 4096  # elements at one index of it
MANY_ROWS, LONGEST_ROW = 256, 2**15  # along an axis that is not the longest one; their bytes
PROBES = (7, 12)  # the lengths of strips on which a move is tried

BY_UFUNC = {
    np.add.reduce: SUMS[np.sum],
    np.multiply.reduce: SUMS[np.prod],
    np.maximum.reduce: SUMS[np.max],
    np.minimum.reduce: SUMS[np.min],
}
REDUCTIONS: dict[Any, tuple[np.ufunc, float | None, bool]] = {**SUMS, **BY_METHOD, **BY_UFUNC}
WITH_SHAPE = {np.reshape, method("reshape"), np.broadcast_to, repeated}  # their second argument is a shape
OTHER_MOVES = {*JOINS, operator.getitem, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.copy}
OTHER_METHODS = {"transpose", "swapaxes", "squeeze", "copy", "T", "mT"}
NOWHERE = 63  # in labels: an element that has no place along the axis

Place = Callable[[Staged], int]  # of a value


class Waiting(NamedTuple):
    """A step that waits, with its number among all steps."""

    now: int
    step: Step
    args: tuple[Any, ...]
    answer: ndarray[Any, Any]

    @property
    def is_element(self) -> bool:
        """Whether it goes element by element, so that it may share a loop with others."""
        return elementwise(self.step, self.args, self.answer) is not None


class Group:
    """Steps that wait to go in strips along an axis of `length` elements.

    `made` has the places of their answers, and `roots` the arrays that they make, each with its bytes between two
    elements along the axis: the memory of such an array is parted by this number.
    """

    __slots__ = ("_memory", "length", "made", "roots", "steps")

    def __init__(self, memory: ArrayBlocks) -> None:
        self._memory = memory
        self.length = 0
        self.steps: list[Waiting] = []
        self.made: set[int] = set()
        self.roots: dict[int, int] = {}

    def takes(self, step: Step, args: tuple[Any, ...], answer: Any, place: Place) -> bool:
        """Whether a step may join the group, or begin a new one."""
        if form_of(answer) != ARRAY or max(answer.shape) < SHORTEST or not is_pure(step, self._memory):
            return False
        length = self.length or _axis_of(answer)
        if not length or answer.shape.count(length) != 1:
            return False
        root, offset = self._memory.address(step.place)
        if root != step.place:
            return root not in self.roots or self._parts(root, offset, answer, length)
        return (
            layout_of(answer).is_dense
            and all(self._is_right(x, length, place) for x in arrays_in(args))
            and goes_along(step, args, answer, length)
        )

    def add(self, waiting: Waiting) -> None:
        """Let a step wait."""
        place, answer = waiting.step.place, waiting.answer
        self.length = self.length or _axis_of(answer)
        self.steps.append(waiting)
        self.made.add(place)
        if self._memory.root(place) == place:
            self.roots[place] = answer.strides[answer.shape.index(self.length)]

    def needed_inside(self) -> set[int]:
        """The arrays that only steps of the group need."""
        last = self.steps[-1].now
        return {root for root in self.roots if not self._memory.is_needed_after(root, last)}

    def _is_right(self, x: Any, length: int, place: Place) -> bool:
        """Whether an array has at most one such axis, and is from outside of the group, or a step of it answers it."""
        value = unstaged(x)
        if value.shape.count(length) > 1 or form_of(value) != ARRAY or is_table(value):
            return False
        return type(x) is not Staged or place(x) in self.made or self._memory.root(place(x)) not in self.roots

    def _parts(self, root: int, offset: int, view: ndarray[Any, Any], length: int) -> bool:
        """Whether each strip of a view lies in the same strip of its array."""
        step = self.roots[root]
        if min(view.strides) < 0 or view.strides[view.shape.index(length)] != step:
            return False
        across = step * length
        others = [(n - 1) * s for n, s in zip(view.shape, view.strides, strict=True) if n != length and s % across]
        return bool(offset % across + sum(others) + view.itemsize <= step)


def is_pure(step: Step, memory: ArrayBlocks) -> bool:
    """Whether a step only makes an array, in a block of its own, or a view."""
    of, place = memory.in_place, step.place
    is_written = step.writes or step.is_question or is_staged([*step.kwargs.values()])
    return not is_written and not any(place in x for x in (of.scatters, of.additions, of.replaced, of.moved, of.copied))


def _axis_of(x: ndarray[Any, Any]) -> int:
    """The length of the axis along which strips go; zero if there is none.

    It is the outermost one in memory, if that is long and has short rows, as then a strip is one piece; or the longest.
    """
    outer, longest = x.shape[int(np.argmax(x.strides))], max(x.shape)
    length = outer if outer >= MANY_ROWS and x.nbytes <= LONGEST_ROW * outer else longest
    return length if x.shape.count(length) == 1 and x.size <= FEW_ROWS * length else 0


def arrays_in(args: Any) -> Iterator[Any]:
    """The arrays among arguments, and in the lists among them."""
    for x in args:
        if type(x) in (list, tuple):
            yield from arrays_in(x)
        elif isinstance(unstaged(x), ndarray):
            yield x


def goes_along(step: Step, args: tuple[Any, ...], answer: ndarray[Any, Any], length: int) -> bool:
    """Whether a step makes each strip of its answer of the same strip of its arguments."""
    function = step.function
    if function in REDUCTIONS:
        return _reduces_across(step, args, answer, length)
    if function in WITH_SHAPE or function in OTHER_MOVES or _is_other_method(function):
        return not (function is operator.getitem and has_arrays(args[1])) and _moves_across(step, args, answer, length)
    if function is scatter:
        return _scatters_across(args, answer, length)
    # Where arrays have the axis, NumPy's rules let it meet no other axis.
    is_ufunc = isinstance(function, np.ufunc) and function.signature is None and function.nout == 1
    is_by_numpy = (is_ufunc or function is operator.pow) and not step.kwargs
    return is_by_numpy or elementwise(step, args, answer) is not None


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


def _reduces_across(step: Step, args: tuple[Any, ...], answer: ndarray[Any, Any], length: int) -> bool:
    """Whether a reduction goes along other axes, and so that the strips of both arrays are at equal distances."""
    x = unstaged(args[0])
    if type(x) is not ndarray or x.dtype != np.float64 or length not in x.shape or min(x.strides) < 0:
        return False
    axes = axes_of_reduction(step, args)
    if axes is None:
        return False
    parts = [layout_of(part(y, length, min(PROBES))) for y in (x, answer)]
    return lengths_of(parts[0], axes, parts[1], layout_of(x)) is not None


def part(x: ndarray[Any, Any], length: int, short: int) -> ndarray[Any, Any]:
    """A strip in the memory of the whole array."""
    found: ndarray[Any, Any] = x[(*[slice(None)] * x.shape.index(length), slice(short))]
    return found


# Moves are tried on labels


def with_length(shape: Any, length: int, short: int) -> Any:
    """A shape with a strip in place of the axis."""
    if type(shape) in (tuple, list):
        return type(shape)([with_length(n, length, short) for n in shape])
    return short if type(shape) is int and shape == length else shape


def args_of_strip(function: Any, args: tuple[Any, ...], length: int, short: int) -> tuple[Any, ...]:
    """The arguments of a step on a strip, as far as they are shapes."""
    if function in WITH_SHAPE:
        return args[0], *[with_length(x, length, short) for x in args[1:]]
    if function is scatter:
        return *args[:2], with_length(args[2], length, short), *args[3:]
    return args


def _labels(x: Any, number: int, length: int, short: int) -> Any:
    """An array like a strip of an argument, whose elements tell the argument, the row, and the place in the strip."""
    x = unstaged(x)
    shape = np.shape(x)
    if length not in shape:
        rows = np.arange(max(1, np.size(x))).reshape(shape)
        return (rows + (number << 40)) * (NOWHERE + 1) + NOWHERE
    axis = shape.index(length)
    rows = np.arange(np.size(x) // length).reshape((*shape[:axis], 1, *shape[axis + 1 :]))
    at = np.arange(short).reshape((short, *[1] * (len(shape) - axis - 1)))
    return (rows + (number << 40)) * (NOWHERE + 1) + at


def _rows(labels: Any, axis: int, short: int) -> Any:
    """The rows of the elements; None if a strip has elements of other places."""
    labels = np.moveaxis(labels, axis, -1)
    at, rows = labels % (NOWHERE + 1), labels // (NOWHERE + 1)
    is_right = ((at == np.arange(short)) | (at == NOWHERE)).all() and (rows == rows[..., :1]).all()
    return rows[..., 0] if is_right else None


def _keeps_strips(labels_of: Callable[[int], Any], answer: ndarray[Any, Any], length: int) -> bool:
    """Whether the elements of a strip of the answer are those of the same strips, by the labels in a strip so long."""
    axis, found = answer.shape.index(length), []
    for short in PROBES:
        try:
            labels = np.asarray(labels_of(short))
        except (ValueError, IndexError, TypeError):  # the step needs the length that it was given
            return False
        if labels.shape != with_length(answer.shape, length, short):
            return False
        if (rows := _rows(labels, axis, short)) is None:
            return False
        found.append(rows)
    return np.array_equal(found[0], found[1])


def _moves_across(step: Step, args: tuple[Any, ...], answer: ndarray[Any, Any], length: int) -> bool:
    first, *more = args
    is_join = step.function in JOINS
    if is_staged(more) or not is_plain([*more, *step.kwargs.values()]) or is_join != (type(first) in (list, tuple)):
        return False

    def moved(short: int) -> Any:
        labels = [_labels(x, i, length, short) for i, x in enumerate(first if is_join else [first])]
        _, *options = args_of_strip(step.function, args, length, short)
        return step.function(labels if is_join else labels[0], *options, **step.kwargs)

    return _keeps_strips(moved, answer, length)


def _scatters_across(args: tuple[Any, ...], answer: ndarray[Any, Any], length: int) -> bool:
    values, indices, *_ = args
    if is_staged(indices) or any(has_arrays(index) or not is_plain(index) for index in indices):
        return False

    def scattered(value: Any, index: Any, short: int) -> Any:
        labels = np.full(with_length(answer.shape, length, short), NOWHERE)
        labels[index] = _labels(value, 1, length, short)
        return labels

    pairs = zip(values, indices, strict=True)
    return all(_keeps_strips(partial(scattered, value, index), answer, length) for value, index in pairs)
