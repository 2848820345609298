"""`x += v` and its kin: the number `x` takes over the value of `x + v`, and gets its old value back on the way back.

Every name for the number then sees the new value, as NumPy has it. No memory is written to, so another number whose
array shares memory with that of `x` (a slice of it, say) would not see it: that is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.dispatch import Number, value
from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.rules.shapes import astype
from shiftreset_ad.tags import innermost_tag


def in_place(operate: Callable[[Any, Any], Any], symbol: str) -> Callable[[Any, Any], Any]:
    """The method for `x symbol= v`, where `operate(x, v)` computes `x symbol v`."""

    def refuse(x_is: str) -> TypeError:
        return TypeError(f"x {symbol}= v: {x_is}. Write x = x {symbol} v to make a new array")

    def method(x: Number, v: Any) -> Any:
        if not isinstance(value(x), np.ndarray):
            return operate(x, v)  # a scalar: as in Python, the name gets another object
        innermost = innermost_tag()
        if (innermost is not None and innermost.serial > x.tag.serial) or not x.tag.is_open:
            operate(x, v)  # an error where x is used after its derivative, or in another thread
            raise refuse("x belongs to an outer derivative, and the inner one still needs its old value")
        if _is_shared(x):
            raise refuse(
                "the array of x is shared with an argument, with another array (a slice of it, say), or with what an "
                "earlier operation needs for its derivative"
            )
        y = operate(x, v)
        if isinstance(v, Number) and v.tag.serial > x.tag.serial:
            raise refuse("x belongs to an outer derivative, and v to an inner one")
        if y is NotImplemented:
            return y
        if shape_of(y) != shape_of(x):
            raise ValueError(
                f"x {symbol}= v: non-broadcastable output operand with shape {shape_of(x)} "
                f"doesn't match the broadcast shape {shape_of(y)}"
            )
        if not isinstance(y, Number):
            raise refuse("the result is a constant, and x is a number that is being differentiated")
        if is_complex(y) and not is_complex(x):
            raise refuse("the result is complex, and x is an array of real numbers")
        x.take_over(y if dtype_of(y) == dtype_of(x) else astype(y, dtype_of(x)))
        return x

    return method


def _references(x: Number) -> int:
    return sys.getrefcount(x.primal)


class _Alone(Number):
    __slots__ = ("primal",)

    def __init__(self) -> None:
        self.primal = np.zeros(1)


_REFERENCES_WHEN_ALONE = _references(_Alone())


def _is_shared(x: Number) -> bool:
    """Whether the array of `x` may be seen otherwise than through `x`."""
    while isinstance(x.primal, Number):
        # One more reference is usual: the outer operation that made the primal waits for the way back.
        if _references(x) > _REFERENCES_WHEN_ALONE + 1:
            return True
        x = x.primal
    return x.primal.base is not None or _references(x) > _REFERENCES_WHEN_ALONE
