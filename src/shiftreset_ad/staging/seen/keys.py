"""The key of a call: if the keys of two calls are equal, the steps of one call may be replayed for the other.

Numbers and arrays are inputs of the steps; the key has their types, dtypes, shapes and strides. Everything else decides
which way the function takes: the key has the value of a boolean or a string, and the identity of an object.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Hashable, Iterator
from enum import Enum
from operator import is_
from pathlib import PurePath
from typing import Any

import numpy as np
import optree
from numpy import ndarray

from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.steps.trace import UnstageableError, identical

NUMBERS = (float, complex, int)
KINDS = "fciub"  # of dtypes whose elements are numbers, or booleans
BY_VALUE = (bool, str, bytes)
STRINGS = {str}
BY_EXACT_VALUE = (*BY_VALUE, int, type(None))
SIMPLEST = 3  # nodes of every call: the tuple of arguments, the dict of keywords, and the pair of both


def is_input(leaf: Any) -> bool:
    """Whether a leaf of the arguments is a value that may differ in the next call."""
    kind = type(leaf)
    if kind is ndarray:
        return leaf.dtype.kind in KINDS
    return kind in NUMBERS or issubclass(kind, np.number) or kind is np.bool_


def is_by_identity(x: Any) -> bool:
    """Whether the key of a call has the identity of this argument."""
    leaves, _ = trees.flatten(x)
    return len(leaves) == 1 and leaves[0] is x and isinstance(_key_of_leaf(x), Itself)


class Itself:
    """A key that stands for an object. It does not keep the object alive; `died` is called when the object is gone."""

    __slots__ = ("_id", "_reference")

    def __init__(self, x: Any, died: Callable[[Any], Any] | None = None) -> None:
        self._id = id(x)
        try:
            self._reference: Callable[[], Any] = weakref.ref(x, died)
        except TypeError:
            self._reference = lambda: x

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Itself):
            return False
        mine = self._reference()
        return self is other or (mine is not None and mine is other._reference())

    def __hash__(self) -> int:
        return self._id

    @property
    def is_dead(self) -> bool:
        """Whether the object is gone."""
        return self._reference() is None


def is_dead(part: Any) -> bool:
    """Whether a part of a key stands for an object that is gone."""
    return any(map(is_dead, part)) if type(part) is tuple else isinstance(part, Itself) and part.is_dead


class StagedCall:
    """The arguments of a call: their leaves, their structure, and the `key`.

    Raises UnstageableError if no key can tell a structure from others, and the errors of the user's own structures.
    """

    __slots__ = ("args", "key", "kwargs", "leaves", "spec")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], died: Callable[[Any], Any]) -> None:
        self.args = args
        self.kwargs = kwargs
        self.leaves, self.spec = trees.flatten((args, kwargs))
        parts = [_key_of_leaf(leaf, died) for leaf in self.leaves]
        if len(kwargs) > 1 or self.spec.num_nodes - self.spec.num_leaves > SIMPLEST:
            parts += [_key_of_node(node, died) for node in self.nodes()]
        arrays = [id(leaf) for leaf in self.leaves if type(leaf) is ndarray]
        if len(set(arrays)) < len(arrays):  # x is y
            parts.append(tuple(map(arrays.index, arrays)))
        self.key: Any = self.spec, tuple(parts), tuple(np.geterr().values())

    def inputs(self) -> list[Any]:
        """The leaves whose values may differ in the next call."""
        return [leaf for leaf in self.leaves if is_input(leaf)]

    def others(self) -> Iterator[Any]:
        """All other leaves, what structures have beside their leaves, and their classes, which may have methods."""
        yield from (leaf for leaf in self.leaves if not is_input(leaf))
        nodes = self.nodes()
        yield from map(_metadata, nodes)
        yield from set(map(type, nodes))

    def copies(self) -> list[Any]:
        """The leaves as they are now."""
        return [leaf.copy() if type(leaf) is ndarray else leaf for leaf in self.leaves]

    def has_changed(self, copies: list[Any]) -> bool:
        """Whether the arguments have other leaves now, or their arrays have other elements than these copies."""
        now = StagedCall(self.args, self.kwargs, id)
        return (
            now.key != self.key
            or not all(map(is_, now.leaves, self.leaves))
            or not all(identical(x, y) for x, y in zip(self.leaves, copies, strict=True) if type(x) is ndarray)
        )

    def nodes(self) -> list[Any]:
        """The structures in the arguments, from the outside in, with their leaves."""
        return nodes_of((self.args, self.kwargs))


def nodes_of(tree: Any) -> list[Any]:
    """The structures in a structure, from the outside in, with their leaves."""
    found: list[Any] = []

    def look_at(x: Any) -> bool:
        found.append(x)
        return False

    optree.tree_flatten(tree, is_leaf=look_at, namespace=trees.NAMESPACE)
    return found


def is_structure(node: Any) -> bool:
    """Whether a node is a structure that the program can tell from an equal one: neither a leaf nor a tuple."""
    kind = type(node)
    if issubclass(kind, tuple) or node is None:
        return False
    return optree.register_pytree_node.get(kind, namespace=trees.NAMESPACE) is not None


def _key_of_leaf(leaf: Any, died: Callable[[Any], Any] | None = None) -> Hashable:
    kind = type(leaf)
    if kind is ndarray and leaf.dtype.kind in KINDS:
        return leaf.dtype, leaf.shape, leaf.strides
    if is_input(leaf):
        return (kind,)
    if kind in BY_VALUE:
        return kind, leaf
    if kind is slice or kind is range:
        return kind, *map(_key_of_bound, (leaf.start, leaf.stop, leaf.step))
    if isinstance(leaf, np.generic) and not isinstance(leaf, np.void):
        return kind, leaf.dtype, leaf.tobytes()
    if isinstance(leaf, PurePath) and not isinstance(leaf, Enum):
        return kind, str(leaf)
    return Itself(leaf, died)


def _key_of_bound(x: Any) -> Hashable:
    """The key of a bound of a slice."""
    return x if x is None or type(x) is int else Itself(x)


def _key_of_node(node: Any, died: Callable[[Any], Any] | None) -> Hashable:
    """The part of the key that the specification of a structure lacks, as it compares by `==`."""
    if isinstance(node, dict):  # the order of the keys, and `1` against `True`
        return tuple(node) if STRINGS.issuperset(map(type, node)) else _key_of_value(tuple(node), died)
    require_fields(node, "among its arguments")
    return _key_of_value(_metadata(node), died)


def require_fields(node: Any, where: str) -> None:
    """Raise UnstageableError if a named tuple or a dataclass has attributes that are no fields."""
    attributes = getattr(node, "__dict__", ())
    if attributes and (isinstance(node, tuple) or dataclasses.is_dataclass(node)):
        fields = getattr(node, "__dataclass_fields__", ())
        if extra := [name for name in attributes if name not in fields]:
            raise UnstageableError(f"a {type(node).__name__} {where} has {extra[0]!r}, which is no field")


def _metadata(node: Any) -> Any:
    """What a structure of a class that the user has registered has beside its children."""
    if type(node) in (tuple, list, dict) or is_input(node):
        return None
    entry: Any = optree.register_pytree_node.get(type(node), namespace=trees.NAMESPACE)
    return None if entry is None else entry.flatten_func(node)[1]


def _key_of_value(x: Any, died: Callable[[Any], Any] | None) -> Hashable:
    """A key of what nobody can tell apart: `1`, `True` and `1.0` differ, and so do `0.0` and `-0.0`."""
    kind = type(x)
    if kind in BY_EXACT_VALUE:
        return kind, x
    if kind is float or kind is complex:
        return kind, repr(x)
    if kind is tuple or kind is list:
        return kind, *(_key_of_value(part, died) for part in x)
    if kind is dict:
        return kind, *(_key_of_value(item, died) for item in x.items())
    return _key_of_leaf(x, died) if isinstance(x, np.generic | PurePath) else Itself(x, died)
