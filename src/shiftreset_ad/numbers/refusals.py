"""Ways to lose a derivative: the error says which expression of the program would lose it, and what to write instead.

`math.sin(x)` calls `float(x)`, `rng.normal(x)` converts `x` to an array, and `x` only sees the conversion. But the
frame of the program knows which of its expressions is being evaluated.
"""

from __future__ import annotations

import ast
import builtins
import dis
import linecache
import struct
import sys
import textwrap
from contextlib import suppress
from itertools import islice
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.control.frames import is_ours, is_the_users
from shiftreset_ad.numbers.remedies import BUILD, FORMAT, OF_MODULES, module_of, of_function, of_library, taking_numbers

LOST = "would turn a number that is being differentiated into a constant, and lose its derivative"
# The messages of libraries that have dropped our error, and what the program did.
WITHOUT_A_CAUSE = {
    "Error setting single item of array.": "a.flat[i] = x on a plain array",
    "required argument is not a float": "struct.pack",
}
OF_OBJECTS = (
    *("which has no callable", "dtype('O')", "not supported for the input types", "object arrays are not"),
    *("holds references", "arrays of objects"),
)
NOT_TAKEN = "that is an array of objects, which many functions do not take"
OF_A_NUMBER = "The error is about a number that is being differentiated"
OURS = (LOST, BUILD, OF_A_NUMBER, NOT_TAKEN)  # texts of our own errors
OF_ONE_NUMBER = (
    *("to numerator/denominator", "JSON serializable", "to Decimal is not supported", "or a Rational instance"),
    "object but received a 'Num",  # float.hex(x), for example
    "operate() takes 2 positional arguments but 3",  # pow(x, y, z)
)


class Expression(NamedTuple):
    """The expression that a frame is evaluating: its text, for messages, its syntax, and the values of its names."""

    text: str
    is_write: bool  # the expression is the target of an assignment
    tree: ast.expr | None
    names: dict[str, Any]


def refuse(conversion: str, remedy: str) -> TypeError:
    """The error where the program converts a number. It says `conversion` if the expression is not known."""
    frame = _user_frame(sys._getframe(1))
    expression = None if frame is None else _expression(frame, frame.f_lasti)
    if expression is None:
        return _refusal(conversion, remedy)
    text = expression.text
    if expression.is_write:
        return _refusal_of_write(expression)
    if _is_formatting(expression):
        return _refusal(text, FORMAT)
    function, method = _function(expression)
    name = f"{module_of(function)}.{getattr(function, '__name__', '')}".removeprefix("builtins.")
    subject = text if name.rpartition(".")[2] in text else f"{name}, here {text},"
    return _refusal(subject, of_function(function, method) or of_library(_library_in(frame)) or remedy)


def refusal_to_fill() -> TypeError | None:
    """The error where the program calls `numpy.full` or `numpy.full_like` with a number; None where it does not."""
    frame = _user_frame(sys._getframe(1))
    expression = None if frame is None else _expression(frame, frame.f_lasti)
    function = None if expression is None else _function(expression)[0]
    if expression is None or function not in (np.full, np.full_like):
        return None
    return _refusal(expression.text, str(of_function(function, None)))


def require_no_shuffle(frame: FrameType) -> None:
    """Raise TypeError if the program is calling NumPy's `shuffle`, which swaps rows through views."""
    expression = _expression(frame, frame.f_lasti)
    function, method = (None, None) if expression is None else _function(expression)
    name = method or getattr(function, "__name__", "")
    if name == "shuffle" and f"{module_of(function)}.".startswith("numpy.random."):
        assert expression is not None
        raise TypeError(
            f"{expression.text}: a shuffle of a number that is being differentiated would overwrite rows before it "
            "moves them. Use x = x[rng.permutation(len(x))] for rng.shuffle(x)"
        )


def _refusal_of_write(expression: Expression) -> TypeError:
    root = expression.tree
    while isinstance(root, ast.Subscript):
        root = root.value
    array = None if root is None else _resolved(root, expression.names)
    of_integers = " of integers" if isinstance(array, np.ndarray) and array.dtype.kind in "iub" else ""
    name = "a" if array is None or root is None else ast.unparse(root)
    return _refusal(
        f"{expression.text} = x, a number that is written into a plain array{of_integers},",
        f"{BUILD}, or {taking_numbers(name)}",
    )


def _is_formatting(expression: Expression) -> bool:
    """Whether this is `'...' % x`."""
    tree = expression.tree
    if not isinstance(tree, ast.BinOp) or not isinstance(tree.op, ast.Mod):
        return False
    left = tree.left.value if isinstance(tree.left, ast.Constant) else _resolved(tree.left, expression.names)
    return isinstance(left, str)


def _refusal(subject: str, remedy: str) -> TypeError:
    return TypeError(f"{subject} {LOST}. Use {remedy}, or shiftreset_ad.value(x) where a constant is meant")


