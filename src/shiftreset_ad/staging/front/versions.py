"""Writes in place, in blocks that are written down: all that holds an array gets a new version of it.

While a block is written down, `x[i] = v` is `x = item_written(v, x, i)` where `x` is a staged array, and `o.x[i] = v`
is `item_written(v, o.x, i)`: in the code of the block, and in that of the functions that it calls. The variables,
attributes and items that hold the array get the new version (`Session.renamed`).
"""

from __future__ import annotations

import ast
from itertools import count
from typing import Any

from shiftreset_ad.staging.front.facts import assign, load, place
from shiftreset_ad.staging.front.indices import outside_brackets
from shiftreset_ad.staging.front.names import (
    InScope,
    items_written_together,
    parts_written_together,
    write_in_place,
    write_to_a_part,
)
from shiftreset_ad.staging.front.nodes import copied
from shiftreset_ad.staging.front.rows import parts_for
from shiftreset_ad.staging.front.session import Session, changing, current

DECIDES = "_sr_decides"  # what an `if` has that chooses between a new version and a write
OPERATORS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}


# How rewritten code reads an attribute or an item, and what puts a new version there
READ_BY = {"attribute": "attribute_of", "item": "item_of", "item_at": "item_of"}


class WritesAsVersions(InScope):
    """Statements that write to arrays of these variables make new versions of the arrays, once."""

    def __init__(self, names: set[str], running: ast.expr) -> None:
        """`running` stands for the module with the functions below."""
        self._names = names
        self._running = running
        self._numbers = count()

    def visit_If(self, node: ast.If) -> Any:
        return node if hasattr(node, DECIDES) else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self._written(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        return self._written(node)

    def _written(self, node: ast.Assign | ast.AugAssign) -> ast.stmt:
        if isinstance(node, ast.Assign) and (together := self._written_together(node)):
            are_arrays = [self._call("is_array", x) for x in together]
            versions = [self._written(each) for each in self._one_by_one(copied(node))]
            test = are_arrays[0] if len(are_arrays) == 1 else ast.BoolOp(ast.Or(), are_arrays)
            return self._decided(node, test, *versions)
        write = write_in_place(node)
        if write is None or write.name not in self._names:
            return self._written_to_a_part(node)
        x = write.name
        if write.operator is None:
            new = self._call("item_written", write.value, load(x), self._index(write.at))
        elif write.at is None:
            new = self._call("augmented", load(x), self._operator(write.operator), write.value)
        else:
            part = self._call("Item", load(x), self._index(write.at))
            new = ast.Call(
                ast.Attribute(part, "augmented", ast.Load()), [self._operator(write.operator), write.value], []
            )
        version = ast.Assign([ast.Name(x, ast.Store())], new)
        found = self._decided(node, self._call("is_array", load(x)), version)
        if write.at is not None and write.operator is not None:
            found.orelse = [self._written_to_a_part(node)]
        return found

    def _written_together(self, node: ast.Assign) -> list[ast.expr]:
        """What a statement with several targets may write to, such as `x` and `o.y` in `x[i], o.y[i] = a, b`."""
        names = items_written_together(node) & self._names
        return [*map(load, sorted(names)), *copied(parts_written_together(node))]

    def _written_to_a_part(self, node: ast.Assign | ast.AugAssign) -> ast.stmt:
        """The same for `o.x[i] = v`, `o.x[i] += v`, `o.x += v` and `items[k] += v`."""
        write = write_to_a_part(node)
        if write is None:
            return node
        holder, is_array = write.holder, self._call("is_array", write.holder)
        if write.operator is None:
            written = self._call("item_written", write.value, holder, self._index(write.at))
            return self._decided(node, is_array, self._stored(written, holder))
        rest = [self._operator(write.operator), write.value]
        if write.at is None:
            return self._decided(node, is_array, ast.Assign([write.target], self._call("augmented", holder, *rest)))
        at = holder, self._index(write.at)
        augmented = ast.Call(ast.Attribute(self._call("Item", *at), "augmented", ast.Load()), rest, [])
        return self._decided(node, self._call("has_array", *at), self._stored(augmented, holder))

    def _stored(self, new: ast.expr, holder: ast.expr) -> ast.stmt:
        """A new version goes where the statement has found the array: the object may be one that the block has made."""
        if isinstance(holder, ast.Attribute):
            return ast.Expr(self._call("attribute_of", new, holder.value, ast.Constant(holder.attr)))
        if isinstance(holder, ast.Subscript):
            return ast.Expr(self._call("item_of", new, holder.value, self._index(holder.slice)))
        if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute) and holder.func.attr in READ_BY:
            return ast.Expr(self._call(READ_BY[holder.func.attr], new, *holder.args[-2:]))
        return ast.Expr(new)

    def _one_by_one(self, node: ast.Assign) -> list[ast.Assign]:
        """`x[i], x[j] = value` as a statement for the value, and one for each target, in their order."""
        if len(node.targets) > 1:
            whole = f"_sr_part{next(self._numbers)}"
            return [
                assign(whole, node.value, node),
                *[place(ast.Assign([target], load(whole)), node) for target in node.targets],
            ]
        targets = node.targets[0].elts  # type: ignore[attr-defined]
        done = []
        for i, target in enumerate(targets):
            part = f"_sr_part{next(self._numbers)}"
            is_rest = isinstance(target, ast.Starred)
            done.append(place(ast.Assign([target.value if is_rest else target], load(part)), node))
            name = ast.Name(part, ast.Store())
            targets[i] = place(ast.Starred(name, ast.Store()) if is_rest else name, node)
        return [node, *done]

    def _decided(self, node: ast.stmt, test: ast.expr, *new: ast.stmt) -> ast.If:
        """The new statements in a block, and where the test holds; otherwise the statement as it was."""
        test = ast.BoolOp(ast.And(), [self._call("is_in_block"), test])
        found: ast.If = place(ast.If(test, copied([*new]), [node]), node)
        setattr(found, DECIDES, True)
        return found

    def _operator(self, operator: ast.operator) -> ast.expr:
        return ast.Constant(OPERATORS[type(operator)])

    def _index(self, index: ast.expr | None) -> ast.expr:
        assert index is not None
        return outside_brackets(index, self._running)

    def _call(self, name: str, *args: ast.expr) -> ast.expr:
        return ast.Call(ast.Attribute(self._running, name, ast.Load()), list(args), [])


