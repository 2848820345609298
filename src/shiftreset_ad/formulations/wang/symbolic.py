"""Symbolic differentiation with a rule for let, which is forward mode for programs in A-normal form (Wang et al. 2019,
section 2.1, Fig. 1).

    d/dx [c]                = 0
    d/dx [x]                = 1
    d/dx [y]                = y'                                                for y that a let has bound
    d/dx [e1 + e2]          = d/dx [e1] + d/dx [e2]
    d/dx [e1 * e2]          = d/dx [e1] * e2 + e1 * d/dx [e2]
    d/dx [let y = e1 in e2] = let y = e1 in let y' = d/dx [e1] in d/dx [e2]

All other functions of the table have the chain rule; the paper's figure has only these.

The rule for products writes each factor twice, and so a product of n factors becomes n products of n factors. This is
the explosion that symbolic differentiation is known for. It is no property of the rules: if each intermediate result
has a name (`language.anf`), a factor is a name, and each binding has one more beside it, for its tangent. What it
cannot do: functions, pairs, conditionals, and memory, for which there is `source_forward`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import numpy as np

from shiftreset_ad.formulations.language import (
    Const,
    Lam,
    Let,
    Primitive,
    Recursion,
    Term,
    Var,
    answer_of,
    free_variables,
    partial_terms,
)
from shiftreset_ad.formulations.language.names import distinct


def symbolic(function: Term) -> Lam:
    """The derivative of a function `fun x -> e`, where e has numbers, variables, let, and functions of the table.

    Raises TypeError for any other construct.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(symbolic(parse("fun x -> let y = x * x in y * 3.0")))
    fun x -> let y = x * x in let y' = 1.0 * x + x * 1.0 in y' * 3.0 + y * 0.0
    """
    f = distinct(function)
    if not isinstance(f, Lam):
        raise TypeError(f"symbolic: expected a function, fun x -> ...; got {function}")
    tangents: dict[str, Term] = dict.fromkeys(free_variables(f), Const(0.0))
    return Lam(f.parameter, answer_of(_derivative(f.body, {**tangents, f.parameter: Const(1.0)})))


def _derivative(term: Term, tangents: Mapping[str, Term]) -> Recursion[Term]:
    match term:
        case Const(value) if isinstance(value, (int, float)):
            return Const(0.0)
        case Var(name):
            return tangents[name]
        case Primitive(np.add, (a, b)):
            a_tangent, b_tangent = (yield _derivative(a, tangents)), (yield _derivative(b, tangents))
            return _sum(a_tangent, b_tangent)
        case Primitive(np.multiply, (a, b)):
            a_tangent, b_tangent = (yield _derivative(a, tangents)), (yield _derivative(b, tangents))
            return _sum(_product(a_tangent, b), _product(a, b_tangent))
        case Primitive(function, operands) if not term.is_comparison:
            parts: list[Term] = []
            for operand, slope in zip(operands, partial_terms(function, term, *operands), strict=True):
                tangent: Term = yield _derivative(operand, tangents)
                parts.append(_product(tangent, slope))
            return reduce(_sum, parts)
        case Let(name, value, body):
            tangent = yield _derivative(value, tangents)
            primed = f"{name}'"
            while primed in tangents:  # a free variable may have this name
                primed += "'"
            answer: Term = yield _derivative(body, {**tangents, name: Var(primed)})
            return Let(name, value, Let(primed, tangent, answer))
    raise TypeError(
        f"symbolic: the term has {type(term).__name__.lower()} in it; "
        "these rules are for straight-line programs: use the room `source_forward`"
    )


def _sum(a: Term, b: Term) -> Term:
    return Primitive(np.add, (a, b))


def _product(a: Term, b: Term) -> Term:
    return Primitive(np.multiply, (a, b))
