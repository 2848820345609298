"""Variables: which are free, new names, and Barendregt's convention, by which all bound names are different."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import count
from typing import Any

from shiftreset_ad.formulations.language.terms import Case, Lam, Let, Shift, Term, Var

UNUSED = "_"  # the name of a value that is not used, which may be bound many times


def children(term: Term) -> Iterator[Term]:
    """The terms that a term is made of directly."""
    for field in fields(term):  # type: ignore[arg-type]
        part = getattr(term, field.name)
        for child in part if isinstance(part, tuple) else (part,):
            if isinstance(child, Term):
                yield child


def with_children(term: Term, change: Callable[[Term], Term]) -> Term:
    """The same construct with each direct part changed."""
    changed: dict[str, Any] = {}
    for field in fields(term):  # type: ignore[arg-type]
        part = getattr(term, field.name)
        if isinstance(part, Term):
            changed[field.name] = change(part)
        elif isinstance(part, tuple) and part and isinstance(part[0], Term):
            changed[field.name] = tuple(map(change, part))
    return replace(term, **changed) if changed else term  # type: ignore[type-var]


def free_variables(term: Term) -> set[str]:
    """The names that a term takes from its environment."""
    match term:
        case Var(name):
            return {name}
        case Lam(name, body) | Shift(name, body):
            return free_variables(body) - {name}
        case Let(name, value, body):
            return free_variables(value) | (free_variables(body) - {name})
        case Case(scrutinee, left_name, left, right_name, right):
            return (
                free_variables(scrutinee)
                | (free_variables(left) - {left_name})
                | (free_variables(right) - {right_name})
            )
    return set().union(*map(free_variables, children(term)))


def names_in(term: Term) -> set[str]:
    """All names in a term, free and bound."""
    match term:
        case Var(name):
            own = {name}
        case Lam(name) | Shift(name) | Let(name):
            own = {name}
        case Case(_, left_name, _, right_name, _):
            own = {left_name, right_name}
        case _:
            own = set()
    return own.union(*map(names_in, children(term)))


class Names:
    """A supply of names that are not in use."""

    def __init__(self, *terms: Term, used: Iterable[str] = ()) -> None:
        self._used = set(used).union(*map(names_in, terms))

    def fresh(self, like: str = "x") -> str:
        """A new name that reminds of `like`."""
        stem = like.rstrip("0123456789_") or "x"
        name = next(name for i in count() if (name := f"{stem}{i or ''}") not in self._used)
        self._used.add(name)
        return name


def renamed(term: Term, new_names: Mapping[str, str]) -> Term:
    """The term with free variables renamed. The new names must not be bound in it."""

    def without(*names: str) -> dict[str, str]:
        return {old: new for old, new in new_names.items() if old not in names}

    match term:
        case Var(name):
            return Var(new_names.get(name, name))
        case Lam(name, body):
            return Lam(name, renamed(body, without(name)))
        case Shift(name, body):
            return Shift(name, renamed(body, without(name)))
        case Let(name, value, body):
            return Let(name, renamed(value, new_names), renamed(body, without(name)))
        case Case(scrutinee, left_name, left, right_name, right):
            return Case(
                renamed(scrutinee, new_names),
                left_name,
                renamed(left, without(left_name)),
                right_name,
                renamed(right, without(right_name)),
            )
    return with_children(term, lambda child: renamed(child, new_names))


def distinct(term: Term) -> Term:
    """The same term by Barendregt's convention: bound names differ from one another, and from the free ones."""
    return _distinct(term, {}, Names(used=free_variables(term)))


def _distinct(term: Term, new: dict[str, str], names: Names) -> Term:
    def bound(name: str) -> tuple[str, dict[str, str]]:
        if name == UNUSED:
            return name, new
        fresh = names.fresh(name)
        return fresh, {**new, name: fresh}

    match term:
        case Var(name):
            return Var(new.get(name, name))
        case Lam(name, body):
            name, inside = bound(name)
            return Lam(name, _distinct(body, inside, names))
        case Shift(name, body):
            name, inside = bound(name)
            return Shift(name, _distinct(body, inside, names))
        case Let(name, value, body):
            value = _distinct(value, new, names)
            name, inside = bound(name)
            return Let(name, value, _distinct(body, inside, names))
        case Case(scrutinee, left_name, left, right_name, right):
            scrutinee = _distinct(scrutinee, new, names)
            left_name, in_left = bound(left_name)
            right_name, in_right = bound(right_name)
            return Case(
                scrutinee, left_name, _distinct(left, in_left, names), right_name, _distinct(right, in_right, names)
            )
    return with_children(term, lambda child: _distinct(child, new, names))
