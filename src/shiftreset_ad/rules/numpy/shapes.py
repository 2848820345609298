"""The same elements in another shape or order: views of the array, wherever NumPy gives a view.

The tangent must become a view, too, of the same elements, as the program may write to both. So the linear map is the
function itself, and not another function that gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import float64, ndarray

from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.broadcasting import reshaped, shape_of, transposed, unbroadcast
from shiftreset_ad.rules.conversion import astype, constant_of, imaginary_part, in_precision, real_part
from shiftreset_ad.rules.layouts import array_of, is_scalar
from shiftreset_ad.rules.table import CONSTANT, composite, dispatched, functions_of, linear, structured

__all__ = [  # also the functions that other modules define
    "astype",
    "constant_of",
    "imaginary_part",
    "in_precision",
    "normalize_axes",
    "normalize_axis",
    "real_part",
]

SMALL = 4096  # up to so many elements, a copy is quicker than a view that repeats them
normalize_axis = np.lib.array_utils.normalize_axis_index
normalize_axes = np.lib.array_utils.normalize_axis_tuple

# They look at types, shapes and dtypes only. So they have an answer for a tangent without a value, too.
OF_THE_SHAPE = functions_of(
    *("shape", "ndim", "size", "result_type", "iscomplexobj", "isrealobj", "common_type", "can_cast")
)
CONSTANT.update(
    OF_THE_SHAPE,
    functions_of(
        *("iscomplex", "isreal", "min_scalar_type"),
        *("tril_indices_from", "triu_indices_from", "diag_indices_from"),
        *("shares_memory", "may_share_memory", "array_repr", "array_str", "array2string"),
    ),
)


def require_order_of_elements(name: str, order: Any) -> None:
    """Raise ValueError unless `order` alone determines in which order the elements are read."""
    if order not in ("C", "F"):
        raise ValueError(
            f"numpy.{name}: order={order!r} depends on how the array lies in memory, which a number that is being "
            "differentiated does not say; give 'C' or 'F'"
        )


@structured(np.reshape, linear=True)
def _reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Any:
    if order != "C":
        require_order_of_elements("reshape", order)
    original = shape_of(a)
    if copy is False:
        np.reshape(a, shape, order=order, copy=False)  # raises NumPy's error if this would be a copy
    function = reshaped if not copy else copied_and_reshaped
    return linear(a, lambda a: function(a, shape, order), lambda y_bar: in_shape(y_bar, original, order), selects=True)


def copied_and_reshaped(a: Any, shape: Any, order: Any) -> Any:
    y = np.reshape(a, shape, order)
    return y if is_scalar(y) else np.copy(y)


@structured(np.ravel, linear=True)
def _ravel(a: Any, order: Any = "C") -> Any:
    """The rule of `ravel`. Unlike `reshape`, `ravel` copies a part of an array, even if a view were possible."""
    require_order_of_elements("ravel", order)
    original = shape_of(a)
    return linear(a, lambda a: np.ravel(a, order), lambda y_bar: in_shape(y_bar, original, order), selects=True)


def in_shape(y_bar: Cotangent, shape: tuple[int, ...], order: Any) -> Any:
    """A cotangent in the shape of the operand; the cotangent of a scalar is a scalar, and no array."""
    return reshaped(y_bar, shape, order) if shape else y_bar[(0,) * len(shape_of(y_bar))]


@composite(np.expand_dims)
def _expand_dims(a: Any, axis: Any) -> Any:
    shape = shape_of(a)
    ndim = len(shape) + (len(axis) if isinstance(axis, tuple | list) else 1)
    axes = normalize_axes(axis, ndim)
    if not ndim and is_scalar(a):
        return np.copy(a)  # which is an array
    sizes = iter(shape)
    return np.reshape(a, tuple(1 if place in axes else next(sizes) for place in range(ndim)))


@composite(np.squeeze)
def _squeeze(a: Any, axis: Any = None) -> Any:
    shape = shape_of(a)
    if axis is None or (not shape and axis in (0, -1)):
        axes = tuple(i for i, size in enumerate(shape) if size == 1)
    else:
        axes = normalize_axes(axis, len(shape))
    if any(shape[i] != 1 for i in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return np.reshape(a, tuple(size for i, size in enumerate(shape) if i not in axes))


@composite(np.atleast_1d)
def _atleast_1d(*arrays: Any) -> Any:
    return _each_raised(arrays, lambda shape: shape or (1,))


@composite(np.atleast_2d)
def _atleast_2d(*arrays: Any) -> Any:
    return _each_raised(arrays, lambda shape: (1,) * (2 - len(shape)) + shape)


@composite(np.atleast_3d)
def _atleast_3d(*arrays: Any) -> Any:
    return _each_raised(arrays, lambda shape: {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}.get(len(shape), shape))


def _each_raised(arrays: tuple[Any, ...], to: Any) -> Any:
    """The arrays in the shape `to(shape)`; an array that has this shape already is returned itself."""
    shapes = [(shape_of(a), to(shape_of(a))) for a in arrays]
    raised = tuple(
        a if old == new and hasattr(a, "shape") else np.reshape(a, new)
        for a, (old, new) in zip(arrays, shapes, strict=True)
    )
    return raised[0] if len(raised) == 1 else raised


# The axes in another order


@structured(np.transpose, linear=True)
def _transpose(a: Any, axes: Any = None) -> Any:
    if axes is None:
        return linear(a, transposed, transposed, selects=True)
    inverse = inverse_of(normalize_axes(axes, len(shape_of(a))))
    return linear(a, lambda a: np.transpose(a, axes), lambda y_bar: np.transpose(y_bar, inverse), selects=True)


def inverse_of(order: Sequence[int]) -> list[int]:
    """The order of axes that undoes this order."""
    return sorted(range(len(order)), key=order.__getitem__)


def _with_axes_swapped(ndim: int, first: int, second: int) -> list[int]:
    order = list(range(ndim))
    order[first], order[second] = order[second], order[first]
    return order


@composite(np.swapaxes)
def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    ndim = len(shape_of(a))
    return np.transpose(a, _with_axes_swapped(ndim, normalize_axis(axis1, ndim), normalize_axis(axis2, ndim)))


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


@composite(np.rollaxis)
def _rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    ndim = len(shape_of(a))
    axis = normalize_axis(axis, ndim)
    place = start + ndim if start < 0 else start
    if not 0 <= place <= ndim:
        raise np.exceptions.AxisError(f"'start' arg requires {-ndim} <= start < {ndim + 1}, but {start} was passed in")
    return np.moveaxis(a, axis, place - 1 if axis < place else place)


@composite(np.matrix_transpose)
def _matrix_transpose(x: Any, /) -> Any:
    return np.swapaxes(x, -1, -2)


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


@structured(np.rot90, linear=True)
def _rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    ndim = len(shape_of(m))
    first, second = normalize_axes(axes, ndim)
    swapped = _with_axes_swapped(ndim, first, second)

    def turned(m: Any, quarters: int) -> Any:
        if quarters == 0:
            return m[...]
        if quarters == 2:
            return np.flip(m, (first, second))
        return np.flip(np.transpose(m, swapped), first if quarters == 1 else second)

    return linear(m, lambda m: turned(m, k % 4), lambda y_bar: turned(y_bar, -k % 4), selects=True)


# Broadcasting


@structured(np.broadcast_to, linear=True)
def _broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    original = shape_of(array)
    return linear(array, lambda a: np.broadcast_to(a, shape), lambda y_bar: unbroadcast(y_bar, original))


def broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    """`np.broadcast_to`, but a copy for a small plain array or scalar."""
    kind = type(x)
    if kind is not float64 and kind is not ndarray:
        return repeated(x, shape)
    if math.prod(shape) > SMALL:
        return np.broadcast_to(x, shape)
    y = np.empty(shape, x.dtype)
    y[...] = x
    return y


@dispatched
def repeated(x: Any, shape: tuple[int, ...]) -> Any:
    """`broadcast`, as a function that numbers have a rule for: it makes no view, and so costs less."""
    if type(x) is float:  # such as a zero for what has no derivative
        x = float64(x)
    return broadcast(x, shape) if isinstance(x, ndarray | float64) else np.broadcast_to(x, shape)


@structured(repeated, linear=True)
def _repeated(x: Any, shape: tuple[int, ...]) -> Any:
    original = shape_of(x)
    return linear(x, lambda x: broadcast(x, shape), lambda y_bar: unbroadcast(y_bar, original))


@composite(np.broadcast_arrays)
def _broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    shape = np.broadcast_shapes(*(shape_of(a) for a in args))
    if all(shape_of(a) == () for a in args):  # of scalars, arrays that can be written to
        return tuple(a if array_of(a) is not None else np.copy(a) for a in args)
    return tuple(a if hasattr(a, "shape") and a.shape == shape else np.broadcast_to(a, shape) for a in args)
