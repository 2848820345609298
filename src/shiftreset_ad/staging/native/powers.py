"""`x ** y` of doubles: the arithmetic of the C library's `pow`, written here, so that LLVM sees what powers share.

glibc's `pow` is that of Arm's optimized routines since 2.28: a logarithm in two doubles by a table of 128 intervals and
a polynomial, and an exponential function of its product with y by another table. The derivatives of a power are powers
of the same number. So the logarithm is a function of its own, which LLVM calls once for all of them. The figures of the
polynomials are those of the routines; the tables are computed.

The bits must be those of Python. Each step of glibc's on a processor with fused multiplication and addition is done
here. The C library is tried at points at which it rounds in the wrong direction, or would without such instructions:
if it has its own bits there, it is this `pow`. Otherwise, and for numbers beyond the usual, the C library is called.
"""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from functools import cache
from typing import Any

from shiftreset_ad.staging.native import c_functions
from shiftreset_ad.staging.native.llvm import Code, double, function
from shiftreset_ad.staging.steps.values import Staged

INTERVALS = 128  # of each table
LOWEST = 0x3FE6955500000000  # the bits of the number at which the intervals of the logarithm begin
BITS, FEWER = 160, 128  # of fractions that are integers
TABLES = "power_tables"
LOGARITHM, EXPONENTIAL, POWER, KNOWN_POWER = "logarithm_for_power", "exponential_for_power", "power", "known_power"
LN2 = float.fromhex("0x1.62e42fefa3800p-1"), float.fromhex("0x1.ef35793c76730p-45")
OF_LOGARITHM = tuple(  # of log(1 + r) - r, by powers of -r/2 and r
    map(
        float.fromhex,
        (
            *("-0x1.0000000000000p-1", "-0x1.5555555555560p-1", "0x1.0000000000006p-1", "0x1.999999959554ep-1"),
            *("-0x1.555555529a47ap-1", "-0x1.2495b9b4845e9p+0", "0x1.0002b8b263fc3p+0"),
        ),
    )
)
OF_EXPONENTIAL = tuple(
    map(
        float.fromhex,
        ("0x1.ffffffffffdbdp-2", "0x1.555555555543cp-3", "0x1.55555cf172b91p-5", "0x1.1111167a4d017p-7"),
    )
)
PER_LN2 = float.fromhex("0x1.71547652b82fep+7")  # intervals
INTERVAL = float.fromhex("-0x1.62e42fefa0000p-8"), float.fromhex("-0x1.cf79abc9e3b3ap-47")  # -log(2) / 128
SHIFT = float.fromhex("0x1.8p+52")  # a number to which an integer is added in its last bits
ITS_OWN = (  # powers at which others differ from this `pow`
    *((30.9371, -2.0, 0.0010448183651723946), (37.865, 1.5, 233.0005476165775), (10.3253, 0.5, 3.213300483926145)),
    *((4.4714, 3.0, 89.398569066344), (39.4, 0.5, 6.276941930590087), (28.434, -1.56, 0.0053952650370662865)),
    *((5.3988, -2.0, 0.03430879947313103), (29.5144, 2.5, 4732.437609570638), (2.529, -2.0, 0.15635160411273516)),
    *((43.728, -0.5, 0.15122381597281617), (38.985, -3.0, 1.6877471540266975e-05), (0.694, 2.5, 0.4012348765102854)),
    *((37.96, -2.5, 0.00011263788590223284), (13.3854, -3.0, 0.000416971083717251), (3.0949, 0.5, 1.759232787325202)),
    *((17.5442, 2.5, 1289.2404524525189), (47.3136, -2.5, 6.494339903534973e-05), (1.0896, -1.0, 0.9177679882525699)),
    *((29.5252, 0.5, 5.433709598423531), (52.317, -0.36, 0.2405960983806167), (50.579, 3.0, 129392.98025453901)),
    *((44.0894, 0.5, 6.639984939741956), (51.321, 3.0, 135171.561349161), (59.2591, 2.5, 27032.588179621907)),
)
SMALLEST_KNOWN, LARGEST_KNOWN = 2.0**-60, 2.0**40  # exponents by which x tells how large the power is
MOST = 511.0  # of the logarithm of a power, beyond which the last step is another one
LARGE, LEAST = 2.0**1023, 5e-324


