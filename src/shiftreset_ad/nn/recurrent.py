"""Recurrent networks: the cells, and one pass over a sequence.

Weights are stacked by gates in PyTorch's order: input, forget, cell and output for `lstm`; reset, update and new for
`gru`. A pass takes the parameters of a layer as a tuple (w_ih, w_hh, b_ih, b_hh) or (w_ih, w_hh).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.nn.calling import as_array, of_any_library
from shiftreset_ad.nn.cells import lstm_step
from shiftreset_ad.nn.layers import linear
from shiftreset_ad.nn.scans import states_of
from shiftreset_ad.nn.units import fitting, gated_step, simple_step
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


@of_any_library
def rnn_cell(
    x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None, nonlinearity: str = "tanh"
) -> Any:
    """The next state of a simple recurrent network: tanh(w_ih x + b_ih + w_hh h + b_hh), or relu of it.

    `x: (batch, features)`, `h: (batch, hidden)`, `w_ih: (hidden, features)`, `w_hh: (hidden, hidden)`.

    >>> import numpy as np
    >>> rnn_cell(np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), nonlinearity="relu")
    array([[2.]])
    """
    return fitting("rnn", 1, _rnn_step(nonlinearity), linear(x, w_ih, b_ih), h, w_hh, b_hh)


@of_any_library
def lstm_cell(
    x: Any, state: tuple[Any, Any], w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> tuple[Any, Any]:
    """The next state (h, c) of an LSTM, from its state (h, c), each of the shape (batch, hidden).

    `x: (batch, features)`, `w_ih: (4 hidden, features)`, `w_hh: (4 hidden, hidden)`.

    >>> import numpy as np
    >>> h, c = lstm_cell(np.zeros((1, 1)), (np.zeros((1, 1)), np.ones((1, 1))), np.zeros((4, 1)), np.zeros((4, 1)))
    >>> c
    array([[0.5]])
    """
    return _lstm_step(linear(x, w_ih, b_ih), state, w_hh, b_hh)


@of_any_library
def gru_cell(x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """The next state of a gated recurrent unit.

    `x: (batch, features)`, `h: (batch, hidden)`, `w_ih: (3 hidden, features)`, `w_hh: (3 hidden, hidden)`.

    >>> import numpy as np
    >>> gru_cell(np.zeros((1, 1)), np.ones((1, 1)), np.zeros((3, 1)), np.zeros((3, 1)))
    array([[0.5]])
    """
    return _gru_step(linear(x, w_ih, b_ih), h, w_hh, b_hh)


@of_any_library
def rnn(
    x: Any,
    parameters: Any,
    h: Any = None,
    lengths: Any = None,
    reverse: bool = False,
    nonlinearity: str = "tanh",
) -> tuple[Any, Any]:
    """A simple recurrent network over `x: (time, batch, features)`: all states (time, batch, hidden), and the last.

    `h: (batch, hidden)` is the first state, zero by default. With `lengths: (batch,)`, the sequences end at their own
    times: then the states are zero, and the last state is that at the end. `reverse` goes from the end of each sequence
    to its beginning. Raises ValueError if shapes do not fit.

    >>> import numpy as np
    >>> states, last = rnn(np.ones((2, 1, 1)), (np.ones((1, 1)), np.ones((1, 1))), nonlinearity="relu")
    >>> states.ravel().tolist(), last.tolist()
    ([1.0, 2.0], [[2.0]])
    """
    _rnn_step(nonlinearity)
    from_x, w_hh, b_hh, lengths = _prepared("rnn", 1, x, parameters, lengths)
    from_x = from_x if b_hh is None else from_x + b_hh
    time, batch, hidden = shape_of(from_x)
    first = np.zeros((batch, hidden), dtype_of(from_x)) if h is None else as_array(h)
    if shape_of(first) != (batch, hidden):
        first = np.broadcast_to(first, (batch, hidden))
    is_tanh = nonlinearity == "tanh"
    if lengths is None or lengths.min() == time:
        states = states_of(from_x[::-1] if reverse else from_x, w_hh, first, None, is_tanh)
        return states[::-1] if reverse else states, states[-1]
    times = np.arange(time)[:, None]
    goes_on = times < lengths
    # Each sequence from its own end to its beginning, and then its padding.
    order = np.where(goes_on, lengths - 1 - times, times) if reverse else np.broadcast_to(times, goes_on.shape)
    rows = np.arange(batch)
    states = states_of(from_x[order, rows] if reverse else from_x, w_hh, first, goes_on[:, :, None], is_tanh)
    last = np.where((lengths > 0)[:, None], states[np.maximum(lengths - 1, 0), rows], first)
    return states[order, rows] if reverse else states, last


@of_any_library
def gru(x: Any, parameters: Any, h: Any = None, lengths: Any = None, reverse: bool = False) -> tuple[Any, Any]:
    """A gated recurrent unit over a sequence: arguments and answer as for `rnn`.

    >>> import numpy as np
    >>> states, last = gru(np.zeros((2, 1, 1)), (np.zeros((3, 1)), np.zeros((3, 1))), np.ones((1, 1)))
    >>> states.ravel().tolist()
    [0.5, 0.25]
    """
    (states,), (last,) = _scan("gru", _alone(_gru_step), 3, x, parameters, (h,), lengths, reverse)
    return states, last


@of_any_library
def lstm(
    x: Any, parameters: Any, state: Any = (None, None), lengths: Any = None, reverse: bool = False
) -> tuple[Any, tuple[Any, Any]]:
    """An LSTM over a sequence: all h in the shape (time, batch, hidden), and the last state (h, c).

    Arguments are as for `rnn`; the first state is (h, c).

    >>> import numpy as np
    >>> h, (last_h, last_c) = lstm(np.zeros((2, 1, 1)), (np.zeros((4, 1)), np.zeros((4, 1))))
    >>> h.shape, last_c.shape
    ((2, 1, 1), (1, 1))
    """
    (states, *_), last = _scan("lstm", _lstm_step, 4, x, parameters, tuple(state), lengths, reverse)
    return states, last


@of_any_library
def bidirectional(
    network: Callable[..., Any], x: Any, forwards: Any, backwards: Any, lengths: Any = None
) -> tuple[Any, Any]:
    """`network`, which is `rnn`, `gru` or `lstm`, from the beginning to the end, and another one back.

    The states of both are joined along the last axis: (time, batch, 2 hidden); the last states are a pair.

    >>> import numpy as np
    >>> states, _ = bidirectional(gru, np.zeros((2, 1, 1)), *[(np.zeros((3, 1)), np.zeros((3, 1)))] * 2)
    >>> states.shape
    (2, 1, 2)
    """
    ahead, last = network(x, forwards, lengths=lengths)
    back, first = network(x, backwards, lengths=lengths, reverse=True)
    return np.concatenate([ahead, back], axis=-1), (last, first)


def _rnn_step(nonlinearity: str) -> Callable[..., Any]:
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f'nn.rnn: nonlinearity is {nonlinearity!r}; give "tanh" or "relu"')
    return lambda source, h, w, bias: simple_step(source, h, w, bias, nonlinearity == "tanh")


def _lstm_step(from_x: Any, state: Any, w_hh: Any, b_hh: Any) -> tuple[Any, Any]:
    gates = from_x if b_hh is None else from_x + b_hh
    h, c, w_hh = map(as_array, (*state, w_hh))
    of_h, of_c, of_w, of_gates = map(shape_of, (h, c, w_hh, gates))
    size = of_w[-1:]
    if of_h[-1:] != size or of_w != (*of_gates[-1:], *size) or of_gates[-1] != 4 * size[0]:
        raise ValueError(
            f"nn.lstm: h has the shape {of_h}, w_hh {of_w}, and the gates of x {of_gates}; give h of (..., hidden), "
            "w_ih of (4 hidden, features), and w_hh of (4 hidden, hidden)"
        )
    before = of_gates[:-1]
    if not of_h == of_c == (*before, *size):
        before = np.broadcast_shapes(before, of_h[:-1], of_c[:-1])
        gates = np.broadcast_to(gates, (*before, *of_gates[-1:]))
        h, c = np.broadcast_to(h, (*before, *size)), np.broadcast_to(c, (*before, *size))
    return lstm_step(h, c, w_hh, gates)


def _gru_step(from_x: Any, h: Any, w_hh: Any, b_hh: Any) -> Any:
    return fitting("gru", 3, gated_step, from_x, h, w_hh, b_hh)


def _alone(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step whose state is a tuple of one array."""
    return lambda from_x, state, w_hh, b_hh: (step(from_x, state[0], w_hh, b_hh),)


