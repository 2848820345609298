"""The code of each step on numbers: arithmetic, comparisons, choices, and questions.

A step has the bits of the function that it stands for. Where Python's numbers raise an error, or become integers
without an end, the code leaves. What an operation of NumPy's would warn of, the machine's flags tell (`entry`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native import c_functions
from shiftreset_ad.staging.native.c_functions import leave_unless_finite, size
from shiftreset_ad.staging.native.llvm import (
    DOUBLE,
    EXACT,
    INTEGER,
    TRUTH,
    Code,
    Value,
    described,
    double,
    form_of,
    refuse,
)
from shiftreset_ad.staging.native.mathematics import call_of_loop
from shiftreset_ad.staging.native.places import place_of_item, place_of_next
from shiftreset_ad.staging.native.powers import power
from shiftreset_ad.staging.steps.functions import (
    INFIX,
    as_pythons_number,
    method,
    name_in_program,
    place_at_end,
    place_in,
)
from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged, unstaged

PYTHONS = {float, int, bool}
INF = double(np.inf)
Emit = Callable[[Code, tuple[Any, ...], Any], str]  # of the code, the arguments, and the answer that was recorded


def emit(code: Code, step: Step, args: tuple[Any, ...], answer: Any) -> None:
    """Write the code of a step that is no question."""
    function, form = step.function, form_of(answer)
    if step.writes or step.kwargs:
        refuse(f"{name_in_program(function)} {'writes' if step.writes else 'has options'}")
    if form is None:
        refuse(f"{name_in_program(function)} gives {described(answer)}")
    if form == INTEGER and any(np.bool in code.types(arg) for arg in args):
        refuse("it computes with NumPy's booleans")
    operation = _item if function is operator.getitem else OPERATIONS.get(function)  # it is none on elements
    if operation is not None:
        text = operation(code, args, answer)
    elif isinstance(function, np.ufunc) and form == DOUBLE:
        text = call_of_loop(code, function, args)
    else:
        symbol = INFIX.get(function)
        refuse(f"{f'x {symbol} y' if symbol else name_in_program(function)} has no native form")
    code.known[step.place] = Value(text, form)


def ask(code: Code, step: Step, args: tuple[Any, ...], number: int) -> None:
    """Write the code of a question."""
    if step.kwargs or len(args) != 1 or step.function not in QUESTIONS:
        refuse(f"it asks {name_in_program(step.function)} of a value")
    code.ask(number, QUESTIONS[step.function](code, args[0], step.expected))


# Arithmetic


def _arithmetic(of_doubles: str, of_integers: str) -> Emit:
    def emit(code: Code, args: tuple[Any, ...], answer: Any) -> str:
        x, y = args
        if form_of(answer) == DOUBLE:
            return code.new(f"{of_doubles} double {code.double(x)}, {code.double(y)}")
        return _checked(code, of_integers, code.integer(x), code.integer(y), answer)

    return emit


def _checked(code: Code, instruction: str, x: str, y: str, answer: Any) -> str:
    """Arithmetic on integers. The code leaves if the answer is longer than the machine's integers."""
    if form_of(answer) != INTEGER:
        refuse("it computes with NumPy's booleans")
    function = f"@llvm.{instruction}.with.overflow.i64"
    code.use(f"declare {{i64, i1}} {function}(i64, i64)")
    both = code.new(f"call {{i64, i1}} {function}(i64 {x}, i64 {y})")
    code.leave_if(code.new(f"extractvalue {{i64, i1}} {both}, 1"))
    return code.new(f"extractvalue {{i64, i1}} {both}, 0")


def _of_integers(symbol: str, emit: Callable[[Code, str, str], str]) -> Emit:
    """An operator on integers. NumPy warns where Python raises an error, so the code leaves for both."""

    def emit_of(code: Code, args: tuple[Any, ...], answer: Any) -> str:
        if form_of(answer) != INTEGER:
            refuse(f"x {symbol} y has no native form")
        return emit(code, code.integer(args[0]), code.integer(args[1]))

    return emit_of


