"""Sparse arrays of SciPy's whose data may be staged, and plain arrays that stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse  # type: ignore[import-untyped]

from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.stand_ins import carried_out, is_staged


def fixed(array: Any) -> Any:
    """The array, to which nobody can write any more: so staging need not compare it in each call."""
    own = array if array.base is None else array.copy()
    own.flags.writeable = False
    return own


def with_data(pattern: Any, data: Any) -> Any:
    """A new sparse array with the entries of a pattern, and indices of its own. While it is staged, `data` is, too."""
    indices, ends = pattern.indices.copy(), pattern.indptr.copy()
    plain = np.empty(shape_of(data), dtype_of(data)) if is_staged(data) else data
    matrix = scipy.sparse.csr_array((plain, indices, ends), shape=pattern.shape)
    matrix.data = data
    return matrix


def times(matrix: Any, data: Any, x: Any, transposed: bool) -> Any:
    """`m @ x`, or `m.T @ x`, of a matrix m with these data in place of its own; one step if the data are staged."""
    if data is matrix.data and not is_staged(data):  # the usual case, for speed
        return (matrix.T if transposed else matrix) @ x
    return carried_out(_product, data, matrix.indices, matrix.indptr, matrix.shape, x, transposed)


def _product(data: Any, indices: Any, ends: Any, shape: tuple[int, int], x: Any, transposed: bool) -> Any:
    matrix = scipy.sparse.csr_array((data, indices, ends), shape=shape)
    return (matrix.T if transposed else matrix) @ x
