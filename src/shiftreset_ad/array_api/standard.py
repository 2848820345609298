"""An array of another library with the interface of NumPy's, for the rules to compute with."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from shiftreset_ad.array_api.libraries import (
    device_of,
    foreign_dtype,
    from_numpy,
    has_foreign,
    is_foreign,
    name_of_library,
    namespace_of,
    numpy_dtype,
    require_without_graph,
    to_numpy,
)
from shiftreset_ad.rules.building import SEQUENCES
from shiftreset_ad.rules.stand_ins import Wrapped
from shiftreset_ad.rules.table import COMPOSITE

METHODS = (
    *("all", "any", "argmax", "argmin", "argsort", "clip", "conj", "conjugate", "copy", "cumsum", "diagonal", "dot"),
    *("max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "round", "squeeze", "std", "sum", "swapaxes"),
    *("take", "trace", "var"),
)

REDUCTIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}

# NumPy's functions, by the standard's functions. A composite rule is a definition here, too, as it is for numbers.
UFUNCS: dict[np.ufunc, Callable[..., Any]] = {}
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}


def entered(*functions: Callable[..., Any] | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated definition of each of `functions`; None is a function that the installed NumPy lacks."""

    def enter(definition: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            if isinstance(function, np.ufunc):
                UFUNCS[function] = definition
            elif function is not None:
                FUNCTIONS[function] = definition
        return definition

    return enter


class Standard(Wrapped, np.lib.mixins.NDArrayOperatorsMixin):
    """A constant `array` of another library, with the functions `xp`. NumPy's functions of it call those of `xp`.

    It is `shared` if the program has the same array, and may write to it. The functions here never write to it.
    """

    __slots__ = ("_dtype", "array", "shared", "xp")

    def __init__(self, array: Any, xp: Any, shared: bool = False) -> None:
        self.array = array
        self.xp = xp
        self.shared = shared
        self._dtype: Any = None

    # NumPy's protocols (NEP 13 and NEP 18). Other classes, above all numbers, answer for operands unknown here.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        alone = all(type(x) is Standard for x in inputs)
        if not alone and not all(map(_is_known, inputs)):
            return NotImplemented
        if method == "reduce" and ufunc in REDUCTIONS:
            return self.__array_function__(REDUCTIONS[ufunc], (Standard,), inputs, {"axis": 0, **kwargs})
        definition = UFUNCS.get(ufunc) or COMPOSITE.get(ufunc)
        if method != "__call__" or definition is None:
            raise self._has_no(ufunc if method == "__call__" else getattr(ufunc, method))
        if kwargs:
            raise TypeError(
                f"numpy.{ufunc.__name__}: {', '.join(kwargs)} cannot be given with an array of "
                f"{name_of_library(self.xp)}. Write y = f(x) for f(x, out=y), y = y + x for y += x, and numpy.where "
                "for where=mask"
            )
        return definition(*(inputs if alone else map(adopted, inputs)))

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if not all(issubclass(kind, Standard | np.ndarray) for kind in types):
            return NotImplemented
        if args and type(args[0]) is list and not all(map(_is_known, args[0])):
            return NotImplemented
        definition: Any = FUNCTIONS.get(function) or COMPOSITE.get(function)
        if definition is None and function.__module__.startswith("shiftreset_ad."):
            definition = function.__wrapped__  # type: ignore[attr-defined]  # of our own, by functions of NumPy
        if definition is None:
            raise self._has_no(function)
        try:
            return definition(*map(adopted, args), **{name: adopted(arg) for name, arg in kwargs.items()})
        except RecursionError:  # a composite rule that calls the function itself on plain values
            raise self._has_no(function) from None

    def _has_no(self, function: Any) -> NotImplementedError:
        module = getattr(function, "__module__", None) or "numpy"
        return NotImplementedError(
            f"{module}.{getattr(function, '__name__', function)}: the array belongs to {name_of_library(self.xp)}, and "
            "the array API standard has no such function. Write it with functions that the standard has, or convert "
            "the argument to a NumPy array"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self.dtype.kind in "biu":  # positions and masks, which have no derivative
            return np.array(self.to_numpy(), dtype)
        raise TypeError(
            f"numpy.array, numpy.asarray, or a function that calls them, on an array of {name_of_library(self.xp)}: "
            "the array is not silently turned into a NumPy array. Use the functions of numpy that the array API "
            "standard has"
        )

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return np

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The answer of a function of PyTorch's own, whose arguments are all constants."""
        given = {name: _unwrapped(arg) for name, arg in (kwargs or {}).items()}
        return _wrapped(function(*map(_unwrapped, args), **given))

    # Arrays from this one

    def apply(self, name: str, *args: Any, **kwargs: Any) -> Standard:
        """The answer of a function of the library, called with the array as the first argument."""
        return self.like(getattr(self.xp, name)(self.array, *args, **kwargs))

    def like(self, array: Any) -> Standard:
        """Another array of the library, which the program does not have."""
        return Standard(array, self.xp)

    def converted(self, x: Any) -> Standard:
        """A copy of a plain array as an array of this library, on the same device."""
        if x.size and not any(x.strides):  # one value everywhere: the device needs no memory of the host
            return self.full(x.shape, x.flat[0].item(), x.dtype)
        return self.like(from_numpy(x, self.xp, self.device_of_array))

    def full(self, shape: Any, value: Any, dtype: Any) -> Standard:
        """An array of this library that has the same value everywhere."""
        in_xp = foreign_dtype(dtype, self.xp)
        return self.like(self.xp.full(tuple(shape), value, dtype=in_xp, device=self.device_of_array))

    def astype(self, dtype: Any) -> Standard:
        """The same values in another dtype."""
        return self if self.dtype == dtype else self.apply("astype", foreign_dtype(dtype, self.xp))

    def copied(self) -> Standard:
        """The same values in a new array."""
        return self.like(self.xp.asarray(self.array, copy=True))

    def unshared(self) -> Standard:
        """The same values, in an array that the program does not have."""
        return self.copied() if self.shared else self

    def to_numpy(self) -> Any:
        """A copy as a plain array."""
        return to_numpy(self.array)

    @property
    def device_of_array(self) -> Any:
        """The device of the array."""
        return device_of(self.array)

    # Attributes and methods of arrays

    shape = property(lambda self: tuple(self.array.shape), doc="The shape, a tuple as in NumPy.")
    ndim = property(lambda self: len(self.array.shape), doc="The number of dimensions.")
    size = property(lambda self: math.prod(self.array.shape), doc="The number of elements.")
    T = property(lambda self: np.transpose(self), doc="`numpy.transpose(x)`.")
    mT = property(lambda self: np.matrix_transpose(self), doc="`numpy.matrix_transpose(x)`.")  # noqa: N815 (NumPy's name)
    real = property(lambda self: np.real(self), doc="`numpy.real(x)`.")
    imag = property(lambda self: np.imag(self), doc="`numpy.imag(x)`.")
    device = "cpu"  # NumPy's device, as the namespace is NumPy's; new arrays go to the device of the array they meet

    @property
    def dtype(self) -> Any:
        """The dtype, as NumPy's dtype."""
        if self._dtype is None:
            self._dtype = numpy_dtype(self.array.dtype, self.xp)
        return self._dtype

    def __getitem__(self, index: Any) -> Standard:
        part: Standard = FUNCTIONS[operator.getitem](self, index)
        return part

    def refuse_writing(self, statement: str) -> NoReturn:
        raise TypeError(
            f"{statement}: you cannot write to an array of {name_of_library(self.xp)} inside a derivative. Make a new "
            "array, by numpy.where(mask, v, x), or by numpy.concatenate or numpy.stack from parts"
        )

    def __setitem__(self, index: Any, item: Any) -> NoReturn:
        self.refuse_writing("x[i] = v")

    def reshape(self, *shape: Any) -> Any:
        """`numpy.reshape(x, shape)`; the sizes may be given one by one."""
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Any:
        """`numpy.transpose(x, axes)`; the axes may be given one by one."""
        return np.transpose(self, (axes[0] if len(axes) == 1 else axes) if axes else None)

    def item(self, *index: Any) -> Any:
        """One element, as a Python number."""
        if not index and self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        if not index:
            found: Any = self
        elif len(index) == 1 and not isinstance(index[0], tuple):
            found = np.reshape(self, (-1,))[index[0]]
        else:
            found = self[index[0] if len(index) == 1 else index]
        return _PYTHON[self.dtype.kind](found.reshape(()).array)

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return [part.tolist() for part in self] if self.shape else self.item()

    def is_integer(self) -> bool:
        """Whether a scalar is a whole number."""
        return float(self).is_integer()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Standard]:
        return iter([self[i] for i in range(len(self))])

    def __contains__(self, item: Any) -> bool:
        return bool(np.any(self == item))

    def __bool__(self) -> bool:
        return bool(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __complex__(self) -> complex:
        return complex(self.array)

    def __index__(self) -> int:
        if self.shape or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self.array)  # CuPy's arrays have no __index__

    def __hash__(self) -> int:
        if self.shape:
            raise TypeError("unhashable type: an array")
        return hash(self.item())

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(self.item(), ndigits) if ndigits is not None else round(self.item())

    def __trunc__(self) -> Any:
        return math.trunc(self.item())

    def __floor__(self) -> Any:
        return math.floor(self.item())

    def __ceil__(self) -> Any:
        return math.ceil(self.item())

    def __copy__(self) -> Standard:
        return self

    def __deepcopy__(self, memo: Any) -> Standard:
        return self

    def __repr__(self) -> str:
        return f"Standard({self.array!r})"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)


