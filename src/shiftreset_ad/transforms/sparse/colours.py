"""Which columns and rows of a sparse matrix share a pass: colourings, by greedy algorithms.

Columns that have no row in common can share a tangent, and rows that have no column in common can share a cotangent
(Curtis, Powell and Reid 1974). A symmetric matrix needs fewer: a star colouring of its columns (Coleman and More 1984).
The algorithms are those of Gebremedhin, Manne and Pothen 2005, "What color is your Jacobian?".
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse  # type: ignore[import-untyped]
from numpy.typing import NDArray

from shiftreset_ad.transforms.sparse.arrays import fixed, with_data
from shiftreset_ad.transforms.sparse.checks import Cells, cells_of
from shiftreset_ad.transforms.sparse.pictures import drawn

Colours: TypeAlias = NDArray[np.int64]  # -1 is no colour
By: TypeAlias = Literal["columns", "rows", "both", "symmetric"]
Of: TypeAlias = Literal["columns", "rows"]


class Colouring:
    """The colours of the columns and rows of a `pattern: (m, n)`, from 0; -1 where a column or row needs none.

    Each colour of a column is a product with a tangent, and each colour of a row a product with a cotangent: `passes`
    counts both. Nobody can write to its arrays. Notebooks show the pattern with its colours.
    """

    def __init__(self, pattern: Any, columns: Colours, rows: Colours, by: By) -> None:
        pattern.data, pattern.indices, pattern.indptr = map(fixed, (pattern.data, pattern.indices, pattern.indptr))
        self.pattern = pattern
        self.columns = fixed(columns)
        self.rows = fixed(rows)
        self.by = by
        self.of_columns, self.of_rows = map(_most, (columns, rows))
        self._places = fixed(_places(pattern, columns, rows, by, self.of_columns))

    @property
    def passes(self) -> int:
        """How many products with the matrix give all its entries."""
        return self.of_columns + self.of_rows

    def seeds(self, of: Of, check: bool = False) -> NDArray[np.float64]:
        """The tangents `(colours, n)`, or the cotangents `(colours, m)`: one where an element has the colour.

        For a `check` there is one row more, a direction in which all elements differ from zero.
        """
        rows = self._seeds_of_columns if of == "columns" else self._seeds_of_rows
        return rows if check else rows[:-1]

    def direction(self, of: Of) -> NDArray[np.float64]:
        """The direction for a check of the pattern."""
        found: NDArray[np.float64] = self.seeds(of, check=True)[-1]
        return found

    _seeds_of_columns = cached_property(lambda self: _seeds(self.columns, self.of_columns))
    _seeds_of_rows = cached_property(lambda self: _seeds(self.rows, self.of_rows))

    def cells(self, of: Of) -> Cells:
        """Which elements of these products are zero, and which are a sum of several entries."""
        return self._cells_of_columns if of == "columns" else self._cells_of_rows

    @cached_property
    def _cells_of_columns(self) -> Cells:
        i, j = _positions(self.pattern)
        of_entry = np.where(self.columns[j] >= 0, self.columns[j] * self.pattern.shape[0] + i, -1)
        return cells_of(of_entry, self.of_columns * self.pattern.shape[0])

    @cached_property
    def _cells_of_rows(self) -> Cells:
        i, j = _positions(self.pattern)
        of_entry = np.where(self.rows[i] >= 0, self.rows[i] * self.pattern.shape[1] + j, -1)
        return cells_of(of_entry, self.of_rows * self.pattern.shape[1])

    def entries(self, by_columns: Any, by_rows: Any) -> Any:
        """The matrix with these products: `(colours, m)` of the tangents, and `(colours, n)` of the cotangents.

        Either may be None, if there are none, and may have more rows.
        """
        parts = []
        for products, number in ((by_columns, self.of_columns), (by_rows, self.of_rows)):
            parts += [] if products is None else [products[:number].reshape(-1)]
        data = np.take(parts[0] if len(parts) == 1 else np.concatenate(parts), self._places)
        return with_data(self.pattern, data)

    def __repr__(self) -> str:
        return f"<a colouring: {self._in_words}>"

    @property
    def _in_words(self) -> str:
        m, n = self.pattern.shape
        return f"{m} x {n}, {self.pattern.nnz} entries, {self.passes} passes by {self.by}"

    def _repr_svg_(self) -> str:
        return drawn(self.pattern, self.columns, self.rows, self._in_words)


def _seeds(colours: Colours, number: int) -> NDArray[np.float64]:
    direction = np.random.default_rng(0).uniform(0.5, 1.5, len(colours))
    seeds: NDArray[np.float64] = fixed(np.concatenate([colours == np.arange(number)[:, None], direction[None]]))
    return seeds


def colouring(pattern: Any, by: By | None = None) -> Colouring:
    """Colour a pattern `(m, n)`, a sparse or dense array in which each entry that is not zero counts.

    `by` is "columns", "rows", "both" (a few dense rows by rows, and the rest by columns), or "symmetric", for a
    Hessian. By default it is, of the first three, the one with the fewest passes. Raises ValueError for another `by`,
    and for a pattern that is not symmetric.

    >>> colouring(np.eye(4)).passes
    1
    """
    matrix = as_pattern(pattern)
    ways = {"columns": _by_columns, "rows": _by_rows, "both": _by_both, "symmetric": _symmetric, None: _by_fewest}
    if by not in ways:
        raise ValueError(f'colouring: by must be "columns", "rows", "both" or "symmetric", and is {by!r}')
    return ways[by](matrix)


def as_pattern(pattern: Any) -> Any:
    """A pattern as a `csr_array` of bool, without entries that are zero."""
    matrix = scipy.sparse.csr_array(pattern)
    if matrix.ndim != 2:
        raise ValueError(f"colouring: the pattern must have two dimensions, and has {matrix.ndim}")
    matrix = matrix.astype(bool)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if max(*matrix.shape, matrix.nnz) <= np.iinfo(np.int32).max:  # half the memory, and what SciPy's solvers take
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


def _by_columns(matrix: Any) -> Colouring:
    return Colouring(matrix, _greedy(matrix.T.tocsr()), np.full(matrix.shape[0], -1), "columns")


def _by_rows(matrix: Any) -> Colouring:
    return Colouring(matrix, np.full(matrix.shape[1], -1), _greedy(matrix), "rows")


def _by_fewest(matrix: Any) -> Colouring:
    """By columns, rows or both, whichever takes the fewest passes; the first of these if several do."""
    found = _by_columns(matrix)
    if _at_least(matrix) < found.passes:
        found = min(found, _by_rows(matrix), key=lambda one: one.passes)
    both = _better_by_both(matrix, found)
    return found if both is None else both


def _by_both(matrix: Any) -> Colouring:
    found = _by_columns(matrix)
    found = _better_by_both(matrix, found) or found
    return Colouring(matrix, found.columns, found.rows, "both")


def _better_by_both(matrix: Any, found: Colouring) -> Colouring | None:
    """The k densest rows by rows, and the others by columns, for the best k of a few; None if none is better."""
    sizes = np.diff(matrix.indptr)
    order = np.argsort(-sizes, kind="stable")
    better = None
    for k in sorted({2**i for i in range(int(found.passes).bit_length())}):
        if k >= min(found.passes, matrix.shape[0]):
            break
        if 1 + sizes[order[k]] >= found.passes:  # a colour of a row, and those of the longest row that is left
            continue
        dense = np.zeros(matrix.shape[0], bool)
        dense[order[:k]] = True
        rows = np.full(matrix.shape[0], -1)
        rows[dense] = _greedy(matrix[np.flatnonzero(dense)])
        others = matrix.copy()
        others.data = np.repeat(~dense, sizes)
        others.eliminate_zeros()
        columns = _greedy(others.T.tocsr())
        candidate = Colouring(matrix, columns, rows, "both")
        if candidate.passes < found.passes:
            found = better = candidate
    return better


def _greedy(lines: Any) -> Colours:
    """Colours of the rows of a matrix, such that two rows with a common column differ; -1 for an empty row.

    In the natural order, which is best for bands, or with the longest rows first, whichever takes fewer colours.
    """
    natural = _in_order(lines, range(lines.shape[0]))
    if _most(natural) == _at_least(lines):
        return natural
    longest = np.argsort(-np.diff(lines.indptr), kind="stable").tolist()
    return min(natural, _in_order(lines, longest), key=_most)


def _most(colours: Colours) -> int:
    """How many colours there are."""
    return int(np.max(colours, initial=-1)) + 1


def _at_least(lines: Any) -> int:
    """How many colours the rows of a matrix take at least: as many as there are entries in its longest column."""
    return int(np.max(np.bincount(lines.indices, minlength=1)))


def _in_order(lines: Any, order: Iterable[int]) -> Colours:
    indices, ends = lines.indices.tolist(), lines.indptr.tolist()
    used: list[set[int]] = [set() for _ in range(lines.shape[1])]  # the colours in each column
    colours = np.full(lines.shape[0], -1)
    for i in order:
        places = indices[ends[i] : ends[i + 1]]
        if places:
            colour = _first_free(set().union(*[used[j] for j in places]))
            colours[i] = colour
            for j in places:
                used[j].add(colour)
    return colours


def _first_free(taken: set[int]) -> int:
    colour = 0
    while colour in taken:
        colour += 1
    return colour


def _symmetric(matrix: Any) -> Colouring:
    """A star colouring: neighbours differ, and each path of four columns has three colours. Algorithm 4.1."""
    if matrix.shape[0] != matrix.shape[1] or (matrix != matrix.T).nnz:
        raise ValueError('colouring: by="symmetric" needs a symmetric pattern; use pattern + pattern.T')
    indices, ends = matrix.indices.tolist(), matrix.indptr.tolist()
    near = [[j for j in indices[ends[i] : ends[i + 1]] if j != i] for i in range(matrix.shape[0])]
    orders = range(len(near)), np.argsort([-len(neighbours) for neighbours in near], kind="stable").tolist()
    found = min((_star(near, order) for order in orders), key=partial(max, default=-1))
    colours = np.array(found, np.int64)
    empty = np.diff(matrix.indptr) == 0
    colours[empty] = -1
    return Colouring(matrix, colours, np.full(len(near), -1), "symmetric")


def _star(near: list[list[int]], order: Iterable[int]) -> list[int]:
    colours = [-1] * len(near)
    for v in order:
        taken: set[int] = set()
        for w in near[v]:
            if colours[w] >= 0:
                taken.add(colours[w])
            for x in near[w]:
                if x == v or colours[x] < 0 or colours[x] in taken:
                    continue
                if colours[w] < 0 or any(y != w and colours[y] == colours[w] for y in near[x]):
                    taken.add(colours[x])
        colours[v] = _first_free(taken)
    return colours


def _positions(pattern: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row and the column of each entry, in order."""
    return np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr)), pattern.indices.astype(np.int64)


def _places(pattern: Any, columns: Colours, rows: Colours, by: By, of_columns: int) -> NDArray[np.int64]:
    """For each entry, in order, where its value is among all products."""
    m, n = pattern.shape
    i, j = _positions(pattern)
    by_column = columns[j] * m + i
    if by != "symmetric":
        places = np.where(rows[i] >= 0, of_columns * m + rows[i] * n + j, by_column)
    else:  # the entry is alone in its product, or the entry across the diagonal is
        size = np.bincount(by_column, minlength=of_columns * m)
        places = np.where(size[by_column] == 1, by_column, columns[i] * m + j)
    found: NDArray[np.int64] = places.astype(np.int64)
    return found
