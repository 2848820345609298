"""Operators that go element by element: arithmetic, comparisons, logic, and conversions."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from shiftreset_ad.nn.error_function import erf
from shiftreset_ad.onnx.dtypes import numpy_dtype
from shiftreset_ad.onnx.table import enter, operator, refused
from shiftreset_ad.rules.broadcasting import dtype_of

_SAME_IN_NUMPY: dict[str, Any] = {
    "Abs": np.abs,
    "Neg": np.negative,
    "Sign": np.sign,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Round": np.rint,
    "Sqrt": np.sqrt,
    "Exp": np.exp,
    "Log": np.log,
    "IsNaN": np.isnan,
    "Not": np.logical_not,
    "Tanh": np.tanh,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Asin": np.arcsin,
    "Acos": np.arccos,
    "Atan": np.arctan,
    "Sinh": np.sinh,
    "Cosh": np.cosh,
    "Asinh": np.arcsinh,
    "Acosh": np.arccosh,
    "Atanh": np.arctanh,
    "BitwiseNot": np.invert,
    "Erf": erf,
}
_SAME_PAIRS_IN_NUMPY: dict[str, tuple[Any, int]] = {
    "Add": (np.add, 7),
    "Sub": (np.subtract, 7),
    "Mul": (np.multiply, 7),
    "And": (np.logical_and, 7),
    "Or": (np.logical_or, 7),
    "Xor": (np.logical_xor, 7),
    "Equal": (np.equal, 7),
    "Less": (np.less, 7),
    "Greater": (np.greater, 7),
    "LessOrEqual": (np.less_equal, 12),
    "GreaterOrEqual": (np.greater_equal, 12),
    "BitwiseAnd": (np.bitwise_and, 18),
    "BitwiseOr": (np.bitwise_or, 18),
    "BitwiseXor": (np.bitwise_xor, 18),
}


def _enter_unary(name: str, function: Any) -> None:
    def unary(x: Any) -> Any:
        return function(x)

    enter(name, unary, since=1 if name == "Not" else 6)


def _enter_binary(name: str, function: Any, since: int) -> None:
    def binary(a: Any, b: Any) -> Any:
        return function(a, b)

    enter(name, binary, since)


def _enter_variadic(name: str, function: Any) -> None:
    def variadic(*inputs: Any) -> Any:
        return reduce(function, inputs)

    enter(name, variadic, since=6)


for _name, _function in _SAME_IN_NUMPY.items():
    _enter_unary(_name, _function)
for _name, (_function, _since) in _SAME_PAIRS_IN_NUMPY.items():
    _enter_binary(_name, _function, _since)
for _name, _function in (("Sum", np.add), ("Max", np.maximum), ("Min", np.minimum)):
    _enter_variadic(_name, _function)


@operator("Mean", 6)
def _mean(*inputs: Any) -> Any:
    return reduce(np.add, inputs) / len(inputs)


@operator("Div", 7)
def _div(a: Any, b: Any) -> Any:
    if dtype_of(a).kind not in "iu":
        return a / b
    quotient, rest = np.divmod(a, b)  # integers are cut off towards zero
    return quotient + ((rest != 0) & ((a < 0) != (b < 0)))


@operator("Reciprocal", 6)
def _reciprocal(x: Any) -> Any:
    return 1.0 / x


@operator("Pow", 7)
def _pow(x: Any, y: Any) -> Any:
    return np.power(x, y).astype(dtype_of(x))


@operator("Mod", 10)
def _mod(a: Any, b: Any, *, fmod: int = 0) -> Any:
    return np.fmod(a, b) if fmod else np.mod(a, b)


@operator("BitShift", 11)
def _bit_shift(x: Any, y: Any, *, direction: str) -> Any:
    return np.left_shift(x, y) if direction == "LEFT" else np.right_shift(x, y)


@operator("IsInf", 10)
def _is_inf(x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    return (np.isposinf(x) & bool(detect_positive)) | (np.isneginf(x) & bool(detect_negative))


@operator("Where", 9)
def _where(condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition, x, y)


@operator("Clip", 6)
def _clip(x: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002 (these are the names of the format)
    x = x if min is None else np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


@operator("Identity")
def _identity(x: Any) -> Any:
    return (x,)  # which may be a sequence


@operator("Cast", 6)
def _cast(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    return _converted("Cast", x, numpy_dtype("Cast", to))


@operator("CastLike", 15)
def _cast_like(x: Any, target: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    return _converted("CastLike", x, dtype_of(target))


def _converted(name: str, x: Any, dtype: Any) -> Any:
    if dtype_of(x).kind not in "fciub" or dtype.kind not in "fciub":
        raise refused(name, f"{dtype_of(x)} to {dtype}; only numbers and booleans can be converted")
    return x.astype(dtype)
