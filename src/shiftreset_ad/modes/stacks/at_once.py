"""How the functions in linear maps work on all rows of a stack at once."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from shiftreset_ad.modes.stacks.number import Stack, after_rows, fitted_rows
from shiftreset_ad.numbers.sparse import times
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.indexing import read, replaced, scatter
from shiftreset_ad.rules.linalg.matrices import hermitian_from
from shiftreset_ad.rules.numpy.einstein import LABELS, contract, joined, taken_apart
from shiftreset_ad.rules.numpy.reductions import reduced_axes
from shiftreset_ad.rules.numpy.selection import elements_along, windows
from shiftreset_ad.rules.numpy.shapes import astype, imaginary_part, normalize_axes, normalize_axis, real_part, repeated

# `(stack, *args, **kwargs) -> rows`, or None where the function must be called row by row.
WAYS: dict[Callable[..., Any], Callable[..., Any]] = {}


def at_once(*functions: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated function, which says how each of `functions` works on all rows."""

    def enter(on_all_rows: Callable[..., Any]) -> Callable[..., Any]:
        WAYS.update(dict.fromkeys(functions, on_all_rows))
        return on_all_rows

    return enter


@at_once(operator.getitem)
def _getitem(stack: Stack, x: Any, index: Any) -> Any:
    place = after_rows(index)
    if place is None:
        return None
    rows = read(x.rows, place)
    is_element = len(shape_of(rows)) == 1 and not any(part is Ellipsis for part in place)
    return +rows if is_element else rows  # an element is no view of the array, but x[..., i] is one


@at_once(elements_along)
def _elements_along(stack: Stack, a: Any, axis: int, positions: Any) -> Any:
    return elements_along(a.rows, axis + 1, positions)


