"""Every operator against finite differences and against the others, over structures, argnums and kinds of numbers."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest

from shiftreset_ad import (
    derivative,
    elementwise_grad,
    grad,
    grad_closure,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    staged,
    taylor,
    value_and_grad,
    value_and_jacobian,
    vjp,
)
from shiftreset_ad.rules.layouts import lies_in

X = np.array([0.5, -1.5, 2.0])
ONES = np.ones(3)
JACOBIANS = (jacobian, jacrev, jacfwd)
jacobians = pytest.mark.parametrize("operator", JACOBIANS, ids=lambda f: f.__name__)


class Line(NamedTuple):
    slope: Any
    offset: Any


@dataclass
class Layer:
    weight: Any
    bias: Any
    name: str = "layer"


class Pair:
    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right


optree.register_pytree_node(
    Pair, lambda p: ((p.left, p.right), None, None), lambda _, c: Pair(*c), namespace="shiftreset_ad"
)


def close(found: Any, expected: Any) -> None:
    """Equal in structure, kind and value, but for rounding."""
    leaves, spec = optree.tree_flatten(found, namespace="shiftreset_ad")
    others, other_spec = optree.tree_flatten(expected, namespace="shiftreset_ad")
    assert spec == other_spec
    for one, other in zip(leaves, others, strict=True):
        assert np.shape(one) == np.shape(other)
        assert np.result_type(one) == np.result_type(other)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def by_differences(f: Any, x: Any) -> Any:
    """The Jacobian of a function of one array."""
    steps = 1e-6 * np.eye(x.size).reshape(x.size, *x.shape)
    columns = [(f(x + step) - f(x - step)) / 2e-6 for step in steps]
    return np.moveaxis(np.array(columns), 0, -1).reshape(np.shape(columns[0]) + x.shape)


# Programs of many functions: an array of shape (2, 3) in, arrays of several shapes out


def mixed(x: Any) -> Any:
    y = np.sin(x) @ x.T + np.exp(-x[0, 0])
    return np.einsum("ij,jk->ik", y, np.concatenate([x, x[::-1] ** 2], axis=1))


def wide(x: Any) -> Any:
    return np.outer(np.tanh(x), np.cumsum(x, axis=0)) + np.reshape(x[..., None] * x.ravel(), (6, 6))


def narrow(x: Any) -> Any:
    return np.stack([np.max(x, axis=1), np.prod(x, axis=1)]).sum(axis=0)


def scalar(x: Any) -> Any:
    return np.log(np.sum(np.exp(x - np.max(x)))) + np.var(x) * np.trace(x @ x.T)


def chosen(x: Any) -> Any:
    z = np.where(x > 0, np.sqrt(np.abs(x) + 1.0), x * x)
    return np.roll(z, 1, axis=1)[:, [0, 2, 0]] * np.flip(z)


def loops(x: Any) -> Any:
    total = 2.0 * x[0]
    total += x[1]
    total *= x[0]
    for row in x:
        for i, element in enumerate(row):
            total = total + element * np.roll(total, i)
    return total


def split(x: Any) -> Any:
    first, second = np.split(x.T.reshape(2, 3), [1])
    return np.dot(np.ravel(first), np.inner(second, x)[0, 0] * np.diag(x @ x.T)[:1].repeat(3)) * np.tensordot(x, x, 0)


PROGRAMS = [mixed, wide, narrow, scalar, chosen, loops, split]
POINT = np.array([[0.3, -0.7, 1.1], [0.9, 0.4, -0.2]])
programs = pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)


@programs
def test_jacobians(f: Any) -> None:
    """Finite differences, and loops of `jvp`, `vjp` and `linearize` over unit directions."""
    expected = by_differences(f, POINT)
    columns = [jvp(f, (POINT,), (e.reshape(2, 3),))[1] for e in np.eye(6)]
    _, pushforward = linearize(f, POINT)
    y, pullback = vjp(f, POINT)
    units = np.eye(np.size(y)).reshape(-1, *np.shape(y))
    rows = [pullback(e if np.ndim(y) else e[()])[0] for e in units]
    for found in (
        np.moveaxis(np.array(columns), 0, -1).reshape(expected.shape),
        np.moveaxis(np.array([pushforward(e.reshape(2, 3)) for e in np.eye(6)]), 0, -1).reshape(expected.shape),
        np.array(rows).reshape(expected.shape),
        *(operator(f)(POINT) for operator in JACOBIANS),
        value_and_jacobian(f)(POINT)[1],
    ):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(value_and_jacobian(f)(POINT)[0], f(POINT))


@programs
def test_second_derivatives(f: Any) -> None:
    """Of forward and reverse mode in every mix."""
    expected = by_differences(jacobian(f), POINT)
    for outer in JACOBIANS:
        for inner in JACOBIANS:
            np.testing.assert_allclose(outer(inner(f))(POINT), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(hessian(f)(POINT), expected, rtol=1e-6, atol=1e-6)


def test_third_derivatives() -> None:
    expected = by_differences(hessian(scalar), POINT)
    for a in JACOBIANS:
        for b in JACOBIANS:
            np.testing.assert_allclose(a(b(grad(scalar)))(POINT), expected, rtol=1e-5, atol=1e-5)
    for f in (lambda f: grad(lambda x: np.sum(hessian(f)(x) * weights)), lambda f: jacobian(weighted(hessian(f)))):
        np.testing.assert_allclose(f(scalar)(POINT), np.tensordot(weights, expected, 4), rtol=1e-5, atol=1e-5)


weights = np.random.default_rng(0).normal(size=(2, 3, 2, 3))


def weighted(f: Any) -> Any:
    return lambda x: np.sum(f(x) * weights)


def test_hessian_vector_products() -> None:
    v = np.random.default_rng(1).normal(size=(2, 3))
    expected = np.tensordot(hessian(scalar)(POINT), v, 2)
    close(hvp(scalar, (POINT,), (v,)), expected)
    np.testing.assert_array_equal(hvp(scalar, (POINT,), (0.0 * v,)), 0.0 * v)

    def f(a: Any, b: Any) -> Any:
        return np.sum(a["u"] ** 2 * b) + b**3

    found = hvp(f, ({"u": X, "n": 3}, 2.0), ({"u": ONES, "n": None}, 1.0))
    close(found, ({"u": 2.0 * 2.0 + 2.0 * X, "n": None}, float(np.sum(2.0 * X) + 12.0)))
    close(hvp(f, ({"u": X}, 2.0), ({"u": ONES}, None)), ({"u": 4.0 * ONES}, float(np.sum(2.0 * X))))
    np.testing.assert_allclose(
        grad(lambda x: np.sum(hvp(scalar, (x,), (v,)) * v))(POINT),
        np.tensordot(np.tensordot(jacobian(hessian(scalar))(POINT), v, ((0, 1), (0, 1))), v, ((0, 1), (0, 1))),
        rtol=1e-9,
    )


def test_the_function_runs_once() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return np.cumsum(x) * x[0]

    for use in (
        *(lambda operator=operator: operator(f)(X) for operator in JACOBIANS),
        lambda: value_and_jacobian(f)(X),
        lambda: jacobian(lambda x: np.concatenate([f(x), x]))(X),  # larger than the argument
        lambda: hessian(f)(X),
        lambda: jvp(f, (X,), (ONES,)),
        lambda: hvp(lambda x: np.sum(f(x)), (X,), (ONES,)),
        lambda: elementwise_grad(lambda x: f(x[:1]) * 0.0 + x)(X),
    ):
        calls.clear()
        use()
        assert len(calls) == 1


# Structures


def structured(t: Any) -> Any:
    a, (b, n), line, layer, pair = t["a"], t["b"], t["line"], t["layer"], t["pair"]
    assert (n, layer.name, t["none"], t["flag"]) == (3, "first", None, True)
    total = a * line.slope + np.sum(b * layer.weight)
    return {
        "total": total,
        "list": [b * a, Line(layer.bias * total, None)],
        "layer": Layer(np.outer(b, layer.weight), 7, "text"),
        "pair": Pair(pair.left + b, pair.right * n),
        "constant": 2.5,
    }


def tree_of(*numbers: Any) -> Any:
    a, b, slope, weight, bias, left, right = numbers
    return {
        "a": a,
        "b": (b, 3),
        "line": Line(slope, None),
        "layer": Layer(weight, bias, "first"),
        "pair": Pair(left, right),
        "none": None,
        "flag": True,
    }


NUMBERS = [2.0, X, np.float64(3.0), X + 1.0, np.array(0.5), X * 2.0, -1.5]
TREE = tree_of(*NUMBERS)


def derivative_of_tree(*numbers: Any) -> Any:
    tree = tree_of(*numbers)
    tree["b"] = (tree["b"][0], None)
    tree["layer"].name = None
    tree["flag"] = None
    return tree


def of_vector(v: Any) -> Any:
    """The numbers of the value of `structured` in a row, as a function of those in its argument."""
    parts = [v[0], v[1:4], v[4], v[5:8], v[8], v[9:12], v[12]]
    y = structured(tree_of(*parts))
    found = (y["constant"], y["layer"].weight, y["list"][0], y["list"][1].slope, y["pair"].left, y["pair"].right)
    return np.concatenate([np.ravel(part) for part in (*found, y["total"])])


VECTOR = np.concatenate([np.ravel(x) for x in NUMBERS])


def test_structures_in_jvp_vjp_and_linearize() -> None:
    expected = by_differences(of_vector, VECTOR)
    generator = np.random.default_rng(0)
    directions = [type(x)(generator.normal()) if np.ndim(x) == 0 else generator.normal(size=3) for x in NUMBERS[:4]]
    directions += [np.array(generator.normal()), generator.normal(size=3), 0.25]
    v = np.concatenate([np.ravel(x) for x in directions])
    y, y_dot = jvp(structured, (TREE,), (derivative_of_tree(*directions),))
    close(linearize(structured, TREE)[1](derivative_of_tree(*directions)), y_dot)
    assert y["constant"] == 2.5
    assert y_dot["constant"] == 0.0
    assert (y["layer"].bias, y["layer"].name) == (7, "text")
    assert (y_dot["layer"].bias, y_dot["layer"].name) == (None, None)
    found = (y_dot["constant"], y_dot["layer"].weight, y_dot["list"][0], y_dot["list"][1].slope)
    found += (y_dot["pair"].left, y_dot["pair"].right, y_dot["total"])
    y_dots = np.concatenate([np.ravel(part) for part in found])
    np.testing.assert_allclose(y_dots, expected @ v, rtol=1e-6, atol=1e-6)
    _, pullback = vjp(structured, TREE)
    for zero in (None, 0.0):
        y_bar = {
            "total": 2.0,
            "list": [X, Line(np.array(3.0), None)],
            "layer": Layer(np.ones((3, 3)), None, None),
            "pair": Pair(zero if zero is None else 0.0 * X, 4.0),
            "constant": zero,
        }
        (x_bar,) = pullback(y_bar)
        row = np.concatenate([[0.0], np.ones(9), X, [3.0], np.zeros(3), [4.0], [2.0]])
        leaves, _ = optree.tree_flatten(x_bar, namespace="shiftreset_ad")
        assert [type(leaf) for leaf in leaves] == [
            float,
            np.ndarray,
            np.ndarray,
            np.ndarray,
            np.float64,
            np.ndarray,
            float,
        ]
        assert (x_bar["b"][1], x_bar["layer"].name, x_bar["none"], x_bar["flag"]) == (None, None, None, None)
        found = (x_bar["a"], x_bar["b"][0], x_bar["line"].slope, x_bar["layer"].weight, x_bar["layer"].bias)
        found += (x_bar["pair"].left, x_bar["pair"].right)
        np.testing.assert_allclose(np.concatenate([np.ravel(part) for part in found]), row @ expected, atol=1e-6)


@jacobians
def test_jacobians_over_structures(operator: Any) -> None:
    found = operator(structured)(TREE)
    expected = by_differences(of_vector, VECTOR)
    sizes = np.array([1, 3, 1, 3, 1, 3, 1])
    ends = np.cumsum(sizes)
    assert (found["layer"].bias, found["layer"].name) == (None, None)
    outputs = (found["constant"], found["layer"].weight, found["list"][0], found["list"][1].slope)
    outputs += (found["pair"].left, found["pair"].right, found["total"])
    rows = np.cumsum([0, 1, 9, 3, 1, 3, 1, 1])
    shapes = [(), (3, 3), (3,), (), (3,), (), ()]
    for y, row, shape in zip(outputs, rows, shapes, strict=False):
        assert (y["b"][1], y["layer"].name, y["none"], y["flag"]) == (None, None, None, None)
        inputs = (
            y["a"],
            y["b"][0],
            y["line"].slope,
            y["layer"].weight,
            y["layer"].bias,
            y["pair"].left,
            y["pair"].right,
        )
        for block, end, size in zip(inputs, ends, sizes, strict=True):
            assert np.shape(block) == (*shape, *((3,) if size == 3 else ()))
            count = int(np.prod(shape))
            part = expected[row : row + count, end - size : end].reshape(np.shape(block))
            np.testing.assert_allclose(block, part, rtol=1e-6, atol=1e-6)


def test_hessians_over_structures() -> None:
    def f(t: Any) -> Any:
        return t["a"] ** 2 * np.sum(t["b"][0] ** 2) * t["n"]

    found = hessian(f)({"a": 2.0, "b": [X], "n": 3})
    assert found["n"] is None
    np.testing.assert_allclose(found["a"]["a"], 6.0 * np.sum(X**2))
    np.testing.assert_allclose(found["a"]["b"][0], 24.0 * X)
    np.testing.assert_allclose(found["b"][0]["a"], 24.0 * X)
    np.testing.assert_allclose(found["b"][0]["b"][0], 24.0 * np.eye(3))
    assert (found["a"]["n"], found["b"][0]["n"]) == (None, None)


def f_of_three(a: Any, b: Any, c: Any, scale: Any = 1.0) -> Any:
    return a * b**2 * np.sum(c) * scale + c


@jacobians
@pytest.mark.parametrize("argnums", [0, 1, 2, -1, -3, (0,), (2, 0), (-1, -2), (1, 0, 2), ()])
def test_argnums_and_keywords(operator: Any, argnums: Any) -> None:
    by = [9.0 * 1.0 * 5.0 * ONES, 2 * 2.0 * 3.0 * 5.0 * ONES, 2.0 * 9.0 * 5.0 + np.eye(3)]
    found = operator(f_of_three, argnums)(2.0, 3.0, X, scale=5.0)
    expected = by[argnums] if isinstance(argnums, int) else tuple(by[i] for i in argnums)
    close(found, expected)


def test_argnums_of_the_other_operators() -> None:
    f = lambda a, b, c: a * b**2 * np.sum(c)  # noqa: E731
    close(hessian(f, (1, 0))(2.0, 3.0, X), ((np.float64(4.0), np.float64(6.0)), (np.float64(6.0), np.float64(0.0))))
    np.testing.assert_allclose(hessian(f, -1)(2.0, 3.0, X), np.zeros((3, 3)))
    g = lambda a, b, scale=1.0: a * b**2 * scale  # noqa: E731
    close(elementwise_grad(g, (1, 0))(X, ONES * 3.0, scale=2.0), (12.0 * X, 18.0 * ONES))
    close(value_and_jacobian(g, 1)(2.0, X), (2.0 * X**2, np.diag(4.0 * X)))


@pytest.mark.parametrize("size", [10, 4096, 10_000])
def test_elementwise_grad_finds_any_two_elements_that_mix(size: int) -> None:
    x = np.linspace(0.0, 1.0, size)
    for i, j in (
        (0, 1),
        (0, 64 % size),
        (0, size - 1),
        (size // 2, 2),
        (size - 2, size - 1),
        (size // 3, 2 * size // 3),
    ):

        def f(x: Any, i: int = i, j: int = j) -> Any:
            y = np.sin(x)
            y[i] += x[j]
            return y

        with pytest.raises(ValueError, match="does not work element by element"):
            elementwise_grad(f)(x)


def test_elementwise_grad_of_a_large_array_with_derivatives_at_the_edges_of_floats() -> None:
    x = np.linspace(0.0, 40.0, 10_000)
    np.testing.assert_allclose(elementwise_grad(lambda x: np.exp(-(x**2)))(x), -2.0 * x * np.exp(-(x**2)), rtol=1e-13)
    assert elementwise_grad(np.sqrt)(x)[0] == np.inf
    assert np.array_equal(elementwise_grad(lambda x: x * 1e-300 * 1e300)(np.ones(10_000)), np.ones(10_000))
    assert np.array_equal(elementwise_grad(lambda x: x * 1e300)(np.ones(10_000)), np.full(10_000, 1e300))
    assert np.array_equal(elementwise_grad(lambda x: x * 2.0)(np.ones(10_000, np.float16)), np.full(10_000, 2.0))
    narrow = np.linspace(0.0, 20.0, 10_000, dtype=np.float32)
    np.testing.assert_allclose(elementwise_grad(np.exp)(narrow), np.exp(narrow))


def test_aux() -> None:
    def f(x: Any) -> Any:
        y = x * x
        return (y, {"twice": 2.0 * y, "n": 3})

    expected = {"twice": 2.0 * X * X, "n": 3}
    y, y_dot, aux = jvp(f, (X,), (ONES,), has_aux=True)
    close((y, y_dot, aux), (X * X, 2.0 * X, expected))
    y, pullback, aux = vjp(f, X, has_aux=True)
    close((y, pullback(ONES), aux), (X * X, (2.0 * X,), expected))
    y, pushforward, aux = linearize(f, X, has_aux=True)
    close((y, pushforward(ONES), aux), (X * X, 2.0 * X, expected))
    for operator in JACOBIANS:
        close(operator(f, has_aux=True)(X), (np.diag(2.0 * X), expected))
    close(value_and_jacobian(f, has_aux=True)(X), ((X * X, expected), np.diag(2.0 * X)))
    second, aux = hessian(f, has_aux=True)(X)
    close(second, np.stack([2.0 * np.diag(e) for e in np.eye(3)]))
    close(aux, expected)
    seen = []

    def outer(x: Any) -> Any:
        y, y_dot, aux = jvp(f, (x,), (x,), has_aux=True)
        seen.append(aux["twice"])
        return np.sum(y * y_dot) + np.sum(aux["twice"])

    close(grad(outer)(X), 8.0 * X**3 + 4.0 * X)


# Kinds of numbers


KINDS = [2.0, np.float64(2.0), np.float32(2.0), np.float16(2.0), np.longdouble(2.0), np.array(2.0), np.array([2.0])]
KINDS += [np.zeros(0), np.zeros((0, 2)), X.astype(np.float32), X.astype(np.longdouble), np.float32([[2.0]])]


@pytest.mark.parametrize("x", KINDS, ids=repr)
def test_kinds_of_arguments(x: Any) -> None:
    """Shapes and dtypes are those of the argument, and a scalar is one."""

    def f(x: Any) -> Any:
        return x * x * x

    shape, dtype = np.shape(x), np.result_type(x)
    square = np.asarray(3 * np.asarray(x) ** 2)
    for found in (
        vjp(f, x)[1](x)[0] / (x if np.size(x) else 1.0),
        jvp(f, (x,), (x,))[1] / (x if np.size(x) else 1.0),
        linearize(f, x)[1](x) / (x if np.size(x) else 1.0),
        elementwise_grad(f)(x),
    ):
        assert np.shape(found) == shape
        assert np.result_type(found) == dtype
        np.testing.assert_allclose(found, square)
    assert type(vjp(f, x)[1](x)[0]) is type(x)
    for operator in JACOBIANS:
        found = operator(f)(x)
        assert np.shape(found) == shape + shape
        assert found.dtype == dtype
        np.testing.assert_allclose(found.reshape(np.size(x), np.size(x)), np.diag(np.ravel(square)))
    found = hessian(lambda x: np.sum(f(x)))(x)
    assert np.shape(found) == shape + shape
    assert found.dtype == dtype
    direction = hvp(lambda x: np.sum(f(x)), (x,), (x,))
    assert np.shape(direction) == shape
    assert np.result_type(direction) == dtype
    np.testing.assert_allclose(direction, 6 * np.asarray(x) ** 2)


@jacobians
def test_empty_and_constant_values(operator: Any) -> None:
    for f, shape in (
        (lambda x: x[:0], (0, 3)),
        (lambda x: np.zeros(2), (2, 3)),
        (lambda x: 2.5, (3,)),
        (lambda x: np.float32(2.5), (3,)),
        (lambda x: np.zeros((2, 0)), (2, 0, 3)),
    ):
        found = operator(f)(X)
        assert found.shape == shape
        np.testing.assert_array_equal(found, np.zeros(shape))
    with pytest.raises(TypeError, match="returned nothing that has a derivative"):
        operator(lambda x: [3, "text", None, True])(X)
    assert operator(lambda x: [3, 1.0])(X)[0] is None
    for f in (lambda x: 3.0, lambda x: np.ones(3), lambda x: (1.0, [2])):
        _, y_dot = jvp(f, (X,), (ONES,))
        close(linearize(f, X)[1](ONES), y_dot)
        assert all(np.all(leaf == 0.0) for leaf in optree.tree_leaves(y_dot))
        (x_bar,) = vjp(f, X)[1](optree.tree_map(lambda leaf: None if type(leaf) is int else leaf, f(X)))
        np.testing.assert_array_equal(x_bar, [0.0, 0.0, 0.0])


def test_the_argument_as_the_value_and_the_same_twice() -> None:
    def f(x: Any) -> Any:
        y = x * x
        return x, y, [y, x]

    _, tangents = jvp(f, (X,), (ONES,))
    close(tangents, (ONES, 2.0 * X, [2.0 * X, ONES]))
    tangents[0][:] = 7.0
    close(tangents[2], [2.0 * X, ONES])
    _, pullback = vjp(f, X)
    close(pullback((ONES, ONES, [ONES, ONES])), (2.0 + 4.0 * X,))
    close(pullback((None, None, [None, ONES])), (ONES,))
    for operator in JACOBIANS:
        rows = operator(f)(X)
        close(rows, (np.eye(3), np.diag(2.0 * X), [np.diag(2.0 * X), np.eye(3)]))
        rows[0][:] = 9.0
        close(rows[2][1], np.eye(3))
    close(vjp(lambda a, b: (a, a), X, X)[1]((ONES, ONES)), (2.0 * ONES, 0.0 * ONES))


def test_tangents_in_an_outer_derivative_are_not_aliased() -> None:
    """A change in place of one leaves the other, and what was given, as it was."""

    def given(x: Any) -> Any:
        v = 2.0 * x
        _, y_dot = jvp(lambda w: w, (x,), (v,))
        y_dot += 1.0
        return np.sum(v)

    def two(x: Any) -> Any:
        _, (a, b) = jvp(lambda w: (w + 1.0, w + 2.0), (X,), (2.0 * x,))
        a += 1.0
        return np.sum(b * b)

    for f, expected in ((given, 2.0 * ONES), (two, 8.0 * X)):
        found, gradient = value_and_grad(f)(X)
        close(gradient, expected)
        assert found == f(X)


def test_results_are_the_users_to_write_to() -> None:
    f = lambda x: x[::-1] * 2.0  # noqa: E731
    for make in (
        lambda: jvp(f, (X,), (ONES,))[1],
        lambda: vjp(f, X)[1](ONES)[0],
        lambda: linearize(f, X)[1](ONES),
        *(lambda operator=operator: operator(f)(X) for operator in JACOBIANS),
        *(lambda operator=operator: operator(lambda x: ONES)(X) for operator in JACOBIANS),
        lambda: elementwise_grad(np.negative)(X),
        lambda: hvp(lambda x: np.sum(x**2), (X,), (ONES,)),
        lambda: hessian(lambda x: np.sum(x**2))(X),
    ):
        first, second = make(), make()
        before = second.copy()
        first[...] = 99.0
        np.testing.assert_array_equal(second, before)
        np.testing.assert_array_equal(make(), before)


# Complex numbers, as JAX has them


Z = np.array([1.0 + 2.0j, 0.5 - 1.0j])


def test_holomorphic_derivatives() -> None:
    def f(z: Any) -> Any:
        return np.sin(z) * z[0] + z[::-1] ** 2

    columns = np.array([(f(Z + 1e-6 * e) - f(Z - 1e-6 * e)) / 2e-6 for e in np.eye(2)]).T
    for operator in JACOBIANS:
        np.testing.assert_allclose(operator(f, holomorphic=True)(Z), columns, rtol=1e-8)
        larger = operator(lambda z: np.concatenate([f(z), f(z)]), holomorphic=True)(Z)
        np.testing.assert_allclose(larger, np.concatenate([columns, columns]), rtol=1e-8)
    assert grad(lambda z: z**3, holomorphic=True)(1 + 2j) == 3 * (1 + 2j) ** 2
    np.testing.assert_allclose(hessian(lambda z: z**3, holomorphic=True)(1 + 2j), 6 * (1 + 2j))
    np.testing.assert_allclose(jvp(f, (Z,), (1j * Z,))[1], columns @ (1j * Z), rtol=1e-8)
    np.testing.assert_allclose(vjp(f, Z)[1](1j * Z)[0], (1j * Z) @ columns, rtol=1e-8)
    np.testing.assert_allclose(linearize(f, Z)[1](1j * Z), columns @ (1j * Z), rtol=1e-8)
    np.testing.assert_allclose(elementwise_grad(np.sin)(Z), np.cos(Z))


def test_real_functions_of_complex_numbers() -> None:
    """df/dx - i df/dy of each real value, also where there are more values than arguments."""

    def f(z: Any) -> Any:
        return np.stack([np.real(z * np.conj(z)), np.real(z), np.imag(z), np.abs(z)])

    z = 3.0 + 4.0j
    expected = [2.0 * np.conj(z), 1.0, -1.0j, np.conj(z) / 5.0]
    for operator in (jacobian, jacrev):
        np.testing.assert_allclose(operator(f)(z), expected)
        np.testing.assert_allclose(operator(lambda z: f(z)[0])(z), expected[0])
    assert grad(lambda z: abs(z) ** 2)(1.0 + 2.0j) == 2.0 - 4.0j
    for v in (1.0 + 0.0j, 1.0j, 2.0 - 3.0j):
        np.testing.assert_allclose(jvp(f, (z,), (v,))[1], np.real(np.array(expected) * v))
        np.testing.assert_allclose(linearize(f, z)[1](v), np.real(np.array(expected) * v))


def test_complex_functions_of_real_numbers() -> None:
    f = lambda x: x * (1.0 + 2.0j)  # noqa: E731
    np.testing.assert_allclose(jacfwd(f)(X), (1.0 + 2.0j) * np.eye(3))
    assert jvp(f, (3.0,), (2.0,)) == (3.0 + 6.0j, 2.0 + 4.0j)
    assert linearize(f, 3.0)[1](2.0) == 2.0 + 4.0j
    assert vjp(f, 3.0)[1](1.0j) == (-2.0,)
    for operator in (jacobian, jacrev):
        with pytest.raises(
            TypeError, match=rf"^{operator.__name__}\(<lambda>\): the result is complex; give holomorphic"
        ):
            operator(f)(X)


def test_where_a_complex_derivative_is_not_one() -> None:
    with pytest.raises(TypeError, match=r"^jacfwd\(\S+\): the argument is complex; give holomorphic=True.* jvp or vjp"):
        jacfwd(np.sin)(Z)
    for operator in JACOBIANS:
        for f, x in ((np.sin, X), (np.abs, Z), (lambda z: z[0] * z[1], [1j, 2.0])):
            with pytest.raises(
                TypeError, match=rf"^{operator.__name__}\(\S+\): with holomorphic=True every argument and"
            ):
                operator(f, holomorphic=True)(x)


# Errors


def never(*args: Any) -> Any:
    pytest.fail("called with arguments that cannot be differentiated")


INTEGER = r"is an integer or a boolean \(.*\), which has no derivative; convert it: float\(x\), x\.astype\(float\)"

ERRORS: list[tuple[Any, type[Exception], str]] = [
    # primals and arguments
    (
        lambda: jvp(never, 2.0, 1.0),
        TypeError,
        r"jvp\(never\): primals must be a tuple of the arguments, \(x,\) for one, and is 2\.0",
    ),
    (lambda: jvp(never, {"a": 1.0}, (1.0,)), TypeError, r"jvp\(never\): primals must be a tuple"),
    (lambda: hvp(never, X, X), TypeError, r"hvp\(never\): primals must be a tuple of the arguments"),
    (lambda: jvp(never, (2,), (1.0,)), TypeError, rf"jvp\(never\): arguments\[0\] {INTEGER}"),
    (lambda: vjp(never, np.array([1, 2])), TypeError, rf"vjp\(never\): arguments\[0\] {INTEGER}"),
    (lambda: linearize(never, True), TypeError, rf"linearize\(never\): arguments\[0\] {INTEGER}"),
    (
        lambda: vjp(never, "text"),
        TypeError,
        r"vjp\(never\): arguments\[0\] is of type str, which cannot be differentiated; pass floats",
    ),
    (
        lambda: vjp(never, [1.0, {"a": Fraction(1)}]),
        TypeError,
        r"vjp\(never\): arguments\[0\]\[1\]\['a'\] is of type Fraction",
    ),
    (
        lambda: vjp(never, X, np.ma.array(X)),
        TypeError,
        r"vjp\(never\): arguments\[1\] is of type MaskedArray and dtype float64",
    ),
    (lambda: jacobian(never)(3), TypeError, rf"jacobian\(never\): argument 0 {INTEGER}"),
    (lambda: jacrev(never, 1)(X, [1, 2]), TypeError, rf"jacrev\(never\): argument 1\[0\] {INTEGER}"),
    (lambda: jacfwd(never, (0, 1))(X, "text"), TypeError, r"jacfwd\(never\): argument 1 is of type str"),
    (lambda: elementwise_grad(never)(3), TypeError, rf"elementwise_grad\(never\): argument 0 {INTEGER}"),
    (lambda: value_and_jacobian(never)(3), TypeError, rf"value_and_jacobian\(never\): argument 0 {INTEGER}"),
    # argnums
    (
        lambda: jacobian(never, 1)(X),
        TypeError,
        r"jacobian\(never\): argnums names argument 1, and 1 positional arguments were given",
    ),
    (lambda: jacfwd(never, -2)(X), TypeError, r"jacfwd\(never\): argnums names argument -2"),
    (lambda: jacrev(never, (0, -1))(X), TypeError, r"jacrev\(never\): argnums=\(0, -1\) names an argument twice"),
    (
        lambda: elementwise_grad(never, "0")(X),
        TypeError,
        r"elementwise_grad\(never\): argnums must be an integer or a tuple of integers",
    ),
    (
        lambda: jacobian(never)(x=X),
        TypeError,
        r"jacobian\(never\): .*0 positional arguments were given; pass the arguments to differentiate by",
    ),
    # functions
    *[
        (
            lambda operator=operator: operator(3.0),
            TypeError,
            rf"{operator.__name__}: the function is 3\.0, which cannot be called; give it a function",
        )
        for operator in (*JACOBIANS, hessian, elementwise_grad, value_and_jacobian)
    ],
    (
        lambda: jvp(3.0, (1.0,), (1.0,)),
        TypeError,
        r"jvp: the function is 3\.0, which cannot be called",
    ),
    (lambda: vjp(None, 1.0), TypeError, r"vjp: the function is None, which cannot be called"),
    (
        lambda: linearize([], 1.0),
        TypeError,
        r"linearize: the function is \[\], which cannot be called",
    ),
    (lambda: hvp(3.0, (1.0,), (1.0,)), TypeError, r"hvp: the function is 3\.0"),
    # tangents
    (
        lambda: jvp(never, (2.0,), 1.0),
        TypeError,
        r"jvp\(never\): tangents must be a tuple, with one entry for each argument, \(x_dot,\) "
        r"for one, and is 1\.0",
    ),
    (
        lambda: jvp(never, (X,), (X, X)),
        TypeError,
        r"jvp\(never\): tangents must have the structure of the argument, with None for what has no "
        r"derivative: PyTreeSpec\(\(\*,\)\) is wanted, and PyTreeSpec\(\(\*, \*\)\) was given",
    ),
    (lambda: jvp(never, (X, X), (X,)), TypeError, r"jvp\(never\): tangents must have the structure of the argument"),
    (lambda: jvp(never, ({"a": X},), ({"b": X},)), TypeError, r"jvp\(never\): tangents must have the structure"),
    (lambda: hvp(never, (X,), ()), TypeError, r"hvp\(never\): tangents must have the structure"),
    (
        lambda: jvp(never, (X,), (1.0,)),
        ValueError,
        r"jvp\(never\): tangents\[0\] has shape \(\), and must have the shape of the argument, which is \(3,\)",
    ),
    (
        lambda: jvp(never, ([2.0, {"a": X}],), ([1.0, {"a": X[:2]}],)),
        ValueError,
        r"jvp\(never\): tangents\[0\]\[1\]\['a'\] has shape \(2,\)",
    ),
    (lambda: jvp(never, (2.0,), (1,)), TypeError, rf"jvp\(never\): tangents\[0\] {INTEGER}"),
    (lambda: jvp(never, (X,), (np.array([True] * 3),)), TypeError, rf"jvp\(never\): tangents\[0\] {INTEGER}"),
    (
        lambda: jvp(never, (X,), (1j * X,)),
        TypeError,
        r"jvp\(never\): tangents\[0\] is complex, and belongs to a real number; give its real part",
    ),
    (lambda: jvp(never, (X,), (np.ma.array(X),)), TypeError, r"jvp\(never\): tangents\[0\] is of type MaskedArray"),
    (
        lambda: jvp(never, (X, 3), (X, 1.0)),
        TypeError,
        r"jvp\(never\): tangents\[1\] belongs to 3, which has no derivative; give None",
    ),
    (lambda: hvp(never, (X,), (X[:1],)), ValueError, r"hvp\(never\): tangents\[0\] has shape \(1,\)"),
    (
        lambda: linearize(np.sin, X)[1](),
        TypeError,
        r"linearize\(sin\): tangents must have the structure of the argument",
    ),
    (lambda: linearize(np.sin, X)[1](1.0), ValueError, r"linearize\(sin\): tangents\[0\] has shape \(\)"),
    (lambda: linearize(np.sin, X)[1](X.astype(int)), TypeError, rf"linearize\(sin\): tangents\[0\] {INTEGER}"),
    # cotangents
    (
        lambda: vjp(np.sin, X)[1](1.0),
        ValueError,
        r"vjp\(sin\): the cotangent has shape \(\), and must have the shape of the value of the function, "
        r"which is \(3,\)",
    ),
    (lambda: vjp(np.sin, 1.0)[1](X), ValueError, r"vjp\(sin\): the cotangent has shape \(3,\)"),
    (
        lambda: vjp(lambda x: (x, [x]), X)[1](X),
        TypeError,
        r"vjp\(<lambda>\): the cotangent must have the structure of the value of the function",
    ),
    (
        lambda: vjp(lambda x: (x, [x]), X)[1]((X, [1.0])),
        ValueError,
        r"vjp\(<lambda>\): the cotangent\[1\]\[0\] has shape \(\)",
    ),
    (lambda: vjp(np.sin, X)[1](X.astype(int)), TypeError, rf"vjp\(sin\): the cotangent {INTEGER}"),
    (lambda: vjp(np.sin, X)[1](X > 0), TypeError, rf"vjp\(sin\): the cotangent {INTEGER}"),
    (
        lambda: vjp(np.sin, X)[1](1j * X),
        TypeError,
        r"vjp\(sin\): the cotangent is complex, and belongs to a real number",
    ),
    (
        lambda: vjp(lambda x: (x, 3), X)[1]((X, 1.0)),
        TypeError,
        r"vjp\(<lambda>\): the cotangent\[1\] belongs to 3, which has no derivative; give None",
    ),
    # values
    (
        lambda: hvp(np.sin, (X,), (X,)),
        TypeError,
        r"\w+\(sin\): the function returned an array of shape \(3,\), and a gradient is of a scalar",
    ),
    (
        lambda: elementwise_grad(np.sum)(X),
        ValueError,
        r"elementwise_grad\(sum\): the function works element by element on an argument of shape \(3,\), and it "
        r"returned 1 arrays, of shapes \[\(\)\]; use jacobian, or vjp, and grad where it is one scalar",
    ),
    (
        lambda: elementwise_grad(np.cumsum)(X),
        ValueError,
        r"elementwise_grad\(cumsum\): the function does not work element by element: an element of its value depends",
    ),
    (
        lambda: elementwise_grad(lambda x: x[::-1])(X),
        ValueError,
        r"elementwise_grad\(<lambda>\): the function does not work element by element",
    ),
    (
        lambda: elementwise_grad(np.add, (0, 1))(X, 1.0),
        ValueError,
        r"elementwise_grad\(add\): the function works element by element on an argument of shape \(\)",
    ),
    *[
        (
            lambda use=use: use(lambda x: x),
            TypeError,
            r"\w+\(<lambda>\): with has_aux=True the function must return \(value, aux\), and it "
            "returned Num",
        )
        for use in (
            lambda f: jvp(f, (X,), (X,), has_aux=True),
            lambda f: vjp(f, X, has_aux=True),
            lambda f: linearize(f, X, has_aux=True),
            lambda f: jacfwd(f, has_aux=True)(X),
            lambda f: jacrev(f, has_aux=True)(X),
            lambda f: jacobian(f, has_aux=True)(X),
        )
    ],
]


@pytest.mark.parametrize(
    ("use", "kind", "said"), ERRORS, ids=[f"{i}-{said[:30]}" for i, (_, _, said) in enumerate(ERRORS)]
)
def test_errors(use: Any, kind: Any, said: str) -> None:
    """Each names the operator, the place and the remedy; and inside another derivative too."""
    with pytest.raises(kind, match=f"^{said}"):
        use()
    with pytest.raises(kind, match=f"^{said}"):
        grad(lambda x: use() * x)(2.0)
    assert grad(lambda x: x * jvp(lambda y: y * x, (x,), (1.0,))[1])(3.0) == 6.0


def test_integers_beside_numbers_pass_through() -> None:
    def f(t: Any, n: Any, callback: Any) -> Any:
        assert (type(n), type(t["n"])) == (int, int)
        return callback(t["x"]) ** n * t["n"]

    t, names = {"x": 2.0, "n": 5}, np.sin
    x_dot = {"x": 1.0, "n": None}
    slope = 3 * 5 * np.sin(2.0) ** 2 * np.cos(2.0)
    assert jvp(f, (t, 3, names), (x_dot, None, None))[1] == pytest.approx(slope)
    bars = vjp(f, t, 3, names)[1](1.0)
    assert bars[0]["x"] == pytest.approx(slope)
    assert (bars[0]["n"], bars[1], bars[2]) == (None, None, None)
    assert linearize(f, t, 3, names)[1](x_dot, None, None) == pytest.approx(slope)
    gradient = grad(f)(t, 3, names)
    assert gradient["x"] == pytest.approx(slope)
    assert gradient["n"] is None


# Errors of the function

OURS = ("gradient_of_f", "trimmed_function")  # one frame for each operator, which raises the error on


def test_a_traceback_shows_the_users_frames_only() -> None:
    def inner(x: Any) -> Any:
        return x + {}["missing"]

    def through(use: Any) -> list[str]:
        with pytest.raises(KeyError) as caught:
            use()
        frames = traceback.extract_tb(caught.value.__traceback__)
        return [frame.name for frame in frames if frame.name not in OURS]

    for use in (
        lambda: jvp(inner, (X,), (X,)),
        lambda: vjp(inner, X),
        lambda: linearize(inner, X),
        lambda: hvp(inner, (X,), (X,)),
        lambda: elementwise_grad(inner)(X),
        lambda: hessian(inner)(X),
        *(lambda operator=operator: operator(inner)(X) for operator in (*JACOBIANS, value_and_jacobian)),
        lambda: jacfwd(lambda x: grad(inner)(x))(X),
    ):
        names = through(use)
        assert names[-1] == "inner"
        assert names.count("inner") == 1
        assert set(names) <= {"through", "<lambda>", "inner", "test_a_traceback_shows_the_users_frames_only"}


def test_names_of_the_derivatives() -> None:
    def model(x: Any) -> Any:
        return x

    for operator in (*JACOBIANS, value_and_jacobian, elementwise_grad):
        assert operator(model).__name__ == f"{operator.__name__}(model)"


@pytest.mark.parametrize("inside", [False, True], ids=["outermost", "in another derivative"])
@pytest.mark.parametrize(
    "x",
    [np.ones((2, 3)), np.ones((3, 2)).T, np.ones((2, 3), order="F")[::-1], np.ones((2, 6))[:, ::-2]],
    ids=["C", "F", "F reversed", "every second"],
)
def test_derivatives_lie_in_the_order_of_c(x: Any, inside: bool) -> None:
    """Whether `ravel` of one is a view, and so what a program sees that writes to it, goes by no mode and no layout."""

    def f(x: Any) -> Any:
        return (np.sin(x) * x).T

    def total(x: Any) -> Any:
        return np.sum(f(x) ** 2)

    def derivatives(x: Any) -> list[Any]:
        return [
            *(grad(total)(x), grad(lambda x: np.sum(x))(x), hvp(total, (x,), (x,)), hessian(total)(x)),
            *(jvp(f, (x,), (x,))[1], linearize(f, x)[1](x), vjp(f, x)[1](f(x))[0]),
            *(operator(f)(x) for operator in JACOBIANS),
            *(elementwise_grad(np.sin)(x), grad_closure(lambda: total(x))()["x"]),
            *(derivative(lambda t: f(t * x))(1.0), taylor(lambda t: f(t * x), 1.0, 2)),
        ]

    if not inside:
        assert all(answer.flags.c_contiguous for answer in derivatives(x))
        return

    def outer(x: Any) -> Any:
        assert all(lies_in(answer, "C") for answer in derivatives(x * 1.0))
        return np.sum(x)

    grad(outer)(x)
    jvp(outer, (x,), (x,))


@pytest.mark.parametrize("x", [0.5, np.float64(0.5), np.array(0.5)])
def test_a_hessian_vector_product_has_the_types_of_the_gradient(x):
    def f(x):
        return np.where(x > 0.0, x * x, x)

    assert type(hvp(f, (x,), (x,))) is type(grad(f)(x))
    product = staged(lambda x: hvp(f, (x,), (x,)))
    for _ in range(3):
        assert type(product(x)) is type(grad(f)(x))
        assert product(x) == 1.0
    assert product.report().startswith("staged(<lambda>) runs in steps")
