"""Debugging for people: `debug()`, which names the line that makes the first NaN or infinity.

`watching` has `debug` and looks for NaNs and infinities. `finite` finds the element of a number that is not finite.
"""
