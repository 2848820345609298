"""Traces: what is kept of the arguments, and what cannot be written down."""

import warnings

import numpy as np
import pytest

from shiftreset_ad.control import ControlError
from shiftreset_ad.staging.steps.memory import PlacesByOwner
from shiftreset_ad.staging.steps.trace import NOTHING, Trace, UnstageableError, identical
from shiftreset_ad.staging.steps.values import Staged


def test_identical_values_have_the_same_bits():
    nan = float("nan")
    assert identical(nan, nan)
    assert identical(np.array([nan, 1.0]), np.array([nan, 1.0]))
    for x, y in [
        (0.0, -0.0),
        (0j, -0j),
        (complex(0.0, -0.0), 0j),
        (1.0, np.float32(1.0)),
        (np.ones(2), np.ones((2, 1))),
    ]:
        assert not identical(x, y)
    for dtype in (np.longdouble, np.clongdouble, np.complex128, np.complex64, np.float16, np.int8, "U3", "S5", "M8[s]"):
        x = np.array([1, 2, 3]).astype(dtype)
        y = x.copy()
        assert identical(x, y)
        y[1] = x[0]
        assert not identical(x, y)
    for dtype in (np.longdouble, np.clongdouble, np.complex128, np.complex64):
        assert not identical(np.zeros(2, dtype), -np.zeros(2, dtype))
        assert identical(np.full(2, nan, dtype), np.full(2, nan, dtype))
    assert identical(np.arange(6.0)[::2], np.array([0.0, 2.0, 4.0]))


def test_places_are_found_by_the_owner_of_their_memory():
    x, y = np.arange(6.0), np.arange(3.0)
    values = [x, 1.0, x[1:], [y, (x, None)]]
    places = PlacesByOwner(values)
    assert places.of(x) == [0, 2, 3]
    assert places.of(y) == [3]
    assert places.of(x[1:]) == []  # which owns no memory
    values += [y[::-1], 2.0]
    assert places.of(y) == [3, 4]
    values[2:] = [None] * 4  # they are forgotten
    assert places.of(x) == [0]
    assert places.of(y) == []


def test_constants_are_copies_as_long_as_they_change():
    trace = Trace()
    array = np.arange(3.0)
    first = trace.constant(array)
    assert trace.constant(array) is first
    array[0] = -0.0
    second = trace.constant(array)
    assert second is not first
    np.testing.assert_array_equal(np.signbit(second), [True, False, False])
    np.testing.assert_array_equal(first, [0.0, 1.0, 2.0])
    assert trace.constant(second) is second
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1.0
    columns = np.asfortranarray(np.ones((2, 3)))
    assert trace.constant(columns).strides == columns.strides
    with pytest.raises(UnstageableError, match="objects"):
        trace.constant(np.array([1, None]))


def test_a_refusal_stays():
    trace = Trace()
    with pytest.raises(UnstageableError, match="first"):
        trace.refuse("the first reason")
    with pytest.raises(UnstageableError, match="second"):
        trace.refuse("the second reason")
    assert trace.refusal == "the first reason"


def test_values_belong_to_one_run():
    one, other = Trace(), Trace()
    x, y = Staged(one, one.place_for(2.0)), Staged(other, other.place_for(3.0))
    with pytest.raises(UnstageableError, match="another staged function"):
        x + y
    one.is_open = False
    for use in (lambda: x + 1.0, lambda: y * x, lambda: np.sin(x), lambda: bool(x), lambda: x.real):
        with pytest.raises(ControlError, match="after the function has returned"):
            use()


def test_reactions_to_errors_are_noted_where_they_are_others():
    trace = Trace()
    x = Staged(trace, trace.place_for(np.ones(2)))
    x + 1.0
    with np.errstate(divide="raise"):
        x * 2.0
    x - 1.0
    assert [step.errors and step.errors["divide"] for step in trace.steps] == [None, "raise", None]
    with np.errstate(all="log"), pytest.raises(UnstageableError, match="handled by a function"):
        x + 1.0


def test_warnings_that_are_made_errors_are_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = Trace()
        x = Staged(trace, trace.place_for(np.ones(2)))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "something")
            x + 1.0
            warnings.simplefilter("error", DeprecationWarning)
            x + 1.0
            warnings.simplefilter("error", RuntimeWarning)
            with pytest.raises(UnstageableError, match="errors of warnings"):
                x + 1.0


def test_filters_that_are_changed_in_place_are_seen():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = Trace()
        x = Staged(trace, trace.place_for(np.ones(2)))
        before = warnings.filters[:]
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(UnstageableError, match="errors of warnings"):
            x + 1.0
        warnings.filters[:] = before
        x + 1.0


def test_questions_know_where_they_were_asked():
    trace = Trace()
    x = Staged(trace, trace.place_for(2.0))
    bool(x > 1.0)  # here
    assert trace.steps[-1].is_question
    assert trace.steps[-1].expected is True
    assert "bool(x > 1.0)  # here" in trace.steps[-1].site
    assert trace.steps[-1].kwargs is NOTHING
