"""Loops and branches as native code: the bits of the function, its errors, memory, and interrupts."""

import gc
import resource
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from shiftreset_ad import cond, fori_loop, grad, hvp, jvp, staged, value_and_grad, while_loop
from shiftreset_ad.staging.native import control, frames, slots, stack
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from tests.staging.native.natively import check_control, native, native_and_steps, needs_native

pytestmark = needs_native

POINTS = [(2.0,), (3.0,), (0.5,), (17.0,), (2.0,)]


def newton(x):
    return while_loop(lambda y: abs(y * y - x) > 1e-12 * x, lambda y: (y + x / y) / 2, x)


def bisection(x):
    def body(ends):
        low, high = ends
        middle = (low + high) * 0.5
        return cond(middle * middle * middle < x, lambda: (middle, high), lambda: (low, middle))

    return while_loop(lambda ends: ends[1] - ends[0] > 1e-13, body, (0.0 * x, x + 1.0))[0]


def total(x, rounds):
    return while_loop(
        lambda state: state[0] < rounds, lambda state: (state[0] + 1, state[1] + x / (1.0 + state[1])), (0, x)
    )[1]


def nested(x):
    def body(y):
        return y + while_loop(lambda t: t > 1.0, lambda t: t * 0.7 - 0.01 * x * t, y) + 1.0

    return while_loop(lambda y: y < 20.0, body, x)


def of_two_kinds(x):
    """Python's float in the first round, and NumPy's afterwards."""
    return while_loop(lambda y: y > 1.0, lambda y: np.sqrt(y) / (y - 0.125), x)


@pytest.mark.parametrize("f", [newton, bisection, nested, of_two_kinds])
@pytest.mark.parametrize("operator", [lambda f: f, grad, lambda f: grad(grad(f))])
def test_a_loop_has_the_bits_of_the_function(f, operator):
    code = check_control(operator(f), *POINTS)
    assert "br i1" in code.text


def test_a_fork_in_every_derivative():
    def f(x):
        y = cond(x > 1.0, lambda: x * x, lambda: cond(x < -1.0, lambda: -x, lambda: x * 3.0))
        return cond(y > 4.0, lambda: y * np.sin(x), lambda: y + x)

    points = [(np.float64(x),) for x in (2.5, 0.5, -3.0, 1.0, -0.0)]
    for g in (f, grad(f), grad(grad(f)), lambda x: jvp(f, (x,), (1.5,)), lambda x: hvp(f, (x,), (2.0,))):
        check_control(g, *points)


def test_many_rounds_take_chunks_of_memory():
    f = grad(total)
    code = check_control(f, (2.0, 10), (2.0, 0), (2.0, 1), (3.0, 1000), (2.5, 20_000))
    assert "call ptr @new_chunk" in code.text


@pytest.mark.slow
def test_memory_is_given_back():
    f = grad(total)
    entry, bad = native(f, 2.0, 10).entry(), native(lambda x, n: grad(total)(x, n) / x, 2.0, 10).entry()
    resident()

    def use():
        for _ in range(20):
            entry(2.0, 200_000)
            bad(0.0, 200_000)

    use()
    before = resident()
    use()
    assert resident() - before < 4 * 2**20


def resident():
    """The largest memory that the process has had, in bytes."""
    gc.collect()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.slow
def test_frames_that_no_visit_needs_are_released():
    """A derivative in each round: the frames of its loop are needed in this round only."""

    def f(x, rounds):
        def inner(y):
            return while_loop(lambda s: s[0] < 500, lambda s: (s[0] + 1, s[1] * 0.99 + 0.01 * y), (0, y))[1]

        return fori_loop(0, rounds, lambda i, y: y - 0.1 * grad(lambda y: inner(y) * y)(y), x)

    code = check_control(f, (2.0, 3), (2.0, 0), (3.0, 2), (2.5, 50))
    assert "call void @release" in code.text
    entry = code.entry()
    entry(2.0, 100)
    before = resident()
    entry(2.0, 30_000)
    assert resident() - before < 4 * 2**20


def test_chunks_of_any_length(monkeypatch):
    monkeypatch.setattr(frames, "BEGIN", [line.replace("8192", "128") for line in frames.BEGIN])
    for f in (newton, nested, bisection):
        check_control(grad(f), *POINTS)
        check_control(grad(grad(f)), *POINTS)


def test_the_derivative_of_a_size_in_a_loop():
    f = lambda x: while_loop(lambda y: abs(y) < 5.0, lambda y: y * 2.0 - abs(y - x) - 0.5, x)  # noqa: E731
    for kind in (float, np.float64):
        check_control(grad(grad(lambda x: f(x) * x)), *[(kind(x),) for x in (-1.5, 0.25, -0.125)])


# Loops of plain Python, whose bounds are arguments


def in_a_range(x, start, stop, step):
    for i in range(start, stop, step):
        x = x * 0.5 + np.sin(x) * i
    return x


def in_all_rounds(x, rounds):
    for _ in range(rounds):
        x = x * 0.5 + np.sin(x)
    return x


