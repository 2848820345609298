"""Jacobians of linear maps: the map applied to all unit directions at once, and the blocks of the matrix.

The numbers of a structure count as one long vector, so one stack of directions serves them all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from shiftreset_ad.array_api import Standard
from shiftreset_ad.boundary.libraries import in_library_of
from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.modes.stacks.scalars import FEW, ScalarStack
from shiftreset_ad.numbers.number import DOUBLES, Number
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.annotations import Cotangent, Direction, Primal, Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.layouts import in_order

AT_MOST = 1 << 22  # elements of the directions that are worked on at once

Linear = Callable[[list[Direction]], list[Direction]]  # from tangents to tangents, or from cotangents to cotangents


def count(numbers: list[Primal]) -> int:
    """How many elements these numbers have together."""
    return sum(map(math.prod, map(shape_of, numbers)))


def along_units(numbers: list[Primal], linear: Linear) -> list[Direction]:
    """The answers of `linear` for each unit direction, stacked: rows `(count(numbers), *shape)` for each answer.

    `linear` takes a direction for each of `numbers`. In the directions and in the answers, None stands for zero.
    """
    spans = _spans(numbers)
    total = spans[-1][1] if spans else 0
    if total == 0:
        return [None] * len(linear([None] * len(numbers)))
    at_once = max(1, AT_MOST // total)
    parts = [_along(numbers, spans, linear, start, min(at_once, total - start)) for start in range(0, total, at_once)]
    return parts[0] if len(parts) == 1 else [_joined(rows) for rows in zip(*parts, strict=True)]


def _along(
    numbers: list[Primal], spans: list[tuple[int, int]], linear: Linear, first: int, rows: int
) -> list[Direction]:
    """The answers for so many unit directions, from the `first` on. `spans` are those of the numbers."""
    total = spans[-1][1]
    units = np.zeros((rows, total))
    units.reshape(-1)[first :: total + 1] = 1.0
    is_few = 1 < rows <= FEW
    directions = [
        tuple(units[:, start].tolist())
        if is_few and type(x) in DOUBLES
        else in_library_of(x, units[:, start:stop].reshape(rows, *shape_of(x)).astype(dtype_of(x)))
        for x, (start, stop) in zip(numbers, spans, strict=True)
    ]
    if rows == 1:  # an ordinary derivative
        answers = linear([direction[0] for direction in directions])
        return [None if answer is None else np.reshape(answer, (1, *shape_of(answer))) for answer in answers]
    return at_once(linear, directions, [x.tag.level for x in numbers if isinstance(x, Number)])


def at_once(linear: Linear, directions: list[Direction], levels: Iterable[int] = ()) -> list[Direction]:
    """The rows that `linear` answers for the rows of these directions; `levels` are those of the numbers in it.

    The rows of a direction are an array, or a tuple of few floats.
    """
    tag = Tag.around(levels)
    stacks = [ScalarStack(rows, tag) if type(rows) is tuple else Stack(rows, tag) for rows in directions]
    try:
        return [None if answer is None else stacks[0].all_rows(answer) for answer in linear(stacks)]
    finally:
        tag.finish()


def _joined(parts: tuple[Direction, ...]) -> Direction:
    return None if parts[0] is None else np.concatenate(parts)


def _spans(numbers: list[Primal]) -> list[tuple[int, int]]:
    """Where each number's elements begin and end in the long vector."""
    return list(itertools.pairwise(itertools.accumulate(map(math.prod, map(shape_of, numbers)), initial=0)))


def from_rows(rows: list[Cotangent], xs: list[Primal], ys: list[Primal]) -> list[list[Any]]:
    """The blocks dy/dx: for each y a list with a block for each x, from the rows for each x."""
    return [
        [_block(None if row is None else row[start:stop], y, x) for row, x in zip(rows, xs, strict=True)]
        for y, (start, stop) in zip(ys, _spans(ys), strict=True)
    ]


def from_columns(columns: list[Tangent], xs: list[Primal], ys: list[Primal]) -> list[list[Any]]:
    """The blocks dy/dx: for each y a list with a block for each x, from the columns for each y."""
    return [
        [
            _block(None if column is None else _as_columns(column[start:stop]), y, x)
            for x, (start, stop) in zip(xs, _spans(xs), strict=True)
        ]
        for y, column in zip(ys, columns, strict=True)
    ]


def _as_columns(rows: Direction) -> Direction:
    """Rows, which lie along the first axis, along the last axis."""
    return rows if len(shape_of(rows)) == 1 else np.moveaxis(rows, 0, -1)


def _block(block: Any, y: Primal, x: Primal) -> Any:
    """A block in its shape and in C order, for the user to keep."""
    shape = shape_of(y) + shape_of(x)
    if block is None:
        return in_library_of(y, np.zeros(shape, np.result_type(dtype_of(y), dtype_of(x)))[()])
    if type(block) is np.ndarray:  # the usual case, for speed
        return in_library_of(y, block.reshape(shape).copy()[()])
    in_shape = np.reshape(block, shape)
    if isinstance(in_shape, Number):
        return in_library_of(y, in_order(in_shape, "C"))
    if not isinstance(in_shape, Standard):
        in_shape = np.copy(in_shape, order="C")[()]
    return in_library_of(y, in_shape)
