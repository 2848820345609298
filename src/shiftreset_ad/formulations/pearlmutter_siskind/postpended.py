"""Reverse mode without a tape: assignments that are put after a program (Pearlmutter and Siskind 2008, section 2).

A straight-line program is a list of assignments. Its derivative is one, too: after the program come assignments that
start the sensitivities, and then, for each assignment of the program from the last to the first,

    x2 := x0 * x1        becomes        x0_bar := x0_bar + x1 * x2_bar
                                        x1_bar := x1_bar + x0 * x2_bar
                                        x2_bar := 0

Nothing is recorded while the program runs. This changes the program as a whole, and not step by step, and it is for
straight-line programs only. The slopes read the variables when all is over, so no variable may be assigned to twice,
or after it was read: then its old value is gone. The paper is not precise here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from shiftreset_ad.formulations.language.interpreter import evaluate
from shiftreset_ad.formulations.language.printer import show
from shiftreset_ad.formulations.language.symbols import partial_terms
from shiftreset_ad.formulations.language.terms import Const, Primitive, Term, Var
from shiftreset_ad.formulations.pearlmutter_siskind.machine import State, Step


class Assignment(NamedTuple):
    """name := term"""

    name: str
    term: Term

    def __str__(self) -> str:
        return f"{self.name} := {show(self.term)}"


def primal(program: Sequence[Step]) -> list[Assignment]:
    """The assignments of a program, in which x[i] is the variable xi."""
    return [
        Assignment(f"x{step.L}", Primitive(step.function, tuple(Var(f"x{i}") for i in step[1:-1]))) for step in program
    ]


def postpended(program: Sequence[Step], size: int, result: int) -> list[Assignment]:
    """The program, and the assignments after it. In the end the sensitivity of x[i] is the variable xi_bar.

    Raises ValueError if a variable is assigned to after it was read or assigned to.

    >>> import numpy as np
    >>> from shiftreset_ad.formulations.pearlmutter_siskind.machine import Unary
    >>> print(*postpended([Unary(1, 0, np.sin)], size=2, result=1), sep="; ")
    x1 := sin x0; x0_bar := 0.0; x1_bar := 1.0; x0_bar := x0_bar + cos x0 * x1_bar; x1_bar := 0.0
    """
    used: set[int] = set()
    for step in program:
        used |= set(step[1:-1])
        if step.L in used:
            raise ValueError(
                f"postpended: the old value of x{step.L} is gone when the slopes need it; use another name"
            )
        used.add(step.L)
    start = [Assignment(f"x{i}_bar", Const(1.0 if i == result else 0.0)) for i in range(size)]
    back = []
    for step, (_, value) in zip(reversed(program), reversed(primal(program)), strict=True):
        assert isinstance(value, Primitive)
        y_bar = Var(f"x{step.L}_bar")
        slopes = partial_terms(step.function, Var(f"x{step.L}"), *value.operands)
        for place, slope in zip(step[1:-1], slopes, strict=True):
            share = y_bar if slope == Const(1.0) else slope * y_bar
            back.append(Assignment(f"x{place}_bar", Var(f"x{place}_bar") + share))
        back.append(Assignment(y_bar.name, Const(0.0)))
    return [*primal(program), *start, *back]


def run(assignments: Sequence[Assignment], x: State) -> dict[str, Any]:
    """The variables after these assignments, of which the first ones are the state `x`."""
    variables = {f"x{i}": value for i, value in enumerate(x)}
    for name, term in assignments:
        variables[name] = evaluate(term, variables)
    return variables
