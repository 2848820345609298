"""Which arrays belong to other libraries, their dtypes in NumPy, and conversions from one library to another.

`array_api_compat` is imported with the first such array, so a program that has only NumPy's arrays does not need it.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np

from shiftreset_ad.rules.building import SEQUENCES

# The classes of arrays of other libraries that the program has used. While it is empty, there is nothing to do.
MET: set[type] = set()

NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)

WITHOUT_NAMESPACE = {("torch", "Tensor"), ("cupy", "ndarray")}

_others: set[type] = set()  # classes that have been looked at, and are no such arrays


def is_foreign(x: Any) -> bool:
    """Whether `x` is an array of another library that follows the array API standard."""
    kind = type(x)
    if kind in _others:
        return False
    if kind in MET:
        return True
    if kind in SEQUENCES:
        return False
    (MET if _follows_standard(kind) else _others).add(kind)
    return kind in MET


def has_foreign(x: Any) -> bool:
    """Whether an argument is such an array, or a list or tuple, nested or not, that has one."""
    if type(x) not in SEQUENCES:
        return is_foreign(x)
    if not _others.issuperset(map(type, x)):
        for part in x:
            if type(part) not in _others and has_foreign(part):
                return True
    return False


def is_sparse(x: Any) -> bool:
    """Whether `x` is a sparse array or matrix of SciPy's; SciPy is not imported to find out."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(x)


def _follows_standard(kind: type) -> bool:
    if issubclass(kind, np.ndarray | np.generic):
        return False
    modules = [f"{getattr(base, '__module__', '')}" for base in kind.__mro__]
    if any(module.startswith("shiftreset_ad.") for module in modules):  # a number, or already wrapped
        return False
    if hasattr(kind, "__array_namespace__"):
        return True
    # PyTorch and CuPy have array_api_compat say it for them.
    names = [(module.partition(".")[0], base.__name__) for module, base in zip(modules, kind.__mro__, strict=True)]
    return not WITHOUT_NAMESPACE.isdisjoint(names)


def namespace_of(array: Any) -> Any:
    """The functions of an array's library, under the names of the standard."""
    return _compat().array_namespace(array)


def device_of(array: Any) -> Any:
    """The device of an array."""
    return _compat().device(array)


@cache
def _compat() -> Any:
    try:
        import array_api_compat
    except ImportError:
        raise ImportError(
            "arrays of other libraries than NumPy need the package array-api-compat; "
            "install it with pip install array-api-compat"
        ) from None
    return array_api_compat


def name_of_library(xp: Any) -> str:
    """The name of a library as the user knows it."""
    return str(xp.__name__).removeprefix("array_api_compat.")


def require_without_graph(array: Any) -> None:
    """Raise TypeError for a tensor of PyTorch that PyTorch itself differentiates."""
    if getattr(array, "requires_grad", False) is True:
        raise TypeError(
            "PyTorch differentiates a tensor that requires_grad, and would record these operations, too; give "
            "x.detach()"
        )


def numpy_dtype(dtype: Any, xp: Any) -> Any:
    """NumPy's dtype for a dtype of a library; TypeError if NumPy has none."""
    if isinstance(dtype, np.dtype):
        return dtype
    known = _dtypes(xp).get(dtype)
    if known is None:
        raise TypeError(
            f"an array of {name_of_library(xp)} has dtype {dtype}, which NumPy does not have, so it cannot take part "
            "in an operation with a number that is being differentiated; convert it to float32 or float64"
        )
    return known


@cache
def _dtypes(xp: Any) -> dict[Any, Any]:
    return {getattr(xp, name): np.dtype(name) for name in NAMES if hasattr(xp, name)}


def foreign_dtype(dtype: Any, xp: Any) -> Any:
    """A library's dtype for one of NumPy's dtypes; TypeError if the library has none."""
    name = np.dtype(dtype).name
    found = getattr(xp, name, None) if name in NAMES else None
    if found is None:
        raise TypeError(f"{name_of_library(xp)} has no dtype {name}; convert to a dtype that it has, such as float64")
    return found


def from_numpy(x: Any, xp: Any, device: Any) -> Any:
    """A copy of a plain array as an array of a library, on a device."""
    plain = np.array(x, order="C")
    foreign_dtype(plain.dtype, xp)
    if getattr(device, "type", None) == "cuda":  # from pinned memory, so that the program need not wait for the card
        return xp.asarray(plain).pin_memory().to(device, non_blocking=True)
    return xp.asarray(plain, device=device)


def to_numpy(array: Any) -> Any:
    """A copy of an array of another library as a plain array."""
    try:
        return np.array(np.from_dlpack(array))
    except (BufferError, RuntimeError, TypeError, ValueError):  # the array is on another device
        return np.array(np.from_dlpack(_compat().to_device(array, "cpu")))
