"""The values that a staged function computes with: each has a plain value, and records each operation on it.

Numbers that are being differentiated hold staged values as they hold arrays. The rules call NumPy's functions on staged
values, and NumPy hands these calls on to this module (NEP 13, NEP 18). So the recorded steps of a derivative are its
arithmetic alone, without the numbers, the tables and the control.
"""

from __future__ import annotations

import operator
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Number as AnyNumber
from types import EllipsisType, NoneType
from typing import Any, NoReturn

import numpy as np
from numpy import ndarray

from shiftreset_ad.array_api import Wrapped
from shiftreset_ad.control.frames import is_of_a_library
from shiftreset_ad.numbers.floating_errors import in_silence, without_warnings
from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules import COMPOSITE
from shiftreset_ad.rules.stand_ins import StagedValue
from shiftreset_ad.staging.steps.examples import NO_EXAMPLE, example
from shiftreset_ad.staging.steps.functions import (
    NEVER_OPEN_ENDED,
    OF_PARTS,
    OF_SCALARS,
    OF_THE_MEMORY,
    TO_FILES,
    WITHOUT_VALUES,
    WRITING,
    Into,
    again,
    has_function,
    is_open_ended,
    is_operator,
    method,
    name_in_program,
    raised,
    read_only,
    written_by,
)
from shiftreset_ad.staging.steps.trace import NOTHING, Step, Trace
from shiftreset_ad.staging.steps.unwatched import unwatched

IS_SCALAR = np.isscalar.__code__
OF_ABSTRACT = ABCMeta.__instancecheck__.__code__  # `isinstance` of an abstract class runs this code
SEQUENCES = (list, tuple)
SCALARS = (float, int, complex, np.generic)
KNOWN_WHOLE = (str, bytes, NoneType, np.dtype, type)  # the program knows such an answer, which no step computes with
CONSTANTS = (*SCALARS, *KNOWN_WHOLE, AnyNumber, EllipsisType, type(np._NoValue), range)
KEPT = (*CONSTANTS, np.ufunc)
LARGE = 1000  # elements; to keep a smaller array takes less time than to compute it again


