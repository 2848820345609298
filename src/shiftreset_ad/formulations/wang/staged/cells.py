"""Cells that are not needed: a cell's content is followed through the code, and written only where somebody looks.

A block is read from top to bottom. `Contents` knows the content of each cell that only this block and the branches in
it can see: after `d1 = ref 0; d1 := 1.0` it is 1.0, and neither statement is written. A contribution to a cell that
exists waits, so that two of them can become one. All that is known or waits is written before code that may look:

    a call              the cells that it is handed, and the contributions
    a conditional       the cells that its branches use, and the contributions; but the branches of a conditional that
                        ends the program are told what is known
    a read              the contributions, if one of them may be for the cell that is read
    the end             the contributions to cells of other blocks; nobody looks at cells of this block any more
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from shiftreset_ad.formulations.wang.staged.algebra import simplified
from shiftreset_ad.formulations.wang.staged.code import (
    DOUBLE,
    Add,
    Assign,
    Block,
    Call,
    Constant,
    Define,
    Expression,
    Function,
    If,
    NewCell,
    Operation,
    Read,
    Return,
    Statement,
    Symbol,
    blocks,
    expressions,
    reads,
    substitute,
    uses,
    with_blocks,
    with_own_expressions,
)


def without_needless_cells(block: Block, known: Mapping[Symbol, Expression] | None = None) -> Block:
    """The block with fewer cells, and fewer writes; `known` are the contents of cells that do not exist yet."""
    contents = Contents(block, known or {})
    for statement in block:
        contents.go_past(statement)
    contents.write_contributions(at_end=True)
    return tuple(contents.written)


class Contents:
    """What is known at a place of a block, and what has been written before it."""

    def __init__(self, block: Block, known: Mapping[Symbol, Expression]) -> None:
        self.written: list[Statement] = []
        self.known = dict(known)
        self.waiting: dict[Symbol, Expression] = {}
        self.created = {s.cell for s in block if isinstance(s, NewCell)}
        captured = {symbol for function in _functions(block) for symbol in uses(function.body)}
        self.visible = (self.created | known.keys()) - captured  # to this block and its branches only

    def go_past(self, statement: Statement) -> None:
        """Write what the statement may look at; then note what it does, or write the statement."""
        self.prepare(statement)
        match statement:
            case NewCell(cell, value) if cell in self.visible:
                self.set(cell, self.updated(value))
            case Assign(cell, value) if cell in self.known:
                self.set(cell, self.updated(value))
            case Add(cell, value) if cell in self.known:
                self.set(cell, _plus(self.known[cell], self.updated(value)))
            case Add(cell, value):
                before = self.waiting.get(cell)
                self.waiting[cell] = _plus(before, self.updated(value)) if before else self.updated(value)
            case If(condition, then, otherwise) if returns(statement):
                branches = [without_needless_cells(branch, self.known) for branch in (then, otherwise)]
                self.written.append(If(self.updated(condition), branches[0], branches[1]))
            case If() | Function():
                inside = with_blocks(statement, without_needless_cells)
                self.written.append(with_own_expressions(inside, self.updated))
            case _:
                self.written.append(with_own_expressions(statement, self.updated))

    def prepare(self, statement: Statement) -> None:
        """Write what a statement may look at."""
        for cell in {cell for expression in expressions(statement) for cell in reads(expression)} - self.known.keys():
            if cell in self.waiting or cell not in self.created:  # parameters may be two names of one cell
                self.write_contributions()
        match statement:
            case Assign(cell) if cell not in self.known:
                self.write_contributions()
            case Call(_, arguments):
                self.write_contributions()
                self.write_cells(arguments)
            case If():
                self.write_contributions()
                if not returns(statement):
                    self.write_cells(cell for branch in blocks(statement) for cell in uses(branch))

    def updated(self, value: Expression) -> Expression:
        """An expression in which the contents of cells are known."""
        return simplified(substitute(value, {Read(cell): content for cell, content in self.known.items()}))

    def set(self, cell: Symbol, content: Expression) -> None:
        """Note the content of a cell. It gets a name, as it may be long, and may read a cell that changes later."""
        if not isinstance(content, (Symbol, Constant)):
            symbol = Symbol("v", DOUBLE)
            self.written.append(Define(symbol, content))
            content = symbol
        self.known[cell] = content

    def write_contributions(self, at_end: bool = False) -> None:
        """Write the contributions that wait."""
        for cell, contribution in self.waiting.items():
            if not (at_end and cell in self.visible):
                self.written.append(Add(cell, contribution))
        self.waiting = {}

    def write_cells(self, values: Iterable[Expression]) -> None:
        """Make those of these values that are cells that do not exist yet."""
        for cell in values:
            if isinstance(cell, Symbol) and cell in self.known:
                self.written.append(NewCell(cell, self.known.pop(cell)))


def returns(statement: Statement) -> bool:
    """Whether the program ends with this statement."""
    match statement:
        case Return():
            return True
        case If(_, then, otherwise):
            return all(bool(branch) and returns(branch[-1]) for branch in (then, otherwise))
    return False


def _functions(block: Block) -> Iterable[Function]:
    for statement in block:
        if isinstance(statement, Function):
            yield statement
        else:
            for inner in blocks(statement):
                yield from _functions(inner)


def _plus(a: Expression, b: Expression) -> Expression:
    return simplified(Operation(np.add, (a, b)))
