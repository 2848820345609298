"""Loops that are alike share a function, so that LLVM compiles them once.

A program that goes through a tree of arrays has the same loop for each node, on other arrays. What differs is where the
arrays lie and what the numbers from outside are: the parameters. A loop that is there once or twice stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from hashlib import sha256

FEW = 2  # as many loops that are alike are not worth a function
SHORT = 16  # rounds, up to which LLVM may write them out, with the steps before and after them
HEAD = "define internal void @rounds_"
NAME = re.compile(r"[%@][\w.]+|^[\w.]+(?=:$)", re.MULTILINE)
MADE = re.compile(r"^  (%[\w.]+) = |^([\w.]+):$", re.MULTILINE)


def as_function(lines: Iterable[str], forms: Mapping[str, str], new: Container[str]) -> tuple[str, str] | None:
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
    name = f"{HEAD}{sha256(f'{given}{body}'.encode()).hexdigest()[:24]}"
    call = f"  call void @{name.partition('@')[2]}({', '.join(f'{forms[key]} {key}' for key in params)})"
    return f"{name}({given}) {{\n{body}\n  ret void\n}}", call


def with_places(definitions: Iterable[str], functions: Iterable[str]) -> list[str]:
    """The definitions of what functions call. A loop that they call a few times is written where they call it."""
    calls = "\n".join(functions)
    found = []
    for text in definitions:
        if text.startswith(HEAD):
            head, _, body = text.partition(" {\n")
            name = head[head.index("@") : head.index("(") + 1]
            place = "noinline" if calls.count(f"call void {name}") > FEW else "alwaysinline"
            text = f"{head} {place} {{\n{body}"
        found.append(text)
    return found
