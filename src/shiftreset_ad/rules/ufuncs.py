"""Functions of ours that are, for NumPy's arrays, a ufunc of a package that may not be there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

UFUNCS: dict[Callable[..., Any], Callable[[], Any]] = {}  # what finds the ufunc, by our function
