"""The programs of a function of one row: recorded as by `staged`, kept, and used as long as what they read stays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from shiftreset_ad.batching.axes import in_numpy
from shiftreset_ad.batching.program import Program
from shiftreset_ad.boundary import trees
from shiftreset_ad.numbers.tags import seeing, watcher
from shiftreset_ad.rules.carried_zeros import carried
from shiftreset_ad.rules.stand_ins import recorder
from shiftreset_ad.staging.recording import also_row_by_row, recorded
from shiftreset_ad.staging.records import Records
from shiftreset_ad.staging.reports import counted
from shiftreset_ad.staging.seen.keys import StagedCall
from shiftreset_ad.staging.seen.surroundings import Surroundings
from shiftreset_ad.staging.threads import is_recording, one_at_a_time

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class _OfTensors(Program):
    """A program whose answer is compared with that of another library, which may lie in memory in another way."""

    __slots__ = ()

    def answer(self, answers: list[Any], nodes: Callable[[], list[Any]]) -> Any:
        return super().answer([in_numpy(x) for x in answers], nodes)


class Recorder(Records):
    """The programs of a function, by the types and shapes of its arguments, with guards on what it reads."""

    __slots__ = ("_in_library", "_raised")
    fallback = "it runs row by row"

    def __init__(self, name: str, f: Callable[..., Any]) -> None:
        super().__init__(name, f)
        self._raised = ""
        self._in_library: Arguments | None = None

    def may_replay(self) -> bool:
        """Whether programs can be used, as far as it is known, and nothing else is being recorded.

        In the first run of a staged function, nothing is being recorded yet.
        """
        return not (self._is_given_up or recorder.adopt is not None or watcher.get() is not None)

    def programs(self, example: Arguments) -> list[Program]:
        """The programs that are known for arguments like these, if all that they have read is as it was."""
        key = self._call(example).key
        signature = self._if_unchanged(key, self._signatures.get(key))
        return [] if signature is None else list(signature.ways)  # type: ignore[arg-type]

    def record(self, example: Arguments, in_library: Arguments | None) -> tuple[Program | None, list[Any]]:
        """The program for these arguments, which are plain; None if there is none. And the answer, if there is one.

        If there are arrays of another library among them, the function itself is called with these, `in_library`.

        The function may have an effect, such as the next draw of a generator. So nobody need call it for the answer.
        """
        if not self._patience.allows():
            return None, []
        is_ours = is_recording()  # a staged function of this thread has it, and runs without a record now
        if not (is_ours or one_at_a_time.acquire(blocking=False)):
            return None, []
        try:
            call, self._in_library = self._call(example), in_library
            known = self._signatures.get(call.key)
            before = known.ways[:1] if known is not None else []
            answer = seeing((), self._written_down, call)
            signature = self._signatures.get(call.key)
            found = [] if signature is None else signature.ways[:1]
            return (None if found == before else found[0]), [answer]  # type: ignore[return-value]
        finally:
            self._in_library = None
            if not is_ours:
                one_at_a_time.release()

    def give_up(self, problem: str) -> None:
        """Record no more: the function runs row by row, as there is this problem."""
        self._given_up(problem, None)

    def pause(self, problem: str) -> None:
        """Record nothing in some calls: rows for which no program is known run one by one, as there is this problem."""
        self._refused(problem, None)

    def has_replayed(self) -> None:
        """Note that a program has been of use."""
        self._raised = ""
        self._patience.replayed()

    def has_raised(self, error: Exception) -> None:
        """Note that the steps of a program have raised an error, so that the rows go one by one."""
        self._raised = f"{type(error).__name__}: {error}"

    def report(self) -> str:
        """What is carried out for all rows at once, and what row by row, and why."""
        programs: list[Any] = self.ways
        if self._problem and not programs:
            return f"{self._name} runs row by row{'' if self._is_given_up else ' for now'}, as {self._problem}"
        if not programs:
            return f"{self._name} is not recorded yet: it is recorded when it is called"
        lines = [f"{self._name} runs for all rows at once, in {counted(len(programs), 'way')}."]
        if self._raised:
            lines.append(f"The last call has run row by row, as the steps for all rows have raised {self._raised}")
        for number, program in enumerate(programs, 1):
            names = ", ".join(sorted(program.row_by_row)) or "nothing"
            lines.append(f"way {number}, {counted(program.length, 'step')}; called row by row: {names}")
            for site in dict.fromkeys(program.sites):
                lines += ["  It holds for the rows that give the same answer at", site]
        if self._problem:
            lines.append(f"What takes another way runs row by row for now, as {self._problem}")
        return "\n".join(lines)

    def _answer(self, call: StagedCall) -> Any:
        if self._in_library is None:
            return super()._answer(call)
        args, kwargs = self._in_library
        return trees.map_leaves(in_numpy, self._f(*args, **kwargs))

    def _recorded(self, call: StagedCall, answer: Any, seen: Surroundings) -> Any:
        make = Program if self._in_library is None else _OfTensors
        with carried.asking():
            return also_row_by_row(partial(recorded, self._f, call, answer, seen, make=make))

    def _call(self, example: Arguments) -> StagedCall:
        args, kwargs = example
        return StagedCall(args, kwargs, self._forget_signatures_of_the_dead)
