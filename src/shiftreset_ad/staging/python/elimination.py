"""Elimination leaves out steps: repeated ones, idle ones, such as products with ones, and those that nothing needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any

from numpy import ndarray

from shiftreset_ad.staging.python.handed_on import HandedOn
from shiftreset_ad.staging.python.idle import idle_operand, is_copy, like
from shiftreset_ad.staging.python.keys import key_of_step
from shiftreset_ad.staging.python.same_control import SameControl
from shiftreset_ad.staging.python.sinking import Sinking
from shiftreset_ad.staging.python.wanted import Wanted
from shiftreset_ad.staging.steps.blocks import (
    Call,
    Control,
    Gather,
    Loop,
    Rerun,
    Stretches,
    Visit,
    all_steps,
    has_several_layouts,
    operands_of,
    own_arguments,
)
from shiftreset_ad.staging.steps.functions import again, may_raise
from shiftreset_ad.staging.steps.memory import owner_of, owners_of
from shiftreset_ad.staging.steps.sources import Sources
from shiftreset_ad.staging.steps.trace import Block, Step, Trace
from shiftreset_ad.staging.steps.values import SEQUENCES, Staged, staged_in


def places_in(x: Any) -> Iterator[int]:
    """The places of the staged values in an argument."""
    return (value._place for value in staged_in(x))


class Eliminated:
    """A trace after elimination: the `steps` that the outputs, the questions, the writes and the errors depend on.

    A repeated step is left out, and `stand_ins` has for its place the place with the same value. `fixed` are the places
    whose values are the same for all inputs. If the user gets an array, or a view of it, the step that makes the array
    stays even if it is a repetition, as the user may write to the array. So do all steps on arrays to which the
    function itself writes. A value that a loop carries for nothing, or that is handed on unchanged, is left out, too.
    """

    __slots__ = (
        *("_carried", "_control", "_handed_on", "_one_layout", "_operands", "_owners", "_trace", "_written"),
        *("fixed", "stand_ins", "steps"),
    )

    def __init__(self, trace: Trace, outputs: list[Any]) -> None:
        self._trace = trace
        self.steps = trace.steps
        self.stand_ins: dict[int, int] = {}
        self.fixed: set[int] = set()
        self._operands: dict[Step, list[int]] | None = None  # of plain steps, from the end of elimination on
        self._control: SameControl | None = None
        self._one_layout: bool | None = None
        self._carried: dict[Step, list[int]] = {}  # by steps with blocks, as far as it is known
        self._written = written_in(trace.steps)
        self.steps = self._without_what_is_fixed(self.steps)
        sources = Sources(trace, self.steps)
        self._owners = {owner for place in self.places_in(outputs) for owner in sources.of(trace.values[place])}
        if not self._written:
            self.stand_ins = copied_for_nothing(trace, outputs)
        self._owners |= {id(trace.values[original]) for original in self.stand_ins.values()}
        self._handed_on = HandedOn(self.steps, self.fixed)
        self.steps = self._without_repetition(self.steps, {})
        self.steps = self._without_what_is_not_needed(self.steps, Wanted(self.places_in(outputs)))
        if trace.has_control and not self._written and has_several_loops(self.steps):
            self._leave_out_same_control(outputs)
        if trace.has_control:
            self.steps = Sinking(trace, self.steps, outputs, self.stand_ins, self.fixed).steps
        self._operands = {}
        self._carried.clear()  # the steps are others now

    def place(self, x: Staged) -> int:
        """The place that has the value."""
        place, stand_ins = x._place, self.stand_ins
        while place in stand_ins:
            place = stand_ins[place]
        return place

    def places_in(self, x: Any) -> Iterator[int]:
        """The places that have the values in an argument, except those that are fixed."""
        return (self.place(value) for value in staged_in(x) if value._place not in self.fixed)

    def operands(self, step: Step) -> list[int]:
        """The places that a step needs, beside those that the steps in its blocks need."""
        known = self._operands
        if known is not None and step in known:
            return known[step]
        fixed, stand_ins = self.fixed, self.stand_ins
        found = [stand_ins.get(x._place, x._place) for x in operands_of(step) if x._place not in fixed]
        if type(step) is Step:
            if known is not None:
                known[step] = found
            return found
        if isinstance(step, Visit | Gather):
            found.append(step.rounds.place)
        if isinstance(step, Stretches | Rerun):
            found.append(step.ledger)
        if isinstance(step, Call) and not step.is_new:
            found.append(step.frame)
        return found

    def _without_what_is_fixed(self, steps: list[Step]) -> list[Step]:
        left: list[Step] = []
        for step in steps:
            if isinstance(step, Control):
                left.append(_mapped(step, self._without_what_is_fixed))
            elif self.operands(step) or self._is_of_what_is_written_to(step):
                left.append(step)
            else:
                self.fixed.add(step.place)
        return left

    def _without_repetition(self, steps: list[Step], known: dict[Any, int]) -> list[Step]:
        """The steps of a block without those that are `known` by then. What a block computes is known inside it."""
        trace = self._trace
        left: list[Step] = []
        for step in steps:
            if isinstance(step, Control):
                control: Control = step
                if isinstance(step, Call) and self._control is None:
                    control = self._without_handed_on(step)
                control = _mapped(control, lambda inner: self._without_repetition(inner, dict(known)))
                if not self._is_repeated(control, known):
                    left.append(control)
                continue
            if step.place in self.stand_ins:
                continue
            if step.function is again or self._is_of_what_is_written_to(step):
                left.append(step)
                continue
            if self._owners and not step.is_question and self._is_the_users(trace.values[step.place]):
                left.append(step)
                continue
            key = key_of_step(step, self.place)
            if key in known:
                self.stand_ins[step.place] = known[key]
            elif (same := idle_operand(step, trace, self._is_fixed, self._has_one_layout)) is not None:
                self.stand_ins[step.place] = self.place(same)
            else:
                known[key] = step.place
                left.append(step)
        return left

    def _leave_out_same_control(self, outputs: list[Any]) -> None:
        """Leave out loops and branches that are carried out twice, what is repeated then, and what they needed."""
        self._control = SameControl(self.steps, outputs, self.place)
        self.steps = self._without_repetition(self.steps, {})
        for place, other in self.stand_ins.items():
            while other in self.stand_ins:
                other = self.stand_ins[other]
            self.stand_ins[place] = other
        self.steps = self._without_what_is_not_needed(self.steps, Wanted(self.places_in(outputs)))

    def _is_repeated(self, step: Control, known: dict[Any, int]) -> bool:
        """Whether a step like this one with blocks is known by then. Its answers stand in for those of the step."""
        if self._control is None or not step.answers or any(map(self._is_the_users, self._answers_of(step))):
            return False
        key = self._control.key(step)
        if key is None:
            return False
        if (key, 0) not in known:
            known.update(((key, i), answer) for i, answer in enumerate(step.answers))
            return False
        if self._control.is_used_inside(step):
            return False
        self.stand_ins.update((answer, known[key, i]) for i, answer in enumerate(step.answers))
        return True

    def _answers_of(self, step: Control) -> list[Any]:
        return [self._trace.values[place] for place in step.answers]

    def _without_handed_on(self, step: Call) -> Call:
        """A call without the arguments that the function hands on unchanged."""
        for param in step.params:
            if param in self._handed_on.values:
                value = self._handed_on.values[param]
                self.stand_ins[param] = self.stand_ins.get(value, value)
        return self._handed_on.without(step)

    def _is_of_what_is_written_to(self, step: Step) -> bool:
        """Whether the function writes, at any time, to memory that the step writes to, reads or answers."""
        if not self._written:
            return False
        values = [self._trace.values[step.place], *(x.inside for x in operands_of(step))]
        return step.writes or any(id(owner) in self._written for value in values for owner in owners_of(value))

    def _is_the_users(self, value: Any) -> bool:
        """Whether the user gets the memory of an array."""
        if type(value) is ndarray:  # the usual case, for speed
            return id(owner_of(value)) in self._owners
        return not self._owners.isdisjoint(map(id, owners_of(value)))

    def _without_what_is_not_needed(self, steps: list[Step], wanted: Wanted) -> list[Step]:
        """The steps that are needed, if these places are `wanted`. Places that the steps need are added to these."""
        left: list[Step] = []
        places = wanted.places
        for step in reversed(steps):
            if isinstance(step, Control):
                if (needed := self._needed(step, wanted)) is not None:
                    left.append(needed)
                    wanted.add(self.operands(needed))
                continue
            if step.place in places or self._acts(step, places):
                left.append(step)
                wanted.add(self.operands(step))
        return left[::-1]

    def _needed(self, step: Control, wanted: Wanted) -> Control | None:
        """What is needed of a step with blocks; None if nothing is. Places that its blocks need become wanted."""
        if isinstance(step, Call):
            return self._needed_call(step, wanted)
        before = wanted.mark()
        is_visited = isinstance(step, Loop) and step.rounds.place in wanted.places
        is_wanted = not wanted.places.isdisjoint([*step.answers, *step.params])  # a visit may want a param
        more = [i for i, answer in enumerate(step.answers) if answer in wanted.places]
        carried = self._carried.get(step, [])  # around, more and more is wanted, so no less is carried
        if isinstance(step, Loop):
            wanted.add(self.places_in(step.goes_on))
        while True:  # with more that is carried, no less is wanted
            wanted.add(place for results in step.results for i in carried for place in self.places_in(results[i]))
            blocks = [self._with_steps(block, wanted) for block in reversed(step.blocks)][::-1]
            more += [i for i, param in enumerate(step.params) if param in wanted.places and i not in more]
            if set(more) <= set(carried):
                break
            carried = sorted({*carried, *more})
        self._carried[step] = carried
        is_idle = not any(block.steps for block in (blocks[1:] if isinstance(step, Loop) else blocks))
        if is_idle and not is_visited and not is_wanted:
            wanted.forget(before)
            return None
        return step.with_blocks(blocks).carrying(carried)

    def _needed_call(self, step: Call, wanted: Wanted) -> Call | None:
        """A call with all its values, if one of them or its frame is needed, or if the function acts.

        A visit goes to each activation, as a later visit may need its values there. So each call inside is needed.
        """
        acts = any(self._acts(inner) for inner in all_steps(step.blocks[0].steps)) if step.blocks else True
        if not acts and wanted.places.isdisjoint([*step.answers, step.frame]):
            return None
        for results in step.results:
            wanted.add(self.places_in(results))
        return step.with_blocks([self._with_steps(block, wanted) for block in step.blocks])

    def _acts(self, step: Step, places: Set[int] | None = None) -> bool:
        """Whether a step does something beside its answer. A check does if what it checks is among these places."""
        if isinstance(step, Control):
            return False
        if places is not None and (checked := self._trace.checked.get(step.place)):
            return any(self.place(x) in places for x in checked)
        return step.writes or step.is_question or step.open_ended or _may_raise(self._trace, step)

    def _with_steps(self, block: Block, wanted: Wanted) -> Block:
        return block.with_steps(self._without_what_is_not_needed(block.steps, wanted))

    def _has_one_layout(self) -> bool:
        """Whether control hands on each array in the layout that was recorded."""
        if self._one_layout is None:
            self._one_layout = not (self._trace.has_control and has_several_layouts(self._trace.steps))
        return self._one_layout

    def _is_fixed(self, x: Any) -> bool:
        """Whether an argument is the same for all inputs."""
        if type(x) is Staged:  # the usual case, for speed
            return x._place in self.fixed
        return all(value._place in self.fixed for value in staged_in(x))


def written_in(steps: list[Step]) -> set[int]:
    """The ids of the owners of the memory to which these steps write."""
    return {
        id(owner)
        for step in all_steps(steps)
        if step.writes
        for x in operands_of(step)
        for owner in owners_of(x.inside)
    }


def has_several_loops(steps: list[Step]) -> bool:
    """Whether there is more than one loop among these steps."""
    return sum(type(step) is Loop for step in all_steps(steps)) > 1


def _mapped(step: Control, function: Callable[[list[Step]], list[Step]]) -> Control:
    """A step with blocks whose steps are those that the function gives."""
    return step.with_blocks([block.with_steps(function(block.steps)) for block in step.blocks])


def copied_for_nothing(trace: Trace, outputs: list[Any]) -> dict[int, int]:
    """The places of copies of arrays that nothing else uses; for each, the place of the array that was copied."""
    copies = [*filter(is_copy, trace.steps)]
    if not copies:
        return {}
    uses = Counter([x._place for step in all_steps(trace.steps) for x in operands_of(step)])
    uses.update(places_in(outputs))
    # A function may return the array that it was given. Then another place, or a constant, is the same array.
    held = Counter(map(id, trace.values))
    held.update(map(id, _constants_of(all_steps(trace.steps), set())))
    made = {step.place for step in trace.steps}
    originals: dict[int, int] = {}
    for step in copies:
        if type(step.args[0]) is Staged:
            place = step.args[0]._place
            array = trace.values[place]
            of_its_own = place in made and type(array) is ndarray and array.base is None and held[id(array)] == 1
            if of_its_own and uses[place] == 1 and like(array) == like(trace.values[step.place]):
                originals[step.place] = originals.get(place, place)
    return originals


def _may_raise(trace: Trace, step: Step) -> bool:
    values = [x.inside for x in operands_of(step)]
    reactions: Any = step.errors or trace.errors
    return may_raise(step.function, values, trace.values[step.place], reactions)


def constants_in(left: Eliminated) -> list[ndarray[Any, Any]]:
    """The arrays in the arguments of the steps that are the same for all inputs."""
    return _constants_of(all_steps(left.steps), left.fixed)


def _constants_of(steps: Iterable[Step], fixed: set[int]) -> list[ndarray[Any, Any]]:
    """The plain arrays in the arguments of some steps, and those at the places that are `fixed`."""
    found: list[ndarray[Any, Any]] = []
    for step in steps:
        for x in own_arguments(step):
            _collect_constants(x, fixed, found)
    return found


def _collect_constants(x: Any, fixed: set[int], found: list[ndarray[Any, Any]]) -> None:
    kind = type(x)
    if kind is Staged:
        if x._place not in fixed:
            return
        x = x.inside
    elif kind is float or kind is int:  # the usual case, for speed
        return
    if isinstance(x, ndarray):
        found.append(x)
    elif isinstance(x, SEQUENCES):
        for part in x:
            _collect_constants(part, fixed, found)
