"""Structured variables as one vector: `ravel`, and the structure that a solver unravels again for the function."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.array_api import Wrapped
from shiftreset_ad.boundary import trees
from shiftreset_ad.numbers.number import Number, innermost
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.conversion import astype
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.rules.stand_ins import is_staged

LARGEST = {np.dtype(kind).itemsize: float(np.finfo(kind).max) for kind in (np.float16, np.float32)}


def ravel(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All numbers of a structure as one vector, and the function that puts a vector back into the structure.

    `tree` is a structure of floats and arrays, and the vector has the shape (n,), in the dtype that all these have
    together. `unravel(vector)` has the structure, shapes and dtypes of `tree`; leaves without a derivative stay as they
    are. Both have derivatives. Raises TypeError for complex numbers, and where there is no float.

    >>> vector, unravel = ravel({"b": 1.0, "w": np.array([2.0, 3.0])})
    >>> vector, unravel(2 * vector)
    (array([1., 2., 3.]), {'b': 2.0, 'w': array([4., 6.])})
    """
    structure = Structure("ravel", "tree", tree)
    return structure.vector_of(tree), structure.tree_of


class Structure:
    """The structure of some variables: it takes the numbers out into a vector, and puts a vector back."""

    __slots__ = ("_outline", "_parts", "dtype", "is_vector", "precision", "shapes", "size")

    def __init__(self, operator: str, argument: str, tree: Any) -> None:
        trees.require_differentiable(tree, operator, argument)
        self._parts = trees.Parts(tree)
        numbers = self._parts.numbers
        for x in numbers:
            if dtype_of(x).kind == "c":
                raise TypeError(
                    f"{operator}: {argument} has a complex number; make the real and the imaginary part variables of "
                    "their own"
                )
            if isinstance(innermost(x), Wrapped) and not is_staged(innermost(x)):
                raise TypeError(
                    f"{operator}: {argument} has an array of another library; give it arrays of NumPy, and convert "
                    "them inside the function"
                )
        self._outline = [(shape_of(x), dtype_of(x), _is_float(plain(x))) for x in numbers]
        self.shapes = [shape for shape, _, _ in self._outline]
        self.size = sum(int(np.prod(shape)) for shape in self.shapes)
        self.dtype = np.result_type(*(dtype for _, dtype, _ in self._outline))
        self.precision = max(float(np.finfo(dtype).eps) for _, dtype, _ in self._outline)
        self.is_vector = type(plain(tree)) is np.ndarray and len(shape_of(tree)) == 1

    def vector_of(self, tree: Any) -> Primal:
        """The numbers of a structure like this one as a vector."""
        if self.is_vector:
            return tree
        rows = [np.reshape(x, (-1,)) for x in trees.Parts(tree).numbers]
        vector = rows[0] if len(rows) == 1 else np.concatenate(rows)
        return vector if dtype_of(vector) == self.dtype else astype(vector, self.dtype)

    def start(self, tree: Any) -> Primal:
        """The vector of a start, in memory of its own."""
        return +self.vector_of(tree)

    def tree_of(self, vector: Primal) -> Any:
        """The structure with the numbers of a vector."""
        if self.is_vector:
            return vector
        numbers, begin = [], 0
        for shape, dtype, is_float in self._outline:
            end = begin + int(np.prod(shape))
            if shape:
                x = np.reshape(vector[begin:end], shape)
                numbers.append(x if dtype == self.dtype else astype(x, dtype))
            else:
                x = vector[begin]
                if dtype != self.dtype:
                    x = astype(x, dtype)
                numbers.append(x.item() if is_float and not isinstance(x, Number) else x)
            begin = end
        return self._parts.with_numbers(numbers)


def _is_float(x: Any) -> bool:
    """Whether a plain value is a float of Python's, or stands for one."""
    return type(x.inside if is_staged(x) else x) is float


def rows_like(count: int, x: Primal) -> Primal:
    """So many rows of zeros, to which numbers like `x` can be written: of its dtype, and of its derivatives."""
    return np.zeros_like(x, shape=(count, *shape_of(x)))


def norm(vector: Primal) -> float:
    """The length of a vector, as a plain number, also where the squares would become infinite or zero."""
    found = plain(vector)
    if not len(found):
        return 0.0
    largest = float(np.max(np.abs(found)))
    scale = min(largest + (largest == 0.0), LARGEST.get(found.dtype.itemsize, sys.float_info.max))
    scaled = found / scale
    return scale * math.sqrt(float(np.dot(scaled, scaled)))
