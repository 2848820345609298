"""The binomial schedule: in which order to store, recompute and reverse the steps of a loop that cannot all be kept.

Griewank and Walther, Algorithm 799: revolve, ACM TOMS 26(1), 2000; Evaluating Derivatives, 2nd edition, section 12.2.
Nothing here but integers; `loops` carries the schedule out.

With s snapshots, each step being recomputed at most r times, beta(s, r) = (s + r)! / (s! r!) steps can be reversed. The
snapshots are used as a stack, and the state before step 0 counts as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import NamedTuple, TypeAlias


class Take(NamedTuple):
    """Push the working state, that before `step`, on the stack of snapshots."""

    step: int


class Restore(NamedTuple):
    """Make the snapshot on top of the stack, that before `step`, the working state; it stays there."""

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
    """The least r such that `n` steps can be reversed with each recomputed at most r times."""
    r = 0
    while beta(snapshots, r) < n:
        r += 1
    return r


def advances(n: int, snapshots: int) -> int:
    """The least number of steps, those being reversed not counted, that must be run to reverse `n` steps."""
    r = repetitions(n, snapshots)
    return r * n - beta(snapshots + 1, r - 1)


def first_part(n: int, snapshots: int) -> int:
    """How far to go before the next snapshot is taken, on `n` >= 2 steps, the last snapshot being at their start.

    The part after it is reversed with one snapshot less and, later, this part with as many. It costs least if the first
    needs r repetitions and the second r - 1, where r is what the whole needs.
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
