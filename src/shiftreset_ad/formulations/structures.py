"""Structured arguments: the numbers in nested tuples, lists, dicts, dataclasses and sums, taken out and put back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftreset_ad.boundary.trees import flatten, unflatten
from shiftreset_ad.formulations.overloading import Overloaded
from shiftreset_ad.numbers.number import Number

NUMBERS = (float, np.floating, Overloaded, Number)


class Structure:
    """A structure: its floats, and numbers of other derivatives, are taken out as `numbers`; the other leaves stay.

    Raises TypeError, in the name of `operator`, if there are no numbers, unless the structure `may_be_constant`.

    >>> Structure((1.0, [2.0, "name"])).with_numbers([3.0, 4.0])
    (3.0, [4.0, 'name'])
    """

    def __init__(self, tree: Any, may_be_constant: bool = False, operator: str = "grad") -> None:
        self._leaves, self._spec = flatten(tree)
        self._places = [i for i, x in enumerate(self._leaves) if isinstance(x, NUMBERS)]
        self.numbers = [self._leaves[i] for i in self._places]
        if not (self.numbers or may_be_constant):
            raise TypeError(
                f"{operator}: the argument {tree!r:.60} has no floating-point number in it; write 3.0 for 3"
            )

    def with_numbers(self, numbers: Sequence[Any], other: Callable[[Any], Any] = lambda leaf: leaf) -> Any:
        """The structure with these numbers; `other` may change the other leaves."""
        return self._filled(list(map(other, self._leaves)), numbers)

    def derivative(self, numbers: Sequence[Any]) -> Any:
        """The structure of a derivative: these numbers in their places, and None for every other leaf."""
        return self._filled([None] * len(self._leaves), numbers)

    def is_like(self, that: Structure) -> bool:
        """Whether both have their numbers in the same places. Other leaves do not count; one may have None there.

        >>> Structure((1.0, "name")).is_like(Structure((2.0, None)))
        True
        """
        return bool(self._outline() == that._outline())

    def _outline(self) -> Any:
        return flatten(self.derivative([0.0] * len(self.numbers)))[1]

    def _filled(self, leaves: list[Any], numbers: Sequence[Any]) -> Any:
        for i, number in zip(self._places, numbers, strict=True):
            leaves[i] = number
        return unflatten(self._spec, leaves)


def scalar(result: Any, operator: str = "grad") -> Any:
    """The result of a function that `operator` differentiates, if it is one number; otherwise TypeError.

    >>> scalar((1.0, 2.0))
    Traceback (most recent call last):
    TypeError: grad: the function must return one number, and not (1.0, 2.0); return one of these, or their sum
    """
    if isinstance(result, (*NUMBERS, int, np.integer)) and not isinstance(result, bool):
        return result
    raise TypeError(
        f"{operator}: the function must return one number, and not {result!r:.60}; return one of these, or their sum"
    )
