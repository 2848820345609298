"""The three ways in which every rule is checked, and the equality of values, types and dtypes with plain NumPy.

1.  Finite differences, in a random direction.
2.  The inner-product identity <y_bar, J x_dot> = <J^T y_bar, x_dot> (Krawiec et al. 2022, Lemma 1): J x_dot is the
    library's forward mode, and J^T y_bar its reverse mode. It holds of both of these in turn, as functions of the
    arguments and of the tangents or cotangents, and in every precision.
3.  Second order: H v by reverse over reverse, forward over reverse and reverse over forward, and u H v by forward over
    forward. They agree with each other and with finite differences of the gradient.

A complex answer counts as two real ones. A function of complex numbers is checked as one of their real and imaginary
parts, by `of_parts`; by inner products, which are Re(sum(x_bar * x_dot)), on complex arguments, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import grad
from shiftreset_ad.modes.forward.number import NumF
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of

# A few examples for each of some three hundred cases, the same ones in every run.
examples = settings(
    max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)

STEP = 1e-5
TOLERANCE = {np.float16: 4e-2, np.float32: 2e-4, np.float64: 1e-12, np.longdouble: 1e-12}
COMPLEX = {np.float16: np.complex64, np.float32: np.complex64, np.float64: np.complex128, np.longdouble: np.clongdouble}


def answers(y: Any) -> list[Any]:
    return list(y) if isinstance(y, tuple | list) else [y]


def differentiable(y: Any) -> list[Any]:
    """The answers that are floating-point numbers, the complex ones by their parts."""
    found = []
    for part in answers(y):
        kind = dtype_of(part).kind
        found += [part] if kind == "f" else [np.real(part), np.imag(part)] if kind == "c" else []
    return found


def of_parts(f: Any) -> Any:
    """The function of the real parts of all operands of `f`, followed by their imaginary parts."""

    def f_of_parts(*parts):
        half = len(parts) // 2
        return f(*(real + 1j * imag for real, imag in zip(parts[:half], parts[half:], strict=True)))

    return f_of_parts


def inner(us: Any, vs: Any) -> Any:
    return sum((np.sum(u * v) for u, v in zip(us, vs, strict=True)), 0.0)


def like(xs: Any, generator: np.random.Generator) -> list[Any]:
    return [generator.uniform(-1, 1, shape_of(x))[()] for x in xs]


def paired(us: Any, vs: Any) -> np.ndarray:
    """The products that the pairing of cotangents with tangents is the sum of, without more rounding."""
    products = [np.ravel(np.real(np.asarray(u, np.clongdouble) * v)) for u, v in zip(us, vs, strict=True)]
    return np.concatenate([np.zeros(0), *products])


def direction_of(x: Any, generator: np.random.Generator) -> Any:
    """Random, of the type, shape and dtype of `x`."""
    drawn = generator.uniform(-1, 1, shape_of(x))
    if dtype_of(x).kind == "c":
        drawn = drawn + 1j * generator.uniform(-1, 1, shape_of(x))
    return drawn.astype(x.dtype) if isinstance(x, np.ndarray) else type(x)(drawn)


def in_dtype(x: Any, dtype: Any) -> Any:
    """A plain `x` in the precision of `dtype`, complex if it is."""
    dtype = COMPLEX[dtype] if dtype_of(x).kind == "c" else dtype
    return x.astype(dtype) if isinstance(x, np.ndarray) else dtype(x)


def assert_close(found, expected, scale=1.0, tolerance=1e-6):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * max(1.0, float(scale)))


def pushforward(f: Any, xs: Any, x_dots: Any) -> list[Any]:
    """J x_dot, by forward mode."""
    tag = Tag.around(x.tag.level for x in (*xs, *x_dots) if isinstance(x, Number))
    ys = differentiable(f(*(NumF(x, x_dot, tag) for x, x_dot in zip(xs, x_dots, strict=True))))
    # What none of the numbers went into is constant.
    y_dots = [y.tangent if isinstance(y, NumF) and y.tag is tag else np.zeros(shape_of(y), dtype_of(y)) for y in ys]
    tag.finish()
    for y, y_dot in zip(ys, y_dots, strict=True):
        assert shape_of(y_dot) == shape_of(y)
        assert dtype_of(y_dot) == dtype_of(y)
    return y_dots


def weighted(f: Any, weights: Any) -> Any:
    """The sum of all the answers of `f` that are floating-point numbers, with these weights."""
    return lambda *xs: inner(weights, differentiable(f(*xs)))


def pullback(f: Any, xs: Any, y_bars: Any) -> list[Any]:
    """J^T y_bar, by reverse mode."""
    return list(grad(weighted(f, y_bars), argnums=every(xs))(*xs))


def every(xs: Any) -> tuple[int, ...]:
    return tuple(range(len(xs)))


def check(f: Any, *xs: Any, generator: np.random.Generator, second_order: bool = True, dtypes: bool = True) -> None:
    """Check the derivative of `f: (floats or float64 arrays) -> array, or tuple or list of them` in every way."""
    weights = like(differentiable(f(*xs)), generator)
    known = weights, check_values(f, *xs, weights=weights)
    check_finite_differences(f, *xs, generator=generator, known=known)
    check_inner_products(f, *xs, generator=generator, known=known)
    if second_order:
        check_second_order(f, *xs, generator=generator)
    if dtypes:
        check_dtypes(f, *xs, generator=generator, known=known)
    dtype = generator.choice(list(TOLERANCE)) if dtypes else np.float64
    check_inner_products_in(dtype, f, *xs, generator=generator, second_order=second_order)


def every_call(cases: dict[Any, list[Any]]) -> Callable[[Any], Any]:
    """Have a test of `f`, `shapes` and `seed` for each call `(f, *shapes)` in a table by functions, and two seeds."""
    calls = [
        pytest.param(f, shapes, id=f"{function.__name__}-{i}")
        for function, calls in cases.items()
        for i, (f, *shapes) in enumerate(calls)
    ]

    def parametrized(test: Any) -> Any:
        return pytest.mark.parametrize("seed", [0, 1])(pytest.mark.parametrize(("f", "shapes"), calls)(test))

    return parametrized


def check_call(f: Any, shapes: Any, seed: int) -> None:
    """Check `f` of numbers of these shapes: of floats, or of NumPy's scalars and arrays that are not contiguous."""
    generator = np.random.default_rng(seed)
    xs = [generator.uniform(-1.0, 1.0, shape) for shape in shapes]
    if seed:
        xs = [np.asfortranarray(x)[::-1] if np.ndim(x) else np.float64(x) for x in xs]
    check(f, *xs, generator=generator)


