"""What every overloaded number shares: Python's syntax for arithmetic, and the one table of partial derivatives.

A room's number class says in `operate` what an operation does, and nothing else. It gets `y = function(*xs)` for every
elementwise function of the table: `x * x` and `np.sin(x)` go the same way. The mathematics is in `answer_and_partials`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules import ELEMENTWISE

COMPARISONS = frozenset({np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal})


class Overloaded(ABC):
    """A number whose operators and NumPy functions are all `operate`, and which compares by its `primal`."""

    __slots__ = ()
    primal: Any

    @abstractmethod
    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """The answer of `function(*operands)`, of which at least one is a number of this class."""

    def __array_ufunc__(self, function: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        return self._operate(function, *operands)

    def _operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        if function in COMPARISONS:
            return function(*(x.primal if isinstance(x, Overloaded) else x for x in operands))
        return self.operate(function, *operands)

    def __add__(self, that: Any) -> Any:
        return self._operate(np.add, self, that)

    def __radd__(self, that: Any) -> Any:
        return self._operate(np.add, that, self)

    def __sub__(self, that: Any) -> Any:
        return self._operate(np.subtract, self, that)

    def __rsub__(self, that: Any) -> Any:
        return self._operate(np.subtract, that, self)

    def __mul__(self, that: Any) -> Any:
        return self._operate(np.multiply, self, that)

    def __rmul__(self, that: Any) -> Any:
        return self._operate(np.multiply, that, self)

    def __truediv__(self, that: Any) -> Any:
        return self._operate(np.divide, self, that)

    def __rtruediv__(self, that: Any) -> Any:
        return self._operate(np.divide, that, self)

    def __neg__(self) -> Any:
        return self._operate(np.negative, self)

    def __lt__(self, that: Any) -> Any:
        return self._operate(np.less, self, that)

    def __le__(self, that: Any) -> Any:
        return self._operate(np.less_equal, self, that)

    def __gt__(self, that: Any) -> Any:
        return self._operate(np.greater, self, that)

    def __ge__(self, that: Any) -> Any:
        return self._operate(np.greater_equal, self, that)


def answer_and_partials(function: Callable[..., Any], *xs: Any) -> tuple[Any, list[Any]]:
    """`y = function(*xs)` and each dy/dx, by the table; `xs` may be numbers themselves, and then so are these.

    Raises NotImplementedError for a function that is not elementwise.

    >>> answer_and_partials(np.multiply, 2.0, 3.0)
    (np.float64(6.0), [3.0, 2.0])
    """
    y = function(*xs)
    return y, partials(function, y, *xs)


def partials(function: Callable[..., Any], y: Any, *xs: Any) -> list[Any]:
    """The partial derivatives of y = function(*xs) with respect to each of `xs`."""
    if function not in ELEMENTWISE:
        raise NotImplementedError(
            f"{function.__name__}: formulations differentiate elementwise functions only; "
            "write it by these, or use shiftreset_ad.grad"
        )
    return [p(y, *xs) if callable(p) else p or 0.0 for p in ELEMENTWISE[function].partials]
