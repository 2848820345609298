"""A chain of comparisons becomes an `and`: `a < b < c` is `a < (t := b) and t < c`, as Python has it."""

from __future__ import annotations

import ast
from itertools import count
from typing import Any

from shiftreset_ad.staging.front.facts import load, place
from shiftreset_ad.staging.front.names import COMPREHENSIONS, SCOPES
from shiftreset_ad.staging.front.nodes import Transformer

COMPARED = "_sr_compared"  # the beginning of the names of variables for the operands


def without_chains(node: Any) -> Any:
    """The node without chains of comparisons in its own scope."""
    return _Chains().visit(node)


class _Chains(Transformer):
    def __init__(self) -> None:
        self._numbers = count()

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (*SCOPES, *COMPREHENSIONS)):
            return node  # another scope, or one in which a variable may not be bound
        return super().visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        left, parts = node.left, []
        for operator, right in zip(node.ops[:-1], node.comparators[:-1], strict=True):
            name = f"{COMPARED}{next(self._numbers)}"
            kept = ast.NamedExpr(ast.Name(name, ast.Store()), right)
            parts.append(ast.copy_location(ast.Compare(left, [operator], [kept]), node))
            left = load(name)
        parts.append(ast.copy_location(ast.Compare(left, [node.ops[-1]], [node.comparators[-1]]), node))
        return place(ast.BoolOp(ast.And(), list(parts)), node)
