"""Loops and branches as Python source: `while`, `for` and `if`, and the frames of rounds as lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.in_place import InPlace
from shiftreset_ad.staging.python.uses import Uses
from shiftreset_ad.staging.steps.blocks import Control, Fork, Gather, Loop, Rounds
from shiftreset_ad.staging.steps.functions import UncertainError
from shiftreset_ad.staging.steps.trace import Block, Step, Trace


class Writer(Protocol):
    """What writes the steps of a block, and knows the variables of the values."""

    left: Eliminated
    trace: Trace
    uses: Uses
    in_place: InPlace
    variables: dict[int, str]
    reserved: dict[int, str]
    questions: list[Step]
    functions: dict[Block, str]  # the names of functions, by their bodies
    depth: int  # how many functions are around this line

    def variable(self) -> str: ...
    def variable_of(self, place: int) -> str: ...
    def argument(self, x: Any) -> str: ...
    def constant(self, x: Any) -> str: ...
    def block(self, steps: list[Step], reactions_around: Any) -> list[str]: ...
    def expression(self, step: Step) -> tuple[str, bool]: ...
    def release(self, step: Step) -> None: ...


class ControlSource:
    """The lines of steps with blocks."""

    __slots__ = ("_writer",)

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def lines(self, step: Control) -> Iterator[str]:
        """The lines of a step; its answers get variables."""
        if isinstance(step, Fork):
            yield from self._fork(step)
            self._writer.release(step)
            return
        writer = self._writer
        carried = [writer.variable() for _ in step.params]
        args = list(map(writer.argument, step.args))
        for i in [i for i in range(len(args)) if writer.in_place.copies(step, i)]:
            args[i] = f"{writer.constant(np.copy)}({args[i]})"
        yield from assignment(carried, args)
        writer.variables.update(zip(step.params, carried, strict=True))
        yield from self.rounds(step, carried)
        for place, name in zip(step.answers, carried, strict=True):
            if place in writer.reserved:
                yield f"{writer.variable_of(place)} = {name}"
            else:
                writer.variables[place] = name
        writer.release(step)

    def rounds(self, step: Control, carried: list[str]) -> Iterator[str]:
        """The lines of a step with rounds, whose variables are those that are carried."""
        return self._loop(step, carried) if isinstance(step, Loop) else self._visit(step, carried)

    def frames(self, step: Any, carried: list[str]) -> str:
        """What keeps the frames of a loop."""
        return "[]"

    def beginning(self, step: Any, frames: str, carried: list[str]) -> list[str]:
        """The lines at the beginning of a round."""
        return []

    def appended(self, step: Any, frames: str, frame: str) -> list[str]:
        """The lines that keep the frame of a round."""
        return [f"{frames}.append({frame})"]

    def _loop(self, step: Any, carried: list[str]) -> Iterator[str]:
        writer, (test, body), rounds = self._writer, step.blocks, step.rounds
        frames = ""
        if rounds.place in writer.uses.count:
            frames = writer.variable_of(rounds.place)
            yield f"{frames} = {self.frames(step, carried)}"
        if len(test.steps) == 1 and self._is_condition(test.steps[0], step):
            yield f"while {writer.expression(test.steps[0])[0]}:"
        else:
            yield "while True:"
            yield from indented(
                [*writer.block(test.steps, step.errors), f"if not {writer.argument(step.goes_on)}: break"]
            )

        yield from indented(self.beginning(step, frames, carried))
        yield from indented(self.kept_round(step, body, carried, frames))

    def kept_round(self, step: Any, body: Block, carried: list[str], frames: str) -> list[str]:
        """The lines of a round of a loop, whose frame is kept if there are frames."""
        writer = self._writer

        def stored(slots: dict[int, int]) -> list[str]:
            kept = ["None"] * len(writer.uses.slots.get(step.rounds, {}))
            for place, index in slots.items():
                kept[index] = writer.variables[place]
            return self.appended(step, frames, f"[{', '.join(kept)}]") if frames else []

        return self._round(step, body, carried, stored)

    def _is_condition(self, step: Step, loop: Loop) -> bool:
        """Whether the only step of a test may be the condition of the `while`."""
        acts = isinstance(step, Control) or step.is_question or step.writes or step.open_ended
        is_alone = self._writer.uses.count[step.place] == 1 and [step.place] == [
            *self._writer.left.places_in(loop.goes_on)
        ]
        return not acts and step.errors == loop.errors and is_alone

    def _visit(self, step: Any, carried: list[str]) -> Iterator[str]:
        writer, (body,), rounds = self._writer, step.blocks, step.rounds
        frame, frames = writer.variable(), writer.variables[rounds.place]
        yield f"for {frame} in {f'reversed({frames})' if step.is_reversed else frames}:"
        lines, outer = loaded(writer, body, rounds, frame)

        def stored(slots: dict[int, int]) -> list[str]:
            return [f"{frame}[{index}] = {writer.variables[place]}" for place, index in slots.items()]

        yield from indented([*lines, *self._round(step, body, carried, stored)])
        writer.variables.update(outer)

    def _round(
        self, step: Any, body: Block, carried: list[str], stored: Callable[[dict[int, int]], list[str]]
    ) -> list[str]:
        """The lines of one round: those of its steps, those that keep values in its frame, and the next values."""
        lines = kept_in_frame(self._writer, body, step.rounds, step.errors, stored)
        lines += assignment(carried, list(map(self._writer.argument, step.results[-1])))
        return lines or ["pass"]

    def _fork(self, step: Fork) -> Iterator[str]:
        writer = self._writer
        answers = [writer.variable_of(place) for place in step.answers]
        for head, block, results in zip(
            (f"if {writer.argument(step.predicate)}:", "else:"), step.blocks, step.results, strict=True
        ):
            lines = writer.block(block.steps, step.errors)
            lines += assignment(answers, list(map(writer.argument, results)))
            if lines or head != "else:":
                yield head
                yield from indented(lines or ["pass"])


def loaded(writer: Writer, body: Block, rounds: Rounds, frame: str) -> tuple[list[str], dict[int, str]]:
    """The lines that load what a visit needs of its frame; and the variables that these values have outside."""
    places = writer.uses.loads.get(body.origin, [])
    outer = {place: writer.variables[place] for place in places if place in writer.variables}
    lines = []
    for place in places:
        writer.variables[place] = writer.variable()
        lines.append(f"{writer.variables[place]} = {frame}[{writer.uses.slots[rounds][place]}]")
    return lines, outer


def kept_in_frame(
    writer: Writer, body: Block, rounds: Rounds, errors: Any, stored: Callable[[dict[int, int]], list[str]]
) -> list[str]:
    """The lines of the steps of a round, and those that keep values in its frame."""
    slots = writer.uses.stored(body, rounds)
    lines = []
    for place in filter(writer.uses.is_of_branch, slots):
        writer.reserved[place] = writer.variable()
        lines.append(f"{writer.reserved[place]} = None")
    return [*lines, *writer.block(body.steps, errors), *stored(slots)]


def gathering(writer: Writer, step: Gather) -> str:
    """The expression for the array of a value of each round."""
    frames, slots = writer.variables[step.rounds.place], writer.uses.slots.get(step.rounds, {})
    places = [f"v[{slots[place]}]" for place in writer.left.places_in(step.value) if place in slots]
    return f"{writer.constant(np.stack)}([{places[0] if places else writer.argument(step.value)} for v in {frames}])"


def certain(answers: list[Any]) -> list[Any]:
    """The answers. Raises UncertainError if one is NaN; then the function itself runs.

    Control carries zeros where the function itself has no derivative at all: of a value that only another branch uses,
    for example. So does a choice between numbers, such as `maximum`. Zero times an infinite derivative is NaN.
    """
    if any(map(has_nan, answers)):
        raise UncertainError("an answer is NaN")
    return answers


def has_nan(x: Any) -> bool:
    """Whether NaN is among the elements of an answer."""
    if type(x) is ndarray:
        return x.dtype.kind in "fc" and bool(np.isnan(x).any())
    return isinstance(x, float | complex | np.inexact) and x != x


def assignment(names: list[str], values: list[str]) -> list[str]:
    """The line that gives values to variables, all at once."""
    pairs = [(name, value) for name, value in zip(names, values, strict=True) if name != value]
    if not pairs:
        return []
    return [" = ".join([", ".join(part) for part in zip(*pairs, strict=True)])]


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
