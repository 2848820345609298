"""What the functions of a program share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftreset_ad.staging.native.constants import Constants
from shiftreset_ad.staging.native.functions import Function
from shiftreset_ad.staging.native.leaves import Leaf
from shiftreset_ad.staging.native.memory import ArrayBlocks, Roots
from shiftreset_ad.staging.native.seen_layouts import SeenLayouts
from shiftreset_ad.staging.native.slots import Slots
from shiftreset_ad.staging.native.tags import tagged
from shiftreset_ad.staging.native.types import Types
from shiftreset_ad.staging.native.writing import require_one_block
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.in_place import in_native_code
from shiftreset_ad.staging.python.uses import Uses
from shiftreset_ad.staging.steps.blocks import Rounds
from shiftreset_ad.staging.steps.trace import Block, Step, Trace


class Shared:
    """What the functions of a program share.

    `flags` are those by which NumPy would warn, `questions` those that have been asked, and `constants` the arrays that
    the text names. `functions` are those that call themselves, by their bodies, and `texts` is their code. `leaves` are
    the branches in which they call nothing, by their activations. `foreign` has the functions of Python's that are
    called, for the `steps_of_foreign`. The steps at the places `without_form` are known to need such calls; those that
    are `met` have turned out to. `gain` is the time that native code gains.
    """

    def __init__(
        self, trace: Trace, left: Eliminated, outputs: list[Any], without_form: set[int], loops: dict[Any, Any]
    ) -> None:
        self.trace = trace
        self.left = left
        self.flags = 0
        self.questions: list[Step] = []
        self.constants = Constants()
        self.functions: dict[Block, Function] = {}
        self.leaves: dict[Rounds, Leaf] = {}
        self.texts: list[str] = []
        self.foreign: list[Callable[..., Any]] = []
        self.steps_of_foreign: list[Step] = []
        self.without_form = without_form
        self.met: dict[int, str] = {}  # the reasons, by the places
        self.gain = 0.0
        self.loops = loops
        self.layouts = SeenLayouts(trace, left, outputs)
        self.slots = Slots(trace, left, outputs)
        self.memory = ArrayBlocks.of(trace, left, outputs, in_native_code(trace, left, outputs))
        require_one_block(trace, left, self.memory, outputs)
        self.types = Types(trace, left)
        self.uses = Uses(trace, Roots(left, self.memory), outputs)
        self.memory.keep_for_frames(self.uses, trace.homes)
        self.tagged = tagged(left, self.types, outputs, without_form)

    def may_be_foreign(self, step: Step) -> bool:
        """Whether Python may carry out a step: it has no effect beside its answer, which is not made in place."""
        in_place = self.memory.in_place
        writing = (in_place.replaced, in_place.moved, in_place.scatters, in_place.additions)
        return type(step) is Step and not step.writes and not any(step.place in places for places in writing)
