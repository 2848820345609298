"""NumPy's floating-point warnings on the way back."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import cache
from typing import Any

import numpy as np


def without_warnings(function: Callable[..., Any], *args: Any) -> Any:
    """Call `function` without NumPy's floating-point warnings: an infinite derivative, of sqrt at 0, is an answer.

    Errors that the program has asked for are kept. The setting is a context variable, so it is set in a copy of the
    context, which goes away on every way out. `np.errstate` alone can be interrupted on its way in.
    """
    return copy_context().run(_ignoring(*np.geterr().values()), function, *args)


@cache
def _ignoring(*reactions: str) -> Callable[..., Any]:
    """A function that calls a function, and ignores the kinds of errors for which the reaction is a warning."""
    kinds = [kind for kind, reaction in zip(np.geterr(), reactions, strict=True) if reaction == "warn"]
    ignored: dict[str, Any] = dict.fromkeys(kinds, "ignore")
    return np.errstate(**ignored)(lambda function, *args: function(*args))
