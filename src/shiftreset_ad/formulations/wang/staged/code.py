"""The intermediate representation: code as data, which programs that run now write for programs that run later.

A program is a function of parameters. A function is a list of statements:

    v = e                   a definition; e is an expression without effects, or reads a cell
    d = ref e               a cell, a variable that is assigned to
    d := e      d += e
    f(e, ...)               a call; functions return nothing, as they are in continuation-passing style
    if e { ... } else { ... }
    f = (x, ...) => { ... }
    return e                in the program only

Names have scopes, as in any language. A statement has no identity, and an expression neither: they compare by what they
say. A symbol is equal to itself only; it gets its name when the program is printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Kind:
    """The type of a value; a function has the kinds of its parameters."""

    name: str
    parameters: tuple[Kind, ...] = ()


DOUBLE, BOOL, REF, NODE = Kind("double"), Kind("bool"), Kind("ref"), Kind("tree")
FIELDS = {"left": NODE, "right": NODE, "value": DOUBLE, "not_empty": BOOL}  # of a tree


def function_of(parameters: Iterable[Symbol]) -> Kind:
    """The kind of a function with these parameters."""
    return Kind("function", tuple(parameter.kind for parameter in parameters))


# Expressions


@dataclass(frozen=True, eq=False)
class Symbol:
    """A name; printers make it out of the hint, and no two symbols in one scope have one name."""

    hint: str
    kind: Kind


@dataclass(frozen=True)
class Constant:
    """A number."""

    value: float


@dataclass(frozen=True)
class Operation:
    """An elementwise function of NumPy, applied."""

    function: Callable[..., Any]
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Read:
    """The content of a cell: !d."""

    cell: Symbol


@dataclass(frozen=True)
class Field:
    """A field of a tree: t.left."""

    tree: Expression
    name: str


Expression: TypeAlias = "Symbol | Constant | Operation | Read | Field"


# Statements


@dataclass(frozen=True)
class Define:
    """v = e"""

    symbol: Symbol
    value: Expression


@dataclass(frozen=True)
class NewCell:
    """d = ref e; a number's adjoint knows the number's value, `primal`, as the two are named alike."""

    cell: Symbol
    value: Expression
    primal: Symbol | None = None


@dataclass(frozen=True)
class Assign:
    """d := e"""

    cell: Symbol
    value: Expression


@dataclass(frozen=True)
class Add:
    """d += e"""

    cell: Symbol
    value: Expression


@dataclass(frozen=True)
class Call:
    """f(e, ...)"""

    function: Symbol
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class If:
    """if e { ... } else { ... }"""

    condition: Expression
    then: Block
    otherwise: Block


@dataclass(frozen=True)
class Function:
    """f = (x, ...) => { ... }"""

    symbol: Symbol
    parameters: tuple[Symbol, ...]
    body: Block


@dataclass(frozen=True)
class Return:
    """return e"""

    value: Expression


Statement: TypeAlias = "Define | NewCell | Assign | Add | Call | If | Function | Return"
Block: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True)
class Program:
    """A function with a name, for printers."""

    name: str
    parameters: tuple[Symbol, ...]
    body: Block


# Traversals


def expressions(statement: Statement) -> tuple[Expression, ...]:
    """The expressions of a statement, not those in its blocks; cells that are written to and called functions too."""
    match statement:
        case Define(_, value) | NewCell(_, value) | Return(value):
            return (value,)
        case Assign(cell, value) | Add(cell, value):
            return cell, value
        case Call(function, arguments):
            return function, *arguments
        case If(condition):
            return (condition,)
    return ()


def blocks(statement: Statement) -> tuple[Block, ...]:
    """The blocks of a statement."""
    match statement:
        case If(_, then, otherwise):
            return then, otherwise
        case Function(_, _, body):
            return (body,)
    return ()


def bound(statement: Statement) -> Symbol | None:
    """The symbol that a statement defines."""
    match statement:
        case Define(symbol) | NewCell(symbol) | Function(symbol):
            return symbol
    return None


def symbols(expression: Expression) -> Iterator[Symbol]:
    """The symbols in an expression, with cells."""
    match expression:
        case Symbol():
            yield expression
        case Operation(_, operands):
            for operand in operands:
                yield from symbols(operand)
        case Read(cell):
            yield cell
        case Field(tree):
            yield from symbols(tree)


def reads(expression: Expression) -> set[Symbol]:
    """The cells that an expression reads."""
    match expression:
        case Read(cell):
            return {cell}
        case Operation(_, operands):
            return {cell for operand in operands for cell in reads(operand)}
    return set()


def uses(block: Block) -> Counter[Symbol]:
    """How many times each symbol is used in a block, and in the blocks inside."""
    found: Counter[Symbol] = Counter()
    for statement in block:
        for expression in expressions(statement):
            found.update(symbols(expression))
        for inner in blocks(statement):
            found.update(uses(inner))
    return found


def size(block: Block) -> int:
    """The number of statements in a block, and in the blocks inside.

    >>> size((Return(Constant(1.0)),))
    1
    """
    return sum(1 + sum(map(size, blocks(statement))) for statement in block)


def with_own_expressions(statement: Statement, change: Callable[[Expression], Expression]) -> Statement:
    """The statement with other expressions, but for those in its blocks. A cell or a function changes to a symbol."""
    match statement:
        case Define(symbol, value):
            return Define(symbol, change(value))
        case NewCell(cell, value, primal):
            return NewCell(cell, change(value), primal)
        case Assign(cell, value) | Add(cell, value):
            return type(statement)(_symbol(change(cell)), change(value))
        case Call(function, arguments):
            return Call(_symbol(change(function)), tuple(map(change, arguments)))
        case If(condition, then, otherwise):
            return If(change(condition), then, otherwise)
        case Return(value):
            return Return(change(value))
    return statement


def with_expressions(statement: Statement, change: Callable[[Expression], Expression]) -> Statement:
    """The statement with other expressions, in its blocks too."""
    return with_blocks(
        with_own_expressions(statement, change),
        lambda block: tuple(with_expressions(inner, change) for inner in block),
    )


def with_blocks(statement: Statement, change: Callable[[Block], Block]) -> Statement:
    """The statement with other blocks."""
    match statement:
        case If(condition, then, otherwise):
            return If(condition, change(then), change(otherwise))
        case Function():
            return replace(statement, body=change(statement.body))
    return statement


def substitute(expression: Expression, values: Mapping[Any, Expression]) -> Expression:
    """The expression with values in the places of symbols and reads."""
    if expression in values:
        return values[expression]
    match expression:
        case Operation(function, operands):
            return Operation(function, tuple(substitute(operand, values) for operand in operands))
        case Read(cell):
            return Read(_symbol(values.get(cell, cell)))
        case Field(tree, name):
            return Field(substitute(tree, values), name)
    return expression


def _symbol(expression: Expression) -> Symbol:
    assert isinstance(expression, Symbol)
    return expression
