"""Reverse mode by shift and reset with a prompt for each derivative, so that they nest (Wang et al. 2019, section 3.7).

A derivative of a derivative captures the rest of the program on two levels. If `shift` has one level, that takes two
ways of capturing, one inside the other (Fig. 13, `shift2`; also `cps_inside_shift_reset`). If `shift` has many levels
(Danvy and Filinski 1990), one way is enough. Each derivative marks its level by a prompt, which is also its tag (2.5):

    grad(f)(x)  =  reset_p { f(z).d = 1.0 },  with a fresh prompt p, and z a number of p
    a * b       =  shift_p { k => ... },      p the newest prompt among a and b

Numbered as in the code, an operation

1.  belongs to the newest prompt among its operands; a number of another prompt is a constant to it;
2.  computes its answer and slopes from the primals. These may be numbers of older prompts, whose operations capture up
    to *their* reset. To them, the inner derivative, with all that waits in it, is a part of the rest of the program;
3.  captures the rest of the program up to its own prompt, runs it,
4.  and accumulates adjoints. If they are numbers of an older prompt, this arithmetic captures again.

So the inner derivative's way back is a part of the outer derivative's way there: reverse over reverse, to any order.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from shiftreset_ad.control import Prompt, reset, shift
from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

serials = count()


class Level(Prompt):
    """The prompt of one derivative, which knows its age."""

    __slots__ = ("serial",)

    def __init__(self) -> None:
        super().__init__()
        self.serial = next(serials)


class NumR(Overloaded):
    """A value, its `primal`, with the `adjoint`, which the way back fills in, and the `prompt` of its derivative."""

    __slots__ = ("adjoint", "primal", "prompt")

    def __init__(self, primal: Any, adjoint: Any, prompt: Level) -> None:
        self.primal = primal
        self.adjoint = adjoint
        self.prompt = prompt

    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Run the rest of the program with the answer, and then accumulate adjoints."""
        prompt = max((x.prompt for x in operands if isinstance(x, NumR)), key=lambda prompt: prompt.serial)  # 1
        mine = [isinstance(x, NumR) and x.prompt is prompt for x in operands]
        primals = [x.primal if own else x for x, own in zip(operands, mine, strict=True)]
        value, slopes = answer_and_partials(function, *primals, of=operands)  # 2

        def handler(k: Callable[[Any], Any]) -> None:
            y = NumR(value, 0.0, prompt)
            k(y)  # 3
            for x, slope, own in zip(operands, slopes, mine, strict=True):  # 4
                if own:
                    x.adjoint = x.adjoint + slope * y.adjoint

        return shift(handler, prompt)


def grad(f: Callable[..., Any] | Term) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument.

    Raises TypeError where `f` does not return one number.

    >>> grad(grad(lambda x: x * x * x))(2.0)
    np.float64(12.0)
    """
    function = as_function(f)

    def gradient(x: Any) -> Any:
        structure, prompt = Structure(x), Level()
        xs = [NumR(number, 0.0, prompt) for number in structure.numbers]

        def program() -> None:
            result = scalar(function(structure.with_numbers(xs)))
            if isinstance(result, NumR) and result.prompt.serial > prompt.serial:
                raise ValueError("grad: the result is a number of an inner derivative, which is finished")
            if isinstance(result, NumR) and result.prompt is prompt:
                result.adjoint = 1.0

        reset(program, prompt)
        return structure.derivative([x.adjoint for x in xs])

    return gradient
