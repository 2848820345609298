"""The order of an array's elements in memory, which must be NumPy's, also if a function of ours is made of others.

Whether a `ravel` or `reshape` of an array is a view or a copy depends on this order. So a program that writes to the
array can see the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from shiftreset_ad.rules.broadcasting import shape_of


def array_of(x: Any) -> Any:
    """The plain array `x`, or the plain array in `x`; None for scalars, other libraries and many directions at once."""
    shape = shape_of(x)
    while hasattr(x, "inside"):
        x = x.inside
    return x if isinstance(x, np.ndarray) and x.shape == shape else None


def is_scalar(x: Any) -> bool:
    """Whether `x` is, or holds, a scalar of Python's or of NumPy's, which is no array."""
    while hasattr(x, "inside"):
        x = x.inside
    return isinstance(x, float | complex | np.generic)


def order_of(x: Any) -> Literal["C", "F"]:
    """The order "F" of an array that lies in "F", and not in "C" as well; "C" for any other array."""
    array = array_of(x)
    return "C" if array is None or not array.flags.fnc else "F"


def lies_in(x: Any, order: str) -> bool:
    """Whether the elements of an array follow one another in this order: "C", "F", or "A" for either of them."""
    array = array_of(x)
    if array is None:
        return True
    return (
        array.flags.forc
        if order == "A"
        else bool(array.flags.c_contiguous if order == "C" else array.flags.f_contiguous)
    )


def in_order(y: Any, order: Literal["C", "F"]) -> Any:
    """`y`, or a copy of it that lies in this order, "C" or "F"; `y` must be no view."""
    array = array_of(y)
    if array is None or (array.flags.f_contiguous if order == "F" else array.flags.c_contiguous):
        return y
    return np.copy(y, order=order)


def in_order_like(y: Any, x: Any) -> Any:
    """`y`, or a copy of it whose axes have the order in memory of the axes of `x`. `y` has the shape of `x`, and is no
    view.
    """
    like = array_of(x)
    return y if like is None else with_axes_like(y, like.strides)


def with_axes_like(y: Any, strides: Sequence[float]) -> Any:
    """`y`, or a copy of it whose axes have the order in memory that these strides have. `y` must be no view."""
    array = array_of(y)
    if array is None:
        return y
    axes = sorted(range(array.ndim), key=lambda axis: -abs(strides[axis]))
    if array.transpose(axes).flags.c_contiguous:
        return y
    return np.transpose(np.copy(np.transpose(y, axes), order="C"), np.argsort(axes))
