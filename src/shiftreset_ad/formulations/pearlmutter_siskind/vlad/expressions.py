"""Expressions: a variable x, a call (x y) of variables, or a lambda expression whose body is in A-normal form.

A variable is a base variable, or a variable with a tag: reverse x', sensitivity x_sens, or backpropagator x_back. Tags
stack, so a twice transformed variable is x''. The order of variables is that of their base names, then of their tags.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeAlias


class Tag(IntEnum):
    """The order is that of the paper: x, then the reverse variable, the sensitivity, and the backpropagator."""

    REVERSE = 1
    SENSITIVITY = 2
    BACKPROPAGATOR = 3


SUFFIX = {Tag.REVERSE: "'", Tag.SENSITIVITY: "_sens", Tag.BACKPROPAGATOR: "_back"}


@dataclass(frozen=True, order=True, slots=True)
class Variable:
    """A base name, and its tags: the last one was added last."""

    name: str
    tags: tuple[Tag, ...] = ()

    def tagged(self, tag: Tag) -> Variable:
        """The variable with one more tag.

        >>> print(Variable("x").tagged(Tag.REVERSE).tagged(Tag.SENSITIVITY))
        x'_sens
        """
        return Variable(self.name, (*self.tags, tag))

    @property
    def level(self) -> int:
        """How often the function whose parameter this is has been transformed."""
        level = 0
        while level < len(self.tags) and self.tags[-1 - level] is Tag.REVERSE:
            level += 1
        return level

    def __str__(self) -> str:
        return self.name + "".join(SUFFIX[tag] for tag in self.tags)


@dataclass(frozen=True, slots=True)
class Call:
    """(x y)"""

    function: Variable
    argument: Variable

    def __str__(self) -> str:
        return f"({self.function} {self.argument})"


@dataclass(eq=False)
class Lambda:
    """fun x0 -> let x1 = e1; ...; xn = en in result

    `origin` is the lambda expression, or the primitive, of which this is the reverse transform.
    """

    parameter: Variable
    bindings: list[tuple[Variable, Expression]]
    result: Variable
    origin: Any = None
    known: dict[str, Lambda] = field(default_factory=dict, repr=False)  # the transform, once it is made

    def __str__(self) -> str:
        lets = "; ".join(f"{x} = {e}" for x, e in self.bindings)
        return (
            f"fun {self.parameter} -> let {lets} in {self.result}" if lets else f"fun {self.parameter} -> {self.result}"
        )


Expression: TypeAlias = Variable | Call | Lambda


def free(e: Expression) -> set[Variable]:
    """F e, the free variables."""
    match e:
        case Variable():
            return {e}
        case Call(function, argument):
            return {function, argument}
    found, bound = {e.result}, {e.parameter}
    for x, right in e.bindings:
        found |= free(right)
        bound.add(x)
    return found - bound


def base_free(e: Lambda) -> list[Variable]:
    """B e in order: the free variables that correspond to those of the original, untransformed lambda expression.

    A transformed primitive has none. A backpropagator that a transform has made is an original of its own.
    """
    if isinstance(e.origin, Lambda):
        return [x.tagged(Tag.REVERSE) for x in base_free(e.origin)]
    return sorted(free(e)) if e.origin is None else []
