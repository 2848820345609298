"""Reverse over reverse as the paper prints it: `shift2`, built from one level of shift and reset (Wang et al. 2019,
section 3.7, Fig. 13).

The outer derivative is that of Fig. 8, in direct style: `NumR`, whose operations capture the rest of the program up to
the next `reset`. The operations of the inner derivative, on `NumRR`, must capture the rest up to the `reset` of the
inner derivative, and their own steps are operations on `NumR`, which capture, too. So what the inner `reset` returns is
a program in explicit continuation-passing style, a `Ctx`, which waits for what comes after it:

    type Ctx = (Unit => Unit) => Unit
    shift2(body) = shift { k: (NumRR => Ctx) => (k2: Unit => Unit) =>
      def kk(y: NumRR) = shift { k3: (Unit => Unit) => k(y)(k3) }     1. the rest up to the inner reset, in direct style
      reset { body(kk); k2() }                                        2. the steps of the operation, and what follows
    }
    gradRR(f)(x: NumR) = shift { k: (NumR => Unit) =>
      val z = new NumRR(x, new NumR(0.0, 0.0))
      val ff = reset { f(z).d = new NumR(1.0, 0.0);  (k2: Unit => Unit) => k2() }
      ff(_ => k(z.d))                                                   3. the outer program goes on with the gradient
    }

Then `gradR(gradRR(f))` is the second derivative. It shows that two levels of control need one kind of `shift` only. It
cannot go on: a third derivative would need a `shift3`. `prompts` has one way for all levels, and
`cps_inside_shift_reset` has the levels the other way round: Fig. 7 outside, and Fig. 8 inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from shiftreset_ad.control import Prompt, enclosing, reset, shift
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials

PROMPT = Prompt()  # one level: every `shift` captures up to the nearest `reset` of this room
Ctx: TypeAlias = Callable[[Callable[[], None]], None]


# The outer derivative: Fig. 8


class NumR(Overloaded):
    """A value with its adjoint."""

    __slots__ = ("adjoint", "primal")

    def __init__(self, primal: Any, adjoint: Any) -> None:
        self.primal = primal
        self.adjoint = adjoint

    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Run the rest of the program with the answer, and then accumulate adjoints."""
        if any(isinstance(x, NumRR) for x in operands):
            return NotImplemented
        primals = [x.primal if isinstance(x, NumR) else x for x in operands]
        value, slopes = answer_and_partials(function, *primals, of=operands)

        def handler(k: Callable[[NumR], None]) -> None:
            y = NumR(value, 0.0)
            k(y)
            for x, slope in zip(operands, slopes, strict=True):
                if isinstance(x, NumR):
                    x.adjoint = x.adjoint + slope * y.adjoint

        return shift(handler, PROMPT)


def gradR(f: Callable[[NumR], Any]) -> Callable[[float], Any]:  # noqa: N802
    """The derivative of a function of one number.

    >>> gradR(gradRR(lambda x: 2.0 * x + x * x * x))(3.0)
    np.float64(18.0)
    """

    def derivative(x: float) -> Any:
        if any(body.prompt is PROMPT for body in enclosing()):
            raise TypeError("gradR: it is the outer derivative; the inner one is gradRR, and there are no more")
        z = NumR(x, 0.0)

        def program() -> None:
            y = f(z)
            if isinstance(y, NumR):
                y.adjoint = 1.0

        reset(program, PROMPT)
        return z.adjoint

    return derivative


# The inner derivative


def shift2(body: Callable[[Callable[[NumRR], None]], None]) -> Any:
    """Capture the rest of the program up to the inner `reset`, for a body whose own operations capture, too."""

    def handler(k: Callable[[NumRR], Ctx]) -> Ctx:
        def context(k2: Callable[[], None]) -> None:
            def kk(y: NumRR) -> None:
                shift(lambda k3: k(y)(lambda: k3(None)), PROMPT)  # 1

            def steps() -> None:
                body(kk)
                k2()

            reset(steps, PROMPT)  # 2

        return context

    return shift(handler, PROMPT)


class NumRR(Overloaded):
    """A value with its adjoint, both numbers of the outer derivative."""

    __slots__ = ("adjoint", "primal")

    def __init__(self, primal: Any, adjoint: Any) -> None:
        self.primal = primal
        self.adjoint = adjoint

    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Run the rest of the program with the answer, and then accumulate adjoints, by operations on `NumR`."""
        primals = [x.primal if isinstance(x, NumRR) else x for x in operands]

        def body(k: Callable[[NumRR], None]) -> None:
            value, slopes = answer_and_partials(function, *primals, of=operands)
            y = NumRR(value, 0.0)
            k(y)
            for x, slope in zip(operands, slopes, strict=True):
                if isinstance(x, NumRR):
                    x.adjoint = x.adjoint + slope * y.adjoint

        return shift2(body)


def gradRR(f: Callable[[NumRR], Any]) -> Callable[[NumR], Any]:  # noqa: N802
    """The derivative of a function of one number, as a program that `gradR` differentiates; only `gradR` can run it."""

    def derivative(x: NumR) -> Any:
        if isinstance(x, NumRR):
            raise TypeError("gradRR: it is the inner derivative, and has no other inside")

        def handler(k: Callable[[Any], None]) -> None:
            z = NumRR(x, 0.0)

            def program() -> Ctx:
                y = f(z)
                if isinstance(y, NumRR):
                    y.adjoint = 1.0
                return lambda k2: k2()

            context = reset(program, PROMPT)
            if context is None:
                raise TypeError("gradRR: it is the inner derivative, and has no other inside")
            context(lambda: k(z.adjoint))  # 3

        return shift(handler, PROMPT)

    return derivative
