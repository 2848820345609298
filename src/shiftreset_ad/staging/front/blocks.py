"""A block of rewritten code as a function over the variables of a frame, compiled when it is first written down.

The variables of the frame are cells, which the block shares with the function that it is a part of. So functions that
the user's code has made see what the block does, as they do in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_OPTIMIZED
from types import CellType, CodeType, FunctionType
from typing import Any, TypeAlias

from shiftreset_ad.staging.front.facts import RESULT, assign, facts, place
from shiftreset_ad.staging.front.names import INSIDE, LOOPS, SCOPES, blocks_of, is_left_by_a_jump, written_by
from shiftreset_ad.staging.front.nodes import all_nodes, copied
from shiftreset_ad.staging.front.refusals import LEAVES_A_BLOCK, RefusedError
from shiftreset_ad.staging.front.source import CompiledWith, parameters
from shiftreset_ad.staging.front.versions import WritesAsVersions
from shiftreset_ad.staging.steps.unwatched import unwatched

Cells: TypeAlias = Mapping[str, CellType]
LATER = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
Place = tuple[int, int]  # the line and the column of a statement
ITEM = "_sr_item"  # the parameter of the round of a `for` loop


class RewrittenCode:
    """Where rewritten code is compiled, and the objects that are its constants.

    The generators of the loops at the places `visited` call the bodies of the loops.
    """

    def __init__(
        self, place: CompiledWith, function: FunctionType, running: Any, visited: frozenset[Place] = frozenset()
    ) -> None:
        self.place = place
        self.of = function.__code__
        self.visited = visited
        self.name = function.__code__.co_name
        self.qualname = function.__code__.co_qualname
        self.globals = function.__globals__
        self.running = running
        self._objects: dict[str, Any] = {}

    def constant(self, x: Any) -> ast.Constant:
        """A node for any object. The compiler gets a string for it, which no program has."""
        name = f"\0shiftreset_ad {len(self._objects)}"
        self._objects[name] = x
        return ast.Constant(name)

    def call(self, x: Any, name: str, *args: ast.expr) -> ast.Call:
        """A call of a method of an object, or of a function of a module."""
        return ast.Call(ast.Attribute(self.constant(x), name, ast.Load()), list(args), [])

    def with_objects(self, code: CodeType, is_rewritten: bool = True) -> CodeType:
        """Code with the objects in place of the strings. Rewritten code has `running` among them, as its mark."""
        is_rewritten = is_rewritten and not is_of_a_class(code) and not is_of_a_generator(code)
        constants = tuple(
            self.with_objects(x, is_rewritten)
            if isinstance(x, CodeType)
            else self._objects.get(x, x)
            if type(x) is str
            else x
            for x in code.co_consts
        )
        return code.replace(co_consts=(*constants, self.running) if is_rewritten else constants)


def is_of_a_class(code: CodeType) -> bool:
    """Whether this is the body of a class, whose methods are rewritten when they are called."""
    return not code.co_flags & CO_OPTIMIZED


def is_of_a_generator(code: CodeType) -> bool:
    """Whether this is a generator or a coroutine, which is left alone, and not a generator expression."""
    return bool(code.co_flags & LATER) and code.co_name != "<genexpr>"


class CodeBlock:
    """Statements, or an expression, that are carried out on the cells of a frame."""

    def __init__(
        self, code: RewrittenCode, part: Sequence[ast.stmt] | ast.expr, bound: set[str], is_round: bool = False
    ) -> None:
        self._code = code
        self._part = part
        self._bound = bound
        self._is_round = is_round
        self._compiled: CodeType | None = None

    def on(self, cells: Cells) -> Callable[..., Any]:
        """The block as a function over these cells."""
        if self._compiled is None:
            self._compiled = self._compile(list(cells))
        code = self._compiled
        return FunctionType(
            code, self._code.globals, self._code.name, None, tuple([cells[name] for name in code.co_freevars])
        )

    @unwatched
    def _compile(self, names: list[str]) -> CodeType:
        function = self._tree(names)
        inside = replace(self._code.place, is_nested=True, free=tuple(names))
        code = self._code.with_objects(inside.compiled(place(function, function)))
        return code.replace(co_name=self._code.name, co_qualname=self._code.qualname)

    def _tree(self, names: list[str]) -> ast.FunctionDef:
        """The function of the block, among variables with these names."""
        part = copied(self._part)
        body: list[ast.stmt]
        written: set[str] = set()
        if isinstance(part, ast.expr):
            body = [ast.copy_location(ast.Return(part), part)]
        else:
            body = list(part) or [ast.Pass()]
            if any(map(is_left_by_a_jump, body)):
                body = _AsData(self._code).block(body)
            written = written_by(body) & set(names)
            body = [
                WritesAsVersions(written, self._code.constant(self._code.running)).visit(statement)
                for statement in body
            ]
        if bound := sorted((self._bound | written) & set(names)):
            body.insert(0, ast.Nonlocal(bound))
        function = ast.FunctionDef("_sr_block", parameters([ITEM] if self._is_round else []), body, [])
        lines = [node.lineno for node in all_nodes(ast.Module(body, [])) if hasattr(node, "lineno")]
        ast.copy_location(function, ast.Pass(lineno=min(lines, default=1), col_offset=0))
        function.end_lineno, function.end_col_offset = function.lineno, 0
        return function


class _AsData:
    """Jumps that leave a block set the flag of their loop instead, or the result of the function."""

    def __init__(self, code: RewrittenCode) -> None:
        self._code = code
        self._loops = 0

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.Return | ast.Break | ast.Continue):
                return [*done[: len(done) - facts(statement).moved], *self._jump(statement)]
            if isinstance(statement, LOOPS):
                self._loops += 1
                statement.body = self.block(statement.body)
                self._loops -= 1
                statement.orelse = self.block(statement.orelse)
            elif isinstance(statement, ast.If):
                statement.body = self.block(statement.body) or [place(ast.Pass(), statement)]
                statement.orelse = self.block(statement.orelse)
            elif isinstance(statement, INSIDE):
                for block in blocks_of(statement):
                    block[:] = self.block(block) or [place(ast.Pass(), statement)] * bool(block)
            elif not isinstance(statement, SCOPES):
                self._require_no_jump(statement)
            done.append(statement)
        return done

    def _jump(self, jump: ast.Return | ast.Break | ast.Continue) -> list[ast.stmt]:
        if self._loops and not isinstance(jump, ast.Return):
            return [jump]
        flag = facts(jump).flag
        if flag is None:
            raise RefusedError(LEAVES_A_BLOCK)
        if flag == RESULT and isinstance(jump, ast.Return):
            is_known = isinstance(jump.value, ast.Name) and jump.value.id == RESULT
            return [] if is_known else [assign(RESULT, jump.value or ast.Constant(None), jump)]
        set_flag: list[ast.stmt] = [assign(flag, ast.Constant(facts(jump).code), jump)]
        if (kept := facts(jump).answer) is not None and isinstance(jump, ast.Return) and jump.value is not None:
            name, site = kept
            set_flag.insert(0, assign(name, self._code.call(site, "kept", jump.value), jump))
        return [*set_flag, place(ast.Break(), jump)] if self._loops else set_flag

    def _require_no_jump(self, statement: ast.stmt) -> None:
        if (self._loops and any(isinstance(node, ast.Return) for node in all_nodes(statement))) or (
            not self._loops and is_left_by_a_jump(statement)
        ):
            raise RefusedError(LEAVES_A_BLOCK)
