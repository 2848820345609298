"""The syntax tree of a function, found by its place, and proved to be what was compiled.

The tree is compiled again, at its place in its class and among its free variables. Only if that gives the code of the
function, instruction by instruction and line by line, is the tree the function's source. A file that was changed after
it was imported is found out in this way.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import CodeType, FunctionType
from typing import TypeAlias

from shiftreset_ad.staging.front.apart import with_names_apart
from shiftreset_ad.staging.front.names import FUNCTIONS, bound_by, in_scope
from shiftreset_ad.staging.front.nodes import all_nodes, children_of, copied, with_places
from shiftreset_ad.staging.front.private import with_whole_names
from shiftreset_ad.staging.front.refusals import RefusedError

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FEATURES = reduce(or_, [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names])
NEEDS_TYPE_PARAMS = sys.version_info >= (3, 12)
MOST_FILES = 64  # whose trees are kept


class Tree:
    """The syntax tree of a file: its functions by their first lines, and the names that the module imports."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        tree = ast.parse("".join(lines))
        self.imported = tuple(sorted(_imported_by(tree)))
        self._functions: dict[int, list[tuple[FunctionNode, str | None, bool]]] = {}
        for found in _functions_in(tree, None, False):
            self._functions.setdefault(_first_line(found[0]), []).append(found)

    def functions_at(self, code: CodeType) -> list[tuple[FunctionNode, str | None, bool]]:
        """The functions that begin in the line of this code, and have its name."""
        return [found for found in self._functions.get(code.co_firstlineno, ()) if _name_of(found[0]) == code.co_name]


_trees: dict[str, Tree] = {}


@dataclass(frozen=True)
class CompiledWith:
    """What a piece of code is compiled with: its file, its class, the free variables, and features of the future."""

    filename: str
    of_class: str | None
    is_nested: bool
    free: tuple[str, ...]
    imported: tuple[str, ...]  # names that the module imports: CPython reads their attributes in another way
    flags: int

    def compiled(self, node: ast.stmt | ast.expr) -> CodeType:
        """The code of a function, compiled at this place."""
        inner: ast.stmt = node if isinstance(node, ast.stmt) else ast.Expr(node)
        if self.is_nested:
            names = [name for name in self.free if name != "__class__"]
            inner = ast.FunctionDef("around", parameters(names), [inner], [])
        if self.of_class is not None:  # outside, as the name of the class must stay what it is
            inner = ast.ClassDef(self.of_class, [], [], [inner], [])
        if NEEDS_TYPE_PARAMS:
            for wrapper in all_nodes(inner):
                if isinstance(wrapper, ast.ClassDef | ast.FunctionDef):
                    vars(wrapper).setdefault("type_params", [])
        imports = [ast.copy_location(ast.Import([ast.alias(name)]), node) for name in self.imported]
        tree = with_places(ast.Module([*imports, ast.copy_location(inner, node)], []))
        code: CodeType = compile(tree, self.filename, "exec", self.flags, dont_inherit=True)
        for _ in range(1 + (self.of_class is not None) + self.is_nested):
            code = next(constant for constant in reversed(code.co_consts) if isinstance(constant, CodeType))
        return code


@dataclass(frozen=True)
class Source:
    """The syntax tree of a function, and its place."""

    node: FunctionNode
    place: CompiledWith


def source_of(function: FunctionType) -> Source:
    """The source of a function. Raises RefusedError if it is not known for certain."""
    code = function.__code__
    tree = _tree_of(function)
    for node, of_class, is_nested in tree.functions_at(code):
        place = CompiledWith(
            code.co_filename, of_class, is_nested, code.co_freevars, tree.imported, code.co_flags & FEATURES
        )
        if place.compiled(node) == code:
            found = with_whole_names(copied(node), of_class)
            with_names_apart(found)
            return Source(found, place)
    raise RefusedError(
        f"the source of {function.__qualname__} in {code.co_filename} is not there, or is not what was compiled"
    )


def _tree_of(function: FunctionType) -> Tree:
    filename = function.__code__.co_filename
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, function.__globals__)
    known = _trees.get(filename)
    if known is not None and known.lines == lines:
        return known
    try:
        tree = Tree(lines)
    except (SyntaxError, ValueError) as error:
        raise RefusedError(f"the source of {function.__qualname__} in {filename} cannot be read: {error}") from None
    if len(_trees) == MOST_FILES:
        _trees.pop(next(iter(_trees)))
    _trees[filename] = tree
    return tree


def _functions_in(
    node: ast.AST, of_class: str | None, is_nested: bool
) -> Iterator[tuple[FunctionNode, str | None, bool]]:
    """The functions in a tree, each with the class that it is in, and whether it is in another function."""
    for child in children_of(node):
        if isinstance(child, FUNCTIONS):
            yield child, of_class, is_nested
            yield from _functions_in(child, of_class, True)
        elif isinstance(child, ast.ClassDef):
            yield from _functions_in(child, child.name, is_nested)
        else:
            yield from _functions_in(child, of_class, is_nested)


def _imported_by(tree: ast.Module) -> set[str]:
    """The names that the statements of a module bind by importing."""
    imports = [node for node in in_scope([tree]) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {name for node in imports for alias in node.names for name in bound_by([alias])}
    return names - {"*"}


def _first_line(node: FunctionNode) -> int:
    """The line in which the code of a function begins: that of its first decorator."""
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *[decorator.lineno for decorator in decorators]])


def _name_of(node: FunctionNode) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def parameters(names: list[str]) -> ast.arguments:
    """The parameters of a function, by their names."""
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
