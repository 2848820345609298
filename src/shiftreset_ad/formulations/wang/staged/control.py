"""Control flow of the generated program, by `shift` and `reset` while it is generated: IF, WHILE, FUN and TREE.

Wang et al. 2019, sections 4.2 to 4.4. Each captures the rest of the program as `k`, a function of the stage. Where the
code needs `k` in two places, or in a place that it reaches many times, `k` becomes a function of the code first:

    IF(c)(a)(b)      shift k:  k1 = fun k;  if (c) <k1(a)> else <k1(b)>                 < > is reset
    WHILE(x)(c)(b)   shift k:  loop = fun { x => if (c(x)) <loop(b(x))> else <k(x)> };  loop(x)
    FUN(f)(y)        shift k:  f1 = fun { (t, k1) => <k1(f(t))> };  f1(y, fun k)
    WHILE(x)(n)(b)   the same with a number of rounds: loop = fun { (n, x) => if (n > 0) <loop(n - 1, b(x))> else ... }
    TREE(x)(t)(b)    f = FUN { t => IF(t.not_empty) { b(f(t.left), f(t.right)) } { x } };  f(t)

So the size of the code does not depend on how often a loop goes round, or on the shape of a tree, and n conditionals in
a row make n functions, where copies of `k` would make 2**n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shiftreset_ad.control import reset, shift
from shiftreset_ad.formulations.wang.staged.code import (
    DOUBLE,
    REF,
    Block,
    Call,
    Expression,
    If,
    Kind,
    Symbol,
    function_of,
)
from shiftreset_ad.formulations.wang.staged.generation import Code, Rep
from shiftreset_ad.formulations.wang.staged.numbers import PROMPT, NumR, number


def IF(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:  # noqa: N802 (the paper's name)
    """A number: that of `then()` or that of `otherwise()`. A condition that is known already is decided at once."""
    if not isinstance(condition, Rep):
        return then() if condition else otherwise()
    code = condition.code

    def handler(k: Callable[[NumR], None]) -> None:
        k1 = continuation(code, k)

        def written(branch: Callable[[], Any]) -> Block:
            with code.block() as statements:
                reset(lambda: call(code, k1, [number(branch(), code)]), PROMPT)
            return tuple(statements)

        code.emit(If(condition.expression, written(then), written(otherwise)))

    return shift(handler, PROMPT)


def WHILE(init: Any, condition: Callable[[Any], Any] | Rep | float, body: Callable[[Any], Any]) -> Any:  # noqa: N802
    """The state after as many rounds as `condition(state)` holds; a state is a number, or a tuple of numbers.

    In the place of a condition, there may be a number of rounds, which may be known later. It has no derivative.
    """
    given = init if isinstance(init, tuple) else (init,)
    code = code_of(given)
    state = [number(x, code) for x in given]
    known = isinstance(condition, (int, float)) and not isinstance(condition, bool)
    if not callable(condition) and not known and not (isinstance(condition, Rep) and condition.kind is DOUBLE):
        raise TypeError(f"WHILE: expected a condition, or a number of rounds that is no NumR; got {condition!r:.60}")
    rounds = [] if callable(condition) else [condition]

    def as_state(numbers: Sequence[NumR]) -> Any:
        return tuple(numbers) if isinstance(init, tuple) else numbers[0]

    def handler(k: Callable[[Any], None]) -> None:
        counter = [Symbol("n", DOUBLE) for _ in rounds]
        parameters = [parameter for _ in state for parameter in number_parameters()]
        loop = Symbol("loop", function_of([*counter, *parameters]))

        def around() -> None:
            numbers, left = numbers_of(code, parameters), [Rep(code, n) for n in counter]
            test = condition(as_state(numbers)) if callable(condition) else left[0] > 0.0
            if not isinstance(test, Rep):
                raise TypeError(f"WHILE: the condition is {test!r}, and would be so in each round")
            with code.block() as again:
                fewer = [n - 1.0 for n in left]
                reset(lambda: call(code, loop, [*fewer, *next_state(body(as_state(numbers)))]), PROMPT)
            with code.block() as done:
                k(as_state(numbers))
            code.emit(If(test.expression, tuple(again), tuple(done)))

        code.function(around, [*counter, *parameters], loop)
        call(code, loop, [*rounds, *state])

    def next_state(answer: Any) -> list[NumR]:
        answers = answer if isinstance(init, tuple) else (answer,)
        if not isinstance(answers, tuple) or len(answers) != len(state):
            raise TypeError(f"WHILE: the body must return a state like the first, of {len(state)} numbers")
        return [number(x, code) for x in answers]

    return shift(handler, PROMPT)


def FUN(f: Callable[[Any], Any]) -> Callable[..., Any]:  # noqa: N802
    """A function of the code, for a function from a number or a tree to a number; `f` may call what FUN returns."""

    def called(y: Any, hint: str = "") -> Any:
        code = code_of((y,))

        def handler(k: Callable[[NumR], None]) -> None:
            k1 = continuation(code, k, hint)
            call(code, code_function(code, y), [y, k1])

        return shift(handler, PROMPT)

    def code_function(code: Code, y: Any) -> Symbol:
        known = code.functions.get(called)
        if known is not None and code.sees(known):
            return known
        parameters = number_parameters() if isinstance(y, NumR) else [Symbol("t", y.kind)]
        k = Symbol("k0", Kind("function", (DOUBLE, REF)))
        symbol = code.functions[called] = Symbol("f1", function_of([*parameters, k]))

        def body() -> None:
            t = numbers_of(code, parameters)[0] if isinstance(y, NumR) else Rep(code, parameters[0])
            reset(lambda: call(code, k, [number(f(t), code)]), PROMPT)

        code.functions[called] = code.function(body, [*parameters, k], symbol, outermost=True)
        return code.functions[called]

    return called


def TREE(init: NumR, tree: Rep, compose: Callable[[Any, Any, Rep], Any]) -> Any:  # noqa: N802
    """A fold: `init` for an empty tree, and `compose(left, right, node)` of the results of both subtrees for a node."""

    def fold(node: Rep) -> Any:
        return IF(
            node.not_empty,
            lambda: compose(f(node.left, "l"), f(node.right, "r"), node),
            lambda: init,
        )

    f = FUN(fold)
    return f(tree)


def continuation(code: Code, k: Callable[[NumR], None], hint: str = "") -> Symbol:
    """The rest of the program as a function of the code: the paper's `fun(k)`."""
    parameters = number_parameters(hint)
    symbol = Symbol(f"k_{hint}" if hint else "k", function_of(parameters))
    return code.function(lambda: k(numbers_of(code, parameters)[0]), parameters, symbol)


def number_parameters(hint: str = "") -> list[Symbol]:
    """The parameters for a number: its value and its adjoint."""
    return [Symbol(f"{name}_{hint}" if hint else name, kind) for name, kind in (("x", DOUBLE), ("d", REF))]


def numbers_of(code: Code, parameters: Sequence[Symbol]) -> list[NumR]:
    """The numbers that a function gets."""
    return [NumR(Rep(code, x), d) for x, d in zip(parameters[::2], parameters[1::2], strict=True)]


def call(code: Code, function: Symbol, arguments: Sequence[Any]) -> None:
    """Write a call with numbers, trees and functions as arguments."""
    written: list[Expression] = []
    for argument in arguments:
        match argument:
            case NumR():
                written += [code.expression(argument.primal), argument.adjoint]
            case Symbol():
                written.append(argument)
            case _:
                written.append(code.expression(argument))
    code.emit(Call(function, tuple(written)))


def code_of(values: Sequence[Any]) -> Code:
    """The program that values belong to."""
    for x in values:
        if isinstance(x, (NumR, Rep)):
            return x.primal.code if isinstance(x, NumR) else x.code
    raise TypeError(f"expected a number or a tree of the generated program; got {values[0]!r:.60}")