def power(code: Code, x: Any, y: Any, *, is_pythons: bool) -> str:
    """`x ** y`. If both are Python's, the code leaves where Python raises an error, or gives a complex number.

    NumPy warns by the machine's flags, and Python does not. So a power of Python's floats is left out if nobody needs
    its value, and where `y` is known, `x` tells whether there is an error.
    """
    base, exponent = code.double(x), code.double(y)
    known = 0.0 if type(y) is Staged else float(y)
    if not SMALLEST_KNOWN < abs(known) < LARGEST_KNOWN:
        known = 0.0
    answer = _call(code, base, exponent, known, " memory(none) nounwind willreturn" if is_pythons else "")
    if is_pythons and known:
        code.leave_if(_is_error(code, base, known))
    elif is_pythons:
        c_functions.leave_unless_finite(code, answer)
    return answer


def _is_error(code: Code, x: str, y: float) -> str:
    """Whether Python raises an error for `x ** y`. So do powers that are as large as half the largest double.

    LLVM makes one comparison of several of the bits, which grow with a positive number. The bits of other numbers are
    larger as integers, those of -0.0, too, for which the code may leave in vain.
    """
    bits = code.new(f"bitcast double {x} to i64")
    if y.is_integer():
        bits = code.new(f"and i64 {bits}, {2**63 - 1}")
    lowest = _bits(max(LARGE ** (1.0 / y), LEAST)) if y < 0.0 else 0
    highest = _bits(math.inf if y < 0.0 else LARGE ** (1.0 / y) if y > 1.0 else sys.float_info.max)
    return code.new(f"icmp ugt i64 {code.new(f'sub i64 {bits}, {lowest}')}, {highest - lowest}")


def _call(code: Code, x: str, y: str, known: float, attributes: str) -> str:
    """A call of the function here, if it has the bits of the function of C, or else of this function."""
    if not c_functions.address_of("pow") or not is_known():
        return c_functions.call_of(code, "pow", x, y)
    code.use("declare double @c_pow(double, double)")
    code.use("declare double @llvm.fma.f64(double, double, double)")
    code.use(f"@{TABLES} = external constant i8")
    code.use(_logarithm())
    code.use(_exponential())
    pair = code.new(f"call {{double, double}} @{LOGARITHM}(double {x}) memory(none) nounwind willreturn")
    high, low = (code.new(f"extractvalue {{double, double}} {pair}, {part}") for part in range(2))
    given = f"double {x}, double {y}, double {high}, double {low}"
    if not known:
        code.use(_power())
        return code.new(f"call double @{POWER}({given}){attributes}")
    code.use(_known_power())
    reach = MOST / abs(known)
    lowest, highest = max(math.exp(-reach), sys.float_info.min), math.exp(min(reach, MOST))
    bounds = f"i64 {_bits(lowest)}, i64 {_bits(highest) - _bits(lowest)}"
    return code.new(f"call double @{KNOWN_POWER}({given}, {bounds}){attributes}")


@cache
def is_known() -> bool:
    """Whether the function of C is the one that is written here."""
    return all(math.pow(x, y) == power for x, y, power in ITS_OWN)


def addresses() -> dict[str, int]:
    """The names in the text, and what they stand for."""
    return {TABLES: ctypes.addressof(tables())}


@cache
def tables() -> Any:
    """For each interval of the logarithm, 1/c of a number c near its middle, and log(c) in two doubles; then for each
    interval of the exponential function, the relative error of 2^(i/128) as a double, and its bits less those of i/128.
    """
    logarithms = [0, 0]  # of the integers
    while len(logarithms) <= 3 * INTERVALS:
        logarithms.append(logarithms[-1] + _twice_area_tangent(2 * len(logarithms) - 1))
    numbers: list[float] = []
    for i in range(INTERVALS):
        middle = _double(LOWEST + (2 * i + 1 << 44))
        parts = INTERVALS if middle < 1.0 else 2 * INTERVALS
        inverse = round(parts / middle)
        logarithm = (logarithms[parts] - logarithms[inverse]) >> (BITS - FEWER)  # 0 for c = 1
        high = (logarithm + (1 << FEWER - 44)) >> FEWER - 43
        low = logarithm - (high << FEWER - 43)
        numbers += [inverse / parts, high / 2**43, low / 2**FEWER, 0.0]
    root = 2 << BITS
    for _ in range(7):
        root = math.isqrt(root << BITS)
    power = 1 << BITS
    for i in range(INTERVALS):
        nearest = power / 2**BITS
        exactly = int(nearest * 2**52) << (BITS - 52)
        numbers += [(power - exactly) / exactly, _double(_bits(nearest) - (i << 45))]
        power = power * root >> BITS
    return (ctypes.c_double * len(numbers))(*numbers)