def explained(error: BaseException) -> BaseException:
    """A better error in place of a library's error: our own error, which it hides, or one that says what to write."""
    said = str(error)
    if LOST in str(error.__cause__) and isinstance(error, ValueError | SystemError):
        assert error.__cause__ is not None
        return _alone(error.__cause__, error)
    if any(ours in said for ours in OURS) or not isinstance(error, TypeError | ValueError | IndexError | struct.error):
        return error
    if "can't be converted to double" in said:
        remedy = _remedy_of_scipy(error) or OF_MODULES["scipy"]
        return _replaced(error, f"{said}. {_refusal('A function of a Fortran library', remedy)}")
    if said in WITHOUT_A_CAUSE:
        return _replaced(error, str(_refusal(WITHOUT_A_CAUSE[said], BUILD)))
    if "format: a real number is required, not Num" in said:
        return _replaced(error, f"{said}. {_refusal('Formatting by %', FORMAT)}")
    if "cannot be written back to via WRITEBACKIFCOPY" in said:
        return _replaced(error, f"{said}. {_refusal('numpy.nditer', 'x[i] for each i in numpy.ndindex(x.shape)')}")
    if any(sign in said for sign in OF_OBJECTS):
        return _replaced(
            error,
            f"{said}. An operand may be an array that NumPy made of a list of numbers that are being differentiated, "
            f"such as numpy.array([x, 1.0]): {NOT_TAKEN}. Use {_remedy_of_scipy(error) or BUILD}",
        )
    if any(sign in said for sign in OF_ONE_NUMBER):
        return _replaced(
            error,
            f"{said}. {OF_A_NUMBER}. Use NumPy's functions (numpy.mean for "
            "statistics.mean), or shiftreset_ad.value(x) where a constant is meant",
        )
    return error


def _replaced(error: BaseException, said: str) -> BaseException:
    return _alone(TypeError(said), error)


def _alone(error: BaseException, replaced: BaseException) -> BaseException:
    """An error in place of another error, with its traceback. The other error is not shown."""
    error.__cause__, error.__suppress_context__ = None, True
    return error.with_traceback(replaced.__traceback__)


def _remedy_of_scipy(error: BaseException) -> str | None:
    """What to write instead of the function of SciPy that the program called, if the error came from SciPy."""
    place: TracebackType | None = None
    traceback = error.__traceback__
    while traceback is not None:
        if is_the_users(traceback.tb_frame):
            place = traceback
        traceback = traceback.tb_next
    expression = None if place is None else _expression(place.tb_frame, place.tb_lasti)
    function = None if expression is None else _function(expression)[0]
    return of_function(function, None) if module_of(function).startswith("scipy.") else None


def _library_in(program: FrameType | None) -> str:
    """The module that the program called to get here, maybe by an operator."""
    frame: FrameType | None = sys._getframe(1)
    module = ""
    while frame is not None and frame is not program:
        if not is_ours(frame.f_code):
            module = frame.f_globals.get("__name__", "")
        frame = frame.f_back
    return module


def _user_frame(frame: FrameType | None) -> FrameType | None:
    """The first frame that belongs neither to us nor to a library."""
    while frame is not None and not is_the_users(frame):
        frame = frame.f_back
    return frame


def _expression(frame: FrameType, instruction: int) -> Expression | None:
    """The expression that a frame is evaluating at an instruction; None without source."""
    line, end_line, column, end_column = next(islice(frame.f_code.co_positions(), instruction // 2, None))
    if line is None or end_line is None or column is None or end_column is None:
        return None
    lines = [linecache.getline(frame.f_code.co_filename, i).encode() for i in range(line, end_line + 1)]
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    text = " ".join(b" ".join(lines).decode(errors="replace").split())
    if not text:
        return None
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        tree = None
    return Expression(
        textwrap.shorten(text, 80, placeholder="..."),
        frame.f_code.co_code[instruction] == dis.opmap["STORE_SUBSCR"],
        tree,
        {**vars(builtins), **frame.f_globals, **frame.f_locals},
    )


def _function(expression: Expression) -> tuple[Any, str | None]:
    """What is called, or indexed, and the name of the method, if it is a method; None if it has no name.

    For a method of the answer of a function, as in `default_rng(0).normal(x)`, what is called is the function.
    """
    tree = expression.tree
    if isinstance(tree, ast.Subscript):
        return _resolved(tree.value, expression.names), None
    if not isinstance(tree, ast.Call):
        return None, None
    called = tree.func
    method = called.attr if isinstance(called, ast.Attribute) else None
    while isinstance(called, ast.Call) or (isinstance(called, ast.Attribute) and isinstance(called.value, ast.Call)):
        called = called.func if isinstance(called, ast.Call) else called.value
    return _resolved(called, expression.names), method


def _resolved(tree: ast.expr, names: dict[str, Any]) -> Any:
    """The value of a name, or of an attribute of a name; None for other expressions."""
    if isinstance(tree, ast.Attribute):
        with suppress(Exception):  # a property may raise
            return getattr(_resolved(tree.value, names), tree.attr, None)
        return None
    return names.get(tree.id) if isinstance(tree, ast.Name) else None
