"""The control of a recording: staged branches and loops become those of `cond` and `while_loop`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import CellType
from typing import Any, NoReturn

from numpy import ndarray

from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.staging.control.choosing import (
    ITEM_OF_LIST,
    are_numbers_of_one_type,
    choice,
    is_place,
    noted,
    type_of,
    value_of,
    with_item,
)
from shiftreset_ad.staging.control.combinators import OF_STATEMENTS, one_of, trace_of, written_loop
from shiftreset_ad.staging.control.functions import SelfCalling
from shiftreset_ad.staging.control.versions import Versions
from shiftreset_ad.staging.front.control_writer import Note
from shiftreset_ad.staging.front.growing import GrowingList
from shiftreset_ad.staging.seen.reads import Reads
from shiftreset_ad.staging.steps.functions import place_of_key
from shiftreset_ad.staging.steps.interface import item_of
from shiftreset_ad.staging.steps.memory import owners_of
from shiftreset_ad.staging.steps.trace import Trace, UnstageableError
from shiftreset_ad.staging.steps.values import Staged, adopted, call, is_staged, kept

MOST_KEYS = 64  # of a dict that is read at a staged key


class Writing:
    """What the front end knows of the values of a trace."""

    error: type[Exception] = UnstageableError

    def __init__(self, trace: Trace, reads: Reads, to_versions: bool = False) -> None:
        """`reads` is told of each thing whose values become part of the record: it may come from outside."""
        self._trace = trace
        self._reads = reads
        self._read = reads.use
        self.versions = Versions(trace, to_versions)

    @property
    def steps(self) -> int:
        return self._trace.count

    @property
    def is_inexact(self) -> bool:
        """Whether the recording was given up as values would have other types than in the program."""
        return self._trace.is_inexact

    @property
    def asked_in(self) -> Any:
        """The code in which values were asked for."""
        return self._trace.asked_in

    @property
    def is_exact(self) -> bool:
        return self._trace.is_exact

    @is_exact.setter
    def is_exact(self, is_exact: bool) -> None:
        self._trace.is_exact = is_exact

    def refuse_inexact(self, reason: str) -> NoReturn:
        self._trace.refuse_inexact(reason)

    def is_staged(self, x: Any) -> bool:
        value = _deciding(x)
        return type(value) is Staged and not shape_of(value)

    def is_staged_array(self, x: Any) -> bool:
        value = value_of(x)
        return type(value) is Staged and bool(shape_of(value))

    def is_outside(self, x: Any) -> bool:
        return self._reads.has_variable(x) if type(x) is CellType else self._reads.is_outside(x)

    def adopted(self, array: Any) -> Staged:
        return adopted(self._trace, array)

    def type_of(self, x: Any) -> type:
        return type_of(x)

    def refuse(self, reason: str) -> NoReturn:
        self._trace.refuse(reason)

    def truth(self, x: Any) -> Any:
        value = _deciding(x)
        if type(value) is not Staged:
            return bool(value)
        return value if dtype_of(value).kind == "b" else operator.ne(value, 0)

    def required(self, x: Any, answer: bool) -> Any:
        if self._trace.block is self._trace.root:
            return x
        self._trace.require(kept(self.truth(x), self._trace), answer)
        return answer

    def items(self, items: Any, note: Note) -> Callable[[Any], Any] | None:
        self._read(items)
        chosen = choice(items, self._trace)
        return None if chosen is None else lambda i: noted(chosen(i), items, note)

    def item(self, x: Any, index: Any, note: Note) -> Any:
        if not is_staged(index):
            return x[index]
        if type(x) is ndarray:
            return noted(item_of(x, index), x, note)
        self._read(x)
        if type(x) is dict:
            return self._value(x, index, note)
        chosen = choice(x, self._trace) if is_place(index, x) else None
        return x[index] if chosen is None else noted(chosen(index), x, note)

    def _value(self, x: dict[Any, Any], key: Any, note: Note) -> Any:
        """The value of a dict at a staged key: the keys are integers of Python's."""
        values, is_key = list(x.values()), len(x) <= MOST_KEYS and all(type(found) is int for found in x)
        chosen = choice(values, self._trace) if is_key and type(key) is Staged and key.inside in x else None
        if chosen is None:
            return x[key]
        return noted(chosen(call(place_of_key, (tuple(x), key))), values, note)

    def is_kept(self, x: Any) -> bool:
        value = value_of(x)
        return type(value) is Staged and self._trace.is_protected(value.inside)

    def keep_as_it_is(self, x: Any, originals: list[Any] | None = None) -> None:
        value = value_of(x)
        if type(value) is Staged and shape_of(value):
            self._trace.protect(value.inside, ITEM_OF_LIST)
            if originals is not None:
                self._trace.copies.note(owners_of(value.inside), originals)

    def number(self, items: list[Any], index: Any) -> Any:
        has_others = is_staged(index) and not are_numbers_of_one_type(items)
        return items[index] if has_others else self.item(items, index, lambda _: None)

    def write(self, items: list[Any], index: Any, item: Any) -> None:
        written = with_item(items, index, item, self._trace) if is_place(index, items) else None
        if written is None:
            items[index] = item
        else:
            items[:] = written

    def cond(self, pred: Any, true_fun: Callable[[], Any], false_fun: Callable[[], Any]) -> Any:
        return one_of(self.truth(pred), [self._block(true_fun), self._block(false_fun)], (), OF_STATEMENTS)

    def while_loop(self, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any) -> Any:
        self._read(init)
        test = self._block(lambda state: self.truth(cond_fun(state)))
        return written_loop(self._trace, test, self._block(body_fun), init, names=OF_STATEMENTS)[0]

    def _block(self, function: Callable[..., Any]) -> Unwatched:
        """A function whose answer becomes part of the record."""

        def carried_out(*args: Any, **kwargs: Any) -> Any:
            answer = function(*args, **kwargs)
            self._read(answer)
            return answer

        return Unwatched(carried_out)

    def has_staged(self, tree: Any) -> bool:
        return trace_of(tree) is not None

    def mark(self) -> Any:
        return self._trace.mark()

    def rewind(self, mark: Any) -> None:
        self._trace.rewind(mark)

    def self_calling(self, function: Callable[..., Any]) -> SelfCalling:
        return SelfCalling(self._trace, self._block(function), self._read)


def _deciding(x: Any) -> Any:
    """What decides on the truth of a value: the number of items of a list."""
    return x.length if type(x) is GrowingList else value_of(x)


class Unwatched:
    """A function that changes variables, which is right: they are the state, and its site sees to all others."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)
