"""Does a program have NumPy's values, and one and the same derivative by every route and by differences?"""

from __future__ import annotations

import contextlib
import random
import warnings
import zlib
from collections import Counter
from typing import Any

import numpy as np

import shiftreset_ad as sr
from tests.fuzzing import plain
from tests.fuzzing.defects import left_out
from tests.fuzzing.differences import Slopes, slopes
from tests.fuzzing.programs import Program
from tests.fuzzing.rounding import STEP, runs_with_errors
from tests.fuzzing.routes import ROUTES, Route, along_line, dot, elements, total
from tests.fuzzing.thresholds import thresholds_at_least

LARGE = 1e5  # derivatives that are larger say more about rounding than about rules
CLOSE = 1e-8
CLOSE_IN_SINGLE = 2e-3
NEAR = 2.0**-20  # of a point, for another look at the second derivative
STEP_IN_SINGLE = 2.0**-20
RUNS = 8  # with errors of rounding
VAGUE = 1e-3  # errors of differences relative to the derivative, from which on they say nothing


def are_close(found: list[Any], expected: list[Any], close: float) -> bool:
    return all(
        np.shape(a) == np.shape(b) and np.all(np.abs(a - b) <= close * (1.0 + np.abs(b)))
        for a, b in zip(found, expected, strict=True)
    )


class Unsuitable(Exception):  # noqa: N818 (it is no error)
    """Nothing can be said of this program at its point: it has a kink, say."""


class Wrong(Exception):  # noqa: N818 (it is what is looked for)
    """A route gives another answer than expected, or none."""

    def __init__(self, route: str, found: Any, expected: Any, least: bool) -> None:
        shown = repr(found) if isinstance(found, BaseException) else found
        super().__init__(f"{route}: {shown}; expected {expected}")
        self.route, self.found, self.expected, self.least = route, found, expected, least

    @property
    def is_refused(self) -> bool:
        return isinstance(self.found, BaseException)


def check(program: Program, least: bool = False, only: str | None = None, counts: Counter[str] | None = None) -> None:
    """Raise Wrong if some route is, of those that are due for this program or `only` this one."""
    counts = Counter() if counts is None else counts
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        thresholds_at_least() if least else contextlib.nullcontext(),
    ):
        warnings.simplefilter("ignore", (RuntimeWarning, np.exceptions.ComplexWarning))
        Check(program, least, counts).run(only)


