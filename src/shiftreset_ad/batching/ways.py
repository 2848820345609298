"""The way of each function: how it works on all rows of a batch at once.

Elementwise functions line up the axes, functions along an axis take the next axis, and functions of matrices take any
axes before those of the matrices. The ways of linear functions are those of stacks of directions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from shiftreset_ad.batching import elements, products, shapes  # noqa: F401  (which enter their ways into the table)
from shiftreset_ad.batching.along import ALONG, ALONG_LAST, along
from shiftreset_ad.batching.rows import Rows, elementwise, rows_in
from shiftreset_ad.batching.table import WAYS, Way, entered
from shiftreset_ad.modes.stacks.at_once import WAYS as LINEAR
from shiftreset_ad.rules.numpy.einstein import contract
from shiftreset_ad.rules.table import functions_of
from shiftreset_ad.staging.steps.functions import OPERATORS, Attribute, Method

ELEMENTWISE = {
    *(OPERATORS - {operator.matmul}),
    *functions_of("real", "imag", "angle", "sinc", "i0", "nan_to_num", "isclose"),
}
# Of the last two axes.
OF_MATRICES = {
    *functions_of("linalg.det", "linalg.inv", "linalg.cholesky", "linalg.eigh", "linalg.eigvalsh", "linalg.svd"),
    *functions_of("linalg.svdvals", "linalg.qr", "linalg.pinv", "linalg.slogdet", "linalg.matrix_power"),
    *functions_of(
        "linalg.matrix_norm",
        "linalg.diagonal",
        "linalg.trace",
        "matrix_transpose",
        "linalg.matrix_transpose",
        "tril",
        "triu",
    ),
}
# Linear functions whose ways take values of each row, and values for all rows, in any argument.
OF_SEVERAL = {np.matmul, np.dot, np.inner, np.tensordot, np.concatenate, np.stack, contract}


def way_of(function: Callable[..., Any], is_only_first: bool) -> Way | None:
    """The way of a function; None if it has none. `is_only_first`: only the first argument differs from row to row."""
    if isinstance(function, Method):
        return _of_method(function.__name__, is_only_first)
    if isinstance(function, Attribute):
        return ATTRIBUTES.get(function.__name__)
    if function in WAYS:
        return WAYS[function]
    if is_elementwise(function):
        return lambda batch, *args, **kwargs: elementwise(function, *args, **kwargs)
    if function in OF_SEVERAL:
        return LINEAR[function]
    return _of_first(function) if is_only_first else None


def is_elementwise(function: Any) -> bool:
    """Whether a function works on each element, and broadcasts its operands."""
    return (isinstance(function, np.ufunc) and function.signature is None) or function in ELEMENTWISE


def _of_first(function: Any) -> Way | None:
    """The way of a function, if only its first argument differs from row to row; None if it has none."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc) and function.__name__ in ("reduce", "accumulate"):
        return lambda batch, *args, **kwargs: along(function, False, args, kwargs)
    if function in ALONG or function in ALONG_LAST:
        return lambda batch, *args, **kwargs: along(function, function in ALONG_LAST, args, kwargs)
    if function in OF_MATRICES:
        return lambda batch, x, *args, **kwargs: function(x.rows, *args, **kwargs)
    return LINEAR.get(function)


@cache
def _of_method(name: str, is_only_first: bool) -> Way | None:
    """The way of a method of arrays: that of the function with the name, in NumPy's meaning for methods."""
    if not is_only_first:
        return None
    function = getattr(np, name, None)
    return METHODS.get(name) or (None if function is None else way_of(function, True))


# Questions, whose answers are compared


@entered(bool)
def _bool(batch: Rows, x: Rows) -> Any:
    return x.rows != 0 if x.shape == () else None


@entered(float, operator.index)
def _as_it_is(batch: Rows, x: Rows) -> Any:
    return x.rows if x.shape == () else None


@entered(int)
def _int(batch: Rows, x: Rows) -> Any:
    return np.trunc(x.rows).astype(np.int64) if x.shape == () else None


# Methods


def _reshape_method(batch: Rows, a: Rows, *shape: Any, order: str = "C") -> Any:
    sizes = shape[0] if len(shape) == 1 else shape
    return None if order not in ("C", "F") or rows_in(sizes) else LINEAR[np.reshape](batch, a, sizes, order)


def _transpose_method(batch: Rows, a: Rows, *axes: Any) -> Any:
    return LINEAR[np.transpose](batch, a, (axes[0] if len(axes) == 1 else axes) if axes else None)


def _astype_method(batch: Rows, a: Rows, dtype: Any, *rest: Any, **options: Any) -> Any:
    return None if rest or set(options) - {"copy"} else a.rows.astype(dtype)


def _copy_method(batch: Rows, a: Rows, order: str = "C") -> Any:
    return np.copy(a.rows)


def _flatten_method(batch: Rows, a: Rows, order: str = "C") -> Any:
    return None if order != "C" else np.copy(LINEAR[np.reshape](batch, a, (a.size,)))


METHODS: dict[str, Way] = {
    "reshape": _reshape_method,
    "transpose": _transpose_method,
    "astype": _astype_method,
    "copy": _copy_method,
    "__copy__": _copy_method,
    "flatten": _flatten_method,
    "item": lambda batch, a, *index: None if index or a.shape else a.rows,
    "sort": lambda batch, a, *args, **kwargs: None,
    "round": lambda batch, a, decimals=0: np.round(a.rows, decimals),
    "conj": lambda batch, a: np.conjugate(a.rows),
}

ATTRIBUTES: dict[str, Way] = {
    "T": LINEAR[np.transpose],
    "mT": lambda batch, a: np.swapaxes(a.rows, -1, -2),
    "real": lambda batch, a: a.rows.real,
    "imag": lambda batch, a: a.rows.imag,
}
