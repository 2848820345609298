"""The standard interpretation: each term means what the same construct means in Python.

Functions are Python's functions, and control is the library's own `shift` and `reset`, whose continuations can be
called once. Whatever numbers go in, arithmetic is theirs, so that a program runs on any overloaded number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shiftreset_ad.control import reset, shift
from shiftreset_ad.formulations.language.terms import (
    App,
    Assign,
    Case,
    Const,
    Deref,
    Fst,
    Inl,
    Inr,
    Lam,
    Let,
    Pair,
    Primitive,
    Ref,
    Reset,
    Shift,
    Snd,
    Term,
    Var,
)
from shiftreset_ad.formulations.language.values import Cell, Left, Right, answer

Environment = Mapping[str, Any]


def evaluate(term: Term, environment: Environment | None = None) -> Any:
    """The value of a term, whose free variables are in the environment (Wang et al. 2019, standard interpretation).

    Raises NameError for a free variable that is not there.

    >>> from shiftreset_ad.formulations.language import parse
    >>> evaluate(parse("let x = 3.0 in x * x"))
    np.float64(9.0)
    """
    env = environment or {}
    match term:
        case Const(value):
            return value
        case Var(name):
            return look_up(name, env)
        case Primitive(_, operands):
            return answer(term, *[evaluate(operand, env) for operand in operands])
        case Lam(parameter, body):
            return lambda argument: evaluate(body, {**env, parameter: argument})
        case App(function, argument):
            return evaluate(function, env)(evaluate(argument, env))
        case Let(name, value, body):
            return evaluate(body, {**env, name: evaluate(value, env)})
        case Pair(first, second):
            return evaluate(first, env), evaluate(second, env)
        case Fst(pair):
            return evaluate(pair, env)[0]
        case Snd(pair):
            return evaluate(pair, env)[1]
        case Inl(value):
            return Left(evaluate(value, env))
        case Inr(value):
            return Right(evaluate(value, env))
        case Case(scrutinee, left_name, left, right_name, right):
            chosen = evaluate(scrutinee, env)
            if isinstance(chosen, Left):
                return evaluate(left, {**env, left_name: chosen.value})
            return evaluate(right, {**env, right_name: chosen.value})
        case Ref(value):
            return Cell(evaluate(value, env))
        case Deref(cell):
            return evaluate(cell, env).content
        case Assign(cell, value):
            evaluate(cell, env).content = evaluate(value, env)
            return ()
        case Shift(name, body):
            return shift(lambda k: evaluate(body, {**env, name: k}))
        case Reset(body):
            return reset(lambda: evaluate(body, env))
    raise TypeError(f"evaluate: {term!r} is not a term of the core language")


def look_up(name: str, environment: Environment) -> Any:
    """The value of a variable."""
    if name not in environment:
        raise NameError(f"the variable {name} is free in the term, and not in its environment")
    return environment[name]


def as_function(f: Term | Callable[..., Any]) -> Callable[..., Any]:
    """A Python function as it is, and the one that a closed term denotes: what every formulation's `grad` takes."""
    function = evaluate(f) if isinstance(f, Term) else f
    if not callable(function):
        raise TypeError(f"grad: expected a function, or a term for one; got {function!r}")
    return function
