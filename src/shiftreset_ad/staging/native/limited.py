"""Limited loops in native code: the loop, and the stretches of its rounds that are carried out again.

The ledger decides between two stretches (`ledgers.py`). The code here stores the state of the loop where the ledger
says so, and loads it again.
"""

from __future__ import annotations

from typing import Any

from shiftreset_ad.staging.native.constants import Constants
from shiftreset_ad.staging.native.control import ControlCode
from shiftreset_ad.staging.native.joins import Variable
from shiftreset_ad.staging.native.ledgers import (
    FIELDS,
    FUNCTIONS,
    HEAD_OF_A_SNAPSHOT,
    NO_MEMORY,
    OVER,
    SIZE,
    SNAPSHOT,
)
from shiftreset_ad.staging.native.llvm import ARRAY, INTEGER, LEAVE, Value, refuse
from shiftreset_ad.staging.native.memory import ArrayBlocks
from shiftreset_ad.staging.native.tags import tag_at
from shiftreset_ad.staging.native.tape import END_OF_FRAME
from shiftreset_ad.staging.python.ledgers import divided
from shiftreset_ad.staging.python.uses import Uses
from shiftreset_ad.staging.steps.blocks import Control, LimitedLoop, Loop, Rerun, Stretches, all_steps


class LimitedCode(ControlCode):
    """The code of a function with limited loops."""

    __slots__ = ("_has_inner", "_left")

    def __init__(self, uses: Uses, tagged: set[int], memory: ArrayBlocks, constants: Constants, now: int) -> None:
        super().__init__(uses, tagged, memory, constants, now)
        self._has_inner = False
        self._left = ""  # the variable with the length that is left of a stretch

    def loop(self, step: Any) -> None:
        if isinstance(step, LimitedLoop):
            self.use(FUNCTIONS)
        if isinstance(step, Rerun):
            self._rerun(step)
        else:
            super().loop(step)
        if isinstance(step, LimitedLoop | Rerun):
            self._has_inner = False

    def visit(self, step: Any) -> None:
        if isinstance(step, Stretches):
            self._stretches(step)
        else:
            super().visit(step)

    # The loop

    def new_head(self, step: Any, variables: list[Variable]) -> str:
        if not isinstance(step, LimitedLoop):
            return super().new_head(step, variables)
        ledger, (rounds, _) = self.new_frame(SIZE), self._divided(step)
        target = "-1" if step.counts is None else self._last_stretch(step, rounds)
        self._keep_state(step, step, ledger, variables, "open_ledger", f"i64 {target}")
        self._begin_rounds(step)
        return ledger

    def _last_stretch(self, step: LimitedLoop, rounds: int) -> str:
        """The number of the last stretch, or less than 0 if there are no rounds."""
        assert step.counts is not None
        param, end = step.counts
        first = self.integer(self.argument(step.args[step.params.index(param)]))
        count = self.new(f"sub i64 {self.integer(self.argument(end))}, {first}")
        last = self.new(f"sdiv i64 {self.new(f'sub i64 {count}, 1')}, {rounds}")
        return self.new(f"select i1 {self.new(f'icmp sgt i64 {count}, 0')}, i64 {last}, i64 -1")

    def begin_round(self, step: Any, head: str, last: str, variables: list[Variable]) -> None:
        if not isinstance(step, LimitedLoop):
            return
        turn, on = self._labels("turn", "on")
        self._if_none_is_left(turn, on)
        self._keep_state(step, step, head, variables, "begin_stretch", f"ptr {last}")
        self._begin_rounds(step)
        self._goto(on)
        self._begin_round(step)

    # The stretches

    def _stretches(self, step: Stretches) -> None:
        self.leave_now()
        (body,), (_, most) = step.blocks, self._divided(step.loop)
        variables, ledger = self._carried(step), self.value_at(step.ledger).text
        again, round_, end = self._labels("stretches", "stretch", "end")
        self._goto(again)
        state = self.new(f"call ptr @stretches_back(ptr %frame, ptr {ledger}, i64 {most})")
        is_over = self.new(f"icmp eq ptr {state}, null")
        self.lines += [f"  br i1 {is_over}, label %{end}, label %{round_}", f"{round_}:"]
        with self._inside():
            for offset, (name, form, array) in self._in_snapshot(step.loop, step, variables):
                if array is not None:
                    self.copy(self.at(state, offset), name, array)
                else:
                    self.lines.append(f"  store {form} {self.load_word(self.at(state, offset), form).text}, ptr {name}")
            self._get(self.with_places_of_tags(step.params, step.params), variables)
            self._set(variables, self._results(step, body, variables))
            self.memory.free_after(self.now)
        self.lines += [f"  br label %{again}", f"{end}:"]
        self._hand_on(step, variables)
        self._answered(step, variables)

    def _rerun(self, step: Rerun) -> None:
        test, body = step.blocks
        if step.loop.inside and self._sizes(step) != self._sizes(step.loop):
            refuse("a loop keeps other frames when its rounds are carried out again")
        variables, ledger = self._carried(step), self.value_at(step.ledger).text
        head, last = self.at(ledger, FIELDS["AGAIN"][0]), self.variable(ARRAY)
        self.lines.append(f"  store ptr {head}, ptr {last}")
        self._begin_rounds(step.loop)
        again, turn, round_, end = self._labels("again", "turn", "round", "end")
        self._goto(again)
        with self._inside():
            self.block(test, [], [])
            self._if_none_is_left(turn, round_)
            self._keep_state(step.loop, step, ledger, variables, "stretch_goes_on", f"ptr {last}", end)
            self._begin_rounds(step.loop)
            self._goto(round_)
            self._begin_round(step.loop)
            self._get(self.with_places_of_tags(step.params, step.params), variables)
            with self.releasing(step, body):
                results = self._results(step, body, variables)
            self.append(step, body, last)
            self._set(variables, results)
            self.memory.free_after(self.now)
            self._look(step)
        self.lines += [f"  br label %{again}", f"{end}:"]
        self.link(self.new(f"load ptr, ptr {last}"), head)
        self.known[step.rounds.place] = Value(head, ARRAY)
        self._hand_on(step, variables)
        self._answered(step, variables)

    # The rounds of a stretch

    def _begin_round(self, loop: LimitedLoop) -> None:
        if loop.inside:
            self._has_inner = True  # until the end of the loop, each frame shortens the stretch
        else:
            self._shorten(1)

    def _divided(self, loop: LimitedLoop) -> tuple[int, int]:
        """The length of a stretch, and the number of snapshots."""
        return divided(loop.bytes, 1 if loop.inside else self.offsets(loop)[END_OF_FRAME], self._size(loop))

    def _sizes(self, loop: Loop) -> list[int]:
        """The bytes of the frames of a loop, and of those of the loops in it."""
        inner = [step for step in all_steps(loop.blocks[1].steps) if isinstance(step, Loop)]
        return [self.offsets(step)[END_OF_FRAME] for step in (loop, *inner)]

    def _begin_rounds(self, loop: LimitedLoop) -> None:
        self._left = self._left or self.variable(INTEGER)
        self.lines.append(f"  store i64 {self._divided(loop)[0]}, ptr {self._left}")

    def _if_none_is_left(self, turn: str, on: str) -> None:
        is_over = self.new(f"icmp sle i64 {self.new(f'load i64, ptr {self._left}')}, 0")
        self.lines += [f"  br i1 {is_over}, label %{turn}, label %{on}", f"{turn}:"]

    def _shorten(self, length: int) -> None:
        left = self.new(f"load i64, ptr {self._left}")
        self.lines.append(f"  store i64 {self.new(f'sub i64 {left}, {length}')}, ptr {self._left}")

    def new_frame(self, size: int) -> str:
        if self._has_inner:
            self._shorten(size)
        return super().new_frame(size)

    # The state

    def _offsets_in_state(self, loop: LimitedLoop) -> tuple[dict[int, int], int]:
        """Where the state in a snapshot has the parameters of the loop and their tags, and where it ends."""
        return self.laid_out(self.with_places_of_tags(loop.params, loop.params), 0)

    def _size(self, loop: LimitedLoop) -> int:
        """The bytes of a snapshot."""
        return HEAD_OF_A_SNAPSHOT + self._offsets_in_state(loop)[1]

    def _in_snapshot(self, loop: LimitedLoop, step: Control, variables: list[Variable]) -> list[tuple[int, Variable]]:
        """The variables of a step that have the state of the loop, each with its place in a snapshot."""
        offsets, _ = self._offsets_in_state(loop)
        of_loop = dict(zip(step.params, loop.params, strict=False))
        of_loop |= {tag_at(place): tag_at(param) for place, param in of_loop.items()}
        places = self.with_places_of_tags(step.params, step.params)
        return [
            (offsets[of_loop[place]], variable)
            for place, variable in zip(places, variables, strict=True)
            if of_loop.get(place) in offsets
        ]

    def _keep_state(
        self,
        loop: LimitedLoop,
        step: Control,
        ledger: str,
        variables: list[Variable],
        ask: str,
        more: str,
        end: str = "",
    ) -> None:
        """Ask the ledger, and keep the state if it becomes a snapshot. `end` is the label to go to if all is over."""
        size, most = self._size(loop), self._divided(loop)[1]
        found = self.new(f"call i64 @{ask}(ptr %frame, ptr {ledger}, {more}, i64 {size}, i64 {most})")
        self.exit_if(self.new(f"icmp eq i64 {found}, {NO_MEMORY}"), LEAVE)
        if end:
            (further,) = self._labels("further")
            is_over = self.new(f"icmp eq i64 {found}, {OVER}")
            self.lines += [f"  br i1 {is_over}, label %{end}, label %{further}", f"{further}:"]
        keep, on = self._labels("keep", "on")
        is_kept = self.new(f"icmp eq i64 {found}, {SNAPSHOT}")
        self.lines += [f"  br i1 {is_kept}, label %{keep}, label %{on}", f"{keep}:"]
        state = self.new(f"load ptr, ptr {self.at(ledger, FIELDS['STATE'][0])}")
        for offset, (name, form, array) in self._in_snapshot(loop, step, variables):
            if array is not None:
                self.copy(name, self.at(state, offset), array)
            else:
                self.store_word(Value(self.new(f"load {form}, ptr {name}"), form), self.at(state, offset))
        self._goto(on)
