"""A function at its arguments, in coordinates: its values near them, and its derivatives by any operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.arguments import all_of
from shiftreset_ad.rules.broadcasting import dtype_of
from shiftreset_ad.testing.coordinates import Coordinates, Vector, part
from shiftreset_ad.testing.numerical import Estimate, by_complex_step, by_differences, steps

RTOL = {2: 2e-2, 4: 2e-4}  # by bytes of a real number
RTOL_OF_DOUBLE = 1e-7
SAFETY = 4.0  # a factor, as errors are only estimates
VAGUE = 0.1  # with a larger error, relative to the derivative, nothing can be said
ROUNDING = 64.0  # units in the last place
DOUBLE = float(np.finfo(np.float64).eps)

Linear: TypeAlias = Callable[[Vector], Vector]


class Tolerance(NamedTuple):
    """The tolerances of a check, and the largest step of differences; None means the default."""

    atol: float | None
    rtol: float | None
    eps: float | None


class Point:
    """A function at its arguments, in coordinates: the arguments `x`, the value `y`, and the names of both.

    `results` are the names of the entries of the value; the value is a tuple of entries unless it is `single`.
    `natural` has, for each coordinate of the value, how large it would be without cancellation.
    """

    def __init__(
        self,
        title: str,
        f: Callable[..., Any],
        args: Sequence[tuple[str, Any]],
        results: list[str],
        single: bool,
        natural: Vector | None,
        tolerance: Tolerance,
        generator: np.random.Generator,
    ) -> None:
        self.title, self.f, self.results, self.single = title, f, results, single
        self.tolerance, self.generator = tolerance, generator
        self.names = [name for name, _ in args]
        self.args = [copied(arg) for _, arg in args]
        self.arguments = all_of(title, self.args)
        self.xs = Coordinates(args)
        self.x = self.xs.vector(self.arguments.numbers)
        self._require_finite(self.xs, self.x)
        value = self._value()
        self.answers = trees.Parts(value)
        self.ys = Coordinates(list(zip(results, [value] if single else value, strict=True)))
        if not self.ys.dtypes:
            raise TypeError(
                f"{title}: the function returns no floating-point number, so there is no derivative to check"
            )
        self.y = self.ys.vector(self.answers.numbers)
        self._require_finite(self.ys, self.y)
        self.atol, self.rtol = tolerance.atol or 0.0, tolerance.rtol
        precisions = [np.finfo(dtype) for dtype in (*self.xs.dtypes, *self.ys.dtypes)]
        if self.rtol is None:
            self.rtol = max(RTOL.get(precision.dtype.itemsize, RTOL_OF_DOUBLE) for precision in precisions)
        self.rounding = ROUNDING * max(float(precision.eps) for precision in precisions)
        # In lower precision than double, cancellation often leaves only rounding errors in an element.
        size = np.abs(self.y) if self.rounding <= ROUNDING * DOUBLE else self.ys.spread(self.ys.largest(self.y))
        self.natural = size if natural is None else np.maximum(size, natural)
        self.floor = self.rounding * self.natural + self.atol
        eps_of_x = max(float(np.finfo(dtype).eps) for dtype in self.xs.dtypes)
        self.noise = self.ys.spread([max(eps_of_x, float(np.finfo(dtype).eps)) for dtype in self.ys.dtypes])
        self.wide = self._computes_in_double()
        if self.wide:
            self.noise = np.full_like(self.noise, DOUBLE)

    def _value(self) -> Any:
        """The value; AssertionError if it differs between two calls, or if the function changes its arguments."""
        first, second = (self._called_on_copies() for _ in range(2))
        if not identical(first, second):
            raise AssertionError(
                f"{self.title}: the function is not deterministic: two calls with the same arguments gave "
                f"{first!r:.80} and {second!r:.80}"
            )
        return first

    def _called_on_copies(self) -> Any:
        args = [copied(arg) for arg in self.args]
        value = copied(self.f(*args))  # a copy, as the function may use the same buffer again
        for name, arg, was in zip(self.names, args, self.args, strict=True):
            if not identical(arg, was):
                raise AssertionError(f"{self.title}: the function changes its arguments: it writes to {name}")
        return value

    def _require_finite(self, coordinates: Coordinates, vector: Vector) -> None:
        for place in np.flatnonzero(~np.isfinite(vector))[:1]:
            raise AssertionError(
                f"{self.title}: {coordinates.name(place)} is {shown(vector[place])}; a derivative can only be checked "
                "where arguments and values are finite"
            )

    def _computes_in_double(self) -> bool:
        """Whether the function computes in double precision if its arguments are given in double precision."""
        if np.all(self.noise <= DOUBLE):
            return False
        try:
            args = self.arguments.with_numbers(self.xs.structured(self.x, wide=True))
            numbers = trees.Parts(self.f(*args)).numbers
            close = np.abs(self.ys.vector(numbers) - self.y) <= self.rtol * np.abs(self.y) + self.floor
        except Exception:  # whatever f raises for another precision
            return False
        return bool(np.all(close)) and all(np.finfo(dtype_of(y)).eps <= DOUBLE for y in numbers)

    def at(self, x: Vector) -> Vector:
        """The value at other coordinates, complex ones too, for differences."""
        value = self.f(*self.arguments.with_numbers(self.xs.structured(x, self.wide)))
        y = self.ys.vector(trees.Parts(value).numbers)
        if y.dtype.kind == "c" and x.dtype.kind != "c":
            raise ValueError(f"{self.title}: the value is real at the arguments, but complex near them")
        return y

    def reference(self, v: Vector, scale: float) -> Estimate:
        """The derivative along `v` by values alone, with steps `scale` times as large as usual."""
        ladders = [[scale * h for h in ladder] for ladder in steps(self.x, v, self.noise, self.tolerance.eps)]
        y = self.at(self.x)
        found = by_differences(self.at, self.x, v, y, np.maximum(np.abs(y), self.natural), self.noise, ladders)
        if any(dtype.kind == "c" for dtype in (*self.xs.dtypes, *self.ys.dtypes)) or np.any(self.vague(found)):
            return found
        y_dot = by_complex_step(self.at, self.x, v, y, self.noise)
        if y_dot is None or not np.all(np.abs(y_dot - found.y_dot) <= SAFETY * found.error + self.floor):
            return found
        return Estimate(y_dot, np.minimum(found.error, ROUNDING * self.noise * np.abs(y_dot)), "the complex step says")

    def vague(self, found: Estimate) -> Vector:
        """For each coordinate of the value, whether the differences are too far apart to tell a derivative."""
        return ~(SAFETY * found.error <= VAGUE * np.maximum(np.abs(found.y_dot), self.natural) + self.atol)

    # Directions, with few bits each, so that they are the same in every precision

    def directions(self) -> list[Vector]:
        """Random directions of the size of the arguments: one for each number, or one for all if there are many.

        Elements of different size have directions of their own.
        """
        sizes = self.xs.sizes(self.x)
        v = self._eighths(self.xs.size) * sizes
        return [part(alone, sizes == size) for alone in self.xs.apart(v) for size in np.unique(sizes[alone != 0.0])]

    def cotangents(self) -> list[Vector]:
        """Random cotangents: one for each number in the value, or one for all if there are many."""
        return self.ys.apart(self._eighths(self.ys.size))

    def some_tangents(self) -> Any:
        """Tangents for the arguments, of the size of the arguments."""
        return self.arguments.derivative(self.xs.structured(self._eighths(self.xs.size) * self.xs.sizes(self.x)))

    def some_cotangent(self) -> Any:
        """A cotangent for the value."""
        return self.answers.derivative(self.ys.structured(self._eighths(self.ys.size), cotangent=True))

    def _eighths(self, size: int) -> Vector:
        signs, eighths = self.generator.choice([-1.0, 1.0], size), self.generator.integers(4, 9, size)
        return np.asarray(signs * eighths / 8.0)

    # Derivatives

    def forward(self, f_jvp: Callable[..., Any]) -> Linear:
        """v -> J v, by a function like `partial(jvp, f)`."""

        def pushforward(v: Vector) -> Vector:
            value, tangent = f_jvp(tuple(self.args), self.arguments.derivative(self.xs.structured(v)))
            self._require_value(value, "forward")
            with _wrong_if_refused(self.title):
                numbers = self.answers.derivatives_in(tangent, self.title, "the tangent", "the value")
            return self.ys.vector(numbers)

        return pushforward

    def reverse(self, f_vjp: Callable[..., Any]) -> Linear:
        """y_bar -> y_bar J, by a function like `partial(vjp, f)`."""
        value, pull = f_vjp(*self.args)
        self._require_value(value, "reverse")

        def pullback(y_bar: Vector) -> Vector:
            x_bars = pull(self.answers.derivative(self.ys.structured(y_bar, cotangent=True)))
            with _wrong_if_refused(self.title):
                numbers = self.arguments.derivatives_in(x_bars, self.title, "the cotangents of the arguments")
            return self.xs.vector(numbers, cotangent=True)

        return pullback

    def _require_value(self, value: Any, mode: str) -> None:
        """Raise AssertionError unless this is the value of the function, as a derivative operator returns it."""
        with _wrong_if_refused(self.title):
            found = self.ys.vector(trees.Parts(value).numbers)
        wrong = ~(np.abs(found - self.y) <= self.rtol * np.abs(self.y) + self.floor)
        for place in np.flatnonzero(wrong)[:1]:
            raise AssertionError(
                f"{self.title}: {self.ys.name(place)} is {shown(self.y[place])}, and {mode} mode says "
                f"{shown(found[place])}"
            )


def copied(tree: Any) -> Any:
    """A structure with copies of its arrays."""
    return trees.map_leaves(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, tree)


def identical(a: Any, b: Any) -> bool:
    """Whether two structures have the same numbers, arrays and strings in the same places."""
    (leaves_a, spec_a), (leaves_b, spec_b) = trees.flatten(a), trees.flatten(b)
    return spec_a == spec_b and all(map(_same_leaf, leaves_a, leaves_b))


def _same_leaf(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray | np.generic | float | complex):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind not in "fciub":
            return a.dtype == b.dtype and a.shape == b.shape
        return a.dtype == b.dtype and bool(np.array_equal(a, b, equal_nan=True))
    comparable = isinstance(a, int | str | bytes)
    return type(a) is type(b) and (not comparable or a == b)


def shown(x: Any) -> str:
    """A number, for a message."""
    return f"{float(x):.10g}"


@contextmanager
def _wrong_if_refused(title: str) -> Iterator[None]:
    """Make an error about the structure of a derivative a failure of the check."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{title}: {str(error).removeprefix(title + ': ')}") from None
