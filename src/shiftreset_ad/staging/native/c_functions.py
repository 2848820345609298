"""The functions of Python's `math` are those of C. Native code calls them by their address, so it has Python's bits.

Python raises an error where the answer of finite numbers is infinite or not a number. So the code leaves there. LLVM
does not know these names, as it would replace some calls by other arithmetic.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

from shiftreset_ad.staging.native.llvm import Code, double, refuse
from shiftreset_ad.staging.steps.functions import as_linear, certain_number, greater, lesser

OF_ONE = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1"),
    *("log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh"),
)
OF_TWO = ("atan2", "fmod", "pow")
POINTS = (0.0, 1e-300, 0.375, 0.8125, 1.0, 1.25, 7.5, 40.0, 1e6)  # where they must agree, and at their negatives


def call_of(code: Code, name: str, *numbers: str) -> str:
    """The answer of a function of C. The code leaves where the answer is infinite or not a number."""
    if not address_of(name):
        refuse(f"the function {name} of C was not found")
    parameters = ", ".join(["double"] * len(numbers))
    code.use(f"declare double @c_{name}({parameters})")
    return code.new(f"call double @c_{name}({', '.join(f'double {x}' for x in numbers)})")


def leave_unless_finite(code: Code, x: str) -> None:
    """Leave where Python raises an error for the answer."""
    code.leave_if(code.new(f"fcmp uge double {size(code, x)}, {double(math.inf)}"))


def size(code: Code, x: str) -> str:
    """The absolute value."""
    code.use("declare double @llvm.fabs.f64(double)")
    return code.new(f"call double @llvm.fabs.f64(double {x})")


def addresses() -> dict[str, int]:
    """The names in the text, and what they stand for."""
    return {f"c_{name}": address_of(name) for name in (*OF_ONE, *OF_TWO)}


@cache
def address_of(name: str) -> int:
    """The address of the function of C that Python itself calls; 0 if it is not found, or has other bits."""
    try:
        found = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError, TypeError):
        return 0
    many = 2 if name in OF_TWO else 1
    found.restype, found.argtypes = ctypes.c_double, [ctypes.c_double] * many
    points = [sign * x for x in POINTS for sign in (1.0, -1.0)]
    given = [(x, y) for x in points for y in points] if many == 2 else [(x,) for x in points]
    if not all(_agrees(found, getattr(math, name), numbers) for numbers in given):
        return 0
    return ctypes.cast(found, ctypes.c_void_p).value or 0


def _agrees(of_c: Callable[..., float], of_python: Callable[..., float], numbers: tuple[float, ...]) -> bool:
    """Whether both answer the same, and the answer of C is no finite number where Python raises an error."""
    answer = of_c(*numbers)
    try:
        expected = of_python(*numbers)
    except (ArithmeticError, ValueError):
        return not math.isfinite(answer)
    return answer == expected and math.copysign(1.0, answer) == math.copysign(1.0, expected)


# The code of each function: of the code, the arguments as doubles, and the arguments.


def _of_c(name: str) -> Callable[..., str]:
    def emit(code: Code, *numbers: str) -> str:
        answer = call_of(code, name, *numbers)
        leave_unless_finite(code, answer)
        return answer

    return emit


def _logarithm(code: Code, x: str, base: str | None = None) -> str:
    of_c = _of_c("log")
    if base is None:
        return of_c(code, x)
    numerator, denominator = of_c(code, x), of_c(code, base)
    code.leave_if(code.new(f"fcmp oeq double {denominator}, {double(0.0)}"))
    return code.new(f"fdiv double {numerator}, {denominator}")


def _root(code: Code, x: str) -> str:
    code.use("declare double @llvm.sqrt.f64(double)")
    answer = code.new(f"call double @llvm.sqrt.f64(double {x})")
    leave_unless_finite(code, answer)
    return answer


def _with_sign_of(code: Code, x: str, y: str) -> str:
    code.use("declare double @llvm.copysign.f64(double, double)")
    return code.new(f"call double @llvm.copysign.f64(double {x}, double {y})")


def _times(factor: float) -> Callable[[Code, str], str]:
    return lambda code, x: code.new(f"fmul double {x}, {double(factor)}")


def _one_of(comparison: str) -> Callable[[Code, str, str], str]:
    """The second number where the comparison of it with the first one holds, and otherwise the first one."""

    def emit(code: Code, x: str, y: str) -> str:
        is_second = code.new(f"fcmp {comparison} double {y}, {x}")
        return code.new(f"select i1 {is_second}, double {y}, double {x}")

    return emit


def _known(code: Code, x: str) -> str:
    code.leave_if(code.new(f"fcmp uno double {x}, {x}"))
    return x


def _of_more_than_zero(code: Code, size: str, found: str) -> str:
    is_zero, is_other = code.new(f"fcmp oeq double {size}, 0.0"), code.new(f"fcmp une double {found}, 0.0")
    code.leave_if(code.new(f"and i1 {is_zero}, {is_other}"))
    return found


FUNCTIONS: dict[Any, Callable[..., str]] = {
    **{getattr(math, name): _of_c(name) for name in (*OF_ONE, *OF_TWO)},
    math.log: _logarithm,
    math.sqrt: _root,
    math.fabs: size,
    math.copysign: _with_sign_of,
    math.degrees: _times(180.0 / math.pi),
    math.radians: _times(math.pi / 180.0),
    lesser: _one_of("olt"),
    greater: _one_of("ogt"),
    certain_number: _known,
    as_linear: _of_more_than_zero,
}
