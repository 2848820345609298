"""Checkpoints: reverse mode keeps only the inputs of a function, and runs the function again on the way back.

This trades time for memory: Griewank and Walther, Evaluating Derivatives, 2nd edition, chapter 12. The function becomes
one operation. Its pullback runs the function again and goes back through it. For an outer derivative, the pullback is
itself a checkpointed function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any, overload

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.notes import call_site
from shiftreset_ad.modes.reverse.adjoints import settle
from shiftreset_ad.modes.reverse.answers import jointly
from shiftreset_ad.modes.reverse.kept import frozen
from shiftreset_ad.modes.reverse.number import NumR, ReverseTag
from shiftreset_ad.numbers.number import ZERO, plain_value
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.annotations import P, Y
from shiftreset_ad.transforms.checkpointing.calls import (
    RepeatableCall,
    adjoint,
    agree,
    as_operation,
    below,
    newest_of,
    not_deterministic,
    outlined,
    pull,
    recorded,
    to_run_again,
    unrecorded,
)

# The cotangents of the operands, from the leaves, the cotangents of the answers, and the answers' plain values.
Pullback = Callable[[list[Any], list[Any], list[Any]], list[Any]]


@overload
def checkpoint(f: np.ufunc) -> Callable[..., Any]: ...
@overload
def checkpoint(f: Callable[P, Y]) -> Callable[P, Y]: ...
def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, but reverse mode keeps no intermediate result: `f` runs again on the way back.

    Arguments and value may be any structures. Numbers that `f` closes over get their derivatives too. Values that `f`
    assigns by `nonlocal` are kept from the first run. `f` must be deterministic, and must not write to its arguments or
    to arrays that it closes over. Checkpoints nest, and no level of nested reverse mode keeps intermediate results.
    Forward mode calls `f` as it is.

    Raises ControlError if the result depends on a number that is neither in the arguments nor in what `f` closes over
    (pass it as an argument), if `f` changes a list of numbers that it was given, or if the second run gives another
    value. Raises EscapedNumberError if the program uses a number that `f` has put elsewhere. Griewank and Walther
    2008, chapter 12.

    >>> from shiftreset_ad import grad
    >>> grad(checkpoint(lambda x: x * x))(3.0)
    6.0
    """
    return as_operation("checkpoint", f, _carry_out)


def _carry_out(name: str, call: RepeatableCall) -> Any:
    result, updates = checkpointed(name, call.again, call.leaves)
    call.assign(updates)
    return result


def checkpointed(
    operator: str, region: Callable[[list[Any]], Any], leaves: Sequence[Any], lifted: Collection[int] = ()
) -> Any:
    """The value of `region`, a function of a list of leaves alone, as one operation at each level of their numbers.

    `lifted`: the places of the leaves that are numbers at a newer level, and come here one level below.
    """
    number = newest_of(leaves)
    if type(number) is not NumR:
        return unrecorded(operator, region, leaves, lifted) if lifted else region(list(leaves))
    operands = Operands(number.tag, leaves)
    result = checkpointed(operator, region, below(leaves, number.tag), {*lifted, *operands.places})
    outline, parts = outlined(result), trees.Parts(result)

    def pullback(inputs: list[Any], y_bars: list[Any], first: list[Any]) -> list[Any]:
        def pulled_back(leaves: list[Any]) -> list[Any]:
            tag, leaves = ReverseTag(), to_run_again(leaves)
            xs = {i: NumR(leaves[i], ZERO, tag) for i in operands.places}
            again, pending = recorded(operator, region, leaves[: len(inputs)], xs, tag)
            answers = trees.Parts(again).numbers
            if outlined(again) != outline or not agree(first, answers):
                raise not_deterministic(operator)
            pull(pending, answers, leaves[len(inputs) :], tag)
            return [adjoint(x) for x in xs.values()]

        return checkpointed(operator, pulled_back, [*inputs, *y_bars])  # type: ignore[no-any-return]

    return parts.with_numbers(operands.operation(operator, parts.numbers, pullback))


class Operands:
    """The numbers of one tag among some leaves; the other leaves are constants, kept as they are now."""

    __slots__ = ("_constants", "_tag", "_xs", "places")

    def __init__(self, tag: Tag, leaves: Sequence[Any]) -> None:
        tag.require_open()
        self._tag = tag
        self._xs = {i: leaf for i, leaf in enumerate(leaves) if type(leaf) is NumR and leaf.tag is tag}
        self.places = list(self._xs)
        self._constants = [None if i in self._xs else frozen(leaf, tag) for i, leaf in enumerate(leaves)]

    def below(self) -> list[Any]:
        """All leaves, the operands one level below."""
        return [self._xs[i].primal if i in self._xs else c for i, c in enumerate(self._constants)]

    def operation(self, operator: str, answers: list[Any], pullback: Pullback) -> list[Any]:
        """The operation on the operands that has these answers, for the call of this operator.

        Only its numbers hold arrays: otherwise `x += v` would take an array for shared.
        """

        def pull_back(y_bars: list[Any]) -> list[Any]:
            # None, not zero, for an unused answer: zero times an infinite partial derivative would be NaN.
            used = [None if bar is None or settle(y) is ZERO else bar for y, bar in zip(ys, y_bars, strict=True)]
            return pullback(self.below(), used, [plain_value(y) for y in ys])

        ys = jointly(self._tag, answers, list(self._xs.values()), pull_back, call_site(operator, sys._getframe(1)))
        return ys
