"""The way back of `vjp` and `linearize`, which can be run any number of times."""

from __future__ import annotations

import gc
import operator
import signal
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import (
    ControlError,
    EscapedNumberError,
    custom_vjp,
    elementwise_grad,
    grad,
    jacobian,
    jvp,
    linearize,
    value,
    value_and_grad,
    vjp,
)
from shiftreset_ad.boundary.arguments import all_of
from shiftreset_ad.modes.reverse import recording
from shiftreset_ad.modes.reverse.recording import Recording
from shiftreset_ad.transforms import jacobians

X = np.array([0.5, -1.5, 2.0])
ONES = np.ones(3)


def program(x: Any) -> Any:
    """Reads of elements, sums of several uses, a list of answers, and a change in place."""
    y = np.sin(x) * x
    z = y
    y += np.exp(-x) * 2.0
    first, second = np.split(np.concatenate([z, y * y]), 2)
    return first * x[0] + second + np.cumsum(x) * z[-1]


def jacobian_of_program() -> Any:
    steps = 1e-6 * np.eye(3)
    return np.stack([(program(X + step) - program(X - step)) / 2e-6 for step in steps], axis=1)


# Any number of times


def test_a_pullback_may_be_called_any_number_of_times() -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return program(x)

    _, pullback = vjp(counted, X)
    expected = jacobian_of_program()
    for _ in range(5):
        for i, row in enumerate(np.eye(3)):
            np.testing.assert_allclose(pullback(row)[0], expected[i], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(pullback(ONES)[0], pullback(ONES)[0])
    assert len(calls) == 1


def test_a_pushforward_may_be_called_any_number_of_times() -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return program(x)

    y, pushforward = linearize(counted, X)
    np.testing.assert_array_equal(y, program(X))
    generator = np.random.default_rng(0)
    for _ in range(5):
        u, v = generator.normal(size=(2, 3))
        np.testing.assert_allclose(pushforward(u), jvp(program, (X,), (u,))[1], rtol=1e-12)
        np.testing.assert_allclose(
            pushforward(2.0 * u - 3.0 * v), 2.0 * pushforward(u) - 3.0 * pushforward(v), rtol=1e-11
        )
    assert len(calls) == 1


def test_several_answers_of_one_operation() -> None:
    """Their adjoints, too, are gone before the next way back."""

    @custom_vjp
    def both(x: Any) -> Any:
        return np.sin(x), np.cos(x)

    both.defvjp(lambda x: ((np.sin(x), np.cos(x)), x), lambda x, bars: (np.cos(x) * bars[0] - np.sin(x) * bars[1],))

    def f(x: Any) -> Any:
        sine, cosine = both(x)
        return sine * sine + 2.0 * cosine

    _, pullback = vjp(f, X)
    _, pushforward = linearize(f, X)
    for _ in range(3):
        np.testing.assert_allclose(pullback(ONES)[0], 2.0 * np.sin(X) * np.cos(X) - 2.0 * np.sin(X))
        np.testing.assert_allclose(pushforward(ONES), 2.0 * np.sin(X) * np.cos(X) - 2.0 * np.sin(X))


def test_the_two_are_transposes_of_one_another() -> None:
    _, pullback = vjp(program, X)
    _, pushforward = linearize(program, X)
    u, v = np.random.default_rng(1).normal(size=(2, 3))
    assert u @ pushforward(v) == pytest.approx(pullback(u)[0] @ v, rel=1e-13)


def test_every_pull_carries_out_the_same_operations() -> None:
    """Counted as operations of an outer derivative."""

    def operations_of(pulls: int) -> int:
        count = 0

        def f(x: Any) -> Any:
            nonlocal count
            _, pullback = vjp(program, x)
            pulled = Recording("test", lambda y_bar: [pullback(y_bar) for _ in range(pulls)], all_of("test", (ONES,)))
            count = len(pulled._pending)
            return np.sum(x)

        grad(f)(X)
        return count

    one, two, ten = map(operations_of, (1, 2, 10))
    assert one > 5
    assert ten - two == 8 * (two - one)


def test_nothing_is_left_between_pulls() -> None:
    def f(x: Any) -> Any:
        y = x
        for _ in range(50):
            y = np.sin(y) + x[::-1]
        return y

    x = np.linspace(0.0, 1.0, 20_000)
    _, pullback = vjp(f, x)
    y_bar = np.ones_like(x)
    pullback(y_bar)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in range(5):
            pullback(y_bar)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 10_000
    assert peak - before < 12 * x.nbytes  # and not one array for each of 100 operations


@pytest.mark.slow
def test_a_pullback_frees_everything_when_it_goes() -> None:
    class Thing:
        pass

    def recorded() -> Any:
        thing = Thing()

        def f(x: Any, thing: Any = thing) -> Any:
            return x * x

        return vjp(f, X)[1], weakref.ref(thing)

    pullback, thing = recorded()
    pullback(ONES)
    gc.collect()
    assert thing() is None  # neither the function nor what it closes over is kept
    del pullback


# Whose the arrays are


@pytest.mark.parametrize("f", [lambda x: x, lambda x: +x, lambda x: x + 1.0, program, lambda x: x[::-1], np.exp])
def test_cotangents_are_not_written_to_and_answers_are_the_users(f: Any) -> None:
    x = X.copy()
    _, pullback = vjp(f, x)
    _, pushforward = linearize(f, x)
    y_bar = np.array([1.0, 2.0, 3.0])
    for use in (lambda v: pullback(v)[0], pushforward):
        first = use(y_bar).copy()
        for _ in range(2):
            answer = use(y_bar)
            np.testing.assert_array_equal(answer, first)
            assert not np.shares_memory(answer, y_bar)
            assert not np.shares_memory(answer, x)
            answer[:] = 99.0
        y_bar.flags.writeable = False
        np.testing.assert_array_equal(use(y_bar), first)
        y_bar.flags.writeable = True
    np.testing.assert_array_equal(y_bar, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("transform", [vjp, linearize])
@pytest.mark.parametrize("f", [np.exp, np.tanh, lambda x: np.exp(x)[::-1], lambda x: np.exp(x) * 1.0])
def test_the_value_is_the_users_to_write_to(transform: Any, f: Any) -> None:
    """The way back needs it again, as it was: the derivative of exp is its value."""
    y, apply = transform(f, X)
    before = apply(ONES)
    y[:] = 0.0
    np.testing.assert_array_equal(apply(ONES), before)


def test_what_comes_beside_the_value_is_the_users_to_write_to() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x)
        return np.sum(y * y), {"y": y, "n": 3}

    total, pullback, aux = vjp(f, X, has_aux=True)
    (before,) = pullback(1.0)
    assert aux["n"] == 3
    aux["y"][:] = 0.0
    np.testing.assert_array_equal(pullback(1.0)[0], before)
    np.testing.assert_allclose(before, 2.0 * np.exp(2.0 * X))
    assert total == np.sum(np.exp(X) ** 2)


def test_the_value_in_an_outer_derivative_may_change_in_place() -> None:
    def f(x: Any) -> Any:
        y, pullback = vjp(np.exp, 2.0 * x)
        y += 100.0
        return np.sum(pullback(ONES)[0]) + 0.0 * np.sum(y)

    found, gradient = value_and_grad(f)(X)
    assert found == pytest.approx(np.sum(np.exp(2.0 * X)))
    np.testing.assert_allclose(gradient, 2.0 * np.exp(2.0 * X))


def test_two_answers_of_a_pullback_are_not_the_same() -> None:
    _, pullback = vjp(lambda a, b: a + b, X, X)
    a_bar, b_bar = pullback(ONES)
    a_bar += 1.0
    np.testing.assert_array_equal(b_bar, ONES)

    def outer(v: Any) -> Any:
        a_bar, b_bar = pullback(v * 1.0)
        a_bar += 1.0
        return np.sum(a_bar * b_bar)

    np.testing.assert_array_equal(grad(outer)(ONES), [3.0, 3.0, 3.0])


# Changes in place


def in_place(x: Any) -> Any:
    y = 2.0 * x
    same = y
    y += x * x
    y *= 3.0
    return same * y


def test_a_change_in_place_is_undone_and_done_again() -> None:
    for f in (in_place, lambda x: in_place(x)[0] + in_place(x), lambda x: operator.iadd(2.0 * x, x)):
        y, pullback = vjp(f, X)
        expected = [np.stack([grad(lambda x: f(x)[i])(X) for i in range(3)])] * 3  # noqa: B023
        for rows in expected:
            np.testing.assert_allclose([pullback(e)[0] for e in np.eye(3)], rows)
        np.testing.assert_array_equal(y, f(X.copy()))


def test_arrays_that_are_written_to_before_the_way_back() -> None:
    x, weights = X.copy(), np.full(5000, 2.0)
    _, pullback = vjp(lambda x: np.sum(x * x * weights[0]) + np.sum(weights * x[0]), x)
    expected = pullback(1.0)[0]
    x[0] = 7.0
    np.testing.assert_array_equal(pullback(1.0)[0], expected)
    weights[7] = 0.0
    np.testing.assert_array_equal(pullback(1.0)[0], expected)
    large = np.ones(10_000)
    _, pullback = vjp(lambda x: np.sum(x * x), large)
    large[3] = 7.0
    np.testing.assert_array_equal(pullback(1.0)[0], np.full(10_000, 2.0))


@pytest.mark.parametrize("n", [3, 10_000])
def test_an_argument_that_is_written_to_inside_is_an_error(n: int) -> None:
    argument = np.ones(n)

    def f(x: Any) -> Any:
        y = np.sum(x * x)
        argument[1] = 5.0
        return y

    with pytest.raises(ControlError, match=rf"wrote to an argument, an array of shape \({n},\),.*x\.copy"):
        vjp(f, argument)


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, buffer: x + buffer,
        lambda x, buffer: buffer - x,
        lambda x, buffer: np.remainder(x, buffer),
        lambda x, buffer: np.concatenate([x, buffer]),
    ],
)
def test_an_array_that_the_derivative_does_not_need_may_be_written_to(f: Any, size: int) -> None:
    x, buffer = np.linspace(0.1, 0.9, size), np.ones(size)
    y, pullback = vjp(lambda x: f(x, buffer), x)
    (expected,) = pullback(np.ones_like(y))
    buffer[:] = 7.0
    np.testing.assert_array_equal(pullback(np.ones_like(y))[0], expected)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, buffer: x * buffer,
        lambda x, buffer: buffer / x,
        lambda x, buffer: np.remainder(buffer, x),
        lambda x, buffer: buffer @ x,
        lambda x, buffer: np.where(buffer > 3.0, x, -x),
        lambda x, buffer: np.where(buffer, x, -x),
    ],
)
def test_an_array_that_the_derivative_needs_is_kept_as_it_was(f: Any) -> None:
    buffer = np.array([7.0, 0.0, 5.0])
    y, pullback = vjp(lambda x: f(x, buffer), X)
    (expected,) = pullback(np.ones_like(y))
    buffer[:] = [0.0, 30.0, 2.0]
    np.testing.assert_array_equal(pullback(np.ones_like(y))[0], expected)


