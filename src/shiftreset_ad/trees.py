"""Structured arguments and results: nested tuples, lists, dicts, named tuples and dataclasses, by optree.

None is a structure without leaves. A dataclass needs no registration: its fields are its children.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import optree

from shiftreset_ad.dispatch import Number, value
from shiftreset_ad.rules.broadcasting import dtype_of

NAMESPACE = "shiftreset_ad"

_registered: set[type] = set()
_registering = threading.Lock()


def flatten(tree: Any) -> tuple[list[Any], optree.PyTreeSpec]:
    """The leaves of a structure, and the structure."""
    leaves, spec = optree.tree_flatten(tree, namespace=NAMESPACE)
    unknown = {type(leaf) for leaf in leaves if dataclasses.is_dataclass(leaf) and not isinstance(leaf, type)}
    if not unknown:
        return leaves, spec
    for kind in unknown:
        register_dataclass(kind)
    return flatten(tree)


def unflatten(spec: optree.PyTreeSpec, leaves: list[Any]) -> Any:
    """The structure with these leaves."""
    return optree.tree_unflatten(spec, leaves)


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
        # Not by its __init__: what that checks or computes holds of values, not of derivatives.
        instance: Any = object.__new__(kind)
        for name, child in zip(names, values, strict=True):
            object.__setattr__(instance, name, child)
        return instance

    with _registering:
        if kind not in _registered:  # by another thread
            optree.register_pytree_node(
                kind, children, rebuild, path_entry_type=optree.GetAttrEntry, namespace=NAMESPACE
            )
            _registered.add(kind)


def require_differentiable(tree: Any, function: str, argument: str) -> None:
    """Raise TypeError, naming the function, the argument and the place, if a leaf cannot be differentiated."""
    leaves, _ = flatten(tree)
    for accessor, leaf in zip(optree.tree_accessors(tree, namespace=NAMESPACE), leaves, strict=True):
        if not (isinstance(leaf, Number) or is_real_float(leaf)):
            raise TypeError(f"{function}: {accessor.codify(argument)} {_problem(leaf)}")


def is_real_float(leaf: Any) -> bool:
    """Whether a leaf is a float or an array of floats; not a matrix or a masked array, which compute otherwise."""
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind == "f" and (type(leaf) is np.ndarray or isinstance(leaf, np.memmap))
    return isinstance(leaf, float | np.floating)


def _problem(leaf: Any) -> str:
    kind = dtype_of(leaf).kind if isinstance(leaf, np.ndarray | np.generic | complex | int) else None
    if kind in ("i", "u", "b"):
        return (
            f"is an integer or a boolean ({leaf!r:.60}), which has no derivative; convert it: float(x), x.astype(float)"
        )
    if kind == "c":
        return "is complex, which is not supported so far; pass real and imaginary parts"
    of_dtype = f" and dtype {leaf.dtype}" if isinstance(leaf, np.ndarray) else ""
    return (
        f"is of type {type(leaf).__name__}{of_dtype}, which cannot be differentiated; "
        "pass floats, arrays of floats, or structures of them, or choose other arguments by argnums"
    )


def plain(tree: Any) -> Any:
    """`value` for every number in a structure; arrays come as read-only views."""

    def plain_leaf(leaf: Any) -> Any:
        if not isinstance(leaf, Number):
            return leaf
        found = value(leaf)
        if isinstance(found, np.ndarray):
            found = found.view()
            found.flags.writeable = False
        return found

    return map_leaves(plain_leaf, tree)
