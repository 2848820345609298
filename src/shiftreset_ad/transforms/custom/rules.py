"""The rules that a user gives a function, and how they are called: structures go in and out, and all are checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.closed_over import HOLDERS, WITHOUT_ARRAYS
from shiftreset_ad.boundary.results import own
from shiftreset_ad.modes.index_sets.number import IndexSets
from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.numbers.number import Number, in_memory, newest
from shiftreset_ad.numbers.plain_arrays import note_read_only, read_only
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.stand_ins import is_staged
from shiftreset_ad.transforms.directions import Linear

USUAL = {*WITHOUT_ARRAYS, ndarray}  # types of arguments that hold no functions and no numbers


@dataclass(slots=True)
class CustomRules:
    """The rules of the function `name`: `fwd` and `bwd` for reverse mode, `jvp` for forward mode, either or both."""

    name: str
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    jvp: Callable[..., Any] | None = None

    def require(self) -> None:
        """Raise NotImplementedError if no rule is defined."""
        if self.jvp is None and self.bwd is None:
            raise NotImplementedError(
                f"{self.name} is declared to have derivative rules of its own, and none is defined. Define one after "
                f"the function: {self.name}.defvjp(fwd, bwd) or {self.name}.defjvp(rule)"
            )


class Application:
    """The rules of a function, applied to arguments. The arguments at the positions `constant` have no derivative.

    The methods take and return flat lists, with an entry for each number in the differentiable arguments (`numbers`),
    or in the value. In lists of derivatives, None stands for zero. Directions may be stacks: a rule gets one row at a
    time. A rule may write to directions, which are its own, but not to arguments and residuals.
    """

    __slots__ = ("args", "constants", "function", "names", "numbers", "parts", "positions", "rules")

    def __init__(self, function: Any, args: Sequence[Any], constant: Collection[int], names: Sequence[str]) -> None:
        self.function = function
        self.rules: CustomRules = function.rules
        self.args = args
        self.names = names
        self.constants = [arg for i, arg in enumerate(args) if i in constant]
        self.positions = [i for i in range(len(args)) if i not in constant]
        self.parts = [trees.Parts(args[i]) for i in self.positions]
        self.numbers = [x for parts in self.parts for x in parts.numbers]

    def of(self, function: Any, args: dict[int, Any]) -> Application:
        """The same application with the rules of another function, and other arguments at these positions."""
        other = object.__new__(Application)
        other.function, other.rules = function, function.rules
        other.names, other.positions, other.numbers = self.names, self.positions, self.numbers
        other.args, other.constants, other.parts = self.args, self.constants, self.parts
        if args:
            other.args = [args.get(i, arg) for i, arg in enumerate(self.args)]
            constant = [i for i in range(len(self.args)) if i not in self.positions]
            other.constants = [args.get(i, before) for i, before in zip(constant, self.constants, strict=True)]
            other.parts = [trees.Parts(other.args[i]) for i in self.positions]
        return other

    def to_be_lifted(self) -> list[int]:
        """The positions of arguments that hold functions, and of arguments without derivative that hold numbers."""
        found = []
        for i, arg in enumerate(self.args):
            if type(arg) not in USUAL and not (i in self.positions and isinstance(arg, Number)):
                sought = HOLDERS if i in self.positions else (*HOLDERS, Number)
                found += [i] if any(isinstance(leaf, sought) for leaf in trees.flatten(arg)[0]) else []
        return found

    def constant_arguments(self) -> list[tuple[str, Any]]:
        """The arguments without derivative, with their names; not arrays, which are kept as they are."""
        constants = [(self.names[i], arg) for i, arg in enumerate(self.args) if i not in self.positions]
        return [(name, arg) for name, arg in constants if type(arg) is not ndarray]

    def value(self, numbers: list[Any]) -> trees.Parts:
        """The value for these numbers, taken apart, with the derivatives that the rules say at older levels."""
        args, given = self._lent(numbers)
        return _answers(self._called(self.function, *args), given)

    def by_code(self, numbers: list[Any]) -> Any:
        """The value for these numbers, with the derivatives of the function's own code."""
        args, _ = self._lent(numbers)
        return self._called(self.function.code, *args)

    def fwd(self, numbers: list[Any]) -> tuple[trees.Parts, Residuals]:
        """The value, taken apart, and the residuals."""
        fwd: Any = self.rules.fwd
        args, given = self._lent(numbers)
        value, residuals = self._pair(fwd, self._called(fwd, *args), "value, residuals")
        leaves, structure = trees.flatten(residuals)
        if given:
            leaves = [given.get(id(leaf), leaf) for leaf in leaves]
        return _answers(value, given), Residuals(leaves, structure)

    def bwd(self, answers: trees.Parts, residuals: Residuals, y_bars: list[Any]) -> list[Any]:
        """The cotangents of the arguments, for those of the value."""
        return each_row(partial(self._bwd, answers, residuals), y_bars)

    def jvp(self, numbers: list[Any], x_dots: list[Any]) -> tuple[trees.Parts, list[Any]]:
        """The value, taken apart, and its tangents, from the tangents of the arguments."""
        answers: Any = None

        def along(x_dots: list[Any]) -> list[Any]:
            nonlocal answers
            answers, y_dots = self._jvp(numbers, x_dots)
            return y_dots

        y_dots = each_row(along, x_dots)
        return answers, y_dots

    def _bwd(self, answers: trees.Parts, residuals: Residuals, y_bars: list[Any]) -> list[Any]:
        bwd: Any = self.rules.bwd
        rule = f"{self.rules.name}: {name_of(bwd)}"
        x_bars = self._called(bwd, *self.constants, residuals.put_together(), answers.derivative(y_bars))
        if not isinstance(x_bars, tuple | list) or len(x_bars) != len(self.positions):
            wanted = "".join(f"{self.names[i]}_bar, " for i in self.positions)
            raise TypeError(
                f"{rule} must return a tuple with one cotangent for each differentiable argument, ({wanted.strip()}), "
                f"and it returned {x_bars!r:.80}"
            )
        found: list[Any] = []
        for i, parts, x_bar in zip(self.positions, self.parts, x_bars, strict=True):
            found += _derivatives_in(x_bar, parts, rule, f"the cotangent of {self.names[i]}", "the argument")
        return found

    def _jvp(self, numbers: list[Any], x_dots: list[Any]) -> tuple[trees.Parts, list[Any]]:
        jvp: Any = self.rules.jvp
        args, given = self._lent(numbers)
        tangents = iter([own(None, x) if x_dot is None else x_dot for x, x_dot in zip(numbers, x_dots, strict=True)])
        returned = self._called(
            jvp,
            *self.constants,
            tuple(args[i] for i in self.positions),
            tuple(parts.derivative([next(tangents) for _ in parts.numbers]) for parts in self.parts),
        )
        value, tangent = self._pair(jvp, returned, "value, tangent")
        answers = _answers(value, given)
        rule = f"{self.rules.name}: {name_of(jvp)}"
        return answers, _derivatives_in(tangent, answers, rule, "the tangent", "the value")

    def _lent(self, numbers: list[Any]) -> tuple[list[Any], dict[int, Any]]:
        """All arguments, with views of these numbers that cannot be written to, and the numbers by the views' ids."""
        views = list(map(read_only, numbers))
        args, remaining = list(self.args), iter(views)
        for i, parts in zip(self.positions, self.parts, strict=True):
            if parts.numbers:
                args[i] = parts.with_numbers([next(remaining) for _ in parts.numbers])
        return args, {id(view): x for view, x in zip(views, numbers, strict=True) if view is not x}

    def _called(self, rule: Callable[..., Any], *args: Any) -> Any:
        """What a rule returns."""
        try:
            return rule(*args)
        except ValueError as error:
            note_read_only(
                error,
                f"{self.rules.name}: {name_of(rule)} may not write to its arguments, to residuals, or to numbers that "
                "it closes over. Write to a copy, y = x.copy()",
            )
            raise

    def _pair(self, rule: Callable[..., Any], returned: Any, what: str) -> tuple[Any, Any]:
        """The pair that a rule returned; TypeError if it returned anything else."""
        if not (isinstance(returned, tuple) and len(returned) == 2):
            raise TypeError(
                f"{self.rules.name}: {name_of(rule)} must return a tuple ({what}), and it returned {returned!r:.80}"
            )
        first, second = returned
        return first, second


