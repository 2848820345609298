"""Three transforms that are wrong, and why (beside Pearlmutter and Siskind 2008, section 3).

For code without closures, a backpropagator is a function from the sensitivity of the answer to the sensitivity of the
argument. It is tempting to transform lambda terms in the same way. The paper's example shows what is lost:

    f = fun a -> ((fun b -> fun c -> b) a) 1        which is the identity, and has the derivative 1

In A-normal form, `fun a -> let g = fun b -> (let h = fun c -> b in h) in let k = g a in let y = k 1 in y`, the number
goes into `k` as a value of its environment, and comes out of `k` by a call. On the way back, the sensitivity of `y`
must go from the call of `k` to the closure `k`, and from there to `a`. Each transform loses it at another point:

    ArgumentOnly      the backpropagator of `k` returns only the sensitivity of its argument: `b` is forgotten
    FunctionIgnored   it returns the sensitivity of `b`, too, but the call of `k` uses only that of the argument
    ClosureIgnored    the call adds to the sensitivity of `k`, but the binding of `fun c -> b` does not add to `b`

The paper mends its incorrect version by three changes, and each of these transforms leaves one of them out. So all
three answer that f has the derivative 0. They are right if no function has free variables. `as_printed` has the paper's
own two incorrect versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftreset_ad.formulations.language.parser import parse
from shiftreset_ad.formulations.language.terms import Snd, Term, Var
from shiftreset_ad.formulations.pearlmutter_siskind.interpreter import call, run
from shiftreset_ad.formulations.pearlmutter_siskind.procedures import Procedure
from shiftreset_ad.formulations.pearlmutter_siskind.reverse import Transform
from shiftreset_ad.formulations.pearlmutter_siskind.values import Closure

EXAMPLE = parse("fun a -> ((fun b -> fun c -> b) a) 1.0")


class Incorrect(Transform):
    """A transform that applies its own rules to the lambda terms inside, too."""

    def image_of(self, procedure: Procedure) -> Procedure:
        """The transform of a lambda term inside."""
        return type(self)(procedure).image()


class ArgumentOnly(Incorrect):
    """A backpropagator returns the sensitivity of the argument only."""

    def sensitivities(self) -> Var:
        """What the backpropagator returns."""
        return self.sensitivity(self.procedure.parameter)

    def backward_call(self, function: Term, argument: Term, sensitivities: Term) -> None:
        """There is no sensitivity of the function."""
        self.add(argument, sensitivities)


class FunctionIgnored(Incorrect):
    """A call forgets the sensitivity of the function that was called."""

    def backward_call(self, function: Term, argument: Term, sensitivities: Term) -> None:
        """Only the sensitivity of the argument is used."""
        self.add(argument, Snd(self.bind("both", sensitivities)))


class ClosureIgnored(Incorrect):
    """A lambda term is treated as a constant."""

    def backward_closure(self, procedure: Procedure, x_sens: Var) -> None:
        """The sensitivity of the closure is dropped."""


def derivative(transform: type[Transform], f: Term) -> Callable[[Any], Any]:
    """The derivative that a transform gives for a function of the language without free variables.

    >>> derivative(Transform, EXAMPLE)(3.0), derivative(ArgumentOnly, EXAMPLE)(3.0)
    (1.0, 0.0)
    """
    image = transform(run(f).procedure).image()

    def derivative_of_f(x: Any) -> Any:
        _, backpropagator = call(Closure(image), x)
        sensitivities = call(backpropagator, 1.0)
        return sensitivities if transform is ArgumentOnly else sensitivities[1]

    return derivative_of_f
