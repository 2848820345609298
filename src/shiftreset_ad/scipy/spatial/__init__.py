"""`scipy.spatial`, with distances of numbers in `distance`. All other functions are SciPy's, and raise for numbers."""

from __future__ import annotations

import scipy.spatial  # type: ignore[import-untyped]

from shiftreset_ad.scipy.forwarding import forwarding
from shiftreset_ad.scipy.spatial import distance

__all__ = ["distance"]

__getattr__, __dir__ = forwarding(scipy.spatial, globals())
