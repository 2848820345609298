"""LLVM's language, as far as steps need it: the forms of values, literals, and the lines of a function.

Nothing here allows LLVM to change a result: there is no fast arithmetic, and no product is contracted with a sum. So
native code has the bits of the program that it stands for.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import chain, count
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.steps.values import Staged, unstaged

DOUBLE, INTEGER, TRUTH, ARRAY = "double", "i64", "i1", "ptr"
# What a function says to its caller; FIRST_QUESTION and above: a question differs.
INTERRUPTED, DONE, LEAVE, FIRST_QUESTION = -1, 0, 1, 2
ZEROS = {DOUBLE: "0.0", INTEGER: "0", TRUTH: "false", ARRAY: "null"}
FLOATS, TABLES = np.dtype(np.float64), np.dtype(np.int64)
WITH_ADDRESS = {FLOATS, np.dtype(np.bool), TABLES}  # of arrays; a table has one of two names for these integers
EXACT = 2**53  # up to here, each integer is a double
LARGEST = 2**26  # elements of an array


class NoNativeFormError(Exception):
    """A step has no native form. The text says why. `place` is that of the step if it is another one than the last."""

    place: int | None = None


def refuse(reason: str) -> NoReturn:
    """Raise NoNativeFormError."""
    raise NoNativeFormError(reason)


class Value(NamedTuple):
    """A value in the code: its name or its literal, and its form."""

    text: str
    form: str


def form_of(x: Any) -> str | None:
    """The form of a plain value in native code; None if there is no form."""
    kind = type(x)
    if kind is ndarray:
        dtype = x.dtype
        if not x.shape:
            return DOUBLE if dtype == FLOATS else None
        return ARRAY if (dtype is FLOATS or has_address(x)) and 0 < x.size <= LARGEST else None
    if kind is float or kind is np.float64:
        return DOUBLE
    if kind is bool or kind is np.bool:
        return TRUTH
    return INTEGER if kind is np.int64 or (kind is int and -(2**63) <= x < 2**63) else None


def is_table(x: Any) -> bool:
    """Whether a value is an array of integers: native code reads it, moves it, and indexes by it."""
    return type(x) is ndarray and x.dtype == TABLES and x.dtype.char == "l" and bool(x.shape)


def has_address(x: Any) -> bool:
    """Whether native code finds an argument by the address of its elements: an array that it may compute with."""
    if type(x) is not ndarray or x.dtype not in WITH_ADDRESS:
        return False
    return x.dtype != TABLES or is_table(x)


def literal(x: Any) -> Value:
    """The literal of a constant."""
    form = form_of(x)
    if form is None:
        refuse(f"it computes with {described(x)}")
    return Value(double(x) if form == DOUBLE else f"{int(x)}", form)


def double(x: Any) -> str:
    """The literal of a float."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def described(x: Any) -> str:
    """What a plain value is, in a reason."""
    return f"an array of {x.dtype}, of shape {x.shape}" if isinstance(x, ndarray) else f"a {type(x).__name__}"


def function(head: str, lines: Iterable[str], options: str = "internal") -> str:
    """A function that begins with `head`: the form of its answer, its name, and its arguments."""
    return "\n".join([f"define {options} {head} {{", *lines, "}"])


