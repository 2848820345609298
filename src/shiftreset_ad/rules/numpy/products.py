"""Products of vectors, matrices and tensors."""

from __future__ import annotations

import operator
import string
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.annotations import Cotangent, Pullback, Tangent
from shiftreset_ad.rules.broadcasting import is_complex, reshaped, shape_of, transposed, unbroadcast
from shiftreset_ad.rules.numpy.shapes import inverse_of
from shiftreset_ad.rules.stand_ins import are_arrays
from shiftreset_ad.rules.table import LinearMap, composite, dispatched, functions_of, linear, restated, structured

# What `np.einsum` calls for plain arrays. It is private, so a NumPy without it has `np.einsum` itself.
EINSUM: Any = getattr(sys.modules.get("numpy._core.multiarray"), "c_einsum", np.einsum)
# What `np.dot` of plain arrays calls, without NumPy's protocol
DOT: Any = getattr(sys.modules.get("numpy._core._multiarray_umath"), "dot", np.dot)
LABELS = string.ascii_uppercase + string.ascii_lowercase  # in NumPy's order
LARGE = 4096  # elements of a matrix, from which on its outer products are summed together
normalize_axes = np.lib.array_utils.normalize_axis_tuple


Answer: TypeAlias = tuple[Any, Callable[[int], LinearMap] | tuple[LinearMap, LinearMap]]


def bilinear(
    product: Callable[[Any, Any], Any], a: Any, b: Any, pullback_of: Callable[[int], Pullback] | None = None
) -> Answer:
    """The rule of a product that is linear in each of its operands.

    `pullback_of(operand)` is the pullback of the operand at this place; without it, that of a product of vectors and
    single matrices.
    """

    def map_of(operand: int) -> LinearMap:
        pullback = _matmul_pullback(operand, a, b) if pullback_of is None else pullback_of(operand)
        if operand == 0:
            linear_map = LinearMap(lambda a_dot: product(a_dot, b), pullback)
        else:
            linear_map = LinearMap(lambda b_dot: product(a, b_dot), pullback)
        if (type(a) is type(b) is ndarray or are_arrays(a, b)) and a.size + b.size >= LARGE:
            if operand == 0 and a.ndim == 2 and b.ndim == 1:
                linear_map.factors = lambda y_bar: (y_bar, b)
            elif operand == 1 and a.ndim == 1 and b.ndim == 2:
                linear_map.factors = lambda y_bar: (a, y_bar)
        return linear_map

    return product(a, b), map_of


@structured(np.matmul, "a", "b", kept=("a", "b"), multilinear=True)
def _matmul(a: Any, b: Any) -> Answer:
    ndim_a, ndim_b = (a.ndim, b.ndim) if type(a) is type(b) is ndarray else (len(shape_of(a)), len(shape_of(b)))
    if ndim_a <= 2 and ndim_b <= 2:
        return bilinear(np.matmul, a, b)
    return bilinear(np.matmul, a, b, _stacked_matmul_pullbacks(a, b, shape_of(a), shape_of(b)).__getitem__)


def _matmul_pullback(operand: int, a: Any, b: Any) -> Pullback:
    """The pullback of `matmul` for vectors and single matrices."""
    ndim_a, ndim_b = (a.ndim, b.ndim) if type(a) is type(b) is ndarray else (len(shape_of(a)), len(shape_of(b)))
    if operand == 0:
        if ndim_b == 1:
            return (lambda y_bar: y_bar[:, None] * b) if ndim_a == 2 else (lambda y_bar: y_bar * b)
        if ndim_a == 2:
            return lambda y_bar: np.matmul(y_bar, transposed(b))
        return lambda y_bar: np.matmul(b, y_bar)
    if ndim_a == 1:
        return (lambda y_bar: a[:, None] * y_bar) if ndim_b == 2 else (lambda y_bar: a * y_bar)
    return lambda y_bar: np.matmul(a.T if type(a) is ndarray else transposed(a), y_bar)


