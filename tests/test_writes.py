"""Writing in place, in all modes and at all levels: NumPy's values, and the derivatives of what was written."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import grad, hvp, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp
from shiftreset_ad.testing import check_grads
from tests.rules.three_ways import examples
from tests.writing_programs import USERS, VIEWS, edit_distance, heat, lu


def close(found: Any, expected: Any, tolerance: float = 1e-9) -> None:
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


SHAPES = [(3, 2), (3, 3), (4,), (2, 2, 3)]


def slope_by_differences(f: Any, x: Any, v: Any, step: float = 1e-6) -> Any:
    return (f(x + step * v) - f(x - step * v)) / (2 * step)


def program_that_overwrites(y: Any, constant: Any, seed: int) -> list[Any]:
    """What is read of an array after elements of it were overwritten, by constants and by one another."""
    generator = np.random.default_rng(seed)
    arrays = [y]
    for _ in range(10):
        a = arrays[generator.integers(len(arrays))]
        i, j = (int(k) for k in generator.integers(-len(a), len(a), 2))
        match generator.integers(8):
            case 0:
                a[i] = constant
            case 1:
                a[i] = a[j]
            case 2:
                a[generator.random(a.shape) < 0.3] = constant
            case 3:
                a[[i, j]] = a[[j, j]]
            case 4:
                np.copyto(a, constant, where=generator.random(a.shape) < 0.3)
            case _:
                view = VIEWS[generator.integers(len(VIEWS))](a)
                if view.ndim and view.size:
                    arrays.append(view)
    return [a[int(generator.integers(-len(a), len(a)))] for a in arrays[-2:]]


@settings(examples, max_examples=200)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_overwritten_or_never_read_does_not_count(seed: int) -> None:
    """All slopes are infinite: of an element that a result depends on the derivative is, and of all others it is 0.

    The same program on the numbers of the elements tells which these are.
    """
    shape = SHAPES[seed % len(SHAPES)]
    names = np.arange(np.prod(shape)).reshape(shape)
    used = np.concatenate([np.ravel(read) for read in program_that_overwrites(names.copy(), -1, seed)])
    expected = np.where(np.isin(names, used), np.inf, 0.0)
    x = np.zeros(shape)

    def f(x: Any) -> Any:
        return sum(np.sum(read) for read in program_that_overwrites(np.sqrt(x), 1.0, seed))

    np.testing.assert_array_equal(grad(f)(x), expected)
    _, pullback = vjp(f, x)
    for _ in range(2):
        np.testing.assert_array_equal(pullback(1.0)[0], expected)
    np.testing.assert_array_equal(jacrev(f)(x), expected)
    np.testing.assert_array_equal(grad(sr.checkpoint(f))(x), expected)


@pytest.mark.parametrize("program", USERS, ids=lambda program: program.__name__)
def test_programs_of_users(program: Any) -> None:
    x = np.random.default_rng(0).normal(size=USERS[program]) + 0.1
    check_grads(program, (x,), order=2)
    assert value_and_grad(program)(x)[0] == program(x)


def test_lu_is_that_of_the_matrix() -> None:
    a = np.random.default_rng(1).normal(size=(5, 5))
    factors, order = lu(a)
    np.testing.assert_allclose((np.tril(factors, -1) + np.eye(5)) @ np.triu(factors), a[order])
    np.testing.assert_allclose(
        grad(lambda a: np.sum(np.log(np.abs(np.diagonal(lu(a)[0])))))(a), np.linalg.inv(a).T, rtol=1e-10
    )


def peak(f: Any, x: Any) -> int:
    """The memory that a gradient takes at most."""
    grad(f)(x)
    gc.collect()
    tracemalloc.start()
    try:
        grad(f)(x)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("size", [100, 100_000])
def test_a_write_takes_memory_for_what_it_overwrites(size: int) -> None:
    """Not for the array: the difference of many writes and few is the same for a small array and a large one."""

    def filled(count: int) -> Any:
        def f(x: Any) -> Any:
            y = np.zeros_like(x)
            for i in range(count):
                y[i % 50] = x[i % 50] * 0.5
            return np.sum(y)

        return f

    x = np.linspace(0.0, 1.0, size)
    each = (peak(filled(2_000), x) - peak(filled(1_000), x)) / 1_000
    assert each < 1_500


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize(
    ("program", "small", "large"),
    [
        (lambda u: heat(u, 40), np.linspace(0.0, 1.0, 1_000), np.linspace(0.0, 1.0, 2_000)),
        (edit_distance, np.full((6, 6), 0.5), np.full((12, 12), 0.5)),
        (lambda a: np.sum(lu(a)[0]), np.eye(20) * 2.0 + 0.1, np.eye(40) * 2.0 + 0.1),
    ],
    ids=["heat", "edit distance", "lu"],
)
def test_memory_grows_with_the_elements_that_are_written(program: Any, small: Any, large: Any) -> None:
    """Twice the sides: up to 2, 4 and 8 times the elements, and so the memory."""
    times = {1: 2, 2: 4}[small.ndim] if program is not None and "edit" in getattr(program, "__name__", "") else 8
    times = 2 if small.ndim == 1 else times
    assert peak(program, large) < 1.3 * times * peak(program, small)


# Ways out, and ways back again


def test_an_exception_that_the_program_catches() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        try:
            y[0] = np.sin(y[1])
            y[5] = 1.0
        except IndexError:
            y[1] *= 2.0
        with pytest.raises(ValueError, match="broadcast"):
            y[:] = np.ones(7)
        return np.sum(y**2)

    check_grads(f, (np.array([0.3, 0.7, 1.1]),), order=2)


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_an_exception_that_ends_the_program(kind: Any) -> None:
    x = np.array([0.3, 0.7, 1.1])

    def fail(x: Any) -> Any:
        y = x * 1.0
        y[0] = np.sin(y[1])
        raise kind("stop")

    def outer(x: Any) -> Any:
        y = x * 1.0
        try:
            grad(fail)(y)
        except kind:
            y[1:] = y[:-1] * 2.0
        return np.sum(y**2)

    before = x.copy()
    for derivative in (grad(fail), lambda x: jvp(fail, (x,), (x,)), lambda x: vjp(fail, x)):
        with pytest.raises(kind, match="stop"):
            derivative(x)
    np.testing.assert_array_equal(x, before)
    check_grads(outer, (x,), order=2)


def test_an_error_on_the_way_back() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y[0] = np.sqrt(y[0])
        y += 1.0
        return y * x

    x = np.array([0.0, 2.0])
    _, pullback = vjp(f, x)
    expected = pullback(np.ones(2))[0]
    for _ in range(2):
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            pullback(np.ones(2))
        np.testing.assert_array_equal(pullback(np.ones(2))[0], expected)


def test_a_pullback_many_times_with_other_cotangents() -> None:
    x = np.random.default_rng(2).normal(size=(3, 3))

    def f(a: Any) -> Any:
        b = a * 1.0
        b[0] = b[1] * b[2]
        b.T[1] += b[0]
        b[b > 0.5] = 0.25
        return b

    _, pullback = vjp(f, x)
    rows = np.random.default_rng(3).normal(size=(4, 3, 3))
    expected = [grad(lambda a: np.sum(f(a) * row))(x) for row in rows]  # noqa: B023
    for _ in range(3):
        for row, x_bar in zip(rows, expected, strict=True):
            close(pullback(row)[0], x_bar)


def test_values_and_aux_are_those_at_the_end() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        view = y[1:]
        y[:] = x
        y[0] = 7.0
        return y[0] * y[1], (y, view)

    (value, (y, view)), _ = value_and_grad(f, has_aux=True)(np.array([1.0, 2.0, 3.0]))
    assert value == 14.0
    np.testing.assert_array_equal(y, [7.0, 2.0, 3.0])
    np.testing.assert_array_equal(view, [2.0, 3.0])
    answer, _ = vjp(lambda x: f(x)[1], np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(answer[0], [7.0, 2.0, 3.0])


# Levels


def test_an_adjoint_that_gets_a_level_lies_as_its_array() -> None:
    """So that the adjoints of views can still be reached."""
    x, v = np.asfortranarray(np.random.default_rng(4).normal(size=(2, 3))), np.ones((2, 3))

    def f(x: Any) -> Any:
        y = x * 1.0
        flat = np.reshape(y, (-1, 2), order="F")  # a view in this layout only
        z = np.sin(flat[0])
        y[...] = y[1, 0]
        return np.concatenate([np.ravel(flat), z])

    def slope(x: Any) -> Any:
        z, push = linearize(f, x)
        return np.sum(np.cos(z) * push(v))

    close(vjp(slope, x)[1](1.0)[0], hvp(lambda x: np.sum(np.sin(f(x))), (x,), (v,)))


@pytest.mark.parametrize("operator", [jacfwd, jacrev])
def test_a_row_of_a_table_with_one_row(operator: Any) -> None:
    """NumPy leaves out leading axes of length 1 of what is written, also to a part of fewer axes."""

    def f(x: Any) -> Any:
        y = x * 1.0
        y[1] = np.sin(x[:1])
        return y

    x = np.random.default_rng(5).normal(size=(3, 2))
    expected = np.zeros((3, 2, 3, 2))
    expected[0, 0, 0, 0] = expected[0, 1, 0, 1] = expected[2, 0, 2, 0] = expected[2, 1, 2, 1] = 1.0
    expected[1, 0, 0, 0], expected[1, 1, 0, 1] = np.cos(x[0])
    close(operator(f)(x), expected)


def test_an_array_of_an_inner_derivative_takes_outer_values() -> None:
    """Its value becomes a number of the outer derivative."""

    def f(w: Any) -> Any:
        def inner(x: Any) -> Any:
            y = x * 2.0
            y[0] = w[0] * x[1]
            y[1:] += w[1:]
            z = np.zeros_like(x)
            z[::2] = y[::2] * w[0]
            return np.sum(y * z + y**2)

        return np.sum(grad(inner)(np.array([1.0, 2.0, 3.0])) * np.array([1.0, -1.0, 0.5]))

    check_grads(f, (np.array([0.3, 0.5, 0.7]),), order=2)


@pytest.mark.parametrize("written_first", ["not", "before the view", "after the view"])
def test_views_that_have_no_outer_level_are_an_error(written_first: str) -> None:
    def f(w: Any) -> Any:
        def inner(x: Any) -> Any:
            y = x * 2.0
            if written_first == "before the view":
                y[0] = x[2]
            part = y[1:]
            if written_first == "after the view":
                y[0] = x[2]
            y[0] = w[0] * x[1]
            return np.sum(part * y[:-1])

        return np.sum(grad(inner)(np.array([1.0, 2.0, 3.0])))

    with pytest.raises(TypeError, match=r"^x\[i\] = v: v has an outer derivative that x does not have.*zeros_like"):
        grad(f)(np.ones(3))


def test_an_array_of_zeros_takes_numbers_of_every_level() -> None:
    def f(w: Any) -> Any:
        def inner(x: Any) -> Any:
            y = sr.zeros(4)
            part = y[2:]
            y[0], y[1] = w[0] * x[0], x[1]
            part[:] = w[1:] * x[1:]
            return np.sum(y**3)

        x = np.array([1.0, 2.0, 3.0])
        return np.sum(grad(inner)(x)) + np.sum(jvp(inner, (x,), (w,))[1])

    check_grads(f, (np.array([0.3, 0.5, 0.7]),), order=2)


# Kinds of arrays


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128])
def test_dtypes(dtype: Any) -> None:
    def f(x: Any) -> Any:
        y = x * dtype(1.0)
        y[0] = 2.0
        y[1:] *= 3
        y[2] = y[0] * x[1]
        assert y.dtype == dtype
        return np.sum(np.real(y * y))

    x = np.array([1.0, 2.0, 0.5]).astype(dtype)
    value, gradient = value_and_grad(f)(x)
    assert value == f(x)
    assert gradient.dtype == dtype
    np.testing.assert_array_equal(gradient, np.array([0.0, 52.0, 0.0]).astype(dtype))


@pytest.mark.parametrize("order", ["C", "F"])
def test_layouts(order: Any) -> None:
    def f(a: Any) -> Any:
        b = np.copy(a, order="K")
        b.T.ravel(order="C")[1] *= 2.0
        b.T[0] += b[:, 1]
        flat = np.reshape(b, -1, order=order)
        flat[::2] = np.sin(flat[::2])
        return np.sum(b**2)

    a = np.asarray(np.random.default_rng(4).normal(size=(3, 2)), order=order)
    assert value_and_grad(f)(a)[0] == f(a)
    check_grads(f, (a,), order=2)


def test_an_array_without_dimensions() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        y[...] = x * x
        y += np.sin(y)
        y[()] *= 2.0
        return y * x

    x = np.array(0.7)
    assert value_and_grad(f)(x)[0] == f(x)
    close(grad(f)(x), slope_by_differences(f, x, 1.0), 1e-8)
    close(grad(grad(f))(x), slope_by_differences(grad(f), x, 1.0), 1e-8)
    close(jvp(grad(f), (x,), (np.array(1.0),))[1], slope_by_differences(grad(f), x, 1.0), 1e-8)


def test_read_only_views_are_numpys_error() -> None:
    for view in (lambda y: np.broadcast_to(y, (2, 3)), lambda y: np.diagonal(np.outer(y, y))):

        def f(x: Any) -> Any:
            with pytest.raises(ValueError, match="read-only"):
                view(x * 2.0)[0] = 1.0  # noqa: B023
            return np.sum(x)

        grad(f)(np.ones(3))
        jvp(f, (np.ones(3),), (np.ones(3),))


@pytest.mark.parametrize("part", [np.real, np.imag])
def test_parts_of_complex_numbers(part: Any) -> None:
    """They see what is written to the whole; to write to them is to write to the whole, or an error."""

    def f(x: Any) -> Any:
        z = x + 1j * x**2
        seen = part(z)
        z[1] = z[0] * 2.0
        return np.sum(seen**2)

    x = np.array([0.3, 0.6])
    assert value_and_grad(f)(x)[0] == f(x)
    close(grad(f)(x), [slope_by_differences(f, x, v) for v in np.eye(2)], 1e-7)
    close(jvp(f, (x,), (np.ones(2),))[1], np.sum(grad(f)(x)))

    def writing(x: Any) -> Any:
        z = x + 1j * x**2
        part(z)[0] = x[1]
        return np.sum(np.abs(z) ** 2)

    if part is np.imag:
        with pytest.raises(TypeError, match=r"^x\[i\] = v: x is a view that cannot be written to.*numpy\.imag\(z\)"):
            grad(writing)(x)
    else:
        close(grad(writing)(x), [slope_by_differences(writing, x, v) for v in np.eye(2)], 1e-7)


def test_arrays_without_dimensions_in_a_linear_map_that_is_differentiated() -> None:
    """Their adjoints stay arrays when a level is added to them."""

    def f(x: Any) -> Any:
        a = np.sin(x)
        b = np.add(np.sin(a), a, out=np.zeros_like(a))
        return np.stack([b, np.exp(np.sin(b))])

    def slope(x: Any) -> Any:
        y, linear = sr.linearize(f, x)
        return np.sum(np.cos(y) * linear(0.7))

    x = np.array(-0.4)
    close(grad(slope)(x), slope_by_differences(slope, x, np.array(1.0)), 1e-7)


@pytest.mark.parametrize("view", [np.ravel, np.atleast_2d, lambda a: a[None], lambda a: a[...]])
def test_views_of_an_array_without_dimensions_in_every_mix_of_modes(view: Any) -> None:
    def f(x: Any) -> Any:
        a = x.copy()
        part = view(a)
        part *= np.sin(part)
        return a * 1.0

    x, one = np.array(0.4), np.array(1.0)

    def slope(x: Any) -> Any:
        return np.sin(x) + x * np.cos(x)

    assert f(x) == jvp(f, (x,), (one,))[0]
    close(grad(f)(x), slope(x))
    curvature = 2.0 * np.cos(x) - x * np.sin(x)
    close(hvp(f, (x,), (one,)), curvature)
    close(grad(lambda x: jvp(f, (x,), (one,))[1])(x), curvature)
    close(grad(lambda x: linearize(f, x)[1](one))(x), curvature)
    close(jvp(lambda x: jvp(f, (x,), (one,))[1], (x,), (one,))[1], curvature)
    close(sr.derivative(lambda t: f(np.copy(x + t)), 2)(0.0), curvature)


def test_earlier_operations_see_the_old_memory_when_a_write_needs_another_level() -> None:
    """The second write needs new memory, as the array is a number of one level already. The first memory has to be
    undone all the same, for the operations that have read it.
    """

    def inner(b: Any, first: Any, second: Any) -> Any:
        x = np.ones(3) * b
        x[2] = first
        s = np.dot(x, x) + np.linalg.norm(x) ** 2 + np.sum(x * x)
        x[0] = 3.0
        x[1] = second
        return s + b * np.dot(x, x)

    def twice(*xs: Any) -> Any:
        _, pullback = vjp(inner, *xs)
        pullback(1.0)
        return pullback(1.0)[0]

    for derivative in (grad(inner), twice):
        # 3 (2 b**2 + first**2) + b (9 + second**2 + first**2), by b, first and second, at b = 2

        def outer(first: Any, derivative: Any = derivative) -> Any:
            return grad(lambda second: derivative(2.0, first, second) * first * second)(5.0)

        assert outer(7.0) == pytest.approx(7.0 * (24.0 + 9.0 + 3 * 25.0 + 49.0))
        assert grad(outer)(7.0) == pytest.approx(24.0 + 9.0 + 3 * 25.0 + 3 * 49.0)
