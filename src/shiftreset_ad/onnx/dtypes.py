"""The element types of the format, and NumPy's dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.onnx.table import refused


def numpy_dtype(name: str, number: int) -> np.dtype[Any]:
    """NumPy's dtype for the number of an element type; an error if NumPy itself has none, as for bfloat16."""
    from onnx import TensorProto, helper

    word = TensorProto.DataType.Name(number)
    if word in _NOT_OF_NUMPY:
        raise refused(name, f"the element type {word.lower()}; NumPy does not have it")
    return np.dtype(helper.tensor_dtype_to_np_dtype(number))


_NOT_OF_NUMPY = frozenset(
    ("UNDEFINED", "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT8E8M0")
) | {"FLOAT4E2M1", "INT4", "UINT4", "INT2", "UINT2"}
