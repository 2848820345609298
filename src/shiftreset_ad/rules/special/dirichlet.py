"""Dirichlet's kernel sin(n x / 2) / (n sin(x / 2)), also at the multiples of 2 pi."""

from __future__ import annotations

from typing import Any

import numpy as np

TERMS = 28


def slope_of_diric(x: Any, n: Any) -> Any:
    """The derivative in x. Where n sin(x / 2) is small, it uses the kernel's hypergeometric series in sin(x / 2)**2."""
    sine, cosine = np.sin(0.5 * x), np.cos(0.5 * x)
    close = np.absolute(n * sine) < 1
    series: Any = 1.0
    square = np.where(close, sine, 0.0) ** 2
    for k in range(TERMS, 0, -1):
        series = 1.0 + ((k + 0.5) ** 2 - 0.25 * n * n) / ((k + 1.5) * k) * square * series
    sign = np.where((cosine < 0) & (n % 2 == 0), -1.0, 1.0)
    near = sign * (1.0 - n * n) / 6.0 * series * sine * cosine
    x, below = np.where(close, 1.0, x), np.where(close, 1.0, sine)
    far = 0.5 * (np.cos(0.5 * n * x) - np.sin(0.5 * n * x) * cosine / (n * below)) / below
    return np.where((n > 0) & (n == np.floor(n)), np.where(close, near, far), np.nan)
