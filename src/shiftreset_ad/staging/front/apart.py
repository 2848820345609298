"""A variable of a comprehension that has the name of another variable of its function gets a name of its own.

The rewritten code has inner functions, which see variables of the function. From Python 3.13 on, the variable of a
comprehension cannot be read from outside if an inner function sees another variable of this name; and in Python 3.12
not if the function sees such a variable from outside.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from itertools import count

from shiftreset_ad.staging.front.names import (
    COMPREHENSIONS,
    FUNCTIONS,
    LOOKS_UP_NAMES,
    body_of,
    bound_by,
    free_in,
    own_names,
    parts_in_scope,
)
from shiftreset_ad.staging.front.nodes import all_nodes, children_of


def with_names_apart(function: ast.AST) -> None:
    """Rename such variables in a function, and in those inside it, unless it may look up variables by their names."""
    nodes = list(all_nodes(function))
    has_comprehensions = any(isinstance(node, COMPREHENSIONS) for node in nodes)
    if has_comprehensions and not any(isinstance(node, ast.Name) and node.id in LOOKS_UP_NAMES for node in nodes):
        _Renaming()([function], {}, set())


class _Renaming:
    def __init__(self) -> None:
        self._numbers = count()

    def __call__(self, nodes: Iterable[ast.AST], names: Mapping[str, str], variables: set[str]) -> None:
        """Give variables their new names. The nodes are in a function that has these variables so far."""
        for node in nodes:
            if isinstance(node, ast.Name):
                node.id = names.get(node.id, node.id)
            elif isinstance(node, FUNCTIONS):
                own = own_names(node)
                self(parts_in_scope(node), names, variables)
                self(body_of(node), {old: new for old, new in names.items() if old not in own}, own | free_in(node))
            elif isinstance(node, COMPREHENSIONS):
                first = node.generators[0].iter  # Python computes it outside
                self([first], names, variables)
                own = bound_by([part.target for part in node.generators])
                renamed = {name: self._new(name) if name in variables else name for name in sorted(own)}
                variables |= own
                parts = [part for child in children_of(node) for part in _parts(child) if part is not first]
                self(parts, {**names, **renamed}, variables)
            else:
                self(children_of(node), names, variables)

    def _new(self, name: str) -> str:
        return f"_sr_each{next(self._numbers)}_{name}"


def _parts(node: ast.AST) -> list[ast.AST]:
    return children_of(node) if isinstance(node, ast.comprehension) else [node]
