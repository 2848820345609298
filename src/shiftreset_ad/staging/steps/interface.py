"""Staged values have the attributes, methods and operators of NumPy's arrays and scalars, and of Python's floats.

A staged value has the attributes of its plain value, and raises the same errors for others. An attribute that shows the
memory of an array is refused.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Number as AnyNumber
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.array_api import Wrapped
from shiftreset_ad.array_api.torch import of_numbers
from shiftreset_ad.numbers.number import Number, has_number
from shiftreset_ad.rules.broadcasting import dtype_of
from shiftreset_ad.staging.steps.functions import (
    COMPARISONS,
    INFIX,
    PREFIX,
    as_it_is,
    as_pythons_number,
    attribute,
    method,
    written_by,
)
from shiftreset_ad.staging.steps.unwatched import unwatched
from shiftreset_ad.staging.steps.values import (
    SCALARS,
    USUAL,
    Staged,
    call,
    is_staged,
    staged_in,
    write,
    write_into,
)

OF_THE_LAYOUT = ("shape", "dtype", "ndim", "size", "strides", "itemsize", "nbytes", "device")
PARTS = ("T", "mT", "real", "imag", "numerator", "denominator")
METHODS = (
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "byteswap", "choose", "clip", "compress"),
    *("conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot", "flatten", "getfield", "max", "mean", "min"),
    *("nonzero", "prod", "ravel", "repeat", "reshape", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes"),
    *("take", "to_device", "trace", "transpose", "var", "view"),
)
QUESTIONS = (*("is_integer", "as_integer_ratio", "hex", "bit_length", "bit_count", "to_bytes", "tobytes", "dumps"),)
WRITING = ("fill", "partition", "put", "sort")
REFUSED = ("resize", "setfield", "setflags")
OPERANDS = (*SCALARS, ndarray, list, tuple)


def _had(look_up: Callable[[Staged], Any], name: str, statement: str) -> property:
    """A property that staged values have if their plain value has it."""

    def found(self: Staged) -> Any:
        getattr(self.inside, name)  # raises the error of the plain value
        return look_up(self)

    return _read_only(found, name, statement)


def _read_only(look_up: Callable[[Staged], Any], name: str, statement: str) -> property:
    return property(
        look_up, lambda self, new: self.refuse_writing(statement), doc=f"The attribute `{name}` of the plain value."
    )


def _of_the_layout(name: str) -> property:
    return _read_only(operator.attrgetter(f"inside.{name}"), name, f"x.{name} = v")


def _part(name: str) -> property:
    return _had(lambda self: call(attribute(name), (self,)), name, f"x.{name} = v")


def _method(name: str, operate: Callable[..., Any]) -> property:
    return _had(lambda self: partial(operate, self, name), name, f"x.{name} = v")


def _call_method(self: Staged, name: str, *args: Any, **kwargs: Any) -> Any:
    function: Any = getattr(np, name, None)
    if has_number(args) or has_number(list(kwargs.values())):
        return function(self, *args, **kwargs)
    if kwargs.get("out") is not None:
        return write_into([kwargs.pop("out")], method(name), (self, *args), kwargs)
    option = written_by(function or method(name), (self, *args), kwargs)
    if option is not None or (name == "byteswap" and (args or kwargs)):
        self.refuse_writing(f"x.{name}(..., {option or 'inplace'}=...)")
    kwargs.pop("out", None)
    return call(method(name), (self, *args), kwargs)


def _ask_method(self: Staged, name: str, *args: Any, **kwargs: Any) -> Any:
    return self.answer(method(name), *args, **kwargs)


def _write_by_method(self: Staged, name: str, *args: Any, **kwargs: Any) -> None:
    write(method(name), self, *args, **kwargs)


def _refuse_method(self: Staged, name: str, *args: Any, **kwargs: Any) -> Any:
    self.refuse_writing(f"x.{name}(...)")


def _item(self: Staged, *index: Any) -> Any:
    """The element, as for NumPy's arrays; the item of a Python number is the number itself."""
    if not isinstance(self.inside, ndarray | np.generic):
        return self
    if not index and not np.shape(self.inside):  # in another round it may be a number of Python's, without a method
        return call(as_pythons_number, (self,))
    return call(method("item"), (self, *index))


def _tolist(self: Staged) -> Any:
    return [part.tolist() for part in _iter(self)] if np.shape(self.inside) else self.item()


def _flat(self: Staged) -> Any:
    """The elements one after the other: a copy, so the program must not write to it."""
    elements = call(method("flatten"), (self,))
    self._trace.protect(elements.inside, "is x.flat", "Write x[i] = v")
    return elements


def _getattr(self: Staged, name: str) -> Any:
    if not name.startswith("__"):
        getattr(self.inside, name)
        self._trace.refuse(f"x.{name} is not staged: it may show the memory of the array. Use NumPy's functions on x")
    raise AttributeError(f"{type(self.inside).__name__!r} object has no attribute {name!r}, as far as it is staged")