def backwards(x, rounds):
    for i in range(rounds, 0, -1):
        x = x * 0.75 + np.cos(x) / i
    return x


def as_long_as(x, rounds):
    i = 0
    while i < rounds:
        x, i = x * 0.5 + np.sin(x), i + 1
    return x


def with_a_break(x, rounds):
    for i in range(rounds):
        if x > 3.0:
            break
        x = x * 1.5 + 0.1 * i
    return x


def with_a_continue(x, rounds):
    for i in range(rounds):
        if x > 3.0:
            x = x - 2.0
            continue
        x = x * 1.5 + 0.1 * i
    return x


def with_remainders(x, rounds):
    for i in range(rounds):
        x = x * 1.25 if i % 3 == 0 else x * 0.5 + (i // 2) * 0.1 + (i & 1)
    return x


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("operator", [lambda f: f, value_and_grad, lambda f: grad(grad(f))])
@pytest.mark.parametrize(
    ("f", "bounds"),
    [
        (in_a_range, [(1, 8, 2), (0, 0, 1), (5, -5, -3), (2, 9, 4)]),
        *[(f, [(5,), (0,), (-2,), (9,), (1,)]) for f in (in_all_rounds, backwards, as_long_as)],
        *[(f, [(5,), (0,), (9,), (1,)]) for f in (with_a_break, with_a_continue, with_remainders)],
    ],
)
def test_a_loop_of_plain_python_with_bounds_that_are_arguments(f, bounds, operator):
    """One record serves all bounds, and it is native code that answers."""
    g = staged(operator(f))
    for x in (0.25, np.float64(0.5)):
        for bound in (*bounds, *bounds):
            np.testing.assert_allclose(g(x, *bound), operator(f)(x, *bound), rtol=1e-12)
    assert "by NumPy" not in g.report()


# Where native code leaves


def test_it_leaves_where_a_round_would_raise_an_error():
    def f(x):
        return while_loop(lambda y: y < 10.0, lambda y: y + 1.0 / (y - 3.0) + 3.0, x)

    check_control(f, (1.0,), (3.0,), (4.0,), (1.5,), leaves=1)
    check_control(grad(f), (1.0,), (3.0,), (4.0,), leaves=1)


def test_it_leaves_before_a_loop_that_would_have_no_end():
    def f(x):
        y = 1.0 / x
        return while_loop(lambda z: z < y, lambda z: z + 1.0, x)

    check_control(f, (0.5,), (0.0,), (0.25,), leaves=1)


def test_it_leaves_where_numpy_would_warn_in_a_later_round():
    def f(x):
        return while_loop(lambda y: y[0] < 3, lambda y: (y[0] + 1, np.float64(1.0) * y[1] * y[1]), (0, x))[1] * 1.0

    code = native(lambda x: 2.0 * np.float64(1.0) * f(x), 2.0)
    assert code.entry()(2.0) == [2.0 * f(2.0)]
    assert code.entry()(1e200) is None


def test_it_leaves_if_an_answer_is_nan():
    def f(x):
        return cond(x > 0.0, lambda: x * 2.0, lambda: x * np.inf)

    code, steps = native_and_steps(f, 1.0)
    entry = code.entry()
    assert entry(2.0) == [4.0]
    assert entry(-2.0) == [-np.inf]
    assert entry(0.0) is None
    with pytest.raises(ArithmeticError, match="NaN"):
        steps([0.0])


def test_integers_that_grow_too_long():
    f = lambda x, n: while_loop(lambda s: s[1] < x, lambda s: (s[0] * 3, s[1] + 1.0), (n, 0.0))[0]  # noqa: E731
    check_control(f, (3.0, 5), (30.0, 7), (50.0, 1), (2.0, -3), leaves=1)


# Answers of Python's type or of NumPy's


@pytest.mark.parametrize(
    "f",
    [
        of_two_kinds,
        lambda x: value_and_grad(of_two_kinds)(x),
        lambda x: jvp(of_two_kinds, (x,), (1.5,)),
        lambda x: cond(x > 2.0, lambda: np.sqrt(x), lambda: -x) * 3,
        lambda x: while_loop(lambda y: y > 1.0, lambda y: cond(y > 2.0, lambda: np.sqrt(y), lambda: y * 0.25), x),
        lambda x: while_loop(lambda s: s[0] > 1.0, lambda s: (s[0] * 0.5, s[0] > np.tanh(s[0])), (x, True))[1],
        lambda x: cond(x > 2.0, lambda: (x, np.sin(x)), lambda: (np.cos(x), x)),
        lambda x: [while_loop(lambda y: y > x, np.sin, while_loop(lambda y: y > 1.0, lambda y: y - 1.0, x)), x],
    ],
)
@pytest.mark.parametrize("length", [1, 250])
def test_answers_have_the_type_of_the_rounds(monkeypatch, f, length):
    monkeypatch.setattr(slots, "STEPS_OF_A_PART", length)
    for kind in (float, np.float64):
        check_control(f, *[(kind(x),) for x in (2.5, 0.5, 1.0, 17.0, 1.5)])


def test_an_array_without_axes_is_no_answer():
    with pytest.raises(NoNativeFormError, match="it returns an array"):
        native(lambda x: while_loop(lambda y: y > 1.0, lambda y: np.where(y > 2.0, y * 0.5, 0.5), x), 2.5)


def test_a_logical_not_of_a_boolean_of_two_kinds():
    def f(x):
        def body(state):
            i, y, flag = state
            return i + 1, np.sin(y), ~(y > 0.5) & flag

        return while_loop(lambda s: s[0] < 4, body, (0, x, np.bool(True)))[1] * np.float64(1.0)

    check_control(f, (np.float64(0.75),), (np.float64(-2.0),))


# Interrupts


def test_a_loop_can_be_interrupted():
    entry = native(lambda x, n: fori_loop(0, n, lambda i, y: y * 0.5 + 1.0, x), 2.0, 3).entry()
    for seconds in (0.05, 0.3):
        with pytest.raises(TimeoutError, match="late"):
            interrupted(lambda: entry(2.0, 2**50), seconds)
    assert entry(2.0, 3) == [2.0]


def test_a_staged_loop_without_end_can_be_interrupted():
    f = staged(lambda x, y: while_loop(lambda s: s > y, lambda s: s * 0.5, x))
    for _ in range(4):
        assert f(4.0, 1.0) == 1.0
    assert "@look" in f.llvm[0]
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        interrupted(lambda: f(4.0, -1.0), 0.1, KeyboardInterrupt)
    assert time.perf_counter() - start < 1.0


def interrupted(run, seconds, error=TimeoutError):
    def late(*_):
        raise error("late")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
def test_frames_are_freed_when_a_loop_is_interrupted():
    entry = native(lambda x, n: grad(total)(x, n), 2.0, 3).entry()
    with pytest.raises(TimeoutError):
        interrupted(lambda: entry(2.0, 2**50), 0.1)
    before = resident()
    for _ in range(10):
        with pytest.raises(TimeoutError):
            interrupted(lambda: entry(2.0, 2**50), 0.05)
    assert resident() - before < 256 * 2**20


def test_other_threads_have_their_turn(monkeypatch):
    monkeypatch.setattr(control, "STEPS_BETWEEN_LOOKS", 2**12)
    entry = native(lambda x, n: fori_loop(0, n, lambda i, y: y * 0.5 + 1.0, x), 2.0, 3).entry()
    seen = []
    thread = threading.Thread(target=lambda: seen.append(entry(2.0, 3)))

    def late(*_):
        thread.start()
        signal.signal(signal.SIGALRM, later)
        signal.setitimer(signal.ITIMER_REAL, 0.2)

    def later(*_):
        raise TimeoutError(f"{seen}")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(TimeoutError, match=r"\[\[2.0\]\]"):
            entry(2.0, 2**50)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        thread.join()


def require_at_the_same_time(entry, long, short):
    """A short run begins after a long one, in another thread, and ends before it."""
    finished = {}

    def run(name, args):
        entry(*args)
        finished[name] = time.perf_counter()

    thread = threading.Thread(target=run, args=("long", long))
    thread.start()
    time.sleep(0.02)
    run("short", short)
    thread.join()
    assert finished["short"] < finished["long"]


@pytest.fixture
def one_look(monkeypatch):
    """A run looks once, at its beginning, so that it has the lock to its end if it does not release it."""
    for module in (control, stack):
        monkeypatch.setattr(module, "STEPS_BETWEEN_LOOKS", 2**50)
        monkeypatch.setattr(module, "STEPS_AT_FIRST", 2**50 - 2**13)


@pytest.mark.usefixtures("one_look")
def test_other_threads_run_at_the_same_time_as_a_loop():
    entry = native(lambda x, n: fori_loop(0, n, lambda i, y: y * 0.5 + 1.0, x), 2.0, 3).entry()
    require_at_the_same_time(entry, (2.0, 2**27), (2.0, 3))
    assert entry(2.0, 3) == [2.0]


def test_threads_share_a_program():
    entry = native(lambda x, n: grad(total)(x, n), 2.0, 3).entry()
    expected = [entry(0.5 + i, 20_000 + i) for i in range(8)]
    with ThreadPoolExecutor(4) as executor:
        found = list(executor.map(lambda i: entry(0.5 + i % 8, 20_000 + i % 8), range(80)))
    assert found == expected * 10


def test_threads_share_a_program_of_large_arrays():
    def f(x):
        return np.sum(np.sin(x) * np.exp(-x)), np.cos(x) * x

    xs = [np.linspace(0.1, 1.0 + i, 2**15) for i in range(4)]
    code = native(lambda x: list(f(x)), xs[0])
    assert "call void @release_lock" in code.text
    entry = code.entry()
    expected = [entry(x) for x in xs]
    with ThreadPoolExecutor(4) as executor:
        for k, (total, array) in enumerate(executor.map(lambda i: entry(xs[i % 4]), range(80))):
            assert total == expected[k % 4][0]
            assert np.array_equal(array, expected[k % 4][1])
