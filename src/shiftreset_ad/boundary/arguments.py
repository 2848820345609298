"""The arguments of a function that is differentiated with respect to some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.checks import arguments_at


class Arguments:
    """Positional arguments. The numbers in the arguments that `argnums` names are taken out.

    Raises TypeError for an `argnums` without an argument, and for an argument that cannot be differentiated. With
    `together`, the arguments are one structure, and an integer or a string may be an argument of its own.
    """

    __slots__ = ("_args", "_parts", "_positions", "_single", "numbers")

    def __init__(
        self, operator: str, argnums: int | Sequence[int], args: Sequence[Any], together: bool = False
    ) -> None:
        self._single = isinstance(argnums, int)
        self._positions = range(len(args)) if together else arguments_at(operator, argnums, args)
        self._parts = trees.Parts(tuple(map(args.__getitem__, self._positions)))
        self._args = args
        self.numbers = self._parts.numbers
        if together and self._parts.has_others:
            trees.require_differentiable(tuple(args), operator, "arguments")
        elif self._parts.has_others:
            for i in self._positions:
                trees.require_differentiable(args[i], operator, f"argument {i}")

    def with_numbers(self, numbers: Sequence[Any]) -> list[Any]:
        """All arguments, with other numbers."""
        inputs = list(self._args)
        for i, argument in zip(self._positions, self._parts.with_numbers(numbers), strict=True):
            inputs[i] = argument
        return inputs

    def derivative(self, numbers: Sequence[Any]) -> Any:
        """A derivative with respect to the arguments that `argnums` names, with these numbers in it."""
        derivatives = self._parts.derivative(numbers)
        return derivatives[0] if self._single else derivatives

    def derivatives_in(self, given: Sequence[Any], operator: str, name: str) -> list[Any]:
        """The tangent of each number, from `given`, which has one structure for each argument; None stands for zero."""
        if not isinstance(given, tuple | list):
            raise TypeError(
                f"{operator}: {name} must be a tuple, with one entry for each argument, (x_dot,) for one, "
                f"and is {given!r:.60}"
            )
        return self._parts.derivatives_in(tuple(given), operator, name, "the argument")


def all_of(operator: str, primals: Any) -> Arguments:
    """The arguments of a function that is differentiated with respect to all of them."""
    if not isinstance(primals, tuple | list):
        raise TypeError(f"{operator}: primals must be a tuple of the arguments, (x,) for one, and is {primals!r:.60}")
    return Arguments(operator, range(len(primals)), tuple(primals), together=True)
