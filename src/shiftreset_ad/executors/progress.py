"""A bar on the terminal that moves by a step for each shard, drawn by rich."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from shiftreset_ad.boundary.progress import rich_progress

Advance: TypeAlias = Callable[[], None]


@contextmanager
def bar(name: str, count: int, shown: bool) -> Iterator[Advance]:
    """What to call for each shard that is done. ImportError if the bar is to be shown, and rich is missing."""
    if not shown:
        yield lambda: None
        return
    with rich_progress(name).Progress() as display:
        task = display.add_task(name, total=count)
        yield lambda: display.advance(task)
