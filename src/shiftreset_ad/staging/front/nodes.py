"""The nodes of a syntax tree: children, all nodes, transformers, places and copies.

`ast` and `copy` have the same, and take far longer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)
PLAIN = (str, int, type(None))  # the types of most attributes of nodes that are no nodes
PLACE = ("lineno", "end_lineno", "col_offset", "end_col_offset")
WITHOUT_NODES = {
    *("arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level", "module", "op"),
    *("ops", "rest", "simple", "type_comment"),
}


class _Fields(dict[type, tuple[str, ...]]):
    """The fields of each kind of nodes in which nodes may be."""

    def __missing__(self, kind: Any) -> tuple[str, ...]:
        found = self[kind] = () if kind is ast.Constant else tuple(x for x in kind._fields if x not in WITHOUT_NODES)
        return found


_fields = _Fields()


def children_of(node: ast.AST) -> list[ast.AST]:
    """What `ast.iter_child_nodes` gives, without contexts and operators, such as `ast.Load()` and `ast.Add()`."""
    found: list[ast.AST] = []
    for name in _fields[type(node)]:
        part = getattr(node, name, None)
        if type(part) is list:
            found += [child for child in part if isinstance(child, ast.AST)]
        elif isinstance(part, ast.AST):
            found.append(part)
    return found


def all_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What `ast.walk` gives, without contexts and operators."""
    waiting = [node]
    for node in waiting:  # to which the children are added meanwhile
        yield node
        waiting += children_of(node)


class Transformer:
    """What `ast.NodeTransformer` does, to all nodes but contexts and operators. No node may be left out."""

    def visit(self, node: ast.AST) -> Any:
        return getattr(self, f"visit_{type(node).__name__}", self.generic_visit)(node)

    def generic_visit(self, node: ast.AST) -> Any:
        for name in _fields[type(node)]:
            part = getattr(node, name, None)
            if type(part) is list:
                part[:] = self._visited(part)
            elif isinstance(part, ast.AST):
                setattr(node, name, self.visit(part))
        return node

    def _visited(self, parts: list[Any]) -> Iterator[Any]:
        for part in parts:
            new = self.visit(part) if isinstance(part, ast.AST) else part
            if type(new) is list:
                yield from new
            else:
                yield new


def visited(transformer: Transformer, statements: list[ast.stmt]) -> list[ast.stmt]:
    """These statements after a transformer, which may put several in place of one."""
    whole = ast.Module(statements, [])
    transformer.generic_visit(whole)
    return whole.body


def with_places(tree: Node) -> Node:
    """What `ast.fix_missing_locations` does."""
    waiting: list[tuple[ast.AST, tuple[Any, ...]]] = [(tree, (1, 1, 0, 0))]
    while waiting:
        node, place = waiting.pop()
        if node._attributes:
            known = vars(node)
            for name, number in zip(PLACE, place, strict=True):
                if known.get(name) is None:
                    known[name] = number
            place = known["lineno"], known["end_lineno"], known["col_offset"], known["end_col_offset"]
        waiting += [(child, place) for child in children_of(node)]
    return tree


def after_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Where in its body a function begins: at 1 if there is a docstring."""
    return 0 if ast.get_docstring(function, clean=False) is None else 1


def copied(part: Any) -> Any:
    """A copy of a node, or of a list of nodes, and of what is kept in them, such as their facts."""
    if type(part) is list:
        return [copied(x) for x in part]
    if not isinstance(part, ast.AST):
        return copy(part)
    if not (part._fields or part._attributes):  # such as `ast.Load()`
        return part
    new = type(part).__new__(type(part))
    vars(new).update((name, x if type(x) in PLAIN else copied(x)) for name, x in vars(part).items())
    return new