class Code(ABC):
    """The lines of a function, and the values that are `known` in it, by their places.

    The function leaves where Python would raise an error. Values that differ from round to round, or from branch to
    branch, are in variables in memory, which LLVM turns into registers. `variables` are the lines that make them.
    `loops` has what was written before, by its keys (`sharing`).
    """

    __slots__ = ("exits", "known", "leaves", "lines", "loops", "names", "used", "variables")
    leaves_at_once = False  # whether to leave before an address is made of a wrong index

    def __init__(self, names: Iterator[int] | None = None) -> None:
        self.names = names or count(1)  # the numbers of names that are free
        self.lines: list[str] = []
        self.variables: list[str] = []
        self.exits: set[int] = set()  # statuses that the function returns from inside a block
        self.used: dict[str, None] = {}  # declarations and functions that the lines need, in the order of their use
        self.leaves = ""  # the name of the truth value whether a step so far would raise an error
        self.known: dict[int, Value] = {}
        self.loops: dict[Any, Any] = {}

    def types(self, x: Any) -> frozenset[type]:
        """The types of Python's that an argument may have. All of them have the same form."""
        return frozenset((type(unstaged(x)),))

    @abstractmethod
    def place(self, x: Staged) -> int:
        """The place that has a value."""

    @abstractmethod
    def load(self, x: Staged) -> Value:
        """A value that is not known yet."""

    def new(self, instruction: str) -> str:
        """The name of the answer of an instruction."""
        name = self.fresh()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def moved(self, address: str, offset: int) -> str:
        """The address that is so many bytes behind another one."""
        return self.new(f"getelementptr i8, ptr {address}, i64 {offset}") if offset else address

    def fresh(self) -> str:
        """A new name."""
        return f"%t{next(self.names)}"

    def variable(self, form: str) -> str:
        """The address of a new variable, which is zero at first."""
        name = self.fresh()
        self.variables += [f"  {name} = alloca {form}", f"  store {form} {ZEROS[form]}, ptr {name}"]
        return name

    def use(self, text: str) -> None:
        """Note a declaration or a function that the lines need."""
        self.used[text] = None

    def value(self, x: Any) -> Value:
        """An argument of a step."""
        if type(x) is not Staged:
            return literal(x)
        place = self.place(x)
        if place not in self.known:
            self.known[place] = self.load(x)
        return self.known[place]

    def double(self, x: Any) -> str:
        """An argument as a double."""
        if type(x) is not Staged and form_of(x) == INTEGER:
            return double(float(x))
        text, form = self.value(x)
        if form == DOUBLE:
            return text
        return self.new(f"{'sitofp' if form == INTEGER else 'uitofp'} {form} {text} to double")

    def integer(self, x: Any) -> str:
        """An integer, or a truth value as an integer."""
        text, form = self.value(x)
        if form == DOUBLE:
            refuse("it takes a float as an integer")
        return self.new(f"zext i1 {text} to i64") if form == TRUTH else text

    def truth(self, x: Any) -> str:
        """Whether an argument is true."""
        text, form = self.value(x)
        if form == DOUBLE:
            return self.new(f"fcmp une double {text}, {double(0.0)}")
        return self.new(f"icmp ne i64 {text}, 0") if form == INTEGER else text

    def leave_if(self, condition: str) -> None:
        """Note that no answer of the function counts if the condition holds."""
        self.leaves = self.new(f"or i1 {self.leaves}, {condition}") if self.leaves else condition

    def leave_now(self) -> None:
        """Leave here if a step would have raised an error."""
        if self.leaves:
            self.exit_if(self.leaves, LEAVE)
            self.leaves = ""

    def exit_if(self, condition: str, status: int) -> None:
        """Return a status here if the condition holds."""
        on = self.fresh()[1:]
        self.exits.add(status)
        self.lines += [f"  br i1 {condition}, label %exit{status - INTERRUPTED}, label %{on}", f"{on}:"]

    def ask(self, number: int, same: str) -> None:
        """Go on if the answer to a question is the same, and otherwise return the number of the question."""
        other, on = f"other{number}", f"on{number}"
        self.lines += [f"  br i1 {same}, label %{on}, label %{other}", f"{other}:"]
        self.end(FIRST_QUESTION + number)
        self.lines.append(f"{on}:")

    def end(self, status: int) -> None:
        """Return a status, unless a step would have raised an error."""
        text = self.new(f"select i1 {self.leaves}, i64 {LEAVE}, i64 {status}") if self.leaves else f"{status}"
        self.lines += self.returning(text)

    def returning(self, status: str) -> list[str]:
        """The lines that return a status."""
        return [f"  ret i64 {status}"]

    def whole(self) -> list[str]:
        """All lines of the function, when it has ended."""
        exits = [(f"exit{status - INTERRUPTED}:", *self.returning(f"{status}")) for status in sorted(self.exits)]
        return [*self.variables, *self.lines, *chain(*exits)]
