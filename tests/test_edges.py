"""Numbers at the edge, over all functions: layouts, orders of bytes, precisions, mixed types, empty arrays, NaN.

One example call of each function, from `docs/coverage_examples.py`, is differentiated in other forms of its arguments.
Values, dtypes and warnings are NumPy's; derivatives are those in double precision.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import grad, hvp, jacobian, jvp
from tests.docs import examples_of_numpy

EXAMPLES, POINTS, points_of = (getattr(examples_of_numpy(), name) for name in ("EXAMPLES", "POINTS", "points_of"))

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def read_only(a: Any) -> Any:
    a = a.copy()
    a.setflags(write=False)
    return a


FORMS: dict[str, Callable[[Any], Any]] = {
    "Fortran order": np.asfortranarray,
    "negative strides": lambda a: np.flip(np.flip(a).copy()),
    "every other one": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "read-only": read_only,
    "other order of bytes": lambda a: a.astype(a.dtype.newbyteorder()),
    "float16": lambda a: a.astype(np.float16 if a.dtype.kind == "f" else np.complex64),
    "float32": lambda a: a.astype(np.float32 if a.dtype.kind == "f" else np.complex64),
    "longdouble": lambda a: a.astype(np.longdouble if a.dtype.kind == "f" else np.clongdouble),
    "complex64": lambda a: a.astype(np.complex64),
    "complex128": lambda a: a.astype(np.complex128),
    "clongdouble": lambda a: a.astype(np.clongdouble),
}
OF_DOUBLES = {"kaiser"}  # NumPy makes its argument one first
TOLERANCE = {"float16": 6e-2, "float32": 1e-3, "complex64": 1e-3}

# Functions that order what they are given, and refuse complex numbers; and those that make arrays of objects.
REAL = {
    *("full", "array", "asarray", "asanyarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray"),
    *("max", "min", "amax", "amin", "ptp", "nanmax", "nanmin", "maximum", "minimum", "fmax", "fmin", "clip"),
    *("histogram", "histogram_bin_edges"),
}


def in_form(form: str, point: Any) -> Any:
    if np.ndim(point) or form in TOLERANCE or "complex" in form or form == "longdouble":
        return FORMS[form](np.asarray(point))[()]
    return point


def parts(y: Any) -> list[Any]:
    return [part for each in y for part in parts(each)] if isinstance(y, tuple | list) else [y]


def weighted(f: Callable[..., Any]) -> Callable[..., Any]:
    """A real number made of all the floating-point numbers in the answer of `f`."""

    def scalar(*xs: Any) -> Any:
        total: Any = 0.0
        for y in parts(f(*xs)):
            plain = np.asarray(sr.value(y))
            if plain.dtype.kind in "fc":
                weights = np.cos(np.arange(float(plain.size))).reshape(plain.shape).astype(plain.real.dtype)
                total = total + np.sum(np.real(y) * weights)
                total = total + np.sum(np.imag(y) * weights) * 0.5 if plain.dtype.kind == "c" else total
        return total

    return scalar


@contextmanager
def no_other_warnings(f: Callable[..., Any], *xs: Any) -> Iterator[None]:
    """Where NumPy gives no warning, there is none."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        f(*xs)
    with warnings.catch_warnings():
        if any(issubclass(warning.category, RuntimeWarning) for warning in given):
            warnings.simplefilter("ignore")
        yield


def same_values(found: Any, expected: Any, any_order_of_bytes: bool = False) -> None:
    assert len(parts(found)) == len(parts(expected))
    for y, plain in zip(parts(found), parts(expected), strict=True):
        if plain is None:
            continue
        y, plain = np.asarray(sr.value(y)), np.asarray(plain)
        assert y.shape == plain.shape
        if any_order_of_bytes:
            assert y.dtype.newbyteorder("=") == plain.dtype.newbyteorder("=")
        else:
            assert y.dtype == plain.dtype
        # Sums may be taken in another order, by another of NumPy's functions.
        eps = np.finfo(plain.dtype).eps if plain.dtype.kind in "fc" else 0
        np.testing.assert_allclose(y, plain, rtol=float(256 * eps), atol=float(64 * eps))


