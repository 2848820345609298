"""A way back that can be run any number of times: the pending operations of a run are kept.

`grad` frees each operation when it is done. A recording keeps the operations, and clears their adjoints after each way
back. An interrupt can cut the clearing short. Then the next way back clears the adjoints first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from threading import Lock, get_ident
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.arguments import Arguments
from shiftreset_ad.boundary.checks import require_all_usable, value_and_aux
from shiftreset_ad.control import ControlError, Operation, run
from shiftreset_ad.modes.reverse.adjoints import accumulate, finished
from shiftreset_ad.modes.reverse.backpropagation import backward
from shiftreset_ad.modes.reverse.borders import arrived, going_back
from shiftreset_ad.modes.reverse.collector import with_relaxed_collector
from shiftreset_ad.modes.reverse.kept import verify
from shiftreset_ad.modes.reverse.memory import PLACES, waiting
from shiftreset_ad.modes.reverse.number import NumR, ReverseTag
from shiftreset_ad.modes.reverse.shells import Shell
from shiftreset_ad.modes.reverse.writing import redo, writes_among, written_number
from shiftreset_ad.numbers.number import ZERO, Number
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.carried_zeros import carried
from shiftreset_ad.rules.stand_ins import is_staged


class Recording:
    """What `f` did with its arguments, and what it returned: `value`, and with `has_aux` also `aux`."""

    __slots__ = (
        *("_cut_short", "_lock", "_memories", "_owner", "_pending", "_tag", "_undone", "_writes", "_xs", "_ys"),
        *("arguments", "aux", "operator", "structure", "value"),
    )

    def __init__(
        self,
        operator: str,
        f: Callable[..., Any],
        arguments: Arguments,
        has_aux: bool = False,
        kwargs: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.operator = operator
        self.arguments = arguments
        self._lock = Lock()
        self._owner = 0
        self._cut_short = self._undone = False
        tag = ReverseTag()
        tag.recorded = True
        self._tag = tag
        # Copies, as the caller may write to the arrays before the way back.
        copies = [_copy(x) for x in arguments.numbers]
        self._xs = arrived(copies, tag)
        self._pending: list[Operation] = []
        args = arguments.with_numbers(self._xs)
        program = partial(trees.returned, partial(f, *args, **kwargs))
        result = with_relaxed_collector(lambda: run(tag, program, self._pending.append))
        for number, copy in zip(arguments.numbers, copies, strict=True):
            if isinstance(copy, ndarray):
                verify((verify, number, copy))
        tag.copies.clear()
        tag.protected.clear()
        self._writes = writes_among(self._pending)
        self._memories = [(x, x.adjoint) for x in {id(x): x for x in map(written_number, self._writes)}.values()]
        value, aux = value_and_aux(operator, result, has_aux)
        trees.require_known(value, operator)
        ys = trees.Parts(value).numbers
        require_all_usable(operator, ys, tag)
        self._ys = [waiting(y) if type(y) is NumR and y.tag is tag else None for y in ys]
        self.value = _own(value, tag)
        self.aux = _own(aux, tag) if has_aux else None
        self.structure = trees.Parts(self.value)

    @property
    def answers(self) -> list[Any]:
        """The floating-point numbers in the value."""
        return self.structure.numbers

    def cotangents(self, y_bar: Cotangent) -> list[Cotangent]:
        """The cotangent of each number in the value, from `y_bar`, a structure like the value; None stands for zero."""
        return self.structure.derivatives_in(y_bar, self.operator, "the cotangent", "the value of the function")

    def pull(self, y_bars: list[Cotangent]) -> list[Cotangent]:
        """The cotangents of the numbers in the arguments, from those of the numbers in the value; None stands for zero.

        Only one thread runs it at a time; others wait. Raises ControlError if a pullback calls itself.
        """
        if self._owner == get_ident():  # no other thread can have written this value
            raise ControlError(f"{self.operator}: a pullback was called while it was running; call vjp once more")
        with self._lock:
            self._owner = get_ident()
            try:
                return self._pulled(y_bars)
            finally:
                self._owner = 0

    def _pulled(self, y_bars: list[Cotangent]) -> list[Cotangent]:
        if self._cut_short:
            self._clear(self._pending)
        if self._undone:
            self._write_again()
        self._cut_short = self._undone = True
        try:
            for y, y_bar in zip(self._ys, y_bars, strict=True):
                if y is not None and y_bar is not None:
                    accumulate(y, y_bar)
            # `forget` runs at once, so that a way back holds no more adjoints than `grad`.
            pending = self._pending.copy()
            going_back(self._tag, pending, lambda watch: backward(pending, watch, forget))
            x_bars = [finished(x) for x in self._xs]
            if carried.any:
                x_bars = carried.certain_of(x_bars)
        except BaseException:
            self._clear(self._pending)
            raise
        self._clear([])
        return x_bars

    def _clear(self, operations: list[Operation]) -> None:
        """Clear what a way back has written: the adjoints of these operations, of the inputs, and of the memories."""
        for operation in operations:
            forget(operation)
        for x in self._xs:
            x.adjoint = ZERO
        for x, memory in self._memories:
            x.adjoint, memory.adjoint = memory, None
        self._cut_short = False

    def _write_again(self) -> None:
        for operation in self._writes:
            redo(operation)
        self._tag.is_undone = False


def _own(tree: Any, tag: Tag) -> Any:
    """What the function returned, without numbers of this tag.

    The user gets copies of the arrays, and may write to them, as the way back needs the originals again.
    """

    def own(x: Any) -> Any:
        if not (isinstance(x, Number) and x.tag is tag):
            return x
        return np.array(x.primal) if isinstance(x.primal, ndarray) else _copy(x.primal)

    return trees.map_leaves(own, tree)


def _copy(x: Any) -> Any:
    """A copy of an array, or of a number that holds one."""
    if isinstance(x, ndarray):
        return x.copy("K")
    return np.positive(cast(Any, x)) if (isinstance(x, Number) or is_staged(x)) and shape_of(x) else x


def forget(operation: Operation) -> None:
    """Clear the adjoints of the answers of an operation."""
    y = operation[1]
    if type(y) is NumR or type(y) is Shell:
        forget_adjoint(y)
    elif type(y) is list:
        for answer in y:
            if type(answer) is NumR or type(answer) is Shell:
                forget_adjoint(answer)


def forget_adjoint(y: NumR | Shell) -> None:
    """Clear the adjoint of `y`, unless the memory of `y` has it."""
    if type(y.adjoint) not in PLACES:
        y.adjoint = ZERO
