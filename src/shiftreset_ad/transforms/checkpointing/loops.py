"""A loop of any number of steps: reverse mode stores a given number of its states, by the binomial schedule.

Griewank and Walther, Algorithm 799: revolve, ACM TOMS 26(1), 2000. The loop is one operation. The way there stores the
states that the schedule names. The way back takes one step at a time, each from its own state, which is computed again
from a stored state. For an outer derivative, these computations are loops and checkpoints themselves.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import optree

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.checks import named
from shiftreset_ad.boundary.closed_over import Environment
from shiftreset_ad.boundary.contents import ReadContents
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.control import ControlError
from shiftreset_ad.modes.reverse.adjoints import accumulate
from shiftreset_ad.modes.reverse.number import NumR, ReverseTag
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.numbers.plain_arrays import note_read_only
from shiftreset_ad.numbers.tags import Tag, seeing
from shiftreset_ad.rules.annotations import X
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.transforms.checkpointing.calls import (
    NOT_TO_BE_WRITTEN,
    Lent,
    adjoint,
    agree,
    below,
    levels,
    newest_of,
    not_deterministic,
    pull,
    recorded,
    require_known_levels,
    to_run_again,
    unrecorded,
    watch_of,
)
from shiftreset_ad.transforms.checkpointing.checkpoint import Operands, checkpointed
from shiftreset_ad.transforms.checkpointing.revolve import Action, Advance, Free, Restore, Reverse, Take, schedule


@trimming
def checkpointed_loop(step: Callable[[int, X], X], state: X, n: int, snapshots: int) -> X:
    """The state after `n` steps, `state = step(k, state)` for k = 0 ... n - 1, with at most `snapshots` states stored.

    The state may be any structure. Every step keeps the structure, and the shapes and dtypes of the numbers in it.
    Numbers that `step` closes over get their derivatives too. `step` must be deterministic, and must not write to the
    state or to arrays that it closes over. The state at the start is one of the snapshots. Let s be the number of
    snapshots, and r the least number such that (s + r)! / (s! r!) >= n. Reverse mode runs
    r n - (s + r)! / ((s + 1)! (r - 1)!) steps, which is the least possible number, one more step to the final state,
    and the n steps that it goes back through. An outer derivative stores a few states for each step.

    Raises TypeError if a step returns another structure, shape or dtype than the state has, ValueError for n < 0 or
    snapshots < 1, ControlError if `step` assigns by `nonlocal`, and the errors of `checkpoint`. Griewank and Walther
    2000.

    >>> from shiftreset_ad import grad
    >>> grad(lambda x: checkpointed_loop(lambda k, y: x * y, 1.0, 10, snapshots=3))(1.0)
    10.0
    """
    name = named("checkpointed_loop", step)
    n, snapshots = _count(name, "n", n, 0), _count(name, "snapshots", snapshots, 1)
    if n == 0:
        return state
    loop = CheckpointedLoop(name, step, state, snapshots)
    carry_out = partial(looped, loop, 0, n, loop.leaves, stored=True)
    if type(newest_of(loop.leaves)) is NumR:
        loop.watch()
        final = [np.copy(x) if type(x) is np.ndarray else x for x in carry_out()]  # an array may be of a stored state
    else:
        final = seeing(levels(loop.leaves), carry_out)
        require_known_levels(name, final, loop.leaves)
    return trees.unflatten(loop.structure, final)  # type: ignore[no-any-return]


def _count(name: str, argument: str, given: Any, least: int) -> int:
    try:
        count = operators.index(given)
    except TypeError:
        raise TypeError(f"{name}: {argument} must be an integer, and is {given!r:.60}") from None
    if count < least:
        raise ValueError(f"{name}: {argument} must be at least {least}, and is {count}")
    return count


class CheckpointedLoop:
    """The steps of a loop, as functions of `leaves`: those of the state, then those that `step` closes over."""

    __slots__ = ("_environment", "_kinds", "_watch", "leaves", "operator", "size", "snapshots", "structure")

    def __init__(self, operator: str, step: Callable[[int, Any], Any], state: Any, snapshots: int) -> None:
        self.operator = operator
        self.snapshots = snapshots
        self._environment = Environment({"step": step})
        leaves, self.structure = trees.flatten(state)
        self._kinds = [_kind(leaf) for leaf in leaves]
        self.size = len(leaves)
        self.leaves = leaves + self._environment.leaves
        self._watch: ReadContents | None = None

    def watch(self) -> None:
        """See to it that the program does not change what `step` reads elsewhere: it will run again."""
        self._watch = watch_of(self.operator, self._environment)

    @property
    def numbers(self) -> set[int]:
        """The places of the numbers in the state."""
        return {i for i, kind in enumerate(self._kinds) if kind is not None}

    def run(self, start: int, stop: int, leaves: Sequence[Any]) -> list[Any]:
        """The leaves of the state after the steps from `start` to `stop`."""
        lent = Lent(leaves)
        instance = self._environment.with_leaves(lent.leaves[self.size :])
        (step,) = instance.roots
        state = lent.leaves[: self.size]

        def steps(state: list[Any]) -> list[Any]:
            for k in range(start, stop):
                state = self._checked(k, step(k, trees.unflatten(self.structure, state)))
            return state

        try:
            state = steps(state) if self._watch is None else self._watch.run(steps, state)
        except ValueError as error:
            note_read_only(error, f"{self.operator}: {NOT_TO_BE_WRITTEN}")
            raise
        if updates := instance.checked_updates(self.operator):
            raise ControlError(
                f"{self.operator}: step assigns to {instance.names_of(updates)} by nonlocal, and step may be run again "
                "from any state; make it a part of the state"
            )
        return list(map(lent.given, state))

    def _checked(self, k: int, state: Any) -> list[Any]:
        leaves, structure = trees.flatten(state)
        if structure != self.structure:
            raise TypeError(
                f"{self.operator}: step({k}, state) must return the structure of the state, {self.structure}, "
                f"and returned {structure}"
            )
        for place, (leaf, kind) in enumerate(zip(leaves, self._kinds, strict=True)):
            if _kind(leaf) != kind:
                part = optree.tree_accessors(state, namespace=trees.NAMESPACE)[place].codify("state")
                raise TypeError(
                    f"{self.operator}: step({k}, state) must return numbers of the shape and dtype of those in the "
                    f"state, and {part} was {_described(kind)} and becomes {_described(_kind(leaf))}"
                )
        return leaves


def _kind(leaf: Any) -> tuple[Any, Any] | None:
    """The shape and dtype of a number in the state, which every step keeps; None for any other leaf."""
    return (shape_of(leaf), dtype_of(leaf)) if trees.is_number(leaf) else None


def _described(kind: tuple[Any, Any] | None) -> str:
    return "not a floating-point number" if kind is None else f"{kind[1]} of shape {kind[0]}"


def looped(
    loop: CheckpointedLoop,
    start: int,
    stop: int,
    leaves: Sequence[Any],
    lifted: Collection[int] = (),
    stored: bool = False,
) -> list[Any]:
    """The leaves of the state after the steps from `start` to `stop`, as one operation at each level of the numbers.

    `lifted` is as in `checkpointed`. `stored`: store states on the way there, for the first way back.
    """
    number = newest_of(leaves)
    if type(number) is not NumR:
        steps = partial(loop.run, start, stop)
        return unrecorded(loop.operator, steps, leaves, lifted) if lifted else steps(leaves)
    operands = Operands(number.tag, leaves)
    # Every step gets a new state. But on the way there, the arrays that it closes over are not copied.
    inner = operands.below()[: loop.size] + below(leaves[loop.size :], number.tag)
    active = loop.numbers.union(operands.places)
    first_sweep: list[Reversal] = []
    if stored and type(newest_of(inner)) is not NumR:
        sweep = Reversal(loop, start, stop, inner, active)
        final = sweep.state_after()
        first_sweep.append(sweep)
    else:
        final = looped(loop, start, stop, inner, active.union(lifted))
    places = [i for i, leaf in enumerate(final) if trees.is_number(leaf)]

    def pullback(inputs: list[Any], y_bars: list[Any], first: list[Any]) -> list[Any]:
        def pulled_back(leaves: list[Any]) -> list[Any]:
            reversal = first_sweep.pop() if first_sweep else Reversal(loop, start, stop, leaves[: len(inputs)], active)
            all_y_bars: list[Any] = [None] * loop.size
            for i, y_bar in zip(places, leaves[len(inputs) :], strict=True):
                all_y_bars[i] = y_bar
            x_bars = reversal.back(leaves[loop.size : len(inputs)], all_y_bars, first)
            return [x_bars.get(i) for i in operands.places]

        return checkpointed(loop.operator, pulled_back, [*inputs, *y_bars])  # type: ignore[no-any-return]

    ys = operands.operation(loop.operator, [final[i] for i in places], pullback)
    for i, y in zip(places, ys, strict=True):
        final[i] = y
    return final


class Reversal:
    """A schedule that is carried out: the stored states, the working state, and the place it has come to."""

    __slots__ = (
        "_actions",
        "_active",
        "_environment",
        "_loop",
        "_start",
        "_state",
        "_step",
        "_stop",
        "_stored",
        "_totals",
    )

    def __init__(
        self, loop: CheckpointedLoop, start: int, stop: int, leaves: Sequence[Any], active: Collection[int]
    ) -> None:
        self._loop = loop
        self._start, self._stop = start, stop
        self._state: Sequence[Any] = leaves[: loop.size]
        self._environment = list(leaves[loop.size :])
        self._active = sorted(active)
        self._actions: Iterator[Action] = schedule(stop - start, loop.snapshots)
        self._stored: list[Sequence[Any]] = []
        self._step: int | None = None  # the next step to go back through, if it has been reached
        self._totals: dict[int, NumR] = {}  # the adjoints of what `step` closes over

    def state_after(self) -> list[Any]:
        """The state after the last step. The schedule is carried out up to this step, and waits there for `back`."""
        self._step = self._next_step()
        return self._advanced(self._stop - 1, self._stop)

    def back(self, environment: list[Any], y_bars: list[Any], first: list[Any]) -> dict[int, Any]:
        """The cotangents of the leaves, from those of the final state, whose plain values are `first`; None for zero.

        `environment`: the leaves that `step` closes over, with arrays as they were on the way there.
        """
        self._environment = environment
        step = self._next_step() if self._step is None else self._step
        check: list[Any] | None = first
        while step is not None:
            y_bars = self._through(step, y_bars, check)
            step, check = self._next_step(), None
        return dict(enumerate(y_bars)) | {i: adjoint(x) for i, x in self._totals.items()}

    def _next_step(self) -> int | None:
        """Carry the schedule out up to the next step to go back through."""
        for action in self._actions:
            match action:
                case Take():
                    self._stored.append(self._state)
                case Restore():
                    self._state = to_run_again(self._stored[-1])
                case Advance(start, stop):
                    self._state = self._advanced(self._start + start, self._start + stop)
                case Free():
                    self._stored.pop()
                case Reverse(step):
                    return self._start + step
        return None

    def _advanced(self, start: int, stop: int) -> list[Any]:
        return looped(self._loop, start, stop, [*self._state, *self._environment], self._active)

    def _through(self, step: int, y_bars: list[Any], first: list[Any] | None) -> list[Any]:
        """Go back through one step; return the cotangents of the state before it."""
        size, leaves = self._loop.size, [*self._state, *self._environment]

        def through(inputs: list[Any], totals: dict[int, NumR]) -> dict[int, NumR]:
            tag = ReverseTag()
            xs = {i: continued(totals.get(i), inputs[i], tag) for i in self._active}
            run = partial(self._loop.run, step, step + 1)
            state, pending = recorded(self._loop.operator, run, inputs[: len(leaves)], xs, tag)
            if first is not None and not agree(first, [y for y in state if trees.is_number(y)]):
                raise not_deterministic(self._loop.operator)
            pull(pending, state, inputs[len(leaves) :], tag)
            return xs

        if type(newest_of([*leaves, *y_bars])) is not NumR:
            xs = through([*leaves, *y_bars], self._totals)
            self._totals = {i: x for i, x in xs.items() if i >= size}
            return [adjoint(xs[i]) if i in xs else None for i in range(size)]

        def adjoints(inputs: list[Any]) -> list[Any]:
            return [adjoint(x) for x in through(inputs, {}).values()]

        x_bars = dict(zip(self._active, checkpointed(self._loop.operator, adjoints, [*leaves, *y_bars]), strict=True))
        for i in self._active:
            if i >= size and x_bars[i] is not None:
                total = self._totals.setdefault(i, NumR(leaves[i], ZERO, ReverseTag()))
                accumulate(total, x_bars[i])
        return [x_bars.get(i) for i in range(size)]


def continued(total: NumR | None, primal: Any, tag: Tag) -> NumR:
    """A number that goes on with the adjoint of `total`, so that contributions to parts of an array add up in place."""
    x = NumR(primal, ZERO, tag)
    if total is not None and total.adjoint is not ZERO:
        x.adjoint = total.adjoint
        x.owns = getattr(total, "owns", False)
    return x
