"""Prolog with probabilities: each clause has one, and a proof has the product of those of its clauses.

A term is a constant, `Variable(i)`, or a tuple of a functor and terms. A substitution is a dictionary.
"""

from typing import Any, NamedTuple


class Variable(NamedTuple):
    i: int


class Clause(NamedTuple):
    """p: head <- body"""

    p: Any
    head: Any
    body: tuple[Any, ...] = ()


def is_compound(term):
    return isinstance(term, tuple) and not isinstance(term, Variable)


def applied(substitution, term):
    if is_compound(term):
        return tuple(applied(substitution, part) for part in term)
    return substitution.get(term, term) if isinstance(term, Variable) else term


def variables_in(term):
    if isinstance(term, Variable):
        return {term}
    return set().union(*map(variables_in, term)) if is_compound(term) else set()


def unified(a, b):
    """The substitution that makes two terms equal, or None."""
    if isinstance(b, Variable) and not isinstance(a, Variable):
        a, b = b, a
    if isinstance(a, Variable):
        return None if is_compound(b) and a in variables_in(b) else {a: b}
    if not is_compound(a) or not is_compound(b):
        return {} if a == b else None
    if len(a) != len(b):
        return None
    substitution = {}
    for x, y in zip(a, b, strict=True):
        more = unified(applied(substitution, x), applied(substitution, y))
        if more is None:
            return None
        substitution = more | substitution
    return substitution


def renamed(clause, offset):
    """The clause with new variables."""
    variables = sorted(variables_in(clause.head).union(*map(variables_in, clause.body)))
    new = {variable: Variable(offset + i) for i, variable in enumerate(variables)}
    return Clause(clause.p, applied(new, clause.head), tuple(applied(new, term) for term in clause.body))


def proofs(term, clauses):
    """The probability and the substitution of each proof of a term."""
    used = variables_in(term).union(*(variables_in((clause.head, *clause.body)) for clause in clauses))
    offset = 1 + max((variable.i for variable in used), default=0)
    found = []
    for clause in clauses:
        clause = renamed(clause, offset)
        substitution = unified(term, clause.head)
        if substitution is not None:
            found += all_proven(clause.p, substitution, clause.body, clauses)
    return found


def all_proven(p, substitution, terms, clauses):
    if not terms:
        return [(p, substitution)]
    return [
        proof
        for q, more in proofs(applied(substitution, terms[0]), clauses)
        for proof in all_proven(p * q, substitution | more, terms[1:], clauses)
    ]


def likelihood(distribution):
    return sum(p for p, _ in distribution)
