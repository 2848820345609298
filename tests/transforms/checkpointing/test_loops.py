"""Loops by the binomial schedule: derivatives, and what is stored and run, against the theory."""

from __future__ import annotations

import functools
import gc
import inspect
import tracemalloc
import weakref
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import (
    ControlError,
    NumR,
    grad,
    hessian,
    hvp,
    jacobian,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from shiftreset_ad.modes.reverse.adjoints import accumulate, accumulate_at, settle
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.transforms.checkpointing.loops import checkpointed_loop, continued
from shiftreset_ad.transforms.checkpointing.revolve import advances
from shiftreset_ad.transforms.closures import grad_closure
from tests.peaks import peak_of

X = np.array([0.5, -1.0, 2.0])


def close(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def plain_loop(step, state, n, snapshots):
    for k in range(n):
        state = step(k, state)
    return state


@dataclass
class State:
    position: Any
    velocity: Any
    steps: int = 0


def pendulum(loop, position, velocity, stiffness, n, snapshots):
    def step(k, state):
        assert state.steps == k
        velocity = state.velocity - 0.1 * stiffness * np.sin(state.position)
        return State(state.position + 0.1 * velocity, velocity, k + 1)

    end = loop(step, State(position, velocity), n, snapshots)
    assert end.steps == n
    return np.sum(end.position**2) + np.sum(end.velocity)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("snapshots", [1, 2, 3, 6, 100])
def test_it_agrees_with_the_plain_loop(n, snapshots) -> None:
    arguments = X, 0.5 * X, 2.0

    def gradient(loop):
        f = functools.partial(pendulum, loop, n=n, snapshots=snapshots)
        return value_and_grad(f, argnums=(0, 1, 2))(*arguments)

    (found_value, found), (value, expected) = gradient(checkpointed_loop), gradient(plain_loop)
    assert found_value == value == pendulum(checkpointed_loop, *arguments, n, snapshots)
    for x_bar, expected_x_bar in zip(found, expected, strict=True):
        close(x_bar, expected_x_bar)


def test_no_steps() -> None:
    assert checkpointed_loop(lambda k, x: x * x, 3.0, 0, 1) == 3.0
    assert grad(lambda x: checkpointed_loop(lambda k, x: x * x, x, 0, 1))(3.0) == 1.0


# Counts


class Counting:
    """A step that counts how often it is run, and how many of the states that it has returned are alive."""

    def __init__(self, shape: tuple[int, ...] = (4,)) -> None:
        self.runs = 0
        self.alive: dict[int, weakref.ref[Any]] = {}
        self.most = 0

    def __call__(self, k, x):
        self.runs += 1
        y = np.sin(x) + 0.5 * x
        array = y
        while type(array) is not np.ndarray:
            array = array.primal
        self.alive[id(array)] = weakref.ref(array, functools.partial(self.gone, id(array)))
        self.most = max(self.most, len(self.alive))
        return y

    def gone(self, key, _):
        self.alive.pop(key, None)


def test_ten_thousand_steps_with_fourteen_snapshots() -> None:
    n, snapshots = 10_000, 14
    step = Counting()
    x = np.array([0.1, 0.2, -0.3, 0.4])
    held = []

    def whole(x):
        y = checkpointed_loop(step, x, n, snapshots)
        assert step.runs == n
        held.append(len(step.alive))
        return np.sum(y)

    found = grad(whole)(x)
    # Those of the theory, the n steps that are gone back through, and the one to the final state.
    assert advances(n, snapshots) == 46_124
    assert step.runs == advances(n, snapshots) + n + 1
    assert step.runs <= 56_125
    # The initial state is a snapshot, and not one that a step has returned. Beside the other 13 there are the final
    # and the working state while the rest of the program runs, and on the way back the successor of the latter.
    assert held == [13 + 2]
    assert step.most == 13 + 3
    plain = Counting()
    close(found, grad(lambda x: np.sum(plain_loop(plain, x, n, snapshots)))(x))
    assert plain.most >= n


@pytest.mark.parametrize(("n", "snapshots"), [(1, 1), (2, 1), (17, 1), (50, 2), (50, 3), (50, 7), (50, 49), (50, 500)])
def test_counts(n, snapshots) -> None:
    step = Counting()
    grad(lambda x: np.sum(checkpointed_loop(step, x, n, snapshots)))(X)
    assert step.runs == advances(n, snapshots) + n + 1
    assert step.most <= min(n, snapshots) - 1 + 3


@pytest.mark.slow
def test_memory_is_that_of_the_snapshots() -> None:
    def peak(loop, snapshots):
        x = np.linspace(0.0, 1.0, 10_000)
        slope = grad(lambda x: np.sum(loop(lambda k, y: np.sin(y) * x, x, 200, snapshots)))
        gc.collect()
        return peak_of(lambda: slope(x)) / x.nbytes

    assert peak(plain_loop, 0) > 400
    for snapshots in (3, 6, 12):
        assert peak(checkpointed_loop, snapshots) < snapshots + 10  # the working states and adjoints of one step


def test_no_recursion_grows_with_the_number_of_steps() -> None:
    def depth():
        frame, count = inspect.currentframe(), 0
        while frame is not None:
            frame, count = frame.f_back, count + 1
        return count

    def deepest(n, snapshots):
        depths = [0]

        def step(k, x):
            depths[0] = max(depths[0], depth())
            return np.sin(x)

        grad(lambda x: checkpointed_loop(step, x, n, snapshots))(0.5)
        return depths[0]

    assert deepest(3, 1) == deepest(300, 1) == deepest(300, 2) == deepest(300, 7)


def test_the_adjoint_of_what_the_step_closes_over_adds_up_in_one_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading an element of an array in each of n steps costs O(n), and not O(n) for each step."""
    xs = np.linspace(-1.0, 1.0, 100)

    def total(loop, xs):
        return loop(lambda k, y: np.sin(y) + xs[k], 0.0, len(xs), 5)

    expected = grad(functools.partial(total, plain_loop))(xs)
    zeros, made = np.zeros, []
    monkeypatch.setattr(np, "zeros", lambda *args: made.append(args) or zeros(*args))
    found = grad(functools.partial(total, checkpointed_loop))(xs)
    assert made.count((xs.shape, xs.dtype)) == 1
    close(found, expected)


def test_a_number_goes_on_with_the_buffer_of_another() -> None:
    total = NumR(X, ZERO, Tag())
    accumulate_at(total, 0, 1.0)
    x = continued(total, X, Tag())
    accumulate_at(x, 1, 2.0)
    assert x.adjoint is total.adjoint
    assert settle(x).tolist() == [1.0, 2.0, 0.0]
    shared = NumR(X, ZERO, Tag())
    accumulate(shared, X)
    x = continued(shared, X, Tag())
    accumulate_at(x, 1, 2.0)
    assert X.tolist() == [0.5, -1.0, 2.0]


# Nested derivatives, and other modes


def test_nested_derivatives() -> None:
    def f(loop):
        return lambda x, w: loop(lambda k, y: np.sin(w * y) + 0.1 * k * x, x, 20, 3)

    def g(loop):
        return grad(lambda x, w: grad(f(loop), argnums=(0, 1))(x, w)[1], argnums=(0, 1))(0.3, 1.1)

    close(g(checkpointed_loop), g(plain_loop), 1e-11)
    third = grad(grad(grad(f(plain_loop))))(0.3, 1.1)
    assert grad(grad(grad(f(checkpointed_loop))))(0.3, 1.1) == pytest.approx(third, rel=1e-10)


def test_other_modes() -> None:
    def f(loop, x):
        return loop(lambda k, y: np.sin(y) * x + y[::-1], x, 9, 2)

    g, plain = functools.partial(f, checkpointed_loop), functools.partial(f, plain_loop)
    v = np.array([1.0, 0.5, -2.0])
    close(jvp(g, (X,), (v,))[1], jvp(plain, (X,), (v,))[1])
    expected = jacobian(plain)(X)
    close(jacrev(g)(X), expected)
    close(jacobian(lambda x: np.concatenate([g(x), g(x)]))(X), np.concatenate([expected, expected]))
    close(linearize(g, X)[1](v), expected @ v)

    def loss(f):
        return lambda x: np.sum(f(x) ** 2)

    second = hessian(loss(plain))(X)
    close(hessian(loss(g))(X), second, 1e-10)
    close(hvp(loss(g), (X,), (v,)), second @ v, 1e-10)
    close(grad(lambda x: jvp(loss(g), (x,), (v,))[1])(X), second @ v, 1e-10)
    close(jacrev(jacrev(g))(X), jacrev(jacrev(plain))(X), 1e-10)


@pytest.mark.slow
def test_memory_of_a_second_derivative() -> None:
    """Of the steps that an outer derivative sees, states are kept, and nothing from within a step."""

    def peak(loop, within):
        def step(k, y):
            for _ in range(within):
                y = np.sin(y)
            return y

        x = np.linspace(0.0, 1.0, 10_000)
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            grad(lambda x: np.sum(grad(lambda x: np.sum(loop(step, x, 20, 4)))(x)))(x)
            return (tracemalloc.get_traced_memory()[1] - before) / x.nbytes
        finally:
            tracemalloc.stop()

    assert peak(plain_loop, 20) > 1000
    assert peak(checkpointed_loop, 20) < 350


def test_a_pullback_that_is_called_several_times() -> None:
    step = Counting()
    _, pullback = vjp(lambda x: checkpointed_loop(step, x, 30, 4), X)
    before = step.runs
    expected = vjp(lambda x: plain_loop(Counting(), x, 30, 4), X)[1](X)[0]
    close(pullback(X)[0], expected)
    first = step.runs - before
    close(pullback(-X)[0], -expected)
    assert step.runs - before - first == advances(30, 4) + 30  # with the first sweep, which the first had already
    close(pullback(X)[0], expected)
    assert step.most <= 3 + 3


def test_a_step_that_raises_on_the_way_back_leaves_the_loop_usable() -> None:
    fails = Event()

    class Step:
        def __call__(self, k, x):
            if fails.is_set() and k == 11:
                raise ValueError("on the way back")
            return np.sin(x)

    _, pullback = vjp(lambda x: checkpointed_loop(Step(), x, 20, 3), X)
    expected = vjp(lambda x: plain_loop(Step(), x, 20, 3), X)[1](X)[0]
    fails.set()
    with pytest.raises(ValueError, match="on the way back") as caught:
        pullback(X)
    assert caught.traceback[-1].name == "__call__"
    fails.clear()
    close(pullback(X)[0], expected)


SCALE = np.array([2.0, 3.0, 4.0])


def test_what_a_step_reads_elsewhere_must_not_change() -> None:
    """At zero, the values are the same in any case."""
    for operator in (checkpointed_loop, plain_loop):
        SCALE[:] = 2.0
        _, pullback = vjp(lambda x, loop=operator: loop(lambda k, y: SCALE * y, x, 3, 1), np.zeros(3))
        if operator is plain_loop:
            SCALE[:] = 5.0
            close(pullback(X)[0], 8.0 * X)
        else:
            close(pullback(X)[0], 8.0 * X)
            SCALE[:] = 5.0
            with pytest.raises(ControlError, match="it reads the array 'SCALE', which the program has changed"):
                pullback(X)


def test_closures() -> None:
    w, bias = np.array([1.0, 0.5, 0.3]), 0.1

    def f(loop):
        def run(x):
            return np.sum(loop(lambda k, y: np.tanh(w * y + bias), x, 12, 3))

        return run

    found, expected = grad_closure(f(checkpointed_loop))(X), grad_closure(f(plain_loop))(X)
    close(found["w"], expected["w"])
    close(found["bias"], expected["bias"])


@pytest.mark.parametrize("order", [1, 2])
def test_arrays_that_are_written_to_after_the_loop(order: int) -> None:
    """Those that the step closes over, and those in the state, count with the values that they had in the loop."""
    rates = np.full(5, 2.0)

    def closed_over(x: Any) -> Any:
        rates[:] = 2.0
        y = checkpointed_loop(lambda k, s: s * rates[k], x * x, 5, snapshots=2)
        rates[1] = 100.0
        return y

    def in_the_state(x: Any) -> Any:
        rates[:] = 2.0
        y, _ = checkpointed_loop(lambda k, s: (s[0] * s[1][k], s[1]), (x * x, rates), 5, snapshots=2)
        rates[1] = 100.0
        return y

    for f in (closed_over, in_the_state):
        derivative = f
        for _ in range(order):
            derivative = grad(derivative)
        assert derivative(3.0) == {1: 192.0, 2: 64.0}[order]
        y, pullback = vjp(f, 3.0)
        assert (y, pullback(1.0), pullback(1.0)) == (288.0, (192.0,), (192.0,))


def test_a_state_that_begins_with_constants() -> None:
    def f(loop, x):
        total, _ = loop(lambda k, state: (state[0] + state[1] * x, state[1] * x), (0.0, 1.0), 6, 2)
        return total

    assert grad(functools.partial(f, checkpointed_loop))(1.5) == grad(functools.partial(f, plain_loop))(1.5)
    # and one that the answer does not depend on
    assert grad(lambda x: checkpointed_loop(lambda k, s: (s[0], s[1] * x), (1.0, x), 5, 2)[0] * x)(3.0) == 1.0


def test_complex_states() -> None:
    def f(loop, z):
        return np.abs(loop(lambda k, y: y * np.exp(1j * z) + z, z, 7, 2)) ** 2

    z = 0.3 - 0.4j
    close(grad(functools.partial(f, checkpointed_loop))(z), grad(functools.partial(f, plain_loop))(z))


# Errors


@pytest.mark.parametrize(
    ("n", "snapshots", "error", "message"),
    [
        (-1, 3, ValueError, "n must be at least 0, and is -1"),
        (2.0, 3, TypeError, r"n must be an integer, and is 2\.0"),
        (5, 0, ValueError, "snapshots must be at least 1, and is 0"),
        (5, None, TypeError, "snapshots must be an integer, and is None"),
    ],
)
def test_counts_that_are_none(n, snapshots, error, message) -> None:
    with pytest.raises(error, match=rf"checkpointed_loop\(<lambda>\): {message}"):
        checkpointed_loop(lambda k, x: x, 1.0, n, snapshots)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda x: (x, x), r"step\(0, state\) must return the structure of the state"),
        (lambda x: None, "must return the structure of the state"),
        (lambda x: np.sum(x), r"state was float64 of shape \(3,\) and becomes float64 of shape \(\)"),
        (lambda x: x.astype(np.float32), "becomes float32"),
        (lambda x: 1j * x, "becomes complex128"),
        (lambda x: 3, "becomes not a floating-point number"),
    ],
)
def test_a_step_that_returns_another_kind_of_state(returned, message) -> None:
    with pytest.raises(TypeError, match=message):
        checkpointed_loop(lambda k, x: returned(x), X, 3, 2)
    with pytest.raises(TypeError, match=rf"checkpointed_loop\(<lambda>\): .*{message}"):
        grad(lambda x: np.sum(checkpointed_loop(lambda k, x: returned(x), x, 3, 2)))(X)


def test_an_integer_that_becomes_a_float() -> None:
    with pytest.raises(TypeError, match=r"state\['n'\] was not a floating-point number and becomes float64"):
        checkpointed_loop(lambda k, s: {"n": s["n"] + 0.5}, {"n": 0}, 3, 2)


def test_variables_are_not_to_be_assigned() -> None:
    calls = 0

    def step(k, x):
        nonlocal calls
        calls += 1
        return x * x

    with pytest.raises(ControlError, match=r"step assigns to 'calls' by nonlocal.*make it a part of the state"):
        grad(lambda x: checkpointed_loop(step, x, 3, 2))(1.0)


class Model:
    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def __call__(self, k, x):
        return self.weight * x


def test_a_number_found_nowhere_else_is_an_error() -> None:
    with pytest.raises(ControlError, match=r"checkpointed_loop\(Model\): the result depends on a number .* Pass it"):
        grad(lambda w: checkpointed_loop(Model(w), w, 3, 2))(3.0)
    with pytest.raises(ControlError, match="Pass it as an argument"):
        grad(lambda w: checkpointed_loop(Model(w), 1.0, 3, 2))(3.0)


def test_a_step_that_is_not_deterministic() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(ControlError, match="draw random numbers outside of it"):
        grad(lambda x: checkpointed_loop(lambda k, y: y * generator.random(), x, 5, 2))(1.0)


def test_what_a_loop_closes_over_and_then_overwrites_has_the_derivative_zero() -> None:
    x = np.array([[0.5, 0.3]])

    def f(x: Any) -> Any:
        c = x * 1.0

        def step(k: int, z: Any) -> Any:
            t = np.sin(z) * c
            t[0] = np.sin(z[-1])
            return t

        return np.sum(checkpointed_loop(step, x * 1.0, 2, 1))

    expected = np.cos(np.sin(x)) * np.cos(x)
    np.testing.assert_allclose(grad(f)(x), expected)
    np.testing.assert_allclose(linearize(f, x)[1](np.ones((1, 2))), np.sum(expected))
    np.testing.assert_allclose(grad(lambda v: linearize(f, x)[1](v))(x), expected)


@pytest.mark.parametrize("derivative", [grad, lambda f: jacrev(jacrev(f)), hessian, lambda f: jacobian(grad(f))])
def test_a_step_does_not_write_to_what_another_run_of_it_gets(derivative: Any) -> None:
    """The derivatives would be those of other steps."""

    def closing(x: Any) -> Any:
        factor = np.array([1.0, 2.0])

        def step(k: int, y: Any) -> Any:
            y = np.sin(y * factor)
            factor[...] = 1.5 * factor
            return y

        return np.sum(checkpointed_loop(step, x, 5, 2))

    def with_a_state(x: Any) -> Any:
        def step(k: int, state: Any) -> Any:
            y, count = state
            count += 1
            return np.sin(y * count), count

        return np.sum(checkpointed_loop(step, (x, np.array([1, 2])), 5, 2)[0])

    for f in (closing, with_a_state):
        with pytest.raises(ValueError, match="read-only") as raised:
            derivative(f)(np.array([0.5, 0.7]))
        assert "Write to a copy, y = x.copy()" in raised.value.__notes__[0]


def test_integers_in_the_state_are_the_callers_to_write_to() -> None:
    def f(x: Any) -> Any:
        y, count = checkpointed_loop(lambda k, s: (s[0] * s[1], s[1]), (x, np.array([1, 2])), 3, 2)
        count += 1
        return np.sum(y * count)

    np.testing.assert_allclose(grad(f)(np.ones(2)), [2.0, 24.0])
