"""The numbers that functions close over, or have among their arguments: the parameters of a solution.

A solution has derivatives in them, although the solver runs on plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy import ndarray

from shiftreset_ad.boundary.closed_over import Environment
from shiftreset_ad.control import ControlError
from shiftreset_ad.numbers.number import Number, is_open
from shiftreset_ad.rules.annotations import Primal


class Parameters:
    """What some functions hold: the `numbers` that are being differentiated, and the plain `arrays`.

    Numbers of derivatives that have finished stay as they are: the user may have collected them in a list. The way back
    needs the arrays as they were at the call, so it gives them again.
    """

    __slots__ = ("_array_places", "_environment", "_number_places", "_operator", "arrays", "numbers")

    def __init__(self, operator: str, roots: dict[str, Any]) -> None:
        self._operator = operator
        self._environment = Environment(roots)
        leaves = self._environment.leaves
        self._number_places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Number) and is_open(leaf)]
        self._array_places = [i for i, leaf in enumerate(leaves) if type(leaf) is ndarray]
        self.numbers = [leaves[i] for i in self._number_places]
        self.arrays = [leaves[i] for i in self._array_places]

    def run(self, use: Callable[..., Any], numbers: Sequence[Primal], arrays: Sequence[Any]) -> Any:
        """What `use` makes of the functions and arguments with other numbers and other arrays.

        Raises ControlError if the functions change what they hold and what was copied for them.
        """
        leaves = list(self._environment.leaves)
        for places, given in ((self._number_places, numbers), (self._array_places, arrays)):
            for i, leaf in zip(places, given, strict=True):
                leaves[i] = leaf
        instance = self._environment.with_leaves(leaves, sharing=True)
        answer = use(*instance.roots)
        instance.require_unchanged_structures(self._operator)
        if updates := instance.updates():
            raise ControlError(
                f"{self._operator}: the function assigns to {instance.names_of(updates)}, and it closes over numbers "
                "that are being differentiated. Pass these numbers by args"
            )
        return answer
