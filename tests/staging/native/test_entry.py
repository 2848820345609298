"""The entry takes and makes Python's objects, checks their types, and keeps and loses nothing."""

import gc
import sys
import weakref

import numpy as np
import pytest

from shiftreset_ad import staged
from shiftreset_ad.staging.native import entry as entries
from tests.staging.in_threads import require_same_in_threads
from tests.staging.native.natively import check, native, needs_native

pytestmark = needs_native


def test_each_type_of_argument_and_answer():
    def f(x, y, n):
        return x * 2, y * 2, n * 2, x > 1, y > 1, "constant", None, 3, np.float64(2.5)

    check(f, (1.5, np.float64(2.5), 3), (0.5, np.float64(0.5), -3))


@pytest.mark.parametrize("x", [1, np.float64(1.0), np.float32(1.0), "x", None, np.ones(3), True])
def test_arguments_of_other_types_leave(x):
    entry = native(lambda x: x * 2.0, 1.0).entry()
    assert entry(x) is None
    assert entry(1.0) == [2.0]


def test_another_number_of_arguments_leaves():
    entry = native(lambda x, y: x * y, 1.0, 2.0).entry()
    assert [entry(), entry(1.0), entry(1.0, 2.0, 3.0), entry(3.0, 4.0)] == [None, None, None, [12.0]]


def test_an_array_that_no_step_needs_may_be_anything():
    code = native(lambda x, y: x * 2.0, 1.0, np.arange(3, dtype=np.int32))
    assert code.entry()(2.0, "anything") == [4.0]
    assert not code.checks_all


def test_the_type_of_a_number_is_checked_even_if_no_step_needs_it():
    code = native(lambda x, y: x * 2.0, 1.0, 3)
    assert [code.entry()(2.0, 5), code.entry()(2.0, 5.0)] == [[4.0], None]
    assert code.checks_all


def test_no_argument():
    assert native(lambda: (1.0, "x")).entry()() == [1.0, "x"]


def test_one_value_may_be_several_answers():
    check(lambda x: (x, x, x * 2, x * 2, x), (1.0,), (2.0,))


@pytest.mark.slow
def test_references_are_counted():
    text = "an object".upper()
    entry = native(lambda x, n: (x * 2.0, n, text, x > 0, np.square(x)), 1.0, 3).entry()
    x = 12.5
    entry(x, 3)
    gc.collect()  # what making the entry has left may hold references to None
    none = sys.getrefcount(None)
    before = sys.getrefcount(text), sys.getrefcount(x), sys.getrefcount(np.float64)
    for _ in range(1000):
        entry(x, 3)
        entry("wrong", 3)
        entry(x, 2**70)
        entry(-x, 3)
    assert (sys.getrefcount(text), sys.getrefcount(x), sys.getrefcount(np.float64)) == before
    assert abs(sys.getrefcount(None) - none) < 100
    answers = entry(x, 3)
    references = [sys.getrefcount(answers[i]) for i in (0, 4)]
    assert references == [2, 2]


def test_a_large_frame(monkeypatch):
    monkeypatch.setattr(entries, "MOST_ON_THE_STACK", 2)

    def f(x, y):
        return x * y if y > 0 else y, x + y, 1.0 / x

    entry = native(f, 2.0, 3.0).entry()
    for _ in range(100):
        assert entry(4.0, 0.5) == [2.0, 4.5, 0.25]
        assert entry(4.0, -0.5) == 0
        assert entry(0.0, 0.5) is None
        assert entry(0.0) is None


@pytest.mark.slow
def test_the_code_goes_with_its_function():
    class Constant(np.float64):
        pass

    constant = Constant(2.5)
    entry = native(lambda x, y=constant: (x * 2.0, y), 1.0).entry()
    gone = weakref.ref(constant)
    del constant
    gc.collect()
    assert entry(2.0)[0] == 4.0
    assert gone() is not None
    del entry
    gc.collect()
    assert gone() is None


def test_threads():
    f = staged(lambda x: np.exp(x) * x if x > 1 else x / 3.0)
    require_same_in_threads(f, [(0.5,), (1.5,), (2.5,), (0.75,)], 500)