@unwatched
def item_of(x: Any, index: Any) -> Any:
    """`x[index]`, where the array, or a part of the index, is staged."""
    parts: Any = index if type(index) is tuple else (index,)
    # A staged integer selects one element. How many a mask or a slice selects depends on values.
    picks = any(is_staged(p) and (type(p) is not Staged or dtype_of(p.inside).kind not in "iu") for p in parts)
    if picks and (found := staged_in([part for part in parts if type(part) is slice])):
        found[0]._trace.is_asked = True  # a loop over `x[:n]` can be written down
    return call(operator.getitem, (x, index), open_ended=picks)


def _len(self: Staged) -> int:
    return len(self.inside)


def _iter(self: Staged) -> Iterator[Any]:
    """The elements or rows, each as it is when it is asked for: the program may write to later ones."""
    iter(self.inside)  # raises what the value raises
    return map(partial(item_of, self), range(len(self.inside)))


def _contains(self: Staged, item: Any) -> bool:
    if not isinstance(self.inside, ndarray):
        return operator.contains(self.inside, item)  # raises an error
    return bool(np.any(self == item))


def _copy(self: Staged, memo: Any = None) -> Any:
    return call(method("__copy__"), (self,)) if isinstance(self.inside, ndarray) else self


def _reduce(self: Staged, protocol: Any) -> Any:
    return as_it_is, (self.answer(as_it_is),)


def _repr(self: Staged) -> str:
    if not self._trace.is_open:
        return "<a value of a staged function that has returned>"
    return str(self.answer(repr))


for _name in OF_THE_LAYOUT:
    setattr(Staged, _name, _of_the_layout(_name))
for _name in PARTS:
    setattr(Staged, _name, _part(_name))
for _name in METHODS:
    setattr(Staged, _name, _method(_name, _call_method))
for _name in QUESTIONS:
    setattr(Staged, _name, _method(_name, _ask_method))
for _name in WRITING:
    setattr(Staged, _name, _method(_name, _write_by_method))
for _name in REFUSED:
    setattr(Staged, _name, _method(_name, _refuse_method))
for _question in (bool, float, int, complex, hash, str, format, operator.index):
    setattr(Staged, f"__{_question.__name__}__", lambda self, *args, question=_question: self.answer(question, *args))
for _name, _function in {
    "item": _item,
    "tolist": _tolist,
    "flat": property(_flat, lambda self, new: self.refuse_writing("x.flat = v")),
    "__getattr__": _getattr,
    "__getitem__": item_of,
    "__len__": _len,
    "__iter__": _iter,
    "__contains__": _contains,
    "__copy__": _copy,
    "__deepcopy__": _copy,
    "__reduce_ex__": _reduce,
    "__repr__": _repr,
}.items():
    setattr(Staged, _name, _function)


# Python's operators. On Python's floats they are Python's own, and raise the same errors.


def _takes(self: Staged, other: Any) -> bool:
    """Whether the staged value carries out an operation with `other`."""
    if issubclass(type(other), Number | Wrapped):
        return False
    if isinstance(other, list | tuple) and not isinstance(self.inside, ndarray | np.generic):
        return False  # Python repeats the list, and asks the value how often
    if isinstance(other, OPERANDS):
        return not has_number(other)
    if not isinstance(self.inside, ndarray | np.generic):
        return isinstance(other, AnyNumber)  # as fractions are
    if other is None or isinstance(other, AnyNumber | str | bytes):
        return True
    # NumPy takes any other object for an element of an array.
    if isinstance(self.inside, ndarray) and not hasattr(other, "__array_ufunc__"):
        self._trace.refuse(f"it computes with an array and a {type(other).__name__}")
    return False


def _binary(function: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def operate(self: Staged, other: Any) -> Any:
        if type(other) in USUAL or _takes(self, other):
            return call(function, (self, other))
        return NotImplemented

    def reflected(self: Staged, other: Any) -> Any:
        kind = type(other)
        if kind is float or kind is int or _takes(self, other):
            return call(function, (other, self))
        return NotImplemented

    return operate, reflected


def _in_place(operate: Callable[[Staged, Any], Any], name: str) -> Callable[[Staged, Any], Any]:
    function = getattr(operator, name)

    def in_place(self: Staged, other: Any) -> Any:
        if not isinstance(self.inside, ndarray):
            return operate(self, other)
        if type(other) is not Staged and not _takes(self, other):
            return NotImplemented
        write(function, self, other)
        return self

    return in_place


_operators: tuple[Any, ...] = (*INFIX, divmod)
for _operator in _operators:
    _name = _operator.__name__.strip("_")
    _operate, _reflected = _binary(_operator)
    setattr(Staged, f"__{_name}__", _operate)
    if _operator not in COMPARISONS:
        setattr(Staged, f"__r{_name}__", _reflected)
        if _operator is not divmod:
            setattr(Staged, f"__i{_name}__", _in_place(_operate, f"__i{_name}__"))
for _function in (*PREFIX, operator.abs, math.trunc, math.floor, math.ceil, round):
    setattr(
        Staged,
        f"__{_function.__name__}__",
        lambda self, *options, function=_function: call(function, (self, *options)),
    )


def _of_torch(cls: type, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The answer of a function of PyTorch's own, by NumPy's function with the same meaning."""
    return of_numbers(function, args, kwargs or {})


Staged.__torch_function__ = classmethod(_of_torch)  # type: ignore[attr-defined]
