"""Copies in a record of arrays that the program has itself: constants, and the items of lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy import ndarray


class Copies:
    """The memory of copies, by its owner, and of what it may be a copy.

    The originals may become more until the end of the run, as those of a list do to which items are appended.
    """

    def __init__(self) -> None:
        self._originals: dict[int, tuple[Any, list[Any]]] = {}

    def __len__(self) -> int:
        return len(self._originals)

    def note(self, copies: Iterable[Any], originals: list[Any]) -> None:
        """Memory of these owners may have copies of what is in memory of the `originals`, which are owners, too."""
        self._originals.update((id(owner), (owner, originals)) for owner in copies)

    def originals(self, owner: Any) -> list[Any]:
        """The owners of the memory of which this owner's may have copies."""
        _, originals = self._originals.get(id(owner), (None, []))
        return originals


def frozen_copy(array: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """A read-only copy of an array. It repeats its elements where the array does, and takes no memory for that."""
    is_repeated = [stride == 0 and length > 1 for length, stride in zip(array.shape, array.strides, strict=True)]
    if any(is_repeated):
        once = array[tuple([slice(1) if repeated else slice(None) for repeated in is_repeated])]
        return np.broadcast_to(frozen_copy(once), array.shape)
    copy = array.copy("K")
    copy.flags.writeable = False
    return copy
