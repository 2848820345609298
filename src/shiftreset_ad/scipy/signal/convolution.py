"""The convolution of arrays of several dimensions: SciPy's function makes arrays of its operands.

It does in several dimensions what `rules.numpy.convolution` does in one: each mode is the middle of the full
convolution, and the transpose is a convolution with the reversed other operand, where they overlap completely.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal  # type: ignore[import-untyped]

from shiftreset_ad.numbers.dispatch import call
from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.stand_ins import carried_out
from shiftreset_ad.rules.table import LinearMap, structured


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The convolution of two arrays with the same number of dimensions, as `scipy.signal.convolve`.

    The shape is the sum of both shapes, minus one along each axis. For the mode "same", it is the shape of `in1`; for
    "valid", it is the difference of both shapes, plus one along each axis. Raises ValueError for another mode or
    method, for different numbers of dimensions, and for "valid" if neither array is at least as large as the other
    along every axis.

    >>> from shiftreset_ad import grad
    >>> grad(lambda kernel: convolve([1.0, 2.0, 4.0], kernel)[2])(np.array([1.0, 1.0, 1.0])).tolist()
    [4.0, 2.0, 1.0]
    """
    if has_number(in1) or has_number(in2):
        return call(convolve, in1, in2, mode, method)
    return carried_out(scipy.signal.convolve, in1, in2, mode, method)


@structured(convolve, "in1", "in2", kept=("in1", "in2"), multilinear=True)
def _convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    y = convolve(in1, in2, mode, method)
    if not hasattr(in1, "shape"):
        in1 = np.asarray(in1)
    if not hasattr(in2, "shape"):
        in2 = np.asarray(in2)

    def overlap(y_bar: Cotangent, other: Any, shape: tuple[int, ...]) -> Any:
        widths = []
        for size, m, n in zip(shape_of(y_bar), shape, shape_of(other), strict=True):
            rest = m + n - 1 - size
            widths.append((rest // 2, rest - rest // 2))
        full = np.pad(y_bar, widths) if any(map(any, widths)) else y_bar
        return convolve(full, np.flip(other), "valid", method)

    return y, (
        LinearMap(
            lambda in1_dot: convolve(in1_dot, in2, mode, method), lambda y_bar: overlap(y_bar, in2, shape_of(in1))
        ),
        LinearMap(
            lambda in2_dot: convolve(in1, in2_dot, mode, method), lambda y_bar: overlap(y_bar, in1, shape_of(in2))
        ),
    )
