"""Debugging for people: `debug()` names the line of the first NaN, `trace` shows all, `handling` swaps what is done.

`watching` has `debug` and looks for NaNs and infinities. `finite` finds the element of a number that is not finite.
`handling` gives each operation, a `Step` of `steps`, to a handler of the user's. `tracing` has such a handler that
writes everything down; `tables`, `drawings` and `stepping` show what it wrote.
"""
