"""All overloaded numbers share this: Python's syntax for arithmetic, and the one table of partial derivatives.

A room's number class says in `operate` what an operation does, and nothing else. It is called for every elementwise
function of the table, as `y = function(*xs)`: `x * x` and `np.sin(x)` go the same way. The mathematics is in
`answer_and_partials`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from shiftreset_ad.rules import ELEMENTWISE
from shiftreset_ad.rules.masked import Choice

PACKAGE = "shiftreset_ad.formulations."
COMPARISONS = frozenset(
    {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.isnan, np.isinf, np.isfinite}
)  # they answer with a boolean
STEPS = (np.sign, np.floor, np.ceil, np.rint, np.trunc, np.floor_divide)  # their derivative is zero


class Overloaded:
    """A number whose operators and NumPy functions all call `operate`. It compares by its `primal`.

    A subclass is not a dataclass: dataclasses compare by their fields, and are taken apart as structures.
    """

    __slots__ = ()
    primal: Any
    # The rules of the table ask a number for these.
    shape: ClassVar[tuple[Any, ...]] = ()
    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.float64)

    # The formulation that a number belongs to; None for a number that only counts or records operations.
    formulation: ClassVar[str | None]

    def __init_subclass__(cls, measures: bool = False) -> None:
        super().__init_subclass__()
        is_of_room = cls.__module__.startswith(PACKAGE) and not measures
        cls.formulation = cls.__module__ if is_of_room else None

    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """The answer of `function(*operands)`; at least one operand is a number of this class."""
        raise NotImplementedError(f"{type(self).__name__}.operate: the subclass has to say what an operation does")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            return NotImplemented
        return self._operate(ufunc, *inputs)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if function is not np.where or len(args) != 3:
            return NotImplemented
        condition, then, otherwise = args
        return then if condition else otherwise

    def _operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        if function in COMPARISONS or function in STEPS:
            return function(*(x.primal if isinstance(x, Overloaded) else x for x in operands))
        for x in operands:
            if isinstance(x, Overloaded) and x.formulation != self.formulation and x.formulation and self.formulation:
                # Each formulation takes the numbers of the other for constants: the derivative would be silently wrong.
                raise TypeError(
                    f"{function.__name__}: numbers of two formulations, {self.formulation.removeprefix(PACKAGE)} and "
                    f"{x.formulation.removeprefix(PACKAGE)}; nest derivatives of one formulation in one another"
                )
        return self.operate(function, *operands)

    def __bool__(self) -> bool:
        return bool(self.primal)

    def __eq__(self, that: object) -> Any:
        return self._operate(np.equal, self, that)

    def __ne__(self, that: object) -> Any:
        return self._operate(np.not_equal, self, that)

    __hash__ = object.__hash__  # by value, a cache would return an answer that belongs to another number

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

    def __floordiv__(self, that: Any) -> Any:
        return self._operate(np.floor_divide, self, that)

    def __rfloordiv__(self, that: Any) -> Any:
        return self._operate(np.floor_divide, that, self)

    def __mod__(self, that: Any) -> Any:
        return self._operate(np.remainder, self, that)

    def __rmod__(self, that: Any) -> Any:
        return self._operate(np.remainder, that, self)

    def __pow__(self, that: Any) -> Any:
        return self._operate(np.power, self, that)

    def __rpow__(self, that: Any) -> Any:
        return self._operate(np.power, that, self)

    def __neg__(self) -> Any:
        return self._operate(np.negative, self)

    def __pos__(self) -> Any:
        return self._operate(np.positive, self)

    def __abs__(self) -> Any:
        return self._operate(np.absolute, self)

    def __lt__(self, that: Any) -> Any:
        return self._operate(np.less, self, that)

    def __le__(self, that: Any) -> Any:
        return self._operate(np.less_equal, self, that)

    def __gt__(self, that: Any) -> Any:
        return self._operate(np.greater, self, that)

    def __ge__(self, that: Any) -> Any:
        return self._operate(np.greater_equal, self, that)


def answer_and_partials(
    function: Callable[..., Any], *xs: Any, of: Sequence[Any] | None = None
) -> tuple[Any, list[Any]]:
    """`y = function(*xs)` and each dy/dx, by the table. If the `xs` are numbers themselves, so are the answers.

    `of` are the operands that have these primals. An operand that is its own primal is a constant, and its slope is not
    computed: the slope by the exponent of x**2 is NaN where x is negative. Raises NotImplementedError for a function
    that is not elementwise, and TypeError for an operand that is not a real number.

    >>> answer_and_partials(np.multiply, 2.0, 3.0)
    (np.float64(6.0), [3.0, 2.0])
    """
    require_real(function, xs)
    y = function(*xs)
    constant = [False] * len(xs) if of is None else [x is operand for x, operand in zip(xs, of, strict=True)]
    return y, partials(function, y, *xs, constant=constant)


def require_real(function: Callable[..., Any], xs: Sequence[Any]) -> None:
    """Raise TypeError unless each operand is a single real number; NumPy itself would compute with others, too."""
    for x in xs:
        if isinstance(x, (complex, tuple, list)):
            raise TypeError(f"{function.__name__}: formulations compute with real numbers; got {x!r:.60}")
        if isinstance(x, np.ndarray) and x.ndim:
            raise TypeError(
                f"{function.__name__}: formulations compute with single numbers; got an array of shape {x.shape}; "
                "go through its elements in a loop, or use shiftreset_ad.grad"
            )


def partials(function: Callable[..., Any], y: Any, *xs: Any, constant: Sequence[bool] = ()) -> list[Any]:
    """The partial derivatives of y = function(*xs) with respect to each of `xs`; 0.0 for a constant."""
    if function in STEPS:
        return [0.0] * len(xs)
    if function not in ELEMENTWISE:
        raise NotImplementedError(
            f"{function.__name__}: formulations differentiate elementwise functions only; "
            "write it by elementwise functions, or use shiftreset_ad.grad"
        )
    table = ELEMENTWISE[function].partials
    wanted = [0.0 if is_constant else p for p, is_constant in zip(table, constant or [False] * len(xs), strict=True)]
    with np.errstate(all="ignore"):  # an infinite slope is an answer
        try:
            slopes = _slopes(wanted, y, xs)
        except ZeroDivisionError:  # of Python's floats; NumPy's become infinite
            slopes = _slopes(wanted, y, [np.float64(x) if isinstance(x, float) else x for x in xs])
    return [slope.shares if isinstance(slope, Choice) else slope for slope in slopes]


def _slopes(partials: Sequence[Any], y: Any, xs: Sequence[Any]) -> list[Any]:
    return [p(y, *xs) if callable(p) else p or 0.0 for p in partials]