def _floored(code: Code, x: str, y: str) -> tuple[str, str]:
    """The quotient and the remainder of integers: the remainder has the sign of the divisor.

    The code leaves if the divisor is zero, or the quotient is longer than the machine's integers. The machine would
    stop the process, so it divides by one.
    """
    is_least = code.new(f"icmp eq i64 {x}, {-(2**63)}")
    is_too_long = code.new(f"and i1 {is_least}, {code.new(f'icmp eq i64 {y}, -1')}")
    has_none = code.new(f"or i1 {is_too_long}, {code.new(f'icmp eq i64 {y}, 0')}")
    code.leave_if(has_none)
    y = code.new(f"select i1 {has_none}, i64 1, i64 {y}")
    quotient, rest = code.new(f"sdiv i64 {x}, {y}"), code.new(f"srem i64 {x}, {y}")
    differs = code.new(f"icmp slt i64 {code.new(f'xor i64 {rest}, {y}')}, 0")
    is_above = code.new(f"and i1 {code.new(f'icmp ne i64 {rest}, 0')}, {differs}")  # the machine rounds towards zero
    down, more = code.new(f"sext i1 {is_above} to i64"), code.new(f"select i1 {is_above}, i64 {y}, i64 0")
    return code.new(f"add i64 {quotient}, {down}"), code.new(f"add i64 {rest}, {more}")


def _floored_doubles(code: Code, x: str, y: str) -> tuple[str, str]:
    """The quotient and the remainder of doubles, by the arithmetic of Python's floats and of NumPy's.

    The code leaves if the divisor is zero, or if one of both is infinite or not a number.
    """
    code.use("declare double @llvm.floor.f64(double)")
    code.use("declare double @llvm.copysign.f64(double, double)")
    zero, one, half = double(0.0), double(1.0), double(0.5)
    leave_unless_finite(code, x)
    leave_unless_finite(code, y)
    code.leave_if(code.new(f"fcmp oeq double {y}, {zero}"))
    rest = c_functions.call_of(code, "fmod", x, y)
    quotient = code.new(f"fdiv double {code.new(f'fsub double {x}, {rest}')}, {y}")
    has_rest = code.new(f"fcmp une double {rest}, {zero}")
    signs = [code.new(f"fcmp olt double {part}, {zero}") for part in (rest, y)]
    is_above = code.new(f"and i1 {has_rest}, {code.new(f'xor i1 {signs[0]}, {signs[1]}')}")
    nothing = code.new(f"call double @llvm.copysign.f64(double {zero}, double {y})")
    more = code.new(f"select i1 {is_above}, double {code.new(f'fadd double {rest}, {y}')}, double {rest}")
    remainder = code.new(f"select i1 {has_rest}, double {more}, double {nothing}")
    quotient = code.new(f"select i1 {is_above}, double {code.new(f'fsub double {quotient}, {one}')}, double {quotient}")
    down = code.new(f"call double @llvm.floor.f64(double {quotient})")
    is_less = code.new(f"fcmp ogt double {code.new(f'fsub double {quotient}, {down}')}, {half}")
    whole = code.new(f"select i1 {is_less}, double {code.new(f'fadd double {down}, {one}')}, double {down}")
    ratio = code.new(f"fdiv double {x}, {y}")
    nearly = code.new(f"call double @llvm.copysign.f64(double {zero}, double {ratio})")
    is_zero = code.new(f"fcmp oeq double {quotient}, {zero}")
    return code.new(f"select i1 {is_zero}, double {nearly}, double {whole}"), remainder


def _of_numbers(of_integers: Callable[[Code, str, str], str], of_doubles: Callable[[Code, str, str], str]) -> Emit:
    """An operator on integers or on floats. The code leaves where Python raises an error."""

    def emit_of(code: Code, args: tuple[Any, ...], answer: Any) -> str:
        x, y = args
        if form_of(answer) == INTEGER:
            return of_integers(code, code.integer(x), code.integer(y))
        if form_of(answer) != DOUBLE or any(ndarray in code.types(arg) for arg in args):
            refuse("a remainder of arrays has no native form")
        return of_doubles(code, code.double(x), code.double(y))

    return emit_of


