"""A fold goes through a value from its parts up, and visits a part that is shared only once.

It does not recur, as values nest deeper than Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any


def fold(
    root: Any,
    parts: Callable[[Any], Iterable[Any]],
    combine: Callable[[Any, list[Any]], Any],
    identity: Callable[[Any], Hashable] = id,
) -> Any:
    """The answer of `combine` for the root; `combine` takes a node and its answers for the parts of the node.

    Two nodes of one `identity` have one answer, as values share their parts: the cost is the number of identities.

    >>> fold((1, ((2, 3), 4)), lambda x: x if isinstance(x, tuple) else (), lambda x, sums: sum(sums) or x)
    10
    """
    done: dict[Hashable, Any] = {}
    answers: list[Any] = []
    node, rest = root, iter(parts(root))
    waiting: list[tuple[Any, Iterator[Any], list[Any]]] = []
    while True:
        for part in rest:
            if identity(part) in done:
                answers.append(done[identity(part)])
                continue
            waiting.append((node, rest, answers))
            node, rest, answers = part, iter(parts(part)), []
            break
        else:
            answer = done[identity(node)] = combine(node, answers)
            if not waiting:
                return answer
            node, rest, answers = waiting.pop()
            answers.append(answer)
