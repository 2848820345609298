"""Einstein summation: `numpy.einsum` in either notation is `contract`, which has explicit subscripts.

The loops of `numpy.einsum` take nine times as long as BLAS for matrices of 64 rows. The value has the bits of these
loops. Tangents and cotangents that are products of two matrices, or of a matrix and a vector, go by `np.dot`, and
differ by rounding.
"""

from __future__ import annotations

import string
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import shape_of, transposed, unbroadcast
from shiftreset_ad.rules.numpy.products import DOT
from shiftreset_ad.rules.stand_ins import are_arrays
from shiftreset_ad.rules.table import MapByMethods, composite, dispatched, restated, structured

new: Any = object.__new__
# What `np.einsum` calls for plain arrays. It is private, so a NumPy without it has `np.einsum` itself.
EINSUM: Any = getattr(sys.modules.get("numpy._core.multiarray"), "c_einsum", np.einsum)
LABELS = string.ascii_uppercase + string.ascii_lowercase  # in NumPy's order


@composite(np.einsum)
def _einsum(*args: Any, optimize: Any = False) -> Any:
    """`np.einsum` in either notation, converted to the notation of `contract`."""
    subscripts, operands = spelled_out(args)
    inputs, output = explicit(subscripts, tuple([len(shape_of(x)) for x in operands]))
    if not _are_distinct(inputs):
        operands, inputs = _diagonals(operands, inputs)
    if _is_view(inputs, output):
        return np.transpose(operands[0], [inputs[0].index(label) for label in output])
    return contract(operands, joined(inputs, output), optimize)


def _are_distinct(inputs: tuple[str, ...]) -> bool:
    """Whether no label is twice in one operand."""
    return all(len(set(labels)) == len(labels) for labels in inputs)


def _is_view(inputs: tuple[str, ...], output: str) -> bool:
    """Whether the answer is the operand with its axes in another order, and so a view, as in NumPy."""
    return len(inputs) == 1 and bool(output) and sorted(inputs[0]) == sorted(output)


def _diagonals(operands: list[Any], inputs: tuple[str, ...]) -> tuple[list[Any], tuple[str, ...]]:
    """The operands with their diagonals, where a label is twice in an operand, and labels for these."""
    operands, single = list(operands), []
    for place, labels in enumerate(inputs):
        for label in dict.fromkeys(labels):
            while labels.count(label) > 1:
                first = labels.index(label)
                second = labels.index(label, first + 1)
                sizes = shape_of(operands[place])
                if sizes[first] != sizes[second]:
                    raise ValueError(f"einsum: label {label!r} is used for sizes {sizes[first]} and {sizes[second]}")
                operands[place] = np.diagonal(operands[place], 0, first, second)
                labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
        single.append(labels)
    return operands, tuple(single)


@dispatched
def contract(operands: list[Any], subscripts: str, optimize: Any) -> Any:
    """`np.einsum` with explicit subscripts, where no label is twice in one operand."""
    return np.einsum(subscripts, *operands, optimize=optimize)


def joined(inputs: Sequence[str], output: str) -> str:
    """Explicit subscripts as one string."""
    return f"{','.join(inputs)}->{output}"


def taken_apart(subscripts: str) -> tuple[list[str], str]:
    """The labels of each operand and of the answer, of explicit subscripts."""
    left, _, output = subscripts.partition("->")
    return left.split(","), output


@restated(np.einsum, contract)
def _as_contraction(subscripts: Any, *operands: Any, optimize: Any = False) -> tuple[Any, ...] | None:
    """The arguments of `contract` for a call of `np.einsum` that it can take as it is."""
    if type(subscripts) is not str:
        return None
    for x in operands:
        if type(x) is not ndarray and not hasattr(type(x), "shape"):  # a number is not asked
            return None
    # Without an ellipsis, the shapes do not matter here.
    ndims = tuple([len(x.shape) for x in operands]) if "." in subscripts else len(operands)
    explicit = _explicit_of_contraction(subscripts, ndims)
    return None if explicit is None else ([*operands], explicit, optimize)


