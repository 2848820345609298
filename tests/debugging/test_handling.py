"""Handlers of the user's: what they see, and what becomes of operations."""

import contextvars
import threading

import numpy as np
import optree
import pytest

from shiftreset_ad import (
    Handler,
    checkpoint,
    custom_vjp,
    debug,
    derivative,
    grad,
    handling,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    reset,
    shift,
    staged,
    trace,
    value_and_grad,
    vjp,
)
from shiftreset_ad.numbers.tags import watcher

X = np.array([0.5, 1.0, 2.0])


class Seen(Handler):
    """All that a handler is told."""

    def __init__(self):
        self.there_seen, self.back_seen = [], []

    def there(self, step):
        self.there_seen.append((step.name, step.part_of, step.level))

    def back(self, step, resume):
        self.back_seen.append(step.name)
        resume()


def seen(call, *args):
    with handling(handler := Seen()):
        answer = call(*args)
    return answer, handler


def model(x):
    return np.sum(np.sin(x) * x)


DERIVATIVES = {
    "grad": lambda f: grad(f)(X),
    "value_and_grad": lambda f: value_and_grad(f)(X),
    "vjp": lambda f: vjp(f, X)[1](1.0),
    "jvp": lambda f: jvp(f, (X,), (np.ones(3),)),
    "linearize": lambda f: linearize(f, X)[1](np.ones(3)),
    "jacobian": lambda f: jacobian(f)(X),
    "hessian": lambda f: hessian(f)(X),
    "hvp": lambda f: hvp(f, (X,), (np.ones(3),)),
    "derivative": lambda f: derivative(lambda t: f(t * X), 3)(1.0),
    "grad of grad": lambda f: grad(lambda x: np.sum(grad(f)(x)))(X),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_a_handler_does_not_change_a_derivative(name):
    expected = DERIVATIVES[name](model)
    answer, handler = seen(DERIVATIVES[name], model)
    for found, known in zip(optree.tree_leaves(answer), optree.tree_leaves(expected), strict=True):
        np.testing.assert_array_equal(found, known)
    assert {"numpy.sin", "*", "numpy.sum"} <= {name for name, _, _ in handler.there_seen}


def test_the_way_back_is_last_in_first_out():
    _, handler = seen(grad(model), X)
    assert handler.there_seen == [("numpy.sin", "", 1), ("*", "", 1), ("numpy.sum", "", 1)]
    assert handler.back_seen == ["numpy.sum", "*", "numpy.sin"]


def test_parts_of_a_larger_operation_name_it():
    _, handler = seen(grad(np.ptp), X)
    assert [(name, part_of) for name, part_of, _ in handler.there_seen] == [
        ("numpy.max", "numpy.ptp"),
        ("numpy.min", "numpy.ptp"),
        ("-", "numpy.ptp"),
    ]


class Values(Handler):
    """The values and adjoints of the steps, as text."""

    def __init__(self):
        self.lines = []

    def there(self, step):
        self.lines.append(f"{step.name} of {step.operands} is {step.value}, of shape {step.shape}: {step.line}")

    def back(self, step, resume):
        before = step.adjoints_of_operands
        resume()
        self.lines.append(f"{step.name}: {step.adjoint} takes {before} to {step.adjoints_of_operands}")


def product(x, y):
    return x * y


def test_what_a_step_has():
    with handling(values := Values()):
        grad(lambda x: product(x, 3.0) + x)(2.0)
    assert values.lines == [
        "* of [2.0, 3.0] is 6.0, of shape (): return x * y",
        "+ of [6.0, 2.0] is 8.0, of shape (): grad(lambda x: product(x, 3.0) + x)(2.0)",
        "+: 1.0 takes [None, None] to [1.0, 1.0]",
        "*: 1.0 takes [1.0] to [4.0]",
    ]


def test_a_step_says_where_it_is():
    steps = []

    class Kept(Handler):
        def there(self, step):
            steps.append(step)

    with handling(Kept()):
        grad(lambda x: product(x, 3.0))(2.0)
    (step,) = steps
    assert step.filename == __file__
    assert step.lineno == product.__code__.co_firstlineno + 1
    assert repr(step) == f"<* at level 1, line {step.lineno}: return x * y>"


def test_looking_at_an_adjoint_of_parts_does_not_change_it():
    """Contributions to elements wait to be summed; an outer derivative sums them by operations."""

    class Looking(Handler):
        def back(self, step, resume):
            _ = step.adjoint, step.adjoints_of_operands
            resume()
            _ = step.adjoint, step.adjoints_of_operands

    def f(x):
        y = x * x
        return sum(np.sin(y[i] * y[i + 1]) for i in range(2))

    def second(x):
        return np.sum(grad(f)(x) ** 2)

    expected = grad(second)(X)
    with handling(Looking()):
        np.testing.assert_array_equal(grad(second)(X), expected)


def test_looking_at_an_array_of_objects_carries_out_no_operation():
    def f(t):
        return np.sum(np.asarray([t, 2.0 * t]) * np.array([3.0, 4.0]))

    operands = []

    class Operands(Handler):
        def there(self, step):
            operands.append([list(x) if np.ndim(x) else x for x in step.operands])

    with handling(Operands()):
        assert grad(f)(2.0) == 11.0
    assert operands == [[2.0, 2.0], [2.0, 3.0], [4.0, 4.0], [[6.0, 16.0]]]
    _, handler = seen(grad(f), 2.0)
    assert len(handler.there_seen) == len(handler.back_seen) == len(operands)
    assert "numpy" in str(trace(grad(f), 2.0))


def test_a_write_has_the_item_that_is_written():
    items = []

    class Writes(Handler):
        def there(self, step):
            if step.name == "x[i] = v":
                items.append(step.value)

    def f(x):
        y = x.copy()
        y[0] = 7.0
        y[1:] *= 2.0
        y[1] = x[0]
        return np.sum(y * x)

    with handling(Writes()):
        gradient = grad(f)(X)
    np.testing.assert_array_equal(gradient, grad(f)(X))
    assert items[0] == 7.0
    np.testing.assert_array_equal(items[1], [2.0, 4.0])
    assert items[2] == 0.5


def test_the_way_back_of_an_inner_derivative_is_an_operation_of_the_outer_one():
    found = []

    class During(Handler):
        def there(self, step):
            found.append((step.level, step.name, step.during and step.during.level))

    with handling(During()):
        assert grad(lambda x: grad(lambda y: y * y * x)(x))(3.0) == 12.0
    assert {during for level, _, during in found if level == 2} == {None}
    assert (1, "*", 2) in found


def test_after_an_inner_way_back_the_operation_around_it_goes_on():
    """The way back of a checkpoint runs its function again, goes back through it, and adds to its argument."""
    steps = trace(grad(grad(lambda x: checkpoint(lambda y: y * y * y)(x) * x)), 2.0)
    assert steps.answer == 48.0
    assert steps[3].level == 2  # the checkpoint, of the inner `grad`
    assert [(step.name, step.level) for step in steps if step.during == 3] == [("", 1), ("+", 1)]


# What becomes of an operation


def test_without_resume_nothing_goes_back_through_an_operation():
    class Without(Handler):
        def back(self, step, resume):
            if step.name != "numpy.sin":
                resume()

    with handling(Without()):
        np.testing.assert_allclose(grad(model)(X), np.sin(X))
    np.testing.assert_allclose(grad(model)(X), np.sin(X) + X * np.cos(X))


@pytest.mark.parametrize("way", ["there", "back"])
def test_an_error_of_a_handler_ends_the_derivative(way):
    class Stop(Handler):
        pass

    def stop(self, *args):
        raise TimeoutError(way)

    setattr(Stop, way, stop)
    with pytest.raises(TimeoutError, match=way), handling(Stop()):
        grad(model)(X)
    assert watcher.get() is None
    np.testing.assert_allclose(grad(model)(X), np.sin(X) + X * np.cos(X))


def test_an_error_of_the_program_has_its_line():
    @custom_vjp
    def broken(x):
        return x * 1.0

    broken.defvjp(lambda x: (x * 1.0, None), lambda kept, y_bar: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught, handling(Seen()):
        grad(lambda x: broken(x))(2.0)
    assert "grad(lambda x: broken(x))(2.0)" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("way", ["there", "back"])
def test_a_derivative_is_suspended_and_resumed(way):
    """By `shift` in a handler, up to a reset around the derivative; two at a time, in turns."""

    class Pause(Handler):
        def there(self, step):
            if way == "there":
                shift(lambda rest: rest)

        def back(self, step, resume):
            if way == "back":
                shift(lambda rest: rest)
            resume()

    def job(x):
        def body():
            with handling(Pause()):
                return ("done", grad(model)(x))

        return lambda: contextvars.copy_context().run(reset, body)

    jobs = [job(X)(), job(2.0 * X)()]
    times = 0
    while not all(isinstance(state, tuple) for state in jobs):
        jobs = [state if isinstance(state, tuple) else state() for state in jobs]
        times += 1
    assert times == 3
    for (_, gradient), x in zip(jobs, (X, 2.0 * X), strict=True):
        np.testing.assert_allclose(gradient, np.sin(x) + x * np.cos(x))


# Where a context holds


def test_a_context_ends():
    with handling(handler := Seen()):
        pass
    grad(model)(X)
    assert not handler.there_seen


def test_the_innermost_context_holds():
    with handling(outer := Seen()), handling(inner := Seen()):
        grad(model)(X)
    assert not outer.there_seen
    assert len(inner.there_seen) == 3
    with debug(), handling(inner), np.errstate(all="ignore"):
        assert np.isinf(grad(np.sqrt)(0.0))


def test_other_threads_are_not_seen():
    with handling(handler := Seen()):
        thread = threading.Thread(target=lambda: grad(model)(X))
        thread.start()
        thread.join()
    assert not handler.there_seen


def test_staged_functions_are_seen():
    f = staged(grad(model))
    expected = f(X)
    answer, handler = seen(f, X)
    np.testing.assert_array_equal(answer, expected)
    assert len(handler.there_seen) == len(handler.back_seen) == 3


def test_a_checkpoint_is_seen_and_what_runs_again_in_it():
    _, handler = seen(grad(lambda x: checkpoint(model)(x) * 2.0), X)
    assert [name for name, _, _ in handler.there_seen].count("numpy.sin") >= 1
    assert "numpy.sin" in handler.back_seen


def test_a_derivative_that_began_before_is_not_seen():
    handler = Seen()

    def f(x):
        y = np.sin(x)
        with handling(handler):
            return y * x

    assert grad(f)(2.0) == pytest.approx(np.sin(2.0) + 2.0 * np.cos(2.0))
    assert not handler.there_seen
