"""What `isinstance` answers for a number: the class of its value, so that programs branch as on plain values.

Otherwise `if isinstance(x, float)` would take another branch inside a derivative, and the answer could be a constant.
`type(x)` tells the truth, and so does `isinstance` in the few packages that need the truth.
"""

from __future__ import annotations

import inspect
import sys
from abc import ABCMeta
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.numbers.number import Number, in_memory, single_value
from shiftreset_ad.numbers.refusals import require_no_shuffle

# Functions that ask on behalf of others: `isinstance` of an abstract class, and `numpy.isscalar`. They are known by
# the ids of their code, as hashing code takes long.
ASKING_FOR_OTHERS = {id(ABCMeta.__instancecheck__.__code__), id(inspect.unwrap(np.isscalar).__code__)}

# Packages and modules that are told the truth: this package; packages that hand arrays to code in C, and refuse other
# objects, or take them as they are; `numpy.mean` of an array of objects, as it would write to an array; `Fraction`, as
# it would convert the number.
KNOWING = {"shiftreset_ad", "scipy", "pandas", "xarray", "sklearn", "numpy._core._methods", "fractions"}


def class_for_isinstance(x: Number) -> type:
    """The class of `x` for the code that asks, which is the caller of this getter of `__class__`."""
    frame = sys._getframe(1)
    while id(frame.f_code) in ASKING_FOR_OTHERS and frame.f_back is not None:
        frame = frame.f_back
        if "shuffle" in frame.f_code.co_names:  # `shuffle` asks for a sequence before it swaps anything
            require_no_shuffle(frame)
    module = frame.f_globals.get("__name__")
    knows = KNOWS_NUMBERS.get(module)
    if knows_numbers(module) if knows is None else knows:
        return type(x)
    inside = x.inside
    if issubclass(type(inside), Number) and inside.has_one_value:
        inside = inside.inside
    return ndarray if type(inside) is ndarray and x.has_one_value else class_of_value(x)  # the usual cases, for speed


KNOWS_NUMBERS: dict[Any, bool] = {}  # by the names of the modules that have asked


def knows_numbers(module: Any) -> bool:
    """Whether the code of a module is told that a number is a number."""
    knows = module in KNOWING or str(module).partition(".")[0] in KNOWING
    KNOWS_NUMBERS[module] = knows
    return knows


def class_of_value(x: Any) -> type:
    """The class of what a number holds at its oldest level; for a stack, the class of one of its values.

    A number that holds an array of another library tells the truth: the C code of PyTorch asks like a user, and then
    reads the memory of every object that says yes.
    """
    if type(single_value(x)) is ndarray:
        return ndarray
    plain = in_memory(x)
    if plain is None:
        return type(x)
    if type(plain) is ndarray and plain.ndim and not x.shape:
        return plain.dtype.type  # type: ignore[no-any-return]
    return type(plain)
