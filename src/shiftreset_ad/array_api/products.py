"""NumPy's products of arrays, by the products of the standard."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from shiftreset_ad.array_api.promotion import together
from shiftreset_ad.array_api.standard import entered
from shiftreset_ad.rules.numpy.einstein import contract, taken_apart
from shiftreset_ad.rules.numpy.products import outer
from shiftreset_ad.rules.numpy.shapes import normalize_axes

entered(np.outer)(outer)


@entered(np.tensordot)
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = together(a, b)
    if np.ndim(axes):
        first, second = ((side,) if np.ndim(side) == 0 else side for side in axes)
        axes = tuple(normalize_axes(first, a.ndim)), tuple(normalize_axes(second, b.ndim))
    else:
        axes = operator.index(axes)
    return a.apply("tensordot", b.array, axes=axes)


@entered(np.dot)
def _dot(a: Any, b: Any) -> Any:
    a, b = together(a, b)
    if not a.shape or not b.shape:
        return a * b
    return np.tensordot(a, b, ([a.ndim - 1], [max(b.ndim - 2, 0)]))


@entered(np.inner)
def _inner(a: Any, b: Any) -> Any:
    a, b = together(a, b)
    if not a.shape or not b.shape:
        return a * b
    return np.tensordot(a, b, ([a.ndim - 1], [b.ndim - 1]))


@entered(contract)
def _contract(operands: list[Any], subscripts: str, optimize: Any) -> Any:
    """Give every operand all labels as axes, multiply them, and sum over the labels that the answer does not have."""
    parts = together(*operands)
    if hasattr(parts[0].xp, "einsum"):
        return parts[0].like(parts[0].xp.einsum(subscripts, *(x.array for x in parts)))
    inputs, output = taken_apart(subscripts)
    labels = list(dict.fromkeys(output + "".join(inputs)))
    product: Any = 1
    for x, own in zip(parts, inputs, strict=True):
        in_order = np.transpose(x, [own.index(label) for label in labels if label in own])
        sizes = iter(in_order.shape)
        product = product * np.reshape(in_order, tuple(next(sizes) if label in own else 1 for label in labels))
    return np.sum(product, axis=tuple(range(len(output), len(labels))))
