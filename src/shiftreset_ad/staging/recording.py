"""One recorded run: a function is called with values that record its steps, and must answer as it did without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np
import optree
from numpy import ndarray

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.places import line_text
from shiftreset_ad.numbers.plain_arrays import WRITEABLE
from shiftreset_ad.rules.broadcasting import dtype_of
from shiftreset_ad.rules.carried_zeros import carried
from shiftreset_ad.rules.stand_ins import recorder
from shiftreset_ad.staging.control.certainty import UNCERTAIN, after_rule, before_rule, certain_of
from shiftreset_ad.staging.layouts import laid_out_as
from shiftreset_ad.staging.native import machine
from shiftreset_ad.staging.plain_keys import with_plain_keys
from shiftreset_ad.staging.python.answers import seen_in
from shiftreset_ad.staging.python.control import has_nan
from shiftreset_ad.staging.seen.guards import Guards
from shiftreset_ad.staging.seen.keys import StagedCall, is_input, is_structure, nodes_of, require_fields
from shiftreset_ad.staging.seen.monitoring import watch_over
from shiftreset_ad.staging.seen.parts import OURS
from shiftreset_ad.staging.seen.quiet import unwatched_if_quiet
from shiftreset_ad.staging.seen.reads import Reads
from shiftreset_ad.staging.seen.surroundings import Surroundings
from shiftreset_ad.staging.seen.watching import Watch
from shiftreset_ad.staging.sparse import is_by_rows, require_own_indices, same_form, taken_apart, with_data
from shiftreset_ad.staging.steps.memory import owners_of
from shiftreset_ad.staging.steps.sources import Sources
from shiftreset_ad.staging.steps.trace import LONGEST, LONGEST_NATIVE, Trace, UnstageableError, identical
from shiftreset_ad.staging.steps.values import Staged, adopted
from shiftreset_ad.staging.ways import Way

Recorded = tuple[Any, Guards | None, str | None]  # a way, and guards on what it reads; or why there is none
DIFFERS = (
    "it answers something else when it is run again. It depends on things that staging cannot see, such as random "
    "numbers, the time, or type(x)"
)


def recorded(
    f: Callable[..., Any],
    call: StagedCall,
    expected: Any,
    surroundings: Surroundings,
    original: Callable[[Any], Any] = lambda x: x,
    around: Callable[[Trace, Reads], AbstractContextManager[Any]] = lambda trace, reads: nullcontext(),
    make: Callable[..., Any] = Way,
    patience: int = LONGEST_NATIVE,
    memory_limit: int | None = None,
) -> Recorded:
    """The way that the function takes for these arguments, and guards on what it reads; or why there is none.

    A function may be the rewritten form of another one, the `original`. The function runs in the context `around` the
    trace and what the run reads: the context itself may read, too. `make` makes the way of the steps. A run that has
    more steps than there is `patience` ends. `memory_limit` is that of `staged`.
    """
    longest = LONGEST if machine.unfit() else LONGEST_NATIVE
    trace, reads = Trace(min(longest, patience), memory_limit), Reads(surroundings, original)
    watch = watch_over(reads, surroundings.users, trace)
    of_array: dict[int, Staged] = {}  # one staged value for each array, as `x is y` must stay so

    def staged(leaf: Any) -> Any:
        if not is_input(leaf):
            return leaf
        x = Staged(trace, trace.place_for(leaf))
        return of_array.setdefault(id(leaf), x) if type(leaf) is ndarray else x

    args, kwargs = arguments = trees.unflatten(call.spec, list(map(staged, call.leaves)))
    places = {id(node): i for i, node in enumerate(nodes_of(arguments)) if is_structure(node)}
    recorder.adopt, recorder.rule_of_its_own = partial(adopted, trace), None
    carried.begin(certain_of, before_rule, after_rule)
    recorder.watch = watch
    recorder.unwatched = None if surroundings.users.has(OURS) else unwatched_if_quiet
    try:
        with watch.on(), around(trace, reads):
            returned = f(*args, **kwargs)
        if trace.refusal is not None:
            return None, None, f"{trace.refusal}{_at(watch)}"
        returned = with_plain_keys(returned)
        kept = {**_outer(expected, returned), **places}
        result, spec = _parts_of(returned, kept)
        wanted, wanted_spec = trees.flatten(expected)
        if spec == wanted_spec:
            result = laid_out_as(result, wanted, call.leaves)
        if make is Way:
            require_own_indices(expected, returned)
            result, spec = taken_apart(result, spec, kept)
        trace.rule_of_its_own = recorder.rule_of_its_own
        trace.carries_zeros |= carried.any
        sources = Sources(trace, trace.steps)
        if trace.has_control:
            trace.handed_on = _handed_on(trace, sources, result, reads)
        _require_new(trace, result, expected, call, kept)
        if trace.has_control or trace.copies:
            _require_no_copies(trace, sources, result, wanted if spec == wanted_spec else [], call, reads)
        given = {i: kept[id(part)] for i, part in enumerate(result) if id(part) in kept}
        outputs = [output_of(trace, part) for i, part in enumerate(result) if i not in given]
        way = make(trace, outputs, spec, given, watch.lines)
        answer = way.answer([_plain(part) for i, part in enumerate(result) if i not in given], call.nodes)
        agrees = agree(answer, expected, trace.carries_zeros and not trace.is_exact) and not carried.is_uncertain
        is_nan = trace.carries_zeros and any(map(has_nan, trees.flatten(answer)[0]))
        may_ask = trace.carries_zeros and not trace.has_control
        is_doubtful = carried.is_uncertain or (carried.is_doubtful and not agrees)
        if (may_ask and (is_nan or not agrees)) or (is_doubtful and not is_nan):
            return None, None, UNCERTAIN
        if agrees or is_nan:
            if isinstance(way, Way):
                way.keep()
            return way, reads.all_guards(), None
        trace.is_inexact = trace.is_exact
        return None, None, DIFFERS
    except UnstageableError as error:
        return None, None, f"{trace.refusal or error}{_at(watch)}"
    except Exception as error:
        may_ask = carried.any and not trace.has_control  # it may come of what is not chosen
        return None, None, UNCERTAIN if may_ask else trace.refusal or f"it raises {error!r} when it is recorded"
    finally:
        recorder.adopt = recorder.unwatched = recorder.watch = None
        carried.end()
        trace.close()


def also_asking(record: Callable[..., Recorded], *args: Any, **kwargs: Any) -> Recorded:
    """The answer of `record`. If it is not certain, because of a zero, a second run asks which number is chosen."""
    found = record(*args, **kwargs)
    if found[2] is None or not found[2].startswith(UNCERTAIN):
        return found
    with carried.asking():
        return record(*args, **kwargs)


def also_row_by_row(record: Callable[[], Recorded]) -> Recorded:
    """The answer of `record`. If a run with calls for all rows of a `vmap` is refused, it goes row by row once more.

    What one row leaves behind, such as an item in a list, is not what all rows leave behind.
    """
    recorder.has_batches = False
    found = record()
    if found[0] is not None or not recorder.has_batches or recorder.row_by_row:
        return found
    recorder.row_by_row = True
    try:
        return record()
    finally:
        recorder.row_by_row = False


def _at(watch: Watch) -> str:
    """The user's line at which a run has ended; nothing if the user's code has returned."""
    return "" if watch.line is None else f":\n{line_text(watch.line)}"


def _outer(expected: Any, returned: Any) -> dict[int, Any]:
    """The structures and arrays that both the function and its recorded run return: they come from outside."""
    found = {id(part): part for part in nodes_of(returned) if is_structure(part) or type(part) is ndarray}
    return {id(part): part for part in nodes_of(expected) if id(part) in found}


def _parts_of(returned: Any, kept: Mapping[int, Any]) -> tuple[list[Any], optree.PyTreeSpec]:
    """The parts of an answer: its leaves, and the structures that the run has not made; and the structure of these."""
    leaves, spec = trees.flatten(returned)
    if kept.keys().isdisjoint(map(id, nodes_of(returned))):
        return leaves, spec
    return optree.tree_flatten(returned, is_leaf=lambda node: id(node) in kept, namespace=trees.NAMESPACE)


def output_of(trace: Trace, leaf: Any) -> Any:
    """A leaf of the result in the form that is kept: an array becomes a constant of the trace."""
    if type(leaf) is Staged and leaf._trace is not trace:
        raise UnstageableError("it returns a value of another run")
    if type(leaf) is Staged or type(leaf) in (float, complex) or isinstance(leaf, (np.generic, *trees.CONSTANTS)):
        return leaf
    if type(leaf) is ndarray:
        if not leaf.flags.num & WRITEABLE:
            raise UnstageableError("it returns a constant array that cannot be written to. Return a copy")
        (owner,) = owners_of(leaf)
        is_view = type(owner) is ndarray and owner is not leaf
        return seen_in(trace.constant(owner), leaf) if is_view else trace.constant(leaf)
    raise UnstageableError(f"it returns a {type(leaf).__name__}. Return floats, arrays, or structures of them")


def _require_new(trace: Trace, result: list[Any], expected: Any, call: StagedCall, kept: Mapping[int, Any]) -> None:
    """Raise UnstageableError if the steps cannot give an answer that nobody can tell from the function's own."""
    known, met = {*kept, *map(id, call.nodes())}, set[int]()
    for node in nodes_of(expected):
        require_fields(node, "in its answer")
        if is_structure(node) and id(node) not in known:
            if id(node) in met:
                raise UnstageableError(f"it returns a {type(node).__name__} twice. Return copies")
            met.add(id(node))
    others = {id(owner) for owner in (*trace.memory_of_constants(), *owners_of(list(map(_plain, result))))}
    others -= set(map(id, owners_of(call.leaves)))  # which the steps can return
    others |= set(map(id, owners_of(result)))
    as_they_are = {*kept, *map(id, trace.handed_on.values())}
    made = [leaf for leaf in with_data(trees.flatten(expected)[0]) if id(leaf) not in as_they_are]
    if not others.isdisjoint(map(id, owners_of(made))):
        raise UnstageableError("it returns a view of an array that it sees from outside. Return a copy")


