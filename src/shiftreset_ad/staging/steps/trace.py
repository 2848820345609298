"""A trace is the record of a run: each call of a function of NumPy, and each question that the program has asked.

A step is a function with the values that it was called with: values of earlier steps, or constants. A question is a
step whose answer the program knows: a branch, an index, a conversion to a float. The steps are what the function does
for all arguments that give the same answers to the questions.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, MappingProxyType
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary.notes import call_site
from shiftreset_ad.boundary.places import line_text
from shiftreset_ad.control import ControlError
from shiftreset_ad.control.frames import is_of_an_operator
from shiftreset_ad.numbers.plain_arrays import UNSIGNED, is_read_only, same
from shiftreset_ad.staging.steps.attempts import Attempts
from shiftreset_ad.staging.steps.copies import Copies, frozen_copy
from shiftreset_ad.staging.steps.filters import Filters
from shiftreset_ad.staging.steps.memory import PlacesByOwner, owners_of

TOO_MANY = "it has more than"
Mark: TypeAlias = "tuple[int, int, int, int, set[int], dict[int, Any]]"
READS_OLDER = "a block writes to an array, and reads it by another name. Write to a copy, x.copy()"
LONGEST = 50_000  # steps; Python takes about 20 us to compile each
LONGEST_NATIVE = 1_000_000  # steps; all values are kept while they are recorded
NOTHING: Mapping[str, Any] = MappingProxyType({})
SMALL = 16_384  # bytes; up to this size it is quickest to compare arrays as a whole
WITHOUT_PADDING = {np.float64, np.float32, np.int64, np.int32, np.bool_, np.complex128, np.complex64}
SHAPES = "  where the shape or the type of a value depends on other values"  # in place of a line of the user's
CONSTANT = "is a constant"  # why an array must not be written to
HANDLED = {"call", "log"}  # reactions that call a function of the user's

# NumPy has its reactions to errors in an object, a new one whenever they are set, which is found much quicker than by
# `np.geterr()`. In a NumPy without such an object, `object()` is new each time.
REACTIONS: Any = getattr(sys.modules.get("numpy._core.umath"), "_extobj_contextvar", None)
settings_of_numpy: Callable[[], Any] = getattr(REACTIONS, "get", object)


class UnstageableError(ControlError):
    """A function does something that cannot be recorded as steps."""


class Step:
    """A call of `function`. A question has its answer in `expected`; another step has it in the trace's `values`.

    If a step is `open_ended`, the type, shape and dtype of its answer may depend on values: each replay checks them. If
    a step `writes`, it writes to its first argument. If a step `is_back`, it is on the way back of a derivative, after
    the function of the user's has returned. `operands` are the staged values in its arguments, if they are known; see
    `blocks.operands_of`. `errors` are NumPy's reactions to errors if they differ from those at the beginning.
    """

    __slots__ = (
        *("args", "errors", "expected", "function", "is_back", "is_question", "kwargs", "open_ended", "operands"),
        *("place", "site", "writes"),
    )

    def __init__(
        self, place: int, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], errors: Any
    ) -> None:
        self.place = place
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.errors = errors
        self.operands: list[Any] | None = None
        self.open_ended = self.is_question = self.writes = self.is_back = False
        self.expected: Any = None
        self.site = SHAPES


class Block:
    """Steps that are carried out together: those of a run, of a round of a loop, or of a branch.

    A block lies in the block `around` it. The block of a round has the `rounds` of its loop, and a later visit of the
    rounds has the same `rounds`. The block of a branch has its `fork`, and a later branch by the same value has the
    same fork.
    """

    __slots__ = ("_origin", "around", "fork", "rounds", "steps")

    def __init__(self, around: Block | None, rounds: Any = None, fork: Any = None) -> None:
        self.around = around
        self.rounds = rounds
        self.fork = fork
        self.steps: list[Step] = []
        self._origin: Block | None = None

    @property
    def origin(self) -> Block:
        """The block that was recorded."""
        return self if self._origin is None else self._origin

    def with_steps(self, steps: list[Step]) -> Block:
        """The same block with other steps."""
        block = Block(self.around, self.rounds, self.fork)
        block._origin = self.origin
        block.steps = steps
        return block

    def outwards(self) -> Iterator[Block]:
        """The block, and the blocks around it."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.around


