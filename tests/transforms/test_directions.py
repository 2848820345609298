"""All unit directions at once, or in parts where there are too many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftreset_ad import grad, hessian, jacfwd, jacobian, jacrev, value_and_jacobian, zeros
from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.modes.stacks.scalars import ScalarStack
from shiftreset_ad.transforms import directions
from shiftreset_ad.transforms.directions import along_units, count, from_columns, from_rows

X = np.array([0.5, -1.5, 2.0])


def f(x: Any) -> Any:
    return {"a": np.cumsum(x) * x[0], "b": [np.sum(x * x), x[:0], 2.5], "c": 3}


def test_counting() -> None:
    assert count([]) == 0
    assert count([1.0, np.float32(2.0), np.zeros((2, 3)), np.zeros((0, 4)), np.array(1j)]) == 9


@pytest.mark.parametrize("at_most", [1, 3, 4, 5, 6, 8, 9, 1 << 22])
def test_in_parts(at_most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {operator: operator(f)(X) for operator in (jacobian, jacrev, jacfwd)}
    second = hessian(lambda x: np.prod(x) * np.sum(x))(X)
    monkeypatch.setattr(directions, "AT_MOST", at_most)
    for operator, expected in whole.items():
        found = operator(f)(X)
        assert found["c"] is None
        np.testing.assert_array_equal(found["a"], expected["a"])
        assert [part.shape for part in found["b"]] == [(3,), (0, 3), (3,)]
        for part, block in zip(found["b"], expected["b"], strict=True):
            np.testing.assert_array_equal(part, block)
    np.testing.assert_allclose(hessian(lambda x: np.prod(x) * np.sum(x))(X), second, rtol=1e-14)
    np.testing.assert_allclose(jacobian(grad(lambda x: np.prod(x) * np.sum(x)))(X), second, rtol=1e-14)


@pytest.mark.parametrize("operator", [jacobian, jacrev, jacfwd])
def test_an_array_of_zeros_in_parts(operator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody gets its adjoint, which would meet that of the next part."""
    monkeypatch.setattr(directions, "AT_MOST", 24)  # four of the six rows, and two

    def with_zeros(x: Any) -> Any:
        return np.concatenate([x * x, zeros(2), np.zeros_like(x)])

    expected = np.concatenate([2.0 * np.diag(X[:2]), np.zeros((4, 2))])
    np.testing.assert_array_equal(operator(with_zeros)(X[:2]), expected)


@pytest.mark.parametrize(("at_most", "parts"), [(1, 3), (3, 3), (5, 3), (6, 2), (8, 2), (9, 1), (100, 1)])
def test_how_often_the_function_runs(at_most: int, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forward mode runs it once for each part; the others once."""
    monkeypatch.setattr(directions, "AT_MOST", at_most)
    calls = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return np.cumsum(x) * x[0], {"aux": x * 2.0}

    expected = np.array([[1.0, 0.0, 0.0], [-0.5, 0.5, 0.0], [1.5, 0.5, 0.5]])
    for operator, times in ((jacfwd, parts), (jacrev, 1), (jacobian, 1)):
        calls.clear()
        found, aux = operator(counted, has_aux=True)(X)
        assert len(calls) == times
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(aux["aux"], 2.0 * X)
    (value, aux), found = value_and_jacobian(counted, has_aux=True)(X)
    np.testing.assert_array_equal(value, np.cumsum(X) * X[0])
    np.testing.assert_array_equal(aux["aux"], 2.0 * X)
    np.testing.assert_array_equal(found, expected)


def test_larger_values_than_arguments_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def larger(x: Any) -> Any:
        calls.append(1)
        return np.outer(x, np.sin(x))

    expected = jacrev(larger)(X)
    for at_most in (1, 4, 6, 100):
        monkeypatch.setattr(directions, "AT_MOST", at_most)
        calls.clear()
        np.testing.assert_allclose(jacobian(larger)(X), expected, rtol=1e-14)
        assert len(calls) == 1


def test_what_the_linear_map_is_given() -> None:
    """A stack of a row for each unit direction, of floats for a scalar; for one direction an ordinary one; or None."""
    seen: list[Any] = []

    def linear(xs: list[Any]) -> list[Any]:
        seen[:] = xs
        return [xs[0] * 2.0 if xs[0] is not None else None, None, np.float64(5.0)]

    doubled, nothing, constant = along_units([np.zeros(2, np.float32), 1.0], linear)
    assert [type(x) for x in seen] == [Stack, ScalarStack]
    assert [x.dtype for x in seen] == [np.float32, np.float64]
    np.testing.assert_array_equal(seen[0].rows, [[1, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(seen[1].rows, [0, 0, 1])
    np.testing.assert_array_equal(doubled, [[2, 0], [0, 2], [0, 0]])
    assert nothing is None
    np.testing.assert_array_equal(constant, [5.0, 5.0, 5.0])
    (doubled, nothing, constant) = along_units([np.zeros((1, 1))], linear)
    assert type(seen[0]) is np.ndarray
    np.testing.assert_array_equal(doubled, [[[2.0]]])
    along_units([np.zeros((0, 2))], linear)
    assert seen == [None]


def test_an_error_ends_the_call() -> None:
    seen: list[Any] = []

    def linear(xs: list[Any]) -> list[Any]:
        seen[:] = xs
        raise KeyError("stop")

    with pytest.raises(KeyError):
        along_units([np.zeros(2)], linear)
    assert not seen[0].tag.is_open


def test_blocks() -> None:
    """The matrix in blocks: rows and columns give the same."""
    xs, ys = [np.zeros(2), 1.0], [np.zeros((1, 3)), 2.0, np.zeros(0)]
    matrix = np.arange(12.0).reshape(4, 3)
    rows = [matrix[:, :2], matrix[:, 2]]
    columns = [matrix[:3].T.reshape(3, 1, 3), matrix[3], np.zeros((3, 0))]
    by_rows, by_columns = from_rows(rows, xs, ys), from_columns(columns, xs, ys)
    for one, other in zip(by_rows, by_columns, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(by_rows[0][0], matrix[:3, :2].reshape(1, 3, 2))
    np.testing.assert_array_equal(by_rows[1][0], matrix[3, :2])
    assert by_rows[1][1] == 11.0
    assert by_rows[2][0].shape == (0, 2)
    zeros = from_rows([None, None], [np.zeros(2, np.float32), 1.0], [np.float32(1.0)])
    assert [block.dtype for block in zeros[0]] == [np.float32, np.float64]
    assert [block.shape for block in zeros[0]] == [(2,), ()]


@pytest.mark.parametrize("operator", [jacobian, jacrev, jacfwd])
def test_a_value_without_elements_has_a_jacobian_without(operator: Any) -> None:
    found = operator(lambda x: x * np.zeros((0, 2)))(1.0)
    assert found.shape == (0, 2)
