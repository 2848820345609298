"""How the linear maps of its rule carry out a structured operation.

The rule computes one level below the newest number, where an operand may be a number, too, and so on down to the plain
values. But where a function is linear in its only number, as `reshape` and `c @ x` are, the maps do not depend on the
number. So the rule is asked once, for the plain value, and each level of the number takes the same map (`at_levels`).
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.numbers.forms import Form
from shiftreset_ad.numbers.number import SCALARS, Number, has_number
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import JointMap, LinearMap, Structured
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.building import SEQUENCES
from shiftreset_ad.rules.stand_ins import StagedValue, Wrapped
from shiftreset_ad.rules.table import MapByMethods

MAPS = (LinearMap, MapByMethods)
KEEPS = Number.frozen  # which keeps a constant as it is
BUFFERS = (array, bytearray, deque, memoryview)


def by_linear_maps(
    number: Number, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any], form: Form | None = None
) -> Any:
    """Carry out a structured operation by its linear maps, for the operands that have the tag of `number`.

    `form` is the form of the call, if the call has one.
    """
    if form is not None:
        if form.has_list:
            return by_list(number, rule, args, kwargs, form)
        return (by_one if form.only else by_form)(number, rule, args, kwargs, form)
    tag, values, kept = number.tag, list(args), rule.kept_places
    for place, arg in enumerate(args):
        kind = type(arg)
        if kind is ndarray:
            if place in kept:
                values[place] = number.frozen(arg, tag)
        elif kind not in SCALARS and (not issubclass(kind, SEQUENCES) or place in rule.places or place in kept):
            values[place] = lowered(arg, number, place in kept)
    named_values = {name: lowered(arg, number, name in rule.kept) for name, arg in kwargs.items()} if kwargs else {}
    answer, maps = rule.differentiate(*values, **named_values)
    operands = operands_of(rule, args, kwargs)
    if issubclass(type(maps), JointMap):
        places = [i for i, arg in enumerate(operands) if issubclass(type(arg), Number) and arg.tag is tag]
        return number.jointly_linearized(tag, answer, [operands[i] for i in places], maps, places)
    active: list[tuple[Number, LinearMap]] = []
    for operand, arg in enumerate(operands):
        kind = type(arg)
        if issubclass(kind, Number):
            if arg.tag is tag:
                active.append((arg, map_of(maps, operand)))
        elif issubclass(kind, SEQUENCES):
            pair(arg, map_of(maps, operand), tag, active)
    return number.linearized(tag, answer, active)


def by_one(number: Number, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any], form: Form) -> Any:
    """`by_linear_maps`, where one operand is a number, and the others are plain."""
    place, operand = form.only
    tag, values, value = number.tag, [*args], number.primal
    values[place] = value
    for kept in form.kept:
        values[kept] = number.frozen(args[kept], tag)
    if type(value) is ndarray or not issubclass(type(value), Number) or not form.is_linear:
        answer, maps = rule.differentiate(*values, **kwargs) if kwargs else rule.differentiate(*values)
        if issubclass(type(maps), JointMap):
            return number.jointly_linearized(tag, answer, [number], maps, [operand])
        return number.carried(answer, maps(operand) if callable(maps) else maps[operand])
    bottom = value.primal
    if not value.takes_maps or (type(bottom) is not ndarray and issubclass(type(bottom), Number)):
        return by_levels(number, rule, values, kwargs, form)
    values[place] = bottom  # the steps of `by_levels` for two levels, for speed
    if form.kept and value.frozen is not KEEPS:
        for kept in form.kept:
            values[kept] = value.frozen(values[kept], value.tag)
    answer, maps = rule.differentiate(*values, **kwargs) if kwargs else rule.differentiate(*values)
    linear_map = maps(operand) if callable(maps) else maps[operand]
    linear_map.is_constant = True
    value.tag.site = rule.function
    return number.carried(value.carried(answer, linear_map), linear_map)


def by_levels(number: Number, rule: Structured, values: list[Any], kwargs: dict[str, Any], form: Form) -> Any:
    """`by_one`, where the function is linear in its only number, for all levels of the number at once.

    `values` are the arguments as the newest level takes them.
    """
    place, operand = form.only
    levels, bottom = levels_down(number)
    values[place] = bottom
    for kept in form.kept:
        values[kept] = frozen_below(values[kept], levels)
    answer, maps = rule.differentiate(*values, **kwargs)
    return at_levels(levels, bottom, rule.function, answer, maps(operand) if callable(maps) else maps[operand])


def by_form(number: Number, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any], form: Form) -> Any:
    """`by_linear_maps`, where the operands are numbers and plain arrays."""
    tag, values = number.tag, list(args)
    for place in form.kept:
        values[place] = number.frozen(args[place], tag)
    for place, _ in form.numbers:
        arg = args[place]
        values[place] = arg.primal if arg.tag is tag else lowered(arg, number, place in rule.kept_places)
    answer, maps = rule.differentiate(*values, **kwargs)
    if issubclass(type(maps), JointMap):
        active, operands = zip(*[(args[i], j) for i, j in form.numbers if args[i].tag is tag], strict=True)
        return number.jointly_linearized(tag, answer, active, maps, operands)
    map_at = maps if callable(maps) else maps.__getitem__
    return number.linearized(tag, answer, [(args[i], map_at(j)) for i, j in form.numbers if args[i].tag is tag])


def by_list(number: Number, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any], form: Form) -> Any:
    """`by_linear_maps`, where the operands are in a list, which is the first argument."""
    tag, parts, is_kept, value = number.tag, args[0], form.keeps_list, number.primal
    values, rest, places = list(parts), args[1:], []
    for place, part in enumerate(parts):
        if part is number:
            places.append(place)
            values[place] = value
        elif type(part) is not ndarray:
            if issubclass(type(part), Number):
                places.append(place)
            values[place] = lowered(part, number, is_kept)
        elif is_kept:
            values[place] = number.frozen(part, tag)
    if form.kept:
        rest = tuple([number.frozen(x, tag) if i in form.kept else x for i, x in enumerate(rest, 1)])
    if len(places) == 1 and type(value) is not ndarray and form.is_linear:
        place = places[0]
        below = value.primal if issubclass(type(value), Number) and value.takes_maps else None
        if type(below) is not ndarray:
            return by_levels_of_part(number, rule, values, rest, kwargs, place)
        values[place] = below  # the steps of `by_levels_of_part` for two levels, for speed
        if is_kept and value.frozen is not KEEPS:
            values = [x if x is below else value.frozen(x, value.tag) for x in values]
        answer, (maps,) = rule.differentiate(values, *rest, **kwargs) if kwargs else rule.differentiate(values, *rest)
        linear_map = maps(place) if callable(maps) else maps[place]
        linear_map.is_constant = True
        value.tag.site = rule.function
        return number.carried(value.carried(answer, linear_map), linear_map)
    answer, (maps,) = rule.differentiate(values, *rest, **kwargs)
    if len(places) == 1 and callable(maps):
        return number.carried(answer, maps(places[0]))
    active: list[tuple[Number, LinearMap]] = []
    pair(parts, maps, tag, active)
    return number.linearized(tag, answer, active)


def by_levels_of_part(
    number: Number, rule: Structured, values: list[Any], rest: tuple[Any, ...], kwargs: dict[str, Any], place: int
) -> Any:
    """`by_levels`, where the number is the part at this place of a list, and `rest` are the other arguments."""
    levels, bottom = levels_down(number)
    values[place] = bottom
    if 0 in rule.kept_places:
        values = [x if x is bottom else frozen_below(x, levels) for x in values]
    answer, (maps,) = rule.differentiate(values, *rest, **kwargs)
    return at_levels(levels, bottom, rule.function, answer, maps(place) if callable(maps) else maps[place])


# A number with several levels, and a function that is linear in it


def levels_down(number: Number) -> tuple[Sequence[Number], Any]:
    """The levels of a number that take a linear map as it is, from the newest on, and what is below them all."""
    value = number.primal
    if (
        issubclass(type(value), Number) and value.takes_maps and type(bottom := value.primal) is ndarray
    ):  # the usual case, for speed
        return (number, value), bottom
    levels = [number]
    while issubclass(type(value), Number) and value.takes_maps:
        levels.append(value)
        value = value.primal
    return levels, value


def at_levels(
    levels: Sequence[Number], bottom: Any, function: Callable[..., Any], answer: Primal, linear_map: Any
) -> Any:
    """The number with these levels for an answer and its linear map, which belong to what is at the bottom."""
    linear_map.is_constant = not issubclass(type(bottom), Number)
    if len(levels) == 2:  # the usual case, for speed
        newest, x = levels
        x.tag.site = function
        return newest.carried(x.carried(answer, linear_map), linear_map)
    newest = levels[0]
    for x in reversed(levels):
        if x is not newest:  # which has named the call
            x.tag.site = function
        answer = x.carried(answer, linear_map)
    return answer


def frozen_below(constant: Any, levels: Sequence[Number]) -> Any:
    """A constant operand as each level below the newest can use it later."""
    for x in levels[1:]:
        if x.frozen is not KEEPS:
            constant = x.frozen(constant, x.tag)
    return constant


def map_of(maps: Any, place: int) -> Any:
    """The linear map of the operand at this place, from the maps of all operands, or from the function that makes one.

    For an operand that is a list, it is the maps of the parts.
    """
    return maps(place) if callable(maps) else maps[place]


def lowered(arg: Any, number: Number, is_kept: bool) -> Any:
    """An argument as the rule takes it: the values of numbers that have the tag of `number`, and constants as they will
    be read again, if the rule keeps this argument.
    """
    kind = type(arg)
    if issubclass(kind, Number) and arg.tag is number.tag:
        return arg.primal
    if issubclass(kind, SEQUENCES):
        return [lowered(part, number, is_kept) for part in arg]
    if not is_kept or kind in SCALARS:
        return arg
    return np.asarray(arg).copy() if is_array_to_numpy(arg) else number.frozen(arg, number.tag)


def is_array_to_numpy(arg: Any) -> bool:
    """Whether NumPy's functions take `arg` for an array, and it is neither an array nor a number."""
    if isinstance(arg, BUFFERS):
        return True
    return hasattr(arg, "__array__") and not isinstance(arg, (np.ndarray, np.generic, Number, StagedValue, Wrapped))


