"""Ledgers of limited loops: which frames and which snapshots there are, and which stretch is carried out again next.

A stretch is as many rounds as half of the memory has frames for. Only one question is open: between which stretches the
snapshots are. If the number of rounds is known, the binomial schedule says it (`transforms.checkpointing.revolve`),
which repeats the least number of rounds. On the way back the number of stretches behind a snapshot is always known.

On the way there a `while` may have any number of rounds. Then a snapshot is taken after each stretch. If there is no
room, the first snapshot goes whose two neighbours are not too far from one another: the stretches between two snapshots
must be few enough for the snapshots that are free by the time when they are reversed. So the number of repeated rounds
is the least one, too, if there are fewer than (s + 1) (s + 2) / 2 stretches for s snapshots. Otherwise the loop takes
up to a quarter longer. A first pass that counts would cost one more run of all rounds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.transforms.checkpointing.revolve import beta, first_part

FEWEST = 8  # snapshots; with fewer ones, the rounds of a long loop would be repeated very often
HEADER = 112  # bytes of an array beside its elements


class Plan(NamedTuple):
    """How a loop uses its memory: the length of a stretch, and the number of snapshots.

    The length is a number of rounds. If other loops have frames in those of a round, it is a number of bytes. The
    arrays at the positions `written` in a state are written to in the next round, so a snapshot has copies.
    """

    length: int
    snapshots: int
    written: tuple[int, ...] = ()

    def copied(self, state: Sequence[Any]) -> Sequence[Any]:
        """A state in memory of its own."""
        if not self.written:
            return state
        found = [*state]
        for i in self.written:
            found[i] = np.copy(found[i])
        return found


class Layout(NamedTuple):
    """The bytes of a frame, and the layouts of the frames of other loops that lie in it, by their positions."""

    bytes: int
    inside: dict[int, Layout]


def divided(memory: int, frame: int, state: int) -> tuple[int, int]:
    """The length of a stretch and the number of snapshots, for so many bytes of memory, of a frame and of a state.

    The length is the number of rounds, or that of bytes if a frame has the length of a byte.

    The frames of two stretches and two snapshots fit into the memory, too. So a loop with no more rounds repeats none.
    """
    frame, state = max(frame, 1), max(state, 1)
    rounds = max(1, (memory - 2 * state) // (2 * frame))
    return rounds, max(FEWEST, (memory - rounds * frame) // state - 1)


def weight(frames: list[Any] | None, layout: Layout) -> int:
    """The bytes of some frames, and of the frames in them. A loop in a branch that was not taken has none."""
    if not frames:
        return 0
    inside = sum(weight(frame[i], layout.inside[i]) for frame in frames for i in layout.inside)
    return layout.bytes * len(frames) + inside


class Ledger:
    """The `frames` of the last rounds of a loop, and its snapshots: states, each with the stretch that begins with it.

    The stretches have numbers. Of those from `_first` on there are frames, until they have been visited. `left` is the
    length that is left of a stretch. If nobody knows the number of rounds, the state at the beginning of the
    `_current` stretch becomes a snapshot at its end. Otherwise the last stretch is the `_target`, and a snapshot is
    taken before the stretch that is `_due`.
    """

    __slots__ = (
        "_current",
        "_cursor",
        "_due",
        "_first",
        "_level",
        "_plan",
        "_snapshots",
        "_stretch",
        "_target",
        "frames",
        "left",
    )

    def __init__(self, plan: Plan, state: Sequence[Any], count: int | None = None) -> None:
        """Begin a loop with this state. `count` is the number of rounds, if it is known."""
        self.frames: list[Any] = []
        self.left = plan.length
        self._plan = plan
        self._snapshots: list[tuple[int, Sequence[Any]]] = []
        self._current = 0, plan.copied(state)
        self._stretch = self._first = 0
        self._cursor, self._level = 0, 1
        self._target = self._due = -1
        if count is not None:
            self._target = (count - 1) // plan.length
            self._snapshots.append(self._current)
            self._set_due()

    def __reversed__(self) -> Any:
        return reversed(self.frames)

    def begin_stretch(self, state: Sequence[Any]) -> None:
        """Begin another stretch, whose first round begins with this state."""
        self.left = self._plan.length
        if self._target < 0:
            if len(self._snapshots) == self._plan.snapshots:
                self._drop_one()
            self._snapshots.append(self._current)
            self._current = self._stretch + 1, self._plan.copied(state)
        self._next_stretch(state)
        if self._stretch > 1:
            self.frames.clear()
            self._first = self._stretch

    def _drop_one(self) -> None:
        """Drop a snapshot, for one at the beginning of this stretch."""
        snapshots, stretch = self._snapshots, self._stretch
        while True:
            i = self._cursor
            if i + 1 == len(snapshots):
                self._cursor, self._level = 0, self._level + 1
                continue
            following = snapshots[i + 2][0] if i + 2 < len(snapshots) else stretch
            if following - snapshots[i][0] <= beta(len(snapshots) - i, self._level - 1):
                del snapshots[i + 1]
                return
            self._cursor += 1

    def back(self) -> Sequence[Any] | None:
        """The state with which the next rounds begin that are carried out again; None if all have been visited."""
        self.frames.clear()
        if not self._first:
            return None
        self._first -= 1
        self._target = self._first
        while self._snapshots[-1][0] > self._target:
            self._snapshots.pop()
        self._stretch, state = self._snapshots[-1]
        self.left = self._plan.length
        self._set_due()
        return self._plan.copied(state)

    def _set_due(self) -> None:
        """Find the next snapshot of the schedule."""
        stretches = self._target + 1 - self._stretch
        free = self._plan.snapshots + 1 - len(self._snapshots)
        self._due = self._stretch + first_part(stretches, free) if stretches > 1 else -1

    def goes_on(self, frames: list[Any], state: Sequence[Any]) -> bool:
        """Whether another stretch is carried out again, from this state on; otherwise the last one is to be visited."""
        if self._stretch == self._target:
            return False
        frames.clear()
        self.left = self._plan.length
        self._next_stretch(state)
        return True

    def _next_stretch(self, state: Sequence[Any]) -> None:
        self._stretch += 1
        if self._stretch == self._due < self._target:
            self._snapshots.append((self._stretch, self._plan.copied(state)))
            self._set_due()


def bytes_of_values(values: Sequence[Any]) -> int:
    """The bytes of a list of such values, and of a place for it in another list."""
    sizes = [x.nbytes + HEADER if type(x) is ndarray else sys.getsizeof(x) for x in values]
    return 8 + sys.getsizeof([]) + sum(8 + size for size in sizes)