def is_in_block() -> bool:
    """Whether a block is being written down."""
    session = current()
    return session is not None and bool(session.active)


def is_array(x: Any) -> bool:
    """Whether a write to `x`, in a block, makes a new version, which all that holds `x` gets: `x` is a staged array."""
    session = _session()
    if not session.control.is_staged_array(x):
        return False
    if session.control.versions.announce(x):
        session.carry_array(x)
    return True


def has_array(x: Any, index: Any) -> bool:
    """Whether `x[index] += other`, in a block, makes a new version of `x`, or of an array that is an item of `x`."""
    session = _session()
    if session.control.is_staged_array(x):
        return is_array(x)
    return type(x) in (list, dict) and not session.control.has_staged(index) and is_array(x[index])


def item_written(item: Any, x: Any, index: Any) -> Any:
    """The array after `x[index] = item` of the program."""
    _session().held_items.written(x)
    parts = parts_for(x, index, item)
    if parts is None:
        return _renamed(x, _versions().write(x, index, item))
    for i, part in zip(index, parts, strict=True):
        x = _renamed(x, _versions().write(x, i, part))
    return x


def version_with(item: Any, x: Any, index: Any) -> Any:
    """The array after `x[index] = item`, in a block, where nobody but the front end has the array."""
    is_array(x)
    return _renamed(x, _versions().write(x, index, item, always=True))


def augmented(x: Any, name: str, other: Any) -> Any:
    """The array after `x += other`, or its kin."""
    _session().held_items.written(x)
    return _renamed(x, _versions().augment(x, name, other))


def attribute_of(new: Any, owner: Any, name: str) -> None:
    """`owner.name` gets a new version if it holds the array that had been the last one: `v` may have changed it."""
    if new is not None and _session().is_older(getattr(owner, name), new):
        setattr(owner, name, new)


def item_of(new: Any, owner: Any, key: Any) -> None:
    """The same for `owner[key]`."""
    if new is not None and type(owner) in (list, dict) and _session().is_older(owner[key], new):
        owner[key] = new


class Item:
    """`x[index]`, as it is before the other side of `x[index] += other` is computed."""

    def __init__(self, x: Any, index: Any) -> None:
        self._x, self._index, self._part = x, index, x[index]

    def augmented(self, name: str, other: Any) -> Any:
        """The array after `x[index] += other`, or its kin. None if `x` is not the array, but holds it."""
        if _session().control.is_staged_array(self._x):
            _session().held_items.written(self._x)
            return _renamed(self._x, _versions().augment_item(self._x, self._index, self._part, name, other))
        changing(self._x)[self._index] = augmented(self._part, name, other)
        return None


def _renamed(x: Any, new: Any) -> Any:
    """The new version of an array, which all that holds the array has from here on."""
    _session().renamed([(x, new)])
    return new


def _session() -> Session:
    session = current()
    assert session is not None
    return session


def _versions() -> Any:
    return _session().control.versions
