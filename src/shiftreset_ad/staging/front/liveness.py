"""The variables that are live after a test, and at the head of a loop: those that are read before they are bound again.

A name that is not surely dead counts as live. Names that inner functions see, or that the function shares with others,
are live everywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from shiftreset_ad.staging.front.facts import RESULT, facts
from shiftreset_ad.staging.front.names import bound_by, read_by

Names = frozenset[str]


class _Ends(NamedTuple):
    """What is live where a block goes on: after it, after a `break`, after a `continue`, and where errors lead to."""

    after: Names
    at_break: Names
    at_continue: Names
    always: Names


def note_liveness(body: list[ast.stmt], always: Iterable[str]) -> None:
    """Note the live variables at each test and loop in the body of a function."""
    everywhere = frozenset(always)
    _before(body, _Ends(everywhere, everywhere, everywhere, everywhere))


def _before(statements: list[ast.stmt], ends: _Ends) -> Names:
    """The names that are live before a block."""
    live = ends.after
    for statement in reversed(statements):
        live = _before_one(statement, ends._replace(after=live)) | ends.always
    return live


def _before_one(statement: ast.stmt, ends: _Ends) -> Names:
    if isinstance(statement, ast.If):
        answer = {RESULT} if facts(statement).answers else frozenset()
        facts(statement).live_after = ends.after | answer
        return _read(statement.test) | _before(statement.body, ends) | _before(statement.orelse, ends)
    if isinstance(statement, ast.While | ast.For):
        return _before_loop(statement, ends)
    if isinstance(statement, ast.Try | ast.TryStar):
        return _before_try(statement, ends)
    if isinstance(statement, ast.With | ast.AsyncWith):
        return _read(*statement.items) | _before(statement.body, ends)
    if isinstance(statement, ast.Match):
        live = _read(statement.subject) | ends.after
        for case in statement.cases:
            live |= _read(case.pattern) | _read(*([case.guard] if case.guard else [])) | _before(case.body, ends)
        return live
    if isinstance(statement, ast.Break):
        return ends.at_break
    if isinstance(statement, ast.Continue):
        return ends.at_continue
    if isinstance(statement, ast.Return | ast.Raise):
        return _read(statement) | ends.always
    killed = frozenset() if isinstance(statement, ast.AugAssign) else _killed(statement)
    return (ends.after - killed) | _read(statement)


def _killed(statement: ast.stmt) -> Names:
    """The names that a simple statement, or a round of a loop, binds for certain."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset({facts(statement).variable or statement.name})
    targets = (
        statement.targets
        if isinstance(statement, ast.Assign)
        else [statement.target]
        if isinstance(statement, ast.For | ast.AnnAssign) and not _is_bare(statement)
        else []
    )
    return frozenset(bound_by(targets))


def _is_bare(statement: ast.stmt) -> bool:
    """Whether this is an annotation without a value."""
    return isinstance(statement, ast.AnnAssign) and statement.value is None


def _before_loop(loop: ast.While | ast.For, ends: _Ends) -> Names:
    after = _before(loop.orelse, ends) | ends.after
    flag = facts(loop).flag
    head = after | (frozenset({flag}) if flag else frozenset()) | ends.always
    if isinstance(loop, ast.While):
        head |= _read(loop.test)
    else:
        head |= _read(loop.target)
    bound = _killed(loop) if isinstance(loop, ast.For) else frozenset()
    while True:
        again = head | (_before(loop.body, _Ends(head, ends.after, head, ends.always)) - bound)
        if again == head:
            break
        head = again
    facts(loop).live_after, facts(loop).live_at_head = after, head
    return head | (_read(loop.iter) if isinstance(loop, ast.For) else frozenset())


def _before_try(statement: ast.Try | ast.TryStar, ends: _Ends) -> Names:
    """An error may leave the block at any place. So what is live in a handler is live everywhere in the block."""
    finally_ = _before(statement.finalbody, ends)
    if statement.finalbody:
        ends = _Ends(finally_, ends.at_break | finally_, ends.at_continue | finally_, ends.always | finally_)
    caught = finally_
    for handler in statement.handlers:
        caught |= _before(handler.body, ends) | (_read(handler.type) if handler.type else frozenset())
    always = ends.always | caught
    body = _before(statement.orelse, ends._replace(always=always))
    return _before(statement.body, ends._replace(after=body, always=always)) | caught


def _read(*nodes: ast.AST) -> Names:
    return frozenset(read_by(nodes))
