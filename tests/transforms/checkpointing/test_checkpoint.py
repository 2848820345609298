"""Checkpoints: the derivatives are those of the function itself, and nothing in between is kept."""

from __future__ import annotations

import functools
import gc
import threading
import traceback
import tracemalloc
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiftreset_ad import (
    ControlError,
    EscapedNumberError,
    NumR,
    checkpointed_loop,
    fuse,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    lift,
    linearize,
    value,
    value_and_grad,
    vjp,
    zeros,
)
from shiftreset_ad.transforms.checkpointing.checkpoint import checkpoint

examples = settings(
    max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
X = np.array([0.5, -1.0, 2.0])
STEPS = [
    lambda a, b: (a + b, a * b),
    lambda a, b: (np.sin(a), b),
    lambda a, b: (a * 0.5, np.tanh(b) + a),
    lambda a, b: (b, a),
    lambda a, b: (np.where(a > b, a, b * 2.0), b),
    lambda a, b: (a, np.cumsum(b * 0.1)),
    lambda a, b: (a * np.sum(b * b) * 0.01, b[::-1]),
]


pytestmark = pytest.mark.usefixtures("only_what_is_new_is_looked_at")


def close(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def program(steps, wrap):
    """A random program in several parts, each a function of its own."""

    def part(steps):
        def run(a, b):
            for i in steps:
                a, b = STEPS[i](a, b)
            return a, b

        return wrap(run)

    def whole(x):
        a, b = x, 0.5 * x
        for each in steps:
            a, b = part(each)(a, b)
        return np.sum(a * b)

    return whole


programs = st.lists(st.lists(st.integers(0, len(STEPS) - 1), min_size=1, max_size=4), min_size=1, max_size=4)


@pytest.mark.slow
@examples
@given(programs)
def test_random_programs(steps) -> None:
    plain = program(steps, lambda run: run)
    for wrap in (checkpoint, lambda run: checkpoint(checkpoint(run))):
        f = program(steps, wrap)
        value_, gradient = value_and_grad(f)(X)
        assert value_ == plain(X)
        close(gradient, grad(plain)(X))
        v = np.array([0.3, 1.0, -0.7])
        expected = grad(lambda x: np.dot(grad(plain)(x), v))(X)  # noqa: B023
        close(grad(lambda x: np.dot(grad(f)(x), v))(X), expected)  # noqa: B023
        close(hvp(f, (X,), (v,)), expected)
        close(grad(lambda x: jvp(f, (x,), (v,))[1])(X), expected)  # noqa: B023
        close(jvp(lambda x: jvp(f, (x,), (v,))[1], (X,), (v,))[1], np.dot(expected, v))  # noqa: B023


def test_third_order() -> None:
    def f(x):
        return np.sin(x) * x * x

    def third(f, x):
        return grad(grad(grad(f)))(x)

    assert third(checkpoint(f), 0.7) == pytest.approx(third(f, 0.7), rel=1e-13)
    nested = checkpoint(lambda x: checkpoint(np.sin)(x) * checkpoint(lambda y: x * y)(x))
    assert third(nested, 0.7) == pytest.approx(third(f, 0.7), rel=1e-13)


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class State:
    position: Any
    steps: int


def test_structures_keywords_and_other_leaves() -> None:
    def f(pair, *rest, state, name="none"):
        assert name == "kept"
        assert rest == ("a", None)
        return {"sum": np.sum(pair.first * pair.second) + state.position, "state": State(pair.first, state.steps + 1)}

    def whole(f, x):
        result = f(Pair(x, 2.0 * x), "a", None, state=State(x[0], 3), name="kept")
        assert result["state"].steps == 4
        return result["sum"] * np.sum(result["state"].position)

    close(grad(lambda x: whole(checkpoint(f), x))(X), grad(lambda x: whole(f, x))(X))
    assert checkpoint(f)(Pair(X, X), "a", None, state=State(1.0, 3), name="kept")["sum"] == np.sum(X * X) + 1.0


def test_it_is_the_same_function() -> None:
    def f(x: float, scale: float = 2.0) -> float:
        """Docstring."""
        return x * scale

    assert checkpoint(f).__name__ == "f"
    assert checkpoint(f).__doc__ == "Docstring."
    assert checkpoint(f)(3.0) == 6.0
    assert checkpoint(f)(3.0, scale=1.0) == 3.0
    assert checkpoint(functools.partial(f, scale=5.0))(3.0) == 15.0
    assert grad(checkpoint(functools.partial(f, scale=5.0)))(3.0) == 5.0
    assert grad(checkpoint(np.sum))(X).tolist() == [1.0, 1.0, 1.0]


# Memory


def held_after(f, x):
    """The arrays that a program holds at its end, before the way back, in units of the size of `x`."""
    held = []

    def whole(x):
        y = f(x)
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0] - before)
        return np.sum(y)

    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        grad(whole)(x)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    return held[0] / x.nbytes, peak / x.nbytes


