"""Names of variables: free names, new names, and Barendregt's convention, by which all bound names are different."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from shiftreset_ad.formulations.language.grammar import KEYWORDS
from shiftreset_ad.formulations.language.recursion import Recursion, answer_of, for_each
from shiftreset_ad.formulations.language.terms import Case, Lam, Let, Primitive, Shift, Term, Var, children

UNUSED = "_"  # the name of a value that is not used; it may be bound many times


def with_children(term: Term, change: Callable[[Term], Term]) -> Term:
    """The same construct with each direct part changed."""
    return with_parts(term, [change(child) for child in children(term)])


def with_parts(term: Term, parts: Sequence[Term]) -> Term:
    """The same construct with other direct parts, in the order of `children`."""
    if isinstance(term, Primitive):
        return Primitive(term.function, tuple(parts))
    names = [name for name in term.__match_args__ if isinstance(getattr(term, name), Term)]
    return replace(term, **dict(zip(names, parts, strict=True)))  # type: ignore[type-var]


def free_variables(term: Term) -> set[str]:
    """The names that a term takes from its environment.

    >>> from shiftreset_ad.formulations.language import parse
    >>> free_variables(parse("fun x -> x * y"))
    {'y'}
    """
    return answer_of(_free(term))


def _free(term: Term) -> Recursion[set[str]]:
    free: set[str]
    match term:
        case Var(name):
            free = {name}
        case Lam(name, body) | Shift(name, body):
            free = (yield _free(body)) - {name}
        case Let(name, value, body):
            free = (yield _free(value)) | ((yield _free(body)) - {name})
        case Case(scrutinee, left_name, left, right_name, right):
            in_branches = ((yield _free(left)) - {left_name}) | ((yield _free(right)) - {right_name})
            free = (yield _free(scrutinee)) | in_branches
        case _:
            free = set().union(*(yield for_each(_free, children(term))))
    return free


def names_in(term: Term) -> set[str]:
    """All names in a term, free and bound."""
    names: set[str] = set()
    waiting = [term]
    while waiting:
        term = waiting.pop()
        match term:
            case Var(name) | Lam(name) | Shift(name) | Let(name):
                names.add(name)
            case Case(_, left_name, _, right_name, _):
                names |= {left_name, right_name}
        waiting.extend(children(term))
    return names


class Names:
    """A supply of names that are not in use.

    >>> names = Names(Var("x"))
    >>> names.fresh("x"), names.fresh("x"), names.fresh("k")
    ('x1', 'x2', 'k')
    """

    def __init__(self, *terms: Term, used: Iterable[str] = ()) -> None:
        self._used = set(KEYWORDS).union(used, *map(names_in, terms))
        self._numbers: defaultdict[str, count[int]] = defaultdict(count)  # the numbers that are left for a stem

    def fresh(self, like: str = "x") -> str:
        """A new name that reminds of `like`."""
        stem = like.rstrip("0123456789_'") or "x"
        name = next(name for i in self._numbers[stem] if (name := f"{stem}{i or ''}") not in self._used)
        self._used.add(name)
        return name


def renamed(term: Term, new_names: Mapping[str, str]) -> Term:
    """The term with free variables renamed. The new names must not be bound in it."""
    return answer_of(_renamed(term, new_names))


def _renamed(term: Term, new: Mapping[str, str]) -> Recursion[Term]:
    def without(name: str) -> Mapping[str, str]:
        return {old: new[old] for old in new if old != name}

    match term:
        case Var(name):
            return Var(new.get(name, name))
        case Lam(name, body):
            return Lam(name, (yield _renamed(body, without(name))))
        case Shift(name, body):
            return Shift(name, (yield _renamed(body, without(name))))
        case Let(name, value, body):
            return Let(name, (yield _renamed(value, new)), (yield _renamed(body, without(name))))
        case Case(scrutinee, left_name, left, right_name, right):
            return Case(
                (yield _renamed(scrutinee, new)),
                left_name,
                (yield _renamed(left, without(left_name))),
                right_name,
                (yield _renamed(right, without(right_name))),
            )
    return with_parts(term, (yield for_each(lambda child: _renamed(child, new), children(term))))


def distinct(term: Term, avoid: Iterable[str] = ()) -> Term:
    """The same term by Barendregt's convention: bound names differ from one another, free names, and `avoid`."""
    return answer_of(_distinct(term, {}, Names(used={*free_variables(term), *avoid})))


def _distinct(term: Term, new: Mapping[str, str], names: Names) -> Recursion[Term]:
    def bound(name: str) -> tuple[str, Mapping[str, str]]:
        fresh = name if name == UNUSED else names.fresh(name)
        return fresh, {**new, name: fresh}

    match term:
        case Var(name):
            return Var(new.get(name, name))
        case Lam(name, body):
            name, inside = bound(name)
            return Lam(name, (yield _distinct(body, inside, names)))
        case Shift(name, body):
            name, inside = bound(name)
            return Shift(name, (yield _distinct(body, inside, names)))
        case Let(name, value, body):
            value = yield _distinct(value, new, names)
            name, inside = bound(name)
            return Let(name, value, (yield _distinct(body, inside, names)))
        case Case(scrutinee, left_name, left, right_name, right):
            scrutinee = yield _distinct(scrutinee, new, names)
            left_name, in_left = bound(left_name)
            right_name, in_right = bound(right_name)
            left = yield _distinct(left, in_left, names)
            return Case(scrutinee, left_name, left, right_name, (yield _distinct(right, in_right, names)))
    return with_parts(term, (yield for_each(lambda child: _distinct(child, new, names), children(term))))
