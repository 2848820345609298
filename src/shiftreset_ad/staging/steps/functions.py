"""Facts about NumPy's functions and ours, by which their calls are recorded as steps.

If a fact about a function is not known, each replay of the steps checks it.
"""

from __future__ import annotations

import dis
import inspect
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FrameType
from typing import Any

import numpy as np

from shiftreset_ad.numbers.dispatch import name_of
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.building import assemble
from shiftreset_ad.rules.conversion import astype, imaginary_part, real_part
from shiftreset_ad.rules.indexing import replaced, scatter
from shiftreset_ad.rules.numpy.accumulations import running_maximum, running_minimum, running_product
from shiftreset_ad.rules.numpy.einstein import contract
from shiftreset_ad.rules.numpy.selection import elements_along
from shiftreset_ad.rules.numpy.shapes import OF_THE_SHAPE, repeated
from shiftreset_ad.rules.numpy.sorting import rearranged
from shiftreset_ad.rules.stand_ins import StagedValue
from shiftreset_ad.rules.table import functions_of

# They look only at types, shapes, dtypes and memory, which are the same in each replay of the steps.
WITHOUT_VALUES = {*OF_THE_SHAPE}
OF_THE_MEMORY = {*functions_of("shares_memory", "may_share_memory")}
WRITING = {*functions_of("copyto", "put", "putmask", "place", "fill_diagonal", "put_along_axis")}
TO_FILES = {*functions_of("save", "savez", "savez_compressed", "savetxt")}
# Options by which a function writes to an argument, each with the value for which the function does not write.
HARMLESS: dict[str, Any] = {"out": None, "overwrite_input": False}

# For these functions, the types, shapes and dtypes of the arguments determine those of the answer, and no value makes
# them raise an error.
CLOSED = {
    *functions_of("sum", "mean", "prod", "max", "min", "amax", "amin", "ptp", "var", "std", "median", "trace"),
    *functions_of("cumsum", "cumprod", "cumulative_sum", "cumulative_prod", "any", "all", "count_nonzero", "diff"),
    *functions_of("nansum", "nanmean", "nanprod", "nanmax", "nanmin", "nanvar", "nanstd", "nancumsum", "nancumprod"),
    *functions_of("argmax", "argmin", "argsort", "sort", "argpartition", "partition", "lexsort", "searchsorted"),
    *functions_of("transpose", "permute_dims", "matrix_transpose", "swapaxes", "moveaxis", "rollaxis", "reshape"),
    *functions_of("ravel", "squeeze", "expand_dims", "broadcast_to", "broadcast_arrays", "meshgrid", "atleast_1d"),
    *functions_of("atleast_2d", "atleast_3d", "concatenate", "concat", "stack", "hstack", "vstack", "dstack"),
    *functions_of("column_stack", "block", "append", "split", "array_split", "hsplit", "vsplit", "dsplit", "unstack"),
    *functions_of("where", "select", "copy", "zeros_like", "ones_like", "full_like", "diagonal", "diag", "diagflat"),
    *functions_of("tril", "triu", "tile", "roll", "flip", "fliplr", "flipud", "rot90", "take", "take_along_axis"),
    *functions_of("dot", "vdot", "inner", "outer", "tensordot", "einsum", "kron", "cross", "convolve", "correlate"),
    *functions_of("clip", "real", "imag", "angle", "round", "around", "sinc", "i0", "nan_to_num", "unwrap"),
    *functions_of("isclose", "allclose", "array_equal", "array_equiv", "isreal", "iscomplex", "isposinf", "isneginf"),
    *functions_of("linspace", "trapezoid", "vander", "polyval", "linalg.outer", "linalg.cross", "linalg.diagonal"),
    *functions_of("fft.fft", "fft.ifft", "fft.rfft", "fft.irfft", "fft.fft2", "fft.ifft2", "fft.rfft2", "fft.irfft2"),
    *functions_of("fft.fftn", "fft.ifftn", "fft.rfftn", "fft.irfftn", "fft.hfft", "fft.ihfft", "fft.fftshift"),
    *functions_of("fft.ifftshift", "linalg.trace", "linalg.tensordot", "linalg.matrix_transpose", "linalg.multi_dot"),
    *functions_of("linalg.det", "linalg.slogdet", "linalg.vecdot", "linalg.vector_norm"),
    *(scatter, astype, real_part, imaginary_part, rearranged, contract, elements_along, assemble, repeated),
    *(running_product, running_maximum, running_minimum),
}
# The same, except that some values make them raise an error.
FALLIBLE = {
    *functions_of("linalg.solve", "linalg.inv", "linalg.cholesky", "linalg.eigh", "linalg.eigvalsh", "linalg.svd"),
    *functions_of("linalg.svdvals", "linalg.qr", "linalg.pinv", "linalg.norm", "linalg.matrix_norm", "linalg.cond"),
    *functions_of("linalg.matrix_power", "linalg.tensorsolve", "linalg.tensorinv"),
}
# Functions of Python's, on numbers. They give the same type for all values, and raise an error for some.
_OF_MATH = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cos", "cosh", "degrees", "erf"),
    *("erfc", "exp", "exp2", "expm1", "fabs", "fmod", "gamma", "hypot", "isfinite", "isinf", "isnan", "lgamma", "log"),
    *("log10", "log1p", "log2", "pow", "radians", "remainder", "sin", "sinh", "sqrt", "tan", "tanh"),
)
OF_MATH = frozenset(getattr(math, name) for name in _OF_MATH)
# The first ones give two numbers, or take an integer; the others take sequences of numbers.
OF_SEVERAL = {math.frexp, math.modf, math.ldexp, math.nextafter, math.ulp, math.dist, math.fsum}
OF_INTEGERS = {math.comb, math.factorial, math.gcd, math.isqrt, math.lcm, math.perm}
OF_NUMBERS = OF_MATH | OF_SEVERAL | OF_INTEGERS | {bool, complex, float, int, np.float32, np.float64}
# These take floats as integers, for a number of elements.
COUNTING = {*functions_of("split", "array_split", "hsplit", "vsplit", "dsplit", "roll", "tile", "tril", "triu", "diff")}
# They give views of an array, each of which is a step, so that nothing need hold the list of them.
OF_PARTS = {*functions_of("split", "array_split", "hsplit", "vsplit", "dsplit", "unstack")}
# The methods of arrays that are like CLOSED. A method with the name of a function is like the function.
METHODS = {"astype", "byteswap", "conj", "conjugate", "flatten", "getfield", "view", "__copy__"} | {
    function.__name__ for function in CLOSED if getattr(np, function.__name__, None) is function
}

