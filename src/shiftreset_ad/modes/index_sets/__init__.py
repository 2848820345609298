"""Index sets: for each element, the set of the inputs that it depends on, as a tangent of forward mode.

`number` has `IndexSets`, `sets` the sets themselves, `elementwise` the elementwise operations, and `ways` says how
other functions work on them.
"""

from shiftreset_ad.modes.index_sets.elementwise import make_operation
from shiftreset_ad.modes.index_sets.number import IndexSets
from shiftreset_ad.modes.index_sets.ways import WAYS
from shiftreset_ad.numbers.installing import install_operators

__all__ = ["IndexSets"]

install_operators(IndexSets, make_operation)
IndexSets.ways = WAYS
