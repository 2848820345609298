"""Writing in place, as the program asks for it: `x[i] = v`, `x += v`, `out=x`, `numpy.add.at`.

A write goes into the memory of the array, so every name and every view of the array sees the new value, as in NumPy. It
is an error to write to an array that is not the program's own, or to an array of an outer derivative while an inner
derivative runs, which still needs the old values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy import ndarray

from shiftreset_ad.array_api import Wrapped
from shiftreset_ad.numbers.dispatch import name_of
from shiftreset_ad.numbers.memory import block_of
from shiftreset_ad.numbers.number import Number, has_number, in_memory, innermost, is_view, levels_of, plain_value
from shiftreset_ad.numbers.remedies import taking_numbers
from shiftreset_ad.numbers.tags import innermost_in_need
from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.rules.building import array, gathered
from shiftreset_ad.rules.indexing import frozen_index, has_repeats, names_each_position_once, scatter, without_repeats
from shiftreset_ad.rules.numpy.reductions import mask_of

MANY = 100  # mentions of one position; above it, the sum is taken at once, and not in NumPy's order


def set_item(x: Number, index: Any, item: Any) -> None:
    """x[index] = item."""
    if isinstance(index, Number):
        operator.index(cast(Any, index))  # raises for an index that is no integer
    write_as_asked(x, index, item, "x[i] = v")


def fill(x: Number, v: Any) -> None:
    """`x.fill(v)` of an array: every element is `v`."""
    write_as_asked(x, ..., v, "x.fill(v)")


def sort(x: Any, axis: int = -1, kind: Any = None, *, stable: bool | None = None) -> None:
    """`x.sort()` of an array: as `numpy.sort(x)`, in place."""
    write_as_asked(x, ..., np.sort(x, axis, kind, stable=stable), "x.sort()")


def partition(x: Any, kth: Any, axis: int = -1, kind: Any = "introselect") -> None:
    """`x.partition(kth)` of an array: as `numpy.partition(x, kth)`, in place."""
    write_as_asked(x, ..., np.partition(x, kth, axis, kind), "x.partition(kth)")


def in_place(operate: Callable[[Any, Any], Any], symbol: str) -> Callable[[Any, Any], Any]:
    """The method for `x symbol= v`, where `operate(x, v)` computes `x symbol v`."""

    def method(x: Number, v: Any) -> Any:
        if type(x.inside) is float or not isinstance(in_memory(x), ndarray):
            _require_of_numpy(x, f"x {symbol}= v")
            return operate(x, v)  # a scalar: the name gets another object, as in Python
        _require_older(v, x, f"x {symbol}= v")
        y = operate(x, v)
        if y is NotImplemented:
            return y
        if shape_of(y) != shape_of(x):
            raise ValueError(
                f"x {symbol}= v: non-broadcastable output operand with shape {shape_of(x)} "
                f"doesn't match the broadcast shape {shape_of(y)}"
            )
        write_as_asked(x, ..., y, f"x {symbol}= v")
        return x

    return method


def function_into(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function with `out=`, and write its answer there."""
    options = dict(kwargs)
    out = options.pop("out")
    if function in WRITES_BEFORE_IT_HAS_READ:
        elements = args[0] if isinstance(args[0], list | tuple) else ()
        if any(shares_memory(x, out) for x in (*args, *elements)):
            raise ValueError(
                f"{name_of(function)}: out= has memory in common with an argument, and NumPy's function writes to out= "
                "before it has read the argument. Write the result by x[...] = f(y)"
            )
    return _into(name_of(function), out, function(*args, **options))


WRITES_BEFORE_IT_HAS_READ = {np.concatenate, np.stack, np.einsum}


def shares_memory(x: Any, out: Any) -> bool:
    """Whether two arrays, or numbers that have one, may have elements in common."""
    x, out = in_memory(x), in_memory(out)
    return isinstance(x, ndarray) and isinstance(out, ndarray) and np.may_share_memory(x, out)