class Staged(Wrapped, StagedValue):
    """The value at a place of a trace. `interface` adds the other attributes and methods of arrays and scalars."""

    __slots__ = ("_place", "_trace", "inside")
    inside: Any  # the plain value. Only its type and its layout may be read; to read more is a question

    def __init__(self, trace: Trace, place: int) -> None:
        self._trace = trace
        self._place = place
        self.inside = trace.values[place]

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # The user's `isinstance` gets the class of the plain value.
        frame = sys._getframe(1)
        code = frame.f_back.f_code if frame.f_code is OF_ABSTRACT and frame.f_back is not None else frame.f_code
        return Staged if is_of_a_library(code) and code is not IS_SCALAR else type(self.inside)

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, name: str, *inputs: Any, **kwargs: Any) -> Any:
        if not kwargs and name == "__call__" and USUAL.issuperset(map(type, inputs)):  # for speed
            return call(ufunc, inputs)
        outs = [out for out in kwargs.get("out", ()) if out is not None]
        if has_number(inputs) or has_number(outs):
            return NotImplemented
        kwargs.pop("out", None)
        function: Any = ufunc if name == "__call__" else getattr(ufunc, name)
        if isinstance(inputs[0], np.generic) and not isinstance(self.inside, ndarray) and is_operator(sys._getframe(1)):
            function = OF_SCALARS.get(ufunc, ufunc)  # NumPy's scalars compute by other code than its ufuncs
        if outs and len(outs) < ufunc.nout:
            self._trace.refuse(f"{name_in_program(ufunc)}(..., out=...) for some of the answers is not staged")
        if name == "at":
            return write(function, *inputs)
        if outs:
            return write_into(outs, function, inputs, kwargs)
        return call(function, inputs, kwargs, True if name == "reduceat" else None)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        for part in (*args, *kwargs.values()):
            kind = type(part)
            if kind not in QUIET and not (kind is tuple and QUIET.issuperset(map(type, part))):
                return self._answer_to(function, args, kwargs)
        return self._answer_without_watch(function, args, kwargs)

    def _answer_to(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if has_number(args) or (kwargs and has_number(list(kwargs.values()))):
            return NotImplemented
        if function in WITHOUT_VALUES and not (function is np.size and is_staged([*args[1:], *kwargs.values()])):
            return on_plain(function, args, kwargs)
        if function is np.empty_like:  # any elements will do
            function = np.zeros_like
        if function in OF_THE_MEMORY:
            self._trace.refuse(f"{name_in_program(function)} looks at the memory of an array. Decide it outside")
        if function in WRITING:
            if not args:
                self.refuse_writing(f"{name_in_program(function)}({next(iter(kwargs))}=...)")
            return write(function, *args, **kwargs)
        if (option := written_by(function, args, kwargs)) is not None:
            if option == "out" and kwargs.get("out") is not None:
                return write_into([kwargs.pop("out")], function, args, kwargs)
            self.refuse_writing(f"{name_in_program(function)}(..., {option}=...)")
        if function in TO_FILES:
            statement = f"{name_in_program(function)} writes to a file"
            self._trace.refuse(f"{statement}. Return the values, and write them outside")
        gives_parts = function in OF_PARTS and not is_staged([*args[1:], *kwargs.values()])
        if function in COMPOSITE and (gives_parts or has_function((*args, *kwargs.values()))):
            return COMPOSITE[function](*args, **kwargs)
        kwargs.pop("out", None)
        return call(function, args, kwargs)

    _answer_without_watch = unwatched(_answer_to)  # for arguments that have no code of the user's

    # Writing in place

    def __setitem__(self, index: Any, item: Any) -> None:
        write(operator.setitem, self, index, item)

    def refuse_writing(self, statement: str) -> NoReturn:
        self._trace.refuse(f"{statement} is not staged. Write x[i] = v, or make a new array")

    def adopt(self, array: Any) -> Any:
        """A plain array as a value of the same trace, to write to. The caller gives the array away."""
        return adopted(self._trace, array)

    @property
    def is_in_block(self) -> bool:
        return self._trace.block is not self._trace.root

    @property
    def is_under_control(self) -> bool:
        return self.is_in_block or self._trace.has_control

    def frozen(self) -> Any:
        """The value itself. From here on, writing to it is refused."""
        self._trace.protect(self.inside, "is needed as it is by an operation, as a constant")
        return self

    def read_only(self) -> Any:
        """A view of an array that cannot be written to."""
        return call(read_only, (self,))

    def again(self) -> Any:
        is_large = type(self.inside) is ndarray and self.inside.size > LARGE
        return call(again, (self,), open_ended=False) if is_large else self

    def of_type_of(self, x: Any) -> Any:
        """The value converted to the type of x, for the user to keep: the derivative of a constant, for example."""
        kind = type(x)
        if kind is ndarray:
            return in_the_order_of_c(self) if type(self.inside) is ndarray else call(np.array, (self,))
        return self if self._is_surely(kind) else call(kind, (self,))

    def own(self, derivative: Any) -> Any:
        kind = type(self.inside)
        if kind is ndarray:
            return np.zeros(self.shape, self.dtype) if derivative is None else in_the_order_of_c(derivative)
        if type(derivative) is Staged:
            return derivative if derivative._is_surely(kind) else call(kind, (derivative,))
        if derivative is None or isinstance(derivative, (*SCALARS, ndarray)):
            return kind(derivative or 0.0)
        return derivative  # a number of another derivative

    def _is_surely(self, kind: type) -> bool:
        """Whether the value is of this type in each replay: another round or branch may give a float of NumPy's."""
        return type(self.inside) is kind and not self._trace.has_control

    # Questions: the program knows the answer, and may do something else for another answer.

    def answer(self, question: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The answer to `question`. From here on, the steps hold for this answer only."""
        return call(question, (self, *args), kwargs, is_question=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = self.answer(np.array)
        if dtype is not None and dtype != found.dtype:
            return found.astype(dtype)
        if type(self.inside) is ndarray and not copy:
            # The program expects the same array, and to see in one what it writes to the other.
            found.flags.writeable = False
            self._trace.share(self.inside, "has been looked at, as by numpy.asarray(x)")
        return found


USUAL = {Staged, float, int, ndarray}  # the types of operands that leave a call to a staged value
QUIET = {*USUAL, bool, np.float64, NoneType, str, type(np._NoValue)}  # no code of the user's belongs to these types


def in_the_order_of_c(x: Any) -> Any:
    """A copy in the order of C. A copy without a stated order can be left out where nothing else uses `x`."""
    plain = unstaged(x)
    return np.copy(x) if type(plain) is ndarray and plain.flags.c_contiguous else np.copy(x, order="C")


def unstaged(x: Any) -> Any:
    """An argument with plain values in place of the staged ones."""
    kind = type(x)
    if kind is Staged:
        return x.inside
    if kind is list or kind is tuple:
        return kind(map(unstaged, x))
    return slice(unstaged(x.start), unstaged(x.stop), unstaged(x.step)) if kind is slice else x


def on_plain(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The answer of a function to these arguments with plain values in place of the staged ones."""
    plain = [x.inside if type(x) is Staged else unstaged(x) for x in args]
    return function(*plain, **{name: unstaged(arg) for name, arg in kwargs.items()}) if kwargs else function(*plain)


def staged_in(x: Any) -> list[Staged]:
    """The staged values in an argument."""
    found: list[Staged] = []
    kind = type(x)
    _collect(x if kind is tuple or kind is list else (x,), found)
    return found


def _collect(parts: Iterable[Any], found: list[Staged]) -> None:
    for part in parts:
        kind = type(part)
        if kind is Staged:
            found.append(part)
        elif kind is slice:
            _collect((part.start, part.stop, part.step), found)
        elif kind is not float and kind is not int and issubclass(kind, SEQUENCES):
            _collect(part, found)


def is_staged(x: Any) -> bool:
    """Whether there is a staged value in an argument."""
    return bool(staged_in(x))


def kept(x: Any, trace: Trace) -> Any:
    """An argument as it is now."""
    kind = type(x)
    if kind is Staged:
        if x._trace is not trace:
            x._trace.require_open()
            trace.refuse("it computes with a value of another staged function")
        if trace.is_forgotten(x._place):
            trace.refuse("a value of a loop or of a branch is used outside of it")
        trace.require_last(x.inside)
        return x
    if kind is float or kind is int:
        return x
    if kind is ndarray or kind is np.memmap:
        return trace.constant(x)
    if kind is slice:
        return slice(kept(x.start, trace), kept(x.stop, trace), kept(x.step, trace))
    if issubclass(kind, SEQUENCES):
        return (list if issubclass(kind, list) else tuple)([kept(part, trace) for part in x])
    if isinstance(x, KEPT):
        return x
    if callable(x) and (getattr(x, "__module__", None) or "").partition(".")[0] in ("shiftreset_ad", "numpy"):
        return x
    return trace.refuse(f"it calls a function with a {kind.__name__}")


@unwatched
def call(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] = NOTHING,
    open_ended: bool | None = None,
    is_question: bool = False,
) -> Any:
    """Call a function with staged values among its arguments, and record the call.

    The caller may know whether the answer is `open_ended`. If the program knows the answer, the call is a question.
    """
    operands: list[Staged] = []
    plain: list[Any] = []
    is_usual = not kwargs
    for arg in args:
        kind = type(arg)
        if kind is Staged:
            operands.append(arg)
            plain.append(arg.inside)
        elif kind is float or kind is int:
            plain.append(arg)
        else:
            is_usual = False
            break
    if not is_usual:
        operands = staged_in((*args, *kwargs.values()) if kwargs else args)
    trace = operands[0]._trace
    if not is_usual or trace.outdated or not trace.is_ready_for(operands):
        trace.require_open()
        args = tuple([kept(arg, trace) for arg in args])
        kwargs = {name: kept(arg, trace) for name, arg in kwargs.items()}
    try:
        if trace.is_quiet:
            has_elements = all(np.size(x.inside) for x in operands)
            answer = (without_warnings if has_elements else in_silence)(on_plain, function, args, kwargs)
        else:
            answer = function(*plain) if is_usual else on_plain(function, args, kwargs)
    except Exception as error:
        answer = example(trace, function, args, unstaged(args), error) if not kwargs else NO_EXAMPLE
        if answer is NO_EXAMPLE:
            trace.ask(raised, (function, *args), kwargs, (type(error), str(error)))  # which the program may catch
            raise
    if is_question or isinstance(answer, KNOWN_WHOLE):
        trace.ask(function, args, kwargs or NOTHING, answer)
        return answer
    step = trace.add(function, args, kwargs or NOTHING, answer)
    if open_ended is None and function not in NEVER_OPEN_ENDED:
        open_ended = is_open_ended(function, args, [operand.inside for operand in operands], answer)
    step.open_ended, step.operands = bool(open_ended), operands
    if type(answer) in (float, np.float64):  # the usual case, for speed
        return Staged(trace, step.place)
    return _staged(trace, function, step, answer)


@unwatched
def adopted(trace: Trace, array: Any) -> Staged:
    """A plain array as a value of this trace, to write to. The caller gives the array away."""
    trace.require_open()
    return Staged(trace, trace.add(method("copy"), (trace.constant(array), "K"), NOTHING, array).place)


@unwatched
def write(function: Callable[..., Any], x: Any, *args: Any, **kwargs: Any) -> None:
    """Call a function that writes to its first argument, and record the call."""
    trace = staged_in((x, *args, *kwargs.values()))[0]._trace
    trace.require_open()
    if type(x) is not Staged:
        trace.refuse(
            f"{name_in_program(function)} writes staged values to a plain array. Make the array by "
            "numpy.zeros_like(x) or shiftreset_ad.zeros(shape)"
        )
    trace.require_writable(x.inside, name_in_program(function))
    args = tuple([kept(arg, trace) for arg in args])
    kwargs = {name: kept(arg, trace) for name, arg in kwargs.items()}
    try:
        on_plain(function, (x, *args), kwargs)
    except Exception as error:
        if not (trace.block is not trace.root and isinstance(error, IndexError) and is_staged(args[:1])):
            trace.ask(raised, (function, x, *args), kwargs, (type(error), str(error))).writes = True  # perhaps a part
            raise
    trace.add(function, (x, *args), kwargs, None).writes = True


def write_into(outs: list[Any], function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call a function with `out=`, and write its answers to these arrays."""
    if len(outs) == 1:
        write(Into(function), outs[0], *args, **kwargs)
        return outs[0]
    if "where" in kwargs:
        trace = staged_in([*outs, *args])[0]._trace
        trace.refuse(f"{name_in_program(function)}(..., out=(x, y), where=...) is not staged")
    for out, answer in zip(outs, call(function, args, kwargs), strict=True):
        write(np.copyto, out, answer)
    return tuple(outs)


def _staged(trace: Trace, function: Callable[..., Any], step: Step, answer: Any) -> Any:
    """The answer of a step; a structure has a step for each of its parts."""
    if type(answer) is ndarray or not isinstance(answer, SEQUENCES):
        _require_stageable(trace, function, answer)
        return Staged(trace, step.place)
    whole, parts = Staged(trace, step.place), []
    for i, part in enumerate(answer):
        reading = trace.add(operator.getitem, (whole, i), NOTHING, part)
        reading.open_ended = step.open_ended
        parts.append(_staged(trace, function, reading, part))
    return type(answer)(*parts) if hasattr(answer, "_fields") else type(answer)(parts)


def _require_stageable(trace: Trace, function: Callable[..., Any], answer: Any) -> None:
    kind = type(answer)
    if kind is ndarray and answer.dtype.hasobject:
        trace.refuse(f"{name_in_program(function)} gives an array of objects")
    if kind is not ndarray and not isinstance(answer, SCALARS):
        trace.refuse(f"{name_in_program(function)} gives a {kind.__name__}")
