"""`scipy.signal`, with `convolve` and `lfilter` of numbers. All other functions are SciPy's, and raise for numbers."""

from __future__ import annotations

import scipy.signal  # type: ignore[import-untyped]

from shiftreset_ad.scipy.forwarding import forwarding
from shiftreset_ad.scipy.signal.convolution import convolve
from shiftreset_ad.scipy.signal.filtering import lfilter

__all__ = ["convolve", "lfilter"]

__getattr__, __dir__ = forwarding(scipy.signal, globals())
