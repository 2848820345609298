"""Truncated power series: Taylor coefficients, and derivatives of any order, in one pass.

`numbers` has the number that carries its coefficients along, `operations` gives it its elementwise operations, by the
recurrences of `rules.recurrences`, and `taylor` the operators.
"""

from shiftreset_ad.series.taylor import derivative, taylor

__all__ = ["derivative", "taylor"]
