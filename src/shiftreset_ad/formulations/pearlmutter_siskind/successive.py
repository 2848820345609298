"""Straight-line code is transformed in six forms, each from the one before (Pearlmutter and Siskind 2008, section 3).

A program is a list of steps x := u s, in which u is a function of one number. The forms, as they follow in the paper:

    1.  tapeless                     assignments after the program, which add to sensitivities and set them to zero
    2.  single_assignment            each variable is assigned to once, so no sensitivity is set to zero on the way back
    3.  backpropagator_variables     the slope of a step is in a function, u1_back = fun s -> D u x * s
    4.  paired_primitives            a transformed primitive returns the answer with this function: (x1, x1_back) = u' x
    5.  functions_in_variables       a step is x = f s, in which f is a variable, too; all variables are transformed
    6.  arbitrary_values             variables have values of any kind: zero, and a sum for structures

`as_printed` goes on with functions that have such code as their bodies. A form runs by `lines.run`: the variables get
the input and the sensitivity of the last one, and in the end have the sensitivity of the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from shiftreset_ad.formulations.language.parser import parse
from shiftreset_ad.formulations.language.symbols import partial_terms
from shiftreset_ad.formulations.language.terms import App, Const, Lam, Pair, Primitive, Term, Var
from shiftreset_ad.formulations.pearlmutter_siskind.lines import Line


class Step(NamedTuple):
    """x := u s, in which `u` is the name of a function of the table, or in the last two forms of a variable."""

    x: str
    u: str
    s: str


def tapeless(program: Sequence[Step]) -> list[Line]:
    """Form 1. Sensitivities start at zero, but for that of the last variable.

    Raises ValueError if a slope needs a value that is assigned to later.

    >>> print(*tapeless([Step("y", "sin", "x")]), sep="; ")
    y := sin x; x_sens := 0.0; x_sens +:= cos x * y_sens; y_sens := 0.0
    """
    read: set[str] = set()
    for step in program:
        read.add(step.s)
        if step.x in read:
            raise ValueError(f"tapeless: the slopes need the old value of {step.x}; apply `renamed` first")
    back = []
    for step in reversed(program):
        back.append(Line(sens(step.s), "+:=", slope(step) * Var(sens(step.x))))
        back.append(Line(sens(step.x), ":=", Const(0.0)))
    return [*(Line(step.x, ":=", applied(step)) for step in program), *zeros(program), *back]


def renamed(program: Sequence[Step]) -> list[Step]:
    """The program with a new variable for each assignment: x1, x2, ..., and x0 for the input."""
    current = {program[0].s: "x0"}
    found = []
    for i, step in enumerate(program):
        found.append(Step(f"x{i + 1}", step.u, current[step.s]))
        current[step.x] = f"x{i + 1}"
    return found


def single_assignment(program: Sequence[Step]) -> list[Line]:
    """Form 2.

    >>> print(*single_assignment([Step("x1", "sin", "x0")]), sep="; ")
    x1 = sin x0; x0_sens := 0.0; x0_sens +:= cos x0 * x1_sens
    """
    back = [Line(sens(step.s), "+:=", slope(step) * Var(sens(step.x))) for step in reversed(program)]
    return [*(Line(step.x, "=", applied(step)) for step in program), *zeros(program), *back]


def backpropagator_variables(program: Sequence[Step]) -> list[Line]:
    """Form 3.

    >>> print(*backpropagator_variables([Step("x1", "sin", "x0")]), sep="; ")
    x1 = sin x0; u1_back = fun s -> cos x0 * s; x0_sens := 0.0; x0_sens +:= u1_back x1_sens
    """
    lines, back = [], []
    for i, step in enumerate(program):
        lines.append(Line(step.x, "=", applied(step)))
        lines.append(Line(f"u{i + 1}_back", "=", Lam("s", slope(step) * Var("s"))))
        back.append(Line(sens(step.s), "+:=", App(Var(f"u{i + 1}_back"), Var(sens(step.x)))))
    return [*lines, *zeros(program), *reversed(back)]


def paired_primitives(program: Sequence[Step]) -> list[Line]:
    """Form 4. The transformed primitives are definitions before the program.

    >>> print(*paired_primitives([Step("x1", "sin", "x0")]), sep="; ")
    sin' = fun x -> (sin x, fun s -> cos x * s); (x1, x1_back) = sin' x0; x0_sens := 0.0; x0_sens +:= x1_back x1_sens
    """
    pairs = [Line(f"{u}'", "=", paired(u)) for u in dict.fromkeys(step.u for step in program)]
    forward = [Line((step.x, back(step.x)), "=", App(Var(f"{step.u}'"), Var(step.s))) for step in program]
    return [*pairs, *forward, *zeros(program), *backward(program, "+:=")]


def functions_in_variables(program: Sequence[Step]) -> list[Line]:
    """Form 5. A variable of the program is a number, or a function.

    >>> print(*functions_in_variables([Step("x1", "f", "x0")]), sep="; ")
    (x1', x1_back) = f' x0'; x0_sens := 0.0; x0_sens +:= x1_back x1_sens
    """
    return [*calls(program), *zeros(program), *backward(program, "+:=")]


def arbitrary_values(program: Sequence[Step]) -> list[Line]:
    """Form 6. A variable of the program has a value of any kind.

    >>> print(*arbitrary_values([Step("x1", "f", "x0")]), sep="; ")
    (x1', x1_back) = f' x0'; x0_sens := zero (J_inverse x0'); x0_sens (+):= x1_back x1_sens
    """
    start = [Line(sens(x), ":=", zero(x)) for x in before_last(program)]
    return [*calls(program), *start, *backward(program, "(+):=")]


def paired(u: str) -> Term:
    """fun x -> (u x, fun s -> D u x * s): the paper writes u with a left harpoon over it."""
    step = Step("y", u, "x")
    return Lam("x", Pair(applied(step), Lam("s", slope(step) * Var("s"))))


def calls(program: Sequence[Step]) -> list[Line]:
    """The forward phase on transformed variables."""
    return [Line((f"{x}'", back(x)), "=", App(Var(f"{f}'"), Var(f"{s}'"))) for x, f, s in program]


def backward(program: Sequence[Step], sign: str) -> list[Line]:
    """The reverse phase, if x1_back is the backpropagator of x1."""
    return [Line(sens(x), sign, App(Var(back(y)), Var(sens(y)))) for y, _, x in reversed(program)]


def zeros(program: Sequence[Step]) -> list[Line]:
    """The sensitivities before the reverse phase."""
    return [Line(sens(x), ":=", Const(0.0)) for x in before_last(program)]


def before_last(program: Sequence[Step]) -> list[str]:
    """The variables of a program, but for its result."""
    names = dict.fromkeys([program[0].s, *(step.x for step in program)])
    return [x for x in names if x != program[-1].x]


def zero(x: str) -> Term:
    """zero (J_inverse x')"""
    return App(Var("zero"), App(Var("J_inverse"), Var(f"{x}'")))


def applied(step: Step) -> Term:
    """u s"""
    return parse(f"{step.u} {step.s}")


def slope(step: Step) -> Any:
    """D u s, by the table."""
    term = applied(step)
    assert isinstance(term, Primitive), f"{step.u} is not a function of the table"
    return partial_terms(term.function, term, *term.operands)[0]


def sens(x: str) -> str:
    """The sensitivity of a variable."""
    return f"{x}_sens"


def back(x: str) -> str:
    """The backpropagator of a variable."""
    return f"{x}_back"
