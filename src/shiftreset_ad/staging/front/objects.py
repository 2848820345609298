"""Operators, constructors, properties and items of objects of the user's classes, as rewritten code uses them.

Python finds such a method by the class, and no name in the program calls it. Rewritten code finds it in the same way,
and calls its rewritten form. So the method may have tests and writes, as any other function of the user's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from functools import partial
from types import FunctionType
from typing import Any

from shiftreset_ad.staging.front.functions import called_form
from shiftreset_ad.staging.front.instances import hashed, told_apart_in
from shiftreset_ad.staging.front.membership import contained, truth_as
from shiftreset_ad.staging.front.session import current, negated
from shiftreset_ad.staging.front.users import is_object, is_of_the_user

REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
OF_ONE = {abs: "__abs__", len: "__len__", float: "__float__", round: "__round__", int: "__int__", bool: "__bool__"}


def method_of(x: Any, name: str) -> Callable[..., Any] | None:
    """The method of an object's class, bound to the object, in its rewritten form; None if it is not the user's."""
    found = _in_class(type(x), name) if is_object(x) else None
    if type(found) is FunctionType and is_of_the_user(found.__module__, found.__code__.co_filename):
        return partial(called_form(found), x)
    return None


def _in_class(kind: type, name: str) -> Any:
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def operated(name: str, x: Any, y: Any) -> Any:
    """`x + y`, or its kin; `name` is that of the function."""
    special = name.strip("_")
    forward, backward = method_of(x, f"__{special}__"), method_of(y, f"__r{special}__")
    if forward is None and (backward is None or not _declines(x, f"__{special}__")):
        return getattr(operator, name)(x, y)
    attempts = [] if forward is None else [partial(forward, y)]
    if backward is not None and type(x) is not type(y):
        is_first = issubclass(type(y), type(x)) and _differs(f"__r{special}__", x, y)
        attempts.insert(0 if is_first else len(attempts), partial(backward, x))
    for attempt in attempts:
        if (answer := attempt()) is not NotImplemented:
            return answer
    return getattr(operator, name)(x, y)  # which raises the error


def _declines(x: Any, name: str) -> bool:
    """Whether Python knows that `x` has no operator for an object of the user's: it is a scalar, or has no such one."""
    session = current()
    if isinstance(x, float | int | complex) or (session is not None and session.control.is_staged(x)):
        return True
    return _in_class(type(x), name) is vars(object).get(name)


def _differs(name: str, x: Any, y: Any) -> bool:
    return _in_class(type(x), name) is not _in_class(type(y), name)


def operated_alone(name: str, x: Any) -> Any:
    """`-x`, or its kin."""
    method = method_of(x, f"__{name}__")
    return getattr(operator, name)(x) if method is None else method()


def augmented_object(name: str, x: Any, y: Any) -> Any:
    """What `x += y`, or its kin, binds."""
    method = method_of(x, f"__i{name.strip('_')}__")
    answer = NotImplemented if method is None else method(y)
    if answer is not NotImplemented:
        return answer
    if _in_class(type(x), f"__i{name.strip('_')}__") is not None and method is None:
        return getattr(operator, f"i{name.strip('_')}")(x, y)
    return operated(name, x, y)


def compared(name: str, x: Any, y: Any) -> Any:
    """`x < y`, or its kin; `in` and `not in`, too."""
    if name in ("in", "not in"):
        told_apart_in(x, y)
        has = method_of(y, "__contains__")
        return contained(name, x, y) if has is None else truth_as(name == "in", has(x))
    if name in ("eq", "ne"):
        told_apart_in(x, y)
    if name == "ne" and method_of(x, "__ne__") is None and (equals := method_of(x, "__eq__")) is not None:
        answer = equals(y)
        if answer is not NotImplemented:
            session = current()
            return negated(answer) if session is not None and session.control.is_staged(answer) else not answer
    reflected = REFLECTED[name]
    attempts = [(x, name, y), (y, reflected, x)]
    if type(y) is not type(x) and issubclass(type(y), type(x)):
        attempts.reverse()
    methods = [(method_of(one, f"__{special}__"), other) for one, special, other in attempts]
    first, special, _ = attempts[0]
    if methods[0][0] is not None or (methods[1][0] is not None and _declines(first, f"__{special}__")):
        for method, other in methods:
            if method is not None and (answer := method(other)) is not NotImplemented:
                return answer
    return getattr(operator, name)(x, y)


