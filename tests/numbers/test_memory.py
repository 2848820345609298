"""Arrays that share memory in less usual ways, when one of them is written to: the right answer, or an error."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import EscapedNumberError, grad, jacrev, jvp, taylor, value_and_grad, vjp
from shiftreset_ad.modes.reverse import writing as writes
from shiftreset_ad.numbers import memory
from shiftreset_ad.testing import check_grads

X = np.array([1.5, 0.5, 2.0, -0.7])


def by_all_modes(f: Any, x: Any = X) -> list[Any]:
    """The derivative in the direction of ones, in every mode."""
    ones = np.ones_like(x)
    return [
        np.sum(grad(f)(x)),
        jvp(f, (x,), (ones,))[1],
        taylor(lambda t: f(x + t * ones), 0.0, 1)[1],
        np.sum(jacrev(f)(x)),
        np.sum(sr.jacfwd(f)(x)),
    ]


def by_differences(f: Any, x: Any = X) -> Any:
    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6


# Functions with rules of their own


def itself(x: Any) -> Any:
    return x


def part(x: Any) -> Any:
    return x[1:]


def overlapping(x: Any) -> Any:
    y = 2.0 * x
    return y, y[1:]


def by_vjp(f: Any) -> Any:
    g = sr.custom_vjp(lambda x: f(x))
    g.defvjp(lambda x: (f(x), x.shape), lambda shape, y_bar: vjp(f, np.zeros(shape))[1](y_bar))
    return g


def by_jvp(f: Any) -> Any:
    g = sr.custom_jvp(lambda x: f(x))
    g.defjvp(lambda primals, tangents: (f(*primals), f(*tangents)))
    return g


@pytest.mark.parametrize("with_rule", [by_vjp, by_jvp])
@pytest.mark.parametrize("function", [itself, part, overlapping], ids=lambda f: f.__name__)
@pytest.mark.parametrize("place", ["result", "argument"])
def test_a_rule_that_returns_what_it_was_given(with_rule: Any, function: Any, place: str) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        z = with_rule(function)(y)
        first, last = z if isinstance(z, tuple) else (z, z)
        if place == "result":
            first[0] = y[0] ** 2
        else:
            y[0] = y[1] ** 2
        return np.sum(first * first) + np.sum(last) + np.sum(y**2)

    derivatives = [
        lambda: grad(f)(X),
        lambda: jvp(f, (X,), (X,)),
        lambda: taylor(lambda t: f(X + t), 0.0, 1),
        lambda: jacrev(f)(X),
    ]
    if function is overlapping and place == "argument":
        check_grads(f, (X,), order=1)
        return
    for derivative in derivatives:
        with pytest.raises(TypeError, match=r"the memory of x belongs to an argument, or to another result, .*copy"):
            derivative()


@pytest.mark.parametrize("function", [itself, part, overlapping], ids=lambda f: f.__name__)
def test_a_checkpoint_that_returns_what_it_was_given(function: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        z = sr.checkpoint(function)(y)
        (z[0] if isinstance(z, tuple) else z)[0] = 3.0
        return np.sum(y)

    with pytest.raises(TypeError, match="the memory of x belongs to an argument, or to another result"):
        grad(f)(X)


# A pullback that is called after the outer program has written to what it needs


@sr.custom_vjp
def product(a: Any, b: Any) -> Any:
    return a * b


product.defvjp(lambda a, b: (a * b, (a, b)), lambda kept, y_bar: (y_bar * kept[1], y_bar * kept[0]))

NEEDING_THE_CONSTANT = {
    "product": lambda a, y: a * y,
    "custom rule": product,
    "element": lambda a, y: a * y[..., 0],
    "cross product": lambda a, y: np.cross(a[:3], y[:3]),
    "lift": lambda a, y: sr.lift(y, like=a) * a,
    "checkpoint": lambda a, y: sr.checkpoint(lambda a: a * y)(a),
    "view": lambda a, y: a * y[::-1],
}


@pytest.mark.parametrize("name", NEEDING_THE_CONSTANT)
def test_a_pullback_keeps_what_it_needs_of_an_outer_array(name: str) -> None:
    def pulled_back(x: Any, writes: bool) -> Any:
        y = x * 1.0
        answer, pullback = vjp(lambda a: NEEDING_THE_CONSTANT[name](a, y), 0.5 * x)
        if writes:
            y[0] = y[1] * 7.0
            y[1:] *= 0.5
        return np.sum(pullback(np.cos(np.arange(1.0, 1.0 + answer.size)))[0] * X)

    assert value_and_grad(pulled_back)(X, True)[0] == pulled_back(X, False)
    expected = by_differences(lambda x: pulled_back(x, False))
    np.testing.assert_allclose(by_all_modes(lambda x: pulled_back(x, True)), expected, rtol=1e-6, atol=1e-6)


def test_a_lifted_array_is_another_one() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0

        def inner(w: Any) -> Any:
            z = sr.lift(y, like=w)
            z[0] = w[1]
            return np.sum(z * z * w)

        return np.sum(grad(inner)(x) * y)

    check_grads(f, (X,), order=1)


# Arrays without dimensions


def test_an_element_by_an_ellipsis_is_a_view() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        first, also_first, last = y[..., 0], np.reshape(y[:1], ()), y[-1:].squeeze()
        first[...] = y[1] * y[2]
        also_first += 1.0
        y[3] = first * also_first
        last *= 0.5
        y[..., 1] = y[..., 3]
        return np.sum(y**2) + first * last

    check_grads(f, (X,), order=2)
    np.testing.assert_allclose(by_all_modes(f), by_differences(f), rtol=1e-6)


COPIES_OF_AN_ELEMENT = {
    "+a": lambda a: +a,
    "a + 1.0": lambda a: a + 1.0,
    "1.0 - a": lambda a: 1.0 - a,
    "a / 1.0": lambda a: a / 1.0,
    "sum": np.sum,
    "copy": np.copy,
    "a.copy": lambda a: a.copy(),
    "a[()]": lambda a: a[()],
    "astype": lambda a: a.astype(float),
    "stack": lambda a: np.stack([a, a])[1],
    "where": lambda a: np.where(True, a, 0.0),
    "item": lambda a: a.item(),
}


@pytest.mark.parametrize("name", COPIES_OF_AN_ELEMENT)
def test_what_is_computed_of_an_element_is_no_view(name: str) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        z = COPIES_OF_AN_ELEMENT[name](y[..., 0])
        y[0] = 50.0 * x[1]
        return z * z * x[2]

    np.testing.assert_allclose(by_all_modes(f), by_differences(f), rtol=1e-6)
    check_grads(f, (X,), order=2)


# The layout of a copy says what `ravel` shares memory with


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a.copy(),
        lambda a: np.copy(a),
        lambda a: np.repeat(a, 2, axis=1),
        lambda a: np.take(a, [0, 1, 0], axis=1),
        lambda a: np.compress([True, True], a, axis=1),
        lambda a: np.delete(a, 0, axis=1),
        lambda a: np.insert(a, 0, 1.0, axis=1),
        lambda a: np.meshgrid(a[0], a[1])[0],
        lambda a: np.einsum("ij->ji", a),
        lambda a: np.einsum("ij->ij", a),
    ],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_flat_views_of_copies(function: Any, order: Any) -> None:
    def f(x: Any) -> Any:
        a = np.copy(np.reshape(x, (2, 2)), order=order)
        b = function(a)
        for flat in (np.ravel(b), np.ravel(b, order="F")):
            flat[1] = flat[0] * flat[-1]
        a[0, 1] *= 2.0
        return np.sum(b**3 * np.arange(b.size).reshape(b.shape)) + np.sum(a**2)

    if order == "C" or function(np.ones((2, 2))).size == 4:
        assert value_and_grad(f)(X)[0] == f(X)
        np.testing.assert_allclose(by_all_modes(f), by_differences(f), rtol=1e-6)


def test_the_order_of_fortran_in_a_jacobian() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        columns = np.reshape(y, (2, 2), order="F")
        columns[0] = columns[1] ** 2
        np.ravel(columns, order="F")[3] *= x[0]
        return y

    x = np.abs(X)
    np.testing.assert_allclose(jacrev(f)(x), sr.jacfwd(f)(x))
    np.testing.assert_allclose(jacrev(f)(x) @ X, (f(x + 1e-6 * X) - f(x - 1e-6 * X)) / 2e-6, rtol=1e-6)


# What the program keeps


def test_plain_values_stay_as_the_program_left_them() -> None:
    """They are views of the array, as NumPy's would be, and the way back that changes it leaves no trace in them."""
    logged: list[Any] = []

    def f(x: Any) -> Any:
        y = x * 1.0
        logged.append(sr.value(y))
        y[0] = 7.0
        logged.append(sr.value(y[1:]))
        y[1:] = y[:-1]
        return np.sum(y**2), sr.stop_gradient(y)

    def expect_final(*arrays: Any) -> None:
        for array in (*arrays, logged[0]):
            np.testing.assert_array_equal(array, final)
        np.testing.assert_array_equal(logged[1], final[1:])

    final = np.array([7.0, 7.0, X[1], X[2]])
    (_, aux), gradient = value_and_grad(f, has_aux=True)(X)
    expect_final(aux)
    np.testing.assert_array_equal(gradient, [0.0, 2.0 * X[1], 2.0 * X[2], 0.0])
    logged.clear()
    _, pullback = vjp(lambda x: f(x)[0], X)
    for _ in range(2):
        np.testing.assert_array_equal(pullback(1.0)[0], gradient)
        expect_final()
    logged.clear()
    np.testing.assert_allclose(
        grad(lambda x: np.sum(grad(lambda x: f(x)[0])(x) * X))(X), [0.0, 2.0 * X[1], 2.0 * X[2], 0.0]
    )
    expect_final()


