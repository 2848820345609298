"""A program of the core language becomes a program of functions only: pairs, constants and conditionals are encoded.

CAR x        = x (fun x1 -> fun x2 -> x1)               true is CAR
CDR x        = x (fun x1 -> fun x2 -> x2)               false is CDR
CONS x1 x2 x = x x1 x2
(a, b)                       CONS a b
if a then b else c           (a (fun _ -> b, fun _ -> c)) []
3.0                          a variable of the top-level environment, whose name is 3.0
a * b                        multiply (a, b)
"""

from __future__ import annotations

from shiftreset_ad.formulations.language.anf import to_anf
from shiftreset_ad.formulations.language.names import UNUSED, free_variables
from shiftreset_ad.formulations.language.terms import (
    App,
    Case,
    Const,
    Fst,
    Inl,
    Inr,
    Lam,
    Let,
    Pair,
    Primitive,
    Snd,
    Term,
    Var,
)
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.expressions import Call, Expression, Lambda, Variable

UNIT = "[]"


def encoded(term: Term) -> Term:
    """The term with variables, functions, calls and let only."""
    match term:
        case Var():
            return term
        case Const(()):
            return Var(UNIT)
        case Const(float() | int() as value) if not isinstance(value, bool):
            return Var(repr(float(value)))
        case Lam(parameter, body):
            return Lam(parameter, encoded(body))
        case App(function, argument):
            return App(encoded(function), encoded(argument))
        case Let(name, value, body):
            return Let(name, encoded(value), encoded(body))
        case Pair(first, second):
            return App(App(Var("CONS"), encoded(first)), encoded(second))
        case Fst(pair):
            return App(Var("CAR"), encoded(pair))
        case Snd(pair):
            return App(Var("CDR"), encoded(pair))
        case Inl(Const(())):
            return Var("CAR")
        case Inr(Const(())):
            return Var("CDR")
        case Primitive(function, (operand,)):
            return App(Var(function.__name__), encoded(operand))
        case Primitive(function, (first, second)):
            return App(Var(function.__name__), encoded(Pair(first, second)))
        case Case(condition, a, then, b, otherwise) if {a, b}.isdisjoint(
            free_variables(then) | free_variables(otherwise)
        ):
            branches = encoded(Pair(Lam(UNUSED, then), Lam(UNUSED, otherwise)))
            return App(App(encoded(condition), branches), Var(UNIT))
    raise TypeError(f"{term} is not encoded: there are functions, pairs, real numbers, booleans and arithmetic only")


def _is_conditional(term: Case) -> bool:
    """Whether no branch uses what the sum has in it: then the sum may be a boolean."""
    return term.left_name not in free_variables(term.left) and term.right_name not in free_variables(term.right)


def lambda_of(term: Term) -> Lambda:
    """A function of the core language in A-normal form."""
    function = to_anf(encoded(term))
    assert isinstance(function, Lam)
    return _lambda(function)


def _lambda(function: Lam) -> Lambda:
    bindings: list[tuple[Variable, Expression]] = []
    body: Term = function.body
    while isinstance(body, Let):
        bindings.append((Variable(body.name), _expression(body.value)))
        body = body.body
    assert isinstance(body, Var)
    return Lambda(Variable(function.parameter), bindings, Variable(body.name))


def _expression(term: Term) -> Expression:
    match term:
        case Lam():
            return _lambda(term)
        case App(Var(function), Var(argument)):
            return Call(Variable(function), Variable(argument))
        case Var(name):
            return Variable(name)
    raise AssertionError(f"{term} is not in A-normal form")
