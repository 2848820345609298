"""`staged`: a function is recorded when it is called, and from then on its steps are replayed instead."""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable
from functools import partial, update_wrapper
from threading import Lock, get_ident
from types import MethodType
from typing import Any, Concatenate, Generic, Self, overload

import numpy as np

from shiftreset_ad.array_api import Wrapped
from shiftreset_ad.boundary.checks import named
from shiftreset_ad.boundary.derived import name_in_module
from shiftreset_ad.control.frames import is_ours
from shiftreset_ad.modes.reverse.collector import with_relaxed_collector
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.numbers.tags import has_open_tags, watcher
from shiftreset_ad.rules.annotations import P, Q, X, Y
from shiftreset_ad.rules.linalg.factors import apart
from shiftreset_ad.staging.forms import recorded_in_a_form
from shiftreset_ad.staging.patience import Patience
from shiftreset_ad.staging.pictures import Picture
from shiftreset_ad.staging.python.errors import is_of_a_handler
from shiftreset_ad.staging.recording import DIFFERS, agree, also_row_by_row
from shiftreset_ad.staging.reports import report
from shiftreset_ad.staging.seen.guards import Guards
from shiftreset_ad.staging.seen.keys import StagedCall, is_dead
from shiftreset_ad.staging.seen.parts import RANDOM, are_same_states
from shiftreset_ad.staging.seen.surroundings import Surroundings
from shiftreset_ad.staging.shortcuts import MISSED, Shortcut, shortcut
from shiftreset_ad.staging.steps.functions import NoRoomError
from shiftreset_ad.staging.ways import MOST_WAYS, Signature, Way

MOST_SIGNATURES = 256

MORE_ITEMS = "a list has more items than before each time"
ARGUMENTS = "it changes its arguments"
LOOKS = (
    "it reads a value that differs each time. Compute with the value by functions that NumPy dispatches, numpy.stack "
    "for numpy.array and numpy.sin for math.sin. If the value is an index of a plain array, give this array as an "
    "argument. If the value is printed, return it"
)


class StagingWarning(UserWarning):
    """A staged function runs as it is, and is not recorded, for a number of calls or for good."""


class _Running:
    """The `thread` in which a function is being recorded, if there is one."""

    __slots__ = ("thread",)

    def __init__(self) -> None:
        self.thread: int | None = None

    @property
    def is_recording(self) -> bool:
        """Whether a function is being recorded in this thread."""
        return self.thread == get_ident()


running = _Running()
one_at_a_time = Lock()  # a run is recorded under a trace function, which Python sets for all threads at once


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


class Before:
    """What a call may change, as it is before the call: its arguments, and what it sees beside them."""

    def __init__(self, call: StagedCall, surroundings: Surroundings) -> None:
        self._call = call
        self._copies = call.copies()
        self._surroundings = surroundings
        self._states = surroundings.states()

    def effect(self) -> str | None:
        """The change that the call has made, in words; None if there is no change."""
        if self._call.has_changed(self._copies):
            return ARGUMENTS
        if not are_same_states(self._surroundings.states(), self._states):
            return RANDOM
        name = self._surroundings.guards.changed()
        return None if name is None else f"it changes {name!r}, which others see"


