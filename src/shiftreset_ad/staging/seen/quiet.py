"""Whether a way back can reach code of the user's. If it cannot, the watch pauses for it.

A way back carries out the pending operations of a derivative. All that they consist of is looked at: their functions,
what these close over, and their values. Only known kinds of things are quiet, of this library, NumPy and Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary.closed_over import content_of
from shiftreset_ad.control.frames import is_of_a_library, module_of
from shiftreset_ad.control.prompts import Prompt
from shiftreset_ad.staging.seen.parts import (
    DISPATCHED,
    NOT_THERE,
    OURS,
    attributes_of,
    content_of_slot,
    is_of_numpy,
    package_of,
)
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.unwatched import IS_CHEAP, unwatched
from shiftreset_ad.staging.steps.values import QUIET

LEAVES = {*QUIET, complex, bytes, CodeType, type(...), type(NotImplemented)} - {ndarray}
LIBRARIES = {OURS, "numpy", "builtins"}
BASES = {OURS, "typing", "abc"}
KEEPING = (Prompt, Trace)  # they keep what is done, and do not call it
MOST = 32  # things that are looked at for each operation


def unwatched_if_quiet(go_back: Callable[[Any], None], operations: list[Any]) -> Callable[[Any], None]:
    """A way back through these operations, without the watch if they reach no code of the user's."""
    return unwatched(go_back) if IS_CHEAP and are_quiet(operations) else go_back


@unwatched
def are_quiet(operations: list[Any]) -> bool:
    """Whether these operations reach no code of the user's. If there is much to look at, they count as if they did."""
    waiting: list[Any] = [*operations]
    seen: dict[int, Any] = {}  # which holds the things, so that no others get their ids
    left = MOST * len(operations)
    while waiting:
        x = waiting.pop()
        if type(x) in LEAVES or id(x) in seen:
            continue
        seen[id(x)] = x
        left -= 1
        parts = parts_of(x)
        if parts is None or left < 0:
            return False
        waiting += parts
    return True


def parts_of(x: Any) -> list[Any] | None:
    """What a thing consists of, as far as it could be, or hold, something of the user's; None if it may be itself."""
    kind: Any = type(x)
    if kind is tuple or kind is list or kind is set or kind is frozenset:
        return [*x]
    if kind is dict:
        return [*x, *x.values()]
    if kind is slice:
        return [x.start, x.stop, x.step]
    if kind is ndarray:
        return None if x.dtype.hasobject else []
    if kind is FunctionType:
        if not is_of_a_library(x.__code__):
            return None
        return [x.__defaults__, x.__kwdefaults__, *map(content_of, x.__closure__ or ())]
    if kind is partial:
        return [x.func, x.args, x.keywords]
    if kind is MethodType:
        return [x.__func__, x.__self__]
    if kind is BuiltinFunctionType:
        return [] if isinstance(x.__self__, ModuleType | None) else [x.__self__]
    if kind is np.ufunc or kind is DISPATCHED:
        return [] if is_of_numpy(x) else None
    if kind is type:
        return [] if package_of(module_of(x)) in LIBRARIES else None
    if kind is object:
        return []
    if issubclass(kind, np.dtype):
        return []
    if issubclass(kind, np.generic):
        return [] if package_of(module_of(kind)) == "numpy" and not x.dtype.hasobject else None
    slots = slots_in(kind)
    if slots is None:
        return None
    if issubclass(kind, KEEPING):
        return []
    found = [content for slot in slots if (content := content_of_slot(slot, x)) is not NOT_THERE]
    if kind.__dictoffset__:
        found += (attributes_of(x) or {}).values()
    return [*found, *x] if issubclass(kind, tuple) else found


@cache
def slots_in(kind: type) -> list[MemberDescriptorType] | None:
    """The slots of a class of this library; None if it is none, or a class that it inherits from hides its parts."""
    bases = [base for base in kind.__mro__ if base not in (object, tuple)]
    if package_of(module_of(kind)) != OURS or any(package_of(module_of(base)) not in BASES for base in bases):
        return None
    return [
        member for base in kind.__mro__ for member in vars(base).values() if isinstance(member, MemberDescriptorType)
    ]
