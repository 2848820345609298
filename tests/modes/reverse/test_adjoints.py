"""Accumulation: who owns an array, what is held back, and what an input gets in the end."""

import numpy as np
import pytest

from shiftreset_ad import grad, linearize, value_and_grad, vjp
from shiftreset_ad.modes.reverse.adjoints import accumulate, accumulate_at, finished, settle
from shiftreset_ad.modes.reverse.arrays import LARGE
from shiftreset_ad.modes.reverse.unsettled import Held
from shiftreset_ad.numbers.number import ZERO


class Cell:
    def __init__(self, primal):
        self.primal, self.adjoint, self.owns = primal, ZERO, False


SMALL_AND_LARGE = pytest.mark.parametrize("copies", [1, LARGE])  # of two elements: the array may be used up, or not


@SMALL_AND_LARGE
def test_the_operands_of_an_addition_do_not_share_an_array(copies):
    weights = np.tile([1.0, 2.0], copies)

    def f(a, b):
        first = np.sum(b * 5.0)  # gone back to last: adds to the adjoint of b, where b must not share it with a
        return first + np.sum((a + b) * weights)

    a_bar, b_bar = grad(f, argnums=(0, 1))(np.ones(2 * copies), np.ones(2 * copies))
    np.testing.assert_array_equal(a_bar, weights)
    np.testing.assert_array_equal(b_bar, weights + 5.0)


@SMALL_AND_LARGE
def test_an_operand_with_a_partial_derivative_of_one_keeps_the_array_from_the_other(copies):
    def f(a, b):
        return np.sum(np.remainder(a, b) * 3.0)

    a_bar, b_bar = grad(f, argnums=(0, 1))(np.tile([7.0, 9.0], copies), np.tile([2.0, 4.0], copies))
    np.testing.assert_array_equal(a_bar, np.tile([3.0, 3.0], copies))
    np.testing.assert_array_equal(b_bar, np.tile([-9.0, -6.0], copies))


@SMALL_AND_LARGE
def test_the_same_operand_twice(copies):
    gradient = grad(lambda x: np.sum(np.tanh((x + x) * (x * x)) * 1.0))(np.tile([0.1, 0.2], copies))
    np.testing.assert_allclose(
        gradient, np.tile([6 * 0.1**2 / np.cosh(0.002) ** 2, 0.24 / np.cosh(0.016) ** 2], copies)
    )


def test_a_product_of_arrays_without_a_constant():
    x, w = np.linspace(0.1, 1.0, 2 * LARGE), np.linspace(1.0, 2.0, 2 * LARGE)
    x_bar, w_bar = grad(lambda x, w: np.sum(np.exp(x * w) / w), argnums=(0, 1))(x, w)
    np.testing.assert_allclose(x_bar, np.exp(x * w))
    np.testing.assert_allclose(w_bar, np.exp(x * w) * (x / w - 1 / w**2))


def test_an_array_that_something_else_sees_is_not_written_to():
    x, seen, mine = Cell(np.zeros(2)), np.ones(2), np.ones(2)
    accumulate(x, seen)
    accumulate(x, seen)
    np.testing.assert_array_equal(seen, [1.0, 1.0])
    accumulate(x, mine, owned=True)
    np.testing.assert_array_equal(x.adjoint, [3.0, 3.0])
    accumulate_at(x, 0, 1.0)
    np.testing.assert_array_equal(x.adjoint, [4.0, 3.0])
    np.testing.assert_array_equal(mine, [1.0, 1.0])


def test_a_part_of_an_array_that_something_else_sees_is_added_to_a_copy():
    x, seen = Cell(np.zeros(2)), np.ones(2)
    accumulate(x, seen)
    accumulate_at(x, 1, 5.0)
    np.testing.assert_array_equal(seen, [1.0, 1.0])
    np.testing.assert_array_equal(x.adjoint, [1.0, 6.0])


def test_broadcasting_is_undone_and_the_precision_is_the_operands():
    x = Cell(np.zeros((2, 1), np.float32))
    accumulate(x, np.ones((3, 2, 4)))
    assert x.adjoint.dtype == np.float32
    np.testing.assert_array_equal(x.adjoint, [[12.0], [12.0]])


@pytest.mark.parametrize("primal", [2.0, np.float32(2.0), np.zeros(2), np.zeros((1, 2), np.float32)])
@pytest.mark.parametrize("dtype", [complex, np.complex64])
def test_the_adjoint_of_a_real_number_is_real(primal, dtype):
    x, x_bar = Cell(primal), np.array([[1 + 2j, 3j], [4.0, 1j]], dtype)
    accumulate(x, x_bar)
    accumulate(x, x_bar, owned=True)
    axes = (0, 1)[: 2 - np.ndim(np.squeeze(primal))]
    np.testing.assert_array_equal(np.squeeze(x.adjoint), 2 * np.sum(x_bar.real, axis=axes))
    found = finished(x)
    assert type(found) is type(primal)
    assert np.asarray(found).dtype == np.asarray(primal).dtype


def test_a_real_contribution_to_a_complex_adjoint_becomes_complex():
    for primal in (2j, np.complex64(2j), np.array([1j, 2j]), np.array([1j, 2j], np.complex64)):
        x = Cell(primal)
        accumulate(x, np.broadcast_to(1.0, np.shape(primal))[()])
        accumulate(x, 1j if np.ndim(primal) == 0 else np.array([1j, 1j]))
        found = finished(x)
        assert type(found) is type(primal)
        assert np.asarray(found).dtype == np.asarray(primal).dtype
        np.testing.assert_array_equal(found, np.broadcast_to(1 + 1j, np.shape(primal)))


