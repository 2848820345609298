"""The arguments of a batched call, taken apart into rows, and its answers, put together."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import optree
from numpy import ndarray

from shiftreset_ad.array_api import Standard, Wrapped
from shiftreset_ad.batching.rows import Rows
from shiftreset_ad.boundary import trees
from shiftreset_ad.numbers.number import Number, innermost, plain_value
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.layouts import with_axes_like
from shiftreset_ad.rules.stand_ins import is_staged
from shiftreset_ad.staging.seen.keys import KINDS, is_input

ARRAYS = (ndarray, Number, Wrapped)


class _Leaf:
    """A leaf in place of another one, which may itself be a structure."""

    __slots__ = ("leaf",)

    def __init__(self, leaf: Any) -> None:
        self.leaf = leaf


class Batch:
    """The arguments of a call: leaves with `count` rows each, along the first axis, and leaves that all rows share."""

    __slots__ = ("count", "leaves", "spec")

    def __init__(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any) -> None:
        self.leaves, self.spec = trees.flatten((args, kwargs))
        axes = _axes_of_arguments(name, in_axes, args, self.spec)
        sizes: dict[int, int] = {}
        for i, (leaf, axis) in enumerate(zip(self.leaves, axes, strict=True)):
            if axis is not None:
                self.leaves[i] = _rows(name, leaf, axis, partial(self._described, i))
                sizes.setdefault(shape_of(self.leaves[i].rows)[0], i)
        if not sizes:
            reason = "as in_axes is None for all" if self.leaves else "as no argument was given"
            raise ValueError(f"{name}: no argument has rows, {reason}. Call the function itself")
        if len(sizes) > 1:
            (first, of_first), (second, of_second), *_ = sizes.items()
            raise ValueError(
                f"{name}: the arguments differ in the number of rows: {self._described(of_first)} has {first}, and "
                f"{self._described(of_second)} has {second}. Give in_axes=None for an argument that all rows share"
            )
        (self.count,) = sizes

    def _described(self, i: int) -> str:
        """The argument with this leaf, as an error names it."""
        (kind, place), rest = (path := self.spec.paths()[i])[:2], path[2:]
        outer = f"argument {place}" if kind == 0 else f"argument {place!r}"
        return outer + "".join([f"[{part!r}]" for part in rest])

    def row(self, k: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of row `k`; arrays are copies."""
        args, kwargs = trees.unflatten(self.spec, [_own(x.rows[k]) if type(x) is Rows else x for x in self.leaves])
        return args, kwargs

    def example(self, k: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The plain arguments of row `k`, without numbers; of zeros if there is no row."""
        args, kwargs = trees.unflatten(self.spec, [_plain(_example(x, k)) for x in self.leaves])
        return args, kwargs

    def example_in_library(self, k: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same, with arrays of other libraries as they are."""
        args, kwargs = trees.unflatten(self.spec, [_example(x, k) for x in self.leaves])
        return args, kwargs

    def kind(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments like those of a row: of an array of another library they have the shape and the dtype alone."""
        args, kwargs = trees.unflatten(self.spec, [_like(_example(x, 0)) for x in self.leaves])
        return args, kwargs

    def inputs(self, chosen: ndarray[Any, Any]) -> list[Any]:
        """The leaves that are numbers or arrays, with the `chosen` rows only."""
        leaves = [x for x in self.leaves if type(x) is Rows or isinstance(x, Number | Wrapped) or is_input(x)]
        if len(chosen) == self.count:
            return leaves
        return [Rows(x.rows[chosen]) if type(x) is Rows else x for x in leaves]

    def has(self, kind: type) -> bool:
        """Whether there is a wrapped value of this kind, also in a number."""
        return any(issubclass(type(innermost(x.rows if type(x) is Rows else x)), kind) for x in self.leaves)

    def has_values_only(self) -> bool:
        """Whether all rows are values of a program: a string, or an object, is a constant in one."""
        return all(x.dtype.kind in KINDS for x in self.leaves if type(x) is Rows)

    def library(self) -> type | None:
        """The type of the arrays of another library; None if there are none."""
        found = [innermost(x.rows if type(x) is Rows else x) for x in self.leaves]
        return next((type(x.array) for x in found if type(x) is Standard), None)

    def has_numbers(self) -> bool:
        """Whether there is a number that is being differentiated."""
        return any(isinstance(x.rows if type(x) is Rows else x, Number) for x in self.leaves)

    def with_shared(self, values: list[Any]) -> Batch:
        """The same arguments, and before them one more, a list of values that all rows share."""
        batch = object.__new__(Batch)
        args, kwargs = trees.unflatten(self.spec, [_Leaf(x) for x in self.leaves])
        leaves, batch.spec = trees.flatten(((values, *args), kwargs))
        batch.leaves = [x.leaf if type(x) is _Leaf else x for x in leaves]
        batch.count = self.count
        return batch


def _own(x: Any) -> Any:
    return np.copy(x) if type(x) is ndarray else x


def as_the_users(x: Any) -> Any:
    """A value as the user has it: an array of another library as it is, and not wrapped."""
    return x.array if type(x) is Standard else x


def _example(x: Any, k: int) -> Any:
    value = plain_value(x.rows if type(x) is Rows else x)
    value = value.inside if is_staged(value) else value
    if type(x) is not Rows:
        return value
    return _own(value[k]) if len(value) else np.zeros(x.shape, x.dtype)[()]


def _plain(x: Any) -> Any:
    return x.to_numpy()[()] if type(x) is Standard else x


def in_numpy(x: Any) -> Any:
    """An array, also one of another library, as one of NumPy's in the order of C; anything else as it is."""
    plain = _plain(x)
    return np.array(plain, order="C") if type(plain) is ndarray else plain


def _like(x: Any) -> Any:
    return np.zeros(x.shape, x.dtype)[()] if type(x) is Standard else x


def _axes_of_arguments(name: str, in_axes: Any, args: tuple[Any, ...], spec: optree.PyTreeSpec) -> list[int | None]:
    """The axis of each leaf. As in JAX, arguments given by name have their rows along the first axis."""
    of_args, of_kwargs = spec.children()
    named: list[int | None] = [0] * of_kwargs.num_leaves
    if not isinstance(in_axes, list | tuple):
        return broadcast_axes(name, "in_axes", in_axes, args, of_args) + named
    if len(in_axes) != len(args):
        raise ValueError(
            f"{name}: in_axes has {len(in_axes)} entries, and the function got {len(args)} positional arguments. "
            "Give one entry for each"
        )
    found = [broadcast_axes(name, "in_axes", *each) for each in zip(in_axes, args, of_args.children(), strict=True)]
    return [axis for each in (*found, named) for axis in each]


def broadcast_axes(name: str, argument: str, axes: Any, tree: Any, spec: optree.PyTreeSpec) -> list[int | None]:
    """The axis of each leaf of a structure, of an integer, None, or a structure of these."""
    count = spec.num_leaves
    if axes is None or isinstance(axes, int | np.integer):
        return [_checked(name, argument, axes)] * count
    try:
        found = optree.broadcast_prefix(axes, tree, none_is_leaf=True, namespace=trees.NAMESPACE)
    except ValueError as error:
        raise ValueError(
            f"{name}: {argument} must be an integer, None, or a structure of these that begins as that of the values "
            f"does: {error}"
        ) from None
    if len(found) != count:  # None is a leaf there, and none in a structure of values
        kept = [leaf is not None for leaf in optree.tree_leaves(tree, none_is_leaf=True, namespace=trees.NAMESPACE)]
        found = [axis for axis, is_value in zip(found, kept, strict=True) if is_value]
    return [_checked(name, argument, axis) for axis in found]


def _checked(name: str, argument: str, axis: Any) -> int | None:
    if axis is None:
        return None
    if isinstance(axis, bool) or not isinstance(axis, int | np.integer):
        raise TypeError(f"{name}: {argument} has {axis!r:.40}, and an axis is an integer, or None")
    return operator.index(axis)


def _rows(name: str, leaf: Any, axis: int, where: Callable[[], str]) -> Rows:
    """A leaf with its rows along the first axis. Plain ones follow one another in memory, each as it is."""
    if isinstance(leaf, list | str) or not (isinstance(leaf, ARRAYS) or hasattr(leaf, "__array__")):
        raise TypeError(
            f"{name}: {where()} is a {type(leaf).__name__}, which has no rows. Give in_axes=None for it, or an array"
        )
    array: Any = leaf if isinstance(leaf, ARRAYS) else np.asarray(leaf)
    ndim = len(shape_of(array))
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"{name}: {where()} has {_axes(ndim)}, and in_axes names axis {axis} of it. Give in_axes=None for an "
            "argument that all rows share"
        )
    moved = array if axis == 0 else np.moveaxis(array, axis, 0)
    is_plain = type(moved) is ndarray or is_staged(moved)
    return Rows(with_axes_like(moved, (math.inf, *moved.strides[1:])) if is_plain else moved)


def _axes(count: int) -> str:
    return "1 axis" if count == 1 else f"{count or 'no'} axes"


class Answers:
    """The answers for all rows, leaf by leaf, put together from those of groups of rows."""

    __slots__ = ("_name", "_parts", "_spec")

    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: optree.PyTreeSpec | None = None
        self._parts: list[tuple[ndarray[Any, Any], list[Any]]] = []

    def has_any(self) -> bool:
        """Whether there are answers for some rows, or for no rows at all."""
        return bool(self._parts)

    def add(self, chosen: ndarray[Any, Any], leaves: list[Any], spec: optree.PyTreeSpec) -> None:
        """Enter the leaves for the `chosen` rows. ValueError for another structure than that of other rows."""
        if self._spec is not None:
            _require_same_structure(self._name, self._spec, spec)
        self._spec = spec
        self._parts.append((chosen, leaves))

    def joined(self, out_axes: Any) -> Any:
        """The answer, with the rows of each leaf along its axis of `out_axes`."""
        if self._spec is None:
            raise ValueError(f"{self._name}: there are no rows, and the function could not be recorded without them")
        first = self._parts[0][1]
        leaves = [self._leaf([(len(chosen), part[i]) for chosen, part in self._parts]) for i in range(len(first))]
        chosen = np.concatenate([chosen for chosen, _ in self._parts])
        if len(self._parts) > 1:
            order = np.argsort(chosen)
            leaves = [Rows(leaf.rows[order]) if type(leaf) is Rows else leaf for leaf in leaves]
        values = trees.unflatten(self._spec, [leaf.rows if type(leaf) is Rows else leaf for leaf in leaves])
        axes = broadcast_axes(self._name, "out_axes", out_axes, values, self._spec)
        placed = [self._placed(leaf, axis, len(chosen)) for leaf, axis in zip(leaves, axes, strict=True)]
        return trees.unflatten(self._spec, list(map(as_the_users, placed)))

    def _leaf(self, parts: Sequence[tuple[int, Any]]) -> Any:
        (_, first), *rest = parts
        if not rest or (type(first) is not Rows and all(x is first for _, x in rest)):
            return first
        _require_one_shape(self._name, {x.shape if type(x) is Rows else shape_of(x) for _, x in parts})
        return Rows(np.concatenate([_of_all(x, count) for count, x in parts]))

    def _placed(self, leaf: Any, axis: int | None, count: int) -> Any:
        if axis is None:
            if type(leaf) is Rows:
                raise ValueError(
                    f"{self._name}: out_axes is None for a value that differs from row to row. Give an axis"
                )
            return leaf
        if type(leaf) is not Rows and not is_value(leaf):
            raise TypeError(
                f"{self._name}: the function returns a {type(leaf).__name__}. Return numbers, arrays, or structures of "
                "them, or give out_axes=None for what all rows share"
            )
        rows = leaf.rows if type(leaf) is Rows else _of_all(leaf, count)
        ndim = len(shape_of(rows))
        if not -ndim <= axis < ndim:
            raise ValueError(
                f"{self._name}: the answer for all rows has {_axes(ndim)}, and out_axes names axis {axis} of it. Give "
                f"one from {-ndim} to {ndim - 1}"
            )
        return rows if axis == 0 else np.moveaxis(rows, 0, axis)


def is_value(x: Any) -> bool:
    """Whether a leaf of an answer is a number or an array."""
    return isinstance(x, (*ARRAYS, np.generic, bool, int, float, complex))


def _of_all(x: Any, count: int) -> Any:
    """The rows of `x`; of a value for all rows, a copy for each."""
    if type(x) is Rows:
        return x.rows
    copies = np.broadcast_to(x, (count, *shape_of(x)))
    return copies.copy() if type(copies) is ndarray or is_staged(copies) else copies


def stack_of(name: str, answers: list[Any]) -> tuple[list[Any], optree.PyTreeSpec]:
    """The leaves of the answers of all rows, stacked, and their structure."""
    flat = [trees.flatten(answer) for answer in answers]
    for _, spec in flat:
        _require_same_structure(name, flat[0][1], spec)
    leaves = []
    for parts in zip(*[leaves for leaves, _ in flat], strict=True):
        if not all(map(is_value, parts)):
            leaves.append(parts[0])
            continue
        _require_one_shape(name, set(map(shape_of, parts)))
        leaves.append(Rows(np.stack(parts)))
    return leaves, flat[0][1]


def _require_same_structure(name: str, first: optree.PyTreeSpec, other: optree.PyTreeSpec) -> None:
    if first != other:
        raise ValueError(
            f"{name}: the function returns {first} for one row, and {other} for another. Return the same structure for "
            "all"
        )


def _require_one_shape(name: str, shapes: set[tuple[int, ...]]) -> None:
    if len(shapes) > 1:
        raise ValueError(
            f"{name}: the function returns arrays of shape {min(shapes)} for one row, and {max(shapes)} for another. "
            "Return the same shape for all"
        )
