"""Products, norms and equations, for all rows at once."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from shiftreset_ad.batching.rows import Rows, elementwise, lined_up
from shiftreset_ad.batching.table import entered
from shiftreset_ad.modes.stacks.at_once import WAYS as LINEAR
from shiftreset_ad.modes.stacks.number import lined_up_rows
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.numpy.einstein import contract, explicit, joined, spelled_out
from shiftreset_ad.rules.table import functions_of


@entered(*functions_of("dot"))
def _dot(batch: Rows, a: Any, b: Any) -> Any:
    if type(a) is not Rows or type(b) is not Rows:
        return LINEAR[np.dot](batch, a, b)
    if not a.shape or not b.shape:
        return elementwise(np.multiply, a, b)
    return _product(a, b) if len(b.shape) <= 2 and len(a.shape) <= 2 else None


@entered(*functions_of("inner"))
def _inner(batch: Rows, a: Any, b: Any) -> Any:
    if type(a) is not Rows or type(b) is not Rows:
        return LINEAR[np.inner](batch, a, b)
    return _dot(batch, a, b) if len(b.shape) <= 1 else None


@entered(*functions_of("outer", "linalg.outer"))
def _outer(batch: Rows, a: Any, b: Any) -> Any:
    a, b = (np.reshape(batch.all_rows(x), (-1, math.prod(shape_of(x)))) for x in (a, b))
    return a[:, :, None] * b[:, None, :]


@entered(np.tensordot)
def _tensordot(batch: Rows, a: Any, b: Any, axes: Any = 2) -> Any:
    if type(a) is not Rows or type(b) is not Rows:
        return LINEAR[np.tensordot](batch, a, b, axes)
    if np.ndim(axes) == 0:
        count = operator.index(axes)
        axes = range(len(a.shape) - count, len(a.shape)), range(count)
    summed_a, summed_b = (
        [operator.index(i) % len(x.shape) for i in np.atleast_1d(np.asarray(side, int))]
        for side, x in zip(axes, (a, b), strict=True)
    )
    left_a = [i for i in range(len(a.shape)) if i not in summed_a]
    left_b = [i for i in range(len(b.shape)) if i not in summed_b]
    length = math.prod(a.shape[i] for i in summed_a)
    count = shape_of(a.rows)[0]
    of_a, of_b = tuple(a.shape[i] for i in left_a), tuple(b.shape[i] for i in left_b)
    p = np.reshape(np.transpose(a.rows, (0, *[i + 1 for i in left_a + summed_a])), (count, math.prod(of_a), length))
    q = np.reshape(np.transpose(b.rows, (0, *[i + 1 for i in summed_b + left_b])), (count, length, math.prod(of_b)))
    return np.reshape(np.matmul(p, q), (count, *of_a, *of_b))


@entered(np.einsum)
def _einsum(batch: Rows, *args: Any, **options: Any) -> Any:
    if set(options) - {"optimize"}:
        return None
    subscripts, operands = spelled_out(args)
    inputs, output = explicit(subscripts, tuple([len(shape_of(x)) for x in operands]))
    return LINEAR[contract](batch, operands, joined(inputs, output), options.get("optimize", False))


@entered(np.linalg.solve)
def _solve(batch: Rows, a: Any, b: Any) -> Any:
    if len(shape_of(b)) == 1:
        return np.linalg.solve(lined_up(a, 2), lined_up(b, 1)[..., None])[..., 0]
    ndim = max(len(shape_of(a)), len(shape_of(b)))
    return np.linalg.solve(lined_up(a, ndim), lined_up(b, ndim))


@entered(operator.matmul, np.matmul)
def _matmul(batch: Rows, a: Any, b: Any) -> Any:
    if type(b) is not Rows and len(shape_of(b)) == 2:
        return a.rows @ b
    if type(a) is not Rows and len(shape_of(a)) == 2:
        return b.rows @ a.T if len(b.shape) == 1 else a @ b.rows
    return _product(a, b) if type(a) is type(b) is Rows else LINEAR[np.matmul](batch, a, b)


def _product(a: Rows, b: Rows) -> Any:
    """The product of two matrices or vectors of each row."""
    p = a.rows[:, None, :] if len(a.shape) == 1 else a.rows
    q = b.rows[:, :, None] if len(b.shape) == 1 else b.rows
    ndim = max(len(a.shape), len(b.shape), 2)
    product = np.matmul(lined_up_rows(p, ndim), lined_up_rows(q, ndim))
    product = product[..., 0, :] if len(a.shape) == 1 else product
    return product[..., 0] if len(b.shape) == 1 else product
