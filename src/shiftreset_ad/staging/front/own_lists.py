"""Variables whose lists have no other name, so to bind such a variable to another list is to change the list.

A record has one list under a name. So `out = out + [x]` becomes what `out.append(x)` is, `out = out[1:]` what
`out.pop(0)` is, and `out = []` what `out.clear()` is, but only if nobody can tell: each list that the variable is bound
to is new, and each use of the variable leaves nobody else with the list.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.staging.front.names import LOOKS_UP_NAMES, bound_by, in_scope
from shiftreset_ad.staging.front.nodes import all_nodes

CHANGING = {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"}
METHODS = CHANGING | {"copy", "count", "index"}
READING = {"all", "any", "len", "list", "max", "min", "sorted", "sum", "tuple"}  # functions that keep no list
GOING_OVER = {"enumerate", "reversed", "zip"}
OF_NUMPY = {
    *("array", "asarray", "stack", "hstack", "vstack", "concatenate", "sum", "prod", "mean", "median", "std", "var"),
    *("max", "min", "argmax", "argmin", "dot", "cumsum", "cumprod", "diff", "sort", "argsort", "any", "all", "size"),
}
NEW = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)  # what `out += ...` may add: an array would be added up
STATEMENTS_WITH_ENDS = (ast.Try, ast.TryStar, ast.With)
BINDING_OTHERWISE = (  # variables, of which there is no node
    *(ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.ExceptHandler, ast.alias),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
)


class OwnLists:
    """The `names` of the variables of a function whose lists have no other names."""

    def __init__(self, body: list[Any], own: set[str], visible: set[str], space: Mapping[str, Any]) -> None:
        """The `own` variables of the function are not its parameters. It sees `visible` ones, and global ones."""
        self._space = space
        self._usual: set[str] = set()  # names that must have their usual meaning
        self._functions = {name for name in READING | GOING_OVER if self._is_usual(name)} - visible
        self._numpys = {name for name, x in list(space.items()) if x is np} - visible
        nodes = list(in_scope(body))
        self.names = {binding.target.id for node in nodes for binding in bindings(node)} & own
        if not self.names:
            return
        if any(isinstance(node, ast.Name) and node.id in LOOKS_UP_NAMES for node in nodes):
            self.names = set()
        self._has_end = any(isinstance(node, ast.Try | ast.TryStar) and node.finalbody for node in nodes)
        self._may_go_on = any(isinstance(node, STATEMENTS_WITH_ENDS) for node in nodes)
        harmless = {id(name) for node in nodes for name in self._harmless_in(node)}
        for part in body:  # with the functions in it, which may run at any time
            self.names -= {x.id for x in all_nodes(part) if isinstance(x, ast.Name) and id(x) not in harmless}
        self.names -= bound_by(node for node in nodes if isinstance(node, BINDING_OTHERWISE))

    def are_known(self) -> bool:
        """Whether the functions that take the lists still have their usual meaning."""
        return all(self._space.get(name) is np or self._is_usual(name) for name in self._usual)

    def _is_usual(self, name: str) -> bool:
        usual = getattr(builtins, name, None)
        return usual is not None and self._space.get(name, usual) is usual

    def _harmless_in(self, node: ast.AST) -> Iterator[ast.Name]:
        """The names in a node that leave nobody else with a list."""
        yield from (binding.target for binding in bindings(node))
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.value, NEW):
            yield from _names([node.target])
        elif isinstance(node, ast.Subscript):
            yield from _names([node.value])
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            if isinstance(node.left, ast.List) or isinstance(node.right, ast.List):
                yield from _names([node.left, node.right])
        elif isinstance(node, ast.List | ast.Tuple) and isinstance(node.ctx, ast.Load):
            yield from _names(part.value for part in node.elts if isinstance(part, ast.Starred))
        elif isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            yield from _tested(node.test)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield from _tested(node.operand)
        elif isinstance(node, ast.Compare):
            yield from _names(x for op, x in zip(node.ops, node.comparators, strict=True) if _is_in(op))
        elif isinstance(node, ast.Return) and node.value is not None and not self._has_end:
            # An error of what is called here may be caught, and then the function goes on.
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            yield from _names(parts if self._may_go_on else all_nodes(node.value))
        elif isinstance(node, ast.For):
            bound = bound_by([node.target, *node.body])
            yield from (x for x in self._gone_over(node.iter) if x.id not in bound)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp):
            yield from self._of_a_comprehension(node)
        elif isinstance(node, ast.Call):
            yield from self._in_a_call(node)

    def _in_a_call(self, node: ast.Call) -> Iterator[ast.Name]:
        f = node.func
        if isinstance(f, ast.Attribute) and f.attr in METHODS:
            yield from _names([f.value])
        if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id in self._numpys:
            if f.attr in OF_NUMPY:
                self._usual.add(f.value.id)
                yield from _names(node.args)
        elif isinstance(f, ast.Name) and f.id in self._functions & READING:
            if len(node.args) == 1 or f.id == "sum":  # the greatest one of several lists is a list
                self._usual.add(f.id)
                yield from _names(node.args[:1])
            if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
                yield from self._of_a_comprehension(node.args[0])

    def _of_a_comprehension(self, node: Any) -> Iterator[ast.Name]:
        for part in node.generators:
            yield from self._gone_over(part.iter)
            for test in part.ifs:
                yield from _tested(test)

    def _gone_over(self, node: ast.expr) -> Iterator[ast.Name]:
        """The lists that a loop goes over."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self._functions:
            self._usual.add(node.func.id)
            for part in node.args:
                yield from self._gone_over(part)
        else:
            yield from _names([node])


