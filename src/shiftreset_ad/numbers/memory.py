"""Whose memory an array lies in, and who may write to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import float64, ndarray

from shiftreset_ad.numbers.number import Number, in_memory, levels_of, put
from shiftreset_ad.numbers.tags import EscapedNumberError, Tag


def block_of(x: Any) -> Any:
    """The array that owns the memory of the one that `x` is or holds; None if it is or holds none."""
    array = in_memory(x)
    if not isinstance(array, ndarray):
        return None
    while array.base is not None and isinstance(array.base, ndarray):
        array = array.base
    return array  # what is a part of a buffer, such as a file, counts as the owner


def protect(tag: Tag, x: Any, reason: str) -> None:
    """Have it an error that numbers of this tag write to the memory of `x`."""
    block = block_of(x) if type(x) is not float else None
    if block is not None:
        tag.protected[id(block)] = block, reason


def protect_shared(tag: Tag, answers: Sequence[Any], given: Sequence[Any]) -> None:
    """Have it an error to write to the answers of a function with a rule of its own that share memory with one another,
    or with what the function was given: of what a rule computes nobody knows the views.
    """
    blocks = [block for block in map(block_of, answers) if block is not None]
    known = {id(block) for block in map(block_of, given) if block is not None}
    for i, block in enumerate(blocks):
        if id(block) in known or any(block is other for other in blocks[:i]):
            reason = "is that of an argument, or of another result, of a function with a rule of its own"
            tag.protected[id(block)] = block, reason


def show(x: Number) -> None:
    """Note that the program has the plain array of `x`, and so sees what becomes of its memory."""
    for number in levels_of(x):
        number.show()


def require_last_value(x: Number) -> None:
    """Raise EscapedNumberError if the array of `x` has old elements again, as the way back has put them there."""
    block = block_of(x)
    for number in levels_of(x):
        tag = number.tag
        written = tag.written.get(id(block)) if tag.is_undone and id(block) not in tag.shown else None
        if written is not None and written() is block:
            raise EscapedNumberError(
                "the value of a number was asked for after its derivative has finished, and the program had written to "
                "its array: the way back has put old elements there. Return it from the differentiated function "
                "(has_aux=True for more than the result), or keep its plain value with shiftreset_ad.value(x)"
            )


def put_all(tag: Tag, arrays: Sequence[Any], index: Any, items: Sequence[Any]) -> None:
    """Write each item to its array: all or none, as the call of `tag` is over after an interrupt between two."""
    try:
        for array, item in zip(arrays, items, strict=True):
            put(array, index, item)
    except BaseException as error:
        if not isinstance(error, Exception):  # which only the first can raise, and it has written nothing
            tag.finish()
        raise


def lacks_level() -> TypeError:
    """The error for an array with views, which can be given no more levels, as these would not have them."""
    return TypeError(
        "x[i] = v: v has an outer derivative, and x, of which there are views, has not. Write to "
        "numpy.zeros_like(x) or shiftreset_ad.zeros(shape)"
    )


def read(x: Any) -> Any:
    """The plain value of a number, for a question that the program asks; anything else as it is.

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
