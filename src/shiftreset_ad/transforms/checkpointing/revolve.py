"""The binomial schedule: in which order to store, recompute and reverse the steps of a loop, if memory is limited.

Griewank and Walther, Algorithm 799: revolve, ACM TOMS 26(1), 2000; Evaluating Derivatives, 2nd edition, section 12.2.
This module computes with integers only; `loops` carries the schedule out.

With s snapshots, if each step is recomputed at most r times, beta(s, r) = (s + r)! / (s! r!) steps can be reversed. The
snapshots are a stack, and the state before step 0 counts as a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import NamedTuple, TypeAlias


class Take(NamedTuple):
    """Push the working state, which is the state before `step`, on the stack of snapshots."""

    step: int


class Restore(NamedTuple):
    """Make the top of the stack, the state before `step`, the working state; the snapshot stays on the stack."""

    step: int


class Advance(NamedTuple):
    """Bring the working state forward, from before step `start` to before step `stop`."""

    start: int
    stop: int


class Reverse(NamedTuple):
    """Go back through `step`, whose state is the working state."""

    step: int


class Free(NamedTuple):
    """Pop the snapshot before `step` off the stack."""

    step: int


Action: TypeAlias = Take | Restore | Advance | Reverse | Free


def beta(snapshots: int, repetitions: int) -> int:
    """How many steps can be reversed by `snapshots`, if each is recomputed at most `repetitions` times."""
    return comb(snapshots + repetitions, snapshots) if repetitions >= 0 else 0


def repetitions(n: int, snapshots: int) -> int:
    """The least r such that `n` steps can be reversed, if each is recomputed at most r times."""
    r = 0
    while beta(snapshots, r) < n:
        r += 1
    return r


def advances(n: int, snapshots: int) -> int:
    """The least number of steps that must run to reverse `n` steps, without the runs that go back."""
    r = repetitions(n, snapshots)
    return r * n - beta(snapshots + 1, r - 1)


def first_part(n: int, snapshots: int) -> int:
    """How many of `n` >= 2 steps to run before the next snapshot is taken; the last snapshot is at their start.

    The part after the next snapshot is reversed first, with one snapshot less. The part before it is reversed later,
    with as many. The cost is least if the part after it needs r repetitions and the part before it needs r - 1, where
    the whole needs r.
    """
    r = repetitions(n, snapshots)
    return min(beta(snapshots, r - 1), n - beta(snapshots - 1, r - 1))


def schedule(n: int, snapshots: int) -> Iterator[Action]:
    """The actions that reverse `n` >= 1 steps with at most `snapshots` >= 1 of their states stored.

    >>> [type(action).__name__ for action in schedule(2, 1)]
    ['Take', 'Advance', 'Reverse', 'Restore', 'Reverse', 'Free']
    """
    taken = [0]
    yield Take(0)
    working = 0
    for last in reversed(range(n)):
        if working != taken[-1]:
            working = taken[-1]
            yield Restore(working)
        while working < last:
            stop = working + first_part(last + 1 - working, snapshots + 1 - len(taken))
            yield Advance(working, stop)
            working = stop
            if working < last:
                taken.append(working)
                yield Take(working)
        yield Reverse(last)
        working = -1
        if taken[-1] == last:
            taken.pop()
            yield Free(last)
