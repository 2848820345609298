"""Cubic polynomials between the points of data: each is given by the values and the slopes at its two ends.

`CubicHermiteSpline` is told the slopes. `CubicSpline` has slopes with which the second derivative is continuous, and
`PchipInterpolator` and `Akima1DInterpolator` have slopes from the neighbours (`slopes`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate  # type: ignore[import-untyped]

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.scipy.interpolate.piecewise import PPoly, along, increasing, numbers_of, of_zeros
from shiftreset_ad.scipy.interpolate.slopes import akima, continuous, monotone


class Cubic(PPoly):
    """Cubic polynomials through points, by slopes."""

    def _through(self, make: Callable[[Any, Any], Any], x: Any, y: Any, slopes: Callable[[Any, Any], Any]) -> None:
        """Be SciPy's object, which `make` makes, for plain data, and otherwise the polynomials with these slopes."""
        if not has_number(x) and not has_number(y):
            self._take(make(x, y))
        else:
            self._by_slopes(x, y, make(increasing(numbers_of(x)), of_zeros(numbers_of(y))), slopes)

    def _by_slopes(self, x: Any, y: Any, checked: Any, slopes: Callable[[Any, Any], Any]) -> None:
        """Be the polynomials with these slopes; `checked` is SciPy's object for the plain data."""
        x, y = numbers_of(x), np.moveaxis(numbers_of(y), checked.axis, 0)
        d = slopes(x, y)
        h = along(np.diff(x), y)
        secants = np.diff(y, axis=0) / h
        bend = (d[:-1] + d[1:] - 2.0 * secants) / h
        c = np.stack([bend / h, (secants - d[:-1]) / h - bend, d[:-1], y[:-1]])
        self._set(c, x, checked.extrapolate, checked.axis)


class CubicHermiteSpline(Cubic):
    """Cubic polynomials with given values `y` and slopes `dydx` at `x: (n,)`, as by SciPy's class.

    `y` and `dydx` have the length n along `axis`. All three, and the points, have derivatives of any order. Errors are
    SciPy's, and the methods are those of `PPoly`.

    >>> from shiftreset_ad import grad
    >>> float(grad(lambda d: CubicHermiteSpline([0.0, 1.0], [0.0, 0.0], d)(0.5))(np.zeros(2))[0])
    0.125
    """

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        theirs = scipy.interpolate.CubicHermiteSpline
        if not any(map(has_number, (x, y, dydx))):
            self._take(theirs(x, y, dydx, axis, extrapolate))
            return
        checked = theirs(increasing(numbers_of(x)), *map(of_zeros, map(numbers_of, (y, dydx))), axis, extrapolate)
        d = np.moveaxis(numbers_of(dydx), checked.axis, 0)
        self._by_slopes(x, y, checked, lambda x, y: d)


class CubicSpline(Cubic):
    """The cubic spline through the values `y` at `x: (n,)`, as by SciPy's class: its second derivative is continuous.

    `bc_type` is "not-a-knot", "clamped", "natural", "periodic", or a pair of ends. An end is a name or a pair
    `(order, derivative)`, where the derivative may be a number. `y` has the length n along `axis`. Data, ends and
    points have derivatives of any order. Errors are SciPy's, and the methods are those of `PPoly`. de Boor 1978,
    chapter IV.

    >>> from shiftreset_ad import grad
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> round(float(grad(lambda t: CubicSpline(x, x**3)(t))(1.5)), 6)
    6.75
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        ends = _ends(bc_type)
        told = [end[1] for end in ends if isinstance(end, tuple)]
        if not any(map(has_number, (x, y, *told))):
            self._take(scipy.interpolate.CubicSpline(x, y, axis, bc_type, extrapolate))
            return
        plain = bc_type if isinstance(bc_type, str) else tuple(map(_plain_end, bc_type))
        data = increasing(numbers_of(x)), of_zeros(numbers_of(y))
        checked = scipy.interpolate.CubicSpline(*data, axis, plain, extrapolate)
        self._by_slopes(x, y, checked, lambda x, y: continuous(x, y, ends))


class PchipInterpolator(Cubic):
    """Cubic polynomials through the values `y` at `x: (n,)` that rise and fall as the data, as by SciPy's class.

    `y` has the length n along `axis`. Data and points have derivatives; where two neighbouring secants have different
    signs, the slope is zero, and so are its derivatives. Errors are SciPy's, and the methods are those of `PPoly`.
    Fritsch and Butland 1984.

    >>> from shiftreset_ad import grad
    >>> float(grad(lambda t: PchipInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])(t))(1.0))
    0.0
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        self._through(lambda x, y: scipy.interpolate.PchipInterpolator(x, y, axis, extrapolate), x, y, monotone)


class Akima1DInterpolator(Cubic):
    """Cubic polynomials through the values `y` at `x: (n,)`, with slopes from five points, as by SciPy's class.

    `method` is "akima" or "makima". `y` has the length n along `axis`. Data and points have derivatives. Errors are
    SciPy's, and the methods are those of `PPoly`. Akima 1970.

    >>> from shiftreset_ad import grad
    >>> x = np.arange(5.0)
    >>> float(grad(lambda t: Akima1DInterpolator(x, 2.0 * x)(t))(1.5))
    2.0
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, *, method: Any = "akima", extrapolate: Any = None) -> None:
        def make(x: Any, y: Any) -> Any:
            return scipy.interpolate.Akima1DInterpolator(x, y, axis, method=method, extrapolate=extrapolate)

        self._through(make, x, y, lambda x, y: akima(x, y, method))


def _ends(bc_type: Any) -> tuple[Any, Any]:
    """What holds at both ends: "not-a-knot", "periodic", or `(order, derivative)`."""
    named = {"clamped": (1, 0.0), "natural": (2, 0.0)}
    first, last = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    return tuple(named.get(end, end) if isinstance(end, str) else tuple(end) for end in (first, last))  # type: ignore[return-value]


def _plain_end(end: Any) -> Any:
    return end if isinstance(end, str) else (end[0], of_zeros(numbers_of(end[1])))
