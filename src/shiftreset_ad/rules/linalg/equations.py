"""Systems of equations of `scipy.linalg`: triangular and banded systems, and Sylvester's equation."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.linalg.matrices import adjoint, transposed
from shiftreset_ad.rules.numpy.products import conjugated
from shiftreset_ad.rules.table import LinearMap, dispatched, structured

TRANSPOSITIONS: dict[Any, str] = {0: "N", 1: "T", 2: "C", "N": "N", "T": "T", "C": "C"}


@dispatched
def triangular_solution(
    operands: list[Any], trans: str, lower: bool, unit_diagonal: bool = False, check_finite: bool = True
) -> Any:
    """`scipy.linalg.solve_triangular`."""
    a, b = operands
    return scipy.linalg.solve_triangular(a, b, trans, lower, unit_diagonal, check_finite=check_finite)


@structured(triangular_solution, kept=("operands",))
def _triangular_solution(
    operands: list[Any], trans: str, lower: bool, unit_diagonal: bool = False, check_finite: bool = True
) -> Any:
    a, b = operands
    x = triangular_solution(operands, trans, lower, unit_diagonal, check_finite)
    vector = len(shape_of(b)) == 1
    read = np.tri(shape_of(a)[-1], k=-1 if unit_diagonal else 0, dtype=bool)
    if not lower:
        read = np.tri(shape_of(a)[-1], k=0 if unit_diagonal else -1, dtype=bool)
        read = ~read

    def solution(a: Any, b: Any, trans: str) -> Any:
        return triangular_solution([a, b], trans, lower, unit_diagonal, False)

    def as_column(y: Any) -> Any:
        return np.expand_dims(y, -1) if vector else y

    def as_given(y: Any) -> Any:
        return y[..., 0] if vector else y

    def backward(y_bar: Cotangent) -> Cotangent:
        if trans == "C":  # the transpose of the adjoint is the conjugate
            return conjugated(solution(a, conjugated(as_column(y_bar)), "N"))
        return solution(a, as_column(y_bar), "T" if trans == "N" else "N")

    def pushforward_a(a_dot: Tangent) -> Tangent:
        change = np.where(read, a_dot, 0.0)
        change = {"N": change, "T": transposed(change), "C": adjoint(change)}[trans]
        return as_given(solution(a, -np.matmul(change, as_column(x)), trans))

    def pullback_a(y_bar: Cotangent) -> Cotangent:
        change = -np.matmul(backward(y_bar), transposed(as_column(x)))
        change = {"N": change, "T": transposed(change), "C": adjoint(change)}[trans]
        return np.where(read, change, 0.0)

    return x, (
        [
            LinearMap(pushforward_a, pullback_a),
            LinearMap(lambda b_dot: solution(a, b_dot, trans), lambda y_bar: as_given(backward(y_bar))),
        ],
    )


@dispatched
def sylvester_solution(operands: list[Any]) -> Any:
    """`scipy.linalg.solve_sylvester`."""
    return scipy.linalg.solve_sylvester(*operands)


@structured(sylvester_solution, kept=("operands",))
def _sylvester_solution(operands: list[Any]) -> Any:
    a, b, _ = operands
    x = sylvester_solution(operands)

    def forward(change: Any) -> Any:
        return sylvester_solution([a, b, change])

    def backward(y_bar: Cotangent) -> Cotangent:
        return sylvester_solution([transposed(a), transposed(b), y_bar])

    return x, (
        [
            LinearMap(
                lambda a_dot: -forward(np.matmul(a_dot, x)),
                lambda y_bar: -np.matmul(backward(y_bar), transposed(x)),
            ),
            LinearMap(
                lambda b_dot: -forward(np.matmul(x, b_dot)),
                lambda y_bar: -np.matmul(transposed(x), backward(y_bar)),
            ),
            LinearMap(forward, backward),
        ],
    )


@dispatched
def banded_solution(operands: list[Any], bands: tuple[int, int], check_finite: bool = True) -> Any:
    """`scipy.linalg.solve_banded`."""
    ab, b = operands
    return scipy.linalg.solve_banded(bands, ab, b, check_finite=check_finite)


@structured(banded_solution, kept=("operands",))
def _banded_solution(operands: list[Any], bands: tuple[int, int], check_finite: bool = True) -> Any:
    """The rule. Row r of the bands has, at place j, the element (i, j) of the matrix, where i = j + r - upper."""
    ab, b = operands
    x = banded_solution(operands, bands, check_finite)
    below, above = bands
    size = shape_of(ab)[1]
    vector = len(shape_of(b)) == 1
    columns = np.arange(size)
    rows = columns + np.arange(-above, below + 1)[:, None]
    inside = (rows >= 0) & (rows < size)
    rows = np.clip(rows, 0, max(size - 1, 0))

    def as_matrix(y: Any) -> Any:
        return np.expand_dims(y, -1) if vector else y

    def as_given(y: Any) -> Any:
        return y[..., 0] if vector else y

    def of_transpose() -> Any:
        """The bands of the transposed matrix: the bands of the matrix in reverse order, shifted."""
        places = columns + np.arange(-below, above + 1)[:, None]
        found = ab[np.arange(below + above, -1, -1)[:, None], np.clip(places, 0, max(size - 1, 0))]
        return np.where((places >= 0) & (places < size), found, 0.0)

    def backward(y_bar: Cotangent) -> Cotangent:
        return banded_solution([of_transpose(), as_matrix(y_bar)], (above, below), False)

    def pushforward_ab(ab_dot: Tangent) -> Tangent:
        places = columns - np.arange(-above, below + 1)[:, None]  # for each band, the column j of its element in row i
        clipped = np.clip(places, 0, max(size - 1, 0))
        entries = ab_dot[np.arange(below + above + 1)[:, None], clipped]
        entries = np.where((places >= 0) & (places < size), entries, 0.0)
        product = np.sum(np.expand_dims(entries, -1) * as_matrix(x)[clipped], axis=0)
        return -banded_solution([ab, as_given(product)], bands, False)

    def pullback_ab(y_bar: Cotangent) -> Cotangent:
        return np.where(inside, -np.sum(backward(y_bar)[rows] * as_matrix(x), axis=-1), 0.0)

    return x, (
        [
            LinearMap(pushforward_ab, pullback_ab),
            LinearMap(
                lambda b_dot: banded_solution([ab, b_dot], bands, False), lambda y_bar: as_given(backward(y_bar))
            ),
        ],
    )
