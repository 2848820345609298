"""Sparse arrays whose values are numbers, in rows or columns that are compressed.

The places of the values are plain. A product takes the values of x at the columns, times the values of the array, and a
constant sparse array of ones sums them in each row. So it needs no rule of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse  # type: ignore[import-untyped]

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.scipy.forwarding import in_double
from shiftreset_ad.transforms.constants import value

NAME = "scipy.sparse"


@dataclass(frozen=True)
class SparseArray:
    """A matrix of `shape` whose values `data: (n,)` are numbers, at plain places `rows: (n,)` and `columns: (n,)`.

    It has `@` with dense operands, `*` and `/` by a number without dimensions, `T` and `toarray()`. Values at the same
    place are added.
    """

    data: Any
    rows: Any
    columns: Any
    shape: tuple[int, int]

    __array_ufunc__ = None  # NumPy's operators leave the work to this class

    @property
    def T(self) -> SparseArray:  # noqa: N802 (SciPy's name)
        """The transposed matrix."""
        return SparseArray(self.data, self.columns, self.rows, self.shape[::-1])

    def __matmul__(self, x: Any) -> Any:
        """The product with a dense vector or matrix."""
        x = in_double(x, NAME)
        shape = shape_of(x)
        if len(shape) not in (1, 2) or shape[0] != self.shape[1]:
            raise ValueError(f"scipy.sparse: an array of the shape {self.shape} and one of {shape} do not multiply")
        data = self.data if len(shape) == 1 else self.data[:, None]
        return _adding(self.rows, self.shape[0]) @ (data * x[self.columns])

    def __rmatmul__(self, x: Any) -> Any:
        """The product of a dense vector or matrix with this one."""
        return np.transpose(self.T @ np.transpose(in_double(x, NAME)))

    def __mul__(self, factor: Any) -> SparseArray:
        """The matrix times a number."""
        if shape_of(factor):
            return NotImplemented
        return replace(self, data=self.data * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> SparseArray:
        """The matrix divided by a number."""
        return NotImplemented if shape_of(divisor) else replace(self, data=self.data / divisor)

    def __neg__(self) -> SparseArray:
        """The negated matrix."""
        return replace(self, data=-self.data)

    def toarray(self) -> Any:
        """The dense matrix."""
        height, width = self.shape
        return np.reshape(_adding(self.rows * width + self.columns, height * width) @ self.data, self.shape)


def _adding(places: Any, size: int) -> Any:
    """The matrix of ones and zeros that adds up the values for each of `size` places."""
    n = len(places)
    return scipy.sparse.csr_array((np.ones(n), (places, np.arange(n))), (size, n))


def csr_array(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **options: Any) -> Any:
    """A sparse array of SciPy's, or a `SparseArray` if the values are numbers.

    With numbers, `arg1` is `(data, indices, indptr)`, with rows that are compressed, or `(data, (rows, columns))`. The
    values have derivatives of any order in products and in `linalg.spsolve`. Errors are SciPy's; NotImplementedError
    for complex numbers that are being differentiated.

    >>> from shiftreset_ad import grad
    >>> x = np.array([1.0, 2.0])
    >>> grad(lambda data: np.sum(csr_array((data, [0, 1], [0, 2, 2]), (2, 2)) @ x))(np.array([3.0, 4.0]))
    array([1., 2.])
    """
    return _made(scipy.sparse.csr_array, arg1, shape, dtype, copy, options)


def csc_array(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **options: Any) -> Any:
    """The same as `csr_array` with columns that are compressed: `(data, indices, indptr)` has the rows in `indices`.

    >>> from shiftreset_ad import grad
    >>> x = np.array([1.0, 2.0])
    >>> grad(lambda data: np.sum(csc_array((data, [0, 1], [0, 2, 2]), (2, 2)) @ x))(np.array([3.0, 4.0]))
    array([1., 1.])
    """
    return _made(scipy.sparse.csc_array, arg1, shape, dtype, copy, options)


def _made(theirs: Any, arg1: Any, shape: Any, dtype: Any, copy: bool, options: Any) -> Any:
    if not has_number(arg1):
        return theirs(arg1, shape=shape, dtype=dtype, copy=copy, **options)
    data, *places = arg1
    data = in_double(data, NAME)
    shape = theirs((value(data), *places), shape=shape).shape  # for its errors
    if len(places) == 1:
        rows, columns = map(np.asarray, places[0])
        return SparseArray(data, rows, columns, shape)
    indices, indptr = map(np.asarray, places)
    along = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    rows, columns = (along, indices) if theirs is scipy.sparse.csr_array else (indices, along)
    return SparseArray(data[: len(along)], rows, columns, shape)
