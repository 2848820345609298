"""Arrays of other libraries than NumPy that follow the Python array API standard, such as PyTorch's tensors.

The rules call NumPy's functions on the values one level below, and NumPy passes these calls on to the values. So an
array of another library is wrapped in a `Standard`. It answers each call by the functions of the array's own library,
and no rule knows of this.

*   `libraries`: which arrays belong to other libraries, their dtypes, and conversions between libraries;
*   `standard`: the class `Standard`;
*   `promotion`: the dtype that operands have in common; `indexing`: indices;
*   `elementwise`, `reductions`, `shapes`, `choices`, `products`, `linalg`, `fourier`, `sets`: definitions of NumPy's
    functions by the standard's functions;
*   `torch`: PyTorch's own functions, called with numbers.
"""

from shiftreset_ad.array_api import choices, elementwise, fourier, linalg, products, reductions, sets, shapes  # noqa: F401
from shiftreset_ad.array_api.libraries import MET, is_foreign
from shiftreset_ad.array_api.standard import Standard
from shiftreset_ad.rules.stand_ins import Wrapped

__all__ = ["MET", "Standard", "Wrapped", "is_foreign"]