INFIX: dict[Callable[..., Any], str] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.matmul: "@",
    operator.and_: "&",
    operator.or_: "|",
    operator.xor: "^",
    operator.lshift: "<<",
    operator.rshift: ">>",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}
PREFIX: dict[Callable[..., Any], str] = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}
COMPARISONS = {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne}
OPERATORS = {*INFIX, *PREFIX, operator.abs}


def lesser(x: float, y: float) -> float:
    """`min(x, y)` of Python's floats."""
    return y if y < x else x


def greater(x: float, y: float) -> float:
    """`max(x, y)` of Python's floats."""
    return y if y > x else x


def comparable(x: Any) -> Any:
    """A number to put in order. Raises ValueError for NaN: its place depends on how Python sorts."""
    if x != x:
        raise ValueError("NaN has no place in a sorted list")
    return x


def place_of_key(keys: Sequence[Any], key: Any) -> int:
    """The place of a key of a dict. Raises KeyError if it is not there."""
    for i, other in enumerate(keys):
        if other == key:
            return i
    raise KeyError(key)


def place_in(index: int, length: int, message: str) -> int:
    """The place of the item at this index, counted from the beginning of a list. Raises IndexError if there is none."""
    place = index + length if index < 0 else index
    if not 0 <= place < length:
        raise IndexError(message)
    return place


class UncertainError(ArithmeticError):
    """A derivative or an answer is NaN, and it may come of a zero that stands for no derivative at all."""


def certain_number(x: Any) -> Any:
    """The number `x`. Raises UncertainError if it is NaN."""
    if x != x:
        raise UncertainError("a derivative is NaN")
    return x


def as_linear(size: Any, found: Any) -> Any:
    """The size of what a rule has `found`. Raises UncertainError if only the size of what the rule gets is zero."""
    if size == 0.0 and found != 0.0:
        raise UncertainError("a rule of the program's gives a derivative for zeros")
    return found


class NoRoomError(Exception):
    """A list grows beyond the room that its steps have for it."""


def place_at_end(length: int, room: int) -> int:
    """The place of an item that is appended to a list. Raises NoRoomError if there is no room for it."""
    if length >= room:
        raise NoRoomError(f"there is room for {room} items")
    return length


def as_pythons_number(x: Any) -> Any:
    """A scalar of NumPy's as one of Python's; anything else as it is."""
    return x.item() if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and not x.ndim) else x


OF_PLACES = {place_of_key, place_in, place_at_end}
NEVER_OPEN_ENDED = (
    (OPERATORS - {operator.pow})
    | OF_NUMBERS
    | {replaced, scatter, comparable, lesser, greater, as_pythons_number}
    | OF_PLACES
)
BINARY_OP = dis.opmap["BINARY_OP"]
# NumPy's scalars compute by Python's operators, and by other code than NumPy's ufuncs.
OF_SCALARS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
}
STATEMENTS: dict[Callable[..., Any], str] = {
    operator.getitem: "x[i]",
    operator.setitem: "x[i] = v",
    **{
        getattr(operator, f"i{function.__name__.strip('_')}"): f"x {symbol}= v"
        for function, symbol in INFIX.items()
        if function not in COMPARISONS
    },
}
# These raise no error, not even with Python's floats.
SAFE = {operator.add, operator.sub, operator.mul, operator.abs, as_pythons_number, *PREFIX, *COMPARISONS}
POWERS = (operator.pow, np.power)


