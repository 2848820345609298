"""Powers of a matrix, and products of many matrices."""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.linalg.matrices import array_of, require_square
from shiftreset_ad.rules.table import composite


@composite(np.linalg.matrix_power)
def _matrix_power(a: Any, n: int) -> Any:
    require_square(a)
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    shape = shape_of(a)
    if n == 0:
        return np.broadcast_to(np.eye(shape[-1], dtype=dtype_of(a)), shape).copy()
    if n < 0:
        a, n = np.linalg.inv(a), -n
    if n == 3:  # in the order in which NumPy multiplies
        return np.matmul(np.matmul(a, a), a)
    square, y = a, None
    while True:
        n, odd = divmod(n, 2)
        if odd:
            y = square if y is None else np.matmul(y, square)
        if n == 0:
            return y
        square = np.matmul(square, square)


@composite(np.linalg.multi_dot)
def _multi_dot(arrays: Any) -> Any:
    parts = [array_of(part) for part in arrays]
    if len(parts) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(parts) == 2:
        return np.dot(*parts)
    row, column = len(shape_of(parts[0])) == 1, len(shape_of(parts[-1])) == 1
    if row:
        parts[0] = parts[0][None, :]
    if column:
        parts[-1] = parts[-1][:, None]
    for part in parts:
        if len(shape_of(part)) != 2:
            raise np.linalg.LinAlgError(f"{len(shape_of(part))}-dimensional array given. Array must be two-dimensional")
    splits = cheapest_splits(tuple([shape_of(part)[0] for part in parts] + [shape_of(parts[-1])[1]]))

    def product(first: int, last: int) -> Any:
        if first == last:
            return parts[first]
        split = splits[first, last]
        return np.dot(product(first, split), product(split + 1, last))

    y = product(0, len(parts) - 1)
    if row and column:
        return y[0, 0]
    return np.ravel(y) if row or column else y


def cheapest_splits(sizes: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Where to split each product of matrices of these sizes in two, with the fewest multiplications.

    Cormen et al., Introduction to Algorithms, section 15.2.
    """
    splits: dict[tuple[int, int], int] = {}

    @cache
    def cost(first: int, last: int) -> int:
        if first == last:
            return 0
        costs = {
            split: cost(first, split) + cost(split + 1, last) + sizes[first] * sizes[split + 1] * sizes[last + 1]
            for split in range(first, last)
        }
        splits[first, last] = min(costs, key=costs.__getitem__)
        return costs[splits[first, last]]

    cost(0, len(sizes) - 2)
    return splits
