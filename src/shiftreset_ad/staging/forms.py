"""A function is recorded as it is, and in its rewritten form if it asks for values: then control is written down.

A branch or a loop that cannot be written down asks, and the recording starts again. If the rewritten form cannot be
recorded at all, the record of the function as it is remains. What an operator such as `grad` asks for itself, on
the way back for example, it asks in both forms.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from types import CodeType
from typing import Any

from shiftreset_ad.staging.front.refusals import Refusal
from shiftreset_ad.staging.front.running import entered, original, rewritten
from shiftreset_ad.staging.front.session import Session
from shiftreset_ad.staging.front.writing import Writing
from shiftreset_ad.staging.recording import recorded
from shiftreset_ad.staging.seen.guards import Guards
from shiftreset_ad.staging.seen.keys import StagedCall
from shiftreset_ad.staging.seen.surroundings import Surroundings
from shiftreset_ad.staging.steps.trace import TOO_MANY, Trace
from shiftreset_ad.staging.ways import Way


def recorded_in_a_form(
    f: Callable[..., Any], call: StagedCall, expected: Any, surroundings: Surroundings
) -> tuple[Way | None, Guards | None, str | None]:
    """The way that the function takes for these arguments, and guards on what it reads; or why there is none.

    The rewritten form has paths that the run as it is has not taken. What it reads there is guarded, too.
    """
    found = recorded(f, call, expected, surroundings)
    as_it_is, of_reads, reason = found
    is_long = reason is not None and reason.startswith(TOO_MANY)
    asks = as_it_is is not None and as_it_is.is_asked and as_it_is.answers
    if not (is_long if as_it_is is None else asks) or surroundings.opaque is not None:
        return found
    if rewritten(f) is f:
        return found
    refusals: dict[Any, Refusal] = {}
    asked: dict[Any, Refusal] = {}
    recursive: dict[CodeType, Any] = {}

    def opened(trace: Trace, read: Callable[[Any], None]) -> AbstractContextManager[None]:
        asked.clear()
        return Session(Writing(trace, read), refusals, asked, recursive).opened()

    while True:
        known = len(refusals), len(recursive)
        way, guards, _ = recorded(partial(entered, f), call, expected, surroundings, original, opened)
        if way is not None and guards is not None:
            way.not_written = [f"{refusal}" for refusal in {**asked, **refusals}.values()]
            way.lines = ()
            if as_it_is is not None and of_reads is not None:
                way.lines = as_it_is.lines
                guards.add(of_reads)
            return way, guards, None
        if (len(refusals), len(recursive)) == known:
            return found
