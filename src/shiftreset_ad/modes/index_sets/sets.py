"""The sets of one run, each with a number of its own: arrays of these numbers stand for arrays of sets."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]  # of sets; 0 is the empty set


class Sets:
    """Sets of inputs, numbered: equal sets have one number, and 0 is the empty set."""

    def __init__(self) -> None:
        self.members: list[frozenset[int]] = [frozenset()]
        self._numbers: dict[frozenset[int], int] = {frozenset(): 0}

    def single(self, first: int, count: int) -> Numbers:
        """The numbers of the sets {first}, {first + 1}, ..."""
        return np.array([self._number(frozenset((i,))) for i in range(first, first + count)], np.int64)

    def union(self, a: Numbers, b: Numbers) -> Numbers:
        """The unions of the sets in two arrays, element by element. The arrays are broadcast."""
        a, b = np.broadcast_arrays(a, b)
        answer = np.where(a == 0, b, a)
        differ = (a != b) & (a != 0) & (b != 0)
        if np.any(differ):
            low, high = np.minimum(a[differ], b[differ]), np.maximum(a[differ], b[differ])
            pairs, places = np.unique(low * len(self.members) + high, return_inverse=True)
            members, (left, right) = self.members, np.divmod(pairs, len(self.members))
            joined = [self._number(members[i] | members[j]) for i, j in zip(left.tolist(), right.tolist(), strict=True)]
            answer[differ] = np.array(joined, np.int64)[places.reshape(-1)]
        return answer

    def union_along_first(self, numbers: Numbers) -> Numbers:
        """The union along the first axis: of all rows."""
        if not len(numbers):
            return np.zeros(numbers.shape[1:], np.int64)
        if numbers.ndim == 1:  # one set, of which many may be parts
            return np.array(self._number(frozenset().union(*[self.members[i] for i in np.unique(numbers)])))
        while len(numbers) > 1:
            half = len(numbers) // 2
            joined = self.union(numbers[:half], numbers[half : 2 * half])
            numbers = np.concatenate([joined, numbers[2 * half :]])
        union: Numbers = numbers[0]
        return union

    def add_into(self, numbers: Numbers, positions: Numbers, added: Numbers) -> None:
        """Unite the sets at these positions of a flat array with the `added` ones; a position may be there twice."""
        while len(positions):
            places, first = np.unique(positions, return_index=True)
            numbers[places] = self.union(numbers[places], added[first])
            positions, added = np.delete(positions, first), np.delete(added, first)

    def rows(self, numbers: Numbers) -> tuple[NDArray[Any], NDArray[Any]]:
        """The members of all sets in a flat array, in order, and where those of each set begin and end."""
        members = [sorted(self.members[i]) for i in numbers.tolist()]
        ends = np.cumsum([0, *map(len, members)], dtype=np.int64)
        return np.fromiter(chain.from_iterable(members), np.int64, ends[-1]), ends

    def _number(self, members: frozenset[int]) -> int:
        number = self._numbers.setdefault(members, len(self.members))
        if number == len(self.members):
            self.members.append(members)
        return number
