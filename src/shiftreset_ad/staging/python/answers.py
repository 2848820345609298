"""The arrays of an answer: the user gets copies of constants, and all other arrays as the steps have made them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.steps.memory import owners_of
from shiftreset_ad.staging.steps.trace import UnstageableError


class Own:
    """Gives the user a copy of an array if the array lies in the memory of a constant, and otherwise the array.

    Which of both it is may be known at run time only: a branch answers a constant, or an argument. A constant may stand
    for an array from outside, which the user gets itself: `handed_on` has it by the id of the constant.
    """

    def __init__(self, constants: list[Any], handed_on: Mapping[int, Any]) -> None:
        self._constants = {id(owner): owner for owner in constants}
        self._handed_on = handed_on

    def __call__(self, x: Any, copies: dict[int, Any]) -> Any:
        """The array for the user. `copies` are those of this answer: two arrays that share memory go on to do so."""
        if type(x) is not ndarray:
            return x
        (owner,) = owners_of(x)
        if id(owner) not in self._constants:
            return x
        if id(owner) in self._handed_on:
            if x is not owner:
                raise UnstageableError("a loop or a branch answers a view of an array that it sees from outside")
            return self._handed_on[id(owner)]
        for part in (owner, x):
            if id(part) not in copies:  # the array is kept, so that no other array gets its id
                copies[id(part)] = part, _copied(part, owner, copies)
        return copies[id(x)][1]


def _copied(part: Any, owner: Any, copies: dict[int, Any]) -> ndarray[Any, Any]:
    return _memory(owner).copy("K") if part is owner else seen_in(copies[id(owner)][1], part)


def seen_in(copy: ndarray[Any, Any], x: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """The view of a copy that is to it what the view `x` is to the owner of its memory."""
    (owner,) = owners_of(x)
    start = _address(x) - _address(_memory(owner))
    return np.ndarray(x.shape, x.dtype, copy.ravel("K"), start, x.strides)


def _memory(owner: Any) -> ndarray[Any, Any]:
    return owner if isinstance(owner, ndarray) else np.frombuffer(owner, np.uint8)


def _address(x: ndarray[Any, Any]) -> int:
    address: int = x.__array_interface__["data"][0]
    return address
