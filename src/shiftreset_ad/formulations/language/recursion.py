"""Recursive functions whose calls wait on a list, as terms may be deeper than Python's stack.

Such a function is a generator: `y = yield f(x)` is the recursive call `y = f(x)`. The first call is `answer_of(f(x))`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import wraps
from typing import Any, TypeAlias, TypeVar

S = TypeVar("S")
T = TypeVar("T")
Recursion: TypeAlias = Generator[Any, Any, T]


def answer_of(call: Recursion[T]) -> T:
    """The result of a recursive call.

    >>> def factorial(n):
    ...     return n * (yield factorial(n - 1)) if n else 1
    >>> answer_of(factorial(2000)) % 2003
    1001
    """
    waiting: list[Recursion[Any]] = [call]
    answer: Any = None
    while waiting:
        try:
            inner = waiting[-1].send(answer)
        except StopIteration as finished:
            waiting.pop()
            answer = finished.value
        else:
            waiting.append(inner)
            answer = None
    return answer  # type: ignore[no-any-return]


def for_each(function: Callable[[S], Recursion[T]], items: Iterable[S]) -> Recursion[list[T]]:
    """Recursive calls for each of several items: `ys = yield for_each(f, xs)`."""
    answers: list[T] = []
    for item in items:
        answers += [(yield function(item))]
    return answers


def nesting(gradient: Callable[..., T]) -> Callable[..., T]:
    """A function whose operations nest on Python's stack; at the limit, its error says what to do."""

    @wraps(gradient)
    def with_remedy(*args: Any) -> T:
        try:
            return gradient(*args)
        except RecursionError:
            raise RecursionError(
                "grad: in explicit continuation-passing style, operations nest on Python's stack; raise the limit by "
                "sys.setrecursionlimit, or use the room `prompts`, where operations do not nest"
            ) from None

    return with_remedy
