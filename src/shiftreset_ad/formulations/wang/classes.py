"""The classes of Wang et al. 2019 for forward mode: Fig. 5 as printed, and the hierarchy of section 2.5.

Fig. 5 has one class. It knows addition and multiplication, and a number and its tangent are floats, so `grad` gives a
function of floats, and does not nest. Used in a nested way all the same, it confuses perturbations (2.4): a test shows
it. In 2.5 there are three classes, and derivatives are first-class functions from `Num` to `Num`:

    abstract class Num
    class NumV(val x: Double)                        a value
    class NumF(val x: Num, val d: Num, val tag: Int) a number of the derivative with this tag

An operation on numbers of two derivatives belongs to the newer derivative, the one with the greater tag, and the other
number is a constant to it. The parts of a `NumF` are of class `Num`, so the arithmetic on them is differentiated by the
older derivatives. The room `forward` does the same for all functions of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count


class Fig5:
    """The number of Fig. 5: a value and a tangent. A float among the operands is a constant."""

    def __init__(self, x: float, d: float) -> None:
        self.x = x
        self.d = d

    def __add__(self, that: Fig5 | float) -> Fig5:
        that = _fig_5(that)
        return Fig5(self.x + that.x, self.d + that.d)

    def __mul__(self, that: Fig5 | float) -> Fig5:
        that = _fig_5(that)
        return Fig5(self.x * that.x, self.d * that.x + that.d * self.x)

    __radd__ = __add__
    __rmul__ = __mul__


def _fig_5(x: Fig5 | float) -> Fig5:
    """The paper's implicit conversion: the tangent of a constant is 0."""
    return x if isinstance(x, Fig5) else Fig5(x, 0.0)


def grad_fig_5(f: Callable[[Fig5], Fig5]) -> Callable[[float], float]:
    """The derivative of a function of one number, which does not nest.

    >>> grad_fig_5(lambda x: 2 * x + x * x * x)(3.0)
    29.0
    """
    return lambda x: f(Fig5(x, 1.0)).d


class Num:
    """A number: a `NumV` or a `NumF`."""

    def __add__(self, that: Num | float) -> Num:
        return add(self, num(that))

    def __mul__(self, that: Num | float) -> Num:
        return multiply(self, num(that))

    __radd__ = __add__
    __rmul__ = __mul__


class NumV(Num):
    """A value."""

    def __init__(self, x: float) -> None:
        self.x = x


class NumF(Num):
    """A number and its tangent, of the derivative with this tag."""

    def __init__(self, x: Num, d: Num, tag: int) -> None:
        self.x = x
        self.d = d
        self.tag = tag


def num(x: Num | float) -> Num:
    """A float as a number."""
    return x if isinstance(x, Num) else NumV(x)


def add(a: Num, b: Num) -> Num:
    """The sum: of values, of numbers of one derivative, or of a number and a constant to its derivative."""
    if isinstance(a, NumV) and isinstance(b, NumV):
        return NumV(a.x + b.x)
    if isinstance(a, NumF) and isinstance(b, NumF) and a.tag == b.tag:
        return NumF(a.x + b.x, a.d + b.d, a.tag)
    newer, constant = (a, b) if is_newer(a, b) else (b, a)
    assert isinstance(newer, NumF)
    return NumF(newer.x + constant, newer.d, newer.tag)


def multiply(a: Num, b: Num) -> Num:
    """The product: of values, of numbers of one derivative, or of a number and a constant to its derivative."""
    if isinstance(a, NumV) and isinstance(b, NumV):
        return NumV(a.x * b.x)
    if isinstance(a, NumF) and isinstance(b, NumF) and a.tag == b.tag:
        return NumF(a.x * b.x, a.d * b.x + a.x * b.d, a.tag)
    newer, constant = (a, b) if is_newer(a, b) else (b, a)
    assert isinstance(newer, NumF)
    return NumF(newer.x * constant, newer.d * constant, newer.tag)


def is_newer(a: Num, b: Num) -> bool:
    """Whether `a` belongs to a newer derivative than `b`; a value belongs to none."""
    return isinstance(a, NumF) and (isinstance(b, NumV) or (isinstance(b, NumF) and a.tag > b.tag))


TAGS = count()


def grad(f: Callable[[Num], Num | float]) -> Callable[[Num | float], Num]:
    """The derivative of a function of one number, itself such a function; each call has a new tag.

    >>> grad(grad(lambda x: x * x * x))(2.0).x
    12.0
    """

    def derivative(x: Num | float) -> Num:
        tag = next(TAGS)
        y = num(f(NumF(num(x), NumV(1.0), tag)))
        if isinstance(y, NumF) and y.tag > tag:
            raise ValueError("grad: the result is a number of an inner derivative, which is finished")
        return y.d if isinstance(y, NumF) and y.tag == tag else NumV(0.0)

    return derivative
