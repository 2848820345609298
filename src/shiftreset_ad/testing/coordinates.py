"""The real coordinates of the numbers in a structure, one after the other; a complex number has two.

In coordinates every function is a function of a real vector. The pairing of a cotangent with a tangent,
Re(sum(y_bar * y_dot)), becomes a sum of products, because the imaginary parts of a cotangent change their sign.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import optree

from shiftreset_ad.boundary import trees
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of

Vector: TypeAlias = np.ndarray[Any, Any]

APART = 8  # up to this many numbers are checked one by one
ALIKE = 16  # bits


class Coordinates:
    """Vectors for structures like the given ones, each of which has a name."""

    __slots__ = ("_names", "_numbers", "dtypes", "size", "spans")

    def __init__(self, structures: Sequence[tuple[str, Any]]) -> None:
        named = [pair for name, tree in structures for pair in named_numbers(name, tree)]
        self._names = [name for name, _ in named]
        self._numbers = [number for _, number in named]
        self.dtypes = [dtype_of(number) for number in self._numbers]
        sizes = [
            math.prod(shape_of(number)) * (2 if dtype.kind == "c" else 1)
            for number, dtype in zip(self._numbers, self.dtypes, strict=True)
        ]
        ends = [0, *itertools.accumulate(sizes)]
        self.spans = [slice(*ends[i : i + 2]) for i in range(len(sizes))]
        self.size = ends[-1]

    def vector(self, numbers: Sequence[Any], cotangent: bool = False) -> Vector:
        """The coordinates of numbers of these shapes; None is zero. Raises ValueError for other shapes.

        The vector is complex if a number is complex where a real number is expected.
        """
        if len(numbers) != len(self._numbers):
            raise ValueError(f"there were {len(self._numbers)} floating-point numbers, and there are {len(numbers)}")
        parts = [
            self._part(place, np.zeros(shape_of(self._numbers[place])) if number is None else number, cotangent)
            for place, number in enumerate(numbers)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def _part(self, place: int, number: Any, cotangent: bool) -> Vector:
        if shape_of(number) != shape_of(self._numbers[place]):
            raise ValueError(
                f"{self._names[place]} had shape {shape_of(self._numbers[place])}, and has shape {shape_of(number)}"
            )
        flat = np.ravel(np.asarray(number))
        if self.dtypes[place].kind != "c":
            return flat
        return np.ravel(np.stack([flat.real, -flat.imag if cotangent else flat.imag], axis=-1))

    def structured(self, vector: Vector, wide: bool = False, cotangent: bool = False) -> list[Any]:
        """The numbers with these coordinates, of their old types; with `wide`, in double precision at least."""
        return [self._number(place, vector[span], wide, cotangent) for place, span in enumerate(self.spans)]

    def _number(self, place: int, flat: Vector, wide: bool, cotangent: bool) -> Any:
        like, dtype = self._numbers[place], self.dtypes[place]
        if dtype.kind == "c":
            pairs = np.reshape(flat, (-1, 2))
            flat = pairs[:, 0] + 1j * (-pairs[:, 1] if cotangent else pairs[:, 1])
        if wide:
            dtype = np.promote_types(dtype, np.float64)
        if flat.dtype.kind == "c":
            dtype = np.promote_types(dtype, np.complex64)
        array = np.reshape(flat.astype(dtype), shape_of(like))
        return array if isinstance(like, np.ndarray) else array.item() if type(like) in (float, complex) else array[()]

    def name(self, place: int) -> str:
        """The user's name for one coordinate, as in argument 0['w'][3, 1]."""
        leaf = next(i for i, span in enumerate(self.spans) if span.start <= place < span.stop)
        shape, offset, part = shape_of(self._numbers[leaf]), place - self.spans[leaf].start, ""
        if self.dtypes[leaf].kind == "c":
            offset, imaginary = divmod(offset, 2)
            part = ".imag" if imaginary else ".real"
        index = f"[{', '.join(map(str, np.unravel_index(offset, shape)))}]" if shape else ""
        return f"{self._names[leaf]}{index}{part}"

    def names_at(self, places: Vector) -> list[str]:
        """The user's names for the numbers that these coordinates belong to."""
        leaves = np.unique(np.searchsorted([span.stop for span in self.spans], places, side="right"))
        return [self._names[leaf] for leaf in leaves]

    def largest(self, vector: Vector) -> list[float]:
        """The largest absolute value among the coordinates of each number."""
        return [float(np.max(np.abs(vector[span]), initial=0.0)) for span in self.spans]

    def sizes(self, vector: Vector) -> Vector:
        """A power of two for each coordinate, about as large as the largest coordinate of its number.

        Coordinates of about the same size in a number have the same power. It is 1 if all are zero, and for small
        coordinates it is smaller by a power of 2**16.
        """
        largest = self.spread([math.frexp(size)[1] if size > 0.0 else 0.0 for size in self.largest(vector)])
        exponents = np.where(vector == 0.0, largest, np.frexp(vector)[1])
        return np.asarray(2.0 ** (largest - (largest - exponents) // ALIKE * ALIKE))

    def apart(self, vector: Vector) -> list[Vector]:
        """A vector split by the numbers that its elements belong to; the whole vector if the numbers are many."""
        if len(self.spans) > APART:
            return [vector]
        return [part(vector, span) for span in self.spans if span.stop > span.start]

    def spread(self, of_each: Sequence[float]) -> Vector:
        """A vector with one value for all coordinates of each number."""
        return np.repeat(np.asarray(of_each, float), [span.stop - span.start for span in self.spans])


def named_numbers(name: str, tree: Any) -> Iterator[tuple[str, Any]]:
    """The floating-point numbers in a structure, each with its name, as in argument 0['w']."""
    leaves, _ = trees.flatten(tree)
    for accessor, leaf in zip(optree.tree_accessors(tree, namespace=trees.NAMESPACE), leaves, strict=True):
        if trees.is_number(leaf):
            yield accessor.codify(name), leaf


def part(vector: Vector, places: Any) -> Vector:
    """The vector with its elements at these places, and zeros elsewhere."""
    kept = np.zeros_like(vector)
    kept[places] = vector[places]
    return kept
