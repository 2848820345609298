"""E and A, the evaluator; `run` evaluates a program in the top-level environment."""

from __future__ import annotations

from typing import Any

from shiftreset_ad.formulations.language.terms import Lam, Term
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.encoding import lambda_of
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.expressions import Call, Expression, Variable, free
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.values import EMPTY, Closure, Primitive, TopLevel


def evaluate(e: Expression, environment: dict[Variable, Any]) -> Any:
    """E: the value of an expression."""
    match e:
        case Variable():
            return environment[e] if e in environment else TopLevel.value_of(e)
        case Call(function, argument):
            return apply(evaluate(function, environment), evaluate(argument, environment))
    return Closure({x: evaluate(x, environment) for x in free(e)}, e)


def apply(function: Any, argument: Any) -> Any:
    """A: the answer of a function."""
    match function:
        case Primitive():
            return function.function(argument)
        case Closure(environment, e):
            variables = {**environment, e.parameter: argument}
            for x, right in e.bindings:
                variables[x] = evaluate(right, variables)
            return evaluate(e.result, variables)
    raise TypeError(f"{function} is no function")


def run(term: Term) -> Any:
    """The value of a program: a closed term, which may use J, J_inverse, zero and plus.

    Raises NameError for a free variable, and TypeError for a construct that is not encoded.
    """
    return apply(Closure({}, lambda_of(Lam("_", term))), EMPTY)