# What is known of the gradient: the weights of the answers, and the gradient of their sum.
Known = tuple[list[Any], list[Any]]


def check_values(f: Any, *xs: Any, weights: Any = None) -> list[Any]:
    """Values, shapes, dtypes and types are NumPy's, and no argument is written to; the gradient for these weights."""
    before = [np.copy(x) for x in xs]
    expected = f(*xs)

    def recorded(*numbers):
        y = f(*numbers)
        parts = differentiable(y)
        return 0.0 * sum((np.sum(part) for part in parts), 0.0) if weights is None else inner(weights, parts), y

    gradients, found = grad(recorded, argnums=every(xs), has_aux=True)(*xs)
    for x, was, x_bar in zip(xs, before, gradients, strict=True):
        np.testing.assert_array_equal(x, was)
        assert type(x_bar) is type(x)
        assert shape_of(x_bar) == shape_of(x)
        assert dtype_of(x_bar) == dtype_of(x)
    assert type(found) is type(expected) or not isinstance(expected, tuple | list)
    for y, plain in zip(answers(found), answers(expected), strict=True):
        plain_y = sr.value(y)
        assert shape_of(plain_y) == shape_of(plain)
        assert dtype_of(plain_y) == dtype_of(plain)
        # Sums may be taken in another order, by another of NumPy's functions.
        np.testing.assert_allclose(
            plain_y, plain, rtol=32 * np.finfo(np.result_type(plain, np.float16)).eps, atol=1e-14
        )
    return list(gradients)


def gradient_at(f: Any, xs: Any, generator: np.random.Generator) -> Known:
    """The gradient for random weights."""
    weights = like(differentiable(f(*xs)), generator)
    return weights, pullback(f, xs, weights)


def check_finite_differences(f: Any, *xs: Any, generator: np.random.Generator, known: Known | None = None) -> None:
    weights, gradients = known or gradient_at(f, xs, generator)
    directions, scalar = like(xs, generator), weighted(f, weights)
    ahead = scalar(*(x + STEP * d for x, d in zip(xs, directions, strict=True)))
    behind = scalar(*(x - STEP * d for x, d in zip(xs, directions, strict=True)))
    scale = abs(scalar(*xs)) + sum(np.sum(np.abs(x_bar)) for x_bar in gradients)
    assert_close(inner(gradients, directions), (ahead - behind) / (2 * STEP), scale)


