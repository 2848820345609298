"""`match` with patterns that compare, or that take anything, becomes `if`: so it may be written down.

Python compares the subject by `==` with a value, by `is` with None, True and False, and binds a name before it looks at
the guard. Patterns that look into the subject, or at its class, stay as they are.
"""

from __future__ import annotations

import ast
from itertools import count

from shiftreset_ad.staging.front.facts import assign, load, place
from shiftreset_ad.staging.front.names import InScope
from shiftreset_ad.staging.front.nodes import visited

SUBJECT = "_sr_subject"  # the beginning of the names of variables for subjects


class MatchesAsTests(InScope):
    """The statements of one function."""

    def __init__(self) -> None:
        self._numbers = count()

    def visit_Match(self, node: ast.Match) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not all(_is_simple(case.pattern) for case in node.cases):
            return node
        subject = f"{SUBJECT}{next(self._numbers)}"
        return [assign(subject, node.subject, node), *_tests(subject, node.cases)]


def statements_of(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function, with tests in place of matches."""
    return visited(MatchesAsTests(), body)


def _tests(subject: str, cases: list[ast.match_case]) -> list[ast.stmt]:
    """The statements for these cases, of which the first one that fits is carried out."""
    if not cases:
        return []
    case, *others = cases
    pattern, rest = case.pattern, _tests(subject, others)
    bound: list[ast.stmt] = []
    if isinstance(pattern, ast.MatchAs) and pattern.name is not None:
        bound = [assign(pattern.name, load(subject), pattern)]
    test = case.guard if isinstance(pattern, ast.MatchAs) else _test(subject, pattern)
    if test is None:
        return [*bound, *case.body]
    if case.guard is not None and test is not case.guard:
        test = ast.BoolOp(ast.And(), [test, case.guard])
    return [*bound, place(ast.If(test, case.body, rest), pattern)]


def _test(subject: str, pattern: ast.pattern) -> ast.expr:
    if isinstance(pattern, ast.MatchOr):
        return ast.BoolOp(ast.Or(), [_test(subject, part) for part in pattern.patterns])
    if isinstance(pattern, ast.MatchSingleton):
        return ast.Compare(load(subject), [ast.Is()], [ast.Constant(pattern.value)])
    assert isinstance(pattern, ast.MatchValue)
    return ast.Compare(load(subject), [ast.Eq()], [pattern.value])


def _is_simple(pattern: ast.pattern) -> bool:
    """Whether a pattern is a value, several values, or takes anything, perhaps under a name."""
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None
    return _compares(pattern)


def _compares(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return all(map(_compares, pattern.patterns))
    return isinstance(pattern, ast.MatchValue | ast.MatchSingleton)
