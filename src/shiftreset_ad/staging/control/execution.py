"""Execution carries out recorded steps on plain values while the function is still being recorded.

The function goes on behind a loop with the answers of the loop, and may ask for them. A round has a frame with its
values. The frames of the rounds are kept, as a later visit of the rounds needs values of theirs.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np

from shiftreset_ad.numbers.floating_errors import without_warnings
from shiftreset_ad.rules.carried_zeros import carried
from shiftreset_ad.staging.control.persistent import LAZILY, answered, answered_lazily, has_lazy, plain
from shiftreset_ad.staging.control.repeated import AT_FIRST, Run, function_of
from shiftreset_ad.staging.python.expressions import is_same
from shiftreset_ad.staging.python.idle import like
from shiftreset_ad.staging.steps.blocks import Call, Control, Fork, Gather, Loop
from shiftreset_ad.staging.steps.functions import (
    NoRoomError,
    UncertainError,
    comparable,
    name_in_program,
    place_in,
    place_of_key,
)
from shiftreset_ad.staging.steps.trace import Block, Step, Trace, UnstageableError
from shiftreset_ad.staging.steps.unwatched import IS_CHEAP, Pause
from shiftreset_ad.staging.steps.values import Staged

IN_WORDS: dict[Any, str] = {comparable: "sorted", place_of_key: "an item of a dict", place_in: "an item of a list"}
FRAMES_OF_A_CALL = 8  # of Python's, at most, that carry out a call inside, in a branch of a branch
LONGEST_RUN = 10_000_000  # steps that a loop may take while it is recorded


class RoundFrame:
    """The values of a round, and those `around` it."""

    __slots__ = ("around", "values")

    def __init__(self, values: dict[int, Any], around: Any) -> None:
        self.values = values
        self.around = around

    def __getitem__(self, place: int) -> Any:
        values = self.values
        return values[place] if place in values else self.around[place]

    def __setitem__(self, place: int, value: Any) -> None:
        self.values[place] = value


class Execution:
    """Steps of a trace, carried out on plain values. The watch pauses: at once where that is cheap, or in repetitions.

    Control in a block is carried out on values with which the program may never reach it. So a test that must have its
    answer may have another one here. Then rounds and calls inside end, and the values are an example all the same.
    """

    __slots__ = ("_count", "_functions", "_is_astray", "_is_example", "_pause", "_repeated", "_times", "_trace")

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._is_example = trace.block is not trace.root
        self._is_astray = False  # whether a test has another answer than it must have
        self._count = 0
        self._functions: dict[Block, tuple[Call, Any]] = {}  # by their bodies: the first call, and the frame around it
        self._times: Counter[int] = Counter()  # that the steps of a block were carried out, by the id of their list
        self._repeated: dict[int, Run] = {}
        self._pause = Pause()

    def carry_out(self, step: Control) -> None:
        """Carry out a step with blocks that the function goes on with."""
        values = self._trace.values
        if isinstance(step, Fork):  # the branches have their values since they were recorded
            taken = step.results[0 if resolved(step.predicate, values) else 1]
            for place, result in zip(step.answers, taken, strict=True):
                values[place] = resolved(result, values)
            return
        if IS_CHEAP:
            self._pause.begin()
        try:
            if self._trace.gives_mere_warnings:  # the run of the function as it is has warned
                without_warnings(self.control, step, values)
            else:
                self.control(step, values)
        finally:
            self._pause.end()

    def control(self, step: Control, frame: Any) -> None:
        """Carry out a step with blocks; `frame` is the frame of the round in which the step is."""
        if isinstance(step, Fork):
            taken = 0 if resolved(step.predicate, frame) else 1
            self._block(step.blocks[taken].steps, frame)
            answers = [resolved(result, frame) for result in step.results[taken]]
        elif isinstance(step, Call):
            answers = self._call(step, frame) if self._functions else self._first_call(step, frame)
        else:
            state = [resolved(arg, frame) for arg in step.args]
            answers = self._loop(step, state, frame) if isinstance(step, Loop) else self._visit(step, state, frame)
        if type(frame) is not RoundFrame:  # what the function goes on with
            answers = plain(answers)
        for place, answer in zip(step.answers, answers, strict=True):
            frame[place] = answer

    def gather(self, step: Gather, frame: Any) -> None:
        """Carry out a step that gathers a value of each round."""
        frames = frame[step.rounds.place]
        frame[step.place] = np.stack([plain(resolved(step.value, RoundFrame(values, frame))) for values in frames])

    def _loop(self, step: Loop, state: list[Any], frame: Any) -> list[Any]:
        test, body = step.blocks
        frames: list[dict[int, Any]] = []
        frame[step.rounds.place] = frames
        while True:
            here = RoundFrame(dict(zip(step.params, state, strict=True)), frame)
            self._block(test.steps, here)
            if not resolved(step.goes_on, here):
                return state
            self._block(body.steps, here)
            state = [resolved(result, here) for result in step.results[-1]]
            if step.keeps:
                frames.append(here.values)
            if self._is_astray:
                return state

    def _visit(self, step: Any, state: list[Any], frame: Any) -> list[Any]:
        (body,) = step.blocks
        frames = frame[step.rounds.place]
        for values in reversed(frames) if step.is_reversed else frames:
            values.update(zip(step.params, state, strict=True))
            here = RoundFrame(values, frame)
            self._block(body.steps, here)
            state = [resolved(result, here) for result in step.results[-1]]
        return state

    def _first_call(self, step: Call, frame: Any) -> list[Any]:
        """Carry out a call of a function that is recorded. It may go as deep here as it goes in Python."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit * FRAMES_OF_A_CALL)
        try:
            return self._call(step, frame)
        finally:
            sys.setrecursionlimit(limit)

    def _call(self, step: Call, frame: Any) -> list[Any]:
        if step.is_new:
            frame[step.frame] = {}
        outer = self._functions.get(step.body)
        if step.blocks:
            self._functions[step.body] = step, frame
        elif outer is None or self._is_astray:  # or the function is still being recorded
            return [self._trace.values[place] for place in step.answers]
        function, around = self._functions[step.body]
        values = frame[step.frame]
        if self._is_example and not step.is_new and not values:  # it was left out when the calls went astray
            return [self._trace.values[place] for place in step.answers]
        values.update(zip(function.params, [resolved(arg, frame) for arg in step.args], strict=True))
        here = RoundFrame(values, around)
        self._block(step.body.steps, here)
        if step.blocks and outer is not None:
            self._functions[step.body] = outer  # that of another activation of the function around it
        return [resolved(result, here) for result in function.results[-1]]

    def _block(self, steps: list[Step], frame: Any) -> None:
        self._count += 1 + len(steps)
        if self._count > LONGEST_RUN:
            self._trace.refuse(f"a loop takes more than {LONGEST_RUN} steps while it is recorded")
        if type(frame) is RoundFrame and self._has_run(steps, frame):
            return
        for step in steps:
            if isinstance(step, Control):
                self.control(step, frame)
                continue
            if isinstance(step, Gather):
                self.gather(step, frame)
                continue
            try:
                answer = self._answer(step, frame)
            except (UnstageableError, NoRoomError):
                raise
            except UncertainError:
                if not self._is_example:
                    carried.is_uncertain = True
                answer = resolved(step.args[0], frame)  # which nothing needs
            except Exception as error:
                name = IN_WORDS.get(step.function) or name_in_program(step.function)
                self._trace.refuse(f"{name} raises {error!r} in a round of a loop")
            self._require_as_recorded(step, answer)
            frame[step.place] = answer

    def _has_run(self, steps: list[Step], frame: RoundFrame) -> bool:
        """Carry out the steps as a function, if they are repeated. If a step raises an error, it is raised again."""
        key = id(steps)
        run = self._repeated.get(key)
        if run is None:
            self._times[key] += 1
            if self._times[key] <= AT_FIRST:
                return False
            self._pause.begin()
            run = function_of(steps, self.control, self.gather, self._answer, self._require_as_recorded)
            self._repeated[key] = run
        try:
            run(frame.values, frame)
        except UnstageableError:
            raise
        except Exception:
            return False
        return True

    def _answer(self, step: Step, frame: Any) -> Any:
        args = [resolved(arg, frame) for arg in step.args]
        kwargs = {name: resolved(arg, frame) for name, arg in step.kwargs.items()} if step.kwargs else {}
        is_in_round = type(frame) is RoundFrame  # all else belongs to the function, which goes on with it
        if is_in_round and step.function in LAZILY and (answer := answered_lazily(step.function, args)) is not None:
            return answer
        return answered(step.function, args, kwargs) if kwargs or has_lazy(args) else step.function(*args)

    def _require_as_recorded(self, step: Step, answer: Any) -> None:
        if step.is_question and not is_same(answer, step.expected):
            if self._is_example and step.place in self._trace.required:
                self._is_astray = True
                return
            self._trace.refuse(
                "a loop asks for a value that differs from round to round. Let a test of its own decide, by `if` or by "
                "cond, compute with the value by functions that NumPy dispatches, and give a plain array that it "
                f"indexes as an argument:\n{step.site}"
            )
        if step.open_ended and like(answer)[:3] != like(self._trace.values[step.place])[:3]:
            self._trace.refuse(f"{name_in_program(step.function)} gives another shape in each round of a loop")


def resolved(x: Any, frame: Any) -> Any:
    """An argument with plain values in place of the staged ones, as they are in this frame."""
    kind = type(x)
    if kind is Staged:
        return frame[x._place]
    if kind is list or kind is tuple:
        return kind([resolved(part, frame) for part in x])
    if kind is slice:
        return slice(resolved(x.start, frame), resolved(x.stop, frame), resolved(x.step, frame))
    return x
