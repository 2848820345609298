"""The determinant by expansion by minors, with the minors of one size in one array.

No minor is used twice: the number of multiplications is that of the recursion, about e times the factorial of the size.
Large minors are expanded one at a time, and their derivatives are taken at once, so memory stays small.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from benchmarks.gradbench.function import Function
from shiftreset_ad import fuse, grad

LARGEST_AT_ONCE = 8  # rows of a matrix whose minors fit into the cache


def determinant(a: Any) -> Any:
    if len(a) <= LARGEST_AT_ONCE:
        return all_at_once(a)
    expand = fuse(determinant) if len(a) == LARGEST_AT_ONCE + 1 else determinant
    terms = [a[0, j] * expand(np.delete(a[1:], j, axis=1)) for j in range(len(a))]
    return sum(terms[0::2]) - sum(terms[1::2])


def all_at_once(a: Any) -> Any:
    """From the minors of one element in the last row to the only one in all rows."""
    minors = np.ones(())
    for row, places in zip(a[::-1], places_in_rows(len(a)), strict=True):
        signed = np.concatenate((row, -row))
        minors = np.sum(signed[places] * np.reshape(minors, (-1, places.shape[1])), axis=1)
    return minors[0]


@cache
def places_in_rows(size: int) -> list[Any]:
    """For the minors with one row, two rows and so on: the columns of each, where odd terms have the negative row."""
    columns, places = np.arange(size)[None], []
    for rows in range(size, 0, -1):
        places.append(columns + size * (np.arange(rows) % 2))
        places[-1].flags.writeable = False  # so no operation makes a copy of it
        others = np.array([np.delete(np.arange(rows), j) for j in range(rows)], dtype=int)
        columns = np.concatenate(columns[:, others])
    return places[::-1]


def read(message: Any) -> tuple[Any]:
    return (np.reshape(message["A"], (message["ell"], message["ell"])),)


FUNCTIONS = {
    "primal": Function(determinant, read),
    "gradient": Function(grad(determinant), read, lambda gradient: gradient.ravel().tolist()),
}