class Trace:
    """The steps of one run of a function, with the value at each place; the first places are the inputs.

    New steps go to `block`. Each place has its home, the block in which it gets its value. The value of a place in a
    round or in a branch is an example: other rounds have other values.
    """

    def __init__(
        self,
        longest: int = LONGEST,
        memory_limit: int | None = None,  # bytes for frames and snapshots
    ) -> None:
        self.longest = longest
        self.memory_limit = memory_limit
        self.block = self.root = Block(None)
        self.values: list[Any] = []
        self._places = PlacesByOwner(self.values)
        self.homes: list[Block] = []
        self.inputs = self.count = 0  # the count of all steps, in all blocks
        self.has_control = self.carries_zeros = False  # zeros for what has no derivative in other calls
        self.asked_in: set[CodeType] = set()  # the code of the user's that has asked
        self.is_asked = False  # whether the program asks for a value; an operator may ask, too, on its way back
        self.checked: dict[int, list[Any]] = {}  # by the place of a check, the values that need it
        self._forgotten, self.is_open = Block(None), True
        self.errors = np.geterr()
        self._settings: Any = None
        self._reactions: Any = None
        self.refusal: str | None = None
        self.rule_of_its_own: str | None = None  # the first function whose derivative is not that of its steps
        self._thread = threading.get_ident()
        self._filters = Filters()
        self._copies: dict[Any, tuple[Any, Any]] = {}  # of an array by its id, and of a view by where it lies
        self.copies = Copies()  # of what lists hold
        self.handed_on: dict[int, Any] = {}  # arrays from outside that a branch answers, by the ids of their constants
        self._protected: dict[int, tuple[Any, str]] = {}
        # The owners of memory, by their ids: of which a block has made a newer version, and that has several names
        self.outdated: dict[int, Any] = {}
        self.shared: dict[int, Any] = {}
        self.attempts = Attempts()
        # Whether values must have the types of the program; if they cannot, it `is_inexact`
        self.is_exact = self.is_inexact = False
        self.required: set[int] = set()  # the places of tests that must have their answers, or an error is raised

    def place_for(self, argument: Any) -> int:
        """A new place for an input. The function must not write to the input."""
        self.protect(argument, "is an argument")
        self.inputs += 1
        return self.keep(argument)

    @property
    def steps(self) -> list[Step]:
        """The steps of the run; those of rounds and branches are in the steps that have blocks."""
        return self.root.steps

    def keep(self, value: Any) -> int:
        """A new place in this block, with this value."""
        self.values.append(value)
        self.homes.append(self.block)
        return len(self.values) - 1

    def add(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], answer: Any) -> Step:
        """Record a step, and keep its answer at its place."""
        self.count += 1
        if self.count > self.longest:
            self.refuse(f"{TOO_MANY} {self.longest} steps")
        errors = self._reactions if settings_of_numpy() is self._settings else self.reactions()
        if not self._filters.are_as_before and (problem := self._filters.problem()) is not None:
            self.refuse(problem)
        values, block = self.values, self.block
        step = Step(len(values), function, args, kwargs, errors)
        values.append(answer)
        self.homes.append(block)
        block.steps.append(step)
        return step

    def reactions(self) -> Any:
        """NumPy's reactions to floating-point errors if they differ from those at the beginning, and otherwise None."""
        settings = settings_of_numpy()
        if settings is not self._settings:
            errors: Any = np.geterr()
            if errors != self.errors and not HANDLED.isdisjoint(errors.values()):
                self.refuse("it has floating-point errors handled by a function: numpy.errstate(call=...)")
            self._settings, self._reactions = settings, None if errors == self.errors else errors
        return self._reactions

    def close(self) -> None:
        """End the run. The steps go, as they hold the trace, and the trace holds the values."""
        self.is_open = False
        self.checked.clear()
        for block in {self.root, *self.homes}:
            block.steps.clear()
        if self.has_control:
            self.homes.clear()

    def forget_originals(self) -> None:
        """Hold no array any more of which there is a copy here, or to which the function must not write."""
        self._copies.clear()
        self._protected.clear()

    def mark(self) -> Mark:
        """The state of the record, to come back to it by `rewind`."""
        counts = len(self.values), len(self.block.steps), self.count, self.attempts.count
        return *counts, set(self._protected), dict(self.shared)

    def rewind(self, mark: Mark) -> None:
        """Forget all that has been recorded since the mark, which was made in this block.

        The places are not used again, so a value that is left over is known as such.
        """
        values, steps, self.count, self.attempts.count, protected, self.shared = mark
        for owner in self._protected.keys() - protected:
            if not self._protected[owner][1].startswith(CONSTANT):  # which stays known as a constant
                del self._protected[owner]
        del self.block.steps[steps:]
        count = len(self.values) - values
        for block in {home for home in self.homes[values:] if home is not self.block}:
            block.steps.clear()  # a cycle: a step has blocks, and each has the block around it
        self.values[values:] = [None] * count
        self.homes[values:] = [self._forgotten] * count

    @property
    def is_quiet(self) -> bool:
        """Whether NumPy gives no warnings: in a block, which may never be reached with the values that it has here.

        If it is reached, the run of the function as it is has warned. A warning that is an error, or that the program
        may look at, is given.
        """
        return self.block is not self.root and self.gives_mere_warnings

    @property
    def gives_mere_warnings(self) -> bool:
        """Whether the program sees nothing of NumPy's warnings: they are no errors, and are not recorded."""
        return self._filters.give_mere_warnings and self._filters.are_as_before

    def is_forgotten(self, place: int) -> bool:
        """Whether the value at a place belongs to steps that have been forgotten."""
        return self.homes[place] is self._forgotten

    def ask(self, question: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], found: Any) -> Step:
        """Record a question: from here on, the program knows the answer `found`."""
        step = self.add(question, args, kwargs, None)
        step.is_question, step.expected = True, found.copy("K") if isinstance(found, ndarray) else found
        self.is_asked = self.is_asked or not is_of_an_operator(sys._getframe(2))
        site: Any = call_site(question, sys._getframe(2))
        self.asked_in.add(site[1])
        step.site = line_text(site[1:])
        return step

    def require(self, test: Any, answer: bool) -> None:
        """Record a question in a block: wherever the program gets to this test, it has this answer.

        The value of the test in this run may be another one, as the block may not be reached with it.
        """
        self.required.add(self.ask(bool, (test,), {}, answer).place)

    def constant(self, array: ndarray[Any, Any]) -> ndarray[Any, Any]:
        """A plain array as it is now: the array itself if it is read-only, and otherwise a read-only copy."""
        if array.dtype.hasobject:
            self.refuse("it computes with an array of objects")
        if is_read_only(array):
            return array
        key = id(array) if array.base is None else (array.ctypes.data, array.shape, array.strides, array.dtype)
        known = self._copies.get(key)
        if known is not None and identical(array, known[1]):
            return known[1]  # type: ignore[no-any-return]
        copy = frozen_copy(array)
        self._copies[key] = array, copy  # the array is kept, so that no other array gets its id, or its memory
        self.protect(copy, CONSTANT)
        return copy

    def memory_of_constants(self) -> list[Any]:
        """The owners of the memory of the plain arrays that are constants here."""
        return [owner for array, _ in self._copies.values() for owner in owners_of(array)]

    def originals(self) -> dict[int, Any]:
        """The arrays of which constants here are copies, by the ids of the memory of the copies."""
        return {id(owner): array for array, copy in self._copies.values() for owner in owners_of(copy)}

    def protect(self, value: Any, reason: str, remedy: str = "Write to a copy, x.copy()") -> None:
        """From here on, refuse writing to the memory of a value."""
        for owner in owners_of(value):
            self._protected.setdefault(id(owner), (owner, f"{reason}. {remedy}"))

    def is_protected(self, value: Any) -> bool:
        """Whether writing to the memory of an array is refused."""
        return all(id(owner) in self._protected for owner in owners_of(value))

    def share(self, value: Any, reason: str) -> None:
        """Protect the memory of a value, which may have several names from here on. Blocks must not write to it."""
        self.protect(value, reason)
        self.shared.update((id(owner), owner) for owner in owners_of(value))

    def require_last(self, value: Any) -> None:
        """Raise UnstageableError if a block has written to the memory of a value since."""
        if self.outdated and any(id(owner) in self.outdated for owner in owners_of(value)):
            self.refuse(READS_OLDER)

    def require_writable(self, array: Any, statement: str) -> None:
        """Raise UnstageableError unless the memory of an array is the function's own."""
        self.require_last(array)
        for owner in owners_of(array):
            if id(owner) in self._protected:
                _, reason = self._protected[id(owner)]
                self.refuse(f"{statement} writes to an array that {reason}")
        if self.is_from_outside(owners_of(array)):
            self.refuse(f"{statement} writes, in a loop or a branch, to an array that was made outside of it")

    def is_from_outside(self, owners: list[Any]) -> bool:
        """Whether some of this memory belongs to an array that was made outside of the block."""
        return self.block is not self.root and any(
            self.homes[place] is not self.block for owner in owners for place in self._places.of(owner)
        )

    def refuse(self, reason: str) -> NoReturn:
        """Raise UnstageableError. Even if the function catches the error, the steps are not replayed."""
        self.refusal = self.refusal or reason
        raise UnstageableError(reason)

    def refuse_inexact(self, reason: str) -> NoReturn:
        """Raise UnstageableError, as values would have other types than in the program."""
        self.is_inexact = True
        self.refuse(reason)

    def is_ready_for(self, values: list[Any]) -> bool:
        """Whether the run goes on, in this thread, and these are staged values of it that have not been forgotten."""
        homes, forgotten = self.homes, self._forgotten
        for x in values:
            if x._trace is not self or not self.is_open or homes[x._place] is forgotten:
                return False
        return threading.get_ident() == self._thread

    def require_open(self) -> None:
        """Raise ControlError if the run is over."""
        if not self.is_open:
            raise ControlError(
                "a value of a staged function is used after the function has returned. Return the value, to use it"
            )
        if threading.get_ident() != self._thread:
            self.refuse("it computes in several threads")


def identical(x: Any, y: Any) -> bool:
    """Whether two scalars or arrays have the same dtype and elements: NaN equals NaN, and 0.0 differs from -0.0."""
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if x.nbytes <= SMALL and x.dtype.type in WITHOUT_PADDING:
        return bool(x.tobytes() == y.tobytes())
    if x.dtype.itemsize in UNSIGNED and not x.dtype.hasobject:
        return same(x, y)
    if x.dtype.kind == "c":
        return identical(x.real, y.real) and identical(x.imag, y.imag)
    if x.dtype.kind == "f":  # extended precision: some bytes mean nothing
        return np.array_equal(x, y, equal_nan=True) and np.array_equal(np.signbit(x), np.signbit(y))
    return bool(x.tobytes() == y.tobytes())
