"""`scipy.sparse`: sparse arrays whose values are numbers, and linear equations with them in `linalg`.

All other functions are SciPy's, and raise for numbers.
"""

from __future__ import annotations

import scipy.sparse  # type: ignore[import-untyped]

from shiftreset_ad.scipy.forwarding import forwarding
from shiftreset_ad.scipy.sparse import linalg
from shiftreset_ad.scipy.sparse.arrays import csc_array, csr_array

__all__ = ["csc_array", "csr_array", "linalg"]

__getattr__, __dir__ = forwarding(scipy.sparse, globals())
