"""One pass of forward mode: of a function with structures, or of a function from numbers to numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.arguments import Arguments
from shiftreset_ad.boundary.checks import require_all_usable, value_and_aux, without_level
from shiftreset_ad.modes.forward.number import NumF, constant
from shiftreset_ad.numbers.memory import ARGUMENT, protect
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.annotations import Primal, Tangent
from shiftreset_ad.rules.carried_zeros import carried


def push(
    operator: str,
    f: Callable[..., Any],
    arguments: Arguments,
    tangents: list[Tangent],
    has_aux: bool = False,
    kwargs: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Primal, list[Tangent], Any]:
    """The value of `f`, the tangents of the numbers in it, and what `f` returned beside it.

    `tangents` belong to the numbers in the arguments. A tangent None, given or returned, is zero.
    """
    tag, xs = _begun(arguments.numbers, tangents)
    program = partial(f, *arguments.with_numbers(xs), **kwargs)
    try:
        value, aux = value_and_aux(operator, trees.returned(program), has_aux)
        answers = trees.Parts(value)
        if answers.has_others or not answers.numbers:
            trees.require_known(value, operator)
        require_all_usable(operator, answers.numbers, tag)
    finally:
        tag.finish()
    ys, y_dots = _ended(answers.numbers, tag)
    return answers.with_numbers(ys), y_dots, without_level(aux, tag) if has_aux else None


def push_numbers(
    program: Callable[[list[Primal]], list[Primal]], numbers: list[Primal], tangents: list[Tangent]
) -> tuple[list[Primal], list[Tangent]]:
    """The numbers that `program(numbers)` returns, and their tangents. A tangent None, given or returned, is zero."""
    tag, xs = _begun(numbers, tangents)
    try:
        ys = program(xs)
    finally:
        tag.finish()
    return _ended(ys, tag)


def _begun(numbers: list[Primal], tangents: list[Tangent]) -> tuple[Tag, list[Primal]]:
    """The tag of a pass that begins, and the numbers with their tangents. The program may not write to the numbers."""
    levels = [x.tag.level for x in (*numbers, *tangents) if issubclass(type(x), Number)]
    tag = Tag.around(levels, partial(constant, tangents))
    for x in numbers:
        protect(tag, x, ARGUMENT)
    return tag, [x if x_dot is None else NumF(x, x_dot, tag) for x, x_dot in zip(numbers, tangents, strict=True)]


def _ended(ys: list[Primal], tag: Tag) -> tuple[list[Primal], list[Tangent]]:
    """What a pass that has ended returned: the numbers one level below, and their tangents."""
    values, tangents = [], []
    for y in ys:
        is_active = type(y) is NumF and y.tag is tag
        values.append(y.primal if is_active else y)
        tangents.append(y.tangent if is_active else None)
    if carried.any:
        tangents = carried.certain_of(tangents)
    return values, tangents
