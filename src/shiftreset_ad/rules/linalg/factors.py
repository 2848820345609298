"""The LU factors of a matrix, by the LAPACK with which NumPy itself solves.

`np.linalg.solve` factors the matrix in each call, and hands out no factors. Most of its time goes there. A derivative
solves several systems with one matrix and with its transpose, so here the matrix is factored once. NumPy's module in C
calls `dgesv`, which leaves the factors in the array that it is given, and `dgetrs` of the same library solves by them:
a value so found has the bits of `np.linalg.solve`. Tangents and cotangents with many columns are solved by `dtrsm` with
each of the two factors, in two thirds of the time, and differ by rounding.

The library is that of NumPy's module, whatever else is loaded: the loader looks for a name in the module and in what
the module needs. An integer may have four bytes or eight. Each has a place of eight bytes here, the first of which are
the lower ones, so both work. Where no name is found, on a machine with another order of bytes, or if the solutions of a
few systems are not NumPy's, there are no factors, and NumPy solves each time.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from functools import cache
from threading import local
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.annotations import P, Y
from shiftreset_ad.rules.broadcasting import FLOAT64
from shiftreset_ad.rules.linalg.systems import IN_C, SOLVE

SOME = 16  # columns; fewer are solved by one call, which has other loops for them
MANY = 28  # rows; with fewer, the calls by `ctypes` take as long as is saved
NAMES = ("scipy_{}_64_", "scipy_{}_", "{}_64_", "{}_")  # of OpenBLAS as NumPy ships it, and of others
Integer, Byte, byref = ctypes.c_int64, ctypes.c_char, ctypes.byref
ONE = byref(ctypes.c_double(1.0))
# The factors in the order in which they divide: which triangle, whether transposed, and whether its diagonal is ones
LOWER_FIRST = (b"L", b"T", b"U"), (b"U", b"T", b"N")
UPPER_FIRST = (b"U", b"N", b"N"), (b"L", b"N", b"U")


class Routines(NamedTuple):
    """LAPACK's `dgesv`, `dgetrs` and, of BLAS, `dtrsm`."""

    solve: Any
    solve_by_factors: Any
    divide: Any


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
    """The factors of a matrix, the pivots, and the routines that solve by them. Nobody writes to the arrays.

    `places` are the row that is moved to each place, and the place of each row.
    """

    __slots__ = ("__weakref__", "count", "elements", "factors", "pivots", "places", "routines", "rows", "swaps")

    def __init__(self, factors: Any, pivots: Any, routines: Routines) -> None:
        self.factors = factors
        self.pivots = pivots
        self.rows = len(pivots)
        self.routines = routines
        self.places: tuple[Any, Any] | None = None
        self.elements, self.swaps, self.count = pointer(factors), pointer(pivots), byref(Integer(self.rows))

    def takes(self, b: Any) -> bool:
        """Whether `b` is a plain vector or matrix that fits."""
        return type(b) is ndarray and b.dtype is FLOAT64 and 0 < b.ndim < 3 and b.shape[0] == self.rows and b.size > 0

    def solution(self, b: Any, is_transposed: bool) -> Any:
        """The solution of a system with the matrix, or with its transpose, up to rounding.

        To LAPACK an array in C order is its transpose, so the factors stand on the right, and nothing is copied to
        another order.
        """
        if b.ndim == 1 or b.shape[1] < SOME:
            return self.solution_of_lapack(b, is_transposed)
        if self.places is None:
            places = places_of(self.pivots)
            self.places = places, places.argsort()
        x = b.copy() if is_transposed else b[self.places[0]]
        columns, elements = byref(Integer(x.shape[1])), pointer(x)
        for triangle, transposition, diagonal in UPPER_FIRST if is_transposed else LOWER_FIRST:
            self.routines.divide(
                *(b"R", triangle, transposition, diagonal, columns, self.count, ONE, self.elements, self.count),
                *(elements, columns, 1, 1, 1, 1),
            )
        return x[self.places[1]] if is_transposed else x

    def solution_of_lapack(self, b: Any, is_transposed: bool) -> Any:
        """The solution by LAPACK's `dgetrs`; of a system with the matrix, it has the bits of `np.linalg.solve`."""
        x = b.T.copy()  # in C order, so as LAPACK takes `b`
        columns, complaint = byref(Integer(x.size // self.rows)), byref(Integer())
        self.routines.solve_by_factors(
            *(b"T" if is_transposed else b"N", self.count, columns, self.elements, self.count, self.swaps),
            *(pointer(x), self.count, complaint, 1),
        )
        return x.T.copy()


def places_of(pivots: Any) -> Any:
    """The row that LAPACK has moved to each place, from the pivots, which are integers of eight bytes or of four."""
    rows = len(pivots)
    swaps = pivots if pivots[0] <= rows else pivots.view(np.int32)[:rows]
    places = list(range(rows))
    for i, j in enumerate(swaps.tolist()):
        places[i], places[j - 1] = places[j - 1], places[i]
    return np.array(places)


def factored(a: Any, b: Any) -> tuple[Any, Factors] | None:
    """`np.linalg.solve(a, b)` of plain arrays, and the factors of the matrix; None where NumPy has to solve."""
    if a.dtype is not FLOAT64 or b.dtype is not FLOAT64 or a.ndim != 2 or not 0 < b.ndim < 3:
        return None
    rows, columns = a.shape
    if rows < MANY or rows != columns or b.shape[0] != rows or not b.size or (found := routines()) is None:
        return None
    if here.last is not None and (known := here.last.factors_of(a, b)) is not None:
        return known.solution_of_lapack(b, False), known
    x, known = solved_by(found, a, b)
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
        if a[0].tobytes() != matrix[0].tobytes():  # in most other cases
            return None
        return known if a.tobytes() == matrix.tobytes() else None


def solved_by(routines: Routines, a: Any, b: Any) -> tuple[Any, Factors]:
    """The solution and the factors, by LAPACK's `dgesv`; LinAlgError if the matrix is singular."""
    factors, pivots, x = a.T.copy(), np.zeros(len(a), np.int64), b.T.copy()
    rows, columns, complaint = Integer(len(a)), Integer(x.size // len(a)), Integer()
    routines.solve(
        *(byref(rows), byref(columns), pointer(factors), byref(rows), pointer(pivots), pointer(x), byref(rows)),
        byref(complaint),
    )
    if complaint.value:
        raise np.linalg.LinAlgError("Singular matrix")
    return x.T.copy(), Factors(factors, pivots, routines)


def pointer(x: Any) -> Any:
    """A pointer to the elements of an array in C order, which the array outlives: `x.ctypes` takes longer to make."""
    return byref(Byte.from_buffer(x))


@cache
def routines() -> Routines | None:
    """LAPACK's functions, as NumPy calls them; None if they are not found, or answer otherwise."""
    if sys.byteorder != "little" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    try:
        library: Any = ctypes.CDLL(IN_C.__file__)
    except (AttributeError, OSError, TypeError):
        return None
    for name in NAMES:
        try:
            found = Routines(*[library[name.format(routine)] for routine in ("dgesv", "dgetrs", "dtrsm")])
        except AttributeError:
            continue
        for routine in found:
            routine.restype = None
        # Last come the lengths of the arguments that are texts to Fortran; a library in C does not look at them.
        found.solve.argtypes = [ctypes.c_void_p] * 8
        found.solve_by_factors.argtypes = [ctypes.c_char_p] + [ctypes.c_void_p] * 8 + [ctypes.c_size_t]
        found.divide.argtypes = [ctypes.c_char_p] * 4 + [ctypes.c_void_p] * 7 + [ctypes.c_size_t] * 4
        return found if _are_numpys(found) else None
    return None


def _are_numpys(routines: Routines) -> bool:
    """Whether the solutions of a few systems are NumPy's, bit by bit, and the other solutions nearly so."""
    for rows, shape in ((3, (3,)), (MANY + 8, (MANY + 8,)), (MANY + 8, (MANY + 8, MANY)), (MANY + 8, (MANY + 8, 5))):
        a = np.sin(np.arange(float(rows * rows)) ** 2).reshape(rows, rows) + 2.0 * np.eye(rows)[::-1]
        b = np.cos(np.arange(float(math.prod(shape)))).reshape(shape)
        x, factors = solved_by(routines, a, b)
        if not np.array_equal(x, SOLVE(a, b)) or not np.array_equal(factors.solution_of_lapack(b, False), x):
            return False
        if not np.allclose(factors.solution(b, False), x, 1e-8, 1e-8):
            return False
        if not np.allclose(factors.solution(b, True), SOLVE(a.T, b), 1e-8, 1e-8):
            return False
    return True
