"""What is left behind: after an answer, after an exception, and at the end of the interpreter."""

import contextvars
import gc
import inspect
import os
import signal
import subprocess
import sys
import textwrap
import threading
import traceback
import tracemalloc
import warnings
import weakref
from contextlib import suppress

import numpy as np
import pytest
from greenlet import GreenletExit, getcurrent, greenlet

import shiftreset_ad
from shiftreset_ad import ControlError, EscapedNumberError, grad, reset, shift, value, value_and_grad
from tests.greenlets import suspended_greenlets

LIBRARY = os.path.dirname(shiftreset_ad.__file__)
VARIABLE = contextvars.ContextVar("VARIABLE", default="default")
KINDS = [ValueError, KeyboardInterrupt, GeneratorExit, SystemExit, GreenletExit, StopIteration, StopAsyncIteration]
KINDS += [ZeroDivisionError, RecursionError, RuntimeError, ControlError, AttributeError, TypeError]


def state():
    return {
        "recursion limit": sys.getrecursionlimit(),
        "collector": (gc.isenabled(), gc.get_threshold(), gc.get_debug(), len(gc.callbacks)),
        "context": dict(contextvars.copy_context().items()),
        "variable": VARIABLE.get(),
        "errors": (np.geterr(), np.geterrcall()),
        "warnings": (warnings.filters, list(warnings.filters), warnings.showwarning),
        "greenlet": getcurrent(),
        "trace": (sys.gettrace(), sys.getprofile()),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook),
        "handled": sys.exc_info(),
    }


pytestmark = pytest.mark.usefixtures("only_what_is_new_is_looked_at")


@pytest.fixture(scope="module", autouse=True)
def nothing_else_is_frozen(only_what_is_new_is_looked_at):
    """Once for all tests, as to count what is frozen takes 0.1 s."""
    frozen = gc.get_freeze_count()
    yield
    assert gc.get_freeze_count() <= frozen  # those that are freed are no longer counted


@pytest.fixture(autouse=True)
def everything_as_before():
    VARIABLE.set("of the test")
    known, before = suspended_greenlets(), state()
    yield
    assert grad(lambda x: x * x * x)(2.0) == 12.0
    assert grad(grad(lambda x: np.sum(x * x * x)))(2.0) == 12.0
    after = state()
    for name in before:
        assert after[name] == before[name], name
    if not suspended_greenlets() <= known:
        gc.collect()  # the tracebacks that pytest.raises keeps are in cycles
    assert suspended_greenlets() <= known


class Thing:
    """Something that can be seen to have gone."""


# Exceptions raised in the function


def deep(level, x, action):
    """`level` grads in one another, and then `action`."""
    if level == 0:
        return action(x)
    return x * grad(lambda y: deep(level - 1, x * y, action))(x)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [0, 1, 3])
def test_an_exception_arrives_unchanged(kind, level):
    error = kind("this one")
    cause = KeyError("cause")

    def fail(x):
        x = x * x
        raise error from cause

    before = suspended_greenlets()
    with pytest.raises(kind) as caught:
        grad(lambda x: deep(level, x, fail))(3.0)
    assert caught.value is error
    assert error.__cause__ is cause
    assert error.args == ("this one",)
    del caught
    error.__traceback__ = None
    assert suspended_greenlets() <= before  # without the collector


@pytest.mark.parametrize("kind", KINDS)
def test_an_exception_that_the_outer_function_catches(kind):
    def fail(y):
        y = y * y
        raise kind

    def f(x):
        y = x * x
        try:
            grad(lambda z: deep(2, x * z, fail))(x)
        except kind:
            y = y * x
        return y

    assert grad(f)(2.0) == 12.0


@pytest.mark.parametrize("kind", KINDS)
def test_an_exception_leaves_nothing_to_the_collector(kind):
    def f(x):
        thing = Thing()
        things.append(weakref.ref(thing))
        y = x * x
        raise kind(y and "thing")

    things = []
    gc.disable()
    try:
        for _ in range(3):
            with suppress(kind):
                grad(lambda x: grad(f)(x))(np.float64(2.0))
        assert [thing() for thing in things] == [None] * 3
    finally:
        gc.enable()


