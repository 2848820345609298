"""`grad` and `value_and_grad`: arguments, results, nesting, and whose the gradients are."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import EscapedNumberError, NumR, grad, jvp, trace, value, value_and_grad

X = np.array([1.5, -0.5, 2.0])


# Arguments and results


def test_argnums() -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        return a * b**2 * c**3

    a, b, c = 2.0, 3.0, 5.0
    by_a, by_b, by_c = b**2 * c**3, 2 * a * b * c**3, 3 * a * b**2 * c**2
    assert grad(f)(a, b, c) == by_a
    assert grad(f, 1)(a, b, c) == by_b
    assert grad(f, -1)(a, b, c) == by_c
    assert grad(f, (0, 2))(a, b, c) == (by_a, by_c)
    assert grad(f, (-1, 0))(a, b, c) == (by_c, by_a)
    assert grad(f, (1,))(a, b, c) == (by_b,)
    assert grad(f, [2, 1])(a, b, c) == (by_c, by_b)
    assert grad(f, ())(a, b, c) == ()
    assert value_and_grad(f, argnums=(1, -1))(a, b, c) == (a * b**2 * c**3, (by_b, by_c))


def test_other_arguments_pass_through_as_they_are() -> None:
    marker = object()

    def f(x: Any, i: int, *rest: Any, scale: Any = 1.0, other: Any = None) -> Any:
        assert i == 3
        assert type(i) is int
        assert rest == (marker, "text")
        assert other is marker
        assert scale is X
        return x**i * np.sum(scale)

    assert grad(f)(2.0, 3, marker, "text", scale=X, other=marker) == 12.0 * np.sum(X)


def test_every_kind_of_callable() -> None:
    class Model:
        def __init__(self, weight: float) -> None:
            self.weight = weight

        def __call__(self, x: Any) -> Any:
            return self.weight * x

        def method(self, x: Any) -> Any:
            return self.weight * x**2

    model = Model(5.0)
    assert grad(model)(2.0) == 5.0
    assert grad(model.method)(2.0) == 20.0
    assert grad(functools.partial(lambda a, x: a * x, 3.0))(2.0) == 3.0
    assert grad(np.sin)(0.0) == 1.0
    assert grad(np.sum)(X).tolist() == [1.0, 1.0, 1.0]
    assert grad(grad(grad(np.square)))(2.0) == 0.0


def test_the_derivative_has_the_name_of_the_function() -> None:
    def model(x: Any) -> Any:
        return x

    assert grad(model).__name__ == "grad(model)"
    assert value_and_grad(model).__name__ == "value_and_grad(model)"


def test_values_are_what_the_function_returns() -> None:
    for f, x, expected in (
        (lambda x: x * 2, 3.0, 6.0),
        (lambda x: x * 2, np.float32(3.0), np.float32(6.0)),
        (lambda x: np.sum(x), X, np.float64(3.0)),
        (lambda x: 7, 3.0, 7),
        (lambda x: True, 3.0, True),
        (lambda x: np.float32(2.5), 3.0, np.float32(2.5)),
        (lambda x: x, np.array(3.0), np.array(3.0)),
    ):
        found, _ = value_and_grad(f)(x)
        assert type(found) is type(expected)
        assert found == expected


def test_constant_results_give_zeros() -> None:
    for result in (7.0, 7, True, np.float32(7), np.int64(7), np.array(7.0), np.array(7), np.bool_(True)):
        assert grad(lambda x, result=result: result)(3.0) == 0.0
        gradient = grad(lambda x, result=result: result)(X)
        np.testing.assert_array_equal(gradient, [0.0, 0.0, 0.0])
    assert grad(lambda x: float(x > 1))(3.0) == 0.0
    assert grad(lambda x: round(x))(3.0) == 0.0
    assert grad(lambda x: value(x) ** 2)(3.0) == 0.0


def test_unused_inputs_give_zeros_even_beside_infinite_partials() -> None:
    def f(x: Any, y: Any) -> Any:
        np.sqrt(x)  # has an infinite derivative at 0, and nothing uses it
        return 2.0 * y

    assert grad(f, (0, 1))(0.0, 1.0) == (0.0, 2.0)


def test_the_argument_itself_as_the_result() -> None:
    assert grad(lambda x: x)(3.0) == 1.0
    assert grad(lambda x, y: y, (0, 1))(3.0, 4.0) == (0.0, 1.0)
    gradient = grad(lambda x: x)(np.array(3.0))
    assert type(gradient) is np.ndarray
    assert gradient.shape == ()
    assert gradient == 1.0


def test_the_same_argument_twice() -> None:
    assert grad(lambda a, b: a * b + a, (0, 1))(3.0, 3.0) == (4.0, 3.0)
    gradients = grad(lambda a, b: np.sum(a * a * b), (0, 1))(X, X)
    np.testing.assert_allclose(gradients, [2 * X * X, X * X])
    shared = [X, X]
    gradients = grad(lambda t: np.sum(t[0] * t[0] * t[1]))(shared)
    np.testing.assert_allclose(gradients, [2 * X * X, X * X])


# Whose the gradients are


GRADIENTS = {
    "sum": lambda x, y: np.sum(x) + np.sum(y),
    "sum of the sum": lambda x, y: np.sum(x + y),
    "difference": lambda x, y: np.sum(x - y),
    "broadcast": lambda x, y: np.sum(np.broadcast_to(x + y, (4, 3))),
    "transpose": lambda x, y: np.sum(np.outer(x, y).T @ x),
    "reshape": lambda x, y: np.sum(np.reshape(x, (3, 1)) + np.reshape(y, (3, 1))),
    "product": lambda x, y: np.sum(x * y),
    "dot": lambda x, y: x @ y,
    "concatenate": lambda x, y: np.sum(np.concatenate([x, y])),
    "stack": lambda x, y: np.sum(np.stack([x, y, x])),
    "slices": lambda x, y: np.sum(x[1:]) + y[0],
    "where": lambda x, y: np.sum(np.where(X > 0, x, y)),
    "unused": lambda x, y: 1.0,
    "one unused": lambda x, y: np.sum(x),
    "elements": lambda x, y: sum(a * b for a, b in zip(x, y, strict=True)),
    "by a constant": lambda x, y: np.sum(x * X) + np.sum(y * X),
    "where twice": lambda x, y: np.sum(x + y) + np.sum(np.exp(x + y)),
    "flip": lambda x, y: np.sum(x[::-1] + y),
    "cumsum": lambda x, y: np.cumsum(x + y)[-1],
    "einsum": lambda x, y: np.einsum("i,i->", x, y),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_the_users_to_keep(name: str) -> None:
    """Writable, of their own memory, and the arguments and constants are as they were."""
    f = GRADIENTS[name]
    x, y, constant = X.copy(), X + 1.0, X.copy()
    gradients = grad(f, (0, 1))(x, y)
    again = grad(f, (0, 1))(x, y)
    np.testing.assert_array_equal(x, constant)
    np.testing.assert_array_equal(y, constant + 1.0)
    np.testing.assert_array_equal(X, constant)
    arrays = [*gradients, *again, x, y, X]
    for i, one in enumerate(arrays):
        assert all(not np.shares_memory(one, other) for other in arrays[i + 1 :])
    for gradient in gradients:
        assert type(gradient) is np.ndarray
        assert gradient.flags.writeable
        assert gradient.flags.owndata or gradient.base.flags.owndata
        gradient += 100.0
    fresh = grad(f, (0, 1))(x, y)
    for one, other in zip(again, fresh, strict=True):
        np.testing.assert_array_equal(one, other)


def test_gradients_in_a_structure_are_not_aliased() -> None:
    gradient = grad(lambda t: np.sum(t["a"] + t["b"] + t["c"][0]))({"a": X, "b": X, "c": (X,)})
    gradient["a"] += 1.0
    np.testing.assert_array_equal(gradient["b"], np.ones(3))
    np.testing.assert_array_equal(gradient["c"][0], np.ones(3))


def test_read_only_arguments() -> None:
    x = X.copy()
    x.flags.writeable = False
    gradient = grad(lambda x: np.sum(x * x) + x[0])(x)
    gradient[0] = 0.0
    assert not x.flags.writeable


# Nesting


def test_derivatives_of_every_order() -> None:
    f: Any = np.sin
    for n in range(1, 7):
        f = grad(f)
        assert f(0.7) == pytest.approx(np.sin(0.7 + n * np.pi / 2), abs=1e-12)
    g: Any = lambda x: x**5  # noqa: E731
    for n, expected in enumerate([5 * 2.0**4, 20 * 2.0**3, 60 * 2.0**2, 120 * 2.0, 120.0, 0.0, 0.0], start=1):
        g = grad(g)
        assert g(2.0) == pytest.approx(expected), n


def test_closures_over_outer_numbers() -> None:
    # d/dx [x * d/dy (x y^2) at y = x^2] = d/dx 2 x^4
    assert grad(lambda x: x * grad(lambda y: x * y**2)(x**2))(1.5) == pytest.approx(8 * 1.5**3)
    # the inner function does not use its argument but in a product with zero
    assert grad(lambda x: x * grad(lambda y: x)(2.0))(3.0) == 0.0
    assert grad(lambda x: grad(lambda y: x * y)(2.0))(3.0) == 1.0
    # the same number on both levels
    assert grad(lambda x: grad(lambda y: x * x * y * y)(x))(2.0) == 6 * 2.0**2


def test_three_levels_mixed() -> None:
    def f(x: Any) -> Any:
        def g(y: Any) -> Any:
            def h(z: Any) -> Any:
                return x**2 * y**3 * z**4 + x * y * z

            return grad(h)(x * y) * y  # 4 x^2 y^3 (x y)^3 y + x y^2 = 4 x^5 y^7 + x y^2

        return grad(g)(x) + x * grad(g)(2.0)  # 28 x^11 + 2 x^2 + x (28 x^5 2^6 + 4 x)

    x = 0.9
    expected = 28 * 11 * x**10 + 4 * x + 28 * 64 * 6 * x**5 + 8 * x
    assert grad(f)(x) == pytest.approx(expected, rel=1e-13)


def test_three_levels_of_arrays() -> None:
    def f(x: Any) -> Any:
        def g(y: Any) -> Any:
            inner = grad(lambda z: np.sum(x * y * z**3))(y[::-1])  # 3 x y (reversed y)^2
            return np.sum(inner * x)

        return np.sum(grad(g)(x) * y0)

    y0 = np.array([0.5, 1.5, -1.0])
    # g = sum_i 3 x_i^2 y_i y_(n-i)^2; dg/dy_i = 3 x_i^2 r_i^2 + 6 x_ri^2 y_ri y_i with r the reversal
    x, step = X, 1e-6

    def dg(x: Any) -> Any:
        r = x[::-1]
        return np.sum((3 * x**2 * r**2 + 6 * r**2 * r * x) * y0)

    expected = [(dg(x + step * e) - dg(x - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(grad(f)(x), expected, rtol=1e-6)


def test_an_inner_derivative_in_structures_and_with_aux() -> None:
    def f(params: Any) -> Any:
        def loss(w: Any) -> Any:
            return np.sum((w["a"] * params["x"] - params["y"]) ** 2), w["a"] * params["y"]

        gradient, aux = grad(loss, has_aux=True)({"a": params["x"], "unused": params["y"]})
        assert np.all(value(gradient["unused"]) == 0.0)
        return np.sum(gradient["a"]) + np.sum(aux)

    # sum 2 (x^2 - y) x + x y
    x, y = X, X + 1
    found = grad(f)({"x": x, "y": y})
    np.testing.assert_allclose(found["x"], 6 * x**2 - 2 * y + y)
    np.testing.assert_allclose(found["y"], -2 * x + x)


def test_the_same_derivative_used_many_times_inside() -> None:
    dsin = grad(np.sin)
    assert grad(lambda x: sum(dsin(x * i) for i in range(4)))(0.3) == pytest.approx(
        sum(-i * np.sin(0.3 * i) for i in range(4))
    )
    assert grad(lambda x: functools.reduce(lambda a, _: a - grad(lambda b: b**2 * x)(a) / 10, range(3), 1.0))(
        2.0
    ) == pytest.approx(-3 * 2 / 10 * (1 - 4 / 10) ** 2)


def test_a_constant_inner_function() -> None:
    assert grad(lambda x: x * (grad(lambda y: 5.0)(x) + 1.0))(3.0) == 1.0
    assert grad(lambda x: x * np.sum(grad(lambda y: 5.0)(x * X) + X))(3.0) == np.sum(X)


def test_an_outer_number_as_the_result() -> None:
    assert grad(lambda x: value_and_grad(lambda y: x * 3.0)(2.0)[0] + 0.0)(5.0) == 3.0
    assert grad(lambda x: value_and_grad(lambda y: x * 3.0)(2.0)[1] * x)(5.0) == 0.0


def test_types_of_nested_gradients() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        inner = grad(lambda y: y**2 * 1.0)(x)
        seen.append(inner)
        return inner

    assert type(grad(f)(3.0)) is float
    assert type(seen[0]) is NumR
    assert type(value(seen[0])) is float


def test_the_one_that_an_inner_way_back_begins_with_is_no_factor() -> None:
    """Its product would be an operation of the outer derivative, with a way back of its own."""

    def inner_slope(x: Any) -> Any:
        return grad(lambda y: 3.0 + x * y)(2.0)

    def outer_operations(f: Any) -> list[str]:
        return [step.name for step in trace(grad(f), 5.0).steps if step.level == 1]

    assert outer_operations(inner_slope) == ["*", "+"]  # of the inner program; its way back answers with x
    assert grad(inner_slope)(5.0) == 1.0
    assert grad(lambda x: inner_slope(x) * inner_slope(x))(5.0) == 10.0
    assert outer_operations(lambda x: grad(lambda y: 2.0 * (x * y))(2.0)) == ["*", "*", "*"]  # the last is by 2


def test_a_factor_that_is_an_integer_becomes_a_float_in_a_nested_gradient() -> None:
    seen: list[Any] = []
    grad(lambda x: seen.append(grad(lambda y: y * 2)(x)) or x)(3.0)
    assert type(value(seen[0])) is float


def test_a_nested_adjoint_has_no_memory_of_the_programs() -> None:
    """The factor of y is the array b, without dimensions, to which the program writes later."""

    def written_by_index(x: Any) -> Any:
        b = np.copy(x)
        slope = grad(lambda y: y * b)(2.0)
        b[...] = 7.0 * x
        return slope * 1.0

    def written_in_place(x: Any) -> Any:
        b = np.copy(x)
        slope = grad(lambda y: y * b)(2.0)
        b += 5.0 * x
        return slope * 1.0

    def slope_written_in_place(x: Any) -> Any:
        b = np.copy(x)
        slope = grad(lambda y: y * b)(2.0)
        slope += 5.0 * x
        return b * 1.0 + 0.0 * slope

    for f in (written_by_index, written_in_place, slope_written_in_place):
        assert grad(f)(np.array(3.0)) == 1.0
        assert jvp(f, (np.array(3.0),), (np.array(1.0),)) == (3.0, 1.0)


def test_a_leaked_number_as_the_result_is_an_error() -> None:
    leaked: list[Any] = []
    grad(lambda x: leaked.append(x * 2.0) or x)(3.0)
    with pytest.raises(EscapedNumberError, match="level 1"):
        grad(lambda x: leaked[0])(3.0)
    with pytest.raises(EscapedNumberError):
        grad(lambda x: (x, grad(lambda y: leaked.append(y * x) or y)(2.0), leaked[-1])[2])(3.0)
    assert grad(lambda x: x * value(leaked[0]))(3.0) == 6.0


def test_a_leaked_number_as_an_argument_is_an_error_when_it_is_used() -> None:
    leaked: list[Any] = []
    grad(lambda x: leaked.append(x * 2.0) or x)(3.0)
    with pytest.raises(EscapedNumberError):
        grad(lambda x: x * 2.0)(leaked[0])


def test_the_error_of_the_function_is_raised_as_it_is() -> None:
    class StopHereError(Exception):
        pass

    stop = StopHereError("here")

    def f(x: Any) -> Any:
        if x > 1:
            raise stop
        return x

    with pytest.raises(StopHereError) as caught:
        grad(lambda x: grad(f)(x * 2))(3.0)
    assert caught.value is stop
    names = [entry.name for entry in caught.traceback]
    assert names[-1] == "f"
    assert names.count("f") == 1
    assert "_advance" not in names
    assert "run" not in names
    assert grad(f)(0.5) == 1.0
