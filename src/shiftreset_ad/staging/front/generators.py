"""A loop over a generator of the user's becomes calls: the generator calls the body of the loop where it would yield.

`for x in pairs(n): ...` has its body as a function, and `pairs` is called in a form in which `yield x` calls this
function. So the tests and the loops of the generator are written down as others are. A `break` or a `return` in the
body ends the generator: the function answers whether there is one, and a flag says which. Python would do the same in
the same order, but for what a generator does at its end, so no `yield` may be in a `try` or a `with`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

from shiftreset_ad.staging.front.blocks import Place, RewrittenCode
from shiftreset_ad.staging.front.facts import GOES_ON, assign, compare, facts, load, place
from shiftreset_ad.staging.front.liveness import note_liveness
from shiftreset_ad.staging.front.names import (
    INSIDE,
    LOOKS_UP_NAMES,
    LOOPS,
    SEES_ITS_FRAME,
    InScope,
    bound_by,
    captured_in,
    declared,
    has,
    in_scope,
    read_by,
)
from shiftreset_ad.staging.front.nodes import after_docstring, copied, visited
from shiftreset_ad.staging.front.refusals import RefusedError
from shiftreset_ad.staging.front.source import parameters

VISIT = "_sr_visit"  # the parameter of a generator, and the beginning of the names of the functions that it calls
VISITED, COUNTED, LEFT = "_sr_visited", "_sr_count", "_sr_left"
BROKEN = GOES_ON + 1  # the flag of a loop with a `break`; a greater one is a `return`
NO_VISITS = "a `yield` is in a `try` or a `with`, or has a value, or the generator looks up variables by their names"
YIELDS = (ast.Yield, ast.YieldFrom)


class OwnCall(ast.Call):
    """A call that is not the user's, so it stays as it is."""


@dataclass(frozen=True)
class LoopOverCall:
    """A `for` loop over what a call answers, by its code and its place there."""

    code: RewrittenCode
    place: Place


def place_of(loop: ast.For) -> Place:
    return loop.lineno, loop.col_offset


def call_in(iterable: ast.expr) -> ast.Call | None:
    """The call that may make the generator that a loop goes over, perhaps by `enumerate`."""
    if isinstance(iterable, ast.Call) and _is_enumerate(iterable.func):
        iterable = iterable.args[0] if iterable.args else iterable
    return iterable if isinstance(iterable, ast.Call) and not _is_enumerate(iterable.func) else None


def with_notes(call: ast.Call | None, loop: ast.For, code: RewrittenCode) -> None:
    """Have a call that is rewritten, if there is one, note whether it makes a generator for this loop."""
    called = call and call.func
    if isinstance(called, ast.Call) and len(called.args) == 1:
        around = [] if loop.iter is call else [load("enumerate")]
        site = code.constant(LoopOverCall(code, place_of(loop)))
        called.args = [place(code.call(code.running, "looped_over", site, called.args[0], *around), called)]


def _is_enumerate(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "enumerate"


# The generator


def as_visits(function: ast.FunctionDef, stops: bool) -> None:
    """Have a generator call its parameter `VISIT` in place of each `yield`; if this `stops`, see whether it ends there.

    Raises RefusedError if it cannot be done.
    """
    sees = any(isinstance(node, ast.Name) and node.id in LOOKS_UP_NAMES for node in in_scope(function.body))
    ends = any(isinstance(node, (*INSIDE, ast.TryStar)) and has([node], YIELDS) for node in in_scope(function.body))
    function.body = visited(_Yields(stops), function.body)
    if sees or ends or has(function.body, YIELDS):
        raise RefusedError(NO_VISITS)
    function.args.kwonlyargs.append(place(ast.arg(VISIT), function))
    function.args.kw_defaults.append(None)


class _Yields(InScope):
    def __init__(self, stops: bool) -> None:
        self._stops = stops
        self._numbers = count()

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Yield):
            return self._visits(node.value.value or ast.Constant(None), node)
        if isinstance(node.value, ast.YieldFrom):
            each = f"{VISITED}_each{next(self._numbers)}"
            body = [self._visits(load(each), node)]
            return place(ast.For(ast.Name(each, ast.Store()), node.value.value, body, []), node)
        return node

    def visit_Return(self, node: ast.Return) -> Any:
        if node.value is None:
            return node
        return [ast.copy_location(ast.Expr(node.value), node), ast.copy_location(ast.Return(None), node)]

    def _visits(self, value: ast.expr, at: ast.AST) -> Any:
        call = ast.Call(load(VISIT), [value], [])
        return place(ast.If(call, [ast.Return(None)], []) if self._stops else ast.Expr(call), at)


# The loop


def loops_as_visits(function: ast.FunctionDef, code: RewrittenCode) -> None:
    """Have the generator of each loop that the code notes call the body of the loop."""
    if not any(isinstance(node, ast.For) and place_of(node) in code.visited for node in in_scope(function.body)):
        return
    outer = declared(function.body, ast.Nonlocal)
    note_liveness(function.body, outer | captured_in(function.body))
    loops = _Loops(code, declared(function.body, ast.Global), outer)
    body, start = visited(loops, function.body), after_docstring(function)
    function.body = [*body[:start], *loops.declarations, *body[start:]]


