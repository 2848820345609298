"""A program: statements of Python, what they return, and where their derivatives are taken."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from types import CodeType
from typing import Any

import numpy as np

NAME = re.compile(r"\b[a-z]+_\d+\b")  # as `a_3` and `f_4`; none is used for two things


def names_in(source: str) -> set[str]:
    """The names of a program's own variables and functions in a statement."""
    return set(NAME.findall(source))


def indented(source: str, by: str = "    ") -> str:
    return "".join(f"{by}{line}\n" for line in source.splitlines())


@dataclass(frozen=True)
class Program:
    """A function of an array `x`, to a list of arrays; with its argument and a direction, as source."""

    statements: tuple[str, ...]
    returned: tuple[str, ...]
    x: str
    v: str

    @cached_property
    def source(self) -> str:
        """The function `program`; `sr` and `single` are looked up where it is run."""
        body = "\n".join([*self.statements, f"return [{', '.join(self.returned)}]"])
        return "def program(x):\n" + indented(body)

    @cached_property
    def _code(self) -> CodeType:
        return compile(self.source, "<program>", "exec")

    def function(self, operators: Any, single: type) -> Callable[[Any], list[Any]]:
        """The program, with its operators (the library's, or those of `plain`) and its lower precision."""
        namespace: dict[str, Any] = {"np": np, "sr": operators, "single": single}
        exec(self._code, namespace)
        program: Callable[[Any], list[Any]] = namespace["program"]
        return program

    def point(self, single: type) -> tuple[Any, Any]:
        """The argument and the direction, laid out anew."""
        namespace = {"np": np, "single": single}
        return eval(self.x, namespace), eval(self.v, namespace)

    @property
    def has_single(self) -> bool:
        """Whether anything in it is of lower precision."""
        return "single" in self.source + self.x

    def without(self, place: int) -> Program:
        """The program without a statement, and without all that need it."""
        gone = self._made_by(place)
        kept = list(self.statements[:place])
        for later in range(place + 1, len(self.statements)):
            if names_in(self.statements[later]) & gone:
                gone |= self._made_by(later)
            else:
                kept.append(self.statements[later])
        return replace(self, statements=tuple(kept), returned=tuple(n for n in self.returned if n not in gone))

    def _made_by(self, place: int) -> set[str]:
        before = set().union(*map(names_in, self.statements[:place]))
        return names_in(self.statements[place]) - before