def added(node: ast.expr | None, name: str) -> ast.List | None:
    """`[...]` in `name + [...]`, or in `[*name, ...]`; None for another expression."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.right, ast.List):
        return node.right if _is_called(node.left, name) else None
    first = node.elts[0] if isinstance(node, ast.List) and node.elts else None
    if isinstance(node, ast.List) and isinstance(first, ast.Starred) and _is_called(first.value, name):
        more = ast.List(node.elts[1:], ast.Load())
        return None if _changes(more, name) else ast.copy_location(more, node)  # which would come before the others
    return None


def part_of(node: ast.expr | None, name: str) -> ast.Slice | None:
    """`a:b` in `name[a:b]`; None for another expression."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.step is None:
        return node.slice if _is_called(node.value, name) and not _changes(node.slice, name) else None
    return None


def repeated(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The list and the number in `[x] * n`; None for another expression."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    items = node.left
    is_one = isinstance(items, ast.List) and len(items.elts) == 1 and not isinstance(items.elts[0], ast.Starred)
    return (items, node.right) if is_one else None


class Binding(NamedTuple):
    """A variable that an assignment binds to a new list, and whether the list that the variable has may change instead.

    That is the `last` thing to happen if nothing is computed, and nobody looks at the list, from then to the binding.
    """

    target: ast.Name
    value: ast.expr
    last: bool


def bindings(node: ast.AST) -> list[Binding]:
    """The variables that a statement binds to new lists."""
    pairs: list[tuple[ast.expr, ast.expr]]
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        pairs = [(node.target, node.value)]
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts, strict=True))
    else:
        return []
    return [
        Binding(
            target,
            value,
            all(isinstance(before, ast.Name) for before, _ in pairs[:i])
            and all(isinstance(later, ast.Constant) for _, later in pairs[i + 1 :]),
        )
        for i, (target, value) in enumerate(pairs)
        if isinstance(target, ast.Name) and _is_new(value, target.id)
    ]


def _is_new(value: ast.expr, name: str) -> bool:
    """Whether an expression makes a list, perhaps of the list of this variable."""
    is_made = isinstance(value, ast.List | ast.ListComp) or repeated(value) is not None
    return is_made or added(value, name) is not None or part_of(value, name) is not None


def _tested(node: ast.expr) -> Iterator[ast.Name]:
    """The names of which only the truth matters."""
    yield from _names(node.values if isinstance(node, ast.BoolOp) else [node])


def _is_called(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _changes(node: ast.AST, name: str) -> bool:
    """Whether an expression changes the list of a variable."""
    return any(
        isinstance(part, ast.Attribute) and part.attr in CHANGING and _is_called(part.value, name)
        for part in all_nodes(node)
    )


def _is_in(operator: ast.cmpop) -> bool:
    return isinstance(operator, ast.In | ast.NotIn)


def _names(nodes: Iterable[ast.AST]) -> Iterator[ast.Name]:
    return (node for node in nodes if isinstance(node, ast.Name))
