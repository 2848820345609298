"""A long run is rewritten before it is recorded to its end, and recorded to its end if that is in vain."""

import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging import forms
from shiftreset_ad.staging.steps.trace import TOO_MANY

SOON = 40


@pytest.fixture(autouse=True)
def runs(monkeypatch):
    """The reasons of the runs that are recorded; None for a run that has given a way."""
    found, recorded = [], forms.recorded

    def noting(*args, **kwargs):
        answer = recorded(*args, **kwargs)
        found.append(answer[2])
        return answer

    monkeypatch.setattr(forms, "recorded", noting)
    monkeypatch.setattr(forms, "PATIENCE", SOON)
    return found


def growing(x, n):
    i = 0
    while i < n:
        x = x * 1.01 + 0.1
        i = i + 1
    return x


def test_a_long_loop_is_written_down_after_its_first_rounds(runs):
    f = staged(grad(growing))
    for n in (200, 3, 0, 500):
        assert f(1.0, n) == pytest.approx(1.01**n)
    assert runs[0].startswith(f"{TOO_MANY} {SOON} steps")
    assert runs[1:] == [None]
    assert len(f.sources) == 1


def test_a_short_loop_is_recorded_as_it_is_first(runs):
    f = staged(growing)
    assert [f(1.0, n) for n in (2, 3)] == [growing(1.0, n) for n in (2, 3)]
    assert runs == [None, None]


def test_a_long_run_that_asks_nothing_is_recorded_once_more(runs):
    f = staged(lambda x: growing(x, 200))
    assert f(1.0) == f(1.0) == growing(1.0, 200)
    assert runs[0].startswith(f"{TOO_MANY} {SOON} steps")
    assert runs[1:] == [None]


def test_a_run_without_source_is_recorded_to_its_end(runs):
    names = {}
    exec("def f(x):\n    for _ in range(200):\n        x = x * 1.01 + 0.1\n    return x", names)
    f = staged(names["f"])
    assert f(1.0) == f(1.0) == names["f"](1.0)
    assert runs[0].startswith(TOO_MANY)
    assert runs[1:] == [None]


def test_a_loop_that_cannot_be_written_down_is_recorded_to_its_end(runs):
    def noting(x):
        kept = []
        while x < 100.0:
            x = x * 1.01 + 0.1
            kept.append(1)
        return x + 0.0 * len(kept)

    f = staged(noting)
    for _ in range(3):
        assert f(1.0) == noting(1.0)
    assert runs[0].startswith(TOO_MANY)
    assert runs[-1] is None
    assert len(f.sources) == 1