class _Loops(InScope):
    def __init__(self, code: RewrittenCode, global_names: set[str], outer: set[str]) -> None:
        self._code = code
        self._globals = global_names
        self._outer = outer
        self._numbers = count()
        self.declarations: list[ast.stmt] = []  # of variables that are bound in the functions alone

    def visit_For(self, node: ast.For) -> Any:
        call = call_in(node.iter)
        if call is None or place_of(node) not in self._code.visited or not _is_function_alike(node.body):
            return self.generic_visit(node)
        bound = bound_by([node.target, *node.body])
        shared = (bound & facts(node).live_at_head) | (bound & read_by(_returned_in(node.body)))
        self.generic_visit(node)
        number = next(self._numbers)
        visit, left, counted = f"{VISIT}{number}", f"{LEFT}{number}", f"{COUNTED}{number}"
        jumps = _Jumps(left, is_told_apart=bool(node.orelse) or bool(_returned_in(node.body)))
        body = visited(jumps, node.body)
        item: ast.expr = load(VISITED)
        before: list[ast.stmt] = []
        if call is not node.iter:  # by enumerate
            before.append(assign(counted, _start_of(node.iter), node))
            item = ast.Tuple([load(counted), item], ast.Load())
            body.insert(0, assign(counted, ast.BinOp(load(counted), ast.Add(), ast.Constant(1)), node))
            shared |= {counted}
        if jumps.is_told_apart and jumps.stops:
            before.append(assign(left, ast.Constant(GOES_ON), node))
            shared |= {left}
        body.insert(0, place(ast.Assign([node.target], item), node.target))
        if jumps.are_there:
            body.append(place(ast.Return(ast.Constant(False)), node))
        names = sorted(shared - self._globals)
        if bound & self._globals:
            body.insert(0, place(ast.Global(sorted(bound & self._globals)), node))
        if names:
            body.insert(0, place(ast.Nonlocal(names), node))
            bare = [
                ast.AnnAssign(ast.Name(name, ast.Store()), ast.Constant(None), None, 1)
                for name in names
                if name not in self._outer
            ]
            self.declarations += [place(declaration, node) for declaration in bare]
        function = place(ast.FunctionDef(visit, parameters([VISITED]), body, []), node)
        visiting = OwnCall(
            ast.Attribute(self._code.constant(self._code.running), "visiting", ast.Load()),
            [call.func, load(visit), ast.Constant(jumps.stops)],
            [],
        )
        visits = place(ast.Expr(place(OwnCall(visiting, call.args, call.keywords), call)), node)
        facts(function).visits = facts(visits).visits = frozenset(names)
        return [*before, function, visits, *self._after(node, jumps, left)]

    def _after(self, node: ast.For, jumps: _Jumps, left: str) -> list[ast.stmt]:
        """What follows the loop: its `else`, and a test for each `return`."""
        ended: list[ast.stmt] = node.orelse
        if ended and jumps.stops:
            ended = [place(ast.If(compare(left, ast.Eq(), GOES_ON), ended, []), ended[0])]
        returned = [
            place(ast.If(compare(left, ast.Eq(), flag), [ast.Return(copied(value))], []), node)
            for flag, value in jumps.returned
        ]
        return [*ended, *returned]


def _is_function_alike(body: list[ast.stmt]) -> bool:
    """Whether the body of a loop does the same in a function of its own."""
    return not (has(body, (ast.Global, ast.Nonlocal)) or read_by(body) & {*SEES_ITS_FRAME, "__class__"})


def _start_of(enumerated: Any) -> ast.expr:
    """The number of the first item, of a call of `enumerate`."""
    given: list[ast.expr] = [*enumerated.args[1:], *[part.value for part in enumerated.keywords]]
    return given[0] if given else ast.Constant(0)


def _returned_in(statements: Iterable[ast.stmt]) -> list[ast.AST]:
    return [node for node in in_scope(statements) if isinstance(node, ast.Return)]


class _Jumps(InScope):
    """The jumps that leave the body of a loop, as `return` statements of its function.

    `returned` has the flags and the values of the user's own `return` statements.
    """

    def __init__(self, left: str, is_told_apart: bool) -> None:
        self.is_told_apart = is_told_apart
        self.are_there = self.stops = False
        self.returned: list[tuple[int, ast.expr | None]] = []
        self._left = left
        self._loops = 0

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, LOOPS):
            return super().visit(node)
        self._loops += 1
        node.body = visited(self, node.body)
        self._loops -= 1
        node.orelse = visited(self, node.orelse)
        return node

    def visit_Continue(self, node: ast.Continue) -> Any:
        if self._loops:
            return node
        self.are_there = True
        return place(ast.Return(ast.Constant(False)), node)

    def visit_Break(self, node: ast.Break) -> Any:
        return node if self._loops else self._stop(BROKEN, node)

    def visit_Return(self, node: ast.Return) -> Any:
        flag = BROKEN + 1 + len(self.returned)
        self.returned.append((flag, node.value))
        return self._stop(flag, node)

    def _stop(self, flag: int, at: ast.stmt) -> list[ast.stmt]:
        self.are_there = self.stops = True
        stop = place(ast.Return(ast.Constant(True)), at)
        return [assign(self._left, ast.Constant(flag), at), stop] if self.is_told_apart else [stop]
