"""What the rewriting of any node needs: calls of the front end, the variables of parts, and their cells."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import ModuleType

from shiftreset_ad.staging.front.blocks import RewrittenCode
from shiftreset_ad.staging.front.comparisons import COMPARED
from shiftreset_ad.staging.front.facts import VALUE, Facts, facts, load, place
from shiftreset_ad.staging.front.names import bound_by, deletes_what_lives, read_by, written_by
from shiftreset_ad.staging.front.refusals import DELETES, GLOBAL, USES_SUPER
from shiftreset_ad.staging.front.sites import Site
from shiftreset_ad.staging.front.source import parameters


class Assembler:
    """What puts the parts of rewritten code together, in one function, with the names of the functions around it."""

    def __init__(self, code: RewrittenCode, outer: set[str]) -> None:
        self._code = code
        self._outer = outer
        self._visible = outer
        self._shared: set[str] = set()
        self._rebound: set[str] = set()
        self._globals: set[str] = set()

    def _bound(self, parts: Sequence[ast.AST], flags: set[str]) -> set[str]:
        """The variables of the frame that may have another value after these parts."""
        names = (bound_by(parts) | self._rebound) & (self._visible | self._globals)
        return {name for name in names if not name.startswith(COMPARED)} | flags

    def _written(self, parts: Sequence[ast.AST]) -> set[str]:
        """The variables of the frame whose arrays these parts may write to."""
        return written_by(parts) & self._visible

    def _problem(self, node: ast.AST, parts: Sequence[ast.AST], bound: set[str]) -> str | None:
        """Why the parts cannot be written down, as far as the source tells it."""
        known: Facts = facts(node)
        if known.must_ask is not None:
            return known.must_ask
        if bound & self._globals:
            return GLOBAL.format(name=min(bound & self._globals))
        if deletes_what_lives(parts, known.live_after | known.live_at_head):
            return DELETES
        if {"super", "__class__"} & read_by(parts):
            return USES_SUPER
        return None

    def _cells(self, node: ast.AST, parts: Sequence[ast.AST], more: set[str]) -> ast.Lambda:
        """A function that is not called: its cells are the variables of the frame that the parts need."""
        names = (read_by(parts) | bound_by(parts)) & self._visible | more
        seen = ast.Tuple([load(name) for name in sorted(names - {VALUE} - self._globals)], ast.Load())
        found: ast.Lambda = place(ast.Lambda(parameters([]), seen), node)
        return found

    def _valued(self, test: ast.expr) -> ast.expr:
        return ast.NamedExpr(ast.Name(VALUE, ast.Store()), test)

    def _is_staged(self, value: ast.expr) -> ast.Call:
        return self._run("is_staged", value)

    def _run(self, name: str, *args: ast.expr) -> ast.Call:
        return self._call(self._code.running, name, *args)

    def _call(self, x: Site | ModuleType, name: str, *args: ast.expr) -> ast.Call:
        return self._code.call(x, name, *args)
