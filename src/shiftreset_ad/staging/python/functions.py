"""Functions that call themselves, as Python source: a `def` in front of the first call, and frames as lists.

A function gets the frame of its activation as its first argument, if a later visit needs values of it. If a question in
a function has another answer than before, the function raises `OtherAnswerError`.
"""

from __future__ import annotations

from collections.abc import Iterator

from shiftreset_ad.staging.python.control import Writer, indented, kept_in_frame, loaded
from shiftreset_ad.staging.steps.blocks import Call


class OtherAnswerError(Exception):
    """The question with this number has another answer than before."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class FunctionSource:
    """The lines of calls."""

    __slots__ = ("_writer",)

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def lines(self, step: Call) -> Iterator[str]:
        """The lines of a call; its answers get variables."""
        writer = self._writer
        if not step.blocks:
            yield from self._call(step)
            return
        known, writer.depth = len(writer.questions), writer.depth + 1
        yield from self._function(step)
        writer.depth -= 1
        if writer.depth or len(writer.questions) == known:
            yield from self._call(step)
            return
        yield "try:"
        yield from indented(list(self._call(step)))
        yield "except OtherAnswerError as other:"
        yield "    return other.number"

    def _function(self, step: Call) -> Iterator[str]:
        """The function of a first call."""
        writer, (body,) = self._writer, step.blocks
        name = writer.functions[step.body] = f"f{len(writer.functions)}"
        frame = writer.variable() if self._has_frames(step) else ""
        params = [writer.variable() for _ in step.params]
        writer.variables.update(zip(step.params, params, strict=True))
        yield f"def {name}({', '.join([frame, *params] if frame else params)}):"
        loads, outer = loaded(writer, body, step.activations, frame)
        lines = kept_in_frame(
            writer,
            body,
            step.activations,
            step.errors,
            lambda slots: [f"{frame}[{index}] = {writer.variables[place]}" for place, index in slots.items()],
        )
        results = list(map(writer.argument, step.results[-1]))
        yield from indented([*loads, *lines, f"return {', '.join(results)}"])
        writer.variables.update(outer)

    def _call(self, step: Call) -> Iterator[str]:
        writer = self._writer
        args = list(map(writer.argument, step.args))
        if self._has_frames(step):
            new = f"[None] * {len(writer.uses.slots.get(step.activations, {}))}"
            if step.is_new and step.frame in writer.uses.count:
                name = writer.variable_of(step.frame)
                yield f"{name} = {new}"
                args.insert(0, name)
            else:
                args.insert(0, new if step.is_new else writer.variables[step.frame])
        answers = [writer.variable_of(place) for place in step.answers]
        call = f"{writer.functions[step.body]}({', '.join(args)})"
        yield f"{', '.join(answers)} = {call}" if answers else call
        writer.release(step)

    def _has_frames(self, step: Call) -> bool:
        """Whether the activations of the function have frames."""
        return step.activations.place in self._writer.uses.count
