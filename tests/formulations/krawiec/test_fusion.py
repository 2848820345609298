"""A function as one operation, Fig. 15."""

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.krawiec.fusion import bindings, fused, grad


def activation(x):
    return np.tanh(x) * x + np.exp(-x * x)


def network(f):
    def value(x):
        y = x[0]
        for _ in range(10):
            y = f(y * x[1])
        return y

    return value


POINT = (0.7, 0.9)


def test_fewer_bindings():
    """Six operations become one."""
    assert bindings(network(activation))(POINT) == 10 * (1 + 6)
    assert bindings(network(fused(activation)))(POINT) == 10 * (1 + 1)


def test_the_same_gradient():
    np.testing.assert_allclose(grad(network(fused(activation)))(POINT), grad(network(activation))(POINT), rtol=1e-12)
    np.testing.assert_allclose(
        grad(network(fused(activation)))(POINT), shiftreset_ad.grad(network(activation))(POINT), rtol=1e-12
    )


def test_the_bindings_of_a_loop_that_is_fused_as_a_whole():
    f = network(activation)
    assert bindings(fused(f))(POINT) == 1
    np.testing.assert_allclose(grad(fused(f))(POINT), grad(f)(POINT), rtol=1e-12)


def test_fused_functions_in_a_fused_function():
    inner = fused(activation)
    outer = fused(lambda x: inner(x) * inner(x * x))
    assert bindings(outer)(0.7) == 1
    assert grad(outer)(0.7) == pytest.approx(grad(lambda x: activation(x) * activation(x * x))(0.7), rel=1e-12)


def test_structured_arguments_and_many_of_them():
    dot = fused(lambda a, b: sum(a[name] * b[name] for name in a))
    f = lambda x: np.sin(dot(x[0], x[1]))  # noqa: E731
    x = ({str(i): 0.1 * i for i in range(50)}, {str(i): 0.2 for i in range(50)})
    assert bindings(f)(x) == 2
    expected = shiftreset_ad.grad(lambda x: np.sin(sum(x[0][n] * x[1][n] for n in x[0])))(x)
    a_bar, b_bar = grad(f)(x)
    assert a_bar == pytest.approx(expected[0])
    assert b_bar == pytest.approx(expected[1])


def test_constants_among_the_arguments():
    power = fused(lambda x, n, name: np.power(x, n))
    assert grad(lambda x: power(x, 3.0, "x"))(2.0) == pytest.approx(12.0)
    assert power(2.0, 3.0, "x") == 8.0
    assert power(2, 3, "x") == 8


def test_result_that_does_not_depend_on_the_arguments():
    assert grad(fused(lambda x: 3.0))(2.0) == 0.0
    assert grad(lambda x: x * fused(lambda y: 3)(x))(2.0) == 3.0


def test_higher_order():
    fused_three_times = grad(grad(grad(fused(lambda x: np.sin(x) * x))))
    assert fused_three_times(0.5) == pytest.approx(-3 * np.sin(0.5) - 0.5 * np.cos(0.5))


def test_levels_are_kept_apart():
    product = fused(lambda a, b: a * b * b)
    assert grad(lambda x: x * grad(lambda y: product(x, y))(x))(3.0) == pytest.approx(54.0)


def test_numbers_of_an_outer_derivative_may_be_free():
    """They are constants to the derivative that the call belongs to, and its primals know of them."""
    assert grad(lambda x: grad(lambda y: fused(lambda z: z * z * x)(y))(3.0))(5.0) == 6.0
    assert grad(lambda x: x * grad(lambda y: fused(lambda z: z * x)(y) * y)(x))(2.0) == pytest.approx(6 * 4.0)


def test_numbers_of_this_derivative_must_be_arguments():
    with pytest.raises(TypeError, match="fused: the function uses a number that is not among its arguments"):
        grad(lambda x: fused(lambda y: y * x)(x))(2.0)
    with pytest.raises(TypeError, match="not among its arguments"):
        grad(lambda x: fused(lambda y: x)(x))(2.0)


def test_numbers_of_an_inner_derivative_must_be_arguments():
    with pytest.raises(TypeError, match="not among its arguments"):
        grad(lambda x: grad(lambda y: fused(lambda z: z * y)(x))(3.0))(2.0)


def test_result_that_is_no_number():
    with pytest.raises(TypeError, match="one number"):
        grad(fused(lambda x: (x, x)))(2.0)


def test_name_stays():
    assert fused(activation).__name__ == "activation"
