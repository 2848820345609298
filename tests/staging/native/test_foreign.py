"""Steps without a native form are carried out by NumPy, which native code calls: the bits are those of the steps."""

import gc
import signal
import sys
import threading
import traceback
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import fori_loop, grad
from shiftreset_ad.staging.native.compiled import InTurn, Native
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from shiftreset_ad.staging.native.program import Program
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.errors import FILENAME
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import Staged, call
from tests.staging.native.natively import (
    calls_pay,
    check,
    check_control,
    has_gate,
    native,
    native_and_steps,
    needs_native,
)

pytestmark = needs_native

MATRIX = np.array([[2.0, 0.3, 0.1], [0.1, 1.5, -0.2], [0.4, -0.1, 1.8]])
X = np.array([0.4, 0.7, -0.3])


@pytest.fixture(autouse=True)
def _calls_pay():
    """Small functions, in which a call of Python gains nothing, have native code here, too."""
    with calls_pay():
        yield


def _ways(f):
    return [way for signature in f._calls._signatures.values() for way in signature.ways]


def _of_a_step(function):
    """The function as one of NumPy's or of ours: an error of it is no error of the user's."""
    function.__code__ = function.__code__.replace(co_filename=FILENAME)
    return function


ROUNDS = {
    "sort": (lambda x: np.sort(x) * 0.9, ("numpy.sort",)),
    "solve": (lambda x: np.linalg.solve(MATRIX, x) * 0.9, ("numpy.linalg.solve",)),
    "inv": (lambda x: np.linalg.inv(MATRIX + np.outer(x, x)) @ x, ("numpy.linalg.inv",)),
    "det": (lambda x: x * np.linalg.det(np.outer(x, x) + MATRIX) * 0.1, ("numpy.linalg.det",)),
    "slogdet": (lambda x: x * 0.1 * np.linalg.slogdet(MATRIX + np.outer(x, x))[1], ("numpy.linalg.slogdet",)),
    "cholesky": (lambda x: np.linalg.cholesky(MATRIX @ MATRIX.T + np.outer(x, x)) @ x * 0.2, ("numpy.linalg",)),
    "einsum": (lambda x: np.einsum("ij,j->i", MATRIX, x) * 0.3, ("numpy.einsum",)),
    "kron": (lambda x: np.kron(x, x)[:3] * 0.9, ("numpy.kron",)),
    "percentile": (lambda x: x * 0.5 + np.percentile(x, 30.0) * 0.1, ()),
    "interp": (lambda x: np.interp(x, [-1.0, 0.0, 0.5, 1.0], [0.0, 0.1, 0.3, 1.0]), ("numpy.interp",)),
    "fft": (lambda x: np.abs(np.fft.fft(x)) * 0.3, ()),
    "convolve": (lambda x: np.convolve(x, [0.2, 0.5, 0.1], "same"), ()),
    "searchsorted": (lambda x: x * (1.0 + 0.1 * np.searchsorted([-0.2, 0.5, 0.9], x)), ("numpy.searchsorted",)),
}
WITHOUT_NATIVE_DERIVATIVES = {"fft": "it keeps an array of complex128"}
DIRECTION = np.array([0.5, -0.75, 0.25])


def _looped(body):
    def f(x, n):
        def round_(i, carried):
            s, x = carried
            return 0.5 * s + x[0] * 0.1, body(x) + 0.01 * s

        s, x = fori_loop(0, n, round_, (x[1] * 0.2, x))
        return s + np.sum(x)

    return f


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", ROUNDS)
def test_loops_have_the_bits_of_the_steps(name, order):
    body, called = ROUNDS[name]
    f = _looped(body)
    for _ in range(order):
        f = (lambda g: grad(lambda x, n: np.sum(g(x, n) * DIRECTION)))(f)
    points = [(X, 2), (X, 0), (X * 1.5, 3), (X[::-1].copy(), 5)]
    if not order or name not in WITHOUT_NATIVE_DERIVATIVES:
        code = check_control(f, *points)
        assert order or all(part in "".join(code.by_python) for part in called), code.by_python
        return
    with pytest.raises(NoNativeFormError, match=WITHOUT_NATIVE_DERIVATIVES[name]):
        check_control(f, *points)


