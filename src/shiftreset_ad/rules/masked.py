"""Zeros that come from a choice, and that an infinite partial derivative must not turn into NaN.

In `where(x > 0, sqrt(x), 0)` at x = 0 the root is computed, but not used. So its derivative, which is infinite, must
not count; but zero times infinity is NaN. Therefore functions that choose keep a mask of the chosen elements, and
products are selected by this mask. A zero from arithmetic is an ordinary zero: for `sqrt(x)**2` at 0, 0 * inf is NaN.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import float64, ndarray

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import COUNT, FLOAT64, shape_of
from shiftreset_ad.rules.indexing import At, names_each_position_once, read, scatter, staged_part
from shiftreset_ad.rules.stand_ins import StagedValue, is_staged
from shiftreset_ad.rules.table import LinearMap, MapByMethods

BOOL, INT8 = np.dtype(bool), np.dtype(np.int8)
# Integers of the same size
BITS: dict[Any, Any] = {FLOAT64: np.dtype(np.int64), np.dtype(np.float32): np.dtype(np.int32)}
PUT: Any = getattr(sys.modules.get("numpy._core._multiarray_umath"), "putmask", np.putmask)  # without NumPy's protocol
EMPTY: Any = np.empty
ZEROS: Any = np.zeros
HALF = np.array(0.5)  # in place of a float, which NumPy would make an array of at each product
FEW = 256  # elements; so few are chosen one by one
PLAIN = (ndarray, bool, np.bool_, list, tuple)
OF_NUMPY = (ndarray, np.bool_, StagedValue)

new = object.__new__

Mask = np.ndarray[Any, np.dtype[np.bool_]]


class Masked:
    """A cotangent with these `values`. Where `mask` is False, they are zero, and so are their products with anything.

    The mask is an array of the same shape. Nobody writes to either array.
    """

    __slots__ = ("mask", "values")
    __array_ufunc__ = None  # so that an array leaves a product with a `Masked` to the `Masked`

    def __init__(self, values: Any, mask: Mask) -> None:
        self.values = values
        self.mask = mask

    def __rmul__(self, factor: Any) -> Masked:
        product = factor * self.values
        if not is_finite(factor, product):
            product = selected(self.mask, product)
        return Masked(product, self.mask)

    def __neg__(self) -> Masked:
        return Masked(-self.values, self.mask)


def masked_values(values: Any, mask: Any) -> Masked:
    """`Masked(values, mask)`, without the call of a class, which takes twice as long."""
    x_bar = new(Masked)
    x_bar.values, x_bar.mask = values, mask
    return x_bar


def is_finite(factor: Any, product: Any) -> bool:
    """Whether it is known that a factor is finite, so that its products with zeros are zeros.

    Of an array this is only asked if the product is a number or staged, as to select plain elements takes less time.
    """
    kind = type(factor)
    if kind is ndarray:
        return type(product) is not ndarray and bool(np.isfinite(factor).all())
    return (kind is float or kind is int or kind is np.float64) and math.isfinite(factor)


def selected(mask: Any, values: Any) -> Any:
    """The values where the mask is True, and zero elsewhere."""
    kind = type(values)
    if type(mask) is ndarray and mask.dtype is BOOL:
        if kind is ndarray:
            dtype = values.dtype
            if values.shape == mask.shape and (dtype is FLOAT64 or dtype in BITS):
                if values.size > FEW:
                    return selected_by_bits(mask, values)
                chosen = ZEROS(values.shape, dtype)
                PUT(chosen, mask, values)
                return chosen
        elif kind is float64 or kind is float:
            chosen = ZEROS(mask.shape)
            PUT(chosen, mask, values)
            return chosen
    values = np.where(mask, values, 0.0)
    if type(values) is ndarray:
        return values if values.ndim else values[()]
    return values[()] if is_staged(values) and not shape_of(values) else values


def selected_by_bits(mask: Any, values: Any) -> Any:
    """`selected` by the bits of the values: to choose takes far longer where the processor cannot guess the mask."""
    integers = BITS[values.dtype]
    chosen = EMPTY(values.shape, values.dtype)
    bits = chosen.view(integers)
    bits[...] = mask
    bits *= values.view(integers)
    return chosen


def where_chosen(condition: Any, y_bar: Cotangent) -> Cotangent:
    """The cotangent of an operand that was chosen where the condition holds; the condition is a constant."""
    if condition is True:
        return y_bar
    if type(condition) is ndarray and condition.dtype is BOOL:
        mask: Any = condition
    elif isinstance(condition, PLAIN):
        mask = np.asarray(condition, bool)
    elif is_of_numpy(condition):
        mask = condition if getattr(condition, "dtype", None) == np.bool_ else np.not_equal(condition, 0)
    else:
        return selected(condition, settled(y_bar))
    if type(y_bar) is Masked:
        counted, mask = y_bar.mask, mask & y_bar.mask
        is_plain = type(mask) is type(counted) is ndarray
        if is_plain and mask.shape == counted.shape and COUNT(mask) == COUNT(counted):
            return y_bar  # whatever counts was chosen
        y_bar = y_bar.values
    elif mask is condition and type(mask) is ndarray and COUNT(mask) == mask.size and mask.shape == shape_of(y_bar):
        return y_bar
    values = selected(condition, y_bar)
    shape = values.shape if type(values) is ndarray else shape_of(values)
    return masked_values(values, mask if mask.shape == shape else np.broadcast_to(mask, shape))


def is_of_numpy(x: Any) -> bool:
    """Whether a comparison of `x` gives a mask of NumPy's, and no array of another library."""
    return issubclass(type(x), OF_NUMPY)


