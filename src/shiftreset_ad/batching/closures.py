"""Values that a function closes over become arguments, so that it can be recorded with plain ones in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftreset_ad.boundary.closed_over import Environment
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.stand_ins import StagedValue


class Held:
    """The `values` that a function closes over; `put_in` calls the function with others in their place."""

    def __init__(self, environment: Environment, places: list[int]) -> None:
        self._environment = environment
        self._places = places
        self.values = [environment.leaves[i] for i in places]

    def put_in(self, values: list[Any], /, *args: Any, **kwargs: Any) -> Any:
        """The answer of the function, with these values in place of its own."""
        leaves = list(self._environment.leaves)
        for i, value in zip(self._places, values, strict=True):
            leaves[i] = value
        return self._environment.with_leaves(leaves).roots[0](*args, **kwargs)


def held_values(f: Callable[..., Any]) -> Held | None:
    """The numbers that a function closes over, and the values of a run that is recorded; None if there are none."""
    environment = Environment({"f": f})
    places = [i for i in environment.variables() if issubclass(type(environment.leaves[i]), Number | StagedValue)]
    return Held(environment, places) if places else None
