"""Which functions are the user's own, so that the front end follows calls of them: not those of installed packages."""

from __future__ import annotations

import builtins
import sys
from array import array
from collections import deque
from collections.abc import Hashable
from contextlib import nullcontext, suppress
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

from numpy import ndarray

from shiftreset_ad.control.frames import LIBRARIES, is_followed, is_installed, module_of
from shiftreset_ad.staging.steps.functions import TO_FILES

COMPUTING = {
    *("numpy", "scipy", "shiftreset_ad", "torch", "array_api_compat", "array_api_strict", "abc", "array", "bisect"),
    *("builtins", "cmath", "collections", "copy", "dataclasses", "decimal", "enum", "fractions", "functools", "heapq"),
    *("itertools", "math", "numbers", "operator", "statistics", "string", "types", "typing"),
    *("_operator", "_functools", "_collections", "_bisect", "_heapq"),
}
ACTING = TO_FILES | {builtins.print, builtins.open, builtins.input, builtins.exec, builtins.eval, builtins.__import__}
OURS = f"{__name__.partition('.')[0]}."
MADE_BY_A_STATEMENT = 1 << 9  # a flag of classes
ACTING_METHODS = {"dump", "tofile"}  # of arrays
HELD_WITH_ITEMS = list, dict, ndarray, bytearray, deque, array  # classes in C whose items are looked at
OF_WITH: tuple[Any, ...] = (nullcontext, suppress)  # they do nothing but what the `with` does


def may_act(f: Any) -> bool:
    """Whether a function may do more than compute an answer: it belongs to a library that is not known to compute.

    Functions of the user's are looked into when they are called.
    """
    is_method = isinstance(f, BuiltinFunctionType) and not isinstance(f.__self__, ModuleType | NoneType)
    if is_method:
        module = module_of(type(f.__self__))
    elif isinstance(f, type | FunctionType | BuiltinFunctionType | MethodType):
        module = getattr(f, "__module__", None) or "builtins"
    else:
        module = module_of(type(f))
    if isinstance(f, FunctionType | MethodType):
        code = getattr(f, "__code__", None)  # a method of a function with rules has none
        if is_of_the_user(module, code and code.co_filename):
            return False
    if any(f is x for x in OF_WITH):
        return False
    if module.partition(".")[0] not in COMPUTING:
        is_known = sys.modules.get(module) is not None or (isinstance(f, type) and _has_code_of_the_user(f))
        return not (is_known and is_of_the_user(module))
    return f.__name__ in ACTING_METHODS if is_method else isinstance(f, Hashable) and f in ACTING


def acts_if_written(x: Any) -> bool:
    """Whether `x[index] = item` may do more than change an object whose items are looked at before and after."""
    setitem = getattr(type(x), "__setitem__", None)
    if setitem is None or isinstance(x, HELD_WITH_ITEMS):
        return False
    return may_act(setitem) if isinstance(setitem, FunctionType) else not module_of(type(x)).startswith(OURS)


def _has_code_of_the_user(kind: type) -> bool:
    """Whether a class, of a module that is not there, has a method of the user's: `exec` has made the class."""
    methods = [x for x in vars(kind).values() if isinstance(x, FunctionType)]
    return any(is_of_the_user(x.__module__, x.__code__.co_filename) for x in methods)


def is_of_the_user(module: Any, filename: str | None = None) -> bool:
    """Whether a module is the user's own, or one of ours that is written as the user's own would be."""
    if is_followed(module):
        return True
    if (module or "").partition(".")[0] in LIBRARIES:
        return False
    if filename is None:
        filename = getattr(sys.modules.get(module), "__file__", None)
    return filename is None or not is_installed(filename)


def is_object(x: Any) -> bool:
    """Whether this is an object of a class that a statement has made, and not of a library's, or of ours."""
    kind = type(x)
    return (
        bool(kind.__flags__ & MADE_BY_A_STATEMENT)
        and not issubclass(kind, Enum | type)
        and is_of_the_user(module_of(kind))
    )