class Choice(MapByMethods):
    """The derivative of a function that chooses or shares: zero for elements that were not chosen.

    It is a factor, as the partial derivative of `maximum` is, and a linear map. `mask` says where `shares` are not
    zero. If the two are one array, nothing is shared. A choice by `halved_unless` has no `shares` until they are asked
    for: what is chosen counts, all of it where `alone` is True, or half of it.

    `is_alike`: the answer has the shape of the mask, which is plain, and there are no shares, or they are the mask.
    Then it is known whether all elements are chosen: `is_full`.
    """

    __slots__ = ("_shares", "alone", "is_alike", "is_full", "mask")
    __array_ufunc__ = None
    chooses = True

    def __init__(self, shares: Any, mask: Any = None) -> None:
        self._shares = shares
        self.mask = shares != 0 if mask is None else mask
        self.alone: Any = None
        self.is_alike = self.is_full = False
        self.is_constant = True  # no number is in a choice

    @property
    def shares(self) -> Any:
        shares = self._shares
        if shares is None:
            self._shares = shares = self.mask * halves(self.alone, np.ones(self.mask.shape))
        return shares

    def pushforward(self, x_dot: Tangent) -> Any:
        """The tangent of the chosen elements; `x_dot` itself if all of it counts."""
        mask = self.mask
        if self.is_alike and type(x_dot) is ndarray and x_dot.dtype is FLOAT64 and x_dot.shape == mask.shape:
            # for speed: no shares are made
            if not self.is_full:
                x_dot = selected(mask, x_dot)
            return x_dot if self.alone is None else halves(self.alone, x_dot)
        shares = self.shares
        if shape_of(shares):
            return selected(mask, x_dot if shares is mask else shares * x_dot)
        if is_staged(mask):
            return selected(mask, shares * x_dot)
        return shares * x_dot if shares else np.where(False, x_dot, 0.0)[()]

    __mul__ = pushforward

    def pullback(self, y_bar: Cotangent) -> Cotangent:
        """The cotangent of the operand, from that of the answer; without a mask if all elements were chosen."""
        mask = self.mask
        if self.is_alike and type(y_bar) is ndarray and y_bar.dtype is FLOAT64:  # the usual case, for speed
            if self.is_full:
                return y_bar if self.alone is None else halves(self.alone, y_bar)
            values = selected(mask, y_bar)
            return masked_values(values if self.alone is None else halves(self.alone, values), mask)
        shares = self._shares
        is_whole = shares is mask  # nothing is shared
        if type(mask) is not ndarray:
            if is_staged(mask) and not shape_of(mask):
                return Masked(shares * settled(y_bar), mask)
            if not shape_of(shares):
                return shares * y_bar if shares else NOTHING
            if not is_of_numpy(mask):
                return self * settled(y_bar)
        if type(y_bar) is Masked:
            counted, values = y_bar.mask, y_bar.values
            mask = mask & counted
            is_plain = type(mask) is type(counted) is ndarray
            is_known = is_plain and mask.shape == counted.shape and COUNT(mask) == COUNT(counted)
            if is_known and is_whole:
                return y_bar  # whatever counts was chosen
        else:
            values, is_known = y_bar, False  # whether the values are zero already where nothing is chosen
        is_plain = type(values) is ndarray and values.dtype is FLOAT64 and values.size == mask.size
        is_full = values is y_bar and type(mask) is ndarray and COUNT(mask) == mask.size
        if is_full and (is_plain or mask.shape == shape_of(values)):
            if is_whole:
                return y_bar  # as for its value, which may be an array with a tangent
            return halves(self.alone, values) if is_plain and shares is None else self.shares * values
        if not is_plain or (shares is not None and not is_whole):
            return masked_values(selected(mask, values if is_whole else self.shares * values), mask)
        if not is_known:
            values = selected(mask, values)
        return masked_values(values if is_whole else halves(self.alone, values), mask)


def chosen_where(mask: Any) -> Choice:
    """One where the mask is True, and zero elsewhere, for an answer of the shape of the mask."""
    choice = new(Choice)
    choice._shares = choice.mask = mask
    choice.alone, choice.is_constant = None, True
    choice.is_alike = is_plain = type(mask) is ndarray
    choice.is_full = is_plain and COUNT(mask) == mask.size
    return choice


