"""Functions that call themselves, in native code: what each takes, what it answers, and what it needs from outside.

A function gets what it needs from outside in its surroundings: words in the memory of the function around it. So the
surroundings of a function are those of the activation in which it was made.
"""

from __future__ import annotations

from typing import Any

from shiftreset_ad.staging.native.leaves import leaf_of
from shiftreset_ad.staging.native.memory import ArrayBlocks
from shiftreset_ad.staging.native.tags import tag_at
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.uses import Uses
from shiftreset_ad.staging.steps.blocks import Call, Control, Loop, all_steps
from shiftreset_ad.staging.steps.trace import Block, Trace


class Function:
    """A function that calls itself, which has the block of its first call as its code.

    `surroundings` are the places of the values that it needs from outside, and the bodies of the functions around it
    that it calls. An activation has a frame if there `are_frames`; those in the `leaf` may need none, so the function
    answers the frame if it `answers_frame`. `of_either` are the numbers of the answers that may be Python's or NumPy's.
    """

    __slots__ = ("answers", "are_frames", "first", "leaf", "name", "of_either", "surroundings")

    def __init__(
        self,
        name: str,
        first: Call,
        trace: Trace,
        left: Eliminated,
        memory: ArrayBlocks,
        uses: Uses,
        tagged: set[int],
    ) -> None:
        self.name = name
        self.first = first
        self.are_frames = first.activations.place in uses.count
        self.leaf = leaf_of(first, trace, left, uses, tagged) if self.are_frames and first.is_new else None
        self.answers = [trace.values[place] for place in first.answers]
        calls = [step for step in all_steps(left.steps) if isinstance(step, Call) and step.body is first.body]
        self.of_either = [i for i in range(len(first.answers)) if any(call.answers[i] in tagged for call in calls)]
        self.surroundings = _needed_from_outside(first, left, memory, uses, tagged)

    @property
    def answers_frame(self) -> bool:
        return self.leaf is not None and self.leaf.truth is not None


def _needed_from_outside(
    first: Call, left: Eliminated, memory: ArrayBlocks, uses: Uses, tagged: set[int]
) -> dict[int | Block, int]:
    """What a function needs from outside, each with its number."""
    needed: dict[Any, None] = dict.fromkeys(left.places_in(first.results))
    made = {*first.params, *uses.loads.get(first.body, [])}
    bodies = {first.body}
    for step in all_steps(first.blocks[0].steps):
        needed.update(dict.fromkeys(left.operands(step)))
        if not isinstance(step, Control):
            made.add(step.place)
            continue
        made.update([*step.params, *step.answers])
        for block in step.blocks:
            made.update(uses.loads.get(block.origin, []))
        if isinstance(step, Loop):
            made.add(step.rounds.place)
        elif isinstance(step, Call):
            if step.is_new:
                made.add(step.frame)
            if step.blocks:
                bodies.add(step.body)
            elif step.body not in bodies:
                needed[step.body] = None
    found: dict[int | Block, int] = {}
    for key in needed:
        if isinstance(key, Block):
            found.setdefault(key, len(found))
        elif memory.root(key) not in made:
            found.setdefault(memory.root(key), len(found))
            if key in tagged:
                found.setdefault(tag_at(key), len(found))
    return found
