"""The watch over a recorded run: when it is on, and what it costs."""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging import forms
from shiftreset_ad.staging.steps import unwatched

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
