"""The parts of the things that a function sees: names in code, attributes, slots, elements, random states."""

from __future__ import annotations

import abc
import dis
import random
import struct
import sys
import threading
import weakref
from array import array as compact_array
from collections import deque, namedtuple
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from enum import Enum
from functools import cache, lru_cache, partial
from operator import attrgetter, itemgetter, methodcaller
from types import (
    BuiltinMethodType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from shiftreset_ad.array_api import is_foreign
from shiftreset_ad.boundary.closed_over import content_of
from shiftreset_ad.control.frames import is_of_a_library, module_of
from shiftreset_ad.staging.steps.trace import UnstageableError

Slot = GetSetDescriptorType | MemberDescriptorType
NOT_THERE = object()
CACHE = type(cache(lambda: None))
OF_AN_ABSTRACT_CLASS: Any = type(vars(abc.ABC)["_abc_impl"])  # which knows the classes that are registered with it
PLAIN = (float, int, complex, str, bytes, bool, type(None), np.generic)
RANDOM = "it uses random numbers. Draw them outside, and make them an argument"
GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
KEYS = {str, int, bool, float, bytes, type(None), type}
MEMORY = ("ctypes", "_ctypes", "mmap", "multiprocessing")
VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
CONTAINERS = (dict, MappingProxyType, list, tuple, set, frozenset, deque, bytearray, memoryview, compact_array, *VIEWS)
DISPATCHED: type = type(np.sum)  # functions of NumPy's that ask their arguments for an answer
FIELD: Any = type(vars(namedtuple("_", "field"))["field"])  # the class of the attributes of a namedtuple
# Of the objects of C that hash by identity, these never change, or their changes do not matter.
HARMLESS = (
    *(BuiltinMethodType, MethodDescriptorType, GetSetDescriptorType, MemberDescriptorType, CodeType, np.ufunc),
    *(WrapperDescriptorType, property, staticmethod, classmethod, struct.Struct, attrgetter, itemgetter, methodcaller),
    *(type(threading.Lock()), type(threading.RLock()), type(...), type(NotImplemented), DISPATCHED),
)
OURS = __name__.partition(".")[0]
FRONT = f"{OURS}.staging.front."
FOUNDATIONS = {OURS, "numpy", "scipy", "greenlet", "optree", *sys.stdlib_module_names} - {"__main__"}


def package_of(module: Any) -> str:
    return module.partition(".")[0] if isinstance(module, str) else "builtins"  # some builtins have a property there


def state_of(x: Any) -> Callable[[], Any] | None:
    """A function that gives the state of a generator of random numbers; None for anything else."""
    if not isinstance(x, GENERATORS):
        return None
    if isinstance(x, np.random.Generator):
        return lambda: x.bit_generator.state
    if isinstance(x, np.random.BitGenerator):
        return lambda: x.state
    if isinstance(x, np.random.RandomState):
        return lambda: x.get_state(legacy=False)
    if isinstance(x, random.SystemRandom):
        raise UnstageableError(RANDOM)
    found: Callable[[], Any] = x.getstate
    return found


def put_state(x: Any, state: Any) -> None:
    """Give a generator of random numbers a state that it had."""
    if isinstance(x, np.random.Generator):
        x.bit_generator.state = state
    elif isinstance(x, np.random.BitGenerator):
        x.state = state
    elif isinstance(x, np.random.RandomState):
        x.set_state(state)
    else:
        x.setstate(state)


def is_of_numpy(x: Any) -> bool:
    """Whether this is one of NumPy's functions."""
    kind = type(x)
    if kind is np.ufunc:
        return vars(np).get(x.__name__) is x
    if kind is DISPATCHED:
        code = getattr(x._implementation, "__code__", None)
        return code is None or is_of_a_library(code)
    return False


def is_made_by_python(kind: type) -> bool:
    """Whether a class was made by a statement, so that an object may get another class of this kind."""
    return bool(kind.__flags__ & 1 << 9)


def is_of_the_front(x: FunctionType | type) -> bool:
    """Whether a function or a class is a part of the front end, which rewritten code calls."""
    return module_of(x).startswith(FRONT)


def makings_of(function: FunctionType) -> tuple[Any, ...]:
    return function.__code__, function.__defaults__, function.__kwdefaults__


@lru_cache(256)
def disassembled(code: CodeType) -> list[dis.Instruction]:
    """The instructions of a piece of code."""
    return list(dis.get_instructions(code))


@lru_cache(1024)
def names_in(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The names of outside variables, and of attributes, in a piece of code and in the functions that it makes.

    A variable may not exist. Strings count as attributes, because of `getattr(module, "name")` and `globals()["name"]`.
    """
    variables, attributes = set[str](), {constant for constant in code.co_consts if isinstance(constant, str)}
    for instruction in disassembled(code):
        operation, name = instruction.opname, instruction.argval
        if isinstance(name, CodeType):
            inner_variables, inner_attributes = names_in(name)
            variables |= inner_variables
            attributes |= inner_attributes
        elif isinstance(name, str) and operation.endswith(("_GLOBAL", "_NAME")):
            variables.add(name)
        elif isinstance(name, str) and operation.endswith(("_ATTR", "_METHOD", "_FROM")):
            attributes.add(name)
    return frozenset(variables), frozenset(attributes)


def parts_of(container: Any) -> list[Any]:
    if isinstance(container, dict | MappingProxyType):
        return [*container.keys(), *container.values()]
    if type(container) in VIEWS:
        return [part for item in container for part in (item if type(item) is tuple else (item,))]
    return list(container)


def attributes_of(x: Any) -> Any:
    try:
        return object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None


def in_class_of(x: Any, name: str) -> Any:
    """What an object finds under this name in its class."""
    return next((vars(base)[name] for base in type(x).__mro__ if name in vars(base)), None)


def slots_of(kind: type) -> Iterator[MemberDescriptorType]:
    """The slots of the instances of a class, without the private slots of our classes, which write to these."""
    for base in kind.__mro__:
        if "__slots__" in vars(base):
            for name, member in vars(base).items():
                if isinstance(member, MemberDescriptorType) and not (
                    package_of(module_of(base)) == OURS and name[0] == "_"
                ):
                    yield member


def content_of_slot(slot: Slot, x: Any) -> Any:
    try:
        return slot.__get__(x)
    except AttributeError:
        return NOT_THERE


def contents_of_slots(x: Any, slots: Sequence[Slot]) -> list[Any]:
    return [content_of_slot(slot, x) for slot in slots]


def count_of(container: Any) -> list[Any]:
    return [len(container)]


def layout_of(array: np.ndarray[Any, Any]) -> list[Any]:
    return [array.shape, array.dtype]


def flags_of(array: np.ndarray[Any, Any]) -> list[Any]:
    return [array.flags.num, array.strides]


def fields_of(array: np.ndarray[Any, Any]) -> list[Any]:
    return [repr(array.dtype)]


def classes_registered() -> list[Any]:
    """A number that changes whenever a class is registered with an abstract one."""
    return [abc.get_cache_token()]


def has_nothing_inside(x: Any) -> bool:
    """Whether a thing is known to consist of nothing that the user's code could change: an array, or one of NumPy's."""
    kind = type(x)
    if kind is np.ndarray:
        return not x.dtype.hasobject
    return not is_made_by_python(x) if kind is type else is_of_numpy(x)


def inside(x: Any) -> Iterator[Any]:
    """What an object that was made in the run consists of."""
    kind = type(x)
    if issubclass(kind, CONTAINERS):
        yield from parts_of(x)
    elif issubclass(kind, np.ndarray) and x.dtype.hasobject:
        yield from x.flat
    elif issubclass(kind, BuiltinMethodType | MethodType | MethodWrapperType):
        yield x.__self__
    elif kind is FunctionType:
        yield from (x.__defaults__, x.__kwdefaults__, *(content_of(cell) for cell in x.__closure__ or ()))
    elif issubclass(kind, partial):
        yield from (x.func, x.args, x.keywords)
    yield from (attributes_of(x) or {}).values()


IDENTITY: tuple[Any, ...] = (None, object.__hash__)


def is_opaque(x: Any) -> bool:
    """Whether a value may change in a way that cannot be seen."""
    kind = type(x)
    if isinstance(x, ContextVar | threading.local | weakref.ref):
        return True
    if isinstance(x, (*CONTAINERS, np.ndarray, slice)):
        return False
    if any(isinstance(vars(base).get("__next__"), WrapperDescriptorType) for base in kind.__mro__):
        return True  # an iterator or a file
    made_by_python = attributes_of(x) is not None or any("__slots__" in vars(base) for base in kind.__mro__)
    if package_of(module_of(kind)) in FOUNDATIONS:
        if any(package_of(module_of(base)) in MEMORY for base in kind.__mro__):
            return True
        is_function = callable(x) or hasattr(kind, "__get__")
        has_a_value = kind.__hash__ not in IDENTITY
        return not (made_by_python or has_a_value or kind is object or isinstance(x, HARMLESS) or is_function)
    return is_foreign(x) or not made_by_python


def item_of(holder: Any, key: Any) -> Any:
    """The element of a container or an array at a key."""
    if isinstance(holder, dict):
        return dict.get(holder, key, NOT_THERE)
    try:
        return holder[key]
    except (KeyError, IndexError):
        return NOT_THERE


def is_key(key: Any) -> bool:
    """Whether a key of a dictionary is found without any code of the user's."""
    kind = type(key)
    return all(map(is_key, key)) if kind is tuple else kind in KEYS or isinstance(key, Enum | np.dtype)


def is_place(key: Any, array: Any) -> bool:
    """Whether an index selects one element of an array, and not a view of it, as that of a record is."""
    parts = key if type(key) is tuple else (key,)
    return len(parts) == array.ndim and all(type(part) is int for part in parts) and array.dtype.kind not in "OV"


def is_read_as_a_tuple(kind: type) -> bool:
    """Whether a class is tuple, or one such as a namedtuple, whose items are found as those of a tuple are."""
    names = ("__getitem__", "__iter__", "__len__")
    return issubclass(kind, tuple) and all(getattr(kind, name) is getattr(tuple, name) for name in names)


def are_same_states(now: Any, before: Any) -> bool:
    """Whether the states of generators of random numbers are the same."""
    try:
        hash(now)  # such as a tuple of integers, which has no arrays in it
        return bool(now == before)
    except TypeError:
        pass
    if isinstance(now, dict):
        return all(are_same_states(now[name], before[name]) for name in before)
    if isinstance(now, list | tuple):
        return all(map(are_same_states, now, before))
    return bool(np.array_equal(now, before)) if isinstance(now, np.ndarray) else bool(now == before)
