"""Zeros of what was not chosen: no infinite partial derivative turns them into NaN, and no other zero is taken for one.

The roots of [0, 2] are computed, and only the second one counts. Where it is chosen rightly, the value is sqrt(2), and
the derivatives are those of the root of 2, in every mode and order; the infinite slope of the first one is not met.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import debug, grad, hessian, hvp, jacobian, jvp, taylor, value_and_grad, vjp
from shiftreset_ad.modes.reverse.adjoints import accumulate, accumulate_at, settle, summed
from shiftreset_ad.modes.reverse.unsettled import Held
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.rules.masked import FEW, Masked, selected, through
from shiftreset_ad.rules.table import LinearMap

# In forward mode the warnings about the infinite slopes are the program's.
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")

X = np.array([0.0, 2.0])
SLOPE, CURVATURE = 0.5 / 2**0.5, -0.25 / 2**1.5
GRADIENT, HESSIAN = np.array([0.0, SLOPE]), np.diag([0.0, CURVATURE])
ROWS = np.array([[0.0, 0.0], [3.0, 4.0]])


def into_zeros(x: Any) -> Any:
    y = np.zeros_like(x)
    np.copyto(y, np.sqrt(x), where=x > 0)
    return y


def written_elsewhere(x: Any) -> Any:
    """The whole of an array that is written to is chosen from."""
    y = np.sqrt(x + 2.0)
    y[0] = x[1]
    return np.where(x > 0, np.sqrt(x), 0.0 * y)


def overwriting(write: Callable[[Any, Any], Any], read: Callable[[Any], Any] = lambda y: y) -> Callable[[Any], Any]:
    """The program that computes all roots, and then writes to their array."""

    def program(x: Any) -> Any:
        y = np.sqrt(x)
        write(y, x)
        return read(y)

    return program


def seen_before_it_is_overwritten(x: Any) -> Any:
    y = np.sqrt(x)
    view = np.reshape(y, (2, 1))[:, 0]
    y[0] = 0.0
    return view


def written_through_views(x: Any) -> Any:
    y = np.sqrt(x)
    part = np.transpose(np.reshape(np.stack([y, y]), (4,))[:2][None])[::-1, 0]
    part[1] = 0.0
    return part


def computed_into_another(x: Any) -> Any:
    y = np.zeros_like(x)
    np.sqrt(x, out=y)
    y[x <= 0] = 0.0
    return y


def overwritten_and_written_again(x: Any) -> Any:
    y = np.sqrt(x)
    kept = y[1] * 1.0
    y[...] = 5.0
    y[:] = [0.0, 0.0]
    y[1] += kept
    return y


def overwritten_without_dimensions(x: Any) -> Any:
    y = np.sqrt(x)
    np.reshape(y[:1], ())[...] = 0.0
    return y


def overwritten_in_an_array_without_dimensions(x: Any) -> Any:
    y = np.zeros_like(x[0])
    y[...] = np.sqrt(x[0])
    y[...] = 0.0
    return y + np.sqrt(x)[1]


def overwritten_complex(x: Any) -> Any:
    y = np.sqrt(x * (1 + 0j))
    y[x <= 0] = 0.0
    return np.real(y)


def apart(x: Any) -> Any:
    """Twice the roots: with zeros below, where they count, their deviation is half of the roots."""
    return np.stack([np.sqrt(x), 0.0 * x])


def counted(x: Any) -> Any:
    return np.stack([x > 0, x > 0])


CHOICES: dict[str, Callable[[Any], Any]] = {
    "where": lambda x: np.where(x > 0, np.sqrt(x), 0.0),
    "where_not": lambda x: np.where(x == 0, 0.0, np.sqrt(x)),
    "where_of_a_list": lambda x: np.where([False, True], np.sqrt(x), 0.0),
    "where_of_integers": lambda x: np.where(np.array([0, 3]), np.sqrt(x), 0.0),
    "where_broadcast": lambda x: np.where(np.array([[False, True], [False, True]]), np.sqrt(x), 0.0) / 2,
    "where_in_where": lambda x: np.where(x > 0, np.where(x > 1, np.sqrt(x), 1 / x), 0.0),
    "where_of_parts": lambda x: np.where(x > 0, np.exp(np.log(x) * 0.5), 0.0),
    "where_power": lambda x: np.where(x > 0, x**0.5, 0.0),
    "where_both": lambda x: np.where(x > 0, np.sqrt(x), x**4),
    "maximum": lambda x: np.maximum(np.sqrt(x), 0.5) - np.array([0.5, 0.0]),
    "minimum": lambda x: -np.minimum(-np.sqrt(x), -0.5) - np.array([0.5, 0.0]),
    "fmax": lambda x: np.fmax(0.5, np.sqrt(x)) - np.array([0.5, 0.0]),
    "maximum_of_two": lambda x: np.maximum(np.sqrt(x), x * 0.0 + 0.5) - np.array([0.5, 0.0]),
    "maximum_in_where": lambda x: np.where(x > 0, np.maximum(np.sqrt(x), -1.0), 0.0),
    "max_in_where": lambda x: np.where([False, True], np.max(np.sqrt(x)[:, None], axis=1), 0.0),
    "clip": lambda x: np.clip(np.sqrt(x), 0.5, None) - np.array([0.5, 0.0]),
    "select": lambda x: np.select([x > 0], [np.sqrt(x)], 0.0),
    "choose": lambda x: np.choose([1, 0], [np.sqrt(x), 0.0 * x]),
    "piecewise": lambda x: np.piecewise(x, [x > 0], [np.sqrt, 0.0]),
    "max": lambda x: np.max(np.sqrt(x)),
    "max_along": lambda x: np.max(np.sqrt(x)[None, :], axis=1, keepdims=True),
    "max_where": lambda x: np.max(np.sqrt(x), where=x > 0, initial=0.0),
    "sum_where": lambda x: np.sum(np.sqrt(x), where=x > 0),
    "mean_where": lambda x: np.mean(np.sqrt(x), where=x > 0),
    "prod_where": lambda x: np.prod(np.sqrt(x), where=x > 0),
    "var_where": lambda x: np.var(apart(x), where=counted(x)) * 4 + np.sqrt(x[1]) - x[1],
    "std_where": lambda x: (
        np.std(apart(x).T.reshape(1, 4), axis=1, where=counted(x).T.reshape(1, 4), keepdims=True) * 2
    ),
    "std_where_mean": lambda x: np.std(np.sqrt(x), mean=0.0, where=x > 0),
    "nanvar_where": lambda x: np.nanvar(apart(x), where=counted(x)) * 4 + np.sqrt(x[1]) - x[1],
    "logaddexp_where": lambda x: np.logaddexp.reduce(np.sqrt(x), where=x > 0, initial=-np.inf),
    "hypot_where": lambda x: np.hypot.reduce(np.sqrt(x), where=x > 0),
    "nansum": lambda x: np.nansum(x / np.sqrt(x)),
    "nanmean": lambda x: np.nanmean(x / np.sqrt(x)),
    "nanmax": lambda x: np.nanmax(x / np.sqrt(x)),
    "nanmedian": lambda x: np.nanmedian(x / np.sqrt(x)),
    "nanstd": lambda x: np.nanstd(np.concatenate([x / np.sqrt(x), [0.0]])) * 2,
    "nancumsum": lambda x: np.nancumsum(x / np.sqrt(x))[1],
    "nan_to_num": lambda x: np.nan_to_num(x / np.sqrt(x)),
    "sort": lambda x: np.sort(np.sqrt(x))[-1],
    "element": lambda x: np.sqrt(x)[1],
    "iterated": lambda x: list(np.sqrt(x))[1],
    "slice": lambda x: np.sqrt(x)[1:],
    "mask": lambda x: np.sqrt(x)[x > 0],
    "positions": lambda x: np.sqrt(x)[[1, 1]] / 2,
    "take": lambda x: np.take(np.sqrt(x), [1]),
    "compress": lambda x: np.compress(x > 0, np.sqrt(x)),
    "where_then_element": lambda x: np.where(x > 0, np.sqrt(x), 1.0)[1],
    "tril": lambda x: np.tril(np.stack([0.0 * x, np.sqrt(x[::-1])]), -1),
    "copyto": into_zeros,
    "written": written_elsewhere,
}


def half_overwritten(x: Any) -> Any:
    """The imaginary parts are still there: x + 0 * sqrt(x)."""
    z = 1j * (x + 0.0 * np.sqrt(x * (1 + 0j)))
    z.real[0] = 0.0
    return np.imag(z)


OVERWRITTEN: dict[str, Callable[[Any], Any]] = {
    "overwritten_mask": overwriting(lambda y, x: y.__setitem__(x <= 0, 0.0)),
    "overwritten_slice": overwriting(lambda y, x: y.__setitem__(slice(1), [0.0])),
    "overwritten_element": overwriting(lambda y, x: y.__setitem__(0, 0.0)),
    "overwritten_positions": overwriting(lambda y, x: y.__setitem__([0, 0], [4.0, 0.0])),
    "overwritten_by_number": overwriting(lambda y, x: y.__setitem__(0, x[0] ** 4)),
    "overwritten_by_neighbour": overwriting(lambda y, x: y.__setitem__(0, y[1]), lambda y: y / 2),
    "overwritten_by_broadcast": overwriting(lambda y, x: y.__setitem__(..., y[1]), lambda y: y / 2),
    "overwritten_put": overwriting(lambda y, x: np.put(y, [0], 0.0)),
    "overwritten_putmask": overwriting(lambda y, x: np.putmask(y, x <= 0, x**4)),
    "overwritten_place": overwriting(lambda y, x: np.place(y, x <= 0, [0.0])),
    "overwritten_copyto": overwriting(lambda y, x: np.copyto(y, 0.0, where=x <= 0)),
    "overwritten_copyto_number": overwriting(lambda y, x: np.copyto(y, x**4, where=x <= 0)),
    "overwritten_along_axis": overwriting(lambda y, x: np.put_along_axis(y, np.array([0]), 0.0, 0)),
    "overwritten_diagonal": overwriting(lambda y, x: np.fill_diagonal(np.reshape(y, (2, 1)), 0.0)),
    "overwritten_out_where": overwriting(lambda y, x: np.power(x, 4, out=y, where=x <= 0)),
    "overwritten_twice": overwriting(lambda y, x: (y.__setitem__(0, 2.0), y.__setitem__(x <= 0, 0.0))),
    "overwritten_then_written": overwriting(lambda y, x: (y.__setitem__(0, 0.0), y.__imul__(3.0)), lambda y: y / 3),
    "overwritten_then_element": overwriting(lambda y, x: y.__setitem__(0, 5.0), lambda y: y[1]),
    "never_read": overwriting(lambda y, x: y.__setitem__(1, 1.0 * y[1]), lambda y: y[1]),
    "never_read_of_a_view": overwriting(lambda y, x: y[1:].__imul__(1.0), lambda y: np.reshape(y, (1, 2)).T[1]),
    "never_read_on_a_diagonal": overwriting(lambda y, x: y[1:].__imul__(1.0), lambda y: np.diagonal(y[None], 1)[0]),
    "never_read_of_a_broadcast": overwriting(
        lambda y, x: y[1:].__imul__(1.0), lambda y: np.broadcast_to(y, (2, 2))[0, 1]
    ),
    "written_not_chosen": overwriting(lambda y, x: y[1:].__imul__(1.0), lambda y: np.where([False, True], y, 0.0)),
    "written_broadcast": overwriting(lambda y, x: y.__setitem__(0, 0.0), lambda y: np.broadcast_to(y, (2, 2)) / 2),
    "written_broadcast_not_chosen": overwriting(
        lambda y, x: y[1:].__imul__(1.0), lambda y: np.where([False, True], np.broadcast_to(y, (2, 2)), 0.0) / 2
    ),
    "written_sorted": overwriting(lambda y, x: y.sort(), lambda y: y[-1]),
    "seen_before": seen_before_it_is_overwritten,
    "through_views": written_through_views,
    "computed_into_another": computed_into_another,
    "written_again": overwritten_and_written_again,
    "without_dimensions": overwritten_without_dimensions,
    "array_without_dimensions": overwritten_in_an_array_without_dimensions,
    "complex": overwritten_complex,
    "in_checkpoint": sr.checkpoint(overwriting(lambda y, x: y.__setitem__(x <= 0, 0.0))),
}

# Linear functions between the root and the choice
BETWEEN: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda u: np.where([[False], [True]], np.reshape(u, (2, 1)), 0.0),
    "new_axis": lambda u: np.where([[False], [True]], u[:, None], 0.0),
    "transpose": lambda u: np.where([[False], [True]], u[None].T, 0.0),
    "reverse": lambda u: np.where([True, False], u[::-1], 0.0),
    "roll": lambda u: np.where([True, False], np.roll(u, 1), 0.0),
    "concatenate": lambda u: np.where([False, True, False], np.concatenate([u, [1.0]]), 0.0),
    "stack": lambda u: np.where([[False, True], [False, False]], np.stack([u, u * 0.5]), 0.0),
    "broadcast": lambda u: np.where([[False, True], [False, True]], np.broadcast_to(u, (2, 2)), 0.0) / 2,
    "sum": lambda u: np.where([False, True], np.sum(np.reshape(u, (2, 1)), axis=1), 0.0),
    "mean": lambda u: np.where([False, True], np.mean(np.reshape(u, (2, 1)), axis=1), 0.0),
    "cumsum": lambda u: np.where([True, False], np.cumsum(u[::-1]), 0.0),
    "diagonal": lambda u: np.where([False, True], np.diagonal(np.diagflat(u)), 0.0),
    "copy": lambda u: np.where([False, True], np.copy(u), 0.0),
    "real_part": lambda u: np.where([False, True], np.real(u * (1 + 2j)), 0.0),
    "negated": lambda u: np.where([False, True], -(1.0 - u) + 1.0, 0.0),
    "scaled": lambda u: np.where([False, True], 3.0 * u / np.array([0.0, 3.0]), 0.0),
}

PROGRAMS = (
    CHOICES | OVERWRITTEN | {name: lambda x, choose=choose: choose(np.sqrt(x)) for name, choose in BETWEEN.items()}
)
programs = pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS.keys())


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def total(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.sum(f(x))


def bilinear(x: Any, f: Callable[[Any], Any], u: Any, v: Any) -> Any:
    """The second derivative along u and v, by forward over forward."""
    return jvp(lambda x: jvp(f, (x,), (u,))[1], (x,), (v,))[1]


@programs
def test_first_derivatives(f):
    value, gradient = value_and_grad(total(f))(X)
    close(value, 2**0.5)
    close(gradient, GRADIENT)
    close(jvp(total(f), (X,), (np.array([5.0, 3.0]),))[1], 3 * SLOPE)
    close(np.sum(np.reshape(jacobian(f)(X), (-1, 2)), axis=0), GRADIENT)
    _, pullback = vjp(total(f), X)
    for y_bar in (1.0, 10.0, 1.0):
        close(pullback(y_bar)[0], y_bar * GRADIENT)


@programs
def test_second_derivatives(f):
    u, v = np.array([5.0, 3.0]), np.array([-2.0, 7.0])
    g = total(f)
    close(hessian(g)(X), HESSIAN)
    close(hvp(g, (X,), (v,)), HESSIAN @ v)
    close(grad(lambda x: np.sum(grad(g)(x) * v))(X), HESSIAN @ v)
    close(grad(lambda x: jvp(g, (x,), (v,))[1])(X), HESSIAN @ v)
    close(bilinear(X, g, u, v), 21 * CURVATURE)


@programs
def test_series_and_third_derivatives(f):
    third = 0.375 / 2**2.5
    close(taylor(total(f), X, 3), [2**0.5, SLOPE, CURVATURE / 2, third / 6])
    along = grad(lambda x: np.sum(grad(lambda x: np.sum(grad(total(f))(x)))(x)))(X)
    close(along, [0.0, third])


@pytest.mark.parametrize("number", [float, np.float64, np.array], ids=["float", "float64", "array"])
@pytest.mark.parametrize(
    "f",
    [
        lambda t: np.where(t > 0, np.sqrt(t), 0.0),
        lambda t: np.maximum(np.sqrt(t), 1.0),
        lambda t: np.fmin(np.sqrt(t) + 3.0, 1.0),
        lambda t: np.clip(np.log(t), -1.0, 1.0),
        lambda t: np.max(np.stack([np.sqrt(t), 1.0 + 0.0 * t])),
    ],
    ids=["where", "maximum", "fmin", "clip", "max"],
)
def test_scalars(f, number):
    with np.errstate(all="ignore"):
        zero, one = number(0.0), number(1.0)
        assert grad(f)(zero) == 0.0
        assert jvp(f, (zero,), (one,))[1] == 0.0
        assert grad(grad(f))(zero) == 0.0
        assert jvp(grad(f), (zero,), (one,))[1] == 0.0
        assert grad(lambda t: jvp(f, (t,), (one,))[1])(zero) == 0.0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sqrt(x) ** 2,
        lambda x: np.sqrt(x) * 0.0,
        lambda x: np.where(x >= 0, np.sqrt(x) ** 2, 0.0),
        lambda x: np.where(x >= 0, np.sqrt(x), 1.0) * 0.0,
        lambda x: np.concatenate([np.sqrt(x)[:1] * 0.0, np.sqrt(x)[1:]]),
        lambda x: np.sqrt(x)[0] * 0.0 + np.sqrt(x)[1],
        lambda x: np.maximum(np.sqrt(x), -1.0) * 0.0,
        overwriting(lambda y, x: y[:1].__imul__(0.0)),
        overwriting(lambda y, x: np.multiply(y, 0.0, out=y, where=x <= 0)),
        overwriting(lambda y, x: y.__setitem__(1, 3.0 * x[1]), lambda y: y * [0.0, 1.0]),
        overwriting(lambda y, x: y.__setitem__(slice(None), y * [0.0, 1.0])),
        half_overwritten,
    ],
)
def test_zeros_of_arithmetic_are_ordinary_ones(f):
    """The derivative of sqrt(x)**2 is 1; by the chain rule it is not known, and must not become 0."""
    for gradient in (grad(total(f))(X), np.sum(np.reshape(jacobian(f)(X), (-1, 2)), axis=0)):
        assert np.isnan(gradient[0])
        assert np.isfinite(gradient[1])


def test_what_is_chosen_in_one_place_counts_in_all():
    """Contributions of all kinds meet in one adjoint, in all orders."""
    w = np.array([3.0, 5.0])
    contributions: list[Callable[[Any], Any]] = [
        lambda u: np.sum(np.where([True, False], u, 0.0) * w),
        lambda u: np.sum(np.where([False, True], u, 0.0) * w),
        lambda u: u[0] * 7.0,
        lambda u: np.sum(u[1:]) * 11.0,
        lambda u: np.sum(u * w),
    ]
    slopes = np.array([[3.0, 0.0], [0.0, 5.0], [7.0, 0.0], [0.0, 11.0], [3.0, 5.0]])
    x = np.array([0.4, 0.9])
    for i, first in enumerate(contributions):
        for j, second in enumerate(contributions):
            for k, third in enumerate(contributions):

                def f(x, first=first, second=second, third=third):
                    u = np.sin(x)
                    return first(u) + second(u) + third(u)

                expected = (slopes[i] + slopes[j] + slopes[k]) * np.cos(x)
                close(grad(f)(x), expected)
                close(grad(lambda x, f=f: np.sum(grad(f)(x)))(x), -(slopes[i] + slopes[j] + slopes[k]) * np.sin(x))


LINEAR: dict[str, Callable[[Any], Any]] = {
    "diff": np.diff,
    "differences": lambda u: u[1:] - u[:-1],
    "cumsum": np.cumsum,
    "second_sum": lambda u: np.cumsum(np.cumsum(u)),
    "roll": lambda u: np.roll(u, 2) - u,
    "sum": lambda u: np.sum(np.reshape(u, (3, 2)), axis=0),
    "mean": lambda u: np.mean(np.reshape(u, (3, 2)), axis=1, keepdims=True),
    "concatenate": lambda u: np.concatenate([u, -u[::2], u[[1, 1, 4]]]),
    "broadcast": lambda u: u + np.zeros((3, 1)),
    "outer": lambda u: u[:, None] - u,
    "matmul": lambda u: np.arange(12.0).reshape(2, 6) @ u,
    "fft": lambda u: np.real(np.fft.fft(u)),
    "rfft": lambda u: np.imag(np.fft.rfft(u)),
    "sort": np.sort,
    "transposed": lambda u: np.reshape(u, (2, 3)).T,
    "repeat": lambda u: np.repeat(u, 2),
    "pad": lambda u: np.pad(u, 1, mode="reflect"),
    "linspace": lambda u: np.linspace(u[:3], u[3:], 4),
    "interp": lambda u: np.interp([0.5, 1.5, 4.2], np.arange(6.0), u),
}


@pytest.mark.parametrize("linear", LINEAR.values(), ids=LINEAR.keys())
def test_nothing_that_counts_is_left_out(linear):
    """A mask goes back through a linear function to all that what it shows depends on, where weights cancel, too."""
    generator = np.random.default_rng(3)
    x = generator.uniform(-1, 1, 6)
    if linear is np.sort:
        matrix = np.eye(6)[np.argsort(x)]
    else:
        matrix = np.stack([np.ravel(linear(row)) for row in np.eye(6)], axis=1)
    shape = np.shape(linear(x))
    for _ in range(8):
        mask = generator.uniform(size=shape) < 0.5

        def f(x, mask=mask):
            return np.sum(np.where(mask, linear(np.sin(x)), 2.0))

        weights = np.ravel(mask).astype(float) @ matrix
        close(grad(f)(x), weights * np.cos(x))
        close(grad(lambda x, f=f: np.sum(grad(f)(x)))(x), -weights * np.sin(x))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.complex64, np.complex128])
def test_other_precisions(dtype):
    def f(x):
        return np.sum(np.real(np.where(np.array([False, True]), np.sqrt(x), 0.0)))

    gradient = grad(f)(X.astype(dtype))
    assert gradient.dtype == dtype
    np.testing.assert_allclose(gradient, GRADIENT, rtol=1e-3)


def test_rows():
    """Lengths and directions of rows of which one is zero: the choice is on the other side of a sum."""
    some = np.any(ROWS != 0, axis=1)

    def lengths(m):
        return np.sum(np.where(some, np.sqrt(np.sum(m**2, axis=1)), 0.0))

    def directions(m):
        return np.sum(np.where(some[:, None], m / np.sqrt(np.sum(m**2, axis=1, keepdims=True)), 0.0))

    close(grad(lengths)(ROWS), [[0.0, 0.0], [0.6, 0.8]])
    close(grad(directions)(ROWS), [[0.0, 0.0], [4 / 125, -3 / 125]])
    for f in (lengths, directions):
        row = hessian(lambda row, f=f: f(np.stack([np.ones(2), row])))(ROWS[1])
        found = hessian(f)(ROWS)
        close(found[1, :, 1, :], row)
        assert not np.any(found[0])
        assert not np.any(found[:, :, 0])


def test_infinite_cotangents_are_selected_too():
    _, pullback = vjp(lambda x: np.maximum(x, np.array([1.0, 1.0])), X)
    close(pullback(np.array([np.inf, 1.0]))[0], [0.0, 1.0])
    close(grad(lambda x: np.sum(np.sqrt(np.where(x > 0, x, 0.0))))(X), GRADIENT)


def test_an_infinity_in_a_part_is_told_by_debug():
    with pytest.raises(FloatingPointError, match=r"on the way back through numpy\.sqrt"), debug():
        grad(lambda x: np.sum(np.sqrt(x)[:1]))(X)
    with debug():
        close(grad(total(CHOICES["where"]))(X), GRADIENT)


def test_arrays_of_another_library():
    library = pytest.importorskip("array_api_strict")
    x = library.asarray([0.5, 2.0])
    for f in (lambda x: np.where(x > 1, np.sqrt(x), 0.0), lambda x: np.maximum(np.sqrt(x), 1.0)):
        close(np.asarray(grad(total(f))(x)), GRADIENT)


# The adjoints themselves


class Cell:
    def __init__(self, primal: Any) -> None:
        self.primal, self.adjoint, self.owns = primal, ZERO, False


def half(first: bool) -> Masked:
    mask = np.array([first, not first])
    return Masked(mask * 2.0, mask)


def test_a_part_of_which_all_counts_goes_on_without_a_mask():
    linear_map = LinearMap(lambda x_dot: x_dot, lambda y_bar: y_bar[:2], moves=True)
    values = np.array([1.0, 2.0, 0.0])
    assert type(through(linear_map, Masked(values, np.array([True, True, False])))) is np.ndarray
    assert type(through(linear_map, Masked(values, np.array([True, False, True])))) is Masked


def test_a_part_that_is_read_is_added_in_place():
    x = Cell(np.zeros(3))
    accumulate_at(x, 0, 1.0)
    first = x.adjoint
    assert type(first) is Masked
    accumulate_at(x, slice(0, 2), np.array([1.0, 1.0]))
    assert x.adjoint is first
    found = summed(x)
    assert type(found) is Masked
    assert found.mask.tolist() == [True, True, False]
    assert found.values.tolist() == [2.0, 1.0, 0.0]
    accumulate_at(x, np.array([2, 2]), np.array([1.0, 1.0]), np.array([True, False]))
    assert type(summed(x)) is np.ndarray
    assert settle(x).tolist() == [2.0, 1.0, 2.0]


def test_a_masked_contribution_is_not_written_to():
    x, y = Cell(np.zeros(2)), Cell(np.zeros(2))
    x_bar = half(first=True)
    accumulate(x, x_bar, owned=True)
    accumulate(y, x_bar)
    accumulate_at(x, 1, 5.0)
    accumulate(y, half(first=False))
    assert settle(x).tolist() == [2.0, 5.0]
    assert settle(y).tolist() == [2.0, 2.0]
    assert x_bar.values.tolist() == [2.0, 0.0]
    assert x_bar.mask.tolist() == [True, False]


def test_what_nothing_shows_is_not_used_at_all():
    x = Cell(np.zeros(2))
    accumulate(x, Masked(np.zeros(2), np.zeros(2, bool)))
    assert summed(x) is ZERO
    t = Cell(0.5)
    accumulate(t, Masked(np.zeros(2), np.zeros(2, bool)))
    assert t.adjoint is ZERO
    accumulate(t, half(first=True))
    assert t.adjoint == 2.0


def test_broadcasting_is_undone_in_the_mask():
    x = Cell(np.zeros((2, 1)))
    mask = np.array([[False, False], [False, True]])
    accumulate(x, Masked(mask * 3.0, mask))
    found = summed(x)
    assert found.mask.tolist() == [[False], [True]]
    assert found.values.tolist() == [[0.0], [3.0]]


def test_a_whole_contribution_covers_all():
    for first in (True, False):
        x = Cell(np.zeros(2))
        for x_bar in (half(first=True), np.ones(2)) if first else (np.ones(2), half(first=True)):
            accumulate(x, x_bar)
        assert type(summed(x)) is np.ndarray
        assert settle(x).tolist() == [3.0, 1.0]


def test_contributions_that_are_numbers():
    """Those of an outer derivative, to parts, with masks, and whole, in all orders."""
    kinds: list[Callable[[Any, Any], None]] = [
        lambda x, t: accumulate_at(x, 0, t),
        lambda x, t: accumulate_at(x, slice(1, None), np.stack([t, t])[:1], np.array([True])),
        lambda x, t: accumulate(x, Masked(np.where([True, False], t, 0.0), np.array([True, False]))),
        lambda x, t: accumulate(x, half(first=False)),
        lambda x, t: accumulate_at(x, 1, 4.0),
    ]
    shown = [[True, False], [False, True], [True, False], [False, True], [False, True]]
    values = [[5.0, 0.0], [0.0, 5.0], [5.0, 0.0], [0.0, 2.0], [0.0, 4.0]]
    for i, first in enumerate(kinds):
        for j, second in enumerate(kinds):
            for k, third in enumerate(kinds):

                def outer(t, chosen=(first, second, third), at=(i, j, k)):
                    x = Cell(np.zeros(2))
                    for contribute in chosen:
                        contribute(x, t)
                    mask = np.any([shown[i] for i in at], axis=0)
                    found = summed(x)
                    assert (type(found) is Masked) == (not mask.all())
                    if type(found) is Masked:
                        assert found.mask.tolist() == mask.tolist()
                    close(sr.value(settle(x)), np.sum([values[i] for i in at], axis=0))
                    return t * 1.0

                grad(outer)(5.0)
    x = Cell(np.zeros(2))
    x.adjoint = Held(ZERO)
    accumulate(x, np.ones(2))
    assert settle(x).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("shape", [(0,), (3,), (2, 2), (FEW,), (FEW + 1,), (2, FEW), (1, 3, FEW)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.longdouble, ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_a_mask_selects_is_what_where_selects(shape, dtype, order):
    """Bit by bit: of NaN, infinities, zeros of both signs and numbers too small to be normal."""
    generator = np.random.default_rng(0)
    special = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1.0, -2.5]
    values = np.asarray(generator.choice(special, shape), dtype, order=order)
    mask = generator.random(shape) < 0.5
    before = values.copy()
    found, expected = selected(mask, values), np.where(mask, values, 0.0)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(np.signbit(found.real), np.signbit(expected.real))
    assert np.array_equal(values, before, equal_nan=True)
    assert not np.shares_memory(found, values)


@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.parametrize("scalar", [np.nan, np.inf, -0.0, 5e-324, -2.5])
@pytest.mark.parametrize("shape", [(), (0,), (4,), (2, FEW)])
def test_a_scalar_is_selected_as_where_selects_it(kind, scalar, shape):
    mask = np.asarray(np.random.default_rng(0).random(shape) < 0.5)
    found, expected = selected(mask, kind(scalar)), np.where(mask, kind(scalar), 0.0)
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(expected))


def test_a_mask_of_another_shape_is_broadcast():
    assert np.array_equal(selected(np.array([True, False]), np.ones((3, 2))), [[1.0, 0.0]] * 3)
    assert np.array_equal(selected(np.array([1, 0]), np.array([2.0, 3.0])), [2.0, 0.0])
