"""A bar on the terminal while a solver runs, drawn by rich."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from shiftreset_ad.boundary.progress import rich_progress
from shiftreset_ad.optimize.running import StoppingRules

Answer = TypeVar("Answer")


def watched(operator: str, rules: StoppingRules, progress: bool, run: Callable[[StoppingRules], Answer]) -> Answer:
    """Run a solver by the rules, and with `progress`, by a callback that shows each round. ImportError without rich."""
    return _shown(operator, rules, run) if progress else run(rules)


def _shown(operator: str, rules: StoppingRules, run: Callable[[StoppingRules], Answer]) -> Answer:
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

        return run(replace(rules, callback=callback))
