"""The dtype that operands have in common; the standard leaves it open if their kinds differ.

Python's numbers and NumPy's scalars take the dtype of the arrays, if it is of a kind that can hold them. Among arrays,
the floating-point arrays decide, and not those of integers or booleans: float32 with int64 is float32, as in PyTorch
and JAX. An array without dimensions counts like any other array, as in the standard and in NumPy; only in PyTorch it
does not. A fraction of integers is float64, as in NumPy, so that no rule loses precision by it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.array_api.libraries import name_of_library
from shiftreset_ad.array_api.standard import Standard
from shiftreset_ad.rules.broadcasting import dtype_of

SCALARS = (bool, int, float, complex, np.generic)


def common_dtype(operands: tuple[Any, ...], floating: bool = False) -> Any:
    """The dtype that operands have in common; with `floating`, a floating-point dtype."""
    arrays = [dtype_of(x) for x in operands if not isinstance(x, SCALARS)]
    kinds = {dtype_of(x).kind for x in operands if isinstance(x, SCALARS)}
    inexact = [dtype for dtype in arrays if dtype.kind in "fc"]
    if inexact:
        return np.result_type(*inexact, np.complex64) if "c" in kinds else np.result_type(*inexact)
    if "c" in kinds:
        return np.dtype(np.complex128)
    if "f" in kinds or floating:
        return np.dtype(np.float64)
    common = np.result_type(*arrays) if arrays else np.dtype(np.bool_)
    return np.dtype(np.int64) if common.kind == "b" and kinds - {"b"} else common


def together(*operands: Any, floating: bool = False) -> list[Standard]:
    """Operands as arrays of one library and one dtype; at least one of the operands must be a `Standard`."""
    first = operands[0]
    is_alike = type(first) is Standard and all(_is_like(x, first) for x in operands)  # the usual case, for speed
    if is_alike and (not floating or first.dtype.kind in "fc"):
        return list(operands)
    return in_dtype(common_dtype(operands, floating), *operands)


def _is_like(x: Any, first: Standard) -> bool:
    return type(x) is Standard and x.array.dtype == first.array.dtype and x.xp is first.xp


def in_dtype(dtype: Any, *operands: Any, like: Standard | None = None) -> list[Standard]:
    """Operands as arrays of this dtype in the library of `like`, or of the first operand that is a `Standard`."""
    first = like if like is not None else next(x for x in operands if isinstance(x, Standard))
    return [_converted(x, dtype, first) for x in operands]


def _converted(x: Any, dtype: Any, first: Standard) -> Standard:
    if isinstance(x, Standard):
        if x.xp is not first.xp:
            raise TypeError(
                f"an operation on arrays of two libraries, {name_of_library(first.xp)} and {name_of_library(x.xp)}; "
                "convert one of them"
            )
        return x.astype(dtype)
    if isinstance(x, SCALARS):
        plain = x.item() if isinstance(x, np.generic) else x
        return first.full((), plain, dtype)
    return first.converted(np.asarray(x, dtype))
