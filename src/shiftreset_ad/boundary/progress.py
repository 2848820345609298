"""Bars on the terminal are drawn by rich, which is not a part of the library."""

from __future__ import annotations

from typing import Any


def rich_progress(operator: str, instead: str = "") -> Any:
    """The module `rich.progress`, for progress=True; ImportError with the remedy, or another one, if it is missing."""
    try:
        import rich.progress
    except ImportError:
        raise ImportError(
            f"{operator}: progress=True draws a bar by rich, and rich is not installed; install it by pip install "
            f"rich{instead}"
        ) from None
    return rich.progress
