"""Lists that may grow: those of displays in an assignment, `[]`, `[x]` and `[x] * n`, and of comprehensions."""

from __future__ import annotations

import ast
from abc import abstractmethod
from typing import Any

from shiftreset_ad.staging.front.assembling import Assembler
from shiftreset_ad.staging.front.blocks import RewrittenCode
from shiftreset_ad.staging.front.facts import load, place
from shiftreset_ad.staging.front.folds import ITEMS, FunctionBlock, loop_that_appends
from shiftreset_ad.staging.front.frames import FrameVariables
from shiftreset_ad.staging.front.growing import GrowingList
from shiftreset_ad.staging.front.indices import outside_brackets
from shiftreset_ad.staging.front.nodes import Transformer, copied
from shiftreset_ad.staging.front.own_lists import OwnLists, added, bindings, part_of, repeated
from shiftreset_ad.staging.front.refusals import FILTERS
from shiftreset_ad.staging.front.sequences import sequential
from shiftreset_ad.staging.front.session import Session, current
from shiftreset_ad.staging.front.sites import ChoiceSite, Site

LEAST_ROOM = 64
COUNTED = {"range", "zip", "enumerate", "reversed", "count", "pairwise", "product"}


class ListSite(Site):
    """What makes a list. The list may grow, with room for so many items."""

    loop: FunctionBlock  # that appends the items of a comprehension
    own: OwnLists  # the variables whose lists have no other names, if a variable of these gets the list

    def __init__(self, line: int, code: RewrittenCode) -> None:
        super().__init__(line, code, None)
        self.room = LEAST_ROOM

    @property
    def is_growing(self) -> bool:
        """Whether an earlier recording has found that the length depends on values."""
        session = current()
        return session is not None and self in session.growing and self not in session.refusals

    def made(self, items: list[Any]) -> Any:
        """The list of a display."""
        session = current()
        if session is None:
            return items
        if self.is_growing:
            return GrowingList(session, self, items)
        session.lists[id(items)] = items, self
        return items

    def instead(self, items: list[Any], seen: Any) -> Any:
        """The list of a display for a variable that may have a list, which has no other name."""
        session = current()
        frame = FrameVariables(seen)
        (old,) = frame.values(frame.cells)
        if type(old) is GrowingList and self.own.are_known():
            old.clear()
            old.extend(items)
            return old
        if session is not None and type(old) is list and len(old) != len(items):
            self._grows(session, old)
        return self.made(items)

    def repeated(self, items: list[Any], count: Any) -> Any:
        """The list `[x] * n`."""
        session = current()
        is_staged = session is not None and session.control.is_staged(count)
        if session is None or not is_staged or session.control.type_of(count) is not int or self in session.refusals:
            return self.made(items * count)
        session.grows_by(self)
        found, (item,) = GrowingList(session, self, []), items
        found.fill(item, count)
        return found

    def shortened(self, old: Any, part: slice) -> Any:
        """A part of the list of a variable, for this variable. The list has no other name."""
        session = current()
        if session is None:
            return old[part]
        if type(old) is GrowingList and self.own.are_known():
            old.keep(part)
            return old
        items = old[part]
        if len(items) != len(old):
            self._grows(session, old)
        return self.made(items)

    def extended(self, old: Any, items: list[Any]) -> Any:
        """The list of a variable with more items, for this variable. The list has no other name."""
        session = current()
        if session is None:
            return old + items
        if type(old) is GrowingList and self.own.are_known():
            old.extend(items)
            return old
        if items:
            self._grows(session, old)
        return self.made(old + items)

    def _grows(self, session: Session, old: Any) -> None:
        """A block binds a variable to a list of another length, so it changes the list that the variable has."""
        if session.active and self.own.are_known():
            session.grows(old)

    def is_a_loop(self, items: Any) -> bool:
        """Whether a comprehension over these items is a loop that appends to a list."""
        session = current()
        if session is None or self in session.refusals:
            return False
        found = sequential(items, session.control)
        if found is not None and found.is_counted and session.control.is_staged(found.count):
            session.grows_by(self)
        return self in session.growing

    def listed(self, items: Any, seen: Any) -> Any:
        """The list of a comprehension over these items."""
        return self.loop.on(FrameVariables(seen).cells)(items, self.made([]))


class FilterSite(ChoiceSite):
    """A filter of a comprehension. If it is staged, it decides on the length of the list, if there is one."""

    def __init__(self, line: int, code: RewrittenCode, of_list: ListSite | None) -> None:
        super().__init__(line, code, FILTERS)
        self._of_list = of_list

    def noted(self, test: Any) -> Any:
        session = current()
        if session is not None and self._of_list is not None and session.control.is_staged(test):
            session.grows_by(self._of_list)
        return super().noted(test)


