"""NumPy's functions for shapes, precisions, parts of complex numbers and new arrays, by the standard's functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.array_api.indexing import taken
from shiftreset_ad.array_api.promotion import common_dtype, in_dtype, together
from shiftreset_ad.array_api.standard import entered
from shiftreset_ad.rules.building import assemble
from shiftreset_ad.rules.numpy.reductions import reduced_axes
from shiftreset_ad.rules.numpy.shapes import astype, constant_of, imaginary_part, normalize_axes, real_part
from shiftreset_ad.rules.table import functions_of

# Shapes and precisions


@entered(np.reshape)
def _reshape(a: Any, shape: Any, order: Any = "C") -> Any:
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    sizes = tuple(map(operator.index, sizes))
    if order == "C":
        return a.apply("reshape", sizes)
    return np.transpose(np.reshape(np.transpose(a), sizes[::-1]))  # the elements in the order "F"


@entered(np.transpose)
def _transpose(a: Any, axes: Any = None) -> Any:
    order = range(a.ndim)[::-1] if axes is None else normalize_axes(axes, a.ndim)
    return a.apply("permute_dims", tuple(order))


@entered(np.broadcast_to)
def _broadcast_to(array: Any, shape: Any) -> Any:
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    return array.apply("broadcast_to", tuple(map(operator.index, sizes)))


@entered(np.ravel)
def _ravel(a: Any, order: Any = "C") -> Any:
    return np.reshape(a, (-1,), order=order)


@entered(np.rot90)
def _rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    first, second = normalize_axes(axes, m.ndim)
    if k % 4 == 2:
        return np.flip(m, (first, second))
    if k % 4 == 1:
        m = np.flip(m, second)
    elif k % 4 == 3:
        m = np.flip(m, first)
    return np.swapaxes(m, first, second) if k % 2 else m


@entered(np.diagonal)
def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    moved: Any = np.moveaxis(a, (axis1, axis2), (-2, -1))
    rows, columns = moved.shape[-2:]
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    steps = np.arange(length)
    places = (steps - min(offset, 0)) * columns + steps + max(offset, 0)
    return taken(moved.reshape(*moved.shape[:-2], rows * columns), places, moved.ndim - 2)


@entered(np.roll)
def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if isinstance(axis, tuple | list) and not isinstance(shift, tuple | list):
        shift = (shift,) * len(axis)
    return a.apply("roll", _as_tuple(shift), axis=_as_tuple(axis))


def _as_tuple(x: Any) -> Any:
    return tuple(x) if isinstance(x, list) else x


@entered(np.flip)
def _flip(m: Any, axis: Any = None) -> Any:
    return m.apply("flip", axis=axis if axis is None else normalize_axes(axis, m.ndim))


@entered(np.concatenate)
def _concatenate(arrays: Any, axis: int | None = 0, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return _joined("concat", arrays, axis, dtype, casting)


@entered(np.stack)
def _stack(arrays: Any, axis: int = 0, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return _joined("stack", arrays, axis, dtype, casting)


def _joined(name: str, arrays: Any, axis: int | None, dtype: Any, casting: Any) -> Any:
    parts = together(*arrays)
    if dtype is not None:
        given, dtype = parts[0].dtype, np.dtype(dtype)
        if not np.can_cast(given, dtype, casting):
            raise TypeError(f"Cannot cast array data from {given!r} to {dtype!r} according to the rule {casting!r}")
        parts = [x.astype(dtype) for x in parts]
    return parts[0].like(getattr(parts[0].xp, name)([x.array for x in parts], axis=axis))


@entered(astype, *functions_of("astype"))
def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return x.astype(np.dtype(dtype))


@entered(assemble)
def _assemble(scalars: list[Any]) -> Any:
    return np.stack(together(*scalars))


@entered(np.copy)
def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return a


@entered(np.shape)
def _shape(a: Any) -> Any:
    return a.shape


@entered(np.ndim)
def _ndim(a: Any) -> Any:
    return a.ndim


@entered(np.size)
def _size(a: Any, axis: Any = None) -> int:
    return math.prod(a.shape[i] for i in reduced_axes(axis, a.shape))


@entered(np.result_type)
def _result_type(*operands: Any) -> Any:
    return common_dtype(tuple(np.empty(0, x) if isinstance(x, np.dtype | type) else x for x in operands))


@entered(np.can_cast)
def _can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(from_.dtype, to, casting)


@entered(np.iscomplexobj)
def _iscomplexobj(x: Any) -> Any:
    return x.dtype.kind == "c"


@entered(np.isrealobj)
def _isrealobj(x: Any) -> Any:
    return x.dtype.kind != "c"


@entered(np.iscomplex)
def _iscomplex(x: Any) -> Any:
    return np.not_equal(np.imag(x), 0)


@entered(np.isreal)
def _isreal(x: Any) -> Any:
    return np.equal(np.imag(x), 0)


@entered(np.array_repr, np.array_str, np.array2string)
def _text(a: Any, *args: Any, **kwargs: Any) -> str:
    return repr(a.array)


# New arrays


@entered(np.linspace)
def _linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    start, stop = together(start, stop, floating=True)
    count = operator.index(num)
    step = (stop - start) / max(count - bool(endpoint), 1)
    places = np.reshape(np.arange(count), (count,) + (1,) * step.ndim)
    y = start + step * places
    if endpoint and count > 1:
        y = np.where(places == count - 1, stop, y)
    y = np.moveaxis(y if dtype is None else y.astype(dtype), 0, axis)
    return (y, step) if retstep else y


def _filled(value: Any) -> Callable[..., Any]:
    def like(
        a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
    ) -> Any:
        return np.full_like(a, value, dtype, shape=shape)

    return like


entered(np.zeros_like, np.empty_like)(_filled(0))
entered(np.ones_like)(_filled(1))


@entered(np.full_like)
def _full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    sizes = a.shape if shape is None else tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    (value,) = in_dtype(a.dtype if dtype is None else np.dtype(dtype), fill_value, like=a)
    return value.apply("broadcast_to", sizes)


# Parts of complex numbers


@entered(real_part)
def _real_part(z: Any) -> Any:
    return z.apply("real")


@entered(imaginary_part)
def _imaginary_part(z: Any) -> Any:
    return z.apply("imag")


@entered(constant_of)
def _constant_of(x: Any, function: Callable[..., Any], *args: Any) -> Any:
    return function(x, *args)


@entered(np.imag)
def _imag(val: Any) -> Any:
    return val.apply("imag") if val.dtype.kind == "c" else np.zeros_like(val)


@entered(np.angle)
def _angle(z: Any, deg: bool = False) -> Any:
    angle = np.arctan2(np.imag(z), np.real(z))
    return np.degrees(angle) if deg else angle


@entered(np.round, np.around)
def _round(a: Any, decimals: int = 0) -> Any:
    if decimals == 0 or a.dtype.kind in "biu":
        return np.rint(a)
    scale = 10.0 ** abs(decimals)
    return np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale
