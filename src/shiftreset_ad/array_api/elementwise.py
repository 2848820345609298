"""NumPy's elementwise functions, by the functions of the standard."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.array_api.promotion import common_dtype, in_dtype, together
from shiftreset_ad.array_api.standard import entered
from shiftreset_ad.rules.table import functions_of

# NumPy's name, and the standard's name where it is different.
FLOATING = {
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log1p", "log2")},
    **{name: name for name in ("log10", "sqrt")},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")},
    **{name: name for name in ("hypot", "logaddexp", "copysign", "nextafter")},
    "divide": "divide",
}
NUMERIC = {
    **{name: name for name in ("negative", "square", "sign", "floor", "ceil", "trunc")},
    **{name: name for name in ("add", "subtract", "multiply", "floor_divide", "remainder", "maximum", "minimum")},
    "absolute": "abs",
    "rint": "round",
    "power": "pow",
}
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
LOGICAL = ("logical_and", "logical_or", "logical_xor", "logical_not")
BITWISE = {
    **{name: name for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
}
TESTS = ("isnan", "isinf", "isfinite", "signbit")
OF_BOOLEANS = {"add": "logical_or", "multiply": "logical_and", "maximum": "logical_or", "minimum": "logical_and"}


def called(name: str, operands: list[Any]) -> Any:
    """The value of a function of the standard, for operands of one library and dtype."""
    return operands[0].apply(name, *(x.array for x in operands[1:]))


def _enter(name: str, definition: Callable[..., Any]) -> None:
    entered(*functions_of(name))(definition)


def _floating(name: str) -> Callable[..., Any]:
    return lambda *xs: called(name, together(*xs, floating=True))


def _numeric(name: str) -> Callable[..., Any]:
    def on_numbers(*xs: Any) -> Any:
        operands = together(*xs)
        if operands[0].dtype.kind == "b":
            if name in OF_BOOLEANS:
                return called(OF_BOOLEANS[name], operands)
            operands = in_dtype(np.int64, *operands)
        return called(name, operands)

    return on_numbers


def _logical(name: str) -> Callable[..., Any]:
    return lambda *xs: called(name, [_as_mask(x) for x in together(*xs)])


def _as_mask(x: Any) -> Any:
    return x if x.dtype.kind == "b" else np.not_equal(x, 0)


def _with_kind(name: str) -> Callable[..., Any]:
    return lambda *xs: called(name, together(*xs))


for _name, _in_standard in FLOATING.items():
    _enter(_name, _floating(_in_standard))
for _name, _in_standard in NUMERIC.items():
    _enter(_name, _numeric(_in_standard))
for _name, _in_standard in BITWISE.items():
    _enter(_name, _with_kind(_in_standard))
for _name in COMPARISONS:
    _enter(_name, _with_kind(_name))
for _name in LOGICAL:
    _enter(_name, _logical(_name))
for _name in TESTS:
    _enter(_name, _floating(_name))


# Functions that are made of a few functions of the standard


@entered(np.positive)
def _positive(x: Any) -> Any:
    return x.copied()  # a copy as in NumPy; PyTorch would return the tensor itself


@entered(np.reciprocal)
def _reciprocal(x: Any) -> Any:
    return 1.0 / x


@entered(np.fabs)
def _fabs(x: Any) -> Any:
    return np.absolute(x)


@entered(np.exp2)
def _exp2(x: Any) -> Any:
    return np.power(2.0, x)


@entered(np.logaddexp2)
def _logaddexp2(a: Any, b: Any) -> Any:
    return np.logaddexp(a * math.log(2), b * math.log(2)) / math.log(2)


@entered(np.degrees, np.rad2deg)
def _degrees(x: Any) -> Any:
    return x * (180 / math.pi)


@entered(np.radians, np.deg2rad)
def _radians(x: Any) -> Any:
    return x * (math.pi / 180)


@entered(np.float_power)
def _float_power(a: Any, b: Any) -> Any:
    return called("pow", in_dtype(np.result_type(common_dtype((a, b)), np.float64), a, b))


@entered(np.fmax)
def _fmax(a: Any, b: Any) -> Any:
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.maximum(a, b)))


@entered(np.fmin)
def _fmin(a: Any, b: Any) -> Any:
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.minimum(a, b)))


@entered(np.conjugate)
def _conjugate(x: Any) -> Any:
    return x.apply("conj") if x.dtype.kind == "c" else x


@entered(np.isnat)
def _isnat(x: Any) -> Any:
    raise TypeError("ufunc 'isnat' is only defined for np.datetime64 and np.timedelta64.")


@entered(np.matmul)
def _matmul(a: Any, b: Any) -> Any:
    a, b = together(a, b)
    return a.like(a.array @ b.array)


@entered(*functions_of("vecdot"))
def _vecdot(a: Any, b: Any) -> Any:
    return called("vecdot", together(a, b))
