"""Second derivatives by explicit CPS inside shift/reset (Wang et al. 2019, section 3.7; `shiftCPS.scala` of
the supplement).

The gradient of a gradient needs the rest of the program twice. The inner derivative captures it by shift and reset. All
arithmetic on the inner derivative's primals and adjoints is in explicit CPS, so Fig. 7 differentiates it again.
Therefore the function that `shift` captures does not return the unit. It returns a program in CPS, which waits for its
continuation `p`:

    type Cont = (NumR0 => Unit) => Unit
    class NumR(val x: NumR0, var d: NumR0) {
      def *(that: NumR) = shift { (k: NumR => Cont) =>        1. leave the program
        (p: NumR0 => Unit) => (x * that.x) { t =>             2. the forward step, in CPS
          val y = new NumR(t, new NumR0(0.0, 0.0))
          k(y) { _ =>                                         3. the rest of the program, in CPS
            (y.d * that.x) { u => (d + u) { u => d = u        4. then accumulate, in CPS
            (y.d * x) { u => (that.d + u) { u => that.d = u
              p(that.d) }}}}                                  5. and go on with the way back
        }}}
    }
    def grad(f: NumR => NumR @cps[Cont])(x: NumR0) = {
      val z = new NumR(x, new NumR0(0.0, 0.0))
      reset { f(z).d = new NumR0(1.0, 0.0);  (p: NumR0 => Unit) => p(z.d) }
    }

That is a function in CPS again, so the `grad` of Fig. 7 applies to it. The supplement hands `p` the adjoint that was
written last. This is the adjoint of `z` if `z` is the last operand of the first operation. Here `p` takes nothing, and
the last `p` reads the adjoint of `z`. For functions beyond + and *, the partial derivative is a term, which the machine
runs in CPS.

It shows that two ways to capture a continuation can work together. It is for second derivatives, by
`second_derivative`, `hvp` and `hessian`, which use both levels; `grad` is the inner level alone. It does not nest: that
is an error. Operations nest on the stack: a hundred of them take a higher `sys.setrecursionlimit`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

from shiftreset_ad.control import Prompt, enclosing, reset, shift
from shiftreset_ad.formulations.language import Term, Var, as_function, partial_terms, run
from shiftreset_ad.formulations.language.recursion import nesting
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

PROMPT = Prompt()

# A program in CPS: it takes its continuation.
Program: TypeAlias = Callable[[Callable[[], None]], None]


# The outer derivative: Fig. 7


class NumR0(Overloaded):
    """A number in explicit CPS, with its `primal` and `adjoint`."""

    __slots__ = ("adjoint", "primal")

    def __init__(self, primal: Any, adjoint: Any) -> None:
        self.primal = primal
        self.adjoint = adjoint

    def operate(self, function: Callable[..., Any], *operands: Any) -> NoReturn:
        """Refused: an operator has no place for its continuation."""
        raise TypeError(f"{function.__name__}: this room has two levels of derivatives; for more, use `prompts`")


def operate(function: Callable[..., Any], operands: tuple[Any, ...], k: Callable[[Any], None]) -> None:
    """An operation in explicit CPS, on floats or NumR0."""
    primals = [x.primal if isinstance(x, NumR0) else x for x in operands]
    value, slopes = answer_and_partials(function, *primals, of=operands)
    active = [(x, slope) for x, slope in zip(operands, slopes, strict=True) if isinstance(x, NumR0)]
    if not active:
        k(value)
        return
    y = NumR0(value, 0.0)
    k(y)
    for x, slope in active:
        x.adjoint = x.adjoint + slope * y.adjoint


# The inner derivative


class NumR(Overloaded):
    """A number whose operations capture the rest of the program; `primal` and `adjoint` are in explicit CPS."""

    __slots__ = ("adjoint", "primal")

    def __init__(self, primal: Any, adjoint: Any) -> None:
        self.primal = primal
        self.adjoint = adjoint

    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Capture the rest of the program, which goes on in CPS."""
        primals = tuple(x.primal if isinstance(x, NumR) else x for x in operands)
        names = [f"x{i}" for i in range(len(operands))]
        slopes = partial_terms(function, Var("y"), *map(Var, names))
        active = [(x, slope) for x, slope in zip(operands, slopes, strict=True) if isinstance(x, NumR)]

        def handler(k: Callable[[NumR], Program]) -> Program:
            def program(p: Callable[[], None]) -> None:
                def forward(value: Any) -> None:
                    y = NumR(value, 0.0)
                    values = {"y": value, **dict(zip(names, primals, strict=True))}
                    k(y)(lambda: accumulate(y, active, values, p))  # 3

                operate(function, primals, forward)  # 2

            return program

        return shift(handler, PROMPT)  # 1


