"""Forward over reverse: tangents of adjoints (Wang et al. 2019, section 3.7).

The paper names this combination, and has no code for it; the listing is ours. The primal and the adjoint of a number of
reverse mode may be any numbers, so they may be numbers of forward mode:

    def gradHess(f: NumR => NumR)(x, v) = {
      val z = new NumR(new NumF(x, v), new NumF(0.0, 0.0));  reset { f(z).d = new NumF(1.0, 0.0) };  (z.d.x, z.d.d)
    }

The way there and back then computes the gradient, and the forward numbers inside carry the derivative of the gradient
along v: the Hessian times v, in one pass, for a small multiple of the cost of `f`.

This room has both kinds of numbers. An operation begins with two steps for both kinds, and ends with one for its kind:

1.  it belongs to the newest derivative among its operands, of either kind; any other number is a constant to it;
2.  it computes its answer and slopes from the primals, which may be numbers of older derivatives;
3.  a forward number applies the chain rule (2.3);
4.  a number of reverse mode captures the rest of the program, runs it, and then accumulates adjoints (3.2).

With a tag for each derivative, `grad` and `jvp` nest in any order, to any depth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import count
from operator import add
from typing import Any, TypeAlias

from shiftreset_ad.control import Prompt, reset, shift
from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

serials = count()


class Tag(Prompt):
    """One derivative, with its age in `serial`. The operations of reverse mode capture up to this prompt."""

    __slots__ = ("serial",)

    def __init__(self) -> None:
        super().__init__()
        self.serial = next(serials)


# The operands of the newest derivative, each with the partial derivative of the answer in it.
Active: TypeAlias = Sequence[tuple[Any, Any]]


class Number(Overloaded):
    """A number of the derivative `tag`, of either mode."""

    __slots__ = ("primal", "tag")

    def __init__(self, primal: Any, tag: Tag) -> None:
        self.primal = primal
        self.tag = tag

    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """The answer, as a number of the newest derivative among the operands."""
        tag = max((x.tag for x in operands if isinstance(x, Number)), key=lambda tag: tag.serial)  # 1
        mine = [isinstance(x, Number) and x.tag is tag for x in operands]
        primals = [x.primal if own else x for x, own in zip(operands, mine, strict=True)]
        value, slopes = answer_and_partials(function, *primals, of=operands)  # 2
        active = [(x, slope) for x, slope, own in zip(operands, slopes, mine, strict=True) if own]
        return active[0][0].linear(value, active)

    def linear(self, value: Any, active: Active) -> Any:
        """The answer with this value: forward and reverse mode each say what an operation does."""
        raise NotImplementedError(f"{type(self).__name__}.linear: forward and reverse mode say what an operation does")


class NumF(Number):
    """A number of forward mode, with its `tangent`."""

    __slots__ = ("tangent",)

    def __init__(self, primal: Any, tangent: Any, tag: Tag) -> None:
        super().__init__(primal, tag)
        self.tangent = tangent

    def linear(self, value: Any, active: Active) -> NumF:
        """The chain rule."""
        return NumF(value, reduce(add, [slope * x.tangent for x, slope in active]), self.tag)  # 3


class NumR(Number):
    """A number of reverse mode, with its `adjoint`."""

    __slots__ = ("adjoint",)

    def __init__(self, primal: Any, adjoint: Any, tag: Tag) -> None:
        super().__init__(primal, tag)
        self.adjoint = adjoint

    def linear(self, value: Any, active: Active) -> Any:
        """The rest of the program, and the way back."""

        def handler(k: Callable[[Any], Any]) -> None:  # 4
            y = NumR(value, 0.0, self.tag)
            k(y)
            for x, slope in active:
                x.adjoint = x.adjoint + slope * y.adjoint

        return shift(handler, self.tag)


def grad(f: Callable[..., Any] | Term) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument, by reverse mode.

    Raises TypeError where `f` does not return one number.

    >>> grad(grad(lambda x: x * x * x))(2.0)
    np.float64(12.0)
    """
    function = as_function(f)

    def gradient(x: Any) -> Any:
        structure, tag = Structure(x), Tag()
        xs = [NumR(number, 0.0, tag) for number in structure.numbers]

        def program() -> None:
            result = scalar(function(structure.with_numbers(xs)))
            if isinstance(result, Number) and result.tag.serial > tag.serial:
                raise ValueError("grad: the result is a number of an inner derivative, which is finished")
            if isinstance(result, NumR) and result.tag is tag:
                result.adjoint = 1.0

        reset(program, tag)
        return structure.derivative([x.adjoint for x in xs])

    return gradient


def with_tangents(operator: str, x: Any, x_dot: Any, tag: Tag) -> Any:
    """The structure `x` with forward numbers, whose tangents are the direction `x_dot` of the same structure."""
    structure, direction = Structure(x, operator=operator), Structure(x_dot, may_be_constant=True)
    if not direction.is_like(structure):
        raise TypeError(f"{operator}: {x_dot!r:.60} needs a float for each float of the argument {x!r:.60}")
    pairs = zip(structure.numbers, direction.numbers, strict=True)
    return structure.with_numbers([NumF(primal, tangent, tag) for primal, tangent in pairs])


def tangent(operator: str, y: Any, tag: Tag) -> Any:
    """The tangent of a number; zero if it does not depend on the numbers with this tag."""
    if isinstance(y, Number) and y.tag.serial > tag.serial:
        raise ValueError(f"{operator}: the result is a number of an inner derivative, which is finished")
    return y.tangent if isinstance(y, NumF) and y.tag is tag else 0.0


def jvp(f: Callable[..., Any] | Term) -> Callable[[Any, Any], Any]:
    """The function of `x` and a direction `x_dot` of the same structure that returns the derivative of `f` along it.

    Raises TypeError where `f` does not return one number, and where `x` and `x_dot` differ in structure.

    >>> jvp(lambda x: x[0] * x[1])((2.0, 3.0), (1.0, 0.0))
    3.0
    """
    function = as_function(f)

    def derivative_along(x: Any, x_dot: Any) -> Any:
        tag = Tag()
        return tangent("jvp", scalar(function(with_tangents("jvp", x, x_dot, tag)), "jvp"), tag)

    return derivative_along


def hvp(f: Callable[..., Any] | Term) -> Callable[[Any, Any], Any]:
    """The function of `x` and a vector `v` of the same structure that returns the Hessian of `f` at `x`, times `v`.

    Raises as `jvp` does.

    >>> hvp(lambda x: x[0] * x[0] * x[1])((2.0, 3.0), (1.0, 0.0))
    (np.float64(6.0), 4.0)
    """
    gradient = grad(f)

    def hessian_times(x: Any, v: Any) -> Any:
        tag = Tag()
        g = Structure(gradient(with_tangents("hvp", x, v, tag)))
        return g.derivative([tangent("hvp", y, tag) for y in g.numbers])

    return hessian_times
