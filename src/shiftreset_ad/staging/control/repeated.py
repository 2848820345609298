"""The steps of a block as a function of Python's, for a block that is carried out many times while it is recorded.

To look at each step again in each round takes several times as long as the step. In the function, a step on numbers is
an expression, and all other steps are carried out as they are in the first rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftreset_ad.staging.steps.blocks import Control, Gather
from shiftreset_ad.staging.steps.functions import INFIX, PREFIX
from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged

AT_FIRST = 8  # rounds that are carried out step by step
NUMBERS = {float, int, bool, np.float64, np.bool}

Run = Callable[[dict[int, Any], Any], None]  # on the values of a round, and on its frame


def function_of(
    steps: Sequence[Step],
    control: Callable[[Any, Any], None],
    gather: Callable[[Any, Any], None],
    answer: Callable[[Step, Any], Any],
    require: Callable[[Step, Any], None],
) -> Run:
    """A function that carries out the steps, and puts each answer at its place.

    `control` and `gather` carry out steps with blocks, `answer` gives the answer of any other step, and `require` looks
    at an answer that may differ from round to round.
    """
    names: dict[str, Any] = {"control": control, "gather": gather, "answer": answer, "require": require}
    lines = ["def run(values, frame):"]
    known: set[int] = set()

    def name_of(x: Any) -> str:
        if type(x) is not Staged:
            name = f"c{len(names)}"
            names[name] = x
            return name
        if x._place not in known:
            known.add(x._place)
            lines.append(f"    v{x._place} = frame[{x._place}]")
        return f"v{x._place}"

    for i, step in enumerate(steps):
        names[f"s{i}"] = step
        if isinstance(step, Control | Gather):
            lines.append(f"    {'control' if isinstance(step, Control) else 'gather'}(s{i}, frame)")
            continue
        if is_of_numbers(step):
            given = [name_of(arg) for arg in step.args]
            if len(given) == 2 and step.function in INFIX:
                text = f" {INFIX[step.function]} ".join(given)
            elif len(given) == 1 and step.function in PREFIX:
                text = f"{PREFIX[step.function]}{given[0]}"
            else:
                names[f"f{i}"] = step.function
                text = f"f{i}({', '.join(given)})"
        else:
            text = f"answer(s{i}, frame)"
        lines.append(f"    v{step.place} = values[{step.place}] = {text}")
        known.add(step.place)
        if step.is_question or step.open_ended:
            lines.append(f"    require(s{i}, v{step.place})")
    lines.append("    return")
    exec(compile("\n".join(lines), __file__, "exec"), names)  # by its file it is code of ours, which nobody watches
    run: Run = names["run"]
    return run


def is_of_numbers(step: Step) -> bool:
    """Whether the operands of a step are plain numbers in each round."""
    return not step.kwargs and all(type(x.inside if type(x) is Staged else x) in NUMBERS for x in step.args)
