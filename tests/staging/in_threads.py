"""A function that several threads call at once answers each of them as it answers one alone."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any


def require_same_in_threads(
    f: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
    times: int = 20,
    same: Callable[[Any, Any], bool] = operator.eq,
) -> None:
    """Require that four threads get the answers that this thread gets, in all their `times` rounds of calls."""
    expected = [f(*call) for call in calls]
    wrong: list[Any] = []

    def run() -> None:
        for _ in range(times):
            wrong.extend(call for call, answer in zip(calls, expected, strict=True) if not same(f(*call), answer))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