def _shifted_right(code: Code, x: str, by: str) -> str:
    code.leave_if(code.new(f"icmp slt i64 {by}, 0"))
    bounded = code.new(f"select i1 {code.new(f'icmp ult i64 {by}, 63')}, i64 {by}, i64 63")
    return code.new(f"ashr i64 {x}, {bounded}")


def _division(code: Code, args: tuple[Any, ...], answer: Any) -> str:
    x, y = args
    divisor = code.double(y)
    if _may_be_pythons(code, args, answer):  # Python raises an error
        if type(y) is Staged or not y:
            code.leave_if(code.new(f"fcmp ueq double {divisor}, {double(0.0)}"))
        if all(form_of(unstaged(arg)) == INTEGER for arg in args):  # Python divides the integers themselves
            _require_exact(code, x)
            _require_exact(code, y)
    return code.new(f"fdiv double {code.double(x)}, {divisor}")


def _may_be_pythons(code: Code, args: tuple[Any, ...], answer: Any) -> bool:
    """Whether an operator may work on Python's numbers alone."""
    return type(answer) in (float, np.float64) and not any(PYTHONS.isdisjoint(code.types(arg)) for arg in args)


def _require_exact(code: Code, x: Any) -> None:
    """Leave if an integer may be no double."""
    if type(x) is not Staged:
        if abs(int(x)) > EXACT:
            refuse("it computes with a float and a large integer")
    elif code.value(x).form == INTEGER:
        above = code.new(f"add i64 {code.value(x).text}, {EXACT}")
        code.leave_if(code.new(f"icmp ugt i64 {above}, {2 * EXACT}"))


def _power(code: Code, args: tuple[Any, ...], answer: Any) -> str:
    x, y = args
    if form_of(answer) != DOUBLE or any(ndarray in code.types(arg) for arg in args):
        refuse("x ** y of arrays or integers has no native form")
    if all(form_of(unstaged(arg)) == INTEGER for arg in args):
        refuse("x ** y of integers has no native form")
    return power(code, x, y, is_pythons=_may_be_pythons(code, args, answer))


def _negative(code: Code, args: tuple[Any, ...], answer: Any) -> str:
    if form_of(answer) == INTEGER:
        return _checked(code, "ssub", "0", code.integer(args[0]), answer)
    return code.new(f"fneg double {code.double(args[0])}") if form_of(answer) == DOUBLE else refuse("-x of a boolean")


def _size_of(code: Code, args: tuple[Any, ...], answer: Any) -> str:
    if form_of(answer) != INTEGER:
        return SIZE(code, args, answer)
    x, negative = code.integer(args[0]), _negative(code, args, answer)
    return code.new(f"select i1 {code.new(f'icmp slt i64 {x}, 0')}, i64 {negative}, i64 {x}")


def _of_double(emit: Callable[[Code, str], str]) -> Emit:
    """A function of one double."""

    def emit_of(code: Code, args: tuple[Any, ...], answer: Any) -> str:
        if len(args) != 1 or form_of(answer) != DOUBLE:
            refuse("it has a function of one float with other arguments")
        return emit(code, code.double(args[0]))

    return emit_of


def _of_math(emit: Callable[..., str]) -> Emit:
    """A function of Python's `math`."""
    return lambda code, args, _: emit(code, *map(code.double, args))


def _whole_of(code: Code, args: tuple[Any, ...], rounded: str) -> str:
    """A float as an integer, after it is rounded. The code leaves if the integer may be too long for the machine."""
    x = code.double(args[0])
    code.use(f"declare double @llvm.{rounded}.f64(double)")
    x = code.new(f"call double @llvm.{rounded}.f64(double {x})")
    is_long = code.new(f"fcmp uge double {size(code, x)}, {double(2.0**62)}")
    code.leave_if(is_long)
    return code.new(f"fptosi double {code.new(f'select i1 {is_long}, double {double(0.0)}, double {x}')} to i64")


