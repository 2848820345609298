"""Functions of `scipy.linalg` that take numbers being differentiated.

SciPy's own functions convert their arguments to arrays, which loses derivatives. For plain arrays, the functions here
do the same as SciPy's. Everything else of `scipy.linalg` is SciPy's own, and raises for numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]

from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.linalg import equations, functions
from shiftreset_ad.rules.linalg.matrices import array_of, require_square
from shiftreset_ad.scipy.forwarding import forwarding

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "expm",
    "logm",
    "solve_banded",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
]

__getattr__, __dir__ = forwarding(scipy.linalg, globals())


def expm(A: Any) -> Any:  # noqa: N803 (SciPy's name)
    """The matrix exponential of `A: (..., n, n)`, of the same shape.

    Raises LinAlgError for matrices that are not square. Al-Mohy and Higham 2009, algorithm 6.4.

    >>> from shiftreset_ad import grad
    >>> bool(abs(grad(lambda t: expm(t * np.ones((1, 1)))[0, 0])(0.0) - 1.0) < 1e-12)
    True
    """
    A = array_of(A)  # noqa: N806
    require_square(A)
    return functions.exponential(A)


def logm(A: Any) -> Any:  # noqa: N803 (SciPy's name)
    """The principal logarithm of `A: (..., n, n)`, of the same shape; complex if A has a negative eigenvalue.

    Raises LinAlgError for matrices that are not square. Higham 2008, section 3.2.

    >>> from shiftreset_ad import grad
    >>> bool(abs(grad(lambda t: logm(t * np.eye(2))[0, 0])(2.0) - 0.5) < 1e-12)
    True
    """
    return functions.of_each_matrix(functions.logarithm, array_of(A))


def sqrtm(A: Any) -> Any:  # noqa: N803 (SciPy's name)
    """The principal square root of `A: (..., n, n)`, of the same shape; complex if A has a negative eigenvalue.

    Raises LinAlgError for matrices that are not square. Higham 2008, section 6.1.

    >>> from shiftreset_ad import grad
    >>> bool(abs(grad(lambda t: sqrtm(t * np.eye(2))[0, 0])(4.0) - 0.25) < 1e-12)
    True
    """
    return functions.of_each_matrix(functions.square_root, array_of(A))


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The solution of `a x = b` for a triangular `a: (n, n)` and `b: (n,)` or `(n, k)`.

    With `trans`, it solves the transposed system. `overwrite_b` is accepted, but nothing is overwritten. Raises
    LinAlgError for a singular `a`, and ValueError for shapes that do not fit or for another `trans`. Giles 2008,
    section 2.3.1.

    >>> from shiftreset_ad import grad
    >>> grad(lambda x: solve_triangular(np.array([[2.0]]), x)[0])(np.ones(1)).tolist()
    [0.5]
    """
    if trans not in equations.TRANSPOSITIONS:
        raise ValueError(f"scipy.linalg.solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', and is {trans!r}")
    operands = [array_of(a), array_of(b)]
    letter = equations.TRANSPOSITIONS[trans]
    return equations.triangular_solution(operands, letter, bool(lower), bool(unit_diagonal), check_finite)


def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The solution of `a x = b` for a banded matrix with the diagonals `ab: (l + u + 1, n)` and `b: (n,)` or `(n, k)`.

    The options to overwrite are accepted, but nothing is overwritten. Raises LinAlgError for a singular matrix, and
    ValueError for shapes that do not fit. Giles 2008, section 2.3.1.

    >>> from shiftreset_ad import grad
    >>> grad(lambda x: solve_banded((0, 0), np.array([[2.0]]), x)[0])(np.ones(1)).tolist()
    [0.5]
    """
    below, above = l_and_u
    return equations.banded_solution([array_of(ab), array_of(b)], (int(below), int(above)), check_finite)


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """The solution of `a x + x b = q`, for `a: (m, m)`, `b: (n, n)` and `q: (m, n)`.

    Raises LinAlgError if `a` and `-b` have a common eigenvalue. Bartels and Stewart 1972.

    >>> from shiftreset_ad import grad
    >>> one = np.ones((1, 1))
    >>> grad(lambda q: solve_sylvester(one, one, q)[0, 0])(one).tolist()
    [[0.5]]
    """
    return equations.sylvester_solution([array_of(a), array_of(b), array_of(q)])


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """The Cholesky factor of `a: (n, n)`, with zeros in the other triangle, and `lower`: for `cho_solve`.

    `overwrite_a` is accepted, but nothing is overwritten. Raises LinAlgError for a matrix that is not positive
    definite, and ValueError for a matrix with a NaN or an infinity, unless `check_finite` is false. Murray 2016,
    arXiv:1602.07527.

    >>> cho_factor(np.array([[4.0]]))[0].tolist()
    [[2.0]]
    """
    a = array_of(a)
    if check_finite and not np.all(np.isfinite(a)):
        raise ValueError("array must not contain infs or NaNs")
    return np.linalg.cholesky(a, upper=not lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """The solution of `a x = b` for `c_and_lower = cho_factor(a)`, and `b: (n,)` or `(n, k)`.

    `overwrite_b` is accepted, but nothing is overwritten. Raises ValueError for shapes that do not fit. Giles 2008,
    section 2.3.1.

    >>> cho_solve(cho_factor(np.array([[4.0]])), np.ones(1)).tolist()
    [0.25]
    """
    c, lower = c_and_lower
    first, second = ("N", "C") if lower else ("C", "N")
    y = solve_triangular(c, b, first, lower, check_finite=check_finite)
    return solve_triangular(c, y, second, lower, check_finite=check_finite)


def block_diag(*arrs: Any) -> Any:
    """The matrix with these matrices, each `(m_i, n_i)`, on its diagonal, and zeros elsewhere; a vector is one row.

    Raises ValueError for arrays of more than two dimensions.

    >>> block_diag([1.0, 2.0], 3.0).tolist()
    [[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]]
    """
    blocks = [np.atleast_2d(array_of(a)) for a in arrs] or [np.zeros((1, 0))]
    shapes = [shape_of(block) for block in blocks]
    if any(len(shape) > 2 for shape in shapes):
        raise ValueError(f"scipy.linalg.block_diag: the blocks must be matrices, but here have the shapes {shapes}")
    dtype = np.result_type(*map(dtype_of, blocks))
    width, start = sum(columns for _, columns in shapes), 0
    rows = []
    for block, (height, columns) in zip(blocks, shapes, strict=True):
        before, after = np.zeros((height, start), dtype), np.zeros((height, width - start - columns), dtype)
        rows.append(np.concatenate([before, block, after], axis=1))
        start += columns
    return np.concatenate(rows, axis=0)
