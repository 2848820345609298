"""Whether a sparse matrix explains the products that it was read from, or the pattern lacks an entry.

A product with a random direction shows a lacking entry, unless it is too small beside the others of its line. The
products that gave the matrix show more, for nothing: where no entry of the pattern is, they are zero, and where several
entries fall together, they are the sum of these. So an entry that is read across the diagonal is compared, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftreset_ad.transforms.sparse.arrays import fixed, times

CHECKED = 1e-6  # the relative error of a product in double precision, above which the pattern lacks an entry
ACROSS = 1e-10  # the relative error of a sum of entries, above which the matrix is not symmetric
ROUNDINGS = 1000.0  # of the precision of the product, if these are more: in single precision
Products = NDArray[Any]
Places = NDArray[np.int64]


class Cells(NamedTuple):
    """The elements of the products that no single entry fills, by their places in all products of one kind."""

    empty: Places  # where no entry is
    shared: Places  # where several entries fall together
    entries: Places  # the entries of the shared ones, by their places in the data of the matrix,
    where: Places  # and of which of the shared ones each is a part


def cells_of(of_entry: Places, number: int) -> Cells:
    """The cells of this many elements, if each entry is in the cell `of_entry`; -1 is none."""
    inside = np.flatnonzero(of_entry >= 0)
    sizes = np.bincount(of_entry[inside], minlength=number)
    shared = np.flatnonzero(sizes > 1)
    entries = inside[sizes[of_entry[inside]] > 1]
    found = np.flatnonzero(sizes == 0), shared, entries, np.searchsorted(shared, of_entry[entries])
    return Cells(*map(fixed, found))


def unexplained(
    matrix: Any,
    products: Products,
    direction: Products,
    cells: Cells,
    relative: float = CHECKED,
    transposed: bool = False,
) -> int | None:
    """The first line of the matrix whose products are other than its entries; None if there is none.

    The products are those of the matrix, or of the transposed one.
    The last of the products is that of the direction, which is positive. An error is `relative` to what is summed.
    """
    of_direction, of_colours = products[-1], products[:-1].reshape(-1)
    checked = max(relative, _roundings(products))
    explained = times(matrix, matrix.data, direction, transposed)
    apart = np.abs(explained - of_direction)
    if not np.all(apart <= checked * np.abs(of_direction)):  # otherwise it is the usual case, for speed
        wrong = apart > checked * _sizes(matrix, direction, of_direction, transposed)
        wrong |= np.isfinite(explained) & ~np.isfinite(of_direction)
        if np.any(wrong):
            return int(np.flatnonzero(wrong)[0])
    empty = np.abs(of_colours[cells.empty])
    if np.any(empty):
        lines = cells.empty % len(of_direction)
        wrong = empty > _roundings(products) * _sizes(matrix, direction, of_direction, transposed)[lines]
        if np.any(wrong):
            return int(lines[wrong][0])
    if not len(cells.shared):
        return None
    parts, found = matrix.data[cells.entries], of_colours[cells.shared]
    apart = np.abs(np.bincount(cells.where, parts, len(found)) - found)
    checked = max(min(relative, ACROSS), _roundings(products))
    wrong = apart > checked * (np.bincount(cells.where, np.abs(parts), len(found)) + np.abs(found))
    return int(cells.shared[wrong][0]) % len(of_direction) if np.any(wrong) else None


def _roundings(products: Products) -> float:
    return ROUNDINGS * float(np.finfo(products.dtype).eps)


def _sizes(matrix: Any, direction: Products, product: Products, transposed: bool) -> Products:
    sizes: Products = times(matrix, np.abs(matrix.data), direction, transposed) + np.abs(product)
    return sizes
