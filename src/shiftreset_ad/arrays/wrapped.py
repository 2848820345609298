"""What rules compute with in place of NumPy's arrays and scalars, and do not know of."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Self, cast

import numpy as np

METHODS = (
    *("all", "any", "argmax", "argmin", "argsort", "clip", "conj", "conjugate", "copy", "cumsum", "diagonal", "dot"),
    *("max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "round", "squeeze", "std", "sum", "swapaxes"),
    *("take", "trace", "var"),
)


class _Recorder(threading.local):
    """What `adopt` makes of an array in this thread, where a function is being written down."""

    adopt: Callable[[Any], Any] | None = None


recorder = _Recorder()


class Wrapped:
    """A value of the oldest level that is none of NumPy's own, and answers NumPy's functions itself.

    Its attributes and methods are those of arrays, by NumPy's functions.
    """

    __slots__ = ()

    inside: Any = None  # the array of NumPy's that it stands for, of which only the layout may be looked at, if any
    shape: Any
    dtype: Any
    item: Callable[..., Any]
    __getitem__: Callable[..., Any]

    ndim = property(lambda self: len(self.shape), doc="As of NumPy's arrays.")
    size = property(lambda self: math.prod(self.shape), doc="As of NumPy's arrays.")
    T = property(lambda self: np.transpose(self), doc="`numpy.transpose(x)`.")
    mT = property(lambda self: np.matrix_transpose(self), doc="`numpy.matrix_transpose(x)`.")  # noqa: N815 (NumPy's name)
    real = property(lambda self: np.real(self), doc="`numpy.real(x)`.")
    imag = property(lambda self: np.imag(self), doc="`numpy.imag(x)`.")

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return np

    def adopt(self, array: Any) -> Any:
        """An array of NumPy's, which is used up, as a value of the same kind, to be written to."""
        raise NotImplementedError

    def frozen(self) -> Any:
        """The value as it is now."""
        raise NotImplementedError

    def refuse_writing(self, statement: str) -> NoReturn:
        """Raise TypeError for `statement`, which writes to the array."""
        raise NotImplementedError

    def own(self, derivative: Any) -> Any:
        """A derivative of this value, None for zero, as the user gets it: of the same kind, and the user's to keep."""
        raise NotImplementedError

    def __setitem__(self, index: Any, item: Any) -> None:
        self.refuse_writing("x[i] = v")

    def reshape(self, *shape: Any) -> Any:
        """`numpy.reshape(x, shape)`; the sizes may be given one by one."""
        return cast(Any, np).reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Any:
        """`numpy.transpose(x, axes)`; the axes may be given one by one."""
        return cast(Any, np).transpose(self, (axes[0] if len(axes) == 1 else axes) if axes else None)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


def _method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: Wrapped, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__doc__ = f"`numpy.{name}(x, ...)`."
    return method


for _name in METHODS:
    setattr(Wrapped, _name, _method(_name))