@lru_cache(256)
def _explicit_of_contraction(subscripts: str, ndims: tuple[int, ...] | int) -> str | None:
    """Explicit subscripts, if `contract` can take the operands as they are: so many, or with so many axes each."""
    inputs, output = explicit(subscripts.replace(" ", ""), (0,) * ndims if isinstance(ndims, int) else ndims)
    return joined(inputs, output) if _are_distinct(inputs) and not _is_view(inputs, output) else None


@structured(contract, kept=("operands",), multilinear=True)
def _contract(operands: list[Any], subscripts: str, optimize: Any) -> Any:
    is_plain = optimize is False
    for x in operands:  # without `map`, which takes twice as long for two
        if type(x) is not ndarray:
            is_plain = False
    y = EINSUM(subscripts, *operands) if is_plain else np.einsum(subscripts, *operands, optimize=optimize)
    product = as_product(subscripts)
    if product is not None:
        (a, b), (axis_of_a, axis_of_b) = operands, product.summed
        shape_a, shape_b = (a.shape, b.shape) if is_plain else (shape_of(a), shape_of(b))
        if shape_a[axis_of_a] != shape_b[axis_of_b]:
            product = None  # an operand is stretched along this axis

    def part(place: int) -> OfOperand:
        linear_map = new(OfOperand)
        linear_map.place, linear_map.before, linear_map.after = place, operands[:place], operands[place + 1 :]
        linear_map.shape = x.shape if type(x := operands[place]) is ndarray else shape_of(x)
        linear_map.subscripts, linear_map.optimize, linear_map.is_plain = subscripts, optimize, is_plain
        linear_map.is_constant, linear_map.product = False, product
        return linear_map  # type: ignore[no-any-return]

    return y, (part,)


class OfOperand(MapByMethods):
    """The map of the operand at a `place` of a contraction, between the operands `before` and `after` it.

    `is_plain`: these are plain arrays, and nothing is optimized. `product` is the contraction, if it is a product of
    two matrices, or of a matrix and a vector.
    """

    __slots__ = ("after", "before", "is_plain", "optimize", "place", "product", "shape", "subscripts")
    place: int
    before: list[Any]
    after: list[Any]
    shape: tuple[int, ...]
    subscripts: str
    optimize: Any
    is_plain: bool
    product: Product | None

    def pushforward(self, x_dot: Tangent) -> Tangent:
        if (product := self.product) is not None:
            left, right = (self.before[0], x_dot) if self.place else (x_dot, self.after[0])
            if not self.is_plain or type(x_dot) is not ndarray:
                return product.of(left, right)
            if product.swaps:  # the steps of `of`, for speed
                left, right = right, left
            return DOT(left.T if product.turns_left else left, right.T if product.turns_right else right)
        if self.is_plain and type(x_dot) is ndarray:
            return EINSUM(self.subscripts, *self.before, x_dot, *self.after)
        return np.einsum(self.subscripts, *self.before, x_dot, *self.after, optimize=self.optimize)

    def pullback(self, y_bar: Cotangent) -> Cotangent:
        if self.product is not None and (product := self.product.backs[self.place]) is not None:
            other = self.before[0] if self.place else self.after[0]
            if not self.is_plain or type(y_bar) is not ndarray:
                return product.of(y_bar, other)
            left, right = (other, y_bar) if product.swaps else (y_bar, other)
            return DOT(left.T if product.turns_left else left, right.T if product.turns_right else right)
        back, labels, found = _way_back(self.subscripts, self.place)
        if self.is_plain and type(y_bar) is ndarray:
            x_bar = EINSUM(back, y_bar, *self.before, *self.after)
        else:
            x_bar = np.einsum(back, y_bar, *self.before, *self.after, optimize=self.optimize)
        shape = self.shape
        if (x_bar.shape if type(x_bar) is ndarray else shape_of(x_bar)) == shape:
            return x_bar
        # A label of only this operand was summed over: the cotangent is constant along its axis.
        sizes = iter(shape_of(x_bar))
        kept = tuple(next(sizes) if label in found else 1 for label in labels)
        full = tuple(own if size == 1 else size for size, own in zip(kept, shape, strict=True))
        return unbroadcast(np.broadcast_to(np.reshape(x_bar, kept), full), shape)


