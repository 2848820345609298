"""`staged`: a function is recorded when it is called, and from then on its steps are replayed instead."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, update_wrapper
from types import MethodType
from typing import Any, Concatenate, Generic, Self, overload
from weakref import ref

import numpy as np

from shiftreset_ad.array_api import Wrapped
from shiftreset_ad.boundary.checks import named
from shiftreset_ad.boundary.derived import name_in_module
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.numbers.tags import has_open_tags, watcher
from shiftreset_ad.rules.annotations import P, Q, X, Y
from shiftreset_ad.rules.linalg.factors import apart
from shiftreset_ad.staging.control.certainty import UNCERTAIN
from shiftreset_ad.staging.front.functions import Transparent
from shiftreset_ad.staging.native import gate
from shiftreset_ad.staging.native.callables import with_calls_in_c
from shiftreset_ad.staging.pictures import Picture
from shiftreset_ad.staging.python.errors import is_of_a_handler
from shiftreset_ad.staging.records import Records
from shiftreset_ad.staging.seen.keys import StagedCall
from shiftreset_ad.staging.shortcuts import Shortcuts
from shiftreset_ad.staging.steps.functions import NoRoomError
from shiftreset_ad.staging.threads import is_recording, one_at_a_time
from shiftreset_ad.staging.ways import Signature, Way

MORE_ITEMS = "a list has more items than before each time"
LOOKS = (
    "it reads a value that differs each time. Compute with the value by functions that NumPy dispatches, numpy.stack "
    "for numpy.array and numpy.sin for math.sin. If the value is an index of a plain array, give this array as an "
    "argument. If the value is printed, return it"
)


def count_of_bytes(memory_limit: Any) -> int:
    """The limit as an integer."""
    try:
        if isinstance(memory_limit, bool):
            raise TypeError
        count = operator.index(memory_limit)
    except TypeError:
        raise TypeError(
            f"staged: memory_limit must be an integer, the number of bytes for the values of rounds, and is "
            f"{memory_limit!r:.60}"
        ) from None
    if count < 1:
        raise ValueError(f"staged: memory_limit must be at least 1, and is {count}; None is for no limit")
    return count


class StagedFunction(Transparent, Generic[P, Y]):
    """The function `__wrapped__`, staged. What a call runs is an attribute, as native code may take it over."""

    __slots__ = ("__call__", "__dict__", "__weakref__", "_calls", "_memory_limit", "_name")
    __call__: Callable[P, Y]
    __wrapped__: Callable[P, Y]
    __name__: str
    __qualname__: str

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:  # a class that inherits may take others
        kind: Any = with_calls_in_c(StagedFunction) if cls is StagedFunction else cls
        made: Self = super().__new__(kind)
        return made

    def __init__(self, f: Callable[P, Y], memory_limit: int | None = None) -> None:
        update_wrapper(self, f)
        self._name, self._memory_limit = named("staged", f), memory_limit
        self._calls = _Calls(self._name, f, memory_limit, self)
        self._replace(self._calls.call)

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self: StagedFunction[Concatenate[X, Q], Y], instance: X, owner: Any = None) -> Callable[Q, Y]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self._name}>"

    def _replace(self, call: Callable[P, Y]) -> None:
        """Have this function called. A class that inherits from this one may have a method of the name of the slot."""
        vars(StagedFunction)["__call__"].__set__(self, call)

    def __reduce__(self) -> Any:
        """Pickle it by its name if its module has it under this name, as functions are; otherwise by its arguments."""
        return name_in_module(self) or (StagedFunction, (self.__wrapped__, self._memory_limit))

    @property
    def sources(self) -> list[str]:
        """The Python source of the steps, for each way that the function has taken."""
        return [way.source for way in self._calls.ways]

    @property
    def ir(self) -> list[str]:
        """The text of the steps before a back end prints them, for each way: a line for each value, by its type."""
        return [way.ir for way in self._calls.ways]

    @property
    def pictures(self) -> list[Picture]:
        """A picture of the steps, with those of the way back in another colour, for each way. Graphviz draws it.

        A notebook shows it. `svg()` gives it as text, and `dot` is its text in Graphviz's language.
        """
        return [Picture(text) for text in self.ir]

    @property
    def llvm(self) -> list[str]:
        """The native code in LLVM's language, for each way that the function has taken; or why there is none."""
        return [way.llvm for way in self._calls.ways]

    def report(self) -> str:
        """What runs in steps, by the lines of the program, and what as it is, and why.

        A step counts at the line that has made it; steps that a derivative makes after its function has returned are
        on the way back. For each way it says whether the steps are native code, and if not, why. There are the
        questions that it asks, too: if an answer differs, another way is taken.
        """
        return self._calls.report()


