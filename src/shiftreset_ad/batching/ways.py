"""How functions work on all rows of a batch at once.

A way takes the arguments of the function, with a `Rows` for each value that differs from row to row, and returns the
rows of the answer; None where the function must be called row by row. Elementwise functions line up the axes, functions
along an axis take the next axis, and functions of matrices take any axes before those of the matrices. The ways of
linear functions are those of stacks of directions.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from shiftreset_ad.batching.rows import Rows, rows_in
from shiftreset_ad.modes.stacks.at_once import WAYS as LINEAR
from shiftreset_ad.modes.stacks.number import after_rows
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.building import SEQUENCES
from shiftreset_ad.rules.indexing import read, scatter
from shiftreset_ad.rules.numpy.products import contract, explicit, spelled_out
from shiftreset_ad.rules.numpy.selection import elements_along
from shiftreset_ad.rules.numpy.sorting import rearranged
from shiftreset_ad.rules.table import functions_of
from shiftreset_ad.staging.steps.functions import OPERATORS, Method

Way = Callable[..., Any]  # `(batch, *args, **kwargs) -> rows`, where `batch` is one of the `Rows` in the arguments

WAYS: dict[Callable[..., Any], Way] = {}
ELEMENTWISE = OPERATORS - {operator.matmul}

# Along the axis `axis`; None means all elements.
ALONG = {
    *functions_of("sum", "mean", "prod", "max", "min", "amax", "amin", "ptp", "var", "std", "any", "all"),
    *functions_of("nansum", "nanmean", "nanprod", "nanmax", "nanmin", "nanvar", "nanstd", "nancumsum", "nancumprod"),
    *functions_of("cumsum", "cumprod", "argmax", "argmin", "nanargmax", "nanargmin", "count_nonzero", "median"),
}
# The same, and an axis before the last one is counted from the end unless it is given: `axis=-1`.
ALONG_LAST = {
    *functions_of("sort", "argsort", "diff", "trapezoid", "unwrap", "fft.fft", "fft.ifft", "fft.rfft", "fft.irfft"),
    *functions_of("fft.hfft", "fft.ihfft", "expand_dims"),
}
# Of the last two axes.
OF_MATRICES = {
    *functions_of("linalg.det", "linalg.inv", "linalg.cholesky", "linalg.eigh", "linalg.eigvalsh", "linalg.svd"),
    *functions_of("linalg.svdvals", "linalg.qr", "linalg.pinv", "linalg.slogdet", "linalg.matrix_power"),
    *functions_of("linalg.matrix_norm", "matrix_transpose", "linalg.matrix_transpose", "tril", "triu"),
}
# Linear functions whose ways take values of each row, and values for all rows, in any argument.
OF_SEVERAL = {np.matmul, np.dot, np.inner, np.tensordot, np.concatenate, np.stack, contract}


def entered(*functions: Callable[..., Any]) -> Callable[[Way], Way]:
    """Enter the decorated way for each of `functions`."""

    def enter(way: Way) -> Way:
        WAYS.update(dict.fromkeys(functions, way))
        return way

    return enter


def way_of(function: Callable[..., Any], is_only_first: bool) -> Way | None:
    """The way of a function; None if it has none. `is_only_first`: only the first argument differs from row to row."""
    if isinstance(function, Method):
        return _of_method(function.__name__, is_only_first)
    if function in WAYS:
        return WAYS[function]
    if is_elementwise(function):
        return lambda batch, *args, **kwargs: _elementwise(batch, function, *args, **kwargs)
    if function in OF_SEVERAL:
        return LINEAR[function]
    return _of_first(function) if is_only_first else None


def is_elementwise(function: Any) -> bool:
    """Whether a function works on each element, and broadcasts its operands."""
    return (isinstance(function, np.ufunc) and function.signature is None) or function in ELEMENTWISE


def _of_first(function: Any) -> Way | None:
    """The way of a function that takes a value of each row as its first argument, and no other ones."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc) and function.__name__ in ("reduce", "accumulate"):
        return lambda batch, *args, **kwargs: _along(function, False, args, kwargs)
    if function in ALONG or function in ALONG_LAST:
        return lambda batch, *args, **kwargs: _along(function, function in ALONG_LAST, args, kwargs)
    if function in OF_MATRICES:
        return lambda batch, x, *args, **kwargs: function(x.rows, *args, **kwargs)
    return LINEAR.get(function)