@lru_cache(256)
def _way_back(subscripts: str, place: int) -> tuple[str, str, str]:
    """The subscripts of the way back to the operand at this place, its labels, and those that are on another side."""
    inputs, output = taken_apart(subscripts)
    sides = (output, *inputs[:place], *inputs[place + 1 :])
    found = "".join(label for label in inputs[place] if any(label in side for side in sides))
    return joined(sides, found), inputs[place], found


class Product:
    """A contraction that is a product of two matrices, or of a matrix and a vector.

    It sums over one axis of each operand, `summed`. The second operand stands left if `swaps`; then each side may
    be transposed. `backs` are the ways back to both operands, where they are such products, too.
    """

    __slots__ = ("backs", "summed", "swaps", "turns_left", "turns_right")

    def __init__(self, summed: tuple[int, int], swaps: bool, turns_left: bool, turns_right: bool):
        self.summed = summed
        self.swaps = swaps
        self.turns_left = turns_left
        self.turns_right = turns_right
        self.backs: tuple[Product | None, Product | None] = None, None

    def of(self, left: Any, right: Any) -> Any:
        """The product of both operands, whatever they are."""
        if self.swaps:
            left, right = right, left
        product = np.dot if are_arrays(left, right) else np.matmul  # `matmul` takes what has rows on both sides
        return product(transposed(left) if self.turns_left else left, transposed(right) if self.turns_right else right)


@lru_cache(256)
def as_product(subscripts: str) -> Product | None:
    """The contraction with these subscripts, if it is a product of two matrices, or of a matrix and a vector."""
    product = _product(subscripts)
    if product is not None:
        product.backs = _product(_way_back(subscripts, 0)[0]), _product(_way_back(subscripts, 1)[0])
    return product


def _product(subscripts: str) -> Product | None:
    inputs, output = taken_apart(subscripts)
    if len(inputs) != 2:
        return None
    first, second = inputs
    summed = {*first} & {*second} - {*output}
    if len(summed) != 1 or max(len(first), len(second)) > 2 or len(first) + len(second) != len(output) + 2:
        return None
    label = summed.pop()
    swaps = bool(output) and output[0] not in first
    left, right = (second, first) if swaps else (first, second)
    return Product(
        (first.index(label), second.index(label)),
        swaps,
        turns_left=len(left) == 2 and left[0] == label,
        turns_right=len(right) == 2 and right[1] == label,
    )


def spelled_out(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The subscripts as a string, and the operands: `einsum(x, [0, 1], [1])` means `einsum("ab->b", x)`."""
    if isinstance(args[0], str):
        return args[0].replace(" ", ""), list(args[1:])

    def word(labels: Any) -> str:
        return "".join("..." if label is Ellipsis else LABELS[label] for label in labels)

    pairs = len(args) // 2
    subscripts = ",".join(word(args[2 * i + 1]) for i in range(pairs))
    if len(args) % 2:
        subscripts += "->" + word(args[-1])
    return subscripts, [args[2 * i] for i in range(pairs)]


@lru_cache(256)
def explicit(subscripts: str, ndims: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The labels of each operand and of the answer, with every ellipsis and a missing answer filled in."""
    left, arrow, output = subscripts.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ndims):
        raise ValueError(f"einsum: the subscripts name {len(inputs)} operands, but {len(ndims)} were given")
    hidden = [
        ndim - len(labels.replace("...", "")) if "..." in labels else 0
        for labels, ndim in zip(inputs, ndims, strict=True)
    ]
    spare = "".join(label for label in LABELS if label not in subscripts)[: max(hidden)]
    named = left.replace("...", "").replace(",", "")
    if arrow and spare and "..." not in output:
        raise ValueError("einsum: the output has no ellipsis, but needs one for the dimensions of the inputs' ellipses")
    if not arrow:
        output = "..." + "".join(sorted(label for label in set(named) if named.count(label) == 1))
    filled = [labels.replace("...", spare[len(spare) - count :]) for labels, count in zip(inputs, hidden, strict=True)]
    return tuple(filled), output.replace("...", spare)
