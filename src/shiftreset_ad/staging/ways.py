"""The ways that a function has taken, and which of them a call may still take."""

from __future__ import annotations

from typing import Any

import optree

from shiftreset_ad.staging.python.generation import generated, is_same
from shiftreset_ad.staging.seen.surroundings import Surroundings
from shiftreset_ad.staging.steps.trace import Trace

MOST_WAYS = 32  # of a signature


class Way:
    """One way that a function has taken: its steps, and the structure of its answer."""

    __slots__ = ("answers", "is_checked", "sites", "source", "spec", "take")

    def __init__(self, trace: Trace, outputs: list[Any], spec: optree.PyTreeSpec) -> None:
        self.take, self.source, questions = generated(trace, outputs)
        self.sites = [question.site for question in questions]
        self.answers = [question.expected for question in questions]
        self.spec = spec
        self.is_checked = False


class Signature:
    """The ways for arguments of the same types and shapes, newest first, and all that the function saw in them."""

    __slots__ = ("_after", "of_arguments", "of_function", "ways")

    def __init__(self, of_function: Surroundings, of_arguments: Surroundings) -> None:
        self.of_function = of_function
        self.of_arguments = of_arguments
        self.ways: list[Way] = []
        self._after: dict[tuple[Way, int], set[Way]] = {}

    def add(self, way: Way) -> None:
        """Keep a way; drop the oldest one if there are more than MOST_WAYS."""
        self.ways = [way, *self.ways[: MOST_WAYS - 1]]
        self._after = {}

    def after(self, way: Way, question: int) -> set[Way]:
        """The ways that are left to a call if this question of this way has another answer in it."""
        found = self._after.get((way, question))
        if found is None:
            found = {other for other in self.ways if may_go_on(way, other, question)}
            self._after[way, question] = found
        return found


def may_go_on(way: Way, other: Way, question: int) -> bool:
    """Whether another way is the same up to a question, and has another answer to the question."""
    known = other.answers[: question + 1]
    return (
        len(known) == question + 1
        and all(map(is_same, known[:-1], way.answers[:question]))
        and not is_same(known[-1], way.answers[question])
    )
