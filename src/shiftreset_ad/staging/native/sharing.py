"""Loops that are alike share a function, so that LLVM compiles them once.

A program that goes through a tree of arrays has the same loop for each node, on other arrays. What differs is where the
arrays lie and what the numbers from outside are: the parameters. A loop that is there once or twice stays where it is.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from hashlib import sha256
from itertools import chain
from typing import Any, NamedTuple

from shiftreset_ad.staging.native import effort
from shiftreset_ad.staging.native.effort import with_less_effort
from shiftreset_ad.staging.native.llvm import ARRAY, Code, Value, described, refuse
from shiftreset_ad.staging.native.tables import CONSTANT, Tables
from shiftreset_ad.staging.steps.values import Staged, unstaged

SHORT = 16  # rounds, up to which LLVM may write them out, with the steps before and after them
FEW = {"@rounds_": 2, "@few_rounds_": 16}  # as many loops that are alike are not worth a function, long and short ones
MANY = 64  # arrays of a loop: where it is inlined, LLVM notes for each access that it is none to the others
HEAD = "define internal void "
NAME = re.compile(r"[%@][\w.]+|^[\w.]+(?=:$)", re.MULTILINE)
CALL = re.compile(r"call void (@(?:few_)?rounds_)(\w+)\(")
CONSTANTS = re.compile(rf"{CONSTANT}\d+\b(?! =)")
MADE = re.compile(r"^  (%[\w.]+) = |^([\w.]+):$", re.MULTILINE)


def as_function(
    lines: Iterable[str], forms: Mapping[str, str], new: Container[str], is_short: bool = False
) -> tuple[str, str] | None:
    """The function of these lines, under names of its own, and the call of it.

    `forms` has the forms of names from outside, and `new` are addresses of memory that no other name leads to. It is
    None if the lines have another name from outside.
    """
    text = "\n".join(lines)
    made = {name or f"%{label}" for name, label in MADE.findall(text)}
    names: dict[str, str] = {}
    params: dict[str, str] = {}
    for name in NAME.findall(text):
        key = name if name[0] in "%@" else f"%{name}"
        if key in made:
            names.setdefault(key, f"%v{len(names)}")
        elif key in forms:
            params.setdefault(key, f"%p{len(params)}")
        elif key[0] == "%":
            return None
    names |= params

    def renamed(match: re.Match[str]) -> str:
        name = match[0]
        return names.get(name, name) if name[0] in "%@" else names[f"%{name}"][1:]

    body = NAME.sub(renamed, text)
    given = ", ".join(f"{forms[name]}{' noalias' * (name in new)} {param}" for name, param in params.items())
    name = _name(given, body, is_short)
    call = f"  call void {name.removeprefix(HEAD)}({', '.join(f'{forms[key]} {key}' for key in params)})"
    return f"{HEAD}{name}({given}) {{\n{body}\n  ret void\n}}", call


class Alone(Code):
    """The code of a function that has a loop, and nothing else. What comes from outside are its parameters."""

    __slots__ = ("_outside", "is_short")

    def __init__(self, outside: Code, numbers: Mapping[int, Value]) -> None:
        super().__init__()
        self.is_short = False
        self._outside = outside
        self.known.update(numbers)

    def place(self, x: Staged) -> int:
        return self._outside.place(x)

    def types(self, x: Any) -> frozenset[type]:
        return self._outside.types(x)

    def load(self, x: Staged) -> Value:
        self._outside.value(x)  # which tells why it has no form
        return refuse(f"a loop takes {described(unstaged(x))}")


class Param(NamedTuple):
    """A parameter of the function of a loop: its form, what it is there, and whether it is memory of its own."""

    form: str
    given: str
    is_new: bool = False


class LoopFunction(NamedTuple):
    """The function of a loop, what it uses, and whether it takes the frame, too."""

    name: str
    definition: str
    used: tuple[str, ...]
    takes_frame: bool


def call_loop(code: Code, key: Any, params: Iterable[Param], numbers: Mapping[int, Value], write: Write) -> None:
    """Write the call of a loop's function. `write` writes the loop if none with this `key` was written before.

    It is given the code of the function, in which the parameters are %p0, %p1, and so on.
    """
    params = [*params]
    found = None if key is None else code.loops.get(key)
    if found is None:
        alone = Alone(code, numbers)
        write(alone)
        found = _function_of(alone, params)
        if key is not None:
            code.loops[key] = found
    for text in (*found.used, found.definition):
        code.use(text)
    given = [f"{param.form} {param.given}" for param in params]
    code.lines.append(f"  call void {found.name}({', '.join(['ptr %frame'] * found.takes_frame + given)})")


Write = Callable[[Alone], None]


def _function_of(alone: Alone, params: list[Param]) -> LoopFunction:
    body = "\n".join(alone.lines)
    heads = [f"{param.form}{' noalias' * param.is_new} %p{i}" for i, param in enumerate(params)]
    takes_frame = "%frame" in body
    given = ", ".join([f"{ARRAY} %frame"] * takes_frame + heads)
    name = _name(given, body, alone.is_short)
    return LoopFunction(name, f"{HEAD}{name}({given}) {{\n{body}\n  ret void\n}}", (*alone.used,), takes_frame)


def _name(given: str, body: str, is_short: bool) -> str:
    return f"{'@few_rounds_' if is_short else '@rounds_'}{sha256(f'{given}{body}'.encode()).hexdigest()[:24]}"


def with_places(
    definitions: Iterable[str],
    functions: list[str],
    names: Iterable[str] = (),
    tables: Tables | None = None,
    has_control: bool = False,
) -> tuple[list[str], list[str]]:
    """The definitions of what functions call, and the functions.

    A loop that they call a few times is written where they call it. If there are `tables`, calls that follow one
    another are in them: LLVM would take long to find that there is nothing to gain. `names` are those of constants that
    others need. Without control, a call is carried out once.
    """
    count = Counter(chain.from_iterable(map(CALL.findall, functions)))
    if tables is not None:
        functions = [*map(tables.with_tables, functions)]
    apart = {*chain.from_iterable(map(CALL.findall, tables.functions if tables is not None else ()))}
    definitions = [*definitions]
    needed = {*names, *chain.from_iterable(map(CONSTANTS.findall, [*definitions, *functions]))}
    found = []
    for text in definitions:
        name, _, _ = text.partition(" = ")
        if name.startswith(CONSTANT) and name not in needed:
            continue
        head, _, body = text.partition("(")
        kind, _, name = head.removeprefix(HEAD).partition("rounds_")
        key = f"{kind}rounds_", name
        if key in count:
            takes_many = body.partition(") {")[0].count(",") >= MANY
            place = "noinline" if takes_many or count[key] > FEW[key[0]] or key in apart else "alwaysinline"
            text = f"{head}({body.replace(') {', f') {place} {{', 1)}"
        if key in apart or len(count) > effort.FEW_LOOPS:
            text = with_less_effort(text, count[key] if key in apart and not has_control else math.inf)
        found.append(text)
    of_tables = [] if tables is None else tables.definitions()
    is_marked = apart or len(count) > effort.FEW_LOOPS
    return [*found, *of_tables, *(effort.DEFINITIONS if is_marked else [])], functions
