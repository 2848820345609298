"""Limited loops as Python source: the loop asks its ledger for a new stretch, and so does the way back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy import ndarray

from shiftreset_ad.staging.python.control import ControlSource, indented
from shiftreset_ad.staging.python.ledgers import Ledger, Plan, bytes_of_values, divided
from shiftreset_ad.staging.steps.blocks import Control, LimitedLoop, Rerun, Stretches


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
        frame = bytes_of_values([values[place] for place in writer.uses.slots.get(step.rounds, {})])
        state = bytes_of_values([values[place] for place in step.params])
        is_written = len(writer.in_place.passages) > 0
        written = [i for i, place in enumerate(step.params) if is_written and type(values[place]) is ndarray]
        return Plan(*divided(step.bytes, frame + 8, state + 8), tuple(written))

    def beginning(self, step: Any, frames: str, carried: list[str]) -> list[str]:
        if not isinstance(step, LimitedLoop):
            return super().beginning(step, frames, carried)
        return [f"if not {frames}.left: {frames}.begin_stretch({as_tuple(carried)})"]

    def appended(self, step: Any, frames: str, frame: str) -> list[str]:
        if isinstance(step, LimitedLoop):
            return [*super().appended(step, f"{frames}.frames", frame), f"{frames}.left -= 1"]
        if isinstance(step, Rerun):
            ledger = self._writer.variables[step.ledger]
            return [*super().appended(step, frames, frame), f"{ledger}.left -= 1"]
        return super().appended(step, frames, frame)

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
        yield f"while {ledger}.left or {ledger}.goes_on({frames}, {as_tuple(carried)}):"
        yield from indented(self.kept_round(step, step.blocks[1], carried, frames))


def as_tuple(names: list[str]) -> str:
    return f"({', '.join(names)}{',' * (len(names) == 1)})"
