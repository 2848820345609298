"""How the functions in linear maps work on index sets.

A function that only moves elements moves the numbers of their sets. A sum unites sets, and a product is a sum, whatever
the other factor is. Of any other function, each element depends on all elements of its operands.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from shiftreset_ad.modes.index_sets.elementwise import united
from shiftreset_ad.modes.index_sets.number import IndexSets
from shiftreset_ad.numbers.sparse import times
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.building import assemble
from shiftreset_ad.rules.conversion import astype, imaginary_part, real_part
from shiftreset_ad.rules.indexing import scatter
from shiftreset_ad.rules.linalg.matrices import as_hermitian, hermitian_from
from shiftreset_ad.rules.numpy.einstein import LABELS, contract, taken_apart
from shiftreset_ad.rules.numpy.reductions import reduced_axes
from shiftreset_ad.rules.numpy.selection import elements_along, windows
from shiftreset_ad.rules.numpy.shapes import normalize_axes, normalize_axis, repeated
from shiftreset_ad.rules.numpy.sorting import rearranged

# `(sets, *args, **kwargs) -> answer`
WAYS: dict[Callable[..., Any], Callable[..., Any]] = {}


def by(*functions: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated function as the way of `functions`."""

    def enter(way: Callable[..., Any]) -> Callable[..., Any]:
        WAYS.update(dict.fromkeys(functions, way))
        return way

    return enter


# Functions that only move elements


def moving(function: Callable[..., Any]) -> Callable[..., Any]:
    """The way of a function that moves elements, or puts in zeros."""

    def way(sets: IndexSets, first: Any, *args: Any, **kwargs: Any) -> Any:
        many = isinstance(first, list | tuple)
        return sets.like(function([sets.of(x) for x in first] if many else first.which, *args, **kwargs))

    return way


MOVING = (
    *(operator.getitem, np.reshape, np.ravel, np.diagonal, np.copy, np.transpose, np.rot90, np.broadcast_to, repeated),
    *(
        np.conjugate,
        np.roll,
        np.concatenate,
        np.stack,
        np.diagflat,
        sliding_window_view,
        elements_along,
        rearranged,
        assemble,
    ),
)
WAYS.update({function: moving(function) for function in MOVING})


@by(astype)
def _astype(sets: IndexSets, x: Any, dtype: Any) -> Any:
    return sets.like(x.which.copy(), np.dtype(dtype))


@by(real_part, imaginary_part)
def _part(sets: IndexSets, z: Any) -> Any:
    dtype = np.zeros(0, z.dtype).real.dtype
    part = sets.like(z.which[...], dtype)
    part.shared = sets.shared or dtype != z.dtype
    return part


@by(sliding_window_view)
def _windows(sets: IndexSets, x: Any, window_shape: Any, axis: Any = None, **options: Any) -> Any:
    return sets.like(windows(x.which, window_shape, axis))


@by(np.where)
def _where(sets: IndexSets, condition: Any, x: Any, y: Any) -> Any:
    both = united(sets, [np.zeros(shape_of(condition), bool), x, y])
    return sets.like(np.where(condition, sets.of(x), sets.of(y)), both.dtype) if sets.here else both


@by(hermitian_from, as_hermitian)
def _hermitian(sets: IndexSets, a: Any, *triangle: Any) -> Any:
    return sets.like(sets.sets.union(a.which, np.swapaxes(a.which, -1, -2)))


