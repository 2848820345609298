"""A call of a function, taken apart so that `checkpoint` and `fuse` can run it again, as one operation.

Its inputs are the leaves of the arguments and of the variables that the function closes over. Its outputs are the
value, and the values that it gave to `nonlocal` variables. Numbers that are being differentiated may be nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.checks import named, require_all_usable, without_level
from shiftreset_ad.boundary.closed_over import Environment, Instance
from shiftreset_ad.boundary.contents import ReadContents
from shiftreset_ad.boundary.derived import Decorated
from shiftreset_ad.boundary.reach import Reach
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.control import ControlError, Operation, run
from shiftreset_ad.modes.reverse.adjoints import accumulate, finished, settle
from shiftreset_ad.modes.reverse.backpropagation import backward
from shiftreset_ad.modes.reverse.borders import going_back
from shiftreset_ad.modes.reverse.collector import with_relaxed_collector
from shiftreset_ad.modes.reverse.memory import waiting
from shiftreset_ad.modes.reverse.number import NumR, ReverseTag
from shiftreset_ad.numbers.memory import protect
from shiftreset_ad.numbers.number import ZERO, Number, levels_of, newest, one_level_below, plain_value
from shiftreset_ad.numbers.plain_arrays import note_read_only, read_only
from shiftreset_ad.numbers.tags import EscapedNumberError, Tag, seeing
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.stand_ins import is_staged
from shiftreset_ad.transforms.custom.transposition import NoValue


class RepeatableCall:
    """A call of `f`; `leaves` are the leaves of its arguments and of what it closes over."""

    __slots__ = ("_args", "_environment", "_kwargs", "_watch", "leaves", "operator")

    def __init__(self, operator: str, f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.operator = operator
        self._args = len(args)
        self._kwargs = tuple(kwargs)
        named = {f"argument {i}": arg for i, arg in enumerate(args)} | {f"argument {k!r}": a for k, a in kwargs.items()}
        self._environment = Environment({"the function": f, **named})
        self.leaves = self._environment.leaves
        self._watch: ReadContents | None = None

    def with_leaves(self, leaves: Sequence[Any]) -> tuple[Callable[[], Any], Instance]:
        """The call with other leaves, ready to be made, and its environment."""
        instance = self._environment.with_leaves(leaves)
        f, *rest = instance.roots
        return partial(f, *rest[: self._args], **dict(zip(self._kwargs, rest[self._args :], strict=True))), instance

    def __call__(self, leaves: Sequence[Any]) -> tuple[Any, dict[int, Any]]:
        """The value of the call with these leaves, and the new values of the variables that it assigned to."""
        if self._watch is None:
            self._watch = watch_of(self.operator, self._environment)
        call, instance = self.with_leaves(leaves)
        value = self._watch.run(call)
        return value, instance.checked_updates(self.operator)

    def again(self, leaves: Sequence[Any]) -> tuple[Any, dict[int, Any]]:
        """The same, but the function cannot write to plain arrays in the leaves: a later run gets them, too."""
        lent = Lent(leaves)
        try:
            result = self(lent.leaves)
        except ValueError as error:
            note_read_only(error, f"{self.operator}: {NOT_TO_BE_WRITTEN}")
            raise
        return trees.map_leaves(lent.given, result) if lent.has_arrays else result

    def assign(self, updates: dict[int, Any]) -> None:
        """Give the variables of the original functions the values that the call gave to its own variables."""
        if updates:
            self._environment.with_leaves(self.leaves).assign(updates)


def watch_of(operator: str, environment: Environment) -> ReadContents:
    """A watch over all that the functions in an environment read and do not hold."""
    return ReadContents(
        Reach.of(environment).contents(),
        f"{operator}: the function is run again on the way back, and it reads",
        "meanwhile. Make it an argument, or let the function close over it",
    )


AN_ARGUMENT = "is an argument of a function that may be run again, or a variable that it closes over"
NOT_TO_BE_WRITTEN = (
    "the function may be run again, and so it may not write to its arguments or to arrays that it closes over. Write "
    "to a copy, y = x.copy(), or make the array inside of the function"
)


class Lent:
    """`leaves` in which plain arrays cannot be written to, for a function that may be run again."""

    __slots__ = ("_given", "leaves")

    def __init__(self, leaves: Sequence[Any]) -> None:
        self.leaves = list(map(read_only, leaves))
        self._given = {id(view): x for view, x in zip(self.leaves, leaves, strict=True) if view is not x}

    @property
    def has_arrays(self) -> bool:
        """Whether there are such arrays among the leaves."""
        return bool(self._given)

    def given(self, leaf: Any) -> Any:
        """The array that was given, for one of `leaves`; anything else as it is."""
        return self._given.get(id(leaf), leaf)


def as_operation(
    operator: str, f: Callable[..., Any], carry_out: Callable[[str, RepeatableCall], Any]
) -> Callable[..., Any]:
    """`f` as one operation of reverse mode, by `carry_out(name, call)`. Other modes call `f` as it is."""
    return Decorated(_one_operation, named(operator, f), f, carry_out)


@trimming
def _one_operation(
    name: str, f: Callable[..., Any], carry_out: Callable[[str, RepeatableCall], Any], /, *args: Any, **kwargs: Any
) -> Any:
    call = RepeatableCall(name, f, args, kwargs)
    if type(newest_of(call.leaves)) is NumR:
        return carry_out(name, call)
    result = seeing(levels(call.leaves), partial(f, *args, **kwargs))
    require_known_levels(name, trees.flatten(result)[0], call.leaves)
    return result


def newest_of(leaves: Sequence[Any]) -> Number | None:
    """The number that a call with these leaves belongs to, as one operation."""
    numbers = [leaf for leaf in leaves if isinstance(leaf, Number)]
    return newest(numbers) if numbers else None


def below(leaves: Sequence[Any], tag: Tag) -> list[Any]:
    """The leaves with the numbers of this tag replaced by their primals."""
    return [one_level_below(leaf, tag) for leaf in leaves]


def to_run_again(leaves: Sequence[Any]) -> list[Any]:
    """The leaves for a run on the way back: what it computes from staged values is not taken from the first run."""
    return [leaf.again() if is_staged(leaf) else leaf for leaf in leaves]


def levels(leaves: Sequence[Any]) -> set[Tag]:
    """The tags of all levels of the numbers among these leaves."""
    return {number.tag for leaf in leaves for number in levels_of(leaf)}


def require_known_levels(operator: str, answers: Sequence[Any], leaves: Sequence[Any]) -> None:
    """Raise ControlError if an answer belongs to a level that none of these leaves has."""
    known = levels(leaves)
    for tag in levels(answers) - known:
        tag.require_open()  # after its derivative, it raises the error of any operation on it
        raise ControlError(
            f"{operator}: the result depends on a number that is being differentiated and was found neither in the "
            "arguments nor in what the function closes over: it is in a global, for example, or in an attribute of an "
            "object. Pass it as an argument. A pullback of vjp and a linear map of linearize hold such numbers too: "
            "make them inside the function"
        )


def unrecorded(
    operator: str, region: Callable[[list[Any]], Any], leaves: Sequence[Any], lifted: Collection[int]
) -> Any:
    """The value of `region` on numbers whose operations are not kept: such numbers replace the `lifted` leaves.

    They are numbers, not plain values, so that the function sees the same in every run. A number that the function puts
    elsewhere cannot be used later: its derivative would be lost.
    """
    tag = ReverseTag()
    tag.closed = tag.capture = partial(_refuse_left_behind, operator)
    inputs = [NumR(leaf, ZERO, tag) if i in lifted else leaf for i, leaf in enumerate(leaves)]
    tag.visible = levels(leaves)
    for i in lifted:
        protect(tag, leaves[i], AN_ARGUMENT)
    result = without_level(run(tag, partial(trees.returned, partial(region, inputs)), _forget), tag)
    tag.protected.clear()
    require_known_levels(operator, trees.flatten(result)[0], leaves)
    return result


def _forget(operation: Operation) -> None:
    """Keep nothing."""


def _refuse_left_behind(operator: str, source: Any, message: Any) -> NoReturn:
    raise EscapedNumberError(
        f"{operator}: a number that was computed inside the function is used outside of it, where its derivative would "
        "be lost. Return it from the function, or keep its plain value with shiftreset_ad.value(x)"
    )


def recorded(
    operator: str, region: Callable[[list[Any]], Any], leaves: Sequence[Any], xs: dict[int, NumR], tag: Tag
) -> tuple[Any, list[Operation]]:
    """The value of `region` with the numbers `xs`, all of this new tag, at their places; and its operations."""
    inputs = [xs.get(i, leaf) for i, leaf in enumerate(leaves)]
    tag.visible = levels(leaves)
    for x in xs.values():
        protect(tag, x, AN_ARGUMENT)
    pending: list[Operation] = []
    program = partial(trees.returned, partial(region, inputs))
    result = with_relaxed_collector(lambda: run(tag, program, pending.append))
    tag.protected.clear()
    require_all_usable(operator, trees.flatten(result)[0], tag)
    return result, pending


def pull(pending: list[Operation], answers: Sequence[Any], y_bars: Sequence[Any], tag: Tag) -> None:
    """Go back through the operations, and use them up, from the cotangents of the answers; None stands for zero."""
    for y, y_bar in zip(answers, y_bars, strict=True):
        if y_bar is not None and type(y) is NumR and y.tag is tag:
            accumulate(waiting(y), y_bar)
    # Rules on the way back see only these levels, too.
    going_back(tag, pending, partial(seeing, tag.visible or (), backward, pending))


def adjoint(x: NumR) -> Any:
    """The adjoint of an input; None if nothing that counts has used the input. None is not the same as zero."""
    return None if settle(x) is ZERO else finished(x)


def outlined(result: Any) -> tuple[Any, list[Any]]:
    """All that a second run must have in common with the first run, apart from the values."""
    leaves, spec = trees.flatten(result)
    return spec, [_outlined(leaf) for leaf in leaves]


def _outlined(leaf: Any) -> Any:
    if is_staged(leaf):
        return shape_of(leaf), dtype_of(leaf)
    if trees.is_number(leaf) or isinstance(leaf, np.ndarray | np.generic):
        return shape_of(leaf), dtype_of(leaf)
    return leaf if isinstance(leaf, int | str | bytes) else type(leaf)


def agree(first: Sequence[Any], again: Sequence[Any]) -> bool:
    """Whether two runs gave the same values, up to rounding: the second run may add up in another order.

    Of staged values this is not asked: staging has its own comparison, and the answer would be one for each call.
    """
    return all(map(_close, first, map(plain_value, again)))


def _close(a: Any, b: Any) -> bool:
    if type(a) is NoValue or is_staged(a) or is_staged(b):
        return True
    tolerance = float(np.sqrt(np.finfo(dtype_of(a)).eps))
    size = np.max(np.abs(a), initial=0.0, where=np.isfinite(a))
    return bool(np.allclose(b, a, rtol=tolerance, atol=tolerance * float(size), equal_nan=True))


def not_deterministic(operator: str) -> ControlError:
    """The error for a function that gave two values."""
    return ControlError(
        f"{operator}: the function was run again on the way back, and returned another value than at first. It must be "
        "deterministic, and must not depend on what changes meanwhile; draw random numbers outside of it, and pass "
        "them as arguments"
    )