class _Calls(Records):
    """The calls of a staged function: by the steps of a way that is known, by the function itself, or recorded."""

    __slots__ = ("_shortcuts", "_staged")

    def __init__(self, name: str, f: Any, memory_limit: int | None, staged: StagedFunction[..., Any]) -> None:
        super().__init__(name, f, memory_limit)
        self._shortcuts = Shortcuts()
        self._staged = ref(staged)  # which has these calls

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """The answer by a way that is known, by a new one, or by the function itself."""
        f = self._f
        if self._is_given_up or is_recording() or watcher.get() is not None or has_open_tags():
            return f(*args, **kwargs)
        problem = None
        try:
            call = StagedCall(args, kwargs, self._forget_signatures_of_the_dead)
            known = self._signatures.get(call.key)
        except Exception as error:  # of the user's own structures
            problem = f"{error}"
        if problem is not None:
            return self._paused(problem, f(*args, **kwargs))
        if any(isinstance(leaf, Number | Wrapped) for leaf in call.leaves):
            return f(*args, **kwargs)
        signature = self._if_unchanged(call.key, known)
        if signature is None and known is not None:
            self._cut_nothing_short()  # shortcuts may keep what was seen
        if signature is not None:
            inputs = call.inputs()
            ways = list(signature.ways)
            while ways:
                way = ways.pop(0)
                try:
                    answers = way.take(inputs)
                except Exception as error:  # such as a division by zero: the function itself knows where
                    if is_of_a_handler(error):
                        raise
                    may_ask = way.carries_zeros and not way.has_control and isinstance(error, ArithmeticError)
                    if may_ask or isinstance(error, NoRoomError):  # another way may do, or one that is recorded
                        self._reason = UNCERTAIN if may_ask else MORE_ITEMS
                        continue
                    answers, way.problem = None, f"{error}" or type(error).__name__
                if answers is None:
                    way.unanswered += 1
                    return f(*args, **kwargs)
                if type(answers) is list:
                    self._patience.replayed()
                    answer = way.answer(answers, call.nodes)
                    if not way.is_checked:
                        return self._checked(way, signature, answer, partial(apart, f, *args, **kwargs))
                    self._cut_short(way, signature, call)
                    return answer
                left = signature.after(way, answers)
                ways = [other for other in ways if other in left]
                self._reason = "\n".join([f"{LOOKS}:\n{way.sites[answers]}", *way.not_written])
        if not self._patience.allows():
            return f(*args, **kwargs)
        if not one_at_a_time.acquire(blocking=False):  # another thread records: a later call will be recorded
            return f(*args, **kwargs)
        try:
            self._cut_nothing_short()  # the next use of a way is to be noted
            return apart(self._written_down, call)
        finally:
            one_at_a_time.release()

    def _cut_short(self, way: Way, signature: Signature, call: StagedCall) -> None:
        """From now on, calls like this one are answered without a key. They are not noted, either."""
        cleared = self._shortcuts.cleared
        if self._patience.is_at_rest and self._shortcuts.add(way, signature, call):
            self._replace(self._shortcuts.before(self.call))
            gate.enter(self._staged(), StagedFunction)
        if self._is_given_up or self._shortcuts.cleared != cleared:  # meanwhile, by another thread or by the collector
            self._cut_nothing_short()

    def _cut_nothing_short(self) -> None:
        self._shortcuts.clear()
        self._replace(self.call)

    def _replace(self, call: Callable[..., Any]) -> None:
        """Have this function called when the staged function is called."""
        staged = self._staged()
        if staged is not None:
            staged._replace(call)

    def _given_up(self, problem: str, answer: Any) -> Any:
        self._cut_nothing_short()
        return super()._given_up(problem, answer)

    def _forget_signatures_of_the_dead(self, dead: Any) -> None:
        self._cut_nothing_short()
        super()._forget_signatures_of_the_dead(dead)


@overload
def staged(f: np.ufunc, *, memory_limit: int | None = None) -> StagedFunction[..., Any]: ...
@overload
def staged(f: Callable[P, Y], *, memory_limit: int | None = None) -> StagedFunction[P, Y]: ...
def staged(f: Callable[..., Any], *, memory_limit: int | None = None) -> StagedFunction[..., Any]:
    """`f`, recorded when it is called: its steps, NumPy's calls on plain arrays, are replayed from then on.

    Use it for a function that is called often with arguments of the same shapes, such as the step of an optimiser. The
    derivatives in `f`, in any mix, become plain arithmetic. The steps take numbers and arrays in the arguments as
    inputs; for another value of anything else, such as a string, `f` is recorded again. The answers are those of `f`.
    If a branch, a value that `f` reads, or a variable that `f` sees differs, `f` is run and recorded again. The first
    two calls of a kind also run `f`, return its answer, and compare.

    What cannot be staged runs as it is, with a `StagingWarning` that says why: it draws random numbers, writes to its
    arguments or to things that others see, or reads a value that differs each time. It is tried again later, ever more
    rarely; ways that are known stay in use. Only a function that answers otherwise for the same arguments runs as it is
    for good. Staging does not see what `f` prints, or writes to files. Inside a derivative, and inside
    `debug()`, `f` itself runs. The property `sources` has the steps as Python, and `report()` says what runs in steps,
    by line, and what does not, and why. With the extra `native`, steps become native code where they can, with the same
    bits; the property `llvm` has the code, or the reason why there is none.

    Reverse mode keeps values of each round of a loop. With a `memory_limit`, in bytes, it keeps snapshots of the state
    of the loop in their place where they would take more memory, and carries out rounds again; the bits stay the same,
    and `report()` says which loops cannot be limited. Griewank and Walther 2000. Raises TypeError if `f` cannot be
    called or the limit is no integer, ValueError if the limit is less than 1, and otherwise only the errors of `f`.
    Wang et al. 2019, section 4.

    >>> import numpy as np
    >>> from shiftreset_ad import grad
    >>> step = staged(lambda w: w - 0.1 * grad(lambda w: np.sum(w * w))(w))
    >>> step(np.array([1.0, 2.0])), step(np.array([3.0, 4.0]))
    (array([0.8, 1.6]), array([2.4, 3.2]))
    """
    if memory_limit is not None:
        memory_limit = count_of_bytes(memory_limit)
    return StagedFunction(f, memory_limit)
