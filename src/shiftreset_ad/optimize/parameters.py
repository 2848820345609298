"""The numbers that functions close over, or have among their arguments: the parameters of a solution.

A solution has derivatives in them, although the solver runs on plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy import ndarray

from shiftreset_ad.boundary.closed_over import Environment
from shiftreset_ad.boundary.contents import ReadContents
from shiftreset_ad.boundary.reach import Reach
from shiftreset_ad.control import ControlError
from shiftreset_ad.numbers.number import Number, is_open
from shiftreset_ad.numbers.plain_arrays import is_read_only, same
from shiftreset_ad.rules.annotations import Primal


class Parameters:
    """What some functions hold: the `numbers` that are being differentiated, and the plain arrays as they are now.

    The arrays are kept if there are such numbers, or if they are among the other operands of a solution (`is_kept`).
    Numbers of derivatives that have finished stay as they are: the user may have collected them in a list.
    """

    __slots__ = ("_arrays", "_environment", "_operator", "_places", "_watch", "is_kept", "numbers")

    def __init__(self, operator: str, roots: dict[str, Any], is_kept: bool = False) -> None:
        self._operator = operator
        self._environment = Environment(roots)
        leaves = self._environment.leaves
        self._places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Number) and is_open(leaf)]
        self.numbers = [leaves[i] for i in self._places]
        self.is_kept = is_kept or bool(self.numbers)
        if self.is_kept:
            self._arrays = [
                (i, x if is_read_only(x) else x.copy("K")) for i, x in enumerate(leaves) if type(x) is ndarray
            ]
            self._watch = ReadContents(
                Reach.of(self._environment).contents(),
                f"{operator}: the function reads",
                "since the call, and the derivative needs it as it was. Pass it by args, or let the function close "
                "over it",
            )

    def run(self, use: Callable[..., Any], numbers: Sequence[Primal]) -> Any:
        """What `use` makes of the functions and arguments with other numbers.

        It may be much later: an array that the program has written to meanwhile is replaced by a copy of what it was.
        Raises ControlError if the program has changed what the functions read elsewhere, or if the functions change
        what was copied for them.
        """
        leaves = list(self._environment.leaves)
        for i, number in zip(self._places, numbers, strict=True):
            leaves[i] = number
        for i, before in self._arrays:
            if not same(leaves[i], before):
                leaves[i] = before.copy("K")
        instance = self._environment.with_leaves(leaves, sharing=True)
        answer = self._watch.run(use, *instance.roots)
        if updates := instance.checked_updates(self._operator):
            raise ControlError(
                f"{self._operator}: the function assigns to {instance.names_of(updates)}, and it closes over numbers "
                "that are being differentiated. Pass these numbers by args"
            )
        return answer
