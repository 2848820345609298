"""The interface of a number: Python's operators, and NumPy's protocols, attributes and methods.

Everything here only says *what* was asked; `dispatch` looks up its rule, and the kind of number does the rest.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from shiftreset_ad.adjoints import ZERO
from shiftreset_ad.dispatch import Number, call, call_ufunc, is_open, value
from shiftreset_ad.in_place import in_place
from shiftreset_ad.rules import ELEMENTWISE, Elementwise
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.shapes import astype

# Python's operators, as the elementwise function that has the rule and the one that computes the value: the latter
# keeps Python's own behaviour for floats, such as ZeroDivisionError.
BINARY_OPERATORS: dict[str, tuple[str, np.ufunc, Callable[[Any, Any], Any]]] = {
    "add": ("+", np.add, operator.add),
    "sub": ("-", np.subtract, operator.sub),
    "mul": ("*", np.multiply, operator.mul),
    "truediv": ("/", np.divide, operator.truediv),
    "mod": ("%", np.remainder, operator.mod),
    "pow": ("**", np.power, operator.pow),
}
UNARY_OPERATORS: dict[str, tuple[np.ufunc, Callable[[Any], Any]]] = {
    "neg": (np.negative, operator.neg),
    "pos": (np.positive, operator.pos),
    "abs": (np.absolute, operator.abs),
}
METHODS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(np, name)
        for name in ("sum", "mean", "prod", "max", "min", "var", "std", "cumsum", "ravel", "squeeze")
    },
    **{name: getattr(np, name) for name in ("swapaxes", "repeat", "diagonal", "trace", "dot", "clip", "copy", "round")},
    **{name: getattr(np, name) for name in ("all", "any", "argmax", "argmin", "argsort", "nonzero", "searchsorted")},
}


ARRAYS = (Number, np.ndarray, list, tuple)


class ArrayNumber(Number):
    """A number with the interface of a Python float and of a NumPy array."""

    __slots__ = ()
    __array_priority__ = 1000.0

    # NumPy's protocols (NEP 13 and NEP 18)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            operation = self.operations.get(ufunc)
            if operation is not None:
                return operation(*inputs)
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        return call(function, *args, **kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self.forbid_constant(
            "numpy.array, numpy.asarray, or a function that calls them,",
            "numpy.stack([x, y]) to build an array from numbers",
        )
        return np.array(value(self), dtype, copy=copy is not False)

    # Conversions that would turn the number into a constant

    def forbid_constant(self, function: str, remedy: str) -> None:
        """Raise TypeError, if the number is still being differentiated: its derivative would be lost silently."""
        if is_open(self):
            raise TypeError(
                f"{function} would turn a number that is being differentiated into a constant, and lose its "
                f"derivative. Use {remedy}, or shiftreset_ad.value(x) where a constant is meant"
            )

    def __float__(self) -> float:
        self.forbid_constant(
            "float(x), or what calls it, such as the math module and a[i] = x on a plain array,",
            "NumPy's functions, numpy.sin(x) for math.sin(x), numpy.stack to build an array",
        )
        return float(value(self))

    def __int__(self) -> int:
        self.forbid_constant("int(x)", "numpy.trunc(x)")
        return int(value(self))

    def __complex__(self) -> complex:
        self.forbid_constant("complex(x), or a function of the cmath module,", "NumPy's functions")
        return complex(value(self))

    def __index__(self) -> NoReturn:
        raise TypeError(
            f"a {type(value(self)).__name__} cannot be interpreted as an integer (an index, a size, a count); "
            "where one is meant, use int(shiftreset_ad.value(x))"
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__}: a number that is being differentiated cannot be pickled or sent to another "
            "process; call grad there, or send shiftreset_ad.value(x)"
        )

    def __copy__(self: Any) -> Any:
        return +self if self.tag.is_open else self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.__copy__()

    # Questions about the value, whose answer is an ordinary one

    def __bool__(self) -> bool:
        return bool(value(self))

    def __hash__(self) -> int:
        return hash(value(self))

    def __len__(self) -> int:
        return len(value(self))

    def __contains__(self, item: Any) -> bool:
        return value(item) in value(self)

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(value(self)) if ndigits is None else round(value(self), ndigits)

    def __trunc__(self) -> Any:
        return math.trunc(value(self))

    def __floor__(self) -> Any:
        return math.floor(value(self))

    def __ceil__(self) -> Any:
        return math.ceil(value(self))

    def is_integer(self) -> bool:
        """Whether the value of a scalar is a whole number."""
        return bool(value(self).is_integer())

    def __floordiv__(self, other: Any) -> Any:
        return value(self) // value(other)

    def __rfloordiv__(self, other: Any) -> Any:
        return value(other) // value(self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __eq__(self, other: Any) -> Any:
        return value(self) == value(other)

    def __ne__(self, other: Any) -> Any:
        return value(self) != value(other)

    def __lt__(self, other: Any) -> Any:
        return value(self) < value(other)

    def __le__(self, other: Any) -> Any:
        return value(self) <= value(other)

    def __gt__(self, other: Any) -> Any:
        return value(self) > value(other)

    def __ge__(self, other: Any) -> Any:
        return value(self) >= value(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({value(self)!r}, level={self.tag.level})"

    def __format__(self, spec: str) -> str:
        return format(value(self), spec) if spec else repr(self)

    # Arrays

    shape = property(lambda self: shape_of(self.primal), doc="As of the value.")
    dtype = property(lambda self: dtype_of(self.primal), doc="As of the value.")
    ndim = property(lambda self: len(self.shape), doc="As of the value.")
    size = property(lambda self: math.prod(self.shape), doc="As of the value.")
    itemsize = property(lambda self: self.dtype.itemsize, doc="As of the value.")
    nbytes = property(lambda self: self.size * self.itemsize, doc="As of the value.")
    T = property(lambda self: np.transpose(self), doc="`numpy.transpose(x)`.")
    mT = property(lambda self: np.matrix_transpose(self), doc="`numpy.matrix_transpose(x)`.")  # noqa: N815 (NumPy's name)
    real = property(lambda self: np.real(self), doc="`numpy.real(x)`.")
    imag = property(lambda self: np.imag(self), doc="`numpy.imag(x)`.")

    def __matmul__(self, other: Any) -> Any:
        return call(np.matmul, self, _as_array(other)) if isinstance(other, ARRAYS) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return call(np.matmul, _as_array(other), self) if isinstance(other, ARRAYS) else NotImplemented

    __imatmul__ = in_place(__matmul__, "@")
    __ifloordiv__ = in_place(__floordiv__, "//")

    def __getitem__(self, index: Any) -> Any:
        if not self.shape:  # a scalar takes (), ... and None, as NumPy's do
            rest = index if isinstance(index, tuple) else (index,)
            return call(operator.getitem, np.reshape(self, (1,)), (0, *rest))
        return call(operator.getitem, self, index)

    def __setitem__(self, index: Any, item: Any) -> NoReturn:
        raise TypeError(
            "x[i] = v: an array that is being differentiated cannot be written to. "
            "Use numpy.where(mask, v, x), or numpy.concatenate or numpy.stack to build it from parts"
        )

    def __iter__(self) -> Iterator[Any]:
        iter(value(self))  # raises what the value raises
        return (self[i] for i in range(len(self)))

    def conjugate(self) -> Any:
        """`numpy.conjugate(x)`."""
        return np.conjugate(self)

    conj = conjugate

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """`numpy.reshape(x, shape)`; the sizes may be given one by one."""
        return call(np.reshape, self, shape[0] if len(shape) == 1 else shape, order=order)

    def transpose(self, *axes: Any) -> Any:
        """`numpy.transpose(x, axes)`; the axes may be given one by one."""
        return np.transpose(self, (axes[0] if len(axes) == 1 else axes) if axes else None)

    def astype(self, dtype: Any) -> Any:
        """The same values in another precision; as integers or booleans they are constants."""
        return astype(self, dtype) if np.issubdtype(dtype, np.inexact) else value(self).astype(dtype)

    def item(self, *index: Any) -> Any:
        """One element, as a number without dimensions: the only one, or the one at `index`; in double precision."""
        np.asarray(value(self)).item(*index)  # raises what the value raises
        position = index[0] if len(index) == 1 else index
        if not isinstance(position, tuple):
            position = np.unravel_index(position % self.size, self.shape)
        element = self[position or (0,) * self.ndim] if isinstance(value(self), np.ndarray) else self
        double = np.promote_types(self.dtype, np.float64)
        return element if self.dtype == double else astype(element, double)

    def tolist(self) -> Any:
        """Nested lists of numbers."""
        return [part.tolist() for part in self] if self.shape else self.item()

    def flatten(self, order: str = "C") -> Any:
        """`numpy.ravel(x)`, always a copy."""
        return call(np.copy, call(np.ravel, self, order))


def _as_array(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, list | tuple) else x


def install_operators(
    kind: type[Number], operation: Callable[[Elementwise, Callable[..., Any]], Callable[..., Any]]
) -> None:
    """Give a class of numbers its operations: `operation(rule, function)` makes one from the rule's partials.

    They become the methods themselves, so that an operator costs one Python frame.
    """

    def reflected(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        return lambda self, other: operate(other, self)

    kind.operations = {function: operation(rule, function) for function, rule in ELEMENTWISE.items()}
    for name, (symbol, ufunc, python_operator) in BINARY_OPERATORS.items():
        operate = operation(ELEMENTWISE[ufunc], python_operator)
        setattr(kind, f"__{name}__", operate)
        setattr(kind, f"__r{name}__", reflected(operate))
        setattr(kind, f"__i{name}__", in_place(operate, symbol))

    def added_to(self: Number, other: Any) -> Any:
        return self if other is ZERO else operate_sum(other, self)  # the first contribution to an adjoint

    operate_sum = operation(ELEMENTWISE[np.add], operator.add)
    kind.__radd__ = added_to  # type: ignore[attr-defined]
    for name, (ufunc, python_function) in UNARY_OPERATORS.items():
        setattr(kind, f"__{name}__", operation(ELEMENTWISE[ufunc], python_function))


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: ArrayNumber, *args: Any, **kwargs: Any) -> Any:
        return call(function, self, *args, **kwargs)

    method.__doc__ = f"`numpy.{function.__name__}(x, ...)`."
    return method


for _name, _function in METHODS.items():
    setattr(ArrayNumber, _name, _method(_function))


def _missing(name: str) -> property:
    def refuse(self: ArrayNumber) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} has no attribute {name!r}, which floats or arrays have, because it has no "
            "derivative rule; shiftreset_ad.value(x) gives the plain one"
        )

    return property(refuse, doc="Not available: it has no derivative rule.")


# One by one, as a __getattr__ would take every attribute of every number off CPython's fast path, found or not.
for _name in {*dir(np.ndarray), *dir(np.float64)}:
    if not _name.startswith("_") and not hasattr(ArrayNumber, _name):
        setattr(ArrayNumber, _name, _missing(_name))
