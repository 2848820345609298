"""Generation makes a Python function of the steps of a trace.

The source has a line for each step, on local variables. A variable is used again when its value is not needed any more.
If only the next step needs a value, its expression becomes a part of the next line. So NumPy can use the memory of
large arrays again, as in the expressions of the function. If a question has another answer than before, the generated
function stops, and returns the number of the question in place of its answers.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from keyword import iskeyword
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.python.answers import Own
from shiftreset_ad.staging.python.control import ControlSource, certain, gathering, indented
from shiftreset_ad.staging.python.elimination import Eliminated, constants_in, like
from shiftreset_ad.staging.python.functions import FunctionSource, OtherAnswerError
from shiftreset_ad.staging.python.in_place import InPlace, with_added, with_item
from shiftreset_ad.staging.python.lowering import lowered
from shiftreset_ad.staging.python.uses import Uses
from shiftreset_ad.staging.steps.blocks import Call, Control, Gather
from shiftreset_ad.staging.steps.functions import INFIX, PREFIX, Attribute, Method
from shiftreset_ad.staging.steps.sources import Sources
from shiftreset_ad.staging.steps.trace import NOTHING, Block, Step, Trace, UnstageableError, identical, owners_of
from shiftreset_ad.staging.steps.values import Staged, is_staged, unstaged

LARGEST = 2**63  # integers from this size on are constants with a name
LONGEST_PART = 60  # characters of an expression inside another expression

FILENAME = "<staged>"  # of the functions that are generated


def generated(
    trace: Trace, outputs: list[Any], left: Eliminated | None = None
) -> tuple[Callable[[list[Any]], Any], str, list[Step]]:
    """The function from the inputs to the outputs, or to the number of a question; its source; the questions.

    `left` is the trace after elimination, if the caller has it.
    """
    if trace.refusal is not None:  # also if the function has caught the error
        raise UnstageableError(trace.refusal)
    source = _Source(trace, left or Eliminated(trace, outputs), outputs)
    lines = "\n".join(source.function(outputs))
    exec(compile(lines, FILENAME, "exec"), source.names)
    return source.names["steps"], lines, source.questions


class _Source:
    """The source of the function, line by line, and the names of its constants."""

    def __init__(self, trace: Trace, left: Eliminated, outputs: list[Any]) -> None:
        self.trace = trace
        self.left = left
        self.names: dict[str, Any] = {
            "errstate": np.errstate,
            "is_same": is_same,
            "ndarray": ndarray,
            "certain": certain,
            "OtherAnswerError": OtherAnswerError,
        }
        self.names.update(steps=None, inputs=None, copies=None)  # taken: no constant gets these names
        self.questions: list[Step] = []
        self._named: dict[int, str] = {}
        self.errors: Any = trace.errors
        self.variables: dict[int, str] = {}
        self._free: list[str] = []
        self._parts: dict[int, tuple[str, bool]] = {}  # expressions for the next line; does it need no parentheses?
        self._read: Counter[int] = Counter()  # how often the line has each of them
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
        if self.trace.has_control:
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
            if isinstance(step, Call):
                reacting += FunctionSource(self).lines(step)
            elif isinstance(step, Control):
                reacting += ControlSource(self).lines(step)
            else:
                is_part = following is not None and self.may_be_part(step, following)
                reacting += self.lines(step, is_part)
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
        """Whether the expression of a step, which only the next step needs, may be a part of the next line."""
        acts = step.is_question or step.writes or step.open_ended or isinstance(following, Control)
        is_for_it = self.uses.count[step.place] == 1 and self.uses.last.get(step.place) is following
        return not acts and step.errors == following.errors and is_for_it

    def lines(self, step: Step, is_part: bool) -> Iterator[str]:
        expression, is_whole = self.expression(step)
        for place in [place for place in self._parts if self._read[place] != 1]:  # the lowered step does not need it
            part, _ = self._parts.pop(place)
            self.variables[place] = self.variable()
            yield f"{self.variables[place]} = {part}"
            expression, is_whole = self.expression(step)
        self._parts.clear()
        self._read.clear()
        self.release(step)
        if is_part and len(expression) <= LONGEST_PART:
            self._parts[step.place] = expression, is_whole
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

    def likeness(self, name: str, answer: Any) -> str:
        """The test whether the value of a variable has the type, the shape and the dtype of this answer."""
        kind = type(answer)
        if kind is ndarray:
            of_its_type = f"type({name}) is ndarray and {name}.shape == {answer.shape}"
        else:
            of_its_type = f"type({name}) is {self.constant(kind)}"
        if isinstance(answer, tuple | list):
            return f"{of_its_type} and len({name}) == {len(answer)}"
        if isinstance(answer, ndarray | np.generic):
            of_its_type += f" and {name}.dtype == {self.constant(answer.dtype)}"
        if kind is ndarray:
            of_its_type += f" and {name}.strides == {answer.strides}"
        return of_its_type

    def test(self, expression: str, expected: Any) -> str:
        """The test whether the answer to a question is the same as before."""
        if expected is None or expected is True or expected is False:
            return f"({expression}) is {expected}"
        return f"is_same({expression}, {self.constant(expected)})"

    def expression(self, step: Step) -> tuple[str, bool]:
        """The expression for a step, and whether it needs no parentheses inside another expression."""
        if isinstance(step, Gather):
            return gathering(self, step), True
        if (expression := self.in_place_of(step)) is not None:
            return expression, True
        function, args, kwargs = lowered(step, self.trace)
        if not kwargs and len(args) == 2 and function in INFIX:
            return f"{self.operand(args[0])} {INFIX[function]} {self.operand(args[1])}", False
        if not kwargs and len(args) == 1 and function in PREFIX:
            return f"{PREFIX[function]}{self.operand(args[0])}", False
        return self.look_up_or_call(function, args, kwargs), True

    def in_place_of(self, step: Step) -> str | None:
        """The expression for a step that writes to the array that it is given, or has to do with one that does."""
        if step.place in self.in_place.replaced:
            (item, x), index = step.args
            return f"{self.constant(with_item)}({', '.join(map(self.argument, (x, index, item)))})"
        if step.place in self.in_place.moved:
            return self.argument(step.args[0])
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

    def look_up_or_call(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        if function is operator.getitem:
            return f"{self.operand(args[0])}[{self.argument(args[1])}]"
        if type(function) is Attribute:
            return f"{self.operand(args[0])}.{function.__name__}"
        options = [option(name, self.argument(arg)) for name, arg in kwargs.items()]
        if type(function) is Method:
            given = [self.argument(arg) for arg in args[1:]]
            return f"{self.operand(args[0])}.{function.__name__}({', '.join(given + options)})"
        given = [self.argument(arg) for arg in args]
        return f"{self.constant(function)}({', '.join(given + options)})"

    def operand(self, x: Any) -> str:
        """An expression for an argument, in parentheses where they are needed."""
        is_whole = True
        if type(x) is Staged:
            _, is_whole = self._parts.get(self.left.place(x), ("", True))
        return self.argument(x) if is_whole else f"({self.argument(x)})"

    def argument(self, x: Any) -> str:
        """An expression for an argument between commas."""
        kind = type(x)
        if kind is Staged:
            place = self.left.place(x)
            if x._place in self.left.fixed:
                return self.argument(x.inside)
            if place in self._parts:
                self._read[place] += 1
                return self._parts[place][0]
            return self.variables[place]
        if is_staged(x):
            if kind is slice:
                return f"slice({self.argument(x.start)}, {self.argument(x.stop)}, {self.argument(x.step)})"
            parts = "".join([f"{self.argument(part)}, " for part in x])
            return f"({parts})" if kind is tuple else f"[{parts}]"
        if x is None or kind is bool:
            return repr(x)
        if (kind is float and math.isfinite(x)) or (kind is int and abs(x) < LARGEST):
            return repr(x) if math.copysign(1.0, x) > 0.0 else f"({x!r})"
        return self.constant(x)

    def constant(self, x: Any) -> str:
        """The name of a constant."""
        name = self._named.get(id(x))
        if name is None:
            readable = readable_name(x)
            name = readable if readable.isidentifier() and readable not in self.names else f"c{len(self._named)}"
            self._named[id(x)] = name
            self.names[name] = x
        return name

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


def asked(step: Step, expected: Any) -> Step:
    """A question without its arguments, which would keep the whole trace alive."""
    known = Step(step.place, step.function, (), NOTHING, None)
    known.site, known.expected = step.site, expected
    return known


def known_of(answer: Any) -> Any:
    """What the program knows of the answer of a step that is open-ended."""
    return (type(answer), len(answer)) if isinstance(answer, tuple | list) else like(answer)


def reactions(errors: Mapping[str, str]) -> str:
    """Reactions to floating-point errors, as options of `errstate`."""
    alike = set(errors.values())
    given = {"all": alike.pop()} if len(alike) == 1 else errors
    return ", ".join(f"{name}={reaction!r}" for name, reaction in given.items())


def readable_name(x: Any) -> str:
    """The name of a function in the source; "" for anything else, and for a name that could be a variable."""
    own = getattr(x, "__name__", "") if callable(x) else ""
    of_ufunc = getattr(x, "__self__", None)
    name = f"{of_ufunc.__name__}_{own}" if isinstance(of_ufunc, np.ufunc) else own
    return "" if iskeyword(name) or getattr(builtins, name, x) is not x or name[1:].isdigit() else name


def option(name: str, expression: str) -> str:
    """An option in a call. Its name may be no identifier."""
    return f"{name}={expression}" if name.isidentifier() and not iskeyword(name) else f"**{{{name!r}: {expression}}}"


def is_same(x: Any, expected: Any) -> bool:
    """Whether the answer to a question is the same: NaN equals NaN, and 0.0 differs from -0.0."""
    if type(x) is not type(expected):
        return False
    if isinstance(x, ndarray | np.generic | float | complex):
        return identical(x, expected)
    return bool(x == expected)
