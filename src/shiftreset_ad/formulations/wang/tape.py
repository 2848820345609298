"""Reverse mode with a tape that is a function (Wang et al. 2019, section 3.5, Fig. 12).

When an operation begins, it is already known what it will do after its continuation has returned. So the handlers that
wait inside one another can be turned inside out, into one mutable function. Each operation adds its part to this tape:

    var tape: Unit => Unit = (x: Unit) => ()
    class NumB(val x: Double, var d: Double) {
      def *(that: NumB) = {
        val y = new NumB(x * that.x, 0.0)                              1. the forward step
        tape = ((x: Unit) => this.d += y.d * that.x) andThen tape      2. the part of this operation,
        tape = ((x: Unit) => that.d += y.d * this.x) andThen tape      3. before those of all operations so far
        y
      }
    }
    def grad(f: NumB => NumB)(x: Double) = {
      val z = new NumB(x, 0.0);  f(z).d = 1.0;  tape();  z.d           4. the way back
    }

It shows that reverse mode needs no captured control: this is the usual tape, refunctionalised. Here each derivative has
its own tape, which is also its tag, so derivatives nest (2.5): an operation goes on the newest tape among its operands.
Python has no tail calls. So a part does not call the parts before it. It returns them, and a loop calls them: nothing
nests on the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, TypeAlias

from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

serials = count()

# It accumulates adjoints for one operation, and returns the rest of the way back, None at the end.
Backpropagate: TypeAlias = Callable[[], "Backpropagate | None"]


class Tape:
    """The tape of one derivative: a function that is the way back from all operations so far."""

    __slots__ = ("backpropagate", "serial")

    def __init__(self) -> None:
        self.backpropagate: Backpropagate | None = None
        self.serial = next(serials)

    def run(self) -> None:
        """Run the way back."""
        rest = self.backpropagate
        while rest is not None:
            rest = rest()


class NumB(Overloaded):
    """A value, its `primal`, with the `adjoint`, which the way back fills in, and the `tape` of its derivative."""

    __slots__ = ("adjoint", "primal", "tape")

    def __init__(self, primal: Any, adjoint: Any, tape: Tape) -> None:
        self.primal = primal
        self.adjoint = adjoint
        self.tape = tape

    def operate(self, function: Callable[..., Any], *operands: Any) -> NumB:
        """The answer. The operation adds to the tape how to accumulate adjoints."""
        tape = max((x.tape for x in operands if isinstance(x, NumB)), key=lambda tape: tape.serial)
        mine = [isinstance(x, NumB) and x.tape is tape for x in operands]
        primals = [x.primal if own else x for x, own in zip(operands, mine, strict=True)]
        value, slopes = answer_and_partials(function, *primals, of=operands)
        y = NumB(value, 0.0, tape)  # 1
        before = tape.backpropagate

        def backpropagate() -> Backpropagate | None:
            for x, slope, own in zip(operands, slopes, mine, strict=True):  # 2
                if own:
                    x.adjoint = x.adjoint + slope * y.adjoint
            return before  # 3

        tape.backpropagate = backpropagate
        return y


def grad(f: Callable[..., Any] | Term) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument.

    Raises TypeError where `f` does not return one number.

    >>> grad(grad(lambda x: x * x * x))(2.0)
    np.float64(12.0)
    """
    function = as_function(f)

    def gradient(x: Any) -> Any:
        structure, tape = Structure(x), Tape()
        xs = [NumB(number, 0.0, tape) for number in structure.numbers]
        result = scalar(function(structure.with_numbers(xs)))
        if isinstance(result, NumB) and result.tape.serial > tape.serial:
            raise ValueError("grad: the result is a number of an inner derivative, which is finished")
        if isinstance(result, NumB) and result.tape is tape:
            result.adjoint = 1.0
            tape.run()  # 4
        return structure.derivative([x.adjoint for x in xs])

    return gradient
