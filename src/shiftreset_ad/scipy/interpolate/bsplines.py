"""B-splines: the values by de Boor's recurrence, and splines through data by a banded system of equations.

Coefficients, knots and points may be numbers, and so may the data.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import scipy.interpolate  # type: ignore[import-untyped]

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.stand_ins import carried_out
from shiftreset_ad.scipy.forwarding import no_derivative
from shiftreset_ad.scipy.interpolate.piecewise import (
    Interpolator,
    along,
    entries,
    increasing,
    numbers_of,
    of_zeros,
)
from shiftreset_ad.scipy.linalg import solve_banded
from shiftreset_ad.transforms.constants import value

NAMES = {"clamped": 1, "natural": 2, "not-a-knot": None}  # of ends: the derivative that is zero there


class BSpline(Interpolator):
    """A spline of degree `k` with the coefficients `c: (n, ...)` at the knots `t: (n + k + 1,)`, as by SciPy's class.

    Coefficients, knots and points have derivatives of any order. Errors are SciPy's; NotImplementedError for a number,
    in methods other than a call, `derivative`, `antiderivative` and `integrate`. de Boor 1978, chapter X.

    >>> from shiftreset_ad import grad
    >>> float(grad(lambda c: BSpline([0.0, 0.0, 1.0, 1.0], c, 1)(0.25))(np.zeros(2))[1])
    0.25
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        if not has_number(t) and not has_number(c):
            self._take(scipy.interpolate.BSpline(t, c, k, extrapolate, axis))
            return
        t, c = numbers_of(t), numbers_of(c)
        checked = scipy.interpolate.BSpline(rising(t), of_zeros(c), k, extrapolate, axis)
        self._set(t, np.moveaxis(c, checked.axis, 0), checked.k, checked.extrapolate, checked.axis)

    def _take(self, theirs: Any) -> None:
        self._set(theirs.t, theirs.c, theirs.k, theirs.extrapolate, theirs.axis, theirs)

    def _set(self, t: Any, c: Any, k: int, extrapolate: Any, axis: int, theirs: Any = None) -> None:
        self.t, self.c, self.k, self.extrapolate, self.axis, self.theirs = t, c, k, extrapolate, axis, theirs

    def _ends(self) -> tuple[Any, Any]:
        return self.t[self.k], self.t[-1 - self.k]

    def _values(self, flat: Any, nu: int) -> Any:
        if nu < 0:
            raise NotImplementedError(f"Cannot do derivative order nu= {nu}")
        spline = self._slope(nu) if nu else self
        return _recurrence(spline.t, spline.c, spline.k, flat)

    def derivative(self, nu: int = 1) -> BSpline:
        """The derivative of order `nu`, as a spline; for a negative order, the antiderivative."""
        if self.theirs is not None:
            return BSpline.of_scipy(self.theirs.derivative(nu))
        if nu < 0:
            return self.antiderivative(-nu)
        scipy.interpolate.BSpline(value(self.t), of_zeros(self.c), self.k).derivative(nu)  # for its errors
        return self._slope(nu)

    def _slope(self, nu: int) -> BSpline:
        """The derivative of order `nu` by the coefficients. A spline that is zero has degree 0."""
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            if k == 0:
                c = 0.0 * c
                continue
            widths = along(t[k + 1 : -1] - t[1 : -k - 1], c)
            steps = np.diff(c[: shape_of(t)[0] - k - 1], axis=0)
            c = float(k) * steps / np.where(widths == 0.0, 1.0, widths)  # where knots coincide, no point asks for it
            t, k = t[1:-1], k - 1
        return _made(t, c, k, self)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """The antiderivative of order `nu`, as a spline that is zero at the first knot."""
        if self.theirs is not None:
            return BSpline.of_scipy(self.theirs.antiderivative(nu))
        if nu < 0:
            return self._slope(-nu)
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            n = shape_of(t)[0] - k - 1
            widths = along(t[k + 1 :] - t[: -k - 1], c)
            sums = np.cumsum(c[:n] * widths, axis=0) / (k + 1.0)
            c = np.concatenate([0.0 * sums[:1], sums])
            t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
        found = _made(t, c, k, self)
        found.extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return found

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from `a` to `b`, of the shape of the coefficients without the axis."""
        if self.theirs is not None and not has_number(a) and not has_number(b):
            return carried_out(self.theirs.integrate, a, b, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise no_derivative("scipy.interpolate.BSpline.integrate with extrapolate='periodic'")
        whole = _made(self.t, self.c, self.k, self)
        whole.axis = 0
        primitive = whole.antiderivative()
        if not extrapolate:
            a, b = (np.clip(end, *self._ends()) for end in (a, b))
        return primitive(b, extrapolate=True) - primitive(a, extrapolate=True)


def rising(t: Any) -> Any:
    """A plain array for SciPy's checks in place of knots, which may coincide."""
    rises = len(shape_of(t)) == 1 and bool(np.all(np.diff(t) >= 0.0))
    return np.arange(float(shape_of(t)[0])) if rises else value(t)


