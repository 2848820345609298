"""The start of each source transformation: the program, checked and with distinct names, its constants, its argument.

An argument is a real number, or a structure of real numbers: pairs, sums, `()`. A transformation writes a term that
takes the argument apart, gives each real number its derivative, and builds the argument again. The structure is that of
an example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from shiftreset_ad.formulations.language.derived import sequence
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.names import UNUSED, Names, distinct, free_variables
from shiftreset_ad.formulations.language.recursion import Recursion, answer_of
from shiftreset_ad.formulations.language.terms import (
    App,
    Case,
    Const,
    Deref,
    Fst,
    Inl,
    Inr,
    Lam,
    Let,
    Pair,
    Ref,
    Reset,
    Shift,
    Snd,
    Term,
    Var,
    children,
)
from shiftreset_ad.formulations.language.values import Cell, Left, Right
from shiftreset_ad.formulations.language.wavy import Hat, let_all
from shiftreset_ad.formulations.structures import NUMBERS

DISCRETE_VALUES = (bool, np.bool_, str, Integer, type(None))  # a transformation leaves them alone
WRONG_SIDE = Fst(Const(()))  # its evaluation is an error: a value has not the structure that a transformation expects


def source(name: str, program: Any, with_control: bool = False) -> Term:
    """The program of the transformation `name`, by Barendregt's convention.

    Raises TypeError if it is not a term, or has shift or reset without `with_control`; NameError for free variables.

    >>> from shiftreset_ad.formulations.language import parse, show
    >>> show(source("grad", parse("fun x -> (fun x -> x) x")))
    'fun x -> (fun x1 -> x1) x'
    """
    if not isinstance(program, Term):
        raise TypeError(
            f"{name}: expected a term for a function, as a source transformation reads its program; got {program!r}; "
            "write it by language.parse, or differentiate the Python function by another formulation"
        )
    free = sorted(free_variables(program))
    if free:
        raise NameError(
            f"{name}: {', '.join(free)} {'is' if len(free) == 1 else 'are'} free in the term; "
            "bind it by let, or make it a part of the argument"
        )
    if not with_control and any(isinstance(term, (Shift, Reset)) for term in subterms(program)):
        raise TypeError(
            f"{name}: there is shift or reset in the program, and this transformation is for programs without "
            "shift and reset (Wang et al. 2019); wang.cps.direct writes the same function without them"
        )
    return distinct(program)


def subterms(term: Term) -> Iterator[Term]:
    """The term, and all terms in it."""
    waiting = [term]
    while waiting:
        term = waiting.pop()
        yield term
        waiting.extend(children(term))


def is_real(value: Any) -> bool:
    """Whether a value is a real number, which has a derivative; a boolean is not."""
    return isinstance(value, (*NUMBERS, int, np.integer)) and not isinstance(value, bool)


def literal(value: Any, lift: Callable[[Term], Term]) -> Term:
    """The constant `value` as a term in which each real number is lifted; `()`, booleans and strings stay.

    Raises TypeError for a value that a transformation cannot look into: a function, a reference, an array.
    """
    return answer_of(_literal(value, lift))


def _literal(value: Any, lift: Callable[[Term], Term]) -> Recursion[Term]:
    match value:
        case Left(part):
            return Inl((yield _literal(part, lift)))
        case Right(part):
            return Inr((yield _literal(part, lift)))
        case tuple((first, second)):
            return Pair((yield _literal(first, lift)), (yield _literal(second, lift)))
    if is_real(value):
        return lift(Const(value))
    _require_inert("a constant", value)
    return Const(value)


def _require_inert(what: str, value: Any) -> None:
    if value != () if isinstance(value, tuple) else not isinstance(value, DISCRETE_VALUES):
        raise TypeError(
            f"{what} of a source transformation is made of real numbers, (), pairs and sums; "
            f"got the {type(value).__name__} {value!r}; write it as a term of these"
        )


def checked(name: str, answer: Term) -> Term:
    """The answer of a transformed function; its evaluation raises TypeError if it is not the dual of a real number."""
    return App(Const(partial(_require_dual, name)), answer)


def _require_dual(name: str, answer: Any) -> Any:
    match answer:
        case tuple((primal, derivative)) if is_real(primal) and (is_real(derivative) or isinstance(derivative, Cell)):
            return answer
    raise TypeError(
        f"{name}: the function must answer with a real number, and its dual was {answer!r}; answer with one part of it"
    )


class Argument:
    """An argument `x` with the structure of an example, as terms: `reals` are its real numbers inside of `let`.

    Integers are real numbers that are held constant. Raises TypeError if there is no number to differentiate by.

    >>> argument = Argument("grad", (1.0, 2.0), "x", Names())
    >>> print(argument.let(argument.derivative([2.0 * real for real in argument.reals])))
    let a = fst x in let b = snd x in (2.0 * a, 2.0 * b)
    """

    def __init__(self, name: str, example: Any, x: str, names: Names) -> None:
        self.reals: list[Term] = []
        self.outline: list[str] = []  # equal for arguments with the same structure
        self._example = example
        self._held: list[Term] = []
        self._bindings: list[tuple[str, Term]] = []
        self._names = names
        self._what = f"{name}: the argument"
        answer_of(self._taken_apart(example, Var(x)))
        if not self.reals:
            raise TypeError(f"{self._what} has no floating-point number to differentiate by; got {example!r}")

    def _taken_apart(self, example: Any, place: Term) -> Recursion[None]:
        match example:
            case tuple((first, second)):
                self.outline.append("pair")
                a, b = self._bound("a", Fst(place)), self._bound("b", Snd(place))
                yield self._taken_apart(first, a)
                yield self._taken_apart(second, b)
            case Left(value):
                self.outline.append("inl")
                yield self._taken_apart(value, self._bound("a", Case(place, "a", Var("a"), UNUSED, WRONG_SIDE)))
            case Right(value):
                self.outline.append("inr")
                yield self._taken_apart(value, self._bound("b", Case(place, UNUSED, WRONG_SIDE, "b", Var("b"))))
            case _ if isinstance(example, NUMBERS):
                self.outline.append("real")
                self.reals.append(place)
            case _ if is_real(example):
                self.outline.append("constant")
                self._held.append(place)
            case _:
                self.outline.append("constant")
                _require_inert(self._what, example)

    def _bound(self, like: str, part: Term) -> Term:
        name = self._names.fresh(like)
        self._bindings.append((name, part))
        return Var(name)

    def let(self, body: Term) -> Term:
        """`body`, with the parts of the argument bound around it."""
        for name, part in reversed(self._bindings):
            body = Let(name, part, body)
        return body

    def dual(self, duals: Iterable[Term], lift: Callable[[Term], Term]) -> Term:
        """The argument with these terms for its real numbers, and its integers lifted."""
        reals, held = iter(duals), map(lift, self._held)
        return self._with_leaves(lambda leaf: next(held) if is_real(leaf) else Const(leaf), reals)

    def derivative(self, derivatives: Iterable[Term]) -> Term:
        """The structure with these terms for its real numbers, and None for every other leaf."""
        return self._with_leaves(lambda leaf: Const(() if leaf == () else None), iter(derivatives))

    def _with_leaves(self, other: Callable[[Any], Term], reals: Iterator[Term]) -> Term:
        def filled(example: Any) -> Recursion[Term]:
            match example:
                case tuple((first, second)):
                    return Pair((yield filled(first)), (yield filled(second)))
                case Left(value):
                    return Inl((yield filled(value)))
                case Right(value):
                    return Inr((yield filled(value)))
            return next(reals) if isinstance(example, NUMBERS) else other(example)

        return answer_of(filled(self._example))


def with_adjoint(c: Term) -> Term:
    """(c, ref 0): a real number, whose adjoint is still zero."""
    return Pair(c, Ref(Const(0.0)))


def there_and_back(name: str, term: Term, like: Any, code: Callable[[Term, Term, Names], Term]) -> Term:
    """λx. let x̂ = (x, ref 0) in code; !x': the frame that Transform(f) has in Fig. 9, 10 and 11.

    `code(program, dual, names)` is the term in the middle. It runs the program, which is checked and has distinct
    names, on the dual argument. The argument has the structure of `like`.
    """
    program = source(name, term)
    names = Names(program)
    x = names.fresh("x")
    argument = Argument(name, like, x, names)
    inputs = [Hat.fresh(names, "x") for _ in argument.reals]
    dual = argument.dual([x.whole for x in inputs], with_adjoint)
    body = sequence(code(program, dual, names), argument.derivative([Deref(x.prime) for x in inputs]))
    return Lam(x, argument.let(let_all(inputs, [with_adjoint(real) for real in argument.reals], body)))
