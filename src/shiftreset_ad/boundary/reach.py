"""All that functions can read and do not hold: global variables, attributes, lists, and what is in them.

The search goes by the names in the code of the functions, and in the code of the functions that they can reach. It ends
at installed packages, whose functions and classes are taken to stay as they are.
"""

from __future__ import annotations

import sys
from array import array
from collections import deque
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple, Self, TypeAlias

from numpy import ndarray

from shiftreset_ad.boundary.closed_over import EMPTY, WITHOUT_ARRAYS, Environment, held_by, is_holder
from shiftreset_ad.boundary.code_names import attribute_names, global_names, imported_names
from shiftreset_ad.boundary.contents import (
    Contents,
    Elements,
    Entries,
    ListItems,
    Members,
    Names,
    SlotAttributes,
    Variables,
    known,
)
from shiftreset_ad.control.frames import is_installed
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.numbers.plain_arrays import is_read_only

Described: TypeAlias = tuple[str, Any]

BUILT_IN = WITHOUT_ARRAYS - {type, ModuleType}
CONTAINERS = (list, deque, dict, tuple, set, frozenset)
WITH_ELEMENTS = (ndarray, array, bytearray, memoryview)
ALWAYS_READ = frozenset({"__call__", "__wrapped__"})
# What stands for functions in a class, and the names under which it has them.
DESCRIPTORS = {property: ("fget",), classmethod: ("__func__",), staticmethod: ("__func__",), cached_property: ("func",)}


class Namespace(NamedTuple):
    """The attributes of an object, a class or a module: those that are read, and the classes that have them, too."""

    described: str
    owner: Any
    holder: Mapping[str, Any]
    read: set[str]
    classes: tuple[type, ...] = ()

    def watched(self, names: frozenset[str]) -> frozenset[str]:
        """The attributes that are read, and those of these names that an object would have in place of its class's."""
        in_classes = (
            {name for name in names & cls.__dict__.keys() if not hasattr(type(cls.__dict__[name]), "__get__")}
            for cls in self.classes
        )
        return frozenset(self.read).union(*in_classes)


