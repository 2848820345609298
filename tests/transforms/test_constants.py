"""Constants among numbers: `stop_gradient`, `lift`, `zeros_like`, `is_differentiable`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import (
    EscapedNumberError,
    NumF,
    NumR,
    grad,
    is_differentiable,
    jacfwd,
    jacobian,
    jvp,
    lift,
    stop_gradient,
    value,
    vjp,
    zeros_like,
)

X = np.array([0.5, -1.5, 2.0])
ONES = np.ones(3)


@dataclass
class Layer:
    weight: Any
    name: Any


def slope(f: Any, x: Any) -> Any:
    """By both modes."""
    (reverse,) = vjp(f, x)[1](1.0)
    forward = np.array([jvp(f, (x,), (e if np.ndim(x) else e[0],))[1] for e in np.eye(np.size(x))])
    np.testing.assert_allclose(forward.reshape(np.shape(x)), reverse)
    return reverse


def test_stop_gradient() -> None:
    assert slope(lambda x: x * stop_gradient(x), 3.0) == 3.0
    assert slope(lambda x: stop_gradient(x * x), 3.0) == 0.0
    assert grad(lambda x: x * grad(lambda y: y * stop_gradient(x * y))(x))(3.0) == 9.0
    np.testing.assert_array_equal(slope(lambda x: np.sum(x * stop_gradient({"a": [x, "b"]})["a"][0]), X), X)
    np.testing.assert_array_equal(jacobian(lambda x: x * stop_gradient(x))(X), np.diag(X))
    np.testing.assert_array_equal(jacfwd(lambda x: x * stop_gradient(x))(X), np.diag(X))


def test_stop_gradient_of_constants_and_structures() -> None:
    assert stop_gradient(3.0) == 3.0
    assert stop_gradient(X) is X
    seen: list[Any] = []
    grad(lambda x: seen.append(stop_gradient(Layer([x, 3], "name"))) or np.sum(x))(X.copy())
    assert type(seen[0]) is Layer
    assert seen[0].name == "name"
    assert seen[0].weight[1] == 3
    with pytest.raises(ValueError, match="read-only"):
        seen[0].weight[0][0] = 1.0


def test_lift_makes_a_buffer() -> None:
    def f(x: Any) -> Any:
        total = lift(np.zeros(3), like=x)
        same = total
        for i in range(3):
            total += x * float(i)
        total *= x
        return np.sum(same)

    np.testing.assert_allclose(slope(f, X), 6.0 * X)
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(f)(x) * X))(X), 6.0 * X)
    np.testing.assert_allclose(jvp(grad(f), (X,), (ONES,))[1], 6.0 * ONES)
    np.testing.assert_allclose(grad(lambda x: jvp(f, (x,), (X,))[1])(X), 6.0 * X)


def test_lift_copies_and_keeps_the_rest() -> None:
    buffer = np.zeros(3)
    kinds = []

    def f(x: Any) -> Any:
        lifted = lift({"a": buffer, "b": [2.0, 3, "c", None], "d": np.float32(1.0), "x": x}, like=x)
        kinds.append([type(part) for part in (lifted["a"], *lifted["b"], lifted["d"])])
        assert lifted["x"] is x
        assert lifted["d"].dtype == np.float32
        lifted["a"] += x
        return np.sum(lifted["a"]) * lifted["b"][0]

    np.testing.assert_array_equal(slope(f, X), 2.0 * ONES)
    np.testing.assert_array_equal(buffer, np.zeros(3))
    plain = [int, str, type(None)]
    assert kinds[0] == [NumR, NumR, *plain, NumR]
    assert kinds[1] == [NumF, NumF, *plain, NumF]
    assert lift(buffer, like=2.0) is buffer


def test_lift_of_numbers_of_other_levels() -> None:
    def f(x: Any) -> Any:
        def inner(y: Any) -> Any:
            assert lift(y, like=x) is y
            raised = lift(x, like=y)
            assert raised.tag is y.tag
            return np.sum(raised * y * y)

        return np.sum(grad(inner)(x) + jvp(inner, (x,), (ONES,))[1])

    # grad: 2 x x; jvp: the sum of it, three times
    np.testing.assert_allclose(slope(f, X), 4.0 * X + 12.0 * X)


def test_lift_after_the_derivative() -> None:
    leaked: list[Any] = []
    grad(lambda x: leaked.append(x) or x)(3.0)
    jvp(lambda x: leaked.append(x) or x, (3.0,), (1.0,))
    for number in leaked:
        with pytest.raises(EscapedNumberError):
            lift(X, like=number)


def test_zeros_like() -> None:
    tree = {
        "float": 2.0,
        "complex": 1j,
        "float32": np.float32(2.0),
        "0d": np.array(2.0),
        "array": np.asfortranarray(np.ones((2, 3), np.float32)),
        "empty": np.zeros((0, 2)),
        "layer": Layer(X, "name"),
        "n": 3,
        "none": None,
    }
    zeros = zeros_like(tree)
    assert (zeros["n"], zeros["none"], zeros["layer"].name) == (None, None, None)
    for name in ("float", "complex", "float32", "0d", "array", "empty"):
        assert type(zeros[name]) is type(tree[name])
        assert np.shape(zeros[name]) == np.shape(tree[name])
        assert np.result_type(zeros[name]) == np.result_type(tree[name])
        assert np.all(zeros[name] == 0)
    np.testing.assert_array_equal(zeros["layer"].weight, np.zeros(3))
    made: list[Any] = []
    grad(lambda x: made.append(zeros_like([x, x[0]])) or np.sum(x))(X)
    assert [type(zero) for zero in made[0]] == [np.ndarray, np.float64]
    assert jvp(lambda t: t["float"] * 2.0, ({"float": 1.0, "n": 3},), (zeros_like({"float": 1.0, "n": 3}),))[1] == 0.0


def test_is_differentiable() -> None:
    for x in (2.0, 1j, np.float16(1.0), np.complex64(1.0), X, np.array(2.0), [1, {"a": 2.0}], Layer(X, "name")):
        assert is_differentiable(x)
    for x in (2, True, "text", None, [], np.array([1]), np.bool_(True), object(), [1, "a"], len, np.ma.array(X)):
        assert not is_differentiable(x)
    seen: list[Any] = []
    grad(lambda x: seen.append([is_differentiable(x), is_differentiable(value(x)), is_differentiable(int)]) or x)(3.0)
    assert seen == [[True, True, False]]
