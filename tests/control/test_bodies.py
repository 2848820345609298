"""Workers: greenlets that wait for the next program, and what they must not keep."""

import contextvars
import gc
import subprocess
import sys
import textwrap
import threading
import weakref
from functools import partial

import numpy as np
import pytest
from greenlet import GreenletExit, getcurrent, greenlet

from shiftreset_ad import grad
from shiftreset_ad.control import Prompt, bodies, run
from shiftreset_ad.control.programs import _stand_in
from tests.greenlets import suspended_greenlets

VARIABLE = contextvars.ContextVar("VARIABLE")


@pytest.fixture(autouse=True)
def nobody_waits():
    bodies.waiting.clear()
    yield
    bodies.waiting.clear()


@pytest.fixture
def made(monkeypatch):
    """The workers that are made."""
    workers, init = [], bodies.Worker.__init__
    monkeypatch.setattr(bodies.Worker, "__init__", lambda worker, prompt: workers.append(init(worker, prompt)))
    return workers


def square(x):
    return x * x


def called_deep(function, depth):
    """Call a function below so many frames of Python."""
    return function() if depth == 0 else called_deep(function, depth - 1)


def called_below_c(function, depth):
    """Call a function below so many calls of C."""
    return function() if depth == 0 else next(map(partial(called_below_c, function), [depth - 1]))


def test_one_worker_runs_one_program_after_another(made):
    assert [grad(square)(x) for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert len(made) == 1


def test_nested_programs_have_a_worker_each(made):
    for _ in range(3):
        assert grad(lambda x: x * grad(lambda y: x * y * y)(x))(3.0) == 54.0
    assert len(made) == 2
    assert len(bodies.waiting) == 2


def test_an_exception_ends_the_worker(made):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            grad(lambda x: x / 0)(1.0)
        assert bodies.waiting == []
    assert grad(square)(3.0) == 6.0
    assert len(made) == 3


def test_a_worker_that_waits_keeps_nothing_of_the_program():
    class Big:
        pass

    def kept():
        big = Big()
        context, prompt = contextvars.copy_context(), Prompt()

        def program():
            VARIABLE.set(big)
            return big

        assert context.run(run, prompt, program, [].append) is big
        assert sys.getrefcount(prompt) == 2  # the name's, and the argument's here
        return weakref.ref(big), weakref.ref(program)

    assert [reference() for reference in kept()] == [None, None]
    assert len(bodies.waiting) == 1


def test_each_program_has_the_context_of_its_caller():
    first, second = contextvars.copy_context(), contextvars.copy_context()
    first.run(VARIABLE.set, 2.0)
    second.run(VARIABLE.set, 3.0)
    derivative = grad(lambda x: x * VARIABLE.get())
    assert [first.run(derivative, 1.0), second.run(derivative, 1.0), first.run(derivative, 1.0)] == [2.0, 3.0, 2.0]
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        grad(lambda x: np.log(x * 0.0))(1.0)


def test_a_worker_started_deep_does_not_wait(made):
    """It would count its calls from there: the limit of recursion would come too early."""
    derivative = partial(grad(square), 3.0)
    assert called_deep(derivative, bodies.SHALLOW) == 6.0
    assert bodies.waiting == []
    assert grad(lambda x: called_deep(lambda: x * x, sys.getrecursionlimit() - 200))(3.0) == 6.0


def test_a_worker_whose_stack_lies_where_the_drivers_is_does_not_wait_again(made):
    derivative = partial(grad(square), 3.0)
    assert derivative() == 6.0
    assert len(bodies.waiting) == 1
    assert called_below_c(derivative, 100) == 6.0
    assert bodies.waiting == []


def test_a_thread_of_its_own_has_workers_that_do_not_wait(made):
    assert grad(square)(3.0) == 6.0
    known, answers = suspended_greenlets(), []
    thread = threading.Thread(target=lambda: answers.extend(grad(square)(x) for x in (1.0, 2.0)))
    thread.start()
    thread.join()
    assert answers == [2.0, 4.0]
    assert len(made) == 3
    assert suspended_greenlets() <= known


@pytest.mark.parametrize("one_waits", [False, True])
def test_a_driver_of_the_users_is_not_kept_alive(one_waits):
    if one_waits:
        assert grad(square)(3.0) == 6.0
        assert len(bodies.waiting) == 1
    g = greenlet(lambda: grad(square)(3.0) + getcurrent().parent.switch())
    g.switch()
    died = weakref.ref(g)
    del g
    gc.collect()
    assert died() is None
    assert bodies.waiting == []


def test_a_greenlet_that_outlives_its_program_does_not_run_as_the_next_one():
    """It ends in its parent, as every greenlet does, and that is a worker that waits."""
    mine = []

    def f(x):
        mine.append(greenlet(lambda: "the end"))
        return x * x

    assert grad(f)(3.0) == 6.0
    assert len(bodies.waiting) == 1
    assert mine[0].switch() == "the end"
    assert grad(square)(3.0) == 6.0


def test_an_interrupt_goes_to_the_program_and_not_to_a_worker_that_waits():
    """The worker is the one that was last heard of, as it ran an inner program, which has ended since."""
    run(Prompt(), lambda: None, [].append)
    (waiting,) = bodies.waiting
    program = bodies.Body(Prompt())
    program.switch(lambda: getcurrent().parent.switch())
    throw, _ = _stand_in(program, waiting, (None, None), KeyboardInterrupt())
    assert throw.__self__ is program
    program.throw(GreenletExit)
    for ended in (program, waiting):
        with pytest.raises(KeyboardInterrupt):
            _stand_in(ended, waiting, (None, None), KeyboardInterrupt())
    assert waiting


def test_a_debugger_that_starts_later_sees_the_program(made):
    seen = []

    def trace(frame, event, argument):
        seen.append(frame.f_code.co_name)

    assert grad(square)(3.0) == 6.0
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert grad(square)(3.0) == 6.0
    finally:
        sys.settrace(before)
    assert "square" in seen
    assert len(made) == 2


ENDINGS = {
    "at once": "",
    "after a fork": "import os\nif os.fork() == 0:\n    assert grad(lambda x: x * x)(3.0) == 6.0\nelse:\n    os.wait()",
    "after a fork in a thread": """
        import os, threading
        def forked():
            if os.fork() == 0:
                assert grad(lambda x: x * x)(3.0) == 6.0
                os._exit(0)
            assert os.wait()[1] == 0
        thread = threading.Thread(target=forked)
        thread.start()
        thread.join()
        """,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_end_of_the_interpreter_with_a_worker_that_waits(ending):
    program = "from shiftreset_ad import grad\nassert grad(lambda x: x * x)(3.0) == 6.0\n"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program + textwrap.dedent(ENDINGS[ending])],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
