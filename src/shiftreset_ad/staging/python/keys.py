"""Keys of steps and of their arguments: if the keys of two steps are equal, the steps have the same answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged

NOT_RAISING = {"ignore", "warn"}
FUNCTIONS = {FunctionType, BuiltinFunctionType, np.ufunc}  # which are keys themselves


def key_of_step(step: Step, place: Callable[[Staged], Any]) -> Any:
    """The key of a step without blocks, by the places of staged values."""
    args = [place(x) if type(x) is Staged else key_of(x, place) for x in step.args]
    options = [(name, key_of(option, place)) for name, option in step.kwargs.items()] if step.kwargs else ()
    function = step.function
    key = function if type(function) in FUNCTIONS else _key_of_object(function)
    # In a block that is not reached, a test may have another answer than the same test outside of the block.
    asked = step.is_question and (step.expected if type(step.expected) is bool else "another answer")
    return key, (*args,), (*options,), asked, _strict(step.errors)


def key_of(x: Any, place: Callable[[Staged], Any]) -> Any:
    """A key: if the keys of two arguments are equal, the arguments are the same, by the places of staged values."""
    kind = type(x)
    if kind is Staged:
        return Staged, place(x)
    if kind is slice:
        return slice, key_of((x.start, x.stop, x.step), place)
    if kind is tuple or kind is list:
        return kind, tuple([key_of(part, place) for part in x])
    if kind is dict:
        return dict, tuple([(name, key_of(part, place)) for name, part in x.items()])
    if kind is float:
        return float, x.hex()  # 0.0 and -0.0 differ
    if kind is complex:
        return complex, x.real.hex(), x.imag.hex()
    if kind in (int, bool, str, type(None)):
        return kind, x
    if isinstance(x, np.generic) and not x.dtype.hasobject:
        return kind, x.dtype, x.tobytes()
    return _key_of_object(x)


def _key_of_object(x: Any) -> Any:
    """A function itself, as a bound method is a new one each time; the identity of any other object."""
    try:
        return (callable, hash(x), x) if callable(x) else (type(x), id(x))
    except TypeError:
        return type(x), id(x)


def _strict(errors: Mapping[str, str] | None) -> tuple[str, ...] | None:
    """The reactions to floating-point errors if some are more than warnings; None if the reactions do not matter."""
    return None if errors is None or NOT_RAISING.issuperset(errors.values()) else tuple(errors.values())