def _require_no_copies(
    trace: Trace, sources: Sources, result: list[Any], expected: list[Any], call: StagedCall, reads: Reads
) -> None:
    """Raise UnstageableError if an answer may be an argument, or from outside, of which the record has a copy.

    A record copies what it takes from a list at a staged index, and what a list holds whose length is staged.
    """
    originals, outside = trace.originals(), {*reads.memory(), *map(id, owners_of(call.leaves))}
    for x, y in zip_longest(result, expected):
        if type(x) is Staged:
            copied = {id(owner) for array in sources.copied(x) for owner in owners_of(originals.get(id(array), array))}
            copied |= set(map(id, owners_of(y))) - sources.of(x).keys()
            if not outside.isdisjoint(copied):
                raise UnstageableError("it may return an array from outside that it has taken from a list")


def _handed_on(trace: Trace, sources: Sources, result: list[Any], reads: Reads) -> dict[int, Any]:
    """The arrays from outside that a loop or a branch may answer, by the ids of the constants that stand for them.

    Raises UnstageableError if a loop or a branch may answer a view of such an array.
    """
    originals, outside, found = trace.originals(), reads.memory(), {}
    for key, owner in [pair for x in result for pair in sources.of(x).items()]:
        array = originals.get(key, owner)
        if reads.is_outside(array):
            found[key] = array
        elif not outside.isdisjoint(map(id, owners_of(array))):
            raise UnstageableError("a loop or a branch answers a view of an array that it sees from outside")
    return found