@pytest.mark.parametrize(
    "use",
    [
        lambda y, w: y * w,
        lambda y, w: w * y,
        lambda y, w: w / y,
        lambda y, w: np.arctan2(y, w),
        lambda y, w: w @ y,
        lambda y, w: np.einsum("i,i->i", y, w),
    ],
)
def test_an_outer_number_that_a_pullback_needs_is_kept_as_it_was(use: Any) -> None:
    def f(x: Any, changed: bool) -> Any:
        y = 2.0 * x
        _, pullback = vjp(lambda w: np.sum(use(y, w)), ONES)
        if changed:
            y += 1.0
            y[0] = 7.0
        return np.sum(pullback(1.0)[0])

    expected = grad(f)(X, False)
    np.testing.assert_allclose(grad(f)(X, True), expected)
    np.testing.assert_allclose(jvp(lambda x: f(x, True), (X,), (ONES,))[1], np.sum(expected))
    np.testing.assert_allclose(vjp(lambda x: f(x, True), X)[1](1.0)[0], expected)


# After an exception in the middle


def test_after_an_error_on_the_way_back() -> None:
    def f(x: Any) -> Any:
        return np.sqrt(x) + in_place(x)

    _, pullback = vjp(f, np.array([0.0, 1.0]))
    expected = pullback(np.ones(2))[0]
    for _ in range(3):
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            pullback(np.ones(2))
        np.testing.assert_array_equal(pullback(np.ones(2))[0], expected)


