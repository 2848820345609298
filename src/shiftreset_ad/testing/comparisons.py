"""The derivatives of a function at a point, compared with each other and with differences of its values.

The derivatives by reverse mode are compared in the pairing with a cotangent and a tangent,
<y_bar, J x_dot> = <J^T y_bar, x_dot> (Krawiec et al. 2022, Lemma 1). A direction that fails is halved until one element
of the argument and one element of the result are left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import numpy as np

from shiftreset_ad.testing.coordinates import Coordinates, Vector, part
from shiftreset_ad.testing.numerical import Estimate
from shiftreset_ad.testing.points import SAFETY, Linear, Point, shown

OTHER_STEPS = 0.7

Form: TypeAlias = Callable[[Vector, Vector], float]  # of a direction and a cotangent


class Comparison:
    """The derivatives at a point, compared with the reference and, if there are both modes, with each other."""

    def __init__(self, point: Point, forward: Linear | None = None, reverse: Linear | None = None) -> None:
        self.point, self.forward, self.reverse = point, forward, reverse
        self._references: dict[tuple[bytes, float], Estimate] = {}

    def run(self) -> None:
        """Raise AssertionError if a derivative is wrong, or cannot be checked."""
        point = self.point
        for v in point.directions():
            self._require_settled(v)
            if self.forward is not None:
                off = self._forward_off(v)
                if np.any(off > 1.0):
                    worst = part(np.ones(point.ys.size), [np.argmax(off)])
                    self._fail(v, worst, lambda v, worst: float(self._forward_off(v)[worst != 0.0][0]), "forward")
            for y_bar in point.cotangents():
                if self.reverse is not None and self._reverse_off(v, y_bar) > 1.0:
                    self._fail(v, y_bar, self._reverse_off, "reverse")
                if self.forward is not None and self.reverse is not None and self._apart(v, y_bar) > 1.0:
                    self._fail(v, y_bar, self._apart, "both")

    def _reference(self, v: Vector, scale: float = 1.0) -> Estimate:
        key = v.tobytes(), scale
        if key not in self._references:
            self._references[key] = self.point.reference(v, scale)
        return self._references[key]

    def _require_settled(self, v: Vector) -> None:
        """Raise AssertionError if the values alone do not determine the derivative."""
        point, found = self.point, self._reference(v)
        for place in np.flatnonzero(point.vague(found))[:1]:
            raise AssertionError(
                f"{point.title}: differences cannot tell the derivative of {point.ys.name(place)} along a direction in "
                f"{self._described(point.xs, v)}: it is {shown(found.y_dot[place])}, with an error of about "
                f"{shown(found.error[place])}. The function may have a kink or a jump there, or be noisy. Check it "
                "elsewhere, or give eps (the largest step) or atol"
            )

    # How far two derivatives are apart, in units of the allowed difference

    def _forward_off(self, v: Vector) -> Vector:
        assert self.forward is not None
        y_dot = self.forward(v)

        def off(expected: Estimate) -> Vector:
            return _ratio(y_dot - expected.y_dot, self.point.rtol * np.abs(expected.y_dot) + self._allowed(expected))

        return self._confirmed(v, off)

    def _allowed(self, expected: Estimate) -> Vector:
        """The allowed difference: the error of the reference, and rounding errors from larger derivatives beside it."""
        ys = self.point.ys
        beside = self.point.rounding * ys.spread(ys.largest(expected.y_dot))
        return SAFETY * expected.error + self.point.floor + beside

    def _reverse_off(self, v: Vector, y_bar: Vector) -> float:
        assert self.reverse is not None
        x_bar = self.reverse(y_bar)

        def off(expected: Estimate) -> Vector:
            return self._off(x_bar * v, y_bar * expected.y_dot, np.abs(y_bar) @ self._allowed(expected))

        return float(self._confirmed(v, off))

    def _apart(self, v: Vector, y_bar: Vector) -> float:
        assert self.forward is not None
        assert self.reverse is not None
        allowed = np.abs(y_bar) @ self.point.floor
        return float(self._off(self.reverse(y_bar) * v, y_bar * self.forward(v), allowed))

    def _off(self, left: Vector, right: Vector, allowed: Any) -> Vector:
        """How far two sums are apart that should be equal; rounding errors add up as random numbers do."""
        size = np.sqrt(np.sum(left * left)) + np.sqrt(np.sum(right * right))
        return _ratio(np.sum(left) - np.sum(right), self.point.rtol * size + allowed)

    def _confirmed(self, v: Vector, off: Callable[[Estimate], Vector]) -> Vector:
        """The difference, confirmed with other steps: by chance an estimate of an error can be too small once."""
        first = off(self._reference(v))
        return first if np.all(first <= 1.0) else np.minimum(first, off(self._reference(v, OTHER_STEPS)))

    # What is wrong

    def _fail(self, v: Vector, y_bar: Vector, off: Form, mode: str) -> NoReturn:
        point = self.point
        v = _narrowed(v, lambda part: off(part, y_bar))
        y_bar = _narrowed(y_bar, lambda part: off(v, part))
        estimate = self._reference(v)
        of_reference = float(y_bar @ estimate.y_dot)
        # If one element is left, per unit of it; otherwise along the direction.
        unit = float(np.sum(v)) if np.count_nonzero(v) == 1 else 1.0
        unit *= float(np.sum(y_bar)) if np.count_nonzero(y_bar) == 1 else 1.0
        says = []
        if self.forward is not None and mode != "reverse":
            says.append(f"forward mode says {shown(y_bar @ self.forward(v) / unit)}")
        if self.reverse is not None and mode != "forward":
            says.append(f"reverse mode says {shown(self.reverse(y_bar) @ v / unit)}")
        says.append(f"{estimate.source} {shown(of_reference / unit)}")
        raise AssertionError(
            f"{point.title}: {self._described(point.xs, v)}: {', '.join(says)}, for the derivative of "
            f"{self._described(point.ys, y_bar)}"
        )

    @staticmethod
    def _described(coordinates: Coordinates, vector: Vector) -> str:
        places = np.flatnonzero(vector)
        if len(places) == 1:
            return coordinates.name(int(places[0]))
        names = coordinates.names_at(places)
        return f"several elements of {' and '.join(names)} together" if len(names) <= 2 else "several numbers together"


def _narrowed(vector: Vector, off: Callable[[Vector], float]) -> Vector:
    """A part of a vector that is still off, found by halving: one element if possible."""
    places = np.flatnonzero(vector)
    while len(places) > 1:
        parts = [part(vector, half) for half in np.array_split(places, 2)]
        worst = max(parts, key=off)
        if off(worst) <= 1.0:
            break
        vector, places = worst, np.flatnonzero(worst)
    return vector


def _ratio(difference: Any, allowed: Any) -> Vector:
    """A difference divided by the allowed one; infinite if it is not finite."""
    with np.errstate(all="ignore"):
        times = np.abs(difference) / allowed
        return np.where(difference == 0.0, 0.0, np.where(np.isfinite(difference), times, np.inf))
