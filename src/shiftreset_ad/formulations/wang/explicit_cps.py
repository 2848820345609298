"""Reverse mode in explicit continuation-passing style (Wang et al. 2019, section 3.1, Fig. 7).

An operation is handed the rest of the program as its continuation `k`:

    class NumR0(val x: Double, var d: Double) {
      def *(that: NumR0) = { (k: NumR0 => Unit) =>       1. the forward step
        val y = new NumR0(x * that.x, 0.0)
        k(y)                                             2. the rest of the program, and the way back from it
        this.d += that.x * y.d                           3. then the adjoint of y is complete, and is passed on
        that.d += this.x * y.d
      }
    }
    def grad(f: NumR0 => (NumR0 => Unit) => Unit)(x: Double) = {
      val z = new NumR0(x, 0.0);  f(z)(r => r.d = 1.0);  z.d
    }

The way back is the return from the calls of `k`: Python's own stack is what other systems call the tape. Here `k` is
the last argument, `operate(np.multiply, (a, b), k)`, and a function `f(x, k)` that is differentiated hands its result
to `k`. A term of the core language needs no change: a machine whose continuations are values runs it.

It shows reverse mode with nothing but functions. It cannot take programs in direct style. Operations nest on the stack:
a thousand of them take a higher `sys.setrecursionlimit`. Derivatives do not nest, because the arithmetic on primals and
adjoints is in direct style, so it cannot be an operation of an outer derivative (`cps_inside_shift_reset` writes it in
CPS as well). Each number has a tag, so to mix two derivatives is an error, and not a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from shiftreset_ad.formulations.language import Term, as_function, call, run
from shiftreset_ad.formulations.language.recursion import nesting
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar


class NumR0(Overloaded):
    """A value, its `primal`, with the `adjoint`, which the way back fills in, and the `tag` of its gradient."""

    __slots__ = ("adjoint", "primal", "tag")

    def __init__(self, primal: Any, adjoint: Any, tag: object) -> None:
        self.primal = primal
        self.adjoint = adjoint
        self.tag = tag

    def operate(self, function: Callable[..., Any], *operands: Any) -> NoReturn:
        """Refused: an operator has no place for its continuation."""
        raise TypeError(
            f"{function.__name__}: in explicit CPS, write operate({function.__name__}, operands, k); for programs in "
            "direct style, and for derivatives of derivatives, use the room `prompts`"
        )


def operate(function: Callable[..., Any], operands: tuple[Any, ...], k: Callable[[Any], Any]) -> None:
    """Hand the answer of an operation to the rest of the program, `k`, and then accumulate adjoints.

    Raises TypeError for operands of two derivatives.

    >>> import numpy as np
    >>> operate(np.multiply, (2.0, 3.0), print)
    6.0
    """
    primals = [x.primal if isinstance(x, NumR0) else x for x in operands]
    value, slopes = answer_and_partials(function, *primals, of=operands)
    active = [(x, slope) for x, slope in zip(operands, slopes, strict=True) if isinstance(x, NumR0)]
    if not active:
        k(value)
        return
    tag = active[0][0].tag
    if any(x.tag is not tag for x, _ in active):
        raise TypeError(f"{function.__name__}: operands of two derivatives; to nest them, use the room `prompts`")
    y = NumR0(value, 0.0, tag)  # 1
    k(y)  # 2
    for x, slope in active:  # 3
        x.adjoint = x.adjoint + slope * y.adjoint


def grad(f: Callable[[Any, Callable[[Any], Any]], Any] | Term) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, a function `f(x, k)` in continuation-passing style, or a term.

    Raises TypeError where `f` does not hand one number to `k` exactly once.

    >>> import numpy as np
    >>> grad(lambda x, k: operate(np.multiply, (x, x), k))(3.0)
    6.0
    """
    program = in_cps(f)

    def gradient(x: Any) -> Any:
        structure, tag = Structure(x), object()
        xs = [NumR0(number, 0.0, tag) for number in structure.numbers]
        results = []

        def finish(result: Any) -> None:
            results.append(scalar(result))
            if isinstance(result, NumR0) and result.tag is tag:
                result.adjoint = 1.0

        program(structure.with_numbers(xs), finish)
        if len(results) != 1:
            raise TypeError(f"grad: f(x, k) must hand its result to k once; it called k {len(results)} times")
        return structure.derivative([x.adjoint for x in xs])

    return nesting(gradient)


def in_cps(f: Callable[..., Any] | Term) -> Callable[..., Any]:
    """The function in continuation-passing style: `f` itself, or the function that a term denotes."""
    function = as_function(f)  # raises TypeError if there is none
    if not isinstance(f, Term):
        return function
    return lambda x, k: run(f, k=lambda function: call(function, x, k, operate), operate=operate)