@at_once(scatter)
def _scatter(stack: Stack, values: list[Any], indices: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    places = [after_rows(index) for index in indices]
    if None in places:
        return None
    return scatter([stack.all_rows(x) for x in values], places, shape_of(stack.rows)[:1] + tuple(shape), dtype)


@at_once(replaced)
def _replaced(stack: Stack, values: list[Any], index: Any) -> Any:
    place = after_rows(index)
    if place is None:
        return None
    item, array = map(stack.all_rows, values)
    ndim = len(shape_of(read(array, place))) - 1
    return replaced([fitted_rows(item, ndim), array], place)


@at_once(np.reshape)
def _reshape(stack: Stack, a: Any, shape: Any, order: Any = "C") -> Any:
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if -1 in sizes:
        known = math.prod(size for size in sizes if size != -1)
        sizes = tuple(a.size // known if size == -1 else size for size in sizes) if known else sizes
    if order == "C":
        return np.reshape(a.rows, (shape_of(a.rows)[0], *sizes))
    reversed_rows = np.reshape(_transpose(stack, a), (shape_of(a.rows)[0], *sizes[::-1]))
    return _transpose(stack, stack.like(reversed_rows))


@at_once(np.ravel)
def _ravel(stack: Stack, a: Any, order: Any = "C") -> Any:
    return _reshape(stack, a, (a.size,), order)


@at_once(np.diagonal)
def _diagonal(stack: Stack, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    first, second = normalize_axes((axis1, axis2), len(a.shape))
    return np.diagonal(a.rows, offset, first + 1, second + 1)


@at_once(np.copy)
def _copy(stack: Stack, a: Any, order: Any = "K", subok: bool = False) -> Any:
    if order == "F":
        return _transpose(stack, stack.like(np.copy(_transpose(stack, a), order="C")))
    return np.copy(a.rows, order=order)


@at_once(real_part)
def _real_part(stack: Stack, z: Any) -> Any:
    return real_part(z.rows)


@at_once(imaginary_part)
def _imaginary_part(stack: Stack, z: Any) -> Any:
    return imaginary_part(z.rows)


@at_once(sliding_window_view)
def _sliding_window_view(
    stack: Stack, x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    if writeable:
        return None
    axes = range(len(x.shape)) if axis is None else normalize_axes(axis, len(x.shape), allow_duplicate=True)
    return windows(x.rows, window_shape, tuple(i + 1 for i in axes))


@at_once(np.transpose)
def _transpose(stack: Stack, a: Any, axes: Any = None) -> Any:
    ndim = len(a.shape)
    order = reversed(range(ndim)) if axes is None else normalize_axes(axes, ndim)
    return np.transpose(a.rows, (0, *(axis + 1 for axis in order)))


@at_once(np.broadcast_to)
def _broadcast_to(stack: Stack, array: Any, shape: Any) -> Any:
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    return np.broadcast_to(stack.lined_up(array, len(sizes)), shape_of(array.rows)[:1] + sizes)


@at_once(repeated)
def _repeated(stack: Stack, x: Any, shape: tuple[int, ...]) -> Any:
    return repeated(stack.lined_up(x, len(shape)), (*shape_of(x.rows)[:1], *shape))


@at_once(astype)
def _astype(stack: Stack, x: Any, dtype: Any) -> Any:
    return astype(x.rows, dtype)


@at_once(hermitian_from)
def _hermitian_from(stack: Stack, a: Any, triangle: Any) -> Any:
    return hermitian_from(a.rows, triangle)


@at_once(np.where)
def _where(stack: Stack, condition: Any, x: Any, y: Any) -> Any:
    ndim = max(len(shape_of(part)) for part in (condition, x, y))
    return np.where(condition, stack.lined_up(x, ndim), stack.lined_up(y, ndim))


@at_once(np.concatenate)
def _concatenate(stack: Stack, arrays: list[Any], axis: int | None = 0, **options: Any) -> Any:
    parts = [stack.all_rows(a) for a in arrays]
    if axis is None:
        parts, axis = [np.reshape(x, (shape_of(x)[0], math.prod(shape_of(x)[1:]))) for x in parts], 0
    return np.concatenate(parts, normalize_axis(axis, len(shape_of(parts[0])) - 1) + 1, **options)


@at_once(np.stack)
def _stack(stack: Stack, arrays: list[Any], axis: int = 0, **options: Any) -> Any:
    parts = [stack.all_rows(a) for a in arrays]
    return np.stack(parts, normalize_axis(axis, len(shape_of(parts[0]))) + 1, **options)


@at_once(np.sum)
def _sum(stack: Stack, a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    return np.sum(a.rows, axis=_later(axis, a.shape), dtype=dtype, keepdims=keepdims)


@at_once(np.mean)
def _mean(stack: Stack, a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    return np.mean(a.rows, axis=_later(axis, a.shape), dtype=dtype, keepdims=keepdims)


def _later(axis: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(i + 1 for i in reduced_axes(axis, shape))


@at_once(np.cumsum)
def _cumsum(stack: Stack, a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    if axis is None or a.shape == ():
        return np.cumsum(np.reshape(a.rows, (shape_of(a.rows)[0], a.size)), axis=1, dtype=dtype)
    return np.cumsum(a.rows, axis=normalize_axis(axis, len(a.shape)) + 1, dtype=dtype)


@at_once(np.roll)
def _roll(stack: Stack, a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return None
    axes = normalize_axes(axis, len(a.shape), allow_duplicate=True)
    return np.roll(a.rows, shift, tuple(i + 1 for i in axes))


@at_once(np.trace)
def _trace(stack: Stack, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    first, second = normalize_axes((axis1, axis2), len(a.shape))
    return np.trace(a.rows, offset, first + 1, second + 1, dtype)


@at_once(np.matmul)
def _matmul(stack: Stack, a: Any, b: Any) -> Any:
    shape_a, shape_b = shape_of(a), shape_of(b)
    if (stack.has(a) and stack.has(b)) or max(len(shape_a), len(shape_b)) > 2:
        ndim = max(len(shape_a), len(shape_b), 2)
        a = a[None, :] if len(shape_a) == 1 else a
        b = b[:, None] if len(shape_b) == 1 else b
        rows = np.matmul(stack.lined_up(a, ndim), stack.lined_up(b, ndim))
        rows = rows[..., 0, :] if len(shape_a) == 1 else rows
        return rows[..., 0] if len(shape_b) == 1 else rows
    return _tensordot(stack, a, b, ([len(shape_a) - 1], [max(len(shape_b) - 2, 0)]))


@at_once(times)
def _times(stack: Stack, a: Any, x: Any, transposed: bool = False) -> Any:
    columns = np.moveaxis(x.rows, 0, -1)
    sizes = shape_of(columns)
    products = times(a, np.reshape(columns, (sizes[0], math.prod(sizes[1:]))), transposed)
    rows = np.reshape(products, (shape_of(products)[0], *sizes[1:]))
    return np.moveaxis(rows, -1, 0)


@at_once(np.dot)
def _dot(stack: Stack, a: Any, b: Any) -> Any:
    ndim_a, ndim_b = len(shape_of(a)), len(shape_of(b))
    axes = ([], []) if ndim_a == 0 or ndim_b == 0 else ([ndim_a - 1], [max(ndim_b - 2, 0)])
    return _tensordot(stack, a, b, axes)


@at_once(np.inner)
def _inner(stack: Stack, a: Any, b: Any) -> Any:
    ndim_a, ndim_b = len(shape_of(a)), len(shape_of(b))
    return _tensordot(stack, a, b, ([], []) if ndim_a == 0 or ndim_b == 0 else ([ndim_a - 1], [ndim_b - 1]))


@at_once(np.tensordot)
def _tensordot(stack: Stack, a: Any, b: Any, axes: Any = 2) -> Any:
    if stack.has(a) and stack.has(b):
        return None
    ndim_a, ndim_b = len(shape_of(a)), len(shape_of(b))
    if np.ndim(axes) == 0:
        axes = range(ndim_a - operator.index(axes), ndim_a), range(operator.index(axes))
    summed_a, summed_b = (
        list(normalize_axes(side if np.ndim(side) else int(side), ndim))
        for side, ndim in zip(axes, (ndim_a, ndim_b), strict=True)
    )
    if stack.has(a):
        return np.tensordot(a.rows, b, ([i + 1 for i in summed_a], summed_b))
    if len(summed_b) == ndim_b:  # each row is summed whole, so the rows can come first at once
        return np.tensordot(b.rows, a, ([i + 1 for i in summed_b], summed_a))
    if ndim_a == ndim_b == 2 and len(summed_a) == 1:
        return np.matmul(a.T if summed_a == [0] else a, np.moveaxis(b.rows, summed_b[0] + 1, 1))
    rows = np.tensordot(a, b.rows, (summed_a, [i + 1 for i in summed_b]))
    return np.moveaxis(rows, ndim_a - len(summed_a), 0)


@at_once(contract)
def _contract(stack: Stack, operands: list[Any], subscripts: str, optimize: Any) -> Any:
    inputs, output = taken_apart(subscripts)
    spare = next(label for label in LABELS if label not in subscripts)
    stacked = [stack.has(x) for x in operands]
    return contract(
        [x.rows if has_rows else x for x, has_rows in zip(operands, stacked, strict=True)],
        joined(
            [spare + labels if has_rows else labels for labels, has_rows in zip(inputs, stacked, strict=True)],
            spare + output,
        ),
        optimize,
    )
