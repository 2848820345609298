"""Structured arguments and results: nested tuples, lists, dicts, named tuples and dataclasses, by optree.

None is a structure without leaves. A dataclass needs no registration: its fields are its children.
"""

from __future__ import annotations

import dataclasses
import os
import threading
from collections import namedtuple
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
import optree

from shiftreset_ad.array_api import MET, Standard, Wrapped, is_foreign
from shiftreset_ad.array_api.standard import standard
from shiftreset_ad.boundary.libraries import in_library_of
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.numbers.tags import innermost_tag
from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.rules.building import OBJECT, gathered, is_of_objects
from shiftreset_ad.rules.numpy.shapes import in_precision

NAMESPACE = "shiftreset_ad"
NUMBERS = (float, complex, np.inexact, Number)
CONSTANTS = (int, str, bytes, slice, range, Enum, os.PathLike)

_NAMED_TUPLE = namedtuple("_NAMED_TUPLE", "item")
_registered: set[type] = set()
_without_fields: set[type] = set()  # classes of leaves that are not dataclasses
_usual: set[type] = {float, np.ndarray, int, bool, str, FunctionType}  # classes of leaves; those of numbers are added
_registering = threading.Lock()


def flatten(tree: Any) -> tuple[list[Any], optree.PyTreeSpec]:
    """The leaves of a structure, and the structure.

    An array of objects with numbers in it becomes one number. An array of another library is wrapped.
    """
    leaves, spec = _flatten(tree)
    for i, leaf in enumerate(leaves):
        kind = type(leaf)
        if kind is not float and (leaf.dtype is OBJECT if kind is np.ndarray else is_foreign(leaf)):
            leaves[i] = _as_number(leaf)
    return leaves, spec


def leaves_as_they_are(tree: Any) -> list[Any]:
    """The leaves of a structure, to be looked at: nothing is computed of them."""
    return _flatten(tree)[0]


def _flatten(tree: Any) -> tuple[list[Any], optree.PyTreeSpec]:
    if type(tree) in _usual:  # the usual structures, for speed
        return [tree], _structure_of_leaves(None)
    if type(tree) is tuple and _usual.issuperset(map(type, tree)):
        return list(tree), _structure_of_leaves(len(tree))
    leaves, spec = optree.tree_flatten(tree, namespace=NAMESPACE)
    if _without_fields.issuperset(map(type, leaves)):
        return leaves, spec
    for kind in set(map(type, leaves)):
        if dataclasses.is_dataclass(kind):
            register_dataclass(kind)
        else:
            _without_fields.add(kind)
            if issubclass(kind, Number):
                _usual.add(kind)
    return _flatten(tree)


@cache
def _structure_of_leaves(count: int | None) -> optree.PyTreeSpec:
    """The structure of one leaf, or of a tuple of `count` leaves."""
    leaves: Any = 0.0 if count is None else (0.0,) * count
    return optree.tree_structure(leaves, namespace=NAMESPACE)


def _as_number(leaf: Any) -> Any:
    """An array of objects with numbers as one number, an array of another library wrapped, anything else as it is."""
    if is_foreign(leaf):
        return standard(leaf)
    if is_of_objects(leaf) and any(isinstance(element, Number) for element in leaf.flat):
        return gathered(leaf)
    return leaf


def returned(program: Callable[[], Any]) -> Any:
    """What `program` returns, with arrays of objects made into numbers while the derivative is still running."""
    result = program()
    if isinstance(result, Number) or not any(map(is_of_objects, _flatten(result)[0])):
        return result
    return map_leaves(lambda leaf: leaf, result)


