"""A signal that comes in the middle of a recording ends it, and its handler runs as in any other program."""

import signal
import threading

import pytest

from shiftreset_ad import staged
from shiftreset_ad.staging import records
from shiftreset_ad.staging.threads import is_recording

SIGNAL = getattr(signal, "SIGUSR1", signal.SIGTERM)


class TooLate(BaseException):
    """It is no error of a program."""


def halved(x):
    while x > 1.0:
        x = x * 0.5
    return x


@pytest.fixture
def comes(monkeypatch):
    """A signal comes while something is recorded, as often as this list has items."""
    times, record = [0], records.recorded_in_a_form

    def recorded(*args, **kwargs):
        found = record(*args, **kwargs)
        if times:
            times.pop()
            signal.raise_signal(SIGNAL)
            sum(range(100))  # Python looks for signals now and then
        return found

    monkeypatch.setattr(records, "recorded_in_a_form", recorded)
    before = signal.getsignal(SIGNAL)
    yield times
    signal.signal(SIGNAL, before)


@pytest.mark.parametrize("error", [TooLate, TimeoutError, ValueError])
def test_an_error_of_a_handler_goes_to_the_caller(comes, error):
    def raising(number, frame):
        assert not is_recording()
        raise error("now")

    signal.signal(SIGNAL, raising)
    f = staged(halved)
    with pytest.raises(error, match="now"):
        f(5.0)
    assert signal.getsignal(SIGNAL) is raising
    assert f.sources == []
    assert [f(x) for x in (5.0, 3.0, 9.0, 3.0, 5.0)] == list(map(halved, (5.0, 3.0, 9.0, 3.0, 5.0)))
    assert len(f.sources) == 1


def test_a_handler_that_goes_on_has_its_effects(comes):
    log = []

    def f(x):
        return halved(x) + 0.0 * len(log)

    def noted(number, frame):
        log.append((number, compiled(2.0)))

    signal.signal(SIGNAL, noted)
    compiled = staged(f)
    assert compiled(5.0) == halved(5.0)
    assert log == [(SIGNAL, 1.0)]
    assert [compiled(x) for x in (5.0, 3.0, 9.0, 3.0)] == list(map(halved, (5.0, 3.0, 9.0, 3.0)))
    assert len(log) == 1


def test_handlers_of_python_and_signals_that_are_ignored_stay(comes):
    signal.signal(SIGNAL, signal.SIG_IGN)
    f = staged(halved)
    interrupt = signal.getsignal(signal.SIGINT)
    assert f(5.0) == halved(5.0)
    assert signal.getsignal(signal.SIGINT) is interrupt
    assert signal.getsignal(SIGNAL) is signal.SIG_IGN
    assert len(f.sources) == 1


def test_other_threads_have_no_handlers(comes):
    comes.clear()
    signal.signal(SIGNAL, lambda *_: None)
    found, f = [], staged(halved)
    thread = threading.Thread(target=lambda: found.extend([f(5.0), f(3.0)]))
    thread.start()
    thread.join()
    assert found == [halved(5.0), halved(3.0)]
    assert len(f.sources) == 1
