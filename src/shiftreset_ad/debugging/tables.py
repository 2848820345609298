"""A trace as a table: in plain text, for a terminal by rich, and in HTML for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from shiftreset_ad.debugging.traced import Traced

COLUMNS = ("there", "line", "operation", "level", "value", "back", "adjoint", "adds to its operands")
NUMBERS = frozenset({"there", "level", "back"})


def shown(x: Any) -> str:
    """A short text for a value: small arrays in full, and large arrays by their shape."""
    if x is None:
        return ""
    if isinstance(x, list | tuple):
        return "[" + ", ".join(map(shown, x)) + "]"
    if isinstance(x, bool | np.bool_ | str):
        return str(x)
    if isinstance(x, float | np.floating | int | np.integer):
        return f"{x:.6g}"
    if isinstance(x, complex | np.complexfloating):
        return f"{x:.4g}"
    if isinstance(x, np.ndarray):
        if x.size > 6:
            return f"array of shape {x.shape}"
        return np.array2string(x, precision=4, separator=", ", max_line_width=1000).replace("\n", "")
    return f"{type(x).__name__}"


def operation(step: Traced) -> str:
    """What was called, of what it is a part, or on which way back it ran."""
    name = step.name or "an operation"
    if step.part_of:
        name += f", in {step.part_of}"
    return name if step.during is None else f"{name}, on the way back of {step.during}"


def row(step: Traced) -> list[str]:
    """The cells of an operation, by the `COLUMNS`."""
    shares = "; ".join(f"{shown(before) or '0'} to {shown(after) or '0'}" for _, before, after in step.shares)
    return [
        str(step.index),
        step.line,
        operation(step),
        str(step.level),
        shown(step.value),
        "" if step.resumed is None else str(step.resumed),
        shown(step.adjoint) if step.adjoint is not None or step.resumed is None else "0",
        shares,
    ]


def text(steps: Sequence[Traced]) -> str:
    """The table in plain text."""
    rows = [list(COLUMNS), *map(row, steps)]
    widths = [max(len(cells[i]) for cells in rows) for i in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip() for cells in rows
    )


def rich_table(steps: Sequence[Traced]) -> Any:
    """The table for a terminal; it needs rich."""
    from rich.table import Table

    table = Table()
    for name in COLUMNS:
        table.add_column(name, justify="right" if name in NUMBERS else "left")
    for step in steps:
        table.add_row(*map(_unmarked, row(step)))
    return table


def _unmarked(cell: str) -> Any:
    """The cell as it is: rich would read [4, 5] as a style."""
    from rich.text import Text

    return Text(cell)


def html(steps: Sequence[Traced], here: int | None = None, hidden: frozenset[tuple[int, str]] = frozenset()) -> str:
    """The table in HTML; the row of the operation `here` is marked, and the cells in `hidden` are empty."""
    head = "".join(f"<th>{escape(name)}</th>" for name in COLUMNS)
    body = []
    for step in steps:
        cells = [
            "" if (step.index, name) in hidden else f"<code>{escape(cell)}</code>" if name == "line" else escape(cell)
            for name, cell in zip(COLUMNS, row(step), strict=True)
        ]
        style = ' style="background:#ffe9a8"' if step.index == here else ""
        body.append(f"<tr{style}>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells) + "</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