def _prepared(name: str, gates: int, x: Any, parameters: Any, lengths: Any) -> tuple[Any, Any, Any, Any]:
    """The products with `x`, one product for all times; the other parameters, and the lengths, all of them checked."""
    x = as_array(x)
    w_ih, w_hh, b_ih, b_hh = (*parameters, None, None)[:4]
    if len(shape_of(x)) != 3 or not shape_of(x)[0]:
        raise ValueError(f"nn.{name}: x has the shape {shape_of(x)}; give (time, batch, features), with a time or more")
    time, batch, _ = shape_of(x)
    hidden = shape_of(w_hh)[-1]
    if shape_of(w_hh) != (gates * hidden, hidden) or shape_of(w_ih)[0] != gates * hidden:
        raise ValueError(
            f"nn.{name}: the weights have the shapes {shape_of(w_ih)} and {shape_of(w_hh)}; give w_ih of "
            f"({gates} hidden, features) and w_hh of ({gates} hidden, hidden)"
        )
    if lengths is not None:
        lengths = np.asarray(lengths)
        if lengths.shape != (batch,) or lengths.dtype.kind not in "iu" or lengths.min() < 0 or lengths.max() > time:
            raise ValueError(f"nn.{name}: lengths is {lengths!r}; give {batch} integers from 0 to {time}")
    from_x = linear(x, w_ih, b_ih)
    return from_x, w_hh, b_hh, lengths


def _scan(
    name: str,
    step: Callable[..., Any],
    gates: int,
    x: Any,
    parameters: Any,
    state: tuple[Any, ...],
    lengths: Any,
    reverse: bool,
) -> tuple[list[Any], tuple[Any, ...]]:
    """All states of `step` over the sequence, and the last."""
    from_x, w_hh, b_hh, lengths = _prepared(name, gates, x, parameters, lengths)
    time, batch, hidden = *shape_of(from_x)[:2], shape_of(w_hh)[-1]
    zero = np.zeros((batch, hidden), dtype_of(from_x))
    current = tuple([zero if part is None else as_array(part) for part in state])
    found = []
    for t in range(time - 1, -1, -1) if reverse else range(time):
        new = step(from_x[t], current, w_hh, b_hh)
        out = new
        if lengths is not None:
            goes_on = (t < lengths)[:, None]
            out = tuple([np.where(goes_on, part, 0.0) for part in new])
            new = tuple([np.where(goes_on, part, old) for part, old in zip(new, current, strict=True)])
        found.append(out)
        current = new
    if reverse:
        found.reverse()
    return [np.stack(parts) for parts in zip(*found, strict=True)], current