def halved_unless(alone: Any, mask: Any) -> Choice:
    """Zero where the mask is False; where it is True, one if the operand was chosen `alone`, or else a half.

    The masks are plain, and the answer has their shape.
    """
    choice = new(Choice)
    choice._shares, choice.mask, choice.alone = None, mask, alone
    choice.is_alike = choice.is_constant = True
    choice.is_full = COUNT(mask) == mask.size
    return choice


def halves(alone: Any, values: Any) -> Any:
    """The values where `alone` is True, and half of each value elsewhere, as a new array."""
    if values.size <= FEW:
        halved = values * HALF
        PUT(halved, alone, values)
        return halved
    shares = alone.astype(FLOAT64)  # in passes without branches: the processor cannot guess where elements tie
    shares *= HALF
    shares += HALF
    shares *= values
    return shares


class Pick(Choice):
    """A choice of one element among several: the element at `place`."""

    __slots__ = ("place",)

    def __init__(self, mask: Any) -> None:
        super().__init__(mask, mask)
        place = mask.argmax()
        self.place = place if mask.ndim == 1 else np.unravel_index(place, mask.shape)

    def of(self, x_dot: Any) -> Any:
        """The sum of the tangents of the chosen elements, of a plain array."""
        return x_dot[self.place] + 0.0  # and never -0.0, as in a sum

    def pullback(self, y_bar: Cotangent) -> Cotangent:
        """As of any choice, and of a plain scalar without a product of the whole array."""
        if type(y_bar) is not float64:
            return super().pullback(y_bar)
        values = ZEROS(self.mask.shape)
        values[self.place] = y_bar
        return masked_values(values, self.mask)


def once(found: Callable[[], Choice]) -> Callable[[], Choice]:
    """`found`, called at most once: a second derivative needs the same shares on both ways."""
    known: list[Choice] = []

    def shares() -> Choice:
        if not known:
            known.append(found())
        return known[0]

    return shares


# The cotangent of a scalar that was not chosen
NOTHING = Masked(0.0, np.zeros((), bool))


def settled(x_bar: Cotangent) -> Cotangent:
    """A cotangent as an ordinary array."""
    return x_bar.values if type(x_bar) is Masked else x_bar


def through(linear_map: LinearMap, y_bar: Masked) -> Any:
    """The cotangent of the operand of a linear function with this map.

    A pullback that chooses elements takes the mask with them, and one that only moves elements moves the mask, too. Any
    other only multiplies and adds: it is called with NaN in place of the values that count, and an element that is not
    NaN afterwards does not depend on them.
    """
    pullback, mask, moves = linear_map.pullback, y_bar.mask, linear_map.moves or linear_map.selects
    if linear_map.chooses:
        return pullback(y_bar)
    x_bar = pullback(y_bar.values)
    reached = pullback(mask if moves else np.where(mask, np.nan, 0.0))
    if moves and type(x_bar) is type(reached) is ndarray:  # the usual case, for speed
        if reached.size < mask.size and COUNT(reached) == reached.size:
            return x_bar  # a part of which all counts
        return masked_values(x_bar, reached)
    if type(x_bar) is At:
        return At(x_bar.index, masked(x_bar.y_bar, reached.y_bar if moves else np.isnan(reached.y_bar)))
    if type(reached) is Masked:  # what was chosen may depend on the values, as no mask is kept where all were chosen
        reached = reached.values
    counts = reached if moves else np.isnan(reached)
    return Masked(x_bar.values, x_bar.mask & counts) if type(x_bar) is Masked else masked(x_bar, counts)


def masked(values: Any, mask: Any) -> Any:
    """`Masked(values, mask)`; only the values if the mask is no plain array."""
    return masked_values(values, mask) if type(mask) is ndarray or is_of_numpy(mask) else values


def marked(whole: Any, index: Any, mask: Any) -> Any:
    """The mask `whole`, also True in the part `index` where `mask` is; `whole` itself may be overwritten."""
    is_plain = type(whole) is ndarray and (mask is True or type(mask) in (ndarray, np.bool_))
    if not is_plain or staged_part(index) is not None:
        counts = np.ones(shape_of(read(whole, index)), bool) if mask is True else mask
        return whole | (scatter([counts * 1.0], [index], shape_of(whole), np.dtype(float)) != 0)
    if mask is True:
        whole[index] = True
    elif names_each_position_once(index):
        whole[index] |= mask
    else:
        np.logical_or.at(whole, index, mask)
    return whole


def unbroadcast_mask(mask: Mask, shape: tuple[int, ...]) -> Mask:
    """The mask after `unbroadcast` to this `shape`: True where a sum has at least one element that counts."""
    added = mask.ndim - len(shape)
    stretched = tuple(axis for axis in range(mask.ndim) if axis < added or shape[axis - added] == 1)
    reduced: Mask = np.any(mask, axis=stretched, keepdims=True).reshape(shape)
    return reduced
