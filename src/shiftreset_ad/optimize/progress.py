"""A bar on the terminal while a solver runs, drawn by rich."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from shiftreset_ad.boundary.progress import rich_progress
from shiftreset_ad.optimize.running import StoppingRules


@contextmanager
def watched(operator: str, rules: StoppingRules, progress: bool) -> Iterator[StoppingRules]:
    """The rules, and with `progress`, a callback in them that shows each round. ImportError if rich is missing."""
    if not progress:
        yield rules
        return
    rich = rich_progress(operator, ", or use callback=lambda result: print(result.rounds, result.residual)")
    residual = rich.TextColumn(f"residual {{task.fields[residual]}}, tolerance {rules.tolerance:.1e}")
    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        residual,
        rich.TimeElapsedColumn(),
    )
    with rich.Progress(*columns) as display:
        bar = display.add_task(operator, total=rules.rounds, residual="")

        def callback(result: Any) -> Any:
            display.update(bar, completed=result.rounds, residual=f"{result.residual:.1e}")
            return None if rules.callback is None else rules.callback(result)

        yield replace(rules, callback=callback)