class Reach:
    """What can be reached from some functions, and from other things, by name.

    The caller keeps the variables of the functions as they are now, so of what they hold only the structures count:
    lists, dicts and the like. Of the `others` all counts. `names` are those of the attributes that are read.
    """

    __slots__ = ("_found", "_global_names", "_namespaces", "_seen", "names")

    def __init__(
        self,
        functions: Iterable[FunctionType] = (),
        structures: Iterable[Described] = (),
        others: Iterable[Described] = (),
        names: frozenset[str] = ALWAYS_READ,
    ) -> None:
        self.names = names
        self._found: list[Contents] = []
        self._global_names: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._namespaces: list[Namespace] = []
        self._seen: dict[int, Any] = {}  # it keeps the objects, and so their numbers
        waiting = [(repr(name), x) for name, x in others]
        for function in functions:
            waiting += self._read_code(function)
        while waiting or (waiting := self._attributes()):
            waiting += self._enter(*waiting.pop())
        waiting = [(repr(name), x) for name, x in structures]
        while waiting:
            described, x = waiting.pop()
            if issubclass(type(x), CONTAINERS) and id(x) not in self._seen:
                waiting += self._enter(described, x)

    @classmethod
    def of(cls, environment: Environment, is_lifted: bool = True) -> Self:
        """What the functions in an environment can reach. If it `is_lifted`, they are built anew for other leaves."""
        structures = environment.structures(built_anew=not is_lifted)
        return cls(environment.functions(), structures, environment.objects())

    def contents(self) -> list[Contents]:
        """The contents of all that can be reached."""
        found = list(self._found)
        for variables, read in self._global_names.values():
            if read:
                found.append(known(Names, variables, variables, "the global variable {}", frozenset(read)))
        for space in self._namespaces:
            if names := space.watched(self.names):
                what = f"the attribute {{}} of {space.described}"
                found.append(known(Names, space.owner, space.holder, what, names))
        return found

    def _enter(self, described: str, x: Any) -> list[Described]:
        """Take notice of `x`, and return what is in it."""
        kind = type(x)
        if kind in BUILT_IN or issubclass(kind, Number) or id(x) in self._seen:
            return []
        self._seen[id(x)] = x
        if issubclass(kind, CONTAINERS):
            return [(described, inside) for inside in self._items(described, x)]
        if issubclass(kind, WITH_ELEMENTS):
            return [(described, inside) for inside in self._elements(described, x)]
        if kind in DESCRIPTORS:
            return [(described, getattr(x, name)) for name in DESCRIPTORS[kind]]
        if is_holder(x):
            return self._functions_in(x)
        return self._spaces(described, x)

    def _items(self, described: str, x: Any) -> list[Any]:
        if isinstance(x, dict):
            self._found.append(known(Entries, x, x, f"the dict {described}"))
            return [*dict.values(x)]
        if isinstance(x, list | deque):
            self._found.append(known(ListItems, x, x, f"the list {described}"))
        elif isinstance(x, set):
            self._found.append(known(Members, x, x, f"the set {described}"))
        return [*x]

    def _elements(self, described: str, x: Any) -> Iterable[Any]:
        if not (isinstance(x, ndarray) and is_read_only(x)):
            self._found.append(known(Elements, x, x, f"the array {described}"))
        return x.flat if isinstance(x, ndarray) and x.dtype.hasobject else ()

    def _functions_in(self, x: Any) -> list[Described]:
        """The functions of which one is made, or what a function reads."""
        found = [(repr(name), content) for name, content, _ in held_by(x) if content is not EMPTY]
        if type(x) is FunctionType:
            found += self._read_code(x)
            if x.__closure__:
                what, names = f"the variable {{}} of {x.__qualname__}", frozenset(x.__code__.co_freevars)
                self._found.append(known(Names, x, Variables(x), what, names))
            found += [(repr(name), content) for name, content in x.__dict__.items() if name in ALWAYS_READ]
        return found

    def _read_code(self, function: FunctionType) -> list[Described]:
        """Take notice of the names in the code of a function of the user's, and return the global variables."""
        code = function.__code__
        if is_installed(code.co_filename):
            return []
        self.names |= attribute_names(code)
        variables = function.__globals__
        _, read = self._global_names.setdefault(id(variables), (variables, set()))
        found: list[Described] = [(repr(name), sys.modules[name]) for name in imported_names(code) & sys.modules.keys()]
        for name in global_names(code) & variables.keys():
            x = variables[name]
            if type(x) is not ModuleType:
                read.add(name)
            found.append((repr(name), x))
        return found

    def _spaces(self, described: str, x: Any) -> list[Described]:
        """Take notice of an object, a class or a module with attributes; return the classes and functions it needs."""
        if isinstance(x, ModuleType):
            if not _is_installed(x.__name__):
                self._namespaces.append(Namespace(described, x, vars(x), set()))
            return []
        if isinstance(x, type):
            if _is_installed(x.__module__):
                return []
            self._namespaces.append(Namespace(described, x, x.__dict__, set()))
            operators = [f for name, f in x.__dict__.items() if name.startswith("__") and type(f) is FunctionType]
            return [(described, f) for f in (*operators, *x.__mro__)]
        classes = tuple(cls for cls in type(x).__mro__ if not _is_installed(cls.__module__))
        attributes = getattr(x, "__dict__", None)
        if type(attributes) is dict:
            self._namespaces.append(Namespace(described, x, attributes, set(), classes))
        slots = {
            name: slot for cls in classes for name, slot in vars(cls).items() if type(slot) is MemberDescriptorType
        }
        if slots:
            self._namespaces.append(Namespace(described, x, SlotAttributes(x, slots), set()))
        return [(repr(cls.__name__), cls) for cls in classes]

    def _attributes(self) -> list[Described]:
        """The attributes that are read, and that have not been found yet."""
        found: list[Described] = []
        for space in self._namespaces:
            for name in (self.names & space.holder.keys()) - space.read:
                space.read.add(name)
                if name in space.holder:  # a slot may be empty
                    found.append((f"{name!r} of {space.described}", space.holder[name]))
        return found


@cache
def _is_installed(module: str) -> bool:
    """Whether a module belongs to Python or to an installed package."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return module.partition(".")[0] in sys.stdlib_module_names if file is None else is_installed(file)
