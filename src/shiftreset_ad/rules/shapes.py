"""Functions that rearrange, copy, select and join, without changing a value, and the parts of complex numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of, unbroadcast
from shiftreset_ad.rules.table import (
    CONSTANT,
    LinearMap,
    composite,
    dispatched,
    functions_of,
    linear,
    require_order,
    structured,
)

normalize_axis = np.lib.array_utils.normalize_axis_index
normalize_axes = np.lib.array_utils.normalize_axis_tuple

CONSTANT.update(
    functions_of(
        *("shape", "ndim", "size", "result_type", "iscomplexobj", "isrealobj", "iscomplex", "isreal"),
        *("zeros_like", "ones_like", "empty_like"),
        *("array_repr", "array_str", "array2string"),
    )
)

# Same elements, other shape


@structured(np.reshape, linear=True)
def _reshape(a: Any, shape: Any, order: Any = "C") -> Any:
    if order not in ("C", "F"):
        raise ValueError(
            f"numpy.reshape: order={order!r} depends on how the array lies in memory, and a number that is being "
            "differentiated does not say; give 'C' or 'F'"
        )
    original = shape_of(a)
    return linear(
        a, lambda a: np.reshape(a, shape, order=order), lambda y_bar: np.reshape(y_bar, original, order=order)
    )


@structured(np.transpose, linear=True)
def _transpose(a: Any, axes: Any = None) -> Any:
    inverse = None if axes is None else tuple(np.argsort(normalize_axes(axes, len(shape_of(a)))))
    return linear(a, lambda a: np.transpose(a, axes), lambda y_bar: np.transpose(y_bar, inverse))


@structured(np.broadcast_to, linear=True)
def _broadcast_to(array: Any, shape: Any) -> Any:
    original = shape_of(array)
    return linear(array, lambda a: np.broadcast_to(a, shape), lambda y_bar: unbroadcast(y_bar, original))


@dispatched
def astype(x: Any, dtype: Any) -> Any:
    """The same values in another precision (`np.astype`, which NumPy 2.0 does not have)."""
    return np.asarray(x).astype(dtype)[()]


def in_precision(x: Any, dtype: Any) -> Any:
    """A derivative in the precision of the value that it belongs to: of a real value, its real part."""
    given = dtype_of(x)
    if given == dtype:
        return x
    if given.kind == "c" and dtype.kind != "c":
        x = np.real(x)
    return x if dtype_of(x) == dtype else astype(x, dtype)


@structured(astype, linear=True)
def _astype(x: Any, dtype: Any) -> Any:
    original = dtype_of(x)
    to, back = np.dtype(dtype), np.dtype(original)
    # Of the value NumPy says, by a warning, if imaginary parts are dropped; of the derivative that is how it is meant.
    return astype(x, dtype), (
        LinearMap(lambda x_dot: in_precision(x_dot, to), lambda y_bar: in_precision(y_bar, back)),
    )


@composite(np.ravel)
def _ravel(a: Any, order: Any = "C") -> Any:
    return np.reshape(a, -1, order=order)


@composite(np.expand_dims)
def _expand_dims(a: Any, axis: Any) -> Any:
    shape = shape_of(a)
    ndim = len(shape) + (len(axis) if isinstance(axis, tuple | list) else 1)
    axes = normalize_axes(axis, ndim)
    sizes = iter(shape)
    return np.reshape(a, tuple(1 if place in axes else next(sizes) for place in range(ndim)))


@composite(np.squeeze)
def _squeeze(a: Any, axis: Any = None) -> Any:
    shape = shape_of(a)
    axes = [i for i, size in enumerate(shape) if size == 1] if axis is None else normalize_axes(axis, len(shape))
    if any(shape[i] != 1 for i in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return np.reshape(a, tuple(size for i, size in enumerate(shape) if i not in axes))


@composite(np.swapaxes)
def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(len(shape_of(a))))
    first, second = normalize_axis(axis1, len(order)), normalize_axis(axis2, len(order))
    order[first], order[second] = order[second], order[first]
    return np.transpose(a, order)


@composite(np.moveaxis)
def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    ndim = len(shape_of(a))
    sources, destinations = normalize_axes(source, ndim, "source"), normalize_axes(destination, ndim, "destination")
    if len(sources) != len(destinations):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(ndim) if axis not in sources]
    for target, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(target, axis)
    return np.transpose(a, order)


@composite(np.matrix_transpose)
def _matrix_transpose(x: Any, /) -> Any:
    return np.swapaxes(x, -1, -2)


@composite(np.atleast_1d)
def _atleast_1d(*arrays: Any) -> Any:
    raised = tuple(np.reshape(a, shape_of(a) or (1,)) for a in arrays)
    return raised[0] if len(raised) == 1 else raised


@composite(np.atleast_2d)
def _atleast_2d(*arrays: Any) -> Any:
    raised = tuple(np.reshape(a, (1,) * (2 - len(shape_of(a))) + shape_of(a)) for a in arrays)
    return raised[0] if len(raised) == 1 else raised


@composite(np.atleast_3d)
def _atleast_3d(*arrays: Any) -> Any:
    def raise_one(a: Any) -> Any:
        shape = shape_of(a)
        return np.reshape(a, {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}.get(len(shape), shape))

    raised = tuple(raise_one(a) for a in arrays)
    return raised[0] if len(raised) == 1 else raised


@composite(np.copy)
def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return np.positive(a)


@composite(np.full_like)
def _full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    filled = np.broadcast_to(fill_value, shape_of(a))
    return astype(filled, dtype_of(a) if dtype is None else dtype)


# Parts of complex numbers. A cotangent is that of Re(sum(y_bar * y_dot)), and nothing is conjugated but by `conjugate`.


@structured(np.conjugate, linear=True)
def _conjugate(x: Any) -> Any:
    return linear(x, np.conjugate, np.conjugate)


@dispatched
def real_part(z: Any) -> Any:
    """`np.real` of complex numbers."""
    return np.real(z)


@structured(real_part, linear=True)
def _real_part(z: Any) -> Any:
    return linear(z, real_part, lambda y_bar: y_bar)


@dispatched
def imaginary_part(z: Any) -> Any:
    """`np.imag` of complex numbers."""
    return np.imag(z)


@structured(imaginary_part, linear=True)
def _imaginary_part(z: Any) -> Any:
    return linear(z, imaginary_part, lambda y_bar: -1j * y_bar)


@dispatched
def constant_of(x: Any, function: Callable[[Any], Any]) -> Any:
    """`function(x)`, as a constant: for a function that is one of real numbers only."""
    return function(x)


CONSTANT.add(constant_of)


@composite(np.real)
def _real(val: Any) -> Any:
    return real_part(val) if is_complex(val) else val


@composite(np.imag)
def _imag(val: Any) -> Any:
    return imaginary_part(val) if is_complex(val) else constant_of(val, np.imag)


@composite(np.angle)
def _angle(z: Any, deg: bool = False) -> Any:
    if not is_complex(z):
        return constant_of(z, lambda z: np.angle(z, deg))
    angle = np.arctan2(np.imag(z), np.real(z))
    return np.degrees(angle) if deg else angle


@composite(np.real_if_close)
def _real_if_close(a: Any, tol: float = 100) -> Any:
    if not is_complex(a):
        return a
    limit = tol * np.finfo(dtype_of(a)).eps if tol > 1 else tol
    return np.real(a) if np.all(np.absolute(np.imag(a)) < limit) else a


# Repetition and order


@composite(np.broadcast_arrays)
def _broadcast_arrays(*args: Any) -> Any:
    shape = np.broadcast_shapes(*(shape_of(a) for a in args))
    return tuple(np.broadcast_to(a, shape) for a in args)


@composite(np.repeat)
def _repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = normalize_axis(axis, len(shape_of(a)))
    positions = np.repeat(np.arange(shape_of(a)[axis]), repeats)
    return a[(slice(None),) * axis + (positions,)]


@composite(np.tile)
def _tile(A: Any, reps: Any) -> Any:  # noqa: N803 (NumPy's name)
    counts = tuple(reps) if np.ndim(reps) else (int(reps),)
    shape = (1,) * (len(counts) - len(shape_of(A))) + shape_of(A)
    counts = (1,) * (len(shape) - len(counts)) + counts
    pairs = list(zip(counts, shape, strict=True))
    interleaved = np.reshape(A, [n for _, size in pairs for n in (1, size)])
    copies = np.broadcast_to(interleaved, [n for count, size in pairs for n in (count, size)])
    return np.reshape(copies, [count * size for count, size in pairs])


@composite(np.flip)
def _flip(m: Any, axis: Any = None) -> Any:
    ndim = len(shape_of(m))
    axes = range(ndim) if axis is None else normalize_axes(axis, ndim)
    return m[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(ndim))]


@composite(np.fliplr)
def _fliplr(m: Any) -> Any:
    return np.flip(m, 1)


@composite(np.flipud)
def _flipud(m: Any) -> Any:
    return np.flip(m, 0)


@structured(np.roll, linear=True)
def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    back = tuple(-s for s in shift) if isinstance(shift, tuple | list) else -shift
    return linear(a, lambda a: np.roll(a, shift, axis), lambda y_bar: np.roll(y_bar, back, axis))


# Joining and splitting


@composite(np.concatenate)
def _concatenate(arrays: Any, axis: int | None = 0) -> Any:
    if not hasattr(arrays, "__len__"):
        raise TypeError("The first input argument needs to be a sequence")
    arrays = list(arrays)  # of an array, its rows
    return join([np.ravel(a) for a in arrays], 0) if axis is None else join(arrays, axis)


@dispatched
def join(arrays: list[Any], axis: int) -> Any:
    """`np.concatenate` of a list."""
    return np.concatenate(arrays, axis=axis)


@structured(join, linear=True)
def _join(arrays: list[Any], axis: int) -> Any:
    y = join(arrays, axis)
    place = normalize_axis(axis, len(shape_of(y)))
    edges = [0, *itertools.accumulate(shape_of(a)[place] for a in arrays)]
    shape, dtype = shape_of(y), dtype_of(y)

    def part(start: int, stop: int) -> LinearMap:
        index = (slice(None),) * place + (slice(start, stop),)
        return LinearMap(lambda x_dot: _placed(x_dot, shape, dtype, index), lambda y_bar: y_bar[index])

    return y, ([part(start, stop) for start, stop in itertools.pairwise(edges)],)


def _placed(x_dot: Any, shape: tuple[int, ...], dtype: Any, index: tuple[slice, ...]) -> Any:
    """`x_dot` in its place among zeros."""
    before, after = list(shape), list(shape)
    axis = len(index) - 1
    before[axis], after[axis] = index[axis].start, shape[axis] - index[axis].stop
    return np.concatenate([np.zeros(before, dtype), x_dot, np.zeros(after, dtype)], axis=axis)


@composite(np.stack)
def _stack(arrays: Any, axis: int = 0) -> Any:
    arrays = list(arrays)
    if len({shape_of(a) for a in arrays}) > 1:
        raise ValueError("all input arrays must have the same shape")
    return np.concatenate([np.expand_dims(a, axis) for a in arrays], axis=axis)


@composite(np.vstack)
def _vstack(tup: Any) -> Any:
    return np.concatenate([np.atleast_2d(a) for a in tup], axis=0)


@composite(np.hstack)
def _hstack(tup: Any) -> Any:
    arrays = [np.atleast_1d(a) for a in tup]
    return np.concatenate(arrays, axis=0 if len(shape_of(arrays[0])) == 1 else 1)


@composite(np.dstack)
def _dstack(tup: Any) -> Any:
    return np.concatenate([np.atleast_3d(a) for a in tup], axis=2)


@composite(np.column_stack)
def _column_stack(tup: Any) -> Any:
    columns = [a if len(shape_of(a)) > 1 else np.reshape(a, (-1, 1)) for a in tup]
    return np.concatenate(columns, axis=1)


@composite(np.append)
def _append(arr: Any, values: Any, axis: int | None = None) -> Any:
    return np.concatenate([arr, values], axis=axis)


@composite(np.array_split)
def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    axis = normalize_axis(axis, len(shape_of(ary)))
    # Only where the cuts fall is NumPy's business here, and it does not depend on the elements.
    pieces = np.array_split(np.arange(shape_of(ary)[axis]), indices_or_sections)
    before = (slice(None),) * axis
    return [ary[(*before, slice(int(p[0]), int(p[-1]) + 1) if len(p) else slice(0, 0))] for p in pieces]


@composite(np.split)
def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    size = shape_of(ary)[axis]
    if np.ndim(indices_or_sections) == 0 and size % int(indices_or_sections):
        raise ValueError("array split does not result in an equal division")
    return list(_array_split(ary, indices_or_sections, axis))


@composite(np.hsplit)
def _hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    _require_dimensions("hsplit", ary, 1)
    return list(_split(ary, indices_or_sections, 0 if len(shape_of(ary)) == 1 else 1))


@composite(np.vsplit)
def _vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    _require_dimensions("vsplit", ary, 2)
    return list(_split(ary, indices_or_sections, 0))


@composite(np.dsplit)
def _dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    _require_dimensions("dsplit", ary, 3)
    return list(_split(ary, indices_or_sections, 2))


def _require_dimensions(name: str, ary: Any, least: int) -> None:
    if len(shape_of(ary)) < least:
        raise ValueError(f"{name} only works on arrays of {least} or more dimensions")


# Parts chosen by position


@composite(np.diagonal)
def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    a = np.moveaxis(a, (axis1, axis2), (-2, -1))
    rows, columns = shape_of(a)[-2:]
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    steps = np.arange(length)
    return a[..., steps - min(offset, 0), steps + max(offset, 0)]


@structured(np.diagflat, linear=True)
def _diagflat(v: Any, k: int = 0) -> Any:
    original = shape_of(v)
    return linear(v, lambda v: np.diagflat(v, k), lambda y_bar: np.reshape(np.diagonal(y_bar, k), original))


@composite(np.diag)
def _diag(v: Any, k: int = 0) -> Any:
    ndim = len(shape_of(v))
    if ndim not in (1, 2):
        raise ValueError("Input must be 1- or 2-d.")
    return np.diagflat(v, k) if ndim == 1 else np.diagonal(v, k)


@composite(np.tril)
def _tril(m: Any, k: int = 0) -> Any:
    return np.where(_lower(m, k), m, 0.0)


@composite(np.triu)
def _triu(m: Any, k: int = 0) -> Any:
    return np.where(_lower(m, k - 1), 0.0, m)


def _lower(m: Any, k: int) -> Any:
    """The mask of what is on or below the diagonal `k`; a vector counts as many rows, as NumPy has it."""
    shape = shape_of(m)[-2:]
    return np.tri(shape[0], shape[-1], k=k, dtype=bool)


# Parts chosen by value


@structured(np.where, "x", "y", kept=("condition",), linear=True)
def _where(condition: Any, x: Any, y: Any) -> Any:
    shape_x, shape_y = shape_of(x), shape_of(y)
    return np.where(condition, x, y), (
        LinearMap(
            lambda x_dot: np.where(condition, x_dot, np.zeros(shape_y, dtype_of(x_dot))),
            lambda z_bar: unbroadcast(np.where(condition, z_bar, 0.0), shape_x),
        ),
        LinearMap(
            lambda y_dot: np.where(condition, np.zeros(shape_x, dtype_of(y_dot)), y_dot),
            lambda z_bar: unbroadcast(np.where(condition, 0.0, z_bar), shape_y),
        ),
    )


@composite(np.clip)
def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    require_order(np.clip, a)
    lowest = a_min if min is None else min
    highest = a_max if max is None else max
    clipped = np.positive(a) if lowest is None else np.maximum(a, lowest)
    return clipped if highest is None else np.minimum(clipped, highest)
