"""Arrays of objects: `numpy.array([x, y])` computes right values and derivatives, and meets numbers as one of them."""

from __future__ import annotations

import copy
import io
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import NumF, NumR, grad, jacfwd, jacobian, value
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.numbers.object_arrays import OF_OBJECTS

X = np.array([0.62, 0.28, 0.47])
M = np.array([[0.9, 0.2], [0.25, 0.8]])


def numerical(f: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    """The gradient by central differences."""
    units = np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in units]).reshape(x.shape)


def check(f: Callable[[Any], Any], x: Any = X) -> None:
    """`f: vector -> scalar` has the value that it has of plain numbers, and right derivatives, in every mode."""
    values = []

    def observed(x: Any) -> Any:
        values.append(f(x))
        return values[-1]

    gradient = grad(observed)(x)
    np.testing.assert_allclose(value(values[0]), f(x), rtol=1e-14)
    np.testing.assert_allclose(gradient, numerical(f, x), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(jacfwd(f)(x), gradient, rtol=1e-12, atol=1e-14)
    weights = np.cos(np.arange(x.size)).reshape(x.shape)
    second = grad(lambda x: np.sum(weights * grad(f)(x)))(x)
    np.testing.assert_allclose(second, numerical(lambda x: np.sum(weights * grad(f)(x)), x), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(sr.jvp(grad(f), (x,), (weights,))[1], second, rtol=1e-10, atol=1e-12)
    along = sr.taylor(lambda t: f(x + t * weights), 0.0, 2)
    np.testing.assert_allclose(2.0 * along[2], np.sum(weights * second), rtol=1e-8, atol=1e-10)


# Made by NumPy

MADE = {
    "array": lambda x: np.array([x[0] * x[1], x[2], x[0]]),
    "mixed": lambda x: np.array([x[0], 1.0, x[2] ** 2]),
    "nested": lambda x: np.array([[x[0], 2.0], [x[1], x[2]]]),
    "tuples": lambda x: np.array(((x[0], x[1]), (x[2], 3))),
    "asarray": lambda x: np.asarray([x[0], x[1]]),
    "asanyarray": lambda x: np.asanyarray([x[0], np.float64(2.0)]),
    "without dimensions": lambda x: np.asarray(x[0] * x[1]),
    "r_": lambda x: np.r_[x[0], x[1], 1.0],
    "r_ of arrays": lambda x: np.r_[0.5, x, x[:2], [x[0], 1.0]],
    "c_": lambda x: np.c_[x, x**2, np.ones(3)],
    "c_ of lists": lambda x: np.c_[[x[0], x[1]], [1.0, x[2]]],
    "full": lambda x: np.full((2, 2), x[0]),
    "array of arrays of objects": lambda x: np.array([np.array([x[0], 1.0]), np.array([x[1], x[2]])]),
    "dtype=object": lambda x: of_floats(np.array([x * 2.0, x], dtype=object)),
    "vectorize": lambda x: np.vectorize(lambda a, b: a * b if a > 0.4 else b)([x[0], x[1]], 2.0),
    "by hand": lambda x: of_floats(filled(np.empty(3, dtype=object), x)),
    "tile": lambda x: np.tile([x[0], x[1]], 2),
}


def filled(cells: Any, x: Any) -> Any:
    for i in range(3):
        cells[i] = x[i] * x[0]
    return cells


def of_floats(y: Any) -> Any:
    """Without numbers in it, an ordinary array."""
    return y if any(isinstance(element, Number) for element in y.flat) else y.astype(float)


@pytest.mark.parametrize("name", MADE)
def test_made_and_met_by_a_number(name: str) -> None:
    make = MADE[name]
    check(lambda x: np.sum(make(x) * x[0]))
    check(lambda x: np.sum(np.exp(x[1]) / make(x) + (x[2] - make(x)) ** 2))
    check(lambda x: np.sum(np.sin(np.stack([x[0] * make(x), make(x) + x[1]]))))

    def f(x: Any) -> Any:
        y = make(x)
        assert type(y) is np.ndarray
        assert y.dtype == object
        assert type(y * x[0]) is NumR
        assert y.shape == (y * x[0]).shape == make(X).shape
        np.testing.assert_allclose(value(1.0 * x[0] / x[0] * y), make(X), rtol=1e-15)
        return x[0]

    grad(f)(X)


ALONE: dict[str, Callable[[Any], Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "mean": np.mean,
    "var": np.var,
    "std": np.std,
    "max": np.max,
    "min": np.min,
    "cumsum": lambda y: np.cumsum(y)[1],
    "sum along an axis": lambda y: np.sum(y, axis=0)[1],
    "ptp": np.ptp,
    "mean along an axis": lambda y: np.mean(y, axis=1)[0],
    "std along an axis": lambda y: np.std(y, axis=0)[1],
    "arithmetic": lambda y: np.sum((2.0 * y - 1.0) / (y + 3.0) ** 2 % 0.7),
    "dot": lambda y: np.dot(y[0], y[1]),
    "matmul": lambda y: (y @ y)[0, 1],
    "matmul with a constant": lambda y: np.sum(M @ y @ M),
    "power": lambda y: np.sum(2.0**y),
    "transpose": lambda y: (y.T * M)[0, 1],
    "index": lambda y: y[1, 0] * y[0, 1],
    "slice": lambda y: np.sum(y[:, 0] ** 2),
    "mask": lambda y: np.sum(y[y > 0.4]),
    "sort": lambda y: np.sort(y.ravel())[1],
    "where": lambda y: np.sum(np.where(y > 0.4, y, M)),
    "concatenate": lambda y: np.sum(np.concatenate([y, M]) ** 2),
    "outer": lambda y: np.sum(np.outer(y, M)),
    "einsum": lambda y: np.einsum("ij,jk->", y, M),
    "trace": np.trace,
    "tensordot": lambda y: np.sum(np.tensordot(y, M, 1)),
    "norm": lambda y: np.linalg.norm(y),
    "maximum": lambda y: np.sum(np.maximum(y, 0.5)),
    "abs": lambda y: np.sum(abs(-y)),
    "clip": lambda y: np.sum(np.clip(y, 0.4, 0.6)),
    "diff": lambda y: np.sum(np.diff(y) ** 2),
    "average": lambda y: np.average(y, weights=M),
    "median": np.median,
    "square": lambda y: np.sum(np.square(y)),
    "reshape": lambda y: y.reshape(4)[2] * y.ravel()[1],
    "item": lambda y: y.item(1),
    "iteration": lambda y: sum(a * b for a, b in y),
    "reciprocal": lambda y: np.sum(np.reciprocal(y)),
    "in place": lambda y: np.sum(increased(y) ** 2),
    "copy": lambda y: np.sum(copy.deepcopy(y) * copy.copy(y)),
    "interp": lambda y: y[0, 0] * np.argmax(y),
    "polyval": lambda y: np.polyval(y.ravel(), 0.5),
    "cross": lambda y: np.cross(np.r_[y[0], 1.0], np.r_[y[1], 2.0])[0],
    "kron": lambda y: np.sum(np.kron(y, M) ** 2),
    "convolve": lambda y: np.convolve(y[0], y[1])[1],
    "roll": lambda y: np.roll(y, 1)[0, 0],
    "polynomial": lambda y: np.polynomial.Polynomial(y.ravel())(0.5),
    "poly1d": lambda y: np.poly1d(y.ravel())(0.5),
}


def increased(y: Any) -> Any:
    y += 1.0
    y[0] *= y[1]
    return y


@pytest.mark.parametrize("name", ALONE)
def test_numpy_computes_on_the_elements(name: str) -> None:
    check(lambda x: ALONE[name](np.array([[x[0] * x[1], x[1]], [x[2], x[0]]])))


@pytest.mark.parametrize("name", [name for name in OF_OBJECTS if name != "logical_xor"])
def test_the_elementwise_functions_of_elements(name: str) -> None:
    ufunc: Any = getattr(np, name)
    constants = (0.3,) * (ufunc.nin - 1)
    shift = 1.2 if name == "arccosh" else 0.0
    check(lambda x: np.sum(ufunc(np.array([x[0] + shift, x[1] + shift]), *constants)))
    if ufunc.nin == 2:
        check(lambda x: np.sum(ufunc(np.array([x[0], x[1]]), np.array([x[2], x[0] * x[1]]))))


def test_the_methods_for_elements_are_those_that_numpy_calls() -> None:
    class Element:
        pass

    elements = np.array([Element(), Element()])
    for name in dir(np):
        ufunc = getattr(np, name)
        if isinstance(ufunc, np.ufunc) and ufunc.signature is None and "O" * ufunc.nin + "->O" in ufunc.types:
            try:
                ufunc(*[elements] * ufunc.nin)
            except (TypeError, AttributeError) as error:
                missing = str(error)
            else:
                continue
            if "no callable" not in missing and "no attribute" not in missing:  # an operator
                continue
            method = missing.split("callable ")[-1].split(" method")[0].split("attribute ")[-1].strip("'")
            assert hasattr(NumR, method) == (method != "bit_count"), missing  # which is of integers only


def test_logical_xor_of_elements() -> None:
    assert grad(lambda x: x[0] * np.sum(np.logical_xor(np.array([x[0], x[1]]), np.array([x[2], 0.0]))))(X).tolist() == [
        1,
        0,
        0,
    ]


def test_an_element_that_is_a_plain_float_has_no_methods() -> None:
    with pytest.raises(
        TypeError, match=r"which has no callable tanh method\. .*shiftreset_ad\.array to build an array"
    ):
        grad(lambda x: np.sum(np.tanh(np.array([x[0], 1.0]))))(X)
    check(lambda x: np.sum(np.tanh(sr.array([x[0], 1.0]))))
    check(lambda x: np.sum(np.tanh(np.array([x[0], 1.0]) + 0.0 * x[0])))


# Lists where NumPy takes arrays

LISTS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: np.sum([x[0], x[1] ** 2]),
    "max": lambda x: np.max([x[0], x[1]]),
    "mean": lambda x: np.mean([x[0], x[1] ** 2]),
    "std": lambda x: np.std([x[0], x[1] ** 2, 1.0]),
    "norm": lambda x: np.linalg.norm([x[0], x[1]]),
    "dot with a constant": lambda x: np.dot([x[0], x[1]], [1.0, 2.0]),
    "dot": lambda x: np.dot([x[0], 2.0, x[1]], x),
    "array * list": lambda x: np.sum(x * [x[1], 2.0, x[0]]),
    "list * array": lambda x: np.sum([x[1], 2.0, x[0]] * x),
    "tuple": lambda x: np.sum((x[1], 2.0, x[0]) - x * x),
    "scalar of NumPy": lambda x: np.sum(np.multiply(x[0], [x[1], 2.0])),
    "constant array": lambda x: np.sum(X * [x[1], 2.0, x[0]]),
    "nested": lambda x: np.sum([[x[0], 1.0, 2.0], [x[1], 2.0, x[2]]] * x),
    "list @ array": lambda x: [x[1], 2.0, x[0]] @ x,
    "array @ list": lambda x: x @ [x[1], 2.0, x[0]],
    "comparison": lambda x: np.sum(np.where(np.less(x, [0.5, x[0], 0.1]), x, 1.0)),
    "where": lambda x: np.sum(np.where(x > 0.3, x, [x[1], 2.0, 3.0])),
    "maximum": lambda x: np.sum(np.maximum(x, [0.5, x[0], 0.1])),
    "power": lambda x: np.sum(x ** [2.0, x[0], 1.0]),
    "concatenate": lambda x: np.sum(np.concatenate([x, [x[0], 1.0]]) ** 2),
    "stack": lambda x: np.sum(np.stack([x, [x[1], 1.0, 2.0]]) ** 2),
    "vstack": lambda x: np.sum(np.vstack([[x[0], 1.0, x[1]], x]) ** 2),
    "outer": lambda x: np.sum(np.outer(x, [x[0], 1.0]) ** 2),
    "list of arrays": lambda x: np.sum(x * [x * x, x]),
    "einsum": lambda x: np.einsum("i,i", x, [x[1], 2.0, 1.0]),
    "ufunc.outer": lambda x: np.sum(np.multiply.outer(x, [x[0], 2.0])),
    "method": lambda x: x.dot([x[0], 1.0, x[2]]),
    "one for all": lambda x: np.sum(np.where(x > 0.3, x, [x[1]])),
    "clip": lambda x: np.sum(np.clip(x, 0.1, [x[1], 0.5, 0.2])),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_numbers_for_an_array(name: str) -> None:
    check(LISTS[name])


def test_a_float_takes_no_list() -> None:
    with pytest.raises(TypeError):
        grad(lambda x: np.sum(x * [x, 1.0]))(1.5)
    assert grad(lambda x: np.sum(np.multiply(x, [x, 1.0])))(1.5) == 4.0


# Meeting numbers

MEETINGS: dict[str, Callable[[Any, Any], Any]] = {
    "o * x": lambda o, x: np.sum(o * x),
    "x * o": lambda o, x: np.sum(x * o),
    "x - o": lambda o, x: np.sum((x - o) ** 2),
    "o ** x": lambda o, x: np.sum(o**x),
    "o @ x": lambda o, x: o @ x,
    "x @ o": lambda o, x: x @ o,
    "dot": lambda o, x: np.dot(o, x),
    "method": lambda o, x: x.dot(o),
    "where": lambda o, x: np.sum(np.where(x > 0.4, o, x)),
    "maximum": lambda o, x: np.sum(np.maximum(o, x)),
    "concatenate": lambda o, x: np.sum(np.concatenate([o, x, X]) ** 2),
    "vstack": lambda o, x: np.sum(np.vstack([x, o]) ** 2),
    "outer": lambda o, x: np.sum(np.outer(o, x) ** 2),
    "ufunc.outer": lambda o, x: np.sum(np.add.outer(o, x) ** 2),
    "einsum": lambda o, x: np.einsum("i,j->", o, x),
    "comparison": lambda o, x: np.sum(x[o < x] * (x == x)[o < x]),
    "interp": lambda o, x: np.sum(np.arctan2(o, x)),
    "keyword": lambda o, x: np.sum(np.clip(x, None, a_max=o)),
    "in place": lambda o, x: np.sum(added(x * 2.0, o) ** 2),
    "in place, objects": lambda o, x: np.sum(added(o.copy(), x) ** 2),
    "out": lambda o, x: np.sum(np.multiply(x, 2.0, out=o.copy()) ** 2),
    "copyto": lambda o, x: np.sum(copied_to(o.copy(), x) ** 2),
    "assigned": lambda o, x: np.sum(assigned(o.copy(), x) ** 2),
    "floor": lambda o, x: np.sum((x // o) * x),
    "zeros": lambda o, x: np.sum(assigned(sr.zeros(3), o) ** 2),
    "zeros, list": lambda o, x: np.sum(assigned(sr.zeros(2), [x[0], 1.0]) ** 2),
}


def added(a: Any, b: Any) -> Any:
    a += b
    return a


def copied_to(a: Any, b: Any) -> Any:
    np.copyto(a, b)
    return a


def assigned(a: Any, b: Any) -> Any:
    a[:] = b
    return a


@pytest.mark.parametrize("name", MEETINGS)
def test_an_array_of_objects_meets_a_number(name: str) -> None:
    check(lambda x: MEETINGS[name](np.array([x[1] * x[2], 0.5, x[0]]), x))


def test_what_changes_in_place_changes_under_every_name() -> None:
    def f(x: Any) -> Any:
        cells = np.array([x[0], 1.0, x[1]])
        same, part = cells, cells[1:]
        cells += x
        np.put(cells, 0, x[2])
        assert same is cells
        return np.sum(same) + 10.0 * np.sum(part)

    check(f)


def test_levels_are_kept_apart() -> None:
    def f(x: Any) -> Any:
        def g(y: Any) -> Any:
            both = np.array([x[0], y[0], x[1] * y[1]])
            assert type(both * y) is NumR
            assert (both * y).tag.level == y.tag.level
            return np.sum(both * both * x) + np.sum(np.array([x[0], 1.0]) * y[:2])

        return np.sum(grad(g)(x * x) * x)

    check(f)
    check(lambda x: sr.jvp(lambda y: np.sum(np.array([x[0], y[1]]) * np.array([y[0], 1.0])), (x,), (x * x,))[1])


def test_objects_that_are_no_scalars() -> None:
    def lists(x: Any) -> Any:
        cells = np.empty(2, dtype=object)
        cells[0], cells[1] = x, [1.0]
        return cells

    with pytest.raises(
        TypeError, match=r"an array of objects cannot .* if the objects are arrays or lists.*numpy\.stack"
    ):
        grad(lambda x: np.sum(lists(x) * x[:2]))(X)
    for strange in (None, "text"):
        with pytest.raises(TypeError, match=r"an array of numbers cannot be built with .* in it"):
            grad(lambda x: np.sum(np.array([x[0], strange], dtype=object) * x[:2]))(X)  # noqa: B023
    empty = np.array([], dtype=object)
    assert grad(lambda x: np.sum(empty * x[:0]) + x[0])(X).tolist() == [1.0, 0.0, 0.0]
    constants = np.array([1.0, 2, np.float32(3.0)], dtype=object)
    assert grad(lambda x: np.sum(constants * x))(X).tolist() == [1.0, 2.0, 3.0]


# Arguments and results

RETURNED: dict[str, Callable[[Any], Any]] = {
    "array": lambda x: np.array([x[0] * x[1], 1.0, x[2] ** 2]),
    "matrix": lambda x: np.array([[x[0], x[1] * x[2]], [3.0, x[2]]]),
    "without dimensions": lambda x: np.asarray(x[0] * x[1]),
    "r_": lambda x: np.r_[x, 1.0] ** 2,
}


@pytest.mark.parametrize("name", RETURNED)
def test_a_function_may_return_one(name: str) -> None:
    f = RETURNED[name]
    reference = jacobian(lambda x: sr.array(f(x)) if name != "without dimensions" else x[0] * x[1])(X)
    for operator in (jacobian, sr.jacrev, jacfwd):
        found = operator(f)(X)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, reference)
    y, pullback = sr.vjp(f, X)
    assert np.asarray(y).dtype == np.float64
    np.testing.assert_allclose(pullback(np.ones(np.shape(y)))[0], np.sum(reference.reshape(-1, 3), axis=0))
    for y_dot in (sr.jvp(f, (X,), (X,))[1], sr.linearize(f, X)[1](X)):
        np.testing.assert_allclose(y_dot, reference @ X)
    np.testing.assert_allclose(sr.taylor(lambda t: f(X + t * X), 0.0, 1)[1], reference @ X)
    np.testing.assert_allclose(
        sr.hessian(lambda x: np.sum(x[0] * f(x)))(X), jacfwd(grad(lambda x: np.sum(x[0] * f(x))))(X)
    )


def test_a_result_beside_the_value_has_arrays_of_floats() -> None:
    def f(x: Any) -> Any:
        return np.sum(x * x), {"a": np.array([x[0], 1.0]), "b": (np.asarray(x[1]), np.array([1, None]))}

    for _, aux in (grad(f, has_aux=True)(X), sr.vjp(f, X, has_aux=True)[::2], sr.jvp(f, (X,), (X,), has_aux=True)[::2]):
        assert aux["a"].dtype == np.float64
        assert aux["a"].tolist() == [X[0], 1.0]
        assert aux["b"][0] == X[1]
        assert aux["b"][1].tolist() == [1, None]


def test_a_gradient_of_one_without_dimensions() -> None:
    assert grad(lambda x: np.asarray(x * x))(3.0) == 6.0
    assert grad(grad(lambda x: np.asarray(x**3)))(2.0) == 12.0
    with pytest.raises(TypeError, match=r"returned an array of shape \(2,\)"):
        grad(lambda x: np.array([x, 1.0]))(3.0)


def test_arguments_of_an_inner_derivative() -> None:
    check(lambda x: np.sum(grad(lambda y: np.sum(y**3))(np.array([x[0], x[1] ** 2])) * x[:2]))
    check(lambda x: np.sum(sr.vjp(lambda y: y**2, X[:2])[1](np.array([x[0], x[1]]))[0] * x[0]))
    check(lambda x: np.sum(sr.jvp(lambda y: y**2, (x[:2],), (np.array([x[0], x[1]]),))[1]))


def test_checkpoints_and_loops() -> None:
    check(lambda x: np.sum(sr.checkpoint(lambda x: np.array([x[0] * x[1], 1.0, x[2]]))(x) ** 2))
    check(lambda x: np.sum(sr.checkpoint(lambda x: x**2)(np.array([x[0], x[1]]))))

    def closed_over(x: Any) -> Any:
        both = np.array([x[0], x[1]])
        return np.sum(sr.checkpoint(lambda y: both * y)(x[:2]))

    check(closed_over)
    check(lambda x: np.sum(sr.checkpointed_loop(lambda k, s: np.array([s[0] * s[1], s[1]]), x[:2], 4, 2)))


def test_custom_rules() -> None:
    @sr.custom_vjp
    def squares(x: Any) -> Any:
        return np.array([x[0], x[1]]) ** 2

    squares.defvjp(
        lambda x: (squares(x), x), lambda x, y_bar: (np.array([2 * x[0] * y_bar[0], 2 * x[1] * y_bar[1], 0.0]),)
    )
    np.testing.assert_allclose(grad(lambda x: np.sum(squares(x) * 3.0))(X), [6 * X[0], 6 * X[1], 0.0])
    np.testing.assert_allclose(sr.hessian(lambda x: np.sum(squares(x)))(X), np.diag([2.0, 2.0, 0.0]))


def test_constants_and_questions() -> None:
    def f(x: Any) -> Any:
        both = np.array([x[0], x[1]])
        assert sr.value(both).tolist() == X[:2].tolist()
        assert sr.is_differentiable(both)
        return np.sum(sr.stop_gradient(both) * x[:2])

    np.testing.assert_array_equal(grad(f)(X), [X[0], X[1], 0.0])


def test_complex_numbers_make_none() -> None:
    """As NumPy takes objects for real: their .real is the array itself, and their .imag zero."""
    z = np.array([1.0 + 2.0j, 3.0 - 1.0j])
    for make in (
        lambda z: np.array([z[0], z[1]]),
        lambda z: np.array([z[0], 1.0], dtype=object),
        lambda z: np.asarray(z[0]),
        lambda z: np.array(z, dtype=object),
        lambda z: np.full(2, z[0]),
        lambda z: np.r_[z, 1.0],
    ):
        said = (
            r"^numpy\.array of complex numbers makes an array of objects, whose \.real and \.imag are wrong; use numpy"
        )
        with pytest.raises(TypeError, match=said):
            grad(lambda z: np.sum(make(z).imag ** 2))(z)  # noqa: B023
    for right in (lambda z: np.stack([z[0], z[1]]), lambda z: sr.array([z[0], z[1]]), lambda z: np.concatenate([z])):
        np.testing.assert_allclose(grad(lambda z: np.sum(right(z).imag ** 2))(z), -2j * z.imag)  # noqa: B023


# What it cannot become


def test_it_cannot_become_an_array_of_floats() -> None:
    for convert in (
        lambda a: a.astype(float),
        lambda a: np.array(a, dtype=np.float32),
        lambda a: np.asarray(a, float),
        lambda a: assigned(np.zeros(2), a),
        lambda a: a.astype(complex),
        lambda a: a.astype(int),
        lambda a: np.zeros(2) + a.astype("f4"),
        lambda a: np.add(a, 1.0, out=np.zeros(2)),
        lambda a: np.add(a, 1.0, dtype=float),
        lambda a: math.fsum(a),
        lambda a: float(a[0]),
        lambda a: a.dump(io.BytesIO()),
        lambda a: random.Random(0).lognormvariate(a[0], 1.0),
    ):
        with pytest.raises(TypeError):
            grad(lambda x: np.sum(convert(np.array([x[0], x[1]]))))(X)  # noqa: B023


def test_a_number_after_its_derivative_is_an_error_there_too() -> None:
    leaked: list[Any] = []
    grad(lambda x: leaked.append(np.array([x[0], x[1]])) or x[0])(X)
    for use in (lambda a: a * 2.0, np.sum, lambda a: grad(lambda x: np.sum(a * x))(1.5), np.sin, sr.array):
        with pytest.raises(sr.EscapedNumberError):
            use(leaked[0])


def test_forward_mode_makes_them_too() -> None:
    def f(x: Any) -> Any:
        both = np.array([x[0], x[1]])
        assert type(both[0]) is NumF
        assert type(both * x[0]) is NumF
        return np.sum(both * x[0])

    assert sr.jvp(f, (X,), (X,))[1] == pytest.approx(2.0 * (X[0] + X[1]) * X[0])


@pytest.mark.parametrize(
    "name",
    [
        *("allclose", "almost_equal", "equal", "array_equal", "array_almost_equal", "array_almost_equal_nulp"),
        *("approx_equal", "array_max_ulp"),
    ],
)
def test_assertions_of_numpy_are_about_the_value(name: str) -> None:
    """They neither lose a derivative nor change one; a list of numbers is compared, too."""
    check = getattr(np.testing, f"assert_{name}")
    given = [3.0] if name == "approx_equal" else [3.0, X, X[:1]]

    def checked(x: Any, wanted: Any) -> Any:
        check(x, wanted)
        return np.sum(x * x)

    for x in given:
        np.testing.assert_array_equal(grad(checked)(x, x), 2.0 * x)
        assert sr.jvp(lambda x: checked(x, value(x)), (x,), (x,))[1] == 2.0 * np.sum(x * x)
        with pytest.raises(AssertionError, match=r"(?i)not (almost )?equal"):
            grad(checked)(x, x + 1.0)
    assert grad(lambda x: (np.testing.assert_allclose([x, 2.0 * x], [3.0, 6.0]), x * x)[1])(3.0) == 6.0
    with pytest.raises(TypeError, match="would turn a number"):
        grad(lambda x: np.sum(np.asarray(x)))(X)