def operands_of(rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The operands of a structured operation, as they were given, in the order of the rule."""
    try:
        return [args[place] for place in rule.places]
    except IndexError:  # some are given by name, or not at all
        given = dict(zip(rule.parameters, args, strict=False), **kwargs)
        return [given.get(name) for name in rule.operands]


def pair(parts: Any, maps: Any, tag: Tag, active: list[tuple[Number, LinearMap]]) -> None:
    """Add the numbers with this tag in a list that is an operand to the active ones, each with its linear map."""
    map_at = maps if callable(maps) else None if issubclass(type(maps), MAPS) else maps.__getitem__
    for place, part in enumerate(parts):
        kind = type(part)
        if kind is ndarray or (issubclass(kind, Number) and part.tag is not tag):
            continue
        if issubclass(kind, Number) and map_at is not None:
            active.append((part, map_at(place)))
        elif has_number(part):
            raise TypeError(
                "a list of numbers that are being differentiated was given for an array. "
                "Use numpy.stack([x, y]) to build an array from numbers"
            )


def is_linear_in_list(rule: Structured, args: tuple[Any, ...]) -> bool:
    """Whether the function is linear in a list of arrays, all together, and the list is its first argument.

    A map for each part would make an answer of full size for each part, and so take O(n^2) for n parts.
    """
    return rule.linear and isinstance(args[0], SEQUENCES) and rule.has_one_operand
