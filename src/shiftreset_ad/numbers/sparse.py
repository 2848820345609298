"""Products of numbers with constant sparse arrays of SciPy's: `S @ x`, `x @ S`, `S.dot(x)`, and `S * x` of a matrix.

SciPy calls `numpy.asanyarray(x)` to see what x is. If the answer is an array of objects without dimensions, SciPy
leaves the product to x (`LEAVING_IT_TO_US`). The product is linear: y = S x, and x_bar = S^T y_bar.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.array_api.libraries import is_sparse
from shiftreset_ad.numbers.dispatch import call
from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.stand_ins import carried_out
from shiftreset_ad.rules.table import LinearMap, structured

OPERATORS = {
    "add": "+",
    "subtract": "-",
    "sub": "-",
    "multiply": "*",
    "mul": "*",
    "divide": "/",
    "truediv": "/",
    "power": "**",
    "pow": "**",
}

# The functions of `scipy.sparse` that leave an operation to `x` if they get an array of objects without dimensions.
LEAVING_IT_TO_US = ("_matmul_dispatch", "_comparison")


def asked_by_sparse() -> str | None:
    """The name of the caller's caller if it is a function of `scipy.sparse`, which looks at an operand."""
    frame = sys._getframe(2)
    return frame.f_code.co_name if frame.f_globals.get("__name__", "").startswith("scipy.sparse.") else None


def arrays_of(a: Any) -> list[Any]:
    """The plain arrays of which a sparse matrix is made."""
    if a.format in ("lil", "dok"):
        a = a.tocoo()
    names = {"coo": ("row", "col"), "dia": ("offsets",)}.get(a.format, ("indices", "indptr"))
    return [a.data, *(getattr(a, name) for name in names)]


def matmul(a: Any, b: Any) -> Any:
    """`a @ b` of a sparse array and a number, in either order; ValueError where SciPy raises it."""
    return product(a, b) if is_sparse(a) else np.transpose(product(b, np.transpose(a), transposed=True))


def product(a: Any, x: Any, transposed: bool = False) -> Any:
    """`a @ x`, or `a.T @ x`, for a sparse `a`."""
    shape = shape_of(x)
    if not shape:
        raise ValueError("Scalar operands are not allowed, use '*' instead")
    if a.ndim > 2 or len(shape) > 2:
        raise NotImplementedError(
            "a sparse array and a number that is being differentiated can be multiplied if neither has more than two "
            "dimensions. Write the product with such parts, or with S.toarray()"
        )
    return times(a.reshape(1, -1), x)[0] if a.ndim == 1 else times(a, x, transposed)


def times(a: Any, x: Any, transposed: bool = False) -> Any:
    """`a @ x`, or `a.T @ x`, for a sparse matrix `a: (m, n)` and `x: (n,)` or `(n, k)`."""
    if has_number(x):
        return call(times, a, x, transposed)
    a = a.T if transposed else a
    # Some versions of SciPy drop the axis of a single row of a matrix of coordinates.
    return carried_out(operator.matmul, a.tocsr() if a.format == "coo" else a, x)


@structured(times, "x", kept=("a",), linear=True)
def _times(a: Any, x: Any, transposed: bool = False) -> Any:
    return times(a, x, transposed), (
        LinearMap(lambda x_dot: times(a, x_dot, transposed), lambda y_bar: times(a, y_bar, not transposed)),
    )


def elementwise(function: Callable[..., Any], a: Any, b: Any) -> Any:
    """`function(a, b)` of a sparse array and a number, in either order; `*` of a matrix is the product, as in SciPy.

    Raises TypeError for any other function, whose answer would mostly be sparse, with numbers in it.
    """
    sparse_first = is_sparse(a)
    is_matrix = not isinstance(a if sparse_first else b, sys.modules["scipy.sparse"].sparray)
    if is_matrix and function is operator.mul and shape_of(b if sparse_first else a):
        return matmul(a, b)
    symbol = OPERATORS.get(function.__name__)
    said, dense = (
        (f"{left} {symbol} {right}" if symbol else f"numpy.{function.__name__}({left}, {right})")
        for left, right in ((("S", "x"), ("S.toarray()", "x")) if sparse_first else (("x", "S"), ("x", "S.toarray()")))
    )
    of_product = "S @ (x * v) for (S * x) @ v, or " if symbol == "*" else ""
    raise TypeError(
        f"{said} of a sparse {'matrix' if is_matrix else 'array'} S and a number x that is being differentiated "
        f"has no derivative rule here. Use {of_product}{dense}, or shiftreset_ad.value(x) where a constant is meant"
    )
