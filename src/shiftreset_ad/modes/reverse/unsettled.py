"""Adjoints that are not settled: only a part of them counts, or contributions to parts wait to be summed.

Each function and method gets the number `x` whose adjoint this is.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy import ndarray

from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.rules.annotations import Adjoint, Cotangent, Primal
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.indexing import scatter, scatter_into
from shiftreset_ad.rules.masked import Masked, marked


class Accumulator(Protocol):
    """What has an adjoint. `owns`: nothing else sees the array of the adjoint."""

    primal: Primal
    adjoint: Adjoint
    owns: bool


def add_at_masked(x: Accumulator, index: Any, y_bar: Cotangent, mask: Any) -> None:
    """Add a plain contribution to the part `index` of an adjoint that is a plain `Masked`."""
    adjoint = x.adjoint
    if not x.owns:
        x.adjoint = adjoint = Masked(adjoint.values.copy(), adjoint.mask.copy())
        x.owns = True
    if type(index) is int and mask is True:  # one element: a loop may read many
        adjoint.values[index] += y_bar
        adjoint.mask[index] = True
    else:
        scatter_into(adjoint.values, index, y_bar)
        adjoint.mask = marked(adjoint.mask, index, mask)


class Held:
    """An adjoint that has not been summed yet.

    It is the sum of a `whole` and of contributions to parts. The `whole` counts where `mask` is True, or everywhere if
    `mask` is None. The contributions are the `values` at these `indices`, each with the mask of what counts in it, or
    True.
    """

    __slots__ = ("indices", "mask", "masks", "values", "whole")

    def __init__(self, whole: Any, mask: Any = None) -> None:
        self.whole = whole
        self.mask = mask
        self.indices: list[Any] = []
        self.values: list[Any] = []
        self.masks: list[Any] = []

    def copied(self) -> Held:
        """The same contributions, to which others can be added."""
        copy = Held(self.whole, self.mask)
        copy.indices, copy.values, copy.masks = self.indices.copy(), self.values.copy(), self.masks.copy()
        return copy

    def add(self, x: Accumulator, x_bar: Cotangent) -> None:
        """Add a contribution that counts everywhere."""
        self.whole, self.mask = x_bar if self.whole is ZERO else self.whole + x_bar, None
        if not self.values:
            x.adjoint, x.owns = self.whole, False

    def add_masked(self, x: Accumulator, values: Any, mask: Any) -> None:
        """Add a contribution that counts where `mask` is True."""
        if self.whole is ZERO:
            self.whole, self.mask = values, mask
        else:
            self.whole = self.whole + values
            self.mask = None if self.mask is None else self.mask | mask

    def add_at(self, x: Accumulator, index: Any, y_bar: Cotangent, mask: Any) -> None:
        """Keep a contribution to the part `index`."""
        self.indices.append(index)
        self.values.append(y_bar)
        self.masks.append(mask)

    def counted(self, x: Accumulator) -> Any:
        """Where the adjoint counts; None means everywhere."""
        if self.whole is not ZERO and (self.mask is None or not self.indices):
            return self.mask
        mask = np.zeros(shape_of(x.primal), bool) if self.mask is None else self.mask
        if type(mask) is ndarray:
            mask = mask.copy()
        for index, part_mask in zip(self.indices, self.masks, strict=True):
            mask = marked(mask, index, part_mask)
        return mask

    def settle(self, x: Accumulator) -> Cotangent:
        """The sum of all contributions, which becomes the adjoint of `x`."""
        x.adjoint = self.whole
        if self.values:
            kept = scatter(self.values, self.indices, shape_of(x.primal), dtype_of(x.primal))
            x.adjoint = kept if self.whole is ZERO else self.whole + kept
        x.owns = False
        return x.adjoint


def hold(x: Accumulator, index: Any, y_bar: Cotangent, mask: Any) -> None:
    """Keep a contribution to the part `index` of the adjoint of `x`, and add it when the adjoint is needed."""
    adjoint = x.adjoint
    if type(adjoint) is Masked:
        x.adjoint = adjoint = Held(adjoint.values, adjoint.mask)
    elif type(adjoint) is not Held:
        x.adjoint = adjoint = Held(adjoint)
    adjoint.add_at(x, index, y_bar, mask)
