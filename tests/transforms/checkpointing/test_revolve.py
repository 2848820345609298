"""The binomial schedule against the theory: what it stores, how often it runs each step, and that none is better."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise

import pytest

from shiftreset_ad.transforms.checkpointing.revolve import (
    Advance,
    Free,
    Restore,
    Reverse,
    Take,
    advances,
    beta,
    repetitions,
    schedule,
)


@cache
def least(n: int, snapshots: int) -> int:
    """The least number of steps to run beside the reversed ones, by trying every place for the next snapshot."""
    if n == 1:
        return 0
    if snapshots == 1:
        return n * (n - 1) // 2
    return min(m + least(n - m, snapshots - 1) + least(m, snapshots) for m in range(1, n))


def carried_out(n: int, snapshots: int) -> tuple[Counter[int], int]:
    """Carry the schedule out on the numbers of the steps; how often it ran each, and the most snapshots it had."""
    stack: list[int] = []
    runs: Counter[int] = Counter()
    reversed_steps = []
    working, most = 0, 0
    for action in schedule(n, snapshots):
        match action:
            case Take(step):
                assert step == working
                stack.append(step)
            case Restore(step):
                assert stack[-1] == step
                working = step
            case Advance(start, stop):
                assert working == start < stop
                runs.update(range(start, stop))
                working = stop
            case Reverse(step):
                assert step == working
                reversed_steps.append(step)
                working = -1
            case Free(step):
                assert stack.pop() == step
        most = max(most, len(stack))
    assert reversed_steps == list(reversed(range(n)))
    assert stack == []
    return runs, most


@pytest.mark.parametrize("snapshots", range(1, 9))
def test_it_is_optimal(snapshots: int) -> None:
    for n in range(1, 61):
        runs, most = carried_out(n, snapshots)
        assert runs.total() == advances(n, snapshots) == least(n, snapshots)
        assert most <= snapshots
        assert max(runs.values(), default=0) <= repetitions(n, snapshots)


def test_ten_thousand_steps_with_fourteen_snapshots() -> None:
    assert beta(14, 4) == 3060 < 10_000 <= beta(14, 5) == 11628
    assert repetitions(10_000, 14) == 5
    assert advances(10_000, 14) == 5 * 10_000 - beta(15, 4) == 46124
    runs, most = carried_out(10_000, 14)
    assert runs.total() == 46124
    assert most == 14
    assert max(runs.values()) == 5


@pytest.mark.parametrize(("n", "snapshots"), [(1, 1), (1, 5), (7, 7), (7, 100), (2, 2)])
def test_with_a_snapshot_for_each_step_each_is_run_once(n: int, snapshots: int) -> None:
    runs, most = carried_out(n, snapshots)
    assert runs.total() == n - 1
    assert most == max(1, n - 1)  # the state before the last step is never stored, as it is reversed at once


def test_with_one_snapshot_every_step_is_reached_from_the_start() -> None:
    runs, most = carried_out(40, 1)
    assert runs.total() == 40 * 39 // 2
    assert most == 1


def test_what_a_binomial_number_of_steps_costs() -> None:
    """beta(s, r) steps are the most that r repetitions allow, and one more costs r + 1."""
    for snapshots in range(1, 6):
        for r in range(1, 6):
            n = beta(snapshots, r)
            assert repetitions(n, snapshots) == r
            assert repetitions(n + 1, snapshots) == r + 1
            assert advances(n + 1, snapshots) - advances(n, snapshots) == r + 1


def test_steps_that_follow_on_each_other_need_no_restore() -> None:
    for before, after in pairwise(schedule(30, 4)):
        if isinstance(after, Restore):
            assert isinstance(before, Reverse | Free)