def _stacked_matmul_pullbacks(
    a: Any, b: Any, shape_a: tuple[int, ...], shape_b: tuple[int, ...]
) -> tuple[Pullback, Pullback]:
    """The pullbacks of `matmul` for stacks of matrices, which broadcast."""
    row, column = len(shape_a) == 1, len(shape_b) == 1

    def as_matrices(x: Any, y: Any, y_bar: Cotangent) -> tuple[Any, Any, Any]:
        """Both operands and the cotangent, with the axes that `matmul` adds to vectors and removes from the answer."""
        if row:
            x, y_bar = x[None, :], y_bar[..., None, :]
        if column:
            y, y_bar = y[:, None], y_bar[..., None]
        return x, y, y_bar

    def pullback_a(y_bar: Cotangent) -> Cotangent:
        x, y, y_bar = as_matrices(a, b, y_bar)
        return np.reshape(unbroadcast(np.matmul(y_bar, np.swapaxes(y, -1, -2)), shape_of(x)), shape_a)

    def pullback_b(y_bar: Cotangent) -> Cotangent:
        x, y, y_bar = as_matrices(a, b, y_bar)
        return np.reshape(unbroadcast(np.matmul(np.swapaxes(x, -1, -2), y_bar), shape_of(y)), shape_b)

    return pullback_a, pullback_b


def as_array(x: Any) -> Any:
    """A list, or a table of pandas, as an array; any other operand as it is."""
    return x if type(x) is ndarray or hasattr(x, "__array_function__") else np.array(x)


def contraction(product: Callable[[Any, Any], Any], a: Any, b: Any, summed_a: Any, summed_b: Any) -> Answer:
    """The rule of a product that sums over these pairs of axes. The answer has the other axes of `a`, then of `b`."""
    ndim_a, ndim_b = len(shape_of(a)), len(shape_of(b))
    free_a = [i for i in range(ndim_a) if i not in summed_a]
    free_b = [i for i in range(ndim_b) if i not in summed_b]
    from_a, from_b = range(len(free_a)), range(len(free_a), len(free_a) + len(free_b))

    def pullback_a(y_bar: Cotangent) -> Cotangent:
        # Its axes are the free axes of a, and then the summed axes in the order that they have in b.
        order = [*free_a, *(summed_a[summed_b.index(i)] for i in sorted(summed_b))]
        return put_in_order(np.tensordot(y_bar, b, axes=(from_b, free_b)), order)

    def pullback_b(y_bar: Cotangent) -> Cotangent:
        order = [*(summed_b[summed_a.index(i)] for i in sorted(summed_a)), *free_b]
        return put_in_order(np.tensordot(a, y_bar, axes=(free_a, from_a)), order)

    return bilinear(product, a, b, (pullback_a, pullback_b).__getitem__)


def put_in_order(x: Any, places: list[int]) -> Any:
    """`x` with each axis at its place."""
    return x if places == sorted(places) else np.transpose(x, inverse_of(places))


@structured(np.dot, "a", "b", kept=("a", "b"), multilinear=True)
def _dot(a: Any, b: Any) -> Answer:
    ndim_a, ndim_b = (a.ndim, b.ndim) if type(a) is type(b) is ndarray else (len(shape_of(a)), len(shape_of(b)))
    if ndim_a == 0 or ndim_b == 0:
        return contraction(np.dot, a, b, [], [])
    if ndim_a <= 2 and ndim_b <= 2:
        if type(a) is not ndarray or type(b) is not ndarray:
            a, b = as_array(a), as_array(b)
        return bilinear(dot, a, b)
    return contraction(np.dot, a, b, [ndim_a - 1], [max(ndim_b - 2, 0)])


def dot(a: Any, b: Any) -> Any:
    """`np.dot`. For plain arrays, call the function in C inside it."""
    return DOT(a, b) if type(a) is type(b) is ndarray else np.dot(a, b)


@structured(np.inner, "a", "b", kept=("a", "b"), multilinear=True)
def _inner(a: Any, b: Any) -> Answer:
    ndim_a, ndim_b = len(shape_of(a)), len(shape_of(b))
    if ndim_a == 0 or ndim_b == 0:
        return contraction(np.inner, a, b, [], [])
    return contraction(np.inner, a, b, [ndim_a - 1], [ndim_b - 1])


@structured(np.tensordot, "a", "b", kept=("a", "b"), multilinear=True)
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Answer:
    ndim_a, ndim_b = len(shape_of(a)), len(shape_of(b))
    try:
        count = operator.index(axes)
        summed_a, summed_b = list(range(ndim_a - count, ndim_a)), list(range(count))
    except TypeError:
        summed_a, summed_b = (
            list(normalize_axes(side if np.ndim(side) else int(side), ndim))
            for side, ndim in zip(axes, (ndim_a, ndim_b), strict=True)
        )
    return contraction(lambda a, b: np.tensordot(a, b, axes), a, b, summed_a, summed_b)