def chain(x):
    for _ in range(20):
        x = np.sin(x)
    return x


def test_no_intermediate_is_kept() -> None:
    x = np.linspace(0.0, 1.0, 20_000)
    assert held_after(chain, x)[0] > 19
    assert held_after(checkpoint(chain), x)[0] < 2.5  # the answer, and a copy of the argument

    def five(f):
        return lambda x: f(f(f(f(f(x)))))

    assert held_after(five(checkpoint(chain)), x)[0] < 6.5
    assert held_after(five(chain), x)[1] > 100
    assert held_after(five(checkpoint(chain)), x)[1] < 40  # five answers, and one part with its adjoints


def test_nested_checkpoints_keep_less() -> None:
    x = np.linspace(0.0, 1.0, 20_000)

    def five(f):
        return lambda x: f(f(f(f(f(x)))))

    assert held_after(checkpoint(five(chain)), x)[1] > 100
    assert held_after(checkpoint(five(checkpoint(chain))), x)[1] < 42


def test_no_intermediate_is_kept_in_a_second_derivative() -> None:
    x = np.linspace(0.0, 1.0, 20_000)

    def slopes(f):
        def gradient(x):
            return grad(lambda x: np.sum(f(f(f(f(f(x)))))))(x)

        return gradient

    assert held_after(slopes(chain), x)[0] > 200
    assert held_after(slopes(checkpoint(chain)), x)[0] < 30
    assert held_after(slopes(checkpoint(chain)), x)[1] < 120


def test_the_operations_that_wait() -> None:
    """One operation for the function, and none of a scalar program in it."""

    def waiting(f):
        counts = []

        def whole(x):
            y = f(x)
            gc.collect()
            counts.append(sum(type(o) is NumR for o in gc.get_objects()))
            return y

        grad(whole)(0.5)
        return counts[0]

    def long(x):
        for _ in range(1000):
            x = x * 1.001
        return x

    assert waiting(long) > 1000
    assert waiting(checkpoint(long)) < 5


# What the function closes over


def test_parameters_in_closures() -> None:
    def whole(wrap, w, b):
        def layer(x, scale=b):
            return np.tanh(w * x + scale)

        layer = wrap(layer)
        return np.sum(layer(layer(X)))

    def gradients(wrap):
        return grad(functools.partial(whole, wrap), argnums=(0, 1))(np.array([1.0, 2.0, 3.0]), 0.5)

    for found, expected in zip(gradients(checkpoint), gradients(lambda f: f), strict=True):
        close(found, expected)


def test_nothing_is_kept_of_what_depends_on_parameters_only() -> None:
    def f(w):
        def layer(x):
            for _ in range(20):
                x = np.sin(x * w)
            return x

        return checkpoint(layer)(np.ones(w.shape))

    assert held_after(f, np.linspace(0.0, 1.0, 20_000))[0] < 5  # copies of arguments and constants among them


def test_variables_have_in_the_second_run_what_they_had_in_the_first() -> None:
    def whole(wrap, x):
        y, rows = x, np.zeros(3)
        for i in range(4):
            rows[:] = i + X
            y = wrap(lambda y: np.sin(y) * (i + 1) + np.sum(rows * x))(y)  # noqa: B023
        return y

    assert grad(functools.partial(whole, checkpoint))(0.7) == grad(functools.partial(whole, lambda f: f))(0.7)


