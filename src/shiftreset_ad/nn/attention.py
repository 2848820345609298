"""Attention: means of values, weighted by how well keys fit queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.nn.calling import as_array, of_any_library
from shiftreset_ad.nn.layers import linear
from shiftreset_ad.nn.softmax import softmax
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


@of_any_library
def attention(query: Any, key: Any, value: Any, mask: Any = None, causal: bool = False, scale: Any = None) -> Any:
    """softmax(scale query key^T + mask) value, as PyTorch's `scaled_dot_product_attention`: (..., queries, outputs).

    `query: (..., queries, features)`, `key: (..., keys, features)`, `value: (..., keys, outputs)`. `scale` is
    1 / sqrt(features) by default. A `mask` that broadcasts to (..., queries, keys) is added, or, of booleans, says
    which keys a query sees; `causal` has each query see the keys up to its own place. A query that sees no key by a
    mask of booleans, or by `causal`, has the answer 0. Raises ValueError if shapes do not fit.

    >>> import numpy as np
    >>> attention(np.zeros((1, 2)), np.ones((2, 2)), np.array([[1.0], [3.0]]))
    array([[2.]])
    """
    query, key, value = as_array(query), as_array(key), as_array(value)
    queries, features, keys = *shape_of(query)[-2:], shape_of(key)[-2]
    if shape_of(key)[-1] != features or shape_of(value)[-2] != keys:
        raise ValueError(
            f"nn.attention: query, key and value have the shapes {shape_of(query)}, {shape_of(key)} and "
            f"{shape_of(value)}; give (..., queries, features), (..., keys, features) and (..., keys, outputs)"
        )
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) * (1.0 / features**0.5 if scale is None else scale)
    seen = np.tri(queries, keys, dtype=bool) if causal else None
    if mask is not None and dtype_of(mask).kind == "b":
        seen = mask if seen is None else mask & seen
    elif mask is not None:
        scores = scores + mask
    if seen is None:
        return np.matmul(softmax(scores), value)
    shares = softmax(np.where(seen, scores, -1e30 if dtype_of(scores).itemsize > 2 else -6e4))
    return np.matmul(np.where(seen, shares, 0.0), value)


@of_any_library
def multi_head_attention(
    query: Any,
    key: Any,
    value: Any,
    heads: int,
    w_in: Any,
    w_out: Any,
    b_in: Any = None,
    b_out: Any = None,
    mask: Any = None,
    causal: bool = False,
) -> Any:
    """Attention in several heads, each with a part of the features: (batch, queries, features).

    `query: (batch, queries, features)`; `key` and `value: (batch, keys, features)`. The first, second and third part of
    `w_in: (3 features, features)` are for queries, keys and values, as in PyTorch's `MultiheadAttention` with the batch
    first; `w_out: (features, features)`. `mask` and `causal` are as for `attention`, for the shape
    (batch, heads, queries, keys). Raises ValueError if shapes do not fit.

    >>> import numpy as np
    >>> x = np.ones((1, 2, 4))
    >>> multi_head_attention(x, x, x, 2, np.ones((12, 4)), np.eye(4))[0, 0]
    array([4., 4., 4., 4.])
    """
    query, key, value = as_array(query), as_array(key), as_array(value)
    features = shape_of(query)[-1]
    if len(shape_of(query)) != 3 or shape_of(w_in)[0] != 3 * features or heads < 1 or features % heads:
        raise ValueError(
            f"nn.multi_head_attention: query has the shape {shape_of(query)}, w_in {shape_of(w_in)}, and heads is "
            f"{heads}; give (batch, queries, features), (3 features, features), and a divisor of the features"
        )

    def of_heads(x: Any, part: int) -> Any:
        rows = slice(part * features, (part + 1) * features)
        y = linear(x, w_in[rows], None if b_in is None else b_in[rows])
        return np.swapaxes(np.reshape(y, (*shape_of(y)[:2], heads, features // heads)), 1, 2)

    found = attention(of_heads(query, 0), of_heads(key, 1), of_heads(value, 2), mask, causal)
    return linear(np.reshape(np.swapaxes(found, 1, 2), shape_of(query)), w_out, b_out)
