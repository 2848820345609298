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
from shiftreset_ad.scipy.forwarding import in_double, no_derivative

NAME = "scipy.sparse"


@dataclass(frozen=True)
class SparseArray:
    """A matrix of `shape` whose values `data: (n,)` are numbers, at plain places `rows: (n,)` and `columns: (n,)`.

    It has `@` with dense operands, `+` and `-` with sparse ones, `*` and `/` by a number without dimensions, `T`,
    `multiply`, `sum`, `diagonal` and `toarray`. Values at the same place are added. NotImplementedError for what else
    SciPy's arrays have.
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
        if _is_sparse(x):
            raise no_derivative("scipy.sparse: the product of two sparse arrays", "A.toarray() or products of vectors")
        x = in_double(x, NAME)
        shape = shape_of(x)
        if len(shape) not in (1, 2) or shape[0] != self.shape[1]:
            raise ValueError(f"scipy.sparse: an array of the shape {self.shape} and one of {shape} do not multiply")
        data = self.data if len(shape) == 1 else self.data[:, None]
        return _adding(self.rows, self.shape[0]) @ (data * x[self.columns])

    def __rmatmul__(self, x: Any) -> Any:
        """The product of a dense vector or matrix with this one."""
        if _is_sparse(x):
            return self @ x  # which raises
        return np.transpose(self.T @ np.transpose(in_double(x, NAME)))

    def __mul__(self, factor: Any) -> SparseArray:
        """The matrix times a number."""
        if shape_of(factor):
            raise TypeError(
                f"scipy.sparse: `*` takes a number here, and got an array of the shape {shape_of(factor)}; give an "
                "array to A.multiply(array) for a product of elements, or to A @ array"
            )
        return replace(self, data=self.data * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> SparseArray:
        """The matrix divided by a number."""
        return NotImplemented if shape_of(divisor) else replace(self, data=self.data / divisor)

    def __neg__(self) -> SparseArray:
        """The negated matrix."""
        return replace(self, data=-self.data)

    def __add__(self, other: Any) -> SparseArray:
        """The sum with another sparse matrix: the values of both."""
        if not _is_sparse(other):
            return NotImplemented
        if other.shape != self.shape:
            raise ValueError(f"scipy.sparse: arrays of the shapes {self.shape} and {other.shape} do not add up")
        other = of_scipy(other)
        return SparseArray(
            np.concatenate([self.data, other.data]),
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.columns, other.columns]),
            self.shape,
        )

    __radd__ = __add__

    def __sub__(self, other: Any) -> SparseArray:
        """The difference from another sparse matrix."""
        return self + -other if _is_sparse(other) else NotImplemented

    def __rsub__(self, other: Any) -> SparseArray:
        """The difference of another sparse matrix from this one."""
        return -self + other if _is_sparse(other) else NotImplemented

    def multiply(self, factors: Any) -> SparseArray:
        """The matrix with its elements multiplied by those of a dense array that broadcasts to it."""
        if _is_sparse(factors):
            raise no_derivative("scipy.sparse: multiply by a sparse array", "A.multiply(B.toarray())")
        table = np.broadcast_to(in_double(factors, NAME), self.shape)
        return replace(self, data=self.data * table[self.rows, self.columns])

    def sum(self, axis: int | None = None) -> Any:
        """The sum of all elements, of each column (axis 0) or of each row (axis 1)."""
        if axis is None:
            return np.sum(self.data)
        if axis not in (0, 1, -1, -2):
            raise ValueError(f"scipy.sparse: axis is {axis!r}; give None, 0 or 1")
        return _adding(self.columns, self.shape[1]) @ self.data if axis in (0, -2) else self.T.sum(0)

    def diagonal(self) -> Any:
        """The elements of the main diagonal."""
        on = self.rows == self.columns
        return _adding(self.rows[on], min(self.shape)) @ self.data[on]

    def toarray(self) -> Any:
        """The dense matrix."""
        height, width = self.shape
        return np.reshape(_adding(self.rows * width + self.columns, height * width) @ self.data, self.shape)

    def __getitem__(self, index: Any) -> Any:
        raise no_derivative("scipy.sparse: an index of a sparse array", "A.toarray()[index]")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(scipy.sparse.csr_array, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise no_derivative(f"scipy.sparse.csr_array.{name}", "`@`, `+`, `multiply`, `sum`, `T` or `toarray()`")


def of_scipy(matrix: Any) -> SparseArray:
    """A sparse array of SciPy's by its values and their places."""
    if isinstance(matrix, SparseArray):
        return matrix
    found = scipy.sparse.coo_array(matrix)
    return SparseArray(in_double(found.data, NAME), found.row, found.col, found.shape)


def _is_sparse(x: Any) -> bool:
    return isinstance(x, SparseArray) or scipy.sparse.issparse(x)


def _adding(places: Any, size: int) -> Any:
    """The matrix of ones and zeros that adds up the values for each of `size` places."""
    n = len(places)
    return scipy.sparse.csr_array((np.ones(n), (places, np.arange(n))), (size, n))


def csr_array(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **options: Any) -> Any:
    """A sparse array of SciPy's, or a `SparseArray` if the values are numbers.

    With numbers, `arg1` is `(data, indices, indptr)`, with rows that are compressed, or `(data, (rows, columns))`; or a
    dense matrix, each of whose elements is then a value, as a zero has a derivative, too; or a `SparseArray`. The
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
    if isinstance(arg1, SparseArray):
        return arg1
    if not has_number(arg1):
        return theirs(arg1, shape=shape, dtype=dtype, copy=copy, **options)
    if not isinstance(arg1, tuple):
        dense = in_double(arg1, NAME)
        if len(shape_of(dense)) != 2:
            raise ValueError(f"scipy.sparse: a dense array has the shape {shape_of(dense)}; give it two axes")
        height, width = shape_of(dense)
        rows, columns = np.indices((height, width)).reshape(2, -1)
        return SparseArray(np.ravel(dense), rows, columns, (height, width))
    data, *places = arg1
    data = in_double(data, NAME)
    checked = theirs((np.zeros(shape_of(data)), *places), shape=shape)  # for its errors
    checked.check_format()  # places outside the array, too
    shape = checked.shape
    if len(places) == 1:
        rows, columns = map(np.asarray, places[0])
        return SparseArray(data, rows, columns, shape)
    indices, indptr = map(np.asarray, places)
    along = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    rows, columns = (along, indices) if theirs is scipy.sparse.csr_array else (indices, along)
    return SparseArray(data[: len(along)], rows, columns, shape)
