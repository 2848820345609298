"""A shortcut: native code with a gate before it, which answers calls like one before without a key."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.native import gate, machine
from shiftreset_ad.staging.native.entry import fill_of
from shiftreset_ad.staging.native.gate import BYTES_OF_A_MARK, Items
from shiftreset_ad.staging.native.structure_forms import form_of, form_of_answer, forms_of, in_order_of_leaves
from shiftreset_ad.staging.patience import Pause
from shiftreset_ad.staging.seen.keys import StagedCall, is_input
from shiftreset_ad.staging.steps.trace import REACTIONS, settings_of_numpy
from shiftreset_ad.staging.ways import Signature, Way

MOST_ARRAYS = 512  # of which a gate compares each with the others; a key takes less time for more of them
SHARE = 64  # of the stack, for the leaves of the arguments, and for the answers, which take 8 bytes each
MOST_GATES = 8  # which look at a call one after another


class Shortcuts:
    """The gates of a function, one behind another, the newest first: one for each kind of call and each way.

    `cleared` counts how often they have been cleared.
    """

    __slots__ = ("_items", "_pause", "cleared")

    def __init__(self) -> None:
        self.cleared = 0
        self._items: dict[Any, Items] = {}
        self._pause = Pause(1)

    def clear(self) -> None:
        """Have no gates, as they may not hold any more."""
        self.cleared += 1
        self._items.clear()
        self._pause = Pause(1)

    def add(self, way: Way, signature: Signature, call: StagedCall) -> bool:
        """Whether there is a new gate, for calls like this one. While gates are of no use, they get rarer."""
        if self._pause.left:
            self._pause.left -= 1
            return False
        items, key = items_for(way, signature, call), (call.key, way)
        if items is None or key in self._items or len(self._items) == MOST_GATES:
            self._pause.begin()
        if items is None:
            return False
        self._items.pop(key, None)
        self._items[key] = items
        for oldest in list(self._items)[:-MOST_GATES]:
            self._items.pop(oldest, None)
        return True

    def before(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """A function that answers the calls for which there are gates, and has the others answered `otherwise`."""
        found: Callable[..., Any] | Items = otherwise
        for items in list(self._items.values()):
            found = items._replace(otherwise=found)
        return gate.built(found) if isinstance(found, Items) else found


def items_for(way: Way, signature: Signature, call: StagedCall) -> Items | None:
    """What a gate for calls like this one has; None if there can be none."""
    entry = way.quick
    if entry is None or REACTIONS is None or not gate.is_made():
        return None
    most, arrays = most_leaves(), [leaf for leaf in call.leaves if type(leaf) is np.ndarray]
    if len(call.leaves) > most or way.spec.num_leaves > most or len(arrays) > MOST_ARRAYS:
        return None
    if any(type(part) is int for part in way.given.values()):  # of structures in the arguments
        return None
    try:
        places = count()
        forms: Any = (
            *[form_of(x, places) for x in call.args],
            *forms_of(call.kwargs, in_order_of_leaves(call.kwargs), places),
        )
    except Exception:  # as form_of raises it, or structures of the user's own do
        return None
    is_flat = not call.kwargs and all(map(is_input, call.args))
    errors = call.key[-1]
    return Items(
        otherwise=bool,
        entry=entry,
        fill=fill_of(entry),
        forms=None if is_flat else forms,
        keywords=tuple(call.kwargs),
        marks=marks_of(call.inputs()),
        settings=settings_of_numpy() if other_reactions(errors) is None else None,
        are_others=partial(other_reactions, errors),
        finish=finish_of(way),
        seen=signature.guards.at_once(),
        changed=signature.changed,
        key=call.key,
    )


def most_leaves() -> int:
    """How many leaves a gate may have on the stack of C."""
    return machine.stack() // SHARE


def marks_of(leaves: list[Any]) -> bytes:
    """The marks of leaves: those of two arrays are equal if `x is y`."""
    numbers: dict[int, int] = {}
    marks = [numbers.setdefault(id(x), len(numbers) + 1) if type(x) is np.ndarray else 0 for x in leaves]
    return b"".join(mark.to_bytes(BYTES_OF_A_MARK, sys.byteorder) for mark in marks)


def finish_of(way: Way) -> Any:
    """The form of the answer, or a function that makes it of the list of its leaves."""
    spec, places = way.spec, count()
    parts = [way.given[i] if i in way.given else next(places) for i in range(spec.num_leaves)]
    try:
        return form_of_answer(trees.unflatten(spec, parts), {id(part): part for part in way.given.values()})
    except Exception:  # of the user's own structures, or as they are none of Python's
        return partial(way.answer, nodes=list) if way.given else partial(trees.unflatten, spec)


def other_reactions(errors: tuple[str, ...]) -> tuple[Any, ...] | None:
    """How NumPy reacts to errors if not in this way; None if it does."""
    now = tuple(np.geterr().values())
    return None if now == errors else now