def accumulate(y: NumR, active: Sequence[tuple[NumR, Term]], values: dict[str, Any], p: Callable[[], None]) -> None:
    """Accumulate the adjoints of the operands in CPS, one after the other, and then go on with `p`."""
    if not active:
        p()  # 5
        return
    (x, slope), *others = active

    def assign(x_bar: Any) -> None:
        x.adjoint = x_bar
        accumulate(y, others, values, p)

    environment = {**values, "x_bar": x.adjoint, "y_bar": y.adjoint}
    run(Var("x_bar") + Var("y_bar") * slope, environment, assign, operate)  # 4


def gradient_in_cps(f: Callable[..., Any], structure: Structure, xs: Sequence[Any], k: Callable[..., None]) -> None:
    """Hand `k` the gradient of `f` at the numbers `xs`, a list, computed by operations in explicit CPS."""
    if any(body.prompt is PROMPT for body in enclosing()):
        raise TypeError("grad: this room's grad does not nest; use hvp or hessian, or the room `prompts`")
    zs = [NumR(x, 0.0) for x in xs]

    def program() -> Program:
        result = scalar(f(structure.with_numbers(zs)))
        if isinstance(result, NumR):
            result.adjoint = 1.0
        return lambda p: p()

    reset(program, PROMPT)(lambda: k([z.adjoint for z in zs]))


# Both


def grad(f: Callable[..., Any] | Term) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument: the inner derivative alone.

    Raises TypeError where `f` does not return one number, and when called inside another gradient of this room.

    >>> grad(lambda x: x * x)(3.0)
    np.float64(6.0)
    """
    function = as_function(f)

    def gradient(x: Any) -> Any:
        structure, answers = Structure(x), []  # type: ignore[var-annotated]
        gradient_in_cps(function, structure, structure.numbers, answers.extend)
        return structure.derivative(answers)

    return nesting(gradient)


def hvp(f: Callable[..., Any] | Term) -> Callable[[Any, Any], Any]:
    """The function of `x` and a vector `v` of the same structure that returns the Hessian of `f` at `x`, times `v`.

    It is reverse mode over reverse mode: `v` is the cotangent of the gradient. Raises as `grad` does, and TypeError
    where `x` and `v` differ in structure.

    >>> hvp(lambda x: x[0] * x[0] * x[1])((2.0, 3.0), (1.0, 0.0))
    (np.float64(6.0), np.float64(4.0))
    """
    function = as_function(f)

    def hessian_times(x: Any, v: Any) -> Any:
        structure, vector = Structure(x, operator="hvp"), Structure(v, may_be_constant=True)
        if not vector.is_like(structure):
            raise TypeError(f"hvp: the vector {v!r:.60} needs a float for each float of the argument {x!r:.60}")
        xs = [NumR0(number, 0.0) for number in structure.numbers]

        def finish(gradient: list[Any]) -> None:
            for y, y_bar in zip(gradient, vector.numbers, strict=True):
                if isinstance(y, NumR0):
                    y.adjoint = y_bar

        gradient_in_cps(function, structure, xs, finish)
        return structure.derivative([x.adjoint for x in xs])

    return nesting(hessian_times)


def second_derivative(f: Callable[..., Any] | Term) -> Callable[[Any], Any]:
    """The second derivative of a function of one number.

    >>> second_derivative(lambda x: x * x * x)(4.0)
    np.float64(24.0)
    """
    product = hvp(f)
    return lambda x: product(x, 1.0)


def hessian(f: Callable[..., Any] | Term) -> Callable[[Any], Any]:
    """The function that returns the Hessian of `f`: the structure of its argument, with such structures as rows.

    >>> hessian(lambda x: x * x * x)(2.0)
    np.float64(12.0)
    """
    product = hvp(f)

    def rows(x: Any) -> Any:
        structure = Structure(x)
        n = range(len(structure.numbers))
        return structure.derivative([product(x, structure.derivative([float(i == j) for j in n])) for i in n])

    return rows
