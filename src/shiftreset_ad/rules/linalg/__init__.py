"""Linear algebra: `numpy.linalg`, and the products of `numpy` that are not in `rules.numpy.products`.

The formulas are from Giles, Collected Matrix Derivative Results (2008), if no other source is named. A cotangent is
paired with a tangent by Re(sum(y_bar * y_dot)), so transposes are plain. Only where the function itself conjugates, the
rules use the adjoint, which conjugates. Stacks of matrices work as in NumPy.

`equations` and `functions` are for `scipy.linalg`; they are not imported here, as SciPy is optional.
"""

from shiftreset_ad.rules.linalg import (
    conditions,
    determinants,
    factorizations,
    general,
    hermitian,
    norms,
    powers,
    products,
    pseudoinverses,
    singular,
    solving,
)

__all__ = [
    "conditions",
    "determinants",
    "factorizations",
    "general",
    "hermitian",
    "norms",
    "powers",
    "products",
    "pseudoinverses",
    "singular",
    "solving",
]
