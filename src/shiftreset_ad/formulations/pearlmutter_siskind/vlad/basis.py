"""The top-level environment: CONS, CAR, CDR, and the primitives with their reverse transforms.

primitive           transform; the function takes J x, and J_inverse gives x
unary u             (J (u x), fun y_sens -> ([], D u x * y_sens))
binary b            (J (b (x1, x2)), fun y_sens -> ([], [D1 b (x1, x2) * y_sens, D2 b (x1, x2) * y_sens]))
comparison q        (J (q (x1, x2)), fun y_sens -> ([], [zero x1, zero x2]))
zero, J, J_inverse  (J (zero x), fun y_sens -> ([], zero x)), and so on
plus                (J (plus (x1, x2)), fun y_sens -> ([], [y_sens, y_sens]))
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from shiftreset_ad.formulations.language.parser import parse
from shiftreset_ad.formulations.language.symbols import partial_terms
from shiftreset_ad.formulations.language.terms import App, Const, Fst, Lam, Let, Pair, Snd, Term, Var
from shiftreset_ad.formulations.language.terms import Primitive as Operation
from shiftreset_ad.formulations.overloading import COMPARISONS
from shiftreset_ad.formulations.pearlmutter_siskind.vlad import values
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.encoding import lambda_of
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.expressions import Call, Lambda, Tag, Variable, free
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.values import FIRST, PAIR, SECOND, Closure, Primitive, parts

POLYTYPIC: dict[str, tuple[Callable[[Any], Any], str]] = {
    "zero": (values.zero, "fun x -> (J (zero x), fun y_sens -> ((), zero x))"),
    "plus": (
        lambda both: values.plus(*parts(both)),
        "fun x -> (J (plus x), fun y_sens -> ((), (y_sens, (y_sens, ()))))",
    ),
    "J": (values.J, "fun x -> (J (J x), fun y_sens -> ((), J_inverse y_sens))"),
    "J_inverse": (
        values.J_inverse,
        "fun x -> (J (J_inverse x), fun y_sens -> ((), J y_sens))",
    ),
}


def primitive(name: str, function: Callable[[Any], Any], transformed: Callable[[], Term]) -> Primitive:
    """A primitive, with a term for its transform as a function of x, and not of J x."""

    @cache
    def transform() -> Closure:
        e = lambda_of(transformed())
        x, reverse = e.parameter, e.parameter.tagged(Tag.REVERSE)
        untagged = (x, Call(Variable("J_inverse"), reverse))
        return closed(Lambda(reverse, [untagged, *e.bindings], e.result, found))

    found = Primitive(name, function, transform)
    return found


def closed(e: Lambda) -> Closure:
    """The closure of a lambda expression in the top-level environment."""
    return Closure({x: value_of(x) for x in free(e)}, e)


@cache
def value_of(x: Variable) -> Any:
    """The value of a variable in the top-level environment. A constant is a variable with its text as a name."""
    name = str(x)
    if name in ENCODING:
        return closed(ENCODING[name])
    if name in POLYTYPIC:
        function, text = POLYTYPIC[name]
        return primitive(name, function, lambda: parse(text))
    if isinstance(operation := getattr(np, name, None), np.ufunc):
        return arithmetic(operation)
    try:
        return values.EMPTY if name == "[]" else float(name)
    except ValueError:
        raise NameError(f"the variable {x} is not in the top-level environment") from None


def arithmetic(function: np.ufunc) -> Primitive:
    """An elementwise function of the table, or a comparison, whose answers are CAR and CDR."""

    def answer(argument: Any) -> Any:
        xs = [argument] if function.nin == 1 else parts(argument)
        for x in xs:
            if not values.is_real(x):
                raise TypeError(f"{function.__name__}: expected real numbers; got {x}")
        y = function(*xs)
        return value_of(Variable("CAR" if y else "CDR")) if function in COMPARISONS else y

    return primitive(function.__name__, answer, lambda: _transformed(function))


def _transformed(function: np.ufunc) -> Term:
    x = Var("x")
    operands = (x,) if function.nin == 1 else (Fst(x), Snd(x))
    named = [Var(f"x{i + 1}") for i in range(function.nin)]
    y: Term = Operation(function, tuple(named))
    if function in COMPARISONS:
        shares: list[Term] = [App(Var("zero"), operand) for operand in named]
    else:
        shares = [slope * Var("y_sens") for slope in partial_terms(function, y, *named)]
    share = shares[0] if len(shares) == 1 else Pair(shares[0], Pair(shares[1], Const(())))
    body: Term = Pair(App(Var("J"), y), Lam("y_sens", Pair(Const(()), share)))
    for operand, value in reversed(list(zip(named, operands, strict=True))):
        body = Let(operand.name, value, body)
    return Lam("x", body)


_WAITING, _CELL = Variable("waiting"), Variable("cell")
ENCODING = {
    "CONS": Lambda(FIRST, [(_WAITING, Lambda(SECOND, [(_CELL, PAIR)], _CELL))], _WAITING),
    "CAR": lambda_of(parse("fun x -> x (fun x1 -> fun x2 -> x1)")),
    "CDR": lambda_of(parse("fun x -> x (fun x1 -> fun x2 -> x2)")),
}
