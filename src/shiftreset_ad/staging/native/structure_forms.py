"""The forms of structures: how a gate takes its arguments apart, and puts its answers together (`structures`).

A form says what an argument must be, or how an answer is made. It is an object of Python's:

*   an integer stands for a leaf: a number or an array, at this place among the leaves;
*   a tuple of one element stands for this very object, a constant;
*   a weak reference stands for its object;
*   `(kind, keys, *forms)` stands for a structure of this class, with the forms of its parts. A tuple, a named tuple and
    a list have no keys, and `keys` is None. A dict has the very same keys in this order, in a tuple, and so has the
    dictionary of a dataclass. The names of slots of a dataclass are in a list.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import MemberDescriptorType
from typing import Any
from weakref import ref

from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.seen.keys import STRINGS, is_by_identity, is_input

CONSTANTS = {bool, str, type(None)}  # the types of what decides which way a function takes, by its value


def form_of(x: Any, places: Iterator[int]) -> Any:
    """The form of an argument, with the next `places` for its leaves. TypeError if the gate cannot take it apart."""
    kind: Any = type(x)
    if is_input(x):
        return next(places)
    if kind in CONSTANTS:
        return (x,)
    if kind is tuple or kind is list or is_named_tuple(kind):
        return kind, None, *(form_of(part, places) for part in x)
    if kind is dict and STRINGS.issuperset(map(type, x)):
        return dict, tuple(x), *forms_of(x, in_order_of_leaves(x), places)
    if is_by_identity(x):
        return reference_to(x)
    if trees.has_fields(kind) and kind.__getattribute__ is object.__getattribute__:
        return form_of_dataclass(x, places)
    raise TypeError(f"a {kind.__name__} is not compared by its identity")


def form_of_dataclass(x: Any, places: Iterator[int]) -> Any:
    """The form of an object whose fields are in its dictionary, or in slots, and which has nothing else."""
    kind, fields = type(x), [field.name for field in dataclasses.fields(x)]
    in_classes = {name: vars(base)[name] for base in reversed(kind.__mro__) for name in vars(base)}
    if kind.__dictoffset__:
        attributes = x.__dict__
        is_plain = attributes.keys() == set(fields) and STRINGS.issuperset(map(type, attributes))
        if not is_plain or any(hasattr(type(in_classes.get(name)), "__set__") for name in fields):
            raise TypeError(f"a {kind.__name__} has more than its fields")
        return kind, tuple(attributes), *forms_of(attributes, fields, places)
    if not all(isinstance(in_classes.get(name), MemberDescriptorType) for name in fields):
        raise TypeError(f"a {kind.__name__} has fields that are not its slots")
    return kind, fields, *[form_of(getattr(x, name), places) for name in fields]


def is_named_tuple(kind: Any) -> bool:
    """Whether the objects of a class are named tuples, made as Python makes them, with nothing beside their items."""
    if not trees.is_named_tuple(kind) or kind.__mro__ != (kind, tuple, object) or type(kind) is not type:
        return False
    makes = getattr(kind.__new__, "__globals__", {}).get("_tuple_new")
    return makes is tuple.__new__ and "__init__" not in vars(kind) and not kind.__dictoffset__


def reference_to(x: Any) -> Any:
    """The form of an object that is compared by its identity. If it has no weak references, it is kept alive."""
    try:
        return ref(x)
    except TypeError:
        return (x,)


def in_order_of_leaves(x: dict[str, Any]) -> list[str]:
    """The keys in the order in which optree has them."""
    keys = list(x)
    order, _ = trees.flatten({key: i for i, key in enumerate(keys)})
    return [keys[i] for i in order]


def forms_of(x: dict[str, Any], order: Iterable[str], places: Iterator[int]) -> list[Any]:
    """The forms of the values. Their leaves come in this order of the keys."""
    forms = {key: form_of(x[key], places) for key in order}
    return [forms[key] for key in x]


def form_of_answer(x: Any, given: Mapping[int, Any]) -> Any:
    """The form of an answer that has the places of its leaves in it. TypeError if the gate cannot make it.

    The parts of the answer that are `given`, by their ids, are these very objects.
    """
    kind, form = type(x), partial(form_of_answer, given=given)
    if x is None or id(x) in given:
        return (x,)
    if kind is int:
        return x
    if kind is tuple or kind is list or is_named_tuple(kind):
        return kind, None, *map(form, x)
    if kind is dict:
        return dict, tuple(x), *map(form, x.values())
    if trees.has_fields(kind):
        fields = tuple(field.name for field in dataclasses.fields(x))
        return kind, fields, *[form(getattr(x, name)) for name in fields]
    raise TypeError(f"a {kind.__name__} is made by its class")
