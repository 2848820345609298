"""The text of the steps of a way, for those who look: a line for each value, and the blocks of loops and branches.

The steps are those that elimination has left, before a back end prints them. Each value has one name, such as `%3`. A
loop, a branch or a function has its blocks below it, further to the right. `pictures` reads the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import (
    Call,
    Control,
    Fork,
    Gather,
    LimitedLoop,
    Loop,
    Rerun,
    Stretches,
    Visit,
)
from shiftreset_ad.staging.steps.functions import Method, name_in_program
from shiftreset_ad.staging.steps.trace import Block, Step, Trace
from shiftreset_ad.staging.steps.values import Staged

BACK, ONWARDS = "way back:", "onwards:"  # lines that say to what the following steps belong
INDENT = "  "
PACKAGES = re.compile(r"^(x(?=\.)|numpy\.|shiftreset_ad\.(\w+\.)*)")


def text_of(trace: Trace, outputs: Sequence[Any], left: Eliminated) -> str:
    """The text of the steps that are left of a trace."""
    writer = _Writer(trace, left)
    inputs = ", ".join([f"%{place}: {kind_of(trace.values[place])}" for place in range(trace.inputs)])
    lines, is_back = [f"inputs {inputs}".rstrip()], False
    for step in left.steps:
        if step.is_back is not is_back:
            is_back = step.is_back
            lines.append(BACK if is_back else ONWARDS)
        lines += writer.lines(step)
    return "\n".join([*lines, f"return {writer.several(outputs)}".rstrip()])


class _Writer:
    """What writes the lines of steps."""

    def __init__(self, trace: Trace, left: Eliminated) -> None:
        self._values = trace.values
        self._left = left
        self._functions: dict[Block, str] = {}  # the names of functions that call themselves, by their bodies
        self._names: dict[int, str] = {}  # of functions that steps call, by their ids

    def lines(self, step: Step) -> Iterator[str]:
        if type(step) is Step:
            yield self._line(step)
        elif isinstance(step, Rerun):
            yield f"{self._head(step)} = a stretch again {self._carried(step)}, rounds in %{step.rounds.place}:"
            yield from self._block("round", step.blocks[1].steps, f"next {self.several(step.results[-1])}")
        elif isinstance(step, Stretches):
            yield f"{self._head(step)} = each stretch without frames in %{step.ledger} {self._carried(step)}:"
            yield from self._block("stretch", step.blocks[0].steps, f"next {self.several(step.results[-1])}")
        elif isinstance(step, Loop):
            limit = f", within {step.bytes} bytes" if isinstance(step, LimitedLoop) else ""
            kept = f", rounds in %{step.rounds.place}" if step.keeps else ""
            yield f"{self._head(step)} = while {self._carried(step)}{kept}{limit}:"
            yield from self._block("test", step.blocks[0].steps, f"go on if {self.operand(step.goes_on)}")
            yield from self._block("round", step.blocks[1].steps, f"next {self.several(step.results[-1])}")
        elif isinstance(step, Visit):
            order = "from the last one on" if step.is_reversed else "from the first one on"
            yield f"{self._head(step)} = visit %{step.rounds.place} {order} {self._carried(step)}:"
            yield from self._block("round", step.blocks[0].steps, f"next {self.several(step.results[-1])}")
        elif isinstance(step, Fork):
            yield f"{self._head(step)} = if {self.operand(step.predicate)}:"
            for name, block, results in zip(("then", "else"), step.blocks, step.results, strict=True):
                yield from self._block(name, block.steps, f"give {self.several(results)}")
        elif isinstance(step, Call):
            name = self._functions.setdefault(step.body, f"f{len(self._functions)}")
            frame = f"with the {'new ' if step.is_new else ''}frame %{step.frame}"
            yield f"{self._head(step)} = {name}({self.several(step.args)}) {frame}{':' if step.blocks else ''}"
            for block, results in zip(step.blocks, step.results, strict=True):
                params = ", ".join([f"%{param}" for param in step.params])
                yield from self._block(f"{name}({params})", block.steps, f"give {self.several(results)}")
        elif isinstance(step, Gather):
            yield f"%{step.place} = gather(%{step.rounds.place}, {self.operand(step.value)})"

    def several(self, xs: Sequence[Any]) -> str:
        return ", ".join(map(self.operand, xs))

    def operand(self, x: Any) -> str:
        """A value, or a constant, in an argument."""
        kind = type(x)
        if kind is Staged:
            place = x._place
            return self.operand(self._values[place]) if place in self._left.fixed else f"%{self._left.place(x)}"
        if kind is slice:
            return ":".join(["" if part is None else self.operand(part) for part in (x.start, x.stop, x.step)])
        if kind is tuple or kind is list:
            inside = self.several(x)
            return f"[{inside}]" if kind is list else f"({inside},)" if len(x) == 1 else f"({inside})"
        if isinstance(x, np.generic | ndarray):
            return f"{x}" if not np.ndim(x) else f"a constant {kind_of(x)}"
        return name_of(x) if callable(x) else repr(x)

    def _head(self, step: Control) -> str:
        return ", ".join([f"%{place}" for place in step.answers]) or "nothing"

    def _carried(self, step: Control) -> str:
        pairs = zip(step.params, step.args, strict=True)
        return f"({', '.join([f'%{param} = {self.operand(arg)}' for param, arg in pairs])})"

    def _block(self, name: str, steps: list[Step], end: str) -> list[str]:
        lines = [line for step in steps for line in self.lines(step)]
        return [f"{INDENT}{name}:", *[INDENT * 2 + line for line in [*lines, end.rstrip()]]]

    def _line(self, step: Step) -> str:
        args = [self.operand(arg) for arg in step.args]
        if step.kwargs:
            args += [f"{name}={self.operand(arg)}" for name, arg in step.kwargs.items()]
        function = step.function
        name = self._names.get(id(function))
        if name is None:
            name = self._names[id(function)] = name_of(function)
        call = f"{name}({', '.join(args)})"
        if step.is_question:
            return f"stop unless {call} is {self.operand(step.expected)}"
        if step.writes:
            return f"write {call}"
        return f"%{step.place} = {call}: {kind_of(self._values[step.place])}"


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, without its module; of a method or an attribute, with a dot."""
    if type(function) is Method:
        return f".{function.__name__}"
    if getattr(function, "__module__", None) == "_operator":
        return function.__name__
    return PACKAGES.sub("", name_in_program(function))


def kind_of(x: Any) -> str:
    """The type of a value; of an array, its dtype and its shape."""
    return f"{_text_of_dtype(x.dtype)}{list(x.shape)}" if isinstance(x, ndarray) else type(x).__name__


_text_of_dtype = cache(str)  # NumPy takes long to write a dtype
