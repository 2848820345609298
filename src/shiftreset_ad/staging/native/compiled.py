"""The native code of a way: a text, and a function of Python's when the way is taken again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native import c_functions, cache, entry, frames, machine, mathematics, powers, tables
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from shiftreset_ad.staging.native.program import Program
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.errors import is_of_a_handler
from shiftreset_ad.staging.python.expressions import is_same
from shiftreset_ad.staging.steps.trace import Trace, identical

NONE = "; no native code: "
CONSTANT = re.compile(rf"{tables.CONSTANT}(\d+) = external")  # where the name of a constant array is declared
Take = Callable[..., Any]


class Native:
    """The steps of a trace as a text in LLVM's language, and the questions in it.

    `left` is the trace after elimination. Raises NoNativeFormError if there is no such text, or no native code on this
    machine.
    """

    __slots__ = ("_count", "_kept", "_names", "_objects", "by_python", "checks_all", "questions", "text", "words")

    def __init__(self, trace: Trace, outputs: list[Any], left: Eliminated) -> None:
        if (problem := machine.unfit()) is not None:
            raise NoNativeFormError(problem)
        program = Program(trace, outputs, left)
        self.text = entry.text_of(program)
        self.questions = program.questions
        self.checks_all = entry.checks_all(program)
        self.by_python = program.by_python
        self._objects = entry.objects_of(program)
        self._count = len(program.outputs)
        arrays = program.constants
        starts = np.array([array.ctypes.data for array in arrays], np.uintp)
        self.words = np.array(program.words, np.uint32)
        self._kept = arrays, starts, self.words
        self._names = {f"constant{i}": int(starts[int(i)]) for i in CONSTANT.findall(self.text)}
        self._names |= {tables.CONSTANTS: starts.ctypes.data, tables.WORDS: self.words.ctypes.data}
        self._names |= mathematics.loops_in(self.text)

    def entry(self) -> Take:
        """The entry of the compiled code, which takes one argument for each input."""
        code = cache.kept(f"{self.text}\n{machine.described()}", lambda: machine.compiled(self.text))
        names = {**entry.addresses(), **c_functions.addresses(), **powers.addresses(), **frames.addresses()}
        linked = machine.Linked(code, {**names, **self._names}, entry.NAME, entry.FILL)
        return entry.built(linked, self._objects, self._count, self._kept)


class InTurn:
    """The `steps` of a way by NumPy and as native code.

    The first call is by NumPy, and is checked. The second call asks for the `native` code, which may raise
    NoNativeFormError, and compiles it. It must give the same bits as the NumPy steps. From then on native code answers,
    and where it leaves, NumPy's steps. Without NumPy's steps, native code is checked instead. `problem` is the reason
    if there is no native code any more, and `left` the number of calls that native code has left.
    """

    __slots__ = ("_native", "_was_called", "checks_all", "entry", "left", "problem", "steps")

    def __init__(self, native: Callable[[], Native], steps: Take | None) -> None:
        self.entry: Take | None = None
        self.problem = ""
        self.checks_all = False
        self.left = 0
        self.steps = steps
        self._native = native
        self._was_called = False

    @property
    def text(self) -> str:
        """The native code, or why there is none."""
        try:
            return NONE + self.problem if self.problem else self._native().text
        except NoNativeFormError as error:
            return f"{NONE}{error}"

    @property
    def by_python(self) -> list[str]:
        """The names of the functions that native code calls in Python."""
        try:
            return [] if self.problem else self._native().by_python
        except NoNativeFormError:
            return []

    @property
    def quick(self) -> Take | None:
        """The entry if it checks all its arguments, so that nobody else need look at them."""
        return self.entry if self.checks_all else None

    def __call__(self, inputs: list[Any]) -> Any:
        entry = self.entry  # another thread may give it up
        if entry is None:
            return self._compiled(inputs)
        answers = entry(*inputs)
        if answers is None:
            self.left += 1
            return None if self.steps is None else self.steps(inputs)
        return answers

    def _compiled(self, inputs: list[Any]) -> Any:
        """The answers of a call before there is native code. Other threads see the entry when it has been checked."""
        answers = None if self.steps is None else self.steps(inputs)
        if not self.problem and (self._was_called or self.steps is None):
            entry = None
            try:
                native = self._native()
                entry = native.entry()
                with np.errstate(all="ignore"):  # what it calls in Python has warned in the steps
                    found = entry(*inputs)
            except NoNativeFormError as error:
                self._give_up(f"{error}")
            except Exception as error:
                if entry is not None and is_of_a_handler(error):
                    raise
                self._give_up(f"{error!r}")
            else:
                if self.steps is not None and not _are_same(found, answers):
                    self._give_up("it gave other answers than the steps by NumPy")
                else:
                    self.entry, self.checks_all = entry, native.checks_all
                    self.left += found is None
                    answers = found if self.steps is None else answers
        self._was_called = True
        return answers

    def _give_up(self, problem: str) -> None:
        self.entry, self.checks_all = None, False
        self.problem = problem


def _are_same(found: Any, answers: Any) -> bool:
    """Whether native code has left, or says the same."""
    if type(found) is list and type(answers) is list:
        return all(map(_is_same, found, answers))
    return found is None or found == answers


def _is_same(x: Any, y: Any) -> bool:
    """Whether two answers have the same bits; any NaN will do for a NaN."""
    if isinstance(x, ndarray) and isinstance(y, ndarray):
        if (x.dtype, x.shape, x.strides) != (y.dtype, y.shape, y.strides):
            return False
        return identical(np.where(np.isnan(x), np.nan, x), np.where(np.isnan(y), np.nan, y))
    return is_same(x, y) or (type(x) is type(y) and x != x and y != y)
