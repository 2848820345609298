"""A stack of a few floats has the bits of an array of them, and becomes an array where something else is asked."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import custom_jvp, grad, hessian, jacfwd, jacobian, jacrev, jvp, staged, value_and_jacobian
from shiftreset_ad.modes.stacks import ScalarStack, Stack
from shiftreset_ad.modes.stacks.scalars import FEW
from shiftreset_ad.numbers.tags import EscapedNumberError, Tag
from shiftreset_ad.transforms import directions

SPECIAL = (0.1, -0.0, np.inf, -3e-320, np.nan, 1e308)


def both(floats: tuple[float, ...], tag: Tag) -> tuple[ScalarStack, Stack]:
    return ScalarStack(floats, tag), Stack(np.array(floats), tag)


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize(
    "function",
    [operator.add, operator.sub, operator.mul, operator.truediv, np.add, np.subtract, np.multiply, np.divide],
)
@pytest.mark.parametrize("other", [0.3, np.float64(-2.5), -0.0, 3, np.inf, 1e308])
def test_arithmetic_has_the_bits_of_arrays(function: Callable[[Any, Any], Any], other: float) -> None:
    tag = Tag.around(())
    few, many = both(SPECIAL, tag)
    for found, expected in ((function(few, other), function(many, other)), (function(few, few), function(many, many))):
        assert found.rows.tobytes() == expected.rows.tobytes()
    found, expected = (function(other, x) for x in (few, many)) if function is not operator.truediv else (few, many)
    assert found.rows.tobytes() == expected.rows.tobytes()
    assert (-few).rows.tobytes() == (-many).rows.tobytes()
    assert np.sin(0.5) * few is not NotImplemented


def test_stacks_of_both_kinds_and_of_other_calls_mix() -> None:
    tag, newer = Tag.around(()), Tag.around(())
    few, many = both((1.0, 2.0), tag)
    for mixed in (few + many, many + few, few * many):
        assert type(mixed) is Stack
        assert mixed.tag is tag
    np.testing.assert_array_equal((few - many).rows, [0.0, 0.0])
    inner = ScalarStack((10.0, 20.0, 30.0), newer)
    for product in (few * inner, inner * few):
        assert product.tag is newer
        np.testing.assert_array_equal(product.rows.rows, [[10.0, 20.0, 30.0], [20.0, 40.0, 60.0]])
    np.testing.assert_array_equal((few * np.array([1.0, 2.0, 3.0])).rows, [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])
    np.testing.assert_array_equal((np.array([1.0, 2.0, 3.0]) - few).rows, [[0.0, 1.0, 2.0], [-1.0, 0.0, 1.0]])


def test_nobody_can_write_to_the_array() -> None:
    stack = ScalarStack((1.0, 2.0), Tag.around(()))
    assert stack.rows is stack.inside is stack.rows
    with pytest.raises(ValueError, match="read-only"):
        stack.rows[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        stack.write((), 5.0)


def test_after_the_call_it_is_refused() -> None:
    tag = Tag.around(())
    stack = ScalarStack((1.0, 2.0), tag)
    tag.finish()
    for use in (lambda: stack * 2.0, lambda: 2.0 * stack, lambda: stack + stack, lambda: -stack):
        with pytest.raises(EscapedNumberError):
            use()


def program(*xs: Any) -> Any:
    """Scalars through operators, functions, branches, arrays and writes."""
    total = 0.0
    for i, x in enumerate(xs):
        total = total * x - (-x) / (i + 2.0) + x**2 + np.sin(x) * (x if x > 0.5 else 3.0 - x)
    y = np.stack([total, *xs])
    y[0] = y[1] * total
    return y @ y + total, y[1:] - total


@pytest.mark.parametrize("count", [1, 2, 3, FEW, FEW + 1])
def test_jacobians_of_scalars_are_those_of_one_direction_at_a_time(count: int) -> None:
    xs = [0.1 + 0.15 * i for i in range(count)]
    argnums = tuple(range(count))
    columns = [jvp(program, xs, [float(i == j) for j in range(count)])[1] for i in range(count)]
    for jac in (jacfwd, jacrev, jacobian):
        scalar, array = jac(program, argnums)(*xs)
        for i, (of_scalar, of_array) in enumerate(columns):
            np.testing.assert_allclose(scalar[i], of_scalar, rtol=1e-13)
            np.testing.assert_allclose(array[i], of_array, rtol=1e-13)
            assert array[i].flags.writeable


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, np.array])
def test_second_derivatives_nest(kind: Callable[[float], Any]) -> None:
    def f(x: Any, y: Any) -> Any:
        return x * x * y + np.sin(x - y) * 2.0 - y / x

    args = kind(0.3), kind(0.7)
    expected = [[grad(grad(f, i), j)(0.3, 0.7) for j in (0, 1)] for i in (0, 1)]
    for second in (
        hessian,
        *(lambda f, n, a=a, b=b: a(b(f, n), n) for a in (jacfwd, jacrev) for b in (jacfwd, jacrev)),
    ):
        found = second(f, (0, 1))(*args)
        np.testing.assert_allclose(np.array(found, float), expected, rtol=1e-5 if kind is np.float32 else 1e-13)


def test_an_array_without_dimensions_can_be_written_to_through_a_view() -> None:
    def f(x: Any, y: Any) -> Any:
        z = np.copy(x)
        z[...] = z * y
        view = z[...]
        view *= x
        return z * 1.0

    np.testing.assert_allclose(jacfwd(f, (0, 1))(np.array(3.0), 2.0), (12.0, 9.0))
    np.testing.assert_allclose(jacfwd(f, (0, 1))(np.array(3.0), np.array(2.0)), (12.0, 9.0))


def test_a_rule_of_the_user_gets_row_by_row_what_it_got() -> None:
    seen = []

    @custom_jvp
    def cube(x: Any) -> Any:
        return x**3

    @cube.defjvp
    def _cube_jvp(primals: Any, tangents: Any) -> Any:
        seen.append(type(tangents[0]))
        (x,), (x_dot,) = primals, tangents
        return cube(x), 3.0 * x**2 * x_dot

    found = jacfwd(lambda x, y: cube(x * y), (0, 1))(2.0, 3.0)
    np.testing.assert_allclose(found, (324.0, 216.0))
    assert not any(issubclass(kind, Stack) for kind in seen)


def test_staged_loops_carry_it() -> None:
    def f(x: Any, y: Any) -> Any:
        i = 0.0
        while i < 3.0:
            x, i = x * y + x, i + 1.0
        return x

    value, derivative = value_and_jacobian(f, (0, 1))(0.3, 0.7)
    jac = staged(jacfwd(f, (0, 1)))
    for _ in range(3):
        np.testing.assert_allclose(jac(0.3, 0.7), derivative, rtol=1e-13)
    assert value == f(0.3, 0.7)
    np.testing.assert_allclose(
        staged(lambda x: jacfwd(f, (0, 1))(0.3, 0.7)[1] * x)(2.0), 2.0 * derivative[1], rtol=1e-13
    )


def test_few_floats_are_no_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a program of sums and products of scalars, an array is made for the answer alone."""
    made = []
    usual = directions.Stack
    monkeypatch.setattr(directions, "Stack", lambda *args: made.append(args) or usual(*args))
    arrays = []
    rows = ScalarStack.rows.fget
    monkeypatch.setattr(ScalarStack, "rows", property(lambda self: arrays.append(self) or rows(self)))
    np.testing.assert_allclose(jacfwd(lambda x, y: x * y + x * 0.1 - y, (0, 1))(0.3, 0.7), (0.8, -0.7))
    assert not made
    assert len({id(x) for x in arrays}) <= 1
