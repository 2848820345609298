"""Stacks: many tangents or cotangents at once, along a new first axis.

`number` has `Stack`, `elementwise` its elementwise operations, and `at_once` says how other functions work on all rows.
"""

from shiftreset_ad.modes.stacks.at_once import WAYS
from shiftreset_ad.modes.stacks.elementwise import make_operation
from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.numbers.installing import install_operators

__all__ = ["Stack"]

install_operators(Stack, make_operation)
Stack.at_once = WAYS
