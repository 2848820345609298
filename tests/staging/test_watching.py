"""The watch over a recorded run: when it is on, and what it costs."""

from __future__ import annotations

import functools
import sys
import threading
from collections import Counter
from contextlib import suppress

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.optimize.training import sgd
from shiftreset_ad.staging import forms
from shiftreset_ad.staging.seen import monitoring
from shiftreset_ad.staging.seen.instructions import Instructions
from shiftreset_ad.staging.seen.reads import Reads
from shiftreset_ad.staging.seen.surroundings import Surroundings
from shiftreset_ad.staging.seen.watching import Watch
from shiftreset_ad.staging.steps import unwatched
from shiftreset_ad.staging.steps.trace import Trace

ONLY_IF_CHEAP = pytest.mark.skipif(not unwatched.IS_CHEAP, reason="the watch does not pause on this version of Python")


def program(x):
    y = x
    for _ in range(10):
        y = np.tanh(y * x)
    return np.sum(y)


@ONLY_IF_CHEAP
def test_recording_a_step_is_not_watched(seen):
    staged(grad(program))(np.ones(3))
    assert seen["program"] == 1
    assert not seen["Trace.add"]


@ONLY_IF_CHEAP
def test_the_watch_goes_on_after_an_error(monkeypatch):
    inside = []

    @unwatched.unwatched
    def failing():
        inside.append(sys.gettrace())
        raise ValueError("no step")

    def watch(frame, event, arg):
        return None

    before = sys.gettrace()
    monkeypatch.setattr(unwatched.watching, "by", watch)
    sys.settrace(watch)
    try:
        with pytest.raises(ValueError, match="no step"):
            failing()
        after = sys.gettrace()
    finally:
        sys.settrace(before)
    assert inside == [None]
    assert after is watch


def test_another_trace_function_sees_all_calls_and_goes_on(monkeypatch):
    names, before = Counter(), sys.gettrace()

    def tracer(frame, event, arg):
        names[frame.f_code.co_qualname] += event == "call"

    staged(program)(np.ones(3))  # so that code of the library is known to be left out
    sys.settrace(tracer)
    try:
        staged(program)(np.ones(3))
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert names["Trace.add"] >= 20


def test_what_is_the_users_own_is_watched_though_it_is_code_of_the_library(seen):
    """A function of ours that is staged itself is the program, also after it has been left out as library code."""
    from shiftreset_ad import nn

    staged(lambda x: np.sum(nn.softplus(x)))(np.ones(3))
    found = staged(nn.softplus)
    assert found(1.0) == found(1.0) == nn.softplus(1.0)
    assert found.report().startswith("staged(softplus) runs in steps")


def while_large(x):
    while x > 1.0:
        x = x / 2.0
    return x


@ONLY_IF_CHEAP
def test_rewriting_a_function_is_not_watched(seen):
    f = staged(lambda x: grad(while_large)(x))
    assert f(5.0) == f(5.0) == 0.125
    assert f.report().count("while x > 1.0") == 1
    assert seen["while_large"] >= 2
    assert not seen["CompiledWith.compiled"]  # neither of the function nor of its blocks
    assert not seen["Rewriter.function"]


@pytest.fixture
def recordings(monkeypatch):
    """The answers of all recordings."""
    found, recorded = [], forms.recorded

    def noted(*args, **options):
        found.append(recorded(*args, **options))
        return found[-1]

    monkeypatch.setattr(forms, "recorded", noted)
    return found


def test_what_an_operator_asks_on_its_way_back_is_not_recorded_twice(recordings):
    def f(x):
        return np.sum(np.linalg.slogdet(x)[1])

    x = np.eye(3) + 0.1
    derivative = staged(lambda x: grad(f)(x))
    np.testing.assert_array_equal(derivative(x), grad(f)(x))
    assert recordings[0][0].answers
    assert len(recordings) == 1


@pytest.mark.parametrize("derivative", [grad, lambda f: lambda x: grad(f)(x), lambda f: f])
def test_what_the_program_asks_is_recorded_in_the_rewritten_form(recordings, derivative):
    def f(x):
        return while_large(np.sum(np.linalg.slogdet(x * (np.eye(3) + 0.1))[1]))

    found = staged(derivative(f))
    np.testing.assert_array_equal(found(9.0), derivative(f)(9.0))
    assert len(recordings) == 2
    np.testing.assert_allclose(found(30.0), derivative(f)(30.0))
    np.testing.assert_allclose(found(300.0), derivative(f)(300.0))
    assert len(recordings) == 2


