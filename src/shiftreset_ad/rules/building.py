"""Arrays built from numbers: from scalars in one operation, and from nested lists as `numpy.array` does.

NumPy cannot ask the elements of a list how to make an array of them, so `numpy.array([x, y])` is an array of objects.
The functions here make one number of such an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.annotations import Array
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.table import LinearMap, dispatched, functions_of, structured

OBJECT = np.dtype(object)
SEQUENCES = (list, tuple)  # the types of arguments that may have numbers in them

# Functions for which a list is a list, and not an array.
OF_LISTS: set[Callable[..., Any]] = {
    *functions_of("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack", "block"),
    *functions_of("select", "choose", "piecewise", "lexsort", "linalg.multi_dot", "histogramdd"),
}


@dispatched
def assemble(scalars: list[Any]) -> Any:
    """The array of these scalars; TypeError if one of them is no number."""
    y = np.array(scalars)
    if y.dtype.kind not in "fciub":
        raise TypeError(f"an array of numbers cannot be built with {strange(scalars)!r:.60} in it")
    return y


def strange(scalars: list[Any]) -> Any:
    """The first of these values that is no number."""
    return next(x for x in scalars if not isinstance(x, float | complex | int | np.number | np.bool))


OF_LISTS.add(assemble)


@structured(assemble, linear=True)
def _assemble(scalars: list[Any]) -> Any:
    y = assemble(scalars)
    size, dtype = len(scalars), dtype_of(y)

    def element(i: int) -> LinearMap:
        return LinearMap(
            lambda x_dot: np.concatenate([np.zeros(i, dtype), np.reshape(x_dot, (1,)), np.zeros(size - i - 1, dtype)]),
            lambda y_bar: y_bar[i],
        )

    return y, (element,)


def array(parts: Any) -> Array:
    """One array made of nested lists of numbers, arrays and plain floats, with the values that `numpy.array` gives.

    Its shape is the shape of the nesting, followed by the shape of the parts. If a part is a number, the array is a
    number, of the newest derivative among the parts; otherwise it is a plain array. Raises ValueError for lists of
    different lengths, and TypeError for parts that are no numbers.

    >>> from shiftreset_ad import grad
    >>> grad(lambda x: np.sum(array([[x, 1.0], [2.0, x]]) ** 2))(3.0)
    12.0
    """
    if isinstance(parts, list | tuple):
        shape = nested_shape(parts)
        leaves = list(leaves_of(parts))
        if all(shape_of(leaf) == () for leaf in leaves):
            return shaped(leaves, shape)  # type: ignore[no-any-return]
        return np.stack([array(part) for part in parts])
    if is_of_objects(parts):
        return gathered(parts)  # type: ignore[no-any-return]
    return np.array(parts) if isinstance(parts, ndarray) or not hasattr(parts, "__array_function__") else np.copy(parts)


def nested_shape(parts: Any) -> tuple[int, ...]:
    """The shape of nested lists; ValueError if they are ragged."""
    if not isinstance(parts, list | tuple):
        return shape_of(parts)
    shapes = {nested_shape(part) for part in parts}
    if len(shapes) > 1:
        raise ValueError(
            "shiftreset_ad.array: the parts of an array must have one shape, but here they have the shapes "
            f"{', '.join(map(str, sorted(shapes)))}"
        )
    return (len(parts), *(shapes.pop() if shapes else ()))


def leaves_of(parts: Any) -> Iterator[Any]:
    """The parts in nested lists, in order."""
    if not isinstance(parts, list | tuple):
        yield parts
        return
    for part in parts:
        yield from leaves_of(part)


def is_of_objects(x: Any) -> bool:
    """Whether `x` is an array of objects."""
    return type(x) is ndarray and x.dtype is OBJECT


def gathered(x: Any) -> Any:
    """An array of objects as one number, or as an array of floats if it has no number; anything else is returned as is.

    Raises TypeError for objects that are no scalars.
    """
    if not is_of_objects(x):
        return x
    elements = list(x.flat)
    if any(shape_of(element) != () for element in elements):
        raise TypeError(
            "an array of objects cannot take part in an operation with a number that is being differentiated if the "
            "objects are arrays or lists. Build one array of them by numpy.stack or shiftreset_ad.array"
        )
    return elements[0] if x.ndim == 0 else shaped(elements, x.shape)


def shaped(scalars: list[Any], shape: tuple[int, ...]) -> Any:
    """The array with these scalars and this shape."""
    if not scalars:
        return np.zeros(shape)
    y = assemble(scalars)
    return y if len(shape) == 1 else np.reshape(y, shape)
