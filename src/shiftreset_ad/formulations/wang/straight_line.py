"""Derivatives of straight-line programs, in the forms of the pictures (Wang et al. 2019, Fig. 2 and 6).

A straight-line program is a list of steps, y_t = e_t(p_t1, ..., p_tk), where a parameter p is a number, an input, or an
earlier y. Forward mode goes through the steps once. In Fig. 2 it has two forms:

    forward_1    the steps of the program, and those of the tangents between them
    forward_2    each step computes a pair, of the value and the tangent, as an overloaded operator does

Reverse mode goes through the steps twice. The way there computes the values, and the way back adds to the adjoint of
each parameter, from the last step to the first. In Fig. 6 it has three forms:

    reverse_1    all steps of the way there, and then all of the way back, in the opposite order
    reverse_2    the way back is folded up: a step of it stands beside the step of the way there that it belongs to
    reverse_3    all that comes after a step is its continuation k_t, which returns; then the step adds its adjoints

The third has a call where the way there goes on, and its return is the way back. So the continuations k_t are what an
operation captures in Fig. 7 and 8, where the program need not be a straight line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.formulations.language import (
    App,
    Assign,
    Const,
    Deref,
    Lam,
    Let,
    Pair,
    Primitive,
    Ref,
    Term,
    Var,
    partial_terms,
    show,
)
from shiftreset_ad.formulations.language.anf import to_anf
from shiftreset_ad.formulations.language.derived import add_to, let_pair, sequence


class Step(NamedTuple):
    """y = function(parameters)"""

    y: str
    function: Callable[..., Any]
    parameters: tuple[Term, ...]

    @property
    def value(self) -> Term:
        """The step of the way there."""
        return Primitive(self.function, self.parameters)

    @property
    def tangent(self) -> Term:
        """The step of forward mode: the sum of the partial derivatives, each times p', over the parameters."""
        slopes = partial_terms(self.function, self.value, *self.parameters)
        terms = [
            Var(f"{p.name}'") if slope == Const(1.0) else Primitive(np.multiply, (Var(f"{p.name}'"), slope))
            for p, slope in zip(self.parameters, slopes, strict=True)
            if isinstance(p, Var)
        ]
        return reduce(lambda a, b: Primitive(np.add, (a, b)), terms) if terms else Const(0.0)

    @property
    def contributions(self) -> list[Term]:
        """The step of the way back: p' += !y' * the partial derivative, for each parameter that is no number."""
        slopes = partial_terms(self.function, Var(self.y), *self.parameters)
        back = Deref(Var(f"{self.y}'"))
        return [
            add_to(Var(f"{p.name}'"), back if slope == Const(1.0) else Primitive(np.multiply, (back, slope)))
            for p, slope in zip(self.parameters, slopes, strict=True)
            if isinstance(p, Var)
        ]


class StraightLine(NamedTuple):
    """A program of one input."""

    x: str
    steps: list[Step]


def straight_line(function: Term) -> StraightLine:
    """The steps of a function `fun x -> e`. Raises TypeError if e has more than functions of the table, and let.

    >>> from shiftreset_ad.formulations.language import parse
    >>> [step.y for step in straight_line(parse("fun x -> let y = x * x in y + 3.0 * x")).steps]
    ['y', 't1', 't2']
    """
    body = to_anf(function)
    if not isinstance(body, Lam):
        raise TypeError(f"straight_line: expected a function, fun x -> ...; got {function}")
    x, term, steps = body.parameter, body.body, []
    known: dict[str, Term] = {x: Var(x)}  # numbers, and other names of what has one
    while isinstance(term, Let):
        match term.value:
            case Const(int() | float()):
                known[term.name] = term.value
            case Var(name) if name in known:
                known[term.name] = known[name]
            case Primitive(function_of_table, operands) if not term.value.is_comparison:
                parameters = tuple(known.get(p.name, p) if isinstance(p, Var) else p for p in operands)
                steps.append(Step(term.name, function_of_table, parameters))
                known[term.name] = Var(term.name)
            case _:
                raise TypeError(f"straight_line: {show(term.value)} is no step of a straight-line program")
        term = term.body
    last = known[term.name] if isinstance(term, Var) and term.name in known else None
    if not steps or last != Var(steps[-1].y):
        raise TypeError("straight_line: the program must end with a step, whose value is its result")
    return StraightLine(x, steps)


def forward_1(function: Term) -> Lam:
    """The derivative as a term: after each step, the step of its tangent.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(forward_1(parse("fun x -> x * x")))
    fun x -> let x' = 1.0 in let t = x * x in let t' = x' * x + x' * x in t'
    """
    x, steps = straight_line(function)
    body: Term = Var(f"{steps[-1].y}'")
    for step in reversed(steps):
        body = Let(step.y, step.value, Let(f"{step.y}'", step.tangent, body))
    return Lam(x, Let(f"{x}'", Const(1.0), body))


def forward_2(function: Term) -> Lam:
    """The derivative as a term: each step computes a pair, of its value and its tangent."""
    x, steps = straight_line(function)
    body: Term = Var(f"{steps[-1].y}'")
    for step in reversed(steps):
        body = let_pair(step.y, f"{step.y}'", Pair(step.value, step.tangent), body)
    return Lam(x, Let(f"{x}'", Const(1.0), body))


def reverse_1(function: Term) -> Lam:
    """The derivative as a term: all of the way there, and then all of the way back."""
    x, steps = straight_line(function)
    start = Assign(Var(f"{steps[-1].y}'"), Const(1.0))
    back = [contribution for step in reversed(steps) for contribution in step.contributions]
    body = sequence(start, *back, Deref(Var(f"{x}'")))
    for step in reversed(steps):
        body = Let(step.y, step.value, _with_adjoint(step.y, body))
    return Lam(x, _with_adjoint(x, body))


def reverse_2(function: Term) -> str:
    """The text of both ways, side by side: the left column goes down, and the right column goes up."""
    _, steps = straight_line(function)
    rows = [(show(Let(step.y, step.value, Var(step.y))).split(" in ")[0], step.contributions) for step in steps]
    width = max(len(there) for there, _ in rows)
    return "\n".join(f"{there:{width}} | {'; '.join(map(show, back))}" for there, back in rows)


def reverse_3(function: Term) -> Lam:
    """The derivative as a term: what comes after a step is its continuation, a function of value and adjoint."""
    x, steps = straight_line(function)
    rest: Term = Assign(Var(f"{steps[-1].y}'"), Const(1.0))
    for i, step in reversed(list(enumerate(steps, 1))):
        y, adjoint = Var(step.y), Var(f"{step.y}'")
        there_and_back = sequence(App(App(Var(f"k{i}"), y), adjoint), *step.contributions)
        here = Let(step.y, step.value, _with_adjoint(step.y, there_and_back))
        rest = Let(f"k{i}", Lam(step.y, Lam(adjoint.name, rest)), here)
    return Lam(x, _with_adjoint(x, sequence(rest, Deref(Var(f"{x}'")))))


def _with_adjoint(name: str, body: Term) -> Term:
    return Let(f"{name}'", Ref(Const(0.0)), body)
