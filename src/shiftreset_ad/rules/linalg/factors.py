"""The LU factors of a matrix, by the LAPACK with which NumPy itself solves.

`np.linalg.solve` factors the matrix in each call, and hands out no factors. Most of its time goes there. A derivative
solves several systems with one matrix and with its transpose, so here the matrix is factored once. NumPy's module in C
calls `dgesv`, which leaves the factors in the array that it is given, and `dgetrs` of the same library solves by them.
So the solutions with the matrix have the bits of `np.linalg.solve`, and those with its transpose differ by rounding.

The library is that of NumPy's module, whatever else is loaded: the loader looks for a name in the module and in what
the module needs. An integer may have four bytes or eight. Each has a place of eight bytes here, the first of which are
the lower ones, and pivots go from LAPACK to LAPACK, so both work. Where no name is found, on a machine with another
order of bytes, or if the solutions of a few systems are not NumPy's, there are no factors, and NumPy solves each time.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from functools import cache
from threading import local
from typing import Any
from weakref import ref

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.annotations import P, Y
from shiftreset_ad.rules.broadcasting import FLOAT64
from shiftreset_ad.rules.linalg.systems import IN_C, SOLVE

MANY = 48  # rows; with fewer, the calls by `ctypes` take as long as is saved
NAMES = ("scipy_{}_64_", "scipy_{}_", "{}_64_", "{}_")  # of OpenBLAS as NumPy ships it, and of others
Integer, Byte, byref = ctypes.c_int64, ctypes.c_char, ctypes.byref


class _Here(local):
    """What holds in this thread: whether systems with a transpose are solved by the factors of the matrix; and the last
    matrix, as long as its factors are in use.
    """

    shares = True
    last: Last | None = None


here = _Here()


def apart(function: Callable[P, Y], *args: P.args, **kwargs: P.kwargs) -> Y:
    """Call `function`. In it, each transpose is factored, as in its record: then both have the same bits."""
    before, here.shares = here.shares, False
    try:
        return function(*args, **kwargs)
    finally:
        here.shares = before


class Factors:
    """The factors of a matrix, the pivots, and the function that solves by them. Nobody writes to the arrays."""

    __slots__ = ("__weakref__", "factors", "pivots", "rows", "solve")

    def __init__(self, factors: Any, pivots: Any, solve: Any) -> None:
        self.factors = factors
        self.pivots = pivots
        self.rows = len(pivots)
        self.solve = solve

    def takes(self, b: Any) -> bool:
        """Whether `b` is a plain vector or matrix that fits."""
        return type(b) is ndarray and b.dtype is FLOAT64 and 0 < b.ndim < 3 and b.shape[0] == self.rows and b.size > 0

    def solution(self, b: Any, is_transposed: bool) -> Any:
        """The solution of a system with the matrix, or with its transpose."""
        x = b.T.copy()  # in C order, so as LAPACK takes `b`
        rows, columns, complaint = Integer(self.rows), Integer(x.size // self.rows), Integer()
        self.solve(
            *(b"T" if is_transposed else b"N", byref(rows), byref(columns), pointer(self.factors), byref(rows)),
            *(pointer(self.pivots), pointer(x), byref(rows), byref(complaint), 1),
        )
        return x.T.copy()


def factored(a: Any, b: Any) -> tuple[Any, Factors] | None:
    """`np.linalg.solve(a, b)` of plain arrays, and the factors of the matrix; None where NumPy has to solve."""
    if a.dtype is not FLOAT64 or b.dtype is not FLOAT64 or a.ndim != 2 or not 0 < b.ndim < 3:
        return None
    rows, columns = a.shape
    if rows < MANY or rows != columns or b.shape[0] != rows or not b.size or (found := routines()) is None:
        return None
    if here.last is not None and (known := here.last.factors_of(a, b)) is not None:
        return known.solution(b, False), known
    x, known = solved_by(*found, a, b)
    here.last = Last(a, b, known)
    return x, known


class Last:
    """The last matrix whose factors are known. A loop that solves with one matrix factors it once, and holds it once.

    The program may write to the matrix, so here is a copy, which goes when nobody holds the factors any more. For
    another number of columns LAPACK may divide the work among threads in another way, so this number counts, too.
    """

    __slots__ = ("columns", "factors", "matrix")

    def __init__(self, a: Any, b: Any, factors: Factors) -> None:
        self.matrix = matrix = [a.copy()]
        self.columns = b.shape[1:]
        self.factors = ref(factors, lambda _: matrix.clear())  # which does not hold this object, so it goes at once

    def factors_of(self, a: Any, b: Any) -> Factors | None:
        """The factors, if this is the matrix, bit by bit."""
        known = self.factors()
        if known is None or b.shape[1:] != self.columns:
            return None
        (matrix,) = self.matrix
        if matrix.shape != a.shape:
            return None
        if not np.array_equal(a[0], matrix[0]):  # in most other cases
            return None
        return known if a.tobytes() == matrix.tobytes() else None


def solved_by(solve: Any, solve_by_factors: Any, a: Any, b: Any) -> tuple[Any, Factors]:
    """The solution and the factors, by LAPACK's `dgesv`; LinAlgError if the matrix is singular."""
    factors, pivots, x = a.T.copy(), np.zeros(len(a), np.int64), b.T.copy()
    rows, columns, complaint = Integer(len(a)), Integer(x.size // len(a)), Integer()
    solve(
        *(byref(rows), byref(columns), pointer(factors), byref(rows), pointer(pivots), pointer(x), byref(rows)),
        byref(complaint),
    )
    if complaint.value:
        raise np.linalg.LinAlgError("Singular matrix")
    return x.T.copy(), Factors(factors, pivots, solve_by_factors)


def pointer(x: Any) -> Any:
    """A pointer to the elements of an array in C order, which the array outlives: `x.ctypes` takes longer to make."""
    return byref(Byte.from_buffer(x))


@cache
def routines() -> tuple[Any, Any] | None:
    """LAPACK's `dgesv` and `dgetrs`, as NumPy calls them; None if they are not found, or answer otherwise."""
    if sys.byteorder != "little" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    try:
        library: Any = ctypes.CDLL(IN_C.__file__)
    except (AttributeError, OSError, TypeError):
        return None
    for name in NAMES:
        try:
            solve, solve_by_factors = library[name.format("dgesv")], library[name.format("dgetrs")]
        except AttributeError:
            continue
        solve.restype = solve_by_factors.restype = None
        solve.argtypes = [ctypes.c_void_p] * 8
        # Last comes the length of the first argument, which is a text to Fortran; a library in C does not look at it.
        solve_by_factors.argtypes = [ctypes.c_char_p] + [ctypes.c_void_p] * 8 + [ctypes.c_size_t]
        return (solve, solve_by_factors) if _are_numpys(solve, solve_by_factors) else None
    return None


def _are_numpys(solve: Any, solve_by_factors: Any) -> bool:
    """Whether the solutions of a few systems are NumPy's, bit by bit, and those with the transpose nearly so."""
    for rows, shape in ((3, (3,)), (MANY + 8, (MANY + 8,)), (MANY + 8, (MANY + 8, 5))):
        a = np.sin(np.arange(float(rows * rows)) ** 2).reshape(rows, rows) + 2.0 * np.eye(rows)[::-1]
        b = np.cos(np.arange(float(math.prod(shape)))).reshape(shape)
        x, factors = solved_by(solve, solve_by_factors, a, b)
        if not np.array_equal(x, SOLVE(a, b)) or not np.array_equal(factors.solution(b, False), x):
            return False
        if not np.allclose(factors.solution(b, True), SOLVE(a.T, b), 1e-8, 1e-8):
            return False
    return True
