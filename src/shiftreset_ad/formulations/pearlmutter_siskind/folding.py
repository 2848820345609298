"""Bottom-up traversal without recursion, as values nest deeper than Python's stack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


def fold(root: Any, parts: Callable[[Any], Iterable[Any]], combine: Callable[[Any, list[Any]], Any]) -> Any:
    """What `combine` answers for the root, given its answers for the root's parts.

    >>> fold((1, ((2, 3), 4)), lambda x: x if isinstance(x, tuple) else (), lambda x, sums: sum(sums) or x)
    10
    """
    answers: list[Any] = []
    node, rest = root, iter(parts(root))
    waiting: list[tuple[Any, Iterator[Any], list[Any]]] = []
    while True:
        for part in rest:
            waiting.append((node, rest, answers))
            node, rest, answers = part, iter(parts(part)), []
            break
        else:
            answer = combine(node, answers)
            if not waiting:
                return answer
            node, rest, answers = waiting.pop()
            answers.append(answer)