# What goes in, and what comes out


@pytest.mark.parametrize(
    "x",
    [1.5, np.float64(1.5), -0.0, np.array(1.5), 3, np.int64(3), True, np.True_, 2**62, X, X > 0.0, MATRIX.T],
)
def test_a_number_or_an_array_goes_in_and_comes_out_as_it_is(x):
    met = []

    def same(y):
        met.append(y)
        return y.copy("K") if type(y) is np.ndarray else y

    trace = Trace()
    one = Staged(trace, trace.place_for(1.0))
    inside = call(lambda _: x.copy("K") if type(x) is np.ndarray else x, (one,), open_ended=False)
    outputs = [np.sum(call(same, (inside,), open_ended=False) * 1.0) * one]
    entry = Native(trace, outputs, Eliminated(trace, outputs)).entry()
    met.clear()
    (found,) = entry(2.0)
    assert found == np.sum(x * 1.0) * 2.0
    (y,) = met
    assert type(y) is type(x)
    np.testing.assert_array_equal(y, x)
    if type(x) is np.ndarray:
        assert (y.dtype, y.shape, y.strides) == (x.dtype, x.shape, x.strides)


def test_a_number_of_pythons_or_numpys_goes_in_as_what_it_is():
    def looked_at(x):
        return x * (0.5 if type(x) is float else 0.25)

    def f(x, xs, n):
        return fori_loop(0, n, lambda i, s: call(looked_at, (s,), open_ended=False) + xs[i], x) * xs[0]

    code, steps = native_and_steps(f, 1.0, X, 2)
    (found,) = code.entry()(1.0, X, 3)
    assert found == (((1.0 * 0.5 + X[0]) * 0.25 + X[1]) * 0.25 + X[2]) * X[0] == steps([1.0, X, 3])[0]


def test_the_type_of_an_answer_may_differ_from_round_to_round():
    def f(x, xs, n):
        return fori_loop(0, n, lambda i, s: np.clip(s, 0.1, 0.9) + xs[i], x)

    check_control(f, (0.5, X, 2), (0.5, X, 0), (1.5, X, 3))


@pytest.mark.parametrize(
    "others",
    [
        [1, 1.0],
        [1.0, np.float64(1.0)],
        [X, X[:2]],
        [X, X.astype(np.float32)],
        [X, X.astype(np.int64)],
        [X, X[::-1]],
        [X, np.asfortranarray(MATRIX)],
    ],
)
def test_an_answer_of_another_type_or_layout_ends_the_run(others):
    answers = iter([others[0], *others * 2])
    code = native(lambda x: call(lambda x: next(answers), (x,), open_ended=False) * 1.0, 1.0)
    entry = code.entry()
    assert entry(1.0) is not None
    assert entry(1.0) is None
    assert entry(1.0) is not None


def test_a_shape_that_depends_on_values_is_a_question():
    def f(x):
        return np.sum(x[x > 0.0] * 2.0) + np.prod(x[x < 0.0])

    code = check(f, (X,), (X * 2.0,))
    entry = code.entry()
    assert entry(-X) == 0
    assert entry(np.array([0.4, 0.7, 0.3])) == 0
    assert len(code.questions) >= 2


def test_a_view_must_lie_where_it_lay():
    is_view = True

    def last(x):
        return x[1:] if is_view else x[1:].copy()

    entry = native(lambda x: call(last, (x * 2.0,), open_ended=False) * 3.0, X).entry()
    np.testing.assert_array_equal(entry(X)[0], X[1:] * 2.0 * 3.0)
    is_view = False
    assert entry(X) is None


