"""Which loops with plain tests are long: so long that they are not recorded round by round, but written down as one.

Each round would have steps of its own in the record. Short loops are recorded so: then the compiler knows all that is
plain in a round, as the index is.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

MOST_STEPS = 1_000  # that are recorded round by round
FEWEST_ROUNDS = 8  # that a loop has left, to be written down as it has been entered often
MOST_ROUNDS_IN_A_BLOCK = 100_000  # of a `while` loop with a plain test
FIRST_ATTEMPT = 2  # rounds before it; by then the variables have the kinds that they keep


class LongLoop:
    """A `for` loop on its way. The steps of the last round tell how many the rest of the loop would have.

    A short loop that is entered again and again has many steps, too: `taken` has those of all its rounds so far. An
    attempt to write the loop down may fail, as a variable gets its first value in the round. Each attempt takes as long
    as a round, so attempts become rare.
    """

    __slots__ = ("_next_attempt", "_site", "_steps", "_taken")

    def __init__(self, site: Any, taken: Counter[Any]) -> None:
        self._site, self._taken = site, taken
        self._steps: int | None = None
        self._next_attempt = FIRST_ATTEMPT

    def is_to_be_written(self, steps: int, done: int, left: int) -> bool:
        """Whether to try it, after so many steps of the record, and rounds of the loop."""
        of_last, self._steps = 0 if self._steps is None else steps - self._steps, steps
        self._taken[self._site] += of_last
        is_long = of_last * left > MOST_STEPS or (left >= FEWEST_ROUNDS and self._taken[self._site] > MOST_STEPS)
        if done < self._next_attempt or not is_long:
            return False
        self._next_attempt = 2 * done
        return True


class LongLoops:
    """The long loops of a program, in all its recordings. If they turn out to be of no use, they are `off`.

    If one has been `tried`, in any recording, the types of the program count; `are_written` is of the last recording.
    Nobody knows how many rounds of a `while` loop are left, so each may have a number of steps. A loop that has more,
    and can be written down, is `known` to be long in the recordings to come. In a block, a loop that goes round and
    round may be in a branch that is never taken.
    """

    __slots__ = ("_attempts", "_first_steps", "_rounds", "are_written", "known", "off", "taken", "tried")

    def __init__(self) -> None:
        self.known: set[Any] = set()
        self.tried = self.off = False
        self.begin()

    def begin(self) -> None:
        """A recording begins."""
        self.are_written = False
        self.taken: Counter[Any] = Counter()  # the steps of the rounds of `for` loops, by their sites
        self._first_steps: dict[Any, int] = {}
        self._rounds: dict[Any, int] = {}
        self._attempts: dict[Any, int] = {}  # the rounds after which to try again

    def is_to_be_written(self, site: Any, steps: int) -> bool:
        """Whether to try to write a loop down, after so many steps of the record; its test has been carried out."""
        first, done = self._first_steps.setdefault(site, steps), self._rounds.get(site, 0)
        self._rounds[site] = done + 1
        if self.off or done < self._attempts.get(site, FIRST_ATTEMPT):
            return False
        if site not in self.known and steps - first <= MOST_STEPS:
            return False
        self._attempts[site] = 2 * done
        return True

    def never_ends(self, site: Any) -> bool:
        """Whether a loop has had more rounds than any loop in a block should have."""
        return self._rounds.get(site, 0) > MOST_ROUNDS_IN_A_BLOCK

    def end(self, site: Any) -> None:
        """A loop has come to its end. It may be entered again."""
        for of_this_entry in (self._first_steps, self._rounds, self._attempts):
            of_this_entry.pop(site, None)