def test_a_large_array_that_changes_meanwhile() -> None:
    rows = np.ones(10_000)

    def whole(x):
        y = checkpoint(lambda x: np.sum(rows * x))(x)
        rows[:] = 2.0
        return y

    assert grad(whole)(3.0) == 10_000.0


def test_nonlocal_variables_get_numbers_with_derivatives() -> None:
    def whole(wrap, x):
        total, calls = 0.0, 0

        def f(y):
            nonlocal total, calls
            calls += 1
            total = total + y * x
            return np.sin(y)

        f = wrap(f)
        y = f(f(f(x)))
        assert calls == 3
        return y * total

    assert grad(functools.partial(whole, checkpoint))(0.7) == pytest.approx(
        grad(functools.partial(whole, lambda f: f))(0.7), rel=1e-14
    )
    assert value_and_grad(functools.partial(whole, checkpoint))(0.7)[0] == whole(lambda f: f, 0.7)


class Model:
    def __init__(self, weight: Any) -> None:
        self.weight = weight
        self.seen: list[Any] = []

    def __call__(self, x):
        return self.weight * x


def test_a_number_found_nowhere_else_is_an_error() -> None:
    def whole(w):
        model = Model(w)
        return checkpoint(model)(w * 2.0)

    with pytest.raises(ControlError, match=r"checkpoint\(Model\): the result depends on a number .* Pass it as an arg"):
        grad(whole)(3.0)
    with pytest.raises(ControlError, match="Pass it as an argument"):
        grad(lambda w: checkpoint(Model(w))(2.0))(3.0)
    assert grad(lambda w: checkpoint(lambda w, x: Model(w)(x))(w, w * 2.0))(3.0) == 12.0
    # A number that the result does not depend on
    assert grad(lambda w: checkpoint(lambda x: x * len(Model(w).seen) if x > Model(w).weight else x)(w))(3.0) == 1.0


def test_numbers_that_are_put_elsewhere_cannot_be_used() -> None:
    model = Model(1.0)

    def f(x):
        model.seen.append(2.0 * x)
        return x * x

    def whole(x):
        y = checkpoint(f)(x)
        assert value(model.seen[0]) == 6.0
        return y + model.seen[0]

    with pytest.raises(EscapedNumberError, match="computed inside the function is used outside of it"):
        grad(whole)(3.0)


def test_numbers_of_every_level_that_are_put_elsewhere_cannot_be_used() -> None:
    model = Model(1.0)

    def f(x, w):
        model.seen[:] = [2.0 * x, 2.0 * w]
        return x * w

    for i in range(2):
        with pytest.raises(EscapedNumberError, match="computed inside the function is used outside of it"):
            grad(lambda w: grad(lambda x: checkpoint(f)(x, w) + model.seen[i])(3.0))(1.0)  # noqa: B023


def test_a_list_with_numbers_must_not_be_changed() -> None:
    def appends(xs):
        xs.append(xs[0] * 2.0)
        return xs[0]

    with pytest.raises(ControlError, match=r"checkpoint\(appends\): argument 0 has been changed in place"):
        grad(lambda x: checkpoint(appends)([x]))(3.0)
    log: list[str] = []
    assert grad(checkpoint(lambda x: log.append("run") or x * x))(3.0) == 6.0
    assert log == ["run", "run"]


@pytest.mark.parametrize("outer", [lambda f: f, jacobian, jacrev])
def test_a_plain_array_of_a_function_that_runs_again_is_not_written_to(outer) -> None:
    """A later run would begin with what an earlier one has written."""

    def closing(x):
        step = np.array([1.0, 2.0])

        def f(y):
            answer = y * step
            step[...] = 2.0 * step
            return answer

        return np.sum(np.sin(checkpoint(f)(x)))

    def given(x):
        def f(y, step):
            answer = y * step
            step *= 2
            return answer

        return np.sum(np.sin(checkpoint(f)(x, np.array([1, 2]))))

    for f in (closing, given):
        with pytest.raises(ValueError, match="read-only") as raised:
            outer(grad(f))(np.array([0.5, 0.7]))
        assert "may be run again" in raised.value.__notes__[0]
        assert "make the array inside of the function" in raised.value.__notes__[0]


