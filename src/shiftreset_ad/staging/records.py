"""The records of a function: the ways that it has taken, what they have seen, and when another way is recorded."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from shiftreset_ad.control.frames import is_ours
from shiftreset_ad.modes.reverse.collector import with_relaxed_collector
from shiftreset_ad.staging.forms import recorded_in_a_form
from shiftreset_ad.staging.patience import Patience
from shiftreset_ad.staging.recording import DIFFERS, agree, also_row_by_row
from shiftreset_ad.staging.reports import report
from shiftreset_ad.staging.seen.guards import Guards
from shiftreset_ad.staging.seen.keys import StagedCall, is_dead
from shiftreset_ad.staging.seen.parts import RANDOM, are_same_states
from shiftreset_ad.staging.seen.surroundings import Surroundings
from shiftreset_ad.staging.signals import Signals
from shiftreset_ad.staging.threads import recording
from shiftreset_ad.staging.ways import MOST_WAYS, Signature, Way

MOST_SIGNATURES = 256
BY_A_ZERO = (
    "its answer depends on the sign of a zero, which may stand for no derivative at all. Add 0.0 to the derivative"
)
ARGUMENTS = "it changes its arguments"


class StagingWarning(UserWarning):
    """A staged function runs as it is, and is not recorded, for a number of calls or for good."""


class Before:
    """What a call may change, as it is before the call: its arguments, and what it sees beside them."""

    def __init__(self, call: StagedCall, surroundings: Surroundings) -> None:
        self._call = call
        self._copies = call.copies()
        self._surroundings = surroundings
        self._states = surroundings.states()

    def effect(self) -> str | None:
        """The change that the call has made, in words; None if there is no change."""
        if self._call.has_changed(self._copies):
            return ARGUMENTS
        if not are_same_states(self._surroundings.states(), self._states):
            return RANDOM
        name = self._surroundings.guards.changed()
        return None if name is None else f"it changes {name!r}, which others see"


class Records:
    """The records of `f`, by the types and shapes of its arguments."""

    # The search for what a function sees does not look into private slots of this library (`seen/parts.py`).
    __slots__ = (
        *("_f", "_is_given_up", "_memory_limit", "_name", "_patience", "_prepared", "_problem", "_reason"),
        "_signatures",
    )
    fallback = "it runs as it is"  # what happens if it cannot be recorded

    def __init__(self, name: str, f: Callable[..., Any], memory_limit: int | None = None) -> None:
        self._name = name
        self._f = f
        self._signatures: dict[Any, Signature] = {}
        self._is_given_up = False
        self._problem = ""
        self._memory_limit = memory_limit
        self._prepared: set[Any] = set()  # the keys of calls that have had an effect once
        self._patience = Patience()
        self._reason = ""

    @property
    def ways(self) -> list[Way]:
        """All ways that are known."""
        return [way for signature in list(self._signatures.values()) for way in signature.ways]

    def report(self) -> str:
        """What runs in steps, and what as it is, and why."""
        return report(self._name, self.ways, self._problem, self._is_given_up)

    def _if_unchanged(self, key: Any, signature: Signature | None) -> Signature | None:
        """The signature, if all that the function sees is as it was; otherwise None, and the signature is dropped."""
        if signature is None:
            self._reason = "its arguments have other types, shapes, strings or objects each time"
            return None
        name = signature.changed()
        if name is None:
            return signature
        self._signatures.pop(key, None)
        self._reason = f"it sees {name!r} from outside, and {name!r} has changed. Make it an argument"
        return None

    def _forget_signatures_of_the_dead(self, _: Any) -> None:
        for key in [key for key in list(self._signatures) if any(map(is_dead, key[1]))]:
            self._signatures.pop(key, None)

    # The first call

    def _written_down(self, call: StagedCall) -> Any:
        """The answer of the function itself. Another run of the function is recorded, and both answers must agree."""
        f, seen, seconds = self._f, Surroundings(self._f, *call.others()), 0.0
        before, way, guards, problem = Before(call, seen), None, None, seen.problem
        signals = Signals()
        with recording:
            answer = self._answer(call)
            if problem is None and (problem := before.effect()) is not None and self._prepares(call.key, problem):
                return answer
            if problem is None:
                start = time.perf_counter()
                with seen.without_caching(), signals.aside():
                    way, guards, problem = self._recorded(call, answer, seen)
                seconds = time.perf_counter() - start
                if (effect := before.effect()) is not None:
                    f(*call.args, **call.kwargs)  # replaces staged values that the run has left outside
                    problem = effect
        if signals.are_handled():
            return answer
        if problem == DIFFERS:
            return self._given_up(DIFFERS, answer)
        if problem is not None or way is None or guards is None:
            return self._refused(f"{problem}", answer)
        pause = self._patience.recorded(self._keep(way, call.key, guards), seconds)
        if pause is not None:
            return self._paused(f"{pause}: {self._reason}", answer)
        self._problem = ""
        return answer

    def _answer(self, call: StagedCall) -> Any:
        """The answer of the function itself."""
        return self._f(*call.args, **call.kwargs)

    def _recorded(
        self, call: StagedCall, answer: Any, seen: Surroundings
    ) -> tuple[Way | None, Guards | None, str | None]:
        """The way that the function takes, and guards on what it reads; or why there is none."""
        record = partial(recorded_in_a_form, self._f, call, answer, seen, self._memory_limit)
        return with_relaxed_collector(partial(also_row_by_row, record))

    def _prepares(self, key: Any, effect: str) -> bool:
        """Whether a call that has an effect may prepare something for later calls, as the first of its kind."""
        kind = None if effect == ARGUMENTS else key
        if kind in self._prepared or len(self._prepared) > MOST_SIGNATURES:
            return False
        self._prepared.add(kind)
        return True

    def _keep(self, way: Way, key: Any, guards: Guards) -> bool:
        """Keep a way; whether an older one had to go."""
        signature = self._signatures.get(key)
        if signature is None:
            self._signatures[key] = signature = Signature()
        has_displaced = len(signature.ways) == MOST_WAYS or len(self._signatures) > MOST_SIGNATURES
        signature.add(way, guards)
        for oldest in list(self._signatures)[:-MOST_SIGNATURES]:
            self._signatures.pop(oldest, None)
        return has_displaced

    def _checked(self, way: Way, signature: Signature, answer: Any, expect: Callable[[], Any]) -> Any:
        """The answer of the function. When the steps are replayed for the first time, their answer must be the same.

        If zeros are carried, and the function agrees with itself, the answer depends on the sign of such a zero.
        """
        way.is_checked, expected = True, expect()
        if agree(answer, expected, way.carries_zeros):
            return expected
        if not way.carries_zeros or not agree(expect(), expected):
            return self._given_up(DIFFERS, expected)
        signature.drop(way)
        return self._refused(BY_A_ZERO, expected)

    def _given_up(self, problem: str, answer: Any) -> Any:
        """The answer of the function itself. From now on, only the function itself runs."""
        self._is_given_up, self._problem = True, problem
        self._signatures.clear()
        self._prepared.clear()
        self._warn(f"{self.fallback} from here on, as {problem}")
        return answer

    def _refused(self, problem: str, answer: Any) -> Any:
        """The answer of the function itself, which is not recorded again for a while."""
        self._patience.refused()
        return self._paused(problem, answer)

    def _paused(self, problem: str, answer: Any) -> Any:
        """The answer of the function itself. For some calls, the function itself runs where no way is known."""
        if problem != self._problem:
            self._problem = problem
            self._warn(f"{self.fallback} for now, as {problem}")
        return answer

    def _warn(self, message: str) -> None:
        """Warn at the line of the user's that calls the function."""
        level, caller = 1, sys._getframe(1)
        while is_ours(caller.f_code) and caller.f_back is not None:
            level, caller = level + 1, caller.f_back
        warnings.warn(f"{self._name}: {message}", StagingWarning, stacklevel=level + 1)
