"""Writing in place, for all rows at once: each row writes to its own part of the memory of all rows."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from shiftreset_ad.batching.rows import Rows, row, rows_in
from shiftreset_ad.modes.stacks.number import after_rows, fitted_rows
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.broadcasting import shape_of

# Of `x += v` and its kin, with the functions that answer what they write
IN_PLACE = {
    getattr(operator, f"i{name}"): getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
}


def write(count: int, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    """Call a function that writes to its first argument, for each row."""
    target: Any = args[0]
    if function is operator.setitem and not rows_in([args[1]]) and (place := after_rows(args[1])) is not None:
        part = target.rows[place]
        ndim = len(shape_of(part)) - 1
        target.rows[place] = _fitted(args[2], ndim)
        return
    if function in IN_PLACE and type(target) is Rows:
        item = _fitted(args[1], len(target.shape))
        if isinstance(target.rows, Number):
            target.rows[...] = IN_PLACE[function](target.rows, item)  # type: ignore[index]
        else:
            function(target.rows, item)
        return
    for k in range(count):
        view = row(target, k) if isinstance(target.rows, Number) else target.rows[k, ...]
        function(view, *[row(x, k) for x in args[1:]], **{name: row(x, k) for name, x in kwargs.items()})


def _fitted(item: Any, ndim: int) -> Any:
    return fitted_rows(item.rows, ndim) if type(item) is Rows else item
