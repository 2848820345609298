"""The results as a table: times, and ratios of the first tool to the others."""

from __future__ import annotations

from rich.table import Table

from .results import Case, Result, ratio


def table(results: dict[Case, dict[str, Result]], tools: list[str]) -> Table:
    ours, *others = tools
    columns = *(f"{tool}, ms" for tool in tools), *(f"to {tool}" for tool in others)
    made = Table("eval", "function", "input", *columns, title=f"least times; ratios below 1 are for {ours}")
    for case, of_tools in results.items():
        ratios = (ratio(of_tools, ours, other) for other in others)
        made.add_row(
            *case,
            *(of_tools[tool].shown if tool in of_tools else "" for tool in tools),
            *("" if r is None else f"{r:.3f}" for r in ratios),
        )
    return made
