"""Linear algebra: `numpy.linalg`, and the products of `numpy` that are not in `rules.products`.

The formulas are those of Giles, Collected Matrix Derivative Results (2008), where no other source is named. A cotangent
is paired with a tangent by Re(sum(y_bar * y_dot)), so transposes are plain; the adjoint, which conjugates, is there
only where the function itself conjugates. Stacks of matrices work as they do in NumPy.

`equations` and `functions` are those of `scipy.linalg`; they are not imported here, as SciPy is optional.
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
