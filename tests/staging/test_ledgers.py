"""Ledgers: each round is visited once, from the last one on; few are repeated, and few states are kept."""

import math

import numpy as np
import pytest

from shiftreset_ad.staging.python.ledgers import Layout, Ledger, Plan, bytes_of_values, divided, weight
from shiftreset_ad.transforms.checkpointing.revolve import advances, beta


class Run:
    """A loop of so many rounds, which is carried out and visited as the steps by NumPy do it."""

    def __init__(self, rounds, length, snapshots, is_counted):
        plan = Plan(length, snapshots)
        ledger = Ledger(plan, (0,), rounds if is_counted else None)
        self.repeated = self.most_frames = self.most_snapshots = 0
        for i in range(rounds):
            if ledger.left <= 0:
                ledger.begin_stretch((i,))
            ledger.frames.append(i)
            ledger.left -= 1
            self.look(ledger, ledger.frames)
        self.visited = list(reversed(ledger))
        while (state := ledger.back()) is not None:
            (i,) = state
            frames = []
            while ledger.left > 0 or ledger.goes_on(frames, (i,)):
                frames.append(i)
                ledger.left -= 1
                i += 1
                self.repeated += 1
                self.look(ledger, frames)
            self.visited += reversed(frames)

    def look(self, ledger, frames):
        self.most_frames = max(self.most_frames, len(frames))
        self.most_snapshots = max(self.most_snapshots, len(ledger._snapshots))


def least(rounds, length, snapshots):
    """The least number of stretches that are repeated, in rounds. The rounds are whole stretches."""
    return length * advances(rounds // length, snapshots)


@pytest.mark.parametrize("is_counted", [True, False])
@pytest.mark.parametrize("length", [1, 2, 7])
@pytest.mark.parametrize("snapshots", [2, 3, 8])
def test_each_round_is_visited_once_and_the_limits_hold(snapshots, length, is_counted):
    for rounds in [*range(40), 100, 331]:
        run = Run(rounds, length, snapshots, is_counted)
        assert run.visited == list(range(rounds))[::-1]
        assert run.most_snapshots <= snapshots
        assert run.most_frames <= 2 * length
        assert run.repeated == 0 or rounds > 2 * length


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("snapshots", [1, 2, 3, 8, 12])
def test_a_counted_loop_repeats_the_least_number_of_rounds(snapshots, length):
    for stretches in [*range(3, 60), 200]:
        rounds = stretches * length
        assert Run(rounds, length, snapshots, True).repeated == least(rounds, length, snapshots)


@pytest.mark.parametrize("snapshots", [2, 3, 8, 12])
def test_a_while_repeats_the_least_number_of_rounds_if_they_are_few(snapshots):
    for rounds in range(3, beta(snapshots, 2)):
        assert Run(rounds, 1, snapshots, False).repeated == least(rounds, 1, snapshots)


@pytest.mark.parametrize("snapshots", [2, 3, 8, 12])
def test_a_longer_while_takes_at_most_a_quarter_longer(snapshots):
    for rounds in range(beta(snapshots, 2), 12 * snapshots**2, 7):
        run = Run(rounds, 1, snapshots, False)
        assert least(rounds, 1, snapshots) <= run.repeated
        assert rounds + run.repeated <= 1.25 * (rounds + least(rounds, 1, snapshots))


def test_half_of_the_memory_is_for_frames():
    rounds, snapshots = divided(1_000_000, 32, 48)
    assert abs(rounds * 32 - 500_000) < 200
    assert abs(snapshots * 48 - 500_000) < 200
    assert 2 * rounds * 32 + 2 * 48 <= 1_000_000  # the frames of two stretches fit, too
    assert rounds * 32 + (snapshots + 1) * 48 <= 1_000_000
    assert divided(1, 32, 48) == (1, 8)


def test_a_snapshot_has_copies_of_arrays_that_are_written_to():
    x, y = np.ones(2), np.ones(2)
    ledger = Ledger(Plan(1, 8, (1,)), (x, y))
    ledger.left = 0
    y[:] = 2.0
    ledger.begin_stretch((x, y))
    ledger.begin_stretch((x, y))
    y[:] = 3.0
    states = [ledger.back(), ledger.back()]
    assert [list(state[1]) for state in states] == [[2.0, 2.0], [1.0, 1.0]]
    assert all(state[0] is x for state in states)
    assert ledger.back() is None


def test_the_weight_of_frames_includes_those_in_them():
    inner = Layout(10, {})
    layout = Layout(100, {1: inner})
    assert weight([[0, [[1], [2]]], [0, None], [0, []]], layout) == 3 * 100 + 2 * 10
    assert weight(None, layout) == 0


def test_bytes_of_values():
    numbers, array = bytes_of_values([1.0, 2.0]), bytes_of_values([np.zeros(1000)])
    assert 2 * 24 < numbers < 200
    assert 8000 < array < 8400
    assert math.isclose(bytes_of_values([1.0] * 3) - numbers, 32)
