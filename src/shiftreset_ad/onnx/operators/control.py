"""Operators that run other graphs: a branch, and loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.onnx.table import operator, refused
from shiftreset_ad.rules.broadcasting import shape_of


@operator("If", constant=["cond"], outputs=None)
def _if(cond: Any, *, then_branch: Any, else_branch: Any) -> Any:
    return tuple((then_branch if bool(np.reshape(cond, ())) else else_branch)())


@operator("Loop", constant=["max_trip_count", "cond"], outputs=None)
def _loop(max_trip_count: Any, cond: Any, *initial: Any, outputs: int, body: Any) -> Any:
    state, rows = tuple(initial), []
    goes_on = cond is None or bool(np.reshape(cond, ()))
    limit = None if max_trip_count is None else int(np.reshape(max_trip_count, ()))
    trip = 0
    while goes_on and (limit is None or trip < limit):
        again, *found = body(np.array(trip, np.int64), np.array(True), *state)
        goes_on = bool(np.reshape(again, ()))
        state = tuple(found[: len(state)])
        rows.append(found[len(state) :])
        trip += 1
    if not rows and outputs > len(state):
        raise refused("Loop", "no trip was made, so that the shape of what is collected is not known; make one or more")
    return (*state, *[np.stack(column) for column in zip(*rows, strict=True)])


@operator("Scan", 9, outputs=None)
def _scan(
    *inputs: Any,
    body: Any,
    num_scan_inputs: int,
    scan_input_axes: Any = None,
    scan_output_axes: Any = None,
    scan_input_directions: Any = None,
    scan_output_directions: Any = None,
) -> Any:
    state, sequences = tuple(inputs[: len(inputs) - num_scan_inputs]), inputs[len(inputs) - num_scan_inputs :]
    axes = scan_input_axes or [0] * num_scan_inputs
    back = scan_input_directions or [0] * num_scan_inputs
    length = shape_of(sequences[0])[axes[0]]
    rows = []
    for t in range(length):
        items = [
            np.take(x, length - 1 - t if reverse else t, axis=axis)
            for x, axis, reverse in zip(sequences, axes, back, strict=True)
        ]
        found = body(*state, *items)
        state, row = tuple(found[: len(state)]), found[len(state) :]
        rows.append(row)
    columns = list(zip(*rows, strict=True))
    out_axes = scan_output_axes or [0] * len(columns)
    out_back = scan_output_directions or [0] * len(columns)
    stacked = [
        np.stack(column[::-1] if reverse else column, axis=axis)
        for column, axis, reverse in zip(columns, out_axes, out_back, strict=True)
    ]
    return (*state, *stacked)
