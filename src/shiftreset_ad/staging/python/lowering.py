"""Lowering replaces functions of NumPy that are written in Python by what they call for arrays.

For small arrays this Python code takes most of the time. A call is replaced only if, by the type and the layout of the
operands, the answer is the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.broadcasting import dtype_of
from shiftreset_ad.rules.conversion import astype
from shiftreset_ad.rules.indexing import BASIC, scatter
from shiftreset_ad.staging.steps.functions import method
from shiftreset_ad.staging.steps.trace import NOTHING, Step, Trace
from shiftreset_ad.staging.steps.values import Staged, is_staged, unstaged

Call = tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]]
OTHERS = {np.ufunc, BuiltinFunctionType}  # types of functions that are none of ours


def without_dispatch(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of ours as it is for plain arrays, without the question whether there are other values."""
    if type(function) in OTHERS:  # for speed
        return function
    is_ours = (getattr(function, "__module__", None) or "").startswith("shiftreset_ad.")
    return getattr(function, "__wrapped__", function) if is_ours else function


SCATTER, ASTYPE = without_dispatch(scatter), without_dispatch(astype)
OPERATORS: dict[Any, Any] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.matmul: operator.matmul,
}
REDUCTIONS: dict[Any, Any] = {np.sum: np.add, np.prod: np.multiply, np.max: np.maximum, np.min: np.minimum}
# Functions that call the method of the same name, with the same arguments.
BY_METHOD: set[Any] = {
    *(np.transpose, np.swapaxes, np.ravel, np.squeeze, np.diagonal, np.mean, np.var, np.std, np.argmax, np.argmin),
    *(np.cumsum, np.cumprod, np.repeat, np.take, np.clip, np.trace, np.nonzero, np.argsort, np.searchsorted),
}
WITHOUT_NAMES = {np.transpose, np.swapaxes, np.clip}  # their methods do not take the arguments by name
OPTIONS = {"axis", "dtype", "keepdims", "ddof", "where", "order", "mode", "side", "offset", "axis1", "axis2", "kind"}


def lowered(step: Step, trace: Trace) -> Call:
    """The function, the arguments and the options that stand for a step in the source."""
    function, args, kwargs = call = without_dispatch(step.function), step.args, step.kwargs
    if step.is_question or not args or (kwargs and any(option is np._NoValue for option in kwargs.values())):
        return call
    if function is SCATTER and not is_staged(args[1]) and _can_be_assigned(*unstaged(args)):
        return scattered, args, kwargs
    if function is np.stack and not kwargs and len(args) == 1 and _are_doubles(args[0]):
        return np.array, args, kwargs
    if type(args[0]) is not Staged or type(args[0].inside) is not ndarray:
        return call
    answer = trace.values[step.place]
    if function in OPERATORS and len(args) == 2 and not kwargs and type(unstaged(args[1])) is ndarray:
        return OPERATORS[function], args, kwargs
    if function in REDUCTIONS and len(args) <= 2:
        axis = args[1] if len(args) == 2 else kwargs.get("axis")
        return REDUCTIONS[function].reduce, (args[0], axis), _without(kwargs, axis=axis, dtype=None, keepdims=False)
    if function is np.reshape and len(args) == 2 and kwargs.get("order", "C") == "C" and not step.open_ended:
        return method("reshape"), (args[0], answer.shape), NOTHING
    if function is np.expand_dims and not step.open_ended:
        return method("reshape"), (args[0], answer.shape), NOTHING
    if function is np.zeros_like and len(args) == 1 and not kwargs and answer.flags.c_contiguous:
        return np.zeros, (answer.shape, answer.dtype), NOTHING
    if function is ASTYPE and answer.shape:
        return method("astype"), args, kwargs
    if function in BY_METHOD and OPTIONS.issuperset(kwargs) and not (kwargs and function in WITHOUT_NAMES):
        return method(function.__name__), args, kwargs
    return call


def _without(options: Mapping[str, Any], **defaults: Any) -> dict[str, Any]:
    return {name: option for name, option in options.items() if name not in defaults or option is not defaults[name]}


def _are_doubles(parts: Any) -> bool:
    """Whether these are all scalars in double precision; some of them may be staged."""
    return type(parts) is list and all(type(unstaged(part)) in (float, np.float64) for part in parts)


def _can_be_assigned(values: list[Any], indices: Any, shape: tuple[int, ...], dtype: Any) -> bool:
    """Whether no two of these values are added at the same position. The indices must be the same in each call."""
    if dtype.kind not in "fc":
        return False
    counts = np.zeros(shape, np.int8)
    for index, value in zip(indices, values, strict=True):
        parts = index if type(index) is tuple else (index,)
        if not all(isinstance(part, BASIC) for part in parts) or dtype_of(value) != dtype or counts[index].any():
            return False
        counts[index] = 1
    return True


def scattered(values: list[Any], indices: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """`scatter` for indices by which each position gets at most one value."""
    array = np.zeros(shape, dtype)
    for index, value in zip(indices, values):  # noqa: B905  (strict=True takes time)
        array[index] = value
    array += 0.0  # as 0.0 + -0.0 is 0.0
    return array
