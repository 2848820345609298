"""Elementwise operations on index sets: the union of the operands' sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from shiftreset_ad.modes.index_sets.number import IndexSets
from shiftreset_ad.numbers.number import newest
from shiftreset_ad.numbers.operands import as_operand, with_parts_gathered
from shiftreset_ad.rules import Elementwise
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


def make_operation(rule: Elementwise, function: Callable[..., Any]) -> Callable[..., Any]:
    """The elementwise operation. What it computes does not matter, but for products with a constant."""
    is_product = rule.function is np.multiply

    def operate(*operands: Any) -> Any:
        sets: Any = newest([x for x in operands if type(x) is IndexSets])
        sets.tag.require_open()
        lowered = []
        for x in operands:
            lowered.append(x if sets.has(x) else as_operand(x, sets, function))
            if lowered[-1] is NotImplemented:
                return with_parts_gathered(function, *operands)
        return united(sets, lowered, is_product)

    return operate


def united(sets: IndexSets, operands: list[Any], is_product: bool = False) -> IndexSets:
    """The sets of an elementwise function of these operands. Of a product, constant factors may be zero."""
    shape = np.broadcast_shapes(*map(shape_of, operands))
    which = np.array(np.broadcast_to(reduce(sets.sets.union, [x.which for x in operands if sets.has(x)]), shape))
    if is_product and sets.here:
        for x in operands:
            if not sets.has(x):
                which = np.where(np.equal(x, 0), 0, which)
    return sets.like(which, np.result_type(*map(dtype_of, operands)))
