"""Operators that multiply matrices, and those of linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.onnx.table import operator
from shiftreset_ad.rules.broadcasting import dtype_of


@operator("MatMul")
def _matmul(a: Any, b: Any) -> Any:
    return np.matmul(a, b)


@operator("Gemm", 7)
def _gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,  # noqa: N803 (the names of the format)
    transB: int = 0,  # noqa: N803
) -> Any:
    product = np.matmul(np.transpose(a) if transA else a, np.transpose(b) if transB else b)
    if alpha != 1.0:
        product = alpha * product
    return product if c is None else product + (c if beta == 1.0 else beta * c)


@operator("Einsum", 12)
def _einsum(*inputs: Any, equation: str) -> Any:
    return np.einsum(equation, *inputs)


@operator("Det", 11)
def _det(x: Any) -> Any:
    return np.linalg.det(x).astype(dtype_of(x))


@operator("MatMulInteger", 10)
def _matmul_integer(a: Any, b: Any, a_zero_point: Any = None, b_zero_point: Any = None) -> Any:
    a, b = (x.astype(np.int32) for x in (a, b))
    if a_zero_point is not None:
        zero = a_zero_point.astype(np.int32)
        a = a - (zero[..., None] if zero.ndim else zero)
    return np.matmul(a, b if b_zero_point is None else b - b_zero_point.astype(np.int32))
