"""`ControlWriter` is all that the front end knows of staged values: what they are, and how control is written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

Note = Callable[[list[Any]], None]  # it is told of lists and plain arrays, which must not change from then on


class ControlWriter(Protocol):
    """Staged values, and the functions that write a branch or a loop down."""

    error: type[Exception]  # that `refuse`, and the functions, raise
    versions: Any  # of the arrays to which blocks write

    @property
    def steps(self) -> int:
        """The number of steps that have been recorded so far."""

    is_exact: bool  # whether values must have the types of the program, as control is written that is plain there

    def refuse_inexact(self, reason: str) -> NoReturn:
        """Give this recording up, as values would have other types than in the program."""

    def is_staged(self, x: Any) -> bool:
        """Whether a value is staged, and has no elements, or one element."""

    def is_staged_array(self, x: Any) -> bool:
        """Whether a value is a staged array, with elements to go over."""

    def is_outside(self, x: Any) -> bool:
        """Whether an object was there before the function was called."""

    def adopted(self, array: Any) -> Any:
        """A plain array as a staged one, to write to."""

    def type_of(self, x: Any) -> type:
        """The type of the plain value."""

    def refuse(self, reason: str) -> NoReturn:
        """Give this recording up."""

    def truth(self, x: Any) -> Any:
        """`bool(x)`, staged if the value is."""

    def required(self, x: Any, answer: bool) -> Any:
        """In a block this answer, which `bool(x)` has wherever the program goes on; otherwise the staged value."""

    def items(self, items: Any, note: Note) -> Callable[[Any], Any] | None:
        """A function that gives the item at a staged index of a sequence, if all items are alike."""

    def item(self, x: Any, index: Any, note: Note) -> Any:
        """`x[index]` of a plain list, tuple or array. The index may be staged."""

    def is_kept(self, x: Any) -> bool:
        """Whether this is a staged array to which the program must not write."""

    def keep_as_it_is(self, x: Any, originals: list[Any] | None = None) -> None:
        """The program must not write to an array from here on, as a growing list holds it.

        An array that is read from a list is a copy of something in memory of the `originals`, which are its owners.
        """

    def number(self, items: list[Any], index: Any) -> Any:
        """`items[index]` of a list, where an index may be staged if the list has nothing but numbers."""

    def write(self, items: list[Any], index: Any, item: Any) -> None:
        """`items[index] = item` of a list. The index may be staged."""

    def cond(self, pred: Any, true_fun: Callable[[], Any], false_fun: Callable[[], Any]) -> Any:
        """The answer of one of the functions."""

    def while_loop(self, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any) -> Any:
        """The last state of a loop."""

    def has_staged(self, tree: Any) -> bool:
        """Whether there is a staged value in a tree."""

    def mark(self) -> Any:
        """The state of the record, to come back to it by `rewind`."""

    def rewind(self, mark: Any) -> None:
        """Forget what has been recorded since the mark."""

    def self_calling(self, function: Callable[..., Any]) -> Any:
        """A function that calls itself by `again`."""
