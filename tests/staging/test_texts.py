"""The texts of a way are written when they are needed, of a record that keeps nothing of the caller's alive."""

from __future__ import annotations

import itertools
import weakref
from pickle import PickleBuffer

import numpy as np
import pytest

from shiftreset_ad import fori_loop, grad, hessian, hvp, jvp, staged, zeros
from shiftreset_ad.staging import texts
from shiftreset_ad.staging.native import machine
from shiftreset_ad.staging.native.compiled import InTurn
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from shiftreset_ad.staging.steps import detaching
from shiftreset_ad.staging.steps.detaching import detach
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import Staged

ONLY_IF_NATIVE = pytest.mark.skipif(machine.unfit() is not None, reason="there is no native code here")
V = np.array([1.0, 2.0, 3.0, 4.0])


def way_of(f):
    (signature,) = f._calls._signatures.values()
    (way,) = signature.ways
    return way


def smooth(x):
    return np.sum(np.tanh(x) * x)


@pytest.fixture
def written(monkeypatch):
    """The traces whose text has been written."""
    found, text_of = [], texts.text_of

    def noted(trace, outputs, left):
        found.append(trace)
        return text_of(trace, outputs, left)

    monkeypatch.setattr(texts, "text_of", noted)
    return found


def test_no_text_is_written_in_the_first_two_calls(written, monkeypatch):
    f = staged(grad(smooth))
    with monkeypatch.context() as before_the_steps_run:
        before_the_steps_run.delattr(texts, "generated")
        f(V)
    f(V)
    assert len(written) == (machine.unfit() is not None)  # without native code, the record is not needed any more
    assert f.ir[0].startswith("inputs %0: float64[4]")
    assert f.llvm[0]
    f(V), f(V)
    assert len(written) == 1


@ONLY_IF_NATIVE
def test_native_code_is_written_for_the_third_call(written):
    f = staged(grad(smooth))
    answers = [f(V) for _ in range(4)]
    assert len(written) == 1
    assert way_of(f).take.entry is not None
    for answer in answers:
        np.testing.assert_array_equal(answer, grad(smooth)(V))


def views(x):
    y = x[::-1]
    z = np.atleast_1d(x)
    return np.sum(x[1:] * y[:-1]) + np.sum(z.reshape(2, -1) @ x.reshape(2, -1).T), 2.0 * z


def writes(x):
    y = zeros(4)
    y[1:3] = x[1:3] * x[0]
    y[::2] += x[1::2]
    return y * 2.0


def two_views(x, y):
    return x @ y + np.sum(x * y), x * 2.0


whole = np.arange(1.0, 9.0)
SPACED, BACKWARDS, EMPTY = whole[1::2], whole[7::-2], np.zeros((0, 3))


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (grad(smooth), (V,)),
        (grad(smooth), (SPACED,)),
        (views, (V,)),
        (views, (BACKWARDS,)),
        (lambda x: grad(lambda x: views(x)[0])(x), (V,)),
        (writes, (V,)),
        (hessian(lambda x: np.sum(writes(x) ** 2)), (V,)),
        (lambda x: np.sum(x * 2.0), (BACKWARDS,)),
        (two_views, (SPACED, BACKWARDS)),
        (two_views, (SPACED, whole[:4])),
        (lambda x: (np.broadcast_to(x, (3, 4)) + whole[:4], x[:, None] * x), (V,)),
        (lambda x: np.sum(x) + 1.0, (EMPTY,)),
        (lambda x: hvp(smooth, (x,), (x,)), (V,)),
        (lambda x: jvp(smooth, (x,), (whole[:4],)), (V,)),
        (lambda x: x * x + whole.size, (2.0,)),
        (lambda x: np.sum(x.reshape(2, 2).T.copy() @ np.ones((2, 3))), (V,)),
    ],
)
def test_the_texts_of_a_record_are_those_of_the_run(f, args, monkeypatch):
    keep, kept = texts.Texts.keep, []

    def both(record):
        try:
            native = texts.Native(*record)
        except NoNativeFormError as error:
            return texts.text_of(*record), f"{error}"
        return texts.text_of(*record), native.text

    def compared(self):
        record = self._record
        before = both(record)
        keep(self)
        kept.append(self._record is record)
        assert both(record) == before

    monkeypatch.setattr(texts.Texts, "keep", compared)
    g = staged(f)
    for _ in range(4):
        np.testing.assert_equal(g(*args), f(*args))
    assert kept == [True]


def test_what_has_memory_in_common_with_a_constant_is_not_kept():
    trace = Trace()
    x, constant = Staged(trace, trace.place_for(V)), np.arange(5.0)
    step = trace.add(np.add, (x, constant), {}, constant[1:])
    answer = Staged(trace, step.place)
    assert not detach(trace, [step], [answer], [constant], set())
    assert x.inside is V
    assert detach(trace, [step], [answer], [], set())
    assert x.inside is not V


