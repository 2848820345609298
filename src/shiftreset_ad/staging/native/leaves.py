"""The branch of a function in which it calls nothing: what its activations keep, which may be nothing at all.

Half of the activations of a tree are in this branch, or more. Often all that a later visit needs of them is that they
were in it. Then they have no frame: a null pointer in its place tells the visit so.
"""

from __future__ import annotations

from typing import NamedTuple

from shiftreset_ad.staging.native.llvm import ARRAY, TRUTH, form_of
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.uses import Uses, is_same_branch
from shiftreset_ad.staging.steps.blocks import Call, Control, Fork
from shiftreset_ad.staging.steps.trace import Block, Trace


class Leaf(NamedTuple):
    """The branch of a function in which nothing is called.

    What its visits need is `kept`; other values in frames are for visits of the other branch alone. If nothing is kept
    but the truth by which the function branches, `truth` is its place. Then the truth `is_yes` in this branch.
    """

    block: Block
    kept: set[int]
    truth: int | None
    is_yes: bool


def leaf_of(first: Call, trace: Trace, left: Eliminated, uses: Uses, tagged: set[int]) -> Leaf | None:
    """The leaf of the function that a first call has as its block; None if the function has none."""
    (body,) = first.blocks
    controls = [i for i, step in enumerate(body.steps) if isinstance(step, Control)]
    if not controls or not isinstance(fork := body.steps[controls[0]], Fork):
        return None
    slots = uses.slots.get(first.activations, {})
    before = {*first.params, *[step.place for step in body.steps[: controls[0]]]}
    for is_yes in (True, False):
        leaf, other = fork.blocks if is_yes else fork.blocks[::-1]
        if any(isinstance(step, Control) for step in leaf.steps):
            continue
        of_other = {place for place in slots if _is_for(other, place, trace, uses, before)}
        has_array = any(form_of(trace.values[place]) == ARRAY for place in of_other if place >= 0)
        kept = slots.keys() - of_other
        if not of_other or has_array:  # arrays are copied on all paths
            continue
        predicate = [*left.places_in(fork.predicate)]
        is_truth = [*kept] == predicate and not tagged & kept and form_of(trace.values[predicate[0]]) == TRUTH
        return Leaf(leaf.origin, kept, predicate[0] if is_truth else None, is_yes)
    return None


def _is_for(branch: Block, place: int, trace: Trace, uses: Uses, before: set[int]) -> bool:
    """Whether a value is made in a branch, or is made `before` it, and only visits of the branch need it."""
    around = trace.homes[place].outwards() if place not in before else uses.branches.get(place, [])
    return any(is_same_branch(branch.origin, block) for block in around)
