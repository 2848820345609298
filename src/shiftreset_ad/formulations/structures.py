"""Structured arguments: the numbers in nested tuples, lists, dicts, dataclasses and sums, taken out and put back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftreset_ad.formulations.overloading import Overloaded
from shiftreset_ad.trees import flatten, unflatten


class Structure:
    """A structure with its floats, and numbers of other derivatives, taken out as `numbers`; the other leaves stay.

    >>> Structure((1.0, [2.0, "name"])).with_numbers([3.0, 4.0])
    (3.0, [4.0, 'name'])
    """

    def __init__(self, tree: Any) -> None:
        self._leaves, self._spec = flatten(tree)
        self._places = [i for i, x in enumerate(self._leaves) if isinstance(x, (float, np.floating, Overloaded))]
        self.numbers = [self._leaves[i] for i in self._places]

    def with_numbers(self, numbers: Sequence[Any]) -> Any:
        """The structure with other numbers, and every other leaf as it was."""
        return self._filled(list(self._leaves), numbers)

    def derivative(self, numbers: Sequence[Any]) -> Any:
        """The structure of a derivative: the numbers in their places, and None for every other leaf."""
        return self._filled([None] * len(self._leaves), numbers)

    def _filled(self, leaves: list[Any], numbers: Sequence[Any]) -> Any:
        for i, number in zip(self._places, numbers, strict=True):
            leaves[i] = number
        return unflatten(self._spec, leaves)
