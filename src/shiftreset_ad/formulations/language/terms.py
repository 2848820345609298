"""The terms of the core language (Wang et al. 2019, Fig. 3), as a tree of immutable nodes.

Arithmetic is any elementwise function of the table of partial derivatives; the paper has `+` and `*`. Terms are written
with Python's operators, or parsed: `Lam("x", Var("x") * Var("x"))` is `parse("fun x -> x * x")`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, dataclass_transform

from shiftreset_ad.formulations.overloading import COMPARISONS, Overloaded

T = TypeVar("T")


class Term(Overloaded):
    """A term: e + e and np.sin(e) are terms, too, and f(e) is an application.

    Terms may be deep, with an operation inside the next one. So these methods do not nest on Python's stack.
    """

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()  # the names of the parts

    def operate(self, function: Callable[..., Any], *operands: Any) -> Term:
        """The term that applies `function`."""
        return Primitive(function, tuple(x if isinstance(x, Term) else Const(x) for x in operands))

    _operate = operate  # comparisons are terms as well

    def __call__(self, argument: Term) -> App:
        return App(self, argument)

    def __eq__(self, that: object) -> bool:
        if not isinstance(that, Term):
            return NotImplemented
        return all(a == b for a, b in zip(_outline(self), _outline(that), strict=False))

    def __ne__(self, that: object) -> bool:
        return not self == that

    def __hash__(self) -> int:
        return hash(tuple(_outline(self)))

    def __bool__(self) -> bool:
        raise TypeError("a term has no truth value: write if_then_else(condition, then, otherwise), or parse it")

    def __repr__(self) -> str:
        return f"parse({str(self)!r})"


@dataclass_transform(frozen_default=True, eq_default=False)
def construct(kind: type[T]) -> type[T]:
    """A construct of the language: an immutable record that is compared and shown as a term."""
    return dataclass(frozen=True, slots=True, eq=False, repr=False)(kind)


@construct
class Const(Term):
    """c: a real number, the unit `()`, or any other value."""

    value: Any


@construct
class Var(Term):
    """x"""

    name: str


@construct
class Primitive(Term):
    """e + e, e * e, sin e, e < e: a function of real numbers. Comparisons answer with a boolean, `inl ()` for true."""

    function: Callable[..., Any]
    operands: tuple[Term, ...]

    @property
    def is_comparison(self) -> bool:
        """Whether it answers with a boolean."""
        return self.function in COMPARISONS


@construct
class Lam(Term):
    """fun x -> e"""

    parameter: str
    body: Term


@construct
class App(Term):
    """e e"""

    function: Term
    argument: Term


@construct
class Let(Term):
    """let x = e in e; with the name `_` it is `e; e`."""

    name: str
    value: Term
    body: Term


@construct
class Pair(Term):
    """(e, e)"""

    first: Term
    second: Term


@construct
class Fst(Term):
    """fst e"""

    pair: Term


@construct
class Snd(Term):
    """snd e"""

    pair: Term


@construct
class Inl(Term):
    """inl e"""

    value: Term


@construct
class Inr(Term):
    """inr e"""

    value: Term


@construct
class Case(Term):
    """case e of x -> e | y -> e; with the names `_` it is `if e then e else e`."""

    scrutinee: Term
    left_name: str
    left: Term
    right_name: str
    right: Term


@construct
class Ref(Term):
    """ref e: a new cell of memory."""

    value: Term


@construct
class Deref(Term):
    """!e"""

    cell: Term


@construct
class Assign(Term):
    """e := e, whose value is the unit."""

    cell: Term
    value: Term


@construct
class Shift(Term):
    """shift k in e"""

    name: str
    body: Term


@construct
class Reset(Term):
    """reset e, the paper's angle brackets."""

    body: Term


def children(term: Term) -> tuple[Term, ...]:
    """The direct parts of a term, from left to right."""
    if isinstance(term, Primitive):
        return term.operands
    return tuple(part for name in term.__match_args__ if isinstance(part := getattr(term, name), Term))


def _outline(term: Term) -> Iterator[tuple[Any, ...]]:
    """Every construct in a term, with its fields beside its children: no other term has the same outline."""
    waiting = [term]
    while waiting:
        term = waiting.pop()
        parts = children(term)
        fields = (getattr(term, name) for name in term.__match_args__)
        yield type(term), len(parts), *(x for x in fields if not isinstance(x, Term) and x is not parts)
        waiting.extend(parts)
