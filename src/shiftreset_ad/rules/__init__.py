"""The mathematics: for every NumPy function, its derivative, stated once and used by every mode.

`table` says what forms a rule can take; the other files are tables, one family each. A rule computes with ordinary
operators and NumPy functions on the values *one level below* the number being differentiated. These may be numbers
themselves, and so nesting falls out. Rules know nothing of continuations, adjoints or tapes.
"""

from shiftreset_ad.rules import (  # noqa: F401 (they enter their rules)
    accumulations,
    calculus,
    calling,
    choosing,
    convolution,
    counting,
    elementwise,
    fourier,
    grids,
    indexing,
    integrals,
    interpolation,
    linalg,
    missing,
    padding,
    polynomials,
    products,
    quantiles,
    reductions,
    selection,
    sets,
    shapes,
    sorting,
    statistics,
)
from shiftreset_ad.rules.table import COMPOSITE, CONSTANT, ELEMENTWISE, STRUCTURED, Elementwise, LinearMap, Structured

__all__ = [
    "COMPOSITE",
    "CONSTANT",
    "ELEMENTWISE",
    "STRUCTURED",
    "Elementwise",
    "LinearMap",
    "Structured",
    "elementwise",
    "indexing",
    "products",
    "reductions",
    "shapes",
]
