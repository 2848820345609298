"""Objects of the user's classes that blocks make anew: control carries their attributes, and makes new objects of them.

As with lists, an object in the record may be another one in the program. So nobody may change such an object, or ask
which one it is: by `is`, by `==` and `in` where the class has no `__eq__`, as a key, or by a function that may do so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from copy import copy
from dataclasses import is_dataclass, replace
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import optree

from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.control.versions import Written
from shiftreset_ad.staging.front.effects import slots_of
from shiftreset_ad.staging.front.session import Session, current, told_apart
from shiftreset_ad.staging.front.users import MADE_BY_A_STATEMENT, is_object, is_of_the_user

# They do not ask which object they are given.
LOOKING_AWAY: set[Any] = {
    *(isinstance, issubclass, callable, type, getattr, hasattr, setattr, vars, len, abs, float, sum, min, max, sorted),
    *(zip, enumerate, list, tuple, iter, next, reversed, map, filter, replace, copy, all, any, range, print, bool),
}
NUMERICAL = {"numpy", "scipy", "shiftreset_ad", "math", "cmath"}  # these compute with numbers and arrays
ADDING = {"append", "extend", "insert", "appendleft"}


class Instance:
    """An object that is taken apart. `source` is the object, and is not a part of the structure."""

    __slots__ = ("kind", "names", "source", "values")

    def __init__(self, kind: type, names: tuple[str, ...], values: Sequence[Any], source: Any = None) -> None:
        self.kind, self.names, self.values, self.source = kind, names, values, source

    def made(self) -> Any:
        """A new object with these attributes."""
        x: Any = object.__new__(self.kind)
        self.source = x
        for name, value in zip(self.names, self.values, strict=True):
            object.__setattr__(x, name, put_together(value))
        return x


def _flattened(x: Any) -> Any:
    return x.values, (x.kind, x.names), None


def _unflattened(kind_and_names: Any, values: Any) -> Any:
    kind, names = kind_and_names
    return Instance(kind, names, values)


register: Any = optree.register_pytree_node
register(Instance, _flattened, _unflattened, namespace=trees.NAMESPACE)


def is_instance(x: Any) -> bool:
    """Whether this is an object of a class of the user's that is nothing but its attributes."""
    bases = type(x).__mro__
    return is_object(x) and not is_dataclass(x) and all(b is object or b.__flags__ & MADE_BY_A_STATEMENT for b in bases)


def taken_apart(value: Any, around: tuple[Any, ...] = ()) -> Any:
    """The value with an Instance for each object in it."""

    def apart(x: Any) -> Any:
        if not is_instance(x) or any(x is other for other in around):
            return x
        attributes = {**getattr(x, "__dict__", {}), **{n: getattr(x, n) for n in slots_of(x) if hasattr(x, n)}}
        values = [taken_apart(part, (*around, x)) for part in attributes.values()]
        return Instance(type(x), tuple(attributes), values, x)

    return optree.tree_map(apart, value, namespace=trees.NAMESPACE) if is_instance(value) or _has_one(value) else value


def put_together(value: Any) -> Any:
    """The value with a new object for each Instance in it."""
    leaves, spec = optree.tree_flatten(value, is_leaf=lambda x: type(x) is Instance, namespace=trees.NAMESPACE)
    if not any(type(x) is Instance for x in leaves):
        return value
    made = [x.made() if type(x) is Instance else x for x in leaves]
    return optree.tree_unflatten(spec, made)


def _has_one(value: Any) -> bool:
    return any(map(is_instance, trees.leaves_as_they_are(value)))


class Objects:
    """The parts of a site's state whose objects the blocks make anew, as far as they are known."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known = set[Hashable]()

    def carry(self, key: Any) -> None:
        """The objects in this part are taken apart from the next attempt on."""
        self._known.add(key)

    def taken_apart(self, keys: Iterable[Hashable], values: Iterable[Any]) -> list[Any]:
        """Parts of the state, as control carries them."""
        return [taken_apart(value) if key in self._known else value for key, value in zip(keys, values, strict=True)]

    def put_together(self, values: Sequence[Any]) -> list[Any]:
        """Parts of the state, as the program has them."""
        return [put_together(value) for value in values] if self._known else list(values)

    def require_known(self, keys: Iterable[Hashable], before: Iterable[Any], now: Iterable[Any]) -> None:
        """Raise Written if a part has another object than before, and is not taken apart."""
        for key, old, new in zip(keys, before, now, strict=True):
            if old is not new and key not in self._known and (_has_one(old) or _has_one(new)):
                olds, news = trees.leaves_as_they_are(old), trees.leaves_as_they_are(new)
                if len(olds) != len(news) or any(
                    x is not y and (is_instance(x) or is_instance(y)) for x, y in zip(olds, news, strict=True)
                ):
                    self._session.look_into_objects()
                    raise Written(self, key)


# Who asks which object it is


def _is_told_apart(x: Any) -> bool:
    """Whether objects like this one are equal only if they are one."""
    kind: Any = type(x)
    return is_instance(x) and (kind.__eq__ is object.__eq__ or kind.__hash__ is object.__hash__)


def told_apart_in(*xs: Any) -> None:
    """Refuse if the program compares objects, in these values, that may be others in the program.

    Objects that are compared by their content do not matter.
    """
    seen: set[int] = set()
    waiting = list(xs)
    while waiting:
        x = waiting.pop()
        if id(x) not in seen:
            seen.add(id(x))
            if _is_told_apart(x):
                told_apart(x)
            waiting += _parts_of(x)


def _parts_of(x: Any) -> list[Any]:
    if isinstance(x, dict):
        return [*x, *x.values()]
    if issubclass(type(x), list | tuple | set | frozenset | deque):
        return list(x)
    return list(getattr(x, "__dict__", {}).values()) if is_dataclass(x) and not isinstance(x, type) else []


def hashed(x: Any) -> Any:
    """What the program looks for, as the key of a dict or in a set."""
    told_apart_in(x)
    return x


def not_told_apart(f: Any, form: Any, *args: Any, **kwargs: Any) -> Any:
    """The answer of a function that is not looked into, and may ask which object it is given; `form` is called."""
    told_apart_in(*args, *kwargs.values(), f.__self__ if type(f) is BuiltinFunctionType else None)
    return form(*args, **kwargs)


def may_tell_apart(f: Any) -> bool:
    """Whether a function that is not looked into may ask which object it is given."""
    session = current()
    if session is None or not session.looks_into_objects or (isinstance(f, Hashable) and f in LOOKING_AWAY):
        return False
    if type(f) is BuiltinFunctionType and f.__name__ in ADDING:
        return False
    module = f.__module__ if isinstance(f, type | FunctionType | MethodType | BuiltinFunctionType) else None
    return module is None or not (module.partition(".")[0] in NUMERICAL or is_of_the_user(module))