@structured(np.outer, "a", "b", kept=("a", "b"), multilinear=True)
def _outer(a: Any, b: Any) -> Answer:
    shape_a, shape_b = shape_of(a), shape_of(b)
    return np.outer(a, b), (
        LinearMap(lambda a_dot: outer(a_dot, b), lambda y_bar: reshaped(np.matmul(y_bar, np.ravel(b)), shape_a)),
        LinearMap(lambda b_dot: outer(a, b_dot), lambda y_bar: reshaped(np.matmul(np.ravel(a), y_bar), shape_b)),
    )


def outer(a: Any, b: Any) -> Any:
    """`np.outer`, by functions that also work for many directions at once and for arrays of other libraries."""
    return np.multiply(np.ravel(a)[:, None], np.ravel(b)[None, :])


@structured(np.trace, linear=True)
def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    shape = shape_of(a)

    def transpose(y_bar: Cotangent) -> Cotangent:
        axes = normalize_axes((axis1, axis2), len(shape))
        on_diagonal = np.eye(shape[axes[0]], shape[axes[1]], offset, dtype=bool)
        return np.moveaxis(np.where(on_diagonal, np.expand_dims(y_bar, (-2, -1)), 0.0), (-2, -1), axes)

    return linear(a, lambda a: np.trace(a, offset, axis1, axis2, dtype), transpose)


# Products of stacks of vectors and matrices, in newer versions of NumPy


@composite(*functions_of("vecdot"))
def _vecdot(x1: Any, x2: Any) -> Any:
    return np.matmul(np.expand_dims(conjugated(x1), -2), np.expand_dims(x2, -1))[..., 0, 0][()]


@composite(*functions_of("matvec"))
def _matvec(x1: Any, x2: Any) -> Any:
    return np.matmul(x1, np.expand_dims(x2, -1))[..., 0]


@composite(*functions_of("vecmat"))
def _vecmat(x1: Any, x2: Any) -> Any:
    return np.matmul(np.expand_dims(conjugated(x1), -2), x2)[..., 0, :]


def conjugated(x: Any) -> Any:
    """The first operand, conjugated, of products that NumPy defines as inner products of complex vectors."""
    return np.conjugate(x) if is_complex(x) else x


# Einstein summation


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

    def part(place: int) -> LinearMap:
        before, after = operands[:place], operands[place + 1 :]
        shape = x.shape if type(x := operands[place]) is ndarray else shape_of(x)

        def pushforward(x_dot: Tangent) -> Tangent:
            if is_plain and type(x_dot) is ndarray:
                return EINSUM(subscripts, *before, x_dot, *after)
            return np.einsum(subscripts, *before, x_dot, *after, optimize=optimize)

        def pullback(y_bar: Cotangent) -> Cotangent:
            back, labels, found = _way_back(subscripts, place)
            if is_plain and type(y_bar) is ndarray:
                x_bar = EINSUM(back, y_bar, *before, *after)
            else:
                x_bar = np.einsum(back, y_bar, *before, *after, optimize=optimize)
            if (x_bar.shape if type(x_bar) is ndarray else shape_of(x_bar)) == shape:
                return x_bar
            # A label of only this operand was summed over: the cotangent is constant along its axis.
            sizes = iter(shape_of(x_bar))
            kept = tuple(next(sizes) if label in found else 1 for label in labels)
            full = tuple(own if size == 1 else size for size, own in zip(kept, shape, strict=True))
            return unbroadcast(np.broadcast_to(np.reshape(x_bar, kept), full), shape)

        return LinearMap(pushforward, pullback)

    return EINSUM(subscripts, *operands) if is_plain else np.einsum(subscripts, *operands, optimize=optimize), (part,)


@lru_cache(256)
def _way_back(subscripts: str, place: int) -> tuple[str, str, str]:
    """The subscripts of the way back to the operand at this place, its labels, and those that are on another side."""
    inputs, output = taken_apart(subscripts)
    sides = (output, *inputs[:place], *inputs[place + 1 :])
    found = "".join(label for label in inputs[place] if any(label in side for side in sides))
    return joined(sides, found), inputs[place], found


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