class Residuals:
    """Residuals, taken apart into `leaves`."""

    __slots__ = ("_structure", "leaves")

    def __init__(self, leaves: list[Any], structure: Any) -> None:
        self.leaves = leaves
        self._structure = structure

    def put_together(self) -> Any:
        """The residuals for one way back: in new lists and dicts, to which a rule may write."""
        return trees.unflatten(self._structure, self.leaves)


def _answers(value: Any, given: dict[int, Any]) -> trees.Parts:
    """The value, taken apart, in which an argument is the very one, `given` by its view."""
    answers = trees.Parts(value)
    if given:
        answers.numbers = [given.get(id(y), y) for y in answers.numbers]
    return answers


def _derivatives_in(tree: Any, parts: trees.Parts, rule: str, argument: str, of: str) -> list[Any]:
    """The derivatives that a rule returned; copies of arrays, as the rule may write to them later."""
    if tree is None:
        return [None] * len(parts.numbers)
    return [x.copy() if type(x) is ndarray else x for x in parts.derivatives_in(tree, rule, argument, of)]


def each_row(function: Linear, directions: list[Any]) -> list[Any]:
    """Call `function`, which is the user's, for each row of the stacks among the directions; stack the answers."""
    stacks: list[Any] = [x for x in directions if isinstance(x, Stack)]
    if not stacks:
        sets: list[Any] = [x for x in directions if type(x) is IndexSets]
        return of_sets(function, directions, newest(sets)) if sets else function(directions)
    last: Any = newest(stacks)
    rows = [
        each_row(function, [copied(x.rows[k] if last.has(x) else x) for x in directions])
        for k in range(shape_of(last.rows)[0])
    ]
    return [stacked(answers, last.tag) for answers in zip(*rows, strict=True)]


def of_sets(function: Linear, directions: list[Any], sets: Any) -> list[Any]:
    """Call `function`, which is the user's, with the index sets. If it asks for values, answers depend on all sets."""
    try:
        return function(directions)
    except TypeError:
        return sets.spread(list(filter(sets.has, directions)), function(list(map(sets.zeros_for, directions))))  # type: ignore[no-any-return]


def stacked(rows: Sequence[Any], tag: Tag) -> Any:
    """The stack of these rows; None stands for a row of zeros."""
    given = next((row for row in rows if row is not None), None)
    if given is None:
        return None
    zeros = np.zeros(shape_of(given), dtype_of(given))
    return Stack(np.stack([zeros if row is None else row for row in rows]), tag)


def copied(x: Any) -> Any:
    """A direction that nothing else sees, so that a rule may write to it. Of a stack the rows are copied one by one."""
    if type(x) is ndarray:
        return x.copy()
    is_other = isinstance(x, Number) or is_staged(x)
    return np.copy(x) if is_other and not isinstance(x, Stack) and type(in_memory(x)) is ndarray else x


def name_of(rule: Any) -> str:
    """The name of a function, for errors."""
    return getattr(rule, "__name__", type(rule).__name__)