@cache
def _of_method(name: str, is_only_first: bool) -> Way | None:
    """The way of a method of arrays: that of the function with the name, in NumPy's meaning for methods."""
    if not is_only_first:
        return None
    function = getattr(np, name, None)
    return METHODS.get(name) or (None if function is None else way_of(function, True))


# Elementwise


def _elementwise(batch: Rows, function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    if options and rows_in(list(options.values())):
        return None
    if any(type(x) in SEQUENCES for x in operands):
        return None
    ndim = max(len(shape_of(x)) for x in operands)
    return function(*[batch.lined_up(x, ndim) for x in operands], **options)


# Along an axis


def _along(function: Callable[..., Any], is_last: bool, args: Any, kwargs: Any) -> Any:
    options = _bound(function, args, kwargs)
    if options is None:
        return None
    x, ndim = args[0].rows, len(args[0].shape)
    default = -1 if is_last else 0 if getattr(function, "__self__", None) is not None else None
    axis = options.pop("axis", default)
    if axis is None:
        keepdims = options.pop("keepdims", False) is True
        flat = np.reshape(x, (shape_of(x)[0], math.prod(shape_of(x)[1:])))
        answer = function(flat, axis=1, **options)
        return np.reshape(answer, shape_of(answer) + (1,) * ndim) if keepdims else answer
    if ndim == 0:
        return None
    return function(x, axis=_next(axis), **options)


def _next(axis: Any) -> Any:
    """The same axis of all rows: the next one, unless it is counted from the end."""
    if isinstance(axis, tuple | list):
        return tuple(map(_next, axis))
    return axis if axis < 0 else axis + 1


@cache
def _names(function: Callable[..., Any]) -> tuple[str, ...] | None:
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ("array", "axis", "dtype", "out", "keepdims") if function.__name__ == "reduce" else None


def _bound(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any] | None:
    """The arguments after the first, by their names; None if the names are not known, or an array is among them."""
    names = _names(function) if len(args) > 1 else ("",) * len(args)
    if names is None or len(args) > len(names):
        return None
    options = {**dict(zip(names[1:], args[1:], strict=False)), **kwargs}
    options = {name: option for name, option in options.items() if option is not np._NoValue and name != "out"}
    return options if all(np.ndim(option) == 0 or name == "axis" for name, option in options.items()) else None


@entered(*functions_of("squeeze"))
def _squeeze(batch: Rows, a: Rows, axis: Any = None) -> Any:
    axes = tuple(i for i, size in enumerate(a.shape) if size == 1) if axis is None else axis
    return np.squeeze(a.rows, _next(axes))


@entered(*functions_of("swapaxes"))
def _swapaxes(batch: Rows, a: Rows, axis1: int, axis2: int) -> Any:
    return np.swapaxes(a.rows, _next(axis1), _next(axis2))


@entered(*functions_of("moveaxis"))
def _moveaxis(batch: Rows, a: Rows, source: Any, destination: Any) -> Any:
    return np.moveaxis(a.rows, _next(source), _next(destination))


@entered(*functions_of("flip"))
def _flip(batch: Rows, m: Rows, axis: Any = None) -> Any:
    return np.flip(m.rows, tuple(range(1, len(m.shape) + 1)) if axis is None else _next(axis))


@entered(rearranged)
def _rearranged(batch: Rows, a: Any, order: Any, axis: int) -> Any:
    return rearranged(batch.all_rows(a), batch.all_rows(order), _next(axis))


@entered(*functions_of("linalg.norm"))
def _norm(batch: Rows, x: Rows, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002 (NumPy's name)
    if rows_in((ord, axis)) or not x.shape:
        return None
    if axis is not None:
        return np.linalg.norm(x.rows, ord, _next(axis), keepdims)
    if ord is None and not keepdims:
        return np.linalg.norm(np.reshape(x.rows, (-1, x.size)), axis=1)
    return np.linalg.norm(x.rows, ord, tuple(range(1, len(x.shape) + 1)), keepdims) if len(x.shape) <= 2 else None


# Elements


@entered(operator.getitem)
def _getitem(batch: Rows, x: Any, index: Any) -> Any:
    if type(x) is Rows:
        place = _place(batch, index)
        if place is None:
            return None
        return LINEAR[operator.getitem](batch, x, index) if not rows_in(index) else read(x.rows, place)
    parts = index if type(index) is tuple else (index,)
    if not all(map(_is_position, parts)):
        return None
    ndim = max(len(shape_of(part)) for part in parts)
    return read(x, tuple([batch.lined_up(part, ndim) for part in parts]))


def _place(batch: Rows, index: Any) -> tuple[Any, ...] | None:
    """An index of one value as an index of all rows; None if all rows have no such index.

    Where positions differ from row to row, the number of the row is one more position.
    """
    if not rows_in(index):
        return after_rows(index)
    parts = index if type(index) is tuple else (index,)
    if not all(map(_is_position, parts)):
        return None
    ndim = max(len(shape_of(part)) for part in parts)
    numbers = np.arange(shape_of(batch.rows)[0]).reshape(-1, *(1,) * ndim)
    return numbers, *[batch.lined_up(part, ndim) for part in parts]


def _is_position(part: Any) -> bool:
    """Whether a part of an index is an integer, or an array of integers."""
    if type(part) is Rows:
        return part.dtype.kind in "iu"
    return (isinstance(part, int | np.integer) and not isinstance(part, bool)) or (
        isinstance(part, np.ndarray) and part.dtype.kind in "iu"
    )


@entered(elements_along)
def _elements_along(batch: Rows, a: Any, axis: int, positions: Any) -> Any:
    if type(positions) is not Rows:
        return elements_along(a.rows, axis + 1, positions)
    return _getitem(batch, a, positions) if axis == 0 and positions.dtype.kind in "iu" else None


@entered(np.take)
def _take(batch: Rows, a: Any, indices: Any, axis: int | None = None, **options: Any) -> Any:
    if options or (axis is None and len(shape_of(a)) != 1):
        return None
    axis = 0 if axis is None else operator.index(axis)
    if type(indices) is not Rows:
        return np.take(a.rows, indices, _next(axis))
    return _getitem(batch, a, indices) if axis in (0, -len(shape_of(a))) and indices.dtype.kind in "iu" else None


@entered(np.take_along_axis)
def _take_along_axis(batch: Rows, arr: Any, indices: Any, axis: int | None = -1) -> Any:
    if axis is None:
        return None
    return np.take_along_axis(batch.all_rows(arr), batch.all_rows(indices), _next(axis))


@entered(np.where)
def _where(batch: Rows, *args: Any) -> Any:
    return _elementwise(batch, np.where, *args) if len(args) == 3 else None


@entered(np.clip)
def _clip(batch: Rows, a: Any, a_min: Any = None, a_max: Any = None, **options: Any) -> Any:
    if options:
        return None
    given = [x for x in (a, a_min, a_max) if x is not None]
    ndim = max(len(shape_of(x)) for x in given)
    clip: Any = np.clip
    return clip(*[x if x is None else batch.lined_up(x, ndim) for x in (a, a_min, a_max)])


@entered(scatter)
def _scatter(batch: Rows, values: list[Any], indices: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    places = [_place(batch, index) for index in indices]
    if None in places:
        return None
    shape = (shape_of(batch.rows)[0], *shape)
    return scatter([batch.all_rows(x) for x in values], places, shape, dtype)


# Products


@entered(*functions_of("dot"))
def _dot(batch: Rows, a: Any, b: Any) -> Any:
    if type(a) is not Rows or type(b) is not Rows:
        return LINEAR[np.dot](batch, a, b)
    if not a.shape or not b.shape:
        return _elementwise(batch, np.multiply, a, b)
    return LINEAR[np.matmul](batch, a, b) if len(b.shape) <= 2 and len(a.shape) <= 2 else None


@entered(*functions_of("inner"))
def _inner(batch: Rows, a: Any, b: Any) -> Any:
    if type(a) is not Rows or type(b) is not Rows:
        return LINEAR[np.inner](batch, a, b)
    return _dot(batch, a, b) if len(b.shape) <= 1 else None


@entered(*functions_of("outer", "linalg.outer"))
def _outer(batch: Rows, a: Any, b: Any) -> Any:
    a, b = (np.reshape(batch.all_rows(x), (-1, math.prod(shape_of(x)))) for x in (a, b))
    return a[:, :, None] * b[:, None, :]


@entered(np.tensordot)
def _tensordot(batch: Rows, a: Any, b: Any, axes: Any = 2) -> Any:
    if type(a) is not Rows or type(b) is not Rows:
        return LINEAR[np.tensordot](batch, a, b, axes)
    if np.ndim(axes) == 0:
        count = operator.index(axes)
        axes = range(len(a.shape) - count, len(a.shape)), range(count)
    summed_a, summed_b = (
        [operator.index(i) % len(x.shape) for i in np.atleast_1d(np.asarray(side, int))]
        for side, x in zip(axes, (a, b), strict=True)
    )
    left_a = [i for i in range(len(a.shape)) if i not in summed_a]
    left_b = [i for i in range(len(b.shape)) if i not in summed_b]
    length = math.prod(a.shape[i] for i in summed_a)
    count = shape_of(a.rows)[0]
    of_a, of_b = tuple(a.shape[i] for i in left_a), tuple(b.shape[i] for i in left_b)
    p = np.reshape(np.transpose(a.rows, (0, *[i + 1 for i in left_a + summed_a])), (count, math.prod(of_a), length))
    q = np.reshape(np.transpose(b.rows, (0, *[i + 1 for i in summed_b + left_b])), (count, length, math.prod(of_b)))
    return np.reshape(np.matmul(p, q), (count, *of_a, *of_b))


@entered(np.einsum)
def _einsum(batch: Rows, *args: Any, **options: Any) -> Any:
    if set(options) - {"optimize"}:
        return None
    subscripts, operands = spelled_out(args)
    inputs, output = explicit(subscripts, tuple([len(shape_of(x)) for x in operands]))
    return LINEAR[contract](batch, operands, inputs, output, options.get("optimize", False))


# New arrays


@entered(*functions_of("zeros_like", "empty_like"))
def _zeros_like(
    batch: Rows, a: Rows, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None
) -> Any:
    return np.zeros_like(a.rows, dtype) if shape is None else None


# Equations


@entered(np.linalg.solve)
def _solve(batch: Rows, a: Any, b: Any) -> Any:
    if len(shape_of(b)) == 1:
        return np.linalg.solve(batch.lined_up(a, 2), batch.lined_up(b, 1)[..., None])[..., 0]
    ndim = max(len(shape_of(a)), len(shape_of(b)))
    return np.linalg.solve(batch.lined_up(a, ndim), batch.lined_up(b, ndim))


# Questions, whose answers are compared


@entered(bool)
def _bool(batch: Rows, x: Rows) -> Any:
    return x.rows != 0 if x.shape == () else None


@entered(float, operator.index)
def _as_it_is(batch: Rows, x: Rows) -> Any:
    return x.rows if x.shape == () else None


@entered(int)
def _int(batch: Rows, x: Rows) -> Any:
    return np.trunc(x.rows).astype(np.int64) if x.shape == () else None


@entered(operator.matmul, np.matmul)
def _matmul(batch: Rows, a: Any, b: Any) -> Any:
    if type(a) is Rows and type(b) is not Rows and len(shape_of(b)) == 2:
        return a.rows @ b
    return LINEAR[np.matmul](batch, a, b)


# Methods


def _reshape_method(batch: Rows, a: Rows, *shape: Any, order: str = "C") -> Any:
    sizes = shape[0] if len(shape) == 1 else shape
    return None if order not in ("C", "F") or rows_in(sizes) else LINEAR[np.reshape](batch, a, sizes, order)


def _transpose_method(batch: Rows, a: Rows, *axes: Any) -> Any:
    return LINEAR[np.transpose](batch, a, (axes[0] if len(axes) == 1 else axes) if axes else None)


def _astype_method(batch: Rows, a: Rows, dtype: Any, *rest: Any, **options: Any) -> Any:
    return None if rest or set(options) - {"copy"} else a.rows.astype(dtype)


def _copy_method(batch: Rows, a: Rows, order: str = "C") -> Any:
    return np.copy(a.rows)


def _flatten_method(batch: Rows, a: Rows, order: str = "C") -> Any:
    return None if order != "C" else np.copy(LINEAR[np.reshape](batch, a, (a.size,)))


METHODS: dict[str, Way] = {
    "reshape": _reshape_method,
    "transpose": _transpose_method,
    "astype": _astype_method,
    "copy": _copy_method,
    "__copy__": _copy_method,
    "flatten": _flatten_method,
    "item": lambda batch, a, *index: None if index or a.shape else a.rows,
    "sort": lambda batch, a, *args, **kwargs: None,
    "round": lambda batch, a, decimals=0: np.round(a.rows, decimals),
    "conj": lambda batch, a: np.conjugate(a.rows),
}
