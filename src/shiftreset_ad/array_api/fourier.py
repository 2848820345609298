"""NumPy's Fourier transforms, by the standard's extension for them; transforms of several axes are composite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.array_api.promotion import common_dtype
from shiftreset_ad.array_api.standard import entered


def _transform(name: str, of_complex: bool) -> Callable[..., Any]:
    def transform(a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: None = None) -> Any:
        dtype = common_dtype((a,), floating=True)
        a = a.astype(np.result_type(dtype, np.complex64) if of_complex else dtype)
        return a.like(getattr(a.xp.fft, name)(a.array, n=n, axis=axis, norm=norm or "backward"))

    return transform


for _name in ("fft", "ifft", "irfft", "hfft"):
    entered(getattr(np.fft, _name))(_transform(_name, of_complex=True))
for _name in ("rfft", "ihfft"):
    entered(getattr(np.fft, _name))(_transform(_name, of_complex=False))