HAS_MONITORING = monitoring.monitoring is not None
ONLY_BY_MONITORING = pytest.mark.skipif(not HAS_MONITORING, reason="this version of Python has no sys.monitoring")


@ONLY_BY_MONITORING
def test_code_of_a_library_is_told_of_once(monkeypatch):
    told, entered = Counter(), Watch._entered

    def counted(self, frame):
        told[frame.f_code.co_qualname] += 1
        return entered(self, frame)

    monkeypatch.setattr(Watch, "_entered", counted)
    f = staged(lambda x: grad(program)(x) + program(x))
    f(np.ones(3))
    assert told["program"] == 2
    assert told["Trace.add"] == 1


@pytest.fixture(params=[pytest.param(True, marks=ONLY_BY_MONITORING, id="monitored"), pytest.param(False, id="traced")])
def engine(request, monkeypatch):
    """By what the run is watched."""
    if not request.param:
        monkeypatch.setattr(monitoring, "TOOLS", ())
    return request.param


FACTOR = {"k": 2.0}


def reads_a_factor(x):
    return x * FACTOR["k"]


def multiplied(x):
    return np.sum(x @ x @ x)


@pytest.mark.usefixtures("engine")
def test_what_other_threads_do_meanwhile_is_not_noted(recordings, monkeypatch):
    """Else what they read would be guarded. They run while NumPy multiplies matrices."""
    is_over, calls = threading.Event(), Counter()

    def beside():
        while not is_over.is_set():
            reads_a_factor(1.0)
            calls["beside"] += 1

    found, x = staged(multiplied), np.ones((600, 600))
    thread = threading.Thread(target=beside)
    thread.start()
    try:
        start = calls["beside"]
        found(x)
        assert calls["beside"] > start + 2
    finally:
        is_over.set()
        thread.join()
    monkeypatch.setitem(FACTOR, "k", 3.0)
    np.testing.assert_array_equal(found(x), multiplied(x))
    assert len(recordings) == 1


def thrown_into(x):
    def parts():
        try:
            yield x * 2.0
        except ValueError:
            yield x * FACTOR["k"]

    found = parts()
    return next(found) + found.throw(ValueError("no more")) * next(iter([x]))


def failing(x):
    try:
        return called_inside(x) / 0
    except ZeroDivisionError:
        return x * FACTOR["k"]


def called_inside(x):
    raise ZeroDivisionError(f"{type(x).__name__}")


class Second:
    """Python itself calls the method, so a branch that does is not written down."""

    def __index__(self):
        return 1


SECOND = Second()


def enters_other_code(x):
    return (x * [1.0, 2.0][SECOND] if x > 0.0 else x) * FACTOR["k"]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("f", [reads_a_factor, thrown_into, failing, enters_other_code])
def test_what_is_read_before_and_after_errors_is_noted(f, monkeypatch):
    found = staged(f)
    for factor in (2.0, 2.0, 3.0, 3.0, 2.0):
        monkeypatch.setitem(FACTOR, "k", factor)
        assert [found(x) for x in (1.5, 2.5, 1.5)] == [f(x) for x in (1.5, 2.5, 1.5)]
    assert found.report().startswith(f"staged({f.__name__}) runs in steps")


def through_a_generator(x):
    def parts():
        try:
            yield x
            yield [x, called_inside(x)]
        except ZeroDivisionError:
            yield (x, x)

    return [*parts()]


def in_a_library(x):
    try:
        return functools.reduce(lambda y, z: called_inside(y) + z, [x, x])
    except ZeroDivisionError as error:
        return len(f"{error}")


def with_values_below(x):
    for y in (x, x):
        try:
            z = [y, (y, called_inside(y))]
        except ZeroDivisionError:
            z = [y, y]
        finally:
            y = x
    return z


