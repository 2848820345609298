"""The form of a call: what the types of its arguments say, found out once for all calls with arguments of these types.

A call has a form if its arguments may be taken as they are: the numbers among them are operands, and the others are
plain. What the types do not say, `newest` looks at in each call: no array may be of objects, and a list or tuple may
only have plain scalars in it, or, if the function takes a list of operands, numbers and plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any

from numpy import ndarray

from shiftreset_ad.numbers.number import SCALARS, Number
from shiftreset_ad.rules import Structured
from shiftreset_ad.rules.building import OBJECT, OF_LISTS, SEQUENCES


@dataclass(slots=True, eq=False)
class Form:
    """What is known of such a call. `newest(args)` is the newest number; None if there is none, or no usual call."""

    newest: Callable[[tuple[Any, ...]], Any]
    numbers: tuple[tuple[int, int], ...]  # the place of each number, and its place among the operands of the rule
    only: tuple[int, ...]  # these two places of the only number; empty if there are several
    kept: tuple[int, ...]  # the places of the arrays that the rule keeps
    has_list: bool  # the first argument is a list of operands, and no other argument is an operand
    keeps_list: bool  # the rule keeps the arrays in this list
    is_linear: bool  # the function is linear in the only number, or in each number in the list


def newest_of(numbers: Sequence[int], arrays: Sequence[int], sequences: Sequence[int]) -> Callable[..., Any]:
    """The function that finds the newest number; numbers, arrays, lists and tuples are at these places.

    Without numbers, the first argument is a list of operands.
    """

    def newest(args: tuple[Any, ...]) -> Any:
        for place in arrays:
            if args[place].dtype is OBJECT:
                return None
        if sequences:
            for place in sequences:
                if not SCALARS.issuperset(map(type, args[place])):
                    return None
        if first is None:
            return newest_in_list(args)
        number = args[first]
        if not others:
            return number
        for place in others:
            if args[place].tag.serial > number.tag.serial:
                number = args[place]
        return number

    first, others = (numbers[0], numbers[1:]) if numbers else (None, ())
    if others or arrays or sequences:
        return newest
    return newest_in_list if first is None else itemgetter(first)


def newest_in_list(args: tuple[Any, ...]) -> Any:
    """The newest number of a list of numbers, plain arrays and scalars, the first argument; None for another list."""
    newest = None
    for part in args[0]:
        kind = type(part)
        if kind is ndarray:
            if part.dtype is OBJECT:
                return None
        elif kind not in SCALARS:
            if not issubclass(kind, Number):
                return None
            if newest is None or part.tag.serial > newest.tag.serial:
                newest = part
    return newest


# Of a call whose first argument is its only number and its only operand, with other arguments that are not kept
OF_FIRST, LINEAR_IN_FIRST = (
    Form(itemgetter(0), ((0, 0),), (0, 0), (), False, False, linear) for linear in (False, True)
)

# The forms that have been met, by the rule and the types of the arguments; None if such a call has no form.
FORMS: dict[tuple[Any, ...], Form | None] = {}
NEW: Any = object()
KNOWN = SCALARS | {ndarray, *SEQUENCES}


def new_form(rule: Structured, args: tuple[Any, ...]) -> Form | None:
    """The form of a call by this rule that is not in the table yet, entered into it; None if it has no form."""
    kinds = tuple(map(type, args))
    if not all(kind in KNOWN or issubclass(kind, Number) for kind in kinds):
        return None  # and the table does not keep a class of the user's alive
    has_list = kinds[:1] in ((list,), (tuple,)) and rule.has_one_operand and takes_lists(rule.function)
    numbers = [place for place, kind in enumerate(kinds) if issubclass(kind, Number)]
    arrays = [place for place, kind in enumerate(kinds) if kind is ndarray]
    sequences = [place for place, kind in enumerate(kinds) if kind in SEQUENCES and not (has_list and place == 0)]
    form = None
    if (
        len(kinds) <= len(rule.parameters)
        and bool(numbers) is not has_list
        and set(numbers) <= set(rule.places)
        and not set(sequences) & {*rule.places, *rule.kept_places}
        and not (numbers[:1] == [0] and rule.function in OF_LISTS)
    ):
        operands = tuple([(place, rule.places.index(place)) for place in numbers])
        kept = tuple([place for place in arrays if place in rule.kept_places])
        only = operands[0] if len(operands) == 1 else ()
        form = Form(
            newest_of(numbers, arrays, sequences),
            operands,
            only,
            kept,
            has_list,
            keeps_list=0 in rule.kept_places,
            is_linear=(only[0] if only else 0) in rule.linear_places,
        )
    FORMS[(rule, *kinds)] = form
    return form


@cache
def takes_lists(function: Any) -> bool:
    """Whether `function` takes a list as a list, and not as an array. Our own functions do, as rules call them."""
    return function in OF_LISTS or getattr(function, "__module__", "").startswith("shiftreset_ad")
