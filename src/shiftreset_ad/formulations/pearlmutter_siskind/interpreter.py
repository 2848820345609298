"""The interpreter runs procedures binding by binding, and calls wait on a list, not on Python's stack.

`zero`, `plus`, `J` and `J_inverse` must look into closures, and nobody can look into functions of Python. So this room
has an interpreter of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

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
    Pair,
    Primitive,
    Snd,
    Term,
    Var,
)
from shiftreset_ad.formulations.language.values import Left, Right, answer, require_pair, require_sum
from shiftreset_ad.formulations.pearlmutter_siskind.primitives import BASIS
from shiftreset_ad.formulations.pearlmutter_siskind.procedures import Binding, Procedure, procedure
from shiftreset_ad.formulations.pearlmutter_siskind.values import Basic, Closure, Couple


def run(term: Term, environment: Mapping[str, Any] | None = None, counts: Counter[str] | None = None) -> Any:
    """The value of a term. Its free variables are in the environment, or are `J`, `J_inverse`, `zero` and `plus`.

    `counts` gets the number of executed constructs, by their names. Raises NameError for other free variables.

    >>> from shiftreset_ad.formulations.language import parse
    >>> run(parse("let (y, y_back) = J (fun x -> x * x) (J 3.0) in snd (y_back 1.0)"))
    np.float64(6.0)
    """
    constants = {**BASIS, **(environment or {})}
    unknown = sorted(free_variables(term) - constants.keys())
    if unknown:
        raise NameError(f"the variable {unknown[0]} is free in the term, and not in its environment")
    program = to_anf(Lam(UNUSED, term))
    assert isinstance(program, Lam)
    return call(Closure(procedure(program, constants)), (), counts)


def call(function: Any, argument: Any, counts: Counter[str] | None = None) -> Any:
    """The answer of a function, a value of the language, to an argument."""
    if isinstance(function, Basic):
        return function.function(argument)
    activation = Activation(function, argument)
    callers: list[Activation] = []
    while True:
        callee = activation.proceed(counts)
        if callee is not None:
            callers.append(activation)
            activation = callee
            continue
        value = activation.variables[activation.procedure.result]
        if not callers:
            return value
        activation = callers.pop()
        activation.variables[activation.name] = value


class Activation:
    """A call of a closure: its variables, the bindings that are left, and the name of the current binding."""

    __slots__ = ("name", "procedure", "rest", "variables")
    name: str

    def __init__(self, function: Any, argument: Any) -> None:
        if not isinstance(function, Closure):
            raise TypeError(f"application: expected a function of this language; got {function!r}")
        self.procedure = function.procedure
        self.variables: dict[str, Any] = dict(zip(self.procedure.free, function.values, strict=True))
        self.variables[self.procedure.parameter] = argument
        self.rest: Iterator[tuple[str, Binding]] = iter(self.procedure.bindings)

    def proceed(self, counts: Counter[str] | None) -> Activation | None:
        """Carry out bindings up to a call of a closure, or to the end."""
        for name, binding in self.rest:
            self.name = name
            if counts is not None:
                counts[type(binding).__name__] += 1
            match binding:
                case App(function, argument):
                    called = self.value(function)
                    if not isinstance(called, Basic):
                        return Activation(called, self.value(argument))
                    value = called.function(self.value(argument))
                case Pair(first, second):
                    value = Couple((self.value(first), self.value(second)))
                case Fst(pair):
                    value = require_pair(self.value(pair), "fst")[0]
                case Snd(pair):
                    value = require_pair(self.value(pair), "snd")[1]
                case Procedure():
                    value = Closure(binding, tuple(map(self.variables.__getitem__, binding.free)))
                case Primitive(_, operands):
                    value = answer(binding, *map(self.value, operands))
                case Const(value):
                    pass
                case Case(scrutinee, _, App(on_left), _, App(on_right)):
                    chosen = require_sum(self.value(scrutinee))
                    return Activation(self.value(on_left if isinstance(chosen, Left) else on_right), chosen.value)
                case Inl(operand):
                    value = Left(self.value(operand))
                case Inr(operand):
                    value = Right(self.value(operand))
                case _:
                    raise TypeError(f"{binding} is not a construct applied to variables")
            self.variables[name] = value
        return None

    def value(self, operand: Term) -> Any:
        """The value of a variable or a constant."""
        return self.variables[operand.name] if type(operand) is Var else operand.value  # type: ignore[attr-defined]