@ONLY_BY_MONITORING
@pytest.mark.parametrize(
    "f", [program, failing, thrown_into, through_a_generator, in_a_library, with_values_below, enters_other_code]
)
def test_sys_monitoring_tells_all_that_a_trace_function_is_told(f, monkeypatch):
    """Each instruction, with the length of the stack before it, and each answer. CPython 3.13.0 leaves some out."""
    told, before, leaves = [], Instructions.before, Watch._leaves

    def noted(self, watched, offset):
        before(self, watched, offset)
        told.append((watched.code.co_qualname, offset, len(watched.stack.all())))

    def left(self, frame, answer):
        leaves(self, frame, answer)
        told.append((frame.f_code.co_qualname, type(answer), self.line))

    monkeypatch.setattr(Instructions, "before", noted)
    monkeypatch.setattr(Watch, "_leaves", left)
    found = []
    for tools in (monitoring.TOOLS, ()):
        monkeypatch.setattr(monitoring, "TOOLS", tools)
        told.clear()
        seen = Surroundings(f)
        with monitoring.watch_over(Reads(seen, lambda x: x), seen.users, Trace()).on():
            f(2.0)
        found.append(list(told))
    monitored = iter(found[0])
    assert all(event in monitored for event in found[1])
    assert len(found[1]) > 10


def test_a_generator_that_has_begun_before_is_watched_after_an_error_is_thrown_into_it():
    def parts():
        try:
            yield 1.0
        except ValueError:
            yield FACTOR["k"]

    begun, seen = parts(), Surroundings(parts)
    reads = Reads(seen, lambda x: x)
    next(begun)
    with monitoring.watch_over(reads, seen.users, Trace()).on():
        assert begun.throw(ValueError("no more")) == 2.0
    assert parts.__code__ in reads.codes


@pytest.mark.usefixtures("engine")
def test_a_block_is_asked_about_solvers_of_ours_each_time():
    """They are written as the user's own code would be."""
    seen, names = Surroundings(program), []
    watch = monitoring.watch_over(Reads(seen, lambda x: x), seen.users, Trace())
    with watch.on():
        sgd(0.1)
        with watch.asking(lambda frame: names.append(frame.f_code.co_name)):
            sgd(0.1), sgd(0.2)
    assert names.count("sgd") == 2


class RefusedError(Exception):
    """A block refuses code."""


@pytest.mark.usefixtures("engine")
def test_the_watch_goes_on_after_a_block_has_refused_code():
    """An error in a trace function ends it."""
    trace, seen = Trace(), Surroundings(reads_a_factor)
    reads = Reads(seen, lambda x: x)
    watch = monitoring.watch_over(reads, seen.users, trace)

    def refuse(frame):
        raise RefusedError(frame.f_code.co_name)

    with watch.on():
        with pytest.raises(RefusedError, match="reads_a_factor"), watch.asking(refuse):
            reads_a_factor(2.0)
        thrown_into(2.0)
    assert thrown_into.__code__ in reads.codes


def without_steps(x):
    raise KeyError("no step")


@ONLY_BY_MONITORING
def test_the_tool_is_free_after_each_recording():
    for f in (program, without_steps):
        with suppress(KeyError):
            staged(f)(np.ones(3))
        assert not any(sys.monitoring.get_tool(tool) for tool in monitoring.TOOLS)
        assert not sys.monitoring.get_local_events(monitoring.TOOLS[0], f.__code__)


@ONLY_BY_MONITORING
def test_other_tools_are_told_of_all_calls_and_go_on():
    tools, names = (2, *monitoring.TOOLS), Counter()
    start = sys.monitoring.events.PY_START
    for tool in tools:  # so that a trace function watches
        sys.monitoring.use_tool_id(tool, "another one")
    sys.monitoring.register_callback(2, start, lambda code, offset: names.update([code.co_qualname]))
    sys.monitoring.set_events(2, start)
    try:
        for free in ((), (3,), (4,)):
            for tool in free:
                sys.monitoring.free_tool_id(tool)
            found = staged(grad(program))
            np.testing.assert_array_equal(found(np.ones(3)), grad(program)(np.ones(3)))
            assert found.report().startswith("staged(grad(program)) runs in steps")
            assert names["program"] == 3
            assert names["Trace.add"] >= 20
            names.clear()
        assert sys.monitoring.get_events(2) == start
    finally:
        sys.monitoring.set_events(2, 0)
        for tool in tools:
            if sys.monitoring.get_tool(tool) is not None:
                sys.monitoring.free_tool_id(tool)
