"""What the passes over a syntax tree tell one another of a node: facts, kept in the node, and copied with it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from shiftreset_ad.staging.front.nodes import all_nodes

RESULT = "_sr_result"  # the variable for the answer of a function that a written branch has found
VALUE = "_sr_value"  # the variable for the value of a test
GOES_ON, CONTINUES, BREAKS, RETURNS = range(4)  # the values of a loop's flag; a greater one is another `return`


@dataclass
class Facts:
    """Of a jump: the `flag` of its loop, or RESULT, and the `code` for the flag. Of a test: why it `must_ask`.

    Of a `return` in a loop: so many statements before it are `moved` behind the loop, or the variable and the site that
    keep its `answer`. Of a test of a flag: whether what is bound under it is read only `unless_left` by a jump. Of a
    definition: the `variable` that it binds, if this has another name. Of an item: whether it `is_written` by what
    stands for its container. Of a function that is the body of a loop, and of the call that runs it: the names that it
    binds outside (`visits`).
    """

    flag: str | None = None
    code: int = GOES_ON
    moved: int = 0
    answer: tuple[str, Any] | None = None
    rounds: str | None = None
    must_ask: str | None = None
    variable: str | None = None
    answers: bool = False
    unless_left: bool = False
    is_written: bool = False
    visits: frozenset[str] | None = None
    live_after: frozenset[str] = frozenset()
    live_at_head: frozenset[str] = frozenset()


def facts(node: ast.AST) -> Facts:
    """The facts of a node, to read and to write."""
    found: Facts = vars(node).setdefault("facts", Facts())
    return found


def place(new: Any, old: ast.AST) -> Any:
    """A new node at the place of an old one, with all nodes in it that have no place yet."""
    for node in all_nodes(new):
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            ast.copy_location(node, old)
    return new


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def assign(name: str, value: ast.expr, at: ast.AST) -> ast.Assign:
    """The statement `name = value`, at the place of another node."""
    found: ast.Assign = place(ast.Assign([ast.Name(name, ast.Store())], value), at)
    return found


def compare(name: str, operator: ast.cmpop, number: int) -> ast.Compare:
    return ast.Compare(load(name), [operator], [ast.Constant(number)])
