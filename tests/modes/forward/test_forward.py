"""Forward mode: `NumF`, alone and nested with reverse mode, where it begins and ends, and what it leaves behind."""

from __future__ import annotations

import asyncio
import gc
import threading
import traceback
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import (
    EscapedNumberError,
    NumF,
    grad,
    hvp,
    jacfwd,
    jvp,
    linearize,
    taylor,
    value,
    value_and_grad,
    vjp,
)

X = np.array([0.5, -1.5, 2.0])
V = np.array([1.0, 2.0, -0.5])
ONES = np.ones(3)


def slope(f: Any, x: Any = 3.0, x_dot: Any = 1.0) -> Any:
    return jvp(f, (x,), (x_dot,))[1]


def by_differences(f: Any, x: Any = X, v: Any = V) -> Any:
    return (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6


# Numbers


def test_a_number_shows_its_kind_value_and_level() -> None:
    seen: list[str] = []
    jvp(lambda x: seen.append(repr(x)) or x, (2.0,), (1.0,))
    jvp(lambda x: jvp(lambda y: seen.append(repr(x * y)) or y, (x,), (1.0,))[1] * x, (2.0,), (1.0,))
    grad(lambda x: jvp(lambda y: seen.append(repr(y)) or y, (x,), (1.0,))[1] * x)(2.0)
    assert seen == ["NumF(2.0, level=1)", "NumF(4.0, level=2)", "NumF(2.0, level=2)"]


def test_values_are_those_of_python_and_numpy() -> None:
    def f(x: Any) -> Any:
        assert isinstance(x, NumF)
        assert (x > 2, x == 3.0, bool(x), round(x), f"{x:.1f}") == (True, True, True, 3, "3.0")
        return x * 2 + x**2

    assert jvp(f, (3.0,), (1.0,)) == (15.0, 8.0)
    assert [type(part) for part in jvp(f, (3.0,), (1.0,))] == [float, float]
    assert [type(part) for part in jvp(lambda x: x * x, (np.float32(3.0),), (np.float32(1.0),))] == [np.float32] * 2


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_tangents_keep_the_precision(dtype: Any) -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        ys = (x * 2.0, np.sin(x), x**2, np.sum(x * x), x[0] * 3, x @ np.ones(3, dtype), np.concatenate([x, x]))
        seen.extend((y.dtype, y.tangent.dtype) for y in ys)
        return x * x

    y, y_dot = jvp(f, (X.astype(dtype),), (V,))
    assert set(seen) == {(np.dtype(dtype), np.dtype(dtype))}
    assert y.dtype == y_dot.dtype == dtype


def test_constants_of_every_kind() -> None:
    for f in (
        lambda x: x * [1.0, 2.0, 3.0],
        lambda x: [[1.0], [2.0]] * x,
        lambda x: np.float32(2.0) * x + np.int64(3),
        lambda x: np.array(2.0) ** x,
        lambda x: np.arange(3) * x - True,
        lambda x: np.maximum(x, 0) + np.hypot([1, 2, 3], x),
        lambda x: x.astype(np.float64) @ np.eye(3) @ x,
    ):
        np.testing.assert_allclose(slope(f, X, V), by_differences(f), rtol=1e-6, atol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.matrix([[1.0, 2.0, 3.0]])
    for constant in (matrix, np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False])):
        for f in (lambda x, c=constant: x * c, lambda x, c=constant: np.multiply(c, x), lambda x, c=constant: x + c):
            with pytest.raises(TypeError, match=r"cannot take part in an operation.*convert it: numpy\.asarray"):
                slope(f, X, V)


def test_floats_behave_as_in_python() -> None:
    def f(x: Any) -> Any:
        return 1.0 / (x - 3.0)  # this line

    with pytest.raises(ZeroDivisionError) as caught:
        jvp(f, (3.0,), (1.0,))
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line.endswith("# this line")
    with pytest.raises(OverflowError):
        slope(lambda x: x**1000.0, 1e10)
    with pytest.raises(TypeError, match="would turn a number that is being differentiated into a constant"):
        slope(float)
    with np.errstate(divide="ignore"):
        assert np.isinf(slope(lambda x: x**0.5, 0.0))
        assert np.isinf(slope(np.sqrt, 0.0))
        np.testing.assert_array_equal(slope(np.sqrt, np.zeros(2), np.ones(2)), [np.inf, np.inf])
    assert slope(lambda x: x**0, 0.0) == 0.0
    assert slope(lambda x: 0.0**x, 2.0) == 0.0


# Constants and unused numbers


