"""Tables on the terminal: drawn by rich where it is installed, and in plain columns otherwise."""

from __future__ import annotations

from collections.abc import Sequence


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of text under their columns, set to the right."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        _print_plain(title, columns, rows)
        return
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(width=100).print(table)


def _print_plain(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[i]) for row in (columns, *rows)) for i in range(len(columns))]
    print(title)
    for row in (columns, ["-" * width for width in widths], *rows):
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    print()
