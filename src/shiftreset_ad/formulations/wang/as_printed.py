"""Three programs of Wang et al. 2019 for reverse mode as they are printed: Fig. 7, 8 and 12.

They are the paper's Scala in Python, with its names: a number has the value x and the gradient d, and knows addition
and multiplication. A float among the operands is lifted to a number, as in the paper. So each figure can be read beside
its code, line by line:

    NumR0, grad_fig_7     3.1   an operation takes its continuation k, and the program is in CPS
    NumR, grad_fig_8      3.2   an operation captures k by `shift`, and the program is in direct style
    NumB, grad_fig_12     3.5   an operation puts its way back in front of the global `tape`

Derivatives do not nest here. The rooms `explicit_cps`, `shift_reset` and `tape` do the same for all functions of the
table, with errors for what they do not have. Forward mode as printed is in `classes`, and Fig. 13 in `shift2`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from shiftreset_ad.control import reset, shift

# Fig. 7


class NumR0:
    """A number whose operations are handed the rest of the program."""

    def __init__(self, x: float, d: float) -> None:
        self.x = x
        self.d = d

    def __add__(self, that: NumR0 | float) -> InCPS:
        that = _num_r0(that)

        def operation(k: Continuation) -> None:
            y = NumR0(self.x + that.x, 0.0)
            k(y)
            self.d += y.d
            that.d += y.d

        return operation

    def __mul__(self, that: NumR0 | float) -> InCPS:
        that = _num_r0(that)

        def operation(k: Continuation) -> None:
            y = NumR0(self.x * that.x, 0.0)
            k(y)
            self.d += that.x * y.d
            that.d += self.x * y.d

        return operation

    def __rmul__(self, that: float) -> InCPS:
        return _num_r0(that) * self


Continuation: TypeAlias = Callable[[NumR0], None]
InCPS: TypeAlias = Callable[[Continuation], None]


def _num_r0(x: NumR0 | float) -> NumR0:
    return x if isinstance(x, NumR0) else NumR0(x, 0.0)


def grad_fig_7(f: Callable[[NumR0], InCPS]) -> Callable[[float], float]:
    """The derivative of a function of one number in continuation-passing style.

    >>> df = grad_fig_7(lambda x: lambda k: (2 * x)(lambda y1: (x * x)(lambda y2: (y2 * x)(lambda y3: (y1 + y3)(k)))))
    >>> df(3.0)
    29.0
    """

    def derivative(x: float) -> float:
        z = NumR0(x, 0.0)

        def at_the_end(r: NumR0) -> None:
            r.d = 1.0

        f(z)(at_the_end)
        return z.d

    return derivative


# Fig. 8


class NumR:
    """A number whose operations capture the rest of the program."""

    def __init__(self, x: float, d: float) -> None:
        self.x = x
        self.d = d

    def __add__(self, that: NumR | float) -> NumR:
        that = _num_r(that)

        def operation(k: Callable[[NumR], None]) -> None:
            y = NumR(self.x + that.x, 0.0)
            k(y)
            self.d += y.d
            that.d += y.d

        return shift(operation)  # type: ignore[no-any-return]

    def __mul__(self, that: NumR | float) -> NumR:
        that = _num_r(that)

        def operation(k: Callable[[NumR], None]) -> None:
            y = NumR(self.x * that.x, 0.0)
            k(y)
            self.d += that.x * y.d
            that.d += self.x * y.d

        return shift(operation)  # type: ignore[no-any-return]

    def __rmul__(self, that: float) -> NumR:
        return _num_r(that) * self


def _num_r(x: NumR | float) -> NumR:
    return x if isinstance(x, NumR) else NumR(x, 0.0)


def grad_fig_8(f: Callable[[NumR], NumR]) -> Callable[[float], float]:
    """The derivative of a function of one number.

    >>> grad_fig_8(lambda x: 2 * x + x * x * x)(3.0)
    29.0
    """

    def derivative(x: float) -> float:
        z = NumR(x, 0.0)

        def program() -> None:
            f(z).d = 1.0

        reset(program)
        return z.d

    return derivative


# Fig. 12


def nothing() -> None:
    """The empty tape."""


tape: Callable[[], None] = nothing


def and_then(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    """Scala's `andThen`: one function after the other."""

    def both() -> None:
        first()
        second()

    return both


class NumB:
    """A number whose operations make the tape longer."""

    def __init__(self, x: float, d: float) -> None:
        self.x = x
        self.d = d

    def __add__(self, that: NumB | float) -> NumB:
        that = _num_b(that)
        y = NumB(self.x + that.x, 0.0)
        _put(self, lambda: y.d)
        _put(that, lambda: y.d)
        return y

    def __mul__(self, that: NumB | float) -> NumB:
        a, b = self, _num_b(that)
        y = NumB(a.x * b.x, 0.0)
        _put(a, lambda: b.x * y.d)
        _put(b, lambda: a.x * y.d)
        return y

    def __rmul__(self, that: float) -> NumB:
        return _num_b(that) * self


def _num_b(x: NumB | float) -> NumB:
    return x if isinstance(x, NumB) else NumB(x, 0.0)


def _put(number: NumB, update: Callable[[], float]) -> None:
    """tape = (number.d += update) andThen tape"""
    global tape

    def step() -> None:
        number.d += update()

    tape = and_then(step, tape)


def grad_fig_12(f: Callable[[NumB], NumB]) -> Callable[[float], float]:
    """The derivative of a function of one number. The tape is global, and as printed, it is never emptied.

    >>> grad_fig_12(lambda x: 2 * x + x * x * x)(3.0)
    29.0
    """

    def derivative(x: float) -> float:
        z = NumB(x, 0.0)
        f(z).d = 1.0
        tape()
        return z.d

    return derivative
