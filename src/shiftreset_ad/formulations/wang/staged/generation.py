"""`Rep`, a value that is known later: each operation on it writes a definition into the program that is generated.

The program that generates is called a *stage*; its own functions, tuples and loops leave no trace in the code. A
function of the stage becomes a function of the code by `Code.function`: the stage's function runs once, on parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from shiftreset_ad.formulations.overloading import Overloaded
from shiftreset_ad.formulations.wang.staged.code import (
    BOOL,
    DOUBLE,
    FIELDS,
    NODE,
    REF,
    Block,
    Call,
    Constant,
    Define,
    Expression,
    Field,
    Function,
    Kind,
    NewCell,
    Operation,
    Program,
    Return,
    Statement,
    Symbol,
    bound,
    uses,
)

TESTS = frozenset({np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.bitwise_and})


class Code:
    """The program that is being written: blocks inside one another, the innermost last."""

    def __init__(self, parameters: Sequence[Symbol]) -> None:
        self.open: list[list[Statement]] = [[]]
        self.scopes: list[set[Symbol]] = [set(parameters)]  # what is defined in each of them
        self.functions: dict[Any, Symbol] = {}  # functions of the stage that have become functions of the code
        self.is_differentiating = False

    def emit(self, statement: Statement, block: int = -1) -> None:
        """Write a statement at the end of a block; the innermost, if nothing else is said."""
        self.open[block].append(statement)
        symbol = bound(statement)
        if symbol is not None:
            self.scopes[block].add(symbol)

    def define(self, value: Expression, hint: str = "v") -> Rep:
        """Name a value."""
        symbol = Symbol(hint, kind_of(value))
        self.emit(Define(symbol, value))
        return Rep(self, symbol)

    def cell(self, primal: Expression | None = None) -> Symbol:
        """A new cell, which holds 0.0: the adjoint of a number with this value."""
        cell = Symbol("d", REF)
        self.emit(NewCell(cell, Constant(0.0), primal if isinstance(primal, Symbol) else None))
        return cell

    @contextmanager
    def block(self, *symbols: Symbol) -> Iterator[list[Statement]]:
        """A block inside, in which these symbols are defined."""
        self.open.append([])
        self.scopes.append(set(symbols))
        try:
            yield self.open[-1]
        finally:
            self.open.pop()
            self.scopes.pop()

    def sees(self, symbol: Symbol) -> bool:
        """Whether a symbol is defined where the next statement is written."""
        return any(symbol in scope for scope in self.scopes)

    def function(
        self, body: Callable[[], Any], parameters: Sequence[Symbol], symbol: Symbol, outermost: bool = False
    ) -> Symbol:
        """Write a function, whose statements are what `body` writes. It may call itself by its symbol.

        It is written here, or into the `outermost` block that knows everything that the function uses: so a function
        that is used in several blocks is written once. A function that only hands its parameters to another function is
        the other function.
        """
        with self.block(symbol, *parameters) as statements:
            body()
        match statements:
            case [Call(other, arguments)] if arguments == tuple(parameters) and other not in (symbol, *parameters):
                return other
        function = Function(symbol, tuple(parameters), tuple(statements))
        used = uses(function.body).keys() - {symbol}
        places = [i for i, scope in enumerate(self.scopes) if scope & used or not (i and outermost)]
        self.emit(function, places[-1])
        return symbol

    def expression(self, x: Any) -> Expression:
        """The expression for a value of the stage."""
        if isinstance(x, Rep):
            if x.code is not self:
                raise ValueError("a value of another program is used here; each program is generated for itself")
            return x.expression
        if isinstance(x, (int, float, np.floating, np.integer)):  # booleans too, as 0.0 and 1.0
            return Constant(float(x))
        raise TypeError(f"{x!r:.60} cannot be written into a program: expected a number, or a value of the program")


class Rep(Overloaded, measures=True):
    """A value that is known when the generated program runs: a number, a truth value, or a tree."""

    __slots__ = ("code", "expression")
    shape = (None,)  # not known; if it is not (), the table does not use Python's `if`

    def __init__(self, code: Code, expression: Expression) -> None:
        self.code = code
        self.expression = expression

    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """A definition, which applies `function`."""
        if any(isinstance(x, Overloaded) and not isinstance(x, Rep) for x in operands):
            return NotImplemented  # a number that carries a derivative knows what to do
        return self.code.define(Operation(function, tuple(map(self.code.expression, operands))))

    _operate = operate  # comparisons are definitions as well

    def __and__(self, that: Any) -> Any:
        return self.operate(np.bitwise_and, self, that)

    def __bool__(self) -> NoReturn:
        raise TypeError("this value is known only when the generated program runs: write IF or WHILE, and not if")

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if function is not np.where or len(args) != 3:
            return NotImplemented
        return self.operate(np.where, *args)

    @property
    def kind(self) -> Kind:
        """The type of the value."""
        return kind_of(self.expression)

    def __getattr__(self, name: str) -> Rep:
        """A field of a tree: `not_empty`, and, if this is true, `value`, `left` and `right`."""
        if name not in FIELDS or self.kind is not NODE:
            raise AttributeError(f"a value of the kind {self.kind.name} has no attribute {name!r}")
        return self.code.define(Field(self.expression, name), "t" if FIELDS[name] is NODE else "v")


def kind_of(expression: Expression) -> Kind:
    """The type of an expression."""
    match expression:
        case Symbol(_, kind):
            return kind
        case Field(_, name):
            return FIELDS[name]
        case Operation(function) if function in TESTS:
            return BOOL
    return DOUBLE


INPUT = Symbol("in", DOUBLE)


def generate(f: Callable[..., Any], *parameters: Symbol, name: str = "snippet") -> Program:
    """The program for a function of values that are known later; its parameter is one number, `in`, or as given.

    >>> from shiftreset_ad.formulations.wang.staged import pseudo
    >>> print(pseudo.show(generate(lambda x: x * x + 1.0)))
    def snippet(in) = {
      v0 = in * in
      v1 = v0 + 1.0
      v1
    }
    """
    given = parameters or (INPUT,)
    code = Code(given)
    code.emit(Return(code.expression(f(*(Rep(code, parameter) for parameter in given)))))
    body: Block = tuple(code.open[0])
    return Program(name, given, body)
