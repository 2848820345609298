"""A counterexample without what it does not need: statements are left out, and expressions give way to their parts."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from time import monotonic
from typing import Any

from tests.staging.programs.check import Unsuitable, Wrong, check

SECONDS = 120
KEPT = {"around", "f", "change", "set_scale"}


def failure(text: str, seed: int, route: str) -> Wrong | None:
    """What is wrong with a program, if anything is."""
    try:
        check(text, seed, [route], Counter())
    except Wrong as wrong:
        return wrong
    except (Unsuitable, SyntaxError, RecursionError):
        pass
    except Exception:  # of a program that has lost what it needs
        pass
    return None


def shrunk(text: str, seed: int, wrong: Wrong) -> tuple[str, Wrong]:
    """A smaller program that fails on the same route and in the same way."""
    until, tree = monotonic() + SECONDS, ast.parse(text)
    found = failure(ast.unparse(tree), seed, wrong.route)
    if found is None or not is_alike(found, wrong):
        return text, wrong
    is_smaller = True
    while is_smaller and monotonic() < until:
        is_smaller = False
        for smaller in smaller_trees(tree):
            if monotonic() > until:
                break
            again = failure(ast.unparse(smaller), seed, wrong.route)
            if again is not None and is_alike(again, wrong):
                tree, found, is_smaller = smaller, again, True
                break
    return ast.unparse(tree), found


def is_alike(found: Wrong, wrong: Wrong) -> bool:
    if found.kind != wrong.kind:
        return False
    return wrong.kind != "error" or _error(found) == _error(wrong)


def _error(wrong: Wrong) -> Any:
    """The kinds of the errors; an answer has none."""
    return [x[0] if isinstance(x, tuple) and isinstance(x[0], type) else None for x in (wrong.found, wrong.wanted)]


def smaller_trees(tree: ast.Module) -> Iterator[ast.Module]:
    """Larger pieces go first."""
    places = [(i, node) for i, node in enumerate(ast.walk(tree))]
    for i, node in places:
        for field in ("body", "orelse", "handlers", "finalbody", "cases"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                for j in reversed(range(len(block))):
                    if getattr(block[j], "name", "") not in KEPT:
                        yield _changed(tree, i, lambda x, f=field, j=j: _drop(x, f, j))
                        if hasattr(block[j], "body") and isinstance(block[j].body, list):
                            yield _changed(tree, i, lambda x, f=field, j=j: _open(x, f, j, "body"))
                        if getattr(block[j], "orelse", None):
                            yield _changed(tree, i, lambda x, f=field, j=j: _open(x, f, j, "orelse"))
    for i, node in places:
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not isinstance(getattr(value, "ctx", None), ast.Store):
                for part in [*_constants(value), *_parts(value)]:
                    yield _changed(tree, i, lambda x, f=field, p=part: setattr(x, f, deepcopy(p)))


def _changed(tree: ast.Module, place: int, change: Any) -> ast.Module:
    copy = deepcopy(tree)
    node = next(node for i, node in enumerate(ast.walk(copy)) if i == place)
    change(node)
    return ast.fix_missing_locations(copy)


def _drop(node: Any, field: str, j: int) -> None:
    block = getattr(node, field)
    del block[j]
    if not block and field == "body":
        block.append(ast.Pass())


def _open(node: Any, field: str, j: int, inner: str) -> None:
    block = getattr(node, field)
    block[j : j + 1] = getattr(block[j], inner)


def _parts(value: ast.expr) -> list[ast.expr]:
    return [part for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr)]


def _constants(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.Constant | ast.Name | ast.Attribute):
        return [ast.Constant(1.0)] if isinstance(value, ast.Attribute) else []
    return [ast.Name("x", ast.Load()), ast.Constant(1.0)]


def as_script(text: str, wrong: Wrong) -> str:
    """The program, and what it does."""
    return text + "\n" + "".join(f"# {line}\n" for line in str(wrong).splitlines())
