"""`vmap` in a run that is being recorded: the record has the calls for all rows, and not those of each row.

The rows are values of the run, which record each operation on them. One row is recorded for itself, by a trace of its
own, and its program is carried out on the values of all rows: so the calls become steps of the run. The watch of the
run goes on meanwhile, and sees what the function of one row reads. So nothing is kept here, and nothing compared: the
run must answer what the function has answered row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import optree
from numpy import ndarray

from shiftreset_ad.batching.axes import Batch
from shiftreset_ad.batching.closures import held_values
from shiftreset_ad.batching.program import Program
from shiftreset_ad.batching.rows import Rows
from shiftreset_ad.boundary import trees
from shiftreset_ad.numbers.number import plain_value
from shiftreset_ad.numbers.tags import seeing, watcher
from shiftreset_ad.rules.carried_zeros import carried
from shiftreset_ad.rules.stand_ins import recorder
from shiftreset_ad.staging.front.session import closed, current
from shiftreset_ad.staging.recording import output_of
from shiftreset_ad.staging.seen.keys import is_input
from shiftreset_ad.staging.steps.trace import Trace, UnstageableError
from shiftreset_ad.staging.steps.values import Staged, adopted


def is_recorded() -> bool:
    """Whether a run is being recorded in this thread, and may have calls for all rows."""
    return recorder.adopt is not None and not recorder.row_by_row and watcher.get() is None


def at_once(f: Callable[..., Any], batch: Batch) -> tuple[list[Any], optree.PyTreeSpec] | None:
    """The leaves of the answers for all rows, and the structure of an answer; None if the rows must go one by one."""
    line = recorder.watch.line  # of the call: what follows may run code of the user's
    held = held_values(f)
    if held is not None:
        f, batch = held.put_in, batch.with_shared(held.values)
    trace = _trace_of(batch)
    if trace is None or not batch.has_values_only():
        return None
    refusal, is_asked = trace.refusal, trace.is_asked
    try:
        program = _program(f, batch)
        recorder.watch.line = line
        leaves = program.carried_out(batch.inputs(np.arange(batch.count)), batch.count)
    except Exception:  # one by one, the rows raise it again, or go other ways
        trace.refusal, trace.is_asked = refusal, is_asked
        return None
    trace.is_asked = is_asked or program.is_asked
    recorder.has_batches = True
    if program.rule_of_its_own is not None:
        recorder.note(program.rule_of_its_own)
    return leaves, program.spec


def _trace_of(batch: Batch) -> Trace | None:
    """The trace of the values among the arguments; None if there are none."""
    for leaf in batch.leaves:
        value = plain_value(leaf.rows if type(leaf) is Rows else leaf)
        if type(value) is Staged:
            return value._trace
    return None


def _program(f: Callable[..., Any], batch: Batch) -> Program:
    """The program of the first row.

    Raises UnstageableError if the program cannot stand for all rows in a run that is recorded: if it is to know a
    value, such as an index, or if it has branches, and the run writes branches down.
    """
    trace = Trace()
    args, kwargs = batch.example(0)
    leaves, spec = trees.flatten((args, kwargs))
    known: dict[int, Staged] = {}  # one value for each array, as `x is y` must stay so

    def staged(leaf: Any) -> Any:
        if not is_input(leaf):
            return leaf
        x = Staged(trace, trace.place_for(leaf))
        return known.setdefault(id(leaf), x) if type(leaf) is ndarray else x

    args, kwargs = trees.unflatten(spec, list(map(staged, leaves)))
    outer, has_session = (recorder.adopt, recorder.rule_of_its_own), current() is not None
    recorder.adopt, recorder.rule_of_its_own = partial(adopted, trace), None
    try:
        with closed(), carried.asking():
            returned = seeing((), partial(f, *args, **kwargs))
        if trace.refusal is not None:
            raise UnstageableError(trace.refusal)
        if trace.is_asked and has_session:
            raise UnstageableError("it has branches, which are written down row by row")
        trace.rule_of_its_own = recorder.rule_of_its_own
        result, of_answer = trees.flatten(returned)
        outputs = [output_of(trace, leaf) for leaf in result]
        program = Program(trace, outputs, of_answer, {}, ())
        if not all(type(answer) is bool for answer in program.answers):
            raise UnstageableError("it reads a value, which may differ from row to row")
        return program
    finally:
        recorder.adopt, recorder.rule_of_its_own = outer
        trace.close()