def _plain(leaf: Any) -> Any:
    return leaf.inside if type(leaf) is Staged else leaf


def agree(answer: Any, expected: Any, carries_zeros: bool = False) -> bool:
    """Whether two answers are the same up to rounding.

    If the steps have control, or carry zeros for what was not chosen, a float may be Python's or NumPy's, and an
    integer that is a float on another path is a float. A branch that is not taken leaves a zero of its own type.
    """
    leaves, spec = trees.flatten(answer)
    wanted, spec_wanted = trees.flatten(expected)
    if carries_zeros:
        leaves = [float(x) if type(x) is np.float64 else x for x in leaves]
        wanted = [
            float(y) if type(y) is np.float64 or (type(x) is float and is_integer(y)) else y
            for x, y in zip(leaves, wanted, strict=False)
        ]
    return spec == spec_wanted and all(map(_agree_at, leaves, wanted))


def is_integer(x: Any) -> bool:
    """Whether this is an integer of Python's or of NumPy's."""
    return type(x) is int or isinstance(x, np.integer)


def _agree_at(x: Any, y: Any) -> bool:
    if type(x) is not type(y) or np.shape(x) != np.shape(y):
        return False
    if is_by_rows(y):
        return same_form(x, y) and _agree_at(x.data, y.data)
    if not is_input(y):
        return bool(np.all(x == y))
    if dtype_of(x) != dtype_of(y) or (type(x) is ndarray and _layout(x) != _layout(y)):
        return False
    if dtype_of(y).kind not in "fc":
        return np.array_equal(x, y)
    if identical(x, y):  # the usual case, for speed
        return True
    precision = np.sqrt(np.finfo(dtype_of(y)).eps)
    finite = np.abs(y)[np.isfinite(y)]
    return np.allclose(x, y, precision, precision * float(finite.max(initial=0.0)), equal_nan=True)


def _layout(x: ndarray[Any, Any]) -> Any:
    return x.strides, x.flags.num & WRITEABLE
