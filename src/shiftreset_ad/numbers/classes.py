"""What a number says to `isinstance`: it is what its value is, so that a program which branches on that goes its way.

Otherwise `if isinstance(x, float)` would go the other way inside a derivative, and the answer be a constant, say.
`type(x)` tells the truth, and so does `isinstance` to those few that do better with it.
"""

from __future__ import annotations

import inspect
import sys
from abc import ABCMeta
from functools import cache
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.numbers.number import Number, in_memory
from shiftreset_ad.numbers.refusals import require_no_shuffle

# Functions that ask on behalf of others: `isinstance` of an abstract class, and `numpy.isscalar`.
ASKING_FOR_OTHERS = {ABCMeta.__instancecheck__.__code__, inspect.unwrap(np.isscalar).__code__}

# Packages and modules that are told the truth: this one; those that hand arrays to code in C, and refuse others or take
# them as they are; `numpy.mean` of an array of objects, which would write to an array; `Fraction`, which would convert.
KNOWING = {"shiftreset_ad", "scipy", "pandas", "xarray", "sklearn", "numpy._core._methods", "fractions"}


def class_for_isinstance(x: Number) -> type:
    """The class of `x` for whoever asks: the code around this, as it is the getter of the property `__class__`."""
    frame = sys._getframe(1)
    while frame.f_code in ASKING_FOR_OTHERS and frame.f_back is not None:
        frame = frame.f_back
        if "shuffle" in frame.f_code.co_names:  # which asks for a sequence, and before it swaps anything
            require_no_shuffle(frame)
    return type(x) if knows_numbers(frame.f_globals.get("__name__")) else class_of_value(x)


@cache
def knows_numbers(module: Any) -> bool:
    """Whether the code of a module is to see a number for what it is."""
    return module in KNOWING or str(module).partition(".")[0] in KNOWING


def class_of_value(x: Any) -> type:
    """The class of what a number holds at its oldest level; of a stack, that of one of its values.

    With an array of another library in it, a number is what it is: the C code of PyTorch asks like a user, and then
    takes what says yes for its own, down to the memory.
    """
    plain = in_memory(x)
    if plain is None:
        return type(x)
    if type(plain) is ndarray and plain.ndim and not x.shape:
        return plain.dtype.type  # type: ignore[no-any-return]
    return type(plain)
