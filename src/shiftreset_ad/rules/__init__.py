"""The mathematics: for every function of NumPy and SciPy, its derivative, stated once and used by every mode.

`table` says what forms a rule can take. `numpy`, `linalg` and `special` hold the rules, one family in each module. A
rule computes with ordinary operators and NumPy functions on the values *one level below* the number being
differentiated. These values may be numbers themselves, and so nesting falls out. Rules know nothing of continuations,
adjoints or tapes.
"""

from shiftreset_ad.rules import indexing, linalg, numpy
from shiftreset_ad.rules.table import COMPOSITE, CONSTANT, ELEMENTWISE, STRUCTURED, Elementwise, LinearMap, Structured

__all__ = [
    "COMPOSITE",
    "CONSTANT",
    "ELEMENTWISE",
    "STRUCTURED",
    "Elementwise",
    "LinearMap",
    "Structured",
    "indexing",
    "linalg",
    "numpy",
]