def _rounded(instruction: str) -> Emit:
    """A function that gives an integer."""

    def emit(code: Code, args: tuple[Any, ...], answer: Any) -> str:
        if form_of(answer) != INTEGER or len(args) != 1:
            refuse("it rounds to digits")
        is_whole = form_of(unstaged(args[0])) == INTEGER
        return code.integer(args[0]) if is_whole else _whole_of(code, args, instruction)

    return emit


def _item(code: Code, args: tuple[Any, ...], answer: Any) -> str:
    """The item of a number of NumPy's, or of an array without dimensions, by `x.item()` or `x[()]`."""
    x, *index = args
    if index not in ([], [()]) or code.types(x) > {ndarray} or form_of(answer) != code.value(x).form:
        refuse("it takes an item of an array by x.item or x[i]")
    return code.value(x).text


def _root(code: Code, x: str) -> str:
    code.use("declare double @llvm.sqrt.f64(double)")
    return code.new(f"call double @llvm.sqrt.f64(double {x})")


# Comparisons and choices


def _comparison(of_doubles: str, of_integers: str) -> Emit:
    def emit(code: Code, args: tuple[Any, ...], answer: Any) -> str:
        x, y = args
        if DOUBLE not in (code.value(x).form, code.value(y).form):
            return code.new(f"icmp {of_integers} i64 {code.integer(x)}, {code.integer(y)}")
        for arg in args:  # Python compares an integer itself
            if form_of(unstaged(arg)) == INTEGER and ndarray not in code.types(x) | code.types(y):
                _require_exact(code, arg)
        return code.new(f"fcmp {of_doubles} double {code.double(x)}, {code.double(y)}")

    return emit


def _logical(instruction: str) -> Emit:
    def emit(code: Code, args: tuple[Any, ...], answer: Any) -> str:
        x, y = args
        if form_of(answer) == TRUTH:
            return code.new(f"{instruction} i1 {code.truth(x)}, {code.truth(y)}")
        return code.new(f"{instruction} i64 {code.integer(x)}, {code.integer(y)}")

    return emit


def _not(code: Code, args: tuple[Any, ...], answer: Any) -> str:
    return code.new(f"xor i1 {code.truth(args[0])}, true") if form_of(answer) == TRUTH else refuse("~x of an integer")


def _inverse(code: Code, args: tuple[Any, ...], answer: Any) -> str:
    return refuse("~x of an integer") if bool in code.types(args[0]) else _not(code, args, answer)


def _where(code: Code, args: tuple[Any, ...], answer: Any) -> str:
    if len(args) != 3 or form_of(answer) != DOUBLE:
        refuse("numpy.where gives no float")
    condition, x, y = args
    return code.new(f"select i1 {code.truth(condition)}, double {code.double(x)}, double {code.double(y)}")


def _test(emit: Callable[[Code, str], str]) -> Emit:
    """A question about one double that is no question of the program."""
    return lambda code, args, _: emit(code, code.double(args[0]))