def ufunc_into(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a ufunc with `out=`. With `where=`, only the chosen elements are computed."""
    options = dict(kwargs)
    out, where = options.pop("out"), options.pop("where", True) if method == "__call__" else True
    name = name_of(ufunc) if method == "__call__" else f"{name_of(ufunc)}.{method}"
    if ufunc.nout > 1 and method == "__call__":
        answers = getattr(ufunc, method)(*inputs, **options)
        return tuple(y if x is None else _into(name, x, y, where) for x, y in zip(out, answers, strict=True))
    (out,) = out
    if where is True:
        return _into(name, out, getattr(ufunc, method)(*inputs, **options))
    mask = np.broadcast_to(mask_of(where), shape_of(out))
    chosen = [np.broadcast_to(x, shape_of(out))[mask] for x in inputs]
    _write_into(name, out, mask, ufunc(*chosen, **options))
    return out


def _into(name: str, out: Any, y: Any, where: Any = True) -> Any:
    if shape_of(np.broadcast_to(y, shape_of(out))) != shape_of(out):
        raise ValueError(f"{name}: out= has shape {shape_of(out)}, and the result has shape {shape_of(y)}")
    mask = ... if where is True else np.broadcast_to(mask_of(where), shape_of(out))
    _write_into(name, out, mask, y if where is True else np.broadcast_to(y, shape_of(out))[mask])
    return out


def _write_into(name: str, out: Any, place: Any, y: Any) -> None:
    if isinstance(out, Number):
        write_as_asked(out, place, y, f"{name}(..., out=x)")
    elif has_number(y):
        raise TypeError(
            f"{name}: the result has numbers that are being differentiated, and the array to write it to (by out=, or "
            f"by an operator such as +=) is a plain array{_integers(out)}, which cannot hold them. Make a new array: "
            f"y = f(x) for f(x, out=y), y = y + x for y += x; or make the array by numpy.zeros_like(x), "
            f"or {taking_numbers('y')}"
        )
    else:
        out[place] = y


def _integers(array: ndarray) -> str:
    return " of integers" if array.dtype.kind in "iub" else ""


def at(ufunc: np.ufunc, x: Any, index: Any, *operand: Any) -> None:
    """`ufunc.at(x, index, operand)`: a position that is named twice is changed twice."""
    name = f"{name_of(ufunc)}.at"
    if not isinstance(cast(object, x), Number):
        raise TypeError(
            f"{name}: the operand has numbers that are being differentiated, and the array is a plain array, which "
            "cannot hold them. Make the array by shiftreset_ad.zeros(shape) or numpy.zeros_like(x), or "
            f"{taking_numbers('y')}"
        )
    statement = f"{name}(x, i, v)"
    if names_each_position_once(index):
        write_as_asked(x, index, ufunc(x[index], *operand), statement)
        return
    index, places = without_repeats(index, shape_of(x))
    rounds = _rounds(places)
    unchanged = [np.copy(v) if shares_memory(v, x) else v for v in operand]
    spread = [np.broadcast_to(v, places.shape + shape_of(x)[len(index) :]) for v in unchanged]
    if len(rounds) > MANY and ufunc in (np.add, np.subtract):
        part, (v,) = x[index], spread
        total = scatter([v], [places], shape_of(part), np.result_type(dtype_of(v), dtype_of(x)))
        write_as_asked(x, index, ufunc(part, total), statement)
        return
    for chosen in rounds:
        place = tuple(axis[places[chosen]] for axis in index)
        write_as_asked(x, place, ufunc(x[place], *(v[chosen] for v in spread)), statement)


def _rounds(places: Any) -> list[tuple[Any, ...]]:
    """The indices of the first mention of each place, of the second mention, and so on."""
    order = np.argsort(places, axis=None, kind="stable")
    in_order = places.ravel()[order]
    first = np.searchsorted(in_order, in_order)
    mention = np.arange(places.size) - first
    return [np.unravel_index(order[mention == k], places.shape) for k in range(int(mention.max(initial=-1)) + 1)]


def write_as_asked(x: Any, index: Any, item: Any, statement: str) -> None:
    """x[index] = item, for this `statement` of the program; TypeError where NumPy's meaning cannot be kept."""
    if isinstance(item, Number):
        if item.tag is x.tag and _is_part(item, x, index):
            return  # x[i] = x[i], the last step of x[i] += v
    elif type(item) is not float:
        item = _as_item(item)
    _require_writable(x, item, statement)
    if not names_each_position_once(index := frozen_index(index)) and (
        type(innermost(x)) is not ndarray or has_repeats(index, shape_of(x))
    ):
        index, places = without_repeats(index, shape_of(x))
        item = _last(item, places, shape_of(x[index]))
    surplus = len(shape_of(item)) - len(shape_of(x)) if isinstance(item, Number) else 0
    if surplus > 0 and shape_of(item)[:surplus] == (1,) * surplus:
        item = np.reshape(item, shape_of(item)[surplus:])
    x.write(index, item)


def _as_item(item: Any) -> Any:
    """`item` as a number or a plain array. A list of numbers, or an array of objects, becomes one number."""
    return array(item) if isinstance(item, list | tuple) else gathered(item)


def _last(item: Any, places: Any, shape: tuple[int, ...]) -> Any:
    """What is written last to each position, where positions are named more than once."""
    spread = np.broadcast_to(item, places.shape + shape[1:])
    last = np.zeros(shape[0], np.intp)
    last[places.ravel()] = np.arange(places.size)
    return spread[np.unravel_index(last, places.shape)]


def _require_writable(x: Number, item: Any, statement: str) -> None:
    array = in_memory(x)
    if not isinstance(array, ndarray):
        _require_of_numpy(x, statement)
        raise TypeError(f"{statement}: x is a scalar, {plain_value(x)!r:.40}, and cannot be written to")
    x.tag.require_open()
    running = innermost_in_need()
    if running is not None and running.serial > x.tag.serial:
        raise TypeError(
            f"{statement}: x belongs to an outer derivative, and the inner derivative, which is running, still needs "
            "its old value. Make the array inside the inner function, by shiftreset_ad.zeros(shape) or "
            "numpy.zeros_like of its argument, or make a new array with numpy.where or numpy.concatenate"
        )
    if not array.flags.writeable:
        raise ValueError(f"{statement}: assignment destination is read-only")
    _require_own_memory(x, statement)
    if type(item) is float:
        return
    _require_older(item, x, statement)
    if not isinstance(item, (Number, Wrapped, ndarray, np.generic, int, float, complex)):
        instead = "; write its array, numpy.asarray(v)" if hasattr(item, "__array__") else ""
        raise TypeError(f"{statement}: a {type(item).__name__} cannot be written to an array of numbers{instead}")
    if is_complex(item) and not is_complex(x):
        raise TypeError(
            f"{statement}: v is complex, and x is an array of real numbers. Write its real part, numpy.real(v)"
        )


def _require_of_numpy(x: Number, statement: str) -> None:
    """Raise TypeError if `x` holds an array of another library."""
    array = innermost(x)
    if isinstance(array, Wrapped) and array.inside is None and shape_of(x):
        array.refuse_writing(statement)


def _require_own_memory(x: Number, statement: str) -> None:
    """Raise TypeError if some level of `x` has a protected array, or is a view that cannot be written to."""
    place = id(block_of(x))
    for number in levels_of(x):
        if place in number.tag.protected:
            _, reason = number.tag.protected[place]
            raise TypeError(
                f"{statement}: the memory of x {reason}, so the function may not write to it. Write to a copy, "
                "y = x.copy()"
            )
        if not number.is_selected():
            raise TypeError(
                f"{statement}: x is a view that cannot be written to: a view of the imaginary part, numpy.imag(z), or "
                "a view that repeats elements. Write to the array itself, z[i] = a + 1j * b"
            )


def _require_older(item: Any, x: Number, statement: str) -> None:
    if isinstance(item, Number) and item.tag.serial > x.tag.serial:
        raise TypeError(
            f"{statement}: x belongs to an outer derivative, and v to an inner derivative. Make the array inside the "
            "inner function, by shiftreset_ad.zeros(shape) or numpy.zeros_like(v)"
        )


def _is_part(item: Number, x: Number, index: Any) -> bool:
    """Whether `item` is the view x[index] itself."""
    inner, whole = in_memory(item), in_memory(x)
    if not is_view(inner, whole) or shape_of(whole) != shape_of(x) or not names_each_position_once(index):
        return False
    x.tag.require_open()
    part = whole[index]
    return (
        type(part) is ndarray
        and part.dtype == inner.dtype  # the real part of a complex array begins where that does
        and part.strides == inner.strides
        and part.shape == inner.shape
        and part.__array_interface__["data"] == inner.__array_interface__["data"]
    )
