"""The rules of elementwise functions, one line each: `elementwise(f, dy/dx_1, dy/dx_2)` for y = f(x_1, x_2).

Where no derivative exists, docs/edges.md lists the values that they give, beside those of JAX and HIPS autograd: |x|
has 0 at 0, `maximum`, `minimum`, `fmax` and `fmin` share a tie equally, x**0 has 0, 0**x has 0, and sqrt has inf at 0.

The partial derivatives hold for complex operands, too, as derivatives of holomorphic functions: nothing is conjugated,
as in JAX. On a branch cut, the sign of a zero tells the side of the cut, and a partial derivative must keep this sign:
so it is written with `x - -1.0`, as `x + 1.0` may lose the sign. Only |x| is a real function of complex numbers; its
derivative is Re(partial * x_dot).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Tangent
from shiftreset_ad.rules.broadcasting import COUNT, FLOAT64, dtype_of, is_complex, shape_of
from shiftreset_ad.rules.masked import Choice, chosen_where, halved_unless
from shiftreset_ad.rules.numpy.shapes import astype, constant_of
from shiftreset_ad.rules.reads import reads
from shiftreset_ad.rules.stand_ins import is_staged
from shiftreset_ad.rules.table import (
    CONSTANT,
    LinearMap,
    Partial,
    composite,
    dispatched,
    elementwise,
    functions_of,
    require_order,
    structured,
)

LOG_2 = math.log(2)
LOG_10 = math.log(10)
CHOICES = (np.maximum, np.minimum, np.fmax, np.fmin)


@reads("a", "b")  # of y only the type
def power_base(y: Any, a: Any, b: Any) -> Any:
    """d(a**b)/da, which is 0 where b is 0, also at a = 0."""
    if isinstance(b, (int, float)):
        if not b:
            return 0.0
        if b == 2:
            return a + a  # the square is the most common power, and needs no other power
        slope = b * a ** (b - 1)
        if type(slope) is not float and is_complex(slope) and not is_complex(y):
            return b * y / a  # for a negative base: here NumPy's powers are NaN, but Python's are complex
        return slope
    a = as_base(y, a)
    # Only where both are 0: elsewhere this keeps its own derivative in b, which is 1 / a at b = 0.
    return b * a ** np.where((a == 0) & (b == 0), 1.0, b - 1.0)  # b - 1 would wrap around for some integers


def power_exponent(y: Any, a: Any, b: Any) -> Any:
    """d(a**b)/db, which is taken to be 0 at a = 0."""
    a = as_base(y, a)
    return y * np.log(np.where(a == 0, 1.0, a))


def as_base(y: Any, a: Any) -> Any:
    """The base of the power y, complex if y is complex: then a negative base has a logarithm."""
    return astype(a, dtype_of(y)) if is_complex(y) and not is_complex(a) else a


def choice(function: Callable[..., Any]) -> tuple[Partial, Partial]:
    """The partial derivatives of a function like `maximum`: 1 or 0, or a half if the operands are equal."""

    def first(y: Any, a: Any, b: Any) -> Any:
        if type(y) is not np.ndarray or y.dtype is not FLOAT64:
            require_order(function, y)
        mask = a == y
        if type(mask) is not np.ndarray:
            tie = a == b
            if is_staged(mask) and not shape_of(tie):
                return Choice(mask.item() * (1.0 - 0.5 * tie.item()), mask)  # a float, as below, without asking
            return Choice(np.where(tie, 0.5, mask) if shape_of(tie) else 0.5 if tie else float(mask))
        alone = a != b
        return chosen_where(mask) if COUNT(alone) == alone.size else halved_unless(alone, mask)

    return first, lambda y, a, b: first(y, b, a)


def log_share(y: Any, a: Any, b: Any, log_2: float) -> Any:
    """The logarithm of the share of exp(a) in exp(y); two infinite operands that tie have half each."""
    return np.where(np.isinf(y) & (a == y), np.where(a == b, -log_2, 0.0), a - y)


def cosine(leg: Any, hypotenuse: Any) -> Any:
    """leg / hypotenuse, and 0 where both are 0."""
    return np.where(hypotenuse == 0, 0.0, leg / hypotenuse)


def over_square(x: Any, a: Any, b: Any) -> Any:
    """x / (a**2 + b**2), right also if the squares overflow or vanish."""
    length = np.hypot(a, b)
    return x / length / length


def direction(y: Any, x: Any) -> Any:
    """d|x|/dx: the sign of x; for a complex number, conj(x) / |x|."""
    return np.conjugate(np.sign(x)) if is_complex(x) else np.sign(x)


def root_of_rest(x: Any) -> Any:
    """The square root of 1 - x**2."""
    return np.sqrt(-(x - 1.0)) * np.sqrt(x - -1.0) if is_complex(x) else np.sqrt((1.0 - x) * (1.0 + x))


def slope_of_arcsinh(y: Any, x: Any) -> Any:
    return 1.0 / np.cosh(y) if is_complex(x) else 1.0 / np.hypot(x, 1.0)


def slope_of_tanh(y: Any, x: Any) -> Any:
    return (ONE if type(y) is np.ndarray and y.dtype is FLOAT64 else 1.0) - y * y


# In place of a float, of which NumPy makes an array in each call: that takes as long as the half of a subtraction.
ONE = np.array(1.0)


def other_of_a(y: Any, a: Any, b: Any) -> Any:
    """The partial derivative of a product in `a`."""
    return b


def other_of_b(y: Any, a: Any, b: Any) -> Any:
    return a


# Arithmetic
elementwise(np.positive, 1.0)
elementwise(np.negative, -1.0)
elementwise(np.add, 1.0, 1.0)
elementwise(np.subtract, 1.0, -1.0)
elementwise(np.multiply, other_of_a, other_of_b)
elementwise(np.divide, lambda y, a, b: 1.0 / b, lambda y, a, b: -y / b)
elementwise(np.remainder, 1.0, lambda y, a, b: -(a // b))
elementwise(np.fmod, 1.0, lambda y, a, b: -np.rint((a - y) / b))  # a / b may be rounded across an integer
elementwise(np.reciprocal, lambda y, x: -y * y)

# Powers and roots
elementwise(np.power, power_base, power_exponent)
elementwise(np.float_power, power_base, power_exponent)
elementwise(np.square, lambda y, x: 2.0 * x)
elementwise(np.sqrt, lambda y, x: 0.5 / y)
elementwise(np.cbrt, lambda y, x: 1.0 / (3.0 * y * y))
elementwise(np.hypot, lambda y, a, b: cosine(a, y), lambda y, a, b: cosine(b, y))

# Exponentials and logarithms
elementwise(np.exp, lambda y, x: y)
elementwise(np.exp2, lambda y, x: y * LOG_2)
elementwise(np.expm1, lambda y, x: y + 1.0)
elementwise(np.log, lambda y, x: 1.0 / x)
elementwise(np.log2, lambda y, x: 1.0 / (x * LOG_2))
elementwise(np.log10, lambda y, x: 1.0 / (x * LOG_10))
elementwise(np.log1p, lambda y, x: 1.0 / (1.0 + x))
elementwise(
    np.logaddexp,
    lambda y, a, b: np.exp(log_share(y, a, b, LOG_2)),
    lambda y, a, b: np.exp(log_share(y, b, a, LOG_2)),
)
elementwise(
    np.logaddexp2,
    lambda y, a, b: np.exp2(log_share(y, a, b, 1.0)),
    lambda y, a, b: np.exp2(log_share(y, b, a, 1.0)),
)

# Trigonometric functions and their inverses
elementwise(np.sin, lambda y, x: np.cos(x))
elementwise(np.cos, lambda y, x: -np.sin(x))
elementwise(np.tan, lambda y, x: 1.0 + y * y)
elementwise(np.arcsin, lambda y, x: 1.0 / root_of_rest(x))
elementwise(np.arccos, lambda y, x: -1.0 / root_of_rest(x))
elementwise(np.arctan, lambda y, x: 1.0 / (1.0 + x * x))
elementwise(np.arctan2, lambda y, a, b: over_square(b, a, b), lambda y, a, b: -over_square(a, a, b))
elementwise(np.degrees, 180 / math.pi)
elementwise(np.rad2deg, 180 / math.pi)
elementwise(np.radians, math.pi / 180)
elementwise(np.deg2rad, math.pi / 180)

# Hyperbolic functions and their inverses
elementwise(np.sinh, lambda y, x: np.cosh(x))
elementwise(np.cosh, lambda y, x: np.sinh(x))
elementwise(np.tanh, slope_of_tanh)
elementwise(np.arcsinh, slope_of_arcsinh)
elementwise(np.arccosh, lambda y, x: 1.0 / (np.sqrt(x - 1.0) * np.sqrt(x - -1.0)))
elementwise(np.arctanh, lambda y, x: 1.0 / ((1.0 - x) * (1.0 + x)))

# Absolute values, signs and choices
elementwise(np.absolute, direction)
elementwise(np.fabs, lambda y, x: np.sign(x))
elementwise(np.copysign, lambda y, a, b: np.sign(a) * np.copysign(1.0, b), None)
for _choice in CHOICES:
    elementwise(_choice, *choice(_choice))
elementwise(np.heaviside, None, lambda y, a, b: np.where(a == 0, 1.0, 0.0))

# Floating point
elementwise(np.ldexp, lambda y, x, n: np.ldexp(1.0, n), None)
elementwise(np.nextafter, 1.0, None)


@structured(np.frexp, linear=True)
def _frexp(x: Any) -> Any:
    """Mantissa and exponent of two; the exponents are integers, so they are constants."""
    mantissa, exponent = np.frexp(x)
    scale = np.ldexp(1.0, -exponent)
    return (mantissa, exponent), (
        LinearMap(
            lambda x_dot: (x_dot * scale, np.zeros(shape_of(exponent))),
            lambda y_bars: y_bars[0] * scale,
        ),
    )


@structured(np.modf, linear=True)
def _modf(x: Any) -> Any:
    """Fractional and integral part; the integral part is a number with a derivative of zero."""
    shape = shape_of(x)
    return np.modf(x), (
        LinearMap(
            lambda x_dot: (+x_dot, np.zeros(shape, dtype_of(x_dot))),
            lambda y_bars: np.broadcast_to(y_bars[0], shape),
        ),
    )


@composite(np.divmod)
def _divmod(x1: Any, x2: Any) -> Any:
    return np.floor_divide(x1, x2), np.remainder(x1, x2)


@composite(np.sign)
def _sign(x: Any) -> Any:
    return sign_of_complex(x) if is_complex(x) else constant_of(x, np.sign)


@dispatched
def sign_of_complex(z: Any) -> Any:
    """z / |z|, and 0 at 0."""
    return np.sign(z)


@structured(sign_of_complex)
def _sign_of_complex(z: Any) -> Any:
    sign, length = np.sign(z), np.absolute(z)
    scale = (length != 0) / np.where(length == 0, 1.0, length)

    def turn(z_dot: Tangent) -> Tangent:
        """The derivative of the sign: only the part of `z_dot` that is perpendicular to z counts."""
        return (z_dot - sign * np.real(np.conjugate(sign) * z_dot)) * scale

    return sign, (LinearMap(turn, lambda y_bar: np.conjugate(turn(np.conjugate(y_bar)))),)


# The derivative is zero wherever it exists
CONSTANT.update(
    functions_of(
        *("floor", "ceil", "rint", "trunc", "signbit", "spacing", "floor_divide"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
        *("logical_and", "logical_or", "logical_xor", "logical_not"),
        *("isnan", "isinf", "isfinite", "isnat"),
        *("round", "around", "fix"),
    )
)
