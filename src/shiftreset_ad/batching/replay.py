"""The calls of NumPy that carry out a program for all rows, recorded as `staged` records a function, and replayed.

A program looks at each step anew: what its operands are, how they line up, which way its function takes. For as many
rows that lie alike the calls that come of it are the same. So after a few runs they are recorded once more, and become
Python source, or native code where there is `llvmlite`. A replay that finds another answer to a question, or an error,
says so, and the program carries out its steps as before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import ndarray

from shiftreset_ad.numbers.tags import seeing
from shiftreset_ad.staging.recording import agree, recorded
from shiftreset_ad.staging.seen.keys import StagedCall, is_input
from shiftreset_ad.staging.seen.surroundings import Surroundings
from shiftreset_ad.staging.threads import one_at_a_time, recording
from shiftreset_ad.staging.ways import Way

RUNS = 8  # by the steps of a program, before they are recorded: a recording takes as long as a few of them
MOST = 8  # kinds of inputs of which something is known; numbers of rows are not kept for ever
IN_VAIN = 4  # replays in a row that have ended early: the rows differ in the ways they take

Answers = list[Any]
Run = Callable[[list[Any]], Answers]  # the answers of a program for the values of all rows


class _Kind:
    """What is known of inputs of one kind: the `runs` so far, and the recorded `way`, if there is one."""

    __slots__ = ("in_vain", "runs", "way")

    def __init__(self) -> None:
        self.runs = self.in_vain = 0
        self.way: Way | None = None


class Replay:
    """The recorded runs of a program, by the number of rows and the layouts of its inputs."""

    __slots__ = ("_kinds",)

    def __init__(self) -> None:
        self._kinds: dict[Any, _Kind] = {}

    def answers(self, values: list[Any], key: Any, run: Run, is_fit: Callable[[], bool]) -> Answers:
        """What `run` answers to these plain values: replayed, if runs of this `key` have been recorded.

        `is_fit` says after a run whether another one may be recorded. Raises the errors of `run`.
        """
        key = key, *[x.strides if type(x) is ndarray else None for x in values]
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = _Kind()
            for oldest in list(self._kinds)[:-MOST]:
                self._kinds.pop(oldest, None)
        way = kind.way
        if way is None:
            done = run(values)
            kind.runs += 1
            if kind.runs == RUNS and is_fit():
                kind.way = _recorded(run, values, done)
            return done
        try:
            found = way.take(values)
        except Exception:  # the steps raise it, or the function of the user's, at its own line
            found = None
        if type(found) is not list:
            kind.in_vain += 1
            if kind.in_vain == IN_VAIN:
                kind.way = None
            return run(values)
        kind.in_vain = 0
        answers: Answers = way.answer(found, list)
        if way.is_checked:
            return answers
        way.is_checked = True
        expected = run(values)
        if not agree(answers, expected):
            kind.way = None
        return expected


def _recorded(run: Run, values: list[Any], answers: Answers) -> Way | None:
    """The way of these answers, recorded in another run; None if there is none, or if another thread records."""
    if not all(map(is_input, values)) or not one_at_a_time.acquire(blocking=False):
        return None
    try:
        apart = [x.view() if type(x) is ndarray else x for x in values]  # two arguments may be one array in this call
        with recording:
            way, _, _ = seeing((), recorded, run, StagedCall((apart,), {}, id), answers, Surroundings(run))
        return way  # type: ignore[no-any-return]
    finally:
        one_at_a_time.release()
