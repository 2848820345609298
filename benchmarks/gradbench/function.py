"""A function of an eval: what is timed of it, how its input is read, and how its output is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def as_json(output: Any) -> Any:
    """The same structure of lists and Python numbers."""
    if isinstance(output, dict):
        return {key: as_json(part) for key, part in output.items()}
    if isinstance(output, (list, tuple)):
        return [as_json(part) for part in output]
    return output.tolist() if isinstance(output, (np.ndarray, np.generic)) else output


@dataclass(frozen=True)
class Function:
    """`compute` is timed; `read` makes its arguments of the message's input, and `write` the message's output."""

    compute: Callable[..., Any]
    read: Callable[[Any], tuple[Any, ...]]
    write: Callable[[Any], Any] = as_json