def test_answers_that_are_constant() -> None:
    assert jvp(lambda x: 5.0, (3.0,), (1.0,)) == (5.0, 0.0)
    assert jvp(lambda x: (5, "a", None, value(x)), (3.0,), (1.0,)) == ((5, "a", None, 3.0), (None, None, None, 0.0))
    assert jvp(lambda x, y: x, (3.0, 4.0), (None, 1.0)) == (3.0, 0.0)
    assert jvp(lambda x, y: x * y, (3.0, 4.0), (None, 1.0)) == (12.0, 3.0)
    assert slope(np.floor, 2.5) == 0.0
    assert slope(lambda x: x // 2 + x, 2.5) == 1.0


# In place


def buffer(x: Any) -> Any:
    y = 2.0 * x
    z = y
    before = np.sum(y * z)
    y += x * x
    y *= 3.0
    y -= 1.0
    y /= 1.0 + x * x
    return z * y * before


@pytest.mark.parametrize("f", [buffer, lambda x: np.sum(buffer(x)) * buffer(x)])
def test_changes_in_place(f: Any) -> None:
    y, y_dot = jvp(f, (X,), (V,))
    np.testing.assert_array_equal(y, f(X))
    np.testing.assert_allclose(y_dot, by_differences(f), rtol=1e-6)
    directional = lambda x: np.sum(jvp(f, (x,), (V,))[1] * ONES)  # noqa: E731
    np.testing.assert_allclose(slope(directional, X, V), by_differences(directional), rtol=1e-5)


def argument(x: Any) -> Any:
    x += 1.0
    return np.sum(x)


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


def transposed(x: Any) -> Any:
    y = np.outer(x, x)
    z = y.T
    y += y * y
    return np.sum(z)


def value_kept(x: Any) -> Any:
    y = 2.0 * x
    plain = value(y)
    y += 1.0
    return np.sum(plain * y)


@pytest.mark.parametrize("f", [slice_before, of_a_slice, transposed, value_kept], ids=lambda f: f.__name__)
def test_every_view_sees_the_new_value(f: Any) -> None:
    y, y_dot = jvp(f, (X,), (V,))
    assert y == f(X)
    np.testing.assert_allclose(y_dot, grad(f)(X) @ V)


def test_an_argument_is_not_written_to() -> None:
    x = X.copy()
    for f in (argument, lambda x: x.__setitem__(0, 1.0)):
        with pytest.raises(TypeError, match=r"^x( \+=|\[i\] =) v: the memory of x is an argument"):
            jvp(f, (x,), (V,))
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("is_view", [True, False])
def test_neither_a_view_nor_an_array_with_views_gets_another_level(is_view: bool) -> None:
    """Its arrays would be others, and the views would not see what is written to them."""

    def of_outer(a: Any) -> Any:
        def of_inner(b: Any) -> Any:
            y = np.ones(3) * b
            v = y[1:]
            (v if is_view else y)[0] = a * b
            return np.sum(y) + np.sum(v)

        return jvp(of_inner, (2.0,), (1.0,))[1]

    with pytest.raises(TypeError, match="as it has views"):
        jvp(of_outer, (3.0,), (1.0,))


def test_levels_in_place() -> None:
    def inner_value(x: Any) -> Any:
        y = 2.0 * x

        def inner(w: Any) -> Any:
            nonlocal y
            y += w
            return np.sum(y)

        return jvp(inner, (ONES,), (x,))[1]

    for operator in (lambda f: grad(f)(X), lambda f: jvp(f, (X,), (V,))):
        with pytest.raises(TypeError, match=r"^x \+= v: x belongs to an outer derivative, and v to an inner"):
            operator(inner_value)

    def between(x: Any) -> Any:
        y = 2.0 * x
        tangent = jvp(lambda w: np.sum(y * w * w), (ONES,), (x,))[1]
        y += 1.0
        return tangent * np.sum(y)

    np.testing.assert_allclose(grad(between)(X) @ V, by_differences(between), rtol=1e-6)
    np.testing.assert_allclose(slope(between, X, V), by_differences(between), rtol=1e-6)


# Nesting


def test_modes_in_every_order() -> None:
    def f(x: Any) -> Any:
        return np.sin(x) * x**3 + np.exp(-x)

    def by_grad(f: Any) -> Any:
        return grad(f)

    def by_jvp(f: Any) -> Any:
        return lambda x: slope(f, x)

    def by_vjp(f: Any) -> Any:
        return lambda x: vjp(f, x)[1](1.0)[0]

    def by_linearize(f: Any) -> Any:
        return lambda x: linearize(f, x)[1](1.0)

    modes = [by_grad, by_jvp, by_vjp, by_linearize]
    x = 0.7
    s, c, e = np.sin(x), np.cos(x), np.exp(-x)
    second = -s * x**3 + 6 * c * x**2 + 6 * s * x + e
    third = -c * x**3 - 9 * s * x**2 + 18 * c * x + 6 * s - e
    for a in modes:
        for b in modes:
            assert a(b(f))(x) == pytest.approx(second, rel=1e-12)
            for d in modes:
                assert a(b(d(f)))(x) == pytest.approx(third, rel=1e-12)


def test_perturbations_are_not_confused() -> None:
    """d/dx [x * d/dy (x + y)], and its kin with closures on both levels."""
    assert slope(lambda x: x * slope(lambda y: x + y, 1.0)) == 1.0
    assert slope(lambda x: x * slope(lambda y: x * y * y, x), 3.0) == 6 * 9.0
    assert slope(lambda x: x * slope(lambda y: x, 2.0), 3.0) == 0.0
    assert grad(lambda x: x * slope(lambda y: x * y * y, x))(3.0) == 6 * 9.0
    assert slope(lambda x: x * grad(lambda y: x * y * y)(x), 3.0) == 6 * 9.0
    assert slope(lambda x: slope(lambda y: y * 2.0, 1.0, x), 3.0) == 2.0
    assert slope(lambda x: jvp(lambda y: (y * x, x), (2.0,), (x,))[1][0], 3.0) == 6.0


def test_a_tangent_that_is_a_number() -> None:
    np.testing.assert_allclose(
        grad(lambda v: np.sum(jvp(np.sin, (X,), (v,))[1] ** 2))(V), 2.0 * np.cos(X) ** 2 * V, rtol=1e-14
    )
    np.testing.assert_allclose(slope(lambda v: jvp(np.sin, (X,), (v,))[1], V, ONES), np.cos(X))
    np.testing.assert_allclose(jacfwd(lambda v: jvp(np.sin, (X,), (v,))[1])(V), np.diag(np.cos(X)))


# Where it ends


def test_a_number_after_its_derivative() -> None:
    leaked: list[Any] = []

    def leak(x: Any) -> Any:
        leaked.append(x * 1.0)
        return x

    jvp(leak, (X,), (V,))
    with pytest.raises(KeyError) as caught:
        jvp(lambda x: {}[(leaked.append(x * 1.0), "key")[1]], (X,), (V,))
    caught.value.number = leaked[1]  # type: ignore[attr-defined]
    said = r"^a number of level 1 is used in an operation after its derivative has finished, so its derivative would be"
    for number in (leaked[0], caught.value.number):  # type: ignore[attr-defined]
        for use in (
            lambda y: y + 1.0,
            lambda y: 1.0 - y,
            lambda y: -y,
            np.sin,
            np.sum,
            lambda y: X * y,
            lambda y: y[0],
            lambda y: y[1:],
            lambda y: y.T,
            lambda y: y.reshape(3, 1),
            lambda y: list(y),
            lambda y: y @ X,
            lambda y: np.concatenate([X, y]),
            lambda y: np.split(y, 3),
            lambda y: np.where(y > 0, y, 0.0),
            lambda y: y.__iadd__(1.0),
            lambda y: jvp(lambda x: np.sum(x * y), (X,), (V,)),
            lambda y: grad(lambda x: np.sum(x * y))(X),
            lambda y: jvp(lambda x: [x, y], (X,), (V,)),
            lambda y: vjp(lambda x: y, X),
            lambda y: jvp(np.sin, (y,), (V,)),
            lambda y: jvp(np.sin, (X,), (y,)),
        ):
            with pytest.raises(EscapedNumberError, match=said):
                use(number)
        np.testing.assert_array_equal(value(number), X)
        assert repr(number) == f"NumF({X!r}, level=1)"


def test_an_inner_number_after_its_derivative() -> None:
    def f(x: Any) -> Any:
        leaked: list[Any] = []
        jvp(lambda y: leaked.append(x * y) or y, (x,), (1.0,))
        with pytest.raises(EscapedNumberError, match="level 2"):
            leaked[0] + x
        with pytest.raises(TypeError, match=r"^float\("):  # at the outer level it is still being differentiated
            float(leaked[0])
        return x * value(leaked[0])

    assert slope(f) == 9.0
    assert grad(f)(3.0) == 9.0


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration])
def test_after_an_exception(kind: Any) -> None:
    leaked: list[Any] = []

    def fail(x: Any) -> Any:
        leaked.append(x)
        raise kind("stop")

    before = np.geterr(), gc.get_threshold()
    for f in (fail, lambda x: slope(fail, x), lambda x: grad(fail)(x), lambda x: slope(lambda y: fail(x * y), x)):
        with pytest.raises(kind, match="stop"):
            slope(f)
        with pytest.raises(kind, match="stop"):
            grad(lambda x: slope(f, x))(3.0)  # noqa: B023
    for number in leaked:
        with pytest.raises(EscapedNumberError):
            number * 2.0
    assert (np.geterr(), gc.get_threshold()) == before
    assert grad(lambda x: slope(lambda y: x * y**2, x))(2.0) == 8.0


