"""Forward mode: numbers that carry a tangent.

`number` has `NumF`, `elementwise` its elementwise operations, and `push` one pass.
"""

from shiftreset_ad.modes.forward.elementwise import make_operation
from shiftreset_ad.modes.forward.number import NumF
from shiftreset_ad.numbers.installing import install_operators

__all__ = ["NumF"]

install_operators(NumF, make_operation)