def _operator(name: str, reflected: bool) -> Callable[[Standard, Any], Any]:
    """An operator that asks the library at once if both operands have one floating-point dtype, or one is a scalar.

    Anything else goes the long way, by NumPy's function and `__array_ufunc__`.
    """
    operate = getattr(operator, name)
    usual = getattr(np.lib.mixins.NDArrayOperatorsMixin, f"__{'r' if reflected else ''}{name}__")

    def method(self: Standard, other: Any) -> Any:
        kind = type(other)
        if kind is Standard:
            if other.array.dtype == self.array.dtype and other.xp is self.xp and self.dtype.kind in "fc":
                return self.like(operate(self.array, other.array))
        elif (kind is float or (kind is int and abs(other) < LARGEST)) and self.dtype.kind in "fc":
            return self.like(operate(other, self.array) if reflected else operate(self.array, other))
        return usual(self, other)

    return method


LARGEST = 2**31  # of the integers that every library takes as a scalar
for _name in ("add", "sub", "mul", "truediv", "lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Standard, f"__{_name}__", _operator(_name, reflected=False))
for _name in ("add", "sub", "mul", "truediv"):
    setattr(Standard, f"__r{_name}__", _operator(_name, reflected=True))
KNOWN = (Standard, np.ndarray, np.generic, bool, int, float, complex)
_PYTHON: dict[str, Callable[[Any], Any]] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def standard(array: Any) -> Standard:
    """An array of another library, wrapped; TypeError if it cannot take part in a derivative."""
    require_without_graph(array)
    wrapped = Standard(array, namespace_of(array), shared=True)
    numpy_dtype(array.dtype, wrapped.xp)
    return wrapped


def adopted(x: Any) -> Any:
    """An argument in which every array of another library is wrapped, also in nested lists and tuples."""
    if is_foreign(x):
        return standard(x)
    return type(x)(map(adopted, x)) if has_foreign(x) else x


def _unwrapped(arg: Any) -> Any:
    if isinstance(arg, list | tuple):
        return type(arg)(map(_unwrapped, arg))
    return arg.array if isinstance(arg, Standard) else arg


def _wrapped(answer: Any) -> Any:
    if isinstance(answer, tuple | list):
        return tuple(map(_wrapped, answer))
    return Standard(answer, namespace_of(answer)) if is_foreign(answer) else answer


def _is_known(x: Any) -> bool:
    if type(x) in SEQUENCES:
        return all(map(_is_known, x))
    return isinstance(x, KNOWN) or is_foreign(x)


def _method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: Standard, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__doc__ = f"`numpy.{name}(x, ...)`."
    return method


for _name in METHODS:
    setattr(Standard, _name, _method(_name))
