"""The programs that are measured, written once over each library's own operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def scalar_chain(x: Any, operations: int) -> Any:
    """Multiplications and additions, one after the other, with a result that stays near 1."""
    y = x
    for _ in range(operations // 2):
        y = y * x + x
    return y


def array_chain(x: Any, w: Any, operations: int, tanh: Callable[[Any], Any]) -> Any:
    """tanh, multiply and add, one after the other, element by element; both `x` and `w` are differentiated."""
    y = x
    for _ in range(operations // 3):
        y = tanh(y) * w + x
    return y


def indexing_loop(x: Any) -> Any:
    """The sum of squares, read element by element."""
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] * x[i]
    return total
