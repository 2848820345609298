"""How often a function is recorded. A recording takes as long as a hundred calls, so it must be used to pay off.

No reason ends it for good: a path may be an exception, and shapes that differ from call to call may come again. But
recordings that no call uses, or that are refused, are made ever more rarely, until they take a hundredth of the time.
"""

from __future__ import annotations

MOST_IN_VAIN = 16  # recordings one after another that no call uses
LONG = 1.25  # seconds; a recording that takes twice as long counts as two
PAYS = 16  # calls that use a way pay for one that has displaced an older one
MOST_UNPAID = 64 * PAYS
FIRST, FIRST_AFTER_REFUSAL, LONGEST = 16, 256, 16384  # calls that are not recorded


class Pause:
    """Calls that are not recorded; each pause is twice as long as the one before."""

    __slots__ = ("_next", "left")

    def __init__(self, first: int) -> None:
        self.left = 0
        self._next = first

    def begin(self) -> None:
        self.left, self._next = self._next, min(2 * self._next, LONGEST)


class Patience:
    """Whether a call may be recorded, by the use that the recordings before have been of."""

    __slots__ = ("_after_refusals", "_in_vain", "_times", "_unpaid", "_unused")

    def __init__(self) -> None:
        self._in_vain = 0.0
        self._times = self._unpaid = 0
        self._unused, self._after_refusals = Pause(FIRST), Pause(FIRST_AFTER_REFUSAL)

    def allows(self) -> bool:
        """Whether this call may be recorded. If not, the call is one of the pause."""
        for pause in (self._unused, self._after_refusals):
            if pause.left:
                pause.left -= 1
                return False
        return True

    @property
    def is_at_rest(self) -> bool:
        """Whether a call that uses a recording changes nothing here, so that nobody need note it."""
        return not (self._in_vain or self._unpaid)

    def recorded(self, has_displaced: bool, seconds: float) -> str | None:
        """Note a recording, whether an older one had to go, and its time. Why a pause begins; None if there is none."""
        self._times += 1
        self._in_vain += max(1.0, seconds / LONG)
        if has_displaced:
            self._unpaid += PAYS
        if self._unpaid > MOST_UNPAID:
            self._after_refusals.begin()
            return "it takes more ways than are kept"
        if self._in_vain >= MOST_IN_VAIN and self._times > 1:
            self._unused.begin()
            long = ", which took long to record" if self._times < MOST_IN_VAIN else ""
            return f"it has taken another way {min(self._times, MOST_IN_VAIN)} times{long}"
        return None

    def refused(self) -> None:
        """Note a recording that was refused."""
        self._after_refusals.begin()

    def replayed(self) -> None:
        """Note a call that has used a recording."""
        if self._in_vain:
            self._in_vain, self._times, self._unused = 0.0, 0, Pause(FIRST)
        if self._unpaid:
            self._unpaid -= 1
