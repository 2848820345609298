"""Polynomials between knots: their values, derivatives and integrals, with derivatives in everything.

The coefficients, the knots and the points may be numbers. Which polynomial counts at a point is a question with no
derivative. At a knot it is the polynomial on the right.
"""

from __future__ import annotations

from math import factorial
from typing import Any, Self

import numpy as np
import scipy.interpolate  # type: ignore[import-untyped]

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.stand_ins import carried_out
from shiftreset_ad.scipy.forwarding import guarded, in_double, no_derivative
from shiftreset_ad.transforms.constants import stop_gradient, value


def numbers_of(x: Any) -> Any:
    """An argument as an array or a number in float64; a list of numbers becomes one number."""
    return in_double(x, "scipy.interpolate")


def increasing(x: Any) -> Any:
    """A plain array for SciPy's checks in place of knots or points: of the same length, and increasing if they are.

    The values themselves are not looked at, so a staged function serves for other values, too.
    """
    rises = len(shape_of(x)) == 1 and bool(np.all(np.diff(x) > 0.0))
    return np.arange(float(shape_of(x)[0])) if rises else value(x)


def of_zeros(y: Any) -> Any:
    """A plain array of zeros for SciPy's checks in place of data: of the same shape, and finite if they are."""
    return np.zeros(shape_of(y)) if bool(np.all(np.isfinite(y))) else value(y)