def test_a_plain_array_that_is_returned_is_the_very_one() -> None:
    weights = np.array([1, 2])

    def f(x):
        y, same, (again,) = checkpoint(lambda x, w: (x * w, w, [weights]))(x, weights)
        assert same is again is weights
        return np.sum(y)

    np.testing.assert_array_equal(grad(f)(np.ones(2)), [1.0, 2.0])


def test_in_place() -> None:
    def f(x):
        total = lift(np.zeros(3), like=x)
        y = np.sin(x)
        for _ in range(3):
            y += x
            total += y * y
        return total

    def after(x):
        y = checkpoint(f)(x)
        y += x * y
        y *= 2.0
        return np.sum(y)

    def plain(x):
        y = f(x)
        y = y + x * y
        return np.sum(2.0 * y)

    close(grad(after)(X), grad(plain)(X))

    def before(x):  # the operand changes after the call, and has its old value on the way back
        z = 2.0 * x
        y = checkpoint(f)(z)
        z += y
        return np.sum(z * y)

    close(grad(before)(X), grad(lambda x: np.sum((2.0 * x + f(2.0 * x)) * f(2.0 * x)))(X))

    def writes(x):
        x += 1.0
        return np.sum(x)

    with pytest.raises(TypeError, match="is an argument of a function that may be run again"):
        grad(lambda x: checkpoint(writes)(2.0 * x))(X)


@pytest.mark.parametrize("outer", [grad, lambda f: lambda x: jvp(f, (x,), (1.0,))[1]], ids=["reverse", "forward"])
def test_an_array_that_is_made_inside_belongs_to_the_levels_of_the_arguments_only(outer: Any) -> None:
    """The function does not see `x`, and so its answer does not depend on it."""

    @checkpoint
    def squares(y: Any) -> Any:
        array = zeros(2)
        array[0] = y
        array[1] = 1.0
        return np.sum(array * array)

    assert grad(lambda y: squares(y) * 3.0)(2.0) == 12.0
    assert outer(lambda x: grad(lambda y: squares(y) * x)(5.0))(2.0) == 10.0
    assert outer(lambda x: grad(lambda y: squares(y) * x)(x))(2.0) == 8.0


# Going back several times, and many directions at once


def test_a_pullback_that_is_called_several_times() -> None:
    f = checkpoint(lambda x, w: (np.sin(x) * w, np.sum(x)))
    (y, s), pullback = vjp(f, X, 2.0)
    close(y, 2.0 * np.sin(X))
    for scale in (1.0, -3.0, 1.0):
        x_bar, w_bar = pullback((scale * X, None))
        close(x_bar, scale * 2.0 * X * np.cos(X))
        close(w_bar, scale * np.sum(X * np.sin(X)))
    close(pullback((None, 2.0))[0], [2.0, 2.0, 2.0])
    assert s == np.sum(X)


def test_jacobians_and_linearization() -> None:
    def f(x):
        return np.outer(np.sin(x), x * x)

    g, v = checkpoint(f), np.array([1.0, 0.5, -2.0])
    expected = jacobian(f)(X)
    for operator in (jacobian, jacrev, jacfwd):
        close(operator(g)(X), expected)
    _, pushforward = linearize(g, X)
    close(pushforward(v), expected @ v)
    close(hessian(lambda x: np.sum(g(x) ** 2))(X), hessian(lambda x: np.sum(f(x) ** 2))(X))
    close(jacrev(jacrev(g))(X), jacrev(jacrev(f))(X))
    close(jacrev(jacfwd(g))(X), jacrev(jacrev(f))(X))
    close(grad(lambda x: np.sum(np.sin(jacrev(g)(x))))(X), grad(lambda x: np.sum(np.sin(jacrev(f)(x))))(X))


def test_complex_numbers() -> None:
    def f(z):
        return np.exp(z * 1j) * z

    def whole(f, z):
        return np.abs(f(f(z))) ** 2

    z = 0.3 - 0.4j
    close(grad(functools.partial(whole, checkpoint(f)))(z), grad(functools.partial(whole, f))(z))
    close(grad(checkpoint(f), holomorphic=True)(z), grad(f, holomorphic=True)(z))


