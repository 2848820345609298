"""Arrays to be written to, and NumPy's functions that write to them.

`numpy.zeros_like(x)` of a number is a number of the same derivatives, and so are its kin. `zeros` needs no number: its
array belongs to all derivatives that are being computed around the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.numbers.dispatch import ON_ARRAYS, has_array, name_of
from shiftreset_ad.numbers.number import Number, innermost, levels_of, plain_value
from shiftreset_ad.numbers.refusals import refusal_to_fill
from shiftreset_ad.numbers.remedies import taking_numbers
from shiftreset_ad.numbers.tags import visible_tags
from shiftreset_ad.numbers.writing import shares_memory, write_as_asked
from shiftreset_ad.rules import COMPOSITE
from shiftreset_ad.rules.annotations import Array
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.layouts import in_order_like, lies_in
from shiftreset_ad.rules.stand_ins import recorder


def zeros(shape: int | tuple[int, ...], dtype: Any = float) -> Array:
    """An array of zeros, to which numbers of all derivatives that are being computed here can be written.

    Outside of derivatives, and for a dtype without derivatives, it is `numpy.zeros`.

    >>> from shiftreset_ad import grad
    >>> def f(x):
    ...     powers = zeros(3)
    ...     for i in range(3):
    ...         powers[i] = x**i
    ...     return np.sum(powers)
    >>> grad(f)(2.0)
    5.0
    """
    array: Array = np.zeros(shape, dtype)
    if array.dtype.kind in "fc":
        if recorder.adopt is not None:
            array = recorder.adopt(array)
        for tag in visible_tags():
            array = tag.lift(array)
    return array


def on_arrays(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated function as the definition of `function`."""

    def enter(definition: Callable[..., Any]) -> Callable[..., Any]:
        ON_ARRAYS[function] = definition
        return definition

    return enter


# Arrays like another


def _as_number(array: Any, like: Any) -> Any:
    """An array as a number of all derivatives of `like`, and of the derivatives around them."""
    if not isinstance(like, Number) or array.dtype.kind not in "fc":
        return array
    levels = {number.tag: number for number in levels_of(like)}
    around = [tag for tag in visible_tags() if tag.serial < like.tag.serial]
    for tag in sorted({*levels, *around}, key=lambda tag: tag.serial):
        array = levels[tag].lifted(array) if tag in levels else tag.lift(array)
    return array


def _array_like(a: Any) -> Any:
    """A plain array with the shape, dtype and layout of `a`."""
    plain = innermost(a)
    if shape_of(plain) == shape_of(a):
        return plain
    return np.broadcast_to(np.zeros((), dtype_of(a)), shape_of(a))  # `a` holds many directions at once


@on_arrays(np.zeros_like)
def _zeros_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
    return _as_number(np.zeros_like(_array_like(a), dtype, order, subok, shape), a)


@on_arrays(np.ones_like)
def _ones_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
    return _as_number(np.ones_like(_array_like(a), dtype, order, subok, shape), a)


@on_arrays(np.empty_like)
def _empty_like(prototype: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
    return _as_number(np.empty_like(_array_like(prototype), dtype, order, subok, shape), prototype)


@on_arrays(np.full_like)
def _full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None
) -> Any:
    if not isinstance(fill_value, Number):
        return _as_number(np.full_like(_array_like(a), fill_value, dtype, order, subok, shape), a)
    filled = COMPOSITE[np.full_like](a, fill_value, dtype, order, subok, shape)
    return in_order_like(filled, np.empty_like(_array_like(a), dtype, order, subok, shape))


# Functions that write to their first argument


