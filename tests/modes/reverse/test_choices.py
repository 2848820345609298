"""`maximum` and its kin: each operand gets its share, one, a half at a tie, or zero, which no infinity turns into NaN.

The shares are computed here from their definition. Arrays of doubles have a choice that is made with the value, small
ones by another code than large ones; anything else chooses on the way back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import grad, hvp, jacobian, jvp, linearize, staged, vjp
from shiftreset_ad.modes.reverse import choices

FUNCTIONS = [np.maximum, np.minimum, np.fmax, np.fmin]
LEVELS = [-1.0, -0.0, 0.0, 0.5, 2.0, np.inf, -np.inf, np.nan]
SHAPES = [
    ((4,), (4,)),
    ((3, 4), (4,)),
    ((4,), (3, 4)),
    ((3, 1), (1, 4)),
    ((700,), (700,)),
    ((3, 400), (400,)),
    ((0,), (0,)),
]
Function = Callable[[Any, Any], Any]


def drawn(shape: tuple[int, ...], seed: int, dtype: Any = float) -> Any:
    """An array of a few values, which tie often; some are not finite."""
    return np.random.default_rng(seed).choice(LEVELS, size=shape).astype(dtype)


def share(function: Function, a: Any, b: Any) -> Any:
    """The derivative in `a` of every element of the answer."""
    return np.where(a == function(a, b), np.where(a == b, 0.5, 1.0), 0.0)


def summed_to(x_bar: Any, shape: tuple[int, ...]) -> Any:
    """The transpose of broadcasting."""
    x_bar = np.sum(x_bar, axis=tuple(range(x_bar.ndim - len(shape))))
    return np.sum(x_bar, axis=tuple(i for i, size in enumerate(shape) if size == 1), keepdims=True)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_each_operand_gets_its_share(function: Function, shapes: Any, dtype: Any) -> None:
    a, b = drawn(shapes[0], 1, dtype), drawn(shapes[1], 2, dtype)
    y_bar = drawn(np.broadcast_shapes(*shapes), 3, dtype)
    y_bar[np.isnan(y_bar)] = 3.0
    for_a, for_b = share(function, a, b), share(function, b, a)
    with np.errstate(invalid="ignore"):
        a_bar = summed_to(np.where(for_a == 0, 0.0, for_a * y_bar), a.shape)
        b_bar = summed_to(np.where(for_b == 0, 0.0, for_b * y_bar), b.shape)
        for f, operands, expected in (
            (lambda a: function(a, b), (a,), (a_bar,)),
            (lambda b: function(a, b), (b,), (b_bar,)),
            (function, (a, b), (a_bar, b_bar)),
        ):
            _, pull = vjp(f, *operands)
            for _ in range(2):  # a recorded way back runs any number of times
                for found, x_bar in zip(pull(y_bar), expected, strict=True):
                    assert found.dtype == dtype
                    np.testing.assert_allclose(found, x_bar, rtol=1e-5 if dtype is np.float32 else 1e-13)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_second_derivatives_have_the_square_of_the_share(function: Function, shapes: Any) -> None:
    a, b = np.nan_to_num(drawn(shapes[0], 4), posinf=3.0, neginf=-3.0), drawn(shapes[1], 5)
    v = np.random.default_rng(6).normal(size=a.shape)
    share_of_a = share(function, a, b)

    def f(a: Any) -> Any:
        y = function(a, b)
        return np.sum(np.where(np.isfinite(b), y, 0.0) ** 2)

    finite = np.broadcast_to(np.isfinite(b), share_of_a.shape)
    expected = summed_to(np.where(finite, share_of_a**2, 0.0) * 2.0 * v, a.shape)
    np.testing.assert_allclose(hvp(f, (a,), (v,)), expected, rtol=1e-12)
    np.testing.assert_allclose(grad(lambda a: np.sum(grad(f)(a) * v))(a), expected, rtol=1e-12)


@pytest.mark.parametrize("size", [4, 700])
def test_both_operands_at_second_order(size: int) -> None:
    """One of them may be the other, which gets both halves."""
    x, v = np.nan_to_num(drawn((size,), 7), posinf=3.0, neginf=-3.0), np.random.default_rng(8).normal(size=size)

    def f(x: Any) -> Any:
        return np.sum(np.maximum(x, x) ** 3 + np.minimum(x, x * x) ** 2)

    of_square = share(np.minimum, x * x, x)
    slope = share(np.minimum, x, x * x) + of_square * 2.0 * x
    expected = (6.0 * x + 2.0 * slope**2 + 4.0 * np.minimum(x, x * x) * of_square) * v
    np.testing.assert_allclose(hvp(f, (x,), (v,)), expected, rtol=1e-12)
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(f)(x) * v))(x), expected, rtol=1e-12)


@pytest.mark.parametrize("size", [5, 700])
@pytest.mark.parametrize(
    "constant", [0, 0.0, -0.0, np.inf, np.nan, True, np.float32(0.5), np.float64(0.5), np.arange(5)]
)
def test_a_constant_of_any_kind(size: int, constant: Any) -> None:
    x = np.resize(np.array([-1.0, 0.0, 0.5, 1.0, 2.0]), size)
    if type(constant) is np.ndarray:
        constant = np.resize(constant, size)
    for function in FUNCTIONS:
        expected = share(function, x, constant)
        for f in (lambda x, f=function: f(x, constant), lambda x, f=function: f(constant, x)):
            np.testing.assert_array_equal(grad(lambda x, f=f: np.sum(f(x)))(x), expected)
            np.testing.assert_array_equal(jvp(f, (x,), (np.ones(size),))[1], expected)
            np.testing.assert_array_equal(linearize(f, x)[1](np.ones(size)), expected)
            np.testing.assert_array_equal(staged(grad(lambda x, f=f: np.sum(f(x))))(x), expected)


@pytest.mark.parametrize("size", [3, 700])
def test_writes_after_the_choice_do_not_change_it(size: int) -> None:
    def f(x: Any) -> Any:
        y, bound = x * 1.0, np.full(size, 0.5)
        z = np.maximum(y, bound)
        y[:] = 0.0
        bound[:] = 9.0
        total = np.sum(z**2)
        z[0] = x[1]
        return total + np.sum(z)

    x = np.resize(np.array([0.25, 0.5, 2.0]), size)
    expected = np.resize([0.0, 0.5 * (2 * 0.5 + 1), 5.0], size)
    expected[1] += 1.0
    np.testing.assert_allclose(grad(f)(x), expected, rtol=1e-13)


def test_an_error_on_the_way_back_names_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("no adjoint")

    monkeypatch.setattr(choices, "accumulate", fail)
    with pytest.raises(RuntimeError) as caught:
        grad(lambda x: np.sum(np.maximum(x, 0.0)))(np.array([0.5, 1.0]))
    assert "through numpy.maximum" in caught.value.__notes__[0]


def test_rows_of_a_jacobian_share_the_choice() -> None:
    x, b = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])
    np.testing.assert_array_equal(jacobian(lambda x: np.maximum(x, b))(x), np.diag([0.0, 0.5, 1.0]))
    np.testing.assert_array_equal(
        jacobian(jacobian(lambda x: np.maximum(x, b) ** 2))(x)[[0, 1, 2], [0, 1, 2], [0, 1, 2]], [0.0, 0.5, 2.0]
    )
