"""`trace(derivative, *args)`: run a derivative, and return what happened, operation by operation.

A trace is for people: for teaching, and for finding where a gradient goes wrong. A `Handler` writes down the line, the
value and the level of each operation on the way there; and on the way back, when it was resumed, the adjoint of its
answer, and the adjoints of its operands before and after. `tables`, `drawings` and `stepping` show the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from shiftreset_ad.debugging.drawings import Drawing, TraceGraph, graph, valley
from shiftreset_ad.debugging.handling import Handler, handling
from shiftreset_ad.debugging.stepping import stepper
from shiftreset_ad.debugging.steps import Step, present_adjoint
from shiftreset_ad.debugging.tables import html, rich_table, text
from shiftreset_ad.debugging.traced import Moment, Traced


class Trace:
    """What happened in a derivative: its `answer`, its `steps` on the way there, and the same steps on the `way_back`.

    `order` has all that happened, in order: ("there", index) for an operation, and ("back", index) when it was resumed.
    `print(trace)` shows a table, and so does a terminal by rich, and a notebook. `there_and_back_again` and `graph` are
    pictures, and `stepper()` goes through the trace in a notebook.
    """

    def __init__(self, answer: Any, steps: list[Traced], order: list[Moment]) -> None:
        self.answer = answer
        self.steps = steps
        self.order = order

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Traced]:
        return iter(self.steps)

    def __getitem__(self, index: int) -> Traced:
        return self.steps[index]

    @property
    def way_back(self) -> list[Traced]:
        """The steps that were resumed, in the order in which they were resumed."""
        return [self.steps[index] for way, index in self.order if way == "back"]

    def __str__(self) -> str:
        return text(self.steps)

    def __repr__(self) -> str:
        return f"<a trace of {len(self.steps)} operations, of which {len(self.way_back)} were resumed; print it>"

    def __rich__(self) -> Any:
        return rich_table(self.steps)

    def _repr_html_(self) -> str:
        return html(self.steps)

    @property
    def there_and_back_again(self) -> Drawing:
        """A picture: the program goes down on the left, and the adjoints go up on the right."""
        return valley(self.steps)

    @property
    def graph(self) -> TraceGraph:
        """A picture of the operations, with an arrow from each to those that use its answer. Graphviz draws it."""
        return graph(self.steps)

    def stepper(self) -> Any:
        """A widget for notebooks that goes there and back again, one operation at a time. Needs ipywidgets."""
        return stepper(self.steps, self.order)


def trace(derivative: Callable[..., Any], *args: Any, **kwargs: Any) -> Trace:
    """Call `derivative(*args, **kwargs)`, and return its answer with what happened on the way there and back.

    `derivative` is a function that computes derivatives, such as `grad(f)`. A trace keeps a copy of each value, so it
    is for small problems. Raises what the function raises.

    >>> from shiftreset_ad import grad
    >>> found = trace(grad(lambda x: x * np.sin(x)), 2.0)
    >>> [(step.name, round(float(step.value), 3), step.resumed) for step in found]
    [('numpy.sin', 0.909, 1), ('*', 1.819, 0)]
    >>> found.way_back[0].adjoint
    1.0
    """
    diary = _Diary()
    with handling(diary):
        answer = derivative(*args, **kwargs)
    return Trace(answer, diary.steps, diary.order)


class _Diary(Handler):
    """Writes down each operation, and numbers the values that operations use and make."""

    def __init__(self) -> None:
        self.steps: list[Traced] = []
        self.order: list[Moment] = []
        self._traced: dict[int, Traced] = {}  # by the ids of steps
        self._numbers: dict[int, int] = {}  # by the ids of numbers
        self._alive: list[Any] = []  # so that no id is used again

    def there(self, step: Step) -> None:
        traced = Traced(
            index=len(self.steps),
            name=step.name,
            part_of=step.part_of,
            line=step.line,
            lineno=step.lineno,
            filename=step.filename,
            level=step.level,
            during=None if step.during is None else self._traced[id(step.during)].index,
            operands=[kept(x) for x in step.operands],
            value=kept(step.value),
            uses=self._named(step.active),
            makes=self._named(step.answers),
        )
        self.steps.append(traced)
        self.order.append(("there", traced.index))
        self._traced[id(step)] = traced
        self._alive.append(step)

    def back(self, step: Step, resume: Callable[[], None]) -> None:
        traced = self._traced[id(step)]
        traced.resumed = len(self.order) - len(self.steps)
        self.order.append(("back", traced.index))
        traced.adjoint = kept(step.adjoint)
        operands = {self._numbers[id(x)]: x for x in step.active}
        before = {number: kept(present_adjoint(x)) for number, x in operands.items()}
        resume()
        traced.shares = [(number, before[number], kept(present_adjoint(x))) for number, x in operands.items()]

    def _named(self, numbers: Iterable[Any]) -> list[int]:
        self._alive.append(numbers)
        return [self._numbers.setdefault(id(x), len(self._numbers)) for x in numbers]


def kept(x: Any) -> Any:
    """A value as it is now: the program may write to an array later."""
    return [kept(each) for each in x] if isinstance(x, list) else x.copy() if isinstance(x, np.ndarray) else x
