"""The reads of a run: each variable, attribute and element from outside that it has read, and nothing else, is guarded.

What goes to code that is not watched, such as a function of C, is guarded with all that can be reached from it.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary.closed_over import content_of
from shiftreset_ad.staging.seen.parts import (
    CONTAINERS,
    DISPATCHED,
    FIELD,
    NOT_THERE,
    Slot,
    attributes_of,
    content_of_slot,
    in_class_of,
    is_key,
    is_made_by_python,
    is_of_the_front,
    is_place,
    is_read_as_a_tuple,
)
from shiftreset_ad.staging.seen.stack import Unknown
from shiftreset_ad.staging.seen.surroundings import LOOKED_INTO, Surroundings
from shiftreset_ad.staging.seen.wholes import Wholes
from shiftreset_ad.staging.steps.values import Staged

WITH_KEYS = (dict, OrderedDict, defaultdict, MappingProxyType)
MANY = 64  # elements
FOR_GOOD = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, np.ufunc, np.generic, DISPATCHED)
OF_THE_LAYOUT = {"shape", "dtype", "ndim", "size", "itemsize", "nbytes"}
OF_THE_MEMORY = {"flags", "strides"}


class Reads(Wholes):
    """What a run has read, by a name, by a key, or as a whole."""

    def __init__(self, surroundings: Surroundings, original: Callable[[Any], Any]) -> None:
        super().__init__(surroundings, original)
        self._reads: Counter[int] = Counter()  # of elements, for each container
        self._getters: dict[int, tuple[type, Any]] = {}

    def variable(self, space: dict[str, Any], builtins: dict[str, Any], name: str) -> Any:
        """A global variable, or a builtin."""
        self.guards.entry(space, name, name)
        if name in space:
            return self.met(space[name], name)
        self.guards.entry(builtins, name, name)
        return self.met(builtins[name], name) if name in builtins else Unknown()

    def name_in(self, space: Any, name: str) -> Any:
        """A variable in the namespace of a class or of code that is given to `exec`."""
        if self.is_outside(space):
            self.guards.item(space, name, name)
            return self.met(space[name], name)
        return space[name]

    def attribute(self, x: Any, name: str) -> tuple[Any, CodeType | None]:
        """An attribute, and the code of the function that computes it, if there is one."""
        kind = type(x)
        if kind is Unknown:
            self.use(x)
            return Unknown((), x.may_be_staged), None
        if kind is Staged:
            return Unknown((), True), None
        if is_of_the_front(kind):
            return getattr(x, name), None
        if issubclass(kind, ModuleType):
            return self._of_module(x, name)
        if kind is FunctionType:
            return self._of_function(self.original(x), name), None
        if kind is MethodType and in_class_of(x, name) is None:
            return self.attribute(x.__func__, name)
        if kind is CellType and name == "cell_contents":
            return self._of_cell(x, name), None
        if issubclass(kind, type):
            return self._of_class(x, name)
        if kind is ndarray and name in OF_THE_LAYOUT:
            if self.is_outside(x):
                self.guards.layout(x, self.name_of(x))
            return Unknown(), None
        if kind is ndarray and name in OF_THE_MEMORY:
            if self.is_outside(x):
                self.guards.flags(x, self.name_of(x))
            return Unknown(), None
        if kind in CONTAINERS and not is_made_by_python(kind):
            return getattr(x, name, Unknown()), None
        if issubclass(kind, logging.Logger):
            return Unknown(), None
        if attributes_of(x) is None and not self.is_users(kind):
            self.use(x)
            return getattr(x, name, Unknown()) if issubclass(kind, np.random.Generator) else Unknown(), None
        return self._of_instance(x, name)

    def _of_function(self, x: FunctionType, name: str) -> Any:
        outside = self.is_outside(x)
        if isinstance(slot := in_class_of(x, name), Slot):
            return self._in_slot(x, slot, outside)
        if outside:
            self.guards.entry(vars(x), name, name)
        return self.met(vars(x)[name], name) if name in vars(x) else Unknown()

    def _of_cell(self, x: CellType, name: str) -> Any:
        content = content_of(x)
        if self.is_outside(x):
            self.guards.cell(x, name)
            self.met(content, name)
        return content

    def _in_slot(self, x: Any, slot: Slot, outside: bool) -> Any:
        """What is in a slot of an object, or in an attribute that Python itself keeps, as the name of a function."""
        content = content_of_slot(slot, x)
        if outside:
            self.guards.slot(x, slot, f"an attribute of a {type(x).__name__}")
            self.met(content, slot.__name__)
        return Unknown() if content is NOT_THERE else content

    def _of_module(self, x: ModuleType, name: str) -> tuple[Any, CodeType | None]:
        entries = vars(x)
        if name == "__dict__":
            return self.met(entries, x.__name__), None
        if not (x in LOOKED_INTO or self._is_module_of_users(x.__name__)):
            found = entries.get(name)
            return found if isinstance(found, FOR_GOOD) or name == "modules" else Unknown(), None
        self.guards.entry(entries, name, name)
        if name in entries:
            return self.met(entries[name], name), None
        self.guards.entry(entries, "__getattr__", "__getattr__")
        return Unknown(), getattr(entries.get("__getattr__"), "__code__", None)

    def _of_class(self, x: type, name: str) -> tuple[Any, CodeType | None]:
        if name == "__dict__":
            self.whole_class(x)
            return Unknown(), None
        self.whole_class(type(x))
        if isinstance(slot := in_class_of(x, name), Slot) and self._is_from_outside(x):
            return self._in_slot(x, slot, True), None
        found = self._in_bases(x, name)
        if isinstance(found, staticmethod | classmethod):
            return self.met(found.__func__, name), None
        if found is NOT_THERE or (hasattr(type(found), "__get__") and type(found) is not FunctionType):
            return Unknown(), _code_of(getattr(type(found), "__get__", None))
        return self.met(found, name), None

    def _of_instance(self, x: Any, name: str) -> tuple[Any, CodeType | None]:
        kind, attributes, outside = type(x), attributes_of(x), self.is_outside(x)
        self.kind(x)
        if type(getter := self._getter_of(kind)) is FunctionType:
            self.whole_class(kind)
            return Unknown(), getter.__code__
        if name == "__dict__" and attributes is not None:
            return self.met(attributes, name) if outside else attributes, None
        found = self._in_bases(kind, name)
        if isinstance(found, property):
            if not self.is_users(kind):
                self.use(x)
            return Unknown(), _code_of(found.fget)
        if isinstance(found, MemberDescriptorType):
            return self._in_slot(x, found, outside), None
        if isinstance(found, FIELD):  # of a tuple, which stays as it is
            content = item_or(lambda: found.__get__(x))
            return (self.met(content, name) if outside else content), None
        if found is not NOT_THERE:
            self.whole_class(type(found))  # which says whether the attributes of the object come first
        if attributes is not None and not comes_first(found):
            if outside:
                self.guards.entry(attributes, name, f"an attribute of a {kind.__name__}")
            if name in attributes:
                return (self.met(attributes[name], name) if outside else attributes[name]), None
        if isinstance(found, staticmethod | classmethod):
            return self.met(found.__func__, name), None
        if found is NOT_THERE:
            getter = self._in_bases(kind, "__getattr__")
            if outside and not self.is_users(kind):
                self.use(x)
            return Unknown(), _code_of(getter)
        if type(found) is FunctionType:
            if not self.is_users(found):
                self.use(x)
            return self.met(found, name), None
        if hasattr(type(found), "__get__"):
            self.use(x)
            self.use(found)
            return Unknown(), _code_of(getattr(type(found), "__get__", None))
        return self.met(found, name), None

    def _getter_of(self, kind: type) -> Any:
        """What looks for the attributes of the objects of a class."""
        if id(kind) not in self._getters:
            self._getters[id(kind)] = kind, self._in_bases(kind, "__getattribute__")
        return self._getters[id(kind)][1]

    def _in_bases(self, kind: type, name: str) -> Any:
        """What a class has under a name, as Python looks for it."""
        if self._is_from_outside(kind):
            self.guards.bases(kind)
        for base in kind.__mro__:
            if self._is_from_outside(base):
                self.guards.entry(vars(base), name, f"an attribute of {base.__name__}", base)
            if name in vars(base):
                return vars(base)[name]
        return NOT_THERE

    def of_super(self, kind: Any, x: Any, name: str) -> Any:
        """A method, or another attribute of a class, that `super()` finds."""
        of = x if isinstance(x, type) else type(x)
        if kind not in of.__mro__:
            return Unknown([x])
        self.kind(x)
        self.whole_class(of)
        bases = of.__mro__[of.__mro__.index(kind) + 1 :]
        found = next((vars(base)[name] for base in bases if name in vars(base)), NOT_THERE)
        if isinstance(found, staticmethod | classmethod):
            return found.__func__
        return found if type(found) is FunctionType else Unknown([x])

    def _is_from_outside(self, kind: type) -> bool:
        """Whether a class is the user's, and was not made in the run."""
        if not is_made_by_python(kind) or not self.is_users(kind):
            return False
        return "<locals>" not in kind.__qualname__ or self.is_outside(kind)

    def item(self, holder: Any, key: Any) -> tuple[Any, CodeType | None]:
        """The element at a key, and the code of the function that finds it, if there is one."""
        kind = type(holder)
        if kind in WITH_KEYS and is_key(key):
            self._guard_item(holder, key)
            return (self._part(holder, holder[key]) if key in holder else Unknown()), None
        if (kind is list or is_read_as_a_tuple(kind)) and type(key) is int:
            self.class_of(holder)
            if kind is list:
                self._guard_item(holder, key)
            return item_or(lambda: self._part(holder, holder[key])), None
        if kind is ndarray and is_place(key, holder):
            self._guard_item(holder, key)
            return Unknown(), None
        self.use(key)
        getter: Any = getattr(kind, "__getitem__", None)
        if type(getter) is FunctionType and self.is_users(getter):
            self.class_of(holder)
            return Unknown([holder, key], True), getter.__code__
        self.use(holder)
        return Unknown((), True), None

    def _guard_item(self, holder: Any, key: Any) -> None:
        """Guard an element; if many elements are read, guard all: it is quicker then to compare the whole."""
        if not self.is_outside(holder):
            return
        self._reads[id(holder)] += 1
        if self._reads[id(holder)] <= max(MANY, len(holder) // MANY):
            self.guards.item(holder, key, self.name_of(holder))
        elif type(holder) is ndarray:
            self.guards.array(holder, self.name_of(holder))
        else:
            self.structure(holder)

    def _part(self, holder: Any, part: Any) -> Any:
        return self.met(part, self.name_of(holder)) if self.is_outside(holder) else part


def item_or(read: Any) -> Any:
    """What is read, if it is there."""
    try:
        return read()
    except (LookupError, AttributeError):
        return Unknown()


def comes_first(found: Any) -> bool:
    """Whether what a class has comes before what the object has itself."""
    kind = type(found)
    return hasattr(kind, "__get__") and (hasattr(kind, "__set__") or hasattr(kind, "__delete__"))


def _code_of(function: Any) -> CodeType | None:
    return function.__code__ if type(function) is FunctionType else None
