"""Functions of ours that are, for NumPy's arrays, another function, of a package that may not be there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SAME_FOR_ARRAYS: dict[Callable[..., Any], Callable[[], Any]] = {}  # what finds the other function, by our own
