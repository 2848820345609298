"""A record that is kept after its run keeps no memory: its arrays become others of the same layouts, without elements.

The caller may change the shape of an array, or see when the array is gone; and the arrays of a run may be large. A text
that is written later needs to know where elements lie, and no elements but those of constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pickle import PickleBuffer
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.numbers.plain_arrays import WRITEABLE
from shiftreset_ad.staging.steps.blocks import operands_of
from shiftreset_ad.staging.steps.memory import owner_of, owners_of
from shiftreset_ad.staging.steps.trace import Step, Trace
from shiftreset_ad.staging.steps.values import staged_in

MOST_KEPT = 10_000  # values
SMALL = 256  # bytes of an array that gets memory of its own, which takes less time than to share some


def can_be_kept(trace: Trace) -> bool:
    """Whether the record of a run can be kept: it has no blocks, and it is not long."""
    count = len(trace.values)
    return not trace.has_control and count <= MOST_KEPT and trace.homes.count(trace.root) == count


def detach(trace: Trace, steps: Sequence[Step], outputs: list[Any], constants: Sequence[Any], fixed: set[int]) -> bool:
    """Have these steps of a trace, and its outputs, keep no memory but that of constants; False if they cannot.

    `fixed` are the places whose values are constants, too.
    """
    values = trace.values
    used = [x for x in chain(staged_in(outputs), *map(operands_of, steps)) if x._place not in fixed]
    needed = {*range(trace.inputs), *(step.place for step in steps), *(x._place for x in used)} - fixed
    kept = {id(owner) for x in (*constants, *[values[place] for place in fixed]) for owner in owners_of(x)}
    shared: dict[int, list[int]] = {}  # the places of the arrays in the same memory
    for place in needed:
        value = values[place]
        if type(value) is ndarray:
            shared.setdefault(id(owner_of(value)), []).append(place)
        elif owners_of(value):  # a structure with arrays, or an array of another class
            return False
    if not kept.isdisjoint(shared):
        return False
    placed: dict[int, ndarray[Any, Any]] = {}
    for key, places in list(shared.items()):
        if len(places) == 1 and (small := _small(values[places[0]])) is not None:
            placed[places[0]] = small
            del shared[key]
    bounds = {key: _bounds([values[place] for place in places]) for key, places in shared.items()}
    memory: Any = np.zeros(max([end - start for start, end in bounds.values()], default=0), np.uint8)
    for key, places in shared.items():
        part = PickleBuffer(memory)  # an object of its own, which owns memory as far as NumPy knows
        placed.update((place, _placed(values[place], part, bounds[key][0])) for place in places)
    values[:] = [placed.get(i, x) if i in needed or i in fixed else None for i, x in enumerate(values)]
    for x in used:
        x.inside = values[x._place]
    trace.forget_originals()
    return True


def _small(x: ndarray[Any, Any]) -> ndarray[Any, Any] | None:
    """A small array of the same layout, which owns its memory; None if there is none."""
    if x.nbytes > SMALL or not x.flags.num & WRITEABLE:
        return None
    other = np.zeros(x.shape, x.dtype)
    return other if other.strides == x.strides else None


def _address(x: ndarray[Any, Any]) -> int:
    return int(x.__array_interface__["data"][0])


def _bounds(arrays: list[ndarray[Any, Any]]) -> tuple[int, int]:
    """The addresses between which the elements of these arrays lie."""
    if len(arrays) == 1 and arrays[0].flags.c_contiguous:
        return 0, arrays[0].nbytes  # it does not matter where
    starts, ends = [], []
    for x in arrays:
        steps = [(length - 1) * stride for length, stride in zip(x.shape, x.strides, strict=True)] if x.size else []
        starts.append(_address(x) + sum(step for step in steps if step < 0))
        ends.append(_address(x) + sum(step for step in steps if step > 0) + x.itemsize)
    return min(starts), max(ends)


def _placed(x: ndarray[Any, Any], memory: Any, start: int) -> ndarray[Any, Any]:
    """An array of the same layout in other memory, which stands for the memory from the address `start` on."""
    offset = _address(x) - start if start else 0
    other: ndarray[Any, Any] = ndarray(x.shape, x.dtype, memory, offset, x.strides)
    if not x.flags.num & WRITEABLE:
        other.flags.writeable = False
    return other
