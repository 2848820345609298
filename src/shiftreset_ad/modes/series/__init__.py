"""Truncated power series: numbers that carry their Taylor coefficients along, to any order in one pass.

`number` has the number, `elementwise` its operations, by the recurrences of `rules.numpy.recurrences`.
"""

from shiftreset_ad.modes.series.elementwise import make_operation
from shiftreset_ad.modes.series.number import Series
from shiftreset_ad.numbers.installing import install_operators

__all__ = ["Series"]

install_operators(Series, make_operation)
