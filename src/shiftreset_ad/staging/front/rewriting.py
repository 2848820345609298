"""A function is rewritten: each of its tests asks whether its value is staged, and each call whether to rewrite more.

The statements stay what they were, in their lines, so plain values go Python's way. Only when a test is staged does the
site of the test take over: it has the blocks under the test, to write them down.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

from shiftreset_ad.staging.front.answers import AnswerSite
from shiftreset_ad.staging.front.blocks import ITEM, CodeBlock, Place, RewrittenCode
from shiftreset_ad.staging.front.buffers import NAMES as MAKING
from shiftreset_ad.staging.front.buffers import MakingSite
from shiftreset_ad.staging.front.comparisons import without_chains
from shiftreset_ad.staging.front.facts import RESULT, VALUE, assign, facts, load, place
from shiftreset_ad.staging.front.folds import (
    ITEMS,
    CallsAlone,
    fold_site,
    is_fold,
    is_usual,
    others_of,
    without_filters,
)
from shiftreset_ad.staging.front.generators import as_visits, call_in, loops_as_visits, with_notes
from shiftreset_ad.staging.front.indices import is_constant, outside_brackets
from shiftreset_ad.staging.front.items import ItemSite
from shiftreset_ad.staging.front.jumps import Jumps, flags_set_in
from shiftreset_ad.staging.front.lists import COUNTED, Displays, FilterSite, ListSite
from shiftreset_ad.staging.front.liveness import note_liveness
from shiftreset_ad.staging.front.loops import LoopSite
from shiftreset_ad.staging.front.matches import statements_of
from shiftreset_ad.staging.front.names import (
    COMPREHENSIONS,
    FUNCTIONS,
    SEES_ITS_FRAME,
    always_raises,
    body_of,
    bound_by,
    captured_in,
    declared,
    has,
    own_names,
    parameters_of,
    rebound_in,
    surely_bound_by,
)
from shiftreset_ad.staging.front.nodes import after_docstring, all_nodes, copied, with_places
from shiftreset_ad.staging.front.own_lists import OwnLists
from shiftreset_ad.staging.front.refusals import BINDS_IN_EXPRESSION
from shiftreset_ad.staging.front.requirements import Requirement
from shiftreset_ad.staging.front.sites import Branch, ChoiceSite
from shiftreset_ad.staging.front.source import FunctionNode, source_of
from shiftreset_ad.staging.front.truths import has_no_effects
from shiftreset_ad.staging.front.versions import WritesAsVersions

JOINED = {"any", "all"}
SOUGHT = "_sr_sought"  # the variable for what `in` looks for
LEFT_ALONE = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)


def rewritten_code(
    function: FunctionType,
    running: ModuleType,
    kind: type[Rewriter] | None = None,
    visited: frozenset[Place] = frozenset(),
    stops: bool | None = None,
) -> CodeType:
    """The code of a function, rewritten; it calls functions of `running`. Raises RefusedError if it cannot be done.

    The function, and those in it, are rewritten by rewriters of this `kind`. Loops at the places `visited` go over
    generators. If the function is such a generator, `stops` says whether the loop may leave it.
    """
    source = source_of(function)
    code = RewrittenCode(source.place, function, running, visited)
    if stops is not None and isinstance(source.node, ast.FunctionDef):
        as_visits(source.node, stops)
    rewriter = (kind or Rewriter)(code, set(source.place.free))
    return code.with_objects(source.place.compiled(rewriter.function(source.node)))


class Rewriter(Displays):
    """The rewriting of one function, with the names of the functions around it."""

    def function(self, node: FunctionNode) -> FunctionNode:
        """The function with a rewritten body."""
        body: Any = body_of(node)
        if isinstance(node, ast.AsyncFunctionDef) or has(body, LEFT_ALONE):
            return node
        if isinstance(node, ast.FunctionDef):
            loops_as_visits(node, self._code)
        body = [without_chains(part) for part in body_of(node)]
        if isinstance(node, ast.Lambda):
            node.body = body[0]
        else:
            jumps = Jumps(lambda statement: AnswerSite(statement.lineno, self._code))
            node.body = jumps.to_the_end(statements_of(body))
            first = after_docstring(node)
            for name, site in jumps.answers.items():
                node.body.insert(first, assign(name, self._call(site, "stand_in"), node.body[first]))
            if any(isinstance(part, ast.If) and facts(part).answers for part in all_nodes(node)):
                node.body.insert(first, assign(RESULT, ast.Constant(None), node.body[first]))
        body = body_of(node)
        self._globals = declared(body, ast.Global)
        self._visible = (self._outer | own_names(node) | declared(body, ast.Nonlocal)) - self._globals
        self._rebound = rebound_in(body) & self._visible
        self._shared = declared(body, ast.Nonlocal) | captured_in(body)
        own = own_names(node) - parameters_of(node)
        self._own_lists = OwnLists(body, own, self._visible | self._globals, self._code.globals)
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
        else:
            note_liveness(node.body, self._shared)
            versions = WritesAsVersions(own_names(node), self._code.constant(self._code.running))
            node.body = [versions.visit(statement) for statement in self._block(node.body)]
        return node

    # Statements

    def visit_If(self, node: ast.If) -> Any:
        if always_raises(node.body) != always_raises(node.orelse):
            return self._requirement(node, answer=always_raises(node.orelse))
        blocks: list[ast.stmt] = [*node.body, *node.orelse]
        flags = flags_set_in(blocks) | ({RESULT} if facts(node).answers else set())
        bound = self._bound(blocks, flags)
        site = Branch(node.lineno, self._code, self._problem(node, blocks, bound))
        site.joined = sorted(bound & facts(node).live_after)
        site.bound, site.written = bound, self._written(blocks)
        site.surely_bound = (surely_bound_by(node.body) & surely_bound_by(node.orelse)) | flags
        site.rounds = facts(node).rounds
        site.left_out = bound - self._shared - self._rebound if facts(node).unless_left else set()
        cells = self._cells(node, blocks, bound | ({site.rounds} if site.rounds else set()))
        test = self._valued(self.test(node.test))
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        site.blocks = CodeBlock(self._code, node.body, bound), CodeBlock(self._code, node.orelse, bound)
        written: ast.stmt = ast.Pass()
        if facts(node).answers:
            written = ast.Return(load(RESULT))
            facts(written).flag = RESULT
        takes_over = ast.BoolOp(ast.And(), [self._is_staged(test), self._call(site, "is_written", load(VALUE), cells)])
        plain = ast.copy_location(ast.If(load(VALUE), node.body, node.orelse), node)
        return place(ast.If(takes_over, [written], [plain]), node)

    def visit_Assert(self, node: ast.Assert) -> Any:
        return self._requirement(node, answer=True)

    def _requirement(self, node: ast.If | ast.Assert, answer: bool) -> Any:
        """A test that raises an error if it has another answer."""
        site = Requirement(node.lineno, self._code, None)
        required = self._call(site, "required", load(VALUE), ast.Constant(answer))
        test = place(ast.IfExp(self._is_staged(self._valued(self.test(node.test))), required, load(VALUE)), node.test)
        node.test = ast.Constant(answer)
        self.generic_visit(node)
        node.test = test
        return node

    def visit_While(self, node: ast.While) -> Any:
        bound = self._bound([node.test, *node.body], flags_set_in(node.body))
        site = self._loop(node, bound, [node.test, *node.body])
        cells = self._cells(node, [node.test, *node.body], bound)
        node.test = self.test(node.test)
        in_test = self._bound([node.test], set())
        site.test, site.test_binds = CodeBlock(self._code, node.test, in_test), bool(in_test)
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        site.round = CodeBlock(self._code, node.body, bound)
        goes_on = self._call(site, "goes_on", load(VALUE), cells)
        takes_over = self._call(site, "takes_over", self._valued(node.test))
        node.test = place(ast.IfExp(takes_over, goes_on, load(VALUE)), node.test)
        return node

    def visit_For(self, node: ast.For) -> Any:
        bound = self._bound([node.target, *node.body], flags_set_in(node.body))
        site = self._loop(node, bound, [node.target, *node.body])
        cells = self._cells(node, [node.target, *node.body], bound | ({site.rounds} if site.rounds else set()))
        call, iterable = call_in(node.iter), self._iterable(node.iter, COUNTED)
        with_notes(call, node, self._code)
        node.target = self.visit(node.target)
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        body = [place(ast.Assign([node.target], load(ITEM)), node.target), *node.body]
        site.round = CodeBlock(self._code, body, bound, is_round=True)
        items: ast.expr = self._call(site, "items", iterable, cells)
        if site.rounds is not None:
            items = ast.NamedExpr(ast.Name(site.rounds, ast.Store()), items)
        node.iter = place(items, iterable)
        return node

    def _iterable(self, node: ast.expr, counted: set[str], *around: ast.expr) -> Any:
        """What a `for` loop goes over: nobody else sees it, so it may have indices in place of an iterator."""
        if isinstance(node, ast.Subscript):
            return self._item(node, "items")
        name = vars(node.func).get("id", vars(node.func).get("attr")) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or name not in counted or not self._is_of_python(node.func):
            return self.visit(node)
        node.args = [self._iterable(part, counted, copied(node.func)) for part in node.args]
        node.keywords = [self.visit(part) for part in node.keywords]
        node.func = place(self._run("counted", node.func, *around), node.func)
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        """A call whose answer is not used, so it has an effect."""
        call = node.value
        self.generic_visit(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Call) and len(call.func.args) == 1:
            call.func = place(self._run("called_for_its_effect", *call.func.args), call.func)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return type(self)(self._code, self._visible).function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    # Expressions

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return type(self)(self._code, self._visible).function(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        return self._bool_op(node, self.visit, load(VALUE))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if not isinstance(node.op, ast.Not):
            return self.generic_visit(node)
        negated = place(self._run("negated", load(VALUE)), node)
        plain = ast.copy_location(ast.UnaryOp(ast.Not(), load(VALUE)), node)
        return place(ast.IfExp(self._is_staged(self._valued(self.test(node.operand))), negated, plain), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Lists that are compared by `is` may be others than in the program. None, and its kin, are what they are."""
        self.generic_visit(node)
        operands = [node.left, *node.comparators]
        if isinstance(node.ops[0], ast.Is | ast.IsNot) and not any(isinstance(x, ast.Constant) for x in operands):
            node.left, *node.comparators = [place(self._run("told_apart", x), x) for x in operands]
        if isinstance(node.ops[0], ast.In | ast.NotIn) and len(node.ops) == 1:
            name = ast.Constant("in" if isinstance(node.ops[0], ast.In) else "not in")
            is_staged = self._is_staged(ast.NamedExpr(ast.Name(SOUGHT, ast.Store()), node.left))
            node.left = load(SOUGHT)
            found = self._run("contained", name, load(SOUGHT), *copied(node.comparators))
            return place(ast.IfExp(is_staged, found, node), node)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        return self._choice(node, self.test(node.test), node.body, node.orelse, self.visit)

    def visit_Call(self, node: ast.Call) -> Any:
        return self._reduced(node) if is_fold(node) else self._called(node)

    def _reduced(self, node: ast.Call) -> Any:
        """A call that reduces a comprehension: by a loop, or by the function as it stands there."""
        function: Any = node.func
        comprehension: Any = node.args[0]
        site = fold_site(node, self._code, type(self)(self._code, self._visible).function)
        cells = self._cells(node, [comprehension], set())
        others = [self.visit(copied(part)) for part in others_of(node) or []]
        first = comprehension.generators[0]
        self._sites[comprehension] = None  # its list is not needed where the loop can be written down
        items = ast.NamedExpr(ast.Name(ITEMS, ast.Store()), self._iterable(first.iter, COUNTED))
        first.iter = place(load(ITEMS), first.iter)
        is_loop = self._call(site, "is_a_loop", load(function.id), items)
        return place(
            ast.IfExp(is_loop, self._call(site, "answer", load(ITEMS), cells, *others), self._called(node)), node
        )

    def _called(self, node: ast.Call) -> Any:
        """A call of a function."""
        sees_its_frame = isinstance(node.func, ast.Name) and node.func.id in SEES_ITS_FRAME
        called = "called"
        if isinstance(node.func, ast.Name) and node.func.id in JOINED and has_no_effects(items := _only_argument(node)):
            called = "called_without_effects"
            without_filters(node)
            items.generators[0].iter = place(self._run("lasting", items.generators[0].iter), items)
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in MAKING and called == "called":
            site = self._code.constant(MakingSite(node.lineno, self._code, None))
            node.func = place(self._run("called_to_make", site, node.func), node.func)
        elif not sees_its_frame:
            node.func = place(self._run(called, node.func), node.func)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """An item that is read, or written to. A write to an array has a rewritten form of its own, too."""
        return self._item(node, "item")

    def _item(self, node: ast.Subscript, read: str) -> Any:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Store):
            stands_for = "writable_rows" if isinstance(node.slice, ast.List) else "writable"
            node.value = place(self._run(stands_for, node.value), node.value)
            facts(node).is_written = True
            return node
        if is_constant(node.slice) or isinstance(node.ctx, ast.Del):
            return node
        index = outside_brackets(node.slice, self._code.constant(self._code.running))
        return place(self._call(ItemSite(node.lineno, self._code, None), read, node.value, index), node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Store):
            node.value = place(self._run("changing", node.value), node.value)
        return node

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        if node not in self._sites and is_usual(node):
            return self._listed(node)
        return self._comprehension(node, ["elt"], self._sites.pop(node, None))

    def visit_SetComp(self, node: ast.SetComp) -> Any:
        return self._comprehension(node, ["elt"])

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return self._comprehension(node, ["elt"])

    def visit_DictComp(self, node: ast.DictComp) -> Any:
        return self._comprehension(node, ["key", "value"])

    def test(self, node: ast.expr) -> ast.expr:
        """An expression of which only the truth matters. Python asks each operand of `and` and `or` once."""
        if isinstance(node, ast.BoolOp):
            found: ast.expr = self._bool_op(node, self.test, ast.Constant(isinstance(node.op, ast.Or)))
        else:
            found = self.visit(node)
        return found

    def _bool_op(self, node: ast.BoolOp, visit: Any, short: ast.expr) -> ast.expr:
        first, *rest = node.values
        other = rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(node.op, rest), rest[0])
        branches = (other, short) if isinstance(node.op, ast.And) else (short, other)
        return self._choice(node, self.test(first) if visit == self.test else self.visit(first), *branches, visit)

    def _choice(self, node: ast.expr, test: ast.expr, then: ast.expr, other: ast.expr, visit: Any) -> ast.expr:
        """One of two expressions; both are written down if the test is staged."""
        parts = [then, other]
        bound = self._bound(parts, set()) & bound_by(parts)
        site = ChoiceSite(node.lineno, self._code, BINDS_IN_EXPRESSION if bound else self._problem(node, parts, set()))
        seen = self._cells(node, parts, set())
        parts = [part if _is_value(part) else visit(part) for part in parts]
        if site.problem is not None:
            plain = ast.IfExp(self._call(site, "noted", self._valued(test)), *parts)
            return with_places(ast.copy_location(plain, node))
        site.blocks = tuple(None if _is_value(part) else CodeBlock(self._code, part, set()) for part in parts)
        chosen = self._call(site, "value", load(VALUE), seen)
        plain = ast.copy_location(ast.IfExp(load(VALUE), *parts), node)
        found: ast.expr = place(ast.IfExp(self._is_staged(self._valued(test)), chosen, plain), node)
        return found

    def _comprehension(self, node: Any, elements: list[str], of_list: ListSite | None = None) -> Any:
        """A comprehension with rewritten elements. Its filters decide how many there are, so they are asked."""
        outer = self._visible
        first = node.generators[0]
        targets = {name for part in node.generators for name in bound_by([part.target])}
        if not has([first.iter], (*COMPREHENSIONS, *FUNCTIONS)):
            first.iter = CallsAlone(partial(self._run, "called")).visit(first.iter)
        self._visible = outer | targets
        for part in node.generators:
            part.ifs = [self._filter(test, of_list) for test in part.ifs]
        for field in elements:
            setattr(node, field, self.visit(getattr(node, field)))
        self._visible = outer
        return node

    def _is_of_python(self, function: ast.expr) -> bool:
        """Whether this is a name, which Python may have, or a function of `itertools`."""
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return self._code.globals.get(function.value.id) is itertools
        return isinstance(function, ast.Name)

    def _filter(self, test: ast.expr, of_list: ListSite | None) -> ast.expr:
        site = FilterSite(test.lineno, self._code, of_list)
        found: ast.expr = place(self._call(site, "noted", self.test(test)), test)
        return found

    # Parts

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [self.visit(statement) for statement in statements]

    def _loop(self, node: ast.While | ast.For, bound: set[str], parts: list[ast.AST]) -> LoopSite:
        site = LoopSite(node.lineno, self._code, self._problem(node, parts, bound))
        site.carried = sorted(bound & facts(node).live_at_head)
        site.bound, site.written = bound, self._written(parts)
        site.flag, site.rounds = facts(node).flag, facts(node).rounds
        return site


def _only_argument(node: ast.Call) -> Any:
    return node.args[0] if len(node.args) == 1 and not node.keywords else None


def _is_value(node: ast.expr) -> bool:
    """Whether this is the value of the test itself."""
    return isinstance(node, ast.Name) and node.id == VALUE