def unflatten(spec: optree.PyTreeSpec, leaves: list[Any]) -> Any:
    """The structure with these leaves."""
    if spec is _structure_of_leaves(len(leaves)):  # a tuple of leaves, as optree takes its time
        return tuple(leaves)
    if spec is _structure_of_leaves(None):
        return leaves[0]
    return spec.unflatten(leaves)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The structure with `function` applied to each leaf."""
    leaves, spec = flatten(tree)
    return unflatten(spec, [function(leaf) for leaf in leaves])


def register_dataclass(kind: type) -> None:
    """Make optree look into instances of a dataclass, in this library's own namespace."""
    names = tuple(field.name for field in dataclasses.fields(kind))

    def children(instance: Any) -> tuple[list[Any], None, tuple[str, ...]]:
        return [getattr(instance, name) for name in names], None, names

    def rebuild(_: Any, values: Any) -> Any:
        # Without __init__: its checks and computations are for values, and not for derivatives.
        instance: Any = object.__new__(kind)
        for name, child in zip(names, values, strict=True):
            object.__setattr__(instance, name, child)
        return instance

    with _registering:
        if kind not in _registered:  # another thread may have registered it
            optree.register_pytree_node(
                kind, children, rebuild, path_entry_type=optree.GetAttrEntry, namespace=NAMESPACE
            )
            _registered.add(kind)


def has_fields(kind: type) -> bool:
    """Whether the children of an object of this class are the fields of a dataclass, in their order."""
    return kind in _registered


def is_named_tuple(kind: type) -> bool:
    """Whether the children of an object of this class are the items of a named tuple."""
    if not optree.is_namedtuple_class(kind):
        return False
    entry, usual = (optree.register_pytree_node.get(x, namespace=NAMESPACE) for x in (kind, _NAMED_TUPLE))
    return entry is not None and usual is not None and entry.flatten_func is usual.flatten_func


class Parts:
    """A structure taken apart: `numbers` are the leaves that can be differentiated, and all other leaves stay."""

    __slots__ = ("_leaves", "_places", "_spec", "numbers")

    def __init__(self, tree: Any) -> None:
        self._leaves, self._spec = flatten(tree)
        self._places: list[int] = []
        self.numbers: list[Any] = []
        for i, leaf in enumerate(self._leaves):
            if type(leaf) is float or is_number(leaf):
                self._places.append(i)
                self.numbers.append(leaf)
        if MET:  # copies, as the caller may write to the arrays
            self.numbers = [x.unshared() if type(x) is Standard else x for x in self.numbers]

    @property
    def has_others(self) -> bool:
        """Whether there are leaves that are not numbers."""
        return len(self.numbers) < len(self._leaves)

    def with_numbers(self, numbers: Sequence[Any]) -> Any:
        """The structure with other numbers, and every other leaf as it was."""
        return self._filled(list(self._leaves), numbers)

    def derivative(self, numbers: Sequence[Any]) -> Any:
        """The structure of a derivative: the numbers in their places, and None for every other leaf."""
        return self._filled([None] * len(self._leaves), numbers)

    def _filled(self, leaves: list[Any], numbers: Sequence[Any]) -> Any:
        if len(leaves) == len(self._places):  # the usual case, for speed
            return unflatten(self._spec, list(numbers))
        for i, number in zip(self._places, numbers, strict=True):
            leaves[i] = number
        return unflatten(self._spec, leaves)

    def outline(self) -> Parts:
        """The same structure with zeros of the same shapes and dtypes, which holds no value."""
        outline = object.__new__(Parts)
        outline._leaves, outline._spec, outline._places = [None] * len(self._leaves), self._spec, self._places
        outline.numbers = [_zeros(x) for x in self.numbers]
        for place, zeros in zip(self._places, outline.numbers, strict=True):
            outline._leaves[place] = zeros
        return outline

    def derivatives_in(self, tree: Any, function: str, argument: str, of: str) -> list[Any]:
        """The derivative of each number, from `tree`, a structure like this one; None, which is zero, stays None.

        Raises TypeError or ValueError if the structure, a shape or a kind of number does not fit.
        """
        try:
            given = [_as_number(leaf) for leaf in self._spec.flatten_up_to(tree)]
        except (ValueError, TypeError):
            raise TypeError(
                f"{function}: {argument} must have the structure of {of}, with None for what has no derivative: "
                f"{self._spec} is wanted, and {optree.tree_structure(tree, namespace=NAMESPACE)} was given"
            ) from None

        def name(place: int) -> str:
            accessors = optree.tree_accessors(unflatten(self._spec, self._leaves), namespace=NAMESPACE)
            return f"{function}: {accessors[place].codify(argument)}"

        for place, (x, derivative) in enumerate(zip(self._leaves, given, strict=True)):
            if derivative is None:
                continue
            if not is_number(x):
                if is_number(derivative):
                    raise TypeError(f"{name(place)} belongs to {x!r:.40}, which has no derivative; give None")
            elif not is_number(derivative):
                raise TypeError(f"{name(place)} {_problem(derivative)}")
            elif shape_of(derivative) != shape_of(x):
                raise ValueError(
                    f"{name(place)} has shape {shape_of(derivative)}, and must have the shape of {of}, "
                    f"which is {shape_of(x)}"
                )
            elif is_complex(derivative) and not is_complex(x):
                raise TypeError(f"{name(place)} is complex, and belongs to a real number; give its real part")
        wanted = [(self._leaves[i], given[i]) for i in self._places]
        derivatives = [None if dot is None else in_precision(dot, dtype_of(x)) for x, dot in wanted]
        if MET:
            pairs = zip(self.numbers, derivatives, strict=True)
            return [None if dot is None else in_library_of(x, dot) for x, dot in pairs]
        return derivatives


