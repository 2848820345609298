"""What stands in brackets, as in `x[i, 1:]`, in rewritten code."""

from __future__ import annotations

import ast
from typing import Any

from shiftreset_ad.staging.front.nodes import all_nodes


def outside_brackets(index: ast.expr, running: ast.expr) -> ast.expr:
    """An index as an expression that may stand elsewhere. `running` stands for the module that has `slice_of`."""
    if isinstance(index, ast.Slice):
        ends = [ast.Constant(None) if end is None else end for end in (index.lower, index.upper, index.step)]
        return ast.Call(ast.Attribute(running, "slice_of", ast.Load()), ends, [])
    if isinstance(index, ast.Tuple):
        return ast.Tuple([outside_brackets(part, running) for part in index.elts], ast.Load())
    return index


def slice_of(*ends: Any) -> slice:
    """A slice, as it is written in brackets."""
    return slice(*ends)


def is_constant(index: ast.expr) -> bool:
    """Whether an index is made of literals alone, as in `x[-1]` and `x[:, 1:]`."""
    return not any(isinstance(part, ast.Name | ast.Call | ast.Attribute | ast.Subscript) for part in all_nodes(index))