@pytest.mark.parametrize("size", [3, 300])
def test_an_array_that_is_read_only_stays_so(size):
    trace, x = Trace(), np.arange(float(size))
    x.flags.writeable = False
    answer = Staged(trace, trace.place_for(x))
    assert detach(trace, [], [answer], [], set())
    assert answer.inside is not x
    assert not answer.inside.flags.writeable


def test_a_record_keeps_no_argument_alive():
    f = staged(lambda x: np.sum(x[1:] * x[:-1].reshape(-1)))
    x = np.arange(5.0)
    f(x)
    x.resize(7)  # NumPy refuses if something else holds the array
    gone = weakref.ref(x)
    del x
    assert gone() is None
    assert f(V) == f(V) == f(V) == 2.0 + 6.0 + 12.0


@pytest.mark.parametrize("size", [3, 300_000])
def test_a_record_has_no_elements_of_arrays(size):
    f = staged(lambda x: np.sum(np.exp(x) * np.sin(x[::-1])))
    f(np.zeros(size))
    trace, _, left = way_of(f)._texts._record
    arrays = [value for value in trace.values if isinstance(value, np.ndarray)]
    assert len(arrays) >= len(left.steps)
    assert not np.any(arrays)
    assert all(type(array.base) is PickleBuffer for array in arrays if size > 3)
    assert not any(step.args and type(step.args[0]) is np.ndarray for step in left.steps)


@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")
def test_the_shape_of_an_argument_may_change_before_the_text_is_written():
    f, x = staged(lambda x: x.T * 2.0), np.arange(6.0).reshape(2, 3)
    f(x)
    x.shape = (6,)
    assert f.ir[0].startswith("inputs %0: float64[2, 3]")
    y = np.ones((2, 3))
    for _ in range(3):
        np.testing.assert_array_equal(f(y), 2.0 * y.T)


def test_the_texts_of_loops_are_written_at_once(written):
    f = staged(lambda x: fori_loop(0, 3, lambda i, x: x * x, x))
    f(1.5)
    assert len(written) == 1
    assert way_of(f)._texts._record is None


def test_texts_may_be_asked_for_in_any_order():
    """The record is there until both Python's text and native code are written, and goes then."""
    for names in itertools.permutations(["sources", "ir", "llvm"]):
        f = staged(grad(smooth))
        f(V)
        found = {name: getattr(f, name)[0] for name in names}
        assert found["sources"].startswith("def steps(inputs):")
        assert found["ir"].startswith("inputs %0: float64[4]")
        assert way_of(f)._texts._record is None
        assert {name: getattr(f, name)[0] for name in names} == found
        for _ in range(4):
            np.testing.assert_array_equal(f(V), grad(smooth)(V))


def by_steps(count):
    """A function of so many steps on arrays, none of which is left out."""

    def f(x):
        for i in range(count // 2):
            x = (x + i) * 0.5
        return x

    return f


@pytest.fixture
def short_lives(monkeypatch):
    """A record is long, and is not kept, from 100 values on."""
    monkeypatch.setattr(detaching, "MOST_KEPT", 100)
    monkeypatch.setattr(texts, "MOST_KEPT", 100)


@ONLY_IF_NATIVE
def test_a_long_record_has_native_code_only(short_lives):
    f, x = by_steps(120), np.arange(4.0)
    g = staged(f)
    g(x)
    assert g.sources == g.ir == [texts.TOO_LONG]
    assert way_of(g).is_native
    for _ in range(3):
        np.testing.assert_array_equal(g(x + 1.0), f(x + 1.0))
    assert way_of(g).take.steps is None
    assert way_of(g).take.entry is not None


def test_a_long_record_without_native_code_has_steps_by_numpy(short_lives, monkeypatch):
    monkeypatch.setattr(machine, "unfit", lambda: "not here")
    f, x = by_steps(120), np.arange(4.0)
    g = staged(f)
    g(x)
    assert way_of(g)._texts._record is None
    assert g.sources[0].startswith("def steps(inputs):")
    assert g.ir[0].startswith("inputs %0: float64[4]")
    for _ in range(3):
        np.testing.assert_array_equal(g(x + 1.0), f(x + 1.0))


@ONLY_IF_NATIVE
def test_steps_without_native_form_are_called_directly_once_this_is_known():
    f = staged(lambda x: np.linalg.solve(np.eye(4) * 2.0, x))
    f(V), f(V)
    assert type(way_of(f).take) is InTurn
    f(V), f(V)
    assert type(way_of(f).take) is not InTurn
    assert f.llvm[0].startswith("; no native code: ")
    assert "no native code" in f.report()
