"""Writes in place, in blocks that are written down: a variable gets a new version of its array.

While a block is written down, `x[i] = v` is `x = item_written(v, x, i)` where `x` is a staged array: in the code of the
block, and in that of the functions that it calls. A site has the variables whose arrays its blocks write to in its
state, beside those that the blocks bind.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from shiftreset_ad.staging.control.versions import Origin, Written
from shiftreset_ad.staging.front.facts import load, place
from shiftreset_ad.staging.front.frames import FrameVariables
from shiftreset_ad.staging.front.indices import outside_brackets
from shiftreset_ad.staging.front.names import SCOPES, write_in_place
from shiftreset_ad.staging.front.session import Session, current

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


class WritesAsVersions(ast.NodeTransformer):
    """Statements that write to arrays of these variables make new versions of the arrays, once."""

    def __init__(self, names: set[str], running: ast.expr) -> None:
        """`running` stands for the module with the functions below."""
        self._names = names
        self._running = running

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, SCOPES) else super().visit(node)

    def visit_If(self, node: ast.If) -> Any:
        return node if hasattr(node, DECIDES) else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self._written(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        return self._written(node)

    def _written(self, node: ast.Assign | ast.AugAssign) -> ast.stmt:
        write = write_in_place(node)
        if write is None or write.name not in self._names:
            return node
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
        found: ast.stmt = place(ast.If(self._call("is_array", load(x)), [version], [node]), node)
        setattr(found, DECIDES, True)
        return found

    def _operator(self, operator: ast.operator) -> ast.expr:
        return ast.Constant(OPERATORS[type(operator)])

    def _index(self, index: ast.expr | None) -> ast.expr:
        assert index is not None
        return outside_brackets(index, self._running)

    def _call(self, name: str, *args: ast.expr) -> ast.expr:
        return ast.Call(ast.Attribute(self._running, name, ast.Load()), list(args), [])


def is_array(x: Any) -> bool:
    """Whether a write to `x` makes a new version: in a block that is written down, and for a staged array."""
    session = current()
    if session is None or not session.active or not session.control.is_staged_array(x):
        return False
    session.control.versions.announce(x)
    return True


def item_written(item: Any, x: Any, index: Any) -> Any:
    """The array of a variable after `x[index] = item`."""
    return _versions().write(x, index, item)


def augmented(x: Any, name: str, other: Any) -> Any:
    """The array of a variable after `x += other`, or its kin."""
    return _versions().augment(x, name, other)


class Item:
    """`x[index]`, as it is before the other side of `x[index] += other` is computed."""

    def __init__(self, x: Any, index: Any) -> None:
        self._x, self._index, self._part = x, index, x[index]

    def augmented(self, name: str, other: Any) -> Any:
        """The array of a variable after `x[index] += other`, or its kin."""
        return _versions().augment_item(self._x, self._index, self._part, name, other)


def _versions() -> Any:
    session = current()
    assert session is not None
    return session.control.versions


class Arrays:
    """The arrays of a site's variables to which its blocks write: of some of the variables that may be `written`."""

    def __init__(self, session: Session, frame: FrameVariables, written: set[str]) -> None:
        control = session.control
        self._versions = control.versions
        self._frame = frame
        self._handles = {
            name: value for name, value in frame.copy(sorted(written)).items() if control.is_staged_array(value)
        }
        self.names: list[str] = []  # the variables to which the blocks write, as far as it is known
        self._last: dict[str, bool] = {}  # whether they have the last version of their array after the blocks
        self._written: set[str] = set()
        self._bring_back: Callable[[], None]

    def carry(self, name: str) -> None:
        """The blocks write to the array of this variable. Raises Written if the blocks around have to carry it, too."""
        self.names.append(name)
        self._versions.announce(self._handles[name])

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Write blocks down that may write to the arrays."""
        with self._versions.kept() as self._bring_back:
            self._last.clear()
            self._written.clear()
            yield

    def copies(self, names: Sequence[str]) -> list[Any]:
        """The values of variables for blocks to begin with."""
        self._versions.require_no_common_memory([self._handles[name] for name in self.names])
        return [self._versions.copy(self._frame[name]) if name in self.names else self._frame[name] for name in names]

    def begin(self) -> dict[str, Origin]:
        """A block begins: the variables have their values in it."""
        self._bring_back()
        for name in self.names:
            self._versions.outdate(self._handles[name])
        origins = {}
        for name, handle in self._handles.items():
            origins[name] = Origin(self, name, name in self.names)
            self._versions.begin(self._frame[name] if name in self.names else handle, origins[name])
        return origins

    def handed_on(self, names: Sequence[str], origins: Mapping[str, Origin], others: Sequence[Any]) -> list[Any]:
        """What a block hands on for these variables, and `others` beside them."""
        values = [*self._frame.values(names), *others]
        self._versions.require_last(values)
        for i, name in enumerate(names):
            if name in self.names:
                is_last = self._versions.is_last(values[i], origins[name])
                if is_last and origins[name].is_written:
                    self._written.add(name)
                    self._versions.require_no_other_name(values[i], values)
                self._last[name] = is_last and self._last.get(name, True)
        self._bring_back()
        return values

    def write_back(self, names: Sequence[str], answers: Sequence[Any], bound: Sequence[str]) -> dict[str, Any]:
        """What the variables have after the blocks. The blocks themselves bind those in `bound`."""
        found = dict(zip(names, answers, strict=True))
        for name in self.names:
            if name in self._written:
                self._versions.require_last_in_all(self._last[name], name)
                found[name] = self._versions.write_back(self._handles[name], found[name])
            elif name not in bound:
                found[name] = self._handles[name]
        return found


def with_carried(session: Session, carriers: Sequence[Any], write: Callable[[], Any]) -> Any:
    """The answer of `write`, which writes blocks down; it is called again for all that the carriers have to carry."""
    while True:
        mark = session.control.mark()
        try:
            return write()
        except Written as written:
            if not any(written.writer is carrier for carrier in carriers):
                raise
            session.control.rewind(mark)
            written.writer.carry(written.name)