def test_an_exception_that_the_function_catches() -> None:
    def f(x: Any) -> Any:
        total = x
        for use in (float, np.fft.fft, lambda x: x + "a", lambda x: x / 0, lambda x: np.gcd(x, 2)):
            try:
                total = total + use(x * x)
            except (TypeError, NotImplementedError, IndexError, ZeroDivisionError):
                total = total * 2.0
        return total

    assert jvp(f, (3.0,), (1.0,)) == (3.0 * 2**5, 2.0**5)
    assert value_and_grad(f)(3.0) == (3.0 * 2**5, 2.0**5)


# Threads, generators, coroutines: there is no control to lose


def test_in_threads() -> None:
    def f(x: Any) -> Any:
        with ThreadPoolExecutor(4) as pool:
            parts = list(pool.map(lambda i: np.sin(x * i) + slope(lambda y: x * y**2, x), range(8)))
        return sum(parts)

    expected = sum(i * np.cos(0.5 * i) for i in range(8)) + 8 * 4 * 0.5
    assert slope(f, 0.5) == pytest.approx(expected)
    found: list[Any] = []
    start = threading.Barrier(6)

    def work(i: int) -> None:
        start.wait()
        found.extend(slope(lambda x: slope(lambda y: x**2 * y**3, x), float(i)) == 12 * i**3 for _ in range(50))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 300


