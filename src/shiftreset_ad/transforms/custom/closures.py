"""What a function with rules of its own closes over: its rules get it one level below, as they get arguments.

The function, its rules and the functions among its arguments are built anew, with other contents in their variables. So
the rules of a call see what they close over as it was at the call, on the way back and at any later time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from types import CellType
from typing import Any

from numpy import ndarray

from shiftreset_ad.boundary.closed_over import Environment, Instance, content_of, is_object, plain_variables
from shiftreset_ad.boundary.contents import Contents, ReadContents
from shiftreset_ad.boundary.reach import ALWAYS_READ, Reach
from shiftreset_ad.boundary.snapshots import Snapshot
from shiftreset_ad.control import ControlError
from shiftreset_ad.modes.reverse.kept import frozen
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.numbers.plain_arrays import read_only, same
from shiftreset_ad.transforms.custom.levels import Level
from shiftreset_ad.transforms.custom.rules import Application

Use = Callable[..., Any]  # a method of an application that uses a rule


class Look:
    """What some functions hold: an environment if one of its `leaves` is an array or a number that is being
    differentiated, and otherwise the variables. `contents` are those of all that the functions read elsewhere, and
    `names` are those of the attributes that they read. Later calls use it while it is true.
    """

    __slots__ = ("_last", "_seen", "contents", "environment", "leaves", "names", "snapshot", "variables")

    def __init__(
        self,
        environment: Environment | None,
        variables: Sequence[tuple[CellType, Any]] = (),
        reach: Reach | None = None,
    ) -> None:
        self.environment = environment
        self.contents = [] if reach is None else reach.contents()
        self.names = ALWAYS_READ if reach is None else reach.names
        self.leaves = [] if environment is None else environment.leaves
        self.variables = variables
        self.snapshot: Snapshot | None = None
        self._seen: list[tuple[Contents, Any]] | None = None
        self._last: tuple[Sequence[Any], Instance] | None = None

    @classmethod
    def into(cls, roots: dict[str, Any]) -> Look:
        """A look into these functions."""
        found = plain_variables(list(roots.values()))
        if found is not None:
            variables, functions = found
            return cls(None, variables, Reach(functions))
        environment = Environment(roots)
        is_lifted = any(isinstance(x, Number) or type(x) is ndarray for x in environment.leaves)
        reach = Reach.of(environment, is_lifted)
        return cls(environment, (), reach) if is_lifted else cls(None, environment.contents(), reach)

    def remember(self, snapshot: Snapshot | None) -> None:
        """Let later calls use this look, if there is a snapshot of what the functions hold."""
        self.snapshot = snapshot
        if snapshot is not None:
            self._seen = [(contents, contents.now()) for contents in self.contents if contents.leads]

    def is_true(self) -> bool:
        """Whether the functions hold, and can reach, what they could when this look was taken."""
        if self.snapshot is None or self._seen is None or not self.snapshot.is_true():
            return False
        return not any(contents.leads_elsewhere(seen) for contents, seen in self._seen)

    def is_out_of_date(self) -> bool:
        """Whether a variable has been bound again."""
        return any(content_of(cell) is not content for cell, content in self.variables)

    def instance(self, leaves: Sequence[Any]) -> Instance:
        """The functions with these leaves. They belong to the caller until it gives them back."""
        last, self._last = self._last, None
        if last is not None and all(map(is_, last[0], leaves)):
            return last[1]
        environment: Any = self.environment
        return environment.with_leaves(leaves, sharing=True)  # type: ignore[no-any-return]

    def give_back(self, leaves: Sequence[Any], instance: Instance) -> None:
        """Keep these for the next caller that has the same leaves."""
        self._last = leaves, instance


class Closure:
    """`leaves`: all that the function of a call, its rules and the functions among its arguments hold. There are none
    if no leaf is an array or a number that is being differentiated.
    """

    __slots__ = ("_application", "_look", "_places", "_watch")

    def __init__(self, application: Application) -> None:
        self._application = application
        self._places = application.to_be_lifted()
        function = application.function
        if self._places:
            self._look = Look.into(self._roots())
        else:
            known = function.look
            if known is None or not known.is_true():
                is_first = known is None
                known = function.look = Look.into(self._roots())
                known.remember(None if is_first else Snapshot.of(function.held().values()))  # it takes time
            self._look = known
        contents = self._look.contents
        if application.constants:
            contents = [*contents, *Reach(others=application.constant_arguments(), names=self._look.names).contents()]
        self._watch = self._watching(contents) if contents else None

    def add_residuals(self, residuals: Sequence[Any]) -> None:
        """Watch the objects among the residuals, which are not copied, as they are now."""
        objects = [("a residual", x) for x in residuals if is_object(x)]
        if objects and (contents := Reach(others=objects, names=self._look.names).contents()):
            if self._watch is None:
                self._watch = self._watching(())
            self._watch.add(contents)

    @property
    def leaves(self) -> list[Any]:
        """The leaves."""
        return self._look.leaves

    def _watching(self, contents: Sequence[Contents]) -> ReadContents:
        name = self._application.rules.name
        return ReadContents(
            contents,
            f"{name}: its rules read",
            f"between the call and this use of a rule. Make what the rules need an argument of {name}, or return it "
            "from the function's rule as a residual",
        )

    def _roots(self) -> dict[str, Any]:
        held = {f"argument {i}": self._application.args[i] for i in self._places}
        return {"the function": self._application.function, **held}

    def call(self, leaves: Sequence[Any], use: Use, *args: Any) -> Any:
        """The answer of a use of the rules, with these leaves in the functions instead."""
        return (
            self._call(leaves, use, *args) if self._watch is None else self._watch.run(self._call, leaves, use, *args)
        )

    def _call(self, leaves: Sequence[Any], use: Use, *args: Any) -> Any:
        look = self._look
        if look.environment is None:
            if not look.is_out_of_date():
                return use(self._application, *args)
            look = self._look = Look(Environment(self._roots(), look.variables))
        leaves = leaves or look.leaves
        instance = look.instance(leaves)
        function, *held = instance.roots
        answer = use(self._application.of(function, dict(zip(self._places, held, strict=True))), *args)
        if updates := instance.updates():
            raise ControlError(
                f"{self._application.rules.name} assigns to {instance.names_of(updates)}, which holds a number that is "
                "being differentiated, and its derivative would be lost. Return it from the function"
            )
        look.give_back(leaves, instance)
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
