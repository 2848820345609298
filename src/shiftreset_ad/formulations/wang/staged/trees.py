"""Binary trees with a number at each inner node: the values of the kind `tree`, in Python and in C++."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Tree:
    """A node with its subtrees, of which `EMPTY` is one."""

    left: Tree | Empty
    value: float
    right: Tree | Empty
    not_empty: ClassVar[bool] = True


@dataclass(frozen=True)
class Empty:
    """The tree without a node."""

    not_empty: ClassVar[bool] = False


EMPTY = Empty()


class Struct(ctypes.Structure):
    """The struct `Tree` of the C++ programs."""

    @classmethod
    def of(cls, tree: Tree | Empty) -> Struct:
        """The struct for a tree; it keeps the structs of the subtrees."""
        if not isinstance(tree, Tree):
            return cls(False)
        left, right = ctypes.pointer(cls.of(tree.left)), ctypes.pointer(cls.of(tree.right))
        return cls(True, tree.value, left, right)


_pointer: Any = ctypes.POINTER(Struct)
Struct._fields_ = [("not_empty", ctypes.c_bool), ("value", ctypes.c_double), ("left", _pointer), ("right", _pointer)]
