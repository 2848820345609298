"""The figures as tables in Markdown: times, ratios with their geometric means, and memory."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import geometric_mean

from rich.box import MARKDOWN
from rich.table import Table

from benchmarks.programs.measurement import Row

OURS = "shiftreset_ad", "staged"
Figures = dict[str, dict[str, float]]  # of a program, then of a library; none where a program goes without a library


def tables(rows: list[Row], libraries: list[str]) -> Iterator[Table]:
    """All tables; there are no ratios where nothing is compared."""
    seconds = {row.program: row.seconds for row in rows}
    first_seconds = {row.program: row.first_seconds for row in rows}
    peaks = {row.program: row.peaks for row in rows}
    others = [library for library in libraries if library not in OURS]
    yield table("a derivative, in milliseconds", libraries, scaled(seconds, 1e3), ".3g")
    for mine in OURS:
        if mine in libraries and others:
            quotients = with_means(ratios(seconds, mine, others))
            yield table(f"the time of {mine}, divided by the time of", others, quotients, ".2g")
    yield table("the first call, in milliseconds", libraries, scaled(first_seconds, 1e3), ".3g")
    yield table("the peak of memory, in MB", libraries, with_means(scaled(peaks, 1e-6)), ".3g")


def scaled(figures: Figures, factor: float) -> Figures:
    return {name: {library: factor * figure for library, figure in row.items()} for name, row in figures.items()}


def ratios(figures: Figures, mine: str, others: list[str]) -> Figures:
    return {name: {other: row[mine] / row[other] for other in others if other in row} for name, row in figures.items()}


def with_means(figures: Figures) -> Figures:
    """The figures, and below them the geometric mean of each column."""
    columns: dict[str, list[float]] = {}
    for row in figures.values():
        for library, figure in row.items():
            columns.setdefault(library, []).append(figure)
    return figures | {"geometric mean": {library: geometric_mean(column) for library, column in columns.items()}}


def table(title: str, libraries: list[str], figures: Figures, precision: str) -> Table:
    made = Table("program", box=MARKDOWN, title=title, title_justify="left")
    for library in libraries:
        made.add_column(library, justify="right", no_wrap=True)
    for name, row in figures.items():
        made.add_row(name, *(f"{row[library]:{precision}}" if library in row else "" for library in libraries))
    return made
