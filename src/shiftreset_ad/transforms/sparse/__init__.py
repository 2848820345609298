"""Sparse derivatives: where a Jacobian may differ from zero, which columns share a pass, and its entries.

`patterns` finds the pattern by a run with index sets, `colours` colours its columns and rows, `jacobians` computes the
entries in as many passes as there are colours, and `pictures` draws a pattern with its colours.
"""

from shiftreset_ad.transforms.sparse.colours import Colouring, colouring
from shiftreset_ad.transforms.sparse.jacobians import sparse_hessian, sparse_jacobian
from shiftreset_ad.transforms.sparse.patterns import sparsity

__all__ = ["Colouring", "colouring", "sparse_hessian", "sparse_jacobian", "sparsity"]