def test_a_number_that_is_kept_has_no_value_when_its_array_has_been_undone() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        y, untouched, shown = x * 1.0, x * 3.0, x * 1.0
        y[0] = shown[0] = 7.0
        sr.value(shown)
        kept[:] = [y, y[1:], untouched, shown]
        return np.sum(y * untouched)

    def expect_errors() -> None:
        for x in kept[:2]:
            for read in (sr.value, np.argmax):
                with pytest.raises(EscapedNumberError, match=r"the way back has put old elements .*has_aux=True"):
                    read(x)
        np.testing.assert_array_equal(sr.value(kept[2]), 3.0 * X)
        np.testing.assert_array_equal(sr.value(kept[3]), [7.0, *X[1:]])

    grad(f)(X)
    expect_errors()
    _, pullback = vjp(f, X)
    np.testing.assert_array_equal(sr.value(kept[0]), [7.0, *X[1:]])
    kept[:] = []
    _, pullback = vjp(f, X)
    pullback(1.0)
    expect_errors()
    jvp(f, (X,), (X,))
    np.testing.assert_array_equal(sr.value(kept[0]), [7.0, *X[1:]])


def test_arguments_in_buffers_are_not_written_to() -> None:
    x = np.frombuffer(bytearray(X.tobytes()))
    for place in (lambda x: x, lambda x: x[1:]):
        with pytest.raises(TypeError, match="the memory of x is an argument"):
            grad(lambda x: place(x).fill(1.0))(x)  # noqa: B023
    np.testing.assert_array_equal(x, X)


