"""The figures as tables in Markdown: times, ratios with their geometric means, and memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import geometric_mean

from rich.box import MARKDOWN
from rich.table import Table

from benchmarks.programs.measurement import Row

OURS = "shiftreset_ad", "staged"


def tables(rows: list[Row]) -> Iterator[Table]:
    """All tables; there are no ratios where nothing is compared."""
    libraries = list(rows[0].seconds)
    times = table("a derivative, in milliseconds", libraries)
    for row in rows:
        times.add_row(row.program, *(f"{row.seconds[library] * 1e3:.3g}" for library in libraries))
    yield times
    others = [library for library in libraries if library not in OURS]
    yield from (ratios(rows, mine, others) for mine in OURS if mine in libraries and others)
    peaks = table("the peak of memory, in MB", rows[0].peaks)
    for row in rows:
        peaks.add_row(row.program, *(f"{row.peaks[library] / 1e6:.3g}" for library in row.peaks))
    yield peaks


def ratios(rows: list[Row], mine: str, others: list[str]) -> Table:
    made = table(f"the time of {mine}, divided by the time of", others)
    figures = [[row.seconds[mine] / row.seconds[other] for other in others] for row in rows]
    for row, of_row in zip(rows, figures, strict=True):
        made.add_row(row.program, *(f"{ratio:.2f}" for ratio in of_row))
    made.add_row("geometric mean", *(f"{geometric_mean(column):.2f}" for column in zip(*figures, strict=True)))
    return made


def table(title: str, columns: Iterable[str]) -> Table:
    made = Table("program", box=MARKDOWN, title=title, title_justify="left")
    for column in columns:
        made.add_column(column, justify="right", no_wrap=True)
    return made