class Displays(Assembler, Transformer):
    """The rewriting of what a statement assigns: lists that are made there, by themselves or as parts of it."""

    def __init__(self, code: RewrittenCode, outer: set[str]) -> None:
        super().__init__(code, outer)
        self._sites: dict[ast.expr, ListSite | None] = {}  # of comprehensions whose lists may grow
        self._own_lists: OwnLists | None = None

    @abstractmethod
    def _iterable(self, node: ast.expr, counted: set[str], *around: ast.expr) -> Any:
        """What a loop goes over, by a function that gives it indices."""

    def visit_Assign(self, node: ast.Assign) -> Any:
        found = self._changes(node)
        if found and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            node.value.elts = [found.get(part) or self._assigned(part) for part in node.value.elts]
        else:
            node.value = found.get(node.value) or self._assigned(node.value)
        node.targets = [self.visit(target) for target in node.targets]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is not None:
            node.value = self._changes(node).get(node.value) or self._assigned(node.value)
        node.target = self.visit(node.target)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """`x += v`, `o.x += v` and `xs[i] += v` write to an array, perhaps to a plain one that the program has made."""
        target, at = node.target, list[ast.expr]()
        if isinstance(target, ast.Name):
            at = [load(target.id), ast.Constant(None), ast.Constant(None)]
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            at = [load(target.value.id), ast.Constant("attribute"), ast.Constant(target.attr)]
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and _is_simple(target.slice):
            at = [load(target.value.id), ast.Constant("item"), copied(target.slice)]
        self.generic_visit(node)
        if at:
            node.value = place(self._run("written_to", *at, node.value), node.value)
        return node

    def _changes(self, node: ast.Assign | ast.AnnAssign) -> dict[ast.expr, ast.expr]:
        """For the new lists that a statement binds variables to: the lists that these have, which change instead."""
        own = self._own_lists
        return {
            value: found
            for target, value, is_last in bindings(node)
            if own is not None and is_last and target.id in own.names
            if (found := self._change(own, target.id, value)) is not None
        }

    def _change(self, own: OwnLists, name: str, value: ast.expr) -> ast.expr | None:
        more, part = added(value, name), part_of(value, name)
        if more is None and part is None and not isinstance(value, ast.List):
            return None
        site = ListSite(value.lineno, self._code)
        site.own = own
        if part is not None:
            ends = outside_brackets(self.visit(part), self._code.constant(self._code.running))
            return place(self._call(site, "shortened", load(name), ends), value)  # type: ignore[no-any-return]
        items = self.visit(more or value)
        if more is not None:
            return place(self._call(site, "extended", load(name), items), value)  # type: ignore[no-any-return]
        cells = self._cells(value, [load(name)], set())
        return place(self._call(site, "instead", items, cells), value)  # type: ignore[no-any-return]

    def _assigned(self, node: ast.expr) -> ast.expr:
        if (parts := repeated(node)) is not None:
            made = self._call(ListSite(node.lineno, self._code), "repeated", *map(self.visit, parts))
            return place(made, node)  # type: ignore[no-any-return]
        if isinstance(node, ast.List | ast.Tuple):
            node.elts = [self._assigned(part) for part in node.elts]
        elif isinstance(node, ast.Dict):
            node.keys = [None if key is None else self.visit(key) for key in node.keys]
            node.values = [self._assigned(part) for part in node.values]
        else:
            found: ast.expr = self.visit(node)
            return found
        if isinstance(node, ast.List):
            return place(self._call(ListSite(node.lineno, self._code), "made", node), node)  # type: ignore[no-any-return]
        return node

    def _listed(self, node: ast.ListComp) -> ast.expr:
        """A comprehension, which is a loop if its filters, or the number of its items, are staged."""
        site = ListSite(node.lineno, self._code)
        loop = type(self)(self._code, self._visible).function(loop_that_appends(node))  # type: ignore[attr-defined]
        site.loop = FunctionBlock(self._code, loop)
        cells = self._cells(node, [node], set())
        first = node.generators[0]
        items = ast.NamedExpr(ast.Name(ITEMS, ast.Store()), self._iterable(first.iter, COUNTED))
        first.iter = place(load(ITEMS), first.iter)
        self._sites[node] = site
        is_loop, listed = self._call(site, "is_a_loop", items), self._call(site, "listed", load(ITEMS), cells)
        return place(ast.IfExp(is_loop, listed, self.visit(node)), node)  # type: ignore[no-any-return]


def _is_simple(index: ast.expr) -> bool:
    """Whether an index is a variable or a constant, so that it may be looked at twice."""
    return isinstance(index, ast.Name | ast.Constant)
