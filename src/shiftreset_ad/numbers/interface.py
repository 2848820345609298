"""The interface of a number: Python's operators, and NumPy's protocols, attributes and methods.

This file only says *what* the program asks. `dispatch` looks up the rule, and the kind of number does the rest.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, cast

import numpy as np

from shiftreset_ad.array_api import Wrapped, is_foreign
from shiftreset_ad.array_api.libraries import is_sparse
from shiftreset_ad.array_api.torch import of_numbers
from shiftreset_ad.numbers.classes import class_for_isinstance
from shiftreset_ad.numbers.dispatch import (
    call,
    call_ufunc,
    call_unusual,
    call_usual,
    call_with,
    has_array,
    position_of_out,
)
from shiftreset_ad.numbers.memory import protect, read
from shiftreset_ad.numbers.methods import give_methods, with_named_out
from shiftreset_ad.numbers.number import Number, is_open, map_numbers, plain_value
from shiftreset_ad.numbers.object_arrays import (
    MEANS,
    as_object,
    gathered_in,
    is_asked_by_assertion,
    is_asked_by_concatenator,
    may_have_objects,
    of_elements,
    on_objects,
    require_real,
    require_unmasked,
    writes_into_objects,
)
from shiftreset_ad.numbers.refusals import refuse
from shiftreset_ad.numbers.remedies import BUILD
from shiftreset_ad.numbers.sparse import LEAVING_IT_TO_US, asked_by_sparse, matmul
from shiftreset_ad.numbers.tags import EscapedNumberError
from shiftreset_ad.numbers.writing import at, fill, function_into, in_place, partition, set_item, sort, ufunc_into
from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.rules.building import OBJECT, SEQUENCES, array, gathered, is_of_objects
from shiftreset_ad.rules.layouts import lies_in
from shiftreset_ad.rules.numpy.choosing import CLIP
from shiftreset_ad.rules.numpy.shapes import astype

ARRAYS = (Number, np.ndarray, Wrapped, list, tuple)
_REMEDY_FOR_ARRAYS = f"{BUILD} (x is an array already, so numpy.asarray(x) can be left out)"


class ArrayNumber(Number):
    """A number with the interface of a Python float and of a NumPy array."""

    __slots__ = ()
    __array_priority__ = 1000.0
    __pandas_priority__ = 10_000  # tables of pandas leave operators to numbers

    __class__ = property(class_for_isinstance)

    # NumPy's protocols (NEP 13 and NEP 18)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            operation = self.operations.get(ufunc)
            if operation is not None:
                return operation(*inputs)
            answer = call_usual(ufunc, inputs, kwargs)
            if answer is not NotImplemented:
                return answer
        if method == "at":
            return at(ufunc, *inputs)
        if is_of_objects(kwargs.get("out", (None,))[0]):
            return on_objects(getattr(ufunc, method), inputs, kwargs)
        if may_have_objects(inputs):
            inputs = tuple(map(gathered_in, inputs))
        if ufunc is CLIP and method == "__call__":
            return np.clip(*inputs, **{**kwargs, "out": kwargs.get("out", (None,))[0]})
        if kwargs.get("out") is not None:
            return ufunc_into(ufunc, method, inputs, kwargs)
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        answer = call_usual(function, args, kwargs)
        if answer is not NotImplemented:
            return answer
        if len(types) > 1 and (may_have_objects(args) or may_have_objects(kwargs.values())):
            if writes_into_objects(function, args):
                return on_objects(function, args, kwargs)
            args = tuple(map(gathered_in, args))
            kwargs = {name: gathered_in(argument) for name, argument in kwargs.items()}
        if len(args) > position_of_out(function):
            args, kwargs = with_named_out(function, args, kwargs)
        if kwargs and kwargs.get("out") is not None:
            return function_into(function, args, kwargs)
        return call_unusual(function, args, kwargs)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        """NumPy's functions, whatever library the array belongs to."""
        return np

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return of_numbers(function, args, kwargs or {})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if is_asked_by_assertion():
            return np.array(read(self), dtype)
        if not is_open(self):
            self.tag.require_open()
        if copy is False:
            raise ValueError("numpy.asarray(x, copy=False): a number that is being differentiated must be copied")
        require_unmasked()
        if (asker := asked_by_sparse()) in LEAVING_IT_TO_US:
            return as_object(self)
        if asker == "dot" and self.shape:  # a matrix of coordinates uses x itself if the answer is any array
            return as_object(self)[None]
        is_scalar = not self.shape and asker is None
        if is_scalar or is_asked_by_concatenator() if dtype is None else np.dtype(dtype) is OBJECT:
            require_real(self)
            if not self.shape and has_array(self):  # NumPy takes a number in a list itself, without a copy
                protect(self.tag, self, "is also in an array of objects, which numpy.array made (numpy.stack copies)")
            return of_elements(self)
        raise refuse("numpy.array, numpy.asarray, or a function that calls them,", _REMEDY_FOR_ARRAYS)

    # Conversions that would turn the number into a constant

    def refuse_conversion(self, conversion: str, remedy: str) -> NoReturn:
        """Raise the error for a conversion, TypeError while the number is being differentiated."""
        if not is_open(self):
            self.tag.require_open()
        raise refuse(conversion, remedy)

    def __float__(self) -> float:
        if not is_asked_by_assertion():
            self.refuse_conversion(
                "float(x), or what calls float(x), such as the math module and a[i] = x on a plain array,",
                "NumPy's functions, numpy.sin(x) for math.sin(x), numpy.stack to build an array",
            )
        return float(read(self))

    def __int__(self) -> NoReturn:
        self.refuse_conversion("int(x)", "numpy.trunc(x), or int(shiftreset_ad.value(x)) for a count")

    def __complex__(self) -> NoReturn:
        self.refuse_conversion(
            "complex(x), or a function of the cmath module,",
            "NumPy's functions, numpy.exp(x) for cmath.exp(x), numpy.stack to build an array",
        )

    def __index__(self) -> NoReturn:
        raise TypeError(
            f"a {type(plain_value(self)).__name__} cannot be interpreted as an integer (an index, a size, a count); "
            "where one is meant, use int(shiftreset_ad.value(x))"
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__}: a number that is being differentiated cannot be pickled or sent to another "
            "process; call grad there, or send shiftreset_ad.value(x)"
        )

    def __copy__(self: Any) -> Any:
        if not self.tag.is_open:
            return self
        return np.copy(self) if has_array(self) else +self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.__copy__()

    # Questions about the value. The answers are ordinary values, and are given after the end of the derivative, too.

    def constant(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return function(
            *(map_numbers(read, arg) for arg in args), **{name: map_numbers(read, arg) for name, arg in kwargs.items()}
        )

    def __bool__(self) -> bool:
        return bool(read(self))

    __hash__ = object.__hash__  # with a hash by value, a cache would mix up numbers

    def __len__(self) -> int:
        return len(plain_value(self))

    def __contains__(self, item: Any) -> bool:
        return read(item) in read(self)

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(read(self)) if ndigits is None else round(read(self), ndigits)

    def __trunc__(self) -> Any:
        return math.trunc(read(self))

    def __floor__(self) -> Any:
        return math.floor(read(self))

    def __ceil__(self) -> Any:
        return math.ceil(read(self))

    def is_integer(self) -> bool:
        """Whether the value of a scalar is a whole number."""
        return bool(read(self).is_integer())

    def __floordiv__(self, other: Any) -> Any:
        return read(self) // read(other)

    def __rfloordiv__(self, other: Any) -> Any:
        return read(other) // read(self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __eq__(self, other: Any) -> Any:
        return read(self) == read(other)

    def __ne__(self, other: Any) -> Any:
        return read(self) != read(other)

    def __lt__(self, other: Any) -> Any:
        return read(self) < read(other)

    def __le__(self, other: Any) -> Any:
        return read(self) <= read(other)

    def __gt__(self, other: Any) -> Any:
        return read(self) > read(other)

    def __ge__(self, other: Any) -> Any:
        return read(self) >= read(other)

    def __repr__(self) -> str:
        try:
            said = repr(read(self))
        except EscapedNumberError:
            said = "no value any longer"
        return f"{type(self).__name__}({said}, level={self.tag.level})"

    def __format__(self, spec: str) -> str:
        return format(read(self), spec) if spec else repr(self)

    # Arrays

    @property
    def shape(self) -> tuple[int, ...]:
        """As of the value."""
        primal = self.primal
        if type(primal) is not np.ndarray and issubclass(type(primal), Number) and primal.has_one_value:
            primal = primal.inside  # the usual number below, without a call
        return primal.shape if type(primal) is np.ndarray else shape_of(primal)

    @shape.setter
    def shape(self, shape: Any) -> NoReturn:
        raise AttributeError(
            "x.shape = shape: the shape of a number that is being differentiated cannot be set. Write "
            "x = x.reshape(shape)"
        )

    @property
    def dtype(self) -> Any:
        """As of the value; AttributeError where `numpy.mean` of a list asks, as it would convert its answer."""
        if sys._getframe(1).f_code in MEANS:
            raise AttributeError("dtype")
        return dtype_of(self.primal)

    ndim = property(lambda self: len(self.shape), doc="As of the value.")
    size = property(lambda self: math.prod(self.shape), doc="As of the value.")
    itemsize = property(lambda self: self.dtype.itemsize, doc="As of the value.")
    nbytes = property(lambda self: self.size * self.itemsize, doc="As of the value.")
    T = property(lambda self: np.transpose(self), doc="`numpy.transpose(x)`.")
    mT = property(lambda self: np.matrix_transpose(self), doc="`numpy.matrix_transpose(x)`.")  # noqa: N815 (NumPy's name)

    @property
    def real(self) -> Any:
        """`numpy.real(x)`."""
        return np.real(cast(Any, self))

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        """`numpy.imag(x)`."""
        return np.imag(cast(Any, self))

    @imag.setter
    def imag(self, value: Any) -> NoReturn:
        raise AttributeError(
            "x.imag = v: the imaginary part of a number that is being differentiated cannot be set by itself. Write "
            "x[...] = x.real + 1j * v"
        )

    def __matmul__(self, other: Any) -> Any:
        if _is_array(other):
            return call_with(np.matmul, (self, _as_array(other)), {})
        return matmul(self, other) if is_sparse(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        if _is_array(other):
            return call_with(np.matmul, (_as_array(other), self), {})
        return matmul(other, self) if is_sparse(other) else NotImplemented

    __imatmul__ = in_place(__matmul__, "@")
    __ifloordiv__ = in_place(__floordiv__, "//")

    def __getitem__(self, index: Any) -> Any:
        if not self.shape:  # a scalar takes (), ... and None, as a NumPy scalar does
            rest = index if isinstance(index, tuple) else (index,)
            return call(operator.getitem, np.reshape(self, (1,)), (0, *rest))
        return call(operator.getitem, self, index)

    def __setitem__(self, index: Any, item: Any) -> None:
        set_item(self, index, item)

    fill, sort, partition = fill, sort, partition

    def __iter__(self) -> Iterator[Any]:
        iter(plain_value(self))  # raises what the value raises
        return (self[i] for i in range(len(self)))

    def conjugate(self) -> Any:
        """`numpy.conjugate(x)`, but an array of real numbers is returned itself."""
        return np.conjugate(self) if is_complex(self) else self

    conj = conjugate

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """`numpy.reshape(x, shape)`; the sizes may be given one by one."""
        options = {} if copy is None else {"copy": copy}
        return call_with(np.reshape, (self, shape[0] if len(shape) == 1 else shape, order), options)

    def transpose(self, *axes: Any) -> Any:
        """`numpy.transpose(x, axes)`; the axes may be given one by one."""
        return np.transpose(self, (axes[0] if len(axes) == 1 else axes) if axes else None)

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The same values in another precision; integers and booleans are constants."""
        if not np.issubdtype(dtype, np.inexact):
            return read(self).astype(dtype, order, casting, subok, copy)
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {np.dtype(dtype)!r} according to the rule {casting!r}"
            )
        if not copy and self.dtype == dtype and (order == "K" or lies_in(self, order)):
            return self
        converted = astype(self, dtype)
        return converted.copy(order) if order in "CF" else converted

    def item(self, *index: Any) -> Any:
        """One element as a scalar number in double precision: the only element, or the element at `index`."""
        plain = plain_value(self)
        (plain if isinstance(plain, Wrapped) else np.asarray(plain)).item(*index)  # raises what the value raises
        position = index[0] if len(index) == 1 else index
        if not isinstance(position, tuple):
            position = np.unravel_index(position % self.size, self.shape)
        element = self[position or (0,) * self.ndim] if isinstance(plain, np.ndarray | Wrapped) else self
        double = np.promote_types(self.dtype, np.float64)
        return element if self.dtype == double else astype(element, double)

    def tolist(self) -> Any:
        """Nested lists of numbers."""
        return [row.tolist() for row in self] if self.shape else self.item()

    def copy(self: Any, order: str = "C") -> Any:
        """`numpy.copy(x, order)`, but in C order unless `order` says otherwise, and a scalar for a scalar."""
        return call(np.copy, self, order=order) if self.shape or has_array(self) else +self

    def flatten(self, order: str = "C") -> Any:
        """`numpy.ravel(x)`, always a copy."""
        return call(np.copy, call(np.ravel, self, order))


def _is_array(x: Any) -> bool:
    return issubclass(type(x), ARRAYS) or is_foreign(x)


def _as_array(x: Any) -> Any:
    return array(x) if type(x) in SEQUENCES else gathered(x)


give_methods(ArrayNumber)