def _twice_area_tangent(n: int) -> int:
    """2 artanh(1/n), which is log((n + 1) / (n - 1))."""
    term, total, k = (2 << BITS) // n, 0, 1
    while term:
        total += term // k
        term //= n * n
        k += 2
    return total


def _double(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def _bits(x: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def _fma(name: str, x: str | float, y: str | float, z: str | float) -> str:
    given = ", ".join(f"double {double(part) if isinstance(part, float) else part}" for part in (x, y, z))
    return f"  {name} = call double @llvm.fma.f64({given})"


@cache
def _logarithm() -> str:
    """The logarithm of x = 2^k z in two doubles: k log(2) + log(c) + log(1 + r), where r = z/c - 1 is exact.

    It is one of a positive number that is normal; for others it is a number without a meaning.
    """
    a_0, a_1, a_2, a_3, a_4, a_5, a_6 = OF_LOGARITHM
    lines = [
        "  %bits = bitcast double %x to i64",
        f"  %above = sub i64 %bits, {LOWEST}",
        "  %moved = lshr i64 %above, 45",
        f"  %i = and i64 %moved, {INTERVALS - 1}",
        f"  %entry = getelementptr [4 x double], ptr @{TABLES}, i64 %i",
        "  %of_high = getelementptr i8, ptr %entry, i64 8",
        "  %of_low = getelementptr i8, ptr %entry, i64 16",
        "  %inverse = load double, ptr %entry",
        "  %high_of_c = load double, ptr %of_high",
        "  %low_of_c = load double, ptr %of_low",
        "  %whole = ashr i64 %above, 52",
        "  %k = sitofp i64 %whole to double",
        "  %scale = shl i64 %whole, 52",
        "  %bits_of_z = sub i64 %bits, %scale",
        "  %z = bitcast i64 %bits_of_z to double",
        _fma("%r", "%z", "%inverse", -1.0),
        _fma("%t_1", "%k", LN2[0], "%high_of_c"),
        "  %t_2 = fadd double %t_1, %r",
        _fma("%low_1", "%k", LN2[1], "%low_of_c"),
        "  %rest_1 = fsub double %t_1, %t_2",
        "  %low_2 = fadd double %rest_1, %r",
        f"  %ar = fmul double %r, {double(a_0)}",
        "  %ar2 = fmul double %r, %ar",
        "  %ar3 = fmul double %r, %ar2",
        "  %minus_ar2 = fneg double %ar2",
        "  %high = fadd double %t_2, %ar2",
        _fma("%low_3", "%ar", "%r", "%minus_ar2"),
        "  %rest_2 = fsub double %t_2, %high",
        "  %low_4 = fadd double %rest_2, %ar2",
        _fma("%p_1", "%r", a_2, a_1),
        _fma("%p_2", "%r", a_4, a_3),
        _fma("%p_3", "%r", a_6, a_5),
        _fma("%p_4", "%ar2", "%p_3", "%p_2"),
        _fma("%p_5", "%ar2", "%p_4", "%p_1"),
        "  %sum_1 = fadd double %low_1, %low_2",
        "  %sum_2 = fadd double %sum_1, %low_3",
        "  %sum_3 = fadd double %sum_2, %low_4",
        _fma("%low", "%ar3", "%p_5", "%sum_3"),
        "  %first = fadd double %high, %low",
        "  %rest = fsub double %high, %first",
        "  %second = fadd double %rest, %low",
        "  %half = insertvalue {double, double} undef, double %first, 0",
        "  %both = insertvalue {double, double} %half, double %second, 1",
        "  ret {double, double} %both",
    ]
    return function(f"{{double, double}} @{LOGARITHM}(double %x)", lines)


@cache
def _exponential() -> str:
    """exp of a number in two doubles: 2^(i/128) times a polynomial."""
    c_2, c_3, c_4, c_5 = OF_EXPONENTIAL
    lines = [
        _fma("%shifted", "%high", PER_LN2, SHIFT),
        "  %k_i = bitcast double %shifted to i64",
        f"  %k = fsub double %shifted, {double(SHIFT)}",
        _fma("%r_1", "%k", INTERVAL[0], "%high"),
        _fma("%r_2", "%k", INTERVAL[1], "%r_1"),
        "  %r = fadd double %r_2, %low",
        f"  %i = and i64 %k_i, {INTERVALS - 1}",
        f"  %table = getelementptr i8, ptr @{TABLES}, i64 {32 * INTERVALS}",
        "  %entry = getelementptr [2 x double], ptr %table, i64 %i",
        "  %of_scale = getelementptr i8, ptr %entry, i64 8",
        "  %tail = load double, ptr %entry",
        "  %bits_of_entry = load i64, ptr %of_scale",
        "  %exponent = shl i64 %k_i, 45",
        "  %bits_of_scale = add i64 %bits_of_entry, %exponent",
        "  %scale = bitcast i64 %bits_of_scale to double",
        "  %r2 = fmul double %r, %r",
        "  %start = fadd double %r, %tail",
        _fma("%p_1", "%r", c_3, c_2),
        _fma("%p_2", "%r", c_5, c_4),
        _fma("%p_3", "%r2", "%p_1", "%start"),
        "  %r4 = fmul double %r2, %r2",
        _fma("%p", "%r4", "%p_2", "%p_3"),
        _fma("%answer", "%scale", "%p", "%scale"),
        "  ret double %answer",
    ]
    return function(f"double @{EXPONENTIAL}(double %high, double %low)", lines)


def _product() -> list[str]:
    """The product of y and the logarithm in two doubles."""
    return [
        "  %high = fmul double %y, %log_high",
        "  %minus_high = fneg double %high",
        _fma("%rest", "%y", "%log_high", "%minus_high"),
        _fma("%low", "%y", "%log_low", "%rest"),
    ]


def _branches(is_usual: str) -> list[str]:
    """exp(y log(x)) if all is usual, and else the function of C."""
    return [
        f"  br i1 {is_usual}, label %raise, label %other",
        "raise:",
        f"  %answer = call double @{EXPONENTIAL}(double %high, double %low)",
        "  ret double %answer",
        "other:",
        "  %of_c = call double @c_pow(double %x, double %y)",
        "  ret double %of_c",
    ]


@cache
def _known_power() -> str:
    """exp(y log(x)) for the x whose bits are `many` more than those of the `lowest`, or less.

    If the product is next to 0, the C library answers 1. The polynomial gives 1, too.
    """
    lines = [
        "  %bits_of_x = bitcast double %x to i64",
        "  %from_lowest = sub i64 %bits_of_x, %lowest",
        "  %is_usual = icmp ule i64 %from_lowest, %many",
        *_product(),
        *_branches("%is_usual"),
    ]
    head = f"double @{KNOWN_POWER}(double %x, double %y, double %log_high, double %log_low, i64 %lowest, i64 %many)"
    return function(head, lines)


@cache
def _power() -> str:
    """exp(y log(x)) for a positive and normal x, if y and the product are of usual size, too."""
    lines = [
        "  %bits_of_x = bitcast double %x to i64",
        "  %top_of_x = lshr i64 %bits_of_x, 52",
        "  %from_least = sub i64 %top_of_x, 1",
        f"  %is_usual_x = icmp ult i64 %from_least, {0x7FE}",
        "  %bits_of_y = bitcast double %y to i64",
        "  %signed_top = lshr i64 %bits_of_y, 52",
        "  %top_of_y = and i64 %signed_top, 2047",
        f"  %of_y = sub i64 %top_of_y, {0x3BE}",
        f"  %is_usual_y = icmp ult i64 %of_y, {0x80}",
        "  %are_usual = and i1 %is_usual_x, %is_usual_y",
        "  br i1 %are_usual, label %multiply, label %other",
        "multiply:",
        *_product(),
        "  %bits = bitcast double %high to i64",
        "  %top_and_sign = lshr i64 %bits, 52",
        "  %top = and i64 %top_and_sign, 2047",
        f"  %from_tiny = sub i64 %top, {0x3C9}",
        f"  %is_usual = icmp ult i64 %from_tiny, {0x3F}",  # neither next to 0 nor beyond 512
        *_branches("%is_usual"),
    ]
    return function(f"double @{POWER}(double %x, double %y, double %log_high, double %log_low)", lines)
