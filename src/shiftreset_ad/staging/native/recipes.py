"""Steps of one kind have the same code, but for the addresses of their arrays. It is written once, and then filled in.

A kind of step is a function, its options, and the layouts of its arrays. What a step on arrays is made of takes long to
find: loops, their strides, the parts of what it moves. A program goes through the same kinds of steps again and again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.layouts import bytes_of
from shiftreset_ad.staging.native.llvm import FLOATS, Code, Value, described, refuse
from shiftreset_ad.staging.native.moves import is_plain
from shiftreset_ad.staging.python.keys import key_of
from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged, unstaged

NAME = re.compile(r"(%[\w.]+)")
OUT = "%out"  # the name of the answer's address in a recipe
KNOWN = {"%frame": "%frame", "%memory": "%memory"}


class Target(NamedTuple):
    """Where the code of a step goes: to some code, with the address `out` of its answer.

    `address` gives the address of an array, and `aside` that of a block that only the step needs.
    """

    code: Code
    out: str
    address: Callable[[Any], str]
    aside: Callable[[ndarray[Any, Any]], str]


Write = Callable[[Target], None]


def write_by_recipe(step: Step, args: tuple[Any, ...], answer: Any, to: Target, write: Write) -> None:
    """Write a step with these arguments by the recipe of its kind, if there can be one. `write` writes the step."""
    kind = _Kind(to.code.place)
    key = kind.key_of(step, args, answer)
    recipe = None
    if key is not None:
        loops = to.code.loops
        if key not in loops:
            loops[key] = _recipe(to.code, kind, write)
        recipe = loops[key]
    if recipe is None:
        write(to)
    else:
        recipe.fill_in(to, [to.address(x) for x in kind.arrays])


class _Kind:
    """What a step is, but for where its arrays lie. `arrays` are those among its arguments, each one once."""

    __slots__ = ("_numbers", "_place", "arrays")

    def __init__(self, place: Callable[[Staged], int]) -> None:
        self._place = place
        self.arrays: list[Any] = []
        self._numbers: dict[Any, int] = {}  # of the arrays, by their places, or by the ids of constants

    def key_of(self, step: Step, args: tuple[Any, ...], answer: Any) -> Any:
        """A key of the step; None if its code depends on more, such as a number or an index that is a value."""
        keys = [self._key_of(x) for x in args]
        if None in keys or (step.kwargs and not is_plain([*step.kwargs.values()])):
            return None
        options = tuple([(name, key_of(x, self._place)) for name, x in step.kwargs.items()])
        whole = np.asarray(answer)
        return Recipe, step.function, (*keys,), options, whole.shape, whole.strides, whole.dtype.char

    def _key_of(self, x: Any) -> Any:
        kind = type(x)
        value = x.inside if kind is Staged else x
        if type(value) is ndarray and value.shape:
            if kind is not Staged and value.dtype != FLOATS:  # its elements may be an index
                return None
            number = self._numbers.setdefault(self._identity(x), len(self.arrays))
            if number == len(self.arrays):
                self.arrays.append(x)
            return number, value.shape, value.strides, value.dtype.char
        if kind is float or is_plain(x):
            return key_of(x, self._place)
        if kind is not list:
            return None
        keys = [self._key_of(part) for part in x]
        return None if None in keys else (list, *keys)

    def _identity(self, x: Any) -> Any:
        return self._place(x) if type(x) is Staged else (ndarray, id(x))

    def number(self, x: Any) -> int | None:
        """The number of an array; None if it is not among the arguments."""
        return self._numbers.get(self._identity(x))


class _Pattern(Code):
    """The code of a step in which names stand for the addresses of its arrays."""

    __slots__ = ("_outside",)

    def __init__(self, outside: Code) -> None:
        super().__init__()
        self._outside = outside
        self.loops = outside.loops

    def place(self, x: Staged) -> int:
        return self._outside.place(x)

    def types(self, x: Any) -> frozenset[type]:
        return self._outside.types(x)

    def load(self, x: Staged) -> Value:
        return refuse(f"a step takes {described(unstaged(x))}")


class Recipe:
    """The lines of a step, each taken apart at its names, what they use, and the blocks that only the step needs."""

    __slots__ = ("_asides", "_lines", "_used")

    def __init__(self, pattern: Code, asides: list[ndarray[Any, Any]]) -> None:
        self._lines = [NAME.split(line) for line in pattern.lines]
        self._used = [*pattern.used]
        self._asides = asides

    def fill_in(self, to: Target, addresses: list[str]) -> None:
        """Write the lines for arrays at these addresses."""
        code = to.code
        names = {OUT: to.out, **KNOWN}
        names.update((f"%array{i}", address) for i, address in enumerate(addresses))
        names.update((f"%aside{i}", to.aside(array)) for i, array in enumerate(self._asides))
        for text in self._used:
            code.use(text)
        for parts in self._lines:
            filled = [*parts]
            for i in range(1, len(filled), 2):
                name = filled[i]
                if name not in names:
                    names[name] = code.fresh()
                filled[i] = names[name]
            code.lines.append("".join(filled))


def _recipe(code: Code, kind: _Kind, write: Write) -> Recipe | None:
    """The recipe of a kind of step, which `write` writes; None if its code has more than lines and addresses."""
    pattern, asides, others = _Pattern(code), list[ndarray[Any, Any]](), list[Any]()

    def address(x: Any) -> str:
        number = kind.number(x)
        if number is None:  # a constant that was made for this step
            others.append(x)
        return f"%array{number}"

    def aside(array: ndarray[Any, Any]) -> str:
        asides.append(np.empty(bytes_of(array), np.uint8))  # as long as an array with gaps is
        return f"%aside{len(asides) - 1}"

    write(Target(pattern, OUT, address, aside))
    has_more = others or pattern.leaves or pattern.variables or pattern.exits
    return None if has_more or any(line.endswith(":") for line in pattern.lines) else Recipe(pattern, asides)