def writes(function: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Enter the decorated function as the definition of `function`, which writes to its first argument."""

    def enter(definition: Callable[..., None]) -> Callable[..., None]:
        def checked(array: Any, *args: Any, **kwargs: Any) -> None:
            if not isinstance(array, Number):
                raise refusal_to_fill() or TypeError(
                    f"{name_of(function)}: a number that is being differentiated does not fit in a plain array. Make "
                    f"the array by shiftreset_ad.zeros(shape) or numpy.zeros_like(x), or {taking_numbers('y')}"
                )
            definition(array, *args, **kwargs)

        checked.__wrapped__ = definition  # type: ignore[attr-defined] # for its signature
        on_arrays(function)(checked)
        return definition

    return enter


@writes(np.copyto)
def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not np.can_cast(dtype_of(src), dtype_of(dst), casting):
        raise TypeError(
            f"Cannot cast array data from {dtype_of(src)!r} to {dtype_of(dst)!r} according to the rule {casting!r}"
        )
    mask = ... if where is True else np.broadcast_to(np.asarray(where, bool), shape_of(dst))
    write_as_asked(dst, mask, src if mask is ... else np.broadcast_to(src, shape_of(dst))[mask], "numpy.copyto(x, v)")


@on_arrays(np.nan_to_num)
def _nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    y = COMPOSITE[np.nan_to_num](x, nan=nan, posinf=posinf, neginf=neginf)
    if copy or not has_array(x):
        return y
    write_as_asked(x, ..., y, "numpy.nan_to_num(x, copy=False)")
    return x if shape_of(x) else x[()]


@writes(np.put)
def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """`numpy.put` counts positions in the flat array. A position that is named twice keeps the last value."""
    positions = np.ravel(plain_value(ind)).astype(np.intp)
    if mode == "clip":
        positions = np.clip(positions, 0, a.size - 1)
    elif mode == "wrap":
        positions = positions % a.size
    if len(positions):
        array = a if a.shape else np.reshape(a, 1)
        index = np.unravel_index(_in_range(positions, a.size), array.shape)
        write_as_asked(array, index, _cycled(v, len(positions)), "numpy.put(x, i, v)")


def _in_range(positions: Any, size: int) -> Any:
    np.empty(size)[positions]  # raises NumPy's error for an index out of bounds
    return positions % size


def _cycled(values: Any, count: int) -> Any:
    """`count` of the values. After the last value comes the first value again."""
    flat = np.ravel(values)
    return flat[np.arange(count) % flat.size]


@writes(np.place)
def _place(arr: Any, mask: Any, vals: Any) -> None:
    if shares_memory(vals, arr) and lies_in(vals, "C"):  # NumPy copies other values
        raise ValueError(
            "numpy.place: the values have memory in common with the array, and NumPy writes to the array before it has "
            "read all values. Give it a copy of the values, numpy.place(x, mask, v.copy())"
        )
    chosen = np.reshape(np.asarray(mask, bool), shape_of(arr))
    count = int(np.count_nonzero(chosen))
    if count and not np.size(vals):
        raise ValueError("Cannot insert from an empty array!")
    if count:
        write_as_asked(arr, chosen, _cycled(vals, count), "numpy.place(x, mask, v)")


@writes(np.putmask)
def _putmask(a: Any, mask: Any, values: Any) -> None:
    chosen = np.reshape(np.asarray(mask, bool), shape_of(a))
    spread = np.reshape(_cycled(values, a.size), shape_of(a)) if np.size(values) else a
    write_as_asked(a, chosen, spread[chosen], "numpy.putmask(x, mask, v)")


@writes(np.fill_diagonal)
def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    plain = np.zeros(shape_of(a), bool)
    np.fill_diagonal(plain, True, wrap)
    place = np.nonzero(plain)
    write_as_asked(a, place, _cycled(val, len(place[0])), "numpy.fill_diagonal(x, v)")


@writes(np.put_along_axis)
def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    places = np.arange(arr.size).reshape(arr.shape)
    if axis is None:
        places, axis = places.ravel(), 0
    flat = np.take_along_axis(places, indices, axis)
    index = np.unravel_index(flat, arr.shape)
    write_as_asked(arr, index, np.broadcast_to(values, flat.shape), "numpy.put_along_axis(x, i, v)")
