"""Code as the paper prints it: what is used once is written where it is used, and no adjoint only passes something on.

Four steps; the first three are repeated until nothing changes. All keep the calls, and the order of writes to cells:

1.  expressions become sums of products (`algebra`);
2.  a definition that is used once, in its own block, is written where it is used, and one that only has a sign is
    written everywhere; what is never used is dropped. The value of a number stays as long as its adjoint does;
3.  an adjoint that gets one contribution, and is then read in the same block only, is replaced by the contribution;
4.  `return` after an `if` at the end of a program goes into both branches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shiftreset_ad.formulations.wang.staged.algebra import is_small, simplified
from shiftreset_ad.formulations.wang.staged.code import (
    Add,
    Assign,
    Block,
    Constant,
    Define,
    Expression,
    If,
    NewCell,
    Operation,
    Program,
    Read,
    Return,
    Statement,
    Symbol,
    expressions,
    reads,
    substitute,
    symbols,
    uses,
    with_blocks,
    with_expressions,
    with_own_expressions,
)

LARGEST = 12  # symbols in an expression: beyond, a definition keeps its name


def simplify(program: Program) -> Program:
    """The program as the paper prints it."""
    return replace(program, body=with_results_in_branches(settled(program.body)))


def settled(block: Block, keep_primals: bool = True) -> Block:
    """A block after the first three steps; without `keep_primals`, a number's value is a definition like any other."""
    before = None
    while before != block:
        before, block = block, step(block, keep_primals)
    return block


def step(block: Block, keep_primals: bool) -> Block:
    """The first three steps, once, in the blocks inside too."""
    block = tuple(with_blocks(with_own_expressions(s, simplified), lambda b: step(b, keep_primals)) for s in block)
    return without_passing_adjoints(with_definitions_in_place(block, keep_primals))


def with_definitions_in_place(block: Block, keep_primals: bool) -> Block:
    """Step 2."""
    used, places = uses(block), places_of(block)
    kept = {s.primal for s in block if isinstance(s, NewCell)} if keep_primals else set()
    values: dict[Expression, Expression] = {}  # for one place in this block
    everywhere: dict[Expression, Expression] = {}
    found: list[Statement] = []
    for i, statement in enumerate(block):
        statement = substituted(statement, values | everywhere)
        if everywhere:
            statement = with_expressions(statement, lambda e: substitute(e, everywhere))
        if isinstance(statement, Define):
            symbol, value = statement.symbol, statement.value
            is_kept = symbol in kept
            if has_sign_only(value):
                everywhere[symbol] = value
                continue
            if not used[symbol] and not is_kept:
                continue
            if used[symbol] == 1 and places[symbol] and not is_kept:
                place = places[symbol][0]
                size = sum(len(list(symbols(e))) for e in (value, *expressions(block[place])))
                between = block[i + 1 : place]
                if size <= LARGEST and (not reads(value) or all(isinstance(s, Define) for s in between)):
                    values[symbol] = value
                    continue
        found.append(statement)
    return tuple(found)


def without_passing_adjoints(block: Block) -> Block:
    """Step 3."""
    used, places = uses(block), places_of(block)
    cells = {s.cell: s for s in block if isinstance(s, NewCell) and s.value == Constant(0.0)}
    values: dict[Expression, Expression] = {}
    dropped: list[Statement] = []
    found: list[Statement] = []
    for i, statement in enumerate(block):
        statement = substituted(statement, values)
        if isinstance(statement, Add) and statement.cell in cells and places[statement.cell][0] == i:
            cell, value = statement.cell, statement.value
            rest = block[i + 1 : places[cell][-1] + 1]
            if (
                used[cell] == len(places[cell]) > 1  # it is not in a block inside, and somebody reads it
                and all(isinstance(s, (Add, Assign, Define, NewCell)) for s in rest)
                and not any(isinstance(s, (Add, Assign)) and s.cell in {cell, *reads(value)} for s in rest)
                and reads(value) <= cells.keys()  # parameters may be two names of one cell
                and (used[cell] == 2 or is_small(value))
            ):
                values[Read(cell)] = value
                dropped.append(cells[cell])
                continue
        found.append(statement)
    return tuple(s for s in found if not any(s is other for other in dropped))


def places_of(block: Block) -> dict[Symbol, list[int]]:
    """For each symbol, the places of the statements of a block that use it, not counting blocks inside."""
    found: dict[Symbol, list[int]] = defaultdict(list)
    for i, statement in enumerate(block):
        for expression in expressions(statement):
            for symbol in symbols(expression):
                found[symbol].append(i)
    return found


def substituted(statement: Statement, values: dict[Expression, Expression]) -> Statement:
    """The statement with values in the places of symbols and reads, but not in its blocks."""
    return with_own_expressions(statement, lambda e: simplified(substitute(e, values))) if values else statement


def has_sign_only(value: Expression) -> bool:
    """Whether a value is another one, or its negative."""
    match value:
        case Operation(np.negative, (operand,)):
            return isinstance(operand, Symbol)
    return isinstance(value, (Symbol, Constant))


def with_results_in_branches(block: Sequence[Statement]) -> Block:
    """Step 4."""
    match block:
        case [*before, If(condition, then, otherwise), Return() as result]:
            first, second = (with_results_in_branches((*branch, result)) for branch in (then, otherwise))
            return (*before, If(condition, first, second))
    return tuple(block)
