"""The terms of the core language (Wang et al. 2019, Fig. 3), as a tree of immutable nodes.

Arithmetic is any elementwise function of the table of partial derivatives; `+` and `*` of the paper are two of them.
Terms are written with Python's operators, or parsed: `Lam("x", Var("x") * Var("x"))` is `parse("fun x -> x * x")`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shiftreset_ad.formulations.overloading import COMPARISONS, Overloaded


class Term(Overloaded):
    """A term: e + e and np.sin(e) are terms too, and f(e) is an application."""

    __slots__ = ()

    def operate(self, function: Callable[..., Any], *operands: Any) -> Term:
        """The term that applies `function`."""
        return Primitive(function, tuple(x if isinstance(x, Term) else Const(x) for x in operands))

    _operate = operate  # comparisons are terms as well

    def __call__(self, argument: Term) -> App:
        return App(self, argument)

    def __str__(self) -> str:
        from shiftreset_ad.formulations.language.printer import show

        return show(self)


@dataclass(frozen=True, slots=True)
class Const(Term):
    """c: a real number, the unit `()`, or any other value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Var(Term):
    """x"""

    name: str


@dataclass(frozen=True, slots=True)
class Primitive(Term):
    """e + e, e * e, sin e, e < e: a function of real numbers. Comparisons answer with a boolean, `inl ()` for true."""

    function: Callable[..., Any]
    operands: tuple[Term, ...]

    @property
    def is_comparison(self) -> bool:
        """Whether it answers with a boolean."""
        return self.function in COMPARISONS


@dataclass(frozen=True, slots=True)
class Lam(Term):
    """fun x -> e"""

    parameter: str
    body: Term


@dataclass(frozen=True, slots=True)
class App(Term):
    """e e"""

    function: Term
    argument: Term


@dataclass(frozen=True, slots=True)
class Let(Term):
    """let x = e in e; with the name `_` it is `e; e`."""

    name: str
    value: Term
    body: Term


@dataclass(frozen=True, slots=True)
class Pair(Term):
    """(e, e)"""

    first: Term
    second: Term


@dataclass(frozen=True, slots=True)
class Fst(Term):
    """fst e"""

    pair: Term


@dataclass(frozen=True, slots=True)
class Snd(Term):
    """snd e"""

    pair: Term


@dataclass(frozen=True, slots=True)
class Inl(Term):
    """inl e"""

    value: Term


@dataclass(frozen=True, slots=True)
class Inr(Term):
    """inr e"""

    value: Term


@dataclass(frozen=True, slots=True)
class Case(Term):
    """case e of x -> e | y -> e; with the names `_` it is `if e then e else e`."""

    scrutinee: Term
    left_name: str
    left: Term
    right_name: str
    right: Term


@dataclass(frozen=True, slots=True)
class Ref(Term):
    """ref e: a new cell of memory."""

    value: Term


@dataclass(frozen=True, slots=True)
class Deref(Term):
    """!e"""

    cell: Term


@dataclass(frozen=True, slots=True)
class Assign(Term):
    """e := e, whose value is the unit."""

    cell: Term
    value: Term


@dataclass(frozen=True, slots=True)
class Shift(Term):
    """shift k in e"""

    name: str
    body: Term


@dataclass(frozen=True, slots=True)
class Reset(Term):
    """reset e, the paper's angle brackets."""

    body: Term
