"""`x += v` on an array that is being differentiated: what NumPy does, seen by every name, or an error."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import EscapedNumberError, grad, jvp, lift, value, value_and_grad

X = np.array([1.5, 0.5, 2.0])
READ_ONLY = r"^x (.|\*\*|//)= v: the memory of x is an argument, .*Write to a copy, y = x\.copy\(\)$"


def by_differences(f: Any, x: Any = X) -> Any:
    steps = 1e-6 * np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([(f(x + step) - f(x - step)) / 2e-6 for step in steps]).reshape(x.shape)


def alias(y: Any) -> Any:
    z = y
    y += 1.0
    return np.sum(z * z * y)


def alias_in_a_list(y: Any) -> Any:
    cells = [y, y]
    cells[0] *= X
    return np.sum(cells[0] * cells[1] ** 2)


def alias_in_a_callee(y: Any) -> Any:
    def grow(a: Any) -> None:
        a += np.array([1.0, 2.0, 3.0])

    grow(y)
    return np.sum(y**3)


def alias_by_an_attribute(y: Any) -> Any:
    z = y.real
    y += 1.0
    return np.sum(z * y)


def used_before_and_after(y: Any) -> Any:
    before = np.sum(y * y)
    y -= 0.25
    between = np.sum(np.sin(y) * y)
    y /= 2.0
    return before * between + np.sum(y**3)


def every_operator(y: Any) -> Any:
    y += X
    y -= 0.1
    y *= y
    y /= 1.0 + X
    y **= 1.5
    y %= 3.7
    return np.sum(y * np.array([1.0, 2.0, 3.0]))


def by_itself(y: Any) -> Any:
    y += y
    y *= y
    return np.sum(y)


def matrix_product(y: Any) -> Any:
    z = y
    y @= np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [3.0, 0.0, 1.0]])
    return np.sum(z * y)


def in_a_loop(y: Any) -> Any:
    total = y * 0.0
    same = total
    for i in range(5):
        total += np.sin(y * i)
    return np.sum(same**2)


def no_use_of_the_old_value(y: Any) -> Any:
    y *= 0.0
    y += 3.0
    return np.sum(y)


PROGRAMS = [
    alias,
    alias_in_a_list,
    alias_in_a_callee,
    alias_by_an_attribute,
    used_before_and_after,
    every_operator,
    by_itself,
    matrix_product,
    in_a_loop,
    no_use_of_the_old_value,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_every_name_sees_the_new_value(program: Any) -> None:
    def f(x: Any) -> Any:
        return program(2.0 * x)

    found, gradient = value_and_grad(f)(X)
    assert found == f(X)
    np.testing.assert_allclose(gradient, by_differences(f), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_in_place_at_two_levels(program: Any) -> None:
    def directional(x: Any) -> Any:
        return np.sum(grad(lambda x: program(2.0 * x))(x) * np.array([1.0, -2.0, 0.5]))

    np.testing.assert_allclose(grad(directional)(X), by_differences(directional), rtol=1e-6, atol=1e-6)


def test_the_precision_of_the_array_is_kept() -> None:
    def f(x: Any) -> Any:
        y = x * np.float32(2.0)
        y += X
        assert y.dtype == np.float32
        return np.sum(y * y)

    x = X.astype(np.float32)
    found, gradient = value_and_grad(f)(x)
    assert found == f(x)
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, 4 * (2 * X + X), rtol=1e-6)


@pytest.mark.parametrize("zeros", [np.zeros(3, np.float32), np.zeros(3, complex), np.float32(0.0), 0.0])
def test_a_constant_to_add_to_has_a_derivative_of_its_own_dtype(zeros: Any) -> None:
    total, slope = jvp(lambda x: lift(zeros, like=x), (X,), (X,))
    assert type(slope) is type(total) is type(zeros)
    assert np.asarray(slope).dtype == np.asarray(zeros).dtype
    assert not np.any(slope)


def argument(x: Any) -> Any:
    x += 1.0
    return np.sum(x)


def argument_of_an_inner_derivative(x: Any) -> Any:
    y = 2.0 * x
    return np.sum(grad(argument)(y) + y)


def slice_before(x: Any) -> Any:
    y = 2.0 * x
    part = y[1:]
    y += 1.0
    return np.sum(part)


def of_a_slice(x: Any) -> Any:
    y = 2.0 * x
    part = y[1:]
    part += 1.0
    return np.sum(y)


def row_of_a_matrix(x: Any) -> Any:
    y = np.outer(x, x)
    for row in y:
        row *= 2.0
    return np.sum(y)


def transposed(x: Any) -> Any:
    y = np.outer(x, x + 1)
    z = y.T
    y += y * y
    return np.sum(z)


def reshaped(x: Any) -> Any:
    y = 2.0 * x
    z = np.reshape(y, (3, 1))
    z *= 2.0
    return np.sum(y)


def value_kept(x: Any) -> Any:
    y = 2.0 * x
    plain = value(y)
    y += 1.0
    return np.sum(plain * y)


def floor_divided(x: Any) -> Any:
    y = 2.0 * x
    z = y
    z //= 2.0
    return np.sum(y)


SHARED = [slice_before, of_a_slice, row_of_a_matrix, transposed, reshaped, value_kept]


@pytest.mark.parametrize("program", SHARED, ids=lambda program: program.__name__)
def test_every_view_sees_the_new_value(program: Any) -> None:
    found, gradient = value_and_grad(program)(X)
    assert found == program(X)
    if program is not value_kept:  # there, a part is a constant
        np.testing.assert_allclose(gradient, by_differences(program), rtol=1e-6, atol=1e-6)


def test_a_plain_value_that_is_kept_changes_too() -> None:
    np.testing.assert_allclose(grad(value_kept)(X), 2.0 * (2.0 * X + 1.0))


def test_a_result_without_derivative_is_a_constant() -> None:
    np.testing.assert_array_equal(grad(floor_divided)(X), np.zeros(3))


@pytest.mark.parametrize("program", [argument, argument_of_an_inner_derivative], ids=lambda program: program.__name__)
def test_an_argument_is_not_written_to(program: Any) -> None:
    x = X.copy()
    with pytest.raises(TypeError, match=READ_ONLY):
        grad(program)(x)
    with pytest.raises(TypeError, match=READ_ONLY):
        grad(lambda x: np.sum(grad(program)(x)))(x)
    np.testing.assert_array_equal(x, X)


def test_an_outer_number_cannot_change_while_an_inner_derivative_needs_it() -> None:
    def f(x: Any) -> Any:
        y = [2.0 * x]

        def inner(w: Any) -> Any:
            product = np.sum(y[0] * w)
            y[0] += 1.0
            return product

        return np.sum(grad(inner)(np.ones(3)) ** 2)

    with pytest.raises(TypeError, match=r"^x \+= v: x belongs to an outer derivative, .*still needs its old value"):
        grad(f)(X)


def test_an_outer_number_takes_no_inner_value() -> None:
    def f(x: Any) -> Any:
        y = 2.0 * x

        def inner(w: Any) -> Any:
            nonlocal y
            y += w
            return np.sum(y)

        return np.sum(grad(inner)(np.ones(3)))

    with pytest.raises(TypeError, match="belongs to an outer derivative"):
        grad(f)(X)


def test_an_outer_number_may_change_after_the_inner_derivative() -> None:
    def f(x: Any) -> Any:
        y = 2.0 * x
        gradient = grad(lambda w: np.sum(y * w * w))(np.ones(3))
        z = y
        y += 1.0
        return np.sum(gradient * z)

    np.testing.assert_allclose(grad(f)(X), by_differences(f), rtol=1e-6)


def test_a_result_of_another_shape_is_numpys_error() -> None:
    with pytest.raises(ValueError, match=r"^x \+= v: non-broadcastable output operand with shape \(3,\).*\(2, 3\)"):
        grad(lambda x: operator.iadd(2.0 * x, np.ones((2, 3))))(X)
    with pytest.raises(TypeError, match="unsupported operand"):
        grad(lambda x: operator.iadd(2.0 * x, "a"))(X)


def test_a_finished_number() -> None:
    leaked: list[Any] = []
    grad(lambda x: leaked.append(2.0 * x) or np.sum(x))(X)
    with pytest.raises(EscapedNumberError):
        leaked[0] += 1.0


def test_the_value_before_an_error_is_back_afterwards() -> None:
    """An error in the middle leaves no trace in the arguments or in the next derivative."""

    def f(x: Any) -> Any:
        y = 2.0 * x
        y += 1.0
        raise KeyError("stop")

    x = X.copy()
    with pytest.raises(KeyError):
        grad(f)(x)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_allclose(grad(lambda x: alias(2.0 * x))(x), by_differences(lambda x: alias(2.0 * x)), rtol=1e-6)


def test_what_is_returned_has_the_new_value():
    def f(x):
        y = 2.0 * x
        y += 1.0
        return np.sum(y), y

    (total, aux), gradient = value_and_grad(f, has_aux=True)(np.array([1.0, 2.0]))
    assert total == 8.0
    np.testing.assert_array_equal(aux, [3.0, 5.0])
    np.testing.assert_array_equal(gradient, [2.0, 2.0])


def the_whole(z: Any) -> None:
    z[...] = z.real


def a_copy(z: Any) -> None:
    np.copyto(z, np.real(z))


def a_part(z: Any) -> None:
    z[1:] = z.real[1:]


def backwards(z: Any) -> None:
    z[::-1] = z.real[::-1]


def the_real_part_itself(z: Any) -> None:
    z.real[...] = z.real


@pytest.mark.parametrize("write", [the_whole, a_copy, a_part, backwards, the_real_part_itself])
def test_the_real_part_lies_where_the_complex_array_does_and_is_another(write: Any) -> None:
    """So to write it there has the imaginary part be zero."""

    def f(x: Any) -> Any:
        z = np.exp((1.0 + 0.5j) * x)
        write(z)
        return np.sum(X * np.real(z) ** 2 + np.imag(z) ** 2)

    found, gradient = value_and_grad(f)(X)
    np.testing.assert_allclose(found, f(X))
    np.testing.assert_allclose(gradient, by_differences(f), rtol=1e-6)
    np.testing.assert_allclose(jvp(f, (X,), (X,)), (f(X), gradient @ X))


@pytest.mark.parametrize("derivative", [grad, lambda f: lambda x: jvp(f, (x,), (np.ones(2),))[1]])
def test_the_real_part_may_be_assigned_and_the_imaginary_part_by_the_remedy(derivative):
    def f(x):
        z = x * (1.0 + 2.0j)
        z.real = x * x
        z.real += x
        z[:1].real = 3.0
        with pytest.raises(AttributeError, match=r"Write x\[\.\.\.\] = x\.real \+ 1j \* v"):
            z.imag = x
        z[...] = z.real + 1j * x**3
        return np.sum(np.abs(z) ** 2)

    def expected(x):
        real = np.concatenate([3.0 + 0.0 * x[:1], x[1:] ** 2 + x[1:]])
        return np.sum(real**2 + x**6)

    x = np.array([1.5, -2.0])
    assert np.allclose(derivative(f)(x), derivative(expected)(x))
