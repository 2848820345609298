"""The standard interpretation: each term means what the same construct means in Python.

Functions are Python's functions. Control is the library's own `shift` and `reset`, whose continuations can be called
once. Arithmetic is the arithmetic of the numbers that go in, so a program runs on any overloaded number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
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
from shiftreset_ad.formulations.language.values import (
    Cell,
    Left,
    Right,
    answer,
    require_cell,
    require_function,
    require_pair,
    require_sum,
)

Environment = Mapping[str, Any]


class Closure:
    """The value of a function, which Python can call as well."""

    __slots__ = ("body", "environment", "parameter")

    def __init__(self, parameter: str, body: Term, environment: Environment) -> None:
        self.parameter, self.body, self.environment = parameter, body, environment

    def entered(self, argument: Any) -> tuple[Term, Environment]:
        """The body, and its environment in a call."""
        return self.body, {**self.environment, self.parameter: argument}

    def __call__(self, argument: Any) -> Any:
        return evaluate(*self.entered(argument))

    def __repr__(self) -> str:
        return f"<{Lam(self.parameter, self.body)}>"


def evaluate(term: Term, environment: Environment | None = None) -> Any:
    """The value of a term with its free variables in the environment (Wang et al. 2019, standard interpretation).

    Bodies of `let`, branches, and calls in these places do not nest on Python's stack. All other parts of a term nest,
    and may raise RecursionError. Raises NameError for a free variable that is not in the environment, and TypeError
    where the program is ill-typed.

    >>> from shiftreset_ad.formulations.language import parse
    >>> evaluate(parse("let x = 3.0 in x * x"))
    np.float64(9.0)
    """
    try:
        return value_of(term, environment or {})
    except RecursionError:
        raise RecursionError(
            "evaluate: the program nests deeper than Python's stack allows; raise the limit by sys.setrecursionlimit, "
            "or run it on the machine, as the function lambda x: run(App(term, Const(x)))"
        ) from None


def value_of(term: Term, env: Environment) -> Any:
    """The value of a term; the loop goes on with the last part of the term."""
    while True:
        match term:
            case Var(name):
                return look_up(name, env)
            case Const(value):
                return value
            case Primitive(_, operands):
                return answer(term, *[value_of(operand, env) for operand in operands])
            case Let(name, value, body):
                term, env = body, {**env, name: value_of(value, env)}
            case App(function, argument):
                f, x = value_of(function, env), value_of(argument, env)
                if type(f) is not Closure:
                    return require_function(f)(x)
                term, env = f.entered(x)
            case Lam(parameter, body):
                return Closure(parameter, body, env)
            case Pair(first, second):
                return value_of(first, env), value_of(second, env)
            case Fst(pair):
                return require_pair(value_of(pair, env), "fst")[0]
            case Snd(pair):
                return require_pair(value_of(pair, env), "snd")[1]
            case Inl(value):
                return Left(value_of(value, env))
            case Inr(value):
                return Right(value_of(value, env))
            case Case(scrutinee, left_name, left, right_name, right):
                chosen = require_sum(value_of(scrutinee, env))
                is_left = isinstance(chosen, Left)
                name, term = (left_name, left) if is_left else (right_name, right)
                env = {**env, name: chosen.value}
            case Ref(value):
                return Cell(value_of(value, env))
            case Deref(cell):
                return require_cell(value_of(cell, env), "!").content
            case Assign(cell, value):
                target = require_cell(value_of(cell, env), ":=")
                target.content = value_of(value, env)
                return ()
            case Shift(name, body):
                return shift(Closure(name, body, env))
            case Reset(body):
                return reset(partial(value_of, body, env))
            case _:
                raise TypeError(f"evaluate: {term!r} is not a term of the core language")


def look_up(name: str, environment: Environment) -> Any:
    """The value of a variable."""
    if name not in environment:
        raise NameError(f"the variable {name} is free in the term, and not in its environment")
    return environment[name]


def as_function(f: Term | Callable[..., Any]) -> Callable[..., Any]:
    """The function that every formulation's `grad` takes: `f` itself, or the function that a closed term denotes."""
    function = evaluate(f) if isinstance(f, Term) else f
    if not callable(function):
        raise TypeError(f"grad: expected a function, or a term for one; got {function!r}")
    return function
