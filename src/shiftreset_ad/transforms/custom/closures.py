"""What a function with rules of its own closes over: its rules get it one level below, as they get arguments.

The function, its rules and the functions among its arguments are built anew, with other contents in their variables. So
the rules of a call see what they close over as it was at the call, on the way back and at any later time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType
from typing import Any

from numpy import ndarray

from shiftreset_ad.boundary.closed_over import Environment, content_of, plain_variables
from shiftreset_ad.control import ControlError
from shiftreset_ad.modes.reverse.kept import frozen
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.numbers.plain_arrays import read_only, same
from shiftreset_ad.transforms.custom.levels import Level
from shiftreset_ad.transforms.custom.rules import Application

Use = Callable[..., Any]  # a method of an application that uses a rule


class Closure:
    """`leaves`: all that the function of a call, its rules and the functions among its arguments hold. There are none
    if no leaf is an array or a number that is being differentiated.
    """

    __slots__ = ("_application", "_environment", "_places", "_variables", "leaves")

    def __init__(self, application: Application) -> None:
        self._application = application
        self._places = application.to_be_lifted()
        self._variables: list[tuple[CellType, Any]] | None = []
        if self._places or application.function.holds_variables:
            self._variables = plain_variables([application.function, *(application.args[i] for i in self._places)])
        self._environment: Environment | None = None
        self.leaves: list[Any] = []
        if self._variables is None:
            self._look_closer()

    def _look_closer(self) -> None:
        environment = self._looked_into()
        if any(isinstance(x, Number) or type(x) is ndarray for x in environment.leaves):
            self._environment, self.leaves = environment, environment.leaves
        else:
            self._variables = environment.plain_variables()

    def _looked_into(self, variables: Sequence[tuple[CellType, Any]] = ()) -> Environment:
        held = {f"argument {i}": self._application.args[i] for i in self._places}
        return Environment({"the function": self._application.function, **held}, variables)

    def call(self, leaves: Sequence[Any], use: Use, *args: Any) -> Any:
        """The answer of a use of the rules, with these leaves in the functions instead."""
        if self._environment is None:
            variables = self._variables
            if not variables or all(content_of(cell) is content for cell, content in variables):
                return use(self._application, *args)
            self._environment = self._looked_into(variables)
        instance = self._environment.with_leaves(leaves or self._environment.leaves, sharing=True)
        function, *held = instance.roots
        answer = use(self._application.of(function, dict(zip(self._places, held, strict=True))), *args)
        if updates := instance.updates():
            raise ControlError(
                f"{self._application.rules.name} assigns to {instance.names_of(updates)}, which holds a number that is "
                "being differentiated, and its derivative would be lost. Return it from the function"
            )
        return answer

    def below(self, level: Level) -> list[Any]:
        """The leaves as the rules get them in the call: the array of a number is read-only."""
        return [read_only(level.below(x)) if isinstance(x, Number) else x for x in self.leaves]

    def later(self, level: Level) -> Callable[[], list[Any]]:
        """The leaves as the rules get them after the call: a plain array is the same object, if it has not changed."""
        if not self.leaves:
            return list
        kept = [frozen(level.below(x), level.tag) for x in self.leaves]

        def leaves() -> list[Any]:
            return [
                read_only(before) if isinstance(x, Number) else unchanged(x, before)
                for x, before in zip(self.leaves, kept, strict=True)
            ]

        return leaves


def functions_with(function: Any, changed: Callable[[Any], Any]) -> Any:
    """The function with `changed` applied to each leaf that it closes over; the same object if nothing changes."""
    environment = Environment({"a residual": function})
    leaves = list(map(changed, environment.leaves))
    if all(x is before for x, before in zip(leaves, environment.leaves, strict=True)):
        return function
    return environment.with_leaves(leaves, sharing=True).roots[0]


def unchanged(x: Any, before: Any) -> Any:
    """A plain array, or if it has changed, a copy of the array `before`; anything else as it was kept."""
    if type(x) is not ndarray or x is before:
        return before
    return x if same(x, before) else before.copy()
