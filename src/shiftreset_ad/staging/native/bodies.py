"""The lines of a function that calls itself, which are written in one another in place of calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from shiftreset_ad.staging.native.llvm import ARRAY, INTEGER, Value
from shiftreset_ad.staging.steps.blocks import Control, Fork
from shiftreset_ad.staging.steps.trace import Block

NAME = re.compile(r"%([\w.]+)|^([\w.]+):", re.MULTILINE)  # of a value, or at the beginning of a block
SHARED = {"frame", "around", "top", "status", "stop"}  # the names that bodies inside one another have in common
CALLS, END_OF_CALLS = "; calls", "; end of calls"  # lines around the branch that calls, or the first line of all


class Again(NamedTuple):
    """A call of a function in its own body: its number, the arguments, and what it answers."""

    number: int
    args: list[Value]
    answers: list[Value]


def naming(suffix: str, bound: Mapping[str, str]) -> Callable[[str], str]:
    """A function that gives the names in a line their suffix, but for those that are shared, or `bound` to others."""

    def name(found: re.Match[str]) -> str:
        value, block = found.groups()
        if block is not None:
            return f"{block}{suffix}:"
        return bound.get(value) or (found[0] if value in SHARED else f"%{value}{suffix}")

    return lambda line: NAME.sub(name, line)


def calling_branch(body: Block) -> Block | None:
    """The branch of a function that has all its calls and loops; None if they are elsewhere, too.

    Half of the activations of a tree are in the other branch, and need not look how deep they are.
    """
    controls = [step for step in body.steps if isinstance(step, Control)]
    if len(controls) != 1 or not isinstance(controls[0], Fork):
        return None
    found = [block for block in controls[0].blocks if any(isinstance(step, Control) for step in block.steps)]
    return found[0].origin if len(found) == 1 else None


def structure(forms: list[str]) -> str:
    """What a function returns: its status, the first free byte for frames, and the numbers that it answers."""
    return f"{{{', '.join([INTEGER, ARRAY, *forms])}}}"
