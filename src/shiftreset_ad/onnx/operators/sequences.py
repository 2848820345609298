"""Operators on sequences of arrays, which are Python's tuples."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.onnx.table import operator
from shiftreset_ad.rules.broadcasting import shape_of


def _place(position: Any) -> int:
    return int(np.reshape(position, ()))


@operator("SequenceEmpty", 11)
def _empty(*, dtype: int = 1) -> Any:
    return ((),)


@operator("SequenceConstruct", 11)
def _construct(*inputs: Any) -> Any:
    return (inputs,)


@operator("SequenceInsert", 11, constant=["position"])
def _insert(sequence: Any, tensor: Any, position: Any = None) -> Any:
    place = len(sequence) if position is None else _place(position)
    return ((*sequence[:place], tensor, *sequence[place:]),)


@operator("SequenceErase", 11, constant=["position"])
def _erase(sequence: Any, position: Any = None) -> Any:
    place = len(sequence) - 1 if position is None else _place(position) % len(sequence)
    return ((*sequence[:place], *sequence[place + 1 :]),)


@operator("SequenceAt", 11, constant=["position"])
def _at(sequence: Any, position: Any) -> Any:
    return sequence[_place(position)]


@operator("SequenceLength", 11)
def _length(sequence: Any) -> Any:
    return np.array(len(sequence), np.int64)


@operator("ConcatFromSequence", 11)
def _concat(sequence: Any, *, axis: int, new_axis: int = 0) -> Any:
    return (np.stack if new_axis else np.concatenate)(sequence, axis=axis)


@operator("SplitToSequence", 11, constant=["split"])
def _split(x: Any, split: Any = None, *, axis: int = 0, keepdims: int = 1) -> Any:
    size = shape_of(x)[axis]
    if split is None:
        parts = np.split(x, size, axis=axis)
        return (tuple(parts if keepdims else [np.squeeze(part, axis) for part in parts]),)
    ends = range(_place(split), size, _place(split)) if not np.ndim(split) else np.cumsum(split)[:-1]
    return (tuple(np.split(x, [int(end) for end in ends], axis=axis)),)