ADD, SUBTRACT, MULTIPLY = _arithmetic("fadd", "sadd"), _arithmetic("fsub", "ssub"), _arithmetic("fmul", "smul")
LESS, LESS_EQUAL = _comparison("olt", "slt"), _comparison("ole", "sle")
GREATER, GREATER_EQUAL = _comparison("ogt", "sgt"), _comparison("oge", "sge")
EQUAL, NOT_EQUAL = _comparison("oeq", "eq"), _comparison("une", "ne")
AND, OR, XOR = _logical("and"), _logical("or"), _logical("xor")
QUOTIENT = _of_numbers(lambda code, x, y: _floored(code, x, y)[0], lambda code, x, y: _floored_doubles(code, x, y)[0])
REMAINDER = _of_numbers(lambda code, x, y: _floored(code, x, y)[1], lambda code, x, y: _floored_doubles(code, x, y)[1])
AS_IT_IS, SIZE = _of_double(lambda code, x: x), _of_double(size)
OPERATIONS: dict[Any, Emit] = {
    **dict.fromkeys((operator.add, np.add), ADD),
    **dict.fromkeys((operator.sub, np.subtract), SUBTRACT),
    **dict.fromkeys((operator.mul, np.multiply), MULTIPLY),
    **dict.fromkeys((operator.truediv, np.divide), _division),
    operator.floordiv: QUOTIENT,
    operator.mod: REMAINDER,
    operator.rshift: _of_integers(">>", _shifted_right),
    **dict.fromkeys((operator.neg, np.negative), _negative),
    **dict.fromkeys((operator.pos, np.positive, float, np.float64), AS_IT_IS),
    bool: lambda code, args, _: code.truth(args[0]),
    **dict.fromkeys((int, math.trunc), _rounded("trunc")),
    math.floor: _rounded("floor"),
    math.ceil: _rounded("ceil"),
    round: _rounded("roundeven"),
    **dict.fromkeys((method("item"), as_pythons_number), _item),
    place_in: place_of_item,
    place_at_end: place_of_next,
    **{function: _of_math(emit) for function, emit in c_functions.FUNCTIONS.items()},
    **dict.fromkeys((operator.abs, np.absolute, np.fabs), _size_of),
    operator.pow: _power,
    np.sqrt: _of_double(_root),
    np.square: _of_double(lambda code, x: code.new(f"fmul double {x}, {x}")),
    np.reciprocal: _of_double(lambda code, x: code.new(f"fdiv double {double(1.0)}, {x}")),
    **dict.fromkeys((operator.lt, np.less), LESS),
    **dict.fromkeys((operator.le, np.less_equal), LESS_EQUAL),
    **dict.fromkeys((operator.gt, np.greater), GREATER),
    **dict.fromkeys((operator.ge, np.greater_equal), GREATER_EQUAL),
    **dict.fromkeys((operator.eq, np.equal), EQUAL),
    **dict.fromkeys((operator.ne, np.not_equal), NOT_EQUAL),
    **dict.fromkeys((operator.and_, np.logical_and, np.bitwise_and), AND),
    **dict.fromkeys((operator.or_, np.logical_or, np.bitwise_or), OR),
    **dict.fromkeys((operator.xor, np.logical_xor, np.bitwise_xor), XOR),
    operator.invert: _inverse,
    **dict.fromkeys((np.logical_not, np.invert), _not),
    np.where: _where,
    **dict.fromkeys((np.isnan, math.isnan), _test(lambda code, x: code.new(f"fcmp uno double {x}, {x}"))),
    **dict.fromkeys((np.isinf, math.isinf), _test(lambda code, x: code.new(f"fcmp oeq double {size(code, x)}, {INF}"))),
    **dict.fromkeys(
        (np.isfinite, math.isfinite), _test(lambda code, x: code.new(f"fcmp olt double {size(code, x)}, {INF}"))
    ),
}


# Questions


def _is_true(code: Code, x: Any, expected: Any) -> str:
    truth = code.truth(x)
    return truth if expected else code.new(f"xor i1 {truth}, true")


def _is_float(code: Code, x: Any, expected: Any) -> str:
    """Whether a value has the same bits: 0.0 differs from -0.0."""
    bits = code.new(f"bitcast double {code.double(x)} to i64")
    return code.new(f"icmp eq i64 {bits}, {np.float64(expected).view(np.int64)}")


def _is_integer(code: Code, x: Any, expected: Any) -> str:
    return code.new(f"icmp eq i64 {code.integer(x)}, {expected}")


QUESTIONS: dict[Any, Callable[[Code, Any, Any], str]] = {
    bool: _is_true,
    float: _is_float,
    int: _is_integer,
    operator.index: _is_integer,
}
