"""What a compiler would do with the generated program, as the paper shows it in C++: 4.1 becomes `return 2.0 * in`.

Six steps, in turn:

1.  a function that is called in one place, and does not call itself, is written there;
2.  `return` after an `if` goes into both branches (`simplify`);
3.  cells whose contents are known are left out, and contributions are joined (`cells`);
4.  definitions are written where they are used, and dropped where they are not (`simplify`);
5.  these are repeated until nothing changes;
6.  cells that both branches of an `if` begin with are made before it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from shiftreset_ad.formulations.wang.staged.cells import without_needless_cells
from shiftreset_ad.formulations.wang.staged.code import (
    Block,
    Call,
    Define,
    Expression,
    Function,
    If,
    NewCell,
    Program,
    Statement,
    Symbol,
    blocks,
    substitute,
    uses,
    with_blocks,
    with_expressions,
)
from shiftreset_ad.formulations.wang.staged.simplify import settled, with_results_in_branches


def optimise(program: Program) -> Program:
    """The program with the same answers, and less code.

    >>> from shiftreset_ad.formulations.wang.staged import cpp, generate, grad
    >>> print(cpp.show(optimise(generate(grad(lambda x: x * x)))))
    double snippet(double in) {
      return 2.0 * in;
    }
    """
    before, body = None, settled(program.body)
    while before != body:  # 5
        before = body
        body = with_results_in_branches(inlined(body))  # 1, 2
        body = settled(without_needless_cells(body), keep_primals=False)  # 3, 4
    return replace(program, body=with_cells_before_branches(body))  # 6


# Step 1


def inlined(block: Block) -> Block:
    """The block with functions in the places of their calls, if there is one call."""
    used = uses(block)
    functions = {s.symbol: s for s in _functions(block) if used[s.symbol] == 1}
    calls = {symbol for symbol in _called(block) if symbol in functions}
    once = {symbol: functions[symbol] for symbol in calls if not uses(functions[symbol].body)[symbol]}
    return _inlined(block, once) if once else block


def _inlined(block: Block, once: dict[Symbol, Function]) -> Block:
    found: list[Statement] = []
    for statement in block:
        match statement:
            case Function(symbol) if symbol in once:
                continue
            case Call(symbol, arguments) if symbol in once:
                found += _inlined(_applied(once[symbol], arguments), once)
            case _:
                found.append(with_blocks(statement, lambda inner: _inlined(inner, once)))
    return tuple(found)


def _applied(function: Function, arguments: tuple[Expression, ...]) -> Block:
    """The body of a function for these arguments. Nothing needs another name, as there is one copy of it."""
    values: dict[Expression, Expression] = {}
    definitions: list[Statement] = []
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        if isinstance(argument, Symbol):
            values[parameter] = argument
        else:
            definitions.append(Define(parameter, argument))
    return (*definitions, *(with_expressions(s, lambda e: substitute(e, values)) for s in function.body))


def _functions(block: Block) -> list[Function]:
    found = [s for s in block if isinstance(s, Function)]
    return found + [f for s in block for inner in blocks(s) for f in _functions(inner)]


def _called(block: Block) -> Counter[Symbol]:
    found = Counter(s.function for s in block if isinstance(s, Call))
    for statement in block:
        for inner in blocks(statement):
            found.update(_called(inner))
    return found


# Step 6


def with_cells_before_branches(block: Block) -> Block:
    """The block, with the cells that both branches of a conditional begin with made before it."""
    found: list[Statement] = []
    for statement in block:
        statement = with_blocks(statement, with_cells_before_branches)
        if isinstance(statement, If):
            then, otherwise = statement.then, statement.otherwise
            while then and otherwise and _alike(then[0], otherwise[0]):
                cell, other = then[0].cell, otherwise[0].cell  # type: ignore[union-attr]
                found.append(NewCell(cell, then[0].value))  # type: ignore[union-attr]
                values: dict[Expression, Expression] = {other: cell}
                then = then[1:]
                otherwise = tuple(with_expressions(s, lambda e, v=values: substitute(e, v)) for s in otherwise[1:])  # type: ignore[misc]
            statement = If(statement.condition, then, otherwise)
        found.append(statement)
    return tuple(found)


def _alike(one: Statement, other: Statement) -> bool:
    return isinstance(one, NewCell) and isinstance(other, NewCell) and one.value == other.value