class StagedFunction(Generic[P, Y]):
    """The function `__wrapped__`, staged."""

    _fallback = "it runs as it is"  # what happens if it cannot be recorded
    __slots__ = (
        *("__dict__", "__weakref__", "_is_given_up", "_memory_limit", "_name", "_patience", "_prepared", "_problem"),
        *("_reason", "_shortcut", "_signatures"),
    )
    __wrapped__: Callable[P, Y]
    __name__: str
    __qualname__: str

    def __init__(self, f: Callable[P, Y], memory_limit: int | None = None) -> None:
        update_wrapper(self, f)
        self._memory_limit = memory_limit
        self._name = named("staged", f)
        self._signatures: dict[Any, Signature] = {}
        self._shortcut: Shortcut | None = None
        self._prepared: set[Any] = set()  # the keys of calls that have had an effect once
        self._patience = Patience()
        self._is_given_up = False
        self._reason = self._problem = ""

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self: StagedFunction[Concatenate[X, Q], Y], instance: X, owner: Any = None) -> Callable[Q, Y]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self._name}>"

    def __reduce__(self) -> Any:
        """Pickle it by its name if its module has it under this name, as functions are; otherwise by its arguments."""
        return name_in_module(self) or (type(self), (self.__wrapped__, self._memory_limit))

    @property
    def sources(self) -> list[str]:
        """The Python source of the steps, for each way that the function has taken."""
        return [way.source for signature in list(self._signatures.values()) for way in signature.ways]

    @property
    def ir(self) -> list[str]:
        """The text of the steps before a back end prints them, for each way: a line for each value, by its type."""
        return [way.ir for signature in list(self._signatures.values()) for way in signature.ways]

    @property
    def pictures(self) -> list[Picture]:
        """A picture of the steps, with those of the way back in another colour, for each way. Graphviz draws it.

        A notebook shows it. `svg()` gives it as text, and `dot` is its text in Graphviz's language.
        """
        return [Picture(text) for text in self.ir]

    @property
    def llvm(self) -> list[str]:
        """The native code in LLVM's language, for each way that the function has taken; or why there is none."""
        return [way.llvm for signature in list(self._signatures.values()) for way in signature.ways]

    def report(self) -> str:
        """What runs in steps, by the lines of the program, and what as it is, and why.

        A step counts at the line that has made it; steps that a derivative makes after its function has returned are
        on the way back. For each way it says whether the steps are native code, and if not, why. There are the
        questions that it asks, too: if an answer differs, another way is taken.
        """
        ways = [way for signature in list(self._signatures.values()) for way in signature.ways]
        return report(self._name, ways, self._problem, self._is_given_up)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Y:
        is_apart = self._is_given_up or (running.thread is not None and running.is_recording)
        if is_apart or watcher.get() is not None or has_open_tags():
            return self.__wrapped__(*args, **kwargs)
        if (quick := self._shortcut) is not None:
            answered: Y = quick(args, kwargs)
            if answered is not MISSED:
                self._patience.replayed()
                return answered
        return self._by_a_way(args, kwargs)

    def _by_a_way(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Y:
        """The answer by a way that is known, by a new one, or by none. Its variables would take time in `__call__`."""
        f = self.__wrapped__
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
        if signature is not None:
            inputs = call.inputs()
            ways = list(signature.ways)
            while ways:
                way = ways.pop(0)
                try:
                    answers = way.take(inputs)
                except NoRoomError:  # another way may have more room, or else the function is recorded again
                    self._reason = MORE_ITEMS
                    continue
                except Exception as error:  # such as a division by zero: the function itself knows where
                    if is_of_a_handler(error):
                        raise
                    answers = None
                if answers is None:
                    return f(*args, **kwargs)
                if type(answers) is list:
                    self._patience.replayed()
                    answer: Y = way.answer(answers, call.nodes)
                    if not way.is_checked:
                        return self._checked(way, answer, apart(f, *args, **kwargs))
                    self._shortcut = shortcut(way, signature, call) or self._shortcut
                    return answer
                left = signature.after(way, answers)
                ways = [other for other in ways if other in left]
                self._reason = "\n".join([f"{LOOKS}:\n{way.sites[answers]}", *way.not_written])
        if not self._patience.allows():
            return f(*args, **kwargs)
        if not one_at_a_time.acquire(blocking=False):  # another thread records: a later call will be recorded
            return f(*args, **kwargs)
        try:
            return apart(self._written_down, call)
        finally:
            one_at_a_time.release()

    # What is known

    def _if_unchanged(self, key: Any, signature: Signature | None) -> Signature | None:
        """The signature, if all that the function sees is as it was; otherwise None, and the signature is dropped."""
        if signature is None:
            self._reason = "its arguments have other types, shapes, strings or objects each time"
            return None
        name = signature.changed()
        if name is None:
            return signature
        self._signatures.pop(key, None)
        self._shortcut = None  # which may keep what was seen
        self._reason = f"it sees {name!r} from outside, and {name!r} has changed. Make it an argument"
        return None

    def _forget_signatures_of_the_dead(self, _: Any) -> None:
        for key in [key for key in list(self._signatures) if any(map(is_dead, key[1]))]:
            self._signatures.pop(key, None)

    # The first call

    def _written_down(self, call: StagedCall) -> Y:
        """The answer of the function itself. Another run of the function is recorded, and both answers must agree."""
        f, seen = self.__wrapped__, Surroundings(self.__wrapped__, *call.others())
        before, way, guards, problem = Before(call, seen), None, None, seen.problem
        outer, running.thread = running.thread, get_ident()
        try:
            answer = self._answer(call)
            if problem is None and (problem := before.effect()) is not None and self._prepares(call.key, problem):
                return answer
            if problem is None:
                with seen.without_caching():
                    way, guards, problem = self._recorded(call, answer, seen)
                if (effect := before.effect()) is not None:
                    f(*call.args, **call.kwargs)  # replaces staged values that the run has left outside
                    problem = effect
        finally:
            running.thread = outer
        if problem == DIFFERS:
            return self._given_up(DIFFERS, answer)
        if problem is not None or way is None or guards is None:
            return self._refused(f"{problem}", answer)
        pause = self._patience.recorded(self._keep(way, call.key, guards))
        if pause is not None:
            return self._paused(f"{pause}: {self._reason}", answer)
        self._problem = ""
        return answer

    def _answer(self, call: StagedCall) -> Y:
        """The answer of the function itself."""
        answer: Y = self.__wrapped__(*call.args, **call.kwargs)
        return answer

    def _recorded(
        self, call: StagedCall, answer: Y, seen: Surroundings
    ) -> tuple[Way | None, Guards | None, str | None]:
        """The way that the function takes, and guards on what it reads; or why there is none."""
        record = partial(recorded_in_a_form, self.__wrapped__, call, answer, seen, self._memory_limit)
        return with_relaxed_collector(partial(also_row_by_row, record))

    def _prepares(self, key: Any, effect: str) -> bool:
        """Whether a call that has an effect may prepare something for later calls, as the first of its kind."""
        kind = None if effect == ARGUMENTS else key
        if kind in self._prepared or len(self._prepared) > MOST_SIGNATURES:
            return False
        self._prepared.add(kind)
        return True

    def _keep(self, way: Way, key: Any, guards: Guards) -> bool:
        """Keep a way; whether an older one had to go."""
        signature = self._signatures.get(key)
        if signature is None:
            self._signatures[key] = signature = Signature()
        has_displaced = len(signature.ways) == MOST_WAYS or len(self._signatures) > MOST_SIGNATURES
        signature.add(way, guards)
        for oldest in list(self._signatures)[:-MOST_SIGNATURES]:
            self._signatures.pop(oldest, None)
        return has_displaced

    def _checked(self, way: Way, answer: Y, expected: Y) -> Y:
        """The answer of the function. When the steps are replayed for the first time, their answer must be the same."""
        way.is_checked = True
        return expected if agree(answer, expected, way.has_control) else self._given_up(DIFFERS, expected)

    def _given_up(self, problem: str, answer: Y) -> Y:
        """The answer of the function itself. From now on, only the function itself runs."""
        self._is_given_up, self._problem = True, problem
        self._signatures.clear()
        self._prepared.clear()
        self._warn(f"{self._fallback} from here on, as {problem}")
        return answer

    def _refused(self, problem: str, answer: Y) -> Y:
        """The answer of the function itself, which is not recorded again for a while."""
        self._patience.refused()
        return self._paused(problem, answer)

    def _paused(self, problem: str, answer: Y) -> Y:
        """The answer of the function itself. For some calls, the function itself runs where no way is known."""
        if problem != self._problem:
            self._problem = problem
            self._warn(f"{self._fallback} for now, as {problem}")
        return answer

    def _warn(self, message: str) -> None:
        """Warn at the line of the user's that calls the function."""
        level, caller = 1, sys._getframe(1)
        while is_ours(caller.f_code) and caller.f_back is not None:
            level, caller = level + 1, caller.f_back
        warnings.warn(f"{self._name}: {message}", StagingWarning, stacklevel=level + 1)


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
