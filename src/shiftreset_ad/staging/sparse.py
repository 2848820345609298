"""Answers that are sparse arrays of SciPy's, such as those of `sparse_jacobian`: each answer is a new sparse array.

Their data are steps. Their indices are constants, which are copied for each answer.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Container
from typing import Any

import numpy as np
import optree
from numpy import ndarray

from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.steps.memory import owners_of
from shiftreset_ad.staging.steps.trace import UnstageableError


class Taken:
    """A sparse array in the structure of an answer: with plain data for a leaf it becomes a sparse array again."""

    __slots__ = ("data", "form")

    def __init__(self, matrix: Any) -> None:
        self.data = matrix.data
        self.form = copy.copy(matrix)
        self.form.data = None
        if not all(type(part) is ndarray for part in _indices(matrix)):
            raise UnstageableError("it returns a csr_array whose indices depend on its arguments")


def _made(form: Any, data: Any) -> Any:
    matrix = copy.copy(form)  # and not a new one, as SciPy looks at each part of it
    (matrix.data,), matrix.indices, matrix.indptr = data, form.indices.copy(), form.indptr.copy()
    return matrix


def _parts(taken: Any) -> tuple[Any, Any]:
    return (taken.data,), taken.form


KIND: Any = Taken
optree.register_pytree_node(KIND, _parts, _made, namespace=trees.NAMESPACE)


def is_by_rows(x: Any) -> bool:
    """Whether this is a `scipy.sparse.csr_array`."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and type(x) is sparse.csr_array


def taken_apart(parts: list[Any], spec: optree.PyTreeSpec, kept: Container[int]) -> tuple[list[Any], optree.PyTreeSpec]:
    """The parts of an answer, with the data of each sparse array in its place; and the structure of these parts.

    The `kept` parts, by their ids, stay whole.
    """
    if not any(map(is_by_rows, parts)):
        return parts, spec
    answer = trees.unflatten(spec, [Taken(part) if is_by_rows(part) else part for part in parts])
    return optree.tree_flatten(answer, is_leaf=lambda node: id(node) in kept, namespace=trees.NAMESPACE)


def with_data(leaves: list[Any]) -> list[Any]:
    """The leaves of an answer, with the data of each sparse array in its place."""
    return [leaf.data if is_by_rows(leaf) else leaf for leaf in leaves]


def require_own_indices(answer: Any, recorded: Any) -> None:
    """Raise UnstageableError if a sparse array in an answer shares its indices, so that copies would be others.

    The indices of another, `recorded` run must lie elsewhere.
    """
    leaves, _ = trees.flatten(answer)
    matrices = list(filter(is_by_rows, leaves))
    if not matrices:
        return
    others = list(filter(is_by_rows, trees.flatten(recorded)[0]))
    if len(set(map(id, matrices))) < len(matrices):
        raise UnstageableError("it returns a csr_array twice. Return the array once")
    mine = [id(owner) for matrix in matrices for owner in owners_of(_indices(matrix))]
    known = {id(owner) for owner in owners_of([*with_data(leaves), *map(_indices, others)])}
    if len(set(mine)) < len(mine) or not known.isdisjoint(mine):
        raise UnstageableError("it returns a csr_array that shares its indices. Return copies of the indices")


def same_form(x: Any, y: Any) -> bool:
    """Whether two sparse arrays have the same shape, and the same indices in the same order."""
    pairs = zip(_indices(x), _indices(y), strict=True)
    return x.shape == y.shape and all(p.dtype == q.dtype and np.array_equal(p, q) for p, q in pairs)


def _indices(matrix: Any) -> tuple[Any, Any]:
    return matrix.indices, matrix.indptr
