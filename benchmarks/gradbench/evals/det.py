"""The determinant by expansion by minors, with the minors of one size in one array.

No minor is used twice: the number of multiplications is that of the recursion, about e times the factorial of the size.
The largest minors are expanded one at a time, and their derivatives are taken at once, so memory stays small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.function import Function
from shiftreset_ad import fuse, grad

LARGEST_AT_ONCE = 8  # rows of a minor whose sub-minors fit into the cache


def determinant(a: Any) -> Any:
    return minor(a, np.arange(len(a)))


def minor(a: Any, columns: Any) -> Any:
    """The determinant of the last rows of `a` in these columns."""
    if len(columns) <= LARGEST_AT_ONCE:
        return minors(a, columns)
    row = a[len(a) - len(columns)]
    expand = fuse(minor) if len(columns) == LARGEST_AT_ONCE + 1 else minor
    terms = [row[column] * expand(a, np.delete(columns, j)) for j, column in enumerate(columns)]
    return sum(terms[0::2]) - sum(terms[1::2])


def minors(a: Any, columns: Any) -> Any:
    """The same for each row of columns."""
    size = columns.shape[-1]
    row = a[len(a) - size]
    if size == 1:
        return row[columns[..., 0]]
    others = np.array([[k for k in range(size) if k != j] for j in range(size)])
    signs = (-1.0) ** np.arange(size)
    return np.sum(signs * row[columns] * minors(a, columns[..., others]), axis=-1)


def read(message: Any) -> tuple[Any]:
    return (np.reshape(message["A"], (message["ell"], message["ell"])),)


FUNCTIONS = {
    "primal": Function(determinant, read),
    "gradient": Function(grad(determinant), read, lambda gradient: gradient.ravel().tolist()),
}
