"""A bar on the terminal while a solver runs, drawn by rich."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from shiftreset_ad.optimize.running import StoppingRules


@contextmanager
def watched(operator: str, rules: StoppingRules, progress: bool) -> Iterator[StoppingRules]:
    """The rules, and with `progress`, a callback in them that shows each round. ImportError if rich is missing."""
    if not progress:
        yield rules
        return
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        raise ImportError(
            f"{operator}: progress=True draws a bar by rich, and rich is not installed; install it by pip install "
            "rich, or use callback=lambda result: print(result.rounds, result.residual)"
        ) from None
    residual = TextColumn(f"residual {{task.fields[residual]}}, tolerance {rules.tolerance:.1e}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), residual, TimeElapsedColumn())
    with Progress(*columns) as display:
        bar = display.add_task(operator, total=rules.rounds, residual="")

        def callback(result: Any) -> Any:
            display.update(bar, completed=result.rounds, residual=f"{result.residual:.1e}")
            return None if rules.callback is None else rules.callback(result)

        yield replace(rules, callback=callback)
