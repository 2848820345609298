"""Arrays by build and index, section 8.3."""

import numpy as np
import pytest

from shiftreset_ad.formulations.krawiec import arrays
from shiftreset_ad.formulations.krawiec.arrays import Array, ArrayNumber, build, grad


def close(array, expected):
    return isinstance(array, Array) and list(array) == pytest.approx(expected, rel=1e-12)


def dot(a, b):
    return build(len(a), lambda i: a[i] * b[i]).sum()


def test_dot_product():
    a_bar, b_bar = grad(lambda x: dot(x[0], x[1]))((Array([1.0, 2.0, 3.0]), Array([4.0, 5.0, 6.0])))
    assert close(a_bar, [4.0, 5.0, 6.0])
    assert close(b_bar, [1.0, 2.0, 3.0])


def test_index():
    assert close(grad(lambda a: a[0] * a[2])(Array([2.0, 3.0, 5.0])), [5.0, 0.0, 2.0])
    assert close(grad(lambda a: a[-1] * a[2] * a[-3])(Array([2.0, 3.0, 5.0])), [25.0, 0.0, 20.0])


def test_array_that_is_not_used():
    a_bar, x_bar = grad(lambda x: x[1] * 2.0)((Array([1.0, 2.0]), 3.0))
    assert close(a_bar, [0.0, 0.0])
    assert x_bar == 2.0


def test_iteration():
    def product(a):
        result = 1.0
        for x in a:
            result = result * x
        return result

    assert close(grad(product)(Array([2.0, 3.0, 5.0])), [15.0, 10.0, 6.0])


def test_build_of_numbers_and_constants():
    def f(x):
        a = build(4, lambda i: x * float(i) if i % 2 else 7.0)
        assert isinstance(a, ArrayNumber)
        return a[3] * a[2] + a.sum()

    assert grad(f)(2.0) == 21.0 + 4.0


def test_build_of_constants_is_constant():
    assert type(build(3, float)) is Array
    assert grad(lambda x: build(3, float)[2] * x)(1.0) == 2.0


def test_matrix_times_vector_by_nested_structures():
    def f(x):
        return dot(build(2, lambda i: dot(x["rows"][i], x["v"])), Array([1.0, 10.0]))

    gradient = grad(f)({"rows": [Array([1.0, 2.0]), Array([3.0, 4.0])], "v": Array([5.0, 6.0])})
    assert [list(row) for row in gradient["rows"]] == [[5.0, 6.0], [50.0, 60.0]]
    assert list(gradient["v"]) == [31.0, 42.0]


def test_elementwise_arithmetic():
    def f(x):
        a, b, c = x
        return (np.sin(a) * b + c * a - b / 2.0 + 3.0 * -a).sum()

    a, b, c = np.array([0.1, 0.2]), np.array([0.3, 0.4]), 0.5
    a_bar, b_bar, c_bar = grad(f)((Array(a), Array(b), c))
    assert close(a_bar, np.cos(a) * b + c - 3.0)
    assert close(b_bar, np.sin(a) - 0.5)
    assert c_bar == pytest.approx(a.sum())


def test_number_first():
    assert close(grad(lambda x: (x[0] * x[1] - x[0] / x[1]).sum())((2.0, Array([1.0, 4.0])))[1], [4.0, 2.0 + 0.125])


def test_numpy_number_first():
    assert close(grad(lambda a: (np.float64(2.0) * a + np.float64(1.0) / a).sum())(Array([1.0, 2.0])), [1.0, 1.75])


def test_empty_array():
    assert len(grad(lambda a: a.sum() * 2.0)(Array([]))) == 0
    assert grad(lambda x: x + build(0, lambda i: x).sum())(3.0) == 1.0


