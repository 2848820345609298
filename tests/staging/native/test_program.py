"""Long programs are several functions, and take time and room in proportion."""

import functools
import time

import numpy as np
import pytest

from shiftreset_ad import StagingWarning, grad, staged
from shiftreset_ad.staging.native import slots
from tests.staging.native.natively import check, native, needs_native

pytestmark = needs_native


def round_by_round(step, rounds, x):
    """A loop that is no statement, so that it is not written down as a loop, as long as it may be."""
    return functools.reduce(lambda y, _: step(y), range(rounds), x)


def logistic(rounds, rate=3.6):
    return lambda x: round_by_round(lambda y: rate * y * (1.0 - y), rounds, x)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 1000])
def test_parts_of_any_length(monkeypatch, length):
    monkeypatch.setattr(slots, "STEPS_OF_A_PART", length)

    def f(x, n):
        y = np.sin(x) * x
        if y > 0.1:
            y = y / n
        small = y < 0.2
        z = np.where(small, y, 2.0 * y) + x
        return y, small, z, x, n, 1.0 / n

    check(f, (0.5, 3), (0.7, 2), (0.9, 5), (0.9, 0), leaves=1)
    code = native(f, 0.5, 3)
    assert code.entry()(0.1, 3) == 0
    check(logistic(5), (0.3,), (0.2,))


def test_slots_are_used_again(monkeypatch):
    monkeypatch.setattr(slots, "STEPS_OF_A_PART", 4)
    code = check(logistic(200), (0.3,), (0.2,))
    used = {line.split()[-1] for line in code.text.splitlines() if "getelementptr i64, ptr %frame" in line}
    assert len(used) < 10


@pytest.mark.slow
def test_time_is_in_proportion():
    def seconds(rounds):
        start = time.process_time()
        entry = native(logistic(rounds), 0.3).entry()
        seconds = time.process_time() - start
        assert entry(0.3) == [logistic(rounds)(0.3)]
        return seconds

    seconds(10)
    assert seconds(8000) < 16 * min(seconds(1000), seconds(1000)) + 1.0


@pytest.mark.slow
def test_a_program_of_more_steps_than_python_could_compile():
    f, g = grad(logistic(7000, 2.5)), staged(grad(logistic(7000, 2.5)))
    for x in (0.3, 0.3, 0.2, 0.7):
        assert g(x) == f(x)
    assert "native code" in g.sources[0]
    assert g.llvm[0].count("call i64 @part") > 100


@pytest.mark.slow
def test_a_long_program_that_leaves():
    def f(x):
        return round_by_round(lambda y: y * 0.9999, 50_001, 1.0 / x)

    g = staged(f)
    assert [g(x) for x in (1.0, 2.0, 3.0)] == [f(x) for x in (1.0, 2.0, 3.0)]
    with pytest.raises(ZeroDivisionError):
        g(0.0)
    assert g(4.0) == f(4.0)


@pytest.mark.slow
def test_a_long_program_without_native_form():
    def f(x):
        return round_by_round(lambda y: y * 0.9999, 50_001, x) * 1j

    with pytest.warns(StagingWarning, match=r"more than 50000 steps, and no native code: it keeps a complex"):
        assert staged(f)(2.0) == f(2.0)