class Interpolator:
    """What SciPy's object does for plain data and points, and our formulas for numbers.

    `theirs` is SciPy's object, or None if the data have numbers. A method that has no derivative here is SciPy's own,
    and raises NotImplementedError for numbers.
    """

    theirs: Any
    axis: int
    extrapolate: Any

    @classmethod
    def of_scipy(cls, theirs: Any) -> Self:
        """What SciPy's object is, for numbers, too."""
        found = cls.__new__(cls)
        found._take(theirs)
        return found

    def _take(self, theirs: Any) -> None:
        """Be SciPy's object."""
        raise NotImplementedError

    def _ends(self) -> tuple[Any, Any]:
        """Where the data begin and end."""
        raise NotImplementedError

    def _values(self, flat: Any, nu: int) -> Any:
        """The derivatives of order `nu` at points in one row: `(p, ...)`."""
        raise NotImplementedError

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value at the points `x`, of any shape, or the derivative of order `nu` there."""
        if self.theirs is not None and not has_number(x):
            return carried_out(self.theirs, x, nu, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        points = numbers_of(x)
        flat, (first, last) = np.ravel(points), self._ends()
        if extrapolate == "periodic":
            flat = first + (flat - first) % (last - first)
        values = self._values(flat, nu)
        if not extrapolate:
            inside = (flat >= first) & (flat <= last)
            values = values * along(np.where(inside, 1.0, np.nan), values)
        return at_points(values, points, self.axis)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "theirs":
            raise AttributeError(name)
        theirs = self.theirs
        whole = f"scipy.interpolate.{type(self).__name__}.{name}"
        if theirs is not None:
            return guarded(getattr(theirs, name), whole)
        if not hasattr(getattr(scipy.interpolate, type(self).__name__), name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise no_derivative(whole)


def along(x: Any, y: Any) -> Any:
    """A row `x: (n,)` in the number of dimensions of `y`, along the first axis."""
    return np.reshape(x, (-1,) + (1,) * (len(shape_of(y)) - 1))


def entries(table: Any, at: Any) -> Any:
    """The entries of an array or a number at some places, which may be staged: NumPy does not ask the places."""
    return np.take(table, at, axis=0) if has_number(table) else carried_out(np.take, table, at, axis=0)


def at_points(values: Any, points: Any, axis: int) -> Any:
    """Values `(p, ...)` at the flattened points, in the shape of the points at the place of the axis."""
    shape, rest = shape_of(points), shape_of(values)[1:]
    whole = np.reshape(values, shape + rest)
    return np.moveaxis(whole, tuple(range(len(shape))), tuple(range(axis, axis + len(shape)))) if axis else whole


class PPoly(Interpolator):
    """Polynomials between knots, as by SciPy's class: sum(c[k, i] * (t - x[i]) ** (K - k)) for x[i] <= t < x[i + 1].

    `c: (K + 1, m, ...)`, `x: (m + 1,)`, and `extrapolate` is True, False or "periodic". Coefficients, knots and points
    have derivatives of any order. Errors are SciPy's; NotImplementedError for methods other than a call, `derivative`,
    `antiderivative` and `integrate`, and for complex numbers that are being differentiated.

    >>> from shiftreset_ad import grad
    >>> float(grad(lambda t: PPoly([[1.0], [0.0]], [0.0, 1.0])(t))(0.5))
    1.0
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        if not has_number(c) and not has_number(x):
            self._take(scipy.interpolate.PPoly(c, x, extrapolate, axis))
            return
        c, x = numbers_of(c), numbers_of(x)
        checked = scipy.interpolate.PPoly(of_zeros(c), increasing(x), extrapolate, axis)
        for _ in range(2 if checked.axis else 0):  # SciPy brings the axis of the polynomials to the front
            c = np.moveaxis(c, checked.axis + 1, 0)
        self._set(c, x, checked.extrapolate, checked.axis)

    def _take(self, theirs: Any) -> None:
        self._set(theirs.c, theirs.x, theirs.extrapolate, theirs.axis, theirs)

    def _set(self, c: Any, x: Any, extrapolate: Any, axis: int, theirs: Any = None) -> None:
        self.c, self.x, self.extrapolate, self.axis, self.theirs = c, x, extrapolate, axis, theirs

    def _ends(self) -> tuple[Any, Any]:
        return self.x[0], self.x[-1]

    def _values(self, flat: Any, nu: int) -> Any:
        if nu < 0:
            raise ValueError("Order of derivative cannot be negative")
        return _evaluated(self.c, self.x, flat, nu)

    def derivative(self, nu: int = 1) -> PPoly:
        """The derivative of order `nu`, as piecewise polynomials; for a negative order, the antiderivative."""
        if self.theirs is not None:
            return PPoly.of_scipy(self.theirs.derivative(nu))
        if nu < 0:
            return self.antiderivative(-nu)
        degree = shape_of(self.c)[0] - 1
        factors = [factorial(degree - k) // factorial(degree - k - nu) for k in range(max(degree + 1 - nu, 0))]
        kept = [self.c[k] * float(factor) for k, factor in enumerate(factors)]
        return _made(np.stack(kept) if kept else 0.0 * self.c[:1], self)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The antiderivative of order `nu`: it is zero at the first knot, and continuous."""
        if self.theirs is not None:
            return PPoly.of_scipy(self.theirs.antiderivative(nu))
        if nu <= 0:
            return self.derivative(-nu)
        degree = shape_of(self.c)[0] - 1
        widths = along(np.diff(self.x), self.c[0])
        risen = [self.c[k] / float(degree - k + 1) for k in range(degree + 1)]
        over_each = sum(part * widths ** (degree - k + 1) for k, part in enumerate(risen))
        begins = np.concatenate([0.0 * over_each[:1], np.cumsum(over_each, axis=0)[:-1]])
        found = _made(np.stack([*risen, begins]), self)
        found.extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return found.antiderivative(nu - 1) if nu > 1 else found

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from `a` to `b`, of the shape of the data without the axis."""
        if self.theirs is not None and not has_number(a) and not has_number(b):
            return carried_out(self.theirs.integrate, a, b, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = _made(self.c, self)
        if extrapolate != "periodic":
            primitive = whole.antiderivative()
            primitive.axis = 0
            return primitive(b, extrapolate=extrapolate) - primitive(a, extrapolate=extrapolate)
        whole.extrapolate = True
        primitive = whole.antiderivative()
        primitive.axis = 0
        first, period = self.x[0], self.x[-1] - self.x[0]

        def up_to(end: Any) -> Any:
            rounds = stop_gradient(np.floor((end - first) / period))
            return rounds * primitive(self.x[-1]) + primitive(end - rounds * period)

        return up_to(b) - up_to(a)


def _made(c: Any, like: PPoly) -> PPoly:
    found = PPoly.__new__(PPoly)
    found._set(c, like.x, like.extrapolate, like.axis)
    return found


def _evaluated(c: Any, x: Any, flat: Any, nu: int) -> Any:
    """The polynomials at points in one row: `(p, ...)`. A point that is NaN gives NaN, by the arithmetic."""
    degree, pieces = shape_of(c)[0] - 1, shape_of(c)[1]
    at = np.clip(np.searchsorted(x, flat, side="right") - 1, 0, pieces - 1)
    t = along(flat - entries(x, at), c[0])
    total = 0.0 * t * entries(c[0], at)
    for k in range(max(degree + 1 - nu, 0)):
        total = total * t + entries(c[k], at) * float(factorial(degree - k) // factorial(degree - k - nu))
    return total