def test_convolution_against_finite_differences():
    def f(x):
        signal, kernel = x
        n = len(signal) - len(kernel) + 1
        return np.tanh(build(n, lambda i: dot(build(len(kernel), lambda j: signal[i + j]), kernel))).sum()

    signal, kernel, h = [0.1, -0.4, 0.3, 0.8, -0.2], [0.5, -1.0, 0.25], 1e-6
    s_bar, k_bar = grad(f)((Array(signal), Array(kernel)))
    for i in range(5):
        up, down = ([v + sign * h * (j == i) for j, v in enumerate(signal)] for sign in (1, -1))
        assert s_bar[i] == pytest.approx((f((up, kernel)) - f((down, kernel))) / (2 * h), abs=1e-8)
    for i in range(3):
        up, down = ([v + sign * h * (j == i) for j, v in enumerate(kernel)] for sign in (1, -1))
        assert k_bar[i] == pytest.approx((f((signal, up)) - f((signal, down))) / (2 * h), abs=1e-8)


def test_nested_derivatives():
    """The gradient of |grad |a|**3|**2 = 9 |a|**4 is 36 |a|**2 a."""

    def cube(a):
        return np.power(dot(a, a), 1.5)

    def f(a):
        inner = grad(cube)(a)
        return dot(inner, inner)

    assert close(grad(f)(Array([3.0, 4.0])), [36 * 25.0 * 3.0, 36 * 25.0 * 4.0])


def test_array_of_numbers_of_another_level():
    """d/dx of sum over i of d/dy (x y_i)**2 at y = (1, 2): d/dx 2 x**2 (1 + 2)."""

    def f(x):
        return grad(lambda y: (build(2, lambda i: x * y[i]) * build(2, lambda i: x * y[i])).sum())(
            Array([1.0, 2.0])
        ).sum()

    assert grad(f)(5.0) == pytest.approx(60.0)
    assert grad(grad(f))(5.0) == pytest.approx(12.0)


def test_perturbations_are_not_confused():
    a = Array([2.0, 3.0])
    assert close(grad(lambda a: a[0] * grad(lambda b: (a + b).sum())(a).sum())(a), [2.0, 0.0])


def test_numbers_put_into_a_plain_array():
    assert grad(lambda x: Array([x, x * x, 3.0]).sum() * Array([x])[0])(2.0) == pytest.approx(2 * 2.0 + 3 * 4.0 + 3.0)


@pytest.mark.parametrize("f", [lambda a: a, lambda a: a * 2.0, lambda a: Array([1.0])])
def test_result_that_is_an_array(f):
    with pytest.raises(TypeError, match=r"grad: .* one number"):
        grad(f)(Array([1.0, 2.0]))


def test_arrays_of_different_lengths():
    with pytest.raises(ValueError, match=r"add: the arrays have to be of one length; got \[1, 2\]"):
        grad(lambda x: (x[0] + x[1]).sum())((Array([1.0]), Array([1.0, 2.0])))


def test_arrays_of_numpy():
    for f in (lambda x: (x * np.ones(2)).sum(), lambda x: (np.ones(2) * x).sum()):
        with pytest.raises(TypeError, match="multiply: this room has arrays of its own"):
            grad(f)(Array([1.0, 2.0]))


def test_index_out_of_range():
    for i in (2, -3):
        with pytest.raises(IndexError):
            grad(lambda a, i=i: a[i])(Array([1.0, 2.0]))


def test_what_is_no_index():
    with pytest.raises(TypeError, match="slice"):
        grad(lambda a: a[:1].sum())(Array([1.0, 2.0]))
    with pytest.raises(TypeError, match="slice"):
        Array([1.0, 2.0])[:1]


def test_arrays_are_not_compared():
    with pytest.raises(TypeError, match="compare their elements"):
        grad(lambda a: 1.0 if a > 0.0 else 2.0)(Array([1.0]))


def test_only_one_binding_for_an_index():
    state = arrays.DeltaState()
    a = state.input(Array([1.0] * 1000))
    _ = a[5] + a[6]
    assert len(state.bindings) == 4
