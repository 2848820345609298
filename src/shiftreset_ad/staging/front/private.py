"""Names that are private to a class: in a method of `A`, the variable `__x` is `_A__x`, and so it is in a frame."""

from __future__ import annotations

import ast
from typing import TypeVar

from shiftreset_ad.staging.front.facts import facts

VARIABLES = ("id", "arg", "name", "rest")  # the fields of names, of parameters, of `except` and of patterns
OUTSIDE_THE_BODY = ("decorator_list", "bases", "keywords")  # a class inside has private names of its own

Node = TypeVar("Node", bound=ast.AST)


def with_whole_names(node: Node, of_class: str | None) -> Node:
    """A function of a class, in which each variable has the name that it has in a frame.

    A definition keeps its name, as the function and the class have it; its facts have the name of the variable. The
    names of attributes are left to the compiler.
    """
    if of_class is not None and of_class.strip("_"):
        _complete(node, f"_{of_class.lstrip('_')}")
    return node


def _complete(node: ast.AST, prefix: str) -> None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        facts(node).variable = _whole(node.name, prefix)
    elif isinstance(node, ast.alias):
        if (name := _whole(node.asname or node.name, prefix)) is not None:
            node.asname = name
    elif isinstance(node, ast.Global | ast.Nonlocal):
        node.names = [_whole(name, prefix) or name for name in node.names]
    elif not isinstance(node, ast.keyword):
        for field in VARIABLES:
            if (name := _whole(getattr(node, field, None), prefix)) is not None:
                setattr(node, field, name)
    for field in OUTSIDE_THE_BODY if isinstance(node, ast.ClassDef) else node._fields:
        part = getattr(node, field, None)
        for child in part if isinstance(part, list) else [part]:
            if isinstance(child, ast.AST):
                _complete(child, prefix)


def _whole(name: object, prefix: str) -> str | None:
    """The whole name for a private one; None if it is not private."""
    is_private = isinstance(name, str) and name.startswith("__") and not name.endswith("__") and "." not in name
    return f"{prefix}{name}" if is_private else None
