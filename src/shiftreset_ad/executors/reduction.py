"""A sum in an order that depends on the number of terms alone, so that its bits are the same on every engine.

Terms are added in pairs, the sums of pairs in pairs again, and so on. A pair is added as soon as both of its terms are
there, so few terms wait at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftreset_ad.boundary import trees

GROUP = 8  # terms that a task of its own adds; a power of two, so that the pairs are the same


def added(a: Any, b: Any) -> Any:
    """The sum of two structures of the same form, leaf by leaf."""
    (xs, spec), (ys, other) = trees.flatten(a), trees.flatten(b)
    if spec != other:
        raise ValueError(f"executors: two shards gave derivatives of different structures: {spec} and {other}")
    return trees.unflatten(spec, [x + y for x, y in zip(xs, ys, strict=True)])


def in_pairs(*terms: Any, add: Callable[[Any, Any], Any] = added) -> Any:
    """The sum of all terms, at least one.

    >>> in_pairs("a", "b", "c", "d", "e", add=lambda a, b: f"({a} {b})")
    '(((a b) (c d)) e)'
    """
    total = Pairs(len(terms), add)
    for place, term in enumerate(terms):
        total.take(place, term)
    return total.answer


def in_groups(terms: list[Any], add: Callable[..., Any]) -> Any:
    """The same sum, if `add` adds some terms in pairs: of groups of neighbours, so that there are fewer additions.

    >>> in_groups(list("abcdefghij"), lambda *terms: in_pairs(*terms, add=lambda a, b: f"({a} {b})"))
    '((((a b) (c d)) ((e f) (g h))) (i j))'
    """
    while len(terms) > 1:
        groups = [terms[first : first + GROUP] for first in range(0, len(terms), GROUP)]
        terms = [add(*group) if len(group) > 1 else group[0] for group in groups]
    return terms[0]


class Pairs:
    """The same sum of terms that come in any order."""

    answer: Any

    def __init__(self, count: int, add: Callable[[Any, Any], Any]) -> None:
        self._count, self._add = count, add
        self._waiting: dict[tuple[int, int], Any] = {}  # by the number of the round, and the place in it

    def take(self, place: int, term: Any) -> None:
        """Take a term, and add what can be added."""
        level, count = 0, self._count
        while count > 1:
            beside = place ^ 1
            if beside < count:
                if (level, beside) not in self._waiting:
                    self._waiting[level, place] = term
                    return
                other = self._waiting.pop((level, beside))
                term = self._add(term, other) if place < beside else self._add(other, term)
            level, place, count = level + 1, place // 2, (count + 1) // 2
        self.answer = term
