"""Whose memory an array lies in, and who may write to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import float64, ndarray

from shiftreset_ad.numbers.number import Number, in_memory, levels_of, put
from shiftreset_ad.numbers.tags import EscapedNumberError, Tag

ARGUMENT = "is an argument"  # of the call of a tag: nobody may write to its memory


def block_of(x: Any) -> Any:
    """The array that owns the memory of the array `x`, or of the array in the number `x`; None without an array."""
    array = in_memory(x)
    if not isinstance(array, ndarray):
        return None
    while array.base is not None and isinstance(array.base, ndarray):
        array = array.base
    return array  # an array in a buffer, such as a file, counts as the owner


def protect(tag: Tag, x: Any, reason: str) -> None:
    """Forbid numbers of this tag to write to the memory of `x`."""
    block = block_of(x) if type(x) is not float else None
    if block is not None:
        tag.protected[id(block)] = block, reason


def is_argument(tag: Tag, x: Any) -> bool:
    """Whether numbers of this tag may not write to the memory of `x`, as it is that of an argument."""
    block = block_of(x)
    return block is not None and tag.protected.get(id(block), (None, ""))[1] == ARGUMENT


def protect_shared(tag: Tag, answers: Sequence[Any], given: Sequence[Any]) -> None:
    """Forbid writes to answers of a function with a rule of its own that share memory with others, or with an argument.

    Nobody knows which views such a function makes.
    """
    if are_apart(answers, given):
        return
    blocks = [block for block in map(block_of, answers) if block is not None]
    if not blocks:
        return
    known = {id(block) for block in map(block_of, given) if block is not None}
    for i, block in enumerate(blocks):
        if id(block) in known or any(block is other for other in blocks[:i]):
            reason = "belongs to an argument, or to another result, of a function with a rule of its own"
            tag.protected[id(block)] = block, reason


def are_apart(answers: Sequence[Any], given: Sequence[Any]) -> bool:
    """Whether all are plain arrays, and it is plain to see that each answer has memory of its own."""
    for i, y in enumerate(answers):
        if type(y) is not ndarray or y.base is not None:
            return False
        for x in given:
            if type(x) is not ndarray or x is y or x.base is y:
                return False
        for x in answers[:i]:
            if x is y:
                return False
    return True


def show(x: Number) -> None:
    """Note that the program has the plain array of `x`, and sees every change of its memory."""
    for number in levels_of(x):
        number.show()


def require_last_value(x: Number) -> None:
    """Raise EscapedNumberError if the way back has put old elements into the array of `x`."""
    block = block_of(x)
    for number in levels_of(x):
        tag = number.tag
        written = tag.written.get(id(block)) if tag.is_undone and id(block) not in tag.shown else None
        if written is not None and written() is block:
            raise EscapedNumberError(
                "the program asks for the value of a number whose derivative has finished. The program had written to "
                "the array of the number, and the way back has put old elements there. Return the number from the "
                "differentiated function (has_aux=True for more than the result), or keep its plain value with "
                "shiftreset_ad.value(x)"
            )


def put_all(tag: Tag, arrays: Sequence[Any], index: Any, items: Sequence[Any]) -> None:
    """Write each item to its array, all or none: an interrupt between two writes ends the call of `tag`."""
    try:
        for array, item in zip(arrays, items, strict=True):
            put(array, index, item)
    except BaseException as error:
        if not isinstance(error, Exception):  # only the first write raises an Exception, and then nothing is written
            tag.finish()
        raise


def lacks_level() -> TypeError:
    """The error for an array with views, which can get no new level, as the views would not have it."""
    return TypeError(
        "x[i] = v: v has an outer derivative that x does not have, and x cannot get it, as it has views. Write to "
        "numpy.zeros_like(x) or shiftreset_ad.zeros(shape)"
    )


def read(x: Any) -> Any:
    """The plain value of a number, for a question of the program; anything else as it is.

    Raises EscapedNumberError if the way back has put old elements into its array.
    """
    if not isinstance(x, Number):
        return x
    found = x.primal
    kind = type(found)
    if kind is float or kind is float64:  # the usual cases, for speed
        return found
    is_undone = x.tag.is_undone
    while isinstance(found, Number):
        is_undone = is_undone or found.tag.is_undone
        found = found.primal
    if is_undone:
        require_last_value(x)
    return found