def _zeros(x: Any) -> Any:
    zero, shape = np.zeros((), dtype_of(x)), shape_of(x)
    return np.broadcast_to(zero, shape) if shape else zero


def require_differentiable(tree: Any, function: str, argument: str) -> None:
    """Raise TypeError, with the function, the argument and the place, unless the structure can be differentiated.

    At least one leaf must be a number, and all others must be numbers, or of a kind that never has a derivative.
    """
    leaves, _ = flatten(tree)
    alone = not any(map(is_number, leaves))
    for place, leaf in enumerate(leaves):
        if not is_number(leaf) and (alone or not is_constant(leaf)):
            accessors = optree.tree_accessors(tree, namespace=NAMESPACE)  # slow, and only an error needs one
            raise TypeError(f"{function}: {accessors[place].codify(argument)} {_problem(leaf)}")


def require_known(tree: Any, function: str) -> None:
    """Raise TypeError if a result is None, or has leaves of an unknown kind, which could hide numbers."""
    if tree is None:
        raise TypeError(f"{function}: the function returned None (is a return statement missing?)")
    for leaf in flatten(tree)[0]:
        if not is_number(leaf) and not is_constant(leaf):
            raise TypeError(
                f"{function}: the function returned {leaf!r:.60}, of type {type(leaf).__name__}, in which numbers that "
                "are being differentiated could be lost; return floats, arrays, or structures of them, and register a "
                "class of your own with optree"
            )


def is_number(leaf: Any) -> bool:
    """Whether a leaf can be differentiated: a float, a complex number, an array of these, or a number already."""
    kind = type(leaf)
    if issubclass(kind, np.ndarray):
        # Matrices and masked arrays do not compute as arrays do.
        return leaf.dtype.kind in "fc" and (kind is np.ndarray or issubclass(kind, np.memmap))
    return issubclass(kind, NUMBERS) or (issubclass(kind, Wrapped) and dtype_of(leaf).kind in "fc")


def is_constant(leaf: Any) -> bool:
    """Whether a leaf is of a kind that never has a derivative: an integer, a string, a slice, a function and so on."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind in "iubSUmM"
    return isinstance(leaf, (*CONSTANTS, Wrapped)) or callable(leaf)


def _problem(leaf: Any) -> str:
    kind = dtype_of(leaf).kind if isinstance(leaf, np.ndarray | np.generic | int | Wrapped) else None
    if kind in ("i", "u", "b"):
        return (
            f"is an integer or a boolean ({leaf!r:.60}), which has no derivative; convert it: float(x), x.astype(float)"
        )
    of_dtype = f" and dtype {leaf.dtype}" if isinstance(leaf, np.ndarray) else ""
    return (
        f"is of type {type(leaf).__name__}{of_dtype}, which cannot be differentiated; "
        "pass floats, arrays of floats, or structures of them, or choose other arguments by argnums"
    )


def handed_back(answer: Any, given: Any) -> Any:
    """The answer of an operator, with arrays of other libraries unwrapped, unless a derivative is running around it."""
    leaves, spec = flatten(answer)
    if not any(type(leaf) is Standard for leaf in leaves) or innermost_tag() is not None:
        return answer
    if any(isinstance(leaf, Number) for leaf in flatten(given)[0]):
        return answer
    return unflatten(spec, [leaf.array if type(leaf) is Standard else leaf for leaf in leaves])
