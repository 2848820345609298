"""Interpolation on a grid in several dimensions: weights along each axis, and their products."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import scipy.interpolate  # type: ignore[import-untyped]

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.stand_ins import carried_out
from shiftreset_ad.scipy.forwarding import no_derivative
from shiftreset_ad.scipy.interpolate.bsplines import make_interp_spline
from shiftreset_ad.scipy.interpolate.piecewise import along, entries, increasing, numbers_of, of_zeros
from shiftreset_ad.scipy.interpolate.slopes import monotone
from shiftreset_ad.scipy.values import with_value
from shiftreset_ad.transforms.constants import value

DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}


class RegularGridInterpolator:
    """Values on a grid, interpolated at points, as by SciPy's class.

    `points` has the coordinates of the grid along each axis, `(n1,), (n2,), ...`, and `values: (n1, n2, ..., *rest)`.
    Coordinates, values and points have derivatives, for the methods "linear", "nearest", "slinear", "cubic",
    "quintic" and "pchip". Errors are SciPy's; NotImplementedError for numbers with SciPy's methods of the past, which
    end in "_legacy".

    >>> from shiftreset_ad import grad
    >>> f = RegularGridInterpolator(([0.0, 1.0], [0.0, 1.0]), np.array([[0.0, 2.0], [4.0, 6.0]]))
    >>> grad(lambda x: f(x)[0])(np.array([0.5, 0.5])).tolist()
    [4.0, 2.0]
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        **solver: Any,
    ) -> None:
        self.grid = tuple(map(numbers_of, points))
        self.values = numbers_of(values) if has_number(values) else np.asarray(values)
        self.method, self.bounds_error, self.fill_value, self._solver = method, bounds_error, fill_value, solver
        self.is_plain = not any(map(has_number, (*self.grid, self.values)))
        if self.is_plain:
            self.theirs = self._of_scipy(points, values, method)
            return
        self._of_scipy(tuple(map(increasing, self.grid)), of_zeros(self.values), method)  # for its errors

    def _of_scipy(self, points: Any, values: Any, method: str) -> Any:
        theirs = scipy.interpolate.RegularGridInterpolator
        return theirs(points, values, method, self.bounds_error, self.fill_value, **self._solver)

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
        """The values at points, an array `(..., d)` or a tuple of d arrays, in the shape `(..., *rest)`."""
        if self.is_plain and not has_number(xi):
            return carried_out(self.theirs, xi, method, nu=nu)
        method, d = self.method if method is None else method, len(self.grid)
        if isinstance(xi, tuple) and len(xi) > 1:
            xi = np.stack(np.broadcast_arrays(*map(numbers_of, xi)), axis=-1)
        elif len(shape_of(xi := numbers_of(xi[0] if isinstance(xi, tuple) else xi))) < 2:
            xi = np.reshape(xi, (-1, d))
        if shape_of(xi)[-1] != d:
            raise ValueError(
                f"The requested sample points xi have dimension {shape_of(xi)[-1]} but this has dimension {d}"
            )
        if nu is not None and method not in DEGREES:
            raise ValueError(
                f"RegularGridInterpolator: nu is for the methods {', '.join(DEGREES)}, and not for {method!r}"
            )
        rows = np.reshape(xi, (-1, d))
        outside = self._outside(rows)
        if method in ("linear", "nearest"):
            found = self._by_corners(rows, method == "nearest")
        elif method in DEGREES:
            found = self._by_splines(rows, DEGREES[method], nu)
        elif method == "pchip":
            found = self._by_monotone_cubics(rows)
        else:
            raise no_derivative(f"scipy.interpolate.RegularGridInterpolator with method={method!r}", 'method="cubic"')
        if self.fill_value is not None:
            found = np.where(np.reshape(outside, (-1,) + (1,) * (len(shape_of(found)) - 1)), self.fill_value, found)
        found = np.reshape(found, shape_of(xi)[:-1] + shape_of(self.values)[d:])
        if method not in DEGREES:
            return found
        theirs = self._of_scipy(tuple(map(value, self.grid)), value(self.values), method)
        return with_value(found, theirs(value(xi), nu=nu))  # SciPy solves the equations of splines by few rounds

    def _outside(self, rows: Any) -> Any:
        """Which points lie outside of the grid. ValueError if there are any, and they are an error."""
        found = np.zeros(shape_of(rows)[0], bool)
        for axis, grid in enumerate(self.grid):
            low, high = np.minimum(grid[0], grid[-1]), np.maximum(grid[0], grid[-1])
            beyond = (rows[:, axis] < low) | (rows[:, axis] > high)
            if self.bounds_error and np.any(beyond):
                raise ValueError(f"One of the requested xi is out of bounds in dimension {axis}")
            found = found | beyond
        return found

    def _upwards(self) -> tuple[list[Any], Any]:
        """The coordinates, increasing along each axis, and the values at them."""
        grids, values = [], self.values
        for axis, grid in enumerate(self.grid):
            falls = bool(grid[-1] < grid[0])
            grids.append(grid[::-1] if falls else grid)
            values = np.flip(values, axis) if falls else values
        return grids, values

    def _by_corners(self, rows: Any, nearest: bool) -> Any:
        """The mean of the corners of the cell that a point lies in."""
        cells, parts = [], []
        grids, values = self._upwards()
        ones = (1,) * (len(shape_of(values)) - len(grids))
        for axis, grid in enumerate(grids):
            x = rows[:, axis]
            cell = _cell(grid, x)
            part = (x - entries(grid, cell)) / (entries(grid, cell + 1) - entries(grid, cell))
            cells.append(cell)
            parts.append(np.reshape(part, (-1, *ones)))
        if nearest:
            chosen = tuple(cell + (np.ravel(part) > 0.5) for cell, part in zip(cells, parts, strict=True))
            return values[chosen] + 0.0 * sum(parts)  # NaN stays NaN
        total: Any = 0.0
        for corner in product((0, 1), repeat=len(grids)):
            weight: Any = 1.0
            for side, part in zip(corner, parts, strict=True):
                weight = weight * (part if side else 1.0 - part)
            at = tuple(cell + side for cell, side in zip(cells, corner, strict=True))
            total = total + weight * values[at]
        return total

    def _by_monotone_cubics(self, rows: Any) -> Any:
        """Cubic polynomials along each axis, the last one first: each point has data of its own for the next axis."""
        grids, values = self._upwards()
        found = values[None]  # by points, or one row for all of them
        for axis in reversed(range(len(grids))):
            grid, x = grids[axis], rows[:, axis]
            data = np.moveaxis(found, axis + 1, 0)
            slopes = monotone(grid, data)
            cell = _cell(grid, x)
            at = np.arange(shape_of(x)[0]) if shape_of(found)[0] > 1 else np.zeros_like(cell)
            width, begin = entries(grid, cell + 1) - entries(grid, cell), entries(grid, cell)
            y0, y1, d0, d1 = data[cell, at], data[cell + 1, at], slopes[cell, at], slopes[cell + 1, at]
            h, s = along(width, y0), along((x - begin) / width, y0)
            left, right = y0 * (1.0 + 2.0 * s) + h * d0 * s, y1 * (3.0 - 2.0 * s) + h * d1 * (s - 1.0)
            found = left * (1.0 - s) ** 2 + right * s**2
        return found

    def _by_splines(self, rows: Any, degree: int, nu: Any) -> Any:
        """A spline along each axis: the weights of the values are the splines through the unit vectors."""
        grids, found = self._upwards()
        for axis, grid in enumerate(grids):
            order = 0 if nu is None else nu[axis]
            weights = make_interp_spline(grid, np.eye(shape_of(grid)[0]), degree)(rows[:, axis], order)
            found = np.einsum("pi,pi...->p..." if axis else "pi,i...->p...", weights, found)
        return found


def _cell(grid: Any, x: Any) -> Any:
    """The cell of the grid that each place lies in."""
    return np.clip(np.searchsorted(grid, x, side="right") - 1, 0, shape_of(grid)[0] - 2)