def takes(f: Callable[..., Any], xs: list[Any]) -> bool:
    """Whether NumPy itself takes these arguments, and has the function in its installed version."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f(*xs)
    except (AttributeError, TypeError, ValueError, np.linalg.LinAlgError):
        return False
    return True


def alongside(derivatives: Any) -> tuple[Any, ...]:
    """One for each argument, of which there may be one only."""
    return derivatives if isinstance(derivatives, tuple) else (derivatives,)


def is_close(found: Any, expected: Any, tolerance: float) -> None:
    found, expected = np.asarray(found, np.clongdouble), np.asarray(expected, np.clongdouble)
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("form", FORMS)
def test_every_function_in_every_form(form):
    """Values as NumPy has them, gradients in the dtype of the argument, and the same derivatives in all modes."""
    tolerance, checked = TOLERANCE.get(form, 1e-9), 0
    for name, f in EXAMPLES.items():
        points = [POINTS[point] for point in points_of(f)]
        xs = [in_form(form, point) for point in points]
        becomes_complex = any(np.iscomplexobj(x) != np.iscomplexobj(p) for x, p in zip(xs, points, strict=True))
        left_out = REAL if becomes_complex else OF_DOUBLES if form in TOLERANCE else {}
        if name.split(".")[-1] in left_out or not takes(f, xs):
            continue
        every, g = tuple(range(len(xs))), weighted(f)
        try:
            with no_other_warnings(f, *xs):
                gradients, found = grad(lambda *xs, f=f, g=g: (g(*xs), f(*xs)), argnums=every, has_aux=True)(*xs)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    expected = f(*xs)
                same_values(found, expected, any_order_of_bytes=form == "other order of bytes")
                directions = tuple(np.ones_like(x) for x in xs)
                _, slope = jvp(g, tuple(xs), directions)
                products = alongside(hvp(g, tuple(xs), directions))
            along = sum(np.sum(np.real(x_bar * v)) for x_bar, v in zip(gradients, directions, strict=True))
            is_close(slope, along, tolerance)
            for x, x_bar, product in zip(xs, gradients, products, strict=True):
                assert type(x_bar) is type(x)
                assert np.asarray(x_bar).dtype == np.asarray(x).dtype
                assert np.asarray(product).dtype.newbyteorder("=") == np.asarray(x).dtype.newbyteorder("=")
            if not becomes_complex:
                reference = grad(g, argnums=every)(*points)
                curvature = alongside(hvp(g, tuple(points), tuple(np.ones_like(point) for point in points)))
                for x_bar, product, y_bar, z_bar in zip(gradients, products, reference, curvature, strict=True):
                    is_close(x_bar, y_bar, tolerance)
                    is_close(product, z_bar, 4 * tolerance)
        except Exception as error:
            error.add_note(f"{name}, {form}")
            raise
        checked += 1
    assert checked > 100


@pytest.mark.parametrize("form", ["Fortran order", "negative strides", "other order of bytes", "float32"])
def test_jacobians_in_every_form(form):
    checked = 0
    for name, f in EXAMPLES.items():
        points = [POINTS[point] for point in points_of(f)]
        xs = [in_form(form, point) for point in points]
        if any(map(np.iscomplexobj, points)) or not takes(f, xs):
            continue
        answers = parts(f(*xs))
        if len(answers) != 1 or np.asarray(answers[0]).dtype.kind != "f":
            continue
        for found, expected in zip(*(jacobian(f, tuple(range(len(xs))))(*at) for at in (xs, points)), strict=True):
            try:
                assert found.dtype.newbyteorder("=") in {np.asarray(x).dtype.newbyteorder("=") for x in (*xs, *answers)}
                is_close(found, expected, TOLERANCE.get(form, 1e-9))
            except AssertionError as error:
                error.add_note(f"{name}, {form}")
                raise
        checked += 1
    assert checked > 100


# One operand of another type than the one that is differentiated


def as_integers(point: Any, kind: Any) -> Any:
    whole = np.round(np.abs(np.asarray(point)) * 3)
    return (whole > 1 if kind is bool else whole.astype(kind))[()]


# These make arrays like their first argument, and write numbers to them: of integers, that is an error.
LIKE_THE_FIRST = {"full_like", "insert", "select", "put", "put_along_axis", "fill_diagonal"}


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint8, np.int64])
def test_constants_of_integers(kind):
    """Beside a constant of small integers the derivatives are those beside the same floats: nothing wraps around."""
    checked = 0
    for name, f in EXAMPLES.items():
        points = [POINTS[point] for point in points_of(f)]
        for k, point in enumerate(points):
            rest = points[:k] + points[k + 1 :]
            if not rest or np.iscomplexobj(point) or (k == 0 and name.split(".")[-1] in LIKE_THE_FIRST):
                continue
            integers = as_integers(point, kind)
            floats = np.asarray(integers, float)[()]
            beside = [
                lambda *rest, f=f, k=k, constant=constant: f(*rest[:k], constant, *rest[k:])
                for constant in (integers, floats)
            ]
            if not all(takes(each, rest) for each in beside):
                continue
            every = tuple(range(len(rest)))
            with no_other_warnings(beside[0], *rest), warnings.catch_warnings():
                warnings.filterwarnings("ignore", "invalid value|divide by zero")
                plain, of_floats = beside[0](*rest), parts(beside[1](*rest))
                if any(np.shape(a) != np.shape(b) for a, b in zip(parts(plain), of_floats, strict=True)):
                    continue  # booleans are a mask there
                try:
                    g = weighted(beside[0])
                    found, y = grad(lambda *r, g=g, h=beside[0]: (g(*r), h(*r)), argnums=every, has_aux=True)(*rest)
                    same_values(y, plain)
                    if all(np.allclose(a, b, equal_nan=True) for a, b in zip(parts(plain), of_floats, strict=True)):
                        for x_bar, expected in zip(found, grad(weighted(beside[1]), argnums=every)(*rest), strict=True):
                            np.testing.assert_allclose(x_bar, expected, rtol=1e-9, atol=1e-12)
                except Exception as error:
                    error.add_note(f"{name}, {kind.__name__} for argument {k}")
                    raise
            checked += 1
    assert checked > 60


BESIDE: dict[str, Any] = {
    "int": 3,
    "negative": -2,
    "beyond 64 bits": 2**70,
    "True": True,
    "float": 1.5,
    "int8": np.int8(3),
    "uint8": np.uint8(200),
    "uint8s": np.array([1, 200, 3, 4], np.uint8),
    "int8s": np.array([1, -100, 3, 4], np.int8),
    "int64s": np.array([1, -2, 3, 0]),
    "mask": np.array([True, False, True, True]),
    "column": np.array([[2], [3]]),
    "size one": np.array([2.0]),
    "no dimensions": np.array(1.5, np.float32),
    "float16": np.float16(1.5),
    "float32": np.float32(1.5),
    "float64": np.float64(1.5),
    "longdouble": np.longdouble(1.5),
    "complex": 1.5 + 2j,
    "complex64": np.complex64(1.5 + 2j),
}
BINARY: list[Callable[[Any, Any], Any]] = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod),
    *(np.add, np.subtract, np.multiply, np.power, np.float_power, np.hypot, np.arctan2, np.maximum, np.fmin, np.fmod),
    *(np.copysign, np.logaddexp, np.remainder),
    lambda a, b: np.where(np.array([True, False, True, False]), a, b),
]
OF_ANY_PRECISION = [float, np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128]


@pytest.mark.parametrize("kind", OF_ANY_PRECISION)
@pytest.mark.parametrize("shape", [(), (4,), (1,)])
def test_mixed_types(kind, shape):
    """Results have the dtypes that NumPy gives them (NEP 50), and gradients that of the argument."""
    x = kind(0.35) if shape == () else np.array([0.35, 0.62, 0.21, 0.83])[: shape[0]].astype(kind)
    checked = 0
    for function in BINARY:
        for beside in BESIDE.values():
            if (np.iscomplexobj(x) or np.iscomplexobj(beside)) and function in (np.maximum, np.fmin):
                continue  # an error of its own
            for f in (lambda x, f=function, b=beside: f(x, b), lambda x, f=function, b=beside: f(b, x)):
                if not takes(f, [x]):
                    with pytest.raises((TypeError, ValueError, OverflowError)):
                        grad(lambda x, f=f: np.sum(np.real(f(x))))(x)
                    continue
                with no_other_warnings(f, x):
                    found, y = grad(lambda x, f=f: (np.sum(np.real(f(x)).astype(float)), f(x)), has_aux=True)(x)
                    expected = f(x)
                assert type(sr.value(y)) is type(expected)
                assert np.asarray(sr.value(y)).dtype == np.asarray(expected).dtype
                np.testing.assert_array_equal(sr.value(y), expected)
                assert type(found) is type(x)
                assert np.asarray(found).dtype == np.asarray(x).dtype
                checked += 1
    assert checked > 300


# Empty arrays, arrays without dimensions, and numbers that are none

EMPTY: list[Callable[[Any], Any]] = [
    *(np.sin, np.sum, np.prod, np.cumsum, np.sort, np.diff, np.ravel, np.abs, np.sqrt, np.cumprod, np.flip),
    *(np.transpose, np.linalg.norm, np.copy, np.unique, np.nansum, np.square, np.exp, np.trim_zeros, np.fft.fftshift),
    lambda x: np.where(x > 0, x, 0.0),
    lambda x: np.concatenate([x, x]),
    lambda x: x @ x,
    lambda x: x[x > 0],
    lambda x: np.outer(x, x),
    lambda x: np.reshape(x, (0, 3)),
    lambda x: np.stack([x, x]),
    lambda x: np.einsum("i,i->", x, x),
    lambda x: np.take(x, []),
    lambda x: np.pad(x, 1),
    lambda x: x.astype(np.float32) ** 2,
]


BY_ORDER: list[Callable[[Any], Any]] = [lambda x: np.maximum(x, 1.0), lambda x: np.max(x, initial=1.0)]


@pytest.mark.parametrize("f", EMPTY + BY_ORDER)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_empty_arrays(f, dtype):
    x, g = np.zeros(0, dtype), weighted(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if dtype is np.complex128 and f in BY_ORDER:
            with pytest.raises(TypeError, match="complex numbers have no order"):
                grad(g)(x)
            return
        found = grad(g)(x)
        y = f(x)
        product = hvp(g, (x,), (x,))
        tangent = jvp(f, (x,), (x,))[1]
        matrix = None if dtype is np.complex128 else jacobian(f)(x)
    assert found.shape == product.shape == (0,)
    assert found.dtype == dtype
    assert np.shape(tangent) == np.shape(y)
    assert not np.any(tangent)
    assert matrix is None or matrix.shape == (*np.shape(y), 0)


def test_arrays_without_dimensions():
    x = np.array(0.7)
    for f in (np.sin, np.sum, np.sqrt, lambda x: x * 2 + x[()], lambda x: np.where(x > 0, x, 0.0), np.max, np.cumsum):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = grad(weighted(f))(x)
            assert type(found) is np.ndarray
            assert found.shape == ()
            np.testing.assert_allclose(found, grad(weighted(f))(0.7))
            assert jacobian(lambda x, f=f: np.reshape(f(x), (1,)))(x).shape == (1,)


ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, 5e-324, 2.0])


def test_odd_numbers_stay_where_they_are():
    """NaN and infinities are differentiated element by element, and reach no other element."""
    for name in EXAMPLES:
        function = getattr(np, name.split(".")[-1], None)
        if name.count(".") > 1 or not isinstance(function, np.ufunc) or function.nin != 1 or function.nout != 1:
            continue
        with np.errstate(all="ignore"):
            found = grad(lambda x, f=function: np.sum(np.real(f(x))))(ODD)
            for x, slope in zip(ODD, found, strict=True):
                (alone,) = grad(lambda x, f=function: np.sum(np.real(f(x))))(np.array([x]))
                np.testing.assert_array_equal(slope, alone)
            _, tangent = jvp(function, (ODD,), (np.ones(8),))
            np.testing.assert_array_equal(np.isnan(np.real(tangent)), np.isnan(found))


def test_points_without_a_derivative_to_the_second_order():
    """Lengths of zero: the least subgradient, and zero again, without NaN."""
    zeros = np.zeros(3)
    for f in (np.linalg.norm, np.std, lambda x: np.std(x, ddof=1), np.nanstd, lambda x: np.sum(np.abs(x)), np.var):
        with np.errstate(all="ignore"):
            assert not np.any(grad(f)(zeros))
            if f is not np.var:
                assert not np.any(hvp(f, (zeros,), (np.ones(3),)))
    assert grad(np.hypot, argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)


def test_directions_where_they_are_chosen():
    def direction(x):
        length = np.linalg.norm(x)
        return np.sum(np.where(length > 0, x / length, 0.0) * np.array([1.0, 2.0]))

    for x, expected in ((np.zeros(2), [0.0, 0.0]), (np.array([3.0, 4.0]), [-8 / 125, 6 / 125])):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(grad(direction)(x), expected, atol=1e-15)
            assert np.all(np.isfinite(hvp(direction, (x,), (np.ones(2),))))


def test_logsumexp_as_it_is_written():
    def logsumexp(x):
        top = np.max(x)
        return top + np.log(np.sum(np.exp(x - top)))

    for x in ([1.0, 2.0], [1000.0, 1000.0], [-1000.0, 0.0], [3.0, 3.0], [-np.inf, 0.0]):
        a = np.array(x)
        weights = np.exp(a - np.max(a)) / np.sum(np.exp(a - np.max(a)))
        np.testing.assert_allclose(grad(logsumexp)(a), weights)
        np.testing.assert_allclose(hvp(logsumexp, (a,), (np.ones(2),)), 0.0, atol=1e-12)
