"""The figures as tables in Markdown: times, memory, and ratios with their geometric means."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import geometric_mean

from rich.box import MARKDOWN
from rich.table import Table

from benchmarks.programs.measurement import Row

OURS = "shiftreset_ad", "staged"


def table(title: str, names: Iterable[str]) -> Table:
    made = Table("program", box=MARKDOWN, title=title, title_justify="left")
    for name in names:
        made.add_column(name, justify="right", no_wrap=True)
    return made


def of_times(rows: list[Row]) -> Table:
    made = table("a derivative, in milliseconds", rows[0].seconds)
    for row in rows:
        made.add_row(row.program, *(f"{seconds * 1e3:.3g}" for seconds in row.seconds.values()))
    return made


def of_peaks(rows: list[Row]) -> Table:
    made = table("the peak of memory, in MB", rows[0].peaks)
    for row in rows:
        made.add_row(row.program, *(f"{peak / 1e6:.3g}" for peak in row.peaks.values()))
    return made


def of_ratios(rows: list[Row]) -> Table:
    """What ours takes for one second of each other library, as it is and staged."""
    names = [
        (mine, other) for mine in OURS for other in rows[0].seconds if mine in rows[0].seconds and other not in OURS
    ]
    made = table("ratios of times, below 1 where ours takes less", [f"{mine} / {other}" for mine, other in names])
    ratios = [[row.seconds[mine] / row.seconds[other] for mine, other in names] for row in rows]
    for row, figures in zip(rows, ratios, strict=True):
        made.add_row(row.program, *(f"{ratio:.2f}" for ratio in figures))
    made.add_row("geometric mean", *(f"{geometric_mean(column):.2f}" for column in zip(*ratios, strict=True)))
    return made
