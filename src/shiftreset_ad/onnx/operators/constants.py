"""Operators that make arrays of constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.onnx.dtypes import numpy_dtype
from shiftreset_ad.onnx.table import operator
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


@operator("Constant")
def _constant(
    *,
    value: Any = None,
    value_float: Any = None,
    value_floats: Any = None,
    value_int: Any = None,
    value_ints: Any = None,
) -> Any:
    if value is not None:
        return value
    floats = value_float if value_float is not None else value_floats
    if floats is not None:
        return np.array(floats, np.float32)
    return np.array(value_int if value_int is not None else value_ints, np.int64)


@operator("ConstantOfShape", 9, constant=["shape"])
def _constant_of_shape(shape: Any, *, value: Any = None) -> Any:
    value = np.zeros(1, np.float32) if value is None else value
    return np.full(tuple(map(int, shape)), value.reshape(()), value.dtype)


@operator("Range", 11)
def _range(start: Any, limit: Any, delta: Any) -> Any:
    start, limit, delta = (np.reshape(x, ()) for x in (start, limit, delta))
    count = max(int(np.ceil((limit - start) / delta)), 0)
    return start + (np.arange(count) * delta).astype(dtype_of(delta))


@operator("EyeLike", 9)
def _eye_like(x: Any, *, dtype: int | None = None, k: int = 0) -> Any:
    found = dtype_of(x) if dtype is None else numpy_dtype("EyeLike", dtype)
    rows, columns = shape_of(x)
    return np.eye(rows, columns, k, found)
