"""The nodes of a syntax tree: children, all nodes, and copies. `ast` and `copy` have the same, and take far longer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from typing import Any

PLAIN = (str, int, type(None))  # the types of most attributes of nodes that are no nodes


def children_of(node: ast.AST) -> list[ast.AST]:
    """What `ast.iter_child_nodes` gives."""
    found: list[ast.AST] = []
    for name in node._fields:
        part = getattr(node, name, None)
        if isinstance(part, ast.AST):
            found.append(part)
        elif type(part) is list:
            found += [child for child in part if isinstance(child, ast.AST)]
    return found


def all_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What `ast.walk` gives."""
    waiting = [node]
    for node in waiting:  # to which the children are added meanwhile
        yield node
        waiting += children_of(node)


def visited(transformer: ast.NodeTransformer, statements: list[ast.stmt]) -> list[ast.stmt]:
    """These statements after a transformer, which may put several in place of one."""
    whole = ast.Module(statements, [])
    transformer.generic_visit(whole)
    return whole.body


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
