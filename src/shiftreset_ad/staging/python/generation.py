"""Generation makes a Python function of the steps of a trace.

The source has a line for each step, on local variables. A variable is used again when its value is not needed any more.
If only the next step needs a value, its expression becomes a part of the next line. So NumPy can use the memory of
large arrays again, as in the expressions of the function. If a question has another answer than before, the generated
function stops, and returns the number of the question in place of its answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.python.answers import Own
from shiftreset_ad.staging.python.control import certain, gathering, indented
from shiftreset_ad.staging.python.elimination import Eliminated, constants_in
from shiftreset_ad.staging.python.errors import FILENAME
from shiftreset_ad.staging.python.expressions import Expressions, asked, known_of, reactions
from shiftreset_ad.staging.python.functions import FunctionSource, OtherAnswerError
from shiftreset_ad.staging.python.in_place import InPlace, with_added, with_item
from shiftreset_ad.staging.python.limited import LimitedSource
from shiftreset_ad.staging.python.uses import Uses
from shiftreset_ad.staging.steps.blocks import Call, Control, Gather
from shiftreset_ad.staging.steps.memory import owners_of
from shiftreset_ad.staging.steps.sources import Sources
from shiftreset_ad.staging.steps.trace import Block, Step, Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged

LONGEST_PART = 60  # characters of an expression inside another expression


class Generated(NamedTuple):
    """The function from the inputs to the outputs, or to the number of a question; its source; and the questions."""

    function: Callable[[list[Any]], Any]
    source: str
    questions: list[Step]


def generated(trace: Trace, outputs: list[Any], left: Eliminated | None = None) -> Generated:
    """The function of the steps. `left` is the trace after elimination, if the caller has it."""
    source = _Source(trace, left or Eliminated(trace, outputs), outputs)
    lines = "\n".join(source.function(outputs))
    exec(compile(lines, FILENAME, "exec"), source.names)
    return Generated(source.names["steps"], lines, source.questions)


def questions_of(trace: Trace, steps: list[Step]) -> list[Step]:
    """The questions in the function of some steps without blocks, in their order."""
    return [
        asked(step, step.expected if step.is_question else known_of(trace.values[step.place]))
        for step in steps
        if step.is_question or step.open_ended
    ]


class _Source(Expressions):
    """The source of the function, line by line."""

    def __init__(self, trace: Trace, left: Eliminated, outputs: list[Any]) -> None:
        super().__init__(trace, left)
        self.names.update(certain=certain, OtherAnswerError=OtherAnswerError)
        self.names.update(steps=None, inputs=None, copies=None)  # taken: no constant gets these names
        self.questions: list[Step] = []
        self._free: list[str] = []
        self._count = 0
        self.uses = Uses(trace, left, outputs)
        self.in_place = InPlace(trace, left, outputs)
        self.reserved: dict[int, str] = {}
        self.functions: dict[Block, str] = {}
        self.depth = 0

    def function(self, outputs: list[Any]) -> list[str]:
        inputs = range(self.trace.inputs)
        for place in inputs:
            self.variables[place] = self.variable()
        names = "".join(f"{self.variables[place]}, " for place in inputs)
        lines = [f"{names}= inputs"] if names else []
        lines += self.block(self.left.steps, None)
        copies, answers = self.answers(outputs)
        found = f"[{', '.join(answers)}]"
        if self.trace.carries_zeros:
            found = f"certain({found})"
        return ["def steps(inputs):", *indented([*lines, *copies]), f"    return {found}"]

    def block(self, steps: list[Step], reactions_around: Any) -> list[str]:
        """The lines of a block, inside the reactions to floating-point errors that are set around it."""
        lines: list[Any] = []
        reacting = lines
        errors = reactions_around
        for step, following in zip_longest(steps, steps[1:]):
            if step.errors != errors:
                errors, reacting = step.errors, lines
                if errors != reactions_around:
                    reacting = []
                    lines.append(f"with errstate({reactions(errors or self.errors)}):")
                    lines.append(reacting)
            if type(step) is Step or isinstance(step, Gather):
                is_part = following is not None and self.may_be_part(step, following)
                reacting += self.lines(step, is_part)
            elif isinstance(step, Call):
                reacting += FunctionSource(self).lines(step)
            elif isinstance(step, Control):
                reacting += LimitedSource(self).lines(step)
        return [line for part in lines for line in ([part] if isinstance(part, str) else indented(part))]

    def variable(self) -> str:
        """The name of a variable whose value is not needed any more, or of a new variable."""
        if self._free:
            return self._free.pop()
        self._count += 1
        return f"v{self._count - 1}"

    def variable_of(self, place: int) -> str:
        """The variable of a value: the one that is reserved for it, or another."""
        name = self.variables[place] = self.reserved.pop(place, "") or self.variable()
        return name

    def may_be_part(self, step: Step, following: Step) -> bool:
        """Whether the expression of a step, which only the next step needs, may be a part of the next line.

        NumPy may compute the next array in the memory of such a part, and so in its order (`staging.layouts`).
        """
        if self.uses.count[step.place] != 1 or self.uses.last.get(step.place) is not following:
            return False
        acts = step.is_question or step.writes or step.open_ended or isinstance(following, Control)
        if acts or step.errors != following.errors:
            return False
        part, whole = self.trace.values[step.place], self.trace.values[following.place]
        are_arrays = type(part) is type(whole) is ndarray
        return not are_arrays or part.shape != whole.shape or part.strides == whole.strides

    def lines(self, step: Step, is_part: bool) -> Iterator[str]:
        expression, is_whole = self.expression(step)
        if self.parts:
            for place in [place for place in self.parts if self.read[place] != 1]:  # the lowered step does not need it
                part, _ = self.parts.pop(place)
                self.variables[place] = self.variable()
                yield f"{self.variables[place]} = {part}"
                expression, is_whole = self.expression(step)
            self.parts.clear()
            self.read.clear()
        self.release(step)
        if is_part and len(expression) <= LONGEST_PART:
            self.parts[step.place] = expression, is_whole
            return
        if step.is_question:
            yield self.question(self.test(expression, step.expected), step, step.expected)
            return
        name = self.variable_of(step.place)
        yield f"{name} = {expression}"
        if step.open_ended:
            answer = self.trace.values[step.place]
            yield self.question(self.likeness(name, answer), step, known_of(answer))
        if step.place not in self.uses.last:  # no step needs the value
            self._free.append(name)

    def release(self, step: Step) -> None:
        """Make the variables of the values that no later step needs free for others."""
        for place in set(self.left.operands(step)) & self.variables.keys():
            if self.uses.last[place] is step and place not in self.uses.elsewhere:
                self._free.append(self.variables[place])

    def question(self, test: str, step: Step, expected: Any) -> str:
        self.questions.append(asked(step, expected))
        number = len(self.questions) - 1
        return f"if not ({test}): {f'raise OtherAnswerError({number})' if self.depth else f'return {number}'}"

    def expression(self, step: Step) -> tuple[str, bool]:
        """The expression for a step, and whether it needs no parentheses inside another expression."""
        if isinstance(step, Gather):
            return gathering(self, step), True
        if (expression := self.in_place_of(step)) is not None:
            return expression, True
        return super().expression(step)

    def in_place_of(self, step: Step) -> str | None:
        """The expression for a step that writes to the array that it is given, or has to do with one that does."""
        if step.place in self.in_place.replaced:
            (item, x), index = step.args
            return f"{self.constant(with_item)}({', '.join(map(self.argument, (x, index, item)))})"
        if step.place in self.in_place.moved:
            return self.operand(step.args[0])
        if step.place in self.in_place.copied:
            x, index = step.args
            return f"{self.constant(np.copy)}({self.operand(x)}[{self.argument(index)}])"
        if step.place in self.in_place.scatters:
            values, indices, *_ = step.args
            return f"({self.argument(values)}, {self.argument(indices)})"
        if (addition := self.in_place.additions.get(step.place)) is not None:
            x, y = step.args if step.args[0] is addition.array else step.args[::-1]
            return f"{self.constant(with_added)}({self.argument(x)}, {self.argument(y)})"
        return None

    def answers(self, outputs: list[Any]) -> tuple[list[str], list[str]]:
        """The line before the answers, and the expressions for the outputs: the user gets copies of constants."""
        constants = {id(owner): owner for array in constants_in(self.left) for owner in owners_of(array)}
        for x in outputs:
            if type(x) is not Staged or x._place in self.left.fixed:
                constants.update((id(owner), owner) for owner in owners_of(unstaged(x)))
        sources = Sources(self.trace, self.left.steps)
        shared = [not constants.keys().isdisjoint(sources.of(x)) for x in outputs]
        if not any(shared):
            return [], list(map(self.argument, outputs))
        own = self.constant(Own(list(constants.values()), self.trace.handed_on))
        answers = [
            f"{own}({self.argument(x)}, copies)" if is_shared else self.argument(x)
            for x, is_shared in zip(outputs, shared, strict=True)
        ]
        return ["copies = {}"], answers