def _made(t: Any, c: Any, k: int, like: BSpline) -> BSpline:
    found = BSpline.__new__(BSpline)
    found._set(t, c, k, like.extrapolate, like.axis)
    return found


def _recurrence(t: Any, c: Any, k: int, flat: Any) -> Any:
    """De Boor's recurrence at points in one row: `(p, ...)`."""
    n = shape_of(t)[0] - k - 1
    last = max(np.searchsorted(t, t[n]) - 1, k) if k else n - 1  # the last interval that is not empty
    at = np.clip(np.searchsorted(t, flat, side="right") - 1, k, last)
    parts = [entries(c, at - k + j) for j in range(k + 1)]
    for r in range(1, k + 1):
        for j in range(k, r - 1, -1):
            left = entries(t, at + j - k)
            part = along((flat - left) / (entries(t, at + j + 1 - r) - left), c)
            parts[j] = (1.0 - part) * parts[j - 1] + part * parts[j]
    return parts[k] + 0.0 * along(flat, c)  # NaN stays NaN


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """The spline of degree `k` through the values `y` at `x: (n,)`, as SciPy's function gives it.

    `y` has the length n along `axis`. Data, knots, the derivatives in `bc_type`, and the points at which the spline is
    asked, have derivatives of any order. Errors are SciPy's; NotImplementedError for numbers with bc_type="periodic".
    de Boor 1978, chapter XIII.

    >>> from shiftreset_ad import grad
    >>> x = np.arange(5.0)
    >>> round(float(grad(lambda s: make_interp_spline(x, s * x)(2.5))(1.0)), 12)
    2.5
    """
    ends = [None, None] if bc_type in (None, "periodic") else [bc_type] * 2 if isinstance(bc_type, str) else [*bc_type]
    if any(isinstance(end, str) and end not in NAMES for end in ends):
        scipy.interpolate.make_interp_spline(x, of_zeros(y), k, t, bc_type, axis)  # for its error
    ends = [_conditions(end, y) for end in ends]
    told = [condition[1] for end in ends for condition in end]
    if not any(map(has_number, (x, y, t, *told))):
        return BSpline.of_scipy(scipy.interpolate.make_interp_spline(x, y, k, t, bc_type, axis, check_finite))
    if bc_type == "periodic":
        raise no_derivative("scipy.interpolate.make_interp_spline with bc_type='periodic'", "CubicSpline")
    x, y = numbers_of(x), numbers_of(y)
    plain = [None if not end else [(order, of_zeros(numbers_of(told))) for order, told in end] for end in ends]
    at = increasing(x) if t is None else value(x)
    checked = scipy.interpolate.make_interp_spline(
        at, of_zeros(y), k, None if t is None else value(numbers_of(t)), tuple(plain), axis, check_finite
    )
    y = np.moveaxis(y, checked.axis, 0)
    t = _knots(x, k, any(ends)) if t is None else numbers_of(t)
    found = BSpline.__new__(BSpline)
    found._set(t, y if k < 2 and not any(ends) else _coefficients(t, k, x, y, ends), k, True, checked.axis)
    return found


def _conditions(end: Any, y: Any) -> list[Any]:
    """The derivatives that are told at an end: pairs of an order and a value."""
    if end is None or (isinstance(end, str) and end == "not-a-knot"):
        return []
    return [(NAMES[end], np.zeros(shape_of(y)[1:]))] if isinstance(end, str) else [*end]


def _knots(x: Any, k: int, has_conditions: bool) -> Any:
    """The knots that SciPy chooses: the points, without some near the ends if no derivative is told there."""
    if k == 0:
        return np.concatenate([x, x[-1:]])
    inner, repeated = x, k
    if not has_conditions and k > 1:
        half = (k + 1) // 2
        inner, repeated = (x if k % 2 else (x[1:] + x[:-1]) / 2.0)[half : shape_of(x)[0] - (k % 2 == 0) - half], k + 1
    return np.concatenate([x[:1]] * repeated + [inner] + [x[-1:]] * repeated)


def _coefficients(t: Any, k: int, x: Any, y: Any, ends: list[Any]) -> Any:
    """The coefficients of the spline that has the values, and the told derivatives at its ends."""
    n = shape_of(t)[0] - k - 1
    basis = BSpline.__new__(BSpline)
    basis._set(t, np.eye(n), k, True, 0)
    first, last = (
        [basis(x[i : shape_of(x)[0] + i + 1 if i else 1], order) for order, _ in end]
        for i, end in zip((0, -1), ends, strict=True)
    )
    rows = np.concatenate([*first, basis(x), *last])
    told = [[np.reshape(numbers_of(told), (1, *shape_of(y)[1:])) for _, told in end] for end in ends]
    right = np.concatenate([*told[0], y, *told[1]])
    i = np.arange(n)
    diagonals = [
        np.where((i - d >= 0) & (i - d < n), rows[np.clip(i - d, 0, n - 1), i], 0.0) for d in range(k, -k - 1, -1)
    ]
    solved = solve_banded((k, k), np.stack(diagonals), np.reshape(right, (n, prod(shape_of(right)[1:]))))
    return np.reshape(solved, shape_of(right))