@by(scatter)
def _scatter(sets: IndexSets, values: list[Any], indices: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    size = math.prod(shape)
    which, places = np.zeros(size, np.int64), np.arange(size).reshape(shape)
    for index, value in zip(indices, values, strict=True):
        if sets.has(value):
            positions = np.asarray(places[index])
            added = np.broadcast_to(value.which, positions.shape)
            sets.sets.add_into(which, positions.reshape(-1), added.reshape(-1))
    return sets.like(which.reshape(shape), dtype)


# Sums


@by(np.sum, np.mean)
def _sum(sets: IndexSets, a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    axes = reduced_axes(axis, a.shape)
    which = _over(sets, a.which, axes)
    return sets.like(np.expand_dims(which, axes) if keepdims else which, dtype)


@by(np.trace)
def _trace(sets: IndexSets, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    diagonal = np.diagonal(a.which, offset, axis1, axis2)
    return sets.like(_over(sets, diagonal, (diagonal.ndim - 1,)), dtype)


@by(np.cumsum)
def _cumsum(sets: IndexSets, a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    which = a.which.reshape(-1) if axis is None or a.shape == () else a.which
    place = 0 if which.ndim == 1 or axis is None else normalize_axis(axis, which.ndim)
    lines = np.moveaxis(which, place, 0).copy()
    for i in range(1, len(lines)):
        lines[i] = sets.sets.union(lines[i - 1], lines[i])
    return sets.like(np.moveaxis(lines, 0, place), dtype)


def along_axis(transform: Callable[..., Any]) -> Callable[..., Any]:
    """The way of a transform along an axis: each element depends on all elements of its line."""

    def way(sets: IndexSets, a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
        like = transform(np.zeros(a.shape, a.dtype), n, axis, norm)
        which = np.expand_dims(_over(sets, a.which, (normalize_axis(axis, len(a.shape)),)), axis)
        return sets.like(np.broadcast_to(which, like.shape).copy(), like.dtype)

    return way


WAYS.update({transform: along_axis(transform) for transform in (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft)})


@by(np.linalg.solve)
def _solve(sets: IndexSets, a: Any, b: Any) -> Any:
    if sets.has(a):
        return sets.of_everything(np.linalg.solve, (a, b), {})
    like = np.linalg.solve(a, np.zeros(shape_of(b)))
    axis = 0 if len(shape_of(b)) == 1 else len(shape_of(b)) - 2
    which = np.expand_dims(_over(sets, b.which, (axis,)), axis)
    return sets.like(np.broadcast_to(which, like.shape).copy(), like.dtype)


@by(np.convolve)
def _convolve(sets: IndexSets, a: Any, v: Any, mode: str = "full") -> Any:
    x, other = (a, v) if sets.has(a) else (v, a)
    if sets.has(other) or mode not in ("full", "same", "valid"):
        return sets.of_everything(np.convolve, (a, v, mode), {})
    length, width = x.size, np.size(other)
    windows = sliding_window_view(np.pad(x.which.reshape(-1), width - 1), width)
    if sets.here:
        windows = np.where(np.reshape(other, -1)[::-1] == 0, 0, windows)
    whole = _over(sets, windows, (1,))
    short = min(length, width)
    begin = {"full": 0, "same": (short - 1) // 2, "valid": short - 1}[mode]
    size = {"full": length + width - 1, "same": max(length, width), "valid": max(length, width) - short + 1}[mode]
    return sets.like(whole[begin : begin + size], np.result_type(dtype_of(a), dtype_of(v)))


def _over(sets: IndexSets, which: Any, axes: Iterable[int]) -> Any:
    """The union over these axes."""
    axes = tuple(axes)
    first = np.moveaxis(which, axes, range(len(axes)))
    shape = first.shape
    return sets.sets.union_along_first(first.reshape(math.prod(shape[: len(axes)]), *shape[len(axes) :]))


# Products


@by(contract)
def _contract(sets: IndexSets, operands: list[Any], subscripts: str, optimize: Any) -> Any:
    return _contracted(sets, operands, *taken_apart(subscripts))


def _contracted(sets: IndexSets, operands: list[Any], inputs: Sequence[str], output: str) -> Any:
    sizes: dict[str, int] = {}
    for x, labels in zip(operands, inputs, strict=True):
        for label, size in zip(labels, shape_of(x), strict=True):
            sizes[label] = max(size, sizes.get(label, 0))
    answer = np.zeros([sizes[label] for label in output], np.int64)
    for x, labels in zip(operands, inputs, strict=True):
        if sets.has(x):
            answer = sets.sets.union(answer, _spread(sets, x.which, labels, output))
    return sets.like(answer, np.result_type(*map(dtype_of, operands)))


def _spread(sets: IndexSets, which: Any, labels: str, output: str) -> Any:
    """The union over the labels that the output lacks, such that it broadcasts along those that it has more."""
    found = _over(sets, which, [i for i, label in enumerate(labels) if label not in output])
    left = [label for label in labels if label in output]
    found = np.transpose(found, [left.index(label) for label in output if label in left])
    return np.expand_dims(found, tuple(i for i, label in enumerate(output) if label not in left))


@by(np.matmul)
def _matmul(sets: IndexSets, a: Any, b: Any) -> Any:
    ndims = len(shape_of(a)), len(shape_of(b))
    batch = LABELS[3 : 3 + max(*ndims, 2) - 2]
    left = "b" if ndims[0] == 1 else batch[len(batch) - ndims[0] + 2 :] + "ab"
    right = "b" if ndims[1] == 1 else batch[len(batch) - ndims[1] + 2 :] + "bc"
    output = batch + "a" * (ndims[0] > 1) + "c" * (ndims[1] > 1)
    return _contracted(sets, [a, b], (left, right), output)


@by(np.dot)
def _dot(sets: IndexSets, a: Any, b: Any) -> Any:
    ndims = len(shape_of(a)), len(shape_of(b))
    return _tensordot(sets, a, b, 0 if 0 in ndims else ([ndims[0] - 1], [max(ndims[1] - 2, 0)]))


@by(np.inner)
def _inner(sets: IndexSets, a: Any, b: Any) -> Any:
    return _tensordot(sets, a, b, 0 if () in (shape_of(a), shape_of(b)) else ([-1], [-1]))


@by(np.tensordot)
def _tensordot(sets: IndexSets, a: Any, b: Any, axes: Any = 2) -> Any:
    ndim_a, ndim_b = len(shape_of(a)), len(shape_of(b))
    if np.ndim(axes) == 0:
        count = operator.index(axes)
        axes = range(ndim_a - count, ndim_a), range(count)
    pairs = [
        normalize_axes(side if np.ndim(side) else int(side), ndim)
        for side, ndim in zip(axes, (ndim_a, ndim_b), strict=True)
    ]
    labels_a, labels_b = list(LABELS[:ndim_a]), list(LABELS[ndim_a : ndim_a + ndim_b])
    for i, j in zip(*pairs, strict=True):
        labels_b[j] = labels_a[i]
    output = [label for label in (*labels_a, *labels_b) if (label in labels_a) != (label in labels_b)]
    return _contracted(sets, [a, b], ("".join(labels_a), "".join(labels_b)), "".join(output))


@by(times)
def _times(sets: IndexSets, a: Any, x: Any, transposed: bool = False) -> Any:
    matrix = (a.T if transposed else a).tocoo()
    order = np.argsort(matrix.row, kind="stable")
    which = np.zeros((matrix.shape[0], math.prod(x.shape[1:])), np.int64)
    given = x.which.reshape(x.shape[0], math.prod(x.shape[1:]))
    for column in range(which.shape[1]):
        line = which[:, column].copy()
        sets.sets.add_into(line, matrix.row[order].astype(np.int64), given[matrix.col[order], column])
        which[:, column] = line
    return sets.like(which.reshape(matrix.shape[0], *x.shape[1:]), np.result_type(a.dtype, dtype_of(x)))
