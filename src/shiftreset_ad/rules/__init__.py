"""The mathematics: for every function of NumPy and SciPy, its derivative, stated once and used by every mode.

`table` has the forms that a rule can take. `numpy`, `linalg` and `special` have the rules, one family in each module. A
rule computes with ordinary operators and NumPy functions on the values *one level below* the number that is being
differentiated. These values may be numbers themselves, so nested derivatives need nothing more. Rules know nothing of
continuations, adjoints or tapes.
"""

from shiftreset_ad.rules import indexing, linalg, numpy
from shiftreset_ad.rules.table import (
    COMPOSITE,
    CONSTANT,
    ELEMENTWISE,
    RESTATED,
    STRUCTURED,
    Elementwise,
    JointMap,
    LinearMap,
    Structured,
)

__all__ = [
    "COMPOSITE",
    "CONSTANT",
    "ELEMENTWISE",
    "RESTATED",
    "STRUCTURED",
    "Elementwise",
    "JointMap",
    "LinearMap",
    "Structured",
    "indexing",
    "linalg",
    "numpy",
]
