"""`scipy.sparse.linalg`: `spsolve` with derivatives in the values of the matrix and in the right-hand side.

The solution x of A x = b moves by A x_dot = b_dot - A_dot x. On the way back, A^T z = x_bar, and b_bar is z, and the
value at row i and column j gets -z_i x_j. Both are solutions again, so every order follows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse.linalg  # type: ignore[import-untyped]

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.stand_ins import carried_out
from shiftreset_ad.scipy.forwarding import forwarding, in_double, no_derivative
from shiftreset_ad.scipy.sparse.arrays import SparseArray, of_scipy
from shiftreset_ad.transforms.custom import custom_derivative

__all__ = ["spsolve"]

NAME = "scipy.sparse.linalg.spsolve"


class Places(NamedTuple):
    """Where the values of a matrix are, and how SciPy orders the columns."""

    rows: Any
    columns: Any
    shape: tuple[int, int]
    permutation: Any
    use_umfpack: bool

    @property
    def transposed(self) -> Places:
        """The places in the transposed matrix."""
        return self._replace(rows=self.columns, columns=self.rows)

    def times(self, data: Any, x: Any) -> Any:
        """The product of the matrix with a vector or a matrix."""
        return SparseArray(data, self.rows, self.columns, self.shape) @ x


def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:  # noqa: N803 (SciPy's name)
    """The solution of A x = b for a square sparse matrix `A: (n, n)` and a dense `b: (n,)` or `(n, k)`, as by SciPy.

    The values of `A` may be numbers (`sparse.csr_array`), and so may `b`; derivatives have any order, and solve the
    same equation or the transposed one. A matrix `b: (n, 1)` gives a vector, as in SciPy. Errors and warnings are
    SciPy's; NotImplementedError for a sparse `b` with numbers, and for complex numbers that are being differentiated.

    >>> from shiftreset_ad import grad
    >>> from shiftreset_ad.scipy.sparse import csr_array
    >>> b = np.array([6.0, 1.0])
    >>> grad(lambda p: spsolve(csr_array((np.stack([p, 1.0]), [0, 1], [0, 1, 2])), b)[0])(2.0)
    -1.5
    """
    of_numbers = isinstance(A, SparseArray)
    if isinstance(b, SparseArray) or (of_numbers and scipy.sparse.issparse(b)):
        raise no_derivative(f"{NAME} with a sparse right-hand side", "b.toarray()")
    if not (of_numbers or has_number(b)):
        return scipy.sparse.linalg.spsolve(A, b, permc_spec, use_umfpack)
    matrix = of_scipy(A)
    b, shape = in_double(b, NAME), matrix.shape
    if shape[0] != shape[1] or len(shape_of(b)) not in (1, 2) or shape_of(b)[0] != shape[0]:
        raise ValueError(f"{NAME}: the matrix has the shape {shape}, and the right-hand side {shape_of(b)}")
    if shape_of(b)[1:] == (1,):
        b = b[:, 0]
    # Copies, as the program may write the places of another matrix to the same arrays before the way back.
    rows, columns = np.array(matrix.rows), np.array(matrix.columns)
    return solution(Places(rows, columns, shape, permc_spec, use_umfpack), matrix.data, b)


def _solution(places: Places, data: Any, b: Any) -> Any:
    return carried_out(_by_scipy, data, b, *places)  # one step, if a value is staged


def _by_scipy(data: Any, b: Any, *places: Any) -> Any:
    rows, columns, shape, permutation, use_umfpack = places
    matrix = scipy.sparse.csc_array((data, (rows, columns)), shape)
    found = scipy.sparse.linalg.spsolve(matrix, b, permutation, use_umfpack)
    return np.reshape(found, np.shape(b))


solution: Any = custom_derivative(_solution, nondiff_argnums=0)


def _forward(places: Places, primals: Any, tangents: Any) -> Any:
    (data, b), (data_dot, b_dot) = primals, tangents
    x = solution(places, data, b)
    return x, solution(places, data, b_dot - places.times(data_dot, x))


def _fwd(places: Places, data: Any, b: Any) -> Any:
    x = solution(places, data, b)
    return x, (data, x)


def _bwd(places: Places, residuals: Any, x_bar: Any) -> Any:
    data, x = residuals
    z = solution(places.transposed, data, x_bar)
    at_places = z[places.rows] * x[places.columns]
    return -(at_places if len(shape_of(x)) == 1 else np.sum(at_places, axis=1)), z


solution.defjvp(_forward)
solution.defvjp(_fwd, _bwd)

__getattr__, __dir__ = forwarding(scipy.sparse.linalg, globals())