class Attribute:
    """The function that looks up an attribute of its argument."""

    __slots__ = ("__name__",)

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, x: Any) -> Any:
        return getattr(x, self.__name__)


class Method(Attribute):
    """The function that calls a method of its first argument."""

    __slots__ = ()

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, self.__name__)(*args, **kwargs)


class Into:
    """The function that writes the answer of another function to its first argument."""

    __slots__ = ("__name__", "_function")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__name__ = f"{name_in_program(function)}(..., out=x)"
        self._function = function

    def __call__(self, out: Any, *args: Any, **kwargs: Any) -> None:
        self._function(*args, out=out, **kwargs)


def name_in_program(function: Callable[..., Any]) -> str:
    """The name that a function, a method or a statement has in a user's program."""
    if function in STATEMENTS:
        return STATEMENTS[function]
    if isinstance(function, Attribute):
        return f"x.{function.__name__}"
    if isinstance(of_ufunc := getattr(function, "__self__", None), np.ufunc):
        return f"{name_of(of_ufunc)}.{function.__name__}"
    return function.__name__ if type(function) is Into else name_of(function)


attribute, method = cache(Attribute), cache(Method)  # one object for each name, so that `==` compares names
ITEM = method("item")  # the type of its answer is that of the elements


def is_operator(frame: FrameType) -> bool:
    """Whether a frame is at an operator, such as `x ** y`, and not at a call."""
    return frame.f_code.co_code[frame.f_lasti] == BINARY_OP


def is_closed(function: Callable[..., Any]) -> bool:
    """Whether this is a function in CLOSED, a method like one, an attribute, or a method of a ufunc."""
    if type(function) is Method:
        return function.__name__ in METHODS
    of_ufunc = isinstance(getattr(function, "__self__", None), np.ufunc)
    return function in CLOSED or of_ufunc or type(function) is Attribute


def is_open_ended(function: Callable[..., Any], args: tuple[Any, ...], operands: list[Any], answer: Any) -> bool:
    """Whether the type, shape or dtype of an answer may depend on the values of these operands."""
    if function is operator.pow:  # Python's floats may give a complex number, and its integers a float
        return not isinstance(answer, np.ndarray | np.generic)
    if isinstance(function, np.ufunc):  # of Python's integers, NumPy chooses the dtype by the value
        return all(type(x) in (int, bool) for x in (*operands, *args) if not isinstance(x, StagedValue))
    if isinstance(function, type) or function in NEVER_OPEN_ENDED or function is ITEM:
        return False
    if (function is np.where and len(args) == 1) or (function in COUNTING and len(operands) > 1):
        return True
    return not (is_closed(function) or function in FALLIBLE) or any(map(is_count, operands))


def is_count(x: Any) -> bool:
    """Whether a value may be a number of elements, an axis, or an option such as `keepdims`."""
    kind = dtype_of(x).kind
    return kind in "iu" or (kind == "b" and not shape_of(x))


def may_raise(function: Callable[..., Any], operands: list[Any], answer: Any, reactions: Mapping[str, str]) -> bool:
    """Whether a call may raise an error for other values of its operands; if so, no replay may leave it out."""
    if "raise" in reactions.values():
        return True
    if function is operator.getitem or function is ITEM:
        return len(operands) > 1
    if function in POWERS and dtype_of(answer).kind in "iu":
        return True
    if int in map(type, operands) and function not in COMPARISONS and type(answer) is not int:
        return True  # a large integer fits into no float and no element of an array
    if function in SAFE or isinstance(function, np.ufunc):
        return False
    if function in OPERATORS:
        return not isinstance(answer, np.ndarray | np.generic)
    if isinstance(function, type):
        return not issubclass(function, float | np.inexact)
    return not is_closed(function) or any(map(is_count, operands))


def raised(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[type[Exception], str] | None:
    """The error that a call raises, and its text: the program may catch it, and look at both."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    return None


def has_function(x: Any) -> bool:
    """Whether there is a function in an argument."""
    if issubclass(type(x), list | tuple):
        return any(map(has_function, x))
    return callable(x) and not isinstance(x, type)


@cache
def _may_write(function: Callable[..., Any]) -> tuple[tuple[int, str], ...]:
    """The parameters by which a call may write to an argument, and which can be given by position: places and names."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return tuple([(place, name) for place, name in enumerate(names) if name in HARMLESS or name == "copy"])


def written_by(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """The option by which a call writes to an argument; None if it does not write."""
    options = list(kwargs.items())
    for place, name in reversed(_may_write(function)):
        if place < len(args):
            options.insert(0, (name, args[place]))
    for name, arg in options:
        if name in HARMLESS and arg is not HARMLESS[name]:
            return name
        if name == "copy" and function is getattr(np, "nan_to_num", None) and not arg:
            return name
    return None


def read_only(x: Any) -> Any:
    """A view of an array that cannot be written to."""
    view = x.view()
    view.flags.writeable = False
    return view


def again(x: Any) -> Any:
    """The same array. What is computed from it is not taken for what an earlier run has computed."""
    return x.view()


def as_it_is(x: Any) -> Any:
    """The value itself, as the answer to a question."""
    return x
