"""Additions in place: `x + scatter(v at i)` adds `v` to a part of `x`, if nothing else needs `x`.

The way back of `xs[i]` in a loop adds such an array of zeros in each round. Whole arrays would cost each round as many
additions as `xs` has elements. `x + 0.0` is `x` but for -0.0, so `x` must be known to have no such element.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.indexing import replaced, scatter
from shiftreset_ad.staging.native.fusion import FILLED
from shiftreset_ad.staging.native.indexing import is_at_integers
from shiftreset_ad.staging.native.layouts import is_view
from shiftreset_ad.staging.native.llvm import DOUBLE, form_of
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import Call, Control, Fork, all_steps, own_arguments
from shiftreset_ad.staging.steps.trace import Block, Step, Trace
from shiftreset_ad.staging.steps.values import Staged, staged_in, unstaged

ADDING = (np.add, operator.add)
MOST_VALUES = 8  # that are added at single elements at once: each is compared with each
MOST = 200  # values that one question about -0.0 looks at


class Addition(NamedTuple):
    """The array that is added to, and what is added at which index: one value, several numbers, or several rows."""

    array: Staged
    values: list[Any]
    indices: list[Any]


Takes: TypeAlias = Callable[[Addition, Step, Step], bool]  # of an addition, the sum and the scatter


class Additions:
    """The additions in place of a trace, by the places of the sums. The scatters in them have no code of their own."""

    __slots__ = (
        "_any_zero",
        "_functions",
        "_given",
        "_homes",
        "_left",
        "_looks",
        "_made_of",
        "_makers",
        "_takes",
        "_uses",
        "_values",
        "found",
        "scatter_of",
        "scatters",
    )

    def __init__(self, trace: Trace, left: Eliminated, outputs: list[Any], takes: Takes | None = None) -> None:
        """`takes` says whether a sum may take the memory of its array; if it is given, there may be writes.

        If the program has `replaced`, too, elements that are -0.0 may stay -0.0.
        """
        self._left, self._takes = left, takes
        self._any_zero = False
        self._looks = 0
        self._functions: dict[Block, Call] = {}  # the first calls, by the bodies of the functions
        self._given: set[int] = set()  # the parameters of functions
        self._homes, self._values = trace.homes, trace.values
        self._uses = Counter(left.places_in(outputs))
        self._makers: dict[int, Step] = {}
        self._made_of: dict[int, list[Any]] = {}  # what a value is that loops carry or branches answer
        self.found: dict[int, Addition] = {}
        self.scatters: set[int] = set()
        self.scatter_of: dict[int, int] = {}  # by the places of the sums
        steps = [*all_steps(left.steps)]
        if not any(step.function is scatter for step in steps):
            return
        if takes is None and any(step.writes for step in steps):  # one may come between a scatter and its sum
            return
        self._any_zero = takes is not None and any(step.function is replaced for step in steps)
        used = [left.operands(x) if type(x) is Step else left.places_in(own_arguments(x)) for x in steps]
        self._uses.update(chain.from_iterable(used))
        for step in steps:
            is_plain = type(step) is Step
            if is_plain or not isinstance(step, Control):
                self._makers[step.place] = step
                continue
            if isinstance(step, Call):
                self._look_at_call(step)
                continue
            for i, answer in enumerate(step.answers):
                made_of = [results[i] for results in step.results]
                if not isinstance(step, Fork):
                    made_of.append(step.args[i])
                    self._made_of[step.params[i]] = made_of
                self._made_of[answer] = made_of
        for step in [*self._makers.values()]:
            if step.function in ADDING:
                self._look_at(step, trace.values[step.place])

    def _look_at_call(self, step: Call) -> None:
        """An argument stays as it is, as it belongs to who calls."""
        function = self._functions.setdefault(step.body, step)  # the first call comes first
        for i, answer in enumerate(step.answers):
            self._made_of[answer] = [results[i] for results in function.results]
        for param, arg in zip(function.params, step.args, strict=True):
            self._made_of.setdefault(param, []).append(arg)
            self._given.add(param)

    def _look_at(self, step: Step, answer: Any) -> None:
        if step.kwargs or not _is_array(answer):
            return
        for x, added in (step.args, step.args[::-1]):
            if self._is_like(x, answer) and self._serves_only(step, added, answer):
                maker = self._makers.get(self._left.place(added))
                if maker is None or maker.function is not scatter:
                    continue
                values, indices, *_ = maker.args
                addition = Addition(x, list(values), list(indices))
                self._looks = 0
                if (
                    _may_be_in_place(values, indices, answer)
                    and self._has_no_negative_zero(x, frozenset())
                    and self._may_take(addition, step, maker)
                ):
                    self.found[step.place] = addition
                    self.scatter_of[step.place] = maker.place
                    self.scatters.add(maker.place)
                    return

    def _may_take(self, addition: Addition, step: Step, maker: Step) -> bool:
        """Whether a sum may have the memory of its array."""
        if self._takes is not None:
            return self._takes(addition, step, maker)
        return self._serves_only(step, addition.array, self._values[step.place])

    def _is_like(self, x: Any, answer: Any) -> bool:
        """Whether an argument is an array that lies in memory as the answer does."""
        if type(x) is not Staged or x._place in self._left.fixed:
            return False
        value = x.inside
        return _is_array(value) and (value.strides, value.shape) == (answer.strides, answer.shape)

    def _serves_only(self, step: Step, x: Any, answer: Any) -> bool:
        """Whether an argument is an array like the answer, made in the same block for this step alone."""
        if not self._is_like(x, answer):
            return False
        place = self._left.place(x)
        if place in self._given:
            return False
        is_made_here = place in self._made_of or (place in self._makers and self._is_new(self._makers[place], x.inside))
        return is_made_here and self._homes[place] is self._homes[step.place] and self._uses[place] == 1

    def _is_new(self, maker: Step, value: Any) -> bool:
        """Whether an array is no view of another one."""
        return not any(is_view(value, x.inside) for x in staged_in(own_arguments(maker)))

    def _has_no_negative_zero(self, x: Any, assumed: frozenset[int]) -> bool:
        """Whether no element can be -0.0, if the values at the places `assumed` have no such element."""
        if self._any_zero:
            return True
        if type(x) is not Staged or x._place in self._left.fixed:
            value = np.asarray(unstaged(x))
            return not np.any((value == 0.0) & np.signbit(value))
        place = self._left.place(x)
        self._looks += 1
        if place in assumed or self._looks > MOST:
            return place in assumed
        assumed |= {place}
        if place in self._made_of:
            return all(self._has_no_negative_zero(part, assumed) for part in self._made_of[place])
        maker = self._makers.get(place)
        if maker is None:
            return False
        if maker.function in ADDING:  # a sum is -0.0 only if both terms are
            return any(self._has_no_negative_zero(part, assumed) for part in maker.args)
        return maker.function is scatter or maker.function in FILLED


def _may_be_in_place(values: Any, indices: Any, answer: Any) -> bool:
    """Whether one value is added anywhere, or several at single elements of an array, or several rows."""
    if len(values) == 1:
        return is_at_integers(indices[0])
    parts = [index if type(index) is tuple else (index,) for index in indices]
    count = len(parts[0])
    if len(values) > MOST_VALUES or any(len(of) != count for of in parts):
        return False
    if not all(type(unstaged(i)) in (int, np.int64) for of in parts for i in of):
        return False
    row = answer.shape[count:]
    if not row:
        return all(form_of(unstaged(value)) == DOUBLE for value in values)
    return all(_is_array(unstaged(value)) and unstaged(value).shape == row for value in values)


def _is_array(x: Any) -> bool:
    """Whether a value is an array of float64, of any size: the steps by NumPy add in place, too."""
    return type(x) is ndarray and bool(x.shape) and x.dtype == np.float64