def test_the_adjoint_of_a_complex_scalar_has_the_interface_of_an_array():
    x = Cell(np.complex128(2j))
    accumulate(x, 1j)
    assert x.adjoint[..., None].shape == (1,)


def test_the_sum_of_what_was_broadcast_is_taken_before_the_real_part():
    x = Cell(np.zeros((2, 1)))
    accumulate(x, np.full((3, 2, 4), 1 + 5j))
    np.testing.assert_array_equal(x.adjoint, [[12.0], [12.0]])


def test_parts_of_complex_arrays_are_added():
    x = Cell(np.zeros(3, complex))
    accumulate_at(x, 0, 1j)
    accumulate_at(x, slice(0, 2), np.array([1.0, 2.0]))
    np.testing.assert_array_equal(settle(x), [1 + 1j, 2.0, 0.0])


def test_parts_that_are_numbers_are_held_and_summed_once():
    def f(s):
        x = Cell(np.zeros(2))
        accumulate_at(x, 0, s)
        accumulate(x, np.array([5.0, 5.0]))
        accumulate_at(x, 1, s * s)
        assert type(x.adjoint) is Held
        return np.sum(settle(x) * np.array([1.0, 2.0]))

    assert value_and_grad(f)(3.0) == (36.0, 13.0)


@pytest.mark.parametrize(
    "read", [lambda x: x[()], lambda x: x[...], lambda x: x[None][0], lambda x: x[True][0], np.flip]
)
@pytest.mark.parametrize("x", [0.3, np.float64(0.3), np.array(0.3)])
def test_a_scalar_may_be_read_as_an_array_is_beside_other_uses(read, x):
    def f(x):
        y = x + 0.5
        return x**2 * np.sin(read(x)) + y**2 * np.sin(read(y))

    slope = sum(2.0 * x * np.sin(x) + x**2 * np.cos(x) for x in (0.3, 0.8))
    np.testing.assert_allclose(grad(f)(x), slope)
    np.testing.assert_allclose(linearize(f, x)[1](2.0), 2.0 * slope)
    np.testing.assert_allclose(grad(lambda y_bar: vjp(f, x)[1](y_bar)[0])(2.0), slope)


def test_what_is_read_of_a_scalar_and_left_out_does_not_count():
    for x in (np.array(0.0), 0.0):
        assert grad(lambda x: np.sum(np.sqrt(x)[False]) + x)(x) == 1.0


@pytest.mark.parametrize(
    "primal",
    [2.0, np.float64(2.0), np.float32(2.0), np.array(2.0), np.zeros(3, np.float32), 2j, np.complex64(2j), np.array(1j)],
)
def test_an_untouched_input_gets_zeros_of_its_own_type(primal):
    zeros = finished(Cell(primal))
    assert type(zeros) is type(primal)
    assert np.shape(zeros) == np.shape(primal)
    assert np.asarray(zeros).dtype == np.asarray(primal).dtype
    assert not np.any(zeros)


def test_the_gradient_is_the_users_to_keep():
    x = np.zeros(3)
    first, second = grad(lambda a, b: np.sum(a + b), argnums=(0, 1))(x, x)
    first[:] = 7.0
    np.testing.assert_array_equal(second, [1.0, 1.0, 1.0])


@pytest.mark.parametrize("c", [np.ones(3), None])  # the gradients are arrays, or numbers of the outer derivative
def test_the_gradient_is_the_users_to_keep_inside_another_derivative(c):
    def outer(s):
        weights = s * np.ones(3) if c is None else c
        first, second = grad(lambda a, b: np.sum((a + b) * weights), argnums=(0, 1))(s * np.ones(3), s * np.ones(3))
        first *= 2.0
        return np.sum(second * s)

    assert value_and_grad(outer)(1.0) == ((3.0, 6.0) if c is None else (3.0, 3.0))


def test_the_gradient_of_a_sum_can_be_written_to_inside_another_derivative():
    def outer(s):
        gradient = grad(np.sum)(s * np.ones(3))
        gradient *= 2.0
        return np.sum(gradient) * s

    assert grad(outer)(1.0) == 6.0


def test_an_array_that_an_outer_operation_needs_is_not_used_up():
    n = 5 * LARGE
    a, u = np.linspace(1.0, 2.0, n), np.linspace(2.0, 3.0, n)

    def outer(s):
        first, _ = grad(lambda a, b: np.sum((a * b) * np.ones(n)), argnums=(0, 1))(a, s * u)
        return np.sum(first * first)

    np.testing.assert_allclose(grad(outer)(1.0), 2 * np.sum(u * u))


def test_a_result_that_nobody_uses_does_not_count():
    def f(x):
        np.sqrt(x)  # has an infinite derivative at 0, and zero times infinity would be NaN
        return 2 * x

    with np.errstate(divide="ignore"):
        assert grad(f)(0.0) == 2.0


def test_an_operation_with_an_answer_that_has_no_adjoint_is_refused():
    objects = np.array([1, None], object)
    for f in (lambda x: x + objects, lambda x: objects * x):
        with pytest.raises(TypeError, match="None"):
            grad(lambda x, f=f: [f(x), 1.0][1])(np.ones(2))  # where it is made, and not where it is used


def test_each_element_that_a_loop_has_read_counts():
    """An infinite derivative of an element that was read is infinite, and of another element it is 0."""

    def total(x, read):
        y, found = np.sqrt(x), 0.0
        for i in read:
            found = found + y[i]
        return found

    x = np.array([0.0, 1.0, 0.0, 4.0, 0.0])
    np.testing.assert_array_equal(grad(total)(x, range(5)), [np.inf, 0.5, np.inf, 0.25, np.inf])
    np.testing.assert_array_equal(grad(total)(x, (3, 2, 1, -2)), [0.0, 0.5, np.inf, 0.5, 0.0])