def test_a_value_without_a_form_stays_inside_of_a_call():
    def f(x):
        pair = call(lambda x: (x + 1.0, [x * 2.0, np.exp(1j * x)]), (x,))
        y = np.sum(x) * 0.5  # a step with a native form between
        return pair[0] * y + np.real(pair[1][1] * pair[1][0])

    code = native(f, X)
    np.testing.assert_array_equal(
        code.entry()(X)[0], (X + 1.0) * (np.sum(X) * 0.5) + np.real(np.exp(1j * X) * (X * 2.0))
    )
    assert len(code._objects) <= 2


def test_long_programs_do_not_part_a_value_without_a_form():
    """A function of LLVM's has 250 steps, and the next one would not find the tuple."""

    def f(x):
        for _ in range(120):
            part, whole = np.modf(x * 1.5 + 0.1)
            x = part * 1.2 + whole * 0.1
        return x

    check(f, (X,), (X * 2.0,))


def test_answers_that_are_the_same_for_all_inputs_stand_beside_the_functions():
    check(lambda x: (2.5, np.sort(x) * 2.0, "text", np.cumprod(x) + 1.0), (X,), (X * 2.0,))


def test_arguments_without_a_form_are_handed_on():
    f = lambda z, w, x: np.real(z * 1j).copy() + np.abs(w) * x  # noqa: E731
    check(f, (np.array([1.0 + 2.0j]), 1.0 + 1.0j, 2.0), (np.array([0.5 + 2.0j]), 1.5 + 1.0j, 3.0))


@pytest.mark.parametrize("n", [np.int64(3), True, np.True_, 2**70])
def test_a_number_that_the_entry_does_not_take_is_refused_or_right(n):
    def f(x, n):
        return np.sort(x) * (2.0 if n > 0 else 1.0) + np.clip(n, 1, 2)

    try:
        entry = native(f, X, n).entry()
    except NoNativeFormError:
        return
    assert (found := entry(X, n)) is None or np.array_equal(found[0], f(X, n))


def test_functions_that_call_themselves_call_python():
    @sr.staged
    def slope(x, depth):
        def tree(x, depth):
            if depth == 0:
                return np.clip(x, -1.0, 0.8) * x
            both = np.sort(np.stack([x, tree(x + 0.1, depth - 1)]))
            return tree(x * 0.5, depth - 1) + np.sum(both * np.array([1.0, 2.0]))

        return grad(lambda x: tree(x, depth))(x)

    eager = slope.__wrapped__
    for depth in (2, 3, 4, 2, 5):
        np.testing.assert_allclose(slope(0.7, depth), eager(0.7, depth), rtol=1e-12)
    assert all(way.by_python for way in _ways(slope)), slope.report()


# Errors, warnings and interrupts


def _solved(a, b, n):
    return fori_loop(0, n, lambda i, x: np.linalg.solve(a - i * np.eye(3), x) + 1.0, b)


def test_an_error_is_that_of_the_function_with_the_users_line():
    f = sr.staged(grad(lambda a, b, n: np.sum(_solved(a, b, n)), 1))
    for n in (2, 3, 2, 3):
        f(MATRIX, X, n)
    assert has_gate(f) or _ways(f)[0].by_python == ["numpy.linalg.solve"]
    singular = np.zeros((3, 3))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix") as caught:
        f(singular, X, 1)
    assert "np.linalg.solve(a - i * np.eye(3), x)" in "".join(traceback.format_tb(caught.tb))
    expected = grad(lambda a, b, n: np.sum(_solved(a, b, n)), 1)(MATRIX, X, 3)
    np.testing.assert_array_equal(f(MATRIX, X, 3), expected)


def test_an_error_ends_the_run_and_an_interrupt_is_raised():
    problem = None

    @_of_a_step
    def may_raise(x):
        if problem is not None:
            raise problem
        return x * 2.0

    entry = native(lambda x: call(may_raise, (np.sum(x) * 1.0,), open_ended=False) + 1.0, X).entry()
    before = entry(X)
    for error in (ValueError("no"), np.linalg.LinAlgError("no"), FloatingPointError("no")):
        problem = error
        assert entry(X) is None
    for error in (KeyboardInterrupt(), SystemExit()):
        problem = error
        with pytest.raises(type(error)):
            entry(X)
    problem = None
    assert entry(X) == before


