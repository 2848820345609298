"""A derivative as the caller gets it: of the type of the value, in C order, and in memory of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.array_api import MET, Wrapped
from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.libraries import as_the_users, in_library_of
from shiftreset_ad.numbers.interface import ArrayNumber
from shiftreset_ad.numbers.number import innermost, plain_value
from shiftreset_ad.rules.annotations import Primal, Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.layouts import in_order
from shiftreset_ad.rules.stand_ins import is_staged


def own(y_dot: Tangent, y: Primal) -> Tangent:
    """A tangent as the user gets it: of the type of its value, in C order, and in memory of its own."""
    shape = shape_of(y)
    if isinstance(plain := innermost(y), Wrapped):
        return as_the_users(plain, y_dot)
    if MET:
        y_dot = in_library_of(y, y_dot)
    if isinstance(y_dot, ArrayNumber):
        return in_order(np.positive(y_dot), "C") if shape else y_dot
    if is_staged(y_dot):
        return y_dot.of_type_of(plain_value(y))
    if isinstance(plain_value(y), ndarray):
        return np.zeros(shape, dtype_of(y)) if y_dot is None else np.array(y_dot, order="C")
    kind: Any = type(plain_value(y))
    return kind(0.0 if y_dot is None else y_dot)


def tangent_of(value: Primal, y_dots: list[Tangent]) -> Tangent:
    """The tangent of a value, from the tangents of the numbers in it; None stands for zero."""
    answers = trees.Parts(value)
    return answers.derivative([own(y_dot, y) for y_dot, y in zip(y_dots, answers.numbers, strict=True)])
