"""Stacks: many tangents or cotangents at once, along a new first axis.

`number` has `Stack`, `elementwise` its elementwise operations, and `at_once` says how other functions work on all rows.
`scalars` has a stack of a few floats.
"""

from shiftreset_ad.modes.stacks import scalars
from shiftreset_ad.modes.stacks.at_once import WAYS
from shiftreset_ad.modes.stacks.elementwise import make_operation
from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.modes.stacks.scalars import ScalarStack
from shiftreset_ad.numbers.installing import install_operators
from shiftreset_ad.numbers.number import STACKS, TANGENTS_OF_SCALARS

__all__ = ["ScalarStack", "Stack"]

install_operators(Stack, make_operation)
Stack.at_once = WAYS
STACKS.add(Stack)

install_operators(ScalarStack, scalars.make_operation)
ScalarStack.__rmul__ = scalars.multiplied  # type: ignore[attr-defined]
ScalarStack.__neg__ = scalars.negated  # type: ignore[operator]
TANGENTS_OF_SCALARS.add(ScalarStack)