@contextmanager
def _with_signals(quiet):
    """A step that sends a signal each time. The handler raises an error after so many quiet calls."""
    calls = 0

    @_of_a_step
    def sends(x):
        signal.raise_signal(signal.SIGUSR1)
        return x * 2.0

    def handler(*_):
        nonlocal calls
        calls += 1
        if calls == quiet + 1:
            raise TimeoutError("too long")

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield lambda x: call(sends, (x * 1.0,), open_ended=False) * 0.5
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_the_error_of_a_handler_of_signals_is_raised():
    with _with_signals(quiet=2) as f:
        entry = native(f, X).entry()
        np.testing.assert_array_equal(entry(X)[0], X)
        with pytest.raises(TimeoutError, match="too long"):
            entry(X)


def test_the_error_of_a_handler_is_raised_in_the_call_that_compiles_too():
    with _with_signals(quiet=3) as f:  # in the recorded run and in two runs of the steps
        code, steps = native_and_steps(f, X)
        take = InTurn(lambda: code, steps)
        take([X])
        with pytest.raises(TimeoutError, match="too long"):
            take([X])
        take([X])
        assert take.entry is not None


def test_the_call_that_compiles_warns_once():
    code, steps = native_and_steps(lambda x: np.multiply.accumulate(x) + 0.5, X)
    take = InTurn(lambda: code, steps)
    for _ in range(4):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            take([np.array([1e200, 1e200, 1.0])])
        assert [str(warning.message).split(" in ")[0] for warning in caught] == ["overflow encountered"]
    assert take.entry is not None


def test_the_traceback_of_an_interrupt_has_no_array_of_native_memory():
    @_of_a_step
    def interrupted(x):
        if np.sum(x) > 1.0:
            raise KeyboardInterrupt
        return x * 2.0

    entry = native(lambda x: call(interrupted, (x * 1.0,), open_ended=False) * 1.0, X * 0.1).entry()
    with pytest.raises(KeyboardInterrupt) as caught:
        entry(X * 10.0)
    frames, trace = [], caught.value.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    assert [frame.f_code.co_name for frame in frames][-1] == "interrupted"
    of_steps = [frame for frame in frames if frame.f_code.co_filename == FILENAME]
    assert len(of_steps) >= 2
    assert not any(isinstance(x, np.ndarray) for frame in of_steps for x in frame.f_locals.values())


def test_a_warning_is_shown_once():
    f = sr.staged(lambda x, n: np.sum(fori_loop(0, n, lambda i, x: np.multiply.accumulate(x) * 0.5 + i, x)))
    large = np.array([1e200, 1e200, 1.0])
    for n in (2, 3, 2, 3):
        f(X, n)
    assert _ways(f)[0].by_python
    for g in (f, f.__wrapped__):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert g(large, 1) == np.inf
        assert [str(warning.message).split(" in ")[0] for warning in caught] == ["overflow encountered"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="overflow"):
            f(large, 1)


def test_native_steps_before_and_after_a_call_still_tell_what_numpy_would_warn_of():
    for f in (
        lambda x: np.sum(np.sort(1.0 / x)) * 2.0,
        lambda x: np.sum(1.0 / np.sort(x)) * 2.0,
        lambda x: np.sum(np.sort(x)) + 1.0 / x[0],
    ):
        entry = native(f, X).entry()
        assert entry(X) is not None
        assert entry(np.array([0.0, 1.0, 2.0])) is None


def test_no_call_is_made_with_values_that_python_would_not_have():
    met = []

    def looked_at(x):
        met.append(x)
        return x * 2.0

    entry = native(lambda x, y: call(looked_at, (x / y,), open_ended=False) + 1.0, 1.0, 2.0).entry()
    met.clear()
    assert entry(1.0, 4.0) == [1.5]
    assert entry(1.0, 0.0) is None
    assert met == [0.25]


