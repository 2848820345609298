"""Limited loops as Python source: the loop asks its ledger for a new stretch, and so does the way back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy import ndarray

from shiftreset_ad.staging.python.control import ControlSource, indented
from shiftreset_ad.staging.python.ledgers import Layout, Ledger, Plan, bytes_of_values, divided, weight
from shiftreset_ad.staging.steps.blocks import Control, LimitedLoop, Loop, Rerun, Stretches, all_steps
from shiftreset_ad.staging.steps.trace import UnstageableError


class LimitedSource(ControlSource):
    """The lines of steps with blocks, limited loops among them."""

    __slots__ = ()

    def rounds(self, step: Control, carried: list[str]) -> Iterator[str]:
        if isinstance(step, Stretches):
            return self._stretches(step, carried)
        return self._rerun(step, carried) if isinstance(step, Rerun) else super().rounds(step, carried)

    def frames(self, step: Any, carried: list[str]) -> str:
        if not isinstance(step, LimitedLoop):
            return super().frames(step, carried)
        writer = self._writer
        arguments = [writer.constant(self._plan(step)), as_tuple(carried)]
        if step.counts is not None:
            first, end = step.counts
            arguments.append(f"{writer.argument(end)} - {carried[step.params.index(first)]}")
        return f"{writer.constant(Ledger)}({', '.join(arguments)})"

    def _plan(self, step: LimitedLoop) -> Plan:
        writer, values = self._writer, self._writer.trace.values
        frame = 1 if step.inside else self._layout(step).bytes
        state = bytes_of_values([values[place] for place in step.params])
        is_written = len(writer.in_place.passages) > 0
        written = [i for i, place in enumerate(step.params) if is_written and type(values[place]) is ndarray]
        return Plan(*divided(step.bytes, frame, state), tuple(written))

    def _layout(self, loop: Loop) -> Layout:
        """The layout of the frames of a loop."""
        values, slots = self._writer.trace.values, self._writer.uses.slots.get(loop.rounds, {})
        inner = {step.rounds.place: step for step in all_steps(loop.blocks[1].steps) if isinstance(step, Loop)}
        inside = {index: self._layout(inner[place]) for place, index in slots.items() if place in inner}
        return Layout(bytes_of_values([values[place] for place in slots]), inside)

    def beginning(self, step: Any, frames: str, carried: list[str]) -> list[str]:
        if not isinstance(step, LimitedLoop):
            return super().beginning(step, frames, carried)
        return [f"if {frames}.left <= 0: {frames}.begin_stretch({as_tuple(carried)})"]

    def appended(self, step: Any, frames: str, frame: str) -> list[str]:
        if isinstance(step, Rerun):
            ledger, is_inside = self._writer.variables[step.ledger], step.loop.inside
        elif isinstance(step, LimitedLoop):
            ledger, frames, is_inside = frames, f"{frames}.frames", step.inside
        else:
            return super().appended(step, frames, frame)
        length = "1"
        if is_inside:
            writer = self._writer
            if isinstance(step, Rerun) and self._layout(step) != self._layout(step.loop):
                raise UnstageableError("a loop keeps other frames when its rounds are carried out again")
            length = f"{writer.constant(weight)}({frames}[-1:], {writer.constant(self._layout(step))})"
        return [*super().appended(step, frames, frame), f"{ledger}.left -= {length}"]

    def _stretches(self, step: Stretches, carried: list[str]) -> Iterator[str]:
        writer = self._writer
        state = writer.variable()
        yield f"while ({state} := {writer.variables[step.ledger]}.back()) is not None:"
        names = carried[: len(step.loop.params)]
        lines = [f"{', '.join(names)}, = {state}"] if names else []
        yield from indented([*lines, *self._round(step, step.blocks[0], carried, lambda slots: [])])

    def _rerun(self, step: Rerun, carried: list[str]) -> Iterator[str]:
        writer = self._writer
        ledger, frames = writer.variables[step.ledger], writer.variable_of(step.rounds.place)
        yield f"{frames} = []"
        yield f"while {ledger}.left > 0 or {ledger}.goes_on({frames}, {as_tuple(carried)}):"
        yield from indented(self.kept_round(step, step.blocks[1], carried, frames))


def as_tuple(names: list[str]) -> str:
    return f"({', '.join(names)}{',' * (len(names) == 1)})"