def test_after_a_cotangent_that_does_not_fit() -> None:
    _, pullback = vjp(program, X)
    expected = pullback(ONES)[0]
    for wrong in (1.0, np.ones(2), "text", (ONES,), ONES.astype(int), 1j * ONES):
        with pytest.raises((TypeError, ValueError)):
            pullback(wrong)
    np.testing.assert_array_equal(pullback(ONES)[0], expected)


@pytest.fixture
def interrupted() -> Iterator[Callable[[float, Callable[[], Any]], bool]]:
    """Calls a function and interrupts it after some time; whether it was."""
    armed = False

    def interrupt(signum: Any, frame: Any) -> None:
        nonlocal armed
        if armed:
            armed = False
            raise KeyboardInterrupt

    def call(seconds: float, function: Callable[[], Any]) -> bool:
        nonlocal armed
        try:
            armed = True
            signal.setitimer(signal.ITIMER_REAL, seconds)
            function()
            armed = False
        except KeyboardInterrupt:
            return True
        return False

    callbacks, gc.callbacks[:] = gc.callbacks[:], []  # they are others', and would be interrupted, too
    old = signal.signal(signal.SIGALRM, interrupt)
    yield call
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)
    gc.callbacks[:] = callbacks


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a finalizer, Python drops it
def test_after_an_interrupt_at_any_time(interrupted: Any) -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(40):
            y = x * float(i)
            y += x * x
            y *= x
            total = total + np.sum(y) * y[0]
        return total

    x = X.copy()
    _, pullback = vjp(f, x)
    _, pushforward = linearize(f, x)
    gradient, slope = pullback(1.0)[0], pushforward(ONES)
    many = [0, 0]
    for i in range(250):
        for k, again in enumerate((lambda: pullback(1.0), lambda: pushforward(ONES))):
            many[k] += interrupted(1e-5 + i * 8e-6, lambda: [again() for _ in range(100)])  # noqa: B023
        if i % 10 == 0:
            np.testing.assert_array_equal(pullback(1.0)[0], gradient)
            assert pushforward(ONES) == slope
    np.testing.assert_array_equal(pullback(1.0)[0], gradient)
    assert pushforward(ONES) == slope
    assert min(many) > 100


