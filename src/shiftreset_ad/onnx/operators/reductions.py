"""Operators that reduce axes, or accumulate along one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad import nn
from shiftreset_ad.onnx.table import enter, operator
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


def _log_sum_exp(x: Any, axis: Any, keepdims: bool) -> Any:
    x = x if dtype_of(x).kind == "f" else x.astype(np.float64)
    return (
        nn.logsumexp(x, axis, keepdims) if 0 not in shape_of(x) else np.log(np.sum(np.exp(x), axis, keepdims=keepdims))
    )


def _least(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.min(x, axis=axis, keepdims=keepdims, **_of_empty(x, largest=True))


def _largest(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.max(x, axis=axis, keepdims=keepdims, **_of_empty(x, largest=False))


def _of_empty(x: Any, largest: bool) -> dict[str, Any]:
    """The option of NumPy that says what the smallest or largest element of an empty array is."""
    if 0 not in shape_of(x):
        return {}
    dtype = dtype_of(x)
    if dtype.kind == "f":
        return {"initial": np.inf if largest else -np.inf}
    if dtype.kind == "b":
        return {"initial": largest}
    return {"initial": np.iinfo(dtype).max if largest else np.iinfo(dtype).min}


def _norm(x: Any, axis: Any, keepdims: bool) -> Any:
    if dtype_of(x).kind == "f" and axis is not None and len(axis) == 1:
        return np.linalg.norm(x, axis=axis[0], keepdims=keepdims)  # its derivative at zero is zero
    squares = np.sum(np.square(x), axis=axis, keepdims=keepdims)
    zero = squares == 0
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, squares)))


_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceSum": lambda x, axis, keepdims: np.sum(x, axis=axis, keepdims=keepdims),
    "ReduceMean": lambda x, axis, keepdims: np.mean(x, axis=axis, keepdims=keepdims),
    "ReduceProd": lambda x, axis, keepdims: np.prod(x, axis=axis, keepdims=keepdims),
    "ReduceMax": _largest,
    "ReduceMin": _least,
    "ReduceL1": lambda x, axis, keepdims: np.sum(np.abs(x), axis=axis, keepdims=keepdims),
    "ReduceL2": _norm,
    "ReduceSumSquare": lambda x, axis, keepdims: np.sum(np.square(x), axis=axis, keepdims=keepdims),
    "ReduceLogSum": lambda x, axis, keepdims: np.log(np.sum(x, axis=axis, keepdims=keepdims)),
    "ReduceLogSumExp": _log_sum_exp,
}


def _enter(name: str, function: Callable[..., Any]) -> None:
    def reduction(x: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Any:
        axis = None if axes is None or not len(axes) else tuple(map(int, axes))
        if axis is None and noop_with_empty_axes:
            axis = ()
        elif axis is None:
            axis = tuple(range(len(shape_of(x))))
        return function(x, axis, bool(keepdims)).astype(dtype_of(x))

    enter(name, reduction, constant=["axes"])


for _name, _function in _REDUCTIONS.items():
    _enter(_name, _function)


def _enter_place(name: str, function: Any) -> None:
    def place(x: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
        if select_last_index:
            found = shape_of(x)[axis] - 1 - function(np.flip(x, axis), axis=axis)
        else:
            found = function(x, axis=axis)
        return np.asarray(np.expand_dims(found, axis) if keepdims else found, np.int64)

    enter(name, place)


_enter_place("ArgMax", np.argmax)
_enter_place("ArgMin", np.argmin)


def _enter_accumulation(name: str, function: Any, first: int, since: int) -> None:
    def accumulation(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
        along = int(np.reshape(axis, ()))
        x = np.flip(x, along) if reverse else x
        if exclusive:
            size = shape_of(x)[along]
            start = np.full_like(np.take(np.zeros(shape_of(x), dtype_of(x)), [0], along), first)
            x = np.concatenate([start, np.take(x, np.arange(size - 1), along)], axis=along)
        y = function(x, axis=along).astype(dtype_of(x))
        return np.flip(y, along) if reverse else y

    enter(name, accumulation, since, constant=["axis"])


_enter_accumulation("CumSum", np.cumsum, 0, 11)
_enter_accumulation("CumProd", np.cumprod, 1, 26)


@operator("LpNormalization")
def _lp_normalization(x: Any, *, axis: int = -1, p: int = 2) -> Any:
    size = _norm(x, (axis,), True) if p == 2 else np.sum(np.abs(x), axis=axis, keepdims=True)
    return np.where(size == 0, np.zeros((), dtype_of(x)), x / np.where(size == 0, np.ones((), dtype_of(x)), size))