class Check:
    def __init__(self, program: Program, least: bool, counts: Counter[str]) -> None:
        self.program, self.least, self.counts = program, least, counts
        self.chance = random.Random(zlib.crc32(program.source.encode()))
        self.x, self.v = program.point(np.float64)

    def run(self, only: str | None) -> None:
        try:
            expected = self.expected()
        except Unsuitable as error:
            self.counts[f"unsuitable: {error}"] += 1
            raise
        if only in (None, "values"):
            self.compare_values(np.float64, 1e-11)
        arguments = self.arguments(np.float64)
        found = {"gradient": self.gradient}
        if only in (None, "differences"):
            self.compare_slope("differences", dot(self.gradient, self.v), expected.first, expected.first_error)
        found["slope"] = dot(self.gradient, self.v)
        avoided = left_out(self.program.source)
        due = [route for route in ROUTES.values() if self.is_due(route, only) and route.name not in avoided]
        for route in due:
            if route.answers not in found:
                reference = self.answer(ROUTES["forward_over_reverse"], arguments)
                found["hessian times v"] = reference
                found["curvature"] = dot(reference, self.v)
                if np.max(np.abs(reference), initial=0.0) > LARGE:
                    self.counts["unsuitable: large second derivatives"] += 1
                    return
                if self.is_tied(found["curvature"], expected):
                    self.counts["a tie at second order"] += 1
                else:
                    self.compare_slope("second differences", found["curvature"], expected.second, expected.second_error)
            self.compare(route.name, self.answer(route, arguments), found[route.answers])
            self.counts[route.name] += 1
        if self.program.has_single and only in (None, "single") and self.is_steady_in_single():
            self.compare_single()

    def is_tied(self, curvature: float, expected: Slopes) -> bool:
        """Whether the second derivative jumps at this very point, as two elements and their slopes are equal there.

        So it is for `np.maximum(0, x**2)` at 0. By the convention for ties the derivative is a mean there. Close by, on
        both sides, it is what the differences say.
        """
        error = CLOSE * (1.0 + abs(expected.second)) + expected.second_error
        if not np.isfinite(error) or abs(curvature - expected.second) <= error:
            return False
        f, several, x, v = self.arguments(np.float64)
        route = ROUTES["forward_over_reverse"]
        beside = [dot(self.answer(route, (f, several, along_line(x, t, v), v)), self.v) for t in (-NEAR, NEAR)]
        return bool(np.allclose(beside, expected.second, rtol=1e3 * NEAR, atol=1e3 * NEAR))

    def is_due(self, route: Route, only: str | None) -> bool:
        if only is not None:
            return route.name == only or (only == "second differences" and route.name == "forward_over_reverse")
        if route.only_real and np.iscomplexobj(self.x):
            return False
        return self.chance.random() < route.share

    def arguments(self, single: type) -> tuple[Any, ...]:
        function = self.program.function(sr, single)
        x, v = self.program.point(single)
        return (lambda x: total(elements(function(x)))), (lambda x: elements(function(x))), x, v

    def expected(self) -> Slopes:
        """The derivatives by differences, after a look at whether there are any that rounding leaves alone."""
        function = self.program.function(plain, np.float64)

        def along(t: float) -> float:
            return float(total(elements(function(along_line(self.x, t, self.v)))))

        try:
            noise = self.noise(function(self.x))
        except Exception as error:  # of NumPy: it takes another branch, say
            raise Unsuitable("rounding decides") from error
        if noise == np.inf:
            raise Unsuitable("rounding decides")
        try:
            found = slopes(along, noise)
        except Exception as error:
            raise Unsuitable("NumPy cannot run it") from error
        if not np.isfinite(found.first):
            raise Unsuitable("no differences")
        if found.kink > CLOSE * (1.0 + abs(found.first)):
            raise Unsuitable("a kink")
        f, _, x, _ = self.arguments(np.float64)
        self.gradient = self.answer(ROUTES["grad"], (f, None, x, None))
        if self.gradient.size and np.max(np.abs(self.gradient)) > LARGE:
            raise Unsuitable("large derivatives")
        return found

    def noise(self, values: list[Any]) -> float:
        """The error that rounding may make in the `total` of all values; infinite where it makes much of little."""
        expected, noise = total(elements(values)), 0.0
        for found in runs_with_errors(self.program, self.x, STEP, RUNS):
            if not are_close(found, values, LARGE * STEP):
                return np.inf
            noise = max(noise, abs(total(elements(found)) - expected))
        return max(noise, STEP * (1.0 + abs(expected)))

    def is_steady_in_single(self) -> bool:
        values = self.program.function(plain, np.float64)(self.x)
        runs = runs_with_errors(self.program, self.x, STEP_IN_SINGLE, RUNS)
        return all(are_close(found, values, CLOSE_IN_SINGLE) for found in runs)

    def answer(self, route: Route, arguments: tuple[Any, ...]) -> Any:
        before = arguments[2].copy()
        try:
            found = route.function(*arguments)
        except Exception as error:
            raise Wrong(route.name, error, "no error", self.least) from error
        if not np.array_equal(before, arguments[2]):
            raise Wrong(route.name, "the argument has been written to", "it is left as it is", self.least)
        return np.asarray(found)

    def compare(self, name: str, found: Any, expected: Any, error: float = 0.0, close: float = CLOSE) -> None:
        found, expected = np.asarray(found), np.asarray(expected)
        scale = 1.0 + float(np.max(np.abs(self.gradient), initial=0.0)) + float(np.max(np.abs(expected), initial=0.0))
        if found.shape != expected.shape or not np.all(np.abs(found - expected) <= close * scale + error):
            raise Wrong(name, found, expected, self.least)

    def compare_slope(self, name: str, found: Any, expected: float, error: float) -> None:
        """With what differences say, if they say enough."""
        if error < VAGUE * (1.0 + abs(expected)):
            self.compare(name, found, expected, error)
            self.counts[name] += 1
        else:
            self.counts[f"no {name}"] += 1

    def compare_values(self, single: type, close: float) -> None:
        """Each array has NumPy's values, dtype and shape, in both modes."""
        x, v = self.program.point(single)
        expected = self.program.function(plain, single)(x)
        function = self.program.function(sr, single)

        def with_values(x: Any) -> Any:
            arrays = function(x)
            return total(elements(arrays)), arrays

        for mode in ("vjp", "jvp"):
            try:
                if mode == "vjp":
                    arrays = sr.vjp(with_values, x, has_aux=True)[2]
                else:
                    arrays = sr.jvp(with_values, (x,), (v,), has_aux=True)[2]
            except Exception as error:
                raise Wrong("values", error, "no error", self.least) from error
            for name, found, wanted in zip(self.program.returned, arrays, expected, strict=True):
                same = np.shape(found) == np.shape(wanted) and np.asarray(found).dtype == np.asarray(wanted).dtype
                if not same or not np.allclose(found, wanted, rtol=close, atol=close):
                    raise Wrong("values", f"{name} = {found!r} by {mode}", f"{wanted!r}", self.least)

    def compare_single(self) -> None:
        """The same in lower precision, by two routes."""
        self.compare_values(np.float32, CLOSE_IN_SINGLE)
        arguments = self.arguments(np.float32)
        for name in ("grad", "jvp"):
            found = self.answer(ROUTES[name], arguments)
            expected = self.gradient if name == "grad" else dot(self.gradient, self.v)
            try:
                self.compare(name, found, expected, close=CLOSE_IN_SINGLE)
            except Wrong as wrong:
                raise Wrong("single", wrong.found, wrong.expected, self.least) from None
        self.counts["single"] += 1