def test_in_generators_and_coroutines() -> None:
    def powers(x: Any) -> Any:
        y = x
        while True:
            yield y
            y = y * x

    def f(x: Any) -> Any:
        return sum(y for y, _ in zip(powers(x), range(4), strict=False))

    assert slope(f, 2.0) == 1 + 4 + 12 + 32

    async def g(x: Any) -> Any:
        await asyncio.sleep(0)
        return x * x

    async def total(x: Any) -> Any:
        return sum(await asyncio.gather(*(g(x * i) for i in range(4))))

    assert slope(lambda x: asyncio.run(total(x)), 3.0) == 2 * 3.0 * 14

    kept: list[Any] = []

    def outlives(x: Any) -> Any:
        generator = powers(x)
        kept.append(generator)
        return next(generator)

    slope(outlives)
    with pytest.raises(EscapedNumberError):
        next(kept[0])


def test_nothing_is_kept() -> None:
    """Forward mode holds no operations: a long loop needs no memory."""

    def f(x: Any) -> Any:
        y = x
        for _ in range(2000):
            y = np.sin(y) + x
        return y

    x = np.linspace(0.0, 1.0, 1000)
    jvp(f, (x,), (x,))
    tracemalloc.start()
    try:
        jvp(f, (x,), (x,))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * x.nbytes + 50_000


@pytest.mark.parametrize(
    "program",
    [
        lambda x: jvp(lambda x: np.stack([2.0 * x[i] for i in range(len(x))]), (x,), (x,))[1],
        lambda x: hvp(lambda x: sum(x[i] * x[i] for i in range(len(x))), (x,), (x,)),
        lambda x: taylor(lambda x: np.stack([2.0 * x[i] for i in range(len(x))]), x, 1, x)[1],
    ],
    ids=["jvp", "hvp", "taylor"],
)
def test_an_array_built_from_n_parts_takes_memory_for_n_and_not_for_its_square(program: Any) -> None:
    def peak(n: int) -> int:
        x = np.linspace(0.0, 1.0, n)
        program(x)
        tracemalloc.start()
        try:
            np.testing.assert_allclose(program(x), 2.0 * x)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(2000) < 8 * peak(500)  # 16 would be the square


def test_arrays_built_from_numbers_and_constants() -> None:
    def f(x: Any) -> Any:
        return np.concatenate([x, [1, 2], np.ones(1, dtype=np.float32), x[:1] * x[1:]])

    x, v = np.array([2.0, 3.0]), np.array([1.0, 10.0])
    _, y_dot = jvp(f, (x,), (v,))
    np.testing.assert_array_equal(y_dot, [1.0, 10.0, 0.0, 0.0, 0.0, 23.0])
    np.testing.assert_array_equal(taylor(f, x, 3, v), [f(x), y_dot, [0, 0, 0, 0, 0, 10], np.zeros(6)])