def test_no_call_is_made_after_a_step_of_which_numpy_would_warn():
    met = []

    def looked_at(x):
        met.append(x)
        return x * 2.0

    entry = native(lambda x, y: call(looked_at, (x / y,), open_ended=False) + 1.0, np.float64(1.0), 2.0).entry()
    met.clear()
    assert entry(np.float64(1.0), 4.0) == [1.5]
    assert entry(np.float64(1.0), 0.0) is None
    assert met == [0.25]


def test_reactions_to_errors_are_those_of_the_step():
    def f(x):
        with np.errstate(over="ignore"):
            y = np.multiply.accumulate(x)
        return np.sum(np.where(np.isfinite(y), y, 1.0)) * 1.0

    code = native(f, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert code.entry()(np.array([1e200, 1e200, 1.0])) == [f(np.array([1e200, 1e200, 1.0]))]


# Memory and threads


@pytest.mark.slow
def test_a_call_leaves_no_object_behind():
    entry = native(lambda x, n: fori_loop(0, n, lambda i, x: np.sort(x) + np.linalg.norm(x) * 0.1, x), X, 2).entry()

    @_of_a_step
    def may_fail(x):
        return 1 / 0 if x.sum() > 5.0 else x * 2.0

    fails = native(lambda x: call(may_fail, (x * 1.0,), open_ended=False) * 1.0, X).entry()

    def run():
        entry(X, 50)
        fails(X + 10.0)

    run()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(100):
        run()
    gc.collect()
    assert sys.getallocatedblocks() - before < 50


def test_programs_of_many_elements_call_python():
    """They release the lock at once."""
    x = np.linspace(-1.0, 1.0, 40_000)
    check(lambda x: np.sort(x * x) + np.tanh(x), (x,), (x[::-1].copy(),))


def test_threads_run_the_same_code():
    f = sr.staged(grad(_looped(ROUNDS["solve"][0])))
    for n in (2, 3, 2, 3):
        f(X, n)
    assert _ways(f)[0].by_python
    expected = {n: grad(_looped(ROUNDS["solve"][0]))(X * n, 300 + n) for n in range(1, 5)}
    found = {}

    def run(n):
        for _ in range(20):
            found[n] = f(X * n, 300 + n)

    threads = [threading.Thread(target=run, args=(n,)) for n in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, answer in expected.items():
        np.testing.assert_allclose(found[n], answer, rtol=1e-12)


def test_python_is_called_with_the_lock_that_a_long_run_has_released(monkeypatch):
    """The first look comes after a few rounds, and releases the lock."""
    from shiftreset_ad.staging.native import control

    monkeypatch.setattr(control, "STEPS_BETWEEN_LOOKS", 10)
    monkeypatch.setattr(control, "STEPS_AT_FIRST", 0)
    f = _looped(ROUNDS["einsum"][0])
    code, steps = native_and_steps(grad(f), X, 2)
    entry = code.entry()
    for n in (2, 50, 500):
        np.testing.assert_array_equal(entry(X, n)[0], steps([X, n])[0])


@pytest.mark.parametrize(
    ("f", "times"),
    [
        (lambda x: np.sort(x * 2.0) + x, 1),  # no `sort` of arrays has a native form
        (lambda x: np.median(x * 2.0) + x, 2),  # a number of `median` might have
        (lambda x: np.median(np.sort(x * 2.0)) + x, 2),
        (lambda x: x * 2.0 + np.sum(x), 1),
    ],
)
def test_code_is_written_again_for_what_its_function_does_not_tell(monkeypatch, f, times):
    written = []
    write = Program._write
    monkeypatch.setattr(Program, "_write", lambda self, *args: (written.append(self), write(self, *args)))
    with calls_pay():
        check(f, (X,), (X - 1.0,))
    assert len(written) == times
