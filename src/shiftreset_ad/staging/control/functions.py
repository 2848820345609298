"""A function that calls itself, with the trees that it takes and gives: their staged leaves are what a call carries.

A leaf that is the same in the first call and in each call inside stays what it is. A leaf that differs is carried, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.control.activations import Again, CallWay
from shiftreset_ad.staging.control.combinators import CARRIED, CarriedStructure, called
from shiftreset_ad.staging.control.kinds import staged_inside
from shiftreset_ad.staging.control.recursion import called_out
from shiftreset_ad.staging.steps.trace import Trace

SAME_IF_EQUAL = {bool, int, float, complex, str}


class _Differs(BaseException):
    """A call inside has another leaf at this place than the first call."""

    def __init__(self, function: SelfCalling, place: int) -> None:
        super().__init__()
        self.function, self.place = function, place


class SelfCalling:
    """A function that calls itself. Its first call writes it down, and meanwhile `again` is what it calls."""

    def __init__(self, trace: Trace, function: Callable[..., Any], read: Callable[[Any], None]) -> None:
        """`read` is told of the arguments, which become part of the record and may come from outside."""
        self._trace = trace
        self._function = function
        self._read = read
        self._leaves: list[Any] = []
        self._spec: Any = None
        self._carried: list[int] = []
        self._answer: CarriedStructure | None = None
        self._again: Again | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The answer of the first call."""
        self._read((args, kwargs))
        self._leaves, self._spec = trees.flatten((args, kwargs))
        self._carried = [i for i, leaf in enumerate(self._leaves) if any(True for _ in staged_inside(leaf))]
        attempts, given = self._trace.attempts, (self._spec, code_of(self._function))
        path = attempts.path()
        known = attempts.found(path, given)
        if known is not None:
            self._carried, self._answer = known
        while True:
            mark = self._trace.mark()
            way = CallWay(self._trace, is_met=self._answer is not None)
            try:
                answers = called_out(way, self._body, [self._leaves[i] for i in self._carried])
            except _Differs as differs:
                if differs.function is not self:
                    raise
                self._trace.rewind(mark)
                self._carried, self._answer = sorted([*self._carried, differs.place]), None
                continue
            if self._answer is not None and self._answer.is_of_values:
                attempts.keep(path, given, (self._carried, self._answer))
            return self._with_leaves(answers)

    def again(self, *args: Any, **kwargs: Any) -> Any:
        """The answer of a call inside."""
        self._read((args, kwargs))
        leaves, spec = trees.flatten((args, kwargs))
        if spec != self._spec:
            self._trace.refuse(f"the function calls itself with the structure {spec}, and not {self._spec}")
        for i, (leaf, known) in enumerate(zip(leaves, self._leaves, strict=True)):
            if i not in self._carried and not is_same(leaf, known):
                if not (isinstance(leaf, CARRIED) and isinstance(known, CARRIED)):
                    self._trace.refuse(f"the function has {known!r:.40}, and calls itself with {leaf!r:.40}")
                raise _Differs(self, i)
        assert self._again is not None
        answers, _ = self._again([leaves[i] for i in self._carried], None)
        return self._with_leaves(answers)

    def _body(self, values: list[Any], again: Again) -> list[Any]:
        leaves = list(self._leaves)
        for i, value in zip(self._carried, values, strict=True):
            leaves[i] = value
        outer, self._again = self._again, again
        try:
            args, kwargs = trees.unflatten(self._spec, leaves)
            answer = called(self._trace, "the function that calls itself", self._function, *args, **kwargs)
        finally:
            self._again = outer
        if self._answer is None:
            self._answer = CarriedStructure(self._trace, "a function that calls itself", answer)
        return self._answer.leaves_of(answer)

    def _with_leaves(self, answers: list[Any]) -> Any:
        assert self._answer is not None
        return self._answer.with_leaves(answers)


def code_of(function: Callable[..., Any]) -> Any:
    """The code that a function stands for."""
    return getattr(getattr(function, "__wrapped__", function), "__code__", None)


def is_same(x: Any, y: Any) -> bool:
    """Whether two leaves are surely the same."""
    return x is y or (type(x) is type(y) and type(x) in SAME_IF_EQUAL and repr(x) == repr(y))
