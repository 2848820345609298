"""A function is recorded as it is, and in its rewritten form if it asks for values: then control is written down.

A branch or a loop that cannot be written down asks, and the recording starts again. If the rewritten form cannot be
recorded at all, the record of the function as it is remains. What an operator such as `grad` asks for itself, on
the way back for example, it asks in both forms. A long run is likely to go round a loop: so the rewritten form, which
may have the loop as one, is tried before such a run is recorded to its end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from types import CodeType
from typing import Any

from shiftreset_ad.staging.control.combinators import RAISES
from shiftreset_ad.staging.front.blocks import is_of_a_generator
from shiftreset_ad.staging.front.functions import is_called_by_python, original, rewritten
from shiftreset_ad.staging.front.long_loops import LongLoops
from shiftreset_ad.staging.front.refusals import AS_A_LIST, IN_A_GENERATOR, Refusal
from shiftreset_ad.staging.front.running import entered
from shiftreset_ad.staging.front.session import Session
from shiftreset_ad.staging.front.writing import Writing
from shiftreset_ad.staging.native import machine
from shiftreset_ad.staging.recording import Recorded, also_asking, recorded
from shiftreset_ad.staging.seen.guards import Guards
from shiftreset_ad.staging.seen.keys import StagedCall
from shiftreset_ad.staging.seen.reads import Reads
from shiftreset_ad.staging.seen.surroundings import Surroundings
from shiftreset_ad.staging.steps.trace import LONGEST_NATIVE, TOO_MANY, Trace
from shiftreset_ad.staging.ways import Way

HAS_TRUTH = "__bool__ should return bool, returned Staged"  # an object has a truth that is staged
WRITES_TO_PLAIN = "writes staged values to a plain array"
PATIENCE = 1_000  # steps of a run before the rewritten form is tried
MOST_UNROLLED = 20_000  # steps round by round, where long loops are not native code


def recorded_in_a_form(
    f: Callable[..., Any],
    call: StagedCall,
    expected: Any,
    surroundings: Surroundings,
    memory_limit: int | None = None,
) -> tuple[Way | None, Guards | None, str | None]:
    """The way that the function takes for these arguments, and guards on what it reads; or why there is none.

    The rewritten form has paths that the run as it is has not taken. What it reads there is guarded, too.
    """
    record = partial(also_asking, partial(recorded, memory_limit=memory_limit))
    found = record(f, call, expected, surroundings, patience=PATIENCE)
    as_it_is, of_reads, reason = found
    is_long = reason is not None and reason.startswith(TOO_MANY)
    asks = as_it_is is not None and as_it_is.is_asked and as_it_is.answers
    has_truth = reason is not None and HAS_TRUTH in reason
    has_form = reason is not None and (has_truth or WRITES_TO_PLAIN in reason or RAISES in reason)
    if not (is_long or has_form if as_it_is is None else asks):
        return found
    if surroundings.opaque is None and rewritten(f) is not f:
        written = _recorded_rewritten(record, f, call, expected, surroundings, as_it_is, of_reads, has_truth)
        if written is not None:
            return written
    is_early = reason is not None and reason.startswith(f"{TOO_MANY} {PATIENCE} ")
    return record(f, call, expected, surroundings) if is_early else found


def in_a_generator(code: CodeType) -> Refusal:
    return Refusal(code.co_filename, code.co_firstlineno, IN_A_GENERATOR.format(name=code.co_name))


def _recorded_rewritten(
    record: Callable[..., Recorded],
    f: Callable[..., Any],
    call: StagedCall,
    expected: Any,
    surroundings: Surroundings,
    as_it_is: Way | None,
    of_reads: Guards | None,
    looks_into_objects: bool,
) -> tuple[Way, Guards, None] | None:
    """The way of the rewritten form, and guards on what it and the run of the function `as_it_is` read.

    Operators of objects are looked into from the beginning, or as soon as one of them asks. Long loops with plain tests
    are given up if values would have other types than in the program, or if they are not native code: round by round
    they may be, unless there are too many. Writes to arrays make versions, as long as the arrays have no other names.
    """
    to_versions = machine.unfit() is None
    refusals: dict[Any, Refusal] = {}
    asked: dict[Any, Refusal] = {}
    recursive: dict[CodeType, Any] = {}
    entered_code: set[Any] = {None} if looks_into_objects else set()
    buffers: set[Any] = set()
    growing: dict[Any, Any] = {}
    forms: dict[Any, Any] = {}
    visited: dict[int, frozenset[Any]] = {}
    long_loops = LongLoops()
    writings: list[Writing] = []
    found: tuple[Way, Guards, None] | None = None
    with_long_loops: tuple[Way, Guards, None] | None = None

    def opened(trace: Trace, reads: Reads) -> AbstractContextManager[None]:
        asked.clear()
        writings[:] = [Writing(trace, reads, to_versions)]
        known_of_sites = refusals, asked, recursive, entered_code, buffers, growing, forms, long_loops, visited
        return Session(writings[-1], *known_of_sites).opened()

    def known() -> Any:
        rooms = [site.room for site in growing]
        found = refusals, recursive, entered_code, buffers, forms, long_loops.known
        return *map(len, found), dict(growing), rooms, dict(visited)

    def give_long_loops_up() -> None:
        long_loops.off, long_loops.tried = True, False
        for known_of_sites in (refusals, buffers, growing, forms):
            known_of_sites.clear()

    while True:
        before = known()
        patience = LONGEST_NATIVE if with_long_loops is None else MOST_UNROLLED
        way, guards, reason = record(
            partial(entered, f), call, expected, surroundings, original, opened, patience=patience
        )
        if long_loops.tried and writings[-1].is_inexact:
            give_long_loops_up()
            continue
        if way is None and writings[-1].versions.may_write_to_arrays:
            to_versions = False
            refusals.clear()
            continue
        if way is not None and guards is not None:
            reasons = [
                *{**asked, **refusals}.values(),
                *map(in_a_generator, filter(is_of_a_generator, writings[-1].asked_in)),
            ]
            way.not_written = [f"{reason}" for reason in reasons]
            if as_it_is is not None and of_reads is not None:
                way.lines = as_it_is.lines
                guards.add(of_reads)
            found = way, guards, None
            if with_long_loops is not None:
                return found
            if long_loops.are_written and machine.unfit() is None and not way.is_native:
                with_long_loops = found
                give_long_loops_up()
                continue
            if entered_code or not (methods := set(filter(is_called_by_python, writings[-1].asked_in))):
                return found
            entered_code |= methods  # from then on operators are looked into
            refusals.clear()
            continue
        if known() == before:
            if with_long_loops is not None:
                return with_long_loops
            if not growing:
                return found
            refusals.update((site, site.refusal(AS_A_LIST.format(reason=reason))) for site in growing)
            growing.clear()
