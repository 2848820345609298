"""The staged number: its value and its adjoint are of the generated program, and `shift` and `reset` run while it is
generated (Wang et al. 2019, section 4.1).

    class NumR(val x: Rep[Double], val d: Rep[Var[Double]])

It is the number of Fig. 8, and nothing is different but the types. An operation writes the forward step, calls its
continuation, which writes the rest of the program, and then writes the accumulations:

    v1 = in * in;  d1 = ref 0       before `k(y)`
    ...                             `k(y)`
    d0 += !d1 * in                  after it

No number, and no continuation, is in the code: the code is what Fig. 8 would have done.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from shiftreset_ad.control import Prompt, reset, shift
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.wang.staged.code import DOUBLE, Add, Assign, Constant, Operation, Read, Symbol
from shiftreset_ad.formulations.wang.staged.generation import Code, Rep

PROMPT = Prompt()


class NumR(Overloaded):
    """A value of the generated program, its `primal`, with a cell of the program, its `adjoint`."""

    __slots__ = ("adjoint", "primal")

    def __init__(self, primal: Rep, adjoint: Symbol) -> None:
        self.primal = primal
        self.adjoint = adjoint

    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Write the step; then the rest of the program is written; then write the accumulations."""
        primals = [x.primal if isinstance(x, NumR) else x for x in operands]
        value, slopes = answer_and_partials(function, *primals, of=operands)

        def handler() -> Generator[NumR, None, None]:
            y = number(value, self.primal.code)
            yield y
            for x, slope in zip(operands, slopes, strict=True):
                if isinstance(x, NumR):
                    add(x, y, slope)

        return shift(handler, PROMPT)


def add(x: NumR, y: NumR, slope: Any) -> None:
    """Write x' += !y' * slope."""
    code = x.primal.code
    code.emit(Add(x.adjoint, Operation(np.multiply, (Read(y.adjoint), code.expression(slope)))))


def number(x: Any, code: Code) -> NumR:
    """A value as a number, with a new adjoint if it has none."""
    if isinstance(x, NumR):
        return x
    expression = code.expression(x)
    if isinstance(x, Rep) and x.kind is not DOUBLE:
        raise TypeError(f"expected a number; got a value of the kind {x.kind.name}")
    return NumR(Rep(code, expression), code.cell(expression))


def grad(f: Callable[[NumR], Any]) -> Callable[[Rep], Rep]:
    """The derivative of a function of one number, for the program that is being generated.

    `f` may use IF, WHILE, FUN and TREE. Raises TypeError when called inside another derivative of this room.

    >>> from shiftreset_ad.formulations.wang.staged import generate, pseudo
    >>> print(pseudo.show(generate(grad(lambda x: x * x))))
    def snippet(in) = {
      d0 = ref 0
      v1 = in * in
      d1 = ref 0
      d1 := 1.0
      d0 += !d1 * in
      d0 += !d1 * in
      v0 = !d0
      v0
    }
    """

    def gradient(x: Rep) -> Rep:
        if not isinstance(x, Rep) or x.kind is not DOUBLE:
            raise TypeError(f"grad: expected a number of the generated program; got {x!r:.60}")
        code = x.code
        if code.is_differentiating:
            raise TypeError("grad: this room has one level of derivatives; to nest them, use the room `prompts`")
        z = NumR(x, code.cell())

        def program() -> None:
            y = f(z)
            if isinstance(y, NumR):
                code.emit(Assign(y.adjoint, Constant(1.0)))
            else:
                number(y, code)  # a constant, or TypeError

        code.is_differentiating = True
        try:
            reset(program, PROMPT)
        finally:
            code.is_differentiating = False
        return code.define(Read(z.adjoint))

    return gradient
