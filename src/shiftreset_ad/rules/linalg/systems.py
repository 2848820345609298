"""`np.linalg.solve` and `np.linalg.inv` of plain arrays, without the Python code in front of them.

Of a small matrix, this code takes twice as long as the solution: it looks for the common type of the operands, and sets
the reaction to a singular matrix. Here the types are known, and the reactions are made once. They are a context
variable. They are set in a copy of the context, which goes away on every way out, also if the program is interrupted.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar, copy_context
from typing import Any, NoReturn

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.broadcasting import FLOAT64

# What `np.linalg.solve` of plain arrays calls, without NumPy's protocol
SOLVE: Any = getattr(np.linalg.solve, "_implementation", np.linalg.solve)
INV: Any = getattr(np.linalg.inv, "_implementation", np.linalg.inv)

# The functions in C inside these, and NumPy's variable for its reactions to errors. All are private, so a NumPy that
# lacks one of them goes the long way.
IN_C: Any = sys.modules.get("numpy.linalg._umath_linalg")


def _raise_singular(error: str, flag: int) -> NoReturn:
    raise np.linalg.LinAlgError("Singular matrix")


with np.errstate(call=_raise_singular, invalid="call", over="ignore", divide="ignore", under="ignore"):
    REACTIONS: ContextVar[Any] | None = next((x for x in copy_context() if x.name == "numpy.ufunc.extobj"), None)
    RAISING = None if REACTIONS is None else REACTIONS.get()

HAS_PARTS = REACTIONS is not None and all(hasattr(IN_C, name) for name in ("solve", "solve1", "inv"))


def solved(a: Any, b: Any) -> Any:
    """`np.linalg.solve` of plain arrays."""
    if HAS_PARTS and a.dtype is b.dtype is FLOAT64 and a.ndim == 2 and 0 < b.ndim < 3:
        rows, columns = a.shape
        if rows == columns == b.shape[0]:  # otherwise NumPy has the error
            context = copy_context()
            context.run(REACTIONS.set, RAISING)  # type: ignore[union-attr]
            return context.run(IN_C.solve if b.ndim == 2 else IN_C.solve1, a, b)
    return SOLVE(a, b)


def inverse(a: Any) -> Any:
    """`np.linalg.inv`, also of a number."""
    if type(a) is not ndarray:
        return np.linalg.inv(a)
    if HAS_PARTS and a.dtype is FLOAT64 and a.ndim == 2 and a.shape[0] == a.shape[1]:
        context = copy_context()
        context.run(REACTIONS.set, RAISING)  # type: ignore[union-attr]
        return context.run(IN_C.inv, a)
    return INV(a)