def test_a_result_that_nobody_uses_is_not_zero_times_infinity() -> None:
    def f(x, y):
        return np.sqrt(x), y * 2.0

    assert grad(lambda x: checkpoint(f)(x, x + 1.0)[1])(0.0) == 2.0
    assert grad(lambda x: checkpoint(f)(np.sqrt(x), x + 1.0)[1])(0.0) == 2.0  # x_bar of an argument nobody uses


# Errors


def test_exceptions_are_raised_at_the_line_of_the_user() -> None:
    def f(x):
        if x > 1.0:
            raise ZeroDivisionError("at the line of the user")
        return x * x

    def whole(x):
        try:
            checkpoint(f)(x + 1.0)
        except ZeroDivisionError as error:
            frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
            assert frames == ["whole", "trimmed_function", "f"]
            return checkpoint(f)(x)
        raise AssertionError

    assert grad(whole)(0.5) == 1.0
    with pytest.raises(ZeroDivisionError) as caught:
        grad(checkpoint(f))(2.0)
    assert caught.traceback[-1].name == "f"
    assert grad(f)(0.5) == 1.0


class Changing:
    """A function that is another one at its second run."""

    def __init__(self, *runs: Any) -> None:
        self.runs = iter(runs)

    def __call__(self, x):
        return next(self.runs)(x)


@pytest.mark.parametrize(
    "second",
    [
        lambda x: x * 2.0001,
        lambda x: (x, x),
        lambda x: np.stack([x, x]),
        lambda x: np.float32(1.0) if isinstance(x, float) else x.astype(np.float32),
        lambda x: 3,
    ],
)
def test_a_function_that_is_not_deterministic(second) -> None:
    f = Changing(lambda x: x * 2.0, second)
    with pytest.raises(ControlError, match=r"checkpoint\(Changing\): the function was run again .* another value"):
        grad(lambda x: checkpoint(f)(x) * 1.0)(3.0)
    assert grad(checkpoint(lambda x: x * x))(3.0) == 6.0


def test_random_numbers_are_drawn_outside() -> None:
    generator = np.random.default_rng(0)

    def dropout(x):
        return np.sum(x * (generator.random(3) < 0.5) * generator.random())

    with pytest.raises(ControlError, match="draw random numbers outside of it"):
        grad(checkpoint(dropout))(X)


def test_an_exception_in_the_second_run() -> None:
    def fails(x):
        raise ValueError("second")

    with pytest.raises(ValueError, match="second") as caught:
        grad(checkpoint(Changing(lambda x: x * 2.0, fails)))(3.0)
    assert caught.traceback[-1].name == "fails"
    assert grad(checkpoint(lambda x: x * x))(3.0) == 6.0


def test_conversions_are_refused_in_the_first_run_already() -> None:
    with pytest.raises(TypeError, match="would turn a number that is being differentiated into a constant"):
        grad(checkpoint(lambda x: x * float(x)))(3.0)
    with pytest.raises(TypeError, match=r"checkpoint: the function is 3\.0, which cannot be called"):
        checkpoint(3.0)


def test_escaped_numbers() -> None:
    kept = []
    grad(lambda x: kept.append(x) or x)(1.0)
    with pytest.raises(EscapedNumberError):
        checkpoint(lambda x: x * x)(kept[0])


def test_in_threads() -> None:
    f, found = checkpoint(lambda x: functools.reduce(lambda y, _: np.sin(y), range(100), x)), {}

    def work(i):
        found[i] = {grad(lambda x: f(f(x)))(0.1 * i) for _ in range(5)}

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        assert found[i] == {grad(lambda x: functools.reduce(lambda y, _: np.sin(y), range(200), x))(0.1 * i)}


def once(f):
    return lambda z: checkpointed_loop(lambda k, y: y + f(z), 0.0, 1, 1)


@pytest.mark.parametrize("operator", [checkpoint, fuse, once])
def test_zeros_inside_are_no_numbers_of_derivatives_that_the_function_does_not_see(operator):
    ones = np.ones(2)
    total = operator(lambda z: np.sum(zeros(2) + np.zeros_like(z) + z))
    assert grad(lambda x: x * total(ones))(3.0) == 2.0
    assert grad(lambda x: x * jvp(total, (ones,), (ones,))[1])(3.0) == 2.0
    assert grad(lambda x: np.sum(x * grad(total)(ones)))(3.0) == 2.0
