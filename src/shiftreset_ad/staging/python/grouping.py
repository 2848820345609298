"""Products of one large matrix with several vectors become one product of two matrices, where no vector needs another.

A product with a vector reads the whole matrix, which takes most of its time. The nodes of a tree that are equally high
can share it, as can the trees of a forest. The elements are those of the products with vectors up to rounding, as BLAS
sums in another order.

A product has a level: how many such products lie before it on the longest way. Those of one level do not need one
another. So the steps are put in order by their levels, which has more arrays in memory at once. Only steps of straight
code change places. Where one writes, asks, or reacts to an error, all stay where they are.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.broadcasting import FLOAT64
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.keys import NOT_RAISING
from shiftreset_ad.staging.steps.trace import NOTHING, Step, Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged

PRODUCTS = {np.matmul, operator.matmul}
LEAST = 2**15  # elements of the matrix; from here on, the product takes longer than the steps around it
QUICK = 1_000_000  # products of elements that BLAS takes as they lie; for more, it copies the matrix first
MANY = 3_500_000  # products of elements from which on this copy pays
FOURS, MOST = 4, 16  # vectors: BLAS is quickest with a multiple of four; more than sixteen together gain nothing
SPARE = 2**24  # bytes that the other order may always take


class Product(NamedTuple):
    """A step that multiplies a matrix and a vector: the matrix, the vector, and whether the vector comes first."""

    step: Step
    matrix: Any
    vector: Any
    is_row: bool


def grouped(trace: Trace, left: Eliminated, outputs: list[Any]) -> Eliminated:
    """The steps with such products together; the same steps where there are none."""
    steps = left.steps
    products = {step.place: product for step in steps if (product := product_of(step)) is not None}
    if len(products) < 2 or not NOT_RAISING.issuperset(trace.errors.values()) or not all(map(is_straight, steps)):
        return left
    levels: dict[int, int] = {}  # of each place
    by_level: dict[int, list[Step]] = defaultdict(list)
    groups: dict[Any, list[Product]] = defaultdict(list)
    for step in steps:
        level = max([levels.get(place, 0) for place in left.operands(step)], default=0)
        levels[step.place] = level + (step.place in products)
        if step.place in products:
            product = products[step.place]
            groups[level, key_of(left, product), product.is_row].append(product)
        else:
            by_level[level].append(step)
    parts = [(level, together) for (level, *_), members in groups.items() for together in chunks(members)]
    if all(len(together) == 1 for _, together in parts):
        return left
    mark = len(trace.values)
    for level, together in parts:
        by_level[level] += [together[0].step] if len(together) == 1 else joined(trace, together)
    found = copy(left)
    found.steps = [step for level in sorted(by_level) for step in by_level[level]]
    if peak(trace, found, outputs) > max(2 * peak(trace, left, outputs), SPARE):
        del trace.values[mark:], trace.homes[mark:]
        return left
    return found


def product_of(step: Step) -> Product | None:
    """A step as a product of a large matrix and a vector, of doubles in one block of memory; None if it is none."""
    if step.function not in PRODUCTS or len(step.args) != 2 or step.kwargs:
        return None
    plain = [unstaged(x) for x in step.args]
    for x in plain:
        if type(x) is not ndarray or x.dtype is not FLOAT64 or not x.flags.forc:
            return None
    is_row = plain[0].ndim == 1
    matrix, vector = plain[::-1] if is_row else plain
    if matrix.ndim != 2 or vector.ndim != 1 or matrix.size < LEAST:
        return None
    return Product(step, *(step.args[::-1] if is_row else step.args), is_row)


def is_straight(step: Step) -> bool:
    """Whether a step may change its place."""
    acts = step.writes or step.is_question or step.open_ended
    return type(step) is Step and not acts and NOT_RAISING.issuperset((step.errors or {}).values())


def key_of(left: Eliminated, product: Product) -> Any:
    """What is equal for products with one matrix, and with the same reactions to floating-point errors."""
    matrix, errors = product.matrix, tuple((product.step.errors or {}).items())
    return (Staged, left.place(matrix), errors) if type(matrix) is Staged else (ndarray, id(matrix), errors)


def chunks(members: list[Product]) -> Iterator[list[Product]]:
    """The products that are carried out together: all of many, or as many as BLAS takes without a copy."""
    size = unstaged(members[0].matrix).size
    together = len(members) if is_many(members) else max(1, min(MOST, QUICK // size // FOURS * FOURS))
    for start in range(0, len(members), together):
        yield members[start : start + together]


def is_many(members: list[Product]) -> bool:
    """Whether a copy of the matrix pays for these products."""
    return bool(len(members) * unstaged(members[0].matrix).size >= MANY)


def joined(trace: Trace, members: list[Product]) -> list[Step]:
    """The steps of one product in place of several. Each answer has its old place, and memory of its own.

    A small product reads the matrix in the order of memory. A large one copies it in any case, so its vectors are rows,
    which are copied as they lie. Where a vector is missing for a multiple of four, the last one stands twice.
    """
    first, matrix, _, is_row = members[0]
    steps: list[Step] = []

    def added(function: Any, args: tuple[Any, ...], kwargs: Any, answer: Any, place: int | None = None) -> Staged:
        step = Step(trace.keep(answer) if place is None else place, function, args, kwargs, first.errors)
        step.is_back = first.is_back
        steps.append(step)
        return Staged(trace, step.place)

    if (not is_row) if is_many(members) else not unstaged(matrix).flags.c_contiguous:
        transposed = unstaged(matrix).T
        is_staged = type(matrix) is Staged
        matrix = added(np.transpose, (matrix,), NOTHING, transposed) if is_staged else transposed
        is_row = not is_row
    vectors: Any = [product.vector for product in members]
    if len(vectors) % FOURS == FOURS - 1:
        vectors.append(vectors[-1])
    count = len(vectors)
    plain = np.stack([unstaged(x) for x in vectors], 0 if is_row else 1)
    if any(type(x) is Staged for x in vectors):
        vectors = added(np.stack, (vectors,), {"axis": 0 if is_row else 1}, plain)
    else:
        vectors = plain
        vectors.flags.writeable = False
    pair = (vectors, matrix) if is_row else (matrix, vectors)
    rows, columns = unstaged(matrix).shape
    answer = np.zeros((count, columns) if is_row else (rows, count))
    answers = added(np.matmul, pair, NOTHING, answer)
    for i, product in enumerate(members):
        index = i if is_row else (slice(None), i)
        part = added(operator.getitem, (answers, index), NOTHING, answer[index])
        added(np.copy, (part,), NOTHING, None, product.step.place)
    return steps


def peak(trace: Trace, left: Eliminated, outputs: list[Any]) -> int:
    """How many bytes arrays take at most at a time, about: an array is gone after the last step that needs it."""
    last = {place: i for i, step in enumerate(left.steps) for place in left.operands(step)}
    last |= dict.fromkeys(left.places_in(outputs), len(left.steps))
    ends: dict[int, int] = defaultdict(int)
    now = most = 0
    for i, step in enumerate(left.steps):
        value = trace.values[step.place]
        if type(value) is ndarray and value.base is None:
            now += value.nbytes
            ends[last.get(step.place, i)] += value.nbytes
        most = max(most, now)
        now -= ends.pop(i, 0)
    return most