@pytest.mark.parametrize("stop", range(1, 54, 4))
def test_after_an_interrupt_in_the_clearing_up(stop: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once: one on the way back, and one while that is cleared up."""
    _, pullback = vjp(in_place, X)
    expected = pullback(ONES)[0]
    left = stop

    def interrupting(function: Any) -> Any:
        def call(operation: Any) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                raise KeyboardInterrupt
            function(operation)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(recording, "forget", interrupting(recording.forget))
        patch.setattr(recording, "redo", interrupting(recording.redo))
        for _ in range(6):
            try:
                pullback(ONES)
            except KeyboardInterrupt:
                break
        else:
            pytest.fail("never interrupted")
    for _ in range(2):
        np.testing.assert_array_equal(pullback(ONES)[0], expected)


# Threads


def test_pulls_in_many_threads_at_once() -> None:
    _, pullback = vjp(program, X)
    _, pushforward = linearize(program, X)
    rows = np.eye(3)
    expected = [(pullback(row)[0], pushforward(row)) for row in rows]
    start, wrong = threading.Barrier(6), []

    def work(k: int) -> None:
        start.wait()
        for i in range(60):
            j = (i + k) % 3
            try:
                np.testing.assert_array_equal(pullback(rows[j])[0], expected[j][0])
                np.testing.assert_array_equal(pushforward(rows[j]), expected[j][1])
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that they come in between one another's steps
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


def test_a_pullback_made_in_another_thread() -> None:
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(vjp(program, X)[1]))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(made[0](ONES)[0], vjp(program, X)[1](ONES)[0])


# In other derivatives


def test_in_outer_derivatives() -> None:
    """d/dv, d/dx and both, of the pullback."""
    _, outside = vjp(lambda x: np.sin(x) * x[0], X)

    def by_cotangent(v: Any) -> Any:
        return np.sum(outside(v * v)[0] ** 2)

    steps = 1e-6 * np.eye(3)
    v = np.array([1.0, -0.5, 2.0])
    differences = [(by_cotangent(v + s) - by_cotangent(v - s)) / 2e-6 for s in steps]
    for _ in range(2):
        np.testing.assert_allclose(grad(by_cotangent)(v), differences, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(jvp(by_cotangent, (v,), (steps[0] * 1e6,))[1], differences[0], rtol=1e-6)

    def by_argument(x: Any) -> Any:
        _, pullback = vjp(lambda y: np.sin(y) * y[0] * x, x * x)
        return np.sum(pullback(x)[0] * pullback(np.ones(3))[0])

    differences = [(by_argument(X + s) - by_argument(X - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(grad(by_argument)(X), differences, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(vjp(by_argument, X)[1](1.0)[0], differences, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(linearize(by_argument, X)[1](steps[1] * 1e6), differences[1], rtol=1e-5)
    assert by_argument(X) == pytest.approx(value_and_grad(by_argument)(X)[0])


def test_a_pullback_may_be_called_in_the_function_of_another() -> None:
    _, outside = vjp(np.sin, X)

    def f(x: Any) -> Any:
        return outside(x)[0] * x

    y, pullback = vjp(f, ONES)
    np.testing.assert_allclose(y, np.cos(X))
    for _ in range(2):
        np.testing.assert_allclose(pullback(ONES)[0], 2.0 * np.cos(X))


def test_a_pullback_of_a_finished_outer_derivative() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(vjp(lambda y: y * y * x, x)[1])
        return np.sum(x)

    grad(f)(X)
    with pytest.raises(EscapedNumberError):
        kept[0](ONES)
    with pytest.raises(EscapedNumberError):
        kept[0](ONES)


def test_a_pullback_that_calls_itself() -> None:
    """It has one set of adjoints. NumPy can be told to call a function of the user's in the middle of it."""
    _, pullback = vjp(np.sqrt, np.zeros(2))

    def call_again(kind: str, flag: int) -> None:
        pullback(np.ones(2))

    for _ in range(2):
        with (
            np.errstate(divide="call", call=call_again),
            pytest.raises(
                ControlError, match=r"^vjp\(sqrt\): a pullback was called while it was running; call vjp once"
            ),
        ):
            pullback(np.ones(2))
        np.testing.assert_array_equal(pullback(np.ones(2))[0], [np.inf, np.inf])


def test_a_number_that_was_returned_is_used_afterwards() -> None:
    y, pullback = vjp(lambda x: (x, [x * x]), X)
    assert type(y[0]) is np.ndarray
    assert type(value(y[1][0])) is np.ndarray
    np.testing.assert_array_equal(pullback((ONES, [None]))[0], ONES)
    np.testing.assert_array_equal(pullback((None, [ONES]))[0], 2.0 * X)
    np.testing.assert_array_equal(pullback((None, [None]))[0], 0.0 * X)


def test_an_exception_in_the_function() -> None:
    for transform in (vjp, linearize):
        with pytest.raises(KeyError, match="stop"):
            transform(lambda x: {}[("stop", x * x) and "stop"], X)


def test_a_number_of_a_finished_derivative_cannot_be_returned() -> None:
    leaked: list[Any] = []
    grad(lambda x: leaked.append(x * 2.0) or x)(3.0)
    for transform in (vjp, linearize):
        with pytest.raises(EscapedNumberError, match="level 1"):
            transform(lambda x: [x, leaked[0]], 3.0)


class Box:
    """Of a kind that nobody knows how to look into."""

    def __init__(self, content: Any) -> None:
        self.content = content


def test_an_object_in_which_numbers_could_be_lost_cannot_be_returned() -> None:
    said = r"the function returned <.*Box object at .*, of type Box, in which numbers .* could be lost"
    for derivative in (
        lambda f: vjp(f, 3.0),
        lambda f: linearize(f, 3.0),
        lambda f: jvp(f, (3.0,), (1.0,)),
        lambda f: jacobian(f)(3.0),
    ):
        with pytest.raises(TypeError, match=said):
            derivative(lambda x: (x, Box(x * x)))
        derivative(lambda x: (x, np.sin, len))


# The operators that are made of it


def test_the_derivative_of_elements_that_are_not_numbers_any_more() -> None:
    x = np.array([np.nan, 0.0, 4.0])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(elementwise_grad(np.sqrt)(x), [np.nan, np.inf, 0.25])


@pytest.mark.parametrize(("rows", "columns"), [(2, 5), (5, 2), (3, 3)])
def test_a_jacobian_goes_along_the_fewer_directions(rows: int, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    along_units, seen = jacobians.along_units, []

    def watched(numbers: Any, linear: Any) -> Any:
        seen.append(jacobians.count(numbers))
        return along_units(numbers, linear)

    monkeypatch.setattr(jacobians, "along_units", watched)
    matrix = np.random.default_rng(0).normal(size=(rows, columns))
    np.testing.assert_allclose(jacobian(lambda x: matrix @ x)(np.ones(columns)), matrix)
    assert seen == [min(rows, columns)]
