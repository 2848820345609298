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

from shiftreset_ad.staging.steps.trace import owner_of
from shiftreset_ad.staging.steps.values import Staged, unstaged


def laid_out_as(result: list[Any], expected: Iterable[Any], leaves: Iterable[Any]) -> list[Any]:
    """The answers of a recorded run, each in the order of the expected one. Others may share no memory with them.

    `leaves` are the arguments, which an answer may share memory with.
    """
    owners = Counter(id(owner_of(x)) for x in (*map(unstaged, result), *leaves) if isinstance(x, ndarray))
    return [
        np.copy(x, order=order) if (order := _other_order(x, y)) and owners[id(owner_of(x.inside))] == 1 else x
        for x, y in zip(result, expected, strict=True)
    ]


def _other_order(x: Any, expected: Any) -> Any:
    """The order of an expected array that is new; None if the answer has it, too, or if this order has no name."""
    if type(x) is not Staged or type(x.inside) is not ndarray or type(expected) is not ndarray:
        return None
    flags = expected.flags
    if x.inside.shape != expected.shape or x.inside.strides == expected.strides or not flags.owndata:
        return None
    return "C" if flags.c_contiguous else "F" if flags.f_contiguous else None
