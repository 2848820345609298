"""NumPy's protocols: ufuncs called in every way, and functions with and without a rule."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import grad, value, value_and_grad
from shiftreset_ad.numbers import dispatch

X = np.array([1.5, -0.5, 2.0])
MATRIX = np.array([[1.5, -0.5, 2.0], [0.3, 1.1, -0.7]])

UFUNC_METHODS = {
    "add.reduce": (lambda x: np.add.reduce(x), lambda x: np.sum(x, 0)),
    "add.reduce over all": (lambda x: np.add.reduce(x, axis=None), np.sum),
    "add.reduce, keepdims": (
        lambda x: np.add.reduce(x, axis=-1, keepdims=True),
        lambda x: np.sum(x, -1, keepdims=True),
    ),
    "multiply.reduce": (lambda x: np.multiply.reduce(x), lambda x: np.prod(x, 0)),
    "maximum.reduce": (lambda x: np.maximum.reduce(x, -1), lambda x: np.max(x, -1)),
    "minimum.reduce": (lambda x: np.minimum.reduce(x, axis=0), lambda x: np.min(x, 0)),
    "add.accumulate": (lambda x: np.add.accumulate(x), lambda x: np.cumsum(x, 0)),
    "multiply.outer": (lambda x: np.multiply.outer(x, X), lambda x: x[..., None] * X),
    "outer of a number on the right": (lambda x: np.subtract.outer(X, x), lambda x: X.reshape(3, *[1] * x.ndim) - x),
    "outer of two numbers": (lambda x: np.power.outer(x * x, x), lambda x: (x * x)[(..., *[None] * x.ndim)] ** x),
    "matmul": (lambda x: np.matmul(x, X), lambda x: np.sum(x * X, -1)),
    "out=None": (lambda x: np.sin(x, out=None), np.sin),
    "sum, out=None": (lambda x: np.sum(x, out=None), np.sum),
}  # fmt: skip


@pytest.mark.parametrize("x", [X, MATRIX], ids=["vector", "matrix"])
@pytest.mark.parametrize("method", UFUNC_METHODS)
def test_methods_of_ufuncs(method: str, x: Any) -> None:
    called, meant = UFUNC_METHODS[method]
    weights = np.cos(np.arange(np.size(called(x)))).reshape(np.shape(called(x)))
    found, gradient = value_and_grad(lambda x: np.sum(weights * called(x)))(x)
    expected, meant_gradient = value_and_grad(lambda x: np.sum(weights * meant(x)))(x)
    np.testing.assert_allclose(found, np.sum(weights * called(x)))
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(gradient, meant_gradient, rtol=1e-12, atol=1e-15)
    assert np.any(gradient != 0)


CONSTANTS = {
    "logical_and.reduce": lambda x: np.logical_and.reduce(x),
    "logical_or.accumulate": lambda x: np.logical_or.accumulate(x > 0),
    "less.outer": lambda x: np.less.outer(x, x),
    "floor_divide.outer": lambda x: np.floor_divide.outer(x, [1.0, 2.0]),
    "floor with dtype": lambda x: np.floor(x, dtype=np.float64),
    "isfinite where": lambda x: np.isfinite(x, where=True),
    "argmax of a list": lambda x: np.argmax([x[0] > 1, x[1] > 1]),
    "shape in a list": lambda x: np.result_type(x, x[0]),
    "searchsorted": lambda x: np.searchsorted([0.0, 1.0], x),
    "all, keepdims": lambda x: np.all(x, axis=0, keepdims=True),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_functions_with_zero_derivative_give_ordinary_values(name: str) -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(CONSTANTS[name](x))
        return np.sum(x)

    grad(lambda x: np.sum(grad(f)(x)) * f(x))(X)
    for found in seen:
        assert not isinstance(found, dispatch.Number)
        np.testing.assert_array_equal(found, CONSTANTS[name](X))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sin(x, out=np.zeros(3)),
        lambda x: np.add(np.ones(3), x, np.zeros(3)),
        lambda x: operator.iadd(np.ones(3), x),
        lambda x: operator.imul(np.ones(3), x[0]),
        lambda x: operator.ipow(np.ones(3), x),
        lambda x: np.sum(x, out=np.zeros(())),
        lambda x: np.cumsum(x, out=np.zeros(3)),
        lambda x: x.sum(out=np.zeros(())),
        lambda x: np.clip(x, 0, 1, out=np.zeros(3)),
        lambda x: np.add.reduce(x, out=np.zeros(())),
        lambda x: np.matmul(x, x, out=np.zeros(())),
        lambda x: np.concatenate([x, x], out=np.zeros(6)),
    ],
)
def test_writing_a_result_into_a_plain_array_is_an_error(f: Any) -> None:
    with pytest.raises(TypeError, match=r"^numpy\.[a-z.]+: the result has numbers .*a plain array.*y = y.*zeros_like"):
        grad(f)(X)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: np.sin(x, where=X > 0), "sin: where"),
        (lambda x: np.add(x, 1, dtype=np.float32), "add: dtype"),
        (lambda x: np.exp(x, casting="unsafe", order="C"), "exp: casting, order"),
    ],
)
def test_options_of_ufuncs_are_an_error(f: Any, name: str) -> None:
    with pytest.raises(TypeError, match=rf"^numpy\.{name} cannot be given with a number.*numpy\.where.*x\.astype"):
        grad(f)(X)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: np.gcd(x, 2), "numpy.gcd"),
        (lambda x: np.packbits(x), "numpy.packbits"),
        (lambda x: np.einsum_path("i->", x), "numpy.einsum_path"),
        (lambda x: np.arctan2.accumulate(x), "numpy.arctan2.accumulate"),
        (lambda x: np.power.reduce(x), "numpy.power.reduce"),
        (lambda x: np.copysign.reduceat(x, [0, 1]), "numpy.copysign.reduceat"),
    ],
)
def test_a_function_without_a_rule_is_an_error_with_its_name_and_the_remedy(f: Any, name: str) -> None:
    remedy = r"Write it with functions that have one, or give it shiftreset_ad\.value\(x\)"
    with pytest.raises(NotImplementedError, match=rf"^{name} has no derivative rule here\. {remedy}"):
        grad(f)(X)


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: x.cumsum(where=X > 0), r"^numpy\.cumsum: got an unexpected keyword argument 'where'.* takes a"),
        (lambda x: x.mean(colour=1), r"^numpy\.mean: got an unexpected keyword argument 'colour'"),
        (lambda x: np.sum(x, 0, None, np.zeros(())), r"^numpy\.sum: the result has numbers .* a plain array"),
        (lambda x: np.max(x, 0, np.zeros(())), r"^numpy\.max: the result has numbers .* a plain array"),
        (lambda x: x.sum(0, axis=0), r"^numpy\.sum: multiple values for argument 'axis'"),
        (lambda x: x.cumsum(0, None, None, 5), r"^numpy\.cumsum: too many positional arguments"),
        (lambda x: x.clip(lowest=0), r"^numpy\.clip: got an unexpected keyword argument 'lowest'"),
    ],
)  # fmt: skip
def test_unsupported_arguments_are_an_error_that_names_function_and_argument(f: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        grad(f)(X)


@pytest.mark.parametrize("y", [0.0, 1.0])
@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x, y: np.roll(x, y), r"^numpy\.roll: argument 'shift' is a number"),
        (lambda x, y: np.sum(x, axis=y), r"^numpy\.sum: argument 'axis' is a number"),
        (lambda x, y: np.sum(x, axis=(0, y)), r"^numpy\.sum: argument 'axis' is a number"),
        (lambda x, y: np.reshape(x, (3, y)), r"^numpy\.reshape: argument 'shape' is a number"),
    ],
)
def test_a_number_for_a_parameter_without_derivative_is_an_error(f: Any, said: str, y: float) -> None:
    with pytest.raises(TypeError, match=said + r".*Give it shiftreset_ad\.value\(x\) where a constant is meant"):
        grad(f, (0, 1))(X, y)


def test_an_error_of_numpy_is_passed_on() -> None:
    with pytest.raises(np.exceptions.AxisError):
        grad(lambda x: np.sum(x, axis=3))(X)
    with pytest.raises(ValueError, match="dimension"):
        grad(lambda x: np.concatenate([x, x[:, None]]))(X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.matmul([x, y], np.ones(2)),
        lambda x, y: np.where([True, False], [x, y], y),
        lambda x, y: np.reshape([x, y], (2, 1)) * x,
        lambda x, y: np.sum([x, y]),
        lambda x, y: np.sin([x, y]),
        lambda x, y: np.linalg.norm([x, y]),
        lambda x, y: np.maximum.reduce([x, y]),
        lambda x, y: np.add([x, y], y),
        lambda x, y: [x, y] * np.ones(2),
        lambda x, y: np.ones((2, 2)) @ [x, y],
        lambda x, y: [x, y] @ np.stack([x, y]),
        lambda x, y: np.dot([x, y], np.stack([x, y])),
    ],
)
def test_a_list_of_numbers_for_an_array(f: Any) -> None:
    def g(x: Any, y: Any) -> Any:
        return np.sum(f(x, y))

    found, (by_x, by_y) = value_and_grad(g, (0, 1))(1.5, 0.25)
    assert np.isclose(found, g(1.5, 0.25), rtol=1e-14)
    assert np.isclose(by_x, (g(1.5 + 1e-6, 0.25) - g(1.5 - 1e-6, 0.25)) / 2e-6, rtol=1e-7)
    assert np.isclose(by_y, (g(1.5, 0.25 + 1e-6) - g(1.5, 0.25 - 1e-6)) / 2e-6, rtol=1e-7)


def test_lists_of_numbers_where_numpy_takes_a_list() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(np.stack([x, y, 0.5]) * X) + np.concatenate([np.array([1.0]), np.stack([y, x * y])])[2] ** 2

    x, y = 1.3, 0.0
    assert f(x, y) == value_and_grad(f)(x, y)[0]
    by_x, by_y = grad(f, (0, 1))(x, y)
    assert (by_x, by_y) == (1.5 + 2 * x * y * y, -0.5 + 2 * x * y * x)


def test_a_zero_in_a_list_is_a_number_all_the_same() -> None:
    """The truth value of a number must not decide whether it is one."""
    assert grad(lambda x: np.sum(np.stack([x, x * 2])))(0.0) == 3.0
    assert grad(lambda x: np.sum(np.concatenate([x, x])))(np.zeros(2)).tolist() == [2.0, 2.0]
    assert grad(lambda x: np.result_type(x, x * 2) and np.sum(x))(np.zeros(2)).tolist() == [1.0, 1.0]


UFUNCS = sorted({ufunc for ufunc in vars(np).values() if isinstance(ufunc, np.ufunc)}, key=lambda ufunc: ufunc.__name__)


@np.errstate(invalid="ignore")
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_every_ufunc_has_a_rule_or_a_clear_error(ufunc: np.ufunc) -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(ufunc(*[x] * ufunc.nin))
        return x

    try:
        expected = ufunc(*[0.5] * ufunc.nin)
    except (TypeError, ValueError):  # not for floats, and so nothing is promised but an error
        with pytest.raises((TypeError, ValueError, NotImplementedError)):
            grad(f)(0.5)
        return
    grad(f)(0.5)
    answers, expected = (given if isinstance(given, tuple) else (given,) for given in (seen[0], expected))
    for answer, plain in zip(answers, expected, strict=True):
        assert type(value(answer)) is type(plain)
        np.testing.assert_array_equal(value(answer), plain)


def test_an_operation_on_numbers_of_two_levels_belongs_to_the_newest() -> None:
    def f(x: Any) -> Any:
        inner = grad(lambda y: np.sum(np.concatenate([x * x, y, x]) * np.where(y > 0, y, x)[0]))(X)
        assert inner.tag.level == 1
        return np.sum(inner * X)

    # d/dy of (sum x^2 + sum y + sum x) * y_0, then d/dx of its product with X
    np.testing.assert_allclose(grad(f)(X), X[0] * (2 * X + 1))


def test_names_of_functions() -> None:
    assert dispatch.name_of(np.sin) == "numpy.sin"
    assert dispatch.name_of(np.linalg.eig) == "numpy.linalg.eig"
    assert dispatch.name_of(len) == "len"
