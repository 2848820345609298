"""The parameters of a problem as one row, as solvers want them: their cotangents are components of a state."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.rules.broadcasting import shape_of


class Rows:
    """The structure of some parameters, of which there may be none: `size` is that of their row."""

    __slots__ = ("_shapes", "_sizes", "_structure", "size")

    def __init__(self, params: Any) -> None:
        leaves, self._structure = trees.flatten(params)
        self._shapes = list(map(shape_of, leaves))
        self._sizes = [int(np.prod(shape)) for shape in self._shapes]
        self.size = sum(self._sizes)

    def parts(self, params: Any) -> list[Any]:
        """The parts of a row, from a structure like this one."""
        return [np.reshape(x, (-1,)) for x in trees.flatten(params)[0]]

    def tree(self, row: Any) -> Any:
        """The structure with the elements of a row."""
        ends = np.cumsum(self._sizes, dtype=int)
        leaves = [
            np.reshape(row[end - size : end], shape)
            for shape, size, end in zip(self._shapes, self._sizes, ends, strict=True)
        ]
        return trees.unflatten(self._structure, leaves)
