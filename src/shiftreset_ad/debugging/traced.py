"""One operation of a trace: what happened to it on both ways."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

# ("there", index) for an operation, and ("back", index) when it was resumed.
Moment: TypeAlias = tuple[str, int]


@dataclass(eq=False)
class Traced:
    """One operation of a trace.

    `index` is its place on the way there, and `resumed` is its place on the way back: 0 for the first that was resumed;
    None if there was no way back through it. `uses` and `makes` are the numbers of its operands and answers: equal
    numbers mean the same operand. `shares` has, for each operand that it adds to, the adjoint before and after.
    """

    index: int
    name: str
    part_of: str
    line: str
    lineno: int
    filename: str
    level: int
    during: int | None
    operands: list[Any]
    value: Any
    uses: list[int]
    makes: list[int]
    resumed: int | None = None
    adjoint: Any = None
    shares: list[tuple[int, Any, Any]] = field(default_factory=list)
