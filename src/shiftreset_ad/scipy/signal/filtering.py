"""Digital filters: `lfilter`, as a convolution and a recurrence.

A filter makes y of x by the recurrence a_0 y_t + a_1 y_(t-1) + ... = b_0 x_t + b_1 x_(t-1) + ... The right-hand side is
a convolution. The left-hand side is a triangular system of equations in y, whose solution is a filter again: the
derivative in y and in a filters, and the way back filters from the end to the beginning.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal  # type: ignore[import-untyped]

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.linalg.matrices import array_of
from shiftreset_ad.scipy.forwarding import operand
from shiftreset_ad.transforms.custom import custom_derivative


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """The signal `x` along an axis, filtered by `b: (m,)` and `a: (n,)`, as by SciPy's function: of the shape of `x`.

    With the state `zi` at the beginning, of the length max(m, n) - 1 along the axis, it is a pair with the state at the
    end. All operands may be numbers, and derivatives have any order. Errors are SciPy's; NotImplementedError for
    complex numbers that are being differentiated.

    >>> from shiftreset_ad import grad
    >>> x = np.array([1.0, 0.0, 0.0])
    >>> grad(lambda a: lfilter([1.0], np.stack([1.0, -a]), x)[2])(3.0)       # of a * a
    6.0
    """
    if not any(map(has_number, (b, a, x, zi))):
        return scipy.signal.lfilter(b, a, x, axis, zi)
    b, a, x = (array_of(operand(operand_)) for operand_ in (b, a, x))
    zi = None if zi is None else array_of(operand(zi))
    plain_like = [np.zeros(shape_of(operand_)) for operand_ in (b, a, x)]
    plain_like[1] = plain_like[1] + 1.0
    scipy.signal.lfilter(*plain_like, axis, None if zi is None else np.zeros(shape_of(zi)))  # for its errors
    if any(dtype_of(operand_).kind == "c" for operand_ in (b, a, x)):
        raise NotImplementedError(
            "scipy.signal.lfilter has no derivative for complex numbers here. Filter the real and the imaginary part"
        )
    order, n = max(shape_of(a)[0], shape_of(b)[0]) - 1, shape_of(x)[axis]
    first = a[0]
    a, b, x = a / first, b / first, np.moveaxis(x, axis, -1)
    right = convolved(b, x, order)
    if zi is not None:
        state = np.moveaxis(np.broadcast_to(zi, _shape_of_state(shape_of(x), order, axis)), axis, -1)
        right = right + np.pad(state, [(0, 0)] * (len(shape_of(x)) - 1) + [(0, n)])
    y = recurrence(a, right[..., :n])
    if zi is None:
        return np.moveaxis(y, -1, axis)
    end = (right - convolved(a, y, order))[..., n:]
    return np.moveaxis(y, -1, axis), np.moveaxis(end, -1, axis)


def _shape_of_state(shape: tuple[int, ...], order: int, axis: int) -> tuple[int, ...]:
    """The shape of a state, whose axis is where that of the signal was."""
    rest = list(shape[:-1])
    rest.insert(axis % len(shape), order)
    return tuple(rest)


def convolved(kernel: Any, x: Any, order: int) -> Any:
    """The convolution with a kernel along the last axis, longer by `order`."""
    before = [(0, 0)] * (len(shape_of(x)) - 1)
    shifted = (kernel[k] * np.pad(x, [*before, (k, order - k)]) for k in range(shape_of(kernel)[0]))
    return sum(shifted, 0.0)


def _recurrence(a: Any, v: Any) -> Any:
    """The y with y_t + a_1 y_(t-1) + ... = v_t along the last axis; a_0 is taken to be 1."""
    return scipy.signal.lfilter([1.0], np.concatenate([[1.0], a[1:]]), v)


recurrence: Any = custom_derivative(_recurrence)


def _forward(primals: Any, tangents: Any) -> Any:
    (a, v), (a_dot, v_dot) = primals, tangents
    y = recurrence(a, v)
    n = shape_of(v)[-1]
    moved = convolved(np.concatenate([np.zeros(1), a_dot[1:]]), y, shape_of(a)[0] - 1)[..., :n]
    return y, recurrence(a, v_dot - moved)


def _fwd(a: Any, v: Any) -> Any:
    y = recurrence(a, v)
    return y, (a, y)


def _bwd(residuals: Any, y_bar: Any) -> Any:
    a, y = residuals
    n = shape_of(y)[-1]
    v_bar = np.flip(recurrence(a, np.flip(y_bar, -1)), -1)
    parts = [-np.sum(v_bar[..., k:] * y[..., : max(n - k, 0)]) for k in range(1, shape_of(a)[0])]
    return np.stack([np.zeros(()), *parts]), v_bar


recurrence.defjvp(_forward)
recurrence.defvjp(_fwd, _bwd)
