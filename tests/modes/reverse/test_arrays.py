"""The way back through elementwise operations on large arrays: what is overwritten, and what must not be."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import shiftreset_ad.scipy.special  # noqa: F401 (its functions have rules in the table)
from shiftreset_ad import grad, hvp, jvp, vjp
from shiftreset_ad.modes.reverse import arrays
from shiftreset_ad.modes.reverse.arrays import LARGE
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.numbers.partials import ieee
from shiftreset_ad.rules.masked import Choice
from shiftreset_ad.rules.table import ELEMENTWISE
from tests.peaks import peak_of

ROWS, COLUMNS = 2 * LARGE, 3
X, ROW = np.linspace(0.2, 0.9, ROWS * COLUMNS).reshape(ROWS, COLUMNS), np.array([0.3, 0.5, 0.7])
COLUMN = np.linspace(0.4, 0.6, ROWS)[:, None]

PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "differences": lambda x, row, column: np.sum((x - row) * (column - x)),
    "a difference of broadcasts": lambda x, row, column: np.sum(np.sin(column - row) * x),
    "negatives": lambda x, row, column: np.sum(-(-x * row) * column),
    "a power whose cotangent is a view": lambda x, row, column: np.sum(np.sum((x * row - column) ** 2, axis=1) ** 2),
    "a value that is a factor twice": lambda x, row, column: np.sum(np.exp(x * row) * np.exp(x * row) / column),
    "an operand twice": lambda x, row, column: np.sum((x * x - x) * (row - row * column)),
    "a quotient": lambda x, row, column: np.sum(row / (x + column) - column / x),
    "an angle": lambda x, row, column: np.sum(np.arctan2(x, row) * np.hypot(x, column)),
    "a remainder": lambda x, row, column: np.sum(np.remainder(x * 5.0, row) * column),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_gradients_of_large_arrays_by_another_mode_and_again(program: Callable[..., Any]) -> None:
    at = X, ROW, COLUMN
    gradient = grad(program, (0, 1, 2))(*at)
    directions = [np.cos(np.arange(x.size)).reshape(x.shape) for x in at]
    slope = jvp(program, at, tuple(directions))[1]
    found = sum(np.sum(g * d) for g, d in zip(gradient, directions, strict=True))
    np.testing.assert_allclose(found, slope, rtol=1e-11)
    _, pullback = vjp(program, *at)
    for _ in range(2):  # nothing that the second way back needs is overwritten in the first
        for again, once in zip(pullback(1.0), gradient, strict=True):
            np.testing.assert_array_equal(again, once)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_second_derivatives_of_large_arrays(program: Callable[..., Any]) -> None:
    v = np.sin(np.arange(X.size)).reshape(X.shape)

    def f(x: Any) -> Any:
        return program(x, ROW, COLUMN)

    forward = hvp(f, (X,), (v,))
    backward = grad(lambda x: np.sum(grad(f)(x) * v))(X)
    np.testing.assert_allclose(forward, backward, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("function", ELEMENTWISE, ids=lambda function: getattr(function, "__name__", str(function)))
def test_a_partial_derivative_is_a_new_array_or_one_of_its_values(function: Callable[..., Any]) -> None:
    """So a new one can be overwritten."""
    partials = ELEMENTWISE[function].partials
    exponents = np.arange(8) if function is np.ldexp else np.linspace(0.5, 0.8, 8)
    operands = [np.linspace(0.3, 0.6, 8), exponents][: len(partials)]
    with np.errstate(all="ignore"):
        values = [function(*operands), *operands]
        for partial in filter(callable, partials):
            first, second = ieee(partial, *values), ieee(partial, *values)
            if type(first) is Choice or type(first) is not np.ndarray or any(first is x for x in values):
                continue
            assert first is not second
            if first.base is None:
                assert not any(np.shares_memory(first, x) for x in [*values, second])


def allocated(program: Callable[[], Any]) -> float:
    """The peak of memory, in arrays like `X`."""
    return peak_of(program) / X.nbytes


def test_a_new_partial_derivative_is_overwritten_by_its_product() -> None:
    """The cotangent is a view of a row, so it cannot be. Beside the power there is its base, and the gradient."""
    x = X.copy()
    x.flags.writeable = False
    peak = allocated(lambda: vjp(lambda x: np.sum(np.square(x + 1.0), axis=1), x)[1](COLUMN[:, 0]))
    assert peak < 4.5  # of the argument, of x + 1, of its square, and of the factor, which is the answer


def test_a_constant_factor_multiplies_what_is_left_of_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    accumulate = arrays.accumulate

    def noted(x: Any, x_bar: Any, owned: bool = False) -> None:
        sizes.append(np.size(x_bar))
        accumulate(x, x_bar, owned)

    monkeypatch.setattr(arrays, "accumulate", noted)
    gradient = grad(lambda row: np.sum((X - row) * COLUMN))(ROW)
    np.testing.assert_allclose(gradient, np.full(3, -np.sum(COLUMN)))
    assert sizes[-1] == ROW.size


def test_a_partial_derivative_that_is_a_view_of_a_value_is_not_overwritten() -> None:
    value, y_bar = np.full(arrays.MANY + 1, 2.0), np.full(arrays.MANY + 1, 3.0)
    x: Any = SimpleNamespace(primal=value, adjoint=ZERO, owns=False)
    arrays.accumulate_product(x, value[:], y_bar, False, (value,))
    np.testing.assert_array_equal(x.adjoint, 6.0)
    np.testing.assert_array_equal(value, 2.0)
    np.testing.assert_array_equal(y_bar, 3.0)


@pytest.mark.parametrize("size", [3, 5000])  # small arrays, and large ones
@pytest.mark.parametrize("f", [lambda x: 1.0 - x, lambda x: -x, lambda x: 2.0 - np.positive(x)])
def test_the_way_back_of_a_difference_negates(f: Callable[..., Any], size: int) -> None:
    """A product with -1 makes a NaN of the other part of an infinite complex number."""
    y_bar = np.full(size, complex(np.inf, 1.0))
    (x_bar,) = vjp(f, np.ones(size, complex))[1](y_bar)
    np.testing.assert_array_equal(x_bar, -y_bar)
    (x_bar,) = vjp(lambda x: -f(x), np.ones(size, complex))[1](y_bar)  # the inner way back may overwrite its array
    np.testing.assert_array_equal(x_bar, y_bar)
