"""Programs that call a function, and then write to what it was given, or to what it gave: in NumPy, and in four modes.

What the writes change says which arrays share memory. The arrays that the function is given belong to the program, in
one of several layouts.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import ndarray

import shiftreset_ad as sr
from shiftreset_ad.numbers.number import in_memory

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda x: np.copy(x, order="C"),
    "F": lambda x: np.copy(x, order="F"),
    "part": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: np.flip(np.copy(np.flip(x), order="C")),
    "element": lambda x: np.copy(x)[0, ...],  # of arrays of one element: without dimensions
    "scalar": lambda x: x[0],  # of those, too: no array
}


def arrays_in(y: Any) -> list[Any]:
    return [part for each in y for part in arrays_in(each)] if isinstance(y, tuple | list) else [y]


def is_array(x: Any) -> bool:
    """Whether `x` is an array, or a number that has one: no scalar."""
    return isinstance(in_memory(x), ndarray)


def kind_of(x: Any) -> str:
    """That of its dtype, "-" for what has none."""
    return {float: "f", complex: "c"}.get(type(x)) or getattr(getattr(x, "dtype", None), "kind", "-")


def weights(x: Any) -> Any:
    """For each element another number, between 0.5 and 1.5."""
    return np.reshape(1.0 + 0.5 * np.cos(1.0 + np.arange(math.prod(x.shape))), x.shape)


def weighted(y: Any) -> Any:
    """A real number in which each element counts in its own way, and not linearly; 0 for what has no floats."""
    kind = kind_of(y)
    if kind == "c":
        return weighted(np.real(y)) + 0.7 * weighted(np.imag(y))
    if kind not in "fO":
        return 0.0
    return np.sum(np.sin(y) * weights(y)) if is_array(y) else np.sin(y)


def shared_by(xs: list[Any]) -> list[bool]:
    """Of each pair of arrays, whether they have an element in common."""
    plain = [in_memory(x) for x in xs]
    return [
        isinstance(x, ndarray) and isinstance(y, ndarray) and np.shares_memory(x, y)
        for i, x in enumerate(plain)
        for y in plain[:i]
    ]


class Program:
    """Calls `f` with arrays in this layout, writes to the `written` ones, "arguments" or "results", and sums up all.

    It takes real numbers, in real and imaginary parts where `f` takes complex ones. `seen` is what the last run saw of
    the arrays: which are arrays, and which of them share memory.
    """

    def __init__(self, f: Callable[..., Any], complex_ones: list[bool], layout: str, written: str) -> None:
        self.f, self.complex_ones, self.lie, self.written = f, complex_ones, LAYOUTS[layout], written
        self.seen: Any = None

    def __call__(self, *xs: Any) -> Any:
        parts = iter(xs)
        joined = [next(parts) + 1j * next(parts) if is_complex else next(parts) for is_complex in self.complex_ones]
        given = [self.lie(x) if is_array(x) else x for x in joined]
        results = arrays_in(self.f(*given))
        self.seen = [is_array(y) for y in results], shared_by([*given, *results])
        for x in given if self.written == "arguments" else results:
            if is_array(x) and kind_of(x) in "fcO":
                x *= weights(x)
        return sum(weighted(x) for x in [*given, *results])


def real_parts(x: Any) -> list[Any]:
    return [x.real.copy(), x.imag.copy()] if np.iscomplexobj(x) else [x]


def by_differences(f: Callable[..., Any], xs: list[Any], vs: list[Any], h: float = 1e-6) -> Any:
    """The derivative at `xs` along `vs`."""
    after, before = (f(*(x + step * v for x, v in zip(xs, vs, strict=True))) for step in (h, -h))
    return (after - before) / (2.0 * h)


def along(derivatives: Any, vs: list[Any]) -> Any:
    return sum(np.sum(d * v) for d, v in zip(derivatives, vs, strict=True))


# By each mode, the value and the derivative along `vs`


def by_reverse(f: Callable[..., Any], xs: list[Any], vs: list[Any]) -> Any:
    value, gradient = sr.value_and_grad(f, argnums=tuple(range(len(xs))))(*xs)
    return value, along(gradient, vs)


def by_forward(f: Callable[..., Any], xs: list[Any], vs: list[Any]) -> Any:
    return sr.jvp(f, tuple(xs), tuple(vs))


def by_stacks(f: Callable[..., Any], xs: list[Any], vs: list[Any]) -> Any:
    def twice(*xs: Any) -> Any:
        y = f(*xs)
        return y, sr.stop_gradient(y)

    jacobian, value = sr.jacfwd(twice, argnums=tuple(range(len(xs))), has_aux=True)(*xs)
    return value, along(jacobian, vs)


def by_series(f: Callable[..., Any], xs: list[Any], vs: list[Any]) -> Any:
    return tuple(sr.taylor(lambda t: f(*(x + t * v for x, v in zip(xs, vs, strict=True))), 0.0, 1))


MODES = {"reverse": by_reverse, "forward": by_forward, "stacks": by_stacks, "series": by_series}


def check(f: Callable[..., Any], points: list[Any], layout: str, written: str) -> None:
    """Check one program in all modes."""
    program = Program(f, [np.iscomplexobj(x) for x in points], layout, written)
    xs = [part for x in points for part in real_parts(x)]
    generator = np.random.default_rng(0)
    vs = [generator.normal(size=np.shape(x)) if np.shape(x) else generator.normal() for x in xs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = program(*xs)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            check_refused(program, xs, vs)
            return
        seen, slope = program.seen, by_differences(program, xs, vs)
        for name, mode in MODES.items():
            value, derivative = mode(program, xs, vs)
            assert program.seen == seen, (name, program.seen, seen)
            np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12, err_msg=name)
            if np.isfinite(slope):
                np.testing.assert_allclose(derivative, slope, rtol=1e-6, atol=1e-7, err_msg=name)


def check_refused(program: Program, xs: list[Any], vs: list[Any]) -> None:
    """Check that no mode writes to an array to which NumPy does not write."""
    for mode in MODES.values():
        with pytest.raises(ValueError, match="read-only"):
            mode(program, xs, vs)
