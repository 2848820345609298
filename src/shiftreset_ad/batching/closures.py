"""Values that a function closes over become arguments, so that it can be recorded with plain ones in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftreset_ad.boundary.closed_over import Environment
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.stand_ins import Wrapped


class Held:
    """The `values` that a function closes over; `put_in` calls the function with others in their place."""

    __slots__ = ("_environment", "_places", "_values")

    def __init__(self, environment: Environment, places: list[int]) -> None:
        self._environment = environment
        self._places = places
        self._values = [environment.leaves[i] for i in places]

    @property
    def values(self) -> list[Any]:
        """The values that the function closes over."""
        return self._values

    def put_in(self, values: list[Any], /, *args: Any, **kwargs: Any) -> Any:
        """The answer of the function, with these values in place of its own."""
        leaves = list(self._environment.leaves)
        for i, value in zip(self._places, values, strict=True):
            leaves[i] = value
        return self._environment.with_leaves(leaves).roots[0](*args, **kwargs)


def held_values(f: Callable[..., Any]) -> Held | None:
    """The numbers, values of a run that is recorded, and arrays of other libraries that a function closes over.

    None if there are none.
    """
    environment = Environment({"f": f})
    places = [i for i in environment.variables() if issubclass(type(environment.leaves[i]), Number | Wrapped)]
    return Held(environment, places) if places else None
