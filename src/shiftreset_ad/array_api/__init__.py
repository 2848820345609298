"""Arrays of other libraries than NumPy that follow the Python array API standard, such as PyTorch's tensors.

The rules call NumPy's functions on the values one level below, and NumPy hands these calls on to whom the values
belong. So an array of another library is given to them in a `Standard`, which answers each call by the functions of the
array's own library: no rule knows of it.

*   `foreign`: which arrays these are, their dtypes, and the ways from one library to another;
*   `wrapped`: what is computed with in place of arrays; `adapter`: the class `Standard`;
*   `promotion`: the dtype that operands have in common; `parts`: indices;
*   `elementwise`, `reductions`, `shapes`, `choices`, `products`, `linalg`, `fourier`, `sets`: NumPy's functions, by the
    standard's;
*   `borders`: where derivatives of values of different libraries meet;
*   `torch_functions`: PyTorch's own functions of numbers.
"""

from shiftreset_ad.array_api import choices, elementwise, fourier, linalg, products, reductions, sets, shapes  # noqa: F401
from shiftreset_ad.array_api.libraries import MET, is_foreign
from shiftreset_ad.array_api.standard import Standard
from shiftreset_ad.rules.stand_ins import Wrapped

__all__ = ["MET", "Standard", "Wrapped", "is_foreign"]
