"""From the steps of a trace to a Python function that takes them, without those that need not be taken.

Its source has a line for each step, on local variables, which are used again as soon as their values are not needed any
more. What only the next step needs is a part of that one's line: so NumPy uses the memory of large arrays again, as in
the expressions of the function. Where the answer to a question is another than it was, it gives up, and returns the
number of the question in place of its answers.
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

from shiftreset_ad.staging.python.elimination import Eliminated, constants_in, like
from shiftreset_ad.staging.python.lowering import lowered
from shiftreset_ad.staging.steps.functions import INFIX, PREFIX, Attribute, Method
from shiftreset_ad.staging.steps.trace import NOTHING, Step, Trace, UnstageableError, identical, owners_of
from shiftreset_ad.staging.steps.values import Staged, is_staged

LARGEST = 2**63  # of the integers that are written as they are
LONGEST_PART = 60  # characters, of an expression within another


def generated(trace: Trace, outputs: list[Any]) -> tuple[Callable[[list[Any]], Any], str, list[Step]]:
    """The function from the inputs to the outputs, or to the number of a question; its source, and the questions."""
    if trace.refusal is not None:  # although the function has caught the error
        raise UnstageableError(trace.refusal)
    source = _Source(trace, Eliminated(trace, outputs))
    lines = "\n".join(source.function(outputs))
    exec(compile(lines, "<staged>", "exec"), source.names)
    return source.names["steps"], lines, source.questions


class _Source:
    """The source of the function, line by line, and the constants that it names."""

    def __init__(self, trace: Trace, left: Eliminated) -> None:
        self.trace = trace
        self.left = left
        self.names: dict[str, Any] = {"errstate": np.errstate, "is_same": is_same, "ndarray": ndarray}
        self.names.update(steps=None, inputs=None)  # which no constant can be called
        self.questions: list[Step] = []
        self._named: dict[int, str] = {}
        self._variables: dict[int, str] = {}
        self._free: list[str] = []
        self._parts: dict[int, tuple[str, bool]] = {}  # expressions within the next one; whether they are whole in any
        self._read: Counter[int] = Counter()  # how often each of them is there

    def function(self, outputs: list[Any]) -> list[str]:
        steps = self.left.steps
        inputs = len(self.trace.values) - len(self.trace.steps)
        last = self.last_uses(outputs)
        lines = ["def steps(inputs):"]
        for place in range(inputs):
            self._variables[place] = self.variable()
        names = "".join(f"{self._variables[place]}, " for place in range(inputs))
        if inputs:
            lines.append(f"    {names}= inputs")
        errors = None
        uses = Counter(place for step in steps for place in self.left.operands(step))
        uses.update(self.left.places_in(outputs))
        for step, following in zip_longest(steps, steps[1:]):
            if step.errors != errors and step.errors is not None:
                lines.append(f"    with errstate({reactions(step.errors)}):")
            errors = step.errors
            indent = "    " if errors is None else "        "
            is_part = following is not None and uses[step.place] == 1 and self.may_be_part(step, following)
            lines += [indent + line for line in self.lines(step, last, is_part)]
        copies, answers = self.answers(outputs)
        return [*lines, *copies, f"    return [{', '.join(answers)}]"]

    def last_uses(self, outputs: list[Any]) -> dict[int, Step | None]:
        """For each place the last step that needs it, None for an output."""
        last: dict[int, Step | None] = {}
        for step in self.left.steps:
            last.update(dict.fromkeys(self.left.operands(step), step))
        last.update(dict.fromkeys(self.left.places_in(outputs)))
        return last

    def variable(self) -> str:
        """The name of a variable that has nothing to keep any more, or of a new one."""
        return self._free.pop() if self._free else f"v{len(self._variables)}"

    def may_be_part(self, step: Step, following: Step) -> bool:
        """Whether a step may be a part of the next one, if nothing else needs it."""
        acts = step.is_question or step.writes or step.open_ended
        return not acts and step.errors == following.errors and step.place in self.left.operands(following)

    def lines(self, step: Step, last: dict[int, Step | None], is_part: bool) -> Iterator[str]:
        expression, is_whole = self.expression(step)
        for place in [place for place in self._parts if self._read[place] != 1]:  # it is lowered to what needs it not
            part, _ = self._parts.pop(place)
            self._variables[place] = self.variable()
            yield f"{self._variables[place]} = {part}"
            expression, is_whole = self.expression(step)
        self._parts.clear()
        self._read.clear()
        for place in set(self.left.operands(step)) & self._variables.keys():
            if last[place] is step:
                self._free.append(self._variables[place])
        if is_part and len(expression) <= LONGEST_PART:
            self._parts[step.place] = expression, is_whole
            return
        if step.is_question:
            yield self.question(self.test(expression, step.expected), step, step.expected)
            return
        name = self._variables[step.place] = self.variable()
        yield f"{name} = {expression}"
        if step.open_ended:
            answer = self.trace.values[step.place]
            known = (type(answer), len(answer)) if isinstance(answer, tuple | list) else like(answer)
            yield self.question(self.likeness(name, answer), step, known)
        if step.place not in last:  # all that mattered was its test, or that it was taken
            self._free.append(name)

    def question(self, test: str, step: Step, expected: Any) -> str:
        # Without what it was called with, as the whole trace would be kept for that.
        known = Step(step.place, step.function, (), NOTHING, None)
        known.site, known.expected = step.site, expected
        self.questions.append(known)
        return f"if not ({test}): return {len(self.questions) - 1}"

    def likeness(self, name: str, answer: Any) -> str:
        """The test whether an answer has the type, the shape and the dtype of this one."""
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
        """The test whether the answer to a question is the very same."""
        if expected is None or expected is True or expected is False:
            return f"({expression}) is {expected}"
        return f"is_same({expression}, {self.constant(expected)})"

    def expression(self, step: Step) -> tuple[str, bool]:
        """The expression for a step, and whether it is whole in any other, without parentheses."""
        function, args, kwargs = lowered(step, self.trace)
        if not kwargs and len(args) == 2 and function in INFIX:
            return f"{self.operand(args[0])} {INFIX[function]} {self.operand(args[1])}", False
        if not kwargs and len(args) == 1 and function in PREFIX:
            return f"{PREFIX[function]}{self.operand(args[0])}", False
        return self.look_up_or_call(function, args, kwargs), True

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
        """An expression for an argument, as it stands between commas."""
        kind = type(x)
        if kind is Staged:
            place = self.left.place(x)
            if x._place in self.left.fixed:
                return self.argument(x.inside)
            if place in self._parts:
                self._read[place] += 1
                return self._parts[place][0]
            return self._variables[place]
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
        """Expressions for the outputs, which are the user's, and before them copies of constants and of their views."""
        of_constants = {id(owner) for array in constants_in(self.left) for owner in owners_of(array)}
        copies: dict[int, str] = {}  # of each array one, as the function would return the same one
        array_of: dict[int, int] = {}
        lines, answers = [], []
        for x in outputs:
            value = x.inside if type(x) is Staged else x
            owners = [id(owner) for owner in owners_of(value)]
            is_fixed = value is x or x._place in self.left.fixed
            if not (is_fixed and owners) and of_constants.isdisjoint(owners):
                answers.append(self.argument(x))
                continue
            if any(array_of.setdefault(owner, id(value)) != id(value) for owner in owners):
                raise UnstageableError("it returns a constant with a view of it. Return copies")
            if id(value) not in copies:
                copies[id(value)] = f"w{len(copies)}"
                lines.append(f"    {copies[id(value)]} = {self.argument(x)}.copy('K')")
            answers.append(copies[id(value)])
        return lines, answers


def reactions(errors: Mapping[str, str]) -> str:
    """Reactions to floating-point errors, as options."""
    alike = set(errors.values())
    given = {"all": alike.pop()} if len(alike) == 1 else errors
    return ", ".join(f"{name}={reaction!r}" for name, reaction in given.items())


def readable_name(x: Any) -> str:
    """What a function is called in the source; "" for anything else, and for what could be a variable."""
    own = getattr(x, "__name__", "") if callable(x) else ""
    of_ufunc = getattr(x, "__self__", None)
    name = f"{of_ufunc.__name__}_{own}" if isinstance(of_ufunc, np.ufunc) else own
    return "" if iskeyword(name) or getattr(builtins, name, x) is not x or name[1:].isdigit() else name


def option(name: str, expression: str) -> str:
    """An option in a call, by whatever name."""
    return f"{name}={expression}" if name.isidentifier() and not iskeyword(name) else f"**{{{name!r}: {expression}}}"


def is_same(x: Any, expected: Any) -> bool:
    """Whether the answer to a question is the very same, NaN and the sign of zero included."""
    if type(x) is not type(expected):
        return False
    if isinstance(x, ndarray | np.generic | float | complex):
        return identical(x, expected)
    return bool(x == expected)
