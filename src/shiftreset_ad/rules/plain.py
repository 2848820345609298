"""Values as constants, for example to find an order, a bin or a segment; these have no derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.numpy.shapes import constant_of
from shiftreset_ad.rules.stand_ins import StagedValue


def as_array(x: Any) -> Any:
    """A number or an array as it is, and an array for a list or a float."""
    return x if hasattr(x, "dtype") else np.asarray(x)


def plain(x: Any) -> Any:
    """The plain value of a number, and of each number in a list or a tuple; anything else is returned as it is."""
    if isinstance(x, list | tuple):
        return [plain(part) for part in x]
    kind = type(x)
    return x if kind is np.ndarray or issubclass(kind, StagedValue) else constant_of(x, itself)


def itself(x: Any) -> Any:
    """The value itself."""
    return x
