"""Zeros that stand in for a value on a path where the program has none, and where nobody reads it.

The blocks of a site hand on the same variables, each with values of one form. The form is known once a value has been
recorded, and the recording starts again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.control.choosing import PYTHONS_NUMBERS, UNLIKE, likeness


def form_of(value: Any) -> Any:
    """The structure of a value, and what its leaves have in common with zeros; None if there are no such zeros."""
    leaves, spec = trees.flatten(value)
    found = list(map(likeness, leaves))
    return None if any(like is UNLIKE or like[2].hasobject for like in found) else (found, spec)


def zeros_of(form: Any) -> Any:
    """Zeros of this form."""
    found, spec = form
    return trees.unflatten(spec, list(map(_zero, found)))


def _zero(like: Any) -> Any:
    kind, shape, dtype = like
    if kind in PYTHONS_NUMBERS:
        return kind(0)
    return np.zeros(shape, dtype) if kind is ndarray else dtype.type(0)
