"""`IndexSets`: a tangent that says, for each element, which inputs it depends on.

A derivative is linear in its direction, and a linear operation depends on no more than its operands do. So the rules of
forward mode carry sets of inputs along as they carry tangents: a sum has the union of the sets, a product with a
constant the same set, and a function that moves elements moves their sets. The sets have numbers (`sets`), so an array
of sets is an array of integers, which NumPy's own functions move, view and write to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy import ndarray

from shiftreset_ad.modes.index_sets.sets import Sets
from shiftreset_ad.numbers.dispatch import name_of
from shiftreset_ad.numbers.interface import ArrayNumber
from shiftreset_ad.numbers.number import map_numbers, numbers_in
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import Structured
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.conversion import constant_of
from shiftreset_ad.rules.numpy.shapes import OF_THE_SHAPE


class IndexSets(ArrayNumber):
    """The sets of inputs of the elements of an array: `which` has their numbers in `sets`.

    With `here`, a product with a constant zero depends on nothing; otherwise zeros count as any other constant. The
    sets are `shared` in views of the real part of complex numbers, as the imaginary part has no sets of its own.
    """

    __slots__ = ("_dtype", "here", "sets", "shared", "tag", "which")
    has_one_value = False
    ways: ClassVar[dict[Callable[..., Any], Callable[..., Any]]]  # how functions work on sets

    def __init__(self, which: Any, tag: Tag, sets: Sets, dtype: Any, here: bool, shared: bool = False) -> None:
        self.which = which
        self.tag = tag
        self.sets = sets
        self.here = here
        self.shared = shared
        self._dtype = dtype

    shape = property(lambda self: self.which.shape, doc="Of the array.")
    dtype = property(lambda self: self._dtype, doc="Of the tangent that these sets stand for.")

    @property
    def primal(self) -> NoReturn:
        """There is none: sets have no values."""
        raise _asked("the value")

    @property
    def inside(self) -> Any:
        return self.which

    def __len__(self) -> int:
        return len(self.which)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __repr__(self) -> str:
        return f"IndexSets({self.which!r}, level={self.tag.level})"

    def has(self, x: Any) -> bool:
        """Whether `x` has sets of the same run."""
        return type(x) is IndexSets and x.tag is self.tag

    def like(self, which: Any, dtype: Any = None) -> IndexSets:
        """Other sets of the same run."""
        dtype = self._dtype if dtype is None else dtype
        return IndexSets(np.asarray(which), self.tag, self.sets, dtype, self.here, self.shared)

    def of(self, x: Any) -> Any:
        """The numbers of the sets of `x`; a constant depends on nothing."""
        return x.which if self.has(x) else np.zeros(shape_of(x), np.int64)

    def structured(self, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any], form: Any = None) -> Any:
        self.tag.require_open()
        way = self.ways.get(rule.function)
        return self.of_everything(rule.function, args, kwargs) if way is None else way(self, *args, **kwargs)

    def of_everything(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The answers of a linear function, each element of which depends on all elements of all operands."""
        operands = [x for argument in (*args, *kwargs.values()) for x in numbers_in(argument) if self.has(x)]
        args = tuple([map_numbers(self.zeros_for, x) for x in args])
        answer = function(*args, **{name: map_numbers(self.zeros_for, x) for name, x in kwargs.items()})
        if isinstance(answer, tuple | list):
            return type(answer)(self.spread(operands, answer))
        return self.spread(operands, [answer])[0]

    def zeros_for(self, x: Any) -> Any:
        """A plain tangent of zeros in place of sets; anything else as it is."""
        return np.zeros(x.shape, x.dtype)[()] if self.has(x) else x

    def spread(self, operands: Sequence[Any], answers: Sequence[Any]) -> list[Any]:
        """For each of the answers, the union of all sets of the operands, everywhere. None stands for zero."""
        each = [self.sets.union_along_first(x.which.reshape(-1)) for x in operands]
        found = self.sets.union_along_first(np.array(each))
        return [None if y is None else self.like(np.full(shape_of(y), found), dtype_of(y)) for y in answers]

    def lifted(self, constant: Primal) -> IndexSets:
        which = np.zeros_like(constant, np.int64, subok=False) if type(constant) is ndarray else self.of(constant)
        return self.like(which, dtype_of(constant))

    def taken(self, index: Any) -> Any:
        return self.like(self.which[index].copy())

    def write(self, index: Any, item: Any) -> None:
        self.tag.require_open()
        which = self.of(item)
        self.which[index] = self.sets.union(self.which[index], which) if self.shared else which

    def constant(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if function not in OF_THE_SHAPE:
            asked = name_of(args[1] if function is constant_of else function)
            raise _asked(asked)
        return function(*(map_numbers(self.of, x) for x in args), **kwargs)


def _asked(what: str) -> TypeError:
    return TypeError(
        f"{what} of a tangent or cotangent was asked for, while the sparsity of a derivative is found. A derivative is "
        "linear in it: multiply by it and add, and do not branch on it"
    )