# Interrupts


def test_an_interrupt_in_the_middle_of_a_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """In reverse mode, the write has been made or it has not; in the others, nothing can be computed any longer."""
    interrupts: list[str] = []

    def interrupted(put: Any) -> Any:
        def put_and_raise(array: Any, index: Any, item: Any) -> None:
            put(array, index, item)
            if interrupts:
                interrupts.pop()
                raise KeyboardInterrupt

        return put_and_raise

    for module in (writes, memory):
        monkeypatch.setattr(module, "put", interrupted(module.put))

    def f(x: Any) -> Any:
        y = x * 1.0
        y[1] = 2.0 * y[0]
        interrupts.append("in the next write")
        with suppress(KeyboardInterrupt):
            y[0] = 5.0 * y[1]
        y[2] = y[0] * y[1]
        return np.sum(y**2)

    expected = grad(lambda x: x[0] ** 2 + 4.0 * x[0] ** 2 + 4.0 * x[0] ** 4 + x[3] ** 2)(X)
    np.testing.assert_allclose(grad(f)(X), expected)
    _, pullback = vjp(f, X)
    for _ in range(2):
        np.testing.assert_allclose(pullback(1.0)[0], expected)
    for derivative in (lambda: jvp(f, (X,), (X,)), lambda: taylor(lambda t: f(X + t), 0.0, 1)):
        with pytest.raises(EscapedNumberError):
            derivative()


# Where the result goes


def test_out_without_its_name() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        np.dot(np.outer(x, x), x, y)
        return np.sum(y)

    assert value_and_grad(f)(X)[0] == f(X)
    np.testing.assert_allclose(by_all_modes(f), by_differences(f), rtol=1e-6)


@pytest.mark.parametrize(
    "into",
    [
        lambda x, y: np.concatenate([x[:2], y[:2]], out=y),
        lambda x, y: np.stack([y[1], y[0]], out=y[:2]),
        lambda x, y: np.einsum("i,ij->j", y, np.outer(x, x), out=y),
    ],
)
def test_out_that_numpy_would_write_to_too_early(into: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        into(x, y)
        return np.sum(y)

    if into(X, X * 1.0)[0] == X[1]:  # elements are no views
        check_grads(f, (X,), order=1)
        return
    with pytest.raises(ValueError, match="out= has memory in common with an argument"):
        grad(f)(X)
