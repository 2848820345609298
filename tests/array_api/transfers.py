"""How often elements of a tensor of PyTorch go to the host, or come from it. This can be counted on every device.

A graphics card has to wait for each of these: the host reads an element, or all of them, or sends an array.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

TorchFunctionMode: Any = pytest.importorskip("torch.overrides", reason="PyTorch is not installed").TorchFunctionMode

READS = {
    *("__dlpack__", "__array__", "numpy", "tolist", "item", "cpu"),
    *("__bool__", "__float__", "__int__", "__complex__", "__index__", "__contains__"),
}
SENDS = {"asarray", "as_tensor", "tensor", "from_numpy", "from_dlpack"}


class Transfers(TorchFunctionMode):
    """Counts the `reads` and the `sent` arrays inside a `with`, by the names of PyTorch's functions."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(function, "__name__", str(function))
        if name in READS or (name == "to" and "cpu" in map(str, args[1:])):
            self.reads[name] += 1
        if name in SENDS and isinstance(args[0], np.ndarray | list | int | float | complex):
            self.sent[name] += 1
        return function(*args, **(kwargs or {}))
