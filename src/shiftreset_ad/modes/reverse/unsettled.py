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

TOGETHER = 512  # outer products that are summed at once: more take more memory, and no less time


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
    scatter_into(adjoint.values, index, y_bar)
    adjoint.mask = marked(adjoint.mask, index, mask)


class Held:
    """An adjoint that has not been summed yet.

    It is the sum of a `whole`, of contributions to parts, and of outer products. The `whole` counts where `mask` is
    True, or everywhere if `mask` is None. The contributions to parts are the `values` at these `indices`, each with the
    mask of what counts in it, or True. Outer products are pairs of `factors`: the sum of many is one product of
    matrices. They count everywhere.
    """

    __slots__ = ("factors", "indices", "mask", "masks", "values", "whole")

    def __init__(self, whole: Any, mask: Any = None) -> None:
        self.whole = whole
        self.mask = mask
        self.indices: list[Any] = []
        self.values: list[Any] = []
        self.masks: list[Any] = []
        self.factors: list[tuple[Any, Any]] = []

    def copied(self) -> Held:
        """The same contributions, to which others can be added."""
        copy = Held(self.whole, self.mask)
        copy.indices, copy.values, copy.masks = self.indices.copy(), self.values.copy(), self.masks.copy()
        copy.factors = self.factors.copy()
        return copy

    def add(self, x: Accumulator, x_bar: Cotangent) -> None:
        """Add a contribution that counts everywhere."""
        self.whole, self.mask = x_bar if self.whole is ZERO else self.whole + x_bar, None
        if not self.values and not self.factors:
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

    def add_outer(self, left: Any, right: Any) -> None:
        """Keep the outer product of two plain vectors; so many are kept that one product of matrices is worth it.

        Of copies, as the way back undoes writes to the vectors before it sums the products.
        """
        self.factors.append((left.copy(), right.copy()))
        if len(self.factors) == TOGETHER:
            product = self._products()
            self.whole = product if self.whole is ZERO else self.whole + product
            self.mask, self.factors = None, []

    def _products(self) -> Any:
        """The sum of the outer products, by functions that `vmap` carries out for all rows at once."""
        if len(self.factors) == 1:
            return np.outer(*self.factors[0])
        lefts, rights = zip(*self.factors, strict=True)
        return np.transpose(np.stack(lefts)) @ np.stack(rights)

    def counted(self, x: Accumulator) -> Any:
        """Where the adjoint counts; None means everywhere."""
        if self.factors:
            return None
        if self.whole is not ZERO and (self.mask is None or not self.indices):
            return self.mask
        mask = np.zeros(shape_of(x.primal), bool) if self.mask is None else self.mask
        if type(mask) is ndarray:
            mask = mask.copy()
        for index, part_mask in zip(self.indices, self.masks, strict=True):
            mask = marked(mask, index, part_mask)
        return mask

    def settle(self, x: Accumulator) -> Cotangent:
        """The sum of all contributions, which becomes the adjoint of `x`. A sum of outer products is a new array."""
        x.adjoint, x.owns = self.whole, bool(self.factors)
        if self.values:
            kept = scatter(self.values, self.indices, shape_of(x.primal), dtype_of(x.primal))
            x.adjoint = kept if self.whole is ZERO else self.whole + kept
        if self.factors:
            products = self._products()
            x.adjoint = products if x.adjoint is ZERO else x.adjoint + products
        return x.adjoint


def hold(x: Accumulator, index: Any, y_bar: Cotangent, mask: Any) -> None:
    """Keep a contribution to the part `index` of the adjoint of `x`, and add it when the adjoint is needed."""
    adjoint = x.adjoint
    if type(adjoint) is Masked:
        x.adjoint = adjoint = Held(adjoint.values, adjoint.mask)
    elif type(adjoint) is not Held:
        x.adjoint = adjoint = Held(adjoint)
    adjoint.add_at(x, index, y_bar, mask)


def hold_outer(x: Accumulator, left: Any, right: Any) -> None:
    """Keep an outer product of two vectors as a contribution to the adjoint of the matrix `x`, which is not written."""
    adjoint = x.adjoint
    if type(adjoint) is Masked:
        x.adjoint = adjoint = Held(adjoint.values, adjoint.mask)
    elif type(adjoint) is not Held:
        x.adjoint = adjoint = Held(adjoint)
    adjoint.add_outer(left, right)
