"""The pass of a simple recurrent network over a sequence: one operation with a rule of its own.

The derivative along a direction, and the way back, are linear recurrences; the way back goes from the end to the
beginning. The gradient of the matrix is one product for all times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.nn import torch_recursions
from shiftreset_ad.nn.calling import Shared, fused
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.conversion import constant_of
from shiftreset_ad.rules.table import LinearMap, structured


def _by_steps(from_x: Any, w: Any, h: Any, goes_on: Any, is_tanh: bool) -> Any:
    """`states_of` by other functions."""
    states, transposed = [], np.transpose(w)
    for t in range(shape_of(from_x)[0]):
        h = from_x[t] + np.matmul(h, transposed)
        h = np.tanh(h) if is_tanh else np.where(h <= 0, 0.0, h)
        h = h if goes_on is None else np.where(goes_on[t], h, 0.0)
        states.append(h)
    return np.stack(states)


@fused(3, _by_steps, torch_recursions.states)
def states_of(from_x: Any, w: Any, h: Any, goes_on: Any, is_tanh: bool) -> Any:
    """All states of h_t = f(x_t + w h_(t - 1)), with the first state `h: (batch, hidden)`: (time, batch, hidden).

    `from_x: (time, batch, hidden)` is what the inputs give, and f is tanh, or relu. Where `goes_on: (time, batch, 1)`
    is False, the state is zero; it is None if all sequences go on to the end.
    """
    states = np.empty(from_x.shape, np.result_type(from_x, w, h))
    transposed = np.ascontiguousarray(w.T)
    for x, state, t in zip(from_x, states, range(len(from_x)), strict=True):
        np.matmul(h, transposed, out=state)
        state += x
        if is_tanh:
            np.tanh(state, out=state)
        else:
            np.maximum(state, 0.0, out=state)
        if goes_on is not None:
            np.copyto(state, 0.0, where=~goes_on[t])
        h = state
    return states


def _solved_by_steps(slopes: Any, sources: Any, m: Any, z: Any, backwards: bool) -> Any:
    found = []
    for t in range(shape_of(sources)[0]):
        t = -1 - t if backwards else t
        z = slopes[t] * (sources[t] + np.matmul(z, m))
        found.append(z)
    return np.stack(found[::-1] if backwards else found)


@fused(4, _solved_by_steps, torch_recursions.solved)
def _solved(slopes: Any, sources: Any, m: Any, z: Any, backwards: bool) -> Any:
    """The solution of z_t = slopes_t (sources_t + z_(t - 1) m), or, `backwards`, with z_(t + 1) for z_(t - 1)."""
    found = np.empty(sources.shape, np.result_type(slopes, sources, m, z))
    order = range(len(sources) - 1, -1, -1) if backwards else range(len(sources))
    for t in order:
        at_t = found[t]
        np.matmul(z, m, out=at_t)
        at_t += sources[t]
        at_t *= slopes[t]
        z = at_t
    return found


@structured(states_of, "from_x", "w", "h", kept=("w", "h"))
def _differentiate(from_x: Any, w: Any, h: Any, goes_on: Any, is_tanh: bool) -> Any:
    states = states_of(from_x, w, h, goes_on, is_tanh)
    hidden = shape_of(w)[0]

    def slopes() -> Any:
        if not is_tanh:  # a state that is zero as its sequence is over has the slope zero, too
            return (states > 0).astype(dtype_of(states))
        found = 1.0 - states * states
        return found if goes_on is None else np.where(goes_on, found, 0.0)

    def before() -> Any:
        return np.concatenate([np.expand_dims(h, 0), states[:-1]])

    def forward(sources: Any, h_dot: Any) -> Any:
        return _solved(slopes(), sources, np.transpose(w), h_dot, False)

    def zeros_like(x: Any) -> Any:
        return constant_of(x, np.zeros_like)

    back = Shared(lambda bar: _solved(slopes(), bar, w, zeros_like(h), True))

    def to_w(bar: Any) -> Any:
        rows = np.reshape(back(bar), (-1, hidden))
        return np.matmul(np.transpose(rows), np.reshape(before(), (-1, hidden)))

    maps = (
        LinearMap(lambda x_dot: forward(x_dot, zeros_like(h)), lambda bar: back(bar)[...]),  # a view: it is shared
        LinearMap(lambda w_dot: forward(np.matmul(before(), np.transpose(w_dot)), zeros_like(h)), to_w),
        LinearMap(lambda h_dot: forward(zeros_like(from_x), h_dot), lambda bar: np.matmul(back(bar)[0], w)),
    )

    def map_of(operand: int) -> LinearMap:
        back.users += 1
        return maps[operand]

    return states, map_of