def check_inner_products(
    f: Any,
    *xs: Any,
    generator: np.random.Generator,
    order: int = 1,
    tolerance: float = 1e-10,
    known: Known | None = None,
) -> None:
    """Check that forward and reverse mode are transposes of one another; to the second `order`, so are those of either,
    of which one is taken by chance.
    """
    count, x_dots = len(xs), [direction_of(x, generator) for x in xs]
    if known is None:
        y_bars = [direction_of(y, generator) for y in differentiable(f(*xs))]
        known = y_bars, pullback(f, xs, y_bars)
    y_bars, x_bars = known
    forward = paired(y_bars, pushforward(f, xs, x_dots))
    reverse = paired(x_bars, x_dots)
    scale = np.sum(np.abs(forward)) + np.sum(np.abs(reverse))
    assert_close(np.sum(forward), np.sum(reverse), scale, tolerance)
    if order > 1:
        derivative, directions = (pushforward, x_dots) if generator.integers(2) else (pullback, y_bars)
        check_inner_products(
            lambda *both: derivative(f, both[:count], both[count:]),
            *(*xs, *directions),
            generator=generator,
            order=order - 1,
            tolerance=tolerance,
        )


def check_inner_products_in(
    dtype: Any, f: Any, *xs: Any, generator: np.random.Generator, second_order: bool = True
) -> None:
    """Check the inner products with the arguments in the precision of `dtype`, which may be complex numbers."""
    cast = [in_dtype(x, dtype) for x in xs]
    order = 2 if second_order else 1
    check_inner_products(f, *cast, generator=generator, order=order, tolerance=TOLERANCE[dtype])


def check_second_order(f: Any, *xs: Any, generator: np.random.Generator) -> None:
    weights = like(differentiable(f(*xs)), generator)
    u, v = like(xs, generator), like(xs, generator)

    def scalar(*xs):  # squares, so that a linear f too has a second derivative
        ys = differentiable(f(*xs))
        return inner(weights, [y + y * y for y in ys])

    def gradient(*xs):
        return grad(scalar, argnums=every(xs))(*xs)

    def slope_along_v(*xs):
        (y_dot,) = pushforward(scalar, xs, v)
        return y_dot

    along_v = grad(lambda *xs: inner(gradient(*xs), v), argnums=every(xs))(*xs)
    scale = sum(np.sum(np.abs(part)) for part in along_v)
    for mixed in (pushforward(gradient, xs, v), grad(slope_along_v, argnums=every(xs))(*xs)):
        for found, expected in zip(mixed, along_v, strict=True):
            assert_close(found, expected, scale, 1e-9)
    (twice,) = pushforward(slope_along_v, xs, u)
    assert_close(twice, inner(u, along_v), scale, 1e-9)
    ahead = gradient(*(x + STEP * d for x, d in zip(xs, v, strict=True)))
    behind = gradient(*(x - STEP * d for x, d in zip(xs, v, strict=True)))
    size = scale + sum(np.sum(np.abs(part)) for part in ahead)
    for found, front, back in zip(along_v, ahead, behind, strict=True):
        assert_close(found, (front - back) / (2 * STEP), size, 1e-5)


def check_dtypes(f: Any, *xs: Any, generator: np.random.Generator, known: Known | None = None) -> None:
    """In other precisions: values and dtypes as NumPy has them, and the gradient in the precision of the argument."""
    weights, reference = known or gradient_at(f, xs, generator)
    size = max((float(np.max(np.abs(x_bar), initial=0.0)) for x_bar in reference), default=0.0)
    if size > 1e3:  # beyond half precision
        return
    for dtype, tolerance in TOLERANCE.items():
        if dtype is np.float64:
            continue
        cast = [in_dtype(x, dtype) for x in xs]
        gradients = check_values(f, *cast, weights=weights)
        rounded = reference
        if dtype is not np.longdouble:
            doubles = [np.float64(x) if not np.ndim(x) else x.astype(float) for x in cast]
            rounded = pullback(f, doubles, weights)
        for found, expected, x in zip(gradients, rounded, cast, strict=True):
            assert found.dtype == x.dtype == dtype
            assert_close(found.astype(float), expected, size, tolerance)
