"""Answers of a recorded run are laid out in memory as those of the function are.

NumPy computes `(x * 2) + y` in the memory of `x * 2` if that is large and nobody else has it (temporary elision). So
the sum lies in memory as that array does. A recorded run keeps all its arrays: there a new array is made, which may lie
in another order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.layouts import layout_of
from shiftreset_ad.staging.steps.memory import owner_of
from shiftreset_ad.staging.steps.values import Staged, unstaged


def laid_out_as(result: list[Any], expected: Iterable[Any], leaves: Iterable[Any]) -> list[Any]:
    """The answers of a recorded run, each in the order of the expected one. Others may share no memory with them.

    `leaves` are the arguments, which an answer may share memory with.
    """
    owners = Counter(id(owner_of(x)) for x in (*map(unstaged, result), *leaves) if isinstance(x, ndarray))
    return [
        _in_the_order_of(y, x) if _differ(x, y) and owners[id(owner_of(x.inside))] == 1 else x
        for x, y in zip(result, expected, strict=True)
    ]


def _differ(x: Any, expected: Any) -> bool:
    """Whether an answer lies in another order than the expected one, whose elements lie without gaps."""
    if type(x) is not Staged or type(x.inside) is not ndarray or type(expected) is not ndarray:
        return False
    differ = x.inside.shape == expected.shape and x.inside.strides != expected.strides
    return differ and layout_of(expected).is_dense


def _in_the_order_of(expected: ndarray[Any, Any], x: Any) -> Any:
    """A copy of an array that lies in memory as another one does, and is a view if that one is a view."""
    flags = expected.flags
    if flags.owndata and (flags.c_contiguous or flags.f_contiguous):
        return np.copy(x, order="C" if flags.c_contiguous else "F")
    axes = sorted(range(x.ndim), key=lambda axis: -expected.strides[axis])  # from the outermost one in memory
    view = np.transpose(np.copy(np.transpose(x, axes), order="C"), [axes.index(axis) for axis in range(x.ndim)])
    return np.copy(view, order="K") if flags.owndata else view
