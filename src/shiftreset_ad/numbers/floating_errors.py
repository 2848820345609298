"""NumPy's floating-point warnings on the way back."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import lru_cache
from typing import Any

import numpy as np

with np.errstate():  # the context now has NumPy's variable for its reactions to errors, unless NumPy has renamed it
    REACTIONS: ContextVar[Any] | None = next((x for x in copy_context() if x.name == "numpy.ufunc.extobj"), None)


def without_warnings(function: Callable[..., Any], *args: Any) -> Any:
    """Call `function` without NumPy's floating-point warnings: an infinite derivative, of sqrt at 0, is an answer.

    Errors that the program has asked for are kept. The reactions are a context variable, so they are set in a copy of
    the context, which goes away on every way out. `np.errstate` alone can be interrupted on its way in.
    """
    context = copy_context()
    if REACTIONS is None:
        context.run(_ignore_warnings)
    else:
        context.run(REACTIONS.set, _quiet(REACTIONS, REACTIONS.get()))
    return context.run(function, *args)


def in_silence(function: Callable[..., Any], *args: Any) -> Any:
    """The same, without other warnings either, as that of the mean of no elements. Other threads lose theirs, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return without_warnings(function, *args)


@lru_cache(16)
def _quiet(variable: ContextVar[Any], reactions: Any) -> Any:
    """These reactions, which are those of the context, without the warnings. NumPy takes long to make them."""
    context = copy_context()
    context.run(_ignore_warnings)
    return context[variable]


def _ignore_warnings() -> None:
    warned = [kind for kind, reaction in np.geterr().items() if reaction == "warn"]
    ignored: dict[str, Any] = dict.fromkeys(warned, "ignore")
    np.seterr(**ignored)