def test_an_exception_runs_finally_blocks_and_context_managers_once():
    log = []

    def f(x):
        try:
            x = x * x
            try:
                raise ValueError
            finally:
                log.append(value(x * x))
        finally:
            log.append(value(x + x))
        return x

    with pytest.raises(ValueError):  # noqa: PT011
        grad(f)(3.0)
    assert log == [81.0, 18.0]


def test_an_exception_of_the_backward_pass():
    """Errors that were asked for are raised where the derivative is computed."""
    with np.errstate(divide="raise"):
        with pytest.raises(FloatingPointError):
            grad(lambda x: np.sum(np.sqrt(x)))(np.array([1.0, 0.0]))
        with pytest.raises(FloatingPointError):
            grad(lambda x: x * grad(lambda y: np.sum(np.sqrt(y)) * x)(np.array([0.0]))[0])(2.0)
        assert np.geterr()["divide"] == "raise"
    assert np.isinf(grad(lambda x: np.sum(np.sqrt(x)))(np.array([1.0, 0.0]))[1])


def test_an_exception_during_the_handling_of_another():
    def f(x):
        try:
            raise KeyError("first")
        except KeyError:
            raise ValueError(value(x * x)) from None

    try:
        raise OSError("outside")
    except OSError:
        with pytest.raises(ValueError, match=r"9\.0") as caught:
            grad(f)(3.0)
        assert isinstance(sys.exc_info()[1], OSError)
    assert isinstance(caught.value.__context__, KeyError)
    assert caught.value.__suppress_context__


def test_exception_groups():
    def f(x):
        try:
            raise ExceptionGroup("group", [ValueError(x * x), KeyError(x)])
        except* ValueError as group:
            found = group.exceptions[0].args[0]
        except* KeyError:
            pass
        return found * x

    assert grad(f)(2.0) == 12.0


def test_system_exit_keeps_its_code():
    with pytest.raises(SystemExit) as caught:
        grad(lambda x: sys.exit(int(value(x * x))))(3.0)
    assert caught.value.code == 9


# Interrupts


