"""Reverse mode as a primitive of a functional language, `J`, that applies to every value, itself included.

Pearlmutter and Siskind, Reverse-Mode AD in a Functional Framework: Lambda the Ultimate Backpropagator, TOPLAS 2008.
Section 4, the programs of section 5, the forms and the wrong transforms of section 3, and the states of section 2. Read
the modules in this order:

1.  `language.anf` gives every intermediate result a name;
2.  `procedures` has lambda terms in this form as lists of bindings;
3.  `values` says what the sensitivity of a value is; for a closure, it is the list of the sensitivities in its
    environment. The module has the operations on values of every kind: `zero`, `plus`, `J` and `J_inverse`;
4.  `reverse` is the transform: `f` becomes a function that returns its answer and a *backpropagator*, a function from
    the sensitivity of the answer to the sensitivities of f's environment and of its argument;
5.  `primitives` has the transforms of `+`, `sin`, `case`, and of `J`, `J_inverse`, `zero` and `plus` themselves: all
    are code of the language;
6.  `interpreter` runs programs;
7.  `programs` has programs that use `J`: gradients, products with the Hessian, Newton's method, a saddle point;
8.  `incorrect` has three transforms that lose the sensitivities of free variables;
9.  `machine`, `phases` and `postpended` are section 2: programs as rows of states, with the Jacobians of the steps;
10. `successive`, `as_printed` and `walk` are section 3 as it is printed: `lines` of programs, and their values;
11. `bundles` and `forward` are forward mode, as a function `J_forward` of the same language;
12. `vlad` is section 4 to the letter: tagged reals, and pairs and conditionals as functions.

The gradient is a program of the language, as in the paper. So the gradient of a gradient is a program of the language:

    gradient = fun f -> fun x -> let (y, y_back) = (J f) (J x) in snd (y_back 1.0)

Real numbers carry no tag. Only functions are transformed, and the code of a function says which derivative it is
transformed for. In `gradient (fun x -> x * gradient (fun y -> x * y) 3.0) 7.0`, the inner `J` sees the closure
`fun y -> x * y` with the number 7 in its environment, and nothing is confused. When the outer `J` is applied to this
program, the inner `J` becomes `J'`, the transform of J: `fun x -> (J x, fun s -> ((), J_inverse s))`.

The paper says that its language has forward mode, too, and describes it for programs of steps only. Here it is beside
`J`, and each applies to what the other has made:

    derivative = fun f -> fun x -> tangent ((J_forward f) (bundle (x, 1.0)))

What it shows: reverse mode without mutation, as a first-class function of a pure language; an answer with its
backpropagator costs a constant factor more than the answer. What it cannot do: references, shift and reset, and
functions of Python. The sensitivity of a structure is as large as the structure, so to read one number of n costs n on
the way back. If an answer is kept in a pair or in a closure, the way back goes through it, whether it counts or not:
its sensitivity is a zero like any other number, and zero times an infinite slope is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.formulations.language.anf import to_anf
from shiftreset_ad.formulations.language.terms import Lam, Term
from shiftreset_ad.formulations.pearlmutter_siskind.bundles import J_forward, bundle, tangent
from shiftreset_ad.formulations.pearlmutter_siskind.forward import forward_transform
from shiftreset_ad.formulations.pearlmutter_siskind.interpreter import call, run
from shiftreset_ad.formulations.pearlmutter_siskind.primitives import BASIS
from shiftreset_ad.formulations.pearlmutter_siskind.procedures import Procedure, procedure
from shiftreset_ad.formulations.pearlmutter_siskind.programs import program
from shiftreset_ad.formulations.pearlmutter_siskind.reverse import Transform
from shiftreset_ad.formulations.pearlmutter_siskind.values import (
    Basic,
    Closure,
    J,
    J_inverse,
    derivative,
    plus,
    require_number,
    zero,
)
from shiftreset_ad.formulations.structures import Structure, scalar

__all__ = [
    "BASIS",
    "Basic",
    "Closure",
    "Gradient",
    "J",
    "J_forward",
    "J_inverse",
    "Procedure",
    "Transform",
    "call",
    "grad",
    "jvp",
    "plus",
    "program",
    "run",
    "transform",
    "zero",
]

# `J` is a function of the language, and its transform is code that uses `J`. This circle is closed here.
Procedure.transform = lambda procedure: Transform(procedure).image()
Procedure.forward_transform = forward_transform
Closure.__call__ = call  # type: ignore[method-assign]


def grad(f: Term | Closure | Gradient) -> Callable[[Any], Any]:
    """The gradient of a function of the language, with a number, or pairs and sums of numbers, as its argument.

    `f` is a term, which may use `J`, or a function that `run` or `grad` of this room has returned. Raises TypeError for
    a function of Python, for an argument that is not a value of the language, and for a result that is not a number;
    NameError for a free variable.

    >>> from shiftreset_ad.formulations.language import parse
    >>> grad(grad(parse("fun x -> x * x * x")))(2.0)
    np.float64(12.0)
    """
    return Gradient(function_of(f, "grad"))


def jvp(f: Term | Closure | Gradient) -> Callable[[Any, Any], Any]:
    """The derivative of `f` along a direction by forward J, `(x, x_dot) -> y_dot`, both of the structure of x.

    Raises TypeError as `grad` does, and for a direction of another structure.

    >>> from shiftreset_ad.formulations.language import parse
    >>> jvp(parse("fun p -> fst p * snd p"))((2.0, 3.0), (1.0, 0.0))
    np.float64(3.0)
    """
    function = function_of(f, "jvp")

    def derivative_along(x: Any, x_dot: Any) -> Any:
        inputs, direction = Structure(x, operator="jvp"), Structure(x_dot, may_be_constant=True)
        if not direction.is_like(inputs):
            raise TypeError(f"jvp: the direction has to have the structure of the argument {x!r}; got {x_dot!r}")
        with np.errstate(all="ignore"):
            return tangent(call(J_forward(function), bundle(x, inputs.with_numbers(direction.numbers))))

    return derivative_along


def function_of(f: Term | Closure | Gradient, operator: str) -> Closure | Basic:
    """The value of the language that `operator` differentiates."""
    function = run(f) if isinstance(f, Term) else f.function if isinstance(f, Gradient) else f
    if not isinstance(function, (Closure, Basic)):
        raise TypeError(
            f"{operator}: expected a term for a function; got {f!r}. "
            "This room transforms source: write the function by language.parse, or use another formulation"
        )
    return function


class Gradient:
    """The gradient of `f` as a function of Python; `function` is the same as a value of the language, for `grad`."""

    def __init__(self, f: Closure | Basic) -> None:
        self._f = f

    @property
    def function(self) -> Closure:
        """The value of `gradient f`."""
        return call(GRADIENT, self._f)  # type: ignore[no-any-return]

    def __call__(self, x: Any) -> Any:
        require_number(x)
        y, y_back = call(J(self._f), J(x))
        scalar(y)
        with np.errstate(all="ignore"):  # a slope that nobody asks for, by the 2 in x**2, may be NaN
            _, x_sens = call(y_back, 1.0)
        return derivative(x, x_sens)


GRADIENT = run(program("gradient"))


def transform(term: Lam) -> Term:
    """The reverse transform of a function: a term for a function that returns the answer and a backpropagator.

    Transformed primitives, such as `multiply'`, are constants in it. Its free variables are those of `term` with a
    prime. Other interpreters can run it, too, unless it makes functions that `zero` has to look into. Raises TypeError
    for a term that is not a `fun`, or has references, shift or reset.

    >>> from shiftreset_ad.formulations.language import parse, show
    >>> print(show(transform(parse("fun x -> sin x")), width=60))
    fun x' ->
      let both = sin' x' in
      let t' = fst both in
      let t_back = snd both in
      let back =
        fun t_sens ->
          let both1 = t_back t_sens in
          let x_sens = snd both1 in
          let environment = () in
          let sensitivities = (environment, x_sens) in sensitivities
      in
      let answer = (t', back) in answer
    """
    function = to_anf(term)
    if not isinstance(function, Lam):
        raise TypeError(f"transform: expected a function, fun x -> ...; got {term}")
    return procedure(function, BASIS).image.term
