"""Reverse mode by shift and reset, in its shortest form (Wang et al. 2019, section 3.2, Fig. 8).

The program stays in direct style, and an operation captures the rest of it as its continuation `k`:

    class NumR(val x: Double, var d: Double) {
      def *(that: NumR) = shift { (k: NumR => Unit) =>
        val y = new NumR(x * that.x, 0.0)
        k(y)
        this.d += that.x * y.d
        that.d += this.x * y.d
      }
    }
    def grad(f: NumR => NumR @cps[Unit])(x: Double) = {
      val z = new NumR(x, 0.0);  reset { f(z).d = 1.0 };  z.d
    }

The library's own `shiftreset_ad.modes.reverse.backpropagation` has the same steps, and is faster:

    Fig. 8                   here                        shiftreset_ad.modes.reverse.backpropagation
    x * that.x               1. before the `shift`       1. `operation`, or one of `operations`: in the program's frame
    shift { k => ... }       2. `shift(handler)`         2. `capture`: it leaves a tuple, and no closure
    val y; k(y)              3. `k(y)`                   3. `run` keeps the tuple on `pending`, and goes on with y
    this.d += ...            4. when `k` has returned    4. `backward` calls `pull`, last in, first out
    reset { f(z).d = 1.0 }   5. `reset(program)`         5. `differentiate`: `run`, and then `backward`

A handler may also be a generator function, with `yield y` for `k(y)`. That saves a greenlet for each operation.

It shows that a program in direct style is as good as a program in CPS: control flow is Python's. There is one level of
derivatives, as all numbers capture up to the same prompt; to nest them is an error. In `prompts`, each derivative has
its own prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftreset_ad.control import Prompt, enclosing, reset, shift
from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

PROMPT = Prompt()  # without a prompt, the continuations would end at a `reset` of the program's own


class NumR(Overloaded):
    """A value, its `primal`, with the `adjoint`, which the way back fills in."""

    __slots__ = ("adjoint", "primal")

    def __init__(self, primal: Any, adjoint: Any) -> None:
        self.primal = primal
        self.adjoint = adjoint

    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Run the rest of the program with the answer, and then accumulate adjoints."""
        primals = [x.primal if isinstance(x, NumR) else x for x in operands]
        value, slopes = answer_and_partials(function, *primals, of=operands)  # 1

        def handler(k: Callable[[Any], Any]) -> None:
            y = NumR(value, 0.0)
            k(y)  # 3
            for x, slope in zip(operands, slopes, strict=True):  # 4
                if isinstance(x, NumR):
                    x.adjoint = x.adjoint + slope * y.adjoint

        return shift(handler, PROMPT)  # 2


def grad(f: Callable[..., Any] | Term) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument.

    Raises TypeError where `f` does not return one number, and when called inside another gradient of this room.

    >>> grad(lambda x: x[0] * x[1])((2.0, 3.0))
    (3.0, 2.0)
    """
    function = as_function(f)

    def gradient(x: Any) -> Any:
        if any(body.prompt is PROMPT for body in enclosing()):
            raise TypeError("grad: this room has one level of derivatives; to nest them, use the room `prompts`")
        structure = Structure(x)
        xs = [NumR(number, 0.0) for number in structure.numbers]

        def program() -> None:
            result = scalar(function(structure.with_numbers(xs)))
            if isinstance(result, NumR):
                result.adjoint = 1.0

        reset(program, PROMPT)  # 5
        return structure.derivative([x.adjoint for x in xs])

    return gradient
