"""How arrays lie in memory: as NumPy has it for what its functions give, where ours are made of others.

Whether a `ravel` or a `reshape` of an array is a view of it or a copy depends on that, and so what a program sees that
writes to it.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from shiftreset_ad.rules.broadcasting import shape_of


def array_of(x: Any) -> Any:
    """The plain array that `x` is, or holds; None for scalars, other libraries, and many directions at once."""
    shape = shape_of(x)
    while hasattr(x, "inside"):
        x = x.inside
    return x if isinstance(x, np.ndarray) and x.shape == shape else None


def order_of(x: Any) -> Literal["C", "F"]:
    """The order "F" of an array that lies in it, and not in "C" as well; "C" for any other."""
    array = array_of(x)
    return "C" if array is None or not array.flags.fnc else "F"


def lies_in(x: Any, order: str) -> bool:
    """Whether the elements of an array follow one another in this order: "C", "F", or "A", which is either."""
    array = array_of(x)
    if array is None:
        return True
    return (
        array.flags.forc
        if order == "A"
        else bool(array.flags.c_contiguous if order == "C" else array.flags.f_contiguous)
    )


def in_order(y: Any, order: Literal["C", "F"]) -> Any:
    """`y`, which is no view, or a copy of it that lies in this order, "C" or "F"."""
    array = array_of(y)
    if array is None or (array.flags.f_contiguous if order == "F" else array.flags.c_contiguous):
        return y
    return np.copy(y, order=order)


def in_order_like(y: Any, x: Any) -> Any:
    """`y`, which is no view, or a copy of it whose axes follow one another in memory as those of `x`, of that shape."""
    array, like = array_of(y), array_of(x)
    if array is None or like is None:
        return y
    axes = sorted(range(like.ndim), key=lambda axis: -abs(like.strides[axis]))
    if array.transpose(axes).flags.c_contiguous:
        return y
    return np.transpose(np.copy(np.transpose(y, axes), order="C"), np.argsort(axes))
