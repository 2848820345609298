"""No shape, no path and no error ends staging for good; what is of no use is recorded ever more rarely."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging import StagingWarning
from shiftreset_ad.staging.patience import (
    FIRST,
    FIRST_AFTER_REFUSAL,
    LONG,
    LONGEST,
    MOST_IN_VAIN,
    MOST_UNPAID,
    PAYS,
    Patience,
)

RNG = np.random.default_rng(0)
LOG = []
CONFIGURATION = {"reads": True}


def calls_that_are_recorded(f, calls):
    """The numbers of the calls that have left a way."""
    found, known = [], [signature.ways[0] for signature in f._calls._signatures.values()]
    for number, args in enumerate(calls):
        f(*args)
        newest = [signature.ways[0] for signature in f._calls._signatures.values()]
        if newest != known:
            found.append(number)
        known = newest
    return found


def squares(x):
    return np.sum(np.tanh(x) * x)


# What comes again is recorded


@pytest.mark.filterwarnings("ignore:staged")
def test_sequences_of_many_lengths_are_all_recorded_after_some_rounds():
    slope, wanted = staged(grad(squares)), grad(squares)
    for _ in range(5):
        for length in RNG.permutation(np.arange(1, 61)):
            x = np.full(length, 0.5)
            assert np.array_equal(slope(x), wanted(x))
    assert len(slope.sources) == 60


def test_lengths_that_come_twice_are_recorded_without_a_warning():
    slope = staged(grad(squares))
    for length in range(1, 41):
        for _ in range(2):
            slope(np.full(length, 0.5))
    assert len(slope.sources) == 40


# What does not is recorded ever more rarely


@pytest.mark.filterwarnings("ignore:staged")
def test_lengths_that_do_not_come_again():
    recorded = calls_that_are_recorded(staged(squares), [(np.ones(length),) for length in range(1, 300)])
    last = MOST_IN_VAIN - 1
    expected = list(range(MOST_IN_VAIN))
    while (last := last + FIRST * 2 ** (len(expected) - MOST_IN_VAIN) + 1) < 299:
        expected.append(last)
    assert recorded == expected
    assert len(recorded) < 22


def test_a_warning_says_so_once():
    f, calls = staged(squares), [np.ones(length) for length in range(1, 150)]
    with pytest.warns(StagingWarning) as caught:
        assert len(list(map(f, calls))) == 149
    (message,) = [f"{warning.message}" for warning in caught]
    assert message.startswith("staged(squares): it runs as it is for now, as it has taken another way 16 times: its ")
    assert "\nWhat takes another way runs as it is for now, as it has taken another way 16 times" in f.report()


@pytest.mark.filterwarnings("ignore:staged")
def test_a_call_that_uses_a_way_ends_the_pause():
    f = staged(squares)
    calls_that_are_recorded(f, [(np.ones(length),) for length in range(1, MOST_IN_VAIN + 2)])
    assert len(f.sources) == MOST_IN_VAIN
    f(np.ones(1))
    f(np.ones(MOST_IN_VAIN + 1))
    assert len(f.sources) == MOST_IN_VAIN + 1
    assert "for now" not in f.report()


def test_ways_that_have_to_go_are_paid_for_by_the_calls_that_use_others():
    patience, count = Patience(), 0
    while patience.recorded(True, 0.0) is None:
        patience.replayed()
        count += 1
    assert count == MOST_UNPAID // (PAYS - 1)
    waited = 0
    while not patience.allows():
        patience.replayed()
        waited += 1
    assert waited == FIRST_AFTER_REFUSAL
    assert not any(patience.recorded(True, 0.0) for _ in range(MOST_IN_VAIN - 1)), (
        "the calls have paid for those before"
    )


def test_pauses_become_longer_up_to_a_limit():
    patience, lengths = Patience(), []
    for _ in range(12):
        patience.refused()
        lengths.append(1)
        while not patience.allows():
            lengths[-1] += 1
    assert lengths == [1 + min(FIRST_AFTER_REFUSAL * 2**k, LONGEST) for k in range(12)]


@pytest.mark.parametrize("module", ["recording", "records"])
def test_another_answer_for_the_same_arguments_is_the_end(module, monkeypatch):
    """What staging cannot see may change at any time, so no record of the function can be trusted."""
    f = staged(squares)
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[f"shiftreset_ad.staging.{module}"], "agree", lambda *_: False)
        with pytest.warns(StagingWarning, match="it runs as it is from here on, as it answers something else"):
            assert [f(np.ones(2)) for _ in range(2)] == [squares(np.ones(2))] * 2
    assert calls_that_are_recorded(f, [(np.ones(length),) for length in range(FIRST_AFTER_REFUSAL + 5)]) == []
    assert f.report().startswith("staged(squares) runs as it is, as it answers something else")


# One exceptional path


def logs(x):
    if x > 100.0:
        LOG.append(1)
    return x * x


def draws(x):
    return x * np.random.normal() if x > 100.0 else x * x  # noqa: NPY002


def reads(x):
    return x * float(str(np.rint(x))) if x > 100.0 else x * x


def writes(x, a):
    if x > 100.0:
        a[0] = x
    return x * a[1]


def raises(x):
    if x > 100.0:
        raise ValueError("x is large")
    return x * x


def answers_a_function(x):
    return (lambda: x)() if x < 100.0 else [iter(())]


@pytest.mark.filterwarnings("ignore:staged")
@pytest.mark.parametrize("f", [logs, draws, reads, writes, raises, answers_a_function])
@pytest.mark.parametrize("is_first", [False, True])
def test_one_path_leaves_the_others_in_steps(f, is_first):
    g, rest = staged(f), [np.ones(2)] if f is writes else []

    def is_run(x):
        np.random.seed(5)  # noqa: NPY002
        try:
            return str(f(x, *rest)) == str(staged_answer(x)) or f is answers_a_function
        except ValueError:
            with pytest.raises(ValueError, match="x is large"):
                g(x, *rest)
            return True

    def staged_answer(x):
        np.random.seed(5)  # noqa: NPY002
        return g(x, *rest)

    usual = (1.0, 2.0, 3.0, 4.0)
    for x in (*((200.0, 300.0) if is_first else ()), *usual, 200.0, *usual, 300.0, 400.0, *usual):
        assert is_run(x)
    for _ in range(FIRST_AFTER_REFUSAL + 20 if is_first else 0):
        assert is_run(1.0)
    assert g.sources
    assert not g._calls._is_given_up
    LOG.clear()


def test_a_path_that_is_not_taken_draws_nothing():
    """Both paths are written down; to write the other one must not move the generators that it reads."""
    own = np.random.default_rng(1)

    def f(x):
        if x > 100.0:
            x = x * own.normal() * np.random.normal() * random.random()  # noqa: NPY002
        return x * x

    g, before = staged(f), (own.bit_generator.state, np.random.get_state(), random.getstate())  # noqa: NPY002
    assert [g(x) for x in (1.0, 2.0, 3.0, 2.0)] == [1.0, 4.0, 9.0, 4.0]
    assert g.sources
    np.testing.assert_equal((own.bit_generator.state, np.random.get_state(), random.getstate()), before)  # noqa: NPY002


def test_what_is_refused_is_tried_again_as_it_may_have_changed():
    def f(x):
        return x * float(id(x) > 0) if CONFIGURATION["reads"] else x * 2.0

    g = staged(f)
    with pytest.warns(StagingWarning, match="for now, as it asks for id"):
        assert g(1.0) == 1.0
    assert g.report().startswith("staged(f) runs as it is for now, as it asks for id")
    CONFIGURATION["reads"] = False
    try:
        assert [g(3.0) for _ in range(FIRST_AFTER_REFUSAL)] == [6.0] * FIRST_AFTER_REFUSAL
        assert not g.sources
        assert [g(3.0) for _ in range(3)] == [6.0] * 3
        assert g.sources
        assert "for now" not in g.report()
    finally:
        CONFIGURATION["reads"] = True


def test_recordings_that_take_long_count_as_several():
    patience = Patience()
    assert [patience.recorded(False, 4 * LONG) for _ in range(3)] == [None] * 3
    assert patience.recorded(False, 4 * LONG) == "it has taken another way 4 times, which took long to record"
    assert not patience.allows()
    patience.replayed()
    assert patience.recorded(False, 15.5 * LONG) is None, "a call has used one of them"
    assert patience.recorded(False, 0.0) == "it has taken another way 2 times, which took long to record"


def test_one_long_recording_ends_nothing():
    patience = Patience()
    assert patience.recorded(False, 100 * LONG) is None
    assert patience.allows()
    assert patience.recorded(False, 0.0) == "it has taken another way 2 times, which took long to record"