def truth_of(x: Any) -> Any:
    """What decides on the truth of a value: the answer of its method if it is an object."""
    if (method := method_of(x, "__bool__")) is not None:
        answer, session = method(), current()
        is_known = type(answer) is bool or (session is not None and session.control.type_of(answer) is bool)
        return answer if is_known else bool(x)  # which raises the error
    if _in_class(type(x), "__bool__") is None and (method := method_of(x, "__len__")) is not None:
        return method()
    return x


def iterated(x: Any) -> Any:
    """What a `for` loop goes over."""
    method = method_of(x, "__iter__")
    return x if method is None else method()


def _setter_of(x: Any, name: str) -> Callable[..., Any] | None:
    found = _in_class(type(x), name) if is_object(x) else None
    if type(found) is property and type(found.fset) is FunctionType and is_of_the_user(found.fset.__module__):
        return partial(called_form(found.fset), x)
    return None


def has_setter(x: Any, name: str) -> bool:
    """Whether `x.name = value` calls a function of the user's."""
    return _setter_of(x, name) is not None


def assigned(value: Any, x: Any, name: str) -> None:
    """`x.name = value`, where the name may be that of a property."""
    setter = _setter_of(x, name)
    if setter is None:
        setattr(x, name, value)
    else:
        setter(value)


def attribute(x: Any, name: str) -> Any:
    """`x.name`, which may be a property."""
    found = _in_class(type(x), name) if is_object(x) else None
    if type(found) is property and type(found.fget) is FunctionType and is_of_the_user(found.fget.__module__):
        return called_form(found.fget)(x)
    return getattr(x, name)


def item_at(site: Any, x: Any, index: Any) -> Any:
    """`x[index]`."""
    method = method_of(x, "__getitem__")
    return site.item(x, hashed(index)) if method is None else method(index)


def of_object(function: Callable[..., Any], other: Callable[..., Any], x: Any, *args: Any, **kwargs: Any) -> Any:
    """`abs(x)`, or its kin; the `other` function is called where `x` has no such method of the user's."""
    method = None if args or kwargs else method_of(x, OF_ONE[function])
    return other(x, *args, **kwargs) if method is None else method()


def summed(items: Iterable[Any], /, start: Any = 0) -> Any:
    """`sum(items, start)`, of objects one after the other."""
    items = list(items)
    if not any(map(is_object, items)):
        return sum(items, start)
    for item in items:
        start = operated("add", start, item)
    return start


def constructor(f: Any) -> Callable[..., Any] | None:
    """What makes the objects of a class of the user's, or of one that a `partial` calls; None for anything else."""
    if type(f) is partial:
        return partial(constructed, f.func, *f.args, **f.keywords) if is_constructed_here(f.func) else None
    return partial(constructed, f) if is_constructed_here(f) else None


def constructed(kind: Any, *args: Any, **kwargs: Any) -> Any:
    """A new object of a class of the user's, made by the rewritten form of its `__init__`."""
    x: Any = object.__new__(kind)
    if is_dataclass(kind):
        _with_post_init(x)
    if (answer := called_form(kind.__init__)(x, *args, **kwargs)) is not None:
        raise TypeError(f"__init__() should return None, not {type(answer).__name__!r}")
    return x


def _with_post_init(x: Any) -> None:
    """The `__init__` of a dataclass finds the rewritten form of its `__post_init__`, in the object itself."""
    form = method_of(x, "__post_init__")
    if form is None or not hasattr(x, "__dict__") or x.__init__.__func__.__code__.co_filename != "<string>":
        return

    def called_once(*args: Any) -> None:
        del vars(x)["__post_init__"]
        form(*args)

    vars(x)["__post_init__"] = called_once


def is_constructed_here(kind: Any) -> bool:
    """Whether Python makes an object of a class by `__init__` alone, and this is the user's."""
    if not isinstance(kind, type) or type(kind).__call__ is not type.__call__:
        return False
    make, init = getattr(kind, "__new__", None), getattr(kind, "__init__", None)
    return (
        make is object.__new__
        and isinstance(init, FunctionType)
        and is_of_the_user(init.__module__, init.__code__.co_filename)
    )
