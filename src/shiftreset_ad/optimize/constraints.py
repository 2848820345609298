"""Constraints as projections: functions from a structure to the nearest structure that is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.linalg.matrices import array_of
from shiftreset_ad.rules.plain import plain


@dataclass(frozen=True)
class Box:
    """Bounds: every number lies between `lower` and `upper`.

    A bound is a number or an array for all variables, or a structure like the variables. Use -np.inf and np.inf where
    there is no bound. A minimum has derivatives in the bounds. Where a variable is at its bound, and its slope is zero
    as well, the minimum has a kink. Raises ValueError if the structure is another one, or if the bounds cross.

    >>> Box(0.0, 1.0)(np.array([-3.0, 0.5]))
    array([0. , 0.5])
    """

    lower: Any = -np.inf
    upper: Any = np.inf

    def __call__(self, x: Any) -> Any:
        """The nearest structure within the bounds."""
        parts = trees.Parts(x)
        lower, upper = self.of(self.lower, x), self.of(self.upper, x)
        for low, high in zip(lower, upper, strict=True):
            if np.any(plain(low) > plain(high)):
                raise ValueError(
                    f"Box: the lower bound {plain(low)!r:.60} is above the upper bound {plain(high)!r:.60}"
                )
        bounds = zip(parts.numbers, lower, upper, strict=True)
        return parts.with_numbers([np.minimum(np.maximum(number, low), high) for number, low, high in bounds])

    def of(self, bound: Any, x: Any) -> list[Any]:
        """The bound of each number of a structure."""
        numbers, bounds = trees.Parts(x).numbers, trees.Parts(_as_floats(bound)).numbers
        if len(bounds) == 1 and not shape_of(bounds[0]):
            return bounds * len(numbers)
        if len(bounds) != len(numbers):
            raise ValueError(
                f"Box: a bound has {len(bounds)} numbers, and the variables have {len(numbers)}; give one number, or a "
                "structure like the variables"
            )
        for given, shape in zip(map(shape_of, bounds), map(shape_of, numbers), strict=True):
            if given not in ((), shape):
                raise ValueError(
                    f"Box: a bound has the shape {given}, and its variable {shape}; give one number, or a structure "
                    "like the variables"
                )
        return bounds


def _as_floats(bound: Any) -> Any:
    return trees.map_leaves(lambda leaf: float(leaf) if isinstance(leaf, int) else leaf, bound)


@dataclass(frozen=True)
class Simplex:
    """Weights: all numbers of the variables together are not negative, and their sum is `total`.

    A minimum has derivatives in `total`. Raises ValueError unless `total` is positive. Held, Wolfe and Crowder 1974.

    >>> Simplex()(np.array([0.5, 1.5, -1.0]))
    array([0., 1., 0.])
    """

    total: Any = 1.0

    def __call__(self, x: Any) -> Any:
        """The nearest structure of weights."""
        parts = trees.Parts(x)
        rows = [np.reshape(array_of(number), (-1,)) for number in parts.numbers]
        vector = np.concatenate(rows)
        total = float(plain(self.total))
        if not total > 0.0:
            raise ValueError(f"Simplex: the total of the weights must be positive, and is {total!r}")
        plainly = np.sort(plain(vector))[::-1]
        if not np.all(np.isfinite(plainly)):
            return x
        surplus = (np.cumsum(plainly) - total) / np.arange(1, plainly.size + 1)
        is_used = plain(vector) > surplus[np.nonzero(plainly > surplus)[0][-1]]
        shift = (np.sum(vector[is_used]) - self.total) / int(np.sum(is_used))
        weights = np.where(is_used, vector - shift, 0.0)
        numbers, begin = [], 0
        for number in parts.numbers:
            shape = shape_of(number)
            end = begin + int(np.prod(shape))
            numbers.append(np.reshape(weights[begin:end], shape) if shape else weights[begin])
            begin = end
        return parts.with_numbers(numbers)