@pytest.fixture
def interruptible():
    """SIGINT as it is in the foreground: a shell starts a background process, such as these tests, with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_raised_in_the_function():
    def f(x):
        y = x * x
        signal.raise_signal(signal.SIGINT)
        return y * x

    with pytest.raises(KeyboardInterrupt):
        grad(f)(2.0)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_the_function_catches():
    def f(x):
        y = x * x
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            y = y * x
        return y

    assert grad(f)(2.0) == 12.0


@pytest.fixture
def interrupted():
    """Calls a function and interrupts it after some time, and a second time if so wanted: its answer, or None."""
    left = 0

    def interrupt(signum, frame):
        nonlocal left
        if left:
            left -= 1
            raise KeyboardInterrupt

    def call(seconds, function, again=0.0):
        nonlocal left
        answer, left = None, 2 if again else 1
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, seconds, again)
                answer = function()
                left = 0
            except KeyboardInterrupt as error:
                left = 0
                error.__traceback__ = error.__context__ = answer = None
        except KeyboardInterrupt:  # the second, while the first is dealt with here
            answer = None
        signal.setitimer(signal.ITIMER_REAL, 0)
        return answer

    callbacks, gc.callbacks[:] = gc.callbacks[:], []  # they are others', and would be interrupted, too
    old = signal.signal(signal.SIGALRM, interrupt)
    yield call
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)
    gc.callbacks[:] = callbacks


def forever(x):
    y = x
    while True:
        y = y + x
        y = y - x * 0.5
        z = grad(lambda w: w * x * y)(x)  # noqa: B023
        y = z * 0.5


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a finalizer, Python drops it
def test_interrupts_at_random_times_of_a_long_loop(interrupted):
    known = suspended_greenlets()
    for i in range(300):
        interrupted(0.0003 + i * 0.000_011, lambda: grad(forever)(1.0))
        if i % 30 == 0:
            assert suspended_greenlets() <= known
            assert grad(lambda x: x * grad(lambda y: x * y * y)(x))(2.0) == 24.0  # 2 x^3
    assert suspended_greenlets() <= known


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a finalizer, Python drops it
def test_interrupts_of_the_backward_pass(interrupted):
    def f(x):
        y = x
        for _ in range(5_000):
            y = y * 1.0
        signal.setitimer(signal.ITIMER_REAL, delay)
        return y

    delay, answers = 1e-6, []
    for _ in range(60):
        delay *= 1.17
        answers.append(interrupted(10.0, lambda: grad(f)(3.0)))
    assert answers.count(None) > 10
    assert set(answers) <= {None, 1.0}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a finalizer, Python drops it
def test_interrupts_that_the_function_catches_and_goes_on_from(interrupted):
    """An operation is done or not done, and never half done: y counts what was done, and so does the derivative."""

    def f(x):
        y = x
        try:
            while True:
                y = y + x
        except KeyboardInterrupt:
            return y

    answers = [interrupted(0.0002 + i * 0.000_003, lambda: value_and_grad(f)(1.0)) for i in range(300)]
    caught = [answer for answer in answers if answer is not None]  # some come just before or after
    assert len(caught) > 50
    assert all(y == derivative for y, derivative in caught)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a finalizer, Python drops it
def test_interrupts_that_come_twice(interrupted):
    """The second comes while the first is being dealt with, and may end that: but the next grad is right."""
    for i in range(150):
        run_in = contextvars.copy_context().run
        interrupted(0.0004, lambda: run_in(grad(forever), 1.0), again=0.000_02 + i * 0.000_000_5)  # noqa: B023
        assert grad(lambda x: x * grad(lambda y: x * y * y)(x))(2.0) == 24.0


# Tracebacks


def library_frames(error):
    return [
        frame.f_code.co_name
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename.startswith(LIBRARY)
    ]


@pytest.mark.parametrize("level", [0, 2])
def test_a_traceback_has_the_frames_of_the_user_only(level):
    def divide(x):
        return (x * x) / (x - x)

    def outer_function(x):
        return deep(level, x, divide)

    with pytest.raises(ZeroDivisionError) as caught:
        grad(outer_function)(3.0)
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert len(library_frames(caught.value)) == 1  # of the call of grad: the one that raises it
    own = [name for name in names if name not in library_frames(caught.value)]
    assert own == [
        inspect.currentframe().f_code.co_name,
        "outer_function",
        *["deep", "<lambda>"] * level,
        "deep",
        "divide",
    ]


def test_a_traceback_names_the_line_of_the_operation():
    def f(x):
        y = x * x
        return y / 0.0  # this line

    with pytest.raises(ZeroDivisionError) as caught:
        grad(f)(3.0)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line.endswith("# this line")


def test_a_traceback_of_a_wrong_argument_is_short():
    with pytest.raises(TypeError) as caught:
        grad(lambda x: x)("text")
    assert len(traceback.extract_tb(caught.value.__traceback__)) <= 6


# State that is shared with the function


def test_context_variables_are_shared_in_both_directions():
    def f(x):
        assert VARIABLE.get() == "outside"
        VARIABLE.set("inside")
        y = x * x
        assert VARIABLE.get() == "inside"

        def inner(z):
            assert VARIABLE.get() == "inside"
            VARIABLE.set("further inside")
            return z * z

        return y * grad(inner)(x)

    def program():
        VARIABLE.set("outside")
        derivative = grad(f)(2.0)
        assert VARIABLE.get() == "further inside"
        return derivative

    assert contextvars.copy_context().run(program) == 24.0


def test_a_context_of_its_own_inside_the_function():
    def f(x):
        def in_copy():
            VARIABLE.set("in the copy")
            y = x * x
            assert VARIABLE.get() == "in the copy"
            return y * x

        y = contextvars.copy_context().run(in_copy)
        assert VARIABLE.get() == "of the test"
        return y

    assert grad(f)(2.0) == 12.0


def test_the_context_of_a_thread_that_has_none():
    seen = []

    def work():
        assert getcurrent().gr_context is None
        seen.append(grad(lambda x: (VARIABLE.set("inside"), x * x)[1])(3.0))
        seen.append(VARIABLE.get())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [6.0, "inside"]


def test_errstate_is_shared():
    with np.errstate(divide="raise", over="ignore"):

        def f(x):
            assert np.geterr()["divide"] == "raise"
            with pytest.raises(FloatingPointError):
                np.log(x - x)
            with np.errstate(divide="ignore"):
                assert np.isinf(value(np.log(x - x)))
            np.seterr(over="raise")
            return x * x

        assert grad(f)(np.float64(3.0)) == 6.0
        assert np.geterr()["over"] == "raise"


def test_what_the_function_sets_stays_set():
    def f(x):
        sys.setrecursionlimit(limit + 100)
        gc.disable()
        return x * x

    limit = sys.getrecursionlimit()
    try:
        assert grad(f)(3.0) == 6.0
        assert sys.getrecursionlimit() == limit + 100
        assert not gc.isenabled()
    finally:
        sys.setrecursionlimit(limit)
        gc.enable()


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was_inside_and_after(enabled):
    threshold = gc.get_threshold()
    gc.set_threshold(701, 11, 12)
    (gc.enable if enabled else gc.disable)()
    try:
        grad(lambda x: sum(x * i for i in range(3000)))(1.0)
        with pytest.raises(ValueError):  # noqa: PT011
            grad(lambda x: int("x" * int(value(x))))(1.0)
        assert gc.isenabled() == enabled
        assert gc.get_threshold() == (701, 11, 12)
    finally:
        gc.set_threshold(*threshold)
        gc.enable()


def test_a_warning_of_the_function_is_the_users_to_see():
    with pytest.warns(UserWarning, match="from the function"):
        assert grad(lambda x: (warnings.warn("from the function", stacklevel=1), x * x)[1])(3.0) == 6.0


# Numbers that outlive their grad


def leak(x0=3.0):
    leaked = []
    grad(lambda x: leaked.append(x) or leaked.append(x * x) or x * x)(x0)
    return leaked


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x * 2.0,
        lambda x: 2.0 - x,
        lambda x: x + x,
        lambda x: -x,
        np.sin,
        lambda x: np.sum(x),
        lambda x: np.stack([x, x]),
        lambda x: grad(lambda y: x * y)(2.0),
        lambda x: grad(lambda y: y * y)(x),
        lambda x: grad(lambda y: x)(2.0),
    ],
)
def test_a_number_used_after_its_grad(operation):
    for number in leak():
        with pytest.raises(EscapedNumberError, match="after its derivative has finished"):
            operation(number)


def test_the_value_of_a_number_after_its_grad(capsys):
    x, y = leak()
    assert (value(x), value(y)) == (3.0, 9.0)
    print(y)  # noqa: T201
    assert capsys.readouterr().out == "NumR(9.0, level=1)\n"
    assert f"{y:.2f}" == "9.00"
    assert y > x
    for convert in (float, int, np.asarray):
        with pytest.raises(EscapedNumberError):
            convert(y)


def test_the_value_of_an_array_after_its_grad():
    leaked = []
    grad(lambda x: leaked.append(x) or np.sum(x))(np.array([1.0, 2.0]))
    assert value(leaked[0]).tolist() == [1.0, 2.0]
    with pytest.raises(EscapedNumberError):
        np.sum(leaked[0])
    with pytest.raises(EscapedNumberError):
        leaked[0][0]


@pytest.mark.parametrize("x", [3.0, np.array([1.0, 2.0])])
def test_a_number_of_an_inner_grad_in_the_outer_function(x):
    def use(action):
        def f(x):
            leaked = []
            grad(lambda y: leaked.append(y * y * np.sum(x)) or y)(2.0)
            return action(x, leaked[0])

        return f

    for action in (
        lambda x, leaked: np.sum(x) * leaked,
        lambda x, leaked: leaked,
        lambda x, leaked: leaked + 1.0,
        lambda x, leaked: np.sum(x * leaked),
    ):
        with pytest.raises(EscapedNumberError):
            grad(use(action))(x)
    assert value_and_grad(use(lambda x, leaked: np.sum(x) * value(leaked)))(x)[0] == 4 * np.sum(x) ** 2


def test_a_generator_that_outlives_its_grad():
    def squares(x):
        yield x
        yield x * x

    escaped = []

    def f(x):
        escaped.append(squares(x))
        return next(escaped[0]) * x

    assert grad(f)(3.0) == 6.0
    with pytest.raises(EscapedNumberError):
        next(escaped[0])


def test_a_number_in_a_greenlet_or_thread_that_outlives_its_grad():
    errors, home = [], getcurrent()

    def work(x):
        home.switch()
        try:
            x * x
        except EscapedNumberError as error:
            errors.append(str(error))

    def f(x):
        g = greenlet(work, home)
        kept.append(g)
        g.parent = getcurrent()
        g.switch(x)
        return x * x

    kept = []
    assert grad(f)(3.0) == 6.0
    kept[0].parent = home
    kept[0].switch()
    assert "after its derivative has finished" in errors.pop()


# Memory


def test_nothing_keeps_arrays_alive_after_grad():
    def arguments():
        x, factor = np.array([1.0, 2.0]), np.array([3.0, 4.0])
        arrays.extend([weakref.ref(x), weakref.ref(factor)])
        return x, factor

    def f(x, factor):
        return np.sum(x * factor * x + np.sin(factor) * 0.0)

    def g(t):
        return np.sum(grad(lambda x, factor: f(x, factor) * t)(*arguments()))

    arrays = []
    gc.disable()
    try:
        assert grad(f)(*arguments()).tolist() == [6.0, 16.0]
        assert grad(g)(2.0) == 22.0
        with suppress(TypeError):
            grad(lambda x, factor: x * factor)(*arguments())  # no scalar
        assert len(arrays) == 6
        assert [array() for array in arrays] == [None] * 6
    finally:
        gc.enable()


def test_reference_counts_are_as_before():
    x, c = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    before = sys.getrefcount(x), sys.getrefcount(c)
    gc.disable()
    try:
        for _ in range(5):
            grad(lambda x: np.sum(x * c) * np.sum(x[0] * c))(x)
            value_and_grad(lambda x: (np.sum(np.dot(x, c)), x), has_aux=True)(x)
        assert (sys.getrefcount(x), sys.getrefcount(c)) == before
    finally:
        gc.enable()


@pytest.mark.parametrize("fails", [False, True])
def test_grad_leaves_nothing_to_the_collector(fails):
    def f(x):
        thing = Thing()
        things.append(weakref.ref(thing))
        y = x
        for _ in range(100):
            y = y * x
        y = y * grad(lambda z: z * x * y)(x)
        if fails:
            raise ValueError
        return y

    things = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            try:
                grad(f)(1.0)
            except ValueError:
                assert fails
        assert [thing() for thing in things] == [None] * 3
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_memory_falls_while_the_backward_pass_runs():
    n, size = 50, 100_000
    used = []

    def f(x):
        y = x
        for _ in range(n):
            y = np.sin(y)
        used.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.reset_peak()
        return np.sum(y)

    x = np.ones(size)
    tracemalloc.start()
    try:
        base = tracemalloc.get_traced_memory()[0]
        gradient = grad(f)(x)
        peak = tracemalloc.get_traced_memory()[1]
        del gradient
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    forward = used[0] - base
    assert forward >= n * size * 8
    assert peak - base < forward + 8 * size * 8  # some adjoints, and not one for each operation
    assert after - base < size


def test_many_calls_do_not_grow():
    def f(x):
        return x * grad(lambda y: x * y * y)(x)

    def fail(x):
        raise ValueError(value(x * x))

    def calls(n):
        for _ in range(n):
            grad(f)(2.0)
            with suppress(ValueError):
                grad(fail)(2.0)

    calls(50)
    gc.collect()
    tracemalloc.start()
    try:
        calls(50)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        calls(500)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 5_000
    finally:
        tracemalloc.stop()


# greenlet's traps (docs/design/control.md)


def test_greenlet_exit_is_an_exception_and_not_an_answer():
    with pytest.raises(GreenletExit):
        grad(lambda x: (_ for _ in ()).throw(GreenletExit()))(1.0)


def test_greenlet_exit_sent_to_a_greenlet_that_is_in_grad():
    log, home = [], getcurrent()

    def f(x):
        try:
            y = x * x
            home.switch()
            return y
        finally:
            log.append(value(x * 2.0))

    known = suspended_greenlets()
    g = greenlet(grad(f))
    g.switch(3.0)
    assert isinstance(g.throw(GreenletExit), GreenletExit)
    assert log == [6.0]
    assert g.dead
    del g
    assert suspended_greenlets() <= known


def test_a_stray_switch_of_two_values_ends_the_function():
    log, main = [], getcurrent()

    def f(x):
        y = x * x
        try:
            main.switch(1, 2)
        except ControlError:
            log.append("the function must not go on")
        finally:
            log.append(value(y))
        return y

    known = suspended_greenlets()
    gc.disable()
    try:
        with suppress(ControlError):
            grad(f)(3.0)
            pytest.fail("nothing was raised")
        assert log == [9.0]
        assert suspended_greenlets() <= known
    finally:
        gc.enable()


def test_stop_iteration_of_a_generator_in_the_function():
    def f(x):
        numbers = iter([x, x * x])
        next(numbers)
        next(numbers)
        return next(numbers)

    with pytest.raises(StopIteration):
        grad(f)(1.0)
    assert list(map(grad(lambda x: next(iter([x * x]))), [2.0, 3.0])) == [4.0, 6.0]


def test_one_greenlet_for_a_grad_and_none_for_an_operation():
    counts = []

    def f(x):
        y = x
        for _ in range(1000):
            y = y * x
        counts.append(len(suspended_greenlets() - known))
        return y + grad(lambda z: counts.append(len(suspended_greenlets() - known)) or z * x)(x)

    known = suspended_greenlets()
    grad(f)(1.0)
    assert counts == [0, 1]  # beside the one that counts


def test_a_greenlet_suspended_in_another_thread_is_not_switched_to():
    def f(x):
        errors = []

        def work():
            try:
                np.multiply(x, 2.0)
            except ControlError as error:
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert "another thread" in str(errors[0])
        return x * x

    assert grad(f)(3.0) == 6.0


def test_the_body_is_ended_on_every_way_out():
    known = suspended_greenlets()
    gc.disable()
    try:
        for action in (lambda x: x, lambda x: x.nothing, lambda x: "text", lambda x: np.stack([x, x]), lambda x: 1.0):
            for wrap in (lambda g: g, lambda g: lambda x: x * grad(lambda y: g(y) * x)(x)):
                with suppress(AttributeError, TypeError):
                    grad(wrap(action))(1.0)
        assert suspended_greenlets() <= known
    finally:
        gc.enable()


def test_the_rest_of_a_grad_that_shift_took_away_is_unwound():
    log = []

    def f(x):
        try:
            y = x * x
            return shift(lambda k: "aborted") * y
        finally:
            log.append("unwound")

    known = suspended_greenlets()
    assert reset(lambda: grad(f)(1.0)) == "aborted"
    assert log == ["unwound"]
    assert suspended_greenlets() <= known


# The end of the interpreter


def run_script(script, *options):
    script = "import sys, threading, time\nimport numpy as np\nfrom shiftreset_ad import *\n" + textwrap.dedent(script)
    return subprocess.run(
        [sys.executable, "-X", "dev", *options, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )


ENDINGS = {
    "sys.exit in the function": (
        """
        def f(x):
            y = x * x
            sys.exit(7)
        grad(lambda x: grad(f)(x) * x)(1.0)
        """,
        7,
    ),
    "a daemon thread in a long loop": (
        """
        def f(x):
            while True:
                started.set()
                x = x * 1.0
        started = threading.Event()
        threading.Thread(target=grad(f), args=(1.0,), daemon=True).start()
        started.wait()
        time.sleep(0.01)
        """,
        0,
    ),
    "a daemon thread in a long loop of nested grads": (
        """
        def f(x):
            while True:
                started.set()
                grad(lambda y: y * 2.0)(1.0)
        started = threading.Event()
        threading.Thread(target=grad(f), args=(1.0,), daemon=True).start()
        started.wait()
        time.sleep(0.01)
        """,
        0,
    ),
    "a daemon thread in a long loop of shifts": (
        """
        def body():
            while True:
                started.set()
                shift(lambda k: k(1))
                reset(lambda: shift(lambda k: k(1)))
        started = threading.Event()
        threading.Thread(target=reset, args=(body,), daemon=True).start()
        started.wait()
        time.sleep(0.01)
        """,
        0,
    ),
    "a daemon thread that waits inside of grad": (
        """
        def f(x):
            y = x * x
            started.set()
            threading.Event().wait()
        started = threading.Event()
        threading.Thread(target=grad(f), args=(1.0,), daemon=True).start()
        started.wait()
        """,
        0,
    ),
    "a suspended generator of numbers": (
        """
        def numbers(x):
            try:
                while True:
                    x = x * x
                    yield x
            finally:
                x.primal
        kept = []
        def f(x):
            kept.append(numbers(x))
            return next(kept[0])
        assert grad(f)(3.0) == 6.0
        """,
        0,
    ),
    "a greenlet suspended inside of grad": (
        """
        from greenlet import greenlet, getcurrent
        home = getcurrent()
        def f(x):
            y = x * x
            home.switch()
        g = greenlet(grad(lambda x: grad(f)(x) * x))
        g.switch(3.0)
        """,
        0,
    ),
    "a greenlet suspended inside of grad and dropped": (
        """
        from greenlet import greenlet, getcurrent
        home = getcurrent()
        def f(x):
            y = x * x
            home.switch()
        greenlet(grad(f)).switch(3.0)
        """,
        0,
    ),
    "a coroutine suspended next to a grad": (
        """
        import asyncio
        async def work(x):
            await asyncio.sleep(100)
            return x * x
        def f(x):
            async def main():
                task = asyncio.create_task(work(x))
                await asyncio.sleep(0)
                return x * x
            return asyncio.run(main())
        assert grad(f)(3.0) == 6.0
        """,
        0,
    ),
    "a continuation of a grad that was never called": (
        """
        kept = []
        def f(x):
            y = x * x
            return shift(lambda k: kept.append(k)) * y
        reset(lambda: grad(f)(3.0))
        """,
        0,
    ),
    "a number that is still there": (
        """
        kept = []
        grad(lambda x: kept.append(x * x) or x)(3.0)
        kept.append(kept)
        """,
        0,
    ),
    "a grad in atexit": (
        """
        import atexit
        atexit.register(lambda: sys.exit() if grad(lambda x: x * x)(3.0) != 6.0 else None)
        """,
        0,
    ),
}


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_interpreter_ends_quietly(ending):
    script, code = ENDINGS[ending]
    finished = run_script(script)
    assert finished.stderr == ""
    assert finished.stdout == ""
    assert finished.returncode == code


def test_an_uncaught_exception_is_reported_as_ever():
    finished = run_script("grad(lambda x: x / 0.0)(1.0)")
    assert finished.returncode == 1
    assert finished.stderr.splitlines()[-1].startswith("ZeroDivisionError")
    assert "Exception ignored" not in finished.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_interpreter_as_ever():
    finished = run_script(
        """
        import signal
        def f(x):
            x = x * x
            signal.raise_signal(signal.SIGINT)
        grad(f)(1.0)
        """
    )
    assert finished.returncode == -signal.SIGINT
    assert finished.stderr.splitlines()[-1] == "KeyboardInterrupt"


def test_a_free_threaded_build_is_refused():
    finished = subprocess.run(
        [sys.executable, "-c", "import sys; sys._is_gil_enabled = lambda: False; import shiftreset_ad"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert finished.returncode == 1
    assert "ImportError: shiftreset_ad needs the global interpreter lock" in finished.stderr
