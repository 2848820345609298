"""The linear map of a layer, the rows of a table of words, and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.nn.calling import as_array, fused, of_any_library
from shiftreset_ad.rules.broadcasting import are_doubles, dtype_of, is_complex, shape_of, unbroadcast
from shiftreset_ad.rules.conversion import constant_of
from shiftreset_ad.rules.numpy.products import LARGE
from shiftreset_ad.rules.stand_ins import are_arrays
from shiftreset_ad.rules.table import LinearMap, Outer, structured


@of_any_library
def linear(x: Any, w: Any, bias: Any = None) -> Any:
    """x w^T + bias, with `x: (..., features)`, `w: (outputs, features)` and `bias: (outputs,)`, as in PyTorch.

    Raises ValueError if shapes do not fit.

    >>> import numpy as np
    >>> linear(np.array([1.0, 2.0]), np.eye(2), np.ones(2))
    array([2., 3.])
    """
    x, w = as_array(x), as_array(w)
    of_x, of_w = x.shape, w.shape
    if len(of_w) != 2 or of_x[-1:] != of_w[1:]:
        raise ValueError(
            f"nn.linear: x has the shape {of_x}, and w {of_w}; give (..., features) for x, and "
            "(outputs, features) for w"
        )
    if bias is None:
        return np.matmul(w, x) if len(of_x) == 1 else np.matmul(x, np.transpose(w))
    return affine(x, w, as_array(bias))


def _by_product_and_sum(x: Any, w: Any, bias: Any) -> Any:
    return linear(x, w) + bias


@fused(3, _by_product_and_sum)
def affine(x: Any, w: Any, bias: Any) -> Any:
    """`linear` with a bias, of arrays."""
    y = w.dot(x) if x.ndim == 1 else np.matmul(x, w.T)
    return np.add(y, bias, out=y) if y.dtype == bias.dtype and bias.ndim <= y.ndim else y + bias


def has_factors(x: Any, w: Any) -> bool:
    """Whether one product of matrices shall sum the outer products that `w` gets from many calls with a vector `x`."""
    if not (type(x) is type(w) is np.ndarray or are_arrays(x, w)):
        return False
    return x.ndim == 1 and x.size + w.size >= LARGE and not is_complex(x)


def to_matrix(y_bar: Any, x: Any, w: Any) -> Any:
    """The cotangent of the matrix `w` of a linear map at `x`, for the `y_bar` of its answer."""
    if has_factors(x, w) and are_doubles(y_bar, w):
        return Outer(y_bar, x)
    return _sum_of_products(y_bar, x)


def _sum_of_products(y_bar: Any, x: Any) -> Any:
    """The sum of the outer products of the rows of `y_bar` and of `x`."""
    rows = np.reshape(y_bar, (-1, shape_of(y_bar)[-1]))
    return np.matmul(np.transpose(rows), np.reshape(x, (-1, shape_of(x)[-1])))


@structured(affine, "x", "w", "bias", kept=("x", "w"))
def _differentiate(x: Any, w: Any, bias: Any) -> Any:
    shape = shape_of(bias)
    factors = (lambda y_bar: (y_bar, x)) if has_factors(x, w) else None

    maps = (
        LinearMap(lambda x_dot: linear(x_dot, w), lambda y_bar: np.matmul(y_bar, w)),
        LinearMap(lambda w_dot: linear(x, w_dot), lambda y_bar: _sum_of_products(y_bar, x), factors=factors),
        LinearMap(lambda b_dot: np.broadcast_to(b_dot, y_shape), lambda y_bar: unbroadcast(y_bar, shape)),
    )
    y = affine(x, w, bias)
    y_shape = shape_of(y)
    return y, maps


@of_any_library
def embedding(indices: Any, w: Any, padding_idx: int | None = None) -> Any:
    """The rows of `w: (words, features)` at `indices`, integers of any shape: (..., features).

    The row `padding_idx` is a constant: it gets the gradient zero. Raises ValueError for an index that is no row.

    >>> import numpy as np
    >>> from shiftreset_ad import grad
    >>> grad(lambda w: np.sum(embedding(np.array([1, 1]), w)))(np.zeros((2, 1)))
    array([[0.],
           [2.]])
    """
    indices, w = as_array(indices), as_array(w)
    words = shape_of(w)[0]
    if dtype_of(indices).kind not in "iu" or bool(np.any((indices < 0) | (indices >= words))):
        raise ValueError(f"nn.embedding: indices of dtype {dtype_of(indices)}; give integers from 0 to {words - 1}")
    rows = np.take(w, indices, 0)
    if padding_idx is None:
        return rows
    constant = np.take(constant_of(w, np.copy), indices, 0)
    return np.where(np.expand_dims(indices == padding_idx % words, -1), constant, rows)


@of_any_library
def dropout(x: Any, generator: np.random.Generator, p: float = 0.5) -> Any:
    """`x` with each element zero with probability `p`, and otherwise divided by 1 - p.

    `generator` draws float32 numbers of the shape of `x`. Raises ValueError unless p is in [0, 1].

    >>> import numpy as np
    >>> dropout(np.ones(4), np.random.default_rng(0)).tolist()
    [2.0, 2.0, 2.0, 0.0]
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"nn.dropout: p is {p}; give a probability from 0 to 1")
    x = as_array(x)
    kept = generator.random(shape_of(x), np.float32) >= p
    return np.where(kept, x / (1.0 - p) if p < 1.0 else 0.0 * x, 0.0)
